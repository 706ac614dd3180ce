//! startCollectingProfile: a CPU profile of everything up to stopCollectingProfile.
//!
//! Upstream: operations.go `startCollectingProfileOp`.

use std::path::{Component, Path};
use std::sync::Arc;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "startCollectingProfile", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// startCollectingProfile, as written and ready to run. CPU is the only type there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartCollectingProfile {
    /// Where the profile is written, relative to the directory of the results.
    pub file_path: String,
}

/// Differs: upstream writes wherever the path leads (`broken_ops_are_refused`).
fn parse(file: &str, node: &Node) -> Result<StartCollectingProfile, SchemaError> {
    let fields = Fields::read(file, "op startCollectingProfile", node, &["opcode", "type", "filePath"])?;
    check_type(&fields)?;
    let file_path = fields.required_string("filePath", "name the file to write")?;
    let stays_inside = Path::new(&file_path).components().all(|part| matches!(part, Component::Normal(_)));
    if !stays_inside {
        let help = "write a path below the directory of the results, such as profiles/cpu.pb";
        return Err(fields.bad_value("filePath", file_path, help));
    }
    Ok(StartCollectingProfile { file_path })
}

/// CPU is the only type there is.
pub(super) fn check_type(fields: &Fields<'_>) -> Result<(), SchemaError> {
    let written = fields.required_string("type", "write `type: CPU`")?;
    if !written.eq_ignore_ascii_case("CPU") {
        return Err(fields.bad_value("type", written, "only CPU can be profiled"));
    }
    Ok(())
}

impl WrittenOp for StartCollectingProfile {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.clone()))
    }
}

impl ResolvedOp for StartCollectingProfile {
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

impl RunOp for StartCollectingProfile {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.start_profile(&self.file_path)?;
        Ok(Ending::Completed)
    }
}
