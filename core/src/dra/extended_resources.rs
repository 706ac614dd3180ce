//! Extended resources that device classes stand for.
//!
//! Upstream: deviceclass/extendedresourcecache/extendedresourcecache.go, whose answers depend on the order
//! of events where two classes have the same name for a resource; so do ours.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::input::dra::DeviceClassInput;

/// Every class stands for this prefix and its name.
/// Upstream: api/resource/v1 `ResourceDeviceClassPrefix`.
pub(crate) const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// The class of each extended resource.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtendedResources {
    class_of: BTreeMap<String, Arc<DeviceClassInput>>,
}

fn implicit_name(class: &DeviceClassInput) -> String {
    format!("{DEVICE_CLASS_PREFIX}{}", class.name)
}

impl ExtendedResources {
    pub(super) fn class_of(&self, resource: &str) -> Option<&Arc<DeviceClassInput>> {
        self.class_of.get(resource)
    }

    /// Of two classes for one resource the newer is taken, then the one whose name comes first.
    pub(super) fn upsert(&mut self, class: &Arc<DeviceClassInput>, old: Option<&DeviceClassInput>) {
        let rival = class.extended_resource_name.as_ref().and_then(|name| self.class_of.get(name));
        if let Some(rival) = rival {
            let loses = class.created_s < rival.created_s
                || class.created_s == rival.created_s && class.name >= rival.name;
            if loses {
                return;
            }
        }
        if let Some(old) = old {
            self.remove(old);
        }
        if let Some(name) = &class.extended_resource_name {
            self.class_of.insert(name.clone(), Arc::clone(class));
        }
        self.class_of.insert(implicit_name(class), Arc::clone(class));
    }

    pub(super) fn remove(&mut self, class: &DeviceClassInput) {
        self.class_of.remove(&implicit_name(class));
        if let Some(name) = &class.extended_resource_name {
            self.class_of.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, created_s: i64, resource: &str) -> Arc<DeviceClassInput> {
        Arc::new(DeviceClassInput {
            name: name.into(),
            created_s,
            extended_resource_name: (!resource.is_empty()).then(|| resource.to_owned()),
            ..DeviceClassInput::default()
        })
    }

    #[test]
    fn newer_class_wins_an_extended_resource_then_the_smaller_name() {
        let mut classes = ExtendedResources::default();
        let name = |classes: &ExtendedResources, it: &str| classes.class_of(it).map(|it| it.name.to_string());
        classes.upsert(&class("m", 1, "x/gpu"), None);
        classes.upsert(&class("z", 2, "x/gpu"), None);
        assert_eq!(name(&classes, "x/gpu").as_deref(), Some("z"));
        classes.upsert(&class("a", 2, "x/gpu"), None);
        assert_eq!(name(&classes, "x/gpu").as_deref(), Some("a"));
        classes.upsert(&class("b", 1, "x/gpu"), None);
        assert_eq!(name(&classes, "x/gpu").as_deref(), Some("a"));
        let implicit = format!("{DEVICE_CLASS_PREFIX}b");
        assert_eq!(name(&classes, &implicit), None, "as upstream, the loser lacks its implicit name");
        classes.remove(&class("a", 2, "x/gpu"));
        assert_eq!(name(&classes, "x/gpu"), None);
    }
}
