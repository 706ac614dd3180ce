//! Which events bring back pods that DynamicResources rejected.

use crate::framework::event::{ActionType, EventResource};
use crate::input::dra::DraInput;
use crate::plugins::helper::hint_cases::{HintCase, What, added, node_relabelled, queues, skips, taints};
use crate::testkit::devices::{any_class, claim_of, claim_on, object, slice_object, slice_of, using};
use crate::testkit::{PodParts, node, pod};

pub(super) fn hint_cases() -> Vec<HintCase> {
    let waiting = || using(pod().namespaced("default"), &["one"]);
    let mut reserved = claim_of("one", 1);
    reserved.reserved_for = vec!["someone".to_owned()];
    let claim = |name: &str| object(claim_of(name, 1));
    let with_device = |name: &str| object(claim_on(name, "a", "d0"));
    let news = |objects: Vec<DraInput>| What::Dra(objects);
    vec![
        queues("a node", waiting(), added(node("a"))),
        queues("other labels", waiting(), node_relabelled(&[], &[("zone", "a")])),
        skips("other taints", waiting(), taints(&["k"], &[])),
        queues("its claim", waiting(), news(vec![claim("one")])),
        skips("another claim", waiting(), news(vec![claim("one"), claim("two")])),
        skips("a claim of a pod that still lacks one", waiting(), news(vec![claim("two")])),
        queues("its claim has a device", waiting(), news(vec![claim("one"), with_device("one")])),
        queues("its claim is used by another pod", waiting(), news(vec![claim("one"), object(reserved)])),
        skips("nothing new about it", waiting(), news(vec![claim("one"), claim("one")])),
        queues(
            "devices of another claim",
            waiting(),
            news(vec![claim("one"), with_device("two"), claim("two")]),
        ),
        queues("another claim goes with its devices", waiting(), What::DraGone(with_device("two"))),
        skips("another claim goes that had none", waiting(), What::DraGone(claim("two"))),
        skips(
            "its claim is named, but not there",
            waiting(),
            What::Own(ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM, waiting()),
        ),
        queues(
            "no claim is needed any more",
            waiting(),
            What::Own(ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM, pod()),
        ),
        queues("a class", waiting(), news(vec![any_class()])),
        queues("a slice", waiting(), news(vec![slice_object(slice_of("a", &["d0"]))])),
        skips("a slice goes", waiting(), What::DraGone(slice_object(slice_of("a", &["d0"])))),
        skips("a volume", waiting(), What::Named(EventResource::PersistentVolume, ActionType::ADD, "", "v")),
    ]
}
