//! A cycle on the nodes of a placement only: a pod of a group that is to stay within one domain of a
//! topology.
//!
//! Plugins see the whole cluster; only the candidates are fewer. The start index counts nodes of the
//! placement, in list order.
//!
//! Upstream: backend/cache/snapshot.go `AssumePlacement`, `ListNodesInPlacement`, and schedule_one.go, which
//! searches that list.

use std::sync::Arc;

use super::{
    Choice, Decision, Engine, Pending, feasible_now, nodes_to_find, pick, prioritize_nodes, segment,
    take_best, word_id,
};
use crate::cycle::plan::{FilterScope, outside_reason};
use crate::cycle::probe::{Mark, Probe};
use crate::cycle::select::TieBreak;
use crate::cycle::verdict::Question;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extend::find_nodes_that_pass_extenders;
use crate::framework::profile::{PluginIndex, Profile};
use crate::ids::ClassId;
use crate::nominator::TryNominated;
use crate::snapshot::mask::{BitRows, NodeMask, WORD_BITS, lowest_bits, nth_bit, word_count};
use crate::world::World;

impl Engine {
    /// As [`Engine::schedule_pod`], with these nodes as candidates. There is at least one.
    pub fn schedule_pod_in_placement<P: Probe>(
        &mut self,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        placement: &NodeMask,
        probe: &mut P,
    ) -> Decision {
        debug_assert!(placement.count() > 0, "a placement has a node");
        debug_assert_eq!(placement.node_count(), world.nodes().node_count(), "a placement is of these nodes");
        let is_inside = |row: &usize| placement.contains(*row);
        let mut pending = self.searching(pending);
        if pending.nominated_row(world).filter(is_inside).is_none() {
            // It is no error to be nominated to a node of another placement.
            pending.nominated = None;
        }
        let at = self.entry_for(pending.class);
        self.entries[at].refresh(world, profile);
        self.entries[at].tally.pre_filtered += 1;
        world.scan_pods(pending.class);
        self.reserved.find(world, pending);
        if let FilterScope::Rejected { .. } = self.entries[at].plan.scope {
            probe.mark(Mark::PreFilterRejected);
            return self.unschedulable_in_placement(at, world, profile, pending, placement);
        }
        self.entries[at].tally.filtered += 1;
        if let Some(row) = pending.nominated_row(world)
            && self.question(at, profile, pending).fits(world, row)
        {
            return Decision::Chosen(Choice::nominated(row));
        }
        if pending.nominated.is_some() && self.settings.try_nominated == TryNominated::FirstOrMiss {
            return Decision::NominatedMissed;
        }
        let list = self.candidates_in_placement(at, placement);
        let evaluated = self.find_nodes_in_placement(at, world, profile, pending, &list);
        let missed = usize::from(self.missed_in_placement(world, pending, &list, evaluated));
        self.next_start = (self.next_start + evaluated + missed) % placement.count();
        probe.mark(Mark::Filter);
        if !self.extenders.is_empty()
            && !self.rows.is_empty()
            && let Err(error) = self.ask_extenders(world, pending)
        {
            let (node_count, error) = (placement.count(), Some(error));
            return Decision::Unschedulable(Arc::new(Diagnosis {
                node_count,
                error,
                ..Diagnosis::default()
            }));
        }
        let feasible = self.rows.len();
        debug_assert!(self.rows.iter().all(|&row| list.contains(row as usize)), "found is what was searched");
        debug_assert!(evaluated <= list.count(), "a node is looked at once");
        if feasible == 0 {
            return self.unschedulable_in_placement(at, world, profile, pending, placement);
        }
        let (row, ties) =
            if feasible == 1 { (self.rows[0] as usize, 1) } else { self.best(at, world, profile) };
        probe.mark(Mark::Score);
        let asked = evaluated + usize::from(pending.nominated.is_some());
        let evaluated = evaluated + missed;
        Decision::Chosen(Choice { row, evaluated, asked, feasible, ties, via_nominated: false })
    }

    /// The number of one of `ties` things that are equally good.
    pub(crate) fn draw(&mut self, ties: usize) -> usize {
        pick(self.settings, &mut self.draws, ties)
    }

    /// The filters that are asked about pods of a class, as its plan was last made.
    pub(crate) fn filters_asked(&mut self, class: ClassId) -> Vec<PluginIndex> {
        let at = self.entry_for(class);
        let plan = &self.entries[at].plan;
        plan.filters.iter().chain(&plan.live_filters).copied().collect()
    }

    /// The nodes of the placement that PreFilter left.
    fn candidates_in_placement(&self, at: usize, placement: &NodeMask) -> NodeMask {
        let FilterScope::Rows { rows, .. } = &self.entries[at].plan.scope else { return placement.clone() };
        let mut list = NodeMask::none(placement.node_count());
        let inside = rows.iter().map(|&row| row as usize).filter(|&row| placement.contains(row));
        inside.for_each(|row| list.insert(row));
        list
    }

