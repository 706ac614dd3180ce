//! updateAny: replaces objects of any kind by what a template gives.
//!
//! Upstream: update.go `updateAny`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Object, ObjectKey, resource_or_guess};

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
    OpDescriptor { opcode: "updateAny", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

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

fn parse(file: &str, node: &Node) -> Result<UpdateAnyOp, SchemaError> {
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

impl WrittenOp for UpdateAnyOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(UpdateAny {
            namespace: self.namespace.clone(),
            template: BoundTemplate::new(resolver.template(&self.template_path)?, TemplateParams::new()),
            count: resolver.count_or_one(&self.count, Limit::Objects)?,
            updates_per_second: self.updates_per_second,
            subresources: self.subresources.clone(),
        }))
    }
}

impl ResolvedOp for UpdateAny {
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

impl RunOp for UpdateAny {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let parts = Parts::of(&self.subresources)?;
        if let Some(namespace) = &self.namespace {
            context.ensure_namespace(namespace)?;
        }
        let mut ticks = (0 < self.updates_per_second)
            .then(|| context.ticks(Duration::from_secs(1) / self.updates_per_second));
        for index in 0..self.count {
            let goes_on = match &mut ticks {
                Some(ticks) => context.wait_tick(ticks)?,
                None => !context.is_interrupted(),
            };
            if !goes_on {
                return Ok(Ending::Interrupted);
            }
            let path = self.template.template().path();
            let object = objects::any(self.template.render_json(index, self.count)?, path)?;
            let object = objects::placed(object, self.namespace.as_deref(), path)?;
            update_parts(&context.cluster, parts, object)?;
        }
        Ok(Ending::Completed)
    }
}

fn update_parts(cluster: &EmbeddedCluster, parts: Parts, object: Object) -> Result<(), OpError> {
    let resource =
        resource_or_guess(object.api_version(), object.kind(), object.metadata().namespace.as_deref());
    match (parts, &object) {
        (Parts::All, _) => drop(cluster.update(object.clone())?),
        (Parts::Resize, Object::Pod(pod)) => resize(cluster, pod)?,
        (Parts::Resize, _) => return Err(OpError::NoResize { kind: object.kind().to_owned() }),
        // The status follows anyway.
        (Parts::Status, _) => {}
    }
    if resource.has_status {
        cluster.update_status(object)?;
    }
    Ok(())
}

/// The resize subresource takes the containers' resources and nothing else.
fn resize(cluster: &EmbeddedCluster, wanted: &Pod) -> Result<(), OpError> {
    let metadata = &wanted.metadata;
    let [namespace, name] =
        [&metadata.namespace, &metadata.name].map(|text| text.as_deref().unwrap_or_default());
    let stored = cluster.get(&ObjectKey::pod(namespace, name))?;
    let mut pod = stored.into_pod().expect("the key names a pod");
    let containers = pod.spec.iter_mut().flat_map(|spec| &mut spec.containers);
    for container in containers {
        let mut sized = wanted.spec.iter().flat_map(|spec| &spec.containers);
        if let Some(wanted) = sized.find(|wanted| wanted.name == container.name) {
            container.resources.clone_from(&wanted.resources);
        }
    }
    cluster.update(Object::Pod(pod))?;
    Ok(())
}

/// What of an object is updated before its status.
#[derive(Clone, Copy)]
enum Parts {
    All,
    Resize,
    Status,
}

impl Parts {
    fn of(subresources: &[String]) -> Result<Parts, OpError> {
        match subresources {
            [] => Ok(Parts::All),
            [one] if one == "resize" => Ok(Parts::Resize),
            [one] if one == "status" => Ok(Parts::Status),
            other => Err(OpError::Subresource { names: other.join("/") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_subresources_are_refused() {
        let error = Parts::of(&["scale".to_owned()]).err().expect("refused").to_string();
        assert_eq!(error, "subresource \"scale\" cannot be updated here; use resize, status, or none");
    }
}
