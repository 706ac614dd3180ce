//! Opportunistic batching: a pod may take the next best node of the pod before it.
//!
//! ```text
//! full search of pod 1 ─▶ chosen node, and all others with their raw scores: the batch
//! pod 2, same signature ─▶ is the node of pod 1 still feasible?
//!     no ─────────────────▶ the best of the others is the hint
//!     yes ─▶ it is scored again, all are normalised again ─▶ the best of all is the hint
//! hint passes Filter ─▶ taken without a search    does not ─▶ full search, and a new batch
//! ```
//!
//! The batch holds for consecutive cycles that succeed, for pods of one signature that are not nominated, and
//! for half a second. What changed on the other nodes meanwhile is not looked at: a pod may get another node
//! than without batching. That is upstream's bargain; the class cache beside it changes no decision.
//!
//! Upstream: framework/runtime/batch.go, KEP-5598.

use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Choice, Decision, Engine, Pending};
use crate::class::PodClass;
use crate::class::signature::PodSignature;
use crate::cycle::plan::{FilterScope, PlannedScore};
use crate::cycle::select::TieBreak;
use crate::cycle::verdict::Question;
use crate::framework::plugin::SignPod;
use crate::framework::profile::{PluginIndex, Profile};
use crate::ids::{ClassId, NodeId};
use crate::input::PodInput;
use crate::snapshot::mask::BitRows;
use crate::world::World;

/// Upstream: batch.go `maxBatchAge`.
const BATCH_AGE_MAX_NS: u64 = 500_000_000;
/// The node of the pod before has no number of its own any more when it is scored again, and loses every tie.
const RESCORED: u64 = 0;

/// Signatures that are kept; making one costs about a microsecond.
const SIGNATURES_MAX: usize = 4096;

/// How batching went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchCounts {
    /// Pods that took the node they were hinted at.
    pub hint_used: u64,
    /// Pods that were hinted at a node which did not fit.
    pub hint_not_used: u64,
    /// Pods without a hint.
    pub no_hint: u64,
}

/// What is kept from one cycle to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct OpportunisticBatch {
    state: Option<BatchState>,
    last: Option<LastCycle>,
    /// The number of the cycle under way.
    cycle: u64,
    now_ns: u64,
    counts: BatchCounts,
    /// By class, with the spec it is the signature of: ids of classes are given out again.
    signatures: FxHashMap<ClassId, (Arc<PodInput>, Option<Arc<PodSignature>>)>,
}

#[derive(Clone, Copy, Debug)]
struct LastCycle {
    number: u64,
    chosen: NodeId,
}

/// The feasible nodes of a search that were not chosen.
#[derive(Clone, Debug)]
struct BatchState {
    signature: Arc<PodSignature>,
    scores: Vec<PlannedScore>,
    nodes: Vec<NodeId>,
    /// Decide between equal totals; the higher wins.
    randomizers: Vec<u64>,
    /// Raw scores, plugin by plugin in the order of `scores`.
    raw: Vec<Vec<i64>>,
    /// Those that were not taken yet, best first: total, randomizer, index.
    left: BinaryHeap<(i64, u64, usize)>,
    created_ns: u64,
}

impl BatchState {
    /// Normalises the raw scores over all nodes that are left and orders them by their totals.
    fn order(&mut self, world: &World, profile: &Profile, class: &PodClass, rows: &[u32]) {
        debug_assert_eq!(rows.len(), self.nodes.len(), "each node has its row");
        let mut totals = vec![0; rows.len()];
        for (planned, raw) in self.scores.iter().zip(&self.raw) {
            let mut scores = raw.clone();
            profile.score(planned.plugin).normalize(world, class, rows, &mut scores);
            totals.iter_mut().zip(scores).for_each(|(total, score)| *total += planned.weight * score);
        }
        let entries = totals.into_iter().zip(&self.randomizers).enumerate();
        self.left = entries.map(|(at, (total, &randomizer))| (total, randomizer, at)).collect();
    }

    /// PreScore may skip other plugins than when the nodes were scored: those that are asked now count. What
    /// one of them said then is kept, and one that was skipped then is asked now.
    fn score_as(&mut self, scores: Vec<PlannedScore>, ask: impl Fn(&PlannedScore) -> Vec<i64>) {
        let kept = |planned: &PlannedScore| {
            let at = self.scores.iter().position(|other| other.plugin == planned.plugin)?;
            Some(self.raw[at].clone())
        };
        self.raw = scores.iter().map(|planned| kept(planned).unwrap_or_else(|| ask(planned))).collect();
        self.scores = scores;
    }

    /// Forgets the nodes that were taken.
    fn keep_left(&mut self) {
        let mut kept: Vec<usize> = std::mem::take(&mut self.left).into_iter().map(|(_, _, at)| at).collect();
        // Of two that were scored again and are equal, the later one is taken.
        kept.sort_unstable();
        self.nodes = kept.iter().map(|&at| self.nodes[at]).collect();
        self.randomizers = kept.iter().map(|&at| self.randomizers[at]).collect();
        for raw in &mut self.raw {
            *raw = kept.iter().map(|&at| raw[at]).collect();
        }
    }
}

