//! Which events bring back pods that NodePorts rejected.

use crate::framework::event::ActionType;
use crate::plugins::helper::hint_cases::{HintCase, What, added, port, queues, skips, went};
use crate::testkit::{NodeParts, PodParts, node, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any new node", port(80), added(node("n").cpu("4"))),
        queues("its port came free", port(80), went(port(80))),
        skips("another port", port(80), went(port(81))),
        skips("no port", port(80), went(pod().cpu("1"))),
        queues("its port was kept", port(80), What::NominatedWent(port(80))),
        skips("it held no port", port(80), What::Nowhere(ActionType::DELETE, port(80))),
    ];
    cases
}
