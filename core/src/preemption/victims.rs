//! What goes or stays as one when room is made: a pod, or all pods of a group whose disruption mode is `all`,
//! wherever they are.
//!
//! Upstream: framework/preemption/types.go `DomainVictim`, `getCrossNodesVictims`; util.go
//! `MoreImportantVictim`, `GetPodPriority`, `FilterVictimsWithPDBViolation`.

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use crate::budgets::Allowances;
use crate::ids::{NodeId, PodGroupId, PodId};
use crate::input::pod_group::DisruptionMode;
use crate::world::World;

/// What goes or stays as one.
#[derive(Clone, Debug)]
pub(crate) struct DomainVictim {
    /// Its pods, and where they are.
    pub(crate) pods: Vec<(PodId, NodeId)>,
    pub(crate) priority: i32,
    /// It is a group, or a pod that names one.
    pub(crate) is_group: bool,
    started_s: i64,
}

impl DomainVictim {
    /// The greater, the more important.
    pub(crate) fn importance(&self) -> (i32, bool, usize, Reverse<i64>) {
        (self.priority, self.is_group, self.pods.len(), Reverse(self.started_s))
    }

    fn new(world: &World, pods: &[PodId], is_group: bool) -> DomainVictim {
        let started_s = pods.iter().map(|&pod| world.pods().get(pod).started_s).min().unwrap_or(i64::MAX);
        let placed = |&pod: &PodId| (pod, world.pods().get(pod).node().expect("a victim is on a node"));
        let pods: Vec<_> = pods.iter().map(placed).collect();
        DomainVictim { priority: pod_priority(world, pods[0].0), is_group, started_s, pods }
    }
}

/// The priority by which a pod is a victim: its group's, if it has one.
///
/// Upstream: util.go `GetPodPriority`.
#[must_use]
pub fn pod_priority(world: &World, pod: PodId) -> i32 {
    match world.pod_groups().object_of_pod(pod) {
        Some(group) => group.priority,
        None => world.class(world.pods().get(pod).class).priority,
    }
}

/// All that is on some nodes, at least in part, and of lower priority than a preemptor's.
pub(crate) fn lower_priority_victims(
    world: &World,
    nodes: impl IntoIterator<Item = NodeId>,
    priority: i32,
) -> Vec<DomainVictim> {
    let mut seen: FxHashSet<PodGroupId> = FxHashSet::default();
    let mut victims = Vec::new();
    for node in nodes {
        for pod in world.pods().on_node(node) {
            if pod_priority(world, pod) >= priority {
                continue;
            }
            let groups = world.pod_groups();
            let group = groups.of_pod(pod);
            let is_one = |group: &PodGroupId| {
                groups.get(*group).object().is_some_and(|it| it.disruption_mode == DisruptionMode::All)
            };
            match group.filter(is_one) {
                None => victims.push(DomainVictim::new(world, &[pod], group.is_some())),
                Some(group) if seen.insert(group) => {
                    let members = groups.get(group).members().iter().copied();
                    let placed: Vec<PodId> =
                        members.filter(|&pod| world.pods().get(pod).node().is_some()).collect();
                    victims.push(DomainVictim::new(world, &placed, true));
                }
                Some(_) => {}
            }
        }
    }
    victims
}

/// Victims that a budget protects, with how many of their pods, and the others, each in the order in which
/// they were given: by importance.
pub(crate) fn filter_victims_with_pdb_violation(
    world: &World,
    victims: Vec<DomainVictim>,
    allowances: &mut Allowances,
) -> (Vec<(DomainVictim, usize)>, Vec<DomainVictim>) {
    let budgets = world.budgets();
    if budgets.is_empty() {
        return (Vec::new(), victims);
    }
    allowances.begin(budgets);
    let (mut protected, mut others) = (Vec::new(), Vec::new());
    for victim in victims {
        let mut is_exceeded = |&&(pod, _): &&(PodId, NodeId)| {
            let row = world.pods().get(pod);
            budgets.is_exceeded(row.uid, world.class(row.class), allowances, &world.vocabulary)
        };
        match victim.pods.iter().filter(&mut is_exceeded).count() {
            0 => others.push(victim),
            violations => protected.push((victim, violations)),
        }
    }
    (protected, others)
}
