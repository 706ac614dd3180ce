//! Nodes that leave a topology domain while their pods remain: pods that those kept out are tried again.

use super::*;
use crate::input::{LabelSelectorInput, NodeInput, PodAffinityTermInput, SpreadConstraintInput};
use crate::known_gaps::KnownGaps;
use crate::testkit::lab::SECOND_NS;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, label_pairs, node, pod};

/// What happens to node n2.
#[derive(Clone, Copy, Debug)]
enum Change {
    LosesZone,
    Deleted,
    LosesDisk,
}

fn selector() -> Option<LabelSelectorInput> {
    let match_labels = [("app".to_owned(), "web".to_owned())].into();
    Some(LabelSelectorInput { match_labels, ..LabelSelectorInput::default() })
}

fn term(topology_key: &str) -> PodAffinityTermInput {
    PodAffinityTermInput {
        label_selector: selector(),
        topology_key: topology_key.to_owned(),
        ..PodAffinityTermInput::default()
    }
}

fn web() -> PodInput {
    pod().cpu("1").label("app", "web")
}

/// Wants to be with its own app.
fn joining() -> PodInput {
    let mut pod = web();
    pod.pod_affinity.required = vec![term("zone")];
    pod
}

/// Keeps away from the app, by zone.
fn avoiding() -> PodInput {
    let mut pod = web();
    pod.pod_anti_affinity.required = vec![term("zone")];
    pod
}

/// At most one more of the app than on any other node with a disk.
fn spreading() -> PodInput {
    let constraint = SpreadConstraintInput {
        max_skew: 1,
        topology_key: "host".to_owned(),
        label_selector: selector(),
        ..SpreadConstraintInput::default()
    };
    let node_selector = Some([("disk".to_owned(), "ssd".to_owned())].into());
    PodInput { spread_constraints: vec![constraint], node_selector, ..web() }
}

/// A node with these labels that is a domain of its own as well.
fn hosted(name: &str, labels: &[(&str, &str)]) -> NodeInput {
    NodeInput { labels: label_pairs(labels), ..node(name) }.label("host", name)
}

/// Node n1 is open, n2 cordoned; `there` is a pod on one of them. Whether pod 7, which fits nowhere at first,
/// is placed after the change.
fn is_woken(gaps: KnownGaps, (there, on): (PodInput, &str), waiting: PodInput, change: Change) -> bool {
    let settings = SchedulerSettings { known_gaps: gaps, ..SchedulerSettings::default() };
    let mut lab = SchedulerLab::new(settings, Vec::new(), &[]);
    let zone = if matches!(change, Change::LosesDisk) { "a" } else { "b" };
    lab.node(&hosted("n1", &[("zone", "a"), ("disk", "ssd")]));
    lab.node(&hosted("n2", &[("zone", zone), ("disk", "ssd")]).cordoned());
    lab.placed(1, there, on);
    lab.pod(7, waiting);
    assert!(lab.run()[0].starts_with("7: 0/2 nodes are available"));
    match change {
        Change::LosesZone => lab.node(&hosted("n2", &[("disk", "ssd")]).cordoned()),
        Change::LosesDisk => lab.node(&hosted("n2", &[("zone", "a")]).cordoned()),
        Change::Deleted => lab.scheduler.on_event(ObjectEvent::node_deleted("n2"), 0),
    }
    lab.pass(2 * SECOND_NS);
    lab.run().iter().any(|call| call == "7 -> n1")
}

#[test]
fn node_leaving_its_topology_domain_requeues_pods_kept_out_by_anti_affinity() {
    let cases = [
        ("affinity: it may be the first of its group", (web(), "n2"), joining(), Change::LosesZone),
        ("affinity: the same, the node is deleted", (web(), "n2"), joining(), Change::Deleted),
        (
            "spreading: the emptiest node does not count any more",
            (web(), "n1"),
            spreading(),
            Change::LosesDisk,
        ),
    ];
    for (name, there, waiting, change) in cases {
        assert!(is_woken(KnownGaps::Mended, there.clone(), waiting.clone(), change), "{name}");
        assert!(!is_woken(KnownGaps::Upstream, there, waiting, change), "upstream, {name}");
    }
}

