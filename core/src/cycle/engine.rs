//! One decision after the other: which node for a pod of this class, or why none.

mod checks;
mod extended;
mod opportunistic_batching;
mod placement;
mod preempting;
mod selecting;

use std::sync::Arc;

use crate::cycle::entry::{Entry, Scratch, run_filters};
use crate::cycle::parallelize::{DEFAULT_PARALLELISM, Parallelizer, Ways};
use crate::cycle::plan::{FilterScope, Plan, outside_reason};
use crate::cycle::plugin_times::PluginTimes;
use crate::cycle::probe::{Mark, Probe};
use crate::cycle::sampling::num_feasible_nodes_to_find;
use crate::cycle::select::{Best, Draws, TieBreak};
use crate::cycle::tally::Evaluations;
use crate::cycle::verdict::{FirstRejection, Question, Reserved};
use crate::cycle::word::{WordBest, known_run};
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extend::{Extender, Extenders, Verb};
use crate::framework::profile::Profile;
use crate::framework::status::{Code, Reason};
use crate::ids::{ClassId, NodeId, PodUid};
use crate::mutants::Mutants;
use crate::nominator::TryNominated;
use crate::preemption::DryRun;
use crate::snapshot::mask::{BitRows, NodeMask, WORD_BITS, lowest_bits, word_count};
use crate::world::World;

pub use opportunistic_batching::BatchCounts;
use opportunistic_batching::OpportunisticBatch;

/// Whether verdicts and scores are kept between cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassCache {
    /// Kept until something they depend on changes.
    On,
    /// Computed afresh for every pod.
    Off,
}

/// How the engine works; nothing here but [`EngineSettings::tie_break`], [`EngineSettings::seed`] and
/// [`EngineSettings::try_nominated`] can change a decision.
#[derive(Clone, Copy, Debug)]
pub struct EngineSettings {
    /// Whether verdicts and scores are kept.
    pub class_cache: ClassCache,
    /// Inline or parallel.
    pub ways: Ways,
    /// How many ways chunks are cut for.
    pub parallelism: usize,
    /// How ties are broken.
    pub tie_break: TieBreak,
    /// The seed of tie-breaking draws.
    pub seed: u64,
    /// What becomes of a pod's own nominated node. A scheduler sets it by its gates.
    pub try_nominated: TryNominated,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings {
            class_cache: ClassCache::On,
            ways: Ways::Inline,
            parallelism: DEFAULT_PARALLELISM,
            tie_break: TieBreak::Draw,
            seed: 0,
            try_nominated: TryNominated::default(),
        }
    }
}

/// A pod to be decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its class.
    pub class: ClassId,
    /// Its identity, to tell it from pods that are nominated.
    pub pod: Option<PodUid>,
    /// The node to be tried before all others.
    pub nominated: Option<NodeId>,
}

impl Pending {
    /// The row of the nominated node, if that is in the list.
    #[must_use]
    pub fn nominated_row(&self, world: &World) -> Option<usize> {
        world.nodes().row_of(self.nominated?)
    }

    /// How many nodes were asked before the search.
    fn nominated_count(&self, world: &World) -> usize {
        usize::from(self.nominated_row(world).is_some())
    }
}

impl From<ClassId> for Pending {
    /// A pod that is known by its class alone.
    fn from(class: ClassId) -> Pending {
        Pending { class, pod: None, nominated: None }
    }
}

/// The outcome of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This node.
    Chosen(Choice),
    /// No node.
    Unschedulable(Arc<Diagnosis>),
    /// The nominated node does not fit, or is not there, and no other was looked at:
    /// [`TryNominated::FirstOrMiss`].
    NominatedMissed,
}

/// A chosen node and how the search went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node's row.
    pub row: usize,
    /// Nodes looked at.
    pub evaluated: usize,
    /// Questions put to nodes: one more than `evaluated` when the nominated node did not fit and the
    /// search came by it again.
    pub asked: usize,
    /// Feasible nodes found.
    pub feasible: usize,
    /// Feasible nodes that share the highest total; 1 when only one was feasible.
    pub ties: usize,
    /// It is the node the pod was nominated to, taken without regard to scores.
    pub via_nominated: bool,
}

