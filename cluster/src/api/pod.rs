//! Pods as rows: what differs between the pods of a template, and ids for all the rest.

use std::num::NonZeroU32;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use schedlab_core::ids::PodUid;
use schedlab_core::input::PodInput;

/// A pod body: all of a pod that replicas share. It never stands for another body; once no pod has it
/// any more it reads as one without a spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecId(pub u32);

/// A namespace's name. It never stands for another; see [`NodeNameId`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceId(pub u32);

/// A pod's name, or the part of it that stands before the number. It never stands for another; see
/// [`NodeNameId`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// A node's name, whether or not such a node exists. It never stands for another name. It is forgotten
/// when there is no such node, no pod or event of the log names it and nobody holds the string that
/// [`Api::node_name`](super::Api::node_name) hands out; the name gets another id should it come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNameId(NonZeroU32);

impl NodeNameId {
    /// The id of the name at this place of a table.
    #[must_use]
    pub fn from_index(index: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index))
    }

    /// What the table of names calls it.
    #[must_use]
    pub(crate) fn number(self) -> u32 {
        self.0.get() - 1
    }

    /// How many names were given an id before it.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A distinct list of pod conditions; 0 is the empty one. It never stands for another list; one that no
/// pod has any more reads as empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConditionSetId(pub u32);

/// A pod's name, packed. [`Api::pod_name`](super::Api::pod_name) makes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PodName {
    /// The whole name, or its `generateName`.
    pub prefix: NameId,
    /// The number behind the prefix; [`PodName::NO_NUMBER`] if the prefix is the whole name.
    pub number: u32,
}

impl PodName {
    /// Says that the name has no number.
    pub const NO_NUMBER: u32 = u32::MAX;
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PodPhase {
    /// Not started.
    #[default]
    Pending,
    /// Containers run.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// The node does not answer.
    Unknown,
}

impl PodPhase {
    /// The phase takes no more resources.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// As the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PodPhase::Pending => "Pending",
            PodPhase::Running => "Running",
            PodPhase::Succeeded => "Succeeded",
            PodPhase::Failed => "Failed",
            PodPhase::Unknown => "Unknown",
        }
    }

    /// As the API writes it; anything the API does not know is `Unknown`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "Pending" | "" => PodPhase::Pending,
            "Running" => PodPhase::Running,
            "Succeeded" => PodPhase::Succeeded,
            "Failed" => PodPhase::Failed,
            _ => PodPhase::Unknown,
        }
    }
}

/// Yes-or-no facts of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodFlags(u8);

impl PodFlags {
    /// None of the facts holds.
    pub const NONE: PodFlags = PodFlags(0);
    /// The row holds a pod.
    pub const LIVE: PodFlags = PodFlags(1);
    /// `metadata.deletionTimestamp` is set.
    pub const TERMINATING: PodFlags = PodFlags(2);
    /// `metadata.finalizers` is not empty.
    pub const FINALIZERS: PodFlags = PodFlags(4);
    /// `spec.schedulingGates` is not empty.
    pub const GATED: PodFlags = PodFlags(8);
    /// The pod asks something of its node while it runs (KEP-2358), or has done so before.
    pub const EXECUTION_TERMS: PodFlags = PodFlags(16);

    /// Condition `DisruptionTarget` is true, with reason `PreemptionByScheduler`.
    pub const PREEMPTED: PodFlags = PodFlags(32);

