//! The verdict on one row: whether it fits, or who rejects it first.

use crate::cycle::engine::{Pending, suppose_nominated};
use crate::cycle::entry::run_filters;
use crate::cycle::plan::Plan;
use crate::framework::profile::{PluginIndex, Profile};
use crate::framework::status::{Code, Reason};
use crate::ids::ClassId;
use crate::snapshot::mask::WORD_BITS;
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

/// Whether one row passes all filters of a plan, as the world is.
pub(crate) fn row_fits(world: &World, profile: &Profile, plan: &Plan, class: ClassId, row: usize) -> bool {
    let mut words = [1u64 << (row % WORD_BITS)];
    let class = world.class(class);
    run_filters(world, profile, class, &plan.filters, row / WORD_BITS, &mut words);
    if words[0] != 0 {
        run_filters(world, profile, class, &plan.live_filters, row / WORD_BITS, &mut words);
    }
    words[0] != 0
}

/// The filters of a plan that reject a row, as the world is, in order.
pub(crate) fn rejections<'a>(
    world: &'a World,
    profile: &'a Profile,
    plan: &'a Plan,
    class: ClassId,
    row: usize,
) -> impl Iterator<Item = FirstRejection> + 'a {
    let runs = |plugin: &&PluginIndex| !plan.skipped_filters.contains(plugin);
    profile.filters().iter().filter(runs).filter_map(move |&plugin| {
        let mut reasons = Vec::new();
        let code = profile.filter(plugin).verdict(world, world.class(class), row, &mut reasons);
        code.is_rejection().then_some(FirstRejection { plugin, code, reasons })
    })
}

/// Who rejects a row first: with the pods nominated to it, and if that passes without them.
/// Upstream: framework/runtime/framework.go `RunFilterPluginsWithNominatedPods`.
pub(crate) fn first_rejection(
    world: &mut World,
    profile: &Profile,
    plan: &Plan,
    row: usize,
    pending: Pending,
) -> Option<FirstRejection> {
    let mark = suppose_nominated(world, row, pending);
    if world.supposed() > mark {
        let first = rejections(world, profile, plan, pending.class, row).next();
        world.undo_to(mark);
        if first.is_some() {
            return first;
        }
    }
    rejections(world, profile, plan, pending.class, row).next()
}
