//! The queue as a whole: who is where, and what moves them.
//!
//! ```text
//!   add ───PreEnqueue───▶ Active ──────pop──────▶ InFlight ──done──▶ Out
//!    │                      ▲ ▲                    │
//!    │ held back            │ └─wait is over─┐     │ reject
//!    ▼      gate opens,     │                │     ▼
//!  Gated ───event that──────┤◀──pop early── Backoff ◀──┐ event that helps,
//!           helps           │                          │ still has to wait
//!                           └──event that helps── Unschedulable
//! ```
//!
//! The members of a pod group have one entry, under the row of one of them ([`super::pod_group_queue`]).
//!
//! Upstream: backend/queue/scheduling_queue.go.

mod pod_groups;
mod requeueing;

use crate::chunked::Chunked;
use crate::ids::{ClassId, PodId, PodUid};
use crate::mutants::{Mutant, Mutants};
use crate::reclaim::Marks;

use super::active_queue::ActiveQueue;
use super::backoff_queue::{BACKOFF_Q_ORDERING_WINDOW_NS, BackoffKind, BackoffQueue, BackoffSettings};
use super::checks::QueueParts;
use super::event::{ClusterEvent, Event, PodFacts, UNSCHEDULED_POD_ADD, WILDCARD};
use super::events_of_interest::EventsOfInterest;
use super::in_flight_events::InFlightEvents;
use super::order::QueueOrder;
use super::plugin_set::{PluginNumber, PluginNumberSet};
use super::queue_incoming_pods::{Cause, QueueIncomingPods};
use super::queued_pod_info::{ProfileNumber, QueuePlace, QueuedPod, QueuedPodInfo};
use super::unschedulable_pods::{GroupKey, UnschedulablePods};
pub(crate) use pod_groups::{Entity, GroupAttempt};
use requeueing::is_pod_worth_requeuing;

/// How often pods are looked at that wait too long. Upstream: `PriorityQueue.Run`.
const FLUSH_EVERY_NS: u64 = 30_000_000_000;
/// Leftovers that are not worth a pass over a queue.
const LEFTOVERS_MIN: usize = 1024;

/// How the queue works.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// Who is tried first.
    pub order: QueueOrder,
    /// How long pods wait after a failure.
    pub backoff: BackoffSettings,
    /// After how long a pod is tried again although nothing happened that may help it; `None`
    /// never. `podMaxInUnschedulablePodsDuration`.
    pub flush_after_ns: Option<u64>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        QueueSettings {
            order: QueueOrder::PrioritySort,
            backoff: BackoffSettings::default(),
            flush_after_ns: Some(300_000_000_000),
        }
    }
}

/// The plugins as the queue calls them: PreEnqueue and queueing hints.
pub trait QueuePlugins {
    /// Asks the PreEnqueue plugins of the pod's profile, `first` before the others. The one that
    /// holds the pod back, if any.
    fn run_pre_enqueue_plugins(
        &mut self,
        pod: &QueuedPod,
        first: Option<PluginNumber>,
    ) -> Option<PluginNumber>;

    /// Whether an event may help a pod that this plugin rejected. Asked about one pod of each class
    /// for all of them, unless [`EventsOfInterest::call_hints_per_pod`] says otherwise.
    fn queueing_hint(&mut self, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool;
}

/// Which waiting pods an event may concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreCheck {
    /// All.
    Everyone,
    /// Those of this priority or a lower one.
    UpToPriority(i32),
    /// All but this one.
    Except(PodUid),
    /// Those of this priority or a lower one, but for this one.
    UpToPriorityExcept(i32, PodUid),
}

/// What an event does for a waiting pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueingStrategy {
    /// Nothing.
    Skip,
    /// It is tried again when its backoff is over.
    AfterBackoff,
    /// It is tried again at once.
    Immediately,
}

/// How many pods are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Ready.
    pub active: usize,
    /// Rejected, waiting for time to pass.
    pub backoff: usize,
    /// Failed otherwise, waiting for time to pass.
    pub error_backoff: usize,
    /// Rejected, waiting for an event.
    pub unschedulable: usize,
    /// Held back by PreEnqueue.
    pub gated: usize,
    /// Popped, not done with.
    pub in_flight: usize,
}

