//! Cases that NodeName and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::PodInput;
use crate::naive::Code;
use crate::naive::cases::{Case, Cases, node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

fn filter_cases() -> Vec<Case> {
    let nodes = [node("a", ""), node("b", "")];
    let named = |name: &str| PodInput { node_name: Some(name.to_owned()), ..pod("") };
    let out =
        |name| (name, Code::UnschedulableAndUnresolvable, "node(s) didn't match the requested node name");
    vec![
        Case::new("names no node", &nodes, pod("")).all_fit(),
        Case::new("names one", &nodes, named("b")).rejects(&[out("a")]),
        Case::new("names one that is not there", &nodes, named("c")).rejects(&[out("a"), out("b")]),
    ]
}
