//! The descheduler: evicts pods by a policy in its project's own format; whoever owns them makes them again, and
//! the scheduler finds them another place.
//!
//! ```text
//!   every intervalSeconds ─▶ view of nodes and pods ─▶ deschedule plugins ─▶ balance plugins
//!      └─ DefaultEvictor, limits a cycle ─▶ POST pods/eviction: a disruption budget may refuse it
//! ```
//!
//! Upstream: kubernetes-sigs/descheduler pkg/descheduler/descheduler.go `runDeschedulerLoop`.
//! Not built: utilization by metrics instead of requests. A cycle in which nothing can have changed is left out, and
//! limits count what is asked for, also where a budget refuses it.

mod balance;
mod cycle;
mod fields;
mod policy;
mod utilization;
mod violations;

use std::collections::BTreeMap;

use schedlab_core::ids::PodUid;

use super::cluster_view::KnownCluster;
use super::config::ConfigFields;
use super::evictable::Surroundings;
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerMutants, ControllerReport, ControllerRequest, ControllerSettings,
    LatencySamples, PodsWatched, Remaining, Sharding, WatchScope,
};
use crate::api::{
    ApiError, EventKind, GenericObject, NodeEntry, StatusReason, StoredPodRow, WatchEvent, WatchedObject,
};
use policy::{Policy, Strategy};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "descheduler",
    about: "evicts pods that a policy of the descheduler project wants elsewhere",
    started_by_feature_gate: None,
    scope: WatchScope {
        nodes: true,
        pods: PodsWatched::OnNodes,
        kinds: &[("scheduling.k8s.io/v1", "PriorityClass")],
    },
    sharding: Sharding::None,
    constructor: new,
};

const SECOND_NS: u64 = 1_000_000_000;
/// How often it looks when nobody says.
const INTERVAL_NS: u64 = 60 * SECOND_NS;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    let mut config = ConfigFields::of(settings)?;
    let interval_ns = config.seconds("intervalSeconds", INTERVAL_NS)?.max(1_000_000);
    let policy = config.take("policy").map(|written| Policy::read(&written)).transpose()?;
    config.finish()?;
    Ok(Box::new(Descheduler {
        policy: policy.unwrap_or_default(),
        interval_ns,
        cluster: KnownCluster::default(),
        priorities: BTreeMap::new(),
        next_cycle_ns: None,
        is_stale: false,
        calls: BTreeMap::new(),
        outgoing: Vec::new(),
        last_token: 0,
        counts: Counts::default(),
        latency: LatencySamples::new("eviction"),
        mutants: settings.mutants,
    }))
}

#[derive(Debug, Default)]
struct Counts {
    cycles: u64,
    evicted: u64,
    refused_by_budget: u64,
    failed: u64,
    by_strategy: BTreeMap<&'static str, u64>,
}

#[derive(Debug)]
struct Descheduler {
    policy: Policy,
    interval_ns: u64,
    cluster: KnownCluster,
    priorities: BTreeMap<String, i32>,
    /// None before anything was heard of.
    next_cycle_ns: Option<u64>,
    /// Something has changed since the last cycle.
    is_stale: bool,
    /// Evictions that were asked for: whose, when, by what.
    calls: BTreeMap<CallToken, (PodUid, u64, &'static str)>,
    outgoing: Vec<ControllerCall>,
    last_token: u64,
    counts: Counts,
    latency: LatencySamples,
    mutants: ControllerMutants,
}

impl Descheduler {
    fn on_change(&mut self, now_ns: u64) {
        self.is_stale = true;
        self.next_cycle_ns.get_or_insert(now_ns.saturating_add(self.interval_ns));
    }

    fn on_priority_class(&mut self, kind: EventKind, class: &GenericObject) {
        let name = class.metadata.name.clone().unwrap_or_default();
        let value = class.body.get("value").and_then(serde_json::Value::as_i64);
        match value.and_then(|value| i32::try_from(value).ok()).filter(|_| kind != EventKind::Deleted) {
            Some(value) => self.priorities.insert(name, value),
            None => self.priorities.remove(&name),
        };
    }

