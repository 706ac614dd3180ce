//! startCollectingProfile and stopCollectingProfile: a CPU profile of everything between the two.
//!
//! Upstream: operations.go `startCollectingProfileOp`, `stopCollectingProfileOp`.

use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// startCollectingProfile, as written and ready to run. CPU is the only type there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartCollectingProfile {
    /// Where the profile is written, relative to the directory of the results.
    pub file_path: String,
}

pub(super) fn parse_start(file: &str, node: &Node) -> Result<StartCollectingProfile, SchemaError> {
    let fields = Fields::read(file, "op startCollectingProfile", node, &["opcode", "type", "filePath"])?;
    check_type(&fields)?;
    let file_path = fields.required_string("filePath", "name the file to write")?;
    Ok(StartCollectingProfile { file_path })
}

pub(super) fn parse_stop(file: &str, node: &Node) -> Result<(), SchemaError> {
    check_type(&Fields::read(file, "op stopCollectingProfile", node, &["opcode", "type"])?)
}

fn check_type(fields: &Fields<'_>) -> Result<(), SchemaError> {
    let written = fields.required_string("type", "write `type: CPU`")?;
    if !written.eq_ignore_ascii_case("CPU") {
        return Err(fields.bad_value("type", written, "only CPU can be profiled"));
    }
    Ok(())
}
