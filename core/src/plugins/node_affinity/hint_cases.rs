//! Which events bring back pods that NodeAffinity rejected.

use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{
    HintCase, added, grown, labelled, node_relabelled, queues, skips, went,
};
use crate::testkit::{NodeParts, PodParts, label_pairs, node, pod};

fn picky() -> PodInput {
    PodInput { node_selector: Some(label_pairs(&[("disk", "ssd")])), ..pod().cpu("1") }
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node matches", picky(), added(labelled(&[("disk", "ssd")]))),
        skips("a node does not match", picky(), added(node("n").cpu("4"))),
        queues("matches now", picky(), node_relabelled(&[], &[("disk", "ssd")])),
        skips("no longer matches", picky(), node_relabelled(&[("disk", "ssd")], &[])),
        skips("matched before", picky(), node_relabelled(&[("disk", "ssd")], &[("disk", "ssd"), ("a", "b")])),
        queues("a node, whatever a profile adds", pod().cpu("1"), added(node("n").cpu("4"))),
        skips("allocatable", picky(), grown("1", "2")),
        skips("pods do not matter", pod().cpu("1"), went(pod().cpu("1"))),
    ];
    cases
}
