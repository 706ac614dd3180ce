//! How pods get from one place of the queue to another.

use super::super::backoff_queue::BackoffKind;
use super::super::event::{Event, WILDCARD};
use super::super::events_of_interest::EventsOfInterest;
use super::super::in_flight_events::UnseenEvents;
use super::super::order::Ticket;
use super::super::queue_incoming_pods::Cause;
use super::super::queued_pod_info::{QueuePlace, QueuedPod};
use super::super::unschedulable_pods::GroupKey;
use super::{
    Entrance, FLUSH_EVERY_NS, LEFTOVERS_MIN, PreCheck, QueuePlugins, QueueingStrategy, SchedulingQueue,
};
use crate::ids::PodId;
use crate::queue::backoff_queue::BACKOFF_Q_ORDERING_WINDOW_NS;

impl SchedulingQueue {
    pub(super) fn pops_early(&self) -> bool {
        self.backoff.settings().pops_early
    }

    /// Pods that may be popped early passed PreEnqueue when their backoff began.
    pub(super) fn entrance_after_backoff(&self) -> Entrance {
        if self.pops_early() { Entrance::Open } else { Entrance::Guarded }
    }

    pub(super) fn pop_active(&mut self) -> Option<PodId> {
        while let Some(ticket) = self.active.pop() {
            if self.entries[ticket.pod.index()].holds(QueuePlace::Active, ticket) {
                return Some(ticket.pod);
            }
        }
        None
    }

    pub(super) fn pop_backoff(&mut self) -> Option<PodId> {
        while let Some(ticket) = self.backoff.pop(BackoffKind::Rejected) {
            if self.entries[ticket.pod.index()].holds(QueuePlace::Backoff, ticket) {
                self.incoming.because(Cause::PoppedEarly);
                self.incoming.count(QueuePlace::Active);
                return Some(ticket.pod);
            }
        }
        None
    }

    pub(super) fn collect_pods_worth_requeuing(
        &mut self,
        event: &Event,
        scope: PreCheck,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let SchedulingQueue { unschedulable_pods, interest, entries, moving, .. } = self;
        for (key, classes) in unschedulable_pods.groups() {
            if !event.is_wildcard() {
                let wanted = interest[usize::from(key.profile.0)].of(event.what);
                let concerns_gate = key.gate.is_none_or(|gate| wanted.contains(gate));
                let concerns = key.rejector_plugins().is_empty()
                    || !wanted.intersection(key.rejector_plugins()).is_empty();
                if !concerns_gate || !concerns {
                    continue;
                }
            }
            let asks_each = !interest[usize::from(key.profile.0)]
                .plugins_called_per_pod()
                .intersection(key.rejector_plugins())
                .is_empty();
            for pods in classes {
                let is_meant = |pod: &&PodId| match scope {
                    PreCheck::Everyone => true,
                    PreCheck::UpToPriority(priority) => entries[pod.index()].priority <= priority,
                    PreCheck::Except(uid) => entries[pod.index()].uid != uid,
                    PreCheck::UpToPriorityExcept(priority, uid) => {
                        let entry = &entries[pod.index()];
                        entry.priority <= priority && entry.uid != uid
                    }
                };
                let mut strategy = None;
                for &pod in pods.iter().filter(is_meant) {
                    if asks_each || strategy.is_none() {
                        let asked = entries[pod.index()].pod(pod);
                        strategy = Some(is_pod_worth_requeuing(interest, key, &asked, event, queue_plugins));
                    }
                    match strategy {
                        Some(QueueingStrategy::Skip) if !asks_each => break,
                        Some(QueueingStrategy::Skip) | None => {}
                        Some(strategy) => moving.push((pod, strategy)),
                    }
                }
            }
        }
    }

    pub(super) fn move_pods_to_active_or_backoff_queue(
        &mut self,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let mut moving = std::mem::take(&mut self.moving);
        self.is_asleep &= moving.is_empty();
        for (pod, strategy) in moving.drain(..) {
            self.delete_from_any_queue(pod);
            self.requeue_pod_with_queueing_strategy(pod, strategy, now_ns, queue_plugins);
        }
        self.moving = moving;
    }

    pub(super) fn flush_backoff_q_completed(&mut self, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        let entrance = self.entrance_after_backoff();
        self.incoming.because(Cause::BackoffOver);
        let kinds =
            [(BackoffKind::Rejected, QueuePlace::Backoff), (BackoffKind::Error, QueuePlace::ErrorBackoff)];
        for (kind, place) in kinds {
            while let Some(end_ns) = self.backoff.first_end_ns(kind) {
                if self
                    .backoff
                    .settings()
                    .is_pod_backing_off(Some(end_ns), self.flushed_second * BACKOFF_Q_ORDERING_WINDOW_NS)
                {
                    break;
                }
                let ticket = self.backoff.pop(kind).expect("there is a first");
                if self.entries[ticket.pod.index()].holds(place, ticket) {
                    self.set_place(ticket.pod, QueuePlace::Out);
                    self.is_asleep = false;
                    self.move_to_active_q(ticket.pod, entrance, now_ns, queue_plugins);
                }
            }
        }
    }

