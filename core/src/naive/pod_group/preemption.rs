//! Preemption for a group, plainly: everything of lower priority goes, the group is placed, and what can
//! stay comes back.
//!
//! Upstream: framework/preemption/podgrouppreemption.go, types.go, util.go.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::super::preemption::{BudgetUse, start_time_s};
use super::super::schedule::Search;
use super::super::{NaiveCluster, NaivePod, nominated_pods};
use super::{NaivePodGroupCycle, NaivePodGroupStatus};
use crate::input::PreemptionPolicy;
use crate::input::pod_group::DisruptionMode;

/// What preemption for a group comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePodGroupPreemption {
    /// What it says.
    pub status: NaivePodGroupStatus,
    /// The names of those that have to go, sorted.
    pub victims: Vec<String>,
    /// Nodes of the members on success; `None` clears a nomination.
    pub nominated: BTreeMap<String, Option<String>>,
    /// Victims that a budget protects.
    pub pdb_violations: usize,
    /// Pod groups that are disrupted.
    pub pod_group_disruptions: usize,
    /// Where the next cycle starts to look.
    pub next_start: usize,
}

/// What goes or stays as one.
#[derive(Clone, Debug)]
struct Unit {
    pods: Vec<(NaivePod, String)>,
    priority: i32,
    is_group: bool,
}

impl Unit {
    /// Most important first.
    fn rank(&self) -> impl Ord + use<> {
        let started = self.pods.iter().map(|(pod, _)| start_time_s(pod)).min();
        (Reverse(self.priority), Reverse(self.is_group), Reverse(self.pods.len()), started)
    }
}

/// A member and its node in the emptied cluster.
struct Assigned<'a> {
    member: &'a NaivePod,
    node: String,
    skip: std::collections::BTreeSet<&'static str>,
}

