//! Preemption for a group: the domain is the whole cluster.
//!
//! All pods of lower priority go, the group is placed on what is left, and then victims come back one by one,
//! the most important first, as long as every member still passes the filters on the node it was given.
//!
//! ```text
//! victims ─▶ all gone ─▶ PodGroupCycle::run ─▶ assignments
//!   ─▶ those that a budget protects, then the others: back, if all assignments hold ─▶ the rest has to go
//! ```
//!
//! Upstream: framework/preemption/podgrouppreemption.go, types.go, util.go `MoreImportantVictim`.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cycle::{Keep, PodGroupCycle};
use super::{Member, MemberResult, NoObserver, PodGroupCode, PodGroupStatus};
use crate::budgets::Allowances;
use crate::cycle::engine::Pending;
use crate::cycle::plan::Plan;
use crate::cycle::verdict::{Question, Reserved};
use crate::framework::plugin::Reads;
use crate::framework::profile::PluginIndex;
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::input::PreemptionPolicy;
use crate::preemption::{
    DomainVictim, filter_victims_with_pdb_violation, lower_priority_victims, pod_priority,
};
use crate::world::World;

const NEVER: &str = "not eligible due to preemptionPolicy=Never.";
const ONGOING: &str = "ongoing preemption on nominated nodes";
const NO_VICTIMS: &str = "No preemption victims found for incoming preemptor";

/// What preemption for a group comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodGroupPreemption {
    /// What it says.
    pub status: PodGroupStatus,
    /// Who has to go, most important first; nobody while earlier victims are on their way out.
    pub victims: Vec<PodId>,
    /// On success, where members are nominated to; a node of `None` clears the nomination.
    pub nominated: Vec<(PodId, Option<NodeId>)>,
    /// Victims that a budget protects.
    pub pdb_violations: usize,
    /// Pod groups that are disrupted.
    pub pod_group_disruptions: usize,
}

/// A member and the node it was given.
#[derive(Clone, Debug)]
struct Assignment {
    pod: PodId,
    uid: PodUid,
    class: ClassId,
    row: usize,
    filters: Vec<PluginIndex>,
    nominated: Option<NodeId>,
}