    pub(super) fn flush_unschedulable_pods_leftover(
        &mut self,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let Some(flush_after_ns) = self.flush_after_ns else { return };
        let flush_ns = self.flushed_half_minute * FLUSH_EVERY_NS;
        let SchedulingQueue { unschedulable_pods, entries, moving, .. } = self;
        for pod in unschedulable_pods.pods() {
            let entry = &mut entries[pod.index()];
            let since_ns = entry.timestamp_ns.max(entry.flushed_ns);
            if flush_ns.saturating_sub(since_ns) > flush_after_ns {
                entry.was_flushed = true;
                entry.flushed_ns = now_ns;
                moving.push((pod, QueueingStrategy::AfterBackoff));
            }
        }
        if !self.moving.is_empty() {
            self.incoming.because(Cause::WaitedTooLong);
            self.move_pods_to_active_or_backoff_queue(now_ns, queue_plugins);
            self.in_flight.add_event_if_any_in_flight(&Event::bare(WILDCARD));
        }
    }

    /// What happened while a pod was in flight, judged by those who rejected it.
    pub(super) fn determine_scheduling_hint_for_in_flight_pod(
        &self,
        pod: PodId,
        queue_plugins: &mut impl QueuePlugins,
    ) -> QueueingStrategy {
        let entry = &self.entries[pod.index()];
        if entry.rejector_plugins().is_empty() || entry.place != QueuePlace::InFlight {
            return QueueingStrategy::AfterBackoff;
        }
        let UnseenEvents::Events(events) = self.in_flight.cluster_events_for_pod(entry) else {
            return QueueingStrategy::AfterBackoff;
        };
        let key = GroupKey::of(entry);
        let pod = entry.pod(pod);
        let mut best = QueueingStrategy::Skip;
        for event in events {
            // Differs: upstream shows a pod's own update to every pod in flight
            // (`update_of_in_flight_pod_requeues_that_pod_only`).
            if event.target().is_some_and(|uid| uid != entry.uid) {
                continue;
            }
            best = best.max(is_pod_worth_requeuing(&self.interest, &key, &pod, event, queue_plugins));
            if best == QueueingStrategy::Immediately {
                break;
            }
        }
        best
    }

    /// Puts a pod that is nowhere where it belongs.
    pub(super) fn requeue_pod_with_queueing_strategy(
        &mut self,
        pod: PodId,
        strategy: QueueingStrategy,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let end_ns = self.backoff_end_ns(pod);
        let must_wait = self.backoff.settings().is_pod_backing_off(end_ns, now_ns);
        match strategy {
            QueueingStrategy::Skip => self.add_to_unschedulable_pods(pod, QueuePlace::Unschedulable),
            QueueingStrategy::AfterBackoff if must_wait => self.move_to_backoff_q(pod, queue_plugins),
            _ => self.move_to_active_q(pod, Entrance::Guarded, now_ns, queue_plugins),
        }
    }

    pub(super) fn move_to_active_q(
        &mut self,
        pod: PodId,
        entrance: Entrance,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        if entrance == Entrance::Guarded && !self.run_pre_enqueue_plugins(pod, queue_plugins) {
            return self.add_to_unschedulable_pods(pod, QueuePlace::Gated);
        }
        self.entries[pod.index()].active_ns = now_ns;
        self.incoming.count(QueuePlace::Active);
        self.push_active(pod);
    }

    pub(super) fn move_to_backoff_q(&mut self, pod: PodId, queue_plugins: &mut impl QueuePlugins) {
        if self.pops_early() && !self.run_pre_enqueue_plugins(pod, queue_plugins) {
            return self.add_to_unschedulable_pods(pod, QueuePlace::Gated);
        }
        self.incoming.count(QueuePlace::Backoff);
        self.push_backoff(pod);
    }

    pub(super) fn add_to_unschedulable_pods(&mut self, pod: PodId, place: QueuePlace) {
        debug_assert_eq!(self.place(pod), QueuePlace::Out, "a pod is in one place");
        if place == QueuePlace::Gated {
            self.entries[pod.index()].was_flushed = false;
        }
        self.set_place(pod, place);
        self.incoming.count(place);
        self.unschedulable_pods.insert(pod, &mut self.entries[pod.index()]);
    }

    pub(super) fn push_active(&mut self, pod: PodId) {
        debug_assert_eq!(self.place(pod), QueuePlace::Out, "a pod is in one place");
        let ticket = self.new_ticket(pod);
        self.set_place(pod, QueuePlace::Active);
        self.active.push(self.entries[pod.index()].sort_key(), ticket);
    }

