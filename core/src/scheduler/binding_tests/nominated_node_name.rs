//! KEP-5278, rule by rule: who writes `nominatedNodeName`, when, and who clears it.

use super::*;

/// The nomination as the scheduler knows it.
fn nominated(lab: &ProbedLab, uid: u64) -> Option<String> {
    let pods = lab.scheduler.world().pods();
    let node = pods.get(pods.find(PodUid(uid)).expect("known")).nominated()?;
    Some(lab.scheduler.world().node_name(node).to_owned())
}

/// Somebody else nominates a pod.
fn nominate(lab: &mut ProbedLab, uid: u64, node: Option<&str>) {
    let node = node.map(|name| lab.scheduler.node_id(name));
    lab.event(ObjectEvent::nominated_node_name(PodUid(uid), node, 0));
}

fn announcing(nominated_node_name: WriteNominatedNodeName) -> SchedulerSettings {
    SchedulerSettings { nominated_node_name, ..SchedulerSettings::default() }
}

#[test]
fn nominated_node_name_is_written_when_permit_waits_or_pre_bind_has_work() {
    struct Case {
        name: &'static str,
        permit: Option<Permit>,
        pre_flight: Option<PreFlight>,
        is_announced: bool,
    }
    let wait = || Some(Permit::Wait { timeout_ns: SECOND });
    let cases = [
        Case { name: "nobody has work", permit: None, pre_flight: None, is_announced: false },
        Case {
            name: "Permit approves",
            permit: Some(Permit::Approve),
            pre_flight: None,
            is_announced: false,
        },
        Case { name: "Permit waits", permit: wait(), pre_flight: None, is_announced: true },
        Case { name: "PreBind has work", permit: None, pre_flight: Some(WORK), is_announced: true },
        Case { name: "both", permit: wait(), pre_flight: Some(WORK), is_announced: true },
    ];
    for case in cases {
        for is_on in [true, false] {
            let gates =
                FeatureGates { nominated_node_name_for_expectation: is_on, ..FeatureGates::default() };
            let mut lab = ProbedLab::with(gates);
            lab.first.set(|script| {
                script.permit = case.permit.clone();
                script.pre_flight = case.pre_flight.clone();
            });
            lab.pod(7, pod().cpu("1"));
            let said = lab.run();
            let is_announced = said.first().is_some_and(|call| call == "7 ~ n1");
            assert_eq!(is_announced, case.is_announced && is_on, "{}, gate {is_on}: {said:?}", case.name);
        }
    }
}

#[test]
fn nominated_node_name_always_makes_two_calls_a_pod() {
    for (nominated_node_name, wanted) in [
        (WriteNominatedNodeName::Never, 1),
        (WriteNominatedNodeName::WhenNeeded, 1),
        (WriteNominatedNodeName::Always, 2),
    ] {
        for gates in [ProbedLab::new(), ProbedLab::queued()].map(|lab| *lab.scheduler.settings()) {
            let mut lab = ProbedLab::set(SchedulerSettings { nominated_node_name, ..gates });
            lab.pod(7, pod().cpu("1"));
            let mut calls = lab.run();
            while !lab.open.is_empty() {
                lab.answer_next(Ok(()));
                calls.extend(lab.run());
            }
            assert_eq!(calls.len(), wanted, "{nominated_node_name:?}: {calls:?}");
        }
    }
}

#[test]
fn nominated_node_name_never_writes_none() {
    let mut lab = ProbedLab::set(announcing(WriteNominatedNodeName::Never));
    lab.second.set(|script| script.pre_flight = Some(WORK));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
}

#[test]
fn choosing_another_node_overwrites_nominated_node_name() {
    let mut lab = ProbedLab::new();
    lab.second.set(|script| script.pre_flight = Some(WORK));
    lab.pod(7, pod().cpu("1"));
    nominate(&mut lab, 7, Some("full"));
    lab.node(&node("full").cpu("500m"));
    assert_eq!(lab.run(), ["7 ~ n1"]);
    assert_eq!(nominated(&lab, 7).as_deref(), Some("n1"));
}

#[test]
fn preemption_overwrites_nominated_node_name() {
    let mut lab = ProbedLab::new();
    lab.pod(1, pod().cpu("1"));
    lab.run();
    lab.answer_next(Ok(()));
    lab.confirm(1, "n1");
    lab.pod(7, pod().cpu("1").priority(9));
    nominate(&mut lab, 7, Some("not there yet"));
    let said = lab.run();
    assert!(said.contains(&"1 x".to_owned()), "{said:?}");
    assert!(said.iter().any(|call| call.starts_with("7 ~ n1")), "{said:?}");
    assert_eq!(nominated(&lab, 7).as_deref(), Some("n1"));
}

