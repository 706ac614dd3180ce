//! Pod groups from the watch to their bindings. Situations of upstream's
//! test/integration/scheduler/podgroup.

use super::*;
use crate::input::pod_group::{DisruptionMode, PodGroupInput, PodGroupPolicy};
use crate::known_gaps::KnownGaps;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

const NAMESPACE: &str = "default";

fn lab(nodes: &[(&str, &str)]) -> SchedulerLab {
    let gates = FeatureGates { generic_workload: true, ..FeatureGates::default() };
    SchedulerLab::new(SchedulerSettings { gates, ..SchedulerSettings::default() }, Vec::new(), nodes)
}

fn group_of(name: &str, policy: PodGroupPolicy, priority: i32) -> Arc<PodGroupInput> {
    let (namespace, name) = (NAMESPACE.to_owned(), name.to_owned());
    Arc::new(PodGroupInput { namespace, name, policy, priority, ..PodGroupInput::default() })
}

fn gang(lab: &mut SchedulerLab, name: &str, min_count: i32) {
    let group = group_of(name, PodGroupPolicy::Gang { min_count }, 0);
    lab.event(ObjectEvent::Added(ObjectInput::PodGroup(&group)));
}

fn remove_group(lab: &mut SchedulerLab, name: &str) {
    let object = NamedObject { kind: ObjectKind::PodGroup, namespace: NAMESPACE, name };
    lab.event(ObjectEvent::Deleted(ObjectRef::Named(object)));
}

fn member(lab: &mut SchedulerLab, uid: u64, spec: PodInput, group: &str) {
    let class = lab.scheduler.compile(&Arc::new(spec));
    let group = lab.scheduler.pod_group_id(NAMESPACE, group);
    let update = PodUpdate { uid: PodUid(uid), class, group, created_ns: uid, ..PodUpdate::default() };
    lab.event(ObjectEvent::pod(update));
}

fn members(lab: &mut SchedulerLab, uids: std::ops::RangeInclusive<u64>, cpu: &str, group: &str) {
    uids.for_each(|uid| member(lab, uid, pod().cpu(cpu), group));
}

/// The bindings that came up.
fn bound(lab: &mut SchedulerLab) -> Vec<String> {
    lab.run().into_iter().filter(|call| call.contains("->")).collect()
}

#[test]
fn gang_is_bound_at_once_when_its_last_member_comes() {
    let mut lab = lab(&[("n1", "4"), ("n2", "4")]);
    gang(&mut lab, "gang", 3);
    members(&mut lab, 1..=2, "1", "gang");
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.standing(1), Some(Standing::Gated));
    members(&mut lab, 3..=3, "1", "gang");
    let calls = lab.run();
    assert_eq!(calls.iter().filter(|call| call.contains("->")).count(), 3, "{calls:?}");
    assert!(calls.contains(&"group gang: true Scheduled: ".to_owned()), "{calls:?}");
}

#[test]
fn member_of_a_group_that_does_not_exist_waits_for_it_and_says_so() {
    let mut lab = lab(&[("n1", "4")]);
    members(&mut lab, 1..=1, "1", "late");
    assert_eq!(lab.run(), [""; 0]);
    assert_eq!(lab.standing(1), Some(Standing::Gated));
    let (reason, count) = lab.scheduler.waiting_reasons(1).remove(0);
    assert_eq!(
        (reason.as_str(), count),
        ("waiting for pods's pod group \"late\" to appear in scheduling queue", 1)
    );
    gang(&mut lab, "late", 1);
    assert_eq!(bound(&mut lab), ["1 -> n1"]);
}

#[test]
fn gang_that_does_not_fit_takes_no_room_and_is_tried_again_after_its_backoff() {
    let mut lab = lab(&[("n1", "2")]);
    gang(&mut lab, "gang", 3);
    members(&mut lab, 1..=3, "1", "gang");
    assert_eq!(bound(&mut lab), [""; 0]);
    assert_eq!(lab.load("n1"), Some((0, 0)));
    assert_eq!(lab.standing(2), Some(Standing::Backoff));
    lab.pod(9, pod().cpu("2"));
    assert_eq!(bound(&mut lab), ["9 -> n1"], "nothing is held for the gang");
    lab.node(&node("n2").cpu("4"));
    lab.later();
    assert_eq!(bound(&mut lab).len(), 3);
}