    pub(super) fn push_backoff(&mut self, pod: PodId) {
        debug_assert_eq!(self.place(pod), QueuePlace::Out, "a pod is in one place");
        let ticket = self.new_ticket(pod);
        let end_ns = self.backoff_end_ns(pod).expect("only a pod that must wait is put here");
        let entry = &self.entries[pod.index()];
        let key = entry.sort_key();
        let (kind, place) = if entry.rejector_plugins().is_empty() {
            (BackoffKind::Error, QueuePlace::ErrorBackoff)
        } else {
            (BackoffKind::Rejected, QueuePlace::Backoff)
        };
        self.set_place(pod, place);
        self.backoff.push(kind, end_ns, key, ticket);
    }

    pub(super) fn run_pre_enqueue_plugins(
        &mut self,
        pod: PodId,
        queue_plugins: &mut impl QueuePlugins,
    ) -> bool {
        let entry = &mut self.entries[pod.index()];
        let gate = queue_plugins.run_pre_enqueue_plugins(&entry.pod(pod), entry.gating_plugin());
        entry.set_gating_plugin(gate);
        if let Some(plugin) = gate {
            entry.unschedulable.insert(plugin);
        }
        gate.is_none()
    }

    /// When a pod's backoff ends: fixed when first asked for after a failure.
    pub(super) fn backoff_end_ns(&mut self, pod: PodId) -> Option<u64> {
        let entry = &mut self.entries[pod.index()];
        let failures = if entry.errors > 0 { entry.errors } else { entry.rejections };
        if !entry.backoff_is_set {
            entry.backoff_end_ns = self.backoff.settings().end_ns(failures, entry.timestamp_ns)?;
            entry.backoff_is_set = true;
        }
        Some(entry.backoff_end_ns)
    }

    /// Takes a pod from wherever it is.
    pub(super) fn delete_from_any_queue(&mut self, pod: PodId) {
        let place = self.place(pod);
        self.set_place(pod, QueuePlace::Out);
        match place {
            QueuePlace::Unschedulable | QueuePlace::Gated => {
                self.unschedulable_pods.remove(pod, &mut self.entries)
            }
            QueuePlace::InFlight => self.in_flight.done(pod, &mut self.entries),
            QueuePlace::Active => self.compact_active(),
            QueuePlace::Backoff | QueuePlace::ErrorBackoff => self.compact_backoff(),
            QueuePlace::Out => {}
        }
    }

    pub(super) fn compact_active(&mut self) {
        debug_assert!(self.active.len() >= self.counts.active, "an active pod has a ticket");
        let leftovers = self.active.len() - self.counts.active;
        if leftovers >= LEFTOVERS_MIN && leftovers > self.counts.active {
            let entries = &self.entries;
            self.active.compact(|ticket| entries[ticket.pod.index()].holds(QueuePlace::Active, ticket));
        }
    }

    pub(super) fn compact_backoff(&mut self) {
        let live = self.counts.backoff + self.counts.error_backoff;
        debug_assert!(self.backoff.len() >= live, "a pod that backs off has a ticket");
        let leftovers = self.backoff.len() - live;
        if leftovers >= LEFTOVERS_MIN && leftovers > live {
            let entries = &self.entries;
            self.backoff.compact(|ticket| {
                let entry = &entries[ticket.pod.index()];
                entry.holds(QueuePlace::Backoff, ticket) || entry.holds(QueuePlace::ErrorBackoff, ticket)
            });
        }
    }

    pub(super) fn new_ticket(&mut self, pod: PodId) -> Ticket {
        // Around once in 2^32 tickets; a leftover does not live that long.
        self.tickets = self.tickets.wrapping_add(1);
        self.entries[pod.index()].ticket = self.tickets;
        Ticket { pod, number: self.tickets }
    }

    #[inline]
    pub(super) fn set_place(&mut self, pod: PodId, place: QueuePlace) {
        let old = std::mem::replace(&mut self.entries[pod.index()].place, place);
        if let Some(count) = self.counts.of(old) {
            debug_assert!(*count > 0, "a pod was counted where it was");
            *count -= 1;
        }
        if let Some(count) = self.counts.of(place) {
            *count += 1;
        }
    }
}

/// What an event does for a pod that these plugins rejected.
pub(super) fn is_pod_worth_requeuing(
    interest: &[EventsOfInterest],
    key: &GroupKey,
    pod: &QueuedPod,
    event: &Event,
    queue_plugins: &mut impl QueuePlugins,
) -> QueueingStrategy {
    if key.rejector_plugins().is_empty() || event.is_wildcard() {
        return QueueingStrategy::AfterBackoff;
    }
    let wanted = interest[usize::from(key.profile.0)].of(event.what).intersection(key.rejector_plugins());
    let mut best = QueueingStrategy::Skip;
    for plugin in wanted.iter() {
        if !queue_plugins.queueing_hint(plugin, pod, event) {
            continue;
        }
        if key.pending.contains(plugin) {
            return QueueingStrategy::Immediately;
        }
        best = QueueingStrategy::AfterBackoff;
        if key.pending.is_empty() {
            break;
        }
    }
    best
}
