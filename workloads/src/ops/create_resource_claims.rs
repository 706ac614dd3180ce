//! createResourceClaims: device claims without pods, to fill a cluster.
//!
//! Upstream: dra.go.

use std::sync::Arc;

use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, WrittenOp, one};
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createResourceClaims", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

/// createResourceClaims as written.
#[derive(Clone, Debug)]
pub struct CreateResourceClaimsOp {
    /// How many claims.
    pub count: Count,
    /// Where.
    pub namespace: String,
    /// The claim; read as it is, not as a template.
    pub template_path: String,
}

/// createResourceClaims, ready to run.
#[derive(Clone, Debug)]
pub struct CreateResourceClaims {
    /// How many claims.
    pub count: u32,
    /// Where; created first if it is new.
    pub namespace: String,
    /// The claim.
    pub template: Arc<ObjectTemplate>,
}

fn parse(file: &str, node: &Node) -> Result<CreateResourceClaimsOp, SchemaError> {
    const FIELDS: &[&str] = &["opcode", "count", "countParam", "namespace", "templatePath"];
    let fields = Fields::read(file, "op createResourceClaims", node, FIELDS)?;
    Ok(CreateResourceClaimsOp {
        count: Count::required(&fields)?,
        namespace: fields.required_string("namespace", "name the namespace of the claims")?,
        template_path: fields.required_string("templatePath", "name the file of the claim")?,
    })
}

impl WrittenOp for CreateResourceClaimsOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(CreateResourceClaims {
            count: resolver.count(&self.count, Limit::Objects)?,
            namespace: self.namespace.clone(),
            template: resolver.plain_object(&self.template_path)?,
        }))
    }
}

impl ResolvedOp for CreateResourceClaims {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts { templates: vec![self.template.as_ref()], ..OpFacts::NOTHING }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::NotYet(OpSupport::NO_DRA)
    }
}
