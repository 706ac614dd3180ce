//! The state machine, one scenario at a time: what comes in, which calls come out, who is where.

use super::*;
use crate::cycle::probe::NoProbe;
use crate::input::{LabelSelectorInput, NodeInput, PodAffinityTermInput};
use crate::pods::PodState;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

fn priority(priority: i32) -> PodInput {
    pod().cpu("1").priority(priority)
}

/// No room, and nobody to make it.
const NO_CPU: &str = "0/1 nodes are available: 1 Insufficient cpu. \
    preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";
/// The whole node is too small.
const TOO_SMALL: &str = "0/1 nodes are available: 1 Insufficient cpu. \
    preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";

#[test]
fn confirmed_assumed_pod_counts_once() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
    assert_eq!(lab.standing(7), Some(Standing::Assumed));
    assert_eq!(lab.load("n1"), Some((1, 1000)), "an assumed pod counts");
    lab.observe(7, pod().cpu("1"), Some("n1"));
    assert_eq!(lab.standing(7), Some(Standing::Bound));
    assert_eq!(lab.load("n1"), Some((1, 1000)), "and counts once when it is confirmed");
    assert_eq!(lab.run(), [""; 0]);
}

#[test]
fn failed_binding_forgets_assumed_pod_and_backs_off() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.fail_binding(7);
    assert_eq!(lab.standing(7), Some(Standing::Backoff));
    assert_eq!(lab.load("n1"), Some((0, 0)));
    assert_eq!(lab.run(), ["7: the API refused the binding"], "not tried early: the API may be in trouble");
    lab.later();
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.observe(7, pod().cpu("1"), Some("n1"));
    lab.fail_binding(7);
    assert_eq!(lab.standing(7), Some(Standing::Bound), "the watch knew better than the answer");
    lab.fail_binding(99);
}

#[test]
fn failed_binding_requeues_pod_with_priority_updated_while_assumed() {
    let mut lab = SchedulerLab::obliging(&[("n1", "2")]);
    lab.pod(7, priority(0));
    lab.run();
    lab.pod(7, priority(10));
    assert_eq!(lab.standing(7), Some(Standing::Assumed));
    lab.fail_binding(7);
    lab.later();
    lab.pod(8, priority(5));
    assert_eq!(lab.run(), ["7: the API refused the binding", "7 -> n1", "8 -> n1"]);
}

#[test]
fn failed_binding_requeues_pods_waiting_for_resources() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("1"));
    lab.pod(2, priority(-1));
    assert_eq!(lab.run(), ["1 -> n1".to_owned(), format!("2: {NO_CPU}")]);
    lab.fail_binding(1);
    lab.gone(1);
    assert_eq!(lab.run(), ["1: the API refused the binding", "2 -> n1"]);
}

#[test]
fn pod_deleted_in_active_queue_is_not_attempted() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    lab.pod(1, pod().cpu("1"));
    lab.pod(2, pod().cpu("1"));
    lab.gone(1);
    assert_eq!(lab.run(), ["2 -> n1"]);
    assert_eq!(lab.standing(1), None);
    lab.gone(1);
}

#[test]
fn pod_deleted_while_unschedulable_is_not_requeued() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("2"));
    assert_eq!(lab.run(), [format!("1: {TOO_SMALL}")]);
    lab.gone(1);
    lab.node(&node("n1").cpu("4"));
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.scheduler.counts(), PodCounts::default());
}

#[test]
fn delete_of_assumed_or_bound_pod_releases_its_resources() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("1"));
    lab.run();
    lab.gone(1);
    assert_eq!(lab.load("n1"), Some((0, 0)));
    lab.fail_binding(1);
    assert_eq!(lab.scheduler.counts(), PodCounts::default(), "the late answer is about nobody");
    lab.pod(2, pod().cpu("1"));
    assert_eq!(lab.run(), ["2 -> n1"]);
    lab.observe(2, pod().cpu("1"), Some("n1"));
    lab.gone(2);
    assert_eq!(lab.load("n1"), Some((0, 0)));
}

