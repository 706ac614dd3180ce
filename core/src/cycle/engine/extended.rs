//! A cycle with extenders: the plugins search, the extenders are asked about what was found, and
//! what is left is scored by both. An extender's answer takes longer than everything else here, so
//! scores are summed without the class cache.

use std::sync::Arc;

use super::{Choice, Decision, Engine, Pending, prioritize_nodes, take_best};
use crate::cycle::plan::FilterScope;
use crate::cycle::probe::{Mark, Probe};
use crate::cycle::select::TieBreak;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extend::{
    EXTENDER_NAME, Extender, Extenders, NodeWords, add_scores, find_nodes_that_pass_extenders,
};
use crate::framework::profile::Profile;
use crate::framework::status::{Code, Reason};
use crate::nominator::TryNominated;
use crate::snapshot::mask::{BitRows, NodeMask};
use crate::world::World;

impl Engine {
    /// Asks these extenders from now on, in this order.
    pub fn set_extenders(&mut self, extenders: Extenders) {
        self.extenders = extenders;
    }

    /// The extenders that are asked.
    #[must_use]
    pub fn extenders(&self) -> &[Arc<dyn Extender>] {
        &self.extenders
    }

    /// As `decide`, with extenders asked.
    #[cold]
    pub(super) fn schedule_pod_with_extenders<P: Probe>(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        probe: &mut P,
    ) -> Decision {
        if let Some(choice) = self.evaluate_nominated_node_with_extenders(at, world, profile, pending) {
            return Decision::Chosen(choice);
        }
        if pending.nominated.is_some() && self.settings.try_nominated == TryNominated::FirstOrMiss {
            return Decision::NominatedMissed;
        }
        let start = self.next_start;
        let (evaluated, missed) = match &self.entries[at].plan.scope {
            FilterScope::Rows { .. } => self.find_named_nodes_that_pass_filters(at, world, profile, pending),
            _ => {
                let evaluated = self.find_nodes_that_pass_filters(at, world, profile, pending).evaluated;
                let missed = usize::from(self.missed_elsewhere(world, pending, evaluated));
                self.next_start = (self.next_start + evaluated + missed) % world.nodes().node_count();
                self.rows.clear();
                for &(word, bits) in &self.sample {
                    let rows = BitRows::new(word as usize, bits);
                    self.rows.extend(rows.map(|row| u32::try_from(row).expect("rows fit u32")));
                }
                (evaluated, missed)
            }
        };
        if let Some(failed) = self.failed(at, world, profile, pending, (start, evaluated)) {
            return failed;
        }
        if self.rows.is_empty() {
            return Decision::Unschedulable(self.diagnose(at, world, profile, pending));
        }
        let input = Arc::clone(&world.class(pending.class).input);
        let pod = (pending.pod.unwrap_or_default(), input.as_ref());
        let found = self.rows.clone();
        let words = match find_nodes_that_pass_extenders(&self.extenders, world, pod, &mut self.rows) {
            Ok(words) => words,
            Err(error) => {
                let error = Some(error.to_string().into());
                let node_count = world.nodes().node_count();
                return Decision::Unschedulable(Arc::new(Diagnosis {
                    node_count,
                    error,
                    ..Diagnosis::default()
                }));
            }
        };
        debug_assert!(self.rows.iter().all(|row| found.contains(row)), "an extender adds no node");
        probe.mark(Mark::Filter);
        if self.rows.is_empty() {
            let seen = self.seen(at, world, start, evaluated);
            let diagnosis = self.diagnose_extended(at, world, profile, pending, (&seen, &found), &words);
            return Decision::Unschedulable(Arc::new(diagnosis));
        }
        let feasible = self.rows.len();
        let mut chosen = (self.rows[0] as usize, 1);
        if feasible > 1 {
            if self.settings.tie_break == TieBreak::First {
                self.rows.sort_unstable();
            }
            let Engine { entries, rows, totals, scratch, draws, settings, extenders, .. } = self;
            totals.clear();
            totals.resize(feasible, 0);
            prioritize_nodes(world, profile, &entries[at], rows, totals, &mut scratch.scores);
            entries[at].tally.scored += 1;
            probe.mark(Mark::PreScore);
            add_scores(extenders, world, pod, rows, totals);
            debug_assert_eq!(rows.len(), totals.len(), "each node has its total");
            chosen = take_best(rows, totals, *settings, draws);
            probe.mark(Mark::Score);
        }
        Decision::Chosen(Choice {
            row: chosen.0,
            evaluated: evaluated + missed,
            asked: evaluated + pending.nominated_count(world),
            feasible,
            ties: chosen.1,
            via_nominated: false,
        })
    }

