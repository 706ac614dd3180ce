//! createAny: adds objects of any kind from a template.
//!
//! Upstream: operations.go `createAny`.

use std::sync::Arc;

use schedlab_cluster::api::{Api, Object};

use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError, objects};
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createAny", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

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

fn parse(file: &str, node: &Node) -> Result<CreateAnyOp, SchemaError> {
    let fields = Fields::read(file, "op createAny", node, FIELDS)?;
    Ok(CreateAnyOp {
        namespace: fields.string("namespace")?.filter(|name| !name.is_empty()),
        template_path: fields.required_string("templatePath", "name the file of the object")?,
        count: Count::optional(&fields)?,
        template_params: fields.json_map("templateParams")?,
    })
}

impl WrittenOp for CreateAnyOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        let count = resolver.count_or_one(&self.count, Limit::Objects)?;
        let params = resolver.template_params(&self.template_params)?;
        let template = BoundTemplate::new(resolver.template(&self.template_path)?, params);
        Ok(one(CreateAny { namespace: self.namespace.clone(), template, count }))
    }
}

impl ResolvedOp for CreateAny {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts { templates: vec![self.template.template()], ..OpFacts::NOTHING }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for CreateAny {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        if let Some(namespace) = &self.namespace {
            context.ensure_namespace(namespace)?;
        }
        for index in 0..self.count {
            if context.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let path = self.template.template().path();
            let object = objects::any(self.template.render_json(index, self.count)?, path)?;
            let object = objects::placed(object, self.namespace.as_deref(), path)?;
            context.node_count += u64::from(matches!(object, Object::Node(_)));
            context.cluster.create(object)?;
        }
        Ok(Ending::Completed)
    }
}