#[test]
fn two_gangs_that_fit_one_at_a_time_do_not_share_the_room() {
    let mut lab = lab(&[("n1", "2"), ("n2", "1")]);
    gang(&mut lab, "a", 3);
    gang(&mut lab, "b", 3);
    for uid in 1..=3 {
        members(&mut lab, uid..=uid, "1", "a");
        members(&mut lab, uid + 10..=uid + 10, "1", "b");
    }
    let calls = bound(&mut lab);
    assert_eq!(calls.len(), 3, "{calls:?}");
    let of_a = calls.iter().filter(|call| call.len() == "1 -> n1".len()).count();
    assert!(of_a == 0 || of_a == 3, "{calls:?}");
}

#[test]
fn member_that_comes_later_is_bound_by_itself() {
    let mut lab = lab(&[("n1", "8")]);
    gang(&mut lab, "gang", 2);
    members(&mut lab, 1..=2, "1", "gang");
    assert_eq!(bound(&mut lab).len(), 2);
    members(&mut lab, 3..=3, "1", "gang");
    assert_eq!(bound(&mut lab), ["3 -> n1"]);
}

#[test]
fn group_that_is_deleted_while_its_members_wait_leaves_them_waiting() {
    let mut lab = lab(&[("n1", "1")]);
    gang(&mut lab, "gang", 2);
    members(&mut lab, 1..=2, "1", "gang");
    assert_eq!(bound(&mut lab), [""; 0]);
    remove_group(&mut lab, "gang");
    lab.node(&node("n2").cpu("4"));
    lab.later();
    assert_eq!(bound(&mut lab), [""; 0]);
    assert_eq!(lab.standing(1), Some(Standing::Gated));
    gang(&mut lab, "gang", 2);
    assert_eq!(bound(&mut lab).len(), 2);
}

#[test]
fn members_that_are_deleted_make_their_gang_wait() {
    let mut lab = lab(&[("n1", "1")]);
    gang(&mut lab, "gang", 2);
    members(&mut lab, 1..=3, "1", "gang");
    assert_eq!(bound(&mut lab), [""; 0], "one of two fits");
    lab.gone(1);
    lab.gone(2);
    lab.node(&node("n2").cpu("4"));
    lab.later();
    assert_eq!(bound(&mut lab), [""; 0], "pod 3 is alone");
    members(&mut lab, 4..=4, "1", "gang");
    lab.later();
    assert_eq!(bound(&mut lab).len(), 2);
}

#[test]
fn member_whose_binding_failed_comes_back() {
    let mut lab = lab(&[("n1", "4")]);
    gang(&mut lab, "gang", 2);
    members(&mut lab, 1..=2, "1", "gang");
    assert_eq!(bound(&mut lab).len(), 2);
    lab.placed(1, pod().cpu("1"), "n1");
    lab.fail_binding(2);
    lab.later();
    assert_eq!(bound(&mut lab), ["2 -> n1"]);
}

#[test]
fn members_of_another_priority_than_their_group_are_an_error() {
    let mut lab = lab(&[("n1", "4")]);
    gang(&mut lab, "gang", 2);
    member(&mut lab, 1, pod().cpu("1"), "gang");
    member(&mut lab, 2, PodInput { priority: 5, ..pod().cpu("1") }, "gang");
    let calls = lab.run();
    assert!(calls.iter().all(|call| !call.contains("->")), "{calls:?}");
    let said = "false SchedulerError: all pods in a single pod group should have the same priority";
    assert!(calls.iter().any(|call| call.contains(said)), "{calls:?}");
}

#[test]
fn group_preempts_in_the_whole_cluster_and_is_bound_when_its_victims_are_gone() {
    let mut lab = lab(&[("n1", "1"), ("n2", "1")]);
    let low = PodInput { priority: -5, ..pod().cpu("1") };
    lab.placed(11, low.clone(), "n1");
    lab.placed(12, low, "n2");
    gang(&mut lab, "gang", 2);
    members(&mut lab, 1..=2, "1", "gang");
    let calls = lab.run();
    let evicted: Vec<&String> = calls.iter().filter(|call| call.ends_with(" x")).collect();
    assert!(!evicted.is_empty(), "{calls:?}");
    assert_eq!((lab.nomination(1).is_some(), lab.nomination(2).is_some()), (true, true));
    lab.answer_all(Ok(()));
    lab.gone(11);
    lab.calls();
    lab.answer_all(Ok(()));
    lab.gone(12);
    lab.later();
    assert_eq!(bound(&mut lab).len(), 2);
}

