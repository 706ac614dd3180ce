//! Which events bring back pods that NodeAffinity rejected.

use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{
    HintCase, added, grown, labelled, labels, node, node_relabelled, pod, queues, skips, went,
};

fn picky() -> PodInput {
    PodInput { node_selector: Some(labels(&[("disk", "ssd")])), ..pod("1") }
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node matches", picky(), added(labelled(&[("disk", "ssd")]))),
        skips("a node does not match", picky(), added(node("4"))),
        queues("matches now", picky(), node_relabelled(&[], &[("disk", "ssd")])),
        skips("no longer matches", picky(), node_relabelled(&[("disk", "ssd")], &[])),
        skips("matched before", picky(), node_relabelled(&[("disk", "ssd")], &[("disk", "ssd"), ("a", "b")])),
        skips("allocatable", picky(), grown("1", "2")),
        skips("pods do not matter", pod("1"), went(pod("1"))),
    ];
    cases
}
