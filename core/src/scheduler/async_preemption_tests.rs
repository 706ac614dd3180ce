//! Victims evicted beside the loop, with the API's answers late: who is held back, who is woken, and
//! what is asked of the API.
//!
//! Upstream: test/integration/scheduler/preemption/preemption_test.go `TestAsyncPreemption`; each of
//! its situations is told here in our own words.

use std::sync::{Arc, Mutex};

use super::*;
use crate::binding::CallFailure;
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads};
use crate::framework::points::{
    ActionType, ClusterEvent, EnqueueExtensions, EventResource, Handle, ObjectChange, Permit, PermitPlugin,
    PodRef, PreBindPlugin, PreBindProgress, PreBindStep, PreFlight, QueueingHint, RegisteredEvent,
    ReservePlugin, Status,
};
use crate::framework::status::{Code, Reason};
use crate::known_gaps::KnownGaps;
use crate::testkit::lab::SECOND_NS;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

fn settings(gates: FeatureGates) -> SchedulerSettings {
    SchedulerSettings { gates, initial_backoff_ns: 0, max_backoff_ns: 0, ..SchedulerSettings::default() }
}

/// One node of four CPUs; with and without queued calls.
fn labs(plugins: &[Arc<dyn Plugin>]) -> [SchedulerLab; 2] {
    [false, true].map(|is_queued| {
        let gates = FeatureGates { scheduler_async_api_calls: is_queued, ..FeatureGates::default() };
        SchedulerLab::new(settings(gates), plugins.to_vec(), &[("n1", "4")])
    })
}

fn victims(lab: &mut SchedulerLab, uids: std::ops::RangeInclusive<u64>, cpu: &str, node: &str) {
    uids.for_each(|uid| lab.placed(uid, pod().cpu(cpu).priority(1), node));
}

/// The pods that a cycle asked the API to delete.
fn deletions(calls: &[String]) -> Vec<&str> {
    calls.iter().filter_map(|call| call.strip_suffix(" x")).collect()
}

/// The bindings among some calls.
fn bindings(calls: &[String]) -> Vec<&str> {
    calls.iter().map(String::as_str).filter(|call| call.contains(" -> ")).collect()
}

/// One cycle that finds no node; the victims it deleted.
#[track_caller]
fn fails(lab: &mut SchedulerLab, uid: u64) -> Vec<String> {
    let (step, calls) = lab.step();
    let ScheduleOneOutcome::Unschedulable { pod } = step else { panic!("{step:?}") };
    assert_eq!(lab.scheduler.world().pods().get(pod).uid, PodUid(uid), "who was tried");
    lab.answer_patches();
    deletions(&calls).into_iter().map(str::to_owned).collect()
}

/// Not even asked to be tried would the pod be.
#[track_caller]
fn assert_gated(lab: &mut SchedulerLab, uid: u64) {
    lab.activate(uid);
    assert_eq!(lab.standing(uid), Some(Standing::Gated));
}

/// The deletion is answered and the pod goes.
fn delete(lab: &mut SchedulerLab, uid: u64) {
    lab.answer(&format!("{uid} x"), Ok(()));
    lab.gone(uid);
}

#[test]
fn preemptor_is_gated_until_all_victims_are_deleted() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=2, "2", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"], "the last victim waits for the answer");
        assert_gated(&mut lab, 9);
        assert_eq!(lab.nomination(9), Some("n1"));
        lab.answer("1 x", Ok(()));
        assert_eq!(lab.calls(), ["2 x"]);
        lab.gone(1);
        assert_gated(&mut lab, 9);
        lab.gone(2);
        assert_eq!(lab.run(), ["9 -> n1"], "its end is seen before the call is answered");
        lab.answer("2 x", Ok(()));
        assert!(!lab.scheduler.is_pod_running_preemption(PodUid(9)));
    }
}

#[test]
fn preemptor_of_one_victim_is_gated_until_its_deletion_is_answered() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=1, "1", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        assert_gated(&mut lab, 9);
        lab.answer("1 x", Ok(()));
        assert!(!lab.scheduler.is_pod_running_preemption(PodUid(9)));
        assert_eq!(lab.run(), [""; 0], "nothing has come free yet");
        lab.gone(1);
        assert_eq!(lab.run(), ["9 -> n1"]);
    }
}