/// The runtime reports a finished pod as removed.
#[test]
fn terminated_pod_requeues_pod_waiting_for_resources() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.observe(1, pod().cpu("1"), Some("n1"));
    lab.pod(2, pod().cpu("1"));
    assert_eq!(lab.run(), [format!("2: {NO_CPU}")]);
    lab.gone(1);
    assert_eq!(lab.run(), ["2 -> n1"]);
}

/// A row is given out again: a place in the queue is not.
#[test]
fn new_pod_in_reused_row_does_not_inherit_queue_position() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    let same_time = |lab: &mut SchedulerLab| lab.now_ns = 100;
    same_time(&mut lab);
    lab.pod(1, priority(9));
    same_time(&mut lab);
    lab.gone(1);
    same_time(&mut lab);
    lab.pod(2, priority(5));
    same_time(&mut lab);
    lab.pod(3, priority(1));
    lab.gone(2);
    same_time(&mut lab);
    lab.pod(4, priority(0));
    assert_eq!(lab.run(), ["3 -> n1", "4 -> n1"]);
}

#[test]
fn pods_of_readded_node_count_again() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    lab.observe(1, pod().cpu("1"), Some("n1"));
    lab.pod(2, pod().cpu("2"));
    lab.run();
    lab.scheduler.on_event(ObjectEvent::node_deleted("n1"), 0);
    assert_eq!(lab.load("n1"), None);
    lab.pod(3, pod().cpu("1"));
    assert_eq!(lab.run(), ["3: no nodes available to schedule pods"]);
    lab.node(&node("n1").cpu("4"));
    assert_eq!(lab.load("n1"), Some((2, 3000)), "the bound and the assumed one");
    lab.later();
    assert_eq!(lab.run(), ["3 -> n1"]);
    lab.scheduler.on_event(ObjectEvent::node_deleted("n1"), 0);
    lab.gone(1);
    lab.observe(2, pod().cpu("2"), Some("n1"));
    lab.node(&node("n1").cpu("4"));
    assert_eq!(lab.load("n1"), Some((2, 3000)), "what happened in between is known");
}

#[test]
fn assigned_pod_of_unknown_node_counts_when_node_is_added() {
    let mut lab = SchedulerLab::obliging(&[]);
    lab.observe(1, pod().cpu("1"), Some("n1"));
    assert_eq!(lab.load("n1"), None);
    lab.node(&node("n1").cpu("1"));
    assert_eq!(lab.load("n1"), Some((1, 1000)));
    lab.scheduler.on_event(ObjectEvent::node_deleted("never-seen"), 0);
}

#[test]
fn queued_pod_bound_by_another_scheduler_is_not_attempted() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4"), ("n2", "4")]);
    lab.pod(1, pod().cpu("1"));
    lab.observe(1, pod().cpu("1"), Some("n2"));
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.standing(1), Some(Standing::Bound));
    assert_eq!(lab.load("n2"), Some((1, 1000)));
}

#[test]
fn assumed_pod_bound_to_another_node_moves() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4"), ("n2", "4")]);
    lab.pod(1, pod().cpu("1"));
    assert_eq!(lab.run(), ["1 -> n1"]);
    lab.observe(1, pod().cpu("1"), Some("n2"));
    assert_eq!((lab.load("n1"), lab.load("n2")), (Some((0, 0)), Some((1, 1000))));
}

#[test]
fn unschedulable_pod_bound_by_another_scheduler_is_not_requeued() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("2"));
    lab.run();
    lab.observe(1, pod().cpu("2"), Some("n1"));
    lab.node(&node("n1").cpu("4"));
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.load("n1"), Some((1, 2000)));
}

