//! stopCollectingProfile: ends what startCollectingProfile began.
//!
//! Upstream: operations.go `stopCollectingProfileOp`.

use std::sync::Arc;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use super::start_collecting_profile::check_type;
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "stopCollectingProfile", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// stopCollectingProfile, as written and ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopCollectingProfile;

fn parse(file: &str, node: &Node) -> Result<StopCollectingProfile, SchemaError> {
    check_type(&Fields::read(file, "op stopCollectingProfile", node, &["opcode", "type"])?)?;
    Ok(StopCollectingProfile)
}

impl WrittenOp for StopCollectingProfile {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(*self))
    }
}

impl ResolvedOp for StopCollectingProfile {
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

impl RunOp for StopCollectingProfile {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.stop_profile()?;
        Ok(Ending::Completed)
    }
}
