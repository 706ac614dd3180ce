//! The pods that benches place, one spec for each thing a plugin may look at.

use schedlab_core::input::{
    ContainerInput, HostPortInput, NodeAffinityInput, NodeSelectorTermInput, PodInput, RequirementInput,
    ResourceList, TolerationInput,
};
use schedlab_core::quantity::Quantity;

/// A kind of pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodKind {
    /// CPU and memory, nothing else.
    Plain,
    /// Must go to two of three zones.
    RequiredAffinity,
    /// Would like fast disks, so scores are scaled over the feasible nodes.
    PreferredAffinity,
    /// Tolerates the taint that some nodes carry.
    Tolerating,
    /// Wants a host port that some nodes have given away.
    HostPort,
}

impl PodKind {
    /// All of them.
    pub const ALL: [PodKind; 5] = [
        PodKind::Plain,
        PodKind::RequiredAffinity,
        PodKind::PreferredAffinity,
        PodKind::Tolerating,
        PodKind::HostPort,
    ];

    /// Its part of a bench's path.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PodKind::Plain => "plain",
            PodKind::RequiredAffinity => "required_affinity",
            PodKind::PreferredAffinity => "preferred_affinity",
            PodKind::Tolerating => "tolerating",
            PodKind::HostPort => "host_port",
        }
    }

    /// The spec.
    #[must_use]
    pub fn spec(self) -> PodInput {
        let plain = requesting("100m", "500Mi");
        match self {
            PodKind::Plain => plain,
            PodKind::RequiredAffinity => {
                let term = term("topology.kubernetes.io/zone", &["zone-0", "zone-2"]);
                let affinity =
                    NodeAffinityInput { required: Some(vec![term]), ..NodeAffinityInput::default() };
                PodInput { node_affinity: Some(affinity), ..plain }
            }
            PodKind::PreferredAffinity => {
                let preferred = vec![(10, term("disk", &["ssd"])), (3, term("disk", &["nvme"]))];
                let affinity =
                    NodeAffinityInput { preferred: Some(preferred), ..NodeAffinityInput::default() };
                PodInput { node_affinity: Some(affinity), ..plain }
            }
            PodKind::Tolerating => {
                let toleration = TolerationInput {
                    key: "dedicated".to_owned(),
                    operator: "Equal".to_owned(),
                    value: "gpu".to_owned(),
                    effect: "NoSchedule".to_owned(),
                    ..TolerationInput::default()
                };
                PodInput { tolerations: vec![toleration], ..plain }
            }
            PodKind::HostPort => {
                let mut pod = plain;
                pod.containers[0].host_ports =
                    vec![HostPortInput { host_port: 8080, ..HostPortInput::default() }];
                pod
            }
        }
    }
}

/// A pod that requests this much.
///
/// # Panics
///
/// When a text is no quantity.
#[must_use]
pub fn requesting(cpu: &str, memory: &str) -> PodInput {
    let container = ContainerInput {
        name: "main".to_owned(),
        image: "registry.k8s.io/pause".to_owned(),
        requests: resources(&[("cpu", cpu), ("memory", memory)]),
        ..ContainerInput::default()
    };
    PodInput { namespace: "default".to_owned(), containers: vec![container], ..PodInput::default() }
}

/// A resource list.
///
/// # Panics
///
/// When a text is no quantity.
#[must_use]
pub fn resources(list: &[(&str, &str)]) -> ResourceList {
    let quantity = |text| Quantity::parse(text).expect("benches write quantities correctly");
    list.iter().map(|&(name, text)| (name.to_owned(), quantity(text))).collect()
}

fn term(key: &str, values: &[&str]) -> NodeSelectorTermInput {
    let requirement = RequirementInput {
        key: key.to_owned(),
        operator: "In".to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    };
    NodeSelectorTermInput { match_expressions: vec![requirement], match_fields: Vec::new() }
}
