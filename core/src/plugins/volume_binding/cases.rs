//! Cases that VolumeBinding and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::storage::{BindingMode, StorageInput};
use crate::input::{NodeInput, PodInput};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::storage::{claim, class, on_nodes, pod_with, uses, volume};
use crate::testkit::{NodeParts, large_node, pod};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

/// A case about pods of namespace `ns` that use these objects.
fn case(name: &'static str, nodes: &[NodeInput], pod: PodInput, objects: Vec<StorageInput>) -> PluginCase {
    PluginCase::new(name, nodes, pod)
        .having(|cluster| objects.into_iter().for_each(|it| cluster.storage.put(it)))
}

fn nodes() -> [NodeInput; 2] {
    [large_node("a").labels("zone=z1"), large_node("b").labels("zone=z2")]
}

/// A claim of 5 that waits for its pod, and a volume of 10 for it in one zone.
fn waiting() -> Vec<StorageInput> {
    vec![
        class("wait", "kubernetes.io/no-provisioner", BindingMode::WaitForFirstConsumer).into(),
        on_nodes(volume("pv", "wait", 10), "zone", "z1").into(),
        claim("open", "wait", "").into(),
    ]
}

fn filter_cases() -> Vec<PluginCase> {
    let out = |reason| ("b", NaiveCode::UnschedulableAndUnresolvable, reason);
    let bound = vec![on_nodes(volume("pv", "", 10), "zone", "z1").into(), claim("bound", "", "pv").into()];
    vec![
        case("no volume", &nodes(), pod(), Vec::new()),
        case("a claim that waits for its pod", &nodes(), pod_with(&[uses("open")]), waiting())
            .rejects(&[out("node(s) didn't find available persistent volumes to bind")]),
        case("a bound claim", &nodes(), pod_with(&[uses("bound")]), bound)
            .rejects(&[out("node(s) didn't match PersistentVolume's node affinity")]),
        case("a claim that is not there", &nodes(), pod_with(&[uses("gone")]), Vec::new()).rejects_all(),
    ]
}

fn score_cases() -> Vec<PluginCase> {
    vec![
        case("half of a volume is used", &nodes(), pod_with(&[uses("open")]), waiting()).scores(&[50, 0]),
        case("no volume", &nodes(), pod(), Vec::new()).scores(&[0, 0]),
    ]
}
