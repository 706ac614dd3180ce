//! Which events bring back pods that NodeUnschedulable rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{
    CORDON, HintCase, What, added, cordoned, node, pod, queues, skips, taints, tolerates, uncordoned,
};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("an open node", pod("1"), added(node("4"))),
        skips("a cordoned node", pod("1"), added(cordoned())),
        queues("opened", pod("1"), uncordoned()),
        skips("was open", pod("1"), taints(&["k"], &[])),
        queues("tolerates the cordon", pod("1"), What::Own(ActionType::UPDATE_POD_TOLERATION, tolerates(pod("1"), CORDON))),
        skips("tolerates something else", pod("1"), What::Own(ActionType::UPDATE_POD_TOLERATION, tolerates(pod("1"), "k"))),
    ];
    cases
}
