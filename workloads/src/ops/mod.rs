//! The ops: what a workload does, step by step.
//!
//! ```text
//! YAML --parse--> Op ($params inside) --resolve(params, templates)--> dyn ResolvedOp (numbers, loaded templates)
//!                                                                        --run(OpContext)--> Ending
//! ```
//!
//! An opcode is a file here (createPods, which has most parts, a folder), named as upstream's in snake
//! case, and a line of [`IN_TREE`]. The file holds its fields and their rules, how its params become values,
//! whether it can run or why not, and what it does. Nothing else names it: parser, `list`, the executor and
//! the profiler ask [`OpDescriptor`], [`ResolvedOp`] and [`RunOp`]. docs/writing-an-opcode.md is the recipe.
//!
//! An op without params is its own resolved form.
//!
//! Upstream: the table in scheduler_perf.go `op.UnmarshalJSON`, and each op's `isValid` and `patchParams`.

pub mod alloc_resource_claims;
pub mod arrivals;
pub mod barrier;
mod chosen;
pub mod churn;
pub mod completions;
mod count;
pub mod count_pods;
pub mod create_any;
pub mod create_namespaces;
pub mod create_nodes;
pub mod create_pod_groups;
pub mod create_pod_sets;
pub mod create_pods;
pub mod create_resource_claims;
pub mod delete_nodes;
pub mod delete_pods;
mod descriptor;
pub mod evict;
pub mod nominate;
mod pace;
pub mod restart_scheduler;
#[cfg(test)]
mod sample;
pub mod sleep;
pub mod start_collecting_metrics;
pub mod start_collecting_profile;
pub mod stop_collecting_metrics;
pub mod stop_collecting_profile;
pub mod update_any;
pub mod update_nodes;

use std::sync::Arc;

pub use count::Count;
pub use descriptor::{Measuring, OpDescriptor, OpFacts, OpSupport, ResolvedOp, RunOp};
pub(crate) use descriptor::{ResolvedOps, WrittenOp};

use crate::resolve::{OpResolver, ResolveError};
use crate::schema::{SchemaError, SchemaProblem};
use crate::suggest::closest;
use crate::yaml::{Node, Value};

/// Every opcode, in the order in which a message names them.
pub const IN_TREE: &[&OpDescriptor] = &[
    &alloc_resource_claims::DESCRIPTOR,
    &arrivals::DESCRIPTOR,
    &barrier::DESCRIPTOR,
    &churn::DESCRIPTOR,
    &completions::DESCRIPTOR,
    &count_pods::DESCRIPTOR,
    &create_any::DESCRIPTOR,
    &create_namespaces::DESCRIPTOR,
    &create_nodes::DESCRIPTOR,
    &create_pod_groups::DESCRIPTOR,
    &create_pod_sets::DESCRIPTOR,
    &create_pods::DESCRIPTOR,
    &create_resource_claims::DESCRIPTOR,
    &delete_nodes::DESCRIPTOR,
    &delete_pods::DESCRIPTOR,
    &evict::DESCRIPTOR,
    &nominate::DESCRIPTOR,
    &restart_scheduler::DESCRIPTOR,
    &sleep::DESCRIPTOR,
    &start_collecting_metrics::DESCRIPTOR,
    &start_collecting_profile::DESCRIPTOR,
    &stop_collecting_metrics::DESCRIPTOR,
    &stop_collecting_profile::DESCRIPTOR,
    &update_any::DESCRIPTOR,
    &update_nodes::DESCRIPTOR,
];

/// The names of [`IN_TREE`], in the same order.
pub const OPCODES: [&str; IN_TREE.len()] = {
    let mut names = [""; IN_TREE.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = IN_TREE[at].opcode;
        at += 1;
    }
    names
};

/// A step as written, and where.
#[derive(Clone, Debug)]
pub struct Op {
    descriptor: &'static OpDescriptor,
    written: Arc<dyn WrittenOp>,
    /// Where the op starts in its file.
    pub line: u64,
}

impl Op {
    /// Reads one entry of a `workloadTemplate`.
    pub(crate) fn parse(file: &str, node: &Node) -> Result<Self, SchemaError> {
        let descriptor = descriptor_of(file, node)?;
        Ok(Self { descriptor, written: (descriptor.parse)(file, node)?, line: node.at.line })
    }

    /// Its name as it stands in a config file.
    pub fn opcode(&self) -> &'static str {
        self.descriptor.opcode
    }

    /// Whether running this op ends in numbers. startCollectingMetrics alone does not.
    pub fn collects_metrics(&self) -> bool {
        self.written.collects_metrics()
    }

    /// Appends what this op does for one workload.
    pub(crate) fn resolve_into(
        &self,
        resolver: &mut OpResolver<'_, '_>,
        resolved: &mut ResolvedOps,
    ) -> Result<(), ResolveError> {
        let number = resolved.len();
        resolved.append(&mut self.written.resolve(resolver, number)?);
        Ok(())
    }

    /// The op as written, if it is of this type.
    #[cfg(test)]
    pub(crate) fn as_written<T: WrittenOp>(&self) -> Option<&T> {
        (self.written.as_ref() as &dyn std::any::Any).downcast_ref()
    }
}

/// Finds the opcode before anything else is judged, so that an unknown one is named as such.
fn descriptor_of(file: &str, node: &Node) -> Result<&'static OpDescriptor, SchemaError> {
    let Value::Mapping(entries) = &node.value else {
        return Err(SchemaError::new(
            file,
            node.at,
            SchemaProblem::WrongType {
                field: "value".into(),
                holder: "an op".into(),
                found: node.kind().into(),
                expected: "a mapping with an `opcode`",
            },
        ));
    };
    let Some((_, value)) = entries.iter().find(|(key, _)| key.name.eq_ignore_ascii_case("opcode")) else {
        return Err(SchemaError::new(
            file,
            node.at,
            SchemaProblem::MissingField {
                field: "opcode",
                holder: "an op".into(),
                help: "say what it does, for example `opcode: createPods`",
            },
        ));
    };
    let written = match &value.value {
        Value::String(text) => text.as_str(),
        _ => "",
    };
    let found = IN_TREE.iter().find(|descriptor| descriptor.opcode == written);
    found.copied().ok_or_else(|| {
        SchemaError::new(
            file,
            value.at,
            SchemaProblem::UnknownOpcode {
                opcode: written.to_owned(),
                suggestion: closest(written, &OPCODES),
                known: &OPCODES,
            },
        )
    })
}

/// `createPods` as `create_pods`.
#[cfg(test)]
pub(crate) fn file_of(opcode: &str) -> String {
    let letters = opcode.chars().flat_map(|letter| match letter.is_uppercase() {
        true => vec!['_', letter.to_ascii_lowercase()],
        false => vec![letter],
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_an_opcode_is_in_the_list_and_named_after_it() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops");
        let entries = std::fs::read_dir(directory).expect("the folder of this file");
        let stem = |entry: std::fs::DirEntry| entry.path().file_stem().map(|stem| stem.to_owned());
        let mut files: Vec<String> =
            entries.map(|entry| stem(entry.unwrap()).unwrap().into_string().unwrap()).collect();
        files.retain(|stem| {
            !["mod", "chosen", "count", "descriptor", "pace", "sample"].contains(&stem.as_str())
        });
        files.sort();
        let mut listed: Vec<String> = OPCODES.into_iter().map(file_of).collect();
        listed.sort();
        assert_eq!(listed, files);
    }
}
