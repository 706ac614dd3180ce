//! Whether a device is what a request wants, whoever uses it.
//!
//! Upstream: allocator_incubating.go `isSelectable`, `selectorsMatch`, `taintPreventsAllocation`.

use std::sync::Arc;

use super::requests::{Alternative, claim_name};
use crate::dra::node::DraNode;
use crate::input::dra::{
    DeviceInput, DeviceKey, DeviceTaintInput, DeviceTolerationInput, ExactDeviceRequestInput,
    ResourceClaimInput, ResourceSliceInput, SelectedDevice, SelectorError, SelectorInput,
};

/// A device by its place in the pools of a node: the order in which devices are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DeviceAt {
    pub(super) pool: usize,
    pub(super) slice: usize,
    pub(super) device: usize,
}

/// A device that is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looked<'a> {
    pub(super) at: DeviceAt,
    pub(super) slice: &'a ResourceSliceInput,
    pub(super) device: &'a DeviceInput,
}

impl Looked<'_> {
    pub(super) fn key(&self) -> DeviceKey {
        DeviceKey {
            driver: Arc::clone(&self.slice.driver),
            pool: Arc::clone(&self.slice.pool),
            device: Arc::clone(&self.device.name),
        }
    }
}

/// Whether class and request select a device that the node can reach. An error ends the cycle.
pub(super) fn is_selectable(
    node: &dyn DraNode,
    claim: &ResourceClaimInput,
    alternative: &mut Alternative<'_>,
    looked: Looked<'_>,
) -> Result<bool, String> {
    if let Some(&known) = alternative.selectable.get(&looked.at) {
        return Ok(known);
    }
    let class = alternative.class;
    let whose = || format!("class {}", class.name);
    let mut selects = do_select(&class.selectors, looked, whose)?;
    if selects {
        selects =
            do_select(&alternative.request.selectors, looked, || format!("claim {}", claim_name(claim)))?;
    }
    if selects && looked.slice.per_device_node_selection {
        selects = looked.device.reach.includes(node);
    }
    alternative.selectable.insert(looked.at, selects);
    Ok(selects)
}

fn do_select(
    selectors: &[SelectorInput],
    looked: Looked<'_>,
    whose: impl Fn() -> String,
) -> Result<bool, String> {
    let Looked { slice, device, .. } = looked;
    for (at, selector) in selectors.iter().enumerate() {
        let matches = selector.program.matches(SelectedDevice {
            driver: &slice.driver,
            allow_multiple_allocations: device.allow_multiple_allocations,
            attributes: &device.attributes,
            capacity: &device.capacity,
        });
        match matches {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(SelectorError::Compile(why)) => {
                return Err(format!("{}: selector #{at}: CEL compile error: {why}", whose()));
            }
            Err(SelectorError::Runtime(why)) => {
                let (whose, key) = (whose(), looked.key());
                return Err(format!("{whose}: selector #{at} on device {key}: CEL runtime error: {why}"));
            }
        }
    }
    Ok(true)
}

/// Some taint of a device keeps a request away. Effects other than these two are ignored.
pub(super) fn taint_prevents(device: &DeviceInput, request: &ExactDeviceRequestInput) -> bool {
    let is_effective =
        |taint: &&DeviceTaintInput| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    let mut taints = device.taints.iter().filter(is_effective);
    taints.any(|taint| !request.tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// Upstream: resourceclaim/devicetoleration.go `ToleratesTaint`.
pub(crate) fn tolerates(toleration: &DeviceTolerationInput, taint: &DeviceTaintInput) -> bool {
    (toleration.effect.is_empty() || toleration.effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator.as_str() {
            "" | "Equal" => toleration.value == taint.value,
            operator => operator == "Exists",
        }
}