#[test]
fn lower_priority_pod_does_not_take_the_nominated_node_of_preemptor() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=2, "2", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        lab.pod(8, pod().cpu("4").priority(50));
        assert_eq!(fails(&mut lab, 8), [""; 0], "the place is another's");
        delete(&mut lab, 1);
        lab.calls();
        delete(&mut lab, 2);
        assert_eq!(bindings(&lab.run()), ["9 -> n1"], "tried first, and the other still fits nowhere");
        assert_eq!(lab.standing(8), Some(Standing::Unschedulable));
    }
}

#[test]
fn higher_priority_pod_takes_the_nominated_node_of_preemptor() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=4, "1", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1", "2", "3"]);
        assert_gated(&mut lab, 9);
        lab.pod(10, pod().cpu("4").priority(200));
        assert_eq!(fails(&mut lab, 10), ["1", "2", "3"], "both evict the same pods");
        assert_gated(&mut lab, 10);
        assert_eq!((lab.nomination(9), lab.nomination(10)), (None, Some("n1")));
        for uid in 1..=3 {
            // The other's call finds nobody any more.
            delete(&mut lab, uid);
            lab.answer(&format!("{uid} x"), Err(CallFailure::NotFound));
        }
        assert_eq!(lab.calls(), ["4 x", "4 x"]);
        delete(&mut lab, 4);
        lab.answer("4 x", Err(CallFailure::NotFound));
        let (step, calls) = lab.step();
        assert!(matches!(step, ScheduleOneOutcome::Assumed { .. }));
        assert_eq!(calls, ["10 -> n1"]);
        assert_eq!(fails(&mut lab, 9), [""; 0]);
    }
}

#[test]
fn lower_priority_preemptor_may_share_a_large_node() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=4, "1", "n1");
        lab.pod(9, pod().cpu("2").priority(100));
        assert_eq!(fails(&mut lab, 9), ["3"]);
        lab.pod(8, pod().cpu("2").priority(50));
        assert_eq!(fails(&mut lab, 8), ["1", "2", "3"], "with the first on the node, all have to go");
        assert_gated(&mut lab, 8);
        assert_gated(&mut lab, 9);
        for uid in 1..=2 {
            delete(&mut lab, uid);
        }
        lab.answer("3 x", Ok(()));
        delete(&mut lab, 3);
        assert_eq!(lab.calls(), ["4 x", "4 x"]);
        lab.answer("4 x", Ok(()));
        delete(&mut lab, 4);
        assert_eq!(lab.run(), ["9 -> n1", "8 -> n1"]);
    }
}

#[test]
fn victim_in_binding_cycle_is_deleted() {
    for mut lab in labs(&[]) {
        lab.pod(1, pod().cpu("2").priority(1));
        assert_eq!(lab.run(), ["1 -> n1"], "and the API takes its time");
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        delete(&mut lab, 1);
        assert_eq!(lab.run(), ["9 -> n1"], "before the binding has failed");
        lab.scheduler.on_bind_failed(PodUid(1), lab.now_ns);
        assert_eq!(lab.run(), [""; 0]);
    }
}

#[test]
fn terminating_victim_in_binding_cycle_releases_its_resources_at_once() {
    for mut lab in labs(&[]) {
        lab.pod(1, pod().cpu("2").priority(1));
        lab.run();
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        lab.answer("1 x", Ok(()));
        lab.terminating(1, pod().cpu("2").priority(1), None);
        assert_eq!(lab.standing(1), Some(Standing::Skipped));
        assert_eq!(lab.run(), ["9 -> n1"]);
    }
}

#[test]
fn late_binding_failure_of_terminating_victim_changes_nothing() {
    for mut lab in labs(&[]) {
        lab.pod(1, pod().cpu("2").priority(1));
        lab.run();
        lab.pod(9, pod().cpu("4").priority(100));
        fails(&mut lab, 9);
        lab.answer("1 x", Ok(()));
        lab.terminating(1, pod().cpu("2").priority(1), None);
        assert_eq!(lab.run(), ["9 -> n1"]);
        lab.scheduler.on_bind_failed(PodUid(1), lab.now_ns);
        assert_eq!(lab.run(), [""; 0]);
        assert_eq!(lab.standing(1), Some(Standing::Skipped));
    }
}