    /// All facts of `other` hold.
    #[must_use]
    pub fn contains(self, other: PodFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// At least one fact of `other` holds.
    #[must_use]
    pub fn intersects(self, other: PodFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// The facts of both.
    #[must_use]
    pub fn with(self, other: PodFlags) -> PodFlags {
        PodFlags(self.0 | other.0)
    }

    /// The facts that hold in both.
    #[must_use]
    pub fn and(self, other: PodFlags) -> PodFlags {
        PodFlags(self.0 & other.0)
    }

    /// The facts of this that are not in `other`.
    #[must_use]
    pub fn without(self, other: PodFlags) -> PodFlags {
        PodFlags(self.0 & !other.0)
    }
}

/// A pod. All that is not here is in the entry of its [`SpecId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredPodRow {
    /// Who it is.
    pub uid: PodUid,
    /// The version this state was written at.
    pub resource_version: u64,
    /// When it was created.
    pub created_ns: u64,
    /// When a condition last changed its status.
    pub transition_ns: u64,
    /// Its body.
    pub spec: SpecId,
    /// `metadata.namespace`.
    pub namespace: NamespaceId,
    /// `metadata.name`.
    pub name: PodName,
    /// `spec.nodeName`.
    pub node: Option<NodeNameId>,
    /// `status.nominatedNodeName`.
    pub nominated: Option<NodeNameId>,
    /// `status.conditions`.
    pub conditions: ConditionSetId,
    /// `status.phase`.
    pub phase: PodPhase,
    /// The rest.
    pub flags: PodFlags,
}

// One cache line: the store writes and the watch copies a whole row.
const _: () = assert!(size_of::<StoredPodRow>() == 64);

/// A pod body as it is stored once for all pods that share it.
#[derive(Clone, Debug, Default)]
pub struct PodSpecEntry {
    /// What scheduling reads.
    pub input: Arc<PodInput>,
    /// The API object without what the row holds: name, UID, versions and times, node, phase,
    /// nomination and conditions (but for `PodResizePending`, which belongs to `input`).
    pub object: Arc<Pod>,
    /// `status.startTime` in seconds since the epoch.
    pub start_time_s: Option<i64>,
    /// `spec.schedulingGroup.podGroupName`.
    pub pod_group: Option<Arc<str>>,
}

/// Pods in the making: one body, and how they are called.
#[derive(Clone, Debug)]
pub struct PodTemplate {
    /// The body, as the API server would store it.
    pub object: Arc<Pod>,
    /// What scheduling reads from it.
    pub input: Arc<PodInput>,
    /// The body's id.
    pub spec: SpecId,
    /// Where the pods go.
    pub namespace: NamespaceId,
    /// `metadata.generateName`, or `metadata.name`: then `number` is [`PodName::NO_NUMBER`] and
    /// the template makes one pod. Otherwise the store counts and `number` is 0.
    pub name: PodName,
    /// `spec.nodeName` of pods that are created bound.
    pub node: Option<NodeNameId>,
    /// `status.nominatedNodeName` of pods that somebody nominates at once.
    pub nominated: Option<NodeNameId>,
    /// The conditions the API server gives at creation.
    pub conditions: ConditionSetId,
    /// What holds for the pods at creation.
    pub flags: PodFlags,
    /// Keeps the names and conditions that pods of the template will have.
    #[allow(dead_code, reason = "held, not read")]
    pub(crate) pins: TemplatePins,
}

/// What a [`PodTemplate`] keeps from being forgotten while no pod has it.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "held, not read")]
pub(crate) struct TemplatePins {
    pub(crate) names: Box<[Arc<str>]>,
    pub(crate) conditions: Arc<[PodConditionEntry]>,
}

/// A shared [`PodTemplate`].
pub type PodTemplateRef = Arc<PodTemplate>;

/// What [`create_pods`](super::Api::create_pods) made: `count` pods with consecutive UIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedPods {
    /// The first pod.
    pub first: PodUid,
    /// How many.
    pub count: u32,
}

impl CreatedPods {
    /// The pods, in the order of creation.
    pub fn uids(self) -> impl Iterator<Item = PodUid> {
        (self.first.0..self.first.0 + u64::from(self.count)).map(PodUid)
    }
}

/// Pods as rows, and the version of the store they were read at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRowList {
    /// Watch from here on to miss nothing.
    pub resource_version: u64,
    /// In the order of creation.
    pub rows: Vec<StoredPodRow>,
}

