//! Which events bring back pods that PodTopologySpread rejected.

use crate::framework::event::ActionType;
use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{
    HintCase, RACK_R, What, ZONE_A, added, app, came, elsewhere, gap, honoring_taints, ignoring_affinity,
    labelled, node_gone, node_relabelled, pod_relabelled, queues, retainted, selecting_nodes, skips, spread,
    spread_twice, tolerates_more, went, zoned,
};
use crate::testkit::{NodeParts, PodParts, node, pod};

fn spreading_as(name: &str) -> PodInput {
    PodInput { labels: app(name).labels, ..spread() }
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node with the key", spread(), added(labelled(&[("zone", "a")]))),
        skips("a node without the key", spread(), added(node("n").cpu("4"))),
        queues("a domain may have gone", spread(), node_gone(labelled(&[("zone", "a")]))),
        skips("a node outside all domains went", spread(), node_gone(node("n").cpu("4"))),
        queues("a node moved", spread(), zoned("a", "b")),
        skips("another label", spread(), node_relabelled(&[("zone", "a")], &[("zone", "a"), ("x", "y")])),
        skips("another label, and every node counts", ignoring_affinity(), node_relabelled(&[("zone", "a")], &[("zone", "a"), ("x", "y")])),
        skips("one of two keys", spread_twice(), added(labelled(&[ZONE_A]))),
        queues("both keys", spread_twice(), added(labelled(&[ZONE_A, RACK_R]))),
        skips("one of two keys, another value", spread_twice(), zoned("a", "b")),
        queues("has both now", spread_twice(), node_relabelled(&[ZONE_A], &[ZONE_A, RACK_R])),
        queues("had both", spread_twice(), node_relabelled(&[ZONE_A, RACK_R], &[RACK_R])),
        queues("other taints in a domain", spread(), retainted(&["k"], &[], &[ZONE_A])),
        skips("other taints outside of all", spread(), retainted(&["k"], &[], &[])),
        skips("other taints, one of two keys", spread_twice(), retainted(&["k"], &[], &[ZONE_A])),
        gap("other nodes count", selecting_nodes(), node_relabelled(&[ZONE_A], &[ZONE_A, ("disk", "ssd")])),
        queues("a profile's defaults rejected it, and any node may help", pod().cpu("1"), added(node("n").cpu("4"))),
        queues("a profile's defaults rejected it, and any pod may help", pod().cpu("1"), went(app("web"))),
        queues("a counted pod came", spread(), came(app("me"))),
        queues("a counted pod went", spread(), went(app("me"))),
        skips("not counted", spread(), came(app("web"))),
        skips("in another namespace", spread(), came(elsewhere(app("me")))),
        queues("is counted now", spread(), pod_relabelled("web", "me")),
        skips("neither is", spread(), pod_relabelled("web", "db")),
        queues("counted by one of two", spread_twice(), pod_relabelled("x", "db")),
        queues("counted by the other now", spread_twice(), pod_relabelled("me", "db")),
        skips("counted by neither", spread_twice(), pod_relabelled("x", "y")),
        queues("room was kept for it", spread(), What::NominatedWent(app("me"))),
        skips("but it is not counted", spread(), What::NominatedWent(app("web"))),
        skips("it was on no node", spread(), What::Nowhere(ActionType::DELETE, app("me"))),
        queues("counts otherwise", spread(), What::Own(ActionType::UPDATE_POD_LABEL, spreading_as("db"))),
        skips("counts as before", spreading_as("x"), What::Own(ActionType::UPDATE_POD_LABEL, spreading_as("db"))),
        queues("more nodes count", honoring_taints(), tolerates_more(honoring_taints())),
        skips("taints do not matter", spread(), tolerates_more(spread())),
    ];
    cases
}
