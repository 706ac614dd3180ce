//! Pods on their way to a node, with plugins that hold them up: what is called in which order, what
//! goes to the API, and how a failure is undone.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use super::*;
use crate::binding::CallFailure;
use crate::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use crate::framework::points::{
    ActionType, EnqueueExtensions, EventResource, Handle, Permit, PermitPlugin, PodRef, PostBindPlugin,
    PreBindPlugin, PreBindProgress, PreBindStep, PreFlight, RegisteredEvent, ReservePlugin, Status,
};
use crate::framework::status::Reason;
use crate::input::storage::StorageKind;
use crate::known_gaps::KnownGaps;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

mod nominated_node_name;
mod pre_enqueue_status;
mod timing;

const SECOND: u64 = 1_000_000_000;
const NO_CPU: &str = "0/1 nodes are available: 1 Insufficient cpu. \
    preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";

/// What a probe plugin answers, and what it was asked.
#[derive(Debug, Default)]
struct Script {
    log: Vec<String>,
    refuses_reserve: bool,
    permit: Option<Permit>,
    pre_flight: Option<PreFlight>,
    pre_bind: Vec<PreBindStep>,
    closed: Option<&'static str>,
}

/// A plugin at every point of the way, played from a script.
#[derive(Clone, Debug)]
struct Probed {
    name: &'static str,
    script: Arc<Mutex<Script>>,
}

impl Probed {
    fn new(name: &'static str) -> Probed {
        Probed { name, script: Arc::default() }
    }

    fn set(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().expect("not poisoned"));
    }

    fn note(&self, what: &str, pod: PodRef<'_>) {
        self.set(|script| script.log.push(format!("{what} {}", pod.uid.0)));
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.script.lock().expect("not poisoned").log)
    }
}

impl Plugin for Probed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }

    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for Probed {
    fn pre_enqueue(&self, _: &World, _: &PodClass) -> Option<PreEnqueueResult> {
        self.script.lock().expect("not poisoned").closed.map(PreEnqueueResult::rejected_with_message)
    }
}

impl EnqueueExtensions for Probed {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::always(EventResource::StorageClass, ActionType::ADD)]
    }
}

impl ReservePlugin for Probed {
    fn reserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Result<(), Status> {
        self.note("reserve", pod);
        let refuses = self.script.lock().expect("not poisoned").refuses_reserve;
        if refuses { Err(Status::unschedulable(Reason::Text("no"))) } else { Ok(()) }
    }

    fn unreserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.note("unreserve", pod);
    }
}

impl PermitPlugin for Probed {
    fn permit(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        self.note("permit", pod);
        self.script.lock().expect("not poisoned").permit.clone().unwrap_or(Permit::Approve)
    }
}

impl PreBindPlugin for Probed {
    fn pre_bind_pre_flight(&self, _: &mut Handle<'_>, _: PodRef<'_>, _: NodeId) -> PreFlight {
        let script = self.script.lock().expect("not poisoned");
        script.pre_flight.clone().unwrap_or(PreFlight::Skip { allow_parallel: false })
    }

    fn pre_bind(
        &self,
        _: &mut Handle<'_>,
        pod: PodRef<'_>,
        _: NodeId,
        progress: &PreBindProgress,
    ) -> PreBindStep {
        self.note(&format!("pre-bind {progress:?}"), pod);
        let mut script = self.script.lock().expect("not poisoned");
        if script.pre_bind.is_empty() { PreBindStep::Done } else { script.pre_bind.remove(0) }
    }
}

impl PostBindPlugin for Probed {
    fn post_bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.note("post-bind", pod);
    }
}

/// A scheduler with one node of one CPU, two probe plugins and a clock.
struct ProbedLab {
    lab: SchedulerLab,
    first: Probed,
    second: Probed,
}

impl Deref for ProbedLab {
    type Target = SchedulerLab;

    fn deref(&self) -> &SchedulerLab {
        &self.lab
    }
}

