//! What the scheduler wants done at the API: values that a runtime performs.
//!
//! It stands below the framework, so that plugins can ask for calls.

use std::sync::Arc;

use crate::dra::{ClaimName, DeviceReservation};
use crate::ids::{NodeId, PodUid};
use crate::input::pod_group::PodGroupCondition;
use crate::input::storage::ClaimRefInput;
use crate::reclaim::Marks;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiCall {
    /// `POST pods/binding`.
    Bind {
        /// The pod.
        pod: PodUid,
        /// The node.
        node: NodeId,
    },
    /// `PATCH pods/status`.
    PatchStatus(StatusPatch),
    /// `PUT persistentvolumes`, `PUT persistentvolumeclaims`: before a pod with open claims is bound.
    BindVolumes(Box<VolumeWrites>),
    /// `PUT resourceclaims/status`, `POST` and `DELETE resourceclaims`: what a pod's claims need.
    WriteClaims(Box<ClaimWrites>),
    /// `PATCH pods/status`: condition `DisruptionTarget` with reason `PreemptionByScheduler`, before the pod
    /// is deleted to make room for another.
    AddDisruptionTarget {
        /// The pod.
        pod: PodUid,
        /// The condition's message.
        message: Arc<str>,
    },
    /// `DELETE pods`: the pod makes room for another.
    DeletePod {
        /// The pod.
        pod: PodUid,
    },
    /// `PATCH podgroups/status`.
    PatchPodGroupStatus(Box<PodGroupStatusPatch>),
}

impl ApiCall {
    /// The pod it is about; for a group's status what stands for the group.
    #[must_use]
    pub fn pod(&self) -> PodUid {
        match self {
            ApiCall::Bind { pod, .. }
            | ApiCall::AddDisruptionTarget { pod, .. }
            | ApiCall::DeletePod { pod } => *pod,
            ApiCall::PatchStatus(patch) => patch.pod,
            ApiCall::BindVolumes(writes) => writes.pod,
            ApiCall::WriteClaims(writes) => writes.pod,
            ApiCall::PatchPodGroupStatus(patch) => patch.group,
        }
    }
}

/// The condition PodGroupInitiallyScheduled of a pod group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodGroupStatusPatch {
    /// Stands for the group among pods: no pod has it.
    pub group: PodUid,
    /// The group's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The condition.
    pub condition: PodGroupCondition,
}

/// What is written of a pod's claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimWrites {
    /// The pod.
    pub pod: PodUid,
    /// What.
    pub write: ClaimWrite,
}

/// A change of claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimWrite {
    /// They are allocated and reserved for the pod, which is about to be bound.
    /// Upstream: dynamicresources.go `bindClaim`.
    Reserve(Arc<DeviceReservation>),
    /// This one gives back its devices.
    Deallocate(ClaimName),
    /// This one, which the scheduler made, is void.
    Delete(ClaimName),
}

impl ApiCall {
    /// Marks what the call refers to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        match self {
            ApiCall::Bind { node, .. } => marks.node(*node),
            ApiCall::PatchStatus(StatusPatch { nomination: NominatingInfo::Node(node), .. }) => {
                marks.node(*node)
            }
            ApiCall::PatchStatus(_)
            | ApiCall::BindVolumes(_)
            | ApiCall::WriteClaims(_)
            | ApiCall::AddDisruptionTarget { .. }
            | ApiCall::DeletePod { .. }
            | ApiCall::PatchPodGroupStatus(_) => {}
        }
    }
}

#[cfg(any(test, feature = "testkit"))]
impl ApiCall {
    /// `7 -> n1`, `7: <message>`, `7 ~ n1` for a nomination, `7 ~` for none, `7 !` for `DisruptionTarget`,
    /// `7 x` for a deletion.
    #[must_use]
    pub fn text(&self, world: &crate::world::World) -> String {
        match self {
            ApiCall::Bind { pod, node } => format!("{} -> {}", pod.0, world.node_name(*node)),
            ApiCall::AddDisruptionTarget { pod, .. } => format!("{} !", pod.0),
            ApiCall::DeletePod { pod } => format!("{} x", pod.0),
            ApiCall::PatchPodGroupStatus(patch) => {
                let PodGroupCondition { is_true, reason, message, .. } = &patch.condition;
                format!("group {}: {is_true} {reason}: {message}", patch.name)
            }
            ApiCall::BindVolumes(writes) => {
                let bindings = writes.bindings.iter().map(|it| format!("{}={}", it.claim.name, it.volume));
                let provisions = writes.provisions.iter().map(|it| format!("{} on {}", it.name, it.node));
                let texts: Vec<String> = bindings.chain(provisions).collect();
                format!("{} volumes {}", writes.pod.0, texts.join(", "))
            }
            ApiCall::WriteClaims(writes) => match &writes.write {
                ClaimWrite::Reserve(reservation) => {
                    let allocations = reservation.allocations.iter().map(|it| {
                        let devices = it.allocation.results.iter().map(|result| &*result.device.device);
                        format!("{}={}", it.claim.name, devices.collect::<Vec<_>>().join("+"))
                    });
                    let shared = reservation.shared.iter().map(|(_, name)| name.clone());
                    let texts: Vec<String> = allocations.chain(shared).collect();
                    format!("{} claims {}", writes.pod.0, texts.join(", "))
                }
                ClaimWrite::Deallocate((_, name)) => format!("{} deallocates {name}", writes.pod.0),
                ClaimWrite::Delete((_, name)) => format!("{} deletes {name}", writes.pod.0),
            },
            ApiCall::PatchStatus(patch) => {
                let nomination = match patch.nomination {
                    NominatingInfo::Keep => String::new(),
                    NominatingInfo::Clear => " ~".to_owned(),
                    NominatingInfo::Node(node) => format!(" ~ {}", world.node_name(node)),
                };
                let condition = match &patch.condition {
                    None => String::new(),
                    Some(ConditionChange::False { message, .. }) => format!(": {message}"),
                    Some(ConditionChange::Withdraw) => ": -".to_owned(),
                };
                format!("{}{nomination}{condition}", patch.pod.0)
            }
        }
    }
}

/// What becomes of `status.nominatedNodeName`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NominatingInfo {
    /// It stays as it is. Upstream: `ModeNoop`.
    #[default]
    Keep,
    /// It is cleared. Upstream: `ModeOverride` with an empty name.
    Clear,
    /// It becomes this node.
    Node(NodeId),
}

/// What a patch of a pod's status says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPatch {
    /// The pod.
    pub pod: PodUid,
    /// What becomes of condition `PodScheduled`; it stays when absent.
    pub condition: Option<ConditionChange>,
    /// What becomes of `nominatedNodeName`.
    pub nomination: NominatingInfo,
}

/// What becomes of condition `PodScheduled`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionChange {
    /// Its status is `False`.
    False {
        /// `reason`.
        reason: ConditionReason,
        /// `message`.
        message: Arc<str>,
        /// The scheduler has said nothing before: if this is taken back before it was sent, nothing
        /// is left to be said.
        is_first: bool,
    },
    /// What was said before does not hold any more: the condition is removed.
    Withdraw,
}

/// Why a pod is not scheduled, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionReason {
    /// No node fits, or a plugin refused.
    Unschedulable,
    /// Something failed.
    SchedulerError,
    /// A PreEnqueue plugin holds the pod back (KEP-5501).
    NotReadyForScheduling,
}

impl ConditionReason {
    /// As the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionReason::Unschedulable => "Unschedulable",
            ConditionReason::SchedulerError => "SchedulerError",
            ConditionReason::NotReadyForScheduling => "NotReadyForScheduling",
        }
    }
}

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
