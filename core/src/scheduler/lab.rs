//! A scheduler on a table for tests: what the API would say is told by hand, and calls stay open
//! until the test answers them.

use std::sync::Arc;

use super::*;
use crate::binding::{CallFailure, CallId};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::TieBreak;
use crate::framework::plugin::Plugin;
use crate::input::{ContainerInput, NodeInput, ResourceList};
use crate::quantity::Quantity;

/// A scheduler, its clock and the calls nobody answered yet.
pub(super) struct Lab {
    pub(super) scheduler: Scheduler,
    pub(super) now_ns: u64,
    /// The version of the last write to the API.
    pub(super) version: u64,
    pub(super) open: Vec<OutgoingCall>,
}

pub(super) const SECOND_NS: u64 = 1_000_000_000;

fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect(text))).collect()
}

pub(super) fn node(name: &str, cpu: &str) -> NodeInput {
    NodeInput {
        name: name.to_owned(),
        allocatable: resources(&[("cpu", cpu), ("memory", "8Gi"), ("pods", "10")]),
        ..NodeInput::default()
    }
}

/// A pod that asks for so many CPUs.
pub(super) fn pod(cpu: &str, priority: i32) -> PodInput {
    let container = ContainerInput { requests: resources(&[("cpu", cpu)]), ..ContainerInput::default() };
    PodInput { containers: vec![container], priority, ..PodInput::default() }
}

impl Lab {
    /// With the default plugins, these beside them, and nodes of so many CPUs.
    pub(super) fn new(
        settings: SchedulerSettings,
        plugins: Vec<Arc<dyn Plugin>>,
        nodes: &[(&str, &str)],
    ) -> Lab {
        let mut world = World::default();
        let usual = default_profile(&mut world.vocabulary);
        let usual = usual.plugins().iter().map(|plugin| (Arc::clone(plugin), 1));
        let others = plugins.into_iter().map(|plugin| (plugin, 0));
        let profile = Profile::new("default-scheduler", usual.chain(others).collect());
        let engine = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
        let scheduler = Scheduler::with_settings(world, vec![profile], engine, settings);
        let scheduler = scheduler.expect("gates that go together");
        let mut lab = Lab { scheduler, now_ns: 0, version: 0, open: Vec::new() };
        nodes.iter().for_each(|(name, cpu)| lab.node(name, cpu));
        lab
    }

    pub(super) fn node(&mut self, name: &str, cpu: &str) {
        self.scheduler.on_event(ObjectEvent::node(&Arc::new(node(name, cpu))), self.now_ns);
    }

    fn observe(&mut self, uid: u64, spec: PodInput, node: Option<&str>) {
        let class = self.scheduler.compile(&Arc::new(spec));
        let node = node.map(|name| self.scheduler.node_id(name));
        let created_ns = self.now_ns;
        let update = PodUpdate { uid: PodUid(uid), class, node, created_ns, ..PodUpdate::default() };
        self.scheduler.on_event(ObjectEvent::pod(update), self.now_ns);
    }

    /// A new pod.
    pub(super) fn pod(&mut self, uid: u64, spec: PodInput) {
        self.observe(uid, spec, None);
    }

    /// The watch says that a pod is on a node.
    pub(super) fn placed(&mut self, uid: u64, spec: PodInput, node: &str) {
        self.observe(uid, spec, Some(node));
    }

    /// The watch says that a pod is to go; it is still there.
    pub(super) fn terminating(&mut self, uid: u64, spec: PodInput, node: Option<&str>) {
        let class = self.scheduler.compile(&Arc::new(PodInput { is_terminating: true, ..spec }));
        let node = node.map(|name| self.scheduler.node_id(name));
        let update = PodUpdate { uid: PodUid(uid), class, node, is_preempted: true, ..PodUpdate::default() };
        self.scheduler.on_event(ObjectEvent::pod(update), self.now_ns);
    }

    /// The watch says that a pod on a node is to go, and not why.
    pub(super) fn leaving(&mut self, uid: u64, spec: PodInput, node: &str) {
        self.observe(uid, PodInput { is_terminating: true, ..spec }, Some(node));
    }