#[test]
fn pod_of_another_scheduler_is_not_scheduled() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    let foreign = pod().cpu("1").scheduler("other");
    let ours = pod().cpu("1").scheduler("default-scheduler");
    lab.pod(1, foreign.clone());
    lab.pod(2, ours);
    assert_eq!(lab.run(), ["2 -> n1"]);
    assert_eq!(lab.standing(1), Some(Standing::Foreign));
    lab.observe(1, PodInput { labels: [("a".into(), "b".into())].into(), ..foreign.clone() }, None);
    lab.node(&node("n2").cpu("4"));
    assert_eq!(lab.run(), [""; 0]);
    lab.observe(1, foreign, Some("n1"));
    assert_eq!(lab.load("n1"), Some((2, 2000)), "but it counts where it runs");
    lab.gone(1);
    assert_eq!(lab.load("n1"), Some((1, 1000)));
}

#[test]
fn pod_enters_active_queue_when_its_last_scheduling_gate_is_removed() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    let gated = |gates: &[&str]| PodInput {
        scheduling_gates: gates.iter().map(|&gate| gate.to_owned()).collect(),
        ..pod().cpu("1")
    };
    lab.pod(1, gated(&["a", "b"]));
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.scheduler.counts().gated, 1);
    assert_eq!(lab.scheduler.waiting_reasons(9), [("waiting for scheduling gates: [a b]".to_owned(), 1)]);
    lab.pod(1, gated(&["b"]));
    assert_eq!(lab.standing(1), Some(Standing::Gated));
    lab.pod(1, gated(&[]));
    assert_eq!(lab.standing(1), Some(Standing::Queued));
    assert_eq!(lab.run(), ["1 -> n1"]);
}

#[test]
fn a_gated_pod_can_be_deleted() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    lab.pod(1, pod().cpu("1").gated("a"));
    lab.gone(1);
    assert_eq!(lab.scheduler.counts(), PodCounts::default());
}

#[test]
fn node_add_and_update_requeue_unschedulable_pods() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("2"));
    assert_eq!(lab.run(), [format!("1: {TOO_SMALL}")]);
    lab.node(&node("n2").cpu("1"));
    assert_eq!(lab.standing(1), Some(Standing::Unschedulable), "the new node is too small as well");
    lab.node(&node("n2").cpu("2"));
    assert_eq!(lab.standing(1), Some(Standing::Backoff), "tried early, because nothing else is ready");
    assert_eq!(lab.run(), ["1 -> n2"]);
    lab.pod(2, pod().cpu("3"));
    let too_small = "2: 0/2 nodes are available: 2 Insufficient cpu. \
        preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(lab.run(), [too_small]);
    lab.node(&node("n3").cpu("3"));
    assert_eq!(lab.run(), ["2 -> n3"]);
}

#[test]
fn node_add_or_topology_change_requeues_pod_kept_out_by_anti_affinity_of_others() {
    let zoned = |name: &str, zone: &str| NodeInput {
        labels: [("zone".to_owned(), zone.to_owned())].into(),
        ..node(name).cpu("4")
    };
    let web = || pod().cpu("1").label("app", "web");
    let selector = LabelSelectorInput {
        match_labels: [("app".to_owned(), "web".to_owned())].into(),
        ..LabelSelectorInput::default()
    };
    let term = PodAffinityTermInput {
        label_selector: Some(selector),
        topology_key: "zone".to_owned(),
        ..PodAffinityTermInput::default()
    };
    let mut shy = pod().cpu("1");
    shy.pod_anti_affinity.required = vec![term];
    for change in [zoned("n2", "b"), zoned("n3", "c")] {
        let mut lab = SchedulerLab::obliging(&[]);
        lab.node(&zoned("n1", "a"));
        lab.node(&zoned("n2", "a"));
        lab.observe(7, shy.clone(), Some("n1"));
        lab.pod(1, web());
        let kept = "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.";
        assert!(lab.run()[0].starts_with(&format!("1: {kept}")));
        lab.node(&change);
        assert_eq!(lab.run(), [format!("1 -> {}", change.name)]);
    }
}