impl DerefMut for ProbedLab {
    fn deref_mut(&mut self) -> &mut SchedulerLab {
        &mut self.lab
    }
}

const WORK: PreFlight = PreFlight::Run { allow_parallel: false };

impl ProbedLab {
    fn with(gates: FeatureGates) -> ProbedLab {
        ProbedLab::set(SchedulerSettings { gates, ..SchedulerSettings::default() })
    }

    fn set(settings: SchedulerSettings) -> ProbedLab {
        let (first, second) = (Probed::new("First"), Probed::new("Second"));
        let probes: Vec<Arc<dyn Plugin>> = vec![Arc::new(first.clone()), Arc::new(second.clone())];
        let lab = SchedulerLab::new(settings, probes, &[("n1", "1")]);
        ProbedLab { lab, first, second }
    }

    fn new() -> ProbedLab {
        ProbedLab::with(FeatureGates::default())
    }

    fn queued() -> ProbedLab {
        ProbedLab::with(FeatureGates { scheduler_async_api_calls: true, ..FeatureGates::default() })
    }

    /// The watch says that a pod is on a node.
    fn confirm(&mut self, uid: u64, node: &str) {
        let pods = self.scheduler.world().pods();
        let class = pods.get(pods.find(PodUid(uid)).expect("known")).class;
        let node = Some(self.scheduler.node_id(node));
        let update = PodUpdate { uid: PodUid(uid), class, node, ..PodUpdate::default() };
        self.event(ObjectEvent::pod(update));
    }

    /// Pods on the node.
    fn pod_count(&mut self) -> i64 {
        self.load("n1").expect("in the list").0
    }
}

/// An object of a kind that the probe plugins registered for.
fn storage_class_added() -> ObjectEvent<'static> {
    let kind = ObjectKind::Storage(StorageKind::StorageClass);
    ObjectEvent::Added(ObjectInput::Named(NamedObject { kind, namespace: "", name: "fast" }))
}

#[test]
fn pod_without_pre_bind_work_is_bound_with_one_call() {
    for mut lab in [ProbedLab::new(), ProbedLab::queued()] {
        lab.pod(7, pod().cpu("1"));
        assert_eq!(lab.run(), ["7 -> n1"]);
        lab.answer_next(Ok(()));
        assert_eq!(lab.first.log(), ["reserve 7", "permit 7", "post-bind 7"]);
        assert_eq!(lab.standing(7), Some(Standing::Assumed));
        lab.confirm(7, "n1");
        assert_eq!(lab.standing(7), Some(Standing::Bound));
        lab.check_clean();
    }
}

#[test]
fn pending_pre_bind_sets_nominated_node_name() {
    let mut lab = ProbedLab::new();
    lab.second.set(|script| script.pre_flight = Some(WORK));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 ~ n1"], "the binding waits for the answer");
    lab.answer_next(Err(CallFailure::Conflict));
    assert_eq!(lab.run(), ["7 -> n1"], "which may be anything");
    lab.answer_next(Ok(()));
    assert_eq!(lab.first.log(), ["reserve 7", "permit 7", "post-bind 7"], "it had nothing to do");
    assert_eq!(lab.second.log(), ["reserve 7", "permit 7", "pre-bind Begin 7", "post-bind 7"]);
    lab.check_clean();
}

#[test]
fn binding_waits_for_nominated_node_name_patch_in_flight() {
    let mut lab = ProbedLab::queued();
    lab.second.set(|script| script.pre_flight = Some(WORK));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 ~ n1"], "on its way: the binding is lined up behind it");
    lab.answer_next(Ok(()));
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.answer_next(Ok(()));
    lab.check_clean();
}

#[test]
fn superseded_nominated_node_name_patch_reserves_nothing_when_binding_fails() {
    let mut lab = ProbedLab::queued();
    lab.second.set(|script| script.pre_flight = Some(WORK));
    lab.pod(7, pod().cpu("2"));
    assert!(lab.run()[0].starts_with("7: 0/1 nodes are available: 1 Insufficient cpu."));
    lab.node(&node("n1").cpu("2"));
    assert_eq!(lab.run(), [""; 0], "the announcement waits behind the patch, and makes way for the binding");
    lab.answer_next(Ok(()));
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.answer_next(Err(CallFailure::Conflict));
    assert!(lab.scheduler.world().nominator().is_empty(), "the API never heard of it");
}

