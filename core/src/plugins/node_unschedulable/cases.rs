//! Cases that NodeUnschedulable and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{NodeParts, PodParts, large_node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

fn filter_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a").cordoned(), large_node("b")];
    let out = ("a", NaiveCode::UnschedulableAndUnresolvable, "node(s) were unschedulable");
    vec![
        PluginCase::new("a cordoned node", &nodes, pod()).rejects(&[out]),
        PluginCase::new("another toleration", &nodes, pod().tolerates("spot")).rejects(&[out]),
        PluginCase::new("the toleration", &nodes, pod().tolerates("node.kubernetes.io/unschedulable"))
            .all_fit(),
    ]
}
