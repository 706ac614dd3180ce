//! createNamespaces: adds namespaces `<prefix>-0`, `<prefix>-1` and so on.
//!
//! Upstream: operations.go `createNamespacesOp`; executor.go `namespacePreparer`.

use std::sync::Arc;

use super::count::Count;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] = &["opcode", "prefix", "count", "countParam", "namespaceTemplatePath"];

/// createNamespaces as written.
#[derive(Clone, Debug)]
pub struct CreateNamespacesOp {
    /// What the names start with.
    pub prefix: String,
    /// How many namespaces.
    pub count: Count,
    /// An object to take labels and all else from; read as it is, not as a template.
    pub template_path: Option<String>,
}

/// createNamespaces, ready to run.
#[derive(Clone, Debug)]
pub struct CreateNamespaces {
    /// What the names start with.
    pub prefix: String,
    /// How many namespaces.
    pub count: u32,
    /// An object to take labels and all else from. Its name is replaced.
    pub template: Option<Arc<ObjectTemplate>>,
}

pub(super) fn parse(file: &str, node: &Node) -> Result<CreateNamespacesOp, SchemaError> {
    let fields = Fields::read(file, "op createNamespaces", node, FIELDS)?;
    Ok(CreateNamespacesOp {
        prefix: fields.required_string("prefix", "write what the names start with")?,
        count: Count::required(&fields)?,
        template_path: fields.string("namespaceTemplatePath")?,
    })
}

impl CreateNamespacesOp {
    pub(super) fn resolve(
        &self,
        resolver: &mut OpResolver<'_, '_>,
    ) -> Result<CreateNamespaces, ResolveError> {
        let template = match &self.template_path {
            Some(path) => Some(resolver.plain_object(path)?),
            None => None,
        };
        let count = resolver.count(&self.count, Limit::Namespaces)?;
        Ok(CreateNamespaces { prefix: self.prefix.clone(), count, template })
    }
}

impl CreateNamespaces {
    /// The names of the namespaces, in order.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.count).map(|index| format!("{}-{index}", self.prefix))
    }
}