#[test]
fn cleared_nominated_node_name_does_not_requeue_its_own_pod() {
    let mut lab = ProbedLab::new();
    let node = lab.scheduler.node_id("n1");
    for uid in [7, 8] {
        lab.pod(uid, pod().cpu("2"));
    }
    lab.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(7), Some(node), 0), 0);
    lab.run();
    lab.answer_all(Ok(()));
    lab.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(7), None, 0), 0);
    assert_eq!(lab.standing(7), Some(Standing::Unschedulable));
    assert_ne!(lab.standing(8), Some(Standing::Unschedulable), "others may have had to leave it room");
}

#[test]
fn failed_condition_patch_is_written_again() {
    let mut lab = ProbedLab::new();
    lab.pod(7, pod().cpu("2"));
    for answer in [Err(CallFailure::Other), Ok(())] {
        assert!(lab.run()[0].starts_with("7: 0/1 nodes are available: 1 Insufficient cpu."));
        lab.answer_next(answer);
        lab.request(Request::Activate { pod: PodUid(7) });
    }
    assert_eq!(lab.run(), [""; 0], "now it is there");
}

#[test]
fn equal_nominated_node_name_is_not_written_again() {
    let mut lab = ProbedLab::new();
    lab.second.set(|script| script.pre_flight = Some(WORK));
    lab.pod(7, pod().cpu("1"));
    let node = lab.scheduler.node_id("n1");
    lab.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(7), Some(node), 0), 0);
    assert_eq!(lab.run(), ["7 -> n1"]);
}

#[test]
fn without_feature_gate_no_nominated_node_name_is_written_and_all_pre_bind_plugins_run() {
    let mut lab = ProbedLab::with(FeatureGates {
        nominated_node_name_for_expectation: false,
        ..FeatureGates::default()
    });
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
    assert!(lab.first.log().contains(&"pre-bind Begin 7".to_owned()));
    assert!(lab.second.log().contains(&"pre-bind Begin 7".to_owned()));
}

#[test]
fn failed_reserve_unreserves_all_plugins() {
    let mut lab = ProbedLab::new();
    lab.second.set(|script| script.refuses_reserve = true);
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7: 0/1 nodes are available: 1 no."]);
    assert_eq!(lab.first.log(), ["reserve 7", "unreserve 7"]);
    assert_eq!(lab.second.log(), ["reserve 7", "unreserve 7"]);
    assert_eq!((lab.standing(7), lab.pod_count()), (Some(Standing::Unschedulable), 0));
    lab.scheduler.on_event(storage_class_added(), 0);
    assert_eq!(lab.standing(7), Some(Standing::Backoff), "what the plugin registered for brings it back");
}

#[test]
fn denied_permit_unreserves() {
    let mut lab = ProbedLab::new();
    lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    let denied = Permit::Deny(Status::unschedulable(Reason::Text("not you")));
    lab.second.set(|script| script.permit = Some(denied));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7: 0/1 nodes are available: 1 not you."]);
    assert_eq!((lab.standing(7), lab.pod_count()), (Some(Standing::Unschedulable), 0));
    lab.answer_next(Ok(()));
    lab.check_clean();
}

#[test]
fn waiting_pod_is_bound_when_all_permit_plugins_allow() {
    let mut lab = ProbedLab::new();
    for plugin in [&lab.first, &lab.second] {
        plugin.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    }
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 ~ n1"], "it will be held up");
    lab.answer_next(Ok(()));
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.scheduler.binding_cycles().waiting_pods().len(), 1);
    lab.scheduler.requests.push(Request::Allow { pod: PodUid(7), plugin: "First" });
    lab.pass(1);
    assert_eq!(lab.run(), [""; 0], "one of two");
    lab.scheduler.requests.push(Request::Allow { pod: PodUid(7), plugin: "Second" });
    lab.pass(1);
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.answer_next(Ok(()));
    lab.check_clean();
}