impl QueueCounts {
    pub(super) fn of(&mut self, place: QueuePlace) -> Option<&mut usize> {
        match place {
            QueuePlace::Out => None,
            QueuePlace::Active => Some(&mut self.active),
            QueuePlace::Backoff => Some(&mut self.backoff),
            QueuePlace::ErrorBackoff => Some(&mut self.error_backoff),
            QueuePlace::Unschedulable => Some(&mut self.unschedulable),
            QueuePlace::Gated => Some(&mut self.gated),
            QueuePlace::InFlight => Some(&mut self.in_flight),
        }
    }
}

/// Whether PreEnqueue is asked on the way to the active queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entrance {
    Guarded,
    Open,
}

/// The scheduling queue.
#[derive(Clone, Debug, Default)]
pub struct SchedulingQueue {
    flush_after_ns: Option<u64>,
    entries: Chunked<QueuedPodInfo>,
    active: ActiveQueue,
    backoff: BackoffQueue,
    unschedulable_pods: UnschedulablePods,
    in_flight: InFlightEvents,
    /// By profile.
    interest: Vec<EventsOfInterest>,
    counts: QueueCounts,
    incoming: QueueIncomingPods,
    tickets: u32,
    orders: u64,
    /// The second, and the half minute, whose flush was done last.
    flushed_second: u64,
    flushed_half_minute: u64,
    moving: Vec<(PodId, QueueingStrategy)>,
    mutants: Mutants,
    /// Nobody was told that a pod is ready; only a defect leaves it so.
    is_asleep: bool,
}

impl SchedulingQueue {
    /// An empty queue. `interest` says, by profile, which plugins want to hear of which events.
    #[must_use]
    pub fn new(settings: QueueSettings, interest: Vec<EventsOfInterest>) -> SchedulingQueue {
        SchedulingQueue {
            flush_after_ns: settings.flush_after_ns,
            active: ActiveQueue::new(settings.order.clone()),
            backoff: BackoffQueue::new(settings.backoff, settings.order),
            interest,
            ..SchedulingQueue::default()
        }
    }

    /// With a defect.
    #[must_use]
    pub(crate) fn with_mutants(mut self, mutants: Mutants) -> SchedulingQueue {
        self.mutants = mutants;
        self.in_flight.set_mutants(mutants);
        self
    }