#[test]
fn failed_cycle_clears_nominated_node_name_without_feature_gate_only() {
    for is_on in [true, false] {
        let gates = FeatureGates { nominated_node_name_for_expectation: is_on, ..FeatureGates::default() };
        let mut lab = ProbedLab::with(gates);
        lab.pod(7, pod().cpu("5"));
        nominate(&mut lab, 7, Some("n1"));
        let said = lab.run();
        assert_eq!(said.iter().any(|call| call.starts_with("7 ~:")), !is_on, "gate {is_on}: {said:?}");
        assert_eq!(nominated(&lab, 7).is_some(), is_on);
        let node = lab.scheduler.node_id("n1");
        let held = lab.scheduler.world().nominator().nominated_pods_for_node(node).len();
        assert_eq!(held, usize::from(is_on), "the nominator says what the API says");
    }
}

#[test]
fn failed_binding_keeps_nominated_node_name() {
    let mut lab = ProbedLab::new();
    lab.second.set(|script| {
        script.pre_flight = Some(WORK);
        script.pre_bind = vec![PreBindStep::Reject(Status::error("the disk is gone"))];
    });
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 ~ n1"]);
    lab.answer_next(Ok(()));
    assert_eq!(lab.run(), ["7: the disk is gone"], "no word about the nomination");
    assert_eq!(nominated(&lab, 7).as_deref(), Some("n1"));
}

#[test]
fn binding_clears_nominated_node_name_without_a_call() {
    let mut lab = ProbedLab::new();
    lab.pod(7, pod().cpu("1"));
    nominate(&mut lab, 7, Some("n1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.answer_next(Ok(()));
    lab.confirm(7, "n1");
    assert_eq!(nominated(&lab, 7), None);
    assert!(lab.scheduler.world().nominator().is_empty());
    assert_eq!(lab.run(), [""; 0]);
}

#[test]
fn external_nominated_node_name_reserves_against_equal_and_lower_priority_only() {
    for (priority, fits) in [(4, false), (5, false), (6, true)] {
        let mut lab = ProbedLab::new();
        lab.first.set(|script| script.closed = Some(""));
        lab.pod(7, pod().cpu("1").priority(5));
        lab.first.set(|script| script.closed = None);
        nominate(&mut lab, 7, Some("n1"));
        lab.pod(8, pod().cpu("1").priority(priority));
        let said = lab.run();
        assert_eq!(said.first().is_some_and(|call| call == "8 -> n1"), fits, "priority {priority}: {said:?}");
    }
}

#[test]
fn nominated_pod_gets_node_added_later_before_pods_of_equal_priority() {
    let mut lab = ProbedLab::new();
    lab.pod(8, pod().cpu("2").priority(5));
    lab.pod(7, pod().cpu("2").priority(5));
    nominate(&mut lab, 7, Some("new"));
    lab.run();
    lab.answer_all(Ok(()));
    assert_eq!(nominated(&lab, 7).as_deref(), Some("new"), "a failure does not clear it");
    lab.node(&node("new").cpu("2"));
    lab.pass(10 * SECOND);
    let said = lab.run();
    let bound: Vec<&String> = said.iter().filter(|call| call.contains("->")).collect();
    assert_eq!(bound, ["7 -> new"], "{said:?}");
}

#[test]
fn nominated_node_name_of_missing_node_leaks_nothing() {
    let mut lab = ProbedLab::new();
    for uid in 0..50 {
        lab.pod(uid, pod().cpu("2"));
        nominate(&mut lab, uid, Some(&format!("ghost-{uid}")));
    }
    lab.run();
    assert_eq!(lab.scheduler.world().nominator().len(), 50);
    (0..50).for_each(|uid| lab.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(uid)), 0));
    assert!(lab.scheduler.world().nominator().is_empty());
    lab.scheduler.reclaim();
    let symbols = &lab.scheduler.world().vocabulary.symbols;
    assert!((0..50).all(|uid| symbols.get(&format!("ghost-{uid}")).is_none()), "the names are gone, too");
}

#[test]
fn nominator_follows_external_changes_of_nominated_node_name() {
    let mut lab = ProbedLab::new();
    lab.pod(7, pod().cpu("5"));
    for node in [Some("a"), Some("b"), None, Some("c")] {
        nominate(&mut lab, 7, node);
        assert_eq!(nominated(&lab, 7).as_deref(), node);
        let held = lab.scheduler.world().nominator().len();
        assert_eq!(held, usize::from(node.is_some()));
    }
}

#[test]
fn restarted_scheduler_binds_pod_to_its_nominated_node() {
    let mut lab = ProbedLab::new();
    for name in ["n2", "n3", "n4"] {
        lab.node(&node(name).cpu("1"));
    }
    // What the watch tells a scheduler that knows nothing: a pod, and where it was going.
    lab.pod(7, pod().cpu("1"));
    nominate(&mut lab, 7, Some("n3"));
    assert_eq!(lab.run(), ["7 -> n3"]);
}