impl Choice {
    /// The nominated node, without a search.
    fn nominated(row: usize) -> Choice {
        Choice { row, evaluated: 1, asked: 1, feasible: 1, ties: 1, via_nominated: true }
    }
}

/// Entries kept at most. At 5,000 nodes an entry is about 45 kB.
const ENTRIES_MAX: usize = 64;
const NO_ENTRY: u32 = u32::MAX;

/// The engine: class entries, the rotating start index and the draws.
#[derive(Clone, Debug)]
pub struct Engine {
    settings: EngineSettings,
    dispatch: Parallelizer,
    draws: Draws,
    next_start: usize,
    entries: Vec<Entry>,
    /// The tick of each entry's last use.
    last_used: Vec<u64>,
    entry_of_class: Vec<u32>,
    tick: u64,
    scratch: Scratch,
    /// The feasible rows found, as (word, bits) in rotation order.
    sample: Vec<(u32, u64)>,
    /// The best of each word of the sample.
    parts: Vec<(u32, WordBest)>,
    rows: Vec<u32>,
    totals: Vec<i64>,
    /// Of the pod at hand.
    reserved: Reserved,
    potential: NodeMask,
    dry_run: DryRun,
    extenders: Extenders,
    /// Of classes that have no entry any more.
    evaluations: Evaluations,
    mutants: Mutants,
    /// Present while opportunistic batching is on.
    batch: Option<Box<OpportunisticBatch>>,
}

impl Engine {
    /// An engine that has decided nothing yet.
    #[must_use]
    pub fn new(settings: EngineSettings) -> Engine {
        Engine {
            settings,
            dispatch: Parallelizer::new(settings.ways, settings.parallelism),
            draws: Draws::new(settings.seed),
            next_start: 0,
            entries: Vec::new(),
            last_used: Vec::new(),
            entry_of_class: Vec::new(),
            tick: 0,
            scratch: Scratch::default(),
            sample: Vec::new(),
            parts: Vec::new(),
            rows: Vec::new(),
            totals: Vec::new(),
            reserved: Reserved::default(),
            potential: NodeMask::default(),
            dry_run: DryRun::default(),
            extenders: Extenders::new(),
            evaluations: Evaluations::new(),
            mutants: Mutants::default(),
            batch: None,
        }
    }

    /// With a defect.
    #[must_use]
    pub(crate) fn with_mutants(mut self, mutants: Mutants) -> Engine {
        self.mutants = mutants;
        self
    }

    /// Where the next search starts: an index into whatever list it searches, modulo its length.
    /// Upstream: `nextStartNodeIndex`.
    #[must_use]
    pub fn next_start(&self) -> usize {
        self.next_start
    }

    /// Lets the next search start at a row, as after a restart.
    pub fn set_next_start(&mut self, row: usize) {
        self.next_start = row;
    }

    /// Forgets what was kept about classes: their profile is not the one it was.
    pub fn forget_classes(&mut self) {
        (0..self.entries.len()).for_each(|at| self.settle_tally(at));
        self.entries.clear();
        self.last_used.clear();
        self.entry_of_class = Vec::new();
    }

    /// Notes, by this clock, how long plugins take in the cycles whose probe asks for it.
    pub fn time_plugins(&mut self, now_ns: fn() -> u64) {
        self.dispatch.set_times(Arc::new(PluginTimes::new(now_ns)));
    }

    /// How often plugins took part in decisions.
    #[must_use]
    pub fn evaluations(&self) -> Evaluations {
        let mut all = self.evaluations.clone();
        self.entries.iter().for_each(|entry| entry.tally.add_to(&mut all));
        all
    }

    /// An entry is about to stand for another class.
    fn settle_tally(&mut self, at: usize) {
        std::mem::take(&mut self.entries[at].tally).add_to(&mut self.evaluations);
    }

    /// What was noted.
    #[must_use]
    pub fn plugin_times(&self) -> Option<&PluginTimes> {
        self.dispatch.times()
    }

