//! The scheduling cycle: one pod, from the queue to a node or back.

use std::sync::Arc;

use super::failure::Failure;
use super::host::plugin_number;
use super::preempt::{PostFilterWords, PostFiltered};
use super::{ConditionReason, Scheduler, Step};
use crate::cycle::engine::{Choice, Decision, Pending};
use crate::cycle::probe::Probe;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extend::EXTENDER_NAME;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::points::{Bind, BindPlugin, Handle, Nomination, PodRef, Refusal};
use crate::ids::{NodeId, PodId};
use crate::mutants::Mutant;
use crate::plugins::volume_binding::decide_volumes;
use crate::pods::{PodRow, PodState};
use crate::queue::hints::HintTable;
use crate::queue::{PluginNumber, PluginSet, ProfileNumber};

impl Scheduler {
    /// Tries the next pod.
    pub fn step<P: Probe>(&mut self, probe: &mut P) -> Step {
        if self.preempting.blocks() {
            return Step::Idle;
        }
        let Some(pod) = self.next_pod() else { return Step::Idle };
        self.world.settle();
        let class = self.world.pods().get(pod).class;
        let profile = self.profile_of(class).expect("a queued pod is one that a profile takes");
        let parts = &self.parts[usize::from(profile.0)];
        let row = self.world.pods().get(pod);
        // The attempt may end long after this cycle. Plain pods are bound by the round that tries them,
        // which knows when it began, and need no look at the clock.
        let may_wait =
            !parts.is_plain || self.tracks_plain_pods || !self.world.class(class).volumes.claims.is_empty();
        let begun_ns = if may_wait { self.timing.now_ns() } else { None };
        self.cycle_begun_ns = begun_ns.unwrap_or(self.now_ns);
        let pending = Pending { class, pod: Some(row.uid), nominated: row.nominated() };
        let decision = self.engine.decide(&mut self.world, &parts.profile, pending, probe);
        let step = match decision {
            Decision::Chosen(choice) => self.assume(pod, profile, choice),
            Decision::Unschedulable(diagnosis) => {
                self.no_node_fits(pod, profile, &diagnosis);
                match diagnosis.error {
                    None => Step::Unschedulable { pod },
                    Some(_) => Step::Failed { pod },
                }
            }
            Decision::NominatedMissed => {
                self.start_afresh(pod);
                Step::NominatedMissed { pod }
            }
        };
        if !self.missed.is_empty() && !matches!(step, Step::NominatedMissed { .. }) {
            self.after_fresh_cycle(pod);
        }
        self.serve_requests();
        step
    }

    /// The next pod that is worth an attempt. Upstream: schedule_one.go `skipPodSchedule`.
    fn next_pod(&mut self) -> Option<PodId> {
        loop {
            let pod = self.queue.pop()?;
            let active_ns = self.queue.active_ns(pod);
            let row = self.world.pods_mut().get_mut(pod);
            row.queued_ns = active_ns;
            let class = row.class;
            if !self.world.class(class).input.is_terminating {
                return Some(pod);
            }
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

    fn assume(&mut self, pod: PodId, profile: ProfileNumber, choice: Choice) -> Step {
        let node = self.world.nodes().columns().id[choice.row];
        let row = self.world.pods().get(pod);
        let uid = row.uid;
        let left = row.nominated().filter(|&nominated| nominated != node);
        // It holds its room by being there.
        if !self.settings.mutants.has(Mutant::BoundStillNominated) {
            self.world.clear_nomination(uid);
        }
        self.reserve_volumes(pod, choice.row);
        self.world.place(pod, node);
        self.move_to(pod, PodState::Assumed);
        let parts = &self.parts[usize::from(profile.0)];
        let is_plain = parts.is_plain && !self.tracks_plain_pods && self.world.volumes_of(uid).is_none();
        if !is_plain || self.dispatcher.has_calls_of(uid) {
            return self.begin_binding(pod, (node, left), profile, choice);
        }
        self.queue.done(pod);
        self.leave_room(pod, left);
        match self.ask_binders(pod, node, profile) {
            Ok(call) => {
                self.dispatcher.bind_untracked(call);
                Step::Assumed { pod, choice }
            }
            Err((plugin, refusal)) => {
                self.forget(pod);
                self.refuse(pod, plugin, &refusal);
                Step::Failed { pod }
            }
        }
    }

    /// The first Bind plugin that takes the pod says how it is bound.
    pub(super) fn ask_binders(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
    ) -> Result<super::ApiCall, (PluginNumber, Refusal)> {
        let Scheduler { world, parts, bindings, requests, now_ns, .. } = self;
        let profile = &parts[usize::from(profile.0)].profile;
        let mut handle = Handle::new(world, *now_ns, bindings.waiting(), requests);
        for &at in profile.at(ExtensionPoint::Bind) {
            let plugin: &dyn BindPlugin = profile.plugins()[at].as_bind().expect("a plugin of the Bind list");
            match plugin.bind(&mut handle, PodRef::of(world, pod), node) {
                Bind::Skip => {}
                Bind::Call(call) => return Ok(call),
                Bind::Refuse(refusal) => return Err((plugin_number(at), refusal)),
            }
        }
        let last = profile.at(ExtensionPoint::Bind).last().map_or(0, |&at| at);
        Err((plugin_number(last), Refusal::error("all Bind plugins skipped the pod")))
    }

    /// No node fits: PostFilter is asked, and the pod goes back to the queue.
    fn no_node_fits(&mut self, pod: PodId, profile: ProfileNumber, diagnosis: &Arc<Diagnosis>) {
        if let Some(error) = &diagnosis.error {
            // There is no verdict on the nodes, so nobody is to blame and nobody can help.
            let condition = self.conditions.id(ConditionReason::SchedulerError, error);
            let nobody = PluginSet::NONE;
            let failure =
                Failure { unschedulable: nobody, pending: nobody, condition, nomination: Nomination::Clear };
            return self.fail(pod, failure);
        }
        let PostFiltered { nomination, words } = match diagnosis.node_count {
            0 => PostFiltered { nomination: Nomination::Clear, words: PostFilterWords::None },
            _ => self.timed_post_filter(pod, profile, diagnosis),
        };
        let condition = self.conditions.of(diagnosis, &words, &self.world);
        let profile = &self.parts[usize::from(profile.0)].profile;
        let blamed = |name: &&str| match *name {
            EXTENDER_NAME => Some(HintTable::extenders(profile)),
            name => profile.plugins().iter().position(|plugin| plugin.name() == name).map(plugin_number),
        };
        let unschedulable: PluginSet = diagnosis.plugins.iter().filter_map(blamed).collect();
        self.fail(pod, Failure { unschedulable, pending: PluginSet::NONE, condition, nomination });
    }
}
