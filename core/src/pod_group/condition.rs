//! What a group's status says, and whether a group may be tried at all.
//!
//! Upstream: schedule_one_podgroup.go `updatePodGroupCondition`, `validatePodGroup`,
//! `applyPodGroupPostFilterResult`.

use super::{PodGroupCode, PodGroupGates, PodGroupInfo, PodGroupPreemption, PodGroupStatus};
use crate::ids::PodId;
use crate::input::PreemptionPolicy;
use crate::input::pod_group::{PodGroupCondition, PodGroupInput};
use crate::world::World;

/// The type of the condition.
pub const POD_GROUP_INITIALLY_SCHEDULED: &str = "PodGroupInitiallyScheduled";

impl PodGroupStatus {
    /// The status once preemption was tried.
    #[must_use]
    pub fn after_preemption(mut self, preemption: &PodGroupPreemption) -> PodGroupStatus {
        if preemption.status.code == PodGroupCode::Error {
            return preemption.status.clone();
        }
        self.reasons.push(preemption.status.message().into());
        self
    }

    /// The condition that says so.
    #[must_use]
    pub fn condition(&self, observed_generation: i64) -> PodGroupCondition {
        let (is_true, reason, message) = match self.code {
            PodGroupCode::Success => (true, "Scheduled", self.message()),
            PodGroupCode::Unschedulable | PodGroupCode::UnschedulableAndUnresolvable => {
                (false, "Unschedulable", self.message())
            }
            PodGroupCode::Wait | PodGroupCode::Error => (false, "SchedulerError", self.error_text()),
        };
        PodGroupCondition { is_true, reason: reason.to_owned(), message, observed_generation }
    }
}

/// The condition that is to be written to a group, if it is news. A group that was scheduled once stays so.
#[must_use]
pub fn changed_condition(object: &PodGroupInput, status: &PodGroupStatus) -> Option<PodGroupCondition> {
    let condition = status.condition(object.generation);
    let old = object.initially_scheduled.as_ref();
    let regresses = old.is_some_and(|old| old.is_true) && !condition.is_true;
    (!regresses && old != Some(&condition)).then_some(condition)
}

fn policy_name(policy: PreemptionPolicy) -> &'static str {
    match policy {
        PreemptionPolicy::PreemptLowerPriority => "PreemptLowerPriority",
        PreemptionPolicy::Never => "Never",
    }
}

/// Whether the members of a group, pending ones first, go together.
pub fn validate(world: &World, info: &PodGroupInfo, gates: PodGroupGates) -> Result<(), String> {
    let class = |pod: PodId| world.class(world.pods().get(pod).class);
    let Some(&first) = info.members.first() else { return Ok(()) };
    let scheduler = class(first).input.scheduler_name.as_str();
    let mut policy = gates.preemption_policy.then(|| info.object.preemption.unwrap_or_default());
    let members = world.pod_groups().get(info.id).members().iter().copied();
    let scheduled = members.filter(|&pod| world.pods().get(pod).node().is_some());
    for pod in info.members.iter().copied().chain(scheduled) {
        let class = class(pod);
        let name = class.input.scheduler_name.as_str();
        if name != scheduler {
            return Err(format!(
                "all pods in a single pod group should have the same .spec.schedulerName set, got: {name:?} \
                 and {scheduler:?}"
            ));
        }
        if class.priority != info.object.priority {
            return Err(format!(
                "all pods in a single pod group should have the same priority as the pod group's priority, \
                 got {} and {}",
                class.priority, info.object.priority
            ));
        }
        let own = class.input.preemption;
        let expected = *policy.get_or_insert(own);
        if own != expected {
            let whose = if gates.preemption_policy { " as the pod group's preemption policy" } else { "" };
            return Err(format!(
                "all pods in a single pod group should have the same preemption policy{whose}, got {} and {}",
                policy_name(own),
                policy_name(expected)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_stays_true_when_a_later_cycle_for_more_members_fails() {
        let failed = PodGroupStatus::unschedulable(Vec::new());
        let placed = PodGroupStatus::success();
        let mut group = PodGroupInput { generation: 3, ..PodGroupInput::default() };
        let said = changed_condition(&group, &failed).expect("it is the first");
        assert_eq!((said.is_true, said.reason.as_str()), (false, "Unschedulable"));
        assert_eq!(said.observed_generation, 3);
        group.initially_scheduled = Some(said);
        assert_eq!(changed_condition(&group, &failed), None, "it says so already");
        let said = changed_condition(&group, &placed).expect("it is news");
        assert!(said.is_true);
        group.initially_scheduled = Some(said);
        assert_eq!(changed_condition(&group, &failed), None);
        assert_eq!(changed_condition(&group, &placed), None);
    }
}
