//! Which events bring back pods that NodeName rejected.

use crate::plugins::helper::hint_cases::{HintCase, added, queues};
use crate::testkit::{NodeParts, PodParts, node, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any new node", pod().cpu("1"), added(node("n").cpu("4"))),
    ];
    cases
}
