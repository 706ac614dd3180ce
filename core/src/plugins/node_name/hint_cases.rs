//! Which events bring back pods that NodeName rejected.

use crate::plugins::helper::hint_cases::{HintCase, added, node, pod, queues};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any new node", pod("1"), added(node("4"))),
    ];
    cases
}
