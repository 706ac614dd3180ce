//! The binding cycle: from a chosen node to a bound pod. It overlaps with scheduling cycles: between
//! two answers of plugins or of the API it is a row in [`Bindings`](crate::binding::Bindings).
//!
//! Upstream: schedule_one.go `prepareForBindingCycle`, `bindingCycle`, `handleBindingCycleError`.

use super::conditions::UNSURE;
use super::host::plugin_number;
use super::timing::{Timed, label, refusal_label};
use super::{Announce, ApiCall, Scheduler, StatusPatch, Step};
use crate::binding::{BindingCycle, CallFailure, CallId, CycleTimes, DispatchMode, Stage};
use crate::cycle::engine::Choice;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::points::permit::PERMIT_TIMEOUT_NS_MAX;
use crate::framework::points::{
    Handle, Nomination, PendingPermit, Permit, PodRef, PreBindProgress, PreBindStep, PreFlight, Refusal,
    RefusalCode, Request,
};
use crate::framework::profile::Profile;
use crate::framework::status::Reason;
use crate::ids::{NodeId, PodId, PodUid};
use crate::mutants::Mutant;
use crate::pods::PodState;
use crate::queue::event::{ASSIGNED_POD_DELETE, Event};
use crate::queue::{PluginNumber, PluginSet, ProfileNumber, Scope};
use crate::world::World;

/// Who refused, and why.
type Refused = (PluginNumber, Refusal);

/// Upstream's values of the label `extension_point` that are no lists of plugins.
const UNRESERVE: &str = "Unreserve";
const PRE_FLIGHT: &str = "PreBindPreFlight";

/// Upstream's name of an answer.
fn status_of<T>(answer: &Result<T, Refused>) -> &'static str {
    match answer {
        Ok(_) => label::SUCCESS,
        Err((_, refusal)) => refusal_label(refusal.code),
    }
}

impl Scheduler {
    /// A node was chosen and the pod assumed on it. Reserve and Permit belong to the scheduling
    /// cycle; what follows waits for answers.
    pub(super) fn begin_binding(
        &mut self,
        pod: PodId,
        (node, left): (NodeId, Option<NodeId>),
        profile: ProfileNumber,
        choice: Choice,
    ) -> Step {
        let is_timed = self.timing.times_binding_cycle();
        let mut times = CycleTimes { begun_ns: self.cycle_begun_ns, is_timed, ..CycleTimes::default() };
        let reserved = self.timed_point(ExtensionPoint::Reserve, profile, is_timed, |scheduler| {
            let answer = scheduler.reserve(pod, node, profile);
            (status_of(&answer), answer)
        });
        let permits = reserved.and_then(|()| {
            self.timed_point(ExtensionPoint::Permit, profile, is_timed, |scheduler| {
                let answer = scheduler.permit(pod, node, profile);
                let status = match &answer {
                    Ok(held) if !held.is_empty() => label::WAIT,
                    other => status_of(other),
                };
                (status, answer)
            })
        });
        let permits = match permits {
            Ok(permits) => permits,
            Err((plugin, refusal)) => {
                self.timed_unreserve(pod, node, profile, is_timed);
                self.forget(pod);
                self.refuse(pod, plugin, &refusal);
                let is_error = refusal.code == RefusalCode::Error;
                return if is_error { Step::Failed { pod } } else { Step::Unschedulable { pod } };
            }
        };
        let row = *self.world.pods().get(pod);
        let (uid, class) = (row.uid, row.class);
        let pre_binds = PluginSet::NONE;
        if !permits.is_empty() {
            times.is_timed = is_timed || self.timing.times_wait();
            times.permit_ns = self.timing.start_if(times.is_timed).unwrap_or(0);
        }
        self.bindings.insert(BindingCycle {
            uid,
            pod,
            class,
            node,
            left,
            profile,
            pre_binds,
            stage: Stage::Permit,
            times,
        });
        if !permits.is_empty() {
            self.bindings.wait(uid, permits);
        }
        let start_ns = self.timing.start_if(is_timed && self.asks_pre_flight(profile));
        let flight = self.pre_flight(pod, node, profile);
        let status = status_of(&flight);
        self.timing.end(start_ns, Timed::Point { point: PRE_FLIGHT, status, profile });
        match flight {
            Ok(pre_binds) => {
                if let Some(cycle) = self.bindings.get_mut(uid) {
                    let has_work = !pre_binds.is_empty();
                    cycle.pre_binds = pre_binds;
                    cycle.times.is_timed = cycle.times.is_timed || has_work && self.timing.times_wait();
                }
                self.announce(uid, pod, node, pre_binds);
            }
            Err((plugin, refusal)) => self.fail_binding(uid, plugin, &refusal),
        }
        Step::Assumed { pod, choice }
    }

