//! createPodGroups: adds pod groups.
//!
//! Upstream waits until its informers have them; here objects reach the scheduler in the order in which they
//! were created, so that a group is there before its pods.
//!
//! Upstream: operations.go `createPodGroups`; executor.go `runCreatePodGroupsOp`.

use std::sync::Arc;

use schedlab_cluster::api::{Api, Object};

use super::count::Count;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{Ending, OpContext, OpError, objects};
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError, ResolveProblem};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createPodGroups", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &["opcode", "namespace", "templatePath", "templateParams", "count", "countParam"];

/// createPodGroups as written.
#[derive(Clone, Debug)]
pub struct CreatePodGroupsOp {
    /// Where.
    pub namespace: String,
    /// Template of the groups.
    pub template_path: String,
    /// What the template is given beside `.Index`.
    pub template_params: TemplateParams,
    /// How many.
    pub count: Count,
}

/// createPodGroups, ready to run.
#[derive(Clone, Debug)]
pub struct CreatePodGroups {
    /// Where; created first if it is new.
    pub namespace: String,
    /// Template of the groups. It is given no `.Count`.
    pub template: BoundTemplate,
    /// How many, at least 1.
    pub count: u32,
}

fn parse(file: &str, node: &Node) -> Result<CreatePodGroupsOp, SchemaError> {
    let fields = Fields::read(file, "op createPodGroups", node, FIELDS)?;
    Ok(CreatePodGroupsOp {
        namespace: fields.required_string("namespace", "name the namespace of the groups")?,
        template_path: fields.required_string("templatePath", "name the file of the group")?,
        template_params: fields.json_map("templateParams")?,
        count: Count::required(&fields)?,
    })
}

impl WrittenOp for CreatePodGroupsOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        let count = resolver.count(&self.count, Limit::Objects)?;
        if count == 0 {
            return Err(resolver.error(ResolveProblem::NoPodGroups));
        }
        let params = resolver.template_params(&self.template_params)?;
        let template = BoundTemplate::new(resolver.template(&self.template_path)?, params);
        Ok(one(CreatePodGroups { namespace: self.namespace.clone(), template, count }))
    }
}

impl ResolvedOp for CreatePodGroups {
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

impl RunOp for CreatePodGroups {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        if !context.serves_pod_groups {
            return Err(OpError::NoPodGroups);
        }
        context.ensure_namespace(&self.namespace)?;
        for index in 0..self.count {
            if context.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            let path = self.template.template().path();
            let group = objects::pod_group(self.template.render_json_by_index(index)?, path)?;
            let group = Object::Other(Box::new(group));
            context.cluster.create(objects::placed(group, Some(&self.namespace), path)?)?;
        }
        Ok(Ending::Completed)
    }
}
