//! Disruption budgets. Upstream: `TestPDBInPreemption`.

use super::{every_way, evicted};
use crate::scenarios::manifest::{Manifest, budget, node, pod};
use crate::scenarios::setup::Setup;

fn n(name: &str) -> Manifest {
    node(name).has("cpu", "500m").has("memory", "500")
}

fn here(name: &str, on: &str, priority: i32) -> Manifest {
    pod(name).asks("cpu", "100m").priority(priority).on(on)
}

#[test]
fn victim_without_pdb_is_chosen_over_lower_priority_pods_with_pdb() {
    every_way(&Setup::default(), |lab| {
        lab.create_all([n("n"), budget("b", ("kept", "yes"), 0)]);
        lab.create_all(["low1", "low2"].map(|name| here(name, "n", 100).label("kept", "yes")));
        lab.create_all([here("mid", "n", 200), here("rest", "n", 300)]);
        lab.create(pod("high").asks("cpu", "200m").priority(300));
        lab.run();
        assert_eq!(evicted(lab, &["low1", "low2", "mid"]), ["mid"]);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn candidate_without_pdb_violation_is_preferred() {
    every_way(&Setup::default(), |lab| {
        lab.create_all([n("n1"), n("n2"), budget("b", ("kept", "yes"), 0)]);
        lab.create_all([here("low", "n1", 100).label("kept", "yes"), here("mid", "n2", 200)]);
        lab.create(pod("high").asks("cpu", "500m").priority(300));
        lab.run();
        assert_eq!(evicted(lab, &["low", "mid"]), ["mid"]);
        assert_eq!(lab.node_of("high").as_deref(), Some("n2"));
    });
}

#[test]
fn candidate_with_fewest_pdb_violations_is_preferred() {
    every_way(&Setup::default(), |lab| {
        lab.create_all([n("n1"), n("n2"), n("n3")]);
        // One of the first may not go; three of the second may.
        lab.create_all([budget("b1", ("one", "x"), 0), budget("b2", ("two", "x"), 3)]);
        lab.create_all([here("low1", "n1", 100).label("one", "x"), here("mid1", "n1", 200)]);
        lab.create_all(
            [("low2", 100), ("mid2", 200)].map(|(name, it)| here(name, "n2", it).label("two", "x")),
        );
        let three = [("low4", 100), ("low5", 100), ("low6", 100)];
        lab.create_all(three.map(|(name, priority)| here(name, "n3", priority).label("two", "x")));
        lab.create(pod("high").asks("cpu", "500m").priority(300));
        lab.run();
        let all = ["low1", "mid1", "low2", "mid2", "low4", "low5", "low6"];
        assert_eq!(
            evicted(lab, &all),
            ["low4", "low5", "low6"],
            "no budget is broken and the ranks are lowest"
        );
        assert_eq!(lab.node_of("high").as_deref(), Some("n3"));
    });
}
