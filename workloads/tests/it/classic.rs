//! The classic designs, with and without, in virtual time: what each case is about.

use schedlab_workloads::executor::Outcome;
use schedlab_workloads::suites;

use crate::support::{SETTINGS, count_of, run_case};

fn outcome(case: &str) -> Outcome {
    run_case("classic", case, &[], SETTINGS)
}

/// What `countPods` found without and with.
fn counted(what: &str, [without, with]: [&str; 2]) -> [u64; 2] {
    [without, with].map(|case| count_of(&outcome(case), "countPods", what))
}

#[test]
fn each_design_does_what_it_is_for() {
    let pods = [
        (["JobsPodByPod", "JobsAsGangs"], [8, 6]),
        (["ZonesUnspread", "ZonesSpread"], [80, 50]),
        (["Fragmented", "FragmentedRescheduled"], [0, 1]),
        (["QueueWithoutPriority", "QueueByPriority"], [0, 20]),
        (["FullWithoutPreemption", "FullWithPreemption"], [0, 10]),
        (["UrgentWithoutQuota", "UrgentWithQuota"], [20, 5]),
        (["ImpatientPods", "PatientPods"], [0, 50]),
        (["CriticalPodWaits", "CriticalPodHelped"], [0, 1]),
    ];
    for (cases, expected) in pods {
        assert_eq!(counted("pods", cases), expected, "{cases:?}");
    }
    let [anywhere, in_zone] = counted("pods", ["AnyZone", "RequiredZone"]);
    assert!(anywhere < 50 && in_zone == 100, "{anywhere} of 100 pods by chance, {in_zone} as required");
    let [shared, dedicated] = counted("pods", ["SharedNodes", "DedicatedNodes"]);
    assert!(
        20 < shared && dedicated == 0,
        "{shared} of 100 pods on shared nodes, {dedicated} on dedicated ones"
    );
}

#[test]
fn pods_lie_on_nodes_as_each_design_says() {
    let most = |case| count_of(&outcome(case), "countPods", "most_on_a_node");
    for (case, expected) in [("ReplicasApart", 1), ("PodsWithVolumes", 5), ("PodsOfADaemonSet", 1)] {
        assert_eq!(most(case), expected, "{case}");
    }
    assert_eq!(most("PolicyOfAFile"), 80, "a node is full before the next one is taken");
    assert!(most("PolicyOfDefault") < 10, "100 pods on 20 nodes are spread");
}

#[test]
fn pods_are_moved_onto_nodes_that_join() {
    let on_new = |case| {
        let outcome = outcome(case);
        let moved = count_of(&outcome, "descheduler", "pods_evicted")
            + count_of(&outcome, "rescheduler", "pods_moved");
        (count_of(&outcome, "countPods", "pods"), moved)
    };
    assert_eq!(on_new("NodesJoinFullCluster"), (0, 0));
    for case in ["NodesJoinDescheduled", "NodesJoinRedistributed"] {
        let (on_new, moved) = on_new(case);
        assert!(6 <= on_new && on_new <= moved, "{case}: {on_new} on the new nodes, {moved} moved");
    }
}

#[test]
fn several_schedulers_place_every_pod() {
    assert_eq!(count_of(&outcome("OneScheduler"), "schedulers", "count"), 0, "nothing is said of one");
    for case in ["SchedulersOfOneName", "SchedulersOfTwoNames"] {
        let outcome = outcome(case);
        let lost = count_of(&outcome, "kubelet", "pods_refused");
        assert_eq!(count_of(&outcome, "countPods", "pods") + lost, 310, "{case}: a refused pod has ended");
        let races = count_of(&outcome, "schedulers", "calls_refused");
        assert_eq!(0 < races, case == "SchedulersOfOneName", "only those of one name race for pods");
    }
}

#[test]
fn every_node_gets_its_pod_of_the_daemon_set() {
    assert_eq!(counted("pods", ["PodsForAnyNode", "PodsOfADaemonSet"]), [100, 100]);
}

#[test]
fn every_case_of_the_suites_is_in_a_study_and_the_other_way_round() {
    for suite in ["classic", "delayed-binding", "stories"] {
        let mut cases: Vec<String> = suites::load(suite)
            .unwrap()
            .test_cases()
            .map(|case| format!("{}/{}", case.name, case.workloads[0].name))
            .collect();
        let studies = suites::studies(suite).unwrap();
        let cells = studies.iter().flat_map(|study| study.points()).flatten();
        let mut shown: Vec<String> = cells.map(|cell| cell.workload).collect();
        cases.sort();
        shown.sort();
        shown.dedup();
        assert_eq!(shown, cases, "{suite}");
    }
}

#[test]
fn volumes_are_bound_when_their_pods_have_nodes() {
    for case in ["BoundBefore", "FirstConsumer", "Provisioned"] {
        let outcome = run_case("delayed-binding", case, &[], SETTINGS);
        assert_eq!(outcome.collected[0].scheduled, 200, "{case}");
    }
}
