//! Which events bring back pods that TaintToleration rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{HintCase, What, added, queues, skips, tainted, taints, went};
use crate::testkit::{NodeParts, PodParts, node, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("a node without taints", pod().cpu("1"), added(node("n").cpu("4"))),
        skips("a node with a taint", pod().cpu("1"), added(tainted(&["k"]))),
        queues("a taint went", pod().cpu("1"), taints(&["k"], &[])),
        skips("one of two went", pod().cpu("1"), taints(&["k", "l"], &["l"])),
        queues("the other is tolerated", pod().cpu("1").tolerates("l"), taints(&["k", "l"], &["l"])),
        skips("was tolerated before", pod().cpu("1"), taints(&[], &[])),
        skips("pods do not matter", pod().cpu("1"), went(pod().cpu("1"))),
        queues("tolerates more", pod().cpu("1"), What::Own(ActionType::UPDATE_POD_TOLERATION, pod().cpu("1").tolerates("k"))),
    ];
    cases
}
