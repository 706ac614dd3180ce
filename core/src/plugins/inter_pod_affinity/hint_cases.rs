//! Which events bring back pods that InterPodAffinity rejected.

use crate::framework::event::ActionType;
use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{
    HintCase, What, ZONE_A, added, also_asking, app, both, came, elsewhere, far_from, gap, labelled, near,
    node_gone, node_relabelled, pod_changed, pod_relabelled, queues, skips, went, with_label, zoned,
};
use crate::testkit::{NodeParts, node};

fn tier(owner: PodInput) -> PodInput {
    also_asking(owner, "tier", "1")
}

fn near_both() -> PodInput {
    both(near("db"), &tier(near("")))
}

fn far_from_both() -> PodInput {
    both(far_from("db"), &tier(far_from("")))
}

fn tiered(name: &str) -> What {
    pod_changed(app(name), with_label(app(name), "tier", "1"))
}

fn untiered(name: &str) -> What {
    pod_changed(with_label(app(name), "tier", "1"), app(name))
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node with the key", near("db"), added(labelled(&[("zone", "a")]))),
        skips("a node without the key", near("db"), added(node("n").cpu("4"))),
        queues("a node moved", near("db"), zoned("a", "b")),
        skips("lost the key", near("db"), node_relabelled(&[("zone", "a")], &[])),
        skips("a domain less to join", near("db"), node_gone(labelled(&[("zone", "a")]))),
        skips("wants and avoids nobody", app("web"), node_gone(labelled(&[("zone", "a")]))),
        queues("a node without the key is fine", far_from("db"), added(node("n").cpu("4"))),
        queues("left the domain", far_from("db"), node_relabelled(&[("zone", "a")], &[])),
        skips("joined a domain", far_from("db"), node_relabelled(&[], &[("zone", "a")])),
        gap("it may lead its group now", near("me"), node_relabelled(&[ZONE_A], &[("x", "y")])),
        gap("the same, the node was deleted", near("me"), node_gone(labelled(&[ZONE_A]))),
        gap("the same, the pod went", near("me"), went(app("me"))),
        gap("those it avoids are nowhere", far_from("db"), node_gone(labelled(&[ZONE_A]))),
        queues("a pod its affinity matches came", near("db"), came(app("db"))),
        skips("somebody else", near("db"), came(app("web"))),
        skips("in another namespace", near("db"), came(elsewhere(app("db")))),
        queues("became one", near("db"), pod_relabelled("web", "db")),
        skips("was one", near("db"), pod_relabelled("db", "web")),
        skips("went", near("db"), went(app("db"))),
        queues("it may be the first of its group now", near("me"), went(app("me"))),
        queues("the same, by its labels", near("me"), pod_relabelled("me", "web")),
        skips("never was of the group", near("me"), went(app("web"))),
        skips("is on no node", near("db"), What::Nowhere(ActionType::ADD, app("db"))),
        queues("a pod its anti-affinity matches went", far_from("db"), went(app("db"))),
        skips("somebody else went", far_from("db"), went(app("web"))),
        queues("is one no longer", far_from("db"), pod_relabelled("db", "web")),
        queues("a pod whose anti-affinity matches it went", app("db"), went(far_from("db"))),
        queues("it was to come", far_from("db"), What::NominatedWent(app("db"))),
        skips("somebody else was", far_from("db"), What::NominatedWent(app("web"))),
        skips("one of two terms", near_both(), came(app("db"))),
        queues("both terms", near_both(), came(with_label(app("db"), "tier", "1"))),
        queues("both terms by a new label", near_both(), tiered("db")),
        skips("one of two terms is lost", near_both(), untiered("db")),
        queues("one of two terms is enough", far_from_both(), went(app("db"))),
        skips("the other term still holds", far_from_both(), untiered("db")),
        queues("no term holds any more", far_from_both(), untiered("web")),
        queues("one of the two of who went", app("db"), went(far_from_both())),
        skips("who went meant others", app("web"), went(far_from("db"))),
        queues("labels", near("me"), What::Own(ActionType::UPDATE_POD_LABEL, near("me"))),
    ];
    cases
}