    /// Bytes held by class entries.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.entries.iter().map(Entry::memory_bytes).sum()
    }

    /// What is kept about a class.
    #[cfg(test)]
    pub(crate) fn entry_of(&self, class: ClassId) -> Option<&Entry> {
        let at = *self.entry_of_class.get(class.index())?;
        self.entries.get(at as usize)
    }

    /// Decides for a pod. The world's rows must be settled; it is as before when this returns.
    pub fn schedule_pod<P: Probe>(
        &mut self,
        world: &mut World,
        profile: &Profile,
        pending: impl Into<Pending>,
        probe: &mut P,
    ) -> Decision {
        let asked = pending.into();
        let pending = self.searching(asked);
        if let Some(batch) = &mut self.batch {
            batch.begin_cycle();
        }
        self.dispatch.set_timed(probe.times_plugins());
        let at = self.entry_for(pending.class);
        if world.nodes().node_count() == 0 {
            return Decision::Unschedulable(Arc::default());
        }
        self.entries[at].refresh(world, profile);
        self.entries[at].tally.pre_filtered += 1;
        world.scan_pods(pending.class);
        self.reserved.find(world, pending);
        if let FilterScope::Rejected { .. } = self.entries[at].plan.scope {
            probe.mark(Mark::PreFilterRejected);
            return Decision::Unschedulable(self.diagnose(at, world, profile, pending));
        }
        self.entries[at].tally.filtered += 1;
        probe.mark(Mark::PreFilter);
        if !self.extenders.is_empty() {
            return self.schedule_pod_with_extenders(at, world, profile, pending, probe);
        }
        let hint = self.node_hint(at, world, profile, asked);
        // A hinted node is looked at as a nominated one is, before all others.
        let pending = Pending { nominated: pending.nominated.or(hint), ..pending };
        let decision = self.schedule_pod_within(at, world, profile, (pending, hint), probe);
        self.store_schedule_results(at, world, profile, hint, &decision);
        decision
    }

    /// Once PreFilter has had its say: the nominated or hinted node, then the others.
    #[inline]
    fn schedule_pod_within<P: Probe>(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        (pending, hint): (Pending, Option<NodeId>),
        probe: &mut P,
    ) -> Decision {
        if pending.nominated.is_some() {
            let row = pending.nominated_row(world);
            if let Some(row) = row.filter(|&row| self.question(at, profile, pending).fits(world, row)) {
                probe.mark(Mark::Filter);
                return Decision::Chosen(Choice { via_nominated: hint.is_none(), ..Choice::nominated(row) });
            }
            if self.settings.try_nominated == TryNominated::FirstOrMiss && hint.is_none() {
                probe.mark(Mark::Filter);
                return Decision::NominatedMissed;
            }
        }
        match &self.entries[at].plan.scope {
            FilterScope::Rows { .. } => self.schedule_pod_on_named_nodes(at, world, profile, pending, probe),
            _ => self.schedule_pod_on_all_nodes(at, world, profile, pending, probe),
        }
    }

    /// The pod as the search sees it: without its nominated node if that is nothing special.
    fn searching(&self, pending: Pending) -> Pending {
        match self.settings.try_nominated {
            TryNominated::Never => Pending { nominated: None, ..pending },
            TryNominated::First | TryNominated::FirstOrMiss => pending,
        }
    }

    /// What the pod at hand asks of a row.
    fn question<'a>(&'a self, at: usize, profile: &'a Profile, pending: Pending) -> Question<'a> {
        Question { profile, plan: &self.entries[at].plan, pending, reserved: self.reserved.rows() }
    }

    fn entry_for(&mut self, class: ClassId) -> usize {
        if self.entry_of_class.len() <= class.index() {
            self.entry_of_class.resize(class.index() + 1, NO_ENTRY);
        }
        self.tick += 1;
        let known = self.entry_of_class[class.index()];
        let at = if known != NO_ENTRY {
            known as usize
        } else if self.entries.len() < ENTRIES_MAX {
            self.entries.push(Entry::new(self.settings.class_cache));
            self.last_used.push(0);
            self.entries.len() - 1
        } else {
            let oldest = (0..self.last_used.len()).min_by_key(|&at| self.last_used[at]);
            let at = oldest.expect("there are entries");
            self.entry_of_class[self.entries[at].class.index()] = NO_ENTRY;
            at
        };
        if known == NO_ENTRY {
            self.entries[at].adopt(class);
            self.entry_of_class[class.index()] = u32::try_from(at).expect("few entries");
        }
        self.last_used[at] = self.tick;
        at
    }

    /// All nodes are eligible: the first K feasible rows from the start index on.
    fn schedule_pod_on_all_nodes<P: Probe>(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        probe: &mut P,
    ) -> Decision {
        let mut search = self.find_nodes_that_pass_filters(at, world, profile, pending);
        let asked = search.evaluated + pending.nominated_count(world);
        if let Some(failed) = self.failed(at, world, profile, pending, (self.next_start, search.evaluated)) {
            return failed;
        }
        search.evaluated += usize::from(self.missed_elsewhere(world, pending, search.evaluated));
        self.next_start = (self.next_start + search.evaluated) % world.nodes().node_count();
        probe.mark(Mark::Filter);
        let chosen = |row, ties| {
            let Search { evaluated, feasible } = search;
            Decision::Chosen(Choice { row, evaluated, asked, feasible, ties, via_nominated: false })
        };
        match search.feasible {
            0 => return Decision::Unschedulable(self.diagnose(at, world, profile, pending)),
            // Upstream does not score a single feasible node.
            1 => {
                let only = self.sample.iter().find(|(_, bits)| *bits != 0);
                let &(word, bits) = only.expect("one row was found");
                return chosen(word as usize * WORD_BITS + bits.trailing_zeros() as usize, 1);
            }
            _ => {}
        }
        let Engine { entries, dispatch, scratch, sample, .. } = self;
        entries[at].ensure_scored(world, profile, sample, dispatch, scratch);
        entries[at].tally.scored += 1;
        probe.mark(Mark::PreScore);
        let (row, ties) = self.select_host(at, world, profile);
        probe.mark(Mark::Score);
        chosen(row, ties)
    }

    /// Fills `sample` with the first K feasible rows in rotation order.
    fn find_nodes_that_pass_filters(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
    ) -> Search {
        let node_count = world.nodes().node_count();
        let wanted = nodes_to_find(profile, &self.extenders, node_count);
        // The list may have become shorter since the index was set.
        let start = self.next_start % node_count;
        self.sample.clear();
        // All at once: how much of it a cycle needs varies, and no cycle is to allocate later.
        self.sample.reserve(word_count(node_count) + 2);
        self.parts.reserve((word_count(node_count) + 2).saturating_sub(self.parts.len()));
        self.rows.reserve(wanted.saturating_sub(self.rows.len()));
        self.totals.reserve(wanted.saturating_sub(self.totals.len()));
        self.scratch.scores.reserve(wanted.saturating_sub(self.scratch.scores.len()));
        let Engine { entries, dispatch, scratch, sample, reserved, .. } = self;
        let entry = &mut entries[at];
        let reserved = reserved.rows();
        let is_asked_now = !entry.plan.live_filters.is_empty() || reserved.is_some();
        let mut found = 0;
        let mut evaluated = 0;
        for (low, high) in [(start, node_count), (0, start)] {
            let mut word = low / WORD_BITS;
            while word * WORD_BITS < high {
                if !is_asked_now && low <= word * WORD_BITS && word < high / WORD_BITS {
                    let (run, count) = known_run(&entry.words[word..high / WORD_BITS], wanted - found);
                    let run_words = entry.words[word..word + run].iter();
                    sample.extend(run_words.zip(word_id(word)..).map(|(word, at)| (at, word.feasible)));
                    found += count;
                    evaluated += run * WORD_BITS;
                    word += run;
                    if run > 0 {
                        continue;
                    }
                }
                if !entry.is_known(word) {
                    // As many words as would do if every node fitted: never more work than needed.
                    let before_low = low.saturating_sub(word * WORD_BITS);
                    let ahead = (before_low + wanted - found).div_ceil(WORD_BITS).max(1);
                    let until = high.div_ceil(WORD_BITS).min(word + ahead);
                    entry.ensure_known(world, profile, (word, until), dispatch, scratch);
                }
                let mut bits = entry.words[word].feasible;
                if is_asked_now {
                    let question = Question { profile, plan: &entry.plan, pending, reserved };
                    bits = feasible_now(world, question, word, bits);
                }
                bits &= segment(word, low, high);
                let count = bits.count_ones() as usize;
                let first = (word * WORD_BITS).max(low);
                if found + count >= wanted {
                    let taken = lowest_bits(bits, u32::try_from(wanted - found).expect("at most 64"));
                    sample.push((word_id(word), taken));
                    let last = word * WORD_BITS + 63 - taken.leading_zeros() as usize;
                    return Search { feasible: wanted, evaluated: evaluated + last + 1 - first };
                }
                sample.push((word_id(word), bits));
                found += count;
                evaluated += ((word + 1) * WORD_BITS).min(high) - first;
                word += 1;
            }
        }
        debug_assert_eq!(evaluated, node_count);
        Search { feasible: found, evaluated }
    }

    /// A filter has no answer for a row that a search from `start` looked at: the cycle ends.
    /// Upstream: schedule_one.go `findNodesThatPassFilters`, where the first error cancels the search.
    fn failed(
        &self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        (start, evaluated): (usize, usize),
    ) -> Option<Decision> {
        if !self.entries[at].plan.can_fail {
            return None;
        }
        let question = self.question(at, profile, pending);
        let seen = self.seen(at, world, start, evaluated);
        let error = seen.rows().find_map(|row| {
            let FirstRejection { plugin, code, reasons } = question.first_rejection(world, row)?;
            let reason = reasons.first().filter(|_| code == Code::Error)?;
            let (name, why) = (profile.name(plugin), reason.text(&world.vocabulary));
            Some(format!("running {name:?} filter plugin: {why}").into())
        });
        let node_count = world.nodes().node_count();
        let diagnosis = Diagnosis { node_count, error: Some(error?), ..Diagnosis::default() };
        Some(Decision::Unschedulable(Arc::new(diagnosis)))
    }

    /// The nominated node was tried, in vain, and the search did not come by it. Upstream counts
    /// it among the nodes that were looked at.
    fn missed_elsewhere(&self, world: &World, pending: Pending, evaluated: usize) -> bool {
        let row = pending.nominated_row(world);
        row.is_some_and(|row| {
            let node_count = world.nodes().node_count();
            (row + node_count - self.next_start % node_count) % node_count >= evaluated
        })
    }

    /// Only a few rows are eligible: each is evaluated on its own. The start index applies to the
    /// list of these rows, as upstream applies it to whichever list it searches.
    fn schedule_pod_on_named_nodes<P: Probe>(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        probe: &mut P,
    ) -> Decision {
        let start = self.next_start;
        let (searched, missed) = self.find_named_nodes_that_pass_filters(at, world, profile, pending);
        if let Some(failed) = self.failed(at, world, profile, pending, (start, searched)) {
            return failed;
        }
        let (evaluated, asked) = (searched + missed, searched + pending.nominated_count(world));
        probe.mark(Mark::Filter);
        if self.rows.is_empty() {
            return Decision::Unschedulable(self.diagnose(at, world, profile, pending));
        }
        let feasible = self.rows.len();
        let mut chosen = (self.rows[0] as usize, 1);
        if feasible > 1 {
            if self.settings.tie_break == TieBreak::First {
                self.rows.sort_unstable();
            }
            let Engine { entries, rows, totals, scratch, draws, settings, .. } = self;
            totals.clear();
            totals.resize(feasible, 0);
            prioritize_nodes(world, profile, &entries[at], rows, totals, &mut scratch.scores);
            entries[at].tally.scored += 1;
            probe.mark(Mark::PreScore);
            chosen = take_best(rows, totals, *settings, draws);
            probe.mark(Mark::Score);
        }
        let (row, ties) = chosen;
        Decision::Chosen(Choice { row, evaluated, asked, feasible, ties, via_nominated: false })
    }

    /// Fills `rows` with the first K feasible of the eligible rows and says how many were looked at,
    /// and beside them.
    fn find_named_nodes_that_pass_filters(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
    ) -> (usize, usize) {
        let node_count = world.nodes().node_count();
        let FilterScope::Rows { rows: eligible, .. } = &self.entries[at].plan.scope else {
            unreachable!("the caller looked")
        };
        let wanted = nodes_to_find(profile, &self.extenders, eligible.len());
        let mut evaluated = 0;
        let mut rows = std::mem::take(&mut self.rows);
        let nominated = pending.nominated_row(world);
        let mut missed = nominated.is_some();
        rows.clear();
        for turn in 0..eligible.len() {
            let row = eligible[(self.next_start + turn) % eligible.len()];
            evaluated += 1;
            missed &= nominated != Some(row as usize);
            if self.question(at, profile, pending).fits(world, row as usize) {
                rows.push(row);
                if rows.len() == wanted {
                    break;
                }
            }
        }
        self.rows = rows;
        let missed = usize::from(missed);
        self.next_start = (self.next_start + evaluated + missed) % node_count;
        (evaluated, missed)
    }

    fn diagnose(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
    ) -> Arc<Diagnosis> {
        if self.reserved.rows().is_some() || self.entries[at].plan.nominated_outside(world, pending).is_some()
        {
            // Nominations come and go without a note in the change log.
            return Arc::new(self.diagnose_within(at, world, profile, pending, None));
        }
        self.entries[at].diagnosis(|plan| diagnose(world, profile, pending.class, plan, (None, None)))
    }

    /// Why none of some rows fits, with the room that nominated pods hold.
    fn diagnose_within(
        &self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        within: Option<&NodeMask>,
    ) -> Diagnosis {
        let question = self.question(at, profile, pending);
        let plan = question.plan;
        let mut rows = within.cloned().unwrap_or_else(|| NodeMask::all(world.nodes().node_count()));
        let outside = plan.nominated_outside(world, pending).filter(|&row| rows.contains(row));
        let is_eligible = |row: &usize| match &plan.scope {
            FilterScope::All => true,
            FilterScope::Rows { rows, .. } => {
                outside == Some(*row) || rows.iter().any(|&eligible| eligible as usize == *row)
            }
            FilterScope::Rejected { .. } => false,
        };
        let reserved = question.reserved.into_iter().flat_map(NodeMask::rows);
        let reserved: Vec<usize> = reserved.filter(|&row| rows.contains(row)).filter(is_eligible).collect();
        reserved.iter().for_each(|&row| rows.remove(row));
        let mut diagnosis = diagnose(world, profile, pending.class, plan, (Some(&rows), outside));
        for row in reserved {
            if let Some(FirstRejection { plugin, code, reasons }) = question.first_rejection(world, row) {
                diagnosis.blame(profile.name(plugin));
                diagnosis.resolvable_count += usize::from(code == Code::Unschedulable);
                reasons.into_iter().for_each(|reason| diagnosis.count(reason, 1));
            }
        }
        diagnosis
    }
}

