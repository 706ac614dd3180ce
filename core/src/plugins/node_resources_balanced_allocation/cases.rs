//! Cases that NodeResourcesBalancedAllocation and its plain twin are held to alike.

use crate::naive::cases::{Cases, PluginCase, node, pod, worker};

pub(super) const CASES: Cases = Cases { filter: None, score: Some(score_cases), hints: Vec::new };

fn score_cases() -> Vec<PluginCase> {
    let nodes = [node("a", ""), node("b", "")];
    vec![
        PluginCase::new("requests nothing", &nodes, pod("")),
        // Only cpu is requested: the fuller node gets the more uneven.
        PluginCase::new("cpu only", &nodes, worker("2", 0)).with(&[("a", worker("4", 0))]).scores(&[70, 70]),
    ]
}
