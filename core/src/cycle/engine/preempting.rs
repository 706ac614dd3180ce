//! After a cycle that found no node: on which nodes preemption might help. What extenders said of
//! nodes counts as what plugins said, and extenders have the last word on the candidates.

use super::{Engine, pick};
use crate::cycle::engine::Pending;
use crate::cycle::verdict::Question;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extend::{Verb, Victims, call_extenders};
use crate::framework::profile::Profile;
use crate::framework::status::Code;
use crate::mutants::Mutant;
use crate::preemption::{
    Candidate, Preemption, PreemptionArgs, best_candidates, potential_rows, why_ineligible,
};
use crate::snapshot::mask::NodeMask;
use crate::world::World;

impl Engine {
    /// Finds out which pods have to go so that a pod can run that [`Engine::schedule_pod`] has just found
    /// no node for, with this diagnosis. Nothing is done to them; the world is as before when this
    /// returns.
    pub fn preempt(
        &mut self,
        world: &mut World,
        profile: &Profile,
        pending: impl Into<Pending>,
        (args, diagnosis): (PreemptionArgs, &Diagnosis),
    ) -> Preemption {
        let pending = pending.into();
        let at = self.find_potential(world, profile, pending, diagnosis);
        let searched = self.searching(pending);
        let Engine { entries, reserved, potential, dry_run, draws, settings, mutants, .. } = self;
        let question =
            Question { profile, plan: &entries[at].plan, pending: searched, reserved: reserved.rows() };
        let row = pending.nominated_row(world);
        let nominated = row.map(|row| {
            let is_potential = potential.contains(row) || mutants.has(Mutant::StuckOnNominated);
            if is_potential { Code::Unschedulable } else { Code::UnschedulableAndUnresolvable }
        });
        if let Some(why) = why_ineligible(world, pending, nominated) {
            return Preemption { ineligible: Some(why), ..Preemption::default() };
        }
        let rows: Vec<u32> = potential.rows().map(|row| u32::try_from(row).expect("rows fit u32")).collect();
        let offset = pick(*settings, draws, rows.len());
        let mut found = dry_run.run(world, question, rows, (args, offset));
        if self.extenders.iter().any(|extender| extender.does(Verb::Preempt)) {
            self.call_extenders(world, pending, &mut found);
        }
        found
    }

    /// The rows that evictions might help, as `preempt` would look at them.
    pub(crate) fn helpable(
        &mut self,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        diagnosis: &Diagnosis,
    ) -> NodeMask {
        self.find_potential(world, profile, pending, diagnosis);
        self.potential.clone()
    }

    /// The candidate to be taken, by a draw among those that are equally good.
    pub fn take_candidate<'a>(&mut self, found: &'a Preemption) -> Option<&'a Candidate> {
        let nth = pick(self.settings, &mut self.draws, found.best.len());
        found.taken(nth)
    }

    /// Fills `potential`; where the class's entry is.
    fn find_potential(
        &mut self,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        diagnosis: &Diagnosis,
    ) -> usize {
        let at = self.entry_for(pending.class);
        self.entries[at].refresh(world, profile);
        self.reserved.find(world, pending);
        let searched = self.searching(pending);
        let Engine { entries, reserved, potential, .. } = self;
        let question =
            Question { profile, plan: &entries[at].plan, pending: searched, reserved: reserved.rows() };
        potential_rows(world, question, potential);
        diagnosis.out_of_reach.iter().for_each(|&row| potential.remove(row as usize));
        diagnosis.within_reach.iter().for_each(|&row| potential.insert(row as usize));
        at
    }

    /// Upstream: framework/preemption/preemption.go `callExtenders`.
    #[cold]
    fn call_extenders(&mut self, world: &World, pending: Pending, found: &mut Preemption) {
        let as_victims = |candidate: &Candidate| Victims {
            node: world.node_name(world.nodes().columns().id[candidate.row]).to_owned(),
            pods: candidate.victims.iter().map(|&pod| world.pods().get(pod).uid).collect(),
            pdb_violations: i64::try_from(candidate.violations).unwrap_or(i64::MAX),
        };
        let asked: Vec<Victims> = found.candidates.iter().map(as_victims).collect();
        if asked.is_empty() {
            return;
        }
        let pod = (pending.pod.unwrap_or_default(), world.class(pending.class).input.as_ref());
        match call_extenders(&self.extenders, world, pod, asked) {
            Ok(agreed) => {
                found.candidates = agreed.iter().filter_map(|victims| candidate_of(world, victims)).collect();
                found.best = best_candidates(world, &found.candidates);
                found.is_vetoed = found.candidates.is_empty();
            }
            Err(error) => {
                found.candidates.clear();
                found.best.clear();
                found.error = Some(error.to_string().into());
            }
        }
    }
}

/// What extenders agreed on, in our words. They exist: that was checked.
fn candidate_of(world: &World, victims: &Victims) -> Option<Candidate> {
    let node = world.nodes().find(world.vocabulary.symbols.get(&victims.node)?)?;
    let victim_of = |&uid| world.pods().find(uid);
    Some(Candidate {
        row: world.nodes().row_of(node)?,
        victims: victims.pods.iter().filter_map(victim_of).collect(),
        violations: usize::try_from(victims.pdb_violations).unwrap_or(0),
    })
}
