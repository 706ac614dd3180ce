//! Which events bring back pods that SchedulingGates rejected.

use crate::framework::event::ActionType;
use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{HintCase, What, added, node, pod, queues, skips};

fn gated() -> PodInput {
    PodInput { scheduling_gates: vec!["g".to_owned()], ..pod("1") }
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        skips("gates do not care", pod("1"), added(node("4"))),
        queues("gates", gated(), What::Own(ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, pod("1"))),
    ];
    cases
}
