//! How fast an op goes through a list of things, and whether the next op waits for it.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::executor::{BackgroundJob, Ending, JobStep, Lasts, OpContext, OpError};
use crate::params::ParamRef;
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::Fields;

/// A rate as written; the param wins.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenRate {
    literal: f64,
    param: Option<ParamRef>,
}

impl WrittenRate {
    /// Reads a rate and its param; 0 if neither is there.
    pub(super) fn read(
        fields: &Fields<'_>,
        literal: &'static str,
        param: &'static str,
    ) -> Result<WrittenRate, SchemaError> {
        let Some(node) = fields.get(literal) else {
            return Ok(WrittenRate { literal: 0.0, param: fields.param(param)? });
        };
        let rate = fields.float(literal, node)?;
        if rate.is_finite() && 0.0 <= rate {
            return Ok(WrittenRate { literal: rate, param: fields.param(param)? });
        }
        Err(fields.bad_value(literal, rate, "write 0 or more"))
    }

    /// Neither is there, or it is 0.
    pub(super) fn is_absent(&self) -> bool {
        self.param.is_none() && self.literal <= 0.0
    }

    /// So many a second.
    #[allow(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    pub(super) fn resolve(&self, resolver: &mut OpResolver<'_, '_>) -> Result<f64, ResolveError> {
        let Some(param) = &self.param else { return Ok(self.literal) };
        let rate = resolver.integer(param)?;
        if rate < 0 {
            let problem = crate::resolve::ResolveProblem::NegativeRate { param: param.to_string(), rate };
            return Err(resolver.error(problem));
        }
        Ok(rate as f64)
    }
}

/// A pace as written.
#[derive(Clone, Debug)]
pub(super) struct WrittenPace {
    pub(super) rate: WrittenRate,
    in_background: bool,
}

impl WrittenPace {
    /// Reads the rate and `skipWaitToCompletion`.
    pub(super) fn read(
        fields: &Fields<'_>,
        literal: &'static str,
        param: &'static str,
    ) -> Result<WrittenPace, SchemaError> {
        let rate = WrittenRate::read(fields, literal, param)?;
        Ok(WrittenPace { rate, in_background: fields.switch("skipWaitToCompletion")? })
    }

    pub(super) fn resolve(&self, resolver: &mut OpResolver<'_, '_>) -> Result<Pace, ResolveError> {
        Ok(Pace { per_second: self.rate.resolve(resolver)?, in_background: self.in_background })
    }
}

/// How fast an op goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// So many a second; 0 is as fast as possible.
    pub per_second: f64,
    /// The next op begins at once.
    pub in_background: bool,
}

impl Pace {
    /// Between two.
    pub(super) fn interval(self) -> Duration {
        if self.per_second <= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(1.0 / self.per_second).unwrap_or(Duration::MAX)
    }

    /// Does something with each of `count` things, by number.
    pub(super) fn go_through(
        self,
        context: &mut OpContext<'_>,
        count: usize,
        mut each: impl FnMut(usize) -> Result<(), OpError> + Send + 'static,
    ) -> Result<Ending, OpError> {
        let mut next = 0;
        let mut step: JobStep = Box::new(move || {
            if next < count {
                each(next)?;
                next += 1;
            }
            Ok(if next < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        let interval = self.interval();
        if self.in_background {
            context.start_background(BackgroundJob { lasts: Lasts::ForAWhile, interval, step });
            return Ok(Ending::Completed);
        }
        let mut ticks = context.ticks(interval);
        loop {
            let goes_on = interval.is_zero() || context.wait_tick(&mut ticks)?;
            if context.is_interrupted() || !goes_on {
                return Ok(Ending::Interrupted);
            }
            if step()?.is_break() {
                return Ok(Ending::Completed);
            }
        }
    }
}
