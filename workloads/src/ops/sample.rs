//! What the tests of ops are written with: an op as a workload file has it, resolved or refused.

use std::path::Path;
use std::sync::Arc;

use super::descriptor::ResolvedOp;
use crate::resolve::{ResolvedWorkload, Selection, Suite, WorkloadError};
use crate::source::EmbeddedSource;

/// The one workload `Case/W` of an op, the inside of a YAML mapping.
fn workload(op: &str, params: &[(&str, i64)]) -> Result<ResolvedWorkload, WorkloadError> {
    let params: Vec<String> = params.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let text = format!(
        "- name: Case\n  workloadTemplate:\n  - {{{op}}}\n  - {{opcode: startCollectingMetrics, namespaces: [default]}}\n  \
         - opcode: stopCollectingMetrics\n  workloads:\n  - name: W\n    params: {{{}}}\n",
        params.join(", ")
    );
    let files: &'static [(&'static str, &'static str)] = vec![("c.yaml", &*text.leak())].leak();
    let suite = Suite::load(Arc::new(EmbeddedSource { files }), Path::new("c.yaml"))?;
    Ok(suite.resolve(&Selection::all())?.remove(0))
}

/// The op, with values for its params.
pub(super) fn resolved<T: ResolvedOp + Clone>(op: &str, params: &[(&str, i64)]) -> T {
    let workload = workload(op, params).unwrap_or_else(|error| panic!("{error}"));
    workload.ops[0].as_op::<T>().expect("an op of this type").clone()
}

/// Why the op is refused.
pub(super) fn problem(op: &str) -> String {
    workload(op, &[]).expect_err("refused").to_string()
}