/// Upstream: schedule_one.go `hasScoring`, `hasExtenderFilters`. When nothing scores and no extender
/// looks, the first feasible node will do.
fn nodes_to_find(profile: &Profile, extenders: &[Arc<dyn Extender>], node_count: usize) -> usize {
    let looks = |extender: &Arc<dyn Extender>| extender.does(Verb::Filter) || extender.does(Verb::Prioritize);
    if profile.scores().is_empty() && !extenders.iter().any(looks) {
        return 1;
    }
    num_feasible_nodes_to_find(profile.percentage_of_nodes_to_score, node_count)
}

/// The feasible rows of a word, with the filters that must be asked in every cycle and the room
/// that nominated pods hold.
fn feasible_now(world: &mut World, question: Question<'_>, word: usize, feasible: u64) -> u64 {
    let Question { profile, plan, pending, reserved } = question;
    let mut words = [feasible];
    if !plan.live_filters.is_empty() && feasible != 0 {
        run_filters(world, profile, world.class(pending.class), &plan.live_filters, word, &mut words);
    }
    if let Some(reserved) = reserved {
        for row in BitRows::new(word, words[0] & reserved.words()[word]) {
            if !question.fits(world, row) {
                words[0] &= !(1 << (row % WORD_BITS));
            }
        }
    }
    words[0]
}

