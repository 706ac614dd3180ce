//! Which events bring back pods that SchedulingGates rejected.

use crate::framework::event::ActionType;
use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{HintCase, What, added, queues, skips};
use crate::testkit::{NodeParts, PodParts, node, pod};

fn gated() -> PodInput {
    pod().cpu("1").gated("g")
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        skips("gates do not care", pod().cpu("1"), added(node("n").cpu("4"))),
        queues("gates", gated(), What::Own(ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, pod().cpu("1"))),
    ];
    cases
}
