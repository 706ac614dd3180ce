//! Devices and claims for them, in a few words.

use std::sync::Arc;

use crate::input::dra::{
    AllocationInput, DeviceAllocationMode, DeviceClassInput, DeviceInput, DeviceKey, DeviceRequestInput,
    DeviceResultInput, DraInput, ExactDeviceRequestInput, NodeReachInput, PodClaimSource, PodIdentityInput,
    PodResourceClaimInput, Quantities, ResourceClaimInput, ResourceSliceInput,
};
use crate::input::{NodeSelectorTermInput, PodInput};
use crate::testkit::{field_term, requirement};

/// A pool of one slice with devices that one node has.
pub(crate) fn slice_of(node: &str, devices: &[&str]) -> ResourceSliceInput {
    ResourceSliceInput {
        name: format!("slice-{node}"),
        driver: "gpu".into(),
        pool: node.into(),
        generation: 1,
        slice_count: 1,
        reach: NodeReachInput { node_name: Some(node.to_owned()), ..NodeReachInput::default() },
        devices: devices
            .iter()
            .map(|name| DeviceInput { name: (*name).into(), ..DeviceInput::default() })
            .collect(),
        ..ResourceSliceInput::default()
    }
}

/// The class `any`, of all devices.
pub(crate) fn any_class() -> DraInput {
    DraInput::DeviceClass(Arc::new(DeviceClassInput { name: "any".into(), ..DeviceClassInput::default() }))
}

/// A request of so many devices of the class `any`.
pub(crate) fn wants(count: i64) -> ExactDeviceRequestInput {
    ExactDeviceRequestInput {
        device_class_name: "any".into(),
        selectors: Vec::new(),
        mode: DeviceAllocationMode::ExactCount(count),
        admin_access: false,
        tolerations: Vec::new(),
        capacity: Quantities::new(),
    }
}

/// A claim in namespace `default` with a request `r` of so many devices.
pub(crate) fn claim_of(name: &str, count: i64) -> ResourceClaimInput {
    let request =
        DeviceRequestInput { name: "r".into(), exactly: Some(wants(count)), first_available: Vec::new() };
    ResourceClaimInput {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        requests: vec![request],
        ..ResourceClaimInput::default()
    }
}

/// A claim that has a device of a node already.
pub(crate) fn claim_on(name: &str, node: &str, device: &str) -> ResourceClaimInput {
    let result = DeviceResultInput {
        request: "r".to_owned(),
        device: DeviceKey { driver: "gpu".into(), pool: node.into(), device: device.into() },
        admin_access: false,
        tolerations: Vec::new(),
        share_id: None,
        consumed_capacity: None,
        binding_conditions: None,
        binding_failure_conditions: None,
    };
    let there: NodeSelectorTermInput = field_term(&[requirement("metadata.name", "In", &[node])]);
    let allocation = AllocationInput {
        results: vec![result],
        node_selector: Some(vec![there]),
        has_timestamp: true,
        ..AllocationInput::default()
    };
    ResourceClaimInput { allocation: Some(Arc::new(allocation)), ..claim_of(name, 1) }
}

/// As an object.
pub(crate) fn object(claim: ResourceClaimInput) -> DraInput {
    DraInput::ResourceClaim(Arc::new(claim))
}

/// As an object.
pub(crate) fn slice_object(slice: ResourceSliceInput) -> DraInput {
    DraInput::ResourceSlice(Arc::new(slice))
}

/// The pod uses these claims.
pub(crate) fn using(mut pod: PodInput, claims: &[&str]) -> PodInput {
    pod.identity = Some(PodIdentityInput { name: "pod".to_owned(), uid: "pod-uid".to_owned() });
    for name in claims {
        let source = PodClaimSource::Named((*name).to_owned());
        pod.resource_claims.push(PodResourceClaimInput { name: (*name).to_owned(), source });
    }
    pod
}
