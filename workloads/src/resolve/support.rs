//! Which workloads can run today. The others are skipped by name, with the reason.

use super::workload::ResolvedWorkload;
use crate::ops::OpSupport;
use crate::template::ObjectTemplate;

/// Why a workload cannot run yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("op {op_index} ({opcode}): {reason}")]
pub struct Unsupported {
    /// Number of the op among the resolved ops, from 0.
    pub op_index: usize,
    /// The op.
    pub opcode: &'static str,
    /// What of it is missing.
    pub reason: &'static str,
}

/// Whether every op of a workload can run. The first one that cannot is returned.
pub fn runnable(workload: &ResolvedWorkload) -> Result<(), Unsupported> {
    for (op_index, op) in workload.ops.iter().enumerate() {
        let reason = match op.support() {
            OpSupport::Runs(_) => op.facts().templates.into_iter().find_map(unsupported_template),
            OpSupport::NotYet(reason) => Some(reason),
        };
        if let Some(reason) = reason {
            return Err(Unsupported { op_index, opcode: op.opcode(), reason });
        }
    }
    Ok(())
}

/// Objects that nothing here acts upon: pods that need them would wait for ever, or be scheduled
/// without regard to them.
fn unsupported_template(template: &ObjectTemplate) -> Option<&'static str> {
    let starts = |start: &str| template.text().lines().any(|line| line.trim_start().starts_with(start));
    let needs_devices = starts("apiVersion: resource.k8s.io/") || starts("resourceClaims:");
    needs_devices.then_some(OpSupport::NO_DRA)
}
