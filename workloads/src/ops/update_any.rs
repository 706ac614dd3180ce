//! updateAny: replaces objects of any kind by what a template gives.
//!
//! Upstream: update.go `updateAny`.

use super::count::Count;
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};

const FIELDS: &[&str] =
    &["opcode", "namespace", "templatePath", "count", "countParam", "updatePerSecond", "subresources"];

/// updateAny as written.
#[derive(Clone, Debug)]
pub struct UpdateAnyOp {
    /// Where; absent for objects that have no namespace.
    pub namespace: Option<String>,
    /// Template of the objects; it sees `.Index` and `.Count` and nothing else.
    pub template_path: String,
    /// How many; 1 if absent.
    pub count: Count,
    /// How many a second; 0 is as fast as possible.
    pub updates_per_second: u32,
    /// What of the object is updated; all of it if empty.
    pub subresources: Vec<String>,
}

/// updateAny, ready to run. Each update is followed by an update of the object's status.
#[derive(Clone, Debug)]
pub struct UpdateAny {
    /// Where; absent for objects that have no namespace.
    pub namespace: Option<String>,
    /// Template of the objects.
    pub template: BoundTemplate,
    /// How many.
    pub count: u32,
    /// How many a second; 0 is as fast as possible.
    pub updates_per_second: u32,
    /// What of the object is updated; all of it if empty.
    pub subresources: Vec<String>,
}

pub(super) fn parse(file: &str, node: &Node) -> Result<UpdateAnyOp, SchemaError> {
    let fields = Fields::read(file, "op updateAny", node, FIELDS)?;
    let per_second = fields.integer("updatePerSecond")?.unwrap_or(0);
    Ok(UpdateAnyOp {
        namespace: fields.string("namespace")?.filter(|name| !name.is_empty()),
        template_path: fields.required_string("templatePath", "name the file of the object")?,
        count: Count::optional(&fields)?,
        updates_per_second: u32::try_from(per_second)
            .map_err(|_| fields.bad_value("updatePerSecond", per_second, "write 0 or more"))?,
        subresources: fields.strings("subresources")?,
    })
}

impl UpdateAnyOp {
    pub(super) fn resolve(&self, resolver: &mut OpResolver<'_, '_>) -> Result<UpdateAny, ResolveError> {
        Ok(UpdateAny {
            namespace: self.namespace.clone(),
            template: BoundTemplate::new(resolver.template(&self.template_path)?, TemplateParams::new()),
            count: resolver.count_or_one(&self.count, Limit::Objects)?,
            updates_per_second: self.updates_per_second,
            subresources: self.subresources.clone(),
        })
    }
}
