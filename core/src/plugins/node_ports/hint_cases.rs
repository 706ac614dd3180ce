//! Which events bring back pods that NodePorts rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{HintCase, What, added, node, pod, port, queues, skips, went};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any new node", port(80), added(node("4"))),
        queues("its port came free", port(80), went(port(80))),
        skips("another port", port(80), went(port(81))),
        skips("no port", port(80), went(pod("1"))),
        queues("its port was kept", port(80), What::NominatedWent(port(80))),
        skips("it held no port", port(80), What::Nowhere(ActionType::DELETE, port(80))),
    ];
    cases
}
