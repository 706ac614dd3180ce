//! Known defects that controllers can be given, to find out whether the simulator finds them. As
//! [`schedlab_core::mutants`] for the scheduler: without the feature `mutants` nothing is left of them.

/// A defect of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControllerMutant {
    /// node-lifecycle-controller: the taint of a condition that has ended stays.
    ConditionTaintStays,
    /// node-lifecycle-controller: an update that met a conflict is not tried again.
    ConflictIsForgotten,
    /// taint-eviction-controller: only the first of several execution terms counts, although they are
    /// alternatives.
    FirstTermOnly,
    /// taint-eviction-controller: a pod that comes to a node after its labels changed is not compared with
    /// it.
    LateCheckIsSkipped,
    /// taint-eviction-controller: `tolerationSeconds` begin anew with every change of the node.
    TolerationIsProlonged,
    /// taint-eviction-controller: the end of a taint does not cancel the eviction that was planned.
    EvictionIsNotCancelled,
    /// disruption-controller: a budget allows one eviction more than it should.
    BudgetIsOneTooMany,
    /// replicaset-controller: one pod more than asked for.
    OneReplicaTooMany,
    /// daemonset-controller: pods do not say which node they are for.
    DaemonPodIsForAnyNode,
    /// kubelet: pods run although their node has no room for them.
    KubeletAdmitsAll,
    /// ResourceQuota admission: a quota allows one pod more than it should.
    QuotaIsOneTooMany,
    /// descheduler, rescheduler: a pod that nobody makes again is moved as well.
    BarePodIsMoved,
}

#[cfg(feature = "mutants")]
impl ControllerMutant {
    /// All of them.
    pub const ALL: [ControllerMutant; 12] = [
        ControllerMutant::ConditionTaintStays,
        ControllerMutant::ConflictIsForgotten,
        ControllerMutant::FirstTermOnly,
        ControllerMutant::LateCheckIsSkipped,
        ControllerMutant::TolerationIsProlonged,
        ControllerMutant::EvictionIsNotCancelled,
        ControllerMutant::BudgetIsOneTooMany,
        ControllerMutant::OneReplicaTooMany,
        ControllerMutant::DaemonPodIsForAnyNode,
        ControllerMutant::KubeletAdmitsAll,
        ControllerMutant::QuotaIsOneTooMany,
        ControllerMutant::BarePodIsMoved,
    ];

    /// Where upstream, or the KEP, has the rule that it breaks.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            ControllerMutant::ConditionTaintStays => "doNoScheduleTaintingPass",
            ControllerMutant::ConflictIsForgotten => "SwapNodeControllerTaint",
            ControllerMutant::FirstTermOnly => "KEP-2358",
            ControllerMutant::LateCheckIsSkipped => "handlePodUpdate",
            ControllerMutant::TolerationIsProlonged => "processPodOnNode",
            ControllerMutant::EvictionIsNotCancelled => "cancelWorkWithEvent",
            ControllerMutant::BudgetIsOneTooMany => "updatePdbStatus",
            ControllerMutant::OneReplicaTooMany => "manageReplicas",
            ControllerMutant::DaemonPodIsForAnyNode => "ReplaceDaemonSetPodNodeNameNodeAffinity",
            ControllerMutant::KubeletAdmitsAll => "generalFilter",
            ControllerMutant::QuotaIsOneTooMany => "CheckRequest",
            ControllerMutant::BarePodIsMoved => "DefaultEvictor.Filter",
        }
    }
}

/// The mutant a controller is given, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerMutants {
    #[cfg(feature = "mutants")]
    active: Option<ControllerMutant>,
}

impl ControllerMutants {
    /// With this one.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn of(mutant: ControllerMutant) -> ControllerMutants {
        ControllerMutants { active: Some(mutant) }
    }

    /// Whether the controller has this defect.
    #[cfg(feature = "mutants")]
    #[inline]
    pub(crate) fn has(self, mutant: ControllerMutant) -> bool {
        self.active == Some(mutant)
    }

    /// Whether the controller has this defect: it has none.
    #[cfg(not(feature = "mutants"))]
    #[inline(always)]
    pub(crate) const fn has(self, _: ControllerMutant) -> bool {
        false
    }
}

#[cfg(not(feature = "mutants"))]
const _: () = assert!(size_of::<ControllerMutants>() == 0, "without the feature nothing is left of mutants");

#[cfg(all(test, feature = "mutants"))]
mod tests {
    use super::*;

    #[test]
    fn every_controller_mutant_is_listed_once() {
        let mut all = ControllerMutant::ALL.to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ControllerMutant::BarePodIsMoved as usize + 1);
    }
}
