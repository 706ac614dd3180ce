//! TopologyPlacementGenerator, plainly: the nodes by their label.

use std::collections::BTreeMap;

use crate::naive::NaiveCluster;
use crate::naive::plugin_twin::{Fakes, PluginTwin, any_node};

/// The twin.
pub(super) const TWIN: PluginTwin =
    PluginTwin { filter: None, score: None, fakes: Fakes::NONE, bench_node: any_node };

/// The names of the nodes of each domain, in list order.
#[must_use]
pub fn domains(cluster: &NaiveCluster, key: &str) -> BTreeMap<String, Vec<String>> {
    let mut domains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in &cluster.nodes {
        if let Some(value) = node.input.labels.get(key) {
            domains.entry(value.clone()).or_default().push(node.input.name.clone());
        }
    }
    domains
}
