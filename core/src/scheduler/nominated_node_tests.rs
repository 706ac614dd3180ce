//! KEP-1923: the pod's nominated node before all others, or not, and what becomes of a miss.

use super::*;
use crate::testkit::lab::SECOND_NS;
use crate::testkit::{PodParts, SchedulerLab, pod};

impl SchedulerLab {
    /// A plugin asks for a pod to be tried.
    pub(super) fn activate(&mut self, uid: u64) {
        self.scheduler.requests.push(Request::Activate { pod: PodUid(uid) });
        self.scheduler.serve_requests();
    }
}

fn lab(gates: FeatureGates, nominated_node_name_miss: NominatedNodeNameMiss) -> SchedulerLab {
    let settings = SchedulerSettings { gates, nominated_node_name_miss, ..SchedulerSettings::default() };
    let mut lab = SchedulerLab::new(settings, Vec::new(), &[("a", "4"), ("b", "4")]);
    // Scores prefer node a.
    lab.placed(1, pod().cpu("2"), "b");
    lab
}

fn choice(step: &ScheduleOneOutcome) -> Choice {
    let ScheduleOneOutcome::Assumed { choice, .. } = step else { panic!("{step:?}") };
    *choice
}

#[test]
fn fitting_nominated_node_is_chosen_without_evaluating_others() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::FallThrough);
    lab.pod(7, pod().cpu("1").priority(5));
    lab.nominated(7, Some("b"));
    let (step, calls) = lab.step();
    assert_eq!(calls, ["7 -> b"]);
    assert!(choice(&step).via_nominated);
    assert_eq!((choice(&step).evaluated, choice(&step).asked), (1, 1));
}

#[test]
fn without_feature_gate_nominated_node_is_scored_like_any_other() {
    let gates = FeatureGates { try_nominated_node_first: false, ..FeatureGates::default() };
    for miss in [NominatedNodeNameMiss::FallThrough, NominatedNodeNameMiss::Requeue] {
        let mut lab = lab(gates, miss);
        lab.pod(7, pod().cpu("1").priority(5));
        lab.nominated(7, Some("b"));
        let (step, calls) = lab.step();
        assert_eq!(calls, ["7 -> a"], "by its scores");
        assert_eq!((choice(&step).evaluated, choice(&step).asked), (2, 2));
    }
}

#[test]
fn without_feature_gate_nominated_pods_still_reserve() {
    let gates = FeatureGates { try_nominated_node_first: false, ..FeatureGates::default() };
    let mut lab = lab(gates, NominatedNodeNameMiss::FallThrough);
    lab.pod(7, pod().cpu("4").priority(5).gated("wait"));
    lab.nominated(7, Some("a"));
    lab.pod(8, pod().cpu("1").priority(5));
    assert_eq!(lab.run(), ["8 -> b"], "node a is kept for another pod");
}

#[test]
fn unfit_nominated_node_falls_through_to_other_nodes_in_the_same_cycle() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::FallThrough);
    lab.pod(7, pod().cpu("3").priority(5));
    lab.nominated(7, Some("b"));
    let (step, calls) = lab.step();
    assert_eq!(calls, ["7 -> a"]);
    let choice = choice(&step);
    assert!(!choice.via_nominated);
    assert_eq!((choice.evaluated, choice.asked), (2, 3), "the nominated node was asked twice");
}

#[test]
fn unfit_nominated_node_may_be_cleared_and_retried_in_a_fresh_cycle() {
    for is_expected in [true, false] {
        let gates =
            FeatureGates { nominated_node_name_for_expectation: is_expected, ..FeatureGates::default() };
        let mut lab = lab(gates, NominatedNodeNameMiss::Requeue);
        lab.pod(7, pod().cpu("3").priority(5));
        lab.nominated(7, Some("b"));
        let (step, calls) = lab.step();
        assert!(matches!(step, ScheduleOneOutcome::NominatedMissed { .. }), "{step:?}");
        assert_eq!(calls, ["7 ~: nominated node b does not fit the pod any more"]);
        assert_eq!(lab.standing(7), Some(Standing::Queued), "no backoff");
        assert_eq!(lab.nomination(7), None);
        let (step, calls) = lab.step();
        assert_eq!(calls, ["7 -> a"]);
        assert_eq!((choice(&step).evaluated, choice(&step).asked), (2, 2));
    }
}