#[test]
fn waiting_pod_does_not_block_scheduling_of_others() {
    let mut lab = ProbedLab::new();
    lab.node(&node("n2").cpu("1"));
    lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.first.set(|script| script.permit = None);
    lab.pod(8, pod().cpu("1"));
    assert_eq!(lab.run(), ["8 -> n2"], "on the other node: the first is taken");
}

#[test]
fn permit_timeout_rejects_waiting_pod_and_requeues_others() {
    for is_on in [true, false] {
        let gates = FeatureGates { nominated_node_name_for_expectation: is_on, ..FeatureGates::default() };
        let mut lab = ProbedLab::with(gates);
        lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: 5 * SECOND }));
        lab.pod(7, pod().cpu("1").priority(5));
        lab.run();
        lab.answer_all(Ok(()));
        lab.first.set(|script| script.permit = None);
        lab.pod(8, pod().cpu("1"));
        assert_eq!(lab.run(), [format!("8: {NO_CPU}")]);
        lab.answer_all(Ok(()));
        assert_eq!(lab.scheduler.next_wake_ns(), Some(5 * SECOND));
        lab.pass(5 * SECOND);
        let timeout = "7: 0/1 nodes are available: 1 rejected due to timeout after waiting at plugin First.";
        if is_on {
            assert_eq!(lab.run(), [timeout], "its nomination holds the room against lower priority");
            assert_eq!(lab.standing(8), Some(Standing::Unschedulable));
        } else {
            assert_eq!(lab.run(), [timeout, "8 -> n1"], "the other pod had waited for the room");
        }
        assert_eq!(lab.standing(7), Some(Standing::Unschedulable), "its own leaving does not help it");
        lab.answer_all(Ok(()));
        lab.check_clean();
    }
}

#[test]
fn plugin_rejects_waiting_pod() {
    let mut lab = ProbedLab::new();
    lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_next(Ok(()));
    let reject = Request::Reject { pod: PodUid(7), plugin: "First", message: "gang failed".into() };
    lab.scheduler.requests.push(reject);
    lab.pass(1);
    assert_eq!(lab.run(), ["7: 0/1 nodes are available: 1 gang failed."]);
    assert_eq!((lab.standing(7), lab.pod_count()), (Some(Standing::Unschedulable), 0));
}

#[test]
fn pre_bind_plugin_is_called_after_each_answer_event_and_timeout_until_done() {
    let mut lab = ProbedLab::new();
    let patch = StatusPatch {
        pod: PodUid(7),
        condition: None,
        nomination: crate::framework::points::NominatingInfo::Clear,
    };
    lab.first.set(|script| {
        script.pre_flight = Some(WORK);
        script.pre_bind = vec![
            PreBindStep::Perform(vec![ApiCall::PatchStatus(patch)]),
            PreBindStep::Wait { deadline_ns: 9 * SECOND },
            PreBindStep::Wait { deadline_ns: 9 * SECOND },
        ];
    });
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 ~ n1"]);
    lab.answer_next(Ok(()));
    assert_eq!(lab.run(), ["7 ~"], "the plugin's own call");
    lab.answer_next(Ok(()));
    lab.scheduler.on_event(storage_class_added(), 0);
    assert_eq!(lab.run(), [""; 0]);
    lab.pass(9 * SECOND);
    assert_eq!(lab.run(), ["7 -> n1"]);
    let asked: Vec<String> =
        lab.first.log().into_iter().filter(|what| what.starts_with("pre-bind")).collect();
    let expected = ["Begin", "Performed", "Event", "TimedOut"].map(|what| format!("pre-bind {what} 7"));
    assert_eq!(asked, expected);
}

