//! A pod's question about one row: does it fit, and if not, who rejects it.
//!
//! Pods nominated to a row hold room there: every question is put with them supposed on the row,
//! and if that passes without them.
//! Upstream: framework/runtime/framework.go `RunFilterPluginsWithNominatedPods`.

use crate::cycle::engine::Pending;
use crate::cycle::entry::run_filters;
use crate::cycle::plan::Plan;
use crate::framework::detail::Detail;
use crate::framework::profile::{PluginIndex, Profile};
use crate::framework::status::{Code, Reason};
use crate::snapshot::mask::{NodeMask, WORD_BITS};
use crate::world::World;

/// The first plugin that rejects a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRejection {
    /// The plugin.
    pub plugin: PluginIndex,
    /// Its code.
    pub code: Code,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// A rejection with the facts behind it.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub(crate) rejection: FirstRejection,
    pub(crate) details: Vec<Detail>,
}

/// The rows on which nominated pods hold room against a pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reserved {
    rows: NodeMask,
    is_any: bool,
}

impl Reserved {
    /// Looks for them.
    pub(crate) fn find(&mut self, world: &World, pending: Pending) {
        self.is_any = false;
        if world.nominator().is_empty() {
            return;
        }
        let priority = world.class(pending.class).priority;
        self.rows.reset(world.nodes().node_count());
        for (node, nominations) in world.nominator().nodes() {
            if let Some(row) = world.nodes().row_of(node)
                && nominations.iter().any(|it| it.holds_against(priority, pending.pod))
            {
                self.rows.insert(row);
                self.is_any = true;
            }
        }
    }

    /// The rows, unless there are none.
    #[inline]
    pub(crate) fn rows(&self) -> Option<&NodeMask> {
        self.is_any.then_some(&self.rows)
    }
}

/// Who asks, with what plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) plan: &'a Plan,
    pub(crate) pending: Pending,
    /// See [`Reserved::rows`].
    pub(crate) reserved: Option<&'a NodeMask>,
}

impl<'a> Question<'a> {
    /// Whether a row passes all filters.
    pub(crate) fn fits(self, world: &mut World, row: usize) -> bool {
        let all = [&self.plan.filters, &self.plan.live_filters];
        self.passes(world, row, &all.map(Vec::as_slice))
    }

    /// Whether a row passes these filters.
    pub(crate) fn passes(self, world: &mut World, row: usize, filters: &[&[PluginIndex]]) -> bool {
        let passes = |world: &World| {
            let mut words = [1u64 << (row % WORD_BITS)];
            let class = world.class(self.pending.class);
            for filters in filters {
                run_filters(world, self.profile, class, filters, row / WORD_BITS, &mut words);
            }
            words[0] != 0
        };
        self.with_nominated(world, row, passes) != Some(false) && passes(world)
    }

    /// Who rejects a row first.
    pub(crate) fn first_rejection(self, world: &mut World, row: usize) -> Option<FirstRejection> {
        let first = self.with_nominated(world, row, |world| self.rejections(world, row).next());
        first.flatten().or_else(|| self.rejections(world, row).next())
    }

    /// Who rejects a row first, then who does with all filters up to that one left out, and so on.
    /// Without the nominated pods nobody is asked who stands before one that rejects with them.
    pub(crate) fn all_rejections(self, world: &mut World, row: usize) -> Vec<Explained> {
        let with = self.with_nominated(world, row, |world| self.explained(world, row).collect());
        let mut found: Vec<Explained> = with.unwrap_or_default();
        let filters = self.profile.filters();
        let place = |plugin: PluginIndex| filters.iter().position(|&filter| filter == plugin);
        let last = found.last().and_then(|last| place(last.rejection.plugin));
        found.extend(self.explained(world, row).filter(|it| place(it.rejection.plugin) > last));
        found
    }

    /// [`Self::rejections`], with the facts of the moment: pods that are supposed count.
    fn explained(self, world: &'a World, row: usize) -> impl Iterator<Item = Explained> + 'a {
        let class = world.class(self.pending.class);
        self.rejections(world, row).map(move |rejection| {
            let mut details = Vec::new();
            self.profile.filter(rejection.plugin).details(world, class, row, &mut details);
            Explained { rejection, details }
        })
    }

    /// The filters that reject a row, as the world is, in order.
    fn rejections(self, world: &'a World, row: usize) -> impl Iterator<Item = FirstRejection> + 'a {
        let Question { profile, plan, pending, .. } = self;
        let runs = |plugin: &&PluginIndex| !plan.skipped_filters.contains(plugin);
        profile.filters().iter().filter(runs).filter_map(move |&plugin| {
            let mut reasons = Vec::new();
            let code = profile.filter(plugin).verdict(world, world.class(pending.class), row, &mut reasons);
            code.is_rejection().then_some(FirstRejection { plugin, code, reasons })
        })
    }

    /// The answer with the pods supposed that hold room on the row; `None` when none does.
    fn with_nominated<R>(self, world: &mut World, row: usize, ask: impl FnOnce(&World) -> R) -> Option<R> {
        if !self.reserved.is_some_and(|rows| rows.contains(row)) {
            return None;
        }
        let priority = world.class(self.pending.class).priority;
        let node = world.nodes().columns().id[row];
        let mark = world.supposed();
        for at in 0..world.nominator().nominated_pods_for_node(node).len() {
            let nomination = world.nominator().nominated_pods_for_node(node)[at];
            if nomination.holds_against(priority, self.pending.pod) {
                world.suppose(row, nomination.class, 1);
            }
        }
        let answer = ask(world);
        world.undo_to(mark);
        Some(answer)
    }
}
