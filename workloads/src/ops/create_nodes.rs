//! createNodes: adds nodes, then prepares each one.
//!
//! Upstream: operations.go `createNodesOp`; executor.go `getNodePreparer`; runners.go, the strategies.

use std::collections::BTreeMap;

use super::count::Count;
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};

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

pub(super) fn parse(file: &str, node: &Node) -> Result<CreateNodesOp, SchemaError> {
    let fields = Fields::read(file, "op createNodes", node, FIELDS)?;
    Ok(CreateNodesOp {
        count: Count::required(&fields)?,
        template_path: fields.string("nodeTemplatePath")?,
        template_params: fields.json_map("templateParams")?,
        strategy: parse_strategy(&fields)?,
    })
}

/// Differs: with two strategies upstream takes one and forgets the other; we refuse.
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

impl CreateNodesOp {
    pub(super) fn resolve(&self, resolver: &mut OpResolver<'_, '_>) -> Result<CreateNodes, ResolveError> {
        let count = resolver.count(&self.count, Limit::Nodes)?;
        resolver.add_to_total(Limit::Nodes, count)?;
        let params = resolver.template_params(&self.template_params)?;
        let template = match &self.template_path {
            Some(path) => Some(BoundTemplate::new(resolver.template(path)?, params)),
            None => None,
        };
        Ok(CreateNodes { count, template, strategy: self.strategy.clone() })
    }
}
