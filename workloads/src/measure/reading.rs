//! What can be read of a scheduler while it runs: the numbers its operators watch.

use std::time::{Duration, Instant};

use schedlab_cluster::api::{EventKind, WatchEvent, WatchedObject};
use schedlab_cluster::runtime::record::CallKind;
use schedlab_cluster::runtime::{CallsView, Changer};
use schedlab_core::queue::{ActionType, ClusterEvent, EventResource};
use schedlab_core::scheduler::{Doubling, Scheduler};

use super::durations::AttemptEnd;
use super::meter::MetersView;
use crate::metrics::{MetricSpread, MetricValues, table};

/// A cycle that waits for an extender may take longer than anybody who reads along.
const READ_WAIT_MAX: Duration = Duration::from_secs(1);

/// Lets others read a scheduler while it runs. A reading costs the scheduler one command between two
/// rounds; without readers it costs nothing.
#[derive(Clone, Debug)]
pub struct Live {
    changer: Changer,
    calls: CallsView,
    meters: MetersView,
}

impl Live {
    /// A view of a scheduler with these meters.
    #[must_use]
    pub fn new(changer: Changer, calls: CallsView, meters: MetersView) -> Live {
        Live { changer, calls, meters }
    }

    /// Reads everything; `None` when the scheduler has ended.
    #[must_use]
    pub fn read(&self) -> Option<MetricValues> {
        let mut series = self.counts()?;
        series.merge(&self.meters.read());
        Some(series)
    }

    /// Reads what is counted since the scheduler began, and how things stand; `None` when it has
    /// ended, or is inside a cycle that takes longer than a reader waits.
    #[must_use]
    pub fn counts(&self) -> Option<MetricValues> {
        let asked = Instant::now();
        self.counts_while(&|| asked.elapsed() < READ_WAIT_MAX)
    }

    /// The same, and `None` as well when the scheduler does not answer while it is waited for.
    #[must_use]
    pub fn counts_while(&self, waits: &dyn Fn() -> bool) -> Option<MetricValues> {
        let mut series = self.changer.change_while(waits, |scheduler, _| counts_of(scheduler))?;
        for (kind, end, count) in self.calls.totals() {
            series.count(&table::API_CALLS, &[kind.label(), end.label()], count);
        }
        Some(series)
    }
}

/// What a scheduler counts of itself.
fn counts_of(scheduler: &Scheduler) -> MetricValues {
    let mut series = MetricValues::default();
    for (profile, counts) in scheduler.attempts_by_profile() {
        for (end, count) in [
            (AttemptEnd::Scheduled, counts.scheduled),
            (AttemptEnd::Unschedulable, counts.unschedulable),
            (AttemptEnd::Error, counts.errors),
        ] {
            series.count(&table::SCHEDULE_ATTEMPTS, &[end.label(), &profile], count);
        }
    }
    let counters = scheduler.counters();
    series.spread(&table::POD_ATTEMPTS, &[], bucketed(&counters.pod_attempts));
    series.spread(&table::PREEMPTION_VICTIMS, &[], bucketed(&counters.preemption_victims));
    series.count(&table::PREEMPTION_ATTEMPTS, &[], counters.preemption_attempts);
    series.count(&table::SCHEDULED_AFTER_FLUSH, &[], counters.scheduled_after_flush);
    series.count(&table::VOLUME_ERRORS, &["bind"], counters.volume_binding_errors);
    let failed = counters.async_preemption_errors;
    series.count(&table::PREEMPTION_GOROUTINES, &["success"], counters.async_preemptions - failed);
    series.count(&table::PREEMPTION_GOROUTINES, &["error"], failed);
    for (queue, event, count) in scheduler.queue().incoming().counts() {
        series.count(&table::INCOMING_PODS, &[queue, &event], count);
        series.count(&table::INCOMING_ENTITIES, &[queue, &event, POD], count);
    }
    for ((profile, plugin, point), count) in scheduler.plugin_evaluations() {
        series.count(&table::PLUGIN_EVALUATION, &[plugin, point.label(), &profile], count);
    }
    add_levels(&mut series, scheduler);
    series
}

/// Every entity of the queue is one.
const POD: &str = "pod";

/// How things stand.
fn add_levels(series: &mut MetricValues, scheduler: &Scheduler) {
    let pods = scheduler.counts();
    for (queue, count) in [
        ("active", pods.queued),
        ("backoff", pods.backoff),
        ("unschedulable", pods.unschedulable),
        ("gated", pods.gated),
    ] {
        series.level(&table::PENDING_PODS, &[queue], count as u64);
        series.level(&table::QUEUED_ENTITIES, &[queue, POD], count as u64);
    }
    let nodes = scheduler.world().nodes().node_count();
    for (kind, count) in
        [("nodes", nodes), ("pods", pods.bound + pods.assumed), ("assumed_pods", pods.assumed)]
    {
        series.level(&table::CACHE_SIZE, &[kind], count as u64);
    }
    for ((plugin, profile), count) in scheduler.unschedulable_by_plugin() {
        series.level(&table::UNSCHEDULABLE_PODS, &[plugin, profile], count);
    }
    for (event, count) in scheduler.in_flight_events() {
        series.level(&table::IN_FLIGHT_EVENTS, &[&event], count);
    }
    let pending = scheduler.pending_calls();
    series.level(&table::PENDING_API_CALLS, &[CallKind::PodBinding.label()], pending.bindings);
    series.level(&table::PENDING_API_CALLS, &[CallKind::PodStatusPatch.label()], pending.status_patches);
}

fn bucketed<const N: usize>(values: &Doubling<N>) -> MetricSpread {
    let counts = values.counts.iter().copied().chain([values.beyond]).collect();
    MetricSpread::Bucketed { counts, sum: values.sum }
}

/// Upstream's name of an event, as `UnscheduledPodAdd`. Upstream: eventhandlers.go.
///
/// An approximation: a pod that is on a node and changed is taken for one that came there, because the watch
/// does not say what it was before; nearly all of these are bindings that the API confirms.
pub(super) fn event_name(event: &WatchEvent) -> String {
    let action = match event.kind {
        EventKind::Added => ActionType::ADD,
        EventKind::Modified => ActionType::UPDATE,
        EventKind::Deleted => ActionType::DELETE,
    };
    let named = |resource, action| ClusterEvent { resource, action }.label();
    match &event.object {
        WatchedObject::Pod(row) if row.node.is_none() => named(EventResource::UnscheduledPod, action),
        WatchedObject::Pod(_) if action == ActionType::DELETE => named(EventResource::AssignedPod, action),
        WatchedObject::Pod(_) => named(EventResource::AssignedPod, ActionType::ADD),
        WatchedObject::Node(_) => named(EventResource::Node, action),
        WatchedObject::PodEvent(_) => format!("events.k8s.io/Event{}", action.label()),
        WatchedObject::Other(object) => {
            let group =
                object.api_version.split_once('/').map(|(group, _)| format!("{group}/")).unwrap_or_default();
            format!("{group}{}{}", object.kind, action.label())
        }
    }
}
