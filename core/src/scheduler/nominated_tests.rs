//! KEP-1923: the pod's nominated node before all others, or not, and what becomes of a miss.

use super::lab::{Lab, pod};
use super::*;

fn lab(gates: FeatureGates, nominated_node_miss: NominatedNodeMiss) -> Lab {
    let settings = SchedulerSettings { gates, nominated_node_miss, ..SchedulerSettings::default() };
    let mut lab = Lab::new(settings, Vec::new(), &[("a", "4"), ("b", "4")]);
    // Scores prefer node a.
    lab.placed(1, pod("2", 0), "b");
    lab
}

fn choice(step: &Step) -> Choice {
    let Step::Assumed { choice, .. } = step else { panic!("{step:?}") };
    *choice
}

#[test]
fn the_nominated_node_is_taken_without_a_look_at_others() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeMiss::FallThrough);
    lab.pod(7, pod("1", 5));
    lab.nominated(7, Some("b"));
    let (step, calls) = lab.step();
    assert_eq!(calls, ["7 -> b"]);
    assert!(choice(&step).via_nominated);
    assert_eq!((choice(&step).evaluated, choice(&step).asked), (1, 1));
}

#[test]
fn without_the_gate_the_nominated_node_is_a_node_like_any_other() {
    let gates = FeatureGates { try_nominated_node_first: false, ..FeatureGates::default() };
    for miss in [NominatedNodeMiss::FallThrough, NominatedNodeMiss::Requeue] {
        let mut lab = lab(gates, miss);
        lab.pod(7, pod("1", 5));
        lab.nominated(7, Some("b"));
        let (step, calls) = lab.step();
        assert_eq!(calls, ["7 -> a"], "by its scores");
        assert_eq!((choice(&step).evaluated, choice(&step).asked), (2, 2));
    }
}

#[test]
fn without_the_gate_nominations_still_hold_room() {
    let gates = FeatureGates { try_nominated_node_first: false, ..FeatureGates::default() };
    let mut lab = lab(gates, NominatedNodeMiss::FallThrough);
    lab.pod(7, PodInput { scheduling_gates: vec!["wait".to_owned()], ..pod("4", 5) });
    lab.nominated(7, Some("a"));
    lab.pod(8, pod("1", 5));
    assert_eq!(lab.run(), ["8 -> b"], "node a is kept for another pod");
}

#[test]
fn a_miss_falls_through_to_the_others_in_the_same_cycle() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeMiss::FallThrough);
    lab.pod(7, pod("3", 5));
    lab.nominated(7, Some("b"));
    let (step, calls) = lab.step();
    assert_eq!(calls, ["7 -> a"]);
    let choice = choice(&step);
    assert!(!choice.via_nominated);
    assert_eq!((choice.evaluated, choice.asked), (2, 3), "the nominated node was asked twice");
}

#[test]
fn a_miss_may_start_a_fresh_cycle_without_the_nomination() {
    for is_expected in [true, false] {
        let gates =
            FeatureGates { nominated_node_name_for_expectation: is_expected, ..FeatureGates::default() };
        let mut lab = lab(gates, NominatedNodeMiss::Requeue);
        lab.pod(7, pod("3", 5));
        lab.nominated(7, Some("b"));
        let (step, calls) = lab.step();
        assert!(matches!(step, Step::NominatedMissed { .. }), "{step:?}");
        assert_eq!(calls, ["7 ~: nominated node b does not fit the pod any more"]);
        assert_eq!(lab.standing(7), Some(Standing::Queued), "no backoff");
        assert_eq!(lab.nomination(7), None);
        let (step, calls) = lab.step();
        assert_eq!(calls, ["7 -> a"]);
        assert_eq!((choice(&step).evaluated, choice(&step).asked), (2, 2));
    }
}

#[test]
fn a_nominated_node_that_is_not_there_is_a_miss() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeMiss::Requeue);
    lab.pod(7, pod("3", 5));
    lab.nominated(7, Some("gone"));
    assert_eq!(lab.run(), ["7 ~: nominated node gone does not fit the pod any more", "7 -> a"]);
}

#[test]
fn a_fresh_cycle_may_preempt() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeMiss::Requeue);
    lab.placed(2, pod("4", 0), "a");
    lab.pod(7, pod("4", 5));
    lab.nominated(7, Some("b"));
    let missed = "7 ~: nominated node b does not fit the pod any more";
    let preempts = "7 ~ a: 0/2 nodes are available: 2 Insufficient cpu. \
        preemption: found a potential placement for pod on node a, preempting 1 victims";
    assert_eq!(lab.run(), [missed, "2 x", preempts]);
}