#[test]
fn missing_nominated_node_counts_as_unfit() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::Requeue);
    lab.pod(7, pod().cpu("3").priority(5));
    lab.nominated(7, Some("gone"));
    assert_eq!(lab.run(), ["7 ~: nominated node gone does not fit the pod any more", "7 -> a"]);
}

#[test]
fn fresh_cycle_after_unfit_nominated_node_may_preempt() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::Requeue);
    lab.placed(2, pod().cpu("4"), "a");
    lab.pod(7, pod().cpu("4").priority(5));
    lab.nominated(7, Some("b"));
    let missed = "7 ~: nominated node b does not fit the pod any more";
    let preempts = "7 ~ a: 0/2 nodes are available: 2 Insufficient cpu. \
        preemption: found a potential placement for pod on node a, preempting 1 victims";
    assert_eq!(lab.run(), [missed, "2 x", preempts]);
}

/// Two nodes full of pods of low priority. Pod 7 evicts pod 1 from node b, which takes its time.
fn lab_with_a_victim_that_lingers(miss: NominatedNodeNameMiss) -> SchedulerLab {
    let mut lab = lab(FeatureGates::default(), miss);
    lab.placed(2, pod().cpu("4").priority(1), "a");
    lab.pod(7, pod().cpu("4").priority(5));
    let calls = lab.run();
    assert_eq!(calls[0], "1 x");
    assert_eq!(lab.nomination(7), Some("b"));
    lab.answer("1 x", Ok(()));
    lab.answer_patches();
    lab.nominated(7, Some("b"));
    lab.leaving(1, pod().cpu("2"), "b");
    lab
}

/// Upstream: default_preemption.go `PodEligibleToPreemptOthers`. Who evicts need not be told by the
/// watch why a victim leaves.
#[test]
fn pod_with_terminating_victims_on_nominated_node_does_not_preempt_again() {
    let mut lab = lab_with_a_victim_that_lingers(NominatedNodeNameMiss::FallThrough);
    lab.activate(7);
    let why = "7: 0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to a terminating \
        pod on the nominated node.";
    assert_eq!(lab.run(), [why], "nobody is evicted, and the nomination stays");
    lab.gone(1);
    assert_eq!(lab.run(), ["7 -> b"]);
}

/// KEP-1923, Alternatives: keeping the nomination while deletions are under way is what it rejects.
#[test]
fn unfit_nominated_node_name_is_cleared_while_victims_terminate() {
    let mut lab = lab_with_a_victim_that_lingers(NominatedNodeNameMiss::Requeue);
    lab.activate(7);
    let (step, calls) = lab.step();
    assert!(matches!(step, ScheduleOneOutcome::NominatedMissed { .. }), "{step:?}");
    assert_eq!(calls, ["7 ~: nominated node b does not fit the pod any more"]);
    assert_eq!(lab.standing(7), Some(Standing::Queued), "no backoff");
    assert_eq!(lab.nomination(7), None);
    // Nothing has changed, so the fresh cycle chooses the same node; its victim is asked to go once.
    let why = "7 ~ b: 0/2 nodes are available: 2 Insufficient cpu. \
        preemption: found a potential placement for pod on node b, preempting 1 victims";
    assert_eq!(lab.run(), [why]);
    lab.gone(1);
    assert_eq!(lab.run(), ["7 -> b"]);
}

/// KEP-1923, Alternatives: nothing has changed on the missed node, so it is chosen again, also if another one
/// would be as good by now. Preemptors that move wake each other with the room they leave.
#[test]
fn unfit_nominated_node_is_chosen_again_while_its_victims_terminate() {
    let mut lab = lab_with_a_victim_that_lingers(NominatedNodeNameMiss::Requeue);
    lab.placed(3, pod().cpu("4").priority(-1), "a");
    lab.leaving(3, pod().cpu("4").priority(-1), "a");
    lab.gone(2);
    lab.pass(SECOND_NS);
    lab.activate(7);
    let (step, _) = lab.step();
    assert!(matches!(step, ScheduleOneOutcome::NominatedMissed { .. }), "{step:?}");
    lab.run();
    assert_eq!(lab.nomination(7), Some("b"), "not to node a, whose victim has a lower priority");
}

