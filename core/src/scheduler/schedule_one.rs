//! The scheduling cycle: one pod, from the queue to a node or back.

use std::sync::Arc;

use super::post_filter::{PostFilterWords, PostFiltered};
use super::queue_plugins::plugin_number;
use super::scheduling_failure::SchedulingFailure;
use super::{ConditionReason, ScheduleOneOutcome, Scheduler};
use crate::cycle::engine::{Choice, Decision, Pending};
use crate::cycle::probe::Probe;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extend::EXTENDER_NAME;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::points::{Bind, BindPlugin, Handle, NominatingInfo, PodRef, Status};
use crate::ids::{NodeId, PodId};
use crate::mutants::Mutant;
use crate::plugins::dynamic_resources::{decide_devices, may_have_claims};
use crate::plugins::volume_binding::decide_volumes;
use crate::pods::{PodRow, PodState};
use crate::queue::hints::QueueingHintMap;
use crate::queue::{PluginNumber, PluginNumberSet, ProfileNumber};

impl Scheduler {
    /// Tries the next pod, or the next group; what became of a group's members is told one a call.
    pub fn schedule_one<P: Probe>(&mut self, probe: &mut P) -> ScheduleOneOutcome {
        loop {
            if let Some(outcome) = self.pod_group_outcomes.pop_front() {
                return outcome;
            }
            if self.preemption_executor.blocks() {
                return ScheduleOneOutcome::Idle;
            }
            let Some(pod) = self.pop_pod_worth_scheduling() else { return ScheduleOneOutcome::Idle };
            match self.group_of(pod) {
                None => return self.schedule_one_pod(pod, probe),
                Some(group) => self.schedule_one_pod_group(group, pod),
            }
        }
    }

    fn schedule_one_pod<P: Probe>(&mut self, pod: PodId, probe: &mut P) -> ScheduleOneOutcome {
        self.world.settle();
        let class = self.world.pods().get(pod).class;
        let profile = self.profile_of(class).expect("a queued pod is one that a profile takes");
        let parts = &self.parts[usize::from(profile.0)];
        let row = self.world.pods().get(pod);
        debug_assert_eq!(row.state, PodState::Pending, "only a pending pod is tried");
        // The attempt may end long after this cycle. Plain pods are bound by the round that tries them,
        // which knows when it began, and need no look at the clock.
        let has_claims = !self.world.class(class).volumes.claims.is_empty()
            || may_have_claims(&self.world, self.world.class(class));
        let may_wait = !parts.is_plain || self.tracks_plain_pods || has_claims;
        let begun_ns = if may_wait { self.timing.now_ns() } else { None };
        self.cycle_begun_ns = begun_ns.unwrap_or(self.now_ns);
        self.engine.set_now_ns(self.now_ns);
        let pending = Pending { class, pod: Some(row.uid), nominated: row.nominated() };
        let decision = self.engine.schedule_pod(&mut self.world, &parts.profile, pending, probe);
        let step = match decision {
            Decision::Chosen(choice) => {
                debug_assert!(choice.row < self.world.nodes().node_count(), "the chosen row is there");
                debug_assert!(choice.ties <= choice.feasible, "the best are among the feasible");
                self.assume(pod, profile, choice)
            }
            Decision::Unschedulable(diagnosis) => {
                self.handle_fit_error(pod, profile, &diagnosis);
                match diagnosis.error {
                    None => ScheduleOneOutcome::Unschedulable { pod },
                    Some(_) => ScheduleOneOutcome::Failed { pod },
                }
            }
            Decision::NominatedMissed => {
                self.retry_without_nominated_node(pod);
                ScheduleOneOutcome::NominatedMissed { pod }
            }
        };
        if !self.missed.is_empty() && !matches!(step, ScheduleOneOutcome::NominatedMissed { .. }) {
            self.after_fresh_cycle(pod);
        }
        self.serve_requests();
        step
    }

    /// The next pod that is worth an attempt. Upstream: schedule_one.go `skipPodSchedule`.
    fn pop_pod_worth_scheduling(&mut self) -> Option<PodId> {
        loop {
            let pod = self.queue.pop()?;
            let active_ns = self.queue.active_ns(pod);
            let row = self.world.pods_mut().get_mut(pod);
            row.queued_ns = active_ns;
            let class = row.class;
            // Of a group each member is looked at.
            if !self.world.class(class).input.is_terminating || self.group_of(pod).is_some() {
                return Some(pod);
            }
            self.engine.skip_cycle();
            if !self.settings.mutants.has(Mutant::SkippedWithoutDone) {
                self.queue.done(pod);
            }
        }
    }

    /// Takes the volumes that a pod gets on a row, if it has open claims.
    fn reserve_volumes(&mut self, pod: PodId, row: usize) {
        let &PodRow { uid, class, .. } = self.world.pods().get(pod);
        let class = self.world.class(class);
        if class.volumes.claims.is_empty() {
            return;
        }
        let decision = decide_volumes(&self.world, class, row);
        if !decision.is_empty() {
            self.world.reserve_volumes(uid, row, decision);
        }
    }