#[test]
fn late_binding_success_of_terminating_victim_counts_it_on_its_node() {
    for mut lab in labs(&[]) {
        lab.pod(1, pod().cpu("2").priority(1));
        lab.run();
        lab.terminating(1, pod().cpu("2").priority(1), None);
        assert_eq!(lab.standing(1), Some(Standing::Skipped));
        lab.terminating(1, pod().cpu("2").priority(1), Some("n1"));
        assert_eq!(lab.standing(1), Some(Standing::Bound));
        lab.pod(9, pod().cpu("4"));
        assert_eq!(fails(&mut lab, 9), [""; 0], "it still has its room");
    }
}

/// Holds something of its own for a pod, and holds pods up as told.
#[derive(Clone, Debug, Default)]
struct Keeper {
    log: Arc<Mutex<Vec<String>>>,
    waits_at_permit: bool,
    works_before_binding: bool,
}

impl Keeper {
    fn note(&self, what: &str, pod: PodRef<'_>) {
        self.log.lock().expect("not poisoned").push(format!("{what} {}", pod.uid.0));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().expect("not poisoned"))
    }
}

impl Plugin for Keeper {
    fn name(&self) -> &'static str {
        "Keeper"
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

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl ReservePlugin for Keeper {
    fn reserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Result<(), Status> {
        self.note("reserve", pod);
        Ok(())
    }

    fn unreserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.note("unreserve", pod);
    }
}

impl PermitPlugin for Keeper {
    fn permit(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        let waits = self.waits_at_permit && pod.class.priority < 100;
        if waits { Permit::Wait { timeout_ns: 600 * SECOND_NS } } else { Permit::Approve }
    }
}

impl PreBindPlugin for Keeper {
    fn pre_bind_pre_flight(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> PreFlight {
        match self.works_before_binding && pod.class.priority < 100 {
            true => PreFlight::Run { allow_parallel: false },
            false => PreFlight::Skip { allow_parallel: false },
        }
    }

    fn pre_bind(&self, _: &mut Handle<'_>, _: PodRef<'_>, _: NodeId, _: &PreBindProgress) -> PreBindStep {
        PreBindStep::Wait { deadline_ns: 600 * SECOND_NS }
    }
}

/// Differs: upstream gives back what the victim had reserved when its binding ends. Here the
/// binding is given up with the pod, so nobody need wait for that.
#[test]
fn deleted_victim_is_unreserved_before_the_preemptor_is_attempted() {
    for is_graceful in [false, true] {
        let keeper = Keeper::default();
        for mut lab in labs(&[Arc::new(keeper.clone())]) {
            lab.pod(1, pod().cpu("2").priority(1));
            assert_eq!(lab.run(), ["1 -> n1"]);
            lab.pod(9, pod().cpu("4").priority(100));
            assert_eq!(fails(&mut lab, 9), ["1"]);
            lab.answer("1 x", Ok(()));
            if is_graceful {
                lab.terminating(1, pod().cpu("2").priority(1), None);
            } else {
                lab.gone(1);
            }
            assert_eq!(lab.run(), ["9 -> n1"]);
            assert_eq!(keeper.take(), ["reserve 1", "unreserve 1", "reserve 9"]);
        }
    }
}

/// Rejects nodes that have a pod, and never believes that an event helps.
#[derive(Clone, Copy, Debug)]
struct Deaf;

impl Plugin for Deaf {
    fn name(&self) -> &'static str {
        "Deaf"
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for Deaf {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_filter<'a>(&self, _: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        PreFilter::Run
    }

    fn verdict(&self, world: &World, _: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if world.nodes().columns().pod_count[row] == 0 {
            return Code::Success;
        }
        reasons.push(Reason::Text("somebody is there"));
        Code::Unschedulable
    }
}

impl EnqueueExtensions for Deaf {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::hinted(EventResource::Pod, ActionType::DELETE)]
    }

    fn queueing_hint(&self, _: &World, _: PodRef<'_>, _: ClusterEvent, _: &ObjectChange<'_>) -> QueueingHint {
        QueueingHint::Skip
    }
}

