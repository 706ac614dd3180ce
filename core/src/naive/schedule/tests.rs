use super::*;
use crate::input::{NodeAffinityInput, NodeInput, PodInput};
use crate::testkit::{NodeParts, PodParts, bare_node, empty, field_term, pod, requirement, strings, taint};

/// `n00`, `n01` and so on, with room for ten pods of a core.
fn cluster(node_count: usize) -> NaiveCluster {
    NaiveCluster::new(
        (0..node_count).map(|i| bare_node(&format!("n{i:02}")).has(&[("cpu", "10"), ("pods", "10")])),
    )
}

fn first(cluster: &NaiveCluster, pod: &PodInput, start: usize) -> NaiveDecision {
    schedule(&NaiveProfile::default(), cluster, pod, start, Pick::First)
}

fn message(cluster: &NaiveCluster, pod: &PodInput) -> String {
    first(cluster, pod, 0).message.expect("no node is feasible")
}

fn named(names: &[&str]) -> PodInput {
    let terms = names.iter().map(|name| field_term(&[requirement("metadata.name", "In", &[name])]));
    PodInput {
        node_affinity: Some(NodeAffinityInput { required: Some(terms.collect()), ..Default::default() }),
        ..pod().requests(&[("cpu", "1")])
    }
}

#[test]
fn feasible_nodes_to_find_cases() {
    struct Case {
        name: &'static str,
        percentage: i32,
        node_count: usize,
        wanted: usize,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "no nodes", percentage: 0, node_count: 0, wanted: 0 },
        Case { name: "few nodes: all of them", percentage: 30, node_count: 99, wanted: 99 },
        Case { name: "at least a hundred", percentage: 30, node_count: 100, wanted: 100 },
        Case { name: "a percentage", percentage: 40, node_count: 1000, wanted: 400 },
        Case { name: "all", percentage: 100, node_count: 6000, wanted: 6000 },
        Case { name: "a percentage that drops the rest", percentage: 33, node_count: 1001, wanted: 330 },
        Case { name: "adaptive, small", percentage: 0, node_count: 150, wanted: 100 },
        Case { name: "adaptive", percentage: 0, node_count: 1000, wanted: 420 },
        Case { name: "adaptive, large", percentage: 0, node_count: 5000, wanted: 500 },
        Case { name: "adaptive, at least five percent", percentage: 0, node_count: 6375, wanted: 318 },
    ];
    for case in &cases {
        let profile =
            NaiveProfile { percentage_of_nodes_to_score: case.percentage, ..NaiveProfile::default() };
        let got = feasible_nodes_to_find(&profile, case.node_count);
        assert_eq!(got, case.wanted, "case: {}", case.name);
    }
    let unscored = NaiveProfile { score_plugins: vec![], ..NaiveProfile::default() };
    assert_eq!(feasible_nodes_to_find(&unscored, 5000), 1);
}

#[test]
fn nodes_are_evaluated_in_rotation_from_start_index() {
    let cluster = cluster(3);
    let decision = first(&cluster, &pod().requests(&[("cpu", "1")]), 2);
    assert_eq!(decision.feasible, ["n02", "n00", "n01"]);
    assert_eq!(decision.next_start, 2);
    assert_eq!(decision.chosen.as_deref(), Some("n02"));
}

#[test]
fn search_ends_at_num_feasible_nodes_to_find() {
    let mut cluster = cluster(0);
    for i in 0..150 {
        cluster.add_node(NodeInput {
            unschedulable: i < 10,
            ..bare_node(&format!("n{i:03}")).has(&[("pods", "1")])
        });
    }
    let pod = pod().requests(&[]);
    let decision = first(&cluster, &pod, 0);
    assert_eq!(decision.feasible.len(), 100);
    assert_eq!(decision.rejected.len(), 10);
    assert_eq!(decision.next_start, 110);
    assert_eq!(decision.message, None);
    assert_eq!(decision.unschedulable_plugins, BTreeSet::from(["NodeUnschedulable"]));

    let decision = first(&cluster, &pod, decision.next_start);
    assert_eq!(decision.feasible[..2], ["n110", "n111"]);
    assert_eq!(decision.feasible[40..42], ["n010", "n011"]);
    assert_eq!(decision.next_start, (110 + 110) % 150);
}

#[test]
fn messages_count_reasons_and_sort_them_as_text() {
    let mut cluster = cluster(12);
    for i in 0..11 {
        cluster.nodes[i].input.taints = vec![taint("a", "", "NoSchedule")];
    }
    assert_eq!(
        message(&cluster, &pod().requests(&[("cpu", "20"), ("example.com/gpu", "1")])),
        "0/12 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, \
         11 node(s) had untolerated taint(s)."
    );
    assert_eq!(message(&self::cluster(0), &pod().requests(&[])), "no nodes available to schedule pods");
}

#[test]
fn nodes_excluded_by_pre_filter_result_share_one_reason() {
    let cluster = cluster(3);
    let absent = PodInput { node_name: Some("gone".to_owned()), ..pod().requests(&[]) };
    let decision = first(&cluster, &absent, 1);
    assert_eq!(
        decision.message.as_deref(),
        Some("0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeName].")
    );
    assert_eq!(decision.next_start, 1);
    assert_eq!(decision.unschedulable_plugins, BTreeSet::from(["NodeName"]));

    let mut too_large = named(&["n01"]);
    too_large.containers = pod().requests(&[("cpu", "11")]).containers;
    let decision = first(&cluster, &too_large, 1);
    assert_eq!(
        decision.message.as_deref(),
        Some(
            "0/3 nodes are available: 1 Insufficient cpu, \
             2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
        )
    );
    assert_eq!(decision.next_start, 2);
    assert_eq!(decision.unschedulable_plugins, BTreeSet::from(["NodeAffinity", "NodeResourcesFit"]));
}

