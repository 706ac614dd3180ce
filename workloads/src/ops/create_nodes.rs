//! createNodes: adds nodes, then prepares each one.
//!
//! Upstream: operations.go `createNodesOp`; executor.go `getNodePreparer`; runners.go, the strategies;
//! node_util.go creates a node and then patches it as the strategy says.
//! Differs: the strategy is applied to the object before it is created, one call instead of two;
//! the nodes end up the same, in the same order
//! (`labels_go_round_through_their_values`, `allocatable_is_filled_and_a_csi_node_comes_with_it`).

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schedlab_cluster::api::{Api, GenericObject, Object};
use serde_json::{Value, json};

use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError, objects};
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createNodes", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "count",
    "countParam",
    "nodeTemplatePath",
    "nodeAllocatableStrategy",
    "labelNodePrepareStrategy",
    "uniqueNodeLabelStrategy",
    "templateParams",
];

/// createNodes as written.
#[derive(Clone, Debug)]
pub struct CreateNodesOp {
    /// How many nodes.
    pub count: Count,
    /// Template of the nodes; upstream's base node if absent.
    pub template_path: Option<String>,
    /// What the template is given beside `.Index` and `.Count`.
    pub template_params: TemplateParams,
    /// What is done to each node after it was created.
    pub strategy: NodeStrategy,
}

/// createNodes, ready to run.
#[derive(Clone, Debug)]
pub struct CreateNodes {
    /// How many nodes.
    pub count: u32,
    /// Template of the nodes. Without one: a node with generateName `node-<op number>-`, 4 CPUs,
    /// 32Gi of memory, room for 110 pods, phase Running and condition Ready.
    pub template: Option<BoundTemplate>,
    /// What is done to each node after it was created.
    pub strategy: NodeStrategy,
}

/// What createNodes does to each node after it was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeStrategy {
    /// Nothing.
    Trivial,
    /// Fills `status.allocatable` and the drivers of the node's CSINode.
    Allocatable {
        /// Resource name to quantity.
        node_allocatable: BTreeMap<String, String>,
        /// CSI driver to the number of volumes it can attach.
        csi_node_allocatable: BTreeMap<String, Option<i32>>,
        /// In-tree volume plugins that have moved to CSI.
        migrated_plugins: Vec<String>,
    },
    /// Gives nodes a label whose value goes round through a list.
    Label {
        /// The label's name.
        key: String,
        /// Its values, at least one.
        values: Vec<String>,
    },
    /// Gives every node a label with a value of its own (a UUID upstream).
    UniqueLabel {
        /// The label's name.
        key: String,
    },
}

fn parse(file: &str, node: &Node) -> Result<CreateNodesOp, SchemaError> {
    let fields = Fields::read(file, "op createNodes", node, FIELDS)?;
    Ok(CreateNodesOp {
        count: Count::required(&fields)?,
        template_path: fields.string("nodeTemplatePath")?,
        template_params: fields.json_map("templateParams")?,
        strategy: parse_strategy(&fields)?,
    })
}

/// Differs: with two strategies upstream takes one and forgets the other; we refuse
/// (`broken_ops_are_refused`).
fn parse_strategy(fields: &Fields<'_>) -> Result<NodeStrategy, SchemaError> {
    let allocatable = ("nodeAllocatableStrategy", parse_allocatable(fields)?);
    let label = ("labelNodePrepareStrategy", parse_label(fields)?);
    let unique = ("uniqueNodeLabelStrategy", parse_unique(fields)?);
    let mut given = [allocatable, label, unique].into_iter().filter_map(|(name, s)| Some((name, s?)));
    match (given.next(), given.next()) {
        (Some((first, _)), Some((second, _))) => {
            Err(fields.conflict(first, second, "keep one strategy, or write two createNodes ops"))
        }
        (Some((_, strategy)), None) => Ok(strategy),
        _ => Ok(NodeStrategy::Trivial),
    }
}

