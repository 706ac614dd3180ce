//! arrivals: pods that come when they come, whether or not the scheduler keeps up (open loop). Upstream has no such
//! op: its createPods makes all pods at once, or replaces those that are scheduled.
//!
//! What is measured of a pod begins at the time at which it was to arrive, also if it was made later.

pub mod pattern;

use std::sync::Arc;

use schedlab_cluster::StatusReason;

use super::count::Count;
use super::create_pods::{Completion, CreatePods, Templates};
use super::descriptor::{
    Measuring, OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one,
};
use super::pace::WrittenRate;
use crate::executor::{Ending, OpContext, OpError, OtherPods};
use crate::params::TemplateParams;
use crate::resolve::{Limit, OpResolver, ResolveError, ResolveProblem};
use crate::schema::SchemaError;
use crate::template::BoundTemplate;
use crate::yaml::{Fields, Node};
use pattern::Pattern;

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "arrivals", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "count",
    "countParam",
    "namespace",
    "podTemplatePath",
    "templateParams",
    "collectMetrics",
    "skipWaitToCompletion",
    "pattern",
    "podsPerSecond",
    "podsPerSecondParam",
    "burstSize",
    "period",
    "amplitude",
    "recordedPath",
];

/// arrivals as written.
#[derive(Clone, Debug)]
struct ArrivalsOp {
    count: Count,
    namespace: Option<String>,
    template_path: Option<String>,
    template_params: TemplateParams,
    collect_metrics: bool,
    skip_wait: bool,
    rate: WrittenRate,
    shape: Shape,
}

/// The pattern without its rate.
#[derive(Clone, Debug)]
enum Shape {
    Constant,
    Poisson,
    Bursts { size: u32 },
    Diurnal { period_s: f64, amplitude: f64 },
    Recorded { path: String },
}

/// arrivals, ready to run.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// The pods.
    pub pods: CreatePods,
    /// When they come.
    pub pattern: Pattern,
    /// The op ends when the pods are made; they may still wait.
    pub skip_wait: bool,
}

fn parse(file: &str, node: &Node) -> Result<ArrivalsOp, SchemaError> {
    let fields = Fields::read(file, "op arrivals", node, FIELDS)?;
    let rate = WrittenRate::read(&fields, "podsPerSecond", "podsPerSecondParam")?;
    let shape = parse_shape(&fields)?;
    match &shape {
        Shape::Recorded { .. } => {}
        _ if rate.is_absent() => {
            return Err(fields.missing("podsPerSecond", "write how many arrive a second, more than 0"));
        }
        _ => {}
    }
    let op = ArrivalsOp {
        count: match &shape {
            Shape::Recorded { .. } => Count::optional(&fields)?,
            _ => Count::required(&fields)?,
        },
        namespace: fields.string("namespace")?,
        template_path: fields.string("podTemplatePath")?,
        template_params: fields.json_map("templateParams")?,
        collect_metrics: fields.switch("collectMetrics")?,
        skip_wait: fields.switch("skipWaitToCompletion")?,
        rate,
        shape,
    };
    if op.collect_metrics && op.skip_wait {
        let help = "metrics end when the pods are scheduled, so wait for them, or use startCollectingMetrics";
        return Err(fields.conflict("collectMetrics", "skipWaitToCompletion", help));
    }
    Ok(op)
}

fn parse_shape(fields: &Fields<'_>) -> Result<Shape, SchemaError> {
    let number = |field: &'static str, default: f64| match fields.get(field) {
        Some(node) => fields.float(field, node),
        None => Ok(default),
    };
    Ok(match fields.required_string("pattern", PATTERNS)?.as_str() {
        "constant" => Shape::Constant,
        "poisson" => Shape::Poisson,
        "bursts" => {
            let size = fields.integer("burstSize")?.unwrap_or(0);
            match u32::try_from(size) {
                Ok(size) if 0 < size => Shape::Bursts { size },
                _ => {
                    return Err(fields.bad_value(
                        "burstSize",
                        size,
                        "write how many come at once, 1 or more",
                    ));
                }
            }
        }
        "diurnal" => {
            let period = fields.duration("period")?.unwrap_or_default();
            if period.is_zero() {
                return Err(fields.missing("period", "write how long a day is, for example `period: 60s`"));
            }
            let amplitude = number("amplitude", 0.5)?;
            if !(0.0..=1.0).contains(&amplitude) {
                return Err(fields.bad_value(
                    "amplitude",
                    amplitude,
                    "write a part of the rate, from 0 to 1",
                ));
            }
            Shape::Diurnal { period_s: period.as_secs_f64(), amplitude }
        }
        "recorded" => {
            Shape::Recorded { path: fields.required_string("recordedPath", "name the file of the arrivals")? }
        }
        other => return Err(fields.bad_value("pattern", other, PATTERNS)),
    })
}

