//! Cases that NodeAffinity and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::{NodeAffinityInput, NodeInput, PodInput};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{NodeParts, PodParts, large_node, node_term, pod, requirement};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

fn nodes() -> [NodeInput; 3] {
    [large_node("a").labels("disk=ssd"), large_node("b").labels("disk=hdd"), large_node("c")]
}

fn filter_cases() -> Vec<PluginCase> {
    let out = |name| {
        (name, NaiveCode::UnschedulableAndUnresolvable, "node(s) didn't match Pod's node affinity/selector")
    };
    let required = |operator, values: &[&str]| {
        let required = Some(vec![node_term(&[requirement("disk", operator, values)])]);
        let node_affinity = Some(NodeAffinityInput { required, ..NodeAffinityInput::default() });
        PodInput { node_affinity, ..pod() }
    };
    vec![
        PluginCase::new("asks for nothing", &nodes(), pod()),
        PluginCase::new("a node selector", &nodes(), pod().on("disk=ssd")).rejects(&[out("b"), out("c")]),
        PluginCase::new("a term", &nodes(), required("Exists", &[])).rejects(&[out("c")]),
        PluginCase::new("a term of none", &nodes(), required("NotIn", &["hdd"])).rejects(&[out("b")]),
    ]
}

fn score_cases() -> Vec<PluginCase> {
    let preferring = |weights: &[(i32, &str)]| {
        let preferred = weights
            .iter()
            .map(|(weight, value)| (*weight, node_term(&[requirement("disk", "In", &[value])])));
        let preferred = Some(preferred.collect());
        let node_affinity = Some(NodeAffinityInput { preferred, ..NodeAffinityInput::default() });
        PodInput { node_affinity, ..pod() }
    };
    vec![
        PluginCase::new("prefers nothing", &nodes(), pod()),
        PluginCase::new("prefers one", &nodes(), preferring(&[(10, "ssd")])).scores(&[100, 0, 0]),
        PluginCase::new("one more than the other", &nodes(), preferring(&[(8, "ssd"), (2, "hdd")]))
            .scores(&[100, 25, 0]),
    ]
}
