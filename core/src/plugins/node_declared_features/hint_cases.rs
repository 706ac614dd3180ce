//! Which events bring back pods that NodeDeclaredFeatures rejected.

use crate::framework::event::ActionType;
use crate::input::PodInput;
use crate::plugins::helper::hint_cases::{HintCase, What, added, node_gone, queues, skips};
use crate::testkit::{NodeParts, PodParts, node, pod};

fn restarting() -> PodInput {
    let mut pod = pod().cpu("1");
    pod.containers[0].may_restart_all = true;
    pod
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    let declares = What::Node(
        ActionType::UPDATE_NODE_DECLARED_FEATURE,
        Some(node("n").cpu("4")),
        Some(node("n").cpu("4")),
    );
    vec![
        queues("any new node", restarting(), added(node("n").cpu("4"))),
        queues("a node declares other features", restarting(), declares),
        skips("a node went", restarting(), node_gone(node("n").cpu("4"))),
        queues(
            "asks for none any more",
            restarting(),
            What::Own(ActionType::UPDATE_POD_LABEL, pod().cpu("1")),
        ),
        skips("asks for the same", restarting(), What::Own(ActionType::UPDATE_POD_LABEL, restarting())),
    ]
}
