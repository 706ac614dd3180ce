//! What the engine is told about pod groups of `scheduling.k8s.io`.

use super::PreemptionPolicy;

/// All that scheduling reads from a PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodGroupInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.creationTimestamp` in nanoseconds since the epoch.
    pub created_ns: u64,
    /// `spec.priority`, 0 when absent.
    pub priority: i32,
    /// `spec.schedulingPolicy`.
    pub policy: PodGroupPolicy,
    /// `spec.schedulingConstraints.topology[0].key`; the API allows one.
    pub topology_key: Option<String>,
    /// `spec.schedulingConstraints` is set, if only to nothing.
    pub has_scheduling_constraints: bool,
    /// `spec.disruptionMode`.
    pub disruption_mode: DisruptionMode,
    /// `spec.preemptionPolicy`, read only with the gate PodGroupPreemptionPolicy.
    pub preemption: Option<PreemptionPolicy>,
    /// The condition PodGroupInitiallyScheduled of `status.conditions`.
    pub initially_scheduled: Option<PodGroupCondition>,
}

/// `spec.schedulingPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodGroupPolicy {
    /// Members are scheduled as they come.
    #[default]
    Basic,
    /// At least so many members are scheduled, or none.
    Gang {
        /// `gang.minCount`.
        min_count: i32,
    },
}

impl PodGroupPolicy {
    /// How many members have to be on nodes. Upstream: gangscheduling.go `getMinCount`.
    #[must_use]
    pub fn min_count(self) -> usize {
        match self {
            PodGroupPolicy::Basic => 1,
            PodGroupPolicy::Gang { min_count } => usize::try_from(min_count).unwrap_or(0),
        }
    }
}

/// `spec.disruptionMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisruptionMode {
    /// Each member is a victim by itself.
    #[default]
    Single,
    /// All members are one victim.
    All,
}

/// A condition of `status.conditions`, without its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodGroupCondition {
    /// `status` is `True`.
    pub is_true: bool,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `observedGeneration`.
    pub observed_generation: i64,
}
