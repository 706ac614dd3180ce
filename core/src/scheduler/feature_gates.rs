//! Feature gates: upstream's names and defaults where upstream has the gate. `TryNominatedNodeFirst` is the
//! behaviour of KEP-1923 that upstream has no gate for any more; `SchedulerPreEnqueuePodStatus` (KEP-5501) and
//! `NodeAffinityRequiredDuringExecution` (KEP-2358) have the names of their proposals.

use crate::plugins::{gang_scheduling, pod_group_pods_count, topology_placement_generator};
use crate::pod_group::PodGroupGates;

/// What is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// KEP-5278: `nominatedNodeName` says where a pod is expected to go, and is never cleared by
    /// the scheduler.
    pub nominated_node_name_for_expectation: bool,
    /// KEP-1923: the nominated node is looked at before all others.
    pub try_nominated_node_first: bool,
    /// KEP-5229: calls are queued and merged.
    pub scheduler_async_api_calls: bool,
    /// Victims are evicted beside the scheduling loop.
    pub scheduler_async_preemption: bool,
    /// KEP-5501: PreEnqueue rejections are written to the pod's status.
    pub scheduler_pre_enqueue_pod_status: bool,
    /// KEP-5142: pods in backoff are tried when nothing else is ready.
    pub scheduler_pop_from_backoff_q: bool,
    /// KEP-5598: a pod may take the next best node of the pod before it.
    ///
    /// Differs: upstream has it on. scheduler_perf keeps it out of ordinary workloads by a label of its own on
    /// every pod; here pods are alike unless a workload asks for the gate
    /// (`opportunistic_batching_is_off_by_default`).
    pub opportunistic_batching: bool,
    /// KEP-2358: required node affinity holds while the pod runs.
    pub node_affinity_required_during_execution: bool,
    /// The plugin NodeDeclaredFeatures is in every profile. Upstream cannot switch it off any more.
    pub node_declared_features: bool,
    /// The API server's: a binding clears `nominatedNodeName`, and a bound pod gets none any more. Off is
    /// an API server that is older than the scheduler.
    pub clearing_nominated_node_name_after_binding: bool,
    /// KEP-4671: pod groups are scheduled as one.
    pub generic_workload: bool,
    /// KEP-5732: pod groups have topology constraints.
    pub topology_aware_workload_scheduling: bool,
    /// `spec.preemptionPolicy` of a pod group counts, not that of its pods.
    pub pod_group_preemption_policy: bool,
}

impl Default for FeatureGates {
    fn default() -> Self {
        FeatureGates {
            nominated_node_name_for_expectation: true,
            try_nominated_node_first: true,
            scheduler_async_api_calls: false,
            scheduler_async_preemption: true,
            scheduler_pre_enqueue_pod_status: false,
            scheduler_pop_from_backoff_q: true,
            opportunistic_batching: false,
            node_declared_features: true,
            node_affinity_required_during_execution: false,
            clearing_nominated_node_name_after_binding: true,
            generic_workload: false,
            topology_aware_workload_scheduling: false,
            pod_group_preemption_policy: false,
        }
    }
}

/// Gates that cannot be set so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateError {
    /// One gate needs another.
    #[error("feature gate {gate} needs {needed}; switch {needed} on as well, or {gate} off")]
    Needs {
        /// The gate that is on.
        gate: &'static str,
        /// The gate that is off.
        needed: &'static str,
    },
    /// Nobody knows the gate.
    #[error("unknown feature gate `{name}`; known are {}", FeatureGates::NAMES.join(", "))]
    Unknown {
        /// As written.
        name: String,
    },
}

impl FeatureGates {
    /// The names of all gates.
    pub const NAMES: [&'static str; 13] = [
        "NominatedNodeNameForExpectation",
        "TryNominatedNodeFirst",
        "SchedulerAsyncAPICalls",
        "SchedulerAsyncPreemption",
        "SchedulerPreEnqueuePodStatus",
        "SchedulerPopFromBackoffQ",
        "OpportunisticBatching",
        "NodeDeclaredFeatures",
        "NodeAffinityRequiredDuringExecution",
        "ClearingNominatedNodeNameAfterBinding",
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "PodGroupPreemptionPolicy",
    ];