    fn with_handle<R>(
        &mut self,
        profile: ProfileNumber,
        work: impl FnOnce(&Profile, &mut Handle<'_>, &World) -> R,
    ) -> R {
        let Scheduler { world, parts, bindings, requests, now_ns, .. } = self;
        let mut handle = Handle::new(world, *now_ns, bindings.waiting(), requests);
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

    fn timed_unreserve(&mut self, pod: PodId, node: NodeId, profile: ProfileNumber, is_timed: bool) {
        let has_plugins = !self.parts[usize::from(profile.0)].profile.at(ExtensionPoint::Reserve).is_empty();
        let start_ns = self.timing.start_if(is_timed && has_plugins);
        self.unreserve(pod, node, profile);
        self.timing.end(start_ns, Timed::Point { point: UNRESERVE, status: label::SUCCESS, profile });
    }

    /// PreBind plugins say beforehand whether they have something to do.
    fn asks_pre_flight(&self, profile: ProfileNumber) -> bool {
        self.settings.gates.nominated_node_name_for_expectation
            && !self.parts[usize::from(profile.0)].profile.at(ExtensionPoint::PreBind).is_empty()
    }

    fn reserve(&mut self, pod: PodId, node: NodeId, profile: ProfileNumber) -> Result<(), Refused> {
        self.with_handle(profile, |profile, handle, world| {
            for &at in profile.at(ExtensionPoint::Reserve) {
                let plugin = profile.plugins()[at].as_reserve().expect("a plugin of the Reserve list");
                let answer = plugin.reserve(handle, PodRef::of(world, pod), node);
                answer.map_err(|refusal| (plugin_number(at), refusal))?;
            }
            Ok(())
        })
    }

    /// All of them, in reverse, whether they had reserved or not.
    fn unreserve(&mut self, pod: PodId, node: NodeId, profile: ProfileNumber) {
        self.with_handle(profile, |profile, handle, world| {
            for plugin in profile.plugins_at(ExtensionPoint::Reserve).rev() {
                let plugin = plugin.as_reserve().expect("a plugin of the Reserve list");
                plugin.unreserve(handle, PodRef::of(world, pod), node);
            }
        });
    }

    /// The plugins that hold the pod back.
    fn permit(
        &mut self,
        pod: PodId,
        node: NodeId,
        profile: ProfileNumber,
    ) -> Result<Vec<PendingPermit>, Refused> {
        let now_ns = self.now_ns;
        self.with_handle(profile, |profile, handle, world| {
            let mut pending = Vec::new();
            for &at in profile.at(ExtensionPoint::Permit) {
                let plugin = profile.plugins()[at].as_permit().expect("a plugin of the Permit list");
                match plugin.permit(handle, PodRef::of(world, pod), node) {
                    Permit::Approve => {}
                    Permit::Deny(refusal) => return Err((plugin_number(at), refusal)),
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
    fn pre_flight(&mut self, pod: PodId, node: NodeId, profile: ProfileNumber) -> Result<PluginSet, Refused> {
        let asks = self.settings.gates.nominated_node_name_for_expectation;
        self.with_handle(profile, |profile, handle, world| {
            let mut busy = PluginSet::NONE;
            for &at in profile.at(ExtensionPoint::PreBind) {
                let plugin = profile.plugins()[at].as_pre_bind().expect("a plugin of the PreBind list");
                if !asks {
                    busy.insert(plugin_number(at));
                    continue;
                }
                match plugin.pre_bind_pre_flight(handle, PodRef::of(world, pod), node) {
                    PreFlight::Skip { .. } => {}
                    PreFlight::Run { .. } => busy.insert(plugin_number(at)),
                    PreFlight::Refuse(refusal) => return Err((plugin_number(at), refusal)),
                }
            }
            Ok(busy)
        })
    }

    /// KEP-5278: a pod that will be held up, by Permit or by PreBind, says where it is going to be.
    /// Others do not: their binding says it soon enough, and a second call would double the load.
    fn announce(&mut self, uid: PodUid, pod: PodId, node: NodeId, pre_binds: PluginSet) {
        let is_wanted = match self.settings.announce {
            Announce::WhenNeeded => !pre_binds.is_empty() || self.bindings.is_held(uid),
            Announce::Always => true,
            Announce::Never => false,
        };
        let is_news = self.world.pods().get(pod).nominated() != Some(node);
        if self.settings.gates.nominated_node_name_for_expectation && is_wanted && is_news {
            let patch = StatusPatch { pod: uid, condition: None, nomination: Nomination::Node(node) };
            self.world.pods_mut().get_mut(pod).set_nominated(Some(node));
            let call = self.want(ApiCall::PatchStatus(patch));
            // A queued call is waited for by the dispatcher, which binds after it.
            if let (Some(call), DispatchMode::Direct) = (call, self.dispatcher.mode()) {
                self.set_stage(uid, Stage::Announcing(call));
                self.bindings.expect_answer(call, uid);
                return;
            }
        }
        self.pass_permit(uid);
    }

    /// Goes on unless a Permit plugin holds the pod back.
    fn pass_permit(&mut self, uid: PodUid) {
        if self.bindings.is_held(uid) {
            return self.set_stage(uid, Stage::Permit);
        }
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        let (pod, left) = (cycle.pod, cycle.left.take());
        let permit_ns = Some(std::mem::take(&mut cycle.times.permit_ns)).filter(|&began_ns| began_ns != 0);
        let has_pre_bind = cycle.times.is_timed && !cycle.pre_binds.is_empty();
        cycle.times.pre_bind_ns = self.timing.start_if(has_pre_bind).unwrap_or(0);
        self.timing.end(permit_ns, Timed::PermitWait { result: label::SUCCESS });
        // From here on no event can help or harm: either the pod is bound, or it failed.
        self.queue.done(pod);
        self.leave_room(pod, left);
        self.pre_bind(uid, 0, PreBindProgress::Begin);
    }

    /// Asks the PreBind plugins from `at` on, the first of them with news.
    fn pre_bind(&mut self, uid: PodUid, mut at: usize, mut progress: PreBindProgress) {
        let Some(cycle) = self.bindings.get(uid).cloned() else { return };
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
                    let left: Vec<CallId> = calls.into_iter().filter_map(|call| self.want(call)).collect();
                    if !left.is_empty() {
                        left.iter().for_each(|&call| self.bindings.expect_answer(call, uid));
                        self.note_pre_bind_plugin(uid, plugin_ns);
                        return self.set_stage(uid, Stage::PreBindCalls { at, left, failed: None });
                    }
                    progress = PreBindProgress::Performed;
                }
                PreBindStep::Wait { deadline_ns } => {
                    self.note_pre_bind_plugin(uid, plugin_ns);
                    return self.set_stage(uid, Stage::PreBindWait { at, deadline_ns });
                }
                PreBindStep::Refuse(refusal) => {
                    self.timing.end(plugin_ns, ended(refusal_label(refusal.code)));
                    return self.fail_binding(uid, plugin_number(plugin), &refusal);
                }
            }
        }
    }

    /// When the PreBind plugin began that now waits.
    fn note_pre_bind_plugin(&mut self, uid: PodUid, began_ns: Option<u64>) {
        if let Some(cycle) = self.bindings.get_mut(uid) {
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
        self.end_pre_bind(cycle, label::SUCCESS);
        if let Some(stored) = self.bindings.get_mut(cycle.uid) {
            stored.times.pre_bind_ns = 0;
        }
        match self.ask_binders(cycle.pod, cycle.node, cycle.profile) {
            Err((plugin, refusal)) => self.fail_binding(cycle.uid, plugin, &refusal),
            Ok(call) => {
                if let Some(patch) = self.dispatcher.supersede_patch(cycle.uid) {
                    // The binding takes its place: should that fail, the status says what it said.
                    let row = self.world.pods_mut().get_mut(cycle.pod);
                    if patch.nomination != Nomination::Keep {
                        row.set_nominated(row.nominated_by_api());
                    }
                    if patch.condition.is_some() {
                        row.condition = UNSURE;
                    }
                }
                let call = self.want(call).expect("nothing is more urgent than a binding");
                self.set_stage(cycle.uid, Stage::Binding(call));
                self.bindings.expect_answer(call, cycle.uid);
            }
        }
    }

    fn set_stage(&mut self, uid: PodUid, stage: Stage) {
        self.bindings.set_stage(uid, stage);
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
        if let Some(uid) = self.bindings.take_owner(id) {
            self.go_on(uid, id, finished.result);
        } else if let ApiCall::DeletePod { pod } = finished.call {
            self.eviction_answered(id, pod, finished.result);
        }
        self.serve_requests();
    }

    fn go_on(&mut self, uid: PodUid, id: CallId, result: Result<(), CallFailure>) {
        let Some(cycle) = self.bindings.get_mut(uid) else { return };
        match &mut cycle.stage {
            // The announcement is a courtesy: the pod goes on without it.
            Stage::Announcing(call) if *call == id => self.pass_permit(uid),
            Stage::Binding(call) if *call == id => match result {
                Ok(()) => self.bound(uid),
                Err(failure) => self.binding_failed(uid, failure),
            },
            Stage::PreBindCalls { at, left, failed } => {
                left.retain(|call| *call != id);
                if let Err(failure) = result {
                    failed.get_or_insert_with(|| format!("the API refused a call: {failure:?}").into());
                }
                if left.is_empty() {
                    let at = *at;
                    let progress =
                        failed.take().map_or(PreBindProgress::Performed, PreBindProgress::CallFailed);
                    self.pre_bind(uid, at, progress);
                }
            }
            _ => {}
        }
    }

    /// The API took the binding; the watch will confirm it.
    fn bound(&mut self, uid: PodUid) {
        let Some(cycle) = self.bindings.remove(uid) else { return };
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
        let Some(cycle) = self.bindings.get(uid) else { return };
        let profile = &self.parts[usize::from(cycle.profile.0)].profile;
        let binder = profile.at(ExtensionPoint::Bind).first().map_or(0, |&at| at);
        let refusal = Refusal::error(&format!("the API refused the binding: {failure:?}"));
        self.fail_binding(uid, plugin_number(binder), &refusal);
    }

    /// A binding that nobody tracked failed: the pod leaves the node and is tried again.
    pub fn on_bind_failed(&mut self, uid: PodUid, now_ns: u64) {
        self.see(now_ns);
        let Some(pod) = self.world.pods().find(uid) else { return };
        if self.world.pods().get(pod).state != PodState::Assumed || self.bindings.get(uid).is_some() {
            return;
        }
        let before = self.facts(pod);
        self.forget(pod);
        self.tell(&Event::pod(ASSIGNED_POD_DELETE, Some(before), None), Scope::Everyone);
        self.refuse(pod, PluginNumber(0), &Refusal::error("the API refused the binding"));
        self.serve_requests();
    }

    /// The pod gives up its node and goes back to the queue. Others may have waited for the room:
    /// after a rejection they are told when the pod is in the queue, and it is not told itself,
    /// because it would only be rejected again.
    fn fail_binding(&mut self, uid: PodUid, plugin: PluginNumber, refusal: &Refusal) {
        let Some(cycle) = self.bindings.remove(uid) else { return };
        let status = refusal_label(refusal.code);
        self.end_pre_bind(&cycle, status);
        let permit_ns = Some(cycle.times.permit_ns).filter(|&began_ns| began_ns != 0);
        self.timing.end(permit_ns, Timed::PermitWait { result: status });
        self.timed_unreserve(cycle.pod, cycle.node, cycle.profile, cycle.times.is_timed);
        if self.world.pods().get(cycle.pod).state != PodState::Assumed {
            // The watch knew better.
            return;
        }
        let is_error = refusal.code == RefusalCode::Error;
        // Whole attempts are timed whenever timing is on: a binding that fails is rare.
        let failed = Timed::FailedAttempt { is_error, profile: cycle.profile };
        self.timing.end(self.timing.start_if(true).map(|_| cycle.times.begun_ns), failed);
        let before = self.facts(cycle.pod);
        self.forget(cycle.pod);
        let event = Event::pod(ASSIGNED_POD_DELETE, Some(before), None);
        if refusal.code == RefusalCode::Error {
            self.tell(&event, Scope::Everyone);
            if !self.settings.mutants.has(Mutant::ErrorHandlerSuppressed) {
                self.refuse(cycle.pod, plugin, refusal);
            }
            if self.settings.mutants.has(Mutant::DoubleDone) {
                self.queue.done(cycle.pod);
            }
            #[cfg(feature = "mutants")]
            self.bury(uid);
        } else {
            self.refuse(cycle.pod, plugin, refusal);
            self.tell(&event, Scope::Except(uid));
        }
    }

    /// The pod is gone or somebody else's: its plugins give up what they hold for it. The caller
    /// takes it off its node.
    pub(super) fn abandon_binding(&mut self, uid: PodUid) {
        if let Some(cycle) = self.bindings.remove(uid) {
            self.unreserve(cycle.pod, cycle.node, cycle.profile);
        }
    }

    /// The watch says the pod is bound. If our own binding is on its way its answer ends the cycle;
    /// otherwise somebody else was faster, and a binding that waits in line is not made any more.
    pub(super) fn on_bound_while_binding(&mut self, uid: PodUid) {
        let Some(cycle) = self.bindings.get(uid) else { return };
        let pod = cycle.pod;
        match cycle.stage {
            Stage::Binding(call) if !self.dispatcher.is_waiting(call) => return,
            Stage::Binding(_) => self.dispatcher.forget(uid),
            _ => {}
        }
        self.queue.delete(pod);
        self.abandon_binding(uid);
    }

    /// Permits and PreBind waits whose time is up.
    pub(super) fn end_waits(&mut self) {
        while let Some((uid, permit)) = self.bindings.expired_permit(self.now_ns) {
            let text = format!("rejected due to timeout after waiting at plugin {}", permit.plugin);
            self.reject_waiting(uid, permit.plugin, Refusal::unschedulable(Reason::Owned(text.into())));
        }
        while let Some(uid) = self.bindings.expired_pre_bind(self.now_ns) {
            let Some(&Stage::PreBindWait { at, .. }) = self.bindings.get(uid).map(|cycle| &cycle.stage)
            else {
                return;
            };
            self.set_stage(uid, Stage::Permit);
            self.pre_bind(uid, at, PreBindProgress::TimedOut);
        }
    }

    /// PreBind plugins that wait for an event they registered for are asked again.
    pub(super) fn tell_pre_binds(&mut self, event: &Event) {
        let parts = &self.parts;
        let woken = self.bindings.pre_bind_waits(|profile, at| {
            let parts = &parts[usize::from(profile.0)];
            let plugin = plugin_number(parts.profile.at(ExtensionPoint::PreBind)[at]);
            event.is_wildcard() || parts.interest.of(event.what).contains(plugin)
        });
        for (uid, at) in woken {
            self.pre_bind(uid, at, PreBindProgress::Event);
        }
    }

    fn reject_waiting(&mut self, uid: PodUid, plugin: &str, refusal: Refusal) {
        let Some(cycle) = self.bindings.get(uid) else { return };
        let profile = &self.parts[usize::from(cycle.profile.0)].profile;
        let at = profile.plugins().iter().position(|known| known.name() == plugin).unwrap_or(0);
        self.fail_binding(uid, plugin_number(at), &refusal);
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
                let is_free = self.bindings.allow(pod, plugin);
                let waits = self.bindings.get(pod).is_some_and(|cycle| cycle.stage == Stage::Permit);
                if is_free && waits {
                    self.pass_permit(pod);
                }
            }
            Request::Reject { pod, plugin, message } => {
                if self.bindings.is_held(pod) {
                    self.reject_waiting(pod, plugin, Refusal::unschedulable(Reason::Owned(message)));
                }
            }
            Request::Preempt { pod, plugin, message } => {
                if self.bindings.is_held(pod) || self.bindings.is_in_pre_bind(pod) {
                    self.reject_waiting(
                        pod,
                        plugin,
                        Refusal { code: RefusalCode::Error, reason: Reason::Owned(message) },
                    );
                }
            }
            Request::Activate { pod } => {
                let Some(pod) = self.world.pods().find(pod) else { return };
                let now_ns = self.now_ns;
                self.with_queue(|queue, host| queue.activate(pod, now_ns, host));
            }
        }
    }
}
