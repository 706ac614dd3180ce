//! What VolumeBinding takes for a pod that is assumed, and what is written for it before it is
//! bound.

use crate::ids::{ClaimId, NodeId, PodUid, VolumeId};
use crate::input::storage::ClaimRefInput;
use crate::storage::VolumeDecision;
use crate::world::World;

/// What is to be written before a pod with open claims is bound.
/// Upstream: volumebinding/binder.go `bindAPIUpdate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeWrites {
    /// The pod.
    pub pod: PodUid,
    /// Volumes that get a `spec.claimRef`.
    pub bindings: Vec<ClaimRefWrite>,
    /// Claims that get the annotation `volume.kubernetes.io/selected-node`.
    pub provisions: Vec<SelectedNodeWrite>,
}

/// `PUT persistentvolumes`: the volume is bound to the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRefWrite {
    /// The volume.
    pub volume: String,
    /// The claim.
    pub claim: ClaimRefInput,
}

/// `PUT persistentvolumeclaims`: the claim is to be provisioned on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedNodeWrite {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// The node.
    pub node: String,
}

/// The writes that make a decision true.
#[must_use]
pub fn volume_writes(world: &World, pod: PodUid, decision: &VolumeDecision, node: NodeId) -> VolumeWrites {
    let storage = world.storage();
    let text = |symbol| world.vocabulary.symbols.text(symbol).to_owned();
    let binding = |&(claim, volume): &(ClaimId, VolumeId)| {
        let claim = storage.claim_ref(claim);
        ClaimRefWrite {
            volume: text(storage.volume_name(volume)),
            claim: ClaimRefInput {
                namespace: text(claim.namespace),
                name: text(claim.name),
                uid: text(claim.uid),
            },
        }
    };
    let provision = |&claim: &ClaimId| {
        let (namespace, name) = storage.claim_name(claim);
        SelectedNodeWrite {
            namespace: text(namespace),
            name: text(name),
            node: world.node_name(node).to_owned(),
        }
    };
    VolumeWrites {
        pod,
        bindings: decision.bindings.iter().map(binding).collect(),
        provisions: decision.provisions.iter().map(provision).collect(),
    }
}
