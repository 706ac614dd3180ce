//! How often plugins take part in cycles, by extension point.
//!
//! A cycle adds to three counts of its class; which plugins that means is worked out from the plan when
//! somebody asks, or when the plan changes.
//!
//! Upstream: metric `plugin_evaluation_total`.
//! Differs: upstream counts a Filter or Score plugin once for every node it is asked about. Here most
//! verdicts are known beforehand and nodes are asked about by the batch; what is counted is the attempt,
//! as the metric's help has it (`plugin_evaluations_are_counted_once_an_attempt`).

use std::collections::BTreeMap;

use crate::cycle::plan::{FilterScope, Plan};
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::profile::{PluginIndex, Profile};
use crate::framework::status::Code;

/// Counts by profile, plugin and extension point.
pub type Evaluations = BTreeMap<(String, &'static str, ExtensionPoint), u64>;

/// The counts of one class, and of those whose place it took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Cycles that asked PreFilter.
    pub(crate) pre_filtered: u64,
    /// Cycles that came to Filter.
    pub(crate) filtered: u64,
    /// Cycles that came to Score: more than one node was feasible.
    pub(crate) scored: u64,
    profile: String,
    plugins: Vec<(&'static str, ExtensionPoint)>,
    /// Of a plan that is looked at; kept for its memory.
    next: Vec<(&'static str, ExtensionPoint)>,
    /// Under earlier plans.
    settled: Evaluations,
}

impl Tally {
    /// The plugins of another plan are counted from now on. Most plans, of other classes too, have the
    /// plugins of the one before: then there is nothing to settle.
    pub(crate) fn follow(&mut self, plan: &Plan, profile: &Profile) {
        let mut next = std::mem::take(&mut self.next);
        plugins_of(plan, profile, &mut next);
        if next == self.plugins && self.profile == profile.scheduler_name {
            self.next = next;
            return;
        }
        let mut settled = std::mem::take(&mut self.settled);
        self.add_to(&mut settled);
        let next = std::mem::replace(&mut self.plugins, next);
        *self = Tally { settled, plugins: std::mem::take(&mut self.plugins), next, ..Tally::default() };
        self.profile.clone_from(&profile.scheduler_name);
    }

    /// Adds all that was counted.
    pub(crate) fn add_to(&self, all: &mut Evaluations) {
        for (key, count) in &self.settled {
            *all.entry(key.clone()).or_default() += count;
        }
        for &(plugin, point) in &self.plugins {
            let count = match point {
                ExtensionPoint::PreFilter => self.pre_filtered,
                ExtensionPoint::Filter => self.filtered,
                _ => self.scored,
            };
            if count > 0 {
                *all.entry((self.profile.clone(), plugin, point)).or_default() += count;
            }
        }
    }
}

/// The plugins that take part in a cycle that goes all the way.
fn plugins_of(plan: &Plan, profile: &Profile, plugins: &mut Vec<(&'static str, ExtensionPoint)>) {
    let named = |point| move |plugin: PluginIndex| (profile.name(plugin), point);
    let asked = profile.pre_filters().iter().copied().filter(|at| !plan.skipped_filters.contains(at));
    plugins.clear();
    plugins.extend(asked.map(named(ExtensionPoint::PreFilter)));
    if let FilterScope::Rejected { plugin: Some(rejector), code: Code::UnschedulableAndUnresolvable, .. } =
        &plan.scope
        && let Some(last) = plugins.iter().position(|(name, _)| name == rejector)
    {
        // Those after it are not asked.
        plugins.truncate(last + 1);
    }
    let filters = plan.filters.iter().chain(&plan.live_filters).copied();
    plugins.extend(filters.map(named(ExtensionPoint::Filter)));
    let scores = plan.final_scores.iter().chain(&plan.scaled_scores).chain(&plan.live_scores);
    for planned in scores {
        if profile.asks_pre_score(planned.plugin) {
            plugins.push(named(ExtensionPoint::PreScore)(planned.plugin));
        }
        plugins.push(named(ExtensionPoint::Score)(planned.plugin));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cycle::engine::{Engine, EngineSettings};
    use crate::cycle::probe::NoProbe;
    use crate::framework::registry::default_profile;
    use crate::input::PodInput;
    use crate::testkit::node;
    use crate::world::World;

    #[test]
    fn plugin_evaluations_are_counted_once_an_attempt() {
        let mut world = World::default();
        let profile = default_profile(&mut world.vocabulary);
        let mut engine = Engine::new(EngineSettings::default());
        let class = world.compile(&Arc::new(PodInput::default()));
        let decide = |world: &mut World, engine: &mut Engine| {
            world.settle();
            engine.schedule_pod(world, &profile, class, &mut NoProbe)
        };
        world.upsert_node(&node("n1"));
        (0..3).for_each(|_| drop(decide(&mut world, &mut engine)));
        // Another node is another plan: what was counted before stays.
        world.upsert_node(&node("n2"));
        (0..2).for_each(|_| drop(decide(&mut world, &mut engine)));
        let counted = engine.evaluations();
        let of = |plugin, point| {
            counted.get(&("default-scheduler".to_owned(), plugin, point)).copied().unwrap_or(0)
        };
        assert_eq!(of("NodeResourcesFit", ExtensionPoint::Filter), 5);
        assert_eq!(of("NodeResourcesFit", ExtensionPoint::PreFilter), 5);
        assert_eq!(of("NodeResourcesFit", ExtensionPoint::Score), 2, "one feasible node is not scored");
        assert_eq!(of("NodePorts", ExtensionPoint::Filter), 0, "its PreFilter skips the pod");
        engine.forget_classes();
        assert_eq!(engine.evaluations(), counted, "also when the class is forgotten");
    }
}
