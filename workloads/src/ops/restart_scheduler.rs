//! restartScheduler: the scheduler ends as a process that is killed, and another one begins. Upstream has no such
//! op.
//!
//! What it knew and had not sent is lost; calls on their way reach the API. The new one lists everything, with the
//! settings of the workload's beginning. Counted are the pods that were between the choice of their node and their
//! binding, and how many of them end on that node.

use std::sync::Arc;
use std::time::Duration;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "restartScheduler", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// restartScheduler, as written and ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartScheduler {
    /// How long there is no scheduler.
    pub downtime: Duration,
}

fn parse(file: &str, node: &Node) -> Result<RestartScheduler, SchemaError> {
    let fields = Fields::read(file, "op restartScheduler", node, &["opcode", "downtime"])?;
    Ok(RestartScheduler { downtime: fields.duration("downtime")?.unwrap_or_default() })
}

impl WrittenOp for RestartScheduler {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(*self))
    }
}

impl ResolvedOp for RestartScheduler {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts::NOTHING
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for RestartScheduler {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.restart_scheduler(self.downtime)
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::sample::{problem, resolved};

    use super::*;

    #[test]
    fn fields_are_read_and_bad_values_are_named() {
        let op = resolved::<RestartScheduler>("opcode: restartScheduler, downtime: 200ms", &[]);
        assert_eq!(op.downtime, Duration::from_millis(200));
        let text = problem("opcode: restartScheduler, downtime: -1s");
        assert!(
            text.starts_with("c.yaml:3:42: `downtime` of op restartScheduler is \"-1s\"; write "),
            "{text}"
        );
    }
}