const PATTERNS: &str = "write `constant`, `poisson`, `bursts`, `diurnal` or `recorded`";

impl WrittenOp for ArrivalsOp {
    fn collects_metrics(&self) -> bool {
        self.collect_metrics
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, number: usize) -> Result<ResolvedOps, ResolveError> {
        let pattern = self.resolve_pattern(resolver)?;
        let written = match (&pattern, &self.count) {
            (Pattern::Recorded { offsets_ns }, Count { literal: None, param: None }) => {
                i64::try_from(offsets_ns.len()).unwrap_or(i64::MAX)
            }
            (_, count) => i64::from(resolver.count(count, Limit::Pods)?),
        };
        if let Pattern::Recorded { offsets_ns } = &pattern
            && i64::try_from(offsets_ns.len()).is_ok_and(|recorded| recorded < written)
        {
            let recorded = offsets_ns.len();
            return Err(resolver.error(ResolveProblem::TooFewArrivals { recorded, count: written }));
        }
        let count = resolver.within(written, Limit::Pods)?;
        if self.collect_metrics && count == 0 {
            return Err(resolver.error(ResolveProblem::NothingToMeasure));
        }
        resolver.add_to_total(Limit::Pods, count)?;
        let params = resolver.template_params(&self.template_params)?;
        let path = self.template_path.as_deref().or(resolver.default_pod_template());
        let template = match path {
            Some(path) => Some(BoundTemplate::new(resolver.template(path)?, params)),
            None => None,
        };
        let pods = CreatePods {
            count,
            namespace: self.namespace.clone().unwrap_or_else(|| format!("namespace-{number}")),
            template,
            collect_metrics: self.collect_metrics,
            completion: Completion::Created,
            volumes: None,
            signature_batch_size: 1,
        };
        Ok(one(Arrivals { pods, pattern, skip_wait: self.skip_wait }))
    }
}

impl ArrivalsOp {
    fn resolve_pattern(&self, resolver: &mut OpResolver<'_, '_>) -> Result<Pattern, ResolveError> {
        let per_second = self.rate.resolve(resolver)?;
        let pattern = match &self.shape {
            Shape::Recorded { path } => {
                let recorded = resolver.plain_object(path)?;
                let offsets_ns = pattern::parse_recorded(recorded.text()).map_err(|(line, message)| {
                    resolver.error(ResolveProblem::Arrivals { path: path.clone(), line, message })
                })?;
                return Ok(Pattern::Recorded { offsets_ns });
            }
            Shape::Constant => Pattern::Constant { per_second },
            Shape::Poisson => Pattern::Poisson { per_second },
            Shape::Bursts { size } => Pattern::Bursts { per_second, size: *size },
            Shape::Diurnal { period_s, amplitude } => {
                Pattern::Diurnal { per_second, period_s: *period_s, amplitude: *amplitude }
            }
        };
        if per_second <= 0.0 {
            return Err(resolver.error(ResolveProblem::NoRate));
        }
        Ok(pattern)
    }
}

