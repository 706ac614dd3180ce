//! Which events bring back pods that VolumeRestrictions rejected.

use crate::framework::event::ActionType;
use crate::input::{PodInput, VolumeSourceInput};
use crate::plugins::helper::hint_cases::{
    HintCase, added, claim_event, claims, elsewhere, generated, queues, skips, went, with_volume,
};
use crate::testkit::{NodeParts, node};

fn mounts(name: &str, read_only: bool) -> PodInput {
    with_volume(VolumeSourceInput::GcePersistentDisk { pd_name: name.to_owned(), read_only })
}

fn disk(name: &str) -> PodInput {
    mounts(name, false)
}

fn reads(name: &str) -> PodInput {
    mounts(name, true)
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any new node", claims("c"), added(node("n").cpu("4"))),
        queues("its claim came free", claims("c"), went(claims("c"))),
        skips("another claim", claims("c"), went(claims("d"))),
        skips("in another namespace", claims("c"), went(elsewhere(claims("c")))),
        queues("its disk came free", disk("d"), went(disk("d"))),
        skips("another disk", disk("d"), went(disk("e"))),
        skips("two that only read share it", reads("d"), went(reads("d"))),
        queues("one that writes went", reads("d"), went(disk("d"))),
        queues("its claim", claims("c"), claim_event(ActionType::ADD, "default", "c")),
        skips("not one it names", generated(), claim_event(ActionType::ADD, "default", "pod-v")),
    ];
    cases
}
