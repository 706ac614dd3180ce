//! The plugins that ship with the engine, a folder each, named as upstream names them:
//!
//! | File | What it holds |
//! | --- | --- |
//! | `mod.rs` | the plugin and its [`PluginDescriptor`] |
//! | `hints.rs` | the events it registers for, with their queueing hints |
//! | `naive.rs` | its plain twin, its random inputs and the pods of its benches |
//! | `cases.rs`, `tests.rs` | its tables of cases |
//!
//! Nothing else names a plugin: the registry, the default profile, hints, twins, random inputs and plugin
//! benches are made from [`IN_TREE`].

pub mod default_binder;
pub mod default_preemption;
pub mod dynamic_resources;
pub mod gang_scheduling;
pub(crate) mod helper;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod node_affinity;
pub mod node_declared_features;
pub mod node_name;
pub mod node_ports;
pub mod node_resources_balanced_allocation;
pub mod node_resources_fit;
pub mod node_unschedulable;
pub mod node_volume_limits;
pub mod pod_group_pods_count;
pub mod pod_topology_spread;
pub mod priority_sort;
pub mod scheduling_gates;
pub mod taint_toleration;
pub mod topology_placement_generator;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;

use crate::framework::descriptor::PluginDescriptor;

/// The plugins in the order of the default profile.
/// Upstream: apis/config/v1/default_plugins.go.
pub const IN_TREE: &[&PluginDescriptor] = &[
    &scheduling_gates::DESCRIPTOR,
    &priority_sort::DESCRIPTOR,
    &node_name::DESCRIPTOR,
    &node_unschedulable::DESCRIPTOR,
    &taint_toleration::DESCRIPTOR,
    &node_affinity::DESCRIPTOR,
    &node_ports::DESCRIPTOR,
    &node_resources_fit::DESCRIPTOR,
    &volume_restrictions::DESCRIPTOR,
    &node_volume_limits::DESCRIPTOR,
    &volume_binding::DESCRIPTOR,
    &volume_zone::DESCRIPTOR,
    &pod_topology_spread::DESCRIPTOR,
    &inter_pod_affinity::DESCRIPTOR,
    &dynamic_resources::DESCRIPTOR,
    &default_preemption::DESCRIPTOR,
    &node_resources_balanced_allocation::DESCRIPTOR,
    &image_locality::DESCRIPTOR,
    &default_binder::DESCRIPTOR,
    &node_declared_features::DESCRIPTOR,
    &gang_scheduling::DESCRIPTOR,
    &topology_placement_generator::DESCRIPTOR,
    &pod_group_pods_count::DESCRIPTOR,
];

/// The plugin of a name.
#[must_use]
pub fn descriptor(name: &str) -> Option<&'static PluginDescriptor> {
    IN_TREE.iter().find(|descriptor| descriptor.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interner::Vocabulary;

    #[test]
    fn every_descriptor_has_events_twin_cases_and_bench_of_its_plugin() {
        for descriptor in IN_TREE {
            let PluginDescriptor { name, twin, cases, .. } = descriptor;
            let made = (descriptor.factory)(&(descriptor.default_args)(), &mut Vocabulary::default());
            let plugin = made.expect("a plugin can be made with its default arguments");
            assert_eq!(plugin.name(), *name);
            assert!(plugin.as_enqueue_extensions().is_some(), "{name} registers for events");
            assert_eq!(plugin.as_filter().is_some(), twin.filter.is_some(), "{name}: the twin filters");
            assert_eq!(plugin.as_score().is_some(), twin.score.is_some(), "{name}: the twin scores");
            assert_eq!(twin.filter.is_some(), !cases.filter().is_empty(), "{name}: cases of Filter");
            assert_eq!(twin.score.is_some(), !cases.score().is_empty(), "{name}: cases of Score");
            assert!(twin.filter.is_none_or(|twin| !(twin.benches)().is_empty()), "{name}: a bench of Filter");
            assert!(twin.score.is_none_or(|twin| !(twin.benches)().is_empty()), "{name}: a bench of Score");
        }
    }

    /// Upstream: apis/config/v1/default_plugins.go, without what is not built.
    #[test]
    fn the_default_profile_has_upstreams_order_and_weights() {
        let defaults: Vec<(&str, i32)> =
            IN_TREE.iter().filter_map(|plugin| Some((plugin.name, plugin.default_weight?))).collect();
        let expected = [
            ("SchedulingGates", 0),
            ("PrioritySort", 0),
            ("NodeName", 0),
            ("NodeUnschedulable", 0),
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodePorts", 0),
            ("NodeResourcesFit", 1),
            ("VolumeRestrictions", 0),
            ("NodeVolumeLimits", 0),
            ("VolumeBinding", 0),
            ("VolumeZone", 0),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("DefaultPreemption", 0),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
            ("DefaultBinder", 0),
            // A feature gate appends it.
            ("NodeDeclaredFeatures", 0),
        ];
        assert_eq!(defaults, expected);
    }
}
