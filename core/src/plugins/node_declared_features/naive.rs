//! NodeDeclaredFeatures: a pod goes where the features it needs are declared.
//!
//! Upstream: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go.

use super::NAME;
use crate::fake::{self, Feature};
use crate::framework::args::PluginArgs;
use crate::input::PodInput;
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{Fakes, FilterTwin, PluginTwin, no_counts};
use crate::naive::{NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.pod, node),
        benches: || {
            let mut pod = plain();
            pod.containers[0].may_restart_all = true;
            vec![BenchPod::new("node_declared_features", pod)]
        },
    }),
    score: None,
    fakes: Fakes {
        node: |rng, node| {
            if rng.uses(Feature::DeclaredFeatures) {
                node.declared_features = fake::declared_features(rng);
            }
        },
        pod: |rng, pod| {
            if rng.uses(Feature::DeclaredFeatures) {
                pod.host_network = rng.chance(50);
                pod.has_user_namespace = rng.chance(50);
                pod.containers[0].may_restart_all = rng.chance(30);
                pod.containers[0].has_bind_mount_options = rng.chance(20);
            }
        },
        pending_pod: |_, _| {},
        args: |_| PluginArgs::none(),
    },
    bench_node: |number, node| {
        if !number.is_multiple_of(3) {
            node.declared_features.push("RestartAllContainersOnContainerExits".to_owned());
        }
    },
};

/// Features that upstream knows, in order.
const KNOWN: [&str; 9] = [
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

/// Features that the pod's spec needs.
#[must_use]
pub fn required(pod: &PodInput) -> Vec<&'static str> {
    let containers: Vec<_> = pod.containers.iter().chain(&pod.init_containers).collect();
    let mut features = Vec::new();
    if containers.iter().any(|it| it.may_restart_all) {
        features.push("RestartAllContainersOnContainerExits");
    }
    if pod.host_network && pod.has_user_namespace {
        features.push("UserNamespacesHostNetworkSupport");
    }
    if containers.iter().any(|it| it.has_bind_mount_options) {
        features.push("VolumeBindMountOptions");
    }
    features
}

/// Features that upstream finds in a node's list: it walks on through the known ones, so that a
/// name out of order is lost.
fn found(declared: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut left = &KNOWN[..];
    for name in declared {
        while left.first().is_some_and(|known| *known < name.as_str()) {
            left = &left[1..];
        }
        if left.first().is_some_and(|known| known == name) {
            found.push(left[0]);
            left = &left[1..];
        }
    }
    found
}

/// Pods that need nothing are not looked at.
#[must_use]
pub fn pre_filter(pod: &PodInput) -> NaivePreFilter {
    if required(pod).is_empty() { NaivePreFilter::Skip } else { NaivePreFilter::AllNodes }
}

/// Rejects a node that does not declare all.
#[must_use]
pub fn filter(pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let declared = found(&node.input.declared_features);
    let reason = "node(s) didn't match Pod's required features";
    let fits = required(pod).iter().all(|feature| declared.contains(feature));
    (!fits).then(|| NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{ContainerInput, NodeInput};
    use crate::testkit::{bare_node, container, empty, strings};

    fn restarting() -> ContainerInput {
        ContainerInput { may_restart_all: true, ..container(&[]) }
    }

    #[test]
    fn filter_cases() {
        let plain = PodInput { containers: vec![container(&[])], ..Default::default() };
        let restart = PodInput { containers: vec![restarting()], ..Default::default() };
        let init = PodInput { init_containers: vec![restarting()], ..Default::default() };
        let users = PodInput { host_network: true, has_user_namespace: true, ..plain.clone() };
        let network_only = PodInput { host_network: true, ..plain.clone() };
        let mut both = restart.clone();
        both.containers[0].has_bind_mount_options = true;
        struct Case<'a> {
            name: &'static str,
            pod: &'a PodInput,
            declared: &'static [&'static str],
            skips: bool,
            fits: bool,
        }
        let all = &["RestartAllContainersOnContainerExits", "VolumeBindMountOptions"][..];
        #[rustfmt::skip]
        let cases = [
            Case { name: "nothing needed, nothing declared", pod: &plain, declared: &[], skips: true, fits: true },
            Case { name: "nothing needed, something declared", pod: &plain, declared: all, skips: true, fits: true },
            Case { name: "host network alone needs nothing", pod: &network_only, declared: &[], skips: true, fits: true },
            Case { name: "needed and absent", pod: &restart, declared: &[], skips: false, fits: false },
            Case { name: "needed, another declared", pod: &restart, declared: &["VolumeBindMountOptions"], skips: false, fits: false },
            Case { name: "needed and declared", pod: &restart, declared: &["RestartAllContainersOnContainerExits"], skips: false, fits: true },
            Case { name: "needed by an init container", pod: &init, declared: &[], skips: false, fits: false },
            Case { name: "user namespace in the host's network", pod: &users, declared: &["UserNamespacesHostNetworkSupport"], skips: false, fits: true },
            Case { name: "one of two declared", pod: &both, declared: &["RestartAllContainersOnContainerExits"], skips: false, fits: false },
            Case { name: "both declared, and an unknown one", pod: &both, declared: &["RestartAllContainersOnContainerExits", "Some", "VolumeBindMountOptions"], skips: false, fits: true },
            Case { name: "declared out of order", pod: &restart, declared: &["VolumeBindMountOptions", "RestartAllContainersOnContainerExits"], skips: false, fits: false },
        ];
        for case in &cases {
            let node = empty(NodeInput { declared_features: strings(case.declared), ..bare_node("n") });
            assert_eq!(pre_filter(case.pod) == NaivePreFilter::Skip, case.skips, "case: {}", case.name);
            let verdict = filter(case.pod, &node);
            assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
            if let Some(verdict) = verdict {
                assert_eq!(verdict.code, NaiveCode::UnschedulableAndUnresolvable);
                assert_eq!(verdict.reasons, ["node(s) didn't match Pod's required features"]);
            }
        }
    }
}