    /// What `checks` holds against each other.
    pub(super) fn parts(&self) -> QueueParts<'_> {
        assert!(self.moving.is_empty(), "nobody is on the way between two events");
        QueueParts {
            entries: &self.entries,
            active: &self.active,
            backoff: &self.backoff,
            unschedulable_pods: &self.unschedulable_pods,
            in_flight: &self.in_flight,
        }
    }

    /// How many pods are where.
    #[must_use]
    pub fn counts(&self) -> QueueCounts {
        self.counts
    }

    /// How many pods came where, and why.
    #[must_use]
    pub fn incoming(&self) -> &QueueIncomingPods {
        &self.incoming
    }

    /// Counts on from these.
    pub(crate) fn set_incoming(&mut self, incoming: QueueIncomingPods) {
        self.incoming = incoming;
    }

    /// Where a pod is.
    #[must_use]
    pub fn place(&self, pod: PodId) -> QueuePlace {
        self.entries.get(pod.index()).map_or(QueuePlace::Out, |entry| entry.place)
    }

    /// A pod as the queue knows it.
    pub(crate) fn queued(&self, pod: PodId) -> QueuedPod {
        self.entries[pod.index()].pod(pod)
    }

    /// When a pod became ready last.
    #[must_use]
    pub fn active_ns(&self, pod: PodId) -> u64 {
        self.entries[pod.index()].active_ns
    }

    /// How often a pod was popped.
    #[must_use]
    pub fn attempts(&self, pod: PodId) -> u32 {
        self.entries[pod.index()].attempts
    }

    /// The plugin that holds a pod back.
    #[must_use]
    pub fn gating_plugin(&self, pod: PodId) -> Option<PluginNumber> {
        self.entries.get(pod.index()).and_then(QueuedPodInfo::gating_plugin)
    }

    /// A pod became ready because it had waited too long, not because an event helped it.
    #[must_use]
    pub fn was_flushed_from_unschedulable(&self, pod: PodId) -> bool {
        self.entries[pod.index()].was_flushed
    }

    /// A pod can be popped now.
    #[inline]
    #[must_use]
    pub fn has_ready(&self) -> bool {
        let is_asleep = self.mutants.has(Mutant::NoBroadcast) && self.is_asleep;
        !is_asleep && (self.counts.active > 0 || (self.pops_early() && self.counts.backoff > 0))
    }

    /// Events kept for pods in flight.
    #[must_use]
    pub fn in_flight_event_count(&self) -> usize {
        self.in_flight.event_count()
    }

    /// What happened while pods are in flight, oldest first.
    pub fn in_flight_events(&self) -> impl Iterator<Item = ClusterEvent> + '_ {
        self.in_flight.events().map(|event| event.what)
    }

    /// Of every pod that waits in the queue and that plugins rejected or hold back: its profile and
    /// those plugins.
    pub fn rejector_plugins(&self) -> impl Iterator<Item = (ProfileNumber, PluginNumberSet)> + '_ {
        let waits = |entry: &&QueuedPodInfo| !matches!(entry.place, QueuePlace::Out | QueuePlace::InFlight);
        let plugins = |entry: &QueuedPodInfo| {
            let gate = entry.gating_plugin().map_or(PluginNumberSet::NONE, PluginNumberSet::one);
            (entry.profile, entry.rejector_plugins().union(gate))
        };
        (0..self.entries.len())
            .map(|at| &self.entries[at])
            .filter(waits)
            .map(plugins)
            .filter(|(_, plugins)| !plugins.is_empty())
    }

    /// Adds a pod that is not in the queue.
    pub fn add(&mut self, pod: QueuedPod, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        while self.entries.len() <= pod.pod.index() {
            self.entries.push(QueuedPodInfo::default());
        }
        debug_assert_eq!(self.place(pod.pod), QueuePlace::Out, "a pod is added once");
        debug_assert!(usize::from(pod.profile.0) < self.interest.len(), "a queued pod is one of a profile");
        self.orders += 1;
        self.incoming.because(Cause::Event(UNSCHEDULED_POD_ADD));
        self.entries[pod.pod.index()] = QueuedPodInfo::new(&pod, now_ns, self.orders);
        self.is_asleep = false;
        self.move_to_active_q(pod.pod, Entrance::Guarded, now_ns, queue_plugins);
    }

    /// A pod changed; `events` say how, each an event of the pod itself. A pod that is not in the
    /// queue is added.
    pub fn update(
        &mut self,
        pod: QueuedPod,
        events: &[Event],
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let place = self.place(pod.pod);
        if place == QueuePlace::Out {
            return self.add(pod, now_ns, queue_plugins);
        }
        let is_waiting = matches!(place, QueuePlace::Unschedulable | QueuePlace::Gated);
        if is_waiting {
            self.unschedulable_pods.remove(pod.pod, &mut self.entries);
        }
        let entry = &mut self.entries[pod.pod.index()];
        let priority = std::mem::replace(&mut entry.priority, pod.priority);
        entry.class = pod.class;
        match place {
            QueuePlace::InFlight => {
                events.iter().for_each(|event| self.in_flight.add_event_if_any_in_flight(event))
            }
            QueuePlace::Active if priority != pod.priority => {
                self.delete_from_any_queue(pod.pod);
                self.push_active(pod.pod);
            }
            QueuePlace::Backoff | QueuePlace::ErrorBackoff if priority != pod.priority => {
                self.delete_from_any_queue(pod.pod);
                self.push_backoff(pod.pod);
            }
            _ => {}
        }
        if !is_waiting {
            return;
        }
        self.unschedulable_pods.insert(pod.pod, &mut self.entries[pod.pod.index()]);
        for event in events {
            let key = GroupKey::of(&self.entries[pod.pod.index()]);
            let strategy = is_pod_worth_requeuing(&self.interest, &key, &pod, event, queue_plugins);
            if strategy == QueueingStrategy::Skip {
                continue;
            }
            self.delete_from_any_queue(pod.pod);
            self.incoming.because(Cause::Event(event.what));
            self.requeue_pod_with_queueing_strategy(pod.pod, strategy, now_ns, queue_plugins);
            if !matches!(self.place(pod.pod), QueuePlace::Unschedulable | QueuePlace::Gated) {
                return;
            }
        }
    }

    /// A pod is gone, or is no longer the queue's to hand out.
    pub fn delete(&mut self, pod: PodId) {
        if self.mutants.has(Mutant::RecreatedInFlight) && self.place(pod) == QueuePlace::InFlight {
            self.in_flight.leak();
        }
        if self.place(pod) != QueuePlace::Out {
            self.delete_from_any_queue(pod);
        }
    }

    /// Takes the pod to be tried next. [`SchedulingQueue::done`] or [`SchedulingQueue::add_unschedulable_pod_if_not_present`]
    /// must follow.
    pub fn pop(&mut self) -> Option<PodId> {
        let pod = match self.pop_active() {
            Some(pod) => pod,
            None if self.pops_early() => self.pop_backoff()?,
            None => return None,
        };
        debug_assert_ne!(self.place(pod), QueuePlace::InFlight, "a pod is popped once");
        self.set_place(pod, QueuePlace::InFlight);
        self.entries[pod.index()].attempts += 1;
        self.in_flight.move_pod_to_in_flight(pod, &mut self.entries);
        Some(pod)
    }

    /// A popped pod needs no more events: it goes to its node.
    pub fn done(&mut self, pod: PodId) {
        if self.place(pod) == QueuePlace::InFlight || self.mutants.has(Mutant::DoubleDone) {
            self.delete_from_any_queue(pod);
        }
    }

    /// What a popped pod has become since, before it comes back.
    pub fn refresh(&mut self, pod: PodId, class: ClassId, priority: i32) {
        let entry = &mut self.entries[pod.index()];
        debug_assert!(
            matches!(entry.place, QueuePlace::Out | QueuePlace::InFlight),
            "no ticket was made out for the priority of before"
        );
        (entry.class, entry.priority) = (class, priority);
    }

    /// A pod that was popped did not make it. Without plugins it failed for another reason than a
    /// rejection.
    pub fn add_unschedulable_pod_if_not_present(
        &mut self,
        pod: PodId,
        (unschedulable, pending): (PluginNumberSet, PluginNumberSet),
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        debug_assert!(
            matches!(self.place(pod), QueuePlace::Out | QueuePlace::InFlight),
            "a pod that comes back is in no queue"
        );
        let entry = &mut self.entries[pod.index()];
        let is_error = unschedulable.is_empty() && pending.is_empty();
        if !(is_error && self.mutants.has(Mutant::StaleRejectors)) {
            (entry.unschedulable, entry.pending) = (unschedulable, pending);
        }
        if entry.rejector_plugins().is_empty() {
            entry.errors = entry.errors.saturating_add(1);
        } else {
            entry.rejections = entry.rejections.saturating_add(1);
            entry.errors = 0;
        }
        entry.set_gating_plugin(None);
        entry.timestamp_ns = now_ns;
        entry.backoff_is_set = false;
        entry.was_flushed = false;
        entry.flushed_ns = 0;
        let strategy = self.determine_scheduling_hint_for_in_flight_pod(pod, queue_plugins);
        self.delete_from_any_queue(pod);
        self.incoming.because(Cause::AttemptFailed);
        self.requeue_pod_with_queueing_strategy(pod, strategy, now_ns, queue_plugins);
        self.is_asleep = true;
    }

    /// A popped pod is tried again at once: its attempt was neither a success nor a rejection.
    pub fn requeue_at_once(&mut self, pod: PodId, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        if self.place(pod) == QueuePlace::InFlight {
            self.delete_from_any_queue(pod);
            self.move_to_active_q(pod, Entrance::Guarded, now_ns, queue_plugins);
            self.is_asleep = true;
        }
    }

    /// Something happened: pods it may help are tried again, and pods in flight will know of it.
    pub fn move_all_to_active_or_backoff_queue(
        &mut self,
        event: &Event,
        scope: PreCheck,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        if self.unschedulable_pods.is_empty() && self.in_flight.is_empty() {
            return;
        }
        let is_wanted = |interest: &EventsOfInterest| !interest.of(event.what).is_empty();
        if !event.is_wildcard() && !self.interest.iter().any(is_wanted) {
            return;
        }
        if !self.unschedulable_pods.is_empty() {
            self.collect_pods_worth_requeuing(event, scope, queue_plugins);
            self.incoming.because(Cause::Event(event.what));
            self.move_pods_to_active_or_backoff_queue(now_ns, queue_plugins);
        }
        self.in_flight.add_event_if_any_in_flight(event);
    }

    /// A plugin asks for a pod to be tried again now.
    pub fn activate(&mut self, pod: PodId, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        let entrance = match self.place(pod) {
            QueuePlace::Unschedulable | QueuePlace::Gated => Entrance::Guarded,
            QueuePlace::Backoff | QueuePlace::ErrorBackoff => self.entrance_after_backoff(),
            QueuePlace::InFlight => {
                let QueuedPodInfo { uid, class, .. } = self.entries[pod.index()];
                let facts = PodFacts { uid, class, node: None, nominated: None };
                return self.in_flight.add_event_if_any_in_flight(&Event::pod(WILDCARD, None, Some(facts)));
            }
            QueuePlace::Active | QueuePlace::Out => return,
        };
        self.is_asleep = false;
        self.delete_from_any_queue(pod);
        self.incoming.because(Cause::Activated);
        self.move_to_active_q(pod, entrance, now_ns, queue_plugins);
    }

    /// Time has passed: whose backoff is over becomes ready, and whoever has waited for too long
    /// is tried again. Both are judged as of the last whole second or half minute, so that nothing
    /// depends on how often this is called.
    pub fn tick(&mut self, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        let second = now_ns / BACKOFF_Q_ORDERING_WINDOW_NS;
        if second == self.flushed_second {
            return;
        }
        self.flushed_second = second;
        if !self.backoff.is_empty() {
            self.flush_backoff_q_completed(now_ns, queue_plugins);
        }
        let half_minute = now_ns / FLUSH_EVERY_NS;
        if half_minute != self.flushed_half_minute {
            self.flushed_half_minute = half_minute;
            self.flush_unschedulable_pods_leftover(now_ns, queue_plugins);
        }
    }

    /// When [`SchedulingQueue::tick`] may next have something to do.
    #[must_use]
    pub fn next_tick_ns(&self) -> Option<u64> {
        let ends = [BackoffKind::Rejected, BackoffKind::Error].map(|kind| self.backoff.first_end_ns(kind));
        let backoff = ends
            .into_iter()
            .flatten()
            .min()
            .map(|end_ns| (end_ns / BACKOFF_Q_ORDERING_WINDOW_NS + 1) * BACKOFF_Q_ORDERING_WINDOW_NS);
        let flushes = self.flush_after_ns.is_some() && !self.unschedulable_pods.is_empty();
        let flush = flushes.then(|| (self.flushed_half_minute + 1) * FLUSH_EVERY_NS);
        backoff.into_iter().chain(flush).min()
    }

    /// Marks what events kept for pods in flight, and pods that wait, refer to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        self.in_flight.events().for_each(|event| event.mark(marks));
        self.unschedulable_pods.classes().for_each(|class| marks.class(class));
    }

    /// Memory that is for nothing.
    pub(crate) fn shrink(&mut self) {
        self.unschedulable_pods.shrink();
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes()
            + self.active.memory_bytes()
            + self.backoff.memory_bytes()
            + self.unschedulable_pods.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
