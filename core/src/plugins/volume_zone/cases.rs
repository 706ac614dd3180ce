//! Cases that VolumeZone and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::storage::StorageInput;
use crate::input::{NodeInput, PodInput};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::storage::{claim, pod_with, uses, volume};
use crate::testkit::{NodeParts, label_pairs, large_node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

/// A case about pods of namespace `ns` that use these objects.
fn case(name: &'static str, nodes: &[NodeInput], pod: PodInput, objects: Vec<StorageInput>) -> PluginCase {
    PluginCase::new(name, nodes, pod)
        .having(|cluster| objects.into_iter().for_each(|it| cluster.storage.put(it)))
}

fn filter_cases() -> Vec<PluginCase> {
    const ZONE: &str = "topology.kubernetes.io/zone";
    let nodes = [
        large_node("a").labels(&format!("{ZONE}=z1")),
        large_node("b").labels(&format!("{ZONE}=z2")),
        large_node("c"),
    ];
    let mut zonal = volume("pv", "", 1);
    zonal.labels = label_pairs(&[(ZONE, "z1")]);
    let objects = vec![zonal.into(), claim("bound", "", "pv").into()];
    let out = ("b", NaiveCode::UnschedulableAndUnresolvable, "node(s) had no available volume zone");
    vec![
        case("no volume", &nodes, pod(), Vec::new()),
        case("a volume of a zone", &nodes, pod_with(&[uses("bound")]), objects).rejects(&[out]),
        case("a claim that is not there", &nodes, pod_with(&[uses("gone")]), Vec::new()).rejects_all(),
    ]
}
