//! createPods: adds pods to one namespace, and waits until they are scheduled unless told not to.
//!
//! Upstream: operations.go `createPodsOp`; executor.go `runCreatePodsOp`, `getPodStrategy`.

mod pods;
mod steady;
mod volumes;

pub(super) use pods::Templates;

use std::sync::Arc;
use std::time::Duration;

use self::pods::create;
use super::count::Count;
use super::descriptor::{
    Measuring, OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one,
};
use crate::executor::{Ending, OpContext, OpError, OtherPods};
use crate::params::{ParamRef, TemplateParams};
use crate::resolve::{Limit, OpResolver, ResolveError, ResolveProblem};
use crate::schema::SchemaError;
use crate::template::{BoundTemplate, ObjectTemplate};
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "createPods", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

pub(super) const FIELDS: &[&str] = &[
    "opcode",
    "count",
    "countParam",
    "countMultiplierParam",
    "namespace",
    "podTemplatePath",
    "templateParams",
    "collectMetrics",
    "skipWaitToCompletion",
    "steadyState",
    "steadyStateParam",
    "duration",
    "durationParam",
    "persistentVolumeTemplatePath",
    "persistentVolumeClaimTemplatePath",
    "signatureBatchSize",
    "signatureBatchSizeParam",
];

/// createPods as written.
#[derive(Clone, Debug)]
pub struct CreatePodsOp {
    /// How many pods.
    pub count: Count,
    /// The count is multiplied by this param, for pods per group times groups.
    pub count_multiplier: Option<ParamRef>,
    /// Where; a namespace of its own if absent.
    pub namespace: Option<String>,
    /// Template of the pods; the test case's default if absent.
    pub template_path: Option<String>,
    /// What the template is given beside `.Index` and `.Count`.
    pub template_params: TemplateParams,
    /// Whether throughput and metrics are measured while the pods are created and scheduled.
    pub collect_metrics: bool,
    /// Goes on as soon as the pods are created.
    pub skip_wait: bool,
    /// Keeps the number of pods steady: deletes each scheduled pod and creates another.
    pub steady_state: bool,
    /// Param for `steady_state`.
    pub steady_state_param: Option<ParamRef>,
    /// How long the steady state is kept.
    pub duration: Option<Duration>,
    /// Param for `duration`.
    pub duration_param: Option<ParamRef>,
    /// Paths of the volume and claim every pod gets, in this order.
    pub volume_paths: Option<(String, String)>,
    /// How many pods in a row share the label `signature`.
    pub signature_batch_size: Count,
}

/// createPods, ready to run.
#[derive(Clone, Debug)]
pub struct CreatePods {
    /// How many pods.
    pub count: u32,
    /// Where; already `namespace-<op number>` if the op named none.
    pub namespace: String,
    /// Template of the pods. Without one: generateName `pod-`, one container `pause` with port 80
    /// and 100m CPU and 500Mi memory as request and limit.
    pub template: Option<BoundTemplate>,
    /// Whether throughput and metrics are measured while the pods are created and scheduled.
    pub collect_metrics: bool,
    /// When the op is done.
    pub completion: Completion,
    /// The volume and claim every pod gets.
    pub volumes: Option<PodVolumeTemplates>,
    /// How many pods in a row share the label `signature`, at least 1. Only pods from a template
    /// get the label: `signature-label-<index / batch size>`.
    pub signature_batch_size: u32,
}

/// When createPods is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// When at least `count` pods of the namespace are scheduled, whoever created them.
    Scheduled,
    /// When the pods are created.
    Created,
    /// After this time, in which each scheduled pod was deleted and replaced.
    SteadyState {
        /// How long.
        duration: Duration,
    },
}

/// The PersistentVolume and the claim that every pod gets; both are read as they are.
#[derive(Clone, Debug)]
pub struct PodVolumeTemplates {
    /// The volume; named `<namespace>-vol-<index>`.
    pub volume: Arc<ObjectTemplate>,
    /// The claim; named `pvc-<index>` and bound to its volume from the start.
    pub claim: Arc<ObjectTemplate>,
}

pub(super) fn parse(file: &str, node: &Node) -> Result<CreatePodsOp, SchemaError> {
    let fields = Fields::read(file, "op createPods", node, FIELDS)?;
    let op = CreatePodsOp {
        count: Count::required(&fields)?,
        count_multiplier: fields.param("countMultiplierParam")?,
        namespace: fields.string("namespace")?,
        template_path: fields.string("podTemplatePath")?,
        template_params: fields.json_map("templateParams")?,
        collect_metrics: fields.switch("collectMetrics")?,
        skip_wait: fields.switch("skipWaitToCompletion")?,
        steady_state: fields.switch("steadyState")?,
        steady_state_param: fields.param("steadyStateParam")?,
        duration: fields.duration("duration")?,
        duration_param: fields.param("durationParam")?,
        volume_paths: parse_volume_paths(&fields)?,
        signature_batch_size: Count::read(&fields, "signatureBatchSize", "signatureBatchSizeParam")?,
    };
    if op.collect_metrics && op.skip_wait {
        let help = "metrics end when the pods are scheduled, so wait for them, or use startCollectingMetrics";
        return Err(fields.conflict("collectMetrics", "skipWaitToCompletion", help));
    }
    if op.skip_wait && op.steady_state {
        return Err(fields.conflict("skipWaitToCompletion", "steadyState", "keep one of them"));
    }
    Ok(op)
}

