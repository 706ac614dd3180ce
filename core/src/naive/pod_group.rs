//! The pod group cycle, plainly: copies of the cluster instead of changes that are taken back.
//!
//! ```text
//! placements ─▶ on a copy for each: the members one after another, each placed one stays
//!   ─▶ the placement of the highest score among those in which minCount members are on nodes
//! ```
//!
//! Members have no claims that a node would decide about: what Reserve does is not modelled.
//!
//! Upstream: pkg/scheduler/schedule_one_podgroup.go.

use std::collections::{BTreeMap, BTreeSet};

use super::plugin_twin::Asked;
use super::schedule::{NaiveDecision, NaiveProfile, Pick, schedule_pod_within};
use super::{NODE_SCORE_MAX, NaiveCluster, NaiveNode, NaivePod};
use crate::input::PodInput;
use crate::input::pod_group::PodGroupInput;
use crate::plugins::node_resources_fit::naive::placement_score;
use crate::plugins::topology_placement_generator::naive::domains;

mod preemption;

pub use preemption::NaivePodGroupPreemption;

/// How the status of a group that has no place begins.
const NO_PLACE: &str = "pod group is unschedulable";

/// A group that is tried in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct NaivePodGroupCycle<'a> {
    /// How members are scheduled.
    pub profile: &'a NaiveProfile,
    /// Where.
    pub cluster: &'a NaiveCluster,
    /// The group.
    pub group: &'a PodGroupInput,
    /// Its pending members, in the order in which they are tried.
    pub members: &'a [NaivePod],
    /// The gate TopologyAwareWorkloadScheduling.
    pub topology: bool,
    /// The gate PodGroupPreemptionPolicy.
    pub preemption_policy: bool,
}

/// What is said of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePodGroupStatus {
    /// Upstream's name of the code.
    pub code: &'static str,
    /// Why, the error first if there is one.
    pub reasons: Vec<String>,
}

impl NaivePodGroupStatus {
    fn new(code: &'static str, reasons: impl IntoIterator<Item = String>) -> NaivePodGroupStatus {
        NaivePodGroupStatus { code, reasons: reasons.into_iter().collect() }
    }

    fn no_place(reasons: impl IntoIterator<Item = String>) -> NaivePodGroupStatus {
        NaivePodGroupStatus::new("Unschedulable", [NO_PLACE.to_owned()].into_iter().chain(reasons))
    }

    /// Something failed: a PreScore, or what placements are made of.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code == "Error"
    }

    /// The group has a place.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == "Success"
    }

    /// Upstream: `AsError`: the error alone, or else all that is said.
    fn error_text(&self) -> String {
        if self.reasons.first().is_some_and(|first| first == NO_PLACE) {
            return NO_PLACE.to_owned();
        }
        self.reasons.join(", ")
    }
}

/// The members tried in one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePass {
    /// The name of the placement; empty when it is all nodes.
    pub placement: String,
    /// What was found out about each member that was tried.
    pub members: Vec<NaiveDecision>,
    /// The nodes of the members that were tried.
    pub chosen: Vec<Option<String>>,
    /// What the group comes to.
    pub status: NaivePodGroupStatus,
}

/// Everything a cycle found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePodGroupDecision {
    /// What is said of the group.
    pub status: NaivePodGroupStatus,
    /// By name of their placements.
    pub passes: Vec<NaivePass>,
    /// The pass that the members go by.
    pub taken: Option<usize>,
    /// Placement and total, when several are feasible.
    pub scores: Vec<(String, i64)>,
    /// Where the next cycle starts to look.
    pub next_start: usize,
}

type Within = Option<BTreeSet<String>>;

