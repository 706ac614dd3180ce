use schedlab_workloads::explain::{
    DetailCount, DomainCount, ExplainVerdict, ExplainedPod, IgnoredField, IgnoredKind, NodeReport,
    OtherScheduler, PluginLead, RejectedGroup, RejectionReport, Report, SCHEMA, ScoreColumn, SpreadReport,
    Winner,
};

use super::render_explain_html;

fn feasible(name: &str, scores: [i64; 2]) -> NodeReport {
    NodeReport {
        name: name.to_owned(),
        feasible: true,
        total: Some(scores.iter().sum()),
        weighted: scores.to_vec(),
        raw: scores.to_vec(),
        rejections: Vec::new(),
    }
}

fn report(nodes: Vec<NodeReport>) -> Report {
    let column = |plugin: &str| ScoreColumn { plugin: plugin.to_owned(), weight: 1 };
    Report {
        schema: SCHEMA,
        source: "cluster.yaml".to_owned(),
        pod: ExplainedPod { namespace: "shop".to_owned(), name: "web".to_owned(), ..ExplainedPod::default() },
        node_count: nodes.len(),
        feasible_count: nodes.iter().filter(|node| node.feasible).count(),
        feasible_wanted: 100,
        verdict: ExplainVerdict::Chosen,
        warnings: Vec::new(),
        ignored_fields: Vec::new(),
        ignored_kinds: Vec::new(),
        other_scheduler: None,
        chosen_if_ignored: None,
        topology_spread: Vec::new(),
        gated_by: None,
        rejected_as_a_whole: None,
        message: None,
        chosen: Some(Winner {
            node: "n0".to_owned(),
            total: 110,
            tied: vec!["n0".to_owned()],
            runner_up: Some("n1".to_owned()),
            lead: 10,
            lead_by_plugin: vec![PluginLead {
                plugin: "NodeResourcesFit".to_owned(),
                chosen: 60,
                runner_up: 50,
            }],
        }),
        rejected_first: vec![RejectedGroup {
            plugin: "TaintToleration".to_owned(),
            reason: "node(s) had </script> in a taint".to_owned(),
            nodes: 1,
            unresolvable: 1,
            details: vec![DetailCount { text: "gpu=a100:NoSchedule".to_owned(), nodes: 1 }],
            details_left_out: 0,
        }],
        filters: vec!["TaintToleration".to_owned()],
        skipped_filters: vec!["NodePorts".to_owned()],
        scores: vec![column("NodeResourcesFit"), column("ImageLocality")],
        skipped_scores: Vec::new(),
        nodes,
    }
}

fn small() -> Report {
    let out = NodeReport {
        rejections: vec![RejectionReport {
            plugin: "TaintToleration".to_owned(),
            code: "UnschedulableAndUnresolvable",
            reasons: vec!["node(s) had </script> in a taint".to_owned()],
            details: Vec::new(),
        }],
        feasible: false,
        total: None,
        weighted: Vec::new(),
        raw: Vec::new(),
        name: "n2".to_owned(),
    };
    report(vec![feasible("n1", [50, 50]), feasible("n0", [60, 50]), out])
}

#[test]
fn page_shows_chosen_node_lead_by_plugin_and_rejected_nodes() {
    let page = render_explain_html(&small());
    for part in
        ["goes to", "10 points ahead of n1", "Why it won", "TaintToleration", "What keeps nodes out", "+10"]
    {
        assert!(page.contains(part), "no {part:?}");
    }
    let (first, second) = (page.find(">n0</span>").expect("n0"), page.find(">n1</span>").expect("n1"));
    assert!(first < second, "the best node stands first");
}

#[test]
fn nothing_in_a_name_or_reason_can_end_an_element() {
    let page = render_explain_html(&small());
    // The page has two scripts of its own: the data and the code.
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("\\u003c/script>"));
}

#[test]
fn a_large_cluster_keeps_one_page_of_rows_in_the_document() {
    let nodes = (0..5000).map(|at| feasible(&format!("n{at}"), [60 - i64::from(at > 0), 50])).collect();
    let page = render_explain_html(&report(nodes));
    assert!(page.contains("The first 100 of 5,000"));
    let rows = page.matches("<tr").count();
    assert!(rows < 150, "{rows} rows");
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

#[test]
fn a_field_that_is_ignored_makes_the_page_unsure() {
    let mut report = small();
    report.verdict = ExplainVerdict::Unsure;
    report.chosen_if_ignored = report.chosen.take();
    report.ignored_fields = vec![IgnoredField { field: "spec.resourceClaims".to_owned(), why: "not built" }];
    let page = render_explain_html(&report);
    assert!(page.contains(": unsure</h1>"), "the heading claims a choice");
    assert!(!page.contains("goes to"));
    assert!(page.contains("spec.resourceClaims</span> has no say here."));
}

#[test]
fn page_shows_facts_domains_and_unused_objects() {
    let mut report = small();
    report.topology_spread = vec![SpreadReport {
        topology_key: "zone".to_owned(),
        max_skew: 1,
        min: 0,
        counts_itself: true,
        domains: vec![
            DomainCount { domain: "east".to_owned(), count: 0, nodes: 2 },
            DomainCount { domain: "west".to_owned(), count: 3, nodes: 1 },
        ],
    }];
    let kind = |kind: &str, matters| IgnoredKind {
        kind: kind.to_owned(),
        api_version: "v1".to_owned(),
        count: 4,
        why: "a reason",
        matters,
    };
    report.ignored_kinds = vec![kind("ResourceClaim", true), kind("ConfigMap", false)];
    let page = render_explain_html(&report);
    for part in ["gpu=a100:NoSchedule", "4 ResourceClaim had no say.", "Not used: 4 ConfigMap (a reason)"] {
        assert!(page.contains(part), "no {part:?}");
    }
    assert_eq!(page.matches("too high").count(), 1, "only west is beyond maxSkew");
}

#[test]
fn a_pod_of_another_scheduler_has_no_nodes() {
    let mut report = report(Vec::new());
    report.verdict = ExplainVerdict::OtherScheduler;
    report.chosen = None;
    let profiles = vec!["default-scheduler".to_owned()];
    report.other_scheduler = Some(OtherScheduler { scheduler_name: "volcano".to_owned(), profiles });
    let page = render_explain_html(&report);
    assert!(page.contains("is not ours") && page.contains("volcano"));
}