/// Differs: a volume without a claim is ignored upstream, and a claim without a volume crashes it
/// (`broken_ops_are_refused`).
fn parse_volume_paths(fields: &Fields<'_>) -> Result<Option<(String, String)>, SchemaError> {
    const HELP: &str = "volumes and claims come in pairs: set both paths or none";
    let volume = fields.string("persistentVolumeTemplatePath")?;
    let claim = fields.string("persistentVolumeClaimTemplatePath")?;
    match (volume, claim) {
        (Some(volume), Some(claim)) => Ok(Some((volume, claim))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(fields.missing("persistentVolumeClaimTemplatePath", HELP)),
        (None, Some(_)) => Err(fields.missing("persistentVolumeTemplatePath", HELP)),
    }
}

impl WrittenOp for CreatePodsOp {
    fn collects_metrics(&self) -> bool {
        self.collect_metrics
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, number: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.resolve_pods(resolver, number)?))
    }
}

impl CreatePodsOp {
    /// See [`WrittenOp::resolve`]; a set of pods resolves to several of these.
    pub(super) fn resolve_pods(
        &self,
        resolver: &mut OpResolver<'_, '_>,
        number: usize,
    ) -> Result<CreatePods, ResolveError> {
        let count = self.resolve_count(resolver)?;
        if self.collect_metrics && count == 0 {
            return Err(resolver.error(ResolveProblem::NothingToMeasure));
        }
        resolver.add_to_total(Limit::Pods, count)?;
        let completion = self.resolve_completion(resolver)?;
        let params = resolver.template_params(&self.template_params)?;
        let path = self.template_path.as_deref().or(resolver.default_pod_template());
        let template = match path {
            Some(path) => Some(BoundTemplate::new(resolver.template(path)?, params)),
            None => None,
        };
        let volumes = match &self.volume_paths {
            Some((volume, claim)) => Some(PodVolumeTemplates {
                volume: resolver.plain_object(volume)?,
                claim: resolver.plain_object(claim)?,
            }),
            None => None,
        };
        Ok(CreatePods {
            count,
            namespace: self.namespace.clone().unwrap_or_else(|| format!("namespace-{number}")),
            template,
            collect_metrics: self.collect_metrics,
            completion,
            volumes,
            signature_batch_size: resolver.count(&self.signature_batch_size, Limit::Pods)?.max(1),
        })
    }

    fn resolve_count(&self, resolver: &mut OpResolver<'_, '_>) -> Result<u32, ResolveError> {
        let count = resolver.count(&self.count, Limit::Pods)?;
        let Some(param) = &self.count_multiplier else { return Ok(count) };
        let multiplier = resolver.integer(param)?;
        resolver.within(i64::from(count).saturating_mul(multiplier), Limit::Pods)
    }

    fn resolve_completion(&self, resolver: &mut OpResolver<'_, '_>) -> Result<Completion, ResolveError> {
        let duration = match &self.duration_param {
            Some(param) => Some(resolver.duration(param)?),
            None => self.duration,
        };
        let steady_state = match &self.steady_state_param {
            Some(param) => resolver.boolean(param)?,
            None => self.steady_state,
        };
        match (self.skip_wait, steady_state, duration) {
            (true, true, _) => Err(resolver.error(ResolveProblem::SteadyStateNeedsWaiting)),
            (true, false, _) => Ok(Completion::Created),
            (false, true, Some(duration)) if !duration.is_zero() => Ok(Completion::SteadyState { duration }),
            (false, true, _) => Err(resolver.error(ResolveProblem::SteadyStateNeedsDuration)),
            (false, false, _) => Ok(Completion::Scheduled),
        }
    }
}

impl ResolvedOp for CreatePods {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts {
            pods: self.count,
            templates: self.template.iter().map(|template| template.template()).collect(),
            measuring: if self.collect_metrics { Measuring::Itself } else { Measuring::AsBefore },
            ..OpFacts::NOTHING
        }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for CreatePods {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        context.ensure_namespace(&self.namespace)?;
        let Some(templates) = Templates::prepare(context, self)? else { return Ok(Ending::Interrupted) };
        if self.collect_metrics {
            let others = match self.completion {
                Completion::SteadyState { .. } => OtherPods::MayBeBound,
                Completion::Scheduled | Completion::Created => OtherPods::IfAny,
            };
            context.start_collecting_pods(&self.namespace, others)?;
        }
        let (ending, created) = self.create_and_wait(context, &templates)?;
        if self.collect_metrics {
            context.stop_collecting(Some(created))?;
        }
        Ok(ending)
    }
}

impl CreatePods {
    /// Returns how many pods were created.
    fn create_and_wait(
        &self,
        context: &mut OpContext<'_>,
        templates: &Templates,
    ) -> Result<(Ending, u64), OpError> {
        let count = u64::from(self.count);
        if let Completion::SteadyState { duration } = self.completion {
            return context.creating(|context| steady::create_steadily(context, self, templates, duration));
        }
        let ending = context.creating(|context| create(context, templates, self.count))?;
        if ending != Ending::Completed {
            return Ok((ending, count));
        }
        let ending = match self.completion {
            Completion::Scheduled => context.wait_scheduled(&self.namespace, count)?,
            Completion::Created | Completion::SteadyState { .. } => {
                *context.awaited.entry(self.namespace.clone()).or_default() += count;
                Ending::Completed
            }
        };
        Ok((ending, count))
    }
}