#[test]
fn pre_filter_node_sets_are_intersected() {
    let cluster = cluster(4);
    // The start index applies to the list of the two: its second is tried first.
    let decision = first(&cluster, &named(&["n03", "n01"]), 3);
    assert_eq!(decision.feasible, ["n03", "n01"]);
    assert_eq!(decision.next_start, 1);
    assert!(decision.rejected.is_empty());

    let mut both = named(&["n03", "n01"]);
    both.node_name = Some("n01".to_owned());
    let decision = first(&cluster, &both, 0);
    assert_eq!(decision.feasible, ["n01"]);
    assert_eq!(decision.pre_filter.nodes_by, BTreeSet::from(["NodeAffinity", "NodeName"]));

    both.node_name = Some("n02".to_owned());
    let decision = first(&cluster, &both, 3);
    assert_eq!(
        decision.message.as_deref(),
        Some(
            "0/4 nodes are available: \
             node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously."
        )
    );
    assert_eq!(decision.next_start, 3);
    assert_eq!(decision.unschedulable_plugins, BTreeSet::from(["NodeAffinity", "NodeName"]));
}

#[test]
fn a_pre_filter_rejection_ends_the_cycle() {
    let conflict = PodInput {
        node_affinity: Some(NodeAffinityInput {
            required: Some(vec![field_term(&[
                requirement("metadata.name", "In", &["n00"]),
                requirement("metadata.name", "In", &["n01"]),
            ])]),
            ..Default::default()
        }),
        ..pod().requests(&[])
    };
    let decision = first(&cluster(2), &conflict, 1);
    assert_eq!(decision.message.as_deref(), Some("0/2 nodes are available: pod affinity terms conflict."));
    assert_eq!(decision.next_start, 1);
    assert!(decision.rejected.is_empty());
    assert_eq!(decision.unschedulable_plugins, BTreeSet::from(["NodeAffinity"]));
}

#[test]
fn the_first_plugin_in_order_rejects() {
    let node = empty(NodeInput {
        unschedulable: true,
        taints: vec![taint("a", "", "NoSchedule")],
        ..bare_node("n")
    });
    let plugins = |skip: &BTreeSet<&'static str>| -> Vec<&'static str> {
        let cluster = NaiveCluster::default();
        let (profile, pod) = (NaiveProfile::default(), pod().requests(&[("cpu", "1")]));
        let state = FilterState::new(&profile, &cluster, &pod);
        all_rejections(&profile, &cluster, &pod, &state, &node, skip)
            .iter()
            .map(|verdict| verdict.plugin)
            .collect()
    };
    assert_eq!(plugins(&BTreeSet::new()), ["NodeUnschedulable", "TaintToleration", "NodeResourcesFit"]);
    assert_eq!(plugins(&BTreeSet::from(["NodeUnschedulable"])), ["TaintToleration", "NodeResourcesFit"]);
}

#[test]
fn totals_are_weighed_sums_and_the_best_is_chosen() {
    let mut cluster = cluster(3);
    cluster.nodes[0].input.taints = vec![taint("a", "", "PreferNoSchedule")];
    cluster.add_pod("n01", pod().requests(&[("cpu", "5")]));
    let decision = first(&cluster, &pod().requests(&[("cpu", "1")]), 0);
    let scores = decision.scores.expect("scores");
    let totals: Vec<i64> = scores.iter().map(|score| score.total).collect();
    // Taints 3 x 0 or 100, fit 90 or 40, balance 75, images 0; no affinity.
    assert_eq!(totals, [90 + 75, 300 + 40 + 75, 300 + 90 + 75]);
    assert_eq!(scores[0].raw["TaintToleration"], 1);
    assert_eq!(scores[1].weighted["TaintToleration"], 300);
    assert_eq!(
        decision.skip_score,
        BTreeSet::from(["InterPodAffinity", "NodeAffinity", "PodTopologySpread"])
    );
    assert_eq!(decision.ties, ["n02"]);
    assert_eq!(decision.chosen.as_deref(), Some("n02"));
}

#[test]
fn tie_is_broken_by_the_draw() {
    let cluster = cluster(3);
    let chosen = |draw| {
        let decision =
            schedule(&NaiveProfile::default(), &cluster, &pod().requests(&[]), 1, Pick::Draw(draw));
        assert_eq!(decision.ties, strings(&["n01", "n02", "n00"]));
        decision.chosen
    };
    assert_eq!(chosen(0).as_deref(), Some("n01"));
    assert_eq!(chosen(5).as_deref(), Some("n00"));
}

#[test]
fn malformed_preferred_affinity_fails_the_pod_unless_one_node_is_feasible() {
    let broken = PodInput {
        node_affinity: Some(NodeAffinityInput {
            preferred: Some(vec![(1, field_term(&[requirement("metadata.name", "Near", &[])]))]),
            ..Default::default()
        }),
        ..pod().requests(&[("cpu", "1")])
    };
    let mut cluster = cluster(2);
    let decision = first(&cluster, &broken, 0);
    assert_eq!(decision.scores, Err(ScoreError { plugin: "NodeAffinity" }));
    assert_eq!(decision.chosen, None);
    assert_eq!(decision.message, None);
    cluster.remove_node("n00");
    assert_eq!(first(&cluster, &broken, 0).chosen.as_deref(), Some("n01"));
}