/// Pod 1 is on node n1 in namespace `shop`; whether pod 7 is placed once the namespace has the label team=web.
fn is_placed_after_label(gaps: KnownGaps, there: PodInput, waiting: PodInput, before: &str) -> bool {
    let settings = SchedulerSettings { known_gaps: gaps, ..SchedulerSettings::default() };
    let mut lab = SchedulerLab::new(settings, Vec::new(), &[]);
    let labels = |team: &str| [("team".to_owned(), team.to_owned())].into();
    lab.scheduler
        .on_event(ObjectEvent::Modified(ObjectInput::Namespace { name: "shop", labels: &labels(before) }), 0);
    lab.node(&hosted("n1", &[("zone", "a")]));
    lab.placed(1, there, "n1");
    lab.pod(7, waiting);
    assert!(lab.run()[0].starts_with("7: 0/1 nodes are available"));
    lab.scheduler
        .on_event(ObjectEvent::Modified(ObjectInput::Namespace { name: "shop", labels: &labels(before) }), 0);
    lab.pass(2 * SECOND_NS);
    assert_eq!(lab.run(), [""; 0], "nothing has changed");
    lab.scheduler
        .on_event(ObjectEvent::Modified(ObjectInput::Namespace { name: "shop", labels: &labels("web") }), 0);
    lab.pass(2 * SECOND_NS);
    lab.run().iter().any(|call| call == "7 -> n1")
}

/// kubernetes#141953.
#[test]
fn namespace_label_change_requeues_pods_with_namespace_selector() {
    let by_team = |team: &str| PodAffinityTermInput {
        namespace_selector: Some(LabelSelectorInput {
            match_labels: [("team".to_owned(), team.to_owned())].into(),
            ..LabelSelectorInput::default()
        }),
        ..term("zone")
    };
    let in_shop = |pod: PodInput| PodInput { namespace: "shop".to_owned(), ..pod };
    let mut joins = pod().cpu("1");
    joins.pod_affinity.required = vec![by_team("web")];
    let mut avoids = pod().cpu("1");
    avoids.pod_anti_affinity.required = vec![by_team("db")];
    let cases = [
        ("affinity selects the namespace now", in_shop(web()), joins, "db"),
        ("anti-affinity does not select it any more", in_shop(web()), avoids.clone(), "db"),
        ("neither does an existing pod's", avoids, in_shop(web()), "db"),
    ];
    for (name, there, waiting, before) in cases {
        let is_placed = |gaps| is_placed_after_label(gaps, there.clone(), waiting.clone(), before);
        assert!(is_placed(KnownGaps::Mended), "{name}");
        assert!(!is_placed(KnownGaps::Upstream), "upstream, {name}");
    }
}

/// Both nodes are in one zone, and the pod that is in the way is on the one that is deleted.
#[test]
fn node_delete_requeues_pods_kept_out_by_anti_affinity() {
    let mut shy = pod().cpu("1");
    shy.pod_anti_affinity.required = vec![term("zone")];
    for (name, there, waiting) in [("its own", web(), avoiding()), ("an existing pod's", shy, web())] {
        let mut lab = SchedulerLab::new(SchedulerSettings::default(), Vec::new(), &[]);
        for node_name in ["n1", "n2"] {
            lab.node(&hosted(node_name, &[("zone", "a")]));
        }
        lab.placed(1, there, "n2");
        lab.pod(7, waiting);
        assert!(lab.run()[0].starts_with("7: 0/2 nodes are available"), "{name}");
        lab.scheduler.on_event(ObjectEvent::node_deleted("n2"), 0);
        lab.pass(2 * SECOND_NS);
        assert_eq!(lab.run(), ["7 -> n1"], "{name}");
    }
}
