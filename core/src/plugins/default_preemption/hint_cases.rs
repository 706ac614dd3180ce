//! Which events bring back pods that DefaultPreemption rejected.

use crate::plugins::helper::hint_cases::{HintCase, skips, went};
use crate::testkit::{PodParts, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        skips("the eviction's end lets it in", pod().cpu("1"), went(pod().cpu("1"))),
    ];
    cases
}