impl NaivePodGroupCycle<'_> {
    /// Where the members would go; the search of the first begins with node `start`.
    #[must_use]
    pub fn run(&self, start: usize) -> NaivePodGroupDecision {
        let mut decision = NaivePodGroupDecision { next_start: start, ..NaivePodGroupDecision::default() };
        match self.placements() {
            Err(status) => decision.status = status,
            Ok(placements) if placements.is_empty() => {
                let reason = "no feasible placements found".to_owned();
                decision.status = NaivePodGroupStatus::new("Unschedulable", [reason]);
            }
            Ok(placements) => self.try_placements(&placements, &mut decision),
        }
        let is_any_placed =
            decision.taken.is_some_and(|at| decision.passes[at].chosen.iter().any(Option::is_some));
        if decision.status.is_success() && !is_any_placed {
            decision.status = NaivePodGroupStatus::no_place([]);
        }
        decision
    }

    fn try_placements(&self, placements: &BTreeMap<String, Within>, decision: &mut NaivePodGroupDecision) {
        for (name, within) in placements {
            let pass = self.pass(name, within.as_ref(), &mut decision.next_start);
            decision.passes.push(pass);
            let last = decision.passes.len() - 1;
            if decision.passes[last].status.is_error() {
                (decision.status, decision.taken) = (decision.passes[last].status.clone(), Some(last));
                return;
            }
        }
        let passes = &decision.passes;
        let feasible: Vec<usize> = (0..passes.len()).filter(|&at| passes[at].status.is_success()).collect();
        if !self.topology {
            (decision.status, decision.taken) = (passes[0].status.clone(), Some(0));
        } else if feasible.is_empty() {
            let first = passes[0].status.error_text();
            let count = passes.len();
            let reason = format!("0/{count} placements are available, first placement status: {first}");
            (decision.status, decision.taken) = (NaivePodGroupStatus::no_place([reason]), Some(0));
        } else if let [only] = feasible[..] {
            (decision.status, decision.taken) = (passes[only].status.clone(), Some(only));
        } else {
            self.choose_placement(placements, &feasible, decision);
        }
    }

    fn choose_placement(
        &self,
        placements: &BTreeMap<String, Within>,
        feasible: &[usize],
        decision: &mut NaivePodGroupDecision,
    ) {
        let passes: Vec<&NaivePass> = feasible.iter().map(|&at| &decision.passes[at]).collect();
        let scheduled = self.scheduled(self.cluster).len();
        let count = |pass: &&NaivePass| (scheduled + pass.chosen.iter().flatten().count()) as i64;
        let most = passes.iter().map(count).max().unwrap_or(0);
        if most == 0 {
            decision.status = NaivePodGroupStatus::new("Error", []);
            return;
        }
        let total = |pass: &&NaivePass| {
            let placed = self.members.iter().zip(&pass.chosen).filter(|(_, node)| node.is_some());
            let pods: Vec<&PodInput> = placed.map(|(pod, _)| &pod.input).collect();
            let within = &placements[&pass.placement];
            let is_inside =
                |node: &&NaiveNode| within.as_ref().is_none_or(|it| it.contains(&node.input.name));
            let nodes: Vec<&NaiveNode> = self.cluster.nodes.iter().filter(is_inside).collect();
            let asked = Asked { profile: self.profile, cluster: self.cluster, pod: &self.members[0].input };
            count(pass) * NODE_SCORE_MAX / most + placement_score(asked, &pods, &nodes)
        };
        decision.scores = passes.iter().map(|pass| (pass.placement.clone(), total(pass))).collect();
        let best = decision.scores.iter().map(|(_, total)| *total).max();
        let first = decision.scores.iter().position(|(_, total)| Some(*total) == best);
        let taken = feasible[first.expect("some placement has the highest score")];
        (decision.status, decision.taken) = (decision.passes[taken].status.clone(), Some(taken));
    }

    /// The members one after another, in a copy of the cluster.
    fn pass(&self, name: &str, within: Option<&BTreeSet<String>>, start: &mut usize) -> NaivePass {
        let mut cluster = self.while_members_are_tried(self.cluster);
        let mut pass = NaivePass { placement: name.to_owned(), ..NaivePass::default() };
        let mut scheduled = self.scheduled(&cluster).len();
        let mut remaining = self.members.len();
        pass.status = self.feasible(scheduled, remaining);
        if pass.status.code == "Unschedulable" {
            pass.status = NaivePodGroupStatus::no_place(pass.status.reasons);
            return pass;
        }
        for member in self.members {
            let decision = schedule_pod_within(self.profile, &cluster, member, *start, (Pick::First, within));
            *start = decision.next_start;
            let chosen = first_in_list(&cluster, &decision);
            if let Some(node) = &chosen {
                cluster.nominated.retain(|other| !other.is_same(member));
                cluster.add_pod(node, member.clone());
                scheduled += 1;
            }
            remaining -= 1;
            let has_failed = chosen.is_none() && decision.message.is_none();
            pass.members.push(decision);
            pass.chosen.push(chosen);
            if has_failed {
                pass.status = NaivePodGroupStatus::new("Error", []);
                break;
            }
            pass.status = self.feasible(scheduled, remaining);
            if pass.status.code == "Unschedulable" {
                break;
            }
        }
        if pass.status.code == "Wait" {
            pass.status = NaivePodGroupStatus::no_place(pass.status.reasons);
        }
        pass
    }

    /// Upstream: gangscheduling.go `PlacementFeasible`.
    fn feasible(&self, scheduled: usize, remaining: usize) -> NaivePodGroupStatus {
        let min_count = self.group.policy.min_count();
        let (code, what) = match () {
            () if scheduled + remaining < min_count => ("Unschedulable", "cannot be satisfied"),
            () if scheduled < min_count => ("Wait", "is not yet satisfied"),
            () => return NaivePodGroupStatus::new("Success", []),
        };
        let reason = format!("minCount ({min_count}) {what}: {scheduled} scheduled, {remaining} remaining");
        NaivePodGroupStatus::new(code, [reason])
    }

    /// The members on nodes, and the nodes.
    fn scheduled<'c>(&self, cluster: &'c NaiveCluster) -> Vec<(&'c NaivePod, &'c NaiveNode)> {
        let is_own = |pod: &NaivePod| {
            pod.namespace == self.group.namespace && pod.meta.pod_group.as_ref() == Some(&self.group.name)
        };
        let all = cluster.nodes.iter().flat_map(|node| node.pods.iter().map(move |pod| (pod, node)));
        all.filter(|(pod, _)| is_own(pod)).collect()
    }

    /// The nodes of each placement; the one without a name is all nodes.
    fn placements(&self) -> Result<BTreeMap<String, Within>, NaivePodGroupStatus> {
        let Some(key) = self.group.topology_key.as_ref().filter(|_| self.topology) else {
            return Ok([(String::new(), None)].into());
        };
        let mut domains = domains(self.cluster, key);
        let mut required: Option<&String> = None;
        for (_, node) in self.scheduled(self.cluster) {
            let domain = node.input.labels.get(key);
            let is_other = required.is_some_and(|known| !known.is_empty() && Some(known) != domain);
            if domain.is_none() || is_other {
                return Err(NaivePodGroupStatus::new("Error", []));
            }
            required = domain;
        }
        domains.retain(|name, _| required.is_none_or(|required| required == name));
        Ok(domains.into_iter().map(|(name, nodes)| (name, Some(nodes.into_iter().collect()))).collect())
    }

    /// The cluster as it is for the members: they are in no queue, where a nomination stands for a pod of
    /// priority 0 that asks for nothing.
    ///
    /// Upstream: scheduling_queue.go `nominatedPodToInfo`.
    fn while_members_are_tried(&self, cluster: &NaiveCluster) -> NaiveCluster {
        let mut cluster = cluster.clone();
        for member in self.members {
            cluster.nominated.retain(|other| !other.is_same(member));
            if member.meta.nominated_node_name.is_some() && self.group.priority <= 0 {
                let input = PodInput { namespace: member.namespace.clone(), ..PodInput::default() };
                cluster.nominated.push(NaivePod { input, meta: member.meta.clone() });
            }
        }
        cluster
    }
}

/// Of equal nodes the first of the list is taken, wherever the search began.
fn first_in_list(cluster: &NaiveCluster, decision: &NaiveDecision) -> Option<String> {
    let names = if decision.feasible.len() == 1 { &decision.feasible } else { &decision.ties };
    let position = |name: &&String| cluster.nodes.iter().position(|node| node.input.name == **name);
    names.iter().min_by_key(position).cloned()
}