    /// The watch says that a pod is gone.
    pub(super) fn gone(&mut self, uid: u64) {
        self.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(uid)), self.now_ns);
    }

    /// The watch says which node a pod is nominated to.
    pub(super) fn nominated(&mut self, uid: u64, node: Option<&str>) {
        let node = node.map(|name| self.scheduler.node_id(name));
        self.version += 1;
        self.scheduler
            .on_event(ObjectEvent::nominated_node_name(PodUid(uid), node, self.version), self.now_ns);
    }

    /// One cycle, and the calls that came up.
    pub(super) fn step(&mut self) -> (ScheduleOneOutcome, Vec<String>) {
        let step = self.scheduler.schedule_one(&mut NoProbe);
        (step, self.calls())
    }

    /// Steps until idle; the calls that came up.
    pub(super) fn run(&mut self) -> Vec<String> {
        while self.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle {}
        self.calls()
    }

    /// The calls that came up since the last time. They stay open.
    pub(super) fn calls(&mut self) -> Vec<String> {
        let mut calls = Vec::new();
        self.scheduler.take_calls(&mut calls);
        let texts = calls.iter().map(|outgoing| outgoing.call.text(self.scheduler.world())).collect();
        self.open.extend(calls.into_iter().filter(|outgoing| outgoing.id != CallId::UNTRACKED));
        texts
    }

    /// Answers the oldest open call that reads so.
    #[track_caller]
    pub(super) fn answer(&mut self, text: &str, result: Result<(), CallFailure>) {
        let world = self.scheduler.world();
        let at = self.open.iter().position(|outgoing| outgoing.call.text(world) == text);
        let at = at.unwrap_or_else(|| panic!("no open call reads {text:?}"));
        let OutgoingCall { id, .. } = self.open.remove(at);
        self.scheduler.on_answer(id, result, self.now_ns);
    }

    /// The API takes the oldest open patch that reads so; the pod has the next version then.
    #[track_caller]
    pub(super) fn take_patch(&mut self, text: &str) -> u64 {
        self.version += 1;
        self.answer_patch(text, self.version);
        self.version
    }

    /// The API took the oldest open patch that reads so; the pod had this version then.
    #[track_caller]
    pub(super) fn answer_patch(&mut self, text: &str, version: u64) {
        let world = self.scheduler.world();
        let at = self.open.iter().position(|outgoing| outgoing.call.text(world) == text);
        let at = at.unwrap_or_else(|| panic!("no open call reads {text:?}"));
        let OutgoingCall { id, .. } = self.open.remove(at);
        self.scheduler.on_patched(id, version, self.now_ns);
    }

    /// The watch tells of a version of a pod, which names this node.
    pub(super) fn nominated_at(&mut self, uid: u64, node: Option<&str>, version: u64) {
        let node = node.map(|name| self.scheduler.node_id(name));
        self.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(uid), node, version), self.now_ns);
    }

    /// The API takes every open patch.
    pub(super) fn answer_patches(&mut self) {
        let is_patch = |outgoing: &OutgoingCall| matches!(outgoing.call, ApiCall::PatchStatus(_));
        let (patches, others) = std::mem::take(&mut self.open).into_iter().partition(is_patch);
        self.open = others;
        let patches: Vec<OutgoingCall> = patches;
        patches.iter().for_each(|outgoing| self.scheduler.on_answer(outgoing.id, Ok(()), self.now_ns));
    }

    /// A plugin asks for a pod to be tried.
    pub(super) fn activate(&mut self, uid: u64) {
        self.scheduler.requests.push(Request::Activate { pod: PodUid(uid) });
        self.scheduler.serve_requests();
    }

    /// Time passes.
    pub(super) fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        self.scheduler.advance(self.now_ns);
    }

    pub(super) fn standing(&self, uid: u64) -> Option<Standing> {
        let pod = self.scheduler.world().pods().find(PodUid(uid));
        pod.map(|pod| self.scheduler.standing(pod))
    }

    /// Whom a pod is nominated to, by the nominator.
    pub(super) fn nomination(&self, uid: u64) -> Option<&str> {
        let world = self.scheduler.world();
        world.nominator().node_of(PodUid(uid)).map(|node| world.node_name(node))
    }

    /// Nothing is held for anybody.
    #[track_caller]
    pub(super) fn check_clean(&self) {
        assert!(self.scheduler.binding_cycles().is_empty());
        assert!(self.scheduler.dispatcher().is_empty());
        assert_eq!(self.scheduler.queue().counts().in_flight, 0);
        assert_eq!(self.scheduler.queue().in_flight_event_count(), 0);
    }
}
