//! What is written for a pod that VolumeBinding has taken volumes for, before it is bound.

use crate::api_call::{ClaimRefWrite, SelectedNodeWrite, VolumeWrites};
use crate::ids::{ClaimId, NodeId, PodUid, VolumeId};
use crate::input::storage::ClaimRefInput;
use crate::storage::VolumeDecision;
use crate::world::World;

/// The writes that make a decision true.
#[must_use]
pub(super) fn volume_writes(
    world: &World,
    pod: PodUid,
    decision: &VolumeDecision,
    node: NodeId,
) -> VolumeWrites {
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
