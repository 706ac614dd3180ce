//! Cases that NodeUnschedulable and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::NodeInput;
use crate::naive::Code;
use crate::naive::cases::{Case, Cases, PodParts, node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

fn filter_cases() -> Vec<Case> {
    let nodes = [NodeInput { unschedulable: true, ..node("a", "") }, node("b", "")];
    let out = ("a", Code::UnschedulableAndUnresolvable, "node(s) were unschedulable");
    vec![
        Case::new("a cordoned node", &nodes, pod("")).rejects(&[out]),
        Case::new("another toleration", &nodes, pod("").tolerating("spot")).rejects(&[out]),
        Case::new("the toleration", &nodes, pod("").tolerating("node.kubernetes.io/unschedulable")).all_fit(),
    ]
}
