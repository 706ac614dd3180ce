//! createResourceClaims and allocResourceClaims: device claims without pods, to fill a cluster.
//!
//! Upstream: dra.go.

use std::sync::Arc;

use super::count::Count;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::{Fields, Node};

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

/// allocResourceClaims: allocates every claim that is not allocated, each on a random node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocResourceClaims {
    /// Where; everywhere if absent.
    pub namespace: Option<String>,
}

pub(super) fn parse_create(file: &str, node: &Node) -> Result<CreateResourceClaimsOp, SchemaError> {
    const FIELDS: &[&str] = &["opcode", "count", "countParam", "namespace", "templatePath"];
    let fields = Fields::read(file, "op createResourceClaims", node, FIELDS)?;
    Ok(CreateResourceClaimsOp {
        count: Count::required(&fields)?,
        namespace: fields.required_string("namespace", "name the namespace of the claims")?,
        template_path: fields.required_string("templatePath", "name the file of the claim")?,
    })
}

pub(super) fn parse_alloc(file: &str, node: &Node) -> Result<AllocResourceClaims, SchemaError> {
    let fields = Fields::read(file, "op allocResourceClaims", node, &["opcode", "namespace"])?;
    Ok(AllocResourceClaims { namespace: fields.string("namespace")?.filter(|name| !name.is_empty()) })
}

impl CreateResourceClaimsOp {
    pub(super) fn resolve(
        &self,
        resolver: &mut OpResolver<'_, '_>,
    ) -> Result<CreateResourceClaims, ResolveError> {
        Ok(CreateResourceClaims {
            count: resolver.count(&self.count, Limit::Objects)?,
            namespace: self.namespace.clone(),
            template: resolver.plain_object(&self.template_path)?,
        })
    }
}
