//! Slices with the taints that rules add to their devices.
//!
//! Upstream: resourceslice/tracker/tracker.go `applyPatches`. The order of a device's taints decides
//! nothing; here it is that of the rules' names.

use std::sync::Arc;

use crate::input::dra::{DeviceTaintRuleInput, ResourceSliceInput};

/// The slice as allocation sees it: itself, unless a rule is about one of its devices.
pub(super) fn patched<'a>(
    slice: &Arc<ResourceSliceInput>,
    rules: impl Iterator<Item = &'a Arc<DeviceTaintRuleInput>>,
) -> Arc<ResourceSliceInput> {
    let is_any_or = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|it| it == name);
    let mut patched = Arc::clone(slice);
    for rule in rules.filter(|it| is_any_or(&it.driver, &slice.driver) && is_any_or(&it.pool, &slice.pool)) {
        for at in 0..slice.devices.len() {
            if is_any_or(&rule.device, &slice.devices[at].name) {
                Arc::make_mut(&mut patched).devices[at].taints.push(rule.taint.clone());
            }
        }
    }
    patched
}

/// Whether rules say the same of the devices of a slice as they did before.
/// Upstream: `syncSlice`, which tells of a slice after a rule only if they do not.
pub(super) fn have_same_taints(old: &ResourceSliceInput, new: &ResourceSliceInput) -> bool {
    old.devices.iter().map(|it| &it.taints).eq(new.devices.iter().map(|it| &it.taints))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::dra::{DeviceInput, DeviceTaintInput};

    #[test]
    fn rule_taints_the_devices_that_its_selector_names_and_no_others() {
        let device = |name: &str| DeviceInput { name: name.into(), ..DeviceInput::default() };
        let slice = Arc::new(ResourceSliceInput {
            driver: "gpu".into(),
            pool: "p".into(),
            devices: vec![device("a"), device("b")],
            ..ResourceSliceInput::default()
        });
        let tainted = |driver: Option<&str>, pool: Option<&str>, device: Option<&str>| {
            let taint = DeviceTaintInput { key: "k".into(), ..DeviceTaintInput::default() };
            let [driver, pool, device] = [driver, pool, device].map(|it| it.map(str::to_owned));
            let rule = Arc::new(DeviceTaintRuleInput {
                driver,
                pool,
                device,
                taint,
                ..DeviceTaintRuleInput::default()
            });
            let patched = patched(&slice, [rule].iter());
            patched.devices.iter().map(|it| it.taints.len()).collect::<Vec<_>>()
        };
        assert_eq!(tainted(None, None, None), [1, 1], "a rule about everything");
        assert_eq!(tainted(Some("gpu"), Some("p"), Some("b")), [0, 1]);
        assert_eq!(tainted(Some("nic"), None, None), [0, 0]);
        assert_eq!(tainted(None, Some("q"), None), [0, 0]);
    }
}