impl ResolvedOp for Arrivals {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts {
            pods: self.pods.count,
            templates: self.pods.template.iter().map(|template| template.template()).collect(),
            measuring: if self.pods.collect_metrics { Measuring::Itself } else { Measuring::AsBefore },
            ..OpFacts::NOTHING
        }
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for Arrivals {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let (namespace, count) = (&self.pods.namespace, u64::from(self.pods.count));
        context.ensure_namespace(namespace)?;
        let Some(templates) = Templates::prepare(context, &self.pods)? else {
            return Ok(Ending::Interrupted);
        };
        let offsets = self.pattern.offsets_ns(self.pods.count, context.seed());
        if self.pods.collect_metrics {
            context.start_collecting_pods(namespace, OtherPods::IfAny)?;
        }
        let (mut ending, made) = context.creating(|context| create(context, &templates, &offsets))?;
        if ending == Ending::Completed && self.skip_wait {
            *context.awaited.entry(namespace.clone()).or_default() += made;
        } else if ending == Ending::Completed {
            ending = context.wait_scheduled(namespace, made)?;
        }
        if self.pods.collect_metrics {
            context.stop_collecting(Some(count))?;
        }
        Ok(ending)
    }
}

/// Makes each pod at its time, or as soon after it as possible; how many were made.
fn create(
    context: &mut OpContext<'_>,
    templates: &Templates,
    offsets: &[u64],
) -> Result<(Ending, u64), OpError> {
    let tally = context.tally(&["pods_arrived", "pods_refused", "latest_arrival_us"]);
    let (begin_ns, mut first, mut made) = (context.now_ns(), 0, 0);
    for together in offsets.chunk_by(|one, other| one == other) {
        let due_ns = begin_ns.saturating_add(together[0]);
        if !context.wait_until(due_ns)? {
            return Ok((Ending::Interrupted, made));
        }
        tally.at_least("latest_arrival_us", context.now_ns().saturating_sub(due_ns) / 1000);
        let count = together.len();
        match templates.create_intended_at(&context.cluster, first..first + count, due_ns) {
            Ok(()) => {
                made += count as u64;
                tally.add("pods_arrived", count as u64);
            }
            // Who comes does not come again: a quota that is full is not waited for.
            Err(OpError::Api(error)) if error.reason == StatusReason::Forbidden => {
                tally.add("pods_refused", count as u64);
            }
            Err(error) => return Err(error),
        }
        first += count;
        context.control.progress.pods(made, offsets.len() as u64);
    }
    Ok((Ending::Completed, made))
}

#[cfg(test)]
mod tests {
    use crate::ops::sample::{problem, resolved};

    use super::*;

    #[test]
    fn fields_are_read_and_bad_values_are_named() {
        let op = resolved::<Arrivals>(
            "opcode: arrivals, pattern: diurnal, count: 5, namespace: a, podsPerSecondParam: $rate, period: 10s, amplitude: 0.25",
            &[("rate", 20)],
        );
        let diurnal = Pattern::Diurnal { per_second: 20.0, period_s: 10.0, amplitude: 0.25 };
        assert_eq!((op.pattern, op.pods.count, op.skip_wait), (diurnal, 5, false));
        let cases = [
            (
                "opcode: arrivals, pattern: constant, count: 5, podsPerSecond: -3",
                "c.yaml:3:68: `podsPerSecond: -3` of op arrivals is not allowed; write 0 or more",
            ),
            (
                "opcode: arrivals, pattern: poisson, count: 5",
                "c.yaml:3:5: op arrivals has no `podsPerSecond`; write how many arrive a second, more than 0",
            ),
            (
                "opcode: arrivals, pattern: weekly, count: 5, podsPerSecond: 1",
                "c.yaml:3:33: `pattern: weekly` of op arrivals is not allowed; write `constant`, `poisson`, `bursts`, \
                 `diurnal` or `recorded`",
            ),
            (
                "opcode: arrivals, pattern: bursts, count: 5, podsPerSecond: 1",
                "c.yaml:3:5: `burstSize: 0` of op arrivals is not allowed; write how many come at once, 1 or more",
            ),
            (
                "opcode: arrivals, pattern: diurnal, count: 5, podsPerSecond: 1, period: 1s, amplitude: 2",
                "c.yaml:3:93: `amplitude: 2` of op arrivals is not allowed; write a part of the rate, from 0 to 1",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(problem(text), expected);
        }
    }
}
