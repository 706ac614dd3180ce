//! What both sides make of a pod, held against each other.

use crate::cycle::engine::{Decision, Engine, Pending};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::{Draws, TieBreak};
use crate::framework::diagnosis::Diagnosis;
use crate::framework::profile::Profile;
use crate::framework::status::{Code, Reason};
use crate::naive;
use crate::naive::preemption::{NaivePreemptionArgs as NaiveArgs, preempt};
use crate::naive::schedule::{NaiveProfile, Pick, schedule_pod};
use crate::preemption::{CandidateFailure, Preemption, PreemptionArgs, get_lower_priority_nominated_pods};
use crate::twin::Twin;

/// Lets the engine decide and holds the decision against the naive twin's. `draws` is a copy of
/// the engine's stream, kept in step. Returns the chosen node.
pub(crate) fn check_decision(
    twin: &mut Twin,
    (profile, naive_profile): (&Profile, &NaiveProfile),
    engine: &mut Engine,
    pending: impl Into<Pending>,
    (tie_break, draws): (TieBreak, &mut Draws),
) -> Option<String> {
    let start = engine.next_start();
    let pending = pending.into();
    let decision = engine.schedule_pod(&mut twin.world, profile, pending, &mut NoProbe);
    let pod = twin.naive_pod(pending);
    let expected = schedule_pod(naive_profile, &twin.cluster, &pod, start, Pick::First);
    assert_eq!(engine.next_start(), expected.next_start, "next start");
    twin.world.check_counts();
    assert_eq!(decision == Decision::NominatedMissed, expected.missed_nominated, "missed the nominated node");
    match decision {
        Decision::NominatedMissed => None,
        Decision::Unschedulable(diagnosis) => {
            assert_eq!(expected.feasible, Vec::<String>::new(), "feasible nodes");
            let plugins: Vec<&str> = expected.unschedulable_plugins.iter().copied().collect();
            assert_eq!(diagnosis.plugins, plugins, "unschedulable plugins");
            assert_eq!(Some(diagnosis.message(&twin.world.vocabulary)), expected.message);
            None
        }
        Decision::Chosen(choice) => {
            assert_eq!(expected.message, None);
            assert_eq!(choice.via_nominated, expected.via_nominated, "via the nominated node");
            assert_eq!(choice.feasible, expected.feasible.len(), "feasible nodes");
            assert_eq!(choice.evaluated, expected.feasible.len() + expected.rejected.len(), "evaluated");
            let nth =
                if choice.ties > 1 && tie_break == TieBreak::Draw { draws.below(choice.ties) } else { 0 };
            let chosen = twin.row_name(choice.row).to_owned();
            if choice.feasible > 1 && expected.scores.is_err() {
                // Differs: upstream ends the cycle with an error when a preferred term cannot be
                // read; the engine leaves the term out (`PreferredTerms::compile`)
                // (`malformed_preferred_affinity_fails_the_pod_unless_one_node_is_feasible`).
                assert!(expected.feasible.contains(&chosen));
                return Some(chosen);
            }
            let mut ties = expected.ties;
            if choice.feasible == 1 {
                ties = expected.feasible;
            }
            assert_eq!(choice.ties, ties.len(), "ties");
            if tie_break == TieBreak::First {
                // The engine's first is the first in the list, the naive side's the first found.
                let position = |name: &String| twin.cluster.nodes.iter().position(|n| n.input.name == *name);
                ties.sort_by_key(position);
            }
            assert_eq!(chosen, ties[nth], "chosen among {ties:?}");
            Some(chosen)
        }
    }
}

