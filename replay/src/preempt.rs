//! A recorded preemption against the engine's.

use schedlab_core::cycle::engine::{Engine, Pending};
use schedlab_core::framework::args::PreemptionArgs;
use schedlab_core::framework::status::Code;
use schedlab_core::ids::PodId;
use schedlab_core::preemption::{CandidateFailure, get_lower_priority_nominated_pods};

use super::document::{CandidateRecord, FailedRecord, PreemptionRecord};
use super::state::State;

/// Traces are recorded with every node as a candidate.
const ALL_NODES: PreemptionArgs = PreemptionArgs { candidates_min_percent: 100, candidates_min: 0 };

/// Upstream's words for a node without pods of lower priority.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// What our engine would do, in the form of a record; candidates and failures in list order.
pub(super) fn preempt(state: &mut State, engine: &mut Engine, pending: Pending) -> PreemptionRecord {
    let mut evaluation = state.evaluation();
    let mut found = evaluation.preempt(engine, pending, ALL_NODES);
    if let Some(why) = found.ineligible {
        return PreemptionRecord { reason: Some(why.to_owned()), ..PreemptionRecord::default() };
    }
    let best: Vec<usize> = found.best.iter().map(|&at| found.candidates[at].row).collect();
    found.candidates.sort_by_key(|candidate| candidate.row);
    found.failed.sort_by_key(|&(row, _)| row);
    let (world, profile) = (state.world(), state.profile());
    let name_of = |row: usize| world.node_name(world.nodes().columns().id[row]).to_owned();
    let failed = |(row, failure): &(u32, CandidateFailure)| {
        let node = name_of(*row as usize);
        match failure {
            CandidateFailure::NoneHasToGo => {
                let reasons = vec![format!("expected at least one victim pod on node {node:?}")];
                FailedRecord { node, plugin: None, code: Some("Error".to_owned()), reasons }
            }
            CandidateFailure::NoVictims => FailedRecord {
                node,
                plugin: None,
                code: Some(Code::UnschedulableAndUnresolvable.name().to_owned()),
                reasons: vec![NO_VICTIMS.to_owned()],
            },
            CandidateFailure::Rejected(first) => {
                let texts = first.reasons.iter().map(|reason| reason.text(&world.vocabulary).into_owned());
                let mut reasons: Vec<String> = texts.collect();
                reasons.sort_unstable();
                FailedRecord {
                    node,
                    plugin: Some(profile.name(first.plugin).to_owned()),
                    code: Some(first.code.name().to_owned()),
                    reasons,
                }
            }
        }
    };
    let mut record = PreemptionRecord {
        eligible: true,
        potential_nodes: found.potential.iter().map(|&row| name_of(row as usize)).collect(),
        failed: found.failed.iter().map(failed).collect(),
        chosen: best.first().map(|&row| name_of(row)),
        ..PreemptionRecord::default()
    };
    if best.len() > 1 {
        record.tied = best.iter().map(|&row| name_of(row)).collect();
    }
    if best.is_empty() {
        // Nothing helps: a nomination that the pod has from before is void.
        let own = pending.pod.and_then(|pod| state.nominated_name(pod));
        record.applied.nominations_cleared = own.map(str::to_owned).into_iter().collect();
    } else if let Some(&row) = best.first() {
        record.applied.nominated_node_name.clone_from(&record.chosen);
        let cleared = get_lower_priority_nominated_pods(world, pending, row);
        let names = cleared.iter().filter_map(|&pod| state.nominated_name(pod));
        record.applied.nominations_cleared = names.map(str::to_owned).collect();
    }
    record.candidates = found
        .candidates
        .iter()
        .map(|candidate| CandidateRecord {
            node: name_at(state, candidate.row),
            victims: candidate.victims.iter().map(|&pod| victim_name(state, pod)).collect(),
            pdb_violations: candidate.violations,
        })
        .collect();
    record
}

fn name_at(state: &State, row: usize) -> String {
    let world = state.world();
    world.node_name(world.nodes().columns().id[row]).to_owned()
}

fn victim_name(state: &State, pod: PodId) -> String {
    let uid = state.world().pods().get(pod).uid;
    state.bound_name(uid).unwrap_or("a pod that is not bound").to_owned()
}
