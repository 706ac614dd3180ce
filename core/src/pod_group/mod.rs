//! The pod group cycle: one decision for all pending members of a group, and which pods have to go so that
//! a group can run.
//!
//! ```text
//! placements ─▶ for each: a pass over the members ─▶ the best of those that are feasible
//! (one of all     first check ─▶ member ─▶ check ─▶ member ─▶ check ...
//!  nodes without               placed members count as bound until the pass is undone
//!  a constraint)
//! no placement is feasible ─▶ preemption: all victims of the cluster go, one more round, victims come back
//! ```
//!
//! Nothing is kept: the world is as before when a cycle returns. The scheduler binds what it says.
//!
//! Upstream: schedule_one_podgroup.go, framework/preemption/podgrouppreemption.go.

mod condition;
mod cycle;
mod placements;
mod post_filter;
mod preemption;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::cycle::engine::Decision;
use crate::framework::points::placement::{Placement, ProposedAssignment, TopologyDomains};
use crate::framework::profile::PluginIndex;
use crate::ids::{ClassId, NodeId, PodGroupId, PodId, PodUid};
use crate::input::pod_group::PodGroupInput;

pub use condition::{POD_GROUP_INITIALLY_SCHEDULED, changed_condition, validate};
pub use cycle::{CycleObserver, NoObserver, PodGroupCycle};
pub use post_filter::PodGroupPostFilter;
pub use preemption::PodGroupPreemption;
pub use status::{POD_GROUP_UNSCHEDULABLE, PlacementProgress, PodGroupCode, PodGroupStatus};

/// What the gates of pod groups say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodGroupGates {
    /// TopologyAwareWorkloadScheduling.
    pub topology: bool,
    /// PodGroupPreemptionPolicy.
    pub preemption_policy: bool,
}

/// A group that is tried.
#[derive(Clone, Debug)]
pub struct PodGroupInfo {
    /// The group.
    pub id: PodGroupId,
    /// Its object as it is now.
    pub object: Arc<PodGroupInput>,
    /// Its pending members, in the order in which they are tried.
    pub members: Vec<PodId>,
}

/// Memory that cycles borrow and give back. Of one world.
#[derive(Clone, Debug, Default)]
pub struct PodGroupScratch {
    pub(crate) domains: TopologyDomains,
}

/// A pending member, as the cycle sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) pod: PodId,
    pub(crate) uid: PodUid,
    pub(crate) class: ClassId,
    pub(crate) nominated: Option<NodeId>,
    /// What stands for its nomination while it is tried, if anything.
    pub(crate) stub: Option<ClassId>,
}

/// What became of a member in a pass.
#[derive(Clone, Debug)]
pub struct MemberResult {
    /// The pod.
    pub pod: PodId,
    /// Its class.
    pub class: ClassId,
    /// Where it went, or why nowhere.
    pub decision: Decision,
    /// The check after it.
    pub progress: PlacementProgress,
    /// The filters that were asked about it; kept only for preemption.
    pub(crate) filters: Vec<PluginIndex>,
}

impl MemberResult {
    /// The row it went to.
    #[must_use]
    pub fn row(&self) -> Option<usize> {
        match &self.decision {
            Decision::Chosen(choice) => Some(choice.row),
            _ => None,
        }
    }
}

/// A pass over the members in one placement.
#[derive(Clone, Debug)]
pub struct PassResult {
    /// Where.
    pub placement: Placement,
    /// The check before the first member.
    pub start: PlacementProgress,
    /// The members that were tried.
    pub members: Vec<MemberResult>,
    /// What the group comes to.
    pub status: PodGroupStatus,
    /// Some member found a node, and the group has a place.
    pub any_scheduled: bool,
}

impl PassResult {
    /// The members that found a node.
    #[must_use]
    pub fn proposed(&self) -> Vec<ProposedAssignment> {
        let assignment = |member: &MemberResult| {
            Some(ProposedAssignment { pod: member.pod, class: member.class, row: member.row()? })
        };
        self.members.iter().filter_map(assignment).collect()
    }
}

/// The scores of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementScore {
    /// Its name.
    pub placement: Arc<str>,
    /// What each plugin says, weighted.
    pub scores: Vec<(&'static str, i64)>,
    /// Their sum.
    pub total: i64,
}

/// What a cycle comes to.
#[derive(Clone, Debug, Default)]
pub struct PodGroupDecision {
    /// What is said of the group.
    pub status: PodGroupStatus,
    /// The passes, by name of their placements.
    pub passes: Vec<PassResult>,
    /// The pass that the members go by: the chosen one, or, when none is feasible, the first.
    pub taken: Option<usize>,
    /// When several placements are feasible, their scores.
    pub scores: Vec<PlacementScore>,
}

impl PodGroupDecision {
    /// What became of the members, as far as they were tried.
    #[must_use]
    pub fn members(&self) -> &[MemberResult] {
        self.taken.map_or(&[], |at| &self.passes[at].members)
    }

    /// The pass that the members go by.
    #[must_use]
    pub fn taken_pass(&self) -> Option<&PassResult> {
        self.taken.map(|at| &self.passes[at])
    }
}