    /// Whether time alone makes a difference to what is to be evicted.
    fn goes_by_time(&self) -> bool {
        let mut profiles = self.policy.profiles.iter();
        let by_age = |strategy: &Strategy| matches!(strategy, Strategy::LifeTime { .. });
        profiles.any(|profile| 0 < profile.evictor.min_age_ns || profile.strategies.iter().any(by_age))
    }

    /// Whether the next cycle may find something.
    fn is_cycle_due(&self) -> bool {
        self.is_stale || (self.goes_by_time() && !self.cluster.pods.is_empty())
    }

    fn run_cycle(&mut self, context: ControllerContext<'_>) {
        self.is_stale = false;
        self.counts.cycles += 1;
        let Descheduler { policy, cluster, priorities, .. } = self;
        let selector = policy.node_selector.clone();
        let is_wanted = |entry: &NodeEntry| {
            let labels = &entry.input.labels;
            is_ready(entry) && selector.iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
        };
        let around = Surroundings { priorities, now_ns: context.now_ns, mutants: self.mutants };
        let wanted = cycle::run(policy, cluster.view(context.tables, is_wanted), &around);
        for (pod, strategy) in wanted {
            self.last_token += 1;
            let token = CallToken(self.last_token);
            self.calls.insert(token, (pod, context.now_ns, strategy));
            self.outgoing.push(ControllerCall { token, request: ControllerRequest::EvictPod(pod) });
        }
    }
}

/// A node whose kubelet says that it is not ready is left to others.
fn is_ready(entry: &NodeEntry) -> bool {
    let conditions = entry.object.status.as_ref().and_then(|status| status.conditions.as_ref());
    !conditions.into_iter().flatten().any(|it| it.type_ == "Ready" && it.status != "True")
}

impl Controller for Descheduler {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Node(entry) => {
                self.cluster.on_node(event.kind, entry);
                self.on_change(context.now_ns);
            }
            WatchedObject::Pod(row) => {
                let row: &StoredPodRow = row;
                if self.cluster.on_pod(event.kind, row) {
                    self.on_change(context.now_ns);
                }
            }
            WatchedObject::Other(object) => self.on_priority_class(event.kind, object),
            WatchedObject::PodEvent(_) => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        let is_time = self.next_cycle_ns.is_some_and(|at_ns| at_ns <= context.now_ns);
        if is_time && self.is_cycle_due() && self.calls.is_empty() {
            self.run_cycle(context);
            self.next_cycle_ns = Some(context.now_ns.saturating_add(self.interval_ns));
        }
    }

    fn next_wake_ns(&self) -> Option<u64> {
        let waits = self.calls.is_empty() && !self.policy.profiles.is_empty();
        self.next_cycle_ns.filter(|_| waits && self.is_cycle_due())
    }

    fn take_calls(&mut self, _: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        into.append(&mut self.outgoing);
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some((_, since_ns, strategy)) = self.calls.remove(&token) else { return };
        match answer {
            Ok(_) => {
                self.counts.evicted += 1;
                *self.counts.by_strategy.entry(strategy).or_default() += 1;
                self.latency.record(since_ns, context.now_ns);
            }
            Err(error) if error.reason == StatusReason::NotFound => {}
            Err(error) => {
                let is_budget = error.reason == StatusReason::TooManyRequests;
                self.counts.refused_by_budget += u64::from(is_budget);
                self.counts.failed += u64::from(!is_budget);
                // A budget that has room again had a pod that changed, which will be heard of.
                self.is_stale |= !is_budget;
            }
        }
    }

    fn remaining(&self) -> Remaining {
        match self.next_wake_ns() {
            _ if !self.calls.is_empty() || !self.outgoing.is_empty() => Remaining::Work,
            Some(_) => Remaining::Timers,
            None => Remaining::Nothing,
        }
    }

    fn report(&self) -> ControllerReport {
        let mut counters = vec![
            ("cycles", self.counts.cycles),
            ("pods_evicted", self.counts.evicted),
            ("refused_by_budget", self.counts.refused_by_budget),
            ("failed", self.counts.failed),
        ];
        counters.extend(self.counts.by_strategy.iter().map(|(strategy, count)| (*strategy, *count)));
        ControllerReport::of(&counters).timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
