//! completions: pods that are on nodes end well, in the background until the workload ends. Upstream has no such op.
//!
//! Either so many a second, those first that are on their node for longest, or each when its time is over. A pod that
//! has ended takes no room any more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::api::{
    Api, NominatedNodeNamePatch, PodPhase, PodStatusPatch, SpecId, StoredPodRow, Watch, WatchEvent,
    WatchedObject,
};
use schedlab_cluster::controllers::kubelet::Lifetime;
use schedlab_cluster::{EmbeddedCluster, StatusReason};
use schedlab_core::ids::PodUid;

use super::chosen::LabelSelector;
use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use super::pace::WrittenRate;
use crate::executor::{BackgroundJob, Ending, JobStep, Lasts, OpContext, OpError, OpTally};
use crate::resolve::{OpResolver, ResolveError, ResolveProblem};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "completions", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] = &[
    "opcode",
    "namespace",
    "labelSelector",
    "podsPerSecond",
    "podsPerSecondParam",
    "lifetime",
    "lifetimeSeconds",
    "lifetimeSigma",
];

/// How often it is looked whose time is over.
const LOOK: Duration = Duration::from_millis(5);

/// completions as written.
#[derive(Clone, Debug)]
struct CompletionsOp {
    namespace: String,
    labels: LabelSelector,
    rate: WrittenRate,
    lifetime: Option<Lifetime>,
}

/// completions, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Completions {
    /// Where.
    pub namespace: String,
    /// Labels a pod must have; all pods if empty.
    pub label_selector: LabelSelector,
    /// When pods end.
    pub when: When,
}

/// When pods end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// So many a second, more than 0.
    Rate(f64),
    /// Each so long after it was bound.
    Lifetime(Lifetime),
}

fn parse(file: &str, node: &Node) -> Result<CompletionsOp, SchemaError> {
    let fields = Fields::read(file, "op completions", node, FIELDS)?;
    let rate = WrittenRate::read(&fields, "podsPerSecond", "podsPerSecondParam")?;
    let lifetime = parse_lifetime(&fields)?;
    match (rate.is_absent(), &lifetime) {
        (true, None) => {
            let help =
                "write how many end a second, more than 0, or `lifetimeSeconds` for how long each runs";
            return Err(fields.missing("podsPerSecond", help));
        }
        (false, Some(_)) => {
            return Err(fields.conflict("podsPerSecond", "lifetimeSeconds", "keep one of them"));
        }
        _ => {}
    }
    Ok(CompletionsOp {
        namespace: fields.required_string("namespace", "name the namespace of the pods")?,
        labels: fields.string_map("labelSelector")?,
        rate,
        lifetime,
    })
}

fn parse_lifetime(fields: &Fields<'_>) -> Result<Option<Lifetime>, SchemaError> {
    let number = |field: &'static str, default: f64| match fields.get(field) {
        None => Ok(default),
        Some(node) => match fields.float(field, node)? {
            number if number.is_finite() && 0.0 <= number => Ok(number),
            number => Err(fields.bad_value(field, number, "write 0 or more")),
        },
    };
    let kind = fields.string("lifetime")?;
    if fields.get("lifetimeSeconds").is_none() {
        return match kind {
            None => Ok(None),
            Some(_) => Err(fields.missing("lifetimeSeconds", "say how long pods run")),
        };
    }
    let (seconds, sigma) = (number("lifetimeSeconds", 0.0)?, number("lifetimeSigma", 1.0)?);
    Ok(Some(match kind.as_deref() {
        None | Some("fixed") => Lifetime::Fixed { seconds },
        Some("exponential") => Lifetime::Exponential { seconds },
        Some("logNormal") => Lifetime::LogNormal { seconds, sigma },
        Some(other) => {
            return Err(fields.bad_value("lifetime", other, "write `fixed`, `exponential` or `logNormal`"));
        }
    }))
}

impl WrittenOp for CompletionsOp {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, resolver: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        let rate = self.rate.resolve(resolver)?;
        let when = match self.lifetime {
            Some(lifetime) => When::Lifetime(lifetime),
            None if 0.0 < rate => When::Rate(rate),
            None => return Err(resolver.error(ResolveProblem::NoRate)),
        };
        Ok(one(Completions { namespace: self.namespace.clone(), label_selector: self.labels.clone(), when }))
    }
}