#[inline]
fn word_id(word: usize) -> u32 {
    u32::try_from(word).expect("words fit u32")
}

#[derive(Clone, Copy)]
struct Search {
    feasible: usize,
    evaluated: usize,
}

/// The bits of word `word` whose rows are in `low..high`.
#[inline]
fn segment(word: usize, low: usize, high: usize) -> u64 {
    let base = word * WORD_BITS;
    let mut bits = u64::MAX;
    if low > base {
        bits &= u64::MAX << (low - base);
    }
    if high < base + WORD_BITS {
        bits &= (1u64 << (high - base)) - 1;
    }
    bits
}

/// Which of the ties is taken.
fn pick(settings: EngineSettings, draws: &mut Draws, ties: usize) -> usize {
    match settings.tie_break {
        TieBreak::First => 0,
        TieBreak::Draw if ties <= 1 => 0,
        TieBreak::Draw => draws.below(ties),
    }
}

fn take_best(rows: &[u32], totals: &[i64], settings: EngineSettings, draws: &mut Draws) -> (usize, usize) {
    let mut best = Best::default();
    for &total in totals {
        best.offer(total, 1);
    }
    let nth = pick(settings, draws, best.ties);
    let mut tied = rows.iter().zip(totals).filter(|&(_, &total)| total == best.total);
    let (&row, _) = tied.nth(nth).expect("one of the ties is taken");
    (row as usize, best.ties)
}