impl PodGroupCycle<'_> {
    /// Which pods have to go so that the group finds a place. Nothing is done to them; the world is as
    /// before when this returns.
    pub fn preempt(&mut self) -> PodGroupPreemption {
        let mut found = self.evaluate();
        let message = found.status.message();
        if !message.is_empty() {
            let text = format!("pod group preemption: {message}");
            found.status = match found.status.code {
                PodGroupCode::Error => PodGroupStatus::failed(format!(
                    "error in \"DefaultPreemption\" PodGroupPostFilter plugins: {text}"
                )),
                code => PodGroupStatus::new(code, text),
            };
        }
        found
    }

    fn evaluate(&mut self) -> PodGroupPreemption {
        let only = |status| PodGroupPreemption { status, ..PodGroupPreemption::default() };
        if self.preemption_policy() == PreemptionPolicy::Never {
            return only(PodGroupStatus::new(PodGroupCode::Unschedulable, NEVER));
        }
        if self.is_ongoing_preemption() {
            let members = self.info.members.iter();
            let nominated = members.map(|&pod| (pod, self.world.pods().get(pod).nominated())).collect();
            let status = PodGroupStatus::new(PodGroupCode::Success, ONGOING);
            return PodGroupPreemption { status, nominated, ..PodGroupPreemption::default() };
        }
        let victims = self.potential_victims();
        if victims.is_empty() {
            return only(PodGroupStatus::new(PodGroupCode::UnschedulableAndUnresolvable, NO_VICTIMS));
        }
        let placed = self.placed_count();
        victims.iter().for_each(|victim| remove(self.world, victim));
        debug_assert!(self.placed_count() < placed, "victims are off their nodes");
        let members = self.take_nominations();
        let found = self.place_without(victims, &members);
        self.give_back_nominations(&members);
        debug_assert_eq!(self.placed_count(), placed, "all victims are back on their nodes");
        found
    }

    /// Pods on nodes.
    fn placed_count(&self) -> i64 {
        self.world.nodes().columns().pod_count.iter().sum()
    }

    /// Places the group without the victims, and finds out which of them may come back.
    fn place_without(&mut self, mut victims: Vec<DomainVictim>, members: &[Member]) -> PodGroupPreemption {
        let decision = self.run_keeping(members, Keep::Filters, &mut NoObserver);
        if !decision.status.is_success() {
            victims.iter().for_each(|victim| add(self.world, victim));
            let status = PodGroupStatus::new(decision.status.code, decision.status.message());
            return PodGroupPreemption { status, ..PodGroupPreemption::default() };
        }
        victims.sort_by_key(|victim| Reverse(victim.importance()));
        let assignments: Vec<Assignment> =
            decision.members().iter().filter_map(|member| self.assignment(member)).collect();
        debug_assert_eq!(members.len(), self.info.members.len(), "each member is thought of");
        debug_assert!(
            assignments.iter().all(|it| it.row < self.world.nodes().node_count()),
            "a member is on a node"
        );
        // A member that is nominated counts twice once it is placed: see `holds`.
        let counts_twice = members.iter().any(|member| member.stub.is_some());
        self.select_victims(victims, &assignments, counts_twice)
    }

    /// Upstream: types.go `resolvePreemptionPolicy`.
    fn preemption_policy(&self) -> PreemptionPolicy {
        if self.gates.preemption_policy {
            return self.info.object.preemption.unwrap_or_default();
        }
        let policy = |&pod: &PodId| self.world.class(self.world.pods().get(pod).class).input.preemption;
        let never = self.info.members.iter().map(policy).any(|policy| policy == PreemptionPolicy::Never);
        if never { PreemptionPolicy::Never } else { PreemptionPolicy::PreemptLowerPriority }
    }

    /// Victims of an earlier preemption are on their way out of a node that a member is nominated to.
    fn is_ongoing_preemption(&self) -> bool {
        let world = &*self.world;
        let nominated = self.info.members.iter().filter_map(|&pod| world.pods().get(pod).nominated());
        let nodes: FxHashSet<NodeId> =
            nominated.filter(|&node| world.nodes().row_of(node).is_some()).collect();
        let is_leaving = |pod: PodId| {
            let row = world.pods().get(pod);
            row.is_preempted
                && world.class(row.class).is_terminating
                && pod_priority(world, pod) < self.info.object.priority
        };
        nodes.into_iter().any(|node| world.pods().on_node(node).any(is_leaving))
    }

    /// All that has a lower priority.
    fn potential_victims(&self) -> Vec<DomainVictim> {
        let nodes = self.world.nodes().columns().id.iter().copied();
        lower_priority_victims(self.world, nodes, self.info.object.priority)
    }

    fn assignment(&self, member: &MemberResult) -> Option<Assignment> {
        let row = self.world.pods().get(member.pod);
        Some(Assignment {
            pod: member.pod,
            uid: row.uid,
            class: member.class,
            row: member.row()?,
            filters: member.filters.clone(),
            nominated: row.nominated(),
        })
    }

    /// Puts victims back as far as the assignments allow. All are back when this returns.
    fn select_victims(
        &mut self,
        victims: Vec<DomainVictim>,
        assignments: &[Assignment],
        counts_twice: bool,
    ) -> PodGroupPreemption {
        let (protected, others) =
            filter_victims_with_pdb_violation(self.world, victims, &mut Allowances::default());
        let check = Reprieve::new(self, assignments, counts_twice);
        let mut leaving = Vec::new();
        let mut pdb_violations = 0;
        for (victim, violations) in protected {
            if !check.reprieve(self, &victim, assignments) {
                pdb_violations += violations;
                leaving.push(victim);
            }
        }
        for victim in others {
            if !check.reprieve(self, &victim, assignments) {
                leaving.push(victim);
            }
        }
        leaving.iter().for_each(|victim| add(self.world, victim));
        leaving.sort_by_key(|victim| Reverse(victim.importance()));
        let pods: Vec<PodId> =
            leaving.iter().flat_map(|victim| victim.pods.iter().map(|&(pod, _)| pod)).collect();
        debug_assert!(pdb_violations <= pods.len(), "a violation is a victim's");
        let count = pods.len();
        let text = format!("found a placement for podgroup, preempting {count} victims");
        let node = |row: usize| self.world.nodes().columns().id[row];
        PodGroupPreemption {
            status: PodGroupStatus::new(PodGroupCode::Success, text),
            victims: pods,
            nominated: assignments.iter().map(|it| (it.pod, Some(node(it.row)))).collect(),
            pdb_violations,
            pod_group_disruptions: leaving.iter().filter(|victim| victim.is_group).count(),
        }
    }
}

