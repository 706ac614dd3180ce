//! Pods of rows, put together outside the lock: for readers of many pods and for those who write them as
//! text.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::EmbeddedCluster;
use super::body::{self, RowTexts};
use crate::api::{GenericObject, NodeEntry, PodConditionEntry, PodEventRef, PodSpecEntry, StoredPodRow};

/// A row and all that its ids stand for; it holds what it names.
#[derive(Clone, Debug)]
pub struct PodParts {
    /// The row.
    pub row: StoredPodRow,
    /// The body it shares with others.
    pub entry: Arc<PodSpecEntry>,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: Arc<str>,
    /// `spec.nodeName`.
    pub node: Option<Arc<str>>,
    /// `status.nominatedNodeName`.
    pub nominated: Option<Arc<str>>,
    /// `status.conditions`.
    pub conditions: Arc<[PodConditionEntry]>,
    /// `metadata.deletionTimestamp`.
    pub deletion_ns: Option<u64>,
}

impl PodParts {
    /// The API object.
    #[must_use]
    pub fn assemble(&self) -> Pod {
        let texts = RowTexts {
            name: self.name.clone(),
            node: self.node.as_deref(),
            nominated: self.nominated.as_deref(),
            conditions: &self.conditions,
            deletion_ns: self.deletion_ns,
        };
        body::assemble(&self.entry.object, &self.row, texts)
    }
}

impl EmbeddedCluster {
    /// What the ids of rows stand for, under one lock. Not a call: the tables are the client's own memory.
    pub fn pod_parts<'a>(&self, rows: impl Iterator<Item = &'a StoredPodRow>) -> Vec<PodParts> {
        let state = self.shared.lock();
        let parts = |row: &StoredPodRow| PodParts {
            row: *row,
            entry: Arc::clone(state.specs.get(row.spec)),
            name: state.names.text(row.name),
            namespace: Arc::clone(state.namespaces.text(row.namespace.0)),
            node: row.node.map(|node| Arc::clone(state.node_name(node))),
            nominated: row.nominated.map(|node| Arc::clone(state.node_name(node))),
            conditions: Arc::clone(state.conditions.get(row.conditions)),
            deletion_ns: state.pod_deletion_ns.get(&row.uid).copied(),
        };
        rows.map(parts).collect()
    }

    /// All nodes by name, without a call: it stands for the informer that a client would have.
    #[must_use]
    pub fn nodes_now(&self) -> Vec<Arc<NodeEntry>> {
        self.shared.lock().nodes.values().map(Arc::clone).collect()
    }

    /// The object of an event about a pod, while it is kept. Not a call.
    #[must_use]
    pub fn pod_event_now(&self, event: &PodEventRef) -> Option<GenericObject> {
        self.shared.lock().pod_event(event)
    }
}
