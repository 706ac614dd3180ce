//! What must hold of a scheduler between two events: the queue, binding cycles, the nominator and the
//! world say the same of every pod.
//!
//! With debug assertions (tests) a scheduler checks itself now and then; the simulator asks for more.

use super::Scheduler;
use super::conditions::{NO_CONDITION, UNSURE};
use super::status::StageCounts;
use crate::ids::PodId;
use crate::mutants::Mutants;
use crate::pods::{PodRow, PodState};
use crate::queue::QueuePlace;

impl Scheduler {
    /// Panics where parts of the scheduler do not agree. To be called between two calls of it; costs about
    /// as much as it knows things. A scheduler with a defect is left to the checks from outside.
    pub fn check(&self) {
        if self.settings.mutants != Mutants::default() {
            return;
        }
        self.world.check();
        self.engine.check();
        self.queue.check();
        self.pod_group_queue.check();
        self.binding_cycles.check();
        self.dispatcher.check();
        self.preemption_executor.check(&self.dispatcher);
        self.conditions.check();
        assert!(self.requests.is_empty(), "what plugins ask for is done at once");
        assert!(self.pre_enqueue_reports.is_empty(), "reports are told at once");
        self.check_pods();
        self.check_nominations();
        self.check_binding_cycles();
        self.check_nodes();
    }

    /// With debug assertions: checks everything once in so many events that this costs a few times as much
    /// as the events themselves, whatever the size of the cluster.
    #[inline]
    pub(super) fn check_now_and_then(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.events_until_check = self.events_until_check.saturating_sub(1);
            if self.events_until_check == 0 {
                self.check();
                self.events_until_check = EVENTS_MIN + (self.things() / THINGS_PER_EVENT);
            }
        }
    }

    #[cfg(debug_assertions)]
    fn things(&self) -> u64 {
        let pods = self.world.pods().len() as u64;
        self.thing_count() + self.engine.thing_count() + 2 * pods + 4 * self.world.nodes().node_count() as u64
    }

    fn check_pods(&self) {
        let mut counts = StageCounts::default();
        for pod in self.world.pods().ids() {
            let row = self.world.pods().get(pod);
            counts.enter(row.state);
            let is_placed = matches!(row.state, PodState::Assumed | PodState::Bound);
            assert_eq!(row.node().is_some(), is_placed, "a pod is on a node if it is assumed or bound");
            self.check_place(pod, row);
            if row.condition != NO_CONDITION && row.condition != UNSURE {
                assert!(self.conditions.get(row.condition).is_some(), "a pod's condition is known");
            }
        }
        assert_eq!(counts, self.counts, "pods of each state are counted");
        let counts = self.queue.counts();
        let waiting = counts.active + counts.backoff + counts.error_backoff;
        let queued = waiting + counts.unschedulable + counts.gated + counts.in_flight;
        assert!(queued <= self.world.pods().len(), "only pods that are known are queued");
    }

    /// The queue and the world say the same of a pod.
    fn check_place(&self, pod: PodId, row: &PodRow) {
        let place = self.queue.place(pod);
        match row.state {
            PodState::Foreign => assert_eq!(place, QueuePlace::Out, "another scheduler's pod is not queued"),
            PodState::Bound => assert_eq!(place, QueuePlace::Out, "a bound pod is not queued"),
            PodState::Assumed => {
                let is_on_its_way = matches!(place, QueuePlace::Out | QueuePlace::InFlight);
                assert!(is_on_its_way, "an assumed pod is not tried again");
            }
            PodState::Pending => {
                assert_ne!(place, QueuePlace::InFlight, "an attempt is over when the next event comes");
            }
        }
        if place != QueuePlace::Out && row.state == PodState::Pending {
            let queued = self.queue.queued(pod);
            assert_eq!(queued.uid, row.uid, "the queue knows the pod by its UID");
            assert_eq!(queued.class, row.class, "the queue knows the pod as it is");
            let own = self.world.class(row.class).priority;
            // A group's entry stands under one of its members and has the group's priority.
            let of_group = self.group_of(pod).and_then(|group| self.world.pod_groups().get(group).object());
            let is_known =
                queued.priority == own || of_group.is_some_and(|group| group.priority == queued.priority);
            assert!(is_known, "the queue knows the priority of the pod or of its group");
        }
    }

    /// The nominator says what the pods' rows say.
    fn check_nominations(&self) {
        let world = &self.world;
        for (node, nominations) in world.nominator().nodes() {
            for nomination in nominations {
                let pod = world.pods().find(nomination.pod).expect("a nominated pod is known");
                let row = world.pods().get(pod);
                assert_eq!(row.nominated(), Some(node), "a pod's row names the node that is held for it");
                assert_eq!(row.class, nomination.class, "room is held for the pod as it is");
                assert!(row.node().is_none(), "a pod on a node holds its room by being there");
                let own = world.class(row.class).priority;
                assert!(nomination.priority <= own, "room is held against no more than the own priority");
            }
        }
    }

    /// A binding cycle is that of a pod on its way to the node.
    fn check_binding_cycles(&self) {
        for uid in self.binding_cycles.pods() {
            let pod = self.world.pods().find(uid).expect("a pod on its way is known");
            let row = self.world.pods().get(pod);
            let is_placed = matches!(row.state, PodState::Assumed | PodState::Bound);
            assert!(is_placed, "a pod on its way to a node is assumed, or bound already");
            let cycle = self.binding_cycles.get(uid).expect("it was listed");
            assert_eq!(cycle.pod, pod, "a cycle knows the row of its pod");
            assert_eq!(row.node(), Some(cycle.node), "a pod is assumed on the node it is on its way to");
            assert!(
                usize::from(cycle.profile.0) < self.parts.len(),
                "a cycle runs with a profile that is there"
            );
        }
    }

    /// What hints are shown of nodes is kept for the nodes that are there.
    fn check_nodes(&self) {
        let shown = self.nodes.iter().flatten().count();
        assert_eq!(shown, self.world.nodes().node_count(), "a node of the list is one that events told of");
        for &id in &self.world.nodes().columns().id {
            assert!(self.nodes.get(id.index()).is_some_and(Option::is_some), "a node's state is known");
        }
    }
}

/// Events between two checks at least.
#[cfg(debug_assertions)]
const EVENTS_MIN: u64 = 16;
/// A check looks at so many things for each event between it and the last one.
#[cfg(debug_assertions)]
const THINGS_PER_EVENT: u64 = 8;
