//! The dry run: on each potential row, who has to go.

use std::cmp::Reverse;

use crate::budgets::Allowances;
use crate::cycle::verdict::Question;
use crate::framework::plugin::Reads;
use crate::framework::profile::PluginIndex;
use crate::ids::{ClassId, PodId, PodUid};
use crate::preemption::choice::pick_one_node_for_preemption;
use crate::preemption::{
    Candidate, CandidateFailure, DomainVictim, Preemption, PreemptionArgs, filter_victims_with_pdb_violation,
    lower_priority_victims,
};
use crate::world::World;

/// A pod that may have to go.
#[derive(Clone, Copy, Debug)]
struct Victim {
    pod: PodId,
    uid: PodUid,
    class: ClassId,
    priority: i32,
    started_s: i64,
}

/// Memory that dry runs borrow and give back.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    victims: Vec<Victim>,
    protected: Vec<Victim>,
    others: Vec<Victim>,
    allowances: Allowances,
    /// Filters whose verdict evictions can change.
    filters: Vec<PluginIndex>,
}

impl DryRun {
    /// Tries the potential rows from the offset on until there are enough candidates.
    ///
    /// Differs: upstream tries rows side by side and may find more than it asked for
    /// (`preemptions_equal_naive`).
    pub(crate) fn run(
        &mut self,
        world: &mut World,
        question: Question<'_>,
        potential: Vec<u32>,
        (args, offset): (PreemptionArgs, usize),
    ) -> Preemption {
        self.filters.clear();
        let Question { profile, plan, .. } = question;
        let changes = |plugin: &&PluginIndex| profile.filter(**plugin).reads() != Reads::Static;
        self.filters.extend(plan.filters.iter().chain(&plan.live_filters).filter(changes));
        let mut found = Preemption { potential, ..Preemption::default() };
        let wanted = args.candidates_to_find(found.potential.len());
        assert!(
            found.potential.is_empty() || offset < found.potential.len(),
            "the search begins at a potential row"
        );
        debug_assert!(found.potential.is_sorted(), "potential rows are in list order");
        let (mut harmless, mut harmful) = (0, 0);
        for turn in 0..found.potential.len() {
            let row = found.potential[(offset + turn) % found.potential.len()];
            match self.try_row(world, question, row as usize) {
                Ok(candidate) => {
                    let alike = if candidate.violations == 0 { &mut harmless } else { &mut harmful };
                    if *alike < wanted {
                        *alike += 1;
                        found.candidates.push(candidate);
                    }
                }
                Err(failure) => found.failed.push((row, failure)),
            }
            if harmless > 0 && harmless + harmful >= wanted {
                break;
            }
        }
        found.best = pick_one_node_for_preemption(world, &found.candidates);
        debug_assert!(harmless <= wanted, "no more candidates are kept than are wanted");
        debug_assert_eq!(found.candidates.len(), harmless + harmful, "candidates are counted");
        debug_assert_eq!(found.best.is_empty(), found.candidates.is_empty(), "some candidate is the best");
        found
    }

    /// Who has to go from a row. The world is as before when this returns.
    fn try_row(
        &mut self,
        world: &mut World,
        question: Question<'_>,
        row: usize,
    ) -> Result<Candidate, CandidateFailure> {
        let mark = world.supposed();
        let result = if world.pod_groups().is_empty() {
            self.select_victims_on_node(world, question, row)
        } else {
            self.select_domain_victims_on_node(world, question, row)
        };
        world.undo_to(mark);
        debug_assert_eq!(world.supposed(), mark, "the world is as it was");
        result
    }

    fn select_victims_on_node(
        &mut self,
        world: &mut World,
        question: Question<'_>,
        row: usize,
    ) -> Result<Candidate, CandidateFailure> {
        self.find_lower_priority_pods(world, world.class(question.pending.class).priority, row);
        if self.victims.is_empty() {
            return Err(CandidateFailure::NoVictims);
        }
        let priority = world.class(question.pending.class).priority;
        for victim in &self.victims {
            debug_assert!(victim.priority < priority, "a victim is of lower priority");
            world.suppose(row, victim.class, -1);
        }
        if let Some(rejection) = question.first_rejection(world, row) {
            return Err(CandidateFailure::Rejected(rejection));
        }
        self.victims.sort_by_key(|victim| (Reverse(victim.priority), victim.started_s, victim.uid));
        self.filter_victims_with_pdb_violation(world);
        let parted = self.protected.len() + self.others.len();
        debug_assert_eq!(parted, self.victims.len(), "a budget protects a victim or it does not");
        let mut candidate = Candidate { row, victims: Vec::new(), violations: 0 };
        let is_mixed = !self.protected.is_empty() && !self.others.is_empty();
        for at in 0..self.protected.len() {
            if !self.reprieve_pod(world, question, row, self.protected[at]) {
                candidate.violations += 1;
                candidate.victims.push(self.protected[at].pod);
            }
        }
        for at in 0..self.others.len() {
            if !self.reprieve_pod(world, question, row, self.others[at]) {
                candidate.victims.push(self.others[at].pod);
            }
        }
        if is_mixed {
            let place = |pod: &PodId| self.victims.iter().position(|victim| victim.pod == *pod);
            candidate.victims.sort_by_key(place);
        }
        if candidate.victims.is_empty() {
            return Err(CandidateFailure::NoneHasToGo);
        }
        debug_assert!(candidate.violations <= candidate.victims.len(), "a violation is a victim's");
        debug_assert!(candidate.victims.len() <= self.victims.len(), "victims are of lower priority");
        Ok(candidate)
    }