#[test]
fn binding_requeues_no_pod() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("2"));
    lab.run();
    lab.pod(2, pod().cpu("1"));
    assert_eq!(lab.run(), ["2 -> n1"]);
    assert_eq!(lab.standing(1), Some(Standing::Unschedulable));
    lab.observe(2, pod().cpu("1"), Some("n1"));
    lab.observe(3, pod().cpu("0"), Some("n1"));
    assert_eq!(lab.standing(1), Some(Standing::Unschedulable));
}

#[test]
fn assigned_pod_scale_down_requeues_unschedulable_pods() {
    let mut lab = SchedulerLab::obliging(&[("n1", "2")]);
    lab.observe(1, pod().cpu("2"), Some("n1"));
    lab.pod(2, pod().cpu("1"));
    assert_eq!(lab.run(), [format!("2: {NO_CPU}")]);
    lab.observe(1, pod().cpu("1"), Some("n1"));
    assert_eq!(lab.load("n1"), Some((1, 1000)));
    assert_eq!(lab.run(), ["2 -> n1"]);
}

#[test]
fn spec_update_requeues_unschedulable_pod() {
    let mut lab = SchedulerLab::obliging(&[("n1", "1")]);
    lab.pod(1, pod().cpu("2"));
    lab.run();
    lab.pod(1, pod().cpu("1"));
    assert_eq!(lab.run(), ["1 -> n1"]);
    lab.pod(1, pod().cpu("1"));
    assert_eq!(lab.standing(1), Some(Standing::Assumed), "an echo of our own write changes nothing");
}

#[test]
fn a_condition_is_written_once_per_distinct_message() {
    let mut lab = SchedulerLab::obliging(&[("n1", "4")]);
    lab.observe(7, pod().cpu("3"), Some("n1"));
    for uid in [8, 9] {
        lab.observe(uid, pod().cpu("0"), Some("n1"));
    }
    lab.pod(1, pod().cpu("2"));
    lab.pod(2, pod().cpu("2"));
    assert_eq!(lab.run(), [format!("1: {NO_CPU}"), format!("2: {NO_CPU}")], "each pod carries its own");
    lab.gone(8);
    assert_eq!(lab.run(), [""; 0], "tried again, for the same reason");
    lab.node(&node("n1").cpu("4").cordoned());
    assert_eq!(lab.run(), [""; 0], "a cordon helps nobody");
    lab.gone(9);
    let cordoned = "0/1 nodes are available: 1 node(s) were unschedulable. \
        preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    assert_eq!(lab.run(), [format!("1: {cordoned}"), format!("2: {cordoned}")]);
    lab.node(&node("n1").cpu("4"));
    assert_eq!(lab.run(), [format!("1: {NO_CPU}"), format!("2: {NO_CPU}")], "back to the first message");
    assert_eq!(lab.scheduler.waiting_reasons(9), [(NO_CPU.to_owned(), 2)]);
}

#[test]
fn pods_are_attempted_by_priority_then_by_age() {
    let mut lab = SchedulerLab::obliging(&[("n1", "2")]);
    for (uid, level) in [(1, 0), (2, 10), (3, -5), (4, 10)] {
        lab.pod(uid, priority(level));
    }
    let binds: Vec<String> = lab.run().into_iter().filter(|call| call.contains("->")).collect();
    assert_eq!(binds, ["2 -> n1", "4 -> n1"], "room for two");
    lab.gone(2);
    let binds: Vec<String> = lab.run().into_iter().filter(|call| call.contains("->")).collect();
    assert_eq!(binds, ["1 -> n1"], "the waiting ones keep their order");
}

#[test]
fn node_add_requeues_pods_of_empty_cluster() {
    let mut lab = SchedulerLab::obliging(&[]);
    lab.pod(1, pod().cpu("1"));
    assert_eq!(lab.run(), ["1: no nodes available to schedule pods"]);
    assert!(lab.scheduler.is_settled(), "trying again and again changes nothing");
    lab.node(&node("n1").cpu("1"));
    assert!(!lab.scheduler.is_settled());
    lab.later();
    assert_eq!(lab.run(), ["1 -> n1"]);
}

