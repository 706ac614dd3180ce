//! Which events bring back pods that NodeResourcesFit rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{
    HintCase, What, added, came, claim_event, claims, grown, more_pods, no_room, node, node_gone,
    node_relabelled, pod, queues, skips, went,
};

fn shrank(from: &str, to: &str) -> What {
    What::Pod(ActionType::UPDATE_POD_SCALE_DOWN, Some(pod(from)), Some(pod(to)))
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node that fits", pod("2"), added(node("2"))),
        skips("a node that is too small", pod("2"), added(node("1"))),
        skips("a node that takes no pods", pod("1"), added(no_room())),
        queues("a node grew", pod("2"), grown("1", "2")),
        skips("grew too little", pod("2"), grown("1", "1500m")),
        skips("a node shrank", pod("2"), grown("4", "3")),
        queues("a node takes more pods", pod("1"), more_pods("1", "2")),
        queues("whatever they ask for", pod("0"), more_pods("1", "2")),
        skips("grew in what it does not ask for", pod("0"), grown("1", "2")),
        skips("labels", pod("2"), node_relabelled(&[], &[("a", "b")])),
        skips("a node went", pod("2"), node_gone(node("2"))),
        queues("room came free", pod("1"), went(pod("1"))),
        skips("it was on no node", pod("1"), What::Nowhere(ActionType::DELETE, pod("1"))),
        skips("a pod came", pod("1"), came(pod("1"))),
        queues("a pod shrank", pod("1"), shrank("2", "1")),
        skips("of something it does not ask for", pod("0"), shrank("2", "1")),
        queues("room was kept for it", pod("1"), What::NominatedWent(pod("1"))),
        queues("asks for less", pod("2"), What::Own(ActionType::UPDATE_POD_SCALE_DOWN, pod("1"))),
        skips("labels", pod("2"), What::Own(ActionType::UPDATE_POD_LABEL, pod("2"))),
        skips("claims do not matter", claims("c"), claim_event(ActionType::ADD, "default", "c")),
    ];
    cases
}
