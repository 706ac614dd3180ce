//! barrier: waits for pods that earlier ops did not wait for.
//!
//! Upstream: operations.go `barrierOp`; executor.go `runBarrierOp`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "barrier", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

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

fn parse(file: &str, node: &Node) -> Result<Barrier, SchemaError> {
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

impl WrittenOp for Barrier {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.clone()))
    }
}

impl ResolvedOp for Barrier {
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

impl RunOp for Barrier {
    /// Upstream: a barrier waits for the namespaces it names, or for all that may have unfinished
    /// pods, and then forgets them; one that waits for attempts forgets nothing.
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        if let Some(name) = self.namespaces.iter().find(|name| !context.awaited.contains_key(*name)) {
            return Err(OpError::UnknownNamespace { name: name.clone() });
        }
        let names: Vec<String> = if self.namespaces.is_empty() {
            context.awaited.keys().cloned().collect()
        } else {
            self.namespaces.clone()
        };
        for name in &names {
            let wanted = context.awaited[name];
            let ending = if self.label_selector.is_empty() && self.stage == StageRequirement::Scheduled {
                context.wait_scheduled(name, wanted)?
            } else {
                context.wait_selected(name, &self.label_selector, self.stage, wanted)?
            };
            if ending != Ending::Completed {
                return Ok(ending);
            }
        }
        if self.stage == StageRequirement::Scheduled {
            for name in &names {
                context.awaited.remove(name);
            }
        }
        Ok(Ending::Completed)
    }
}
