//! Cases that TaintToleration and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::NodeInput;
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{PodParts, large_node, pod, taint};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

fn nodes() -> [NodeInput; 3] {
    let tainted = |name, effect| NodeInput { taints: vec![taint("spot", "", effect)], ..large_node(name) };
    [tainted("a", "NoSchedule"), tainted("b", "PreferNoSchedule"), large_node("c")]
}

fn filter_cases() -> Vec<PluginCase> {
    let out = ("a", NaiveCode::UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)");
    vec![
        PluginCase::new("a taint", &nodes(), pod()).rejects(&[out]),
        PluginCase::new("another toleration", &nodes(), pod().tolerates("gpu")).rejects(&[out]),
        PluginCase::new("the toleration", &nodes(), pod().tolerates("spot")).all_fit(),
    ]
}

fn score_cases() -> Vec<PluginCase> {
    vec![
        PluginCase::new("a taint that is preferred not to be", &nodes(), pod()).scores(&[100, 0, 100]),
        PluginCase::new("tolerated", &nodes(), pod().tolerates("spot")).scores(&[100, 100, 100]),
    ]
}