/// Lets the engine look for victims for a pod it has just found no node for, and holds what it
/// finds against the naive twin's.
pub(crate) fn check_preemption(
    twin: &mut Twin,
    (profile, naive_profile): (&Profile, &NaiveProfile),
    engine: &mut Engine,
    pending: Pending,
    args: PreemptionArgs,
) -> naive::preemption::NaivePreemption {
    let found = engine.preempt(&mut twin.world, profile, pending, (args, &Diagnosis::default()));
    twin.world.check_counts();
    let actual = plain_preemption(twin, profile, pending, &found);
    let pod = twin.naive_pod(pending);
    let decision = schedule_pod(naive_profile, &twin.cluster, &pod, 0, Pick::First);
    let PreemptionArgs { candidates_min_percent, candidates_min } = args;
    let args = NaiveArgs { candidates_min_percent, candidates_min };
    let mut expected = preempt(naive_profile, &args, &twin.cluster, &pod, &decision, 0);
    for (_, verdict) in &mut expected.failed {
        verdict.reasons.sort();
    }
    if expected.best.is_empty() {
        // Whoever asked gives up the pod's own nomination then, not the engine.
        expected.nominations_cleared.clear();
    }
    assert_eq!(actual, expected);
    expected
}

/// What the engine found in the words of the naive twin, with the reasons of each failure sorted.
pub(crate) fn plain_preemption(
    twin: &Twin,
    profile: &Profile,
    pending: Pending,
    found: &Preemption,
) -> naive::preemption::NaivePreemption {
    let name = |row: usize| twin.row_name(row).to_owned();
    let mut candidates: Vec<(usize, naive::preemption::NaiveCandidate)> = found
        .candidates
        .iter()
        .map(|it| {
            let victims = it.victims.iter().map(|&pod| twin.naive_placed(pod)).collect();
            let candidate =
                naive::preemption::NaiveCandidate { node: name(it.row), victims, violations: it.violations };
            (it.row, candidate)
        })
        .collect();
    candidates.sort_by_key(|(row, _)| *row);
    let mut failed: Vec<(u32, naive::NaiveVerdict)> = found
        .failed
        .iter()
        .map(|(row, failure)| (*row, verdict(twin, profile, *row as usize, failure)))
        .collect();
    failed.sort_by_key(|(row, _)| *row);
    let cleared = found.taken(0).map_or(Vec::new(), |taken| {
        get_lower_priority_nominated_pods(&twin.world, pending, taken.row)
            .into_iter()
            .map(|uid| twin.nominated_name(uid))
            .collect()
    });
    naive::preemption::NaivePreemption {
        ineligible: found.ineligible,
        potential_nodes: found.potential.iter().map(|&row| name(row as usize)).collect(),
        candidates: candidates.into_iter().map(|(_, candidate)| candidate).collect(),
        failed: failed.into_iter().map(|(row, verdict)| (name(row as usize), verdict)).collect(),
        best: found.best.iter().map(|&at| name(found.candidates[at].row)).collect(),
        nominations_cleared: cleared,
    }
}

fn verdict(twin: &Twin, profile: &Profile, row: usize, failure: &CandidateFailure) -> naive::NaiveVerdict {
    let (plugin, code, mut reasons) = match failure {
        CandidateFailure::NoVictims => (
            "",
            naive::NaiveCode::UnschedulableAndUnresolvable,
            vec!["No preemption victims found for incoming pod".to_owned()],
        ),
        CandidateFailure::NoneHasToGo => {
            let reason = format!("expected at least one victim pod on node \"{}\"", twin.row_name(row));
            ("", naive::NaiveCode::Unschedulable, vec![reason])
        }
        CandidateFailure::Rejected(first) => {
            let text = |reason: &Reason| reason.text(&twin.world.vocabulary).into_owned();
            let reasons = first.reasons.iter().map(text).collect();
            (profile.name(first.plugin), naive_code(first.code), reasons)
        }
    };
    reasons.sort();
    naive::NaiveVerdict { plugin, code, reasons }
}

fn naive_code(code: Code) -> naive::NaiveCode {
    match code {
        Code::Unschedulable => naive::NaiveCode::Unschedulable,
        Code::UnschedulableAndUnresolvable => naive::NaiveCode::UnschedulableAndUnresolvable,
        other => panic!("{other:?} is no rejection"),
    }
}

/// What the naive side's code is called on the fast side.
pub(crate) fn engine_code(code: naive::NaiveCode) -> crate::framework::status::Code {
    match code {
        naive::NaiveCode::Unschedulable => crate::framework::status::Code::Unschedulable,
        naive::NaiveCode::UnschedulableAndUnresolvable => {
            crate::framework::status::Code::UnschedulableAndUnresolvable
        }
    }
}