/// A pod and the node it is to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The pod; its UID is the precondition.
    pub pod: PodUid,
    /// The node. As in the API, it need not exist.
    pub node: NodeNameId,
}

/// A binding as the REST API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedBinding<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub name: &'a str,
    /// Bind only the pod with this UID.
    pub uid: Option<&'a str>,
    /// The node's name.
    pub node: &'a str,
}

/// `status` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can say.
    Unknown,
}

impl ConditionStatus {
    /// As the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        }
    }

    /// As the API writes it; anything else is `Unknown`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        }
    }
}

/// A condition to be set, borrowed from whoever sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConditionPatch<'a> {
    /// `type`, as in `PodScheduled`.
    pub type_: &'a str,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`, may be empty.
    pub reason: &'a str,
    /// `message`, may be empty.
    pub message: &'a str,
}

/// The type of the condition that says why a pod is asked to go.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// Its reason where a scheduler makes room for another pod.
pub const PREEMPTION_BY_SCHEDULER: &str = "PreemptionByScheduler";

/// What a status patch does to a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionEdit<'a> {
    /// Adds it, or replaces the one of its type.
    Set(ConditionPatch<'a>),
    /// Removes the one of this type, if its reason is this one.
    Remove {
        /// `type`.
        type_: &'a str,
        /// `reason`.
        reason: &'a str,
    },
}

impl<'a> From<ConditionPatch<'a>> for ConditionEdit<'a> {
    fn from(patch: ConditionPatch<'a>) -> Self {
        ConditionEdit::Set(patch)
    }
}

/// A condition as it is stored: without times, which the row has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodConditionEntry {
    /// `type`.
    pub type_: Arc<str>,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`, may be empty.
    pub reason: Arc<str>,
    /// `message`, may be empty.
    pub message: Arc<str>,
}

/// What a status patch does to `status.nominatedNodeName`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NominatedNodeNamePatch {
    /// Leaves it.
    #[default]
    Keep,
    /// Empties it.
    Clear,
    /// Names a node, which need not exist.
    Set(NodeNameId),
}

/// A patch of a pod's status.
#[derive(Clone, Copy, Debug)]
pub struct PodStatusPatch<'a> {
    /// The pod; its UID is the precondition.
    pub pod: PodUid,
    /// What happens to a condition.
    pub condition: Option<ConditionEdit<'a>>,
    /// What happens to the nomination.
    pub nomination: NominatedNodeNamePatch,
    /// The new phase.
    pub phase: Option<PodPhase>,
}

/// `metadata.uid` of a pod: the counter in the shape of a UUID.
#[must_use]
pub fn format_pod_uid(uid: PodUid) -> String {
    format!("00000000-0000-4000-8000-{:012x}", uid.0)
}

/// The pod behind a `metadata.uid` that [`format_pod_uid`] made.
#[must_use]
pub fn parse_pod_uid(text: &str) -> Option<PodUid> {
    let digits = text.strip_prefix("00000000-0000-4000-8000-")?;
    u64::from_str_radix(digits, 16).ok().map(PodUid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uid_round_trips_through_text() {
        for uid in [PodUid(0), PodUid(1), PodUid(0xffff_ffff_ffff)] {
            assert_eq!(parse_pod_uid(&format_pod_uid(uid)), Some(uid));
        }
        assert_eq!(format_pod_uid(PodUid(10)), "00000000-0000-4000-8000-00000000000a");
        assert_eq!(parse_pod_uid("no-uid"), None);
    }

    #[test]
    fn phase_round_trips_through_text() {
        use PodPhase::{Failed, Pending, Running, Succeeded, Unknown};
        for phase in [Pending, Running, Succeeded, Failed, Unknown] {
            assert_eq!(PodPhase::parse(phase.as_str()), phase);
        }
    }
}