    /// The same where there are pod groups: a group whose disruption mode is `all` goes as a whole, and the
    /// priority of a member is its group's.
    fn select_domain_victims_on_node(
        &mut self,
        world: &mut World,
        question: Question<'_>,
        row: usize,
    ) -> Result<Candidate, CandidateFailure> {
        let priority = world.class(question.pending.class).priority;
        let node = world.nodes().columns().id[row];
        let mut victims = lower_priority_victims(world, [node], priority);
        if victims.is_empty() {
            return Err(CandidateFailure::NoVictims);
        }
        debug_assert!(victims.iter().all(|it| !it.pods.is_empty()), "a victim is some pod");
        victims.iter().for_each(|victim| suppose(world, victim, -1));
        if let Some(rejection) = question.first_rejection(world, row) {
            return Err(CandidateFailure::Rejected(rejection));
        }
        let first = |victim: &DomainVictim| world.pods().get(victim.pods[0].0).uid;
        victims.sort_by_key(|victim| (Reverse(victim.importance()), first(victim)));
        let ranked: Vec<PodId> = victims.iter().flat_map(|it| it.pods.iter().map(|&(pod, _)| pod)).collect();
        let (protected, others) = filter_victims_with_pdb_violation(world, victims, &mut self.allowances);
        let parted = protected.iter().map(|(it, _)| it).chain(&others).map(|it| it.pods.len()).sum::<usize>();
        debug_assert_eq!(parted, ranked.len(), "a budget protects a victim or it does not");
        let is_mixed = !protected.is_empty() && !others.is_empty();
        let mut candidate = Candidate { row, victims: Vec::new(), violations: 0 };
        let others = others.into_iter().map(|victim| (victim, 0));
        for (victim, violations) in protected.into_iter().chain(others) {
            let before = world.supposed();
            suppose(world, &victim, 1);
            if !question.passes(world, row, &[&self.filters]) {
                world.undo_to(before);
                candidate.violations += violations;
                candidate.victims.extend(victim.pods.iter().map(|&(pod, _)| pod));
            }
        }
        if is_mixed {
            debug_assert!(
                candidate.victims.iter().all(|it| ranked.contains(it)),
                "victims are of lower priority"
            );
            candidate.victims.sort_by_key(|pod| ranked.iter().position(|victim| victim == pod));
        }
        if candidate.victims.is_empty() {
            return Err(CandidateFailure::NoneHasToGo);
        }
        Ok(candidate)
    }

    /// The pods of lower priority on a row.
    fn find_lower_priority_pods(&mut self, world: &World, priority: i32, row: usize) {
        self.victims.clear();
        let node = world.nodes().columns().id[row];
        for pod in world.pods().on_node(node) {
            let at = world.pods().get(pod);
            let class = world.class(at.class);
            if class.priority < priority {
                self.victims.push(Victim {
                    pod,
                    uid: at.uid,
                    class: at.class,
                    priority: class.priority,
                    started_s: at.started_s,
                });
            }
        }
    }

    /// Victims that a budget protects, and the others, each most important first.
    fn filter_victims_with_pdb_violation(&mut self, world: &World) {
        self.protected.clear();
        self.others.clear();
        let budgets = world.budgets();
        if budgets.is_empty() {
            self.others.extend(&self.victims);
            return;
        }
        self.allowances.begin(budgets);
        for victim in &self.victims {
            let class = world.class(victim.class);
            let is_protected =
                budgets.is_exceeded(victim.uid, class, &mut self.allowances, &world.vocabulary);
            if is_protected { &mut self.protected } else { &mut self.others }.push(*victim);
        }
    }

    /// Puts a victim back if the pod still fits then.
    fn reprieve_pod(&self, world: &mut World, question: Question<'_>, row: usize, victim: Victim) -> bool {
        let before = world.supposed();
        world.suppose(row, victim.class, 1);
        // It passed the filters that evictions cannot change before.
        let fits = question.passes(world, row, &[&self.filters]);
        if !fits {
            world.undo_to(before);
        }
        fits
    }
}

/// All pods of a victim go, or come back, also those on other nodes.
fn suppose(world: &mut World, victim: &DomainVictim, sign: i32) {
    for &(pod, node) in &victim.pods {
        let class = world.pods().get(pod).class;
        if let Some(row) = world.nodes().row_of(node) {
            world.suppose(row, class, sign);
        }
    }
}
