//! churn: creates objects in the background, at an interval, until the workload ends.
//!
//! Upstream: operations.go `churnOp`; executor.go `runChurnOp`. An object that cannot be created is left out,
//! as there.
//! An object that is gone when its turn to be deleted comes is no error: it was to go
//! anyway, and preemption may have been quicker.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::api::{Api, Object, ObjectKey, resource_or_guess};
use schedlab_cluster::{EmbeddedCluster, StatusReason};

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{BackgroundJob, Ending, JobStep, Lasts, OpContext, OpError, objects};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::template::ObjectTemplate;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "churn", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &["opcode", "mode", "number", "intervalMilliseconds", "namespace", "templatePaths"];

/// Upstream's interval when none is set.
const INTERVAL_DEFAULT_MS: u64 = 500;

/// churn as written.
#[derive(Clone, Debug)]
pub struct ChurnOp {
    /// What happens at each tick.
    pub mode: ChurnMode,
    /// Time between two ticks.
    pub interval: Duration,
    /// Where; a namespace of its own if absent.
    pub namespace: Option<String>,
    /// The objects; read as they are, not as templates.
    pub template_paths: Vec<String>,
}

/// churn, ready to run.
#[derive(Clone, Debug)]
pub struct Churn {
    /// What happens at each tick.
    pub mode: ChurnMode,
    /// Time between two ticks.
    pub interval: Duration,
    /// Where; already `namespace-<op number>` if the op named none. Objects that have no namespace
    /// ignore it.
    pub namespace: String,
    /// One object of each of these is created, or deleted, at each tick.
    pub templates: Vec<Arc<ObjectTemplate>>,
}

/// What churn does at each tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChurnMode {
    /// Creates, until so many ticks have passed; without a number, for ever.
    Create {
        /// How many ticks.
        number: Option<u32>,
    },
    /// Creates for so many ticks, deletes for as many, and so on.
    Recreate {
        /// How many ticks, at least 1.
        number: u32,
    },
}

fn parse(file: &str, node: &Node) -> Result<ChurnOp, SchemaError> {
    let fields = Fields::read(file, "op churn", node, FIELDS)?;
    let template_paths = fields.strings("templatePaths")?;
    if template_paths.is_empty() {
        return Err(fields.missing("templatePaths", "list at least one file"));
    }
    // Upstream reads 0 as the default too; a negative one would panic there.
    let interval_ms = match fields.integer("intervalMilliseconds")?.unwrap_or(0) {
        0 => INTERVAL_DEFAULT_MS,
        written => u64::try_from(written)
            .map_err(|_| fields.bad_value("intervalMilliseconds", written, "write 1 or more"))?,
    };
    Ok(ChurnOp {
        mode: parse_mode(&fields)?,
        interval: Duration::from_millis(interval_ms),
        namespace: fields.string("namespace")?,
        template_paths,
    })
}

fn parse_mode(fields: &Fields<'_>) -> Result<ChurnMode, SchemaError> {
    let number = fields.integer("number")?.unwrap_or(0);
    let number = u32::try_from(number).map_err(|_| fields.bad_value("number", number, "write 0 or more"))?;
    match fields.required_string("mode", "write `create` or `recreate`")?.as_str() {
        "create" => Ok(ChurnMode::Create { number: Some(number).filter(|number| 0 < *number) }),
        "recreate" if number == 0 => {
            Err(fields.missing("number", "with `mode: recreate`, say after how many objects to delete"))
        }
        "recreate" => Ok(ChurnMode::Recreate { number }),
        other => Err(fields.bad_value("mode", other, "write `create` or `recreate`")),
    }
}

impl WrittenOp for ChurnOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, number: usize) -> Result<ResolvedOps, ResolveError> {
        let templates = self.template_paths.iter().map(|path| resolver.plain_object(path));
        Ok(one(Churn {
            templates: templates.collect::<Result<_, _>>()?,
            mode: self.mode,
            interval: self.interval,
            namespace: self.namespace.clone().unwrap_or_else(|| format!("namespace-{number}")),
        }))
    }
}

impl ResolvedOp for Churn {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts { templates: self.templates.iter().map(AsRef::as_ref).collect(), ..OpFacts::NOTHING }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for Churn {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        // Not noted as a namespace to wait for: upstream's churn makes its namespace by itself.
        let mut namespace = objects::namespace();
        namespace.metadata.name = Some(self.namespace.clone());
        context.create_namespace(namespace)?;
        let churned: Vec<Object> = self
            .templates
            .iter()
            .map(|template| {
                let object = objects::any(template.render_json(&Default::default())?, template.path())?;
                Ok(in_namespace(object, &self.namespace))
            })
            .collect::<Result<_, OpError>>()?;
        let lasts = match self.mode {
            ChurnMode::Create { number: Some(_) } => Lasts::ForAWhile,
            ChurnMode::Create { number: None } => Lasts::ToTheEnd(self.interval),
            ChurnMode::Recreate { number } => {
                Lasts::ToTheEnd(self.interval.saturating_mul(number.saturating_mul(2)))
            }
        };
        let step = match self.mode {
            ChurnMode::Create { number } => create_step(Arc::clone(&context.cluster), churned, number),
            ChurnMode::Recreate { number } => recreate_step(Arc::clone(&context.cluster), churned, number),
        };
        context.start_background(BackgroundJob { lasts, interval: self.interval, step });
        Ok(Ending::Completed)
    }
}

fn in_namespace(mut object: Object, namespace: &str) -> Object {
    let is_namespaced = resource_or_guess(object.api_version(), object.kind(), Some(namespace)).namespaced;
    object.metadata_mut().namespace = is_namespaced.then(|| namespace.to_owned());
    object
}

/// Creates every object at each tick, so many times.
fn create_step(cluster: Arc<EmbeddedCluster>, churned: Vec<Object>, number: Option<u32>) -> JobStep {
    let mut left = number;
    Box::new(move || {
        churned.iter().for_each(|object| drop(create(&cluster, object)));
        left = left.map(|left| left - 1);
        Ok(if left == Some(0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
}

/// Goes round `number` places: where a place is empty its objects are created, else deleted.
fn recreate_step(cluster: Arc<EmbeddedCluster>, churned: Vec<Object>, number: u32) -> JobStep {
    let mut live: Vec<Option<ObjectKey>> = vec![None; churned.len() * number as usize];
    let mut place = 0;
    Box::new(move || {
        let first = place * churned.len();
        place = (place + 1) % number as usize;
        for (slot, object) in live[first..].iter_mut().zip(&churned) {
            *slot = match slot.take() {
                Some(key) => delete(&cluster, &key).map(|()| None)?,
                None => create(&cluster, object),
            };
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn create(cluster: &EmbeddedCluster, object: &Object) -> Option<ObjectKey> {
    cluster.create(object.clone()).ok().map(|made| made.key())
}

fn delete(cluster: &EmbeddedCluster, key: &ObjectKey) -> Result<(), OpError> {
    match cluster.delete(key, None) {
        Err(error) if error.reason != StatusReason::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