    /// Switches a gate by name.
    pub fn set(&mut self, name: &str, is_on: bool) -> Result<(), FeatureGateError> {
        let gate = match name {
            "NominatedNodeNameForExpectation" => &mut self.nominated_node_name_for_expectation,
            "TryNominatedNodeFirst" => &mut self.try_nominated_node_first,
            "SchedulerAsyncAPICalls" => &mut self.scheduler_async_api_calls,
            "SchedulerAsyncPreemption" => &mut self.scheduler_async_preemption,
            "SchedulerPreEnqueuePodStatus" => &mut self.scheduler_pre_enqueue_pod_status,
            "SchedulerPopFromBackoffQ" => &mut self.scheduler_pop_from_backoff_q,
            "OpportunisticBatching" => &mut self.opportunistic_batching,
            "NodeDeclaredFeatures" => &mut self.node_declared_features,
            "NodeAffinityRequiredDuringExecution" => &mut self.node_affinity_required_during_execution,
            "ClearingNominatedNodeNameAfterBinding" => &mut self.clearing_nominated_node_name_after_binding,
            "GenericWorkload" => &mut self.generic_workload,
            "TopologyAwareWorkloadScheduling" => &mut self.topology_aware_workload_scheduling,
            "PodGroupPreemptionPolicy" => &mut self.pod_group_preemption_policy,
            _ => return Err(FeatureGateError::Unknown { name: name.to_owned() }),
        };
        *gate = is_on;
        Ok(())
    }

    /// The plugins that gates append to the default profile, with their weights.
    /// Upstream: apis/config/v1/default_plugins.go `applyFeatureGates`.
    #[must_use]
    pub fn plugins(&self) -> Vec<(&'static str, i32)> {
        let mut plugins = Vec::new();
        if self.generic_workload {
            plugins.push((gang_scheduling::NAME, 0));
        }
        if self.topology_aware_workload_scheduling {
            plugins.push((topology_placement_generator::NAME, 0));
            plugins.push((pod_group_pods_count::NAME, 1));
        }
        plugins
    }

    /// What the gates of pod groups say.
    #[must_use]
    pub fn pod_groups(&self) -> PodGroupGates {
        PodGroupGates {
            topology: self.topology_aware_workload_scheduling,
            preemption_policy: self.pod_group_preemption_policy,
        }
    }

    /// Whether the gates go together.
    pub fn check(&self) -> Result<(), FeatureGateError> {
        if self.scheduler_pre_enqueue_pod_status && !self.scheduler_async_api_calls {
            let (gate, needed) = ("SchedulerPreEnqueuePodStatus", "SchedulerAsyncAPICalls");
            return Err(FeatureGateError::Needs { gate, needed });
        }
        let of_groups = [
            ("TopologyAwareWorkloadScheduling", self.topology_aware_workload_scheduling),
            ("PodGroupPreemptionPolicy", self.pod_group_preemption_policy),
        ];
        match of_groups.into_iter().find(|&(_, is_on)| is_on && !self.generic_workload) {
            Some((gate, _)) => Err(FeatureGateError::Needs { gate, needed: "GenericWorkload" }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opportunistic_batching_is_off_by_default() {
        assert!(!FeatureGates::default().opportunistic_batching, "pods of one template are alike here");
    }

    #[test]
    fn every_feature_gate_has_a_name() {
        let mut gates = FeatureGates::default();
        for name in FeatureGates::NAMES {
            let [mut on, mut off] = [gates; 2];
            on.set(name, true).expect(name);
            off.set(name, false).expect(name);
            assert_ne!(on, off, "{name}");
            assert!(gates == on || gates == off, "{name} is one gate");
        }
        let error = gates.set("Nonsense", true).expect_err("no such gate");
        assert!(error.to_string().starts_with("unknown feature gate `Nonsense`; known are Nominated"));
    }

    #[test]
    fn pre_enqueue_pod_status_requires_async_api_calls() {
        let mut gates = FeatureGates { scheduler_pre_enqueue_pod_status: true, ..FeatureGates::default() };
        let error = gates.check().expect_err("calls are not queued");
        assert_eq!(
            error.to_string(),
            "feature gate SchedulerPreEnqueuePodStatus needs SchedulerAsyncAPICalls; switch \
             SchedulerAsyncAPICalls on as well, or SchedulerPreEnqueuePodStatus off"
        );
        gates.scheduler_async_api_calls = true;
        assert_eq!(gates.check(), Ok(()));
    }

    #[test]
    fn gates_of_pod_groups_require_generic_workload() {
        for gate in ["TopologyAwareWorkloadScheduling", "PodGroupPreemptionPolicy"] {
            let mut gates = FeatureGates::default();
            gates.set(gate, true).unwrap();
            assert_eq!(gates.check(), Err(FeatureGateError::Needs { gate, needed: "GenericWorkload" }));
            gates.set("GenericWorkload", true).unwrap();
            assert_eq!(gates.check(), Ok(()));
        }
    }
}
