//! A scheduler on a table for tests: what the API would say is told by hand, and calls stay open
//! until the test answers them.

use std::sync::Arc;

use super::{NodeParts, node};
use crate::api_call::ApiCall;
use crate::binding::{CallFailure, CallId, OutgoingCall};
use crate::cycle::engine::EngineSettings;
use crate::cycle::probe::NoProbe;
use crate::cycle::select::TieBreak;
use crate::framework::plugin::Plugin;
use crate::framework::points::Request;
use crate::framework::profile::Profile;
use crate::framework::registry::default_profile_with;
use crate::ids::PodUid;
use crate::input::{NodeInput, PodInput};
use crate::scheduler::{
    ObjectEvent, PodCounts, PodUpdate, ScheduleOneOutcome, Scheduler, SchedulerSettings, Standing,
};
use crate::world::World;

/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Who answers the calls of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// The test.
    ByHand,
    /// The lab, with success, at the end of every run.
    AtOnce,
}

/// A scheduler, its clock and the calls nobody answered yet.
#[derive(Debug)]
pub struct SchedulerLab {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// The time.
    pub now_ns: u64,
    /// The version of the last write to the API.
    pub version: u64,
    /// Calls that wait for an answer, oldest first.
    pub open: Vec<OutgoingCall>,
    answers: Answers,
    /// The test answers what victims are told before they are deleted; otherwise it is written at once.
    pub holds_disruption_targets: bool,
    /// How far the clock moves with everything that happens.
    tick_ns: u64,
}

impl SchedulerLab {
    /// With the default plugins at weight 1, these beside them at none, and nodes of so many CPUs.
    ///
    /// # Panics
    ///
    /// When the gates do not go together.
    #[must_use]
    pub fn new(
        settings: SchedulerSettings,
        plugins: Vec<Arc<dyn Plugin>>,
        nodes: &[(&str, &str)],
    ) -> SchedulerLab {
        let mut world = World::default();
        let usual = default_profile_with(&mut world.vocabulary, &settings.gates.plugins());
        let usual = usual.plugins().iter().map(|plugin| (Arc::clone(plugin), 1));
        let others = plugins.into_iter().map(|plugin| (plugin, 0));
        let profile = Profile::new("default-scheduler", usual.chain(others).collect());
        let scheduler = Scheduler::with_settings(world, vec![profile], first_of_equals(), settings);
        let mut lab = SchedulerLab::of(scheduler.expect("gates that go together"));
        nodes.iter().for_each(|(name, cpu)| lab.node(&node(name).cpu(cpu)));
        lab
    }

    /// Of this scheduler.
    #[must_use]
    pub fn of(scheduler: Scheduler) -> SchedulerLab {
        let (open, answers) = (Vec::new(), Answers::ByHand);
        SchedulerLab {
            scheduler,
            now_ns: 0,
            version: 0,
            open,
            answers,
            holds_disruption_targets: false,
            tick_ns: 0,
        }
    }

    /// The default scheduler, whose calls succeed at once; a nanosecond passes with everything that
    /// happens.
    #[must_use]
    pub fn obliging(nodes: &[(&str, &str)]) -> SchedulerLab {
        let mut lab = SchedulerLab::of(Scheduler::new(first_of_equals(), 0));
        (lab.answers, lab.tick_ns) = (Answers::AtOnce, 1);
        nodes.iter().for_each(|(name, cpu)| lab.node(&node(name).cpu(cpu)));
        lab
    }

    fn tick(&mut self) -> u64 {
        self.now_ns += self.tick_ns;
        self.now_ns
    }

    /// Something happens.
    pub fn event(&mut self, event: ObjectEvent<'_>) {
        let now_ns = self.tick();
        self.scheduler.on_event(event, now_ns);
    }

    /// A plugin asks for something outside its turn.
    pub fn request(&mut self, request: Request) {
        self.scheduler.request(request, self.now_ns);
    }

    /// The watch tells of a node.
    pub fn node(&mut self, node: &NodeInput) {
        self.event(ObjectEvent::node(&Arc::new(node.clone())));
    }

    /// The watch tells of a pod, on a node or not yet.
    pub fn observe(&mut self, uid: u64, spec: PodInput, node: Option<&str>) {
        let created_ns = self.tick();
        let class = self.scheduler.compile(&Arc::new(spec));
        let node = node.map(|name| self.scheduler.node_id(name));
        let update = PodUpdate { uid: PodUid(uid), class, node, created_ns, ..PodUpdate::default() };
        self.scheduler.on_event(ObjectEvent::pod(update), self.now_ns);
    }