#[test]
fn refused_binding_unreserves_and_backs_off() {
    let mut lab = ProbedLab::new();
    lab.pod(7, pod().cpu("1").priority(5));
    lab.pod(8, pod().cpu("1"));
    let said = lab.run();
    assert_eq!(said, ["7 -> n1".to_owned(), format!("8: {NO_CPU}")]);
    lab.answer_next(Err(CallFailure::Conflict));
    assert_eq!(lab.first.log(), ["reserve 7", "permit 7", "unreserve 7"]);
    assert_eq!(lab.standing(7), Some(Standing::Backoff));
    assert_eq!(lab.run(), ["7: the API refused the binding: Conflict", "8 -> n1"]);
}

#[test]
fn transient_binding_failure_is_retried_by_dispatcher() {
    let mut lab = ProbedLab::new();
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_next(Err(CallFailure::Transient));
    assert_eq!(lab.run(), [""; 0]);
    lab.pass(10_000_000);
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.answer_next(Ok(()));
    assert_eq!(lab.standing(7), Some(Standing::Assumed));
    lab.check_clean();
}

#[test]
fn delete_of_pod_in_binding_cycle_leaves_no_state() {
    for held in [true, false] {
        let mut lab = ProbedLab::new();
        if held {
            lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
        }
        lab.pod(7, pod().cpu("1"));
        lab.run();
        lab.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(7)), 0);
        assert_eq!((lab.standing(7), lab.pod_count()), (None, 0));
        assert!(lab.first.log().contains(&"unreserve 7".to_owned()));
        lab.answer_next(Err(CallFailure::NotFound));
        lab.check_clean();
    }
}

#[test]
fn waiting_pod_bound_by_another_scheduler_is_unreserved() {
    let mut lab = ProbedLab::new();
    lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_next(Ok(()));
    lab.confirm(7, "n1");
    assert_eq!((lab.standing(7), lab.pod_count()), (Some(Standing::Bound), 1));
    assert!(lab.first.log().contains(&"unreserve 7".to_owned()));
    lab.check_clean();
}

#[test]
fn binding_confirmed_by_watch_before_api_answer_stays_bound() {
    for result in [Ok(()), Err(CallFailure::Other)] {
        let mut lab = ProbedLab::new();
        lab.pod(7, pod().cpu("1"));
        lab.run();
        lab.confirm(7, "n1");
        lab.answer_next(result);
        assert_eq!((lab.standing(7), lab.pod_count()), (Some(Standing::Bound), 1));
        lab.check_clean();
    }
}

#[test]
fn failed_cycle_keeps_nominated_node_name_with_feature_gate_only() {
    for (is_on, expected) in [(true, "7: 0/1"), (false, "7 ~: 0/1")] {
        let gates = FeatureGates { nominated_node_name_for_expectation: is_on, ..FeatureGates::default() };
        let mut lab = ProbedLab::with(gates);
        lab.pod(7, pod().cpu("2"));
        let node = lab.scheduler.node_id("not there yet");
        lab.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(7), Some(node), 0), 0);
        let said = lab.run();
        assert!(said.len() == 1 && said[0].starts_with(expected), "{said:?}");
        let pods = lab.scheduler.world().pods();
        let row = pods.get(pods.find(PodUid(7)).expect("known"));
        assert_eq!(row.nominated(), is_on.then_some(node));
    }
}

#[test]
fn cleared_nominated_node_name_requeues_pods_of_equal_or_lower_priority() {
    let mut lab = ProbedLab::new();
    let node = lab.scheduler.node_id("n1");
    lab.pod(7, pod().cpu("2").priority(5));
    lab.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(7), Some(node), 0), 0);
    lab.pod(8, pod().cpu("2").priority(5));
    lab.pod(9, pod().cpu("2").priority(6));
    lab.run();
    lab.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(7), None, 0), 0);
    let standings = [8, 9].map(|uid| lab.standing(uid));
    assert_eq!(standings, [Some(Standing::Backoff), Some(Standing::Unschedulable)]);
}
