//! The dry run: on each potential row, who has to go.

use crate::cycle::engine::suppose_nominated;
use crate::cycle::entry::run_filters;
use crate::cycle::verdict::first_rejection;
use crate::framework::plugin::Reads;
use crate::framework::profile::PluginIndex;
use crate::ids::{ClassId, PodId, PodUid};
use crate::preemption::choice::best;
use crate::preemption::{Candidate, Failure, Preemption, PreemptionArgs, Preemptor};
use crate::snapshot::mask::WORD_BITS;
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
    allowances: Vec<i32>,
    /// Filters whose verdict evictions can change.
    filters: Vec<PluginIndex>,
}

impl DryRun {
    /// Tries the potential rows from the offset on until there are enough candidates.
    ///
    /// Differs: upstream tries rows side by side and may find more than it asked for.
    pub(crate) fn run(
        &mut self,
        world: &mut World,
        preemptor: Preemptor<'_>,
        potential: Vec<u32>,
        (args, offset): (PreemptionArgs, usize),
    ) -> Preemption {
        self.filters.clear();
        let Preemptor { profile, plan, .. } = preemptor;
        let changes = |plugin: &&PluginIndex| profile.filter(**plugin).reads() != Reads::Static;
        self.filters.extend(plan.filters.iter().chain(&plan.live_filters).filter(changes));
        let mut found = Preemption { potential, ..Preemption::default() };
        let wanted = args.candidates_to_find(found.potential.len());
        let (mut harmless, mut harmful) = (0, 0);
        for turn in 0..found.potential.len() {
            let row = found.potential[(offset + turn) % found.potential.len()];
            match self.try_row(world, preemptor, row as usize) {
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
        found.best = best(world, &found.candidates);
        found
    }

    /// Who has to go from a row. The world is as before when this returns.
    fn try_row(
        &mut self,
        world: &mut World,
        preemptor: Preemptor<'_>,
        row: usize,
    ) -> Result<Candidate, Failure> {
        let mark = world.supposed();
        let result = self.select_victims(world, preemptor, row);
        world.undo_to(mark);
        result
    }

    fn select_victims(
        &mut self,
        world: &mut World,
        preemptor: Preemptor<'_>,
        row: usize,
    ) -> Result<Candidate, Failure> {
        let Preemptor { profile, plan, pending } = preemptor;
        self.find_victims(world, world.class(pending.class).priority, row);
        if self.victims.is_empty() {
            return Err(Failure::NoVictims);
        }
        for victim in &self.victims {
            world.suppose(row, victim.class, -1);
        }
        if let Some(rejection) = first_rejection(world, profile, plan, row, pending) {
            return Err(Failure::Rejected(rejection));
        }
        self.victims.sort_by_key(|victim| (std::cmp::Reverse(victim.priority), victim.started_s, victim.uid));
        self.split_by_budgets(world);
        let mut candidate = Candidate { row, victims: Vec::new(), violations: 0 };
        let is_mixed = !self.protected.is_empty() && !self.others.is_empty();
        for at in 0..self.protected.len() {
            if !self.comes_back(world, preemptor, row, self.protected[at]) {
                candidate.violations += 1;
                candidate.victims.push(self.protected[at].pod);
            }
        }
        for at in 0..self.others.len() {
            if !self.comes_back(world, preemptor, row, self.others[at]) {
                candidate.victims.push(self.others[at].pod);
            }
        }
        if is_mixed {
            let place = |pod: &PodId| self.victims.iter().position(|victim| victim.pod == *pod);
            candidate.victims.sort_by_key(place);
        }
        Ok(candidate)
    }

    /// The pods of lower priority on a row.
    fn find_victims(&mut self, world: &World, priority: i32, row: usize) {
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
    fn split_by_budgets(&mut self, world: &World) {
        self.protected.clear();
        self.others.clear();
        let budgets = world.budgets();
        if budgets.is_empty() {
            self.others.extend(&self.victims);
            return;
        }
        budgets.allowances(&mut self.allowances);
        for victim in &self.victims {
            let class = world.class(victim.class);
            let is_protected =
                budgets.is_exceeded(victim.uid, class, &mut self.allowances, &world.vocabulary);
            if is_protected { &mut self.protected } else { &mut self.others }.push(*victim);
        }
    }

    /// Puts a victim back if the pod still fits then.
    fn comes_back(&self, world: &mut World, preemptor: Preemptor<'_>, row: usize, victim: Victim) -> bool {
        let before = world.supposed();
        world.suppose(row, victim.class, 1);
        let fits = self.still_fits(world, preemptor, row);
        if !fits {
            world.undo_to(before);
        }
        fits
    }

    /// Whether the row passes the filters that evictions can change; it passed the others before.
    fn still_fits(&self, world: &mut World, preemptor: Preemptor<'_>, row: usize) -> bool {
        let Preemptor { profile, pending, .. } = preemptor;
        let passes = |world: &World| {
            let mut words = [1u64 << (row % WORD_BITS)];
            let class = world.class(pending.class);
            run_filters(world, profile, class, &self.filters, row / WORD_BITS, &mut words);
            words[0] != 0
        };
        let mark = suppose_nominated(world, row, pending);
        if world.supposed() > mark {
            let fits = passes(world);
            world.undo_to(mark);
            if !fits {
                return false;
            }
        }
        passes(world)
    }
}
