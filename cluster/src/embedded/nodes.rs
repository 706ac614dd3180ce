//! The verbs on nodes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeStatus};

use super::body::time_of;
use super::state::State;
use crate::api::{ApiError, EventKind, NodeEntry, WatchedObject};
use crate::convert::node_input;
use crate::defaults::default_node;
use crate::validate::validate_node;

const NODES: &str = "nodes";

impl State {
    pub(super) fn create_node(&mut self, mut node: Node, now_ns: u64) -> Result<Node, ApiError> {
        default_node(&mut node);
        let name = self.name_for_node(&node)?;
        if self.nodes.contains_key(&name) {
            return Err(ApiError::already_exists(NODES, &name));
        }
        node.metadata.name = Some(name);
        node.metadata.namespace = None;
        node.metadata.uid = Some(self.take_uid());
        node.metadata.creation_timestamp = Some(time_of(now_ns));
        node.metadata.deletion_timestamp = None;
        self.put_node(node, EventKind::Added)
    }

    fn name_for_node(&mut self, node: &Node) -> Result<String, ApiError> {
        if let Some(name) = node.metadata.name.clone().filter(|name| !name.is_empty()) {
            return Ok(name);
        }
        let prefix = node.metadata.generate_name.clone().filter(|prefix| !prefix.is_empty());
        let why = "metadata.name: Required value: name or generateName is required";
        let prefix = prefix.ok_or_else(|| ApiError::invalid("Node", "", why))?;
        Ok(self.generate_name(NODES, &prefix, |state, name| state.nodes.contains_key(name)))
    }

    /// Stores a node and tells the watchers.
    fn put_node(&mut self, mut node: Node, kind: EventKind) -> Result<Node, ApiError> {
        let name = node.metadata.name.clone().unwrap_or_default();
        validate_node(&node).map_err(|error| ApiError::invalid("Node", &name, error))?;
        let input = node_input(&node).map_err(|error| ApiError::invalid("Node", &name, error))?;
        let resource_version = self.log.next_version();
        node.metadata.resource_version = Some(resource_version.to_string());
        let entry = Arc::new(NodeEntry {
            name: self.node_name_id(&name),
            resource_version,
            input: Arc::new(input),
            object: Arc::new(node.clone()),
        });
        self.nodes.insert(name, Arc::clone(&entry));
        self.publish(kind, WatchedObject::Node(entry));
        Ok(node)
    }

    pub(super) fn get_node(&self, name: &str) -> Result<&Arc<NodeEntry>, ApiError> {
        self.nodes.get(name).ok_or_else(|| ApiError::not_found(NODES, name))
    }

    /// The stored node that `node` is to replace, if it is the one its writer has read.
    fn node_to_replace(&self, node: &Node) -> Result<Arc<NodeEntry>, ApiError> {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let old = self.get_node(name)?;
        super::check_preconditions(NODES, &node.metadata, &old.object.metadata)?;
        Ok(Arc::clone(old))
    }

    pub(super) fn update_node(&mut self, mut node: Node) -> Result<Node, ApiError> {
        let old = self.node_to_replace(&node)?;
        node.status.clone_from(&old.object.status);
        super::keep_system_metadata(&mut node.metadata, &old.object.metadata);
        if node == *old.object {
            return Ok(node);
        }
        if super::is_to_be_removed(&node.metadata) {
            return Ok(self.remove_node(node));
        }
        self.put_node(node, EventKind::Modified)
    }

    pub(super) fn update_node_status(&mut self, node: Node) -> Result<Node, ApiError> {
        let old = self.node_to_replace(&node)?;
        self.replace_node_status(&old, node.status.unwrap_or_default())
    }

    pub(super) fn patch_node_status(&mut self, name: &str, patch: NodeStatus) -> Result<(), ApiError> {
        let old = Arc::clone(self.get_node(name)?);
        let mut status = old.object.status.clone().unwrap_or_default();
        overlay(&mut status, patch);
        self.replace_node_status(&old, status).map(drop)
    }

    fn replace_node_status(&mut self, old: &NodeEntry, status: NodeStatus) -> Result<Node, ApiError> {
        let mut node = Node { status: Some(status), ..(*old.object).clone() };
        default_node(&mut node);
        if node == *old.object {
            return Ok(node);
        }
        self.put_node(node, EventKind::Modified)
    }

    pub(super) fn delete_node(&mut self, name: &str, uid: Option<&str>, now_ns: u64) -> Result<(), ApiError> {
        let old = Arc::clone(self.get_node(name)?);
        super::check_uid(NODES, uid, &old.object.metadata)?;
        let mut node = (*old.object).clone();
        if super::has_finalizers(&node.metadata) {
            if node.metadata.deletion_timestamp.is_none() {
                node.metadata.deletion_timestamp = Some(time_of(now_ns));
                self.put_node(node, EventKind::Modified)?;
            }
            return Ok(());
        }
        self.remove_node(node);
        Ok(())
    }

    fn remove_node(&mut self, mut node: Node) -> Node {
        self.pressure.release();
        let name = node.metadata.name.clone().unwrap_or_default();
        let old = self.nodes.remove(&name).expect("the caller has found the node");
        let resource_version = self.log.next_version();
        node.metadata.resource_version = Some(resource_version.to_string());
        let last = NodeEntry { resource_version, object: Arc::new(node.clone()), ..(*old).clone() };
        self.publish(EventKind::Deleted, WatchedObject::Node(Arc::new(last)));
        node
    }
}

/// Replaces the fields that the patch has.
fn overlay(status: &mut NodeStatus, patch: NodeStatus) {
    fn put<T>(field: &mut Option<T>, patch: Option<T>) {
        if patch.is_some() {
            *field = patch;
        }
    }
    put(&mut status.addresses, patch.addresses);
    put(&mut status.allocatable, patch.allocatable);
    put(&mut status.capacity, patch.capacity);
    put(&mut status.conditions, patch.conditions);
    put(&mut status.config, patch.config);
    put(&mut status.daemon_endpoints, patch.daemon_endpoints);
    put(&mut status.declared_features, patch.declared_features);
    put(&mut status.features, patch.features);
    put(&mut status.images, patch.images);
    put(&mut status.node_info, patch.node_info);
    put(&mut status.phase, patch.phase);
    put(&mut status.runtime_handlers, patch.runtime_handlers);
    put(&mut status.volumes_attached, patch.volumes_attached);
    put(&mut status.volumes_in_use, patch.volumes_in_use);
}
