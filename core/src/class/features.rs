//! Features that nodes declare and pods need.
//!
//! Upstream: component-helpers/nodedeclaredfeatures. Of the nine registered features three can be
//! needed at scheduling time; the others matter to pod updates and to the kubelet only.

use crate::input::PodInput;

/// A set of registered features, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureSet(u16);

/// The registered features in name order. The bit of a feature is its place here.
const REGISTERED: [&str; 9] = [
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "InPlacePodVerticalScalingMemoryBackedVolumes",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
];
const RESTART_ALL_CONTAINERS: FeatureSet = FeatureSet(1 << 6);
const USER_NAMESPACES_HOST_NETWORK: FeatureSet = FeatureSet(1 << 7);
const VOLUME_BIND_MOUNT_OPTIONS: FeatureSet = FeatureSet(1 << 8);

impl FeatureSet {
    /// What a node declares. Both lists are walked side by side, as upstream does: a name that
    /// stands out of order is not found.
    #[must_use]
    pub fn declared(names: &[String]) -> FeatureSet {
        let mut set = FeatureSet::default();
        let (mut at, mut bit) = (0, 0);
        while at < names.len() && bit < REGISTERED.len() {
            match names[at].as_str().cmp(REGISTERED[bit]) {
                std::cmp::Ordering::Equal => {
                    set.0 |= 1 << bit;
                    at += 1;
                    bit += 1;
                }
                std::cmp::Ordering::Less => at += 1,
                std::cmp::Ordering::Greater => bit += 1,
            }
        }
        set
    }

    /// What a pod needs.
    #[must_use]
    pub fn required_by(pod: &PodInput) -> FeatureSet {
        let containers = || pod.containers.iter().chain(&pod.init_containers);
        let when = |needed: bool, feature: FeatureSet| if needed { feature.0 } else { 0 };
        FeatureSet(
            when(containers().any(|it| it.may_restart_all), RESTART_ALL_CONTAINERS)
                | when(pod.host_network && pod.has_user_namespace, USER_NAMESPACES_HOST_NETWORK)
                | when(containers().any(|it| it.has_bind_mount_options), VOLUME_BIND_MOUNT_OPTIONS),
        )
    }

    /// No feature.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Every feature of this set is in the other.
    #[inline]
    #[must_use]
    pub fn is_subset_of(self, other: FeatureSet) -> bool {
        self.0 & !other.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ContainerInput;

    #[test]
    fn declared_names_are_merged_with_the_registry() {
        let declared = |names: &[&str]| {
            FeatureSet::declared(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert!(REGISTERED.is_sorted());
        assert_eq!(declared(&[]), FeatureSet::default());
        assert_eq!(declared(&["Unknown"]), FeatureSet::default());
        assert_eq!(declared(&["RestartAllContainersOnContainerExits"]), RESTART_ALL_CONTAINERS);
        assert_eq!(declared(&["VolumeBindMountOptions", "AfterIt"]), VOLUME_BIND_MOUNT_OPTIONS);
        // Out of order: the registry has been walked past it.
        assert_eq!(
            declared(&["VolumeBindMountOptions", "RestartAllContainersOnContainerExits"]),
            VOLUME_BIND_MOUNT_OPTIONS
        );
        assert_eq!(declared(&REGISTERED).0, (1 << REGISTERED.len()) - 1);
    }

    #[test]
    fn required_node_features_follow_from_the_pod_spec() {
        let pod = |change: fn(&mut PodInput)| {
            let mut pod = PodInput { containers: vec![ContainerInput::default()], ..PodInput::default() };
            change(&mut pod);
            FeatureSet::required_by(&pod)
        };
        let init = |pod: &mut PodInput| pod.init_containers = std::mem::take(&mut pod.containers);
        assert!(pod(|_| ()).is_empty());
        assert!(pod(|it| it.host_network = true).is_empty());
        assert!(pod(|it| it.has_user_namespace = true).is_empty());
        let both = pod(|it| (it.host_network, it.has_user_namespace) = (true, true));
        assert_eq!(both, USER_NAMESPACES_HOST_NETWORK);
        assert_eq!(pod(|it| it.containers[0].may_restart_all = true), RESTART_ALL_CONTAINERS);
        let mut spec = PodInput { containers: vec![ContainerInput::default()], ..PodInput::default() };
        spec.containers[0].may_restart_all = true;
        spec.containers[0].has_bind_mount_options = true;
        init(&mut spec);
        let required = FeatureSet::required_by(&spec);
        assert_eq!(required.0, RESTART_ALL_CONTAINERS.0 | VOLUME_BIND_MOUNT_OPTIONS.0);
        assert!(RESTART_ALL_CONTAINERS.is_subset_of(required));
        assert!(!required.is_subset_of(RESTART_ALL_CONTAINERS));
    }
}
