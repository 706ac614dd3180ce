//! Which events bring back pods that VolumeZone rejected.

use crate::framework::event::{ActionType, EventResource};
use crate::plugins::helper::hint_cases::{
    HintCase, What, claim_event, claims, node_relabelled, queues, skips,
};

pub(super) fn hint_cases() -> Vec<HintCase> {
    #[rustfmt::skip]
    let cases = vec![
        queues("any change of labels", claims("c"), node_relabelled(&[], &[("zone", "a")])),
        queues("its claim", claims("c"), claim_event(ActionType::UPDATE, "default", "c")),
        skips("a changed class", claims("c"), What::Named(EventResource::StorageClass, ActionType::UPDATE, "", "s")),
    ];
    cases
}
