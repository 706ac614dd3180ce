//! startCollectingMetrics: measures everything up to stopCollectingMetrics.
//!
//! Upstream: operations.go `startCollectingMetricsOp`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::descriptor::{
    Measuring, OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one,
};
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "startCollectingMetrics", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

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

fn parse(file: &str, node: &Node) -> Result<StartCollectingMetrics, SchemaError> {
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

impl WrittenOp for StartCollectingMetrics {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.clone()))
    }
}

impl ResolvedOp for StartCollectingMetrics {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts { measuring: Measuring::Begins, ..OpFacts::NOTHING }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for StartCollectingMetrics {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.start_collecting(&self.name, &self.namespaces, &self.label_selector)?;
        Ok(Ending::Completed)
    }
}
