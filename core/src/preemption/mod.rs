//! DefaultPreemption: which pods have to go so that a pod of higher priority can run.
//!
//! ```text
//! eligible? ─▶ potential rows: rejected as Unschedulable
//!   ─▶ on each, from the offset on: all pods of lower priority go (supposed, never really),
//!      then as many as possible come back ─▶ the best of the candidates
//! ```
//!
//! Upstream: plugins/defaultpreemption/default_preemption.go, framework/preemption.

mod choice;
mod dry_run;
mod message;
mod victims;

use std::sync::Arc;

use crate::cycle::engine::Pending;
use crate::cycle::plan::FilterScope;
use crate::cycle::verdict::{FirstRejection, Question};
use crate::framework::status::Code;
use crate::ids::{NodeId, PodId, PodUid};
use crate::input::PreemptionPolicy;
use crate::pods::PodRow;
use crate::snapshot::mask::NodeMask;
use crate::world::World;

pub use crate::framework::args::PreemptionArgs;
pub(crate) use choice::pick_one_node_for_preemption as best_candidates;
pub use dry_run::DryRun;
pub(crate) use message::nobody_to_evict;
pub use victims::pod_priority;
pub(crate) use victims::{DomainVictim, filter_victims_with_pdb_violation, lower_priority_victims};

const NEVER: &str = "not eligible due to preemptionPolicy=Never.";
const VICTIMS_LEAVING: &str = "not eligible due to a terminating pod on the nominated node.";

/// A node that evictions help, and who has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The node's row.
    pub row: usize,
    /// The victims, most important first.
    pub victims: Vec<PodId>,
    /// How many of them a budget protects.
    pub violations: usize,
}

/// Why evictions do not help on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateFailure {
    /// No pod of lower priority is there.
    NoVictims,
    /// The pod fits even with all of them: what rejected it is not to be seen in a dry run.
    NoneHasToGo,
    /// The pod does not fit even without them.
    Rejected(FirstRejection),
}

/// What preemption finds out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preemption {
    /// Why the pod may not preempt; nothing else was looked at.
    pub ineligible: Option<&'static str>,
    /// Rows that evictions might help.
    pub potential: Vec<u32>,
    /// Rows that evictions help, in the order in which they were found.
    pub candidates: Vec<Candidate>,
    /// Potential rows that evictions do not help, in the order in which they were tried.
    pub failed: Vec<(u32, CandidateFailure)>,
    /// The best candidates, as indexes of `candidates` by row.
    pub best: Vec<usize>,
    /// Extenders left none of the candidates.
    pub is_vetoed: bool,
    /// An extender failed, so there is no candidate.
    pub error: Option<Arc<str>>,
}

impl Preemption {
    /// Of a pod that waits its turn.
    #[must_use]
    pub fn never() -> Preemption {
        Preemption { ineligible: Some(NEVER), ..Preemption::default() }
    }

    /// The candidate to be taken, of those that are equally good.
    #[must_use]
    pub fn taken(&self, nth: usize) -> Option<&Candidate> {
        self.best.get(nth).map(|&at| &self.candidates[at])
    }

    /// The candidate on the node that a pod has just missed, if all its victims are on their way out.
    ///
    /// KEP-1923: "if the nominated node doesn't fit due to the victim pods deletion is still on the fly,
    /// and nothing else is changed, the nominated node will be chosen again". A draw among candidates that
    /// are equally good would move the nomination with every attempt, and each move frees room that wakes
    /// other pods, which move theirs.
    #[must_use]
    pub(crate) fn chosen_again(&self, world: &World, missed: NodeId) -> Option<&Candidate> {
        let is_leaving = |&victim: &PodId| {
            let row = world.pods().get(victim);
            row.is_preempted || row.is_asked_to_go || world.class(row.class).is_terminating
        };
        let row = world.nodes().row_of(missed)?;
        let is_again = |it: &&Candidate| it.row == row && it.victims.iter().all(is_leaving);
        self.candidates.iter().find(is_again)
    }
}