#[test]
fn gated_preemptor_is_activated_when_its_last_victim_is_deleted_whatever_the_hints() {
    for mut lab in labs(&[Arc::new(Deaf)]) {
        victims(&mut lab, 1..=2, "1", "n1");
        lab.pod(9, pod().cpu("1").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        assert_gated(&mut lab, 9);
        delete(&mut lab, 1);
        lab.calls();
        delete(&mut lab, 2);
        assert_eq!(
            bindings(&lab.run()),
            ["9 -> n1"],
            "although its plugin says that a deletion does not help"
        );
    }
}

#[test]
fn ungated_preemptor_skipped_by_hints_is_flushed() {
    for mut lab in labs(&[Arc::new(Deaf)]) {
        victims(&mut lab, 1..=2, "1", "n1");
        lab.pod(9, pod().cpu("1").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        delete(&mut lab, 1);
        lab.calls();
        delete(&mut lab, 2);
        assert_eq!(lab.run(), [""; 0], "its plugin says that a deletion does not help");
        lab.pass(301 * SECOND_NS);
        lab.pass(30 * SECOND_NS);
        assert_eq!(lab.run(), ["9 -> n1"]);
    }
}

#[test]
fn preemptor_whose_node_was_taken_preempts_on_another_node() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=3, "1", "n1");
        lab.pod(4, pod().cpu("1").priority(1));
        assert_eq!(lab.run(), ["4 -> n1"], "its binding takes long");
        lab.pod(5, pod().cpu("4").priority(50));
        assert_eq!(fails(&mut lab, 5), ["1", "2", "3"]);
        (1..=3).for_each(|uid| delete(&mut lab, uid));
        assert_eq!(lab.calls(), ["4 x"]);
        assert_gated(&mut lab, 5);
        lab.node(&node("n2").cpu("4"));
        victims(&mut lab, 11..=14, "1", "n2");
        lab.pod(6, pod().cpu("2").priority(100));
        assert_eq!(lab.run(), ["6 -> n1"], "three of its CPUs are free");
        delete(&mut lab, 4);
        assert_eq!(fails(&mut lab, 5), ["11", "12", "13"]);
        (11..=13).for_each(|uid| delete(&mut lab, uid));
        lab.calls();
        delete(&mut lab, 14);
        assert_eq!(lab.run(), ["5 -> n2"]);
    }
}

#[test]
fn failed_victim_deletion_ends_preemption_and_requeues_preemptor() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=3, "1", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1", "2"]);
        lab.answer("1 x", Err(CallFailure::Transient));
        assert_gated(&mut lab, 9);
        lab.answer("2 x", Ok(()));
        assert_eq!(lab.calls(), [""; 0], "the last victim is left alone");
        assert_eq!(fails(&mut lab, 9), ["1", "2"], "and tried again at once");
        delete(&mut lab, 1);
        delete(&mut lab, 2);
        assert_eq!(lab.calls(), ["3 x"]);
        lab.answer("3 x", Err(CallFailure::Other));
        assert_eq!(fails(&mut lab, 9), ["3"]);
    }
}

/// kubernetes#141694: the event came while the preemptor was held back, and nothing follows it.
#[test]
fn last_victim_already_deleted_activates_preemptor() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=2, "2", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        fails(&mut lab, 9);
        lab.gone(2);
        assert_gated(&mut lab, 9);
        lab.gone(1);
        assert_gated(&mut lab, 9);
        lab.answer("1 x", Err(CallFailure::NotFound));
        assert_eq!(lab.run(), ["9 -> n1"], "nobody is left to be asked");
    }
}

#[test]
fn not_found_last_victim_still_in_the_cache_is_waited_for() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=1, "2", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        fails(&mut lab, 9);
        lab.answer("1 x", Err(CallFailure::NotFound));
        assert_eq!(lab.run(), [""; 0], "it would only evict the same pod again");
        lab.gone(1);
        assert_eq!(lab.run(), ["9 -> n1"]);
    }
}

