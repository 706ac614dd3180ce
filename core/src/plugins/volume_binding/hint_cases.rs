//! Which events bring back pods that VolumeBinding rejected.

use crate::framework::event::{ActionType, EventResource};
use crate::plugins::helper::hint_cases::{
    HintCase, What, added, claim_event, claims, generated, queues, skips,
};
use crate::testkit::{NodeParts, node};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any new node", claims("c"), added(node("n").cpu("4"))),
        queues("its claim", claims("c"), claim_event(ActionType::ADD, "default", "c")),
        skips("another claim", claims("c"), claim_event(ActionType::UPDATE, "default", "d")),
        skips("in another namespace", claims("c"), claim_event(ActionType::ADD, "other", "c")),
        queues("made for it", generated(), claim_event(ActionType::ADD, "default", "pod-v")),
        skips("made for another volume", generated(), claim_event(ActionType::ADD, "default", "pod-w")),
        queues("a volume", claims("c"), What::Named(EventResource::PersistentVolume, ActionType::ADD, "", "p")),
        queues("a class", claims("c"), What::Named(EventResource::StorageClass, ActionType::ADD, "", "s")),
        queues("capacity", claims("c"), What::Named(EventResource::CsiStorageCapacity, ActionType::UPDATE, "x", "s")),
        skips("a new driver", claims("c"), What::Named(EventResource::CsiDriver, ActionType::ADD, "", "d")),
    ];
    cases
}