    /// The nominated node, if plugins and extenders agree to it.
    fn evaluate_nominated_node_with_extenders(
        &mut self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
    ) -> Option<Choice> {
        let row = pending.nominated_row(world)?;
        if !self.question(at, profile, pending).fits(world, row) {
            return None;
        }
        let input = Arc::clone(&world.class(pending.class).input);
        let pod = (pending.pod.unwrap_or_default(), input.as_ref());
        let mut rows = vec![u32::try_from(row).expect("rows fit u32")];
        // An extender that fails here is asked again with the other nodes.
        find_nodes_that_pass_extenders(&self.extenders, world, pod, &mut rows).ok()?;
        (!rows.is_empty()).then(|| Choice::nominated(row))
    }

    /// The rows that a search from `start` looked at.
    pub(super) fn seen(&self, at: usize, world: &World, start: usize, evaluated: usize) -> NodeMask {
        let node_count = world.nodes().node_count();
        let mut seen = NodeMask::none(node_count);
        for turn in start..start + evaluated {
            seen.insert(match &self.entries[at].plan.scope {
                FilterScope::Rows { rows, .. } => rows[turn % rows.len()] as usize,
                _ => turn % node_count,
            });
        }
        seen
    }

    /// Why no node is left. Upstream counts only nodes that were looked at, and nodes that an
    /// extender drops without a word not at all.
    fn diagnose_extended(
        &self,
        at: usize,
        world: &mut World,
        profile: &Profile,
        pending: Pending,
        (seen, found): (&NodeMask, &[u32]),
        words: &NodeWords,
    ) -> Diagnosis {
        let node_count = world.nodes().node_count();
        let (nodes, symbols) = (world.nodes(), &world.vocabulary.symbols);
        let row_of = |name: &str| nodes.row_of(nodes.find(symbols.get(name)?)?);
        let mut by_plugins = seen.clone();
        let mut said = NodeMask::none(node_count);
        let mut out_of_reach = NodeMask::none(node_count);
        let mut within_reach = Vec::new();
        // Sorted, because the order of a hash map decides nothing here.
        let mut sorted: Vec<_> = words.iter().collect();
        sorted.sort_unstable();
        for (name, (code, _)) in &sorted {
            if let Some(row) = row_of(name) {
                by_plugins.remove(row);
                said.insert(row);
                if *code == Code::UnschedulableAndUnresolvable {
                    out_of_reach.insert(row);
                } else {
                    within_reach.push(u32::try_from(row).expect("rows fit u32"));
                }
            }
        }
        let mut diagnosis = self.diagnose_within(at, world, profile, pending, Some(&by_plugins));
        for (_, (_, why)) in sorted {
            diagnosis.count(Reason::Owned(Arc::clone(why)), 1);
        }
        diagnosis.blame(EXTENDER_NAME);
        let dropped = found.iter().map(|&row| row as usize).filter(|&row| !said.contains(row));
        let unseen = (0..node_count).filter(|&row| !seen.contains(row) && !said.contains(row));
        dropped.chain(unseen).for_each(|row| out_of_reach.insert(row));
        diagnosis.resolvable_count += within_reach.len();
        diagnosis.within_reach = within_reach;
        diagnosis.out_of_reach =
            out_of_reach.rows().map(|row| u32::try_from(row).expect("rows fit u32")).collect();
        diagnosis
    }
}