impl ResolvedOp for Completions {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts::NOTHING
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for Completions {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let cluster = Arc::clone(&context.cluster);
        let version = cluster.resource_version();
        let mut follower = Follower {
            watch: cluster.watch(version)?,
            events: Vec::new(),
            running: BTreeMap::new(),
            due: BinaryHeap::new(),
            is_of_spec: BTreeMap::new(),
            wanted: (self.namespace.clone(), self.label_selector.clone()),
            lifetime: match self.when {
                When::Lifetime(lifetime) => Some((lifetime, context.seed())),
                When::Rate(_) => None,
            },
            tally: context.tally(&["pods_completed"]),
        };
        for row in cluster.pods_now(Default::default()) {
            follower.see(&cluster, &row);
        }
        let interval = match self.when {
            When::Rate(per_second) => Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(Duration::MAX),
            When::Lifetime(_) => LOOK,
        };
        let step: JobStep = Box::new(move || {
            follower.step(&cluster)?;
            Ok(ControlFlow::Continue(()))
        });
        context.start_background(BackgroundJob { lasts: Lasts::ToTheEnd(interval), interval, step });
        Ok(Ending::Completed)
    }
}

/// Knows which of the pods are on nodes, and ends them.
struct Follower {
    watch: Box<dyn Watch>,
    events: Vec<WatchEvent>,
    /// Since when each is on its node.
    running: BTreeMap<PodUid, u64>,
    /// By when its time is over, or since when it is there.
    due: BinaryHeap<Reverse<(u64, PodUid)>>,
    is_of_spec: BTreeMap<SpecId, bool>,
    wanted: (String, LabelSelector),
    /// And the seed of its draws; none if pods end at a rate.
    lifetime: Option<(Lifetime, u64)>,
    tally: OpTally,
}

impl Follower {
    fn see(&mut self, cluster: &EmbeddedCluster, row: &StoredPodRow) {
        if row.node.is_none() || row.phase.is_finished() {
            return;
        }
        let (namespace, labels) = &self.wanted;
        let is_wanted = *self.is_of_spec.entry(row.spec).or_insert_with(|| {
            let input = &cluster.pod_spec(row.spec).input;
            input.namespace == *namespace
                && labels.iter().all(|(key, value)| input.labels.get(key) == Some(value))
        });
        if !is_wanted || self.running.contains_key(&row.uid) {
            return;
        }
        let now_ns = cluster.now_ns();
        let lives_ns = self.lifetime.map_or(0, |(lifetime, seed)| lifetime.draw_ns(seed, row.uid.0));
        self.running.insert(row.uid, now_ns);
        self.due.push(Reverse((now_ns.saturating_add(lives_ns), row.uid)));
    }

    fn step(&mut self, cluster: &EmbeddedCluster) -> Result<(), OpError> {
        let mut events = std::mem::take(&mut self.events);
        self.watch.drain_into(&mut events)?;
        for event in events.drain(..) {
            let WatchedObject::Pod(row) = &event.object else { continue };
            if event.kind == schedlab_cluster::api::EventKind::Deleted || row.phase.is_finished() {
                self.running.remove(&row.uid);
            } else {
                self.see(cluster, row);
            }
        }
        self.events = events;
        let now_ns = cluster.now_ns();
        while let Some(Reverse((due_ns, uid))) = self.due.peek().copied()
            && due_ns <= now_ns
        {
            self.due.pop();
            if self.running.remove(&uid).is_some() && complete(cluster, uid)? {
                self.tally.add("pods_completed", 1);
                if self.lifetime.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether the pod was still there.
fn complete(cluster: &EmbeddedCluster, pod: PodUid) -> Result<bool, OpError> {
    let (nomination, phase) = (NominatedNodeNamePatch::Keep, Some(PodPhase::Succeeded));
    match cluster.patch_pod_status(PodStatusPatch { pod, condition: None, nomination, phase }) {
        Ok(_) => Ok(true),
        Err(error) if error.reason == StatusReason::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::sample::{problem, resolved};

    use super::*;

    #[test]
    fn fields_are_read_and_bad_values_are_named() {
        let op = resolved::<Completions>(
            "opcode: completions, namespace: a, lifetime: logNormal, lifetimeSeconds: 2, lifetimeSigma: 0.5",
            &[],
        );
        assert_eq!(op.when, When::Lifetime(Lifetime::LogNormal { seconds: 2.0, sigma: 0.5 }));
        let op = resolved::<Completions>("opcode: completions, namespace: a, podsPerSecond: 7", &[]);
        assert_eq!(op.when, When::Rate(7.0));
        let cases = [
            (
                "opcode: completions, namespace: a",
                "c.yaml:3:5: op completions has no `podsPerSecond`; write how many end a second, more than 0, or \
                 `lifetimeSeconds` for how long each runs",
            ),
            (
                "opcode: completions, namespace: a, lifetimeSeconds: -2",
                "c.yaml:3:58: `lifetimeSeconds: -2` of op completions is not allowed; write 0 or more",
            ),
            (
                "opcode: completions, namespace: a, lifetimeSeconds: 2, podsPerSecond: 1",
                "c.yaml:3:58: op completions sets both `podsPerSecond` and `lifetimeSeconds`; keep one of them",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(problem(text), expected);
        }
    }
}