#[test]
fn failed_member_gives_its_nomination_back_unless_known_gaps_are_upstreams() {
    for (known_gaps, expected) in [(KnownGaps::Mended, None), (KnownGaps::Upstream, Some("n1"))] {
        // With KEP-5278 no failed attempt takes a nomination back.
        let gates = FeatureGates {
            generic_workload: true,
            nominated_node_name_for_expectation: false,
            ..FeatureGates::default()
        };
        let settings = SchedulerSettings { gates, known_gaps, ..SchedulerSettings::default() };
        let mut lab = SchedulerLab::new(settings, Vec::new(), &[("n1", "1")]);
        gang(&mut lab, "gang", 2);
        members(&mut lab, 1..=2, "2", "gang");
        lab.nominated(1, Some("n1"));
        lab.run();
        assert_eq!(lab.nomination(1), expected, "{known_gaps:?}");
    }
}

#[test]
fn pods_without_a_group_are_scheduled_one_by_one_beside_gangs() {
    let mut lab = lab(&[("n1", "4")]);
    gang(&mut lab, "gang", 2);
    members(&mut lab, 1..=1, "1", "gang");
    lab.pod(5, pod().cpu("1"));
    assert_eq!(bound(&mut lab), ["5 -> n1"]);
    members(&mut lab, 2..=2, "1", "gang");
    assert_eq!(bound(&mut lab).len(), 2);
}

#[test]
fn pods_that_name_groups_are_scheduled_one_by_one_without_the_gate() {
    let mut lab = SchedulerLab::new(SchedulerSettings::default(), Vec::new(), &[("n1", "4")]);
    gang(&mut lab, "gang", 5);
    members(&mut lab, 1..=1, "1", "gang");
    assert_eq!(lab.run(), ["1 -> n1"]);
}

/// A gang of two, a pod of each on `n1` and `n2`, and a pod that wants `n1` or `n2`: who goes for it.
fn victims_of_a_pod(disruption_mode: DisruptionMode, group_priority: i32) -> Vec<u64> {
    let mut lab = lab(&[("n1", "2"), ("n2", "2")]);
    let policy = PodGroupPolicy::Gang { min_count: 2 };
    let group = PodGroupInput { disruption_mode, ..(*group_of("gang", policy, group_priority)).clone() };
    lab.event(ObjectEvent::Added(ObjectInput::PodGroup(&Arc::new(group))));
    for uid in 1..=2 {
        member(&mut lab, uid, pod().cpu("2").priority(group_priority), "gang");
    }
    assert_eq!(bound(&mut lab).len(), 2);
    lab.scheduler.note_preemptions(true);
    lab.pod(9, pod().cpu("2").priority(5));
    lab.run();
    let mut victims: Vec<u64> =
        lab.scheduler.take_preemptions().into_iter().map(|(victim, _)| victim.0).collect();
    victims.sort_unstable();
    victims
}

#[test]
fn pod_that_preempts_takes_a_group_of_disruption_mode_all_as_a_whole() {
    assert_eq!(victims_of_a_pod(DisruptionMode::Single, 1).len(), 1);
    assert_eq!(victims_of_a_pod(DisruptionMode::All, 1), [1, 2]);
    assert_eq!(victims_of_a_pod(DisruptionMode::All, 7), [0; 0], "the group is more important");
}

#[test]
fn group_whose_first_check_fails_ends_in_an_error_of_dynamic_resources() {
    let mut lab = lab(&[("n1", "4")]);
    gang(&mut lab, "gang", 3);
    members(&mut lab, 1..=3, "1", "gang");
    // One goes before the group is tried, as it may while the entry is in the active queue.
    let terminating = PodInput { is_terminating: true, ..pod().cpu("1") };
    member(&mut lab, 3, terminating, "gang");
    let calls = lab.run();
    assert!(calls.iter().all(|call| !call.contains("->")), "{calls:?}");
    let said = "false SchedulerError: error in \"DynamicResources\" PodGroupPostFilter plugins: not found";
    assert!(calls.iter().any(|call| call.contains(said)), "{calls:?}");
}
