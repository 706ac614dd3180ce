//! Cases that VolumeRestrictions and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::storage::StorageInput;
use crate::input::{NodeInput, PodInput, VolumeSourceInput};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::storage::{claim, pod_with, uses};
use crate::testkit::{large_node, pod, strings};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

/// A case about pods of namespace `ns` that use these objects.
fn case(name: &'static str, nodes: &[NodeInput], pod: PodInput, objects: Vec<StorageInput>) -> PluginCase {
    PluginCase::new(name, nodes, pod)
        .having(|cluster| objects.into_iter().for_each(|it| cluster.storage.put(it)))
}

fn filter_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    let disk = |name: &str| {
        let source = VolumeSourceInput::GcePersistentDisk { pd_name: name.to_owned(), read_only: false };
        pod_with(&[source])
    };
    let mut for_one = claim("one", "", "");
    for_one.access_modes = strings(&["ReadWriteOncePod"]);
    let in_use = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
                  already in-use by another pod";
    let out = |name, reason| (name, NaiveCode::Unschedulable, reason);
    vec![
        case("no volume", &nodes, pod(), Vec::new()),
        case("a disk that another pod writes", &nodes, disk("d"), Vec::new())
            .with(&[("a", disk("d"))])
            .rejects(&[out("a", "node(s) had no available disk")]),
        case("another disk", &nodes, disk("e"), Vec::new()).with(&[("a", disk("d"))]).all_fit(),
        case("a claim for one pod, in use", &nodes, pod_with(&[uses("one")]), vec![for_one.into()])
            .with(&[("a", pod_with(&[uses("one")]))])
            .rejects(&[out("a", in_use), out("b", in_use)]),
    ]
}