fn parse_allocatable(op: &Fields<'_>) -> Result<Option<NodeStrategy>, SchemaError> {
    const FIELDS: &[&str] = &["nodeAllocatable", "csiNodeAllocatable", "migratedPlugins"];
    let Some(node) = op.get("nodeAllocatableStrategy") else { return Ok(None) };
    let fields = Fields::read(op.file(), "nodeAllocatableStrategy", node, FIELDS)?;
    let mut csi_node_allocatable = BTreeMap::new();
    for (driver, node) in fields.entries("csiNodeAllocatable")? {
        let holder = format!("csiNodeAllocatable of {}", driver.name);
        let resources = Fields::read(op.file(), holder, node, &["count"])?;
        let count = resources.integer("count")?.map(|count| {
            i32::try_from(count).map_err(|_| resources.bad_value("count", count, "write a 32-bit number"))
        });
        csi_node_allocatable.insert(driver.name.clone(), count.transpose()?);
    }
    Ok(Some(NodeStrategy::Allocatable {
        node_allocatable: fields.string_map("nodeAllocatable")?,
        csi_node_allocatable,
        migrated_plugins: fields.strings("migratedPlugins")?,
    }))
}

fn parse_label(op: &Fields<'_>) -> Result<Option<NodeStrategy>, SchemaError> {
    let Some(node) = op.get("labelNodePrepareStrategy") else { return Ok(None) };
    let fields = Fields::read(op.file(), "labelNodePrepareStrategy", node, &["labelKey", "labelValues"])?;
    let values = fields.strings("labelValues")?;
    if values.is_empty() {
        return Err(fields.missing("labelValues", "list at least one value"));
    }
    let key = fields.required_string("labelKey", "name the label")?;
    Ok(Some(NodeStrategy::Label { key, values }))
}

fn parse_unique(op: &Fields<'_>) -> Result<Option<NodeStrategy>, SchemaError> {
    let Some(node) = op.get("uniqueNodeLabelStrategy") else { return Ok(None) };
    let fields = Fields::read(op.file(), "uniqueNodeLabelStrategy", node, &["labelKey"])?;
    let key = fields.required_string("labelKey", "name the label")?;
    Ok(Some(NodeStrategy::UniqueLabel { key }))
}

impl WrittenOp for CreateNodesOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        let count = resolver.count(&self.count, Limit::Nodes)?;
        resolver.add_to_total(Limit::Nodes, count)?;
        let params = resolver.template_params(&self.template_params)?;
        let template = match &self.template_path {
            Some(path) => Some(BoundTemplate::new(resolver.template(path)?, params)),
            None => None,
        };
        Ok(one(CreateNodes { count, template, strategy: self.strategy.clone() }))
    }
}

impl ResolvedOp for CreateNodes {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts { nodes: self.count, ..OpFacts::NOTHING }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for CreateNodes {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let mut maker = NodeMaker::new(context.op_index(), self)?;
        for index in 0..self.count {
            if context.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let mut node = maker.node(index)?;
            name_node(&mut context.node_names, &mut node);
            let csi_node = apply_strategy(&self.strategy, &mut node, index);
            if !context.declared_features.is_empty() {
                let status = node.status.get_or_insert_default();
                status.declared_features = Some(context.declared_features.clone());
            }
            context.cluster.create(Object::Node(Box::new(node)))?;
            if let Some(object) = csi_node {
                context.cluster.create(Object::Other(Box::new(object)))?;
            }
            context.node_count += 1;
        }
        Ok(Ending::Completed)
    }
}

/// Names are known before creation, since the host name label repeats them. Zero-padded
/// numbers keep creation order and name order the same.
fn name_node(names: &mut u64, node: &mut v1::Node) {
    let name = node.metadata.name.get_or_insert_with(|| {
        let prefix = node.metadata.generate_name.take().unwrap_or_default();
        *names += 1;
        format!("{prefix}{:06}", *names - 1)
    });
    let labels = node.metadata.labels.get_or_insert_default();
    labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
}

/// Makes the nodes of an op. Reading YAML is most of a set-up, and the nodes of an op are mostly
/// alike: a text is read once.
struct NodeMaker<'a> {
    op: &'a CreateNodes,
    /// The node of every index, where the index makes no difference.
    only: Option<v1::Node>,
    by_text: BTreeMap<String, v1::Node>,
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

    fn node(&mut self, index: u32) -> Result<v1::Node, OpError> {
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
fn apply_strategy(strategy: &NodeStrategy, node: &mut v1::Node, index: u32) -> Option<GenericObject> {
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
    use crate::template::ObjectTemplate;

    fn prepared(strategy: &NodeStrategy, index: u32) -> (v1::Node, Option<GenericObject>) {
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