    /// A new pod.
    pub fn pod(&mut self, uid: u64, spec: PodInput) {
        self.observe(uid, spec, None);
    }

    /// The watch says that a pod is on a node.
    pub fn placed(&mut self, uid: u64, spec: PodInput, node: &str) {
        self.observe(uid, spec, Some(node));
    }

    /// The watch says that a pod is to go; it is still there.
    pub fn terminating(&mut self, uid: u64, spec: PodInput, node: Option<&str>) {
        let class = self.scheduler.compile(&Arc::new(PodInput { is_terminating: true, ..spec }));
        let node = node.map(|name| self.scheduler.node_id(name));
        let update = PodUpdate { uid: PodUid(uid), class, node, is_preempted: true, ..PodUpdate::default() };
        self.scheduler.on_event(ObjectEvent::pod(update), self.now_ns);
    }

    /// The watch says that a pod on a node is to go, and not why.
    pub fn leaving(&mut self, uid: u64, spec: PodInput, node: &str) {
        self.observe(uid, PodInput { is_terminating: true, ..spec }, Some(node));
    }

    /// The watch says that a pod is gone.
    pub fn gone(&mut self, uid: u64) {
        self.event(ObjectEvent::pod_deleted(PodUid(uid)));
    }

    /// The watch says which node a pod is nominated to.
    pub fn nominated(&mut self, uid: u64, node: Option<&str>) {
        let node = node.map(|name| self.scheduler.node_id(name));
        self.version += 1;
        self.scheduler
            .on_event(ObjectEvent::nominated_node_name(PodUid(uid), node, self.version), self.now_ns);
    }

    /// One cycle, and the calls that came up.
    pub fn step(&mut self) -> (ScheduleOneOutcome, Vec<String>) {
        let step = self.scheduler.schedule_one(&mut NoProbe);
        (step, self.calls())
    }

    /// Steps until idle; the calls that came up, as text: `7 -> n1`, or `7: <condition>`.
    pub fn run(&mut self) -> Vec<String> {
        while self.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle {}
        let texts = self.calls();
        if self.answers == Answers::AtOnce {
            assert!(!self.scheduler.has_work());
            assert_eq!(self.scheduler.call_count(), 0);
            for outgoing in std::mem::take(&mut self.open) {
                self.scheduler.on_answer(outgoing.id, Ok(()), self.now_ns);
            }
        }
        texts
    }

    /// The calls that came up since the last time. They stay open.
    pub fn calls(&mut self) -> Vec<String> {
        let mut calls = Vec::new();
        self.scheduler.take_calls(&mut calls);
        if !self.holds_disruption_targets {
            self.write_disruption_targets(&mut calls);
        }
        let texts = calls.iter().map(|outgoing| outgoing.call.text(self.scheduler.world())).collect();
        self.open.extend(calls.into_iter().filter(|outgoing| outgoing.id != CallId::UNTRACKED));
        texts
    }

    /// The API takes what victims are told; the deletions that follow stand where that was.
    fn write_disruption_targets(&mut self, calls: &mut Vec<OutgoingCall>) {
        let is_disruption =
            |outgoing: &OutgoingCall| matches!(outgoing.call, ApiCall::AddDisruptionTarget { .. });
        while let Some(at) = calls.iter().position(is_disruption) {
            self.scheduler.on_patched(calls[at].id, 0, self.now_ns);
            let mut deletion = Vec::new();
            self.scheduler.take_calls(&mut deletion);
            calls.splice(at..=at, deletion);
        }
    }

