//! allocResourceClaims: allocates device claims without pods, to fill a cluster.
//!
//! Upstream: dra.go.

use std::sync::Arc;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, WrittenOp, one};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "allocResourceClaims", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// allocResourceClaims: allocates every claim that is not allocated, each on a random node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocResourceClaims {
    /// Where; everywhere if absent.
    pub namespace: Option<String>,
}

fn parse(file: &str, node: &Node) -> Result<AllocResourceClaims, SchemaError> {
    let fields = Fields::read(file, "op allocResourceClaims", node, &["opcode", "namespace"])?;
    Ok(AllocResourceClaims { namespace: fields.string("namespace")?.filter(|name| !name.is_empty()) })
}

impl WrittenOp for AllocResourceClaims {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.clone()))
    }
}

impl ResolvedOp for AllocResourceClaims {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts::NOTHING
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::NotYet(OpSupport::NO_DRA)
    }
}
