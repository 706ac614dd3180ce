//! Cases that NodeVolumeLimits and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::storage::StorageInput;
use crate::input::{NodeInput, PodInput};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::storage::{claim, csi_node, pod_with, uses, volume};
use crate::testkit::{large_node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

/// A case about pods of namespace `ns` that use these objects.
fn case(name: &'static str, nodes: &[NodeInput], pod: PodInput, objects: Vec<StorageInput>) -> PluginCase {
    PluginCase::new(name, nodes, pod)
        .having(|cluster| objects.into_iter().for_each(|it| cluster.storage.put(it)))
}

fn filter_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    let objects = || -> Vec<StorageInput> {
        vec![
            csi_node("a", &[("csi", Some(1))]).into(),
            csi_node("b", &[("csi", Some(2))]).into(),
            volume("pv-0", "", 1).into(),
            volume("pv-1", "", 1).into(),
            claim("c-0", "", "pv-0").into(),
            claim("c-1", "", "pv-1").into(),
        ]
    };
    let using = |name| pod_with(&[uses(name)]);
    let placed = [("a", using("c-0")), ("b", using("c-0"))];
    vec![
        case("no volume", &nodes, pod(), Vec::new()),
        case("one more than a node may attach", &nodes, using("c-1"), objects()).with(&placed).rejects(&[(
            "a",
            NaiveCode::Unschedulable,
            "node(s) exceed max volume count",
        )]),
        case("one that is attached", &nodes, using("c-0"), objects()).with(&placed).all_fit(),
    ]
}