impl Engine {
    /// With batching on or off.
    #[must_use]
    pub fn with_opportunistic_batching(mut self, is_on: bool) -> Engine {
        self.batch = is_on.then(Box::default);
        self
    }

    /// What time it is, for the age of a batch.
    pub fn set_now_ns(&mut self, now_ns: u64) {
        if let Some(batch) = &mut self.batch {
            batch.now_ns = now_ns;
        }
    }

    /// A pod was taken from the queue and not tried.
    pub fn skip_cycle(&mut self) {
        if let Some(batch) = &mut self.batch {
            batch.cycle += 1;
        }
    }

    /// How batching went so far.
    #[must_use]
    pub fn batch_counts(&self) -> BatchCounts {
        self.batch.as_ref().map(|batch| batch.counts).unwrap_or_default()
    }

    /// The node that the pods before suggest.
    pub(super) fn node_hint(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
    ) -> Option<NodeId> {
        let mut batch = self.batch.take()?;
        let signature = self.signature_of(&mut batch, world, profile, pending.class);
        let is_compatible = pending.nominated.is_none() && batch.is_compatible(signature.as_ref());
        let hint = match is_compatible && self.refresh_candidates(&mut batch, at, world, profile, pending) {
            true => batch.state.as_mut().and_then(|state| {
                let (_, _, best) = state.left.pop()?;
                Some(state.nodes[best])
            }),
            false => None,
        };
        batch.counts.no_hint += u64::from(hint.is_none());
        self.batch = Some(batch);
        hint
    }

    /// Upstream: framework.go `SignPod`; extenders, and plugins that do not sign, switch batching off.
    fn signature_of(
        &self,
        batch: &mut OpportunisticBatch,
        world: &World,
        profile: &Profile,
        class: ClassId,
    ) -> Option<Arc<PodSignature>> {
        if !self.extenders.is_empty() {
            return None;
        }
        let class = world.class(class);
        if let Some((input, signature)) = batch.signatures.get(&class.id)
            && Arc::ptr_eq(input, &class.input)
        {
            return signature.clone();
        }
        let signature = sign_pod(profile, class).map(Arc::new);
        if SIGNATURES_MAX <= batch.signatures.len() {
            batch.signatures.clear();
        }
        batch.signatures.insert(class.id, (Arc::clone(&class.input), signature.clone()));
        signature
    }

    /// Upstream: batch.go `refreshHintCandidates`, `rescoreHintedNode`.
    fn refresh_candidates(
        &self,
        batch: &mut OpportunisticBatch,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
    ) -> bool {
        let OpportunisticBatch { state: Some(state), last: Some(last), .. } = batch else { return false };
        let Some(row) = world.nodes().row_of(last.chosen) else { return false };
        let plan = &self.entries[at].plan;
        // Without the room of nominated pods, as there.
        let question = Question { profile, plan, pending, reserved: None };
        if !question.fits(world, row) {
            return true;
        }
        let chosen = last.chosen;
        state.keep_left();
        let rows: Option<Vec<usize>> = state.nodes.iter().map(|&node| world.nodes().row_of(node)).collect();
        let Some(rows) = rows else {
            state.left.clear();
            return false;
        };
        let as_u32 = |row: usize| u32::try_from(row).expect("rows fit u32");
        let mut rows: Vec<u32> = rows.into_iter().map(as_u32).collect();
        let class = world.class(pending.class);
        state.score_as(plan_scores(plan).collect(), |planned| {
            let mut column = vec![0; rows.len()];
            profile.score(planned.plugin).score(world, class, &rows, &mut column);
            column
        });
        rows.push(as_u32(row));
        state.nodes.push(chosen);
        state.randomizers.push(RESCORED);
        for (planned, raw) in state.scores.iter().zip(&mut state.raw) {
            let mut score = [0];
            profile.score(planned.plugin).score(world, class, &[as_u32(row)], &mut score);
            raw.push(score[0]);
        }
        state.order(world, profile, class, &rows);
        true
    }

    /// Upstream: batch.go `StoreScheduleResults`. A cycle that found no node stores nothing: the next one
    /// sees that the numbers do not follow each other.
    pub(super) fn store_schedule_results(
        &mut self,
        at: usize,
        world: &World,
        profile: &Profile,
        hint: Option<NodeId>,
        decision: &Decision,
    ) {
        let Decision::Chosen(choice) = decision else { return };
        let Some(mut batch) = self.batch.take() else { return };
        let chosen = world.nodes().columns().id[choice.row];
        batch.last = Some(LastCycle { number: batch.cycle, chosen });
        if hint == Some(chosen) {
            batch.counts.hint_used += 1;
        } else {
            batch.counts.hint_not_used += u64::from(hint.is_some());
            let class = self.entries[at].class;
            let known = batch.signatures.get(&class).and_then(|(_, signature)| signature.clone());
            let is_searched = choice.feasible > 1;
            batch.state = known
                .filter(|_| is_searched)
                .map(|it| self.batch_of(at, world, profile, (it, *choice, batch.now_ns)));
        }
        self.batch = Some(batch);
    }

