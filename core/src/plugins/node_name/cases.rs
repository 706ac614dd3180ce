//! Cases that NodeName and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::PodInput;
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{large_node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

fn filter_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    let named = |name: &str| PodInput { node_name: Some(name.to_owned()), ..pod() };
    let out = |name| {
        (name, NaiveCode::UnschedulableAndUnresolvable, "node(s) didn't match the requested node name")
    };
    vec![
        PluginCase::new("names no node", &nodes, pod()).all_fit(),
        PluginCase::new("names one", &nodes, named("b")).rejects(&[out("a")]),
        PluginCase::new("names one that is not there", &nodes, named("c")).rejects(&[out("a"), out("b")]),
    ]
}