/// Any order of events leaves the sums and the states consistent.
#[test]
fn random_events_keep_counts_and_columns_consistent() {
    crate::fake::for_each_seed("random_events_keep_counts_and_columns_consistent", 1000, |rng| {
        let mut lab = SchedulerLab::obliging(&[]);
        let mut assumed: Vec<u64> = Vec::new();
        for _ in 0..150 {
            let uid = rng.range(0..=25) as u64;
            let name = format!("n{}", rng.range(0..=4));
            let (cpu, node_cpu) = (*rng.pick(&["500m", "1", "2"]), *rng.pick(&["1", "2", "4"]));
            match rng.range(0..=10) {
                10 => lab.later(),
                0 | 1 => lab.node(&node(&name).cpu(node_cpu)),
                2 => lab.scheduler.on_event(ObjectEvent::node_deleted(&name), 0),
                3 | 4 => lab.pod(uid, priority_of(rng, cpu)),
                5 => lab.observe(uid, pod().cpu(cpu), Some(&name)),
                6 => lab.gone(uid),
                7 if !assumed.is_empty() => {
                    let uid = *rng.pick(&assumed);
                    lab.fail_binding(uid);
                }
                _ => {
                    for call in lab.run() {
                        let uid: Option<u64> = call.split_once(" -> ").and_then(|(uid, _)| uid.parse().ok());
                        assumed.extend(uid);
                    }
                    assert_eq!(lab.scheduler.counts().queued, 0);
                    assert_eq!(lab.scheduler.queue().counts().in_flight, 0);
                    assert_eq!(lab.scheduler.queue().in_flight_event_count(), 0);
                }
            }
            lab.check_counts();
            check_loads(&mut lab);
        }
    });
}

fn priority_of(rng: &mut crate::fake::Rng, cpu: &str) -> PodInput {
    PodInput { priority: *rng.pick(&[0, 0, 5]), ..pod().cpu(cpu) }
}

/// Every node of the list carries exactly the pods that say they are on it.
fn check_loads(lab: &mut SchedulerLab) {
    for index in 0..=4 {
        let name = format!("n{index}");
        let id = lab.scheduler.node_id(&name);
        let world = lab.scheduler.world();
        let pods: Vec<PodId> = world.pods().on_node(id).collect();
        let cpu_milli: i64 =
            pods.iter().map(|&pod| world.class(world.pods().get(pod).class).placed.cpu_milli).sum();
        for &pod in &pods {
            assert_eq!(world.pods().get(pod).node(), Some(id));
            assert!(matches!(world.pods().get(pod).state, PodState::Assumed | PodState::Bound));
        }
        if let Some(load) = lab.load(&name) {
            assert_eq!(load, (i64::try_from(pods.len()).expect("few pods"), cpu_milli), "{name}");
        }
    }
}

mod volumes {
    use super::*;
    use crate::binding::CallFailure;
    use crate::input::VolumeSourceInput;
    use crate::input::storage::{
        BindingMode, ClaimInput, ClaimRefInput, PersistentVolumeInput, StorageClassInput, StorageInput,
    };

