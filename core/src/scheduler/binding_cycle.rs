//! The binding cycle: from a chosen node to a bound pod. It overlaps with scheduling cycles: between
//! two answers of plugins or of the API it is a row in [`BindingCycles`](crate::binding::BindingCycles).
//!
//! Upstream: schedule_one.go `prepareForBindingCycle`, `bindingCycle`, `handleBindingCycleError`.

use super::conditions::UNSURE;
use super::queue_plugins::plugin_number;
use super::timing::{Timed, label, status_label};
use super::{ApiCall, ScheduleOneOutcome, Scheduler, StatusPatch, WriteNominatedNodeName};
use crate::binding::{BindingCycle, BindingStage, CallFailure, CallId, CycleTimes, DispatchMode};
use crate::cycle::engine::Choice;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::points::permit::PERMIT_TIMEOUT_NS_MAX;
use crate::framework::points::{
    Handle, NominatingInfo, PendingPermit, Permit, PodRef, PreBindProgress, PreBindStep, PreFlight, Request,
    Status, StatusCode,
};
use crate::framework::profile::Profile;
use crate::framework::status::Reason;
use crate::ids::{NodeId, PodId, PodUid};
use crate::mutants::Mutant;
use crate::pods::PodState;
use crate::queue::event::{ASSIGNED_POD_DELETE, Event};
use crate::queue::{PluginNumber, PluginNumberSet, PreCheck, ProfileNumber};
use crate::world::World;

/// Who refused, and why.
type RejectedBy = (PluginNumber, Status);

/// Upstream's values of the label `extension_point` that are no lists of plugins.
const UNRESERVE: &str = "Unreserve";
const PRE_FLIGHT: &str = "PreBindPreFlight";

/// Upstream's name of an answer.
fn status_of<T>(answer: &Result<T, RejectedBy>) -> &'static str {
    match answer {
        Ok(_) => label::SUCCESS,
        Err((_, rejection)) => status_label(rejection.code),
    }
}

impl Scheduler {
    /// A node was chosen and the pod assumed on it. Reserve and Permit belong to the scheduling
    /// cycle; what follows waits for answers.
    pub(super) fn prepare_for_binding_cycle(
        &mut self,
        pod: PodId,
        (node, left): (NodeId, Option<NodeId>),
        profile: ProfileNumber,
        choice: Choice,
    ) -> ScheduleOneOutcome {
        let is_timed = self.timing.times_binding_cycle();
        let mut times = CycleTimes { begun_ns: self.cycle_begun_ns, is_timed, ..CycleTimes::default() };
        let reserved = self.timed_point(ExtensionPoint::Reserve, profile, is_timed, |scheduler| {
            let answer = scheduler.run_reserve_plugins_reserve(pod, node, profile);
            (status_of(&answer), answer)
        });
        let permits = reserved.and_then(|()| {
            self.timed_point(ExtensionPoint::Permit, profile, is_timed, |scheduler| {
                let answer = scheduler.run_permit_plugins(pod, node, profile);
                let status = match &answer {
                    Ok(held) if !held.is_empty() => label::WAIT,
                    other => status_of(other),
                };
                (status, answer)
            })
        });
        let permits = match permits {
            Ok(permits) => permits,
            Err((plugin, rejection)) => {
                self.timed_run_reserve_plugins_unreserve(pod, node, profile, is_timed);
                self.forget_pod(pod);
                self.handle_rejection(pod, plugin, &rejection);
                let is_error = rejection.code == StatusCode::Error;
                return if is_error {
                    ScheduleOneOutcome::Failed { pod }
                } else {
                    ScheduleOneOutcome::Unschedulable { pod }
                };
            }
        };
        let row = *self.world.pods().get(pod);
        debug_assert_eq!(row.node(), Some(node), "a pod is assumed before its binding cycle");
        let (uid, class) = (row.uid, row.class);
        let pre_binds = PluginNumberSet::NONE;
        if !permits.is_empty() {
            times.is_timed = is_timed || self.timing.times_wait();
            times.permit_ns = self.timing.start_if(times.is_timed).unwrap_or(0);
        }
        self.binding_cycles.insert(BindingCycle {
            uid,
            pod,
            class,
            node,
            left,
            profile,
            pre_binds,
            stage: BindingStage::Permit,
            times,
        });
        if !permits.is_empty() {
            self.binding_cycles.wait_on_permit(uid, permits);
        }
        let start_ns = self.timing.start_if(is_timed && self.asks_pre_flight(profile));
        let flight = self.run_pre_bind_pre_flights(pod, node, profile);
        let status = status_of(&flight);
        self.timing.end(start_ns, Timed::Point { point: PRE_FLIGHT, status, profile });
        match flight {
            Ok(pre_binds) => {
                if let Some(cycle) = self.binding_cycles.get_mut(uid) {
                    let has_work = !pre_binds.is_empty();
                    cycle.pre_binds = pre_binds;
                    cycle.times.is_timed = cycle.times.is_timed || has_work && self.timing.times_wait();
                }
                self.write_nominated_node_name(uid, pod, node, pre_binds);
            }
            Err((plugin, rejection)) => self.handle_binding_cycle_error(uid, plugin, &rejection),
        }
        ScheduleOneOutcome::Assumed { pod, choice }
    }