    /// Takes the devices that a pod gets on a row, if it has claims.
    fn reserve_devices(&mut self, pod: PodId, row: usize) {
        let &PodRow { uid, class, .. } = self.world.pods().get(pod);
        if let Some(reservation) = decide_devices(&self.world, self.world.class(class), row) {
            self.world.reserve_devices(uid, reservation);
        }
    }

    pub(super) fn assume(
        &mut self,
        pod: PodId,
        profile: ProfileNumber,
        choice: Choice,
    ) -> ScheduleOneOutcome {
        let node = self.world.nodes().columns().id[choice.row];
        let row = self.world.pods().get(pod);
        debug_assert_eq!(row.state, PodState::Pending, "only a pending pod is assumed");
        debug_assert!(row.node().is_none(), "a pod is assumed on one node");
        let uid = row.uid;
        let left = row.nominated().filter(|&nominated| nominated != node);
        // It holds its room by being there.
        if !self.settings.mutants.has(Mutant::BoundStillNominated) {
            self.world.delete_nominated_pod_if_exists(uid);
        }
        self.reserve_volumes(pod, choice.row);
        self.reserve_devices(pod, choice.row);
        self.world.place(pod, node);
        self.move_to(pod, PodState::Assumed);
        debug_assert_eq!(self.world.supposed(), 0, "a cycle leaves no supposition");
        let parts = &self.parts[usize::from(profile.0)];
        let is_plain = parts.is_plain && !self.tracks_plain_pods && !self.world.has_reserved(uid);
        if !is_plain || self.dispatcher.has_calls_of(uid) {
            return self.prepare_for_binding_cycle(pod, (node, left), profile, choice);
        }
        self.queue.done(pod);
        self.requeue_pods_after_nomination_left(pod, left);
        match self.run_bind_plugins(pod, node, profile) {
            Ok(call) => {
                self.dispatcher.bind_untracked(call);
                ScheduleOneOutcome::Assumed { pod, choice }
            }
            Err((plugin, rejection)) => {
                self.forget_pod(pod);
                self.handle_rejection(pod, plugin, &rejection);
                ScheduleOneOutcome::Failed { pod }
            }
        }
    }

    /// The first Bind plugin that takes the pod says how it is bound.
    pub(super) fn run_bind_plugins(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
    ) -> Result<super::ApiCall, (PluginNumber, Status)> {
        let Scheduler { world, parts, binding_cycles, requests, now_ns, .. } = self;
        let profile = &parts[usize::from(profile.0)].profile;
        let mut handle = Handle::new(world, *now_ns, binding_cycles.waiting_pods(), requests);
        for &at in profile.at(ExtensionPoint::Bind) {
            let plugin: &dyn BindPlugin = profile.plugins()[at].as_bind().expect("a plugin of the Bind list");
            match plugin.bind(&mut handle, PodRef::of(world, pod), node) {
                Bind::Skip => {}
                Bind::Call(call) => return Ok(call),
                Bind::Reject(rejection) => return Err((plugin_number(at), rejection)),
            }
        }
        let last = profile.at(ExtensionPoint::Bind).last().map_or(0, |&at| at);
        Err((plugin_number(last), Status::error("all Bind plugins skipped the pod")))
    }

    /// No node fits: PostFilter is asked, and the pod goes back to the queue.
    fn handle_fit_error(&mut self, pod: PodId, profile: ProfileNumber, diagnosis: &Arc<Diagnosis>) {
        debug_assert!(diagnosis.resolvable_count <= diagnosis.node_count, "nodes are counted once");
        let holds = |&(_, count): &(_, usize)| (1..=diagnosis.node_count).contains(&count);
        debug_assert!(diagnosis.reasons.iter().all(holds), "a reason holds for some of the nodes");
        if let Some(error) = &diagnosis.error {
            // There is no verdict on the nodes, so nobody is to blame and nobody can help.
            let condition = self.conditions.id(ConditionReason::SchedulerError, error);
            let nobody = PluginNumberSet::NONE;
            let failure = SchedulingFailure {
                unschedulable: nobody,
                pending: nobody,
                condition,
                nomination: NominatingInfo::Clear,
            };
            return self.handle_scheduling_failure(pod, failure);
        }
        let PostFiltered { nomination, words } = match diagnosis.node_count {
            0 => PostFiltered { nomination: NominatingInfo::Clear, words: PostFilterWords::None },
            _ => self.timed_run_post_filter_plugins(pod, profile, diagnosis),
        };
        let condition = self.conditions.of(diagnosis, &words, &self.world);
        let unschedulable = self.blamed(diagnosis, profile);
        self.handle_scheduling_failure(
            pod,
            SchedulingFailure { unschedulable, pending: PluginNumberSet::NONE, condition, nomination },
        );
    }

    /// The plugins that rejected.
    pub(super) fn blamed(&self, diagnosis: &Diagnosis, profile: ProfileNumber) -> PluginNumberSet {
        let profile = &self.parts[usize::from(profile.0)].profile;
        let blamed = |name: &&str| match *name {
            EXTENDER_NAME => Some(QueueingHintMap::extenders(profile)),
            name => profile.plugins().iter().position(|plugin| plugin.name() == name).map(plugin_number),
        };
        diagnosis.plugins.iter().filter_map(blamed).collect()
    }
}
