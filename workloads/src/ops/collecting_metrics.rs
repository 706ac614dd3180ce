//! startCollectingMetrics and stopCollectingMetrics: measures everything between the two.
//!
//! Upstream: operations.go `startCollectingMetricsOp`, `stopCollectingMetricsOp`.

use std::collections::BTreeMap;

use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// startCollectingMetrics, as written and ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartCollectingMetrics {
    /// Appended to the workload's name in the results.
    pub name: String,
    /// Throughput counts pods of these namespaces only; at least one.
    pub namespaces: Vec<String>,
    /// Labels a pod must have to be counted; all pods if empty.
    pub label_selector: BTreeMap<String, String>,
}

pub(super) fn parse_start(file: &str, node: &Node) -> Result<StartCollectingMetrics, SchemaError> {
    const FIELDS: &[&str] = &["opcode", "name", "namespaces", "labelSelector"];
    let fields = Fields::read(file, "op startCollectingMetrics", node, FIELDS)?;
    let namespaces = fields.strings("namespaces")?;
    if namespaces.is_empty() {
        return Err(fields.missing("namespaces", "list the namespaces whose pods are counted"));
    }
    Ok(StartCollectingMetrics {
        name: fields.string("name")?.unwrap_or_default(),
        namespaces,
        label_selector: fields.string_map("labelSelector")?,
    })
}

pub(super) fn parse_stop(file: &str, node: &Node) -> Result<(), SchemaError> {
    Fields::read(file, "op stopCollectingMetrics", node, &["opcode"]).map(|_| ())
}