    /// Fills `rows` with the first feasible nodes of a list, in rotation order, and says how many were
    /// looked at.
    fn find_nodes_in_placement(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        list: &NodeMask,
    ) -> usize {
        let (node_count, listed) = (list.node_count(), list.count());
        self.rows.clear();
        self.sample.clear();
        if listed == 0 {
            return 0;
        }
        let wanted = nodes_to_find(profile, &self.extenders, listed);
        let start = nth_row(list, self.next_start % listed);
        let has_columns = self.entries[at].plan.scope == FilterScope::All;
        let mut evaluated = 0;
        for (low, high) in [(start, node_count), (0, start)] {
            for word in low / WORD_BITS..high.div_ceil(WORD_BITS) {
                let asked = list.words()[word] & segment(word, low, high);
                if asked == 0 {
                    continue;
                }
                let fits = if has_columns {
                    self.feasible_in_word(at, world, profile, pending, word) & asked
                } else {
                    let question = self.question(at, profile, pending);
                    let rows = BitRows::new(word, asked).filter(|&row| question.fits(world, row));
                    rows.fold(0, |bits, row| bits | 1 << (row % WORD_BITS))
                };
                let left = wanted - self.rows.len();
                let taken = lowest_bits(fits, u32::try_from(left.min(WORD_BITS)).expect("at most 64"));
                self.sample.push((word_id(word), taken));
                self.rows
                    .extend(BitRows::new(word, taken).map(|row| u32::try_from(row).expect("rows fit u32")));
                if self.rows.len() == wanted {
                    let last = 63 - taken.leading_zeros();
                    let seen = asked & (u64::MAX >> (63 - last));
                    return evaluated + seen.count_ones() as usize;
                }
                evaluated += asked.count_ones() as usize;
            }
        }
        evaluated
    }

    /// The rows of a word that pass all filters.
    fn feasible_in_word(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        word: usize,
    ) -> u64 {
        let Engine { entries, dispatch, scratch, reserved, .. } = self;
        let entry = &mut entries[at];
        if !entry.is_known(word) {
            entry.ensure_known(world, profile, (word, word + 1), dispatch, scratch);
        }
        let feasible = entry.words[word].feasible;
        let reserved = reserved.rows();
        if entry.plan.live_filters.is_empty() && reserved.is_none() {
            return feasible;
        }
        feasible_now(world, Question { profile, plan: &entry.plan, pending, reserved }, word, feasible)
    }

    /// The nominated node was tried, in vain, and the search did not come by it.
    fn missed_in_placement(
        &self,
        world: &World,
        pending: Pending,
        list: &NodeMask,
        evaluated: usize,
    ) -> bool {
        pending.nominated_row(world).is_some_and(|row| {
            if !list.contains(row) {
                return true;
            }
            let listed = list.count();
            (place_of(list, row) + listed - self.next_start % listed) % listed >= evaluated
        })
    }

    /// Takes rows out that an extender does not want.
    fn ask_extenders(&mut self, world: &World, pending: Pending) -> Result<(), Arc<str>> {
        let input = Arc::clone(&world.class(pending.class).input);
        let pod = (pending.pod.unwrap_or_default(), input.as_ref());
        find_nodes_that_pass_extenders(&self.extenders, world, pod, &mut self.rows)
            .map(|_| ())
            .map_err(|error| error.to_string().into())
    }

    /// The best of several feasible rows, and how many share its total.
    fn best(&mut self, at: usize, world: &World, profile: &Profile) -> (usize, usize) {
        self.entries[at].tally.scored += 1;
        if self.entries[at].plan.scope == FilterScope::All && self.extenders.is_empty() {
            // All at once: no cycle is to allocate later.
            self.sample.reserve(word_count(world.nodes().node_count()) + 2);
            let Engine { entries, dispatch, scratch, sample, .. } = self;
            entries[at].ensure_scored(world, profile, sample, dispatch, scratch);
            return self.select_host(at, world, profile);
        }
        if self.settings.tie_break == TieBreak::First {
            self.rows.sort_unstable();
        }
        let Engine { entries, rows, totals, scratch, draws, settings, .. } = self;
        totals.clear();
        totals.resize(rows.len(), 0);
        prioritize_nodes(world, profile, &entries[at], rows, totals, &mut scratch.scores);
        take_best(rows, totals, *settings, draws)
    }

    fn unschedulable_in_placement(
        &self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        placement: &NodeMask,
    ) -> Decision {
        let mut diagnosis = self.diagnose_within(at, world, profile, pending, Some(placement));
        diagnosis.node_count = placement.count();
        let plan = &self.entries[at].plan;
        if let FilterScope::Rows { rows, plugins, .. } = &plan.scope {
            // Nodes outside the placement are no nodes here.
            let named = rows.iter().filter(|&&row| placement.contains(row as usize)).count();
            let looked_at = named + usize::from(plan.nominated_outside(world, pending).is_some());
            let outside = outside_reason(plugins);
            diagnosis.reasons.retain(|(reason, _)| *reason != outside);
            if looked_at < diagnosis.node_count {
                diagnosis.count(outside, diagnosis.node_count - looked_at);
            }
        }
        Decision::Unschedulable(Arc::new(diagnosis))
    }
}

/// The row at a place of a mask's rows.
fn nth_row(mask: &NodeMask, mut nth: usize) -> usize {
    for (word, &bits) in mask.words().iter().enumerate() {
        let count = bits.count_ones() as usize;
        if nth < count {
            let nth = u32::try_from(nth).expect("below 64");
            return word * WORD_BITS + nth_bit(bits, nth).expect("the word has that many rows") as usize;
        }
        nth -= count;
    }
    unreachable!("the place is below the count")
}

/// The place of a row among a mask's rows.
fn place_of(mask: &NodeMask, row: usize) -> usize {
    let word = row / WORD_BITS;
    let before: u32 = mask.words()[..word].iter().map(|bits| bits.count_ones()).sum();
    let within = mask.words()[word] & ((1u64 << (row % WORD_BITS)) - 1);
    (before + within.count_ones()) as usize
}
