//! sleep: waits for a while.
//!
//! Upstream: operations.go `sleepOp`.

use std::time::Duration;

use crate::params::ParamRef;
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

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

/// Differs: upstream takes a sleep without a duration as one of no length.
pub(super) fn parse(file: &str, node: &Node) -> Result<SleepOp, SchemaError> {
    let fields = Fields::read(file, "op sleep", node, &["opcode", "duration", "durationParam"])?;
    let (duration, duration_param) = (fields.duration("duration")?, fields.param("durationParam")?);
    if duration.is_none() && duration_param.is_none() {
        return Err(fields.missing("duration", "write `duration: 10s`, or `durationParam: $name`"));
    }
    Ok(SleepOp { duration: duration.unwrap_or_default(), duration_param })
}

impl SleepOp {
    pub(super) fn resolve(&self, resolver: &mut OpResolver<'_, '_>) -> Result<Sleep, ResolveError> {
        let duration = match &self.duration_param {
            Some(param) => resolver.duration(param)?,
            None => self.duration,
        };
        Ok(Sleep { duration })
    }
}
