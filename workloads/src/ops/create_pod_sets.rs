//! createPodSets: the same createPods in several namespaces, `<prefix>-0`, `<prefix>-1` and so on.
//!
//! The sets run one after the other; a set that waits for its pods holds up the next one.
//!
//! Upstream: operations.go `createPodSetsOp`; scheduler_perf.go `unrollWorkloadTemplate`.

use std::sync::Arc;

use super::count::Count;
use super::create_pods::{self, CreatePods, CreatePodsOp};
use super::descriptor::{OpDescriptor, ResolvedOps, WrittenOp, one};
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createPodSets", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &["opcode", "count", "countParam", "namespacePrefix", "createPodsOp"];

/// createPodSets as written. Resolved, it is one [`CreatePods`] per set.
#[derive(Clone, Debug)]
pub struct CreatePodSetsOp {
    /// How many sets.
    pub count: Count,
    /// What the names of the namespaces start with.
    pub namespace_prefix: String,
    /// What happens in each namespace; its own namespace is not used.
    pub pods: CreatePodsOp,
}

fn parse(file: &str, node: &Node) -> Result<CreatePodSetsOp, SchemaError> {
    let fields = Fields::read(file, "op createPodSets", node, FIELDS)?;
    let Some(pods) = fields.get("createPodsOp") else {
        return Err(fields.missing("createPodsOp", "write the createPods op that each set runs"));
    };
    let pods_fields = Fields::read(file, "createPodsOp", pods, create_pods::FIELDS)?;
    match pods_fields.string("opcode")? {
        Some(opcode) if opcode != create_pods::DESCRIPTOR.opcode => {
            return Err(pods_fields.bad_value("opcode", opcode, "only createPods can stand here"));
        }
        _ => {}
    }
    Ok(CreatePodSetsOp {
        count: Count::required(&fields)?,
        namespace_prefix: fields
            .required_string("namespacePrefix", "write what the names of the namespaces start with")?,
        pods: create_pods::parse(file, pods)?,
    })
}

impl WrittenOp for CreatePodSetsOp {
    fn collects_metrics(&self) -> bool {
        self.pods.collect_metrics
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, number: usize) -> Result<ResolvedOps, ResolveError> {
        let mut sets = ResolvedOps::new();
        for set in 0..resolver.count(&self.count, Limit::PodSets)? {
            let pods = self.pods.resolve_pods(resolver, number + sets.len())?;
            let namespace = format!("{}-{set}", self.namespace_prefix);
            sets.append(&mut one(CreatePods { namespace, ..pods }));
        }
        Ok(sets)
    }
}
