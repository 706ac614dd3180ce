//! createNodes and its strategies.
//!
//! Upstream: scheduler_perf/node_util.go creates a node and then patches it as the strategy says.
//! Differs: the strategy is applied to the object before it is created, one call instead of two;
//! the nodes end up the same, in the same order.

use std::collections::BTreeMap;

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
        let mut maker = NodeMaker::new(op_index, op)?;
        for index in 0..op.count {
            if self.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let mut node = maker.node(index)?;
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

/// Makes the nodes of an op. Reading YAML is most of a set-up, and the nodes of an op are mostly
/// alike: a text is read once.
struct NodeMaker<'a> {
    op: &'a CreateNodes,
    /// The node of every index, where the index makes no difference.
    only: Option<Node>,
    by_text: BTreeMap<String, Node>,
}

/// Texts that are remembered: zones, racks and shapes are few; names are as many as nodes, and
/// remembering them would help nothing.
const TEXTS_MAX: usize = 256;

impl<'a> NodeMaker<'a> {
    fn new(op_index: usize, op: &'a CreateNodes) -> Result<NodeMaker<'a>, OpError> {
        let only = match &op.template {
            Some(template) if template.depends_on_index() => None,
            Some(template) if 0 < op.count => {
                Some(objects::node(template.render_json(0, op.count)?, template.template().path())?)
            }
            Some(_) => None,
            None => {
                let value = objects::base_node(&format!("node-{op_index}-"));
                Some(objects::node(value, "the built-in node".as_ref())?)
            }
        };
        Ok(NodeMaker { op, only, by_text: BTreeMap::new() })
    }

    fn node(&mut self, index: u32) -> Result<Node, OpError> {
        let template = match (&self.only, &self.op.template) {
            (Some(node), _) => return Ok(node.clone()),
            (None, Some(template)) => template,
            (None, None) => unreachable!("without a template all nodes are alike"),
        };
        let text = template.render(index, self.op.count)?;
        if let Some(node) = self.by_text.get(&text) {
            return Ok(node.clone());
        }
        let template = template.template();
        let node = objects::node(template.read_json(&text)?, template.path())?;
        if self.by_text.len() < TEXTS_MAX {
            self.by_text.insert(text, node.clone());
        }
        Ok(node)
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
    use std::sync::Arc;

    use super::*;
    use crate::params::TemplateParams;
    use crate::template::{BoundTemplate, ObjectTemplate};

    fn prepared(strategy: &NodeStrategy, index: u32) -> (Node, Option<GenericObject>) {
        let mut node = objects::node(objects::base_node("n-"), "test".as_ref()).expect("the base node");
        node.metadata.name = Some(format!("n-{index}"));
        let csi_node = apply_strategy(strategy, &mut node, index);
        (node, csi_node)
    }

    #[test]
    fn nodes_of_a_template_equal_nodes_read_one_by_one() {
        let text = "metadata:\n  generateName: n-\n  labels:\n    zone: zone-{{Mod .Index 3}}\n";
        for text in [text, "metadata:\n  name: n-{{.Index}}\n", "metadata:\n  generateName: n-\n"] {
            let template = ObjectTemplate::parse("node.yaml".as_ref(), text.to_owned()).expect("a template");
            let template = BoundTemplate::new(Arc::new(template), TemplateParams::default());
            let count = u32::try_from(TEXTS_MAX).expect("small") + 5;
            let op = CreateNodes { count, template: Some(template.clone()), strategy: NodeStrategy::Trivial };
            let mut maker = NodeMaker::new(0, &op).expect("the template makes nodes");
            for index in 0..count {
                let json = template.render_json(index, count).expect("renders");
                let plain = objects::node(json, "node.yaml".as_ref()).expect("a node");
                assert_eq!(maker.node(index).expect("a node"), plain, "{text}: index {index}");
            }
        }
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