    fn claiming(name: &str) -> PodInput {
        let source = VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false };
        pod().cpu("1").namespaced("ns").mounts("v", source)
    }

    fn claim(name: &str, class: &str) -> ClaimInput {
        ClaimInput {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            uid: format!("{name}-uid"),
            storage_class: Some(class.to_owned()),
            ..ClaimInput::default()
        }
    }

    fn volume(name: &str) -> PersistentVolumeInput {
        PersistentVolumeInput {
            name: name.to_owned(),
            storage_class: "local".to_owned(),
            is_available: true,
            ..PersistentVolumeInput::default()
        }
    }

    fn lab(claims: &[&str]) -> SchedulerLab {
        let mut lab = SchedulerLab::obliging(&[("n1", "4"), ("n2", "4")]);
        for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("csi", "csi.example.com")] {
            lab.storage(StorageInput::StorageClass(StorageClassInput {
                name: name.to_owned(),
                provisioner: provisioner.to_owned(),
                binding_mode: Some(BindingMode::WaitForFirstConsumer),
                ..StorageClassInput::default()
            }));
        }
        for name in claims {
            lab.storage(StorageInput::PersistentVolumeClaim(claim(name, "local")));
        }
        lab.storage(StorageInput::PersistentVolume(volume("pv")));
        lab
    }

    impl SchedulerLab {
        /// Steps and answers until nothing is asked for any more; bindings are answered like this.
        fn run_to_end(&mut self, bind: Result<(), CallFailure>) -> Vec<String> {
            let mut texts = Vec::new();
            let mut calls = Vec::new();
            loop {
                while self.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle {}
                self.scheduler.take_calls(&mut calls);
                if calls.is_empty() {
                    return texts;
                }
                for outgoing in calls.drain(..) {
                    texts.push(outgoing.call.text(self.scheduler.world()));
                    let is_bind = matches!(outgoing.call, ApiCall::Bind { .. });
                    let result = if is_bind { bind } else { Ok(()) };
                    self.scheduler.on_answer(outgoing.id, result, self.now_ns);
                }
            }
        }

        fn storage(&mut self, object: StorageInput) {
            self.event(ObjectEvent::Added(ObjectInput::Storage(&object)));
        }
    }

    const NOTHING: &str = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. \
        preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";

    #[test]
    fn volume_is_assumed_before_binding_and_reverted_when_binding_fails() {
        let mut lab = lab(&["a", "b"]);
        lab.pod(1, claiming("a"));
        while lab.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle {}
        lab.pod(2, claiming("b"));
        // The other pod is tried while the first one's volume is on its way.
        let calls = lab.run_to_end(Err(CallFailure::Conflict));
        let nothing = format!("2: {NOTHING}");
        assert_eq!(calls[..4], ["1 ~ n1", &nothing, "1 volumes a=pv", "1 -> n1"], "{calls:?}");
        // The first pod's binding failed: the volume is there for the next one.
        lab.pod(3, claiming("b"));
        assert_eq!(lab.run_to_end(Ok(())), ["3 ~ n1", "3 volumes b=pv", "3 -> n1"]);
    }

    #[test]
    fn bound_persistent_volume_stays_bound_after_pod_delete() {
        let mut lab = lab(&["a", "b"]);
        lab.pod(1, claiming("a"));
        lab.run_to_end(Ok(()));
        let mut bound = volume("pv");
        bound.claim_ref =
            Some(ClaimRefInput { namespace: "ns".to_owned(), name: "a".to_owned(), uid: "a-uid".to_owned() });
        bound.is_available = false;
        lab.storage(StorageInput::PersistentVolume(bound));
        let mut complete = claim("a", "local");
        complete.volume_name = "pv".to_owned();
        complete.is_bind_completed = true;
        lab.storage(StorageInput::PersistentVolumeClaim(complete));
        lab.observe(1, claiming("a"), Some("n1"));
        lab.gone(1);
        lab.pod(2, claiming("b"));
        assert_eq!(lab.run(), [format!("2: {NOTHING}")]);
        lab.pod(3, claiming("a"));
        assert_eq!(lab.run(), ["3 -> n1"], "nothing is left to bind");
    }

    #[test]
    fn pvc_with_selected_node_keeps_later_pods_on_that_node() {
        let mut lab = lab(&[]);
        lab.storage(StorageInput::PersistentVolumeClaim(claim("c", "csi")));
        lab.pod(1, claiming("c"));
        assert_eq!(lab.run_to_end(Ok(())), ["1 ~ n1", "1 volumes c on n1", "1 -> n1"]);
        // The first node is filled up, but another user of the claim must go there as well.
        lab.observe(7, pod().cpu("3"), Some("n1"));
        lab.pod(2, claiming("c"));
        let calls = lab.run();
        assert!(calls[0].contains("2 node(s)") || calls[0].contains("1 Insufficient cpu"), "{calls:?}");
        assert!(calls[0].contains("1 node(s) didn't find available persistent volumes to bind"), "{calls:?}");
    }
}