/// The same, when the missed node needs another victim: the best candidate is taken.
#[test]
fn unfit_nominated_node_needing_another_victim_is_an_ordinary_candidate() {
    let mut lab = lab_with_a_victim_that_lingers(NominatedNodeNameMiss::Requeue);
    lab.placed(4, pod().cpu("2").priority(2), "b");
    lab.placed(3, pod().cpu("4").priority(-1), "a");
    lab.leaving(3, pod().cpu("4").priority(-1), "a");
    lab.gone(2);
    lab.pass(SECOND_NS);
    lab.activate(7);
    lab.run();
    assert_eq!(lab.nomination(7), Some("a"));
}

/// A scheduler that was restarted does not know whose victims they are.
#[test]
fn unfit_nominated_node_name_is_cleared_while_lower_priority_pods_terminate() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::Requeue);
    lab.placed(2, pod().cpu("1").priority(9), "a");
    lab.leaving(1, pod().cpu("2"), "b");
    lab.pod(7, pod().cpu("3").priority(5));
    lab.nominated(7, Some("b"));
    let missed = "7 ~: nominated node b does not fit the pod any more";
    assert_eq!(lab.run(), [missed, "7 -> a"], "another node has room meanwhile");
}

/// Two pods that wait for the same victims would wake each other, one giving its nomination up and
/// taking it again after the other.
#[test]
fn nominated_node_name_set_again_by_the_next_scheduling_cycle_requeues_no_pod() {
    let mut lab = lab_with_a_victim_that_lingers(NominatedNodeNameMiss::Requeue);
    lab.pod(8, pod().cpu("2").priority(5).never_preempts());
    assert!(lab.run()[0].starts_with("8: 0/2 nodes are available"), "node b is kept for another pod");
    lab.activate(7);
    lab.step();
    lab.nominated(7, None);
    assert_eq!(lab.standing(8), Some(Standing::Unschedulable), "the fresh cycle is still to come");
    lab.run();
    lab.nominated(7, Some("b"));
    assert_eq!(lab.nomination(7), Some("b"));
    assert_eq!(lab.standing(8), Some(Standing::Unschedulable));
}

#[test]
fn pod_bound_elsewhere_after_unfit_nominated_node_requeues_pods_it_kept_out() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::Requeue);
    let held_back = |spec: PodInput| spec.gated("wait");
    lab.pod(7, held_back(pod().cpu("3").priority(5)));
    lab.nominated(7, Some("b"));
    lab.placed(2, pod().cpu("1").priority(9), "a");
    lab.placed(3, pod().cpu("3").priority(9), "a");
    lab.pod(8, pod().cpu("2").priority(5));
    assert!(lab.run()[0].starts_with("8: 0/2 nodes are available"), "node b is kept for another pod");
    lab.gone(3);
    lab.pod(7, pod().cpu("3").priority(5));
    let missed = "7 ~: nominated node b does not fit the pod any more";
    assert_eq!(lab.run(), [missed, "7 -> a", "8 -> b"]);
}

/// kubernetes#134859.
#[test]
fn pod_bound_to_another_than_its_nominated_node_requeues_pods_it_kept_out() {
    let gates = FeatureGates { try_nominated_node_first: false, ..FeatureGates::default() };
    let settings = SchedulerSettings { gates, ..SchedulerSettings::default() };
    let mut lab = SchedulerLab::new(settings, Vec::new(), &[("a", "2900m"), ("b", "4")]);
    lab.placed(1, pod().cpu("1").priority(9), "b");
    lab.pod(7, pod().cpu("1").priority(5).gated("wait"));
    lab.nominated(7, Some("b"));
    lab.pod(8, pod().cpu("3").priority(5));
    assert!(lab.run()[0].starts_with("8: 0/2 nodes are available"), "node b is kept for another pod");
    lab.pod(7, pod().cpu("1").priority(5));
    assert_eq!(lab.run(), ["7 -> a", "8 -> b"], "by its scores, and nothing else has happened");
}

/// The same, when somebody else binds it.
#[test]
fn nominated_pod_bound_elsewhere_by_another_scheduler_requeues_pods_it_kept_out() {
    let mut lab = lab(FeatureGates::default(), NominatedNodeNameMiss::FallThrough);
    lab.placed(2, pod().cpu("4").priority(9), "a");
    lab.pod(7, pod().cpu("2").priority(5).gated("wait"));
    lab.nominated(7, Some("b"));
    lab.pod(8, pod().cpu("2"));
    assert!(lab.run()[0].starts_with("8: 0/2 nodes are available"), "node b is kept for another pod");
    lab.placed(7, pod().cpu("2").priority(5), "gone");
    assert_eq!(lab.run(), ["8 -> b"]);
}
