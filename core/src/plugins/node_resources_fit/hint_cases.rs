//! Which events bring back pods that NodeResourcesFit rejected.

use std::sync::Arc;

use crate::framework::event::ActionType;
use crate::input::dra::{DeviceClassInput, DraInput};
use crate::plugins::helper::hint_cases::{
    HintCase, What, added, came, claim_event, claims, grown, more_pods, no_room, node_gone, node_relabelled,
    queues, skips, went,
};
use crate::testkit::{NodeParts, PodParts, node, pod, resources};

fn shrank(from: &str, to: &str) -> What {
    What::Pod(ActionType::UPDATE_POD_SCALE_DOWN, Some(pod().cpu(from)), Some(pod().cpu(to)))
}

pub(super) fn hint_cases() -> Vec<HintCase> {
    let mut gpu = pod().cpu("1");
    gpu.containers[0].requests.extend(resources(&[("x.com/gpu", "1")]));
    let class = |resource: Option<&str>| {
        DraInput::DeviceClass(Arc::new(DeviceClassInput {
            name: "c".into(),
            extended_resource_name: resource.map(str::to_owned),
            ..DeviceClassInput::default()
        }))
    };
    let (of_gpus, of_others, of_none) = (class(Some("x.com/gpu")), class(Some("x.com/nic")), class(None));
    #[rustfmt::skip]
    let cases = vec![
        queues("a device class for what it asks for", gpu.clone(), What::Dra(vec![of_gpus.clone()])),
        queues("a device class becomes one", gpu.clone(), What::Dra(vec![of_none.clone(), of_gpus.clone()])),
        skips("nothing new about the class", gpu.clone(), What::Dra(vec![of_gpus.clone(), of_gpus.clone()])),
        skips("a device class for something else", gpu, What::Dra(vec![of_others])),
        skips("a device class for what it does not ask for", pod().cpu("1"), What::Dra(vec![of_gpus])),
        queues("a node that fits", pod().cpu("2"), added(node("n").cpu("2"))),
        skips("a node that is too small", pod().cpu("2"), added(node("n").cpu("1"))),
        skips("a node that takes no pods", pod().cpu("1"), added(no_room())),
        queues("a node grew", pod().cpu("2"), grown("1", "2")),
        skips("grew too little", pod().cpu("2"), grown("1", "1500m")),
        skips("a node shrank", pod().cpu("2"), grown("4", "3")),
        queues("a node takes more pods", pod().cpu("1"), more_pods("1", "2")),
        queues("whatever they ask for", pod().cpu("0"), more_pods("1", "2")),
        skips("grew in what it does not ask for", pod().cpu("0"), grown("1", "2")),
        skips("labels", pod().cpu("2"), node_relabelled(&[], &[("a", "b")])),
        skips("a node went", pod().cpu("2"), node_gone(node("n").cpu("2"))),
        queues("room came free", pod().cpu("1"), went(pod().cpu("1"))),
        skips("it was on no node", pod().cpu("1"), What::Nowhere(ActionType::DELETE, pod().cpu("1"))),
        skips("a pod came", pod().cpu("1"), came(pod().cpu("1"))),
        queues("a pod shrank", pod().cpu("1"), shrank("2", "1")),
        skips("of something it does not ask for", pod().cpu("0"), shrank("2", "1")),
        queues("room was kept for it", pod().cpu("1"), What::NominatedWent(pod().cpu("1"))),
        queues("asks for less", pod().cpu("2"), What::Own(ActionType::UPDATE_POD_SCALE_DOWN, pod().cpu("1"))),
        skips("labels", pod().cpu("2"), What::Own(ActionType::UPDATE_POD_LABEL, pod().cpu("2"))),
        skips("claims do not matter", claims("c"), claim_event(ActionType::ADD, "default", "c")),
    ];
    cases
}
