//! barrier: waits for pods that earlier ops did not wait for.
//!
//! Upstream: operations.go `barrierOp`; executor.go `runBarrierOp`.

use std::collections::BTreeMap;

use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] = &["opcode", "namespaces", "labelSelector", "stageRequirement"];

/// barrier, as written and ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Where; every known namespace if empty.
    pub namespaces: Vec<String>,
    /// Labels a pod must have to be counted; all pods if empty.
    pub label_selector: BTreeMap<String, String>,
    /// How far the pods must be.
    pub stage: StageRequirement,
}

/// How far pods must be for a barrier to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageRequirement {
    /// They have a node.
    Scheduled,
    /// They have a node, or a condition PodScheduled: the scheduler has tried them.
    Attempted,
}

pub(super) fn parse(file: &str, node: &Node) -> Result<Barrier, SchemaError> {
    let fields = Fields::read(file, "op barrier", node, FIELDS)?;
    let stage = match fields.string("stageRequirement")?.as_deref() {
        None | Some("" | "Scheduled") => StageRequirement::Scheduled,
        Some("Attempted") => StageRequirement::Attempted,
        Some(other) => {
            return Err(fields.bad_value("stageRequirement", other, "write Scheduled or Attempted"));
        }
    };
    Ok(Barrier {
        namespaces: fields.strings("namespaces")?,
        label_selector: fields.string_map("labelSelector")?,
        stage,
    })
}
