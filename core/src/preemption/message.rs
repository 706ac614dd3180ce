//! What a pod's condition says of preemption.
//!
//! Upstream: framework/preemption/preemption.go `evaluate` and `Preempt`,
//! plugins/defaultpreemption/default_preemption.go `PostFilter`.

use crate::framework::diagnosis::{Diagnosis, histogram};
use crate::preemption::{Candidate, CandidateFailure, Preemption};
use crate::world::World;

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

impl Preemption {
    /// The words for what was found, and for the candidate that was taken.
    #[must_use]
    pub fn message(&self, world: &World, taken: Option<&Candidate>) -> String {
        format!("preemption: {}", self.outcome(world, taken))
    }

    /// Something went wrong: neither is the pod's nomination void, nor is it renewed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let has_error = self.failed.iter().any(|(_, failure)| *failure == CandidateFailure::NoneHasToGo);
        self.error.is_some() || (self.candidates.is_empty() && has_error)
    }

    fn outcome(&self, world: &World, taken: Option<&Candidate>) -> String {
        if let Some(why) = self.ineligible {
            return why.to_owned();
        }
        if let Some(error) = &self.error {
            return error.to_string();
        }
        if self.is_vetoed {
            return "no candidate node for preemption".to_owned();
        }
        if let Some(candidate) = taken {
            let (node, count) = (node_name(world, candidate.row), candidate.victims.len());
            return format!("found a potential placement for pod on node {node}, preempting {count} victims");
        }
        let mut errors: Vec<String> = self
            .failed
            .iter()
            .filter(|(_, failure)| *failure == CandidateFailure::NoneHasToGo)
            .map(|&(row, _)| {
                format!("expected at least one victim pod on node {:?}", node_name(world, row as usize))
            })
            .collect();
        match errors.len() {
            0 => self.fit_error(world),
            1 => errors.remove(0),
            _ => format!("[{}]", errors.join(", ")),
        }
    }

    /// Nodes that were not tried cannot be helped.
    fn fit_error(&self, world: &World) -> String {
        let node_count = world.nodes().node_count();
        let mut said = Diagnosis { node_count, ..Diagnosis::default() };
        let mut no_victims = 0;
        for (_, failure) in &self.failed {
            match failure {
                CandidateFailure::Rejected(first) => {
                    first.reasons.iter().for_each(|reason| said.count(reason.clone(), 1));
                }
                CandidateFailure::NoVictims | CandidateFailure::NoneHasToGo => no_victims += 1,
            }
        }
        let texts = said.reasons.iter().map(|(reason, count)| (reason.text(&world.vocabulary), *count));
        let own = [(NO_VICTIMS, no_victims), (NOT_HELPFUL, node_count - self.failed.len())];
        let own = own.into_iter().filter(|&(_, count)| count > 0).map(|(text, count)| (text.into(), count));
        histogram(node_count, texts.chain(own))
    }
}

/// The words when no pod of the cluster has a lower priority, so that no node has to be tried.
pub(crate) fn nobody_to_evict(diagnosis: &Diagnosis) -> String {
    let own = [
        (NO_VICTIMS, diagnosis.resolvable_count),
        (NOT_HELPFUL, diagnosis.node_count - diagnosis.resolvable_count),
    ];
    let said = histogram(diagnosis.node_count, own.into_iter().filter(|&(_, count)| count > 0));
    format!("preemption: {said}")
}

fn node_name(world: &World, row: usize) -> &str {
    world.node_name(world.nodes().columns().id[row])
}
