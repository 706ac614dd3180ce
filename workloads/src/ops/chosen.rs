//! The nodes and pods that an op of ours is about: by label, so many of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{NodeEntry, PodFilter, StoredPodRow};
use schedlab_core::input::LabelSelectorInput;

use super::count::Count;
use crate::resolve::{Limit, OpResolver, ResolveError};

/// Labels that something must have; all if empty.
pub(super) type LabelSelector = BTreeMap<String, String>;

/// At most so many; all if neither `count` nor its param is there.
pub(super) fn most(
    count: &Count,
    resolver: &mut OpResolver<'_, '_>,
    limit: Limit,
) -> Result<Option<u32>, ResolveError> {
    match count {
        Count { literal: None, param: None } => Ok(None),
        written => resolver.count(written, limit).map(Some),
    }
}

/// The first nodes with these labels, by name.
pub(super) fn nodes(
    cluster: &EmbeddedCluster,
    labels: &LabelSelector,
    most: Option<u32>,
) -> Vec<Arc<NodeEntry>> {
    let has_all =
        |node: &Arc<NodeEntry>| labels.iter().all(|(key, value)| node.input.labels.get(key) == Some(value));
    let mut nodes: Vec<Arc<NodeEntry>> = cluster.nodes_now().into_iter().filter(has_all).collect();
    nodes.sort_by(|one, other| one.input.name.cmp(&other.input.name));
    nodes.truncate(most.map_or(usize::MAX, |most| most as usize));
    nodes
}

/// The first pods of a namespace with these labels that are wanted, in the order of their creation.
pub(super) fn pods(
    cluster: &EmbeddedCluster,
    (namespace, labels): (&str, &LabelSelector),
    most: Option<u32>,
    is_wanted: impl Fn(&StoredPodRow) -> bool,
) -> Vec<StoredPodRow> {
    let selector = LabelSelectorInput { match_labels: labels.clone(), match_expressions: Vec::new() };
    let filter = PodFilter { namespace: Some(namespace), labels: Some(&selector) };
    let mut rows: Vec<StoredPodRow> = cluster.pods_now(filter).into_iter().filter(is_wanted).collect();
    rows.truncate(most.map_or(usize::MAX, |most| most as usize));
    rows
}
