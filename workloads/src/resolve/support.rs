//! Which workloads can run today. The others are skipped by name, with the reason.

use super::workload::ResolvedWorkload;
use crate::ops::{Opcode, ResolvedOp};
use crate::template::ObjectTemplate;

/// The opcodes there is an executor for.
pub const SUPPORTED_OPCODES: &[Opcode] = &[
    Opcode::Barrier,
    Opcode::Churn,
    Opcode::CreateAny,
    Opcode::CreateNamespaces,
    Opcode::CreateNodes,
    Opcode::CreatePodSets,
    Opcode::CreatePods,
    Opcode::DeletePods,
    Opcode::Sleep,
    Opcode::StartCollectingMetrics,
    Opcode::StopCollectingMetrics,
    Opcode::UpdateAny,
];

/// Why a workload cannot run yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("op {op_index} ({opcode}): {reason}")]
pub struct Unsupported {
    /// Number of the op among the resolved ops, from 0.
    pub op_index: usize,
    /// The op.
    pub opcode: Opcode,
    /// What of it is missing.
    pub reason: &'static str,
}

/// Whether every op of a workload can run, given the opcodes there is an executor for. The first
/// one that cannot is returned.
pub fn runnable(workload: &ResolvedWorkload, supported: &[Opcode]) -> Result<(), Unsupported> {
    for (op_index, op) in workload.ops.iter().enumerate() {
        let opcode = op.opcode();
        let reason = if supported.contains(&opcode) {
            templates(op).into_iter().find_map(unsupported_template)
        } else {
            Some(unsupported_opcode(opcode))
        };
        if let Some(reason) = reason {
            return Err(Unsupported { op_index, opcode, reason });
        }
    }
    Ok(())
}

const NO_DRA: &str = "dynamic resource allocation is not simulated here";
const NO_POD_GROUPS: &str = "pod groups are not simulated here";

fn unsupported_opcode(opcode: Opcode) -> &'static str {
    match opcode {
        Opcode::AllocResourceClaims | Opcode::CreateResourceClaims => NO_DRA,
        Opcode::CreatePodGroups => NO_POD_GROUPS,
        _ => "this opcode is not implemented yet",
    }
}

/// What an op makes objects from.
fn templates(op: &ResolvedOp) -> Vec<&ObjectTemplate> {
    match op {
        ResolvedOp::CreateAny(op) => vec![op.template.template()],
        ResolvedOp::UpdateAny(op) => vec![op.template.template()],
        ResolvedOp::CreatePods(op) => op.template.iter().map(|template| template.template()).collect(),
        ResolvedOp::Churn(op) => op.templates.iter().map(AsRef::as_ref).collect(),
        _ => Vec::new(),
    }
}

/// Objects that nothing here acts upon: pods that need them would wait for ever, or be scheduled
/// without regard to them.
fn unsupported_template(template: &ObjectTemplate) -> Option<&'static str> {
    let starts = |start: &str| template.text().lines().any(|line| line.trim_start().starts_with(start));
    if starts("apiVersion: resource.k8s.io/") || starts("resourceClaims:") {
        Some(NO_DRA)
    } else if starts("kind: PodGroup") || starts("schedulingGroup:") || starts("workloadRef:") {
        Some(NO_POD_GROUPS)
    } else {
        None
    }
}
