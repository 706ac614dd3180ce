//! The pods that plugin benches measure, and what is expected of the answer.

use std::ops::Range;

use crate::framework::args::PluginArgs;
use crate::input::dra::{PodClaimSource, PodIdentityInput, PodResourceClaimInput};
use crate::input::{ContainerInput, PodInput, ResourceList, VolumeInput, VolumeSourceInput};
use crate::quantity::Quantity;

/// The keys that domains of the benches' nodes are made of.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// See [`HOSTNAME`].
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// One pod that makes a plugin work.
#[derive(Clone, Debug)]
pub struct BenchPod {
    /// Its part of the bench's path.
    pub path: &'static str,
    /// The plugin's arguments, if not the default ones.
    pub args: Option<PluginArgs>,
    /// The pod.
    pub pod: PodInput,
    /// Percent of the nodes that Filter keeps.
    pub keeps: Range<usize>,
    /// The twin is asked about one row in so many: some twins search all objects for each node.
    pub twin_every: usize,
}

impl BenchPod {
    /// A pod that some nodes are kept for, and not all.
    #[must_use]
    pub fn new(path: &'static str, pod: PodInput) -> BenchPod {
        BenchPod { path, args: None, pod, keeps: 1..100, twin_every: 1 }
    }

    /// With these arguments.
    #[must_use]
    pub fn with_args(self, args: PluginArgs) -> BenchPod {
        BenchPod { args: Some(args), ..self }
    }

    /// Filter keeps this percentage of the nodes.
    #[must_use]
    pub fn keeping(self, keeps: Range<usize>) -> BenchPod {
        BenchPod { keeps, ..self }
    }

    /// The twin is asked about few rows.
    #[must_use]
    pub fn rarely(self) -> BenchPod {
        BenchPod { twin_every: 64, ..self }
    }
}

/// A pod that requests this much.
///
/// # Panics
///
/// When a text is no quantity.
#[must_use]
pub fn requesting(cpu: &str, memory: &str) -> PodInput {
    let quantity = |text: &str| Quantity::parse(text).expect("benches write quantities correctly");
    let requests: ResourceList =
        [("cpu".to_owned(), quantity(cpu)), ("memory".to_owned(), quantity(memory))].into();
    let container = ContainerInput {
        name: "main".to_owned(),
        image: "registry.k8s.io/pause".to_owned(),
        requests,
        ..ContainerInput::default()
    };
    PodInput { namespace: "default".to_owned(), containers: vec![container], ..PodInput::default() }
}

/// CPU and memory, nothing else.
#[must_use]
pub fn plain() -> PodInput {
    requesting("100m", "500Mi")
}

/// A plain pod with a label.
#[must_use]
pub fn labelled(app: &str) -> PodInput {
    let mut pod = requesting("100m", "200Mi");
    pod.labels.insert("app".to_owned(), app.to_owned());
    pod
}

/// A pod that uses a claim.
#[must_use]
pub fn claiming(name: &str) -> PodInput {
    let source = VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false };
    PodInput { volumes: vec![VolumeInput { name: "data".to_owned(), source }], ..requesting("100m", "200Mi") }
}

/// A pod with a resource claim.
#[must_use]
pub fn using(claim: &str) -> PodInput {
    let identity = PodIdentityInput { name: "pod".to_owned(), uid: "uid-pod".to_owned() };
    let source = PodClaimSource::Named(claim.to_owned());
    let resource_claims = vec![PodResourceClaimInput { name: "devices".to_owned(), source }];
    PodInput { identity: Some(identity), resource_claims, ..plain() }
}