/// kubernetes#140082: nothing is deleted, so no event of the API wakes the preemptor.
#[test]
fn victim_waiting_on_permit_or_in_pre_bind_is_rejected_without_a_delete_call() {
    let at_permit = Keeper { waits_at_permit: true, ..Keeper::default() };
    let before_binding = Keeper { works_before_binding: true, ..Keeper::default() };
    for keeper in [at_permit, before_binding] {
        for mut lab in labs(&[Arc::new(keeper.clone())]) {
            lab.pod(1, pod().cpu("2").priority(1));
            lab.run();
            lab.answer_patches();
            lab.pod(9, pod().cpu("4").priority(100));
            assert_eq!(fails(&mut lab, 9), [""; 0]);
            assert!(lab.scheduler.binding_cycles().get(PodUid(1)).is_none());
            assert!(!lab.scheduler.is_pod_running_preemption(PodUid(9)));
            lab.run();
            assert_eq!(lab.standing(9), Some(Standing::Assumed));
            assert_eq!(keeper.take(), ["reserve 1", "unreserve 1", "reserve 9"]);
            assert_ne!(lab.standing(1), Some(Standing::Skipped), "it is tried again");
        }
    }
}

#[test]
fn terminating_victims_are_not_deleted_again() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=1, "2", "n1");
        lab.terminating(2, pod().cpu("2").priority(1), Some("n1"));
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(fails(&mut lab, 9), ["1"]);
        delete(&mut lab, 1);
        fails(&mut lab, 9);
        assert!(!lab.scheduler.is_pod_running_preemption(PodUid(9)));
        lab.gone(2);
        assert_eq!(lab.run(), ["9 -> n1"]);
    }
}

/// Differs: upstream evicts the last victim all the same.
#[test]
fn deleted_preemptor_stops_its_preemption() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=2, "2", "n1");
        lab.pod(9, pod().cpu("4").priority(100));
        fails(&mut lab, 9);
        lab.gone(9);
        lab.answer("1 x", Ok(()));
        assert_eq!(lab.run(), [""; 0]);
        lab.gone(1);
        lab.check_clean();
    }
}

#[test]
fn delete_answer_of_earlier_preemption_does_not_end_the_later_one() {
    for mut lab in labs(&[]) {
        victims(&mut lab, 1..=2, "2", "n1");
        lab.pod(9, pod().cpu("2").priority(100));
        assert_eq!(fails(&mut lab, 9), ["2"]);
        lab.gone(2);
        // Before the preemptor is tried, a pod of its own priority takes the room.
        lab.placed(3, pod().cpu("2").priority(100), "n1");
        assert_eq!(fails(&mut lab, 9), ["1"]);
        lab.answer("2 x", Err(CallFailure::Other));
        assert_gated(&mut lab, 9);
        delete(&mut lab, 1);
        assert_eq!(lab.run(), ["9 -> n1"]);
    }
}

#[test]
fn without_async_preemption_scheduling_blocks_until_victims_are_deleted() {
    let gates = FeatureGates { scheduler_async_preemption: false, ..FeatureGates::default() };
    let mut lab = SchedulerLab::new(settings(gates), Vec::new(), &[("n1", "4"), ("n2", "1")]);
    victims(&mut lab, 1..=2, "2", "n1");
    lab.pod(9, pod().cpu("4").priority(100));
    lab.pod(3, pod().cpu("1"));
    assert_eq!(fails(&mut lab, 9), ["1", "2"], "all of them");
    assert!(!lab.scheduler.has_work());
    assert_eq!(lab.run(), [""; 0], "nobody is tried");
    delete(&mut lab, 1);
    assert_eq!(lab.run(), [""; 0]);
    lab.terminating(2, pod().cpu("2").priority(1), Some("n1"));
    lab.answer("2 x", Ok(()));
    assert_eq!(bindings(&lab.run()), ["3 -> n2"], "the other waits for its victim to go");
    assert_eq!(lab.standing(9), Some(Standing::Unschedulable));
    lab.gone(2);
    assert_eq!(lab.run(), ["9 -> n1"]);
}

