//! Profiles told to both sides.

use std::sync::Arc;

use crate::fake::{self, Rng};
use crate::framework::plugin::{Plugin, SignPod};
use crate::framework::points::EnqueueExtensions;
use crate::framework::points::placement::{PlacementGeneratePlugin, PlacementScorePlugin};
use crate::framework::profile::Profile;
use crate::ids::ClassId;
use crate::interner::Vocabulary;
use crate::naive::schedule::NaiveProfile;
use crate::nominator::TryNominated;
use crate::plugins::{
    IN_TREE, descriptor, gang_scheduling, node_resources_fit, pod_group_pods_count,
    topology_placement_generator,
};
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

/// A plugin with nothing but its part in the placements of pod groups.
#[derive(Debug)]
struct PlacementOnly(Arc<dyn Plugin>);

impl Plugin for PlacementOnly {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn as_placement_generate(&self) -> Option<&dyn PlacementGeneratePlugin> {
        self.0.as_placement_generate()
    }
    fn as_placement_score(&self) -> Option<&dyn PlacementScorePlugin> {
        self.0.as_placement_score()
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        self.0.as_enqueue_extensions()
    }
}

/// As [`engine_profile`], with the plugins of pod groups.
pub(crate) fn engine_profile_with_groups(naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Profile {
    let names = [
        gang_scheduling::NAME,
        topology_placement_generator::NAME,
        pod_group_pods_count::NAME,
        node_resources_fit::NAME,
    ];
    let placement_only = |name: &&str| {
        let plugin: Arc<dyn Plugin> = Arc::new(PlacementOnly(engine_plugin(name, naive, vocabulary)));
        (plugin, 0)
    };
    let more: Vec<_> = names.iter().map(placement_only).collect();
    profile_of(naive, more, vocabulary)
}

/// The engine's profile that says the same.
pub(crate) fn engine_profile(naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Profile {
    profile_of(naive, Vec::new(), vocabulary)
}

fn profile_of(
    naive: &NaiveProfile,
    mut plugins: Vec<(Arc<dyn Plugin>, i64)>,
    vocabulary: &mut Vocabulary,
) -> Profile {
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
