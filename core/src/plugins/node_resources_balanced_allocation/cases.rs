//! Cases that NodeResourcesBalancedAllocation and its plain twin are held to alike.

use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{PodParts, large_node, pod};

pub(super) const CASES: Cases = Cases { filter: None, score: Some(score_cases), hints: Vec::new };

fn score_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    vec![
        PluginCase::new("requests nothing", &nodes, pod()),
        // Only cpu is requested: the fuller node gets the more uneven.
        PluginCase::new("cpu only", &nodes, pod().cpu("2")).with(&[("a", pod().cpu("4"))]).scores(&[70, 70]),
    ]
}