    /// The feasible nodes but the chosen one, scored.
    fn batch_of(
        &mut self,
        at: usize,
        world: &World,
        profile: &Profile,
        (signature, choice, created_ns): (Arc<PodSignature>, Choice, u64),
    ) -> BatchState {
        let mut rows: Vec<u32> = match &self.entries[at].plan.scope {
            FilterScope::Rows { .. } => self.rows.clone(),
            _ => {
                let words = self.sample.iter().flat_map(|&(word, bits)| BitRows::new(word as usize, bits));
                words.map(|row| u32::try_from(row).expect("rows fit u32")).collect()
            }
        };
        let class = world.class(self.entries[at].class);
        let scores: Vec<PlannedScore> = plan_scores(&self.entries[at].plan).collect();
        let place = rows.iter().position(|&row| row as usize == choice.row).expect("it was feasible");
        let mut raw = Vec::with_capacity(scores.len());
        for planned in &scores {
            let mut column = vec![0; rows.len()];
            profile.score(planned.plugin).score(world, class, &rows, &mut column);
            raw.push(column);
        }
        // Totals are those of the search: normalised with the chosen node among them.
        let all_rows = rows.clone();
        let ids = &world.nodes().columns().id;
        let draws = &mut self.draws;
        let tie_break = self.settings.tie_break;
        let randomizers = rows.iter().map(|&row| match tie_break {
            TieBreak::Draw => draws.next_number().max(RESCORED + 1),
            TieBreak::First => u64::MAX - u64::from(row),
        });
        let randomizers: Vec<u64> = randomizers.collect();
        let nodes = rows.drain(..).map(|row| ids[row as usize]).collect();
        let left = BinaryHeap::new();
        let mut state = BatchState { signature, scores, nodes, randomizers, raw, left, created_ns };
        state.order(world, profile, class, &all_rows);
        state.left.retain(|&(_, _, index)| index != place);
        state
    }
}

impl OpportunisticBatch {
    /// Panics where columns of nodes and scores have different lengths.
    pub(super) fn check(&self) {
        assert!(self.signatures.len() <= SIGNATURES_MAX, "only so many signatures are kept");
        assert!(
            self.last.is_none_or(|last| last.number <= self.cycle),
            "the last cycle was not later than this"
        );
        let Some(state) = &self.state else { return };
        assert!(state.created_ns <= self.now_ns, "a batch was not made later than now");
        assert_eq!(state.randomizers.len(), state.nodes.len(), "each node of a batch has its lot");
        assert_eq!(state.raw.len(), state.scores.len(), "each plugin has its column of scores");
        assert!(
            state.raw.iter().all(|it| it.len() == state.nodes.len()),
            "a column has a score for each node"
        );
        assert!(state.left.len() <= state.nodes.len(), "what is left is of the batch");
        assert!(state.left.iter().all(|&(_, _, at)| at < state.nodes.len()), "what is left is a node");
    }

    /// A cycle begins.
    pub(super) fn begin_cycle(&mut self) {
        self.cycle += 1;
    }

    /// Upstream: batch.go `batchStateCompatible`.
    fn is_compatible(&self, signature: Option<&Arc<PodSignature>>) -> bool {
        let (Some(state), Some(last)) = (&self.state, &self.last) else { return false };
        !state.left.is_empty()
            && last.number + 1 == self.cycle
            && signature.is_some_and(|signature| **signature == *state.signature)
            && self.now_ns <= state.created_ns.saturating_add(BATCH_AGE_MAX_NS)
    }
}

/// The scores that a plan asks for, in one order.
fn plan_scores(plan: &crate::cycle::plan::Plan) -> impl Iterator<Item = PlannedScore> + '_ {
    plan.final_scores.iter().chain(&plan.scaled_scores).chain(&plan.live_scores).copied()
}

fn sign_pod(profile: &Profile, class: &PodClass) -> Option<PodSignature> {
    let filters = profile.filters().iter().copied();
    let plugins: Vec<PluginIndex> =
        filters.chain(profile.scores().iter().map(|&(plugin, _)| plugin)).collect();
    let mut has_labels = false;
    for plugin in plugins {
        match profile.plugins()[plugin].sign_pod(class) {
            SignPod::NotSigned => return None,
            SignPod::Spec => {}
            SignPod::SpecAndLabels => has_labels = true,
        }
    }
    Some(PodSignature::new(class, has_labels))
}
