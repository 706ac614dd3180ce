//! Which workloads can run today. The others are skipped by name, with the reason.

use super::workload::ResolvedWorkload;
use crate::ops::{Completion, CreatePods, Opcode, ResolvedOp, Stage};

/// The opcodes there is an executor for.
pub const SUPPORTED_OPCODES: &[Opcode] = &[
    Opcode::Barrier,
    Opcode::CreateNamespaces,
    Opcode::CreateNodes,
    Opcode::CreatePodSets,
    Opcode::CreatePods,
    Opcode::Sleep,
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
            unsupported_option(op, workload)
        } else {
            Some("this opcode is not implemented yet")
        };
        if let Some(reason) = reason {
            return Err(Unsupported { op_index, opcode, reason });
        }
    }
    Ok(())
}

fn unsupported_option(op: &ResolvedOp, workload: &ResolvedWorkload) -> Option<&'static str> {
    match op {
        ResolvedOp::CreateNodes(_) if workload.node_declared_features.is_some() => {
            Some("nodes with declared features (numNodeDeclaredFeatures) are not implemented yet")
        }
        ResolvedOp::CreatePods(op) => unsupported_pods(op),
        ResolvedOp::Barrier(op) if op.stage == Stage::Attempted => {
            Some("stageRequirement Attempted is not implemented yet")
        }
        _ => None,
    }
}

fn unsupported_pods(op: &CreatePods) -> Option<&'static str> {
    match op {
        CreatePods { completion: Completion::SteadyState { .. }, .. } => {
            Some("steadyState is not implemented yet")
        }
        CreatePods { signature_batch_size: 2.., .. } => Some("signatureBatchSize is not implemented yet"),
        _ => None,
    }
}
