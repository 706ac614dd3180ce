//! Which events bring back pods that NodeUnschedulable rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{
    CORDON, HintCase, What, added, cordoned, queues, skips, taints, uncordoned,
};
use crate::testkit::{NodeParts, PodParts, node, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("an open node", pod().cpu("1"), added(node("n").cpu("4"))),
        skips("a cordoned node", pod().cpu("1"), added(cordoned())),
        queues("opened", pod().cpu("1"), uncordoned()),
        skips("was open", pod().cpu("1"), taints(&["k"], &[])),
        queues("tolerates the cordon", pod().cpu("1"), What::Own(ActionType::UPDATE_POD_TOLERATION, pod().cpu("1").tolerates(CORDON))),
        skips("tolerates something else", pod().cpu("1"), What::Own(ActionType::UPDATE_POD_TOLERATION, pod().cpu("1").tolerates("k"))),
    ];
    cases
}
