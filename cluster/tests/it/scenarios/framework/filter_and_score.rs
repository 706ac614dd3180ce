//! PreFilter, Filter, PostFilter, PreScore, Score and NormalizeScore.

use super::{try_pod, with_plugins};
use crate::scenarios::manifest::{node, pod};
use crate::scenarios::plugin::Scripted;
use crate::scenarios::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::plugin::Normalization;
use schedlab_core::framework::points::{NominatingInfo, PostFilter, PostFilterVerdict};
use schedlab_core::framework::status::Code;
use schedlab_core::scheduler::Standing;

#[test]
fn pre_filter_rejection_makes_pod_unschedulable_without_filter() {
    for code in [None, Some(Code::Unschedulable), Some(Code::UnschedulableAndUnresolvable)] {
        let filter =
            Scripted::new("Filter", &[ExtensionPoint::Filter]).with(|script| script.pre_filter = code);
        let mut lab = with_plugins(&[&filter]);
        try_pod(&mut lab, "p");
        assert!(filter.count("pre-filter") > 0);
        assert_eq!(lab.node_of("p").is_some(), code.is_none(), "{code:?}");
        if code.is_some() {
            assert_eq!(lab.standing("p"), Standing::Unschedulable);
            assert!(lab.message("p").starts_with("0/2 nodes are available: not before noon. preemption: "));
            assert_eq!(filter.count("filter"), 0, "no node was looked at");
        }
    }
}

#[test]
fn filter_rejection_excludes_nodes() {
    let filter = Scripted::new("Filter", &[ExtensionPoint::Filter]);
    let mut lab = with_plugins(&[&filter]);
    filter.set(|script| script.passes = Box::new(|node| node == "n2"));
    try_pod(&mut lab, "p");
    assert_eq!(lab.node_of("p").as_deref(), Some("n2"));
    filter.set(|script| script.passes = Box::new(|_| false));
    try_pod(&mut lab, "q");
    assert_eq!(lab.standing("q"), Standing::Unschedulable);
    assert!(lab.message("q").starts_with("0/2 nodes are available: 2 not this one. preemption: "));
}

/// PostFilter plugins that end with these verdicts, and how often they are asked.
fn asked(verdicts: [PostFilterVerdict; 2]) -> [usize; 2] {
    let filter =
        Scripted::new("Filter", &[ExtensionPoint::Filter]).with(|script| script.passes = Box::new(|_| false));
    let plugins = ["First", "Second"].map(|name| Scripted::new(name, &[ExtensionPoint::PostFilter]));
    for (plugin, verdict) in plugins.iter().zip(verdicts) {
        let answer = PostFilter { verdict, ..PostFilter::unschedulable(None) };
        plugin.set(|script| script.post_filter = Some(answer));
    }
    let [first, second] = &plugins;
    let setup = Setup::default().without("DefaultPreemption").plugin(&filter).plugin(first).plugin(second);
    let mut lab = setup.start();
    lab.create_all([node("n"), pod("p")]);
    lab.run();
    assert_eq!(lab.standing("p"), Standing::Unschedulable);
    plugins.each_ref().map(|plugin| plugin.count("post-filter"))
}

#[test]
fn post_filter_plugins_run_until_success_error_or_unresolvable() {
    use PostFilterVerdict::{Error, Success, Unschedulable, UnschedulableAndUnresolvable};
    let cases = [
        ("the first helps", [Success, Success], [1, 0]),
        ("the second helps", [Unschedulable, Success], [1, 1]),
        ("none helps", [Unschedulable, Unschedulable], [1, 1]),
        ("the first says that nothing can", [UnschedulableAndUnresolvable, Success], [1, 0]),
        ("the first fails", [Error, Success], [1, 0]),
        ("the second fails", [Unschedulable, Error], [1, 1]),
    ];
    for (name, verdicts, expected) in cases {
        assert_eq!(asked(verdicts), expected, "case: {name}");
    }
}

#[test]
fn post_filter_does_not_run_when_a_node_is_feasible() {
    let post = Scripted::new("Post", &[ExtensionPoint::PostFilter]);
    let mut lab = with_plugins(&[&post]);
    try_pod(&mut lab, "p");
    assert!(lab.node_of("p").is_some());
    assert_eq!(post.count("post-filter"), 0);
}

#[test]
fn post_filter_sets_nominated_node_name() {
    let filter =
        Scripted::new("Filter", &[ExtensionPoint::Filter]).with(|script| script.passes = Box::new(|_| false));
    let post = Scripted::new("Post", &[ExtensionPoint::PostFilter]);
    let mut lab = with_plugins(&[&filter, &post]);
    lab.observe();
    let node = lab.scheduler().node_id("n2");
    let answer = PostFilter {
        verdict: PostFilterVerdict::Success,
        nomination: NominatingInfo::Node(node),
        ..PostFilter::unschedulable(None)
    };
    post.set(|script| script.post_filter = Some(answer));
    try_pod(&mut lab, "p");
    assert_eq!(lab.nominated("p").as_deref(), Some("n2"));
    filter.set(|script| script.passes = Box::new(|_| true));
    lab.update(node_with_label("n1"));
    lab.run();
    assert_eq!(lab.held_room("p").as_deref(), Some("n2"));
}

fn node_with_label(name: &str) -> crate::scenarios::manifest::Manifest {
    node(name).label("changed", "yes")
}

#[test]
fn highest_scoring_node_is_chosen() {
    let score = Scripted::new("Score", &[ExtensionPoint::Score]);
    let mut lab = with_plugins(&[&score]);
    score.set(|script| script.scores = Box::new(|node| if node == "n2" { 100 } else { 0 }));
    try_pod(&mut lab, "p");
    assert_eq!(lab.node_of("p").as_deref(), Some("n2"));
    assert_eq!((score.count("pre-score"), score.count("score")), (1, 1), "once for all nodes");
}

#[test]
fn scores_are_normalised_before_they_are_added() {
    let cases = [(Normalization::Highest, "n2"), (Normalization::Lowest, "n1")];
    for (normalization, expected) in cases {
        let score = Scripted::new("Score", &[ExtensionPoint::Score]).with(|script| {
            script.normalization = normalization;
            // Far beyond a hundred.
            script.scores = Box::new(|node| if node == "n2" { 70_000 } else { 10_000 });
        });
        let mut lab = with_plugins(&[&score]);
        try_pod(&mut lab, "p");
        assert_eq!(lab.node_of("p").as_deref(), Some(expected), "{normalization:?}");
    }
}
