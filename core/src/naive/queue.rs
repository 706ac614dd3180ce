//! The scheduling queue without an index, a heap or a ticket: one list of pods, each of which says
//! where it is. Whatever is asked, the whole list is looked at.

use crate::framework::plugin::QueueKey;
use crate::ids::PodId;
use crate::queue::backoff_queue::{BACKOFF_Q_ORDERING_WINDOW_NS, BackoffSettings};
use crate::queue::event::{ClusterEvent, Event, PodFacts, WILDCARD};
use crate::queue::order::{QueueOrder, SortKey};
use crate::queue::{
    PluginNumber, PluginNumberSet, PreCheck, QueueCounts, QueuePlace, QueuePlugins, QueueSettings, QueuedPod,
    QueueingStrategy,
};

/// A pod and all that the queue knows about it.
#[derive(Clone, Debug)]
struct NaivePod {
    pod: QueuedPod,
    place: QueuePlace,
    order: u64,
    timestamp_ns: u64,
    flushed_ns: u64,
    was_flushed: bool,
    unschedulable: PluginNumberSet,
    pending: PluginNumberSet,
    gate: Option<PluginNumber>,
    rejections: u32,
    errors: u32,
    /// What happened since it was popped.
    unseen: Vec<Event>,
}

/// The plain queue.
#[derive(Clone, Debug)]
pub struct NaiveQueue {
    settings: QueueSettings,
    /// By profile: which plugin asked for which events.
    registrations: Vec<Vec<(PluginNumber, ClusterEvent)>>,
    pods: Vec<NaivePod>,
    added: u64,
    second: u64,
}

