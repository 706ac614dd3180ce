//! createNodes and its strategies.
//!
//! Upstream: scheduler_perf/node_util.go creates a node and then patches it as the strategy says.
//! Differs: the strategy is applied to the object before it is created, one call instead of two;
//! the nodes end up the same, in the same order.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schedlab_cluster::api::{Api, GenericObject, Object};
use serde_json::{Value, json};

use super::error::OpError;
use super::outcome::Ending;
use super::{Executor, objects};
use crate::ops::{CreateNodes, NodeStrategy};

impl Executor<'_> {
    pub(super) fn create_nodes(&mut self, op_index: usize, op: &CreateNodes) -> Result<Ending, OpError> {
        for index in 0..op.count {
            if self.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let mut node = match &op.template {
                Some(template) => {
                    objects::node(template.render_json(index, op.count)?, template.template().path())?
                }
                None => objects::node(
                    objects::base_node(&format!("node-{op_index}-")),
                    "the built-in node".as_ref(),
                )?,
            };
            self.name_node(&mut node);
            let csi_node = apply_strategy(&op.strategy, &mut node, index);
            if !self.declared_features.is_empty() {
                let status = node.status.get_or_insert_default();
                status.declared_features = Some(self.declared_features.clone());
            }
            self.cluster.create(Object::Node(Box::new(node)))?;
            if let Some(object) = csi_node {
                self.cluster.create(Object::Other(Box::new(object)))?;
            }
            self.node_count += 1;
        }
        Ok(Ending::Completed)
    }

    /// Names are known before creation, since the host name label repeats them. Zero-padded
    /// numbers keep creation order and name order the same.
    fn name_node(&mut self, node: &mut Node) {
        let name = node.metadata.name.get_or_insert_with(|| {
            let prefix = node.metadata.generate_name.take().unwrap_or_default();
            self.node_names += 1;
            format!("{prefix}{:06}", self.node_names - 1)
        });
        let labels = node.metadata.labels.get_or_insert_default();
        labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
    }
}

/// Applies the strategy; returns the CSINode that belongs to the node, if any.
fn apply_strategy(strategy: &NodeStrategy, node: &mut Node, index: u32) -> Option<GenericObject> {
    let labels = node.metadata.labels.get_or_insert_default();
    match strategy {
        NodeStrategy::Trivial => None,
        NodeStrategy::Label { key, values } => {
            labels.insert(key.clone(), values[index as usize % values.len()].clone());
            None
        }
        NodeStrategy::UniqueLabel { key } => {
            labels.insert(key.clone(), format!("unique-{index}"));
            None
        }
        NodeStrategy::Allocatable { node_allocatable, csi_node_allocatable, migrated_plugins } => {
            let status = node.status.get_or_insert_default();
            let allocatable =
                status.allocatable.get_or_insert_with(|| status.capacity.clone().unwrap_or_default());
            for (resource, quantity) in node_allocatable {
                allocatable.insert(resource.clone(), Quantity(quantity.clone()));
            }
            let name = node.metadata.name.clone().unwrap_or_default();
            let drivers: Vec<Value> = csi_node_allocatable
                .iter()
                .map(|(driver, count)| json!({"name": driver, "nodeID": name, "allocatable": {"count": count}}))
                .collect();
            let mut object = GenericObject {
                api_version: "storage.k8s.io/v1".to_owned(),
                kind: "CSINode".to_owned(),
                ..GenericObject::default()
            };
            object.metadata.name = Some(name);
            object.metadata.annotations = Some(
                [("storage.alpha.kubernetes.io/migrated-plugins".to_owned(), migrated_plugins.join(","))]
                    .into(),
            );
            object.body.insert("spec".to_owned(), json!({"drivers": drivers}));
            Some(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(strategy: &NodeStrategy, index: u32) -> (Node, Option<GenericObject>) {
        let mut node = objects::node(objects::base_node("n-"), "test".as_ref()).expect("the base node");
        node.metadata.name = Some(format!("n-{index}"));
        let csi_node = apply_strategy(strategy, &mut node, index);
        (node, csi_node)
    }

    #[test]
    fn labels_go_round_through_their_values() {
        let strategy =
            NodeStrategy::Label { key: "zone".to_owned(), values: vec!["a".to_owned(), "b".to_owned()] };
        let values: Vec<String> = (0..3)
            .map(|index| prepared(&strategy, index).0.metadata.labels.expect("labelled")["zone"].clone())
            .collect();
        assert_eq!(values, ["a", "b", "a"]);
    }

    #[test]
    fn unique_labels_differ() {
        let strategy = NodeStrategy::UniqueLabel { key: "id".to_owned() };
        let value = |index| prepared(&strategy, index).0.metadata.labels.expect("labelled")["id"].clone();
        assert_ne!(value(0), value(1));
    }

    #[test]
    fn allocatable_is_filled_and_a_csi_node_comes_with_it() {
        let strategy = NodeStrategy::Allocatable {
            node_allocatable: [("attachable-volumes-aws-ebs".to_owned(), "39".to_owned())].into(),
            csi_node_allocatable: [("ebs.csi.aws.com".to_owned(), Some(39))].into(),
            migrated_plugins: vec!["kubernetes.io/aws-ebs".to_owned()],
        };
        let (node, csi_node) = prepared(&strategy, 0);
        let allocatable = node.status.and_then(|status| status.allocatable).expect("allocatable");
        assert_eq!(allocatable["attachable-volumes-aws-ebs"].0, "39");
        assert_eq!(allocatable["cpu"].0, "4");
        let csi_node = csi_node.expect("a CSINode");
        assert_eq!(csi_node.body["spec"]["drivers"][0]["allocatable"]["count"], 39);
        assert_eq!(csi_node.metadata.name.as_deref(), Some("n-0"));
    }
}