/// Why a pod may not preempt. `nominated` is how its nominated node was rejected.
pub(crate) fn why_ineligible(
    world: &World,
    pending: Pending,
    nominated: Option<Code>,
) -> Option<&'static str> {
    let class = world.class(pending.class);
    if class.input.preemption == PreemptionPolicy::Never {
        return Some(NEVER);
    }
    if nominated.is_none_or(|code| code == Code::UnschedulableAndUnresolvable) {
        return None;
    }
    let mut leaving = leaving_below(world, pending);
    leaving.any(|pod| pod.is_preempted || pod.is_asked_to_go).then_some(VICTIMS_LEAVING)
}

/// Pods of lower priority that are on their way out of a pod's nominated node, whoever asked them to
/// go.
fn leaving_below(world: &World, pending: Pending) -> impl Iterator<Item = &PodRow> {
    let priority = world.class(pending.class).priority;
    let there = pending.nominated.into_iter().flat_map(|node| world.pods().on_node(node));
    let is_lower = move |&pod: &PodId| pod_priority(world, pod) < priority;
    let is_leaving = |row: &&PodRow| world.class(row.class).is_terminating;
    there.filter(is_lower).map(|pod| world.pods().get(pod)).filter(is_leaving)
}

/// The rows whose first rejection says that evictions might help.
pub(crate) fn potential_rows(world: &mut World, question: Question<'_>, potential: &mut NodeMask) {
    let Question { profile, plan, pending, reserved } = question;
    let node_count = world.nodes().node_count();
    debug_assert!(
        reserved.is_none_or(|rows| rows.node_count() == node_count),
        "reserved rows are of these nodes"
    );
    potential.reset(node_count);
    let mut left = match &plan.scope {
        FilterScope::Rejected { code, .. } => {
            if *code == Code::Unschedulable {
                *potential = NodeMask::all(node_count);
            }
            return;
        }
        FilterScope::All => NodeMask::all(node_count),
        // Nodes outside cannot be helped, but the nominated node was looked at all the same.
        FilterScope::Rows { rows, .. } => {
            let mut mask = NodeMask::none(node_count);
            rows.iter().for_each(|&row| mask.insert(row as usize));
            plan.nominated_outside(world, pending).into_iter().for_each(|row| mask.insert(row));
            mask
        }
    };
    for row in reserved.into_iter().flat_map(NodeMask::rows) {
        if !left.contains(row) {
            continue;
        }
        left.remove(row);
        let first = question.first_rejection(world, row);
        if first.is_some_and(|first| first.code == Code::Unschedulable) {
            potential.insert(row);
        }
    }
    let class = world.class(pending.class);
    let mut reasons = Vec::new();
    for &plugin in profile.filters().iter().filter(|plugin| !plan.skipped_filters.contains(plugin)) {
        let filter = profile.filter(plugin);
        let before = left.clone();
        filter.filter(world, class, 0, left.words_mut());
        let only = filter.only_rejection().map(|(code, _)| code);
        if only == Some(Code::UnschedulableAndUnresolvable) {
            continue;
        }
        for row in before.rows().filter(|&row| !left.contains(row)) {
            reasons.clear();
            let code = only.unwrap_or_else(|| filter.verdict(world, class, row, &mut reasons));
            if code == Code::Unschedulable {
                potential.insert(row);
            }
        }
    }
}

/// Pods of lower priority that are nominated to a candidate's node: they may no longer fit there.
pub fn get_lower_priority_nominated_pods(world: &World, pending: Pending, row: usize) -> Vec<PodUid> {
    let priority = world.class(pending.class).priority;
    let node = world.nodes().columns().id[row];
    let lower = world
        .nominator()
        .nominated_pods_for_node(node)
        .iter()
        .filter(|nomination| nomination.priority < priority);
    lower.map(|nomination| nomination.pod).collect()
}
