//! stopCollectingMetrics: ends what startCollectingMetrics began.
//!
//! Upstream: operations.go `stopCollectingMetricsOp`.

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
    OpDescriptor { opcode: "stopCollectingMetrics", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// stopCollectingMetrics, as written and ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopCollectingMetrics;

fn parse(file: &str, node: &Node) -> Result<StopCollectingMetrics, SchemaError> {
    Fields::read(file, "op stopCollectingMetrics", node, &["opcode"]).map(|_| StopCollectingMetrics)
}

impl WrittenOp for StopCollectingMetrics {
    fn collects_metrics(&self) -> bool {
        true
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(*self))
    }
}

impl ResolvedOp for StopCollectingMetrics {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts { measuring: Measuring::Ends, ..OpFacts::NOTHING }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for StopCollectingMetrics {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.stop_collecting(None)?;
        Ok(Ending::Completed)
    }
}