    fn with_handle<R>(
        &mut self,
        profile: ProfileNumber,
        work: impl FnOnce(&Profile, &mut Handle<'_>, &World) -> R,
    ) -> R {
        let Scheduler { world, parts, binding_cycles, requests, now_ns, .. } = self;
        let mut handle = Handle::new(world, *now_ns, binding_cycles.waiting_pods(), requests);
        work(&parts[usize::from(profile.0)].profile, &mut handle, world)
    }

    /// Asks the plugins of an extension point and notes how long they take, if there are any.
    fn timed_point<R>(
        &mut self,
        point: ExtensionPoint,
        profile: ProfileNumber,
        is_timed: bool,
        work: impl FnOnce(&mut Scheduler) -> (&'static str, R),
    ) -> R {
        let has_plugins = !self.parts[usize::from(profile.0)].profile.at(point).is_empty();
        let start_ns = self.timing.start_if(is_timed && has_plugins);
        let (status, answer) = work(self);
        self.timing.end(start_ns, Timed::Point { point: point.label(), status, profile });
        answer
    }

    fn timed_run_reserve_plugins_unreserve(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
        is_timed: bool,
    ) {
        let has_plugins = !self.parts[usize::from(profile.0)].profile.at(ExtensionPoint::Reserve).is_empty();
        let start_ns = self.timing.start_if(is_timed && has_plugins);
        self.run_reserve_plugins_unreserve(pod, node, profile);
        self.timing.end(start_ns, Timed::Point { point: UNRESERVE, status: label::SUCCESS, profile });
    }

    /// PreBind plugins say beforehand whether they have something to do.
    fn asks_pre_flight(&self, profile: ProfileNumber) -> bool {
        self.settings.gates.nominated_node_name_for_expectation
            && !self.parts[usize::from(profile.0)].profile.at(ExtensionPoint::PreBind).is_empty()
    }

    fn run_reserve_plugins_reserve(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
    ) -> Result<(), RejectedBy> {
        self.with_handle(profile, |profile, handle, world| {
            for &at in profile.at(ExtensionPoint::Reserve) {
                let plugin = profile.plugins()[at].as_reserve().expect("a plugin of the Reserve list");
                let answer = plugin.reserve(handle, PodRef::of(world, pod), node);
                answer.map_err(|rejection| (plugin_number(at), rejection))?;
            }
            Ok(())
        })
    }

    /// All of them, in reverse, whether they had reserved or not.
    fn run_reserve_plugins_unreserve(&mut self, pod: PodId, node: NodeId, profile: ProfileNumber) {
        self.with_handle(profile, |profile, handle, world| {
            for plugin in profile.plugins_at(ExtensionPoint::Reserve).rev() {
                let plugin = plugin.as_reserve().expect("a plugin of the Reserve list");
                plugin.unreserve(handle, PodRef::of(world, pod), node);
            }
        });
    }

    /// The plugins that hold the pod back.
    fn run_permit_plugins(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
    ) -> Result<Vec<PendingPermit>, RejectedBy> {
        let now_ns = self.now_ns;
        self.with_handle(profile, |profile, handle, world| {
            let mut pending = Vec::new();
            for &at in profile.at(ExtensionPoint::Permit) {
                let plugin = profile.plugins()[at].as_permit().expect("a plugin of the Permit list");
                match plugin.permit(handle, PodRef::of(world, pod), node) {
                    Permit::Approve => {}
                    Permit::Deny(rejection) => return Err((plugin_number(at), rejection)),
                    Permit::Wait { timeout_ns } => pending.push(PendingPermit {
                        plugin: profile.name(at),
                        deadline_ns: now_ns + timeout_ns.min(PERMIT_TIMEOUT_NS_MAX),
                    }),
                }
            }
            Ok(pending)
        })
    }

    /// The PreBind plugins that have something to do; all of them unless KEP-5278 is on.
    fn run_pre_bind_pre_flights(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
    ) -> Result<PluginNumberSet, RejectedBy> {
        let asks = self.settings.gates.nominated_node_name_for_expectation;
        self.with_handle(profile, |profile, handle, world| {
            let mut busy = PluginNumberSet::NONE;
            for &at in profile.at(ExtensionPoint::PreBind) {
                let plugin = profile.plugins()[at].as_pre_bind().expect("a plugin of the PreBind list");
                if !asks {
                    busy.insert(plugin_number(at));
                    continue;
                }
                match plugin.pre_bind_pre_flight(handle, PodRef::of(world, pod), node) {
                    PreFlight::Skip { .. } => {}
                    PreFlight::Run { .. } => busy.insert(plugin_number(at)),
                    PreFlight::Reject(rejection) => return Err((plugin_number(at), rejection)),
                }
            }
            Ok(busy)
        })
    }

    /// KEP-5278: a pod that will be held up, by Permit or by PreBind, says where it is going to be.
    /// Others do not: their binding says it soon enough, and a second call would double the load.
    fn write_nominated_node_name(
        &mut self,
        uid: PodUid,
        pod: PodId,
        node: NodeId,
        pre_binds: PluginNumberSet,
    ) {
        let is_wanted = match self.settings.nominated_node_name {
            WriteNominatedNodeName::WhenNeeded => {
                !pre_binds.is_empty() || self.binding_cycles.is_waiting_on_permit(uid)
            }
            WriteNominatedNodeName::Always => true,
            WriteNominatedNodeName::Never => false,
        };
        let is_news = self.world.pods().get(pod).nominated() != Some(node);
        if self.settings.gates.nominated_node_name_for_expectation && is_wanted && is_news {
            let patch = StatusPatch { pod: uid, condition: None, nomination: NominatingInfo::Node(node) };
            self.world.pods_mut().get_mut(pod).set_nominated(Some(node));
            let call = self.add_api_call(ApiCall::PatchStatus(patch));
            // A queued call is waited for by the dispatcher, which binds after it.
            if let (Some(call), DispatchMode::Direct) = (call, self.dispatcher.mode()) {
                self.set_stage(uid, BindingStage::WritingNominatedNodeName(call));
                self.binding_cycles.expect_answer(call, uid);
                return;
            }
        }
        self.wait_on_permit(uid);
    }

    /// Goes on unless a Permit plugin holds the pod back.
    fn wait_on_permit(&mut self, uid: PodUid) {
        if self.binding_cycles.is_waiting_on_permit(uid) {
            return self.set_stage(uid, BindingStage::Permit);
        }
        let Some(cycle) = self.binding_cycles.get_mut(uid) else { return };
        let (pod, left) = (cycle.pod, cycle.left.take());
        let permit_ns = Some(std::mem::take(&mut cycle.times.permit_ns)).filter(|&began_ns| began_ns != 0);
        let has_pre_bind = cycle.times.is_timed && !cycle.pre_binds.is_empty();
        cycle.times.pre_bind_ns = self.timing.start_if(has_pre_bind).unwrap_or(0);
        self.timing.end(permit_ns, Timed::PermitWait { result: label::SUCCESS });
        // From here on no event can help or harm: either the pod is bound, or it failed.
        self.queue.done(pod);
        self.requeue_pods_after_nomination_left(pod, left);
        self.run_pre_bind_plugins(uid, 0, PreBindProgress::Begin);
    }

    /// Asks the PreBind plugins from `at` on, the first of them with news.
    fn run_pre_bind_plugins(&mut self, uid: PodUid, mut at: usize, mut progress: PreBindProgress) {
        let Some(cycle) = self.binding_cycles.get(uid).cloned() else { return };
        let mut plugin_ns = Some(cycle.times.plugin_ns).filter(|&began_ns| began_ns != 0);
        loop {
            let list = self.parts[usize::from(cycle.profile.0)].profile.at(ExtensionPoint::PreBind);
            let Some(&plugin) = list.get(at) else { return self.bind(&cycle) };
            if !cycle.pre_binds.contains(plugin_number(plugin)) {
                at += 1;
                continue;
            }
            if progress == PreBindProgress::Begin {
                plugin_ns = self.timing.start_if(cycle.times.is_timed);
            }
            let name = self.parts[usize::from(cycle.profile.0)].profile.name(plugin);
            let point = ExtensionPoint::PreBind.label();
            let ended = |status| Timed::Plugin { plugin: name, point, status };
            let step = self.with_handle(cycle.profile, |profile, handle, world| {
                let plugin = profile.plugins()[plugin].as_pre_bind().expect("a plugin of the PreBind list");
                plugin.pre_bind(handle, PodRef::of(world, cycle.pod), cycle.node, &progress)
            });
            match step {
                PreBindStep::Done => {
                    self.timing.end(plugin_ns, ended(label::SUCCESS));
                    at += 1;
                    progress = PreBindProgress::Begin;
                }
                PreBindStep::Perform(calls) => {
                    let left: Vec<CallId> =
                        calls.into_iter().filter_map(|call| self.add_api_call(call)).collect();
                    if !left.is_empty() {
                        left.iter().for_each(|&call| self.binding_cycles.expect_answer(call, uid));
                        self.note_pre_bind_plugin(uid, plugin_ns);
                        return self.set_stage(uid, BindingStage::PreBindCalls { at, left, failed: None });
                    }
                    progress = PreBindProgress::Performed;
                }
                PreBindStep::Wait { deadline_ns } => {
                    self.note_pre_bind_plugin(uid, plugin_ns);
                    return self.set_stage(uid, BindingStage::PreBindWait { at, deadline_ns });
                }
                PreBindStep::Reject(rejection) => {
                    self.timing.end(plugin_ns, ended(status_label(rejection.code)));
                    return self.handle_binding_cycle_error(uid, plugin_number(plugin), &rejection);
                }
            }
        }
    }

    /// When the PreBind plugin began that now waits.
    fn note_pre_bind_plugin(&mut self, uid: PodUid, began_ns: Option<u64>) {
        if let Some(cycle) = self.binding_cycles.get_mut(uid) {
            cycle.times.plugin_ns = began_ns.unwrap_or(0);
        }
    }

    /// PreBind is over: all of its plugins together are upstream's extension point.
    fn end_pre_bind(&mut self, cycle: &BindingCycle, status: &'static str) {
        let began_ns = Some(cycle.times.pre_bind_ns).filter(|&began_ns| began_ns != 0);
        let point = ExtensionPoint::PreBind.label();
        self.timing.end(began_ns, Timed::Point { point, status, profile: cycle.profile });
    }

    fn bind(&mut self, cycle: &BindingCycle) {
        debug_assert!(
            !self.binding_cycles.is_waiting_on_permit(cycle.uid),
            "Permit is over before a pod is bound"
        );
        self.end_pre_bind(cycle, label::SUCCESS);
        if let Some(stored) = self.binding_cycles.get_mut(cycle.uid) {
            stored.times.pre_bind_ns = 0;
        }
        match self.run_bind_plugins(cycle.pod, cycle.node, cycle.profile) {
            Err((plugin, rejection)) => self.handle_binding_cycle_error(cycle.uid, plugin, &rejection),
            Ok(call) => {
                if let Some(patch) = self.dispatcher.supersede_patch(cycle.uid) {
                    // The binding takes its place: should that fail, the status says what it said.
                    let row = self.world.pods_mut().get_mut(cycle.pod);
                    if patch.nomination != NominatingInfo::Keep {
                        row.set_nominated(row.nominated_by_api());
                    }
                    if patch.condition.is_some() {
                        row.condition = UNSURE;
                    }
                }
                let call = self.add_api_call(call).expect("nothing is more urgent than a binding");
                self.set_stage(cycle.uid, BindingStage::Binding(call));
                self.binding_cycles.expect_answer(call, cycle.uid);
            }
        }
    }

    fn set_stage(&mut self, uid: PodUid, stage: BindingStage) {
        self.binding_cycles.set_stage(uid, stage);
    }

    /// The API answered a call; whoever knows which version the pod has after a patch says it with
    /// [`Scheduler::on_patched`].
    pub fn on_answer(&mut self, id: CallId, result: Result<(), CallFailure>, now_ns: u64) {
        self.on_version_answer(id, result.map(|()| 0), now_ns);
    }

    /// The API took a patch, and answered with the object: `metadata.resourceVersion` of the pod.
    pub fn on_patched(&mut self, id: CallId, version: u64, now_ns: u64) {
        self.on_version_answer(id, Ok(version), now_ns);
    }

    fn on_version_answer(&mut self, id: CallId, result: Result<u64, CallFailure>, now_ns: u64) {
        self.see(now_ns);
        let is_done = result.map(|_| ());
        let Some(finished) = self.dispatcher.on_answer(id, is_done, self.now_ns) else { return };
        if let ApiCall::PatchStatus(patch) = &finished.call {
            match result {
                Ok(version) => self.on_patch_taken(patch, version),
                Err(_) => self.on_patch_failed(patch),
            }
        }
        if let (Err(_), ApiCall::BindVolumes(_)) = (&finished.result, &finished.call) {
            self.counters.volume_binding_errors += 1;
        }
        if let Some(uid) = self.binding_cycles.take_owner(id) {
            self.continue_binding_cycle(uid, id, finished.result);
        } else {
            match finished.call {
                ApiCall::AddDisruptionTarget { pod, .. } => {
                    self.on_disruption_target_answer(id, pod, finished.result);
                }
                ApiCall::DeletePod { pod } => self.on_victim_deletion_answer(id, pod, finished.result),
                ApiCall::Bind { .. }
                | ApiCall::PatchStatus(_)
                | ApiCall::BindVolumes(_)
                | ApiCall::WriteClaims(_)
                | ApiCall::PatchPodGroupStatus(_) => {}
            }
        }
        self.serve_requests();
        self.check_now_and_then();
    }

    fn continue_binding_cycle(&mut self, uid: PodUid, id: CallId, result: Result<(), CallFailure>) {
        let Some(cycle) = self.binding_cycles.get_mut(uid) else { return };
        match &mut cycle.stage {
            // The announcement is a courtesy: the pod goes on without it.
            BindingStage::WritingNominatedNodeName(call) if *call == id => self.wait_on_permit(uid),
            BindingStage::Binding(call) if *call == id => match result {
                Ok(()) => self.finish_binding(uid),
                Err(failure) => self.binding_failed(uid, failure),
            },
            BindingStage::PreBindCalls { at, left, failed } => {
                left.retain(|call| *call != id);
                if let Err(failure) = result {
                    failed.get_or_insert_with(|| format!("the API refused a call: {failure:?}").into());
                }
                if left.is_empty() {
                    let at = *at;
                    let progress =
                        failed.take().map_or(PreBindProgress::Performed, PreBindProgress::CallFailed);
                    self.run_pre_bind_plugins(uid, at, progress);
                }
            }
            _ => {}
        }
    }

    /// The API took the binding; the watch will confirm it.
    fn finish_binding(&mut self, uid: PodUid) {
        let Some(cycle) = self.binding_cycles.remove(uid) else { return };
        self.timed_point(ExtensionPoint::PostBind, cycle.profile, cycle.times.is_timed, |scheduler| {
            scheduler.with_handle(cycle.profile, |profile, handle, world| {
                for plugin in profile.plugins_at(ExtensionPoint::PostBind) {
                    let plugin = plugin.as_post_bind().expect("a plugin of the PostBind list");
                    plugin.post_bind(handle, PodRef::of(world, cycle.pod), cycle.node);
                }
            });
            (label::SUCCESS, ())
        });
    }

    fn binding_failed(&mut self, uid: PodUid, failure: CallFailure) {
        let Some(cycle) = self.binding_cycles.get(uid) else { return };
        let profile = &self.parts[usize::from(cycle.profile.0)].profile;
        let binder = profile.at(ExtensionPoint::Bind).first().map_or(0, |&at| at);
        let rejection = Status::error(&format!("the API refused the binding: {failure:?}"));
        self.handle_binding_cycle_error(uid, plugin_number(binder), &rejection);
    }

    /// A binding that nobody tracked failed: the pod leaves the node and is tried again.
    pub fn on_bind_failed(&mut self, uid: PodUid, now_ns: u64) {
        self.see(now_ns);
        let Some(pod) = self.world.pods().find(uid) else { return };
        if self.world.pods().get(pod).state != PodState::Assumed || self.binding_cycles.get(uid).is_some() {
            return;
        }
        let before = self.facts(pod);
        self.forget_pod(pod);
        self.move_all_to_active_or_backoff_queue(
            &Event::pod(ASSIGNED_POD_DELETE, Some(before), None),
            PreCheck::Everyone,
        );
        self.handle_rejection(pod, PluginNumber(0), &Status::error("the API refused the binding"));
        self.serve_requests();
    }

    /// The pod gives up its node and goes back to the queue. Others may have waited for the room:
    /// after a rejection they are told when the pod is in the queue, and it is not told itself,
    /// because it would only be rejected again.
    fn handle_binding_cycle_error(&mut self, uid: PodUid, plugin: PluginNumber, rejection: &Status) {
        let Some(cycle) = self.binding_cycles.remove(uid) else { return };
        let status = status_label(rejection.code);
        self.end_pre_bind(&cycle, status);
        let permit_ns = Some(cycle.times.permit_ns).filter(|&began_ns| began_ns != 0);
        self.timing.end(permit_ns, Timed::PermitWait { result: status });
        self.timed_run_reserve_plugins_unreserve(cycle.pod, cycle.node, cycle.profile, cycle.times.is_timed);
        if self.world.pods().get(cycle.pod).state != PodState::Assumed {
            // The watch knew better.
            return;
        }
        let is_error = rejection.code == StatusCode::Error;
        // Whole attempts are timed whenever timing is on: a binding that fails is rare.
        let failed = Timed::FailedAttempt { is_error, profile: cycle.profile };
        self.timing.end(self.timing.start_if(true).map(|_| cycle.times.begun_ns), failed);
        let before = self.facts(cycle.pod);
        self.forget_pod(cycle.pod);
        let event = Event::pod(ASSIGNED_POD_DELETE, Some(before), None);
        if rejection.code == StatusCode::Error {
            self.move_all_to_active_or_backoff_queue(&event, PreCheck::Everyone);
            if !self.settings.mutants.has(Mutant::ErrorHandlerSuppressed) {
                self.handle_rejection(cycle.pod, plugin, rejection);
            }
            if self.settings.mutants.has(Mutant::DoubleDone) {
                self.queue.done(cycle.pod);
            }
            #[cfg(feature = "mutants")]
            self.bury(uid);
        } else {
            self.handle_rejection(cycle.pod, plugin, rejection);
            self.move_all_to_active_or_backoff_queue(&event, PreCheck::Except(uid));
        }
    }

    /// The pod is gone or somebody else's: its plugins give up what they hold for it. The caller
    /// takes it off its node.
    pub(super) fn abandon_binding(&mut self, uid: PodUid) {
        if let Some(cycle) = self.binding_cycles.remove(uid) {
            self.run_reserve_plugins_unreserve(cycle.pod, cycle.node, cycle.profile);
        }
    }

    /// The watch says the pod is bound. If our own binding is on its way its answer ends the cycle;
    /// otherwise somebody else was faster, and a binding that waits in line is not made any more.
    pub(super) fn on_bound_while_binding(&mut self, uid: PodUid) {
        let Some(cycle) = self.binding_cycles.get(uid) else { return };
        let pod = cycle.pod;
        match cycle.stage {
            BindingStage::Binding(call) if !self.dispatcher.is_waiting(call) => return,
            BindingStage::Binding(_) => self.dispatcher.remove_pending(uid),
            _ => {}
        }
        self.delete_from_queue(pod);
        self.abandon_binding(uid);
    }

    /// Permits and PreBind waits whose time is up.
    pub(super) fn end_expired_waits(&mut self) {
        while let Some((uid, permit)) = self.binding_cycles.expired_permit(self.now_ns) {
            let text = format!("rejected due to timeout after waiting at plugin {}", permit.plugin);
            self.reject_waiting(uid, permit.plugin, Status::unschedulable(Reason::Owned(text.into())));
        }
        while let Some(uid) = self.binding_cycles.expired_pre_bind(self.now_ns) {
            let Some(&BindingStage::PreBindWait { at, .. }) =
                self.binding_cycles.get(uid).map(|cycle| &cycle.stage)
            else {
                return;
            };
            self.set_stage(uid, BindingStage::Permit);
            self.run_pre_bind_plugins(uid, at, PreBindProgress::TimedOut);
        }
    }

    /// PreBind plugins that wait for an event they registered for are asked again.
    pub(super) fn notify_pre_bind_waits(&mut self, event: &Event) {
        let parts = &self.parts;
        let woken = self.binding_cycles.pre_bind_waits(|profile, at| {
            let parts = &parts[usize::from(profile.0)];
            let plugin = plugin_number(parts.profile.at(ExtensionPoint::PreBind)[at]);
            event.is_wildcard() || parts.interest.of(event.what).contains(plugin)
        });
        for (uid, at) in woken {
            self.run_pre_bind_plugins(uid, at, PreBindProgress::Event);
        }
    }

    fn reject_waiting(&mut self, uid: PodUid, plugin: &str, rejection: Status) {
        let Some(cycle) = self.binding_cycles.get(uid) else { return };
        let profile = &self.parts[usize::from(cycle.profile.0)].profile;
        let at = profile.plugins().iter().position(|known| known.name() == plugin).unwrap_or(0);
        self.handle_binding_cycle_error(uid, plugin_number(at), &rejection);
    }

    /// A plugin asks for something between two of its calls, as upstream's plugins do from
    /// goroutines of their own.
    pub fn request(&mut self, request: Request, now_ns: u64) {
        self.see(now_ns);
        self.requests.push(request);
        self.serve_requests();
    }

    /// Does what plugins asked for, until they ask for nothing more.
    #[inline]
    pub(super) fn serve_requests(&mut self) {
        while !self.requests.is_empty() {
            for request in std::mem::take(&mut self.requests) {
                self.serve(request);
            }
        }
        #[cfg(feature = "mutants")]
        self.end_late();
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Allow { pod, plugin } => {
                let is_free = self.binding_cycles.allow(pod, plugin);
                let waits =
                    self.binding_cycles.get(pod).is_some_and(|cycle| cycle.stage == BindingStage::Permit);
                if is_free && waits {
                    self.wait_on_permit(pod);
                }
            }
            Request::Reject { pod, plugin, message } => {
                if self.binding_cycles.is_waiting_on_permit(pod) {
                    self.reject_waiting(pod, plugin, Status::unschedulable(Reason::Owned(message)));
                }
            }
            Request::Preempt { pod, plugin, message } => {
                if self.binding_cycles.is_waiting_on_permit(pod) || self.binding_cycles.is_in_pre_bind(pod) {
                    self.reject_waiting(
                        pod,
                        plugin,
                        Status { code: StatusCode::Error, reason: Reason::Owned(message) },
                    );
                }
            }
            Request::Activate { pod } => {
                self.activate_in_queue(pod);
            }
        }
    }
}