fn remove(world: &mut World, victim: &DomainVictim) {
    victim.pods.iter().for_each(|&(pod, _)| world.displace(pod));
}

fn add(world: &mut World, victim: &DomainVictim) {
    victim.pods.iter().for_each(|&(pod, node)| world.place(pod, node));
}

/// Which assignments a victim that comes back may break.
#[derive(Debug)]
enum Reprieve {
    /// Any.
    All,
    /// Only those on its nodes, because no filter looks further: the assignments by row, in order.
    OnItsNodes(FxHashMap<usize, Vec<usize>>),
}

impl Reprieve {
    fn new(cycle: &PodGroupCycle<'_>, assignments: &[Assignment], counts_twice: bool) -> Reprieve {
        let is_local = |plugin: &PluginIndex| cycle.profile.filter(*plugin).reads() != Reads::Global;
        let is_plain =
            !counts_twice && assignments.iter().all(|assignment| assignment.filters.iter().all(is_local));
        if !is_plain {
            return Reprieve::All;
        }
        let mut by_row: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (at, assignment) in assignments.iter().enumerate() {
            by_row.entry(assignment.row).or_default().push(at);
        }
        Reprieve::OnItsNodes(by_row)
    }

    /// Puts a victim back if all assignments hold then. Upstream: `reprieveVictim`.
    fn reprieve(&self, cycle: &mut PodGroupCycle<'_>, victim: &DomainVictim, all: &[Assignment]) -> bool {
        add(cycle.world, victim);
        let fits = match self {
            Reprieve::All => holds(cycle, &mut all.iter()),
            Reprieve::OnItsNodes(by_row) => {
                let world = &*cycle.world;
                let mut rows: Vec<usize> =
                    victim.pods.iter().filter_map(|&(_, node)| world.nodes().row_of(node)).collect();
                rows.sort_unstable();
                rows.dedup();
                rows.iter()
                    .filter_map(|row| by_row.get(row))
                    .all(|on_row| holds(cycle, &mut on_row.iter().map(|&at| &all[at])))
            }
        };
        if !fits {
            remove(cycle.world, victim);
        }
        fits
    }
}

/// Whether these assignments pass their filters one after another, each counting as placed for the next.
///
/// A member's filters are those of the emptied cluster: what PreFilter skipped there is skipped here.
/// The nominations of members stand all the while, so a placed one that is nominated counts twice, as it
/// does upstream.
fn holds(cycle: &mut PodGroupCycle<'_>, assignments: &mut dyn Iterator<Item = &Assignment>) -> bool {
    let no_plan = Plan::default();
    let mut reserved = Reserved::default();
    let mut placed: Vec<PodId> = Vec::new();
    let mut fits = true;
    for assignment in assignments {
        let pending =
            Pending { class: assignment.class, pod: Some(assignment.uid), nominated: assignment.nominated };
        cycle.world.scan_pods(assignment.class);
        reserved.find(cycle.world, pending);
        let question =
            Question { profile: cycle.profile, plan: &no_plan, pending, reserved: reserved.rows() };
        if !question.passes(cycle.world, assignment.row, &[&assignment.filters]) {
            fits = false;
            break;
        }
        let node = cycle.world.nodes().columns().id[assignment.row];
        cycle.world.place(assignment.pod, node);
        placed.push(assignment.pod);
    }
    placed.into_iter().rev().for_each(|pod| cycle.world.displace(pod));
    fits
}