impl NaivePodGroupCycle<'_> {
    /// Which pods have to go so that the group finds a place.
    #[must_use]
    pub fn preempt(&self, start: usize) -> NaivePodGroupPreemption {
        let mut found = self.evaluate(start);
        let message = found.status.reasons.join(", ");
        if !message.is_empty() {
            found.status.reasons = vec![format!("pod group preemption: {message}")];
        }
        found
    }

    fn evaluate(&self, start: usize) -> NaivePodGroupPreemption {
        let only = |code, reason: &str| NaivePodGroupPreemption {
            status: NaivePodGroupStatus::new(code, [reason.to_owned()]),
            next_start: start,
            ..NaivePodGroupPreemption::default()
        };
        if self.never_preempts() {
            return only("Unschedulable", "not eligible due to preemptionPolicy=Never.");
        }
        if self.has_victims_on_their_way_out() {
            let mut found = only("Success", "ongoing preemption on nominated nodes");
            let nominated = |pod: &NaivePod| (pod.meta.name.clone(), pod.meta.nominated_node_name.clone());
            found.nominated = self.members.iter().map(nominated).collect();
            return found;
        }
        let mut units = self.units();
        if units.is_empty() {
            return only(
                "UnschedulableAndUnresolvable",
                "No preemption victims found for incoming preemptor",
            );
        }
        let mut emptied = self.cluster.clone();
        for (pod, _) in units.iter().flat_map(|unit| &unit.pods) {
            emptied.nodes.iter_mut().for_each(|node| node.remove_pod(pod));
        }
        let decision = NaivePodGroupCycle { cluster: &emptied, ..*self }.run(start);
        if !decision.status.is_success() {
            let (status, next_start) = (decision.status, decision.next_start);
            return NaivePodGroupPreemption { status, next_start, ..NaivePodGroupPreemption::default() };
        }
        units.sort_by_key(Unit::rank);
        let pass = &decision.passes[decision.taken.expect("a group that has a place has it in a pass")];
        let assigned =
            self.members.iter().zip(&pass.chosen).zip(&pass.members).filter_map(|((it, node), why)| {
                Some(Assigned { member: it, node: node.clone()?, skip: why.pre_filter.skip.clone() })
            });
        let found = self.reprieve(emptied, units, &assigned.collect::<Vec<_>>());
        NaivePodGroupPreemption { next_start: decision.next_start, ..found }
    }

    /// Lets victims back in one by one: those that a budget protects, then the others.
    fn reprieve(
        &self,
        mut cluster: NaiveCluster,
        units: Vec<Unit>,
        assigned: &[Assigned<'_>],
    ) -> NaivePodGroupPreemption {
        let mut budgets = BudgetUse::new(&self.cluster.budgets);
        let with_violations = units.into_iter().map(|unit| {
            let exceeds = |pod: &&(NaivePod, String)| budgets.is_violating(&pod.0);
            (unit.pods.iter().filter(exceeds).count(), unit)
        });
        let (protected, others): (Vec<_>, Vec<_>) = with_violations.partition(|(count, _)| *count > 0);
        let mut found = NaivePodGroupPreemption::default();
        let mut leaving = Vec::new();
        for (violations, unit) in protected.into_iter().chain(others) {
            let mut with = cluster.clone();
            unit.pods.iter().for_each(|(pod, node)| with.add_pod(node, pod.clone()));
            if self.all_pass(&with, assigned) {
                cluster = with;
                continue;
            }
            found.pdb_violations += violations;
            found.pod_group_disruptions += usize::from(unit.is_group);
            leaving.extend(unit.pods.into_iter().map(|(pod, _)| pod.meta.name));
        }
        leaving.sort_unstable();
        let text = format!("found a placement for podgroup, preempting {} victims", leaving.len());
        found.status = NaivePodGroupStatus::new("Success", [text]);
        found.victims = leaving;
        let nominated = |it: &Assigned<'_>| (it.member.meta.name.clone(), Some(it.node.clone()));
        found.nominated = assigned.iter().map(nominated).collect();
        found
    }

    /// Each member passes the filters on its node, the ones before it being there. What PreFilter skipped in
    /// the emptied cluster is skipped, and nominations of members stand.
    fn all_pass(&self, cluster: &NaiveCluster, assigned: &[Assigned<'_>]) -> bool {
        let mut cluster = self.while_members_are_tried(cluster);
        for Assigned { member, node, skip } in assigned {
            let search = Search::new(self.profile, &cluster, member, skip);
            let at = cluster.nodes.iter().find(|it| it.input.name == *node).expect("it was chosen");
            if nominated_pods::rejection(&search, &search.state, at).is_some() {
                return false;
            }
            cluster.add_pod(node, (*member).clone());
        }
        true
    }

    fn never_preempts(&self) -> bool {
        if self.preemption_policy {
            return self.group.preemption == Some(PreemptionPolicy::Never);
        }
        self.members.iter().any(|member| member.preemption == PreemptionPolicy::Never)
    }

    fn has_victims_on_their_way_out(&self) -> bool {
        let nominated: Vec<&String> =
            self.members.iter().filter_map(|pod| pod.meta.nominated_node_name.as_ref()).collect();
        let nodes = self.cluster.nodes.iter().filter(|node| nominated.contains(&&node.input.name));
        let mut pods = nodes.flat_map(|node| &node.pods);
        pods.any(|pod| {
            let is_leaving = pod.meta.is_terminating && pod.meta.is_preempted;
            is_leaving && self.cluster.victim_priority(pod) < self.group.priority
        })
    }

    fn units(&self) -> Vec<Unit> {
        let mut units: Vec<Unit> = Vec::new();
        let mut by_group: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for node in &self.cluster.nodes {
            for pod in &node.pods {
                let priority = self.cluster.victim_priority(pod);
                if priority >= self.group.priority {
                    continue;
                }
                let placed = (pod.clone(), node.input.name.clone());
                let group =
                    self.cluster.pod_group(pod).filter(|it| it.disruption_mode == DisruptionMode::All);
                let known = group.and_then(|it| by_group.get(&(&*it.namespace, &*it.name)));
                if let Some(&at) = known {
                    units[at].pods.push(placed);
                    continue;
                }
                if let Some(group) = group {
                    by_group.insert((&group.namespace, &group.name), units.len());
                }
                units.push(Unit { pods: vec![placed], priority, is_group: pod.meta.pod_group.is_some() });
            }
        }
        units
    }
}