impl NaiveQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(settings: QueueSettings, registrations: Vec<Vec<(PluginNumber, ClusterEvent)>>) -> NaiveQueue {
        NaiveQueue { settings, registrations, pods: Vec::new(), added: 0, second: 0 }
    }

    fn backoff(&self) -> &BackoffSettings {
        &self.settings.backoff
    }

    fn find(&self, pod: PodId) -> Option<usize> {
        self.pods.iter().position(|known| known.pod.pod == pod)
    }

    /// Where a pod is.
    #[must_use]
    pub fn place(&self, pod: PodId) -> QueuePlace {
        self.find(pod).map_or(QueuePlace::Out, |at| self.pods[at].place)
    }

    /// Whether a pod was flushed out of waiting.
    #[must_use]
    pub fn was_flushed_from_unschedulable(&self, pod: PodId) -> bool {
        self.find(pod).is_some_and(|at| self.pods[at].was_flushed)
    }

    /// How many pods are where.
    #[must_use]
    pub fn counts(&self) -> QueueCounts {
        let count = |place| self.pods.iter().filter(|pod| pod.place == place).count();
        QueueCounts {
            active: count(QueuePlace::Active),
            backoff: count(QueuePlace::Backoff),
            error_backoff: count(QueuePlace::ErrorBackoff),
            unschedulable: count(QueuePlace::Unschedulable),
            gated: count(QueuePlace::Gated),
            in_flight: count(QueuePlace::InFlight),
        }
    }

    /// Adds a pod.
    pub fn add(&mut self, pod: QueuedPod, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        self.added += 1;
        self.pods.push(NaivePod {
            pod,
            place: QueuePlace::Out,
            order: self.added,
            timestamp_ns: now_ns,
            flushed_ns: 0,
            was_flushed: false,
            unschedulable: PluginNumberSet::NONE,
            pending: PluginNumberSet::NONE,
            gate: None,
            rejections: 0,
            errors: 0,
            unseen: Vec::new(),
        });
        let at = self.pods.len() - 1;
        self.make_active(at, queue_plugins);
    }

    /// A pod changed.
    pub fn update(
        &mut self,
        pod: QueuedPod,
        events: &[Event],
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let Some(at) = self.find(pod.pod) else { return self.add(pod, now_ns, queue_plugins) };
        self.pods[at].pod = pod;
        match self.pods[at].place {
            QueuePlace::InFlight => self.note(events, |other| other.pod.pod == pod.pod),
            QueuePlace::Unschedulable | QueuePlace::Gated => {
                for event in events {
                    let strategy = self.strategy(at, event, queue_plugins);
                    if strategy != QueueingStrategy::Skip {
                        self.requeue(at, strategy, now_ns, queue_plugins);
                    }
                    if !matches!(self.pods[at].place, QueuePlace::Unschedulable | QueuePlace::Gated) {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    /// A pod is gone.
    pub fn delete(&mut self, pod: PodId) {
        self.pods.retain(|known| known.pod.pod != pod);
    }

    /// A pod in flight goes to its node.
    pub fn done(&mut self, pod: PodId) {
        self.pods.retain(|known| known.pod.pod != pod || known.place != QueuePlace::InFlight);
    }

    /// Takes the pod to be tried next.
    pub fn pop(&mut self) -> Option<PodId> {
        let less = |one: &usize, other: &usize| self.before(*one, *other);
        let first = |place| {
            let of_place = (0..self.pods.len()).filter(|&at| self.pods[at].place == place);
            of_place.reduce(|best, other| if less(&other, &best) { other } else { best })
        };
        let early = || self.backoff().pops_early.then(|| first(QueuePlace::Backoff)).flatten();
        let at = first(QueuePlace::Active).or_else(early)?;
        self.pods[at].place = QueuePlace::InFlight;
        self.pods[at].unseen.clear();
        Some(self.pods[at].pod.pod)
    }

    /// Of two pods in one place, whether the first is popped first.
    fn before(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.pods[one], &self.pods[other]);
        let end = |pod: &NaivePod| match pod.place {
            QueuePlace::Active => None,
            _ => self.end_ns(pod),
        };
        let key = |pod: &NaivePod| SortKey {
            plugin: QueueKey { priority: pod.pod.priority, queued_ns: pod.timestamp_ns },
            order: pod.order,
        };
        if end(one) != end(other) {
            return end(one) < end(other);
        }
        match &self.settings.order {
            QueueOrder::PrioritySort => {
                let rank = |pod: &NaivePod| (-i64::from(pod.pod.priority), pod.timestamp_ns, pod.order);
                rank(one) < rank(other)
            }
            order @ QueueOrder::Plugin(_) => order.less(&key(one), &key(other)),
        }
    }

    /// A popped pod did not make it.
    pub fn add_unschedulable_pod_if_not_present(
        &mut self,
        pod: PodId,
        (unschedulable, pending): (PluginNumberSet, PluginNumberSet),
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let at = self.find(pod).expect("a popped pod is known");
        let known = &mut self.pods[at];
        (known.unschedulable, known.pending) = (unschedulable, pending);
        if unschedulable.is_empty() && pending.is_empty() {
            known.errors += 1;
        } else {
            known.rejections += 1;
            known.errors = 0;
        }
        known.gate = None;
        known.timestamp_ns = now_ns;
        known.flushed_ns = 0;
        known.was_flushed = false;
        let mut strategy = QueueingStrategy::Skip;
        if unschedulable.is_empty() && pending.is_empty() {
            strategy = QueueingStrategy::AfterBackoff;
        }
        for event in known.unseen.clone() {
            strategy = strategy.max(self.strategy(at, &event, queue_plugins));
        }
        self.requeue(at, strategy, now_ns, queue_plugins);
    }

    /// Something happened.
    pub fn move_all_to_active_or_backoff_queue(
        &mut self,
        event: &Event,
        scope: PreCheck,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let covers = |&(_, registered): &(PluginNumber, ClusterEvent)| registered.covers(event.what);
        if !event.is_wildcard() && !self.registrations.iter().flatten().any(covers) {
            return;
        }
        for at in 0..self.pods.len() {
            let known = &self.pods[at];
            let is_meant = match scope {
                PreCheck::Everyone => true,
                PreCheck::UpToPriority(priority) => known.pod.priority <= priority,
                PreCheck::Except(uid) => known.pod.uid != uid,
                PreCheck::UpToPriorityExcept(priority, uid) => {
                    known.pod.priority <= priority && known.pod.uid != uid
                }
            };
            let is_waiting = matches!(known.place, QueuePlace::Unschedulable | QueuePlace::Gated);
            if !is_meant || !is_waiting {
                continue;
            }
            let of_gate = |gate| self.covering(at, event.what).any(|plugin| plugin == gate);
            if !event.is_wildcard() && known.gate.is_some_and(|gate| !of_gate(gate)) {
                continue;
            }
            let strategy = self.strategy(at, event, queue_plugins);
            if strategy != QueueingStrategy::Skip {
                self.requeue(at, strategy, now_ns, queue_plugins);
            }
        }
        self.note(std::slice::from_ref(event), |_| true);
    }

    /// A plugin asks for a pod to be tried again now.
    pub fn activate(&mut self, pod: PodId, queue_plugins: &mut impl QueuePlugins) {
        let Some(at) = self.find(pod) else { return };
        match self.pods[at].place {
            QueuePlace::Unschedulable | QueuePlace::Gated => self.make_active(at, queue_plugins),
            QueuePlace::Backoff | QueuePlace::ErrorBackoff => self.leave_backoff(at, queue_plugins),
            QueuePlace::InFlight => {
                let QueuedPod { uid, class, .. } = self.pods[at].pod;
                let facts = PodFacts { uid, class, node: None, nominated: None };
                let event = Event::pod(WILDCARD, None, Some(facts));
                self.note(&[event], |other| other.pod.pod == pod);
            }
            QueuePlace::Active | QueuePlace::Out => {}
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ns: u64, queue_plugins: &mut impl QueuePlugins) {
        let before = std::mem::replace(&mut self.second, now_ns / BACKOFF_Q_ORDERING_WINDOW_NS);
        if before == self.second {
            return;
        }
        for at in 0..self.pods.len() {
            let known = &self.pods[at];
            let in_backoff = matches!(known.place, QueuePlace::Backoff | QueuePlace::ErrorBackoff);
            if in_backoff
                && !self
                    .backoff()
                    .is_pod_backing_off(self.end_ns(known), self.second * BACKOFF_Q_ORDERING_WINDOW_NS)
            {
                self.leave_backoff(at, queue_plugins);
            }
        }
        let Some(flush_after_ns) = self.settings.flush_after_ns else { return };
        if before / 30 == self.second / 30 {
            return;
        }
        let flush_ns = self.second / 30 * 30 * BACKOFF_Q_ORDERING_WINDOW_NS;
        let mut is_any = false;
        for at in 0..self.pods.len() {
            let known = &mut self.pods[at];
            let is_waiting = matches!(known.place, QueuePlace::Unschedulable | QueuePlace::Gated);
            let since_ns = known.timestamp_ns.max(known.flushed_ns);
            if is_waiting && flush_ns.saturating_sub(since_ns) > flush_after_ns {
                known.was_flushed = true;
                known.flushed_ns = now_ns;
                is_any = true;
                self.requeue(at, QueueingStrategy::AfterBackoff, now_ns, queue_plugins);
            }
        }
        if is_any {
            self.note(&[Event::bare(WILDCARD)], |_| true);
        }
    }

    fn note(&mut self, events: &[Event], concerns: impl Fn(&NaivePod) -> bool) {
        for pod in self.pods.iter_mut().filter(|pod| pod.place == QueuePlace::InFlight) {
            if concerns(pod) {
                pod.unseen.extend_from_slice(events);
            }
        }
    }

    fn covering(&self, at: usize, event: ClusterEvent) -> impl Iterator<Item = PluginNumber> {
        let registered = &self.registrations[usize::from(self.pods[at].pod.profile.0)];
        registered.iter().filter(move |(_, registered)| registered.covers(event)).map(|&(plugin, _)| plugin)
    }

    fn strategy(&self, at: usize, event: &Event, queue_plugins: &mut impl QueuePlugins) -> QueueingStrategy {
        let known = &self.pods[at];
        if event.is_wildcard() || (known.unschedulable.is_empty() && known.pending.is_empty()) {
            return QueueingStrategy::AfterBackoff;
        }
        let mut best = QueueingStrategy::Skip;
        for plugin in self.covering(at, event.what) {
            let strategy = match (known.pending.contains(plugin), known.unschedulable.contains(plugin)) {
                (true, _) => QueueingStrategy::Immediately,
                (false, true) => QueueingStrategy::AfterBackoff,
                (false, false) => continue,
            };
            if queue_plugins.queueing_hint(plugin, &known.pod, event) {
                best = best.max(strategy);
            }
        }
        best
    }

    fn end_ns(&self, pod: &NaivePod) -> Option<u64> {
        let failures = if pod.errors > 0 { pod.errors } else { pod.rejections };
        self.backoff().end_ns(failures, pod.timestamp_ns)
    }

    fn requeue(
        &mut self,
        at: usize,
        strategy: QueueingStrategy,
        now_ns: u64,
        queue_plugins: &mut impl QueuePlugins,
    ) {
        let must_wait = self.backoff().is_pod_backing_off(self.end_ns(&self.pods[at]), now_ns);
        if strategy == QueueingStrategy::Skip {
            self.pods[at].place = QueuePlace::Unschedulable;
        } else if strategy == QueueingStrategy::AfterBackoff && must_wait {
            if self.backoff().pops_early && self.is_gated(at, queue_plugins) {
                return;
            }
            let known = &mut self.pods[at];
            let is_error = known.unschedulable.is_empty() && known.pending.is_empty();
            known.place = if is_error { QueuePlace::ErrorBackoff } else { QueuePlace::Backoff };
        } else {
            self.make_active(at, queue_plugins);
        }
    }

    fn leave_backoff(&mut self, at: usize, queue_plugins: &mut impl QueuePlugins) {
        if self.backoff().pops_early {
            self.pods[at].place = QueuePlace::Active;
        } else {
            self.make_active(at, queue_plugins);
        }
    }

    fn make_active(&mut self, at: usize, queue_plugins: &mut impl QueuePlugins) {
        if !self.is_gated(at, queue_plugins) {
            self.pods[at].place = QueuePlace::Active;
        }
    }

    fn is_gated(&mut self, at: usize, queue_plugins: &mut impl QueuePlugins) -> bool {
        let known = &mut self.pods[at];
        known.gate = queue_plugins.run_pre_enqueue_plugins(&known.pod, known.gate);
        let Some(plugin) = known.gate else { return false };
        known.unschedulable.insert(plugin);
        known.place = QueuePlace::Gated;
        known.was_flushed = false;
        true
    }
}
