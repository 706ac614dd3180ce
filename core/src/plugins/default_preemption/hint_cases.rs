//! Which events bring back pods that DefaultPreemption rejected.

use crate::plugins::helper::hint_cases::{HintCase, pod, skips, went};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        skips("the eviction's end lets it in", pod("1"), went(pod("1"))),
    ];
    cases
}
