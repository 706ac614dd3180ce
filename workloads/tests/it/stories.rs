//! The user stories of the proposals, with and without, in virtual time: what each is about.

use schedlab_core::scheduler::WriteNominatedNodeName;
use schedlab_workloads::executor::{Outcome, RunSettings};

use crate::support::{SETTINGS, run_case};

#[derive(Clone, Copy, PartialEq)]
enum Feature {
    Without,
    With,
}

/// A test case of the suite, with these feature gates.
fn told(case: &str, gates: &[(&str, bool)], writes: WriteNominatedNodeName) -> Outcome {
    run_case("stories", case, gates, RunSettings { nominated_node_name: writes, ..SETTINGS })
}

/// With KEP-5278 or without.
fn expected(case: &str, feature: Feature) -> Outcome {
    let is_on = feature == Feature::With;
    let writes = if is_on { WriteNominatedNodeName::WhenNeeded } else { WriteNominatedNodeName::Never };
    told(case, &[("NominatedNodeNameForExpectation", is_on)], writes)
}

#[track_caller]
fn counter(outcome: &Outcome, who: &str, what: &str) -> u64 {
    outcome.controllers.iter().find(|report| report.controller == who).expect("it ran").counter(what)
}

/// Milliseconds until the last pod was bound.
fn all_bound_ms(outcome: &Outcome) -> u64 {
    let part = &outcome.collected[0];
    assert_eq!(part.pending, 0);
    (part.end_ns - part.start_ns) / 1_000_000
}

#[test]
fn nominated_nodes_are_not_removed_while_pods_are_being_bound() {
    let removed = |feature| {
        let outcome = expected("ScaleDownWhileBinding", feature);
        let count = |what| counter(&outcome, "cluster-autoscaler", what);
        (count("nodes_removed"), count("nodes_removed_wrongly"))
    };
    let (removed_without, wrongly) = removed(Feature::Without);
    assert!(
        removed_without == 40 && 10 <= wrongly,
        "all looked idle, and pods were on their way to {wrongly}"
    );
    assert_eq!(removed(Feature::With), (40 - wrongly, 0), "those that nobody was on the way to");
}

#[test]
fn restarted_scheduler_goes_on_where_it_was() {
    let same = |feature| {
        let outcome = expected("RestartWhileBinding", feature);
        assert_eq!(counter(&outcome, "restartScheduler", "pods_held"), 20);
        counter(&outcome, "restartScheduler", "same_node")
    };
    assert!(same(Feature::Without) < 10);
    assert_eq!(same(Feature::With), 20);
}

#[test]
fn nominated_pods_get_the_nodes_that_were_added_for_them() {
    let without = expected("ScaleUpUnnominated", Feature::Without);
    let with = expected("ScaleUpNominated", Feature::With);
    let added = |outcome| counter(outcome, "cluster-autoscaler", "nodes_added");
    assert_eq!(added(&with), 20, "ten small ones and ten large ones");
    assert!(added(&with) < added(&without), "{}", added(&without));
    assert!(all_bound_ms(&with) < all_bound_ms(&without));
}

#[test]
fn nominated_job_holds_its_places_in_a_rack() {
    let without = expected("KueuePinned", Feature::Without);
    let with = expected("KueueNominated", Feature::With);
    for outcome in [&without, &with] {
        assert_eq!(counter(outcome, "kueue", "pods_as_decided"), 4);
        assert_eq!(counter(outcome, "kueue", "groups_together"), 1);
    }
    assert!(2 * all_bound_ms(&with) < all_bound_ms(&without), "it does not wait for the others to end");
}

#[test]
fn pods_leave_nodes_whose_labels_no_longer_suit_them() {
    let evicted = |case, is_on| {
        let gates = [("NodeAffinityRequiredDuringExecution", is_on)];
        let outcome = told(case, &gates, WriteNominatedNodeName::WhenNeeded);
        let report = outcome.controllers.iter().find(|it| it.controller == "taint-eviction-controller");
        report.map_or(0, |report| report.counter("evicted_by_affinity"))
    };
    assert_eq!((evicted("MoveCaches", false), evicted("MoveCaches", true)), (0, 200));
    let (without, with) = (evicted("MoveTenant", false), evicted("MoveTenant", true));
    assert_eq!((without, with), (0, 100), "all of user B, none of user A");
    let with = evicted("ShareDisks", true);
    assert!(0 < with && with <= 100, "those that want more than 20 GB, on half of the nodes: {with}");
}

#[test]
fn pods_held_back_say_why_and_the_autoscaler_hears_it() {
    let told = |case, is_on| {
        let gates = [("SchedulerAsyncAPICalls", true), ("SchedulerPreEnqueuePodStatus", is_on)];
        told(case, &gates, WriteNominatedNodeName::WhenNeeded)
    };
    let patches = |is_on| {
        let outcome = told("ProvisionForHeldBack", is_on);
        let patches = outcome.collected[0].calls.get("PATCH pods/status").copied().unwrap_or(0);
        (patches, counter(&outcome, "cluster-autoscaler", "nodes_added"))
    };
    assert_eq!(patches(false), (0, 0));
    assert_eq!(patches(true), (20, 1));
    assert_eq!(told("WaitForClaim", true).collected[0].scheduled, 200);
}

#[test]
fn pods_beyond_a_deferred_quota_wait_and_say_so() {
    let told = |is_on| {
        let gates = [("SchedulerAsyncAPICalls", true), ("SchedulerPreEnqueuePodStatus", is_on)];
        let outcome = told("DeferredQuota", &gates, WriteNominatedNodeName::WhenNeeded);
        assert_eq!(counter(&outcome, "countPods", "pods"), 5, "no more than the quota are on nodes");
        assert_eq!(all_bound_ms(&outcome) / 100, 3, "four rounds of five pods");
        outcome.collected[0].calls.get("PATCH pods/status").copied().unwrap_or(0)
    };
    let (without, with) = (told(false), told(true));
    assert!(15 <= with && without < with, "{without} and {with} statuses");
}

#[test]
fn pods_of_an_incomplete_gang_wait_and_say_so() {
    let told = |is_on| {
        let gates = [("SchedulerAsyncAPICalls", true), ("SchedulerPreEnqueuePodStatus", is_on)];
        let outcome = told("GangWaits", &gates, WriteNominatedNodeName::WhenNeeded);
        assert_eq!(counter(&outcome, "countPods", "pending"), 3, "three of four are no gang");
        assert_eq!(all_bound_ms(&outcome) / 100, 1, "all are bound once the fourth has come");
        outcome.collected[0].calls.get("PATCH pods/status").copied().unwrap_or(0)
    };
    assert_eq!(told(false), 0);
    assert!(3 <= told(true), "each says that it waits");
}
