//! sleep: waits for a while.
//!
//! Upstream: operations.go `sleepOp`.

use std::sync::Arc;
use std::time::Duration;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError};
use crate::params::ParamRef;
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "sleep", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// sleep as written.
#[derive(Clone, Debug)]
pub struct SleepOp {
    /// How long, unless the param says so.
    pub duration: Duration,
    /// Param for `duration`; it wins.
    pub duration_param: Option<ParamRef>,
}

/// sleep, ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// How long.
    pub duration: Duration,
}

/// Differs: upstream takes a sleep without a duration as one of no length (`broken_ops_are_refused`).
fn parse(file: &str, node: &Node) -> Result<SleepOp, SchemaError> {
    let fields = Fields::read(file, "op sleep", node, &["opcode", "duration", "durationParam"])?;
    let (duration, duration_param) = (fields.duration("duration")?, fields.param("durationParam")?);
    if duration.is_none() && duration_param.is_none() {
        return Err(fields.missing("duration", "write `duration: 10s`, or `durationParam: $name`"));
    }
    Ok(SleepOp { duration: duration.unwrap_or_default(), duration_param })
}

impl WrittenOp for SleepOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        let duration = match &self.duration_param {
            Some(param) => resolver.duration(param)?,
            None => self.duration,
        };
        Ok(one(Sleep { duration }))
    }
}

impl ResolvedOp for Sleep {
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

impl RunOp for Sleep {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.sleep(self.duration)
    }
}