    /// Answers the oldest open call.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn answer_next(&mut self, result: Result<(), CallFailure>) {
        let OutgoingCall { id, .. } = self.open.remove(0);
        self.scheduler.on_answer(id, result, self.now_ns);
    }

    /// Answers every open call.
    pub fn answer_all(&mut self, result: Result<(), CallFailure>) {
        while !self.open.is_empty() {
            self.answer_next(result);
        }
    }

    /// The API refuses a binding that nobody tracks.
    pub fn fail_binding(&mut self, uid: u64) {
        let now_ns = self.tick();
        self.scheduler.on_bind_failed(PodUid(uid), now_ns);
    }

    /// Answers the oldest open call that reads so.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn answer(&mut self, text: &str, result: Result<(), CallFailure>) {
        let world = self.scheduler.world();
        let at = self.open.iter().position(|outgoing| outgoing.call.text(world) == text);
        let at = at.unwrap_or_else(|| panic!("no open call reads {text:?}"));
        let OutgoingCall { id, .. } = self.open.remove(at);
        self.scheduler.on_answer(id, result, self.now_ns);
    }

    /// The API takes the oldest open patch that reads so; the pod has the next version then.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn take_patch(&mut self, text: &str) -> u64 {
        self.version += 1;
        self.answer_patch(text, self.version);
        self.version
    }

    /// The API took the oldest open patch that reads so; the pod had this version then.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub fn answer_patch(&mut self, text: &str, version: u64) {
        let world = self.scheduler.world();
        let at = self.open.iter().position(|outgoing| outgoing.call.text(world) == text);
        let at = at.unwrap_or_else(|| panic!("no open call reads {text:?}"));
        let OutgoingCall { id, .. } = self.open.remove(at);
        self.scheduler.on_patched(id, version, self.now_ns);
    }

    /// The watch tells of a version of a pod, which names this node.
    pub fn nominated_at(&mut self, uid: u64, node: Option<&str>, version: u64) {
        let node = node.map(|name| self.scheduler.node_id(name));
        self.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(uid), node, version), self.now_ns);
    }

    /// The API takes every open patch.
    pub fn answer_patches(&mut self) {
        let is_patch = |outgoing: &OutgoingCall| matches!(outgoing.call, ApiCall::PatchStatus(_));
        let (patches, others) = std::mem::take(&mut self.open).into_iter().partition(is_patch);
        self.open = others;
        let patches: Vec<OutgoingCall> = patches;
        patches.iter().for_each(|outgoing| self.scheduler.on_answer(outgoing.id, Ok(()), self.now_ns));
    }

    /// Time passes.
    pub fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        self.scheduler.advance(self.now_ns);
    }

    /// Long enough for every backoff to end.
    pub fn later(&mut self) {
        self.pass(20 * SECOND_NS);
    }

    /// Where the scheduler has a pod.
    #[must_use]
    pub fn standing(&self, uid: u64) -> Option<Standing> {
        let pod = self.scheduler.world().pods().find(PodUid(uid));
        pod.map(|pod| self.scheduler.standing(pod))
    }

    /// The node a pod is nominated to, by the nominator.
    #[must_use]
    pub fn nomination(&self, uid: u64) -> Option<&str> {
        let world = self.scheduler.world();
        world.nominator().node_of(PodUid(uid)).map(|node| world.node_name(node))
    }

    /// Pods and requested milli-CPU on a node of the list.
    pub fn load(&mut self, name: &str) -> Option<(i64, i64)> {
        let id = self.scheduler.node_id(name);
        let nodes = self.scheduler.world().nodes();
        let row = nodes.row_of(id)?;
        Some((nodes.columns().pod_count[row], nodes.columns().requested_cpu_milli[row]))
    }

    /// Nothing is held for anybody.
    ///
    /// # Panics
    ///
    /// When something is.
    #[track_caller]
    pub fn check_clean(&self) {
        assert!(self.scheduler.binding_cycles().is_empty());
        assert!(self.scheduler.binding_cycles().waiting_pods().is_empty());
        assert!(self.scheduler.dispatcher().is_empty());
        assert_eq!(self.scheduler.queue().counts().in_flight, 0);
        assert_eq!(self.scheduler.queue().in_flight_event_count(), 0);
    }

    /// The counts agree with the states; so they do at every lab's end.
    ///
    /// # Panics
    ///
    /// When they do not.
    #[track_caller]
    pub fn check_counts(&self) {
        let counts = self.scheduler.counts();
        let pods = self.scheduler.world().pods();
        let count = |standing| pods.ids().filter(|&pod| self.scheduler.standing(pod) == standing).count();
        let by_state = PodCounts {
            queued: count(Standing::Queued),
            backoff: count(Standing::Backoff),
            gated: count(Standing::Gated),
            unschedulable: count(Standing::Unschedulable),
            assumed: count(Standing::Assumed),
            bound: count(Standing::Bound),
            foreign: count(Standing::Foreign),
        };
        assert_eq!(counts, by_state);
    }
}

impl Drop for SchedulerLab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_counts();
        }
    }
}

/// Of equal nodes the first is taken.
fn first_of_equals() -> EngineSettings {
    EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() }
}