#[test]
fn without_async_preemption_failed_deletion_is_retried() {
    let gates = FeatureGates { scheduler_async_preemption: false, ..FeatureGates::default() };
    let mut lab = SchedulerLab::new(settings(gates), Vec::new(), &[("n1", "4")]);
    victims(&mut lab, 1..=1, "2", "n1");
    lab.pod(9, pod().cpu("4").priority(100));
    assert_eq!(fails(&mut lab, 9), ["1"]);
    lab.answer("1 x", Err(CallFailure::Transient));
    assert_eq!(fails(&mut lab, 9), ["1"]);
}

#[test]
fn gated_preemptor_writes_no_pre_enqueue_condition() {
    let gates = FeatureGates {
        scheduler_async_api_calls: true,
        scheduler_pre_enqueue_pod_status: true,
        ..FeatureGates::default()
    };
    let mut lab = SchedulerLab::new(settings(gates), Vec::new(), &[("n1", "4")]);
    victims(&mut lab, 1..=2, "2", "n1");
    lab.pod(9, pod().cpu("4").priority(100));
    fails(&mut lab, 9);
    assert_gated(&mut lab, 9);
    assert_eq!(lab.calls(), [""; 0]);
    let waiting = "waiting for the preemption for this pod to be finished";
    assert_eq!(lab.scheduler.waiting_reasons(1), [(waiting.to_owned(), 1)]);
}

#[test]
fn nominated_node_name_moved_by_preemption_frees_the_node_for_equal_priority() {
    let mut lab =
        SchedulerLab::new(settings(FeatureGates::default()), Vec::new(), &[("n1", "4"), ("n2", "4")]);
    victims(&mut lab, 1..=1, "4", "n2");
    lab.placed(2, pod().cpu("1").priority(200), "n1");
    lab.pod(9, pod().cpu("4").priority(100));
    lab.nominated(9, Some("n1"));
    lab.pod(8, pod().cpu("3").priority(100));
    assert_eq!(fails(&mut lab, 9), ["1"], "its nominated node does not fit any more");
    assert_eq!(lab.nomination(9), Some("n2"));
    assert_eq!(lab.run(), ["8 -> n1"]);
}

#[test]
fn nominated_node_name_update_requeues_pods_it_kept_out() {
    let mut lab =
        SchedulerLab::new(settings(FeatureGates::default()), Vec::new(), &[("n1", "4"), ("n2", "4")]);
    victims(&mut lab, 1..=1, "4", "n2");
    let gated = pod().cpu("4").priority(100).gated("wait");
    lab.pod(9, gated.clone());
    lab.nominated(9, Some("n1"));
    lab.pod(8, pod().cpu("3"));
    assert_eq!(fails(&mut lab, 8), [""; 0], "the room is another's");
    // Its own preemption moves the nomination; the watch tells of it later.
    lab.placed(2, pod().cpu("1").priority(200), "n1");
    lab.pod(9, pod().cpu("4").priority(100));
    assert_eq!(fails(&mut lab, 9), ["1"]);
    assert_eq!(lab.standing(8), Some(Standing::Unschedulable));
    lab.nominated(9, Some("n2"));
    assert_eq!(lab.run(), ["8 -> n1"], "three CPUs of the first node are nobody's any more");
}

#[test]
fn nominated_assigned_pod_reserves_nothing_and_foreign_one_nothing_against_equal_priority() {
    let mut lab = SchedulerLab::new(settings(FeatureGates::default()), Vec::new(), &[("n1", "4")]);
    lab.pod(1, pod().cpu("2").priority(5));
    assert_eq!(lab.run(), ["1 -> n1"]);
    lab.nominated(1, Some("n1"));
    assert_eq!(lab.nomination(1), None, "it is there already");
    lab.pod(2, pod().cpu("2").priority(5).scheduler("other"));
    lab.nominated(2, Some("n1"));
    assert_eq!(lab.nomination(2), Some("n1"), "against lower priorities");
    lab.pod(3, pod().cpu("2").priority(5));
    assert_eq!(lab.run(), ["3 -> n1"]);
}
