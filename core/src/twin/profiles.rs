//! Profiles told to both sides.

use std::sync::Arc;

use crate::fake::{self, Rng};
use crate::framework::plugin::{Plugin, SignPod};
use crate::framework::points::EnqueueExtensions;
use crate::framework::profile::Profile;
use crate::ids::ClassId;
use crate::interner::Vocabulary;
use crate::naive::schedule::NaiveProfile;
use crate::nominator::TryNominated;
use crate::plugins::{IN_TREE, descriptor};
use crate::world::World;

/// A naive profile with the plugins in any order, some missing, and with any weight.
pub(crate) fn naive_profile(rng: &mut Rng) -> NaiveProfile {
    let mut profile = fake::profile(rng);
    for plugin in IN_TREE.iter().filter(|plugin| plugin.default_weight.is_none()) {
        if rng.chance(50) {
            profile.filter_plugins.extend(plugin.twin.filter.map(|_| plugin.name));
            profile.score_plugins.extend(plugin.twin.score.map(|_| (plugin.name, 1)));
        }
    }
    if rng.chance(50) {
        profile.percentage_of_nodes_to_score = i32::try_from(rng.range(0..=100)).expect("a percentage");
    }
    if rng.chance(30) {
        shuffle(rng, &mut profile.filter_plugins);
        shuffle(rng, &mut profile.score_plugins);
    }
    if rng.chance(30) {
        for (_, weight) in &mut profile.score_plugins {
            *weight = *rng.pick(&[1, 2, 7, 100]);
        }
    }
    if rng.chance(20) {
        let dropped = rng.range(1..=10);
        for _ in 0..dropped {
            let name = rng.pick(IN_TREE).name;
            profile.filter_plugins.retain(|plugin| *plugin != name);
            profile.score_plugins.retain(|(plugin, _)| *plugin != name);
        }
    }
    if rng.chance(5) {
        profile.score_plugins.clear();
    }
    if rng.chance(25) {
        profile.try_nominated = *rng.pick(&[TryNominated::Never, TryNominated::FirstOrMiss]);
    }
    profile
}

pub(crate) fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for end in (1..items.len()).rev() {
        let other = rng.range(0..=end);
        items.swap(end, other);
    }
}

/// A plugin with only one side: Filter or Score. So that the orders of both need not agree.
#[derive(Debug)]
struct FilterOnly(Arc<dyn Plugin>);
#[derive(Debug)]
struct ScoreOnly(Arc<dyn Plugin>);

impl Plugin for FilterOnly {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn plan_version(&self, world: &World, class: &crate::class::PodClass) -> Option<u64> {
        self.0.plan_version(world, class)
    }
    fn prepare(&self, world: &mut World, class: ClassId) {
        self.0.prepare(world, class);
    }
    fn sign_pod(&self, class: &crate::class::PodClass) -> SignPod {
        self.0.sign_pod(class)
    }
    fn as_filter(&self) -> Option<&dyn crate::framework::plugin::FilterPlugin> {
        self.0.as_filter()
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        self.0.as_enqueue_extensions()
    }
}

impl Plugin for ScoreOnly {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn plan_version(&self, world: &World, class: &crate::class::PodClass) -> Option<u64> {
        self.0.plan_version(world, class)
    }
    fn prepare(&self, world: &mut World, class: ClassId) {
        self.0.prepare(world, class);
    }
    fn sign_pod(&self, class: &crate::class::PodClass) -> SignPod {
        self.0.sign_pod(class)
    }
    fn as_score(&self) -> Option<&dyn crate::framework::plugin::ScorePlugin> {
        self.0.as_score()
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        self.0.as_enqueue_extensions()
    }
}

/// The engine's profile that says the same.
pub(crate) fn engine_profile(naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Profile {
    let mut plugins: Vec<(Arc<dyn Plugin>, i64)> = Vec::new();
    for name in &naive.filter_plugins {
        plugins.push((Arc::new(FilterOnly(engine_plugin(name, naive, vocabulary))), 0));
    }
    for (name, weight) in &naive.score_plugins {
        plugins.push((Arc::new(ScoreOnly(engine_plugin(name, naive, vocabulary))), *weight));
    }
    let mut profile = Profile::new("default-scheduler", plugins);
    profile.percentage_of_nodes_to_score = naive.percentage_of_nodes_to_score;
    profile
}

fn engine_plugin(name: &str, naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Arc<dyn Plugin> {
    let descriptor = descriptor(name).expect("a plugin in the tree");
    (descriptor.factory)(naive.args(name), vocabulary).expect("arguments that can be used")
}
