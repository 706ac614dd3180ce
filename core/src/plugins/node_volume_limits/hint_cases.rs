//! Which events bring back pods that NodeVolumeLimits rejected.

use crate::framework::event::{ActionType, EventResource};
use crate::plugins::helper::hint_cases::{HintCase, What, added, claim_event, claims, queues, skips, went};
use crate::testkit::{NodeParts, PodParts, node, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        skips("its CSI node says more", claims("c"), added(node("n").cpu("4"))),
        queues("an attachment came free", claims("c"), went(claims("d"))),
        skips("it had none", claims("c"), went(pod().cpu("1"))),
        queues("its claim", claims("c"), claim_event(ActionType::ADD, "default", "c")),
        queues("limits", claims("c"), What::Named(EventResource::CsiNode, ActionType::UPDATE, "", "n")),
        queues("detached", claims("c"), What::Named(EventResource::VolumeAttachment, ActionType::DELETE, "", "a")),
        skips("has none", pod().cpu("1"), What::Named(EventResource::VolumeAttachment, ActionType::DELETE, "", "a")),
    ];
    cases
}
