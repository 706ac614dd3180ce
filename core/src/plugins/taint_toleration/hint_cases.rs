//! Which events bring back pods that TaintToleration rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{
    HintCase, What, added, node, pod, queues, skips, tainted, taints, tolerates, went,
};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node without taints", pod("1"), added(node("4"))),
        skips("a node with a taint", pod("1"), added(tainted(&["k"]))),
        queues("a taint went", pod("1"), taints(&["k"], &[])),
        skips("one of two went", pod("1"), taints(&["k", "l"], &["l"])),
        queues("the other is tolerated", tolerates(pod("1"), "l"), taints(&["k", "l"], &["l"])),
        skips("was tolerated before", pod("1"), taints(&[], &[])),
        skips("pods do not matter", pod("1"), went(pod("1"))),
        queues("tolerates more", pod("1"), What::Own(ActionType::UPDATE_POD_TOLERATION, tolerates(pod("1"), "k"))),
    ];
    cases
}
