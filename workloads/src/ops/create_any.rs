//! createAny: adds objects of any kind from a template.
//!
//! Upstream: operations.go `createAny`.

use super::count::Count;
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] = &["opcode", "namespace", "templatePath", "count", "countParam", "templateParams"];

/// createAny as written.
#[derive(Clone, Debug)]
pub struct CreateAnyOp {
    /// Where; absent for objects that have no namespace.
    pub namespace: Option<String>,
    /// Template of the objects.
    pub template_path: String,
    /// How many; 1 if absent.
    pub count: Count,
    /// What the template is given beside `.Index` and `.Count`.
    pub template_params: TemplateParams,
}

/// createAny, ready to run.
#[derive(Clone, Debug)]
pub struct CreateAny {
    /// Where; created first if it is new. Absent for objects that have no namespace.
    pub namespace: Option<String>,
    /// Template of the objects.
    pub template: BoundTemplate,
    /// How many.
    pub count: u32,
}

pub(super) fn parse(file: &str, node: &Node) -> Result<CreateAnyOp, SchemaError> {
    let fields = Fields::read(file, "op createAny", node, FIELDS)?;
    Ok(CreateAnyOp {
        namespace: fields.string("namespace")?.filter(|name| !name.is_empty()),
        template_path: fields.required_string("templatePath", "name the file of the object")?,
        count: Count::optional(&fields)?,
        template_params: fields.json_map("templateParams")?,
    })
}

impl CreateAnyOp {
    pub(super) fn resolve(&self, resolver: &mut OpResolver<'_, '_>) -> Result<CreateAny, ResolveError> {
        let count = resolver.count_or_one(&self.count, Limit::Objects)?;
        let params = resolver.template_params(&self.template_params)?;
        let template = BoundTemplate::new(resolver.template(&self.template_path)?, params);
        Ok(CreateAny { namespace: self.namespace.clone(), template, count })
    }
}