/// Adds all weighted scores of `rows` to `totals`, without the entry's columns.
fn prioritize_nodes(
    world: &World,
    profile: &Profile,
    entry: &Entry,
    rows: &[u32],
    totals: &mut [i64],
    scores: &mut Vec<i64>,
) {
    let class = world.class(entry.class);
    let plan = &entry.plan;
    scores.clear();
    scores.resize(rows.len(), 0);
    for planned in plan.final_scores.iter().chain(&plan.scaled_scores).chain(&plan.live_scores) {
        let plugin = profile.score(planned.plugin);
        plugin.score(world, class, rows, scores);
        plugin.normalize(world, class, rows, scores);
        for (total, score) in totals.iter_mut().zip(scores.iter()) {
            *total += planned.weight * score;
        }
    }
}

/// Counts, filter by filter, the rows each rejects first, and why; of all rows, or of some. The row
/// `outside` was looked at although PreFilter did not name it.
fn diagnose(
    world: &World,
    profile: &Profile,
    class: ClassId,
    plan: &Plan,
    (within, outside): (Option<&NodeMask>, Option<usize>),
) -> Diagnosis {
    let class = world.class(class);
    let node_count = world.nodes().node_count();
    let mut diagnosis = Diagnosis { node_count, ..Diagnosis::default() };
    let mut left = match &plan.scope {
        FilterScope::All => NodeMask::all(node_count),
        FilterScope::Rows { rows, plugins, .. } => {
            plugins.iter().for_each(|plugin| diagnosis.blame(plugin));
            let looked_at = rows.len() + usize::from(outside.is_some());
            if looked_at < node_count {
                diagnosis.count(outside_reason(plugins), node_count - looked_at);
            }
            let mut mask = NodeMask::none(node_count);
            rows.iter().map(|&row| row as usize).chain(outside).for_each(|row| mask.insert(row));
            mask
        }
        FilterScope::Rejected { plugin, reason, named_by, code } => {
            named_by.iter().chain(plugin).for_each(|plugin| diagnosis.blame(plugin));
            diagnosis.pre_filter = Some(reason.clone());
            diagnosis.resolvable_count = if *code == Code::Unschedulable { node_count } else { 0 };
            return diagnosis;
        }
    };
    if let Some(within) = within {
        left.words_mut().iter_mut().zip(within.words()).for_each(|(word, kept)| *word &= kept);
    }
    let mut reasons: Vec<Reason> = Vec::new();
    for &plugin in profile.filters() {
        if !plan.filters.contains(&plugin) && !plan.live_filters.contains(&plugin) {
            continue;
        }
        let filter = profile.filter(plugin);
        let before = left.clone();
        filter.filter(world, class, 0, left.words_mut());
        let rejected = before.count() - left.count();
        if rejected == 0 {
            continue;
        }
        diagnosis.blame(profile.name(plugin));
        if let Some((code, reason)) = filter.only_rejection() {
            diagnosis.count(reason, rejected);
            diagnosis.resolvable_count += if code == Code::Unschedulable { rejected } else { 0 };
            continue;
        }
        for row in before.rows().filter(|&row| !left.contains(row)) {
            reasons.clear();
            let code = filter.verdict(world, class, row, &mut reasons);
            diagnosis.resolvable_count += usize::from(code == Code::Unschedulable);
            for reason in reasons.drain(..) {
                diagnosis.count(reason, 1);
            }
        }
    }
    diagnosis
}
