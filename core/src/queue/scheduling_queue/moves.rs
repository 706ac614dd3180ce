//! How pods get from one place of the queue to another.

use super::super::backoff::BackoffKind;
use super::super::entry::{QueuePlace, QueuedPod};
use super::super::event::{Event, WILDCARD};
use super::super::in_flight::Unseen;
use super::super::incoming::Cause;
use super::super::interest::Interest;
use super::super::order::Ticket;
use super::super::waiting::GroupKey;
use super::{Entrance, FLUSH_EVERY_NS, LEFTOVERS_MIN, QueueHost, SchedulingQueue, Scope, Strategy};
use crate::ids::PodId;
use crate::queue::backoff::WINDOW_NS;

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

    pub(super) fn find_helped(&mut self, event: &Event, scope: Scope, host: &mut impl QueueHost) {
        let SchedulingQueue { waiting, interest, entries, moving, .. } = self;
        for (key, classes) in waiting.groups() {
            if !event.is_wildcard() {
                let wanted = interest[usize::from(key.profile.0)].of(event.what);
                let concerns_gate = key.gate.is_none_or(|gate| wanted.contains(gate));
                let concerns = key.rejectors().is_empty() || !wanted.intersection(key.rejectors()).is_empty();
                if !concerns_gate || !concerns {
                    continue;
                }
            }
            let asks_each =
                !interest[usize::from(key.profile.0)].asks_each().intersection(key.rejectors()).is_empty();
            for pods in classes {
                let is_meant = |pod: &&PodId| match scope {
                    Scope::Everyone => true,
                    Scope::UpToPriority(priority) => entries[pod.index()].priority <= priority,
                    Scope::Except(uid) => entries[pod.index()].uid != uid,
                    Scope::UpToPriorityExcept(priority, uid) => {
                        let entry = &entries[pod.index()];
                        entry.priority <= priority && entry.uid != uid
                    }
                };
                let mut strategy = None;
                for &pod in pods.iter().filter(is_meant) {
                    if asks_each || strategy.is_none() {
                        let asked = entries[pod.index()].pod(pod);
                        strategy = Some(strategy_for(interest, key, &asked, event, host));
                    }
                    match strategy {
                        Some(Strategy::Skip) if !asks_each => break,
                        Some(Strategy::Skip) | None => {}
                        Some(strategy) => moving.push((pod, strategy)),
                    }
                }
            }
        }
    }

    pub(super) fn move_found(&mut self, now_ns: u64, host: &mut impl QueueHost) {
        let mut moving = std::mem::take(&mut self.moving);
        self.is_asleep &= moving.is_empty();
        for (pod, strategy) in moving.drain(..) {
            self.leave(pod);
            self.requeue(pod, strategy, now_ns, host);
        }
        self.moving = moving;
    }

    pub(super) fn flush_backoff(&mut self, now_ns: u64, host: &mut impl QueueHost) {
        let entrance = self.entrance_after_backoff();
        self.incoming.because(Cause::BackoffOver);
        let kinds =
            [(BackoffKind::Rejected, QueuePlace::Backoff), (BackoffKind::Error, QueuePlace::ErrorBackoff)];
        for (kind, place) in kinds {
            while let Some(end_ns) = self.backoff.first_end_ns(kind) {
                if self.backoff.settings().is_waiting(Some(end_ns), self.flushed_second * WINDOW_NS) {
                    break;
                }
                let ticket = self.backoff.pop(kind).expect("there is a first");
                if self.entries[ticket.pod.index()].holds(place, ticket) {
                    self.set_place(ticket.pod, QueuePlace::Out);
                    self.is_asleep = false;
                    self.enter_active(ticket.pod, entrance, now_ns, host);
                }
            }
        }
    }

    pub(super) fn flush_waiting(&mut self, now_ns: u64, host: &mut impl QueueHost) {
        let Some(flush_after_ns) = self.flush_after_ns else { return };
        let flush_ns = self.flushed_half_minute * FLUSH_EVERY_NS;
        let SchedulingQueue { waiting, entries, moving, .. } = self;
        for pod in waiting.pods() {
            let entry = &mut entries[pod.index()];
            let since_ns = entry.timestamp_ns.max(entry.flushed_ns);
            if flush_ns.saturating_sub(since_ns) > flush_after_ns {
                entry.was_flushed = true;
                entry.flushed_ns = now_ns;
                moving.push((pod, Strategy::AfterBackoff));
            }
        }
        if !self.moving.is_empty() {
            self.incoming.because(Cause::WaitedTooLong);
            self.move_found(now_ns, host);
            self.in_flight.note(&Event::bare(WILDCARD));
        }
    }

    /// What happened while a pod was in flight, judged by those who rejected it.
    pub(super) fn strategy_of_unseen(&self, pod: PodId, host: &mut impl QueueHost) -> Strategy {
        let entry = &self.entries[pod.index()];
        if entry.rejectors().is_empty() || entry.place != QueuePlace::InFlight {
            return Strategy::AfterBackoff;
        }
        let Unseen::Events(events) = self.in_flight.unseen(entry) else { return Strategy::AfterBackoff };
        let key = GroupKey::of(entry);
        let pod = entry.pod(pod);
        let mut best = Strategy::Skip;
        for event in events {
            // Differs: upstream shows a pod's own update to every pod in flight.
            if event.target().is_some_and(|uid| uid != entry.uid) {
                continue;
            }
            best = best.max(strategy_for(&self.interest, &key, &pod, event, host));
            if best == Strategy::Immediately {
                break;
            }
        }
        best
    }

    /// Puts a pod that is nowhere where it belongs.
    pub(super) fn requeue(&mut self, pod: PodId, strategy: Strategy, now_ns: u64, host: &mut impl QueueHost) {
        let end_ns = self.backoff_end_ns(pod);
        let must_wait = self.backoff.settings().is_waiting(end_ns, now_ns);
        match strategy {
            Strategy::Skip => self.enter_waiting(pod, QueuePlace::Unschedulable),
            Strategy::AfterBackoff if must_wait => self.enter_backoff(pod, host),
            _ => self.enter_active(pod, Entrance::Guarded, now_ns, host),
        }
    }

    pub(super) fn enter_active(
        &mut self,
        pod: PodId,
        entrance: Entrance,
        now_ns: u64,
        host: &mut impl QueueHost,
    ) {
        if entrance == Entrance::Guarded && !self.passes_pre_enqueue(pod, host) {
            return self.enter_waiting(pod, QueuePlace::Gated);
        }
        self.entries[pod.index()].active_ns = now_ns;
        self.incoming.count(QueuePlace::Active);
        self.push_active(pod);
    }

    pub(super) fn enter_backoff(&mut self, pod: PodId, host: &mut impl QueueHost) {
        if self.pops_early() && !self.passes_pre_enqueue(pod, host) {
            return self.enter_waiting(pod, QueuePlace::Gated);
        }
        self.incoming.count(QueuePlace::Backoff);
        self.push_backoff(pod);
    }

    pub(super) fn enter_waiting(&mut self, pod: PodId, place: QueuePlace) {
        if place == QueuePlace::Gated {
            self.entries[pod.index()].was_flushed = false;
        }
        self.set_place(pod, place);
        self.incoming.count(place);
        self.waiting.insert(pod, &mut self.entries[pod.index()]);
    }

    pub(super) fn push_active(&mut self, pod: PodId) {
        let ticket = self.new_ticket(pod);
        self.set_place(pod, QueuePlace::Active);
        self.active.push(self.entries[pod.index()].sort_key(), ticket);
    }

    pub(super) fn push_backoff(&mut self, pod: PodId) {
        let ticket = self.new_ticket(pod);
        let end_ns = self.backoff_end_ns(pod).expect("only a pod that must wait is put here");
        let entry = &self.entries[pod.index()];
        let key = entry.sort_key();
        let (kind, place) = if entry.rejectors().is_empty() {
            (BackoffKind::Error, QueuePlace::ErrorBackoff)
        } else {
            (BackoffKind::Rejected, QueuePlace::Backoff)
        };
        self.set_place(pod, place);
        self.backoff.push(kind, end_ns, key, ticket);
    }

    pub(super) fn passes_pre_enqueue(&mut self, pod: PodId, host: &mut impl QueueHost) -> bool {
        let entry = &mut self.entries[pod.index()];
        let gate = host.pre_enqueue(&entry.pod(pod), entry.gate());
        entry.set_gate(gate);
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
    pub(super) fn leave(&mut self, pod: PodId) {
        let place = self.place(pod);
        self.set_place(pod, QueuePlace::Out);
        match place {
            QueuePlace::Unschedulable | QueuePlace::Gated => self.waiting.remove(pod, &mut self.entries),
            QueuePlace::InFlight => self.in_flight.end(pod, &mut self.entries),
            QueuePlace::Active => self.compact_active(),
            QueuePlace::Backoff | QueuePlace::ErrorBackoff => self.compact_backoff(),
            QueuePlace::Out => {}
        }
    }

    pub(super) fn compact_active(&mut self) {
        let leftovers = self.active.len() - self.counts.active;
        if leftovers >= LEFTOVERS_MIN && leftovers > self.counts.active {
            let entries = &self.entries;
            self.active.compact(|ticket| entries[ticket.pod.index()].holds(QueuePlace::Active, ticket));
        }
    }

    pub(super) fn compact_backoff(&mut self) {
        let live = self.counts.backoff + self.counts.error_backoff;
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
            *count -= 1;
        }
        if let Some(count) = self.counts.of(place) {
            *count += 1;
        }
    }
}

/// What an event does for a pod that these plugins rejected.
pub(super) fn strategy_for(
    interest: &[Interest],
    key: &GroupKey,
    pod: &QueuedPod,
    event: &Event,
    host: &mut impl QueueHost,
) -> Strategy {
    if key.rejectors().is_empty() || event.is_wildcard() {
        return Strategy::AfterBackoff;
    }
    let wanted = interest[usize::from(key.profile.0)].of(event.what).intersection(key.rejectors());
    let mut best = Strategy::Skip;
    for plugin in wanted.iter() {
        if !host.hint(plugin, pod, event) {
            continue;
        }
        if key.pending.contains(plugin) {
            return Strategy::Immediately;
        }
        best = Strategy::AfterBackoff;
        if key.pending.is_empty() {
            break;
        }
    }
    best
}
