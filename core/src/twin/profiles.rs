//! Profiles told to both sides.

use std::sync::Arc;

use crate::fake::{self, Rng};
use crate::framework::plugin::Plugin;
use crate::framework::points::EnqueueExtensions;
use crate::framework::profile::Profile;
use crate::ids::ClassId;
use crate::interner::Vocabulary;
use crate::naive::schedule::Profile as NaiveProfile;
use crate::nominations::TryNominated;
use crate::plugins::image_locality::ImageLocality;
use crate::plugins::inter_pod_affinity::InterPodAffinity;
use crate::plugins::node_affinity::NodeAffinity;
use crate::plugins::node_declared_features::NodeDeclaredFeatures;
use crate::plugins::node_name::NodeName;
use crate::plugins::node_ports::NodePorts;
use crate::plugins::node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
use crate::plugins::node_resources_fit::naive::Strategy as NaiveStrategy;
use crate::plugins::node_resources_fit::{NodeResourcesFit, ScoringStrategy, Strategy};
use crate::plugins::node_unschedulable::NodeUnschedulable;
use crate::plugins::node_volume_limits::NodeVolumeLimits;
use crate::plugins::pod_topology_spread::naive::Defaulting;
use crate::plugins::pod_topology_spread::{DefaultConstraints, PodTopologySpread};
use crate::plugins::taint_toleration::TaintToleration;
use crate::plugins::volume_binding::VolumeBinding;
use crate::plugins::volume_restrictions::VolumeRestrictions;
use crate::plugins::volume_zone::VolumeZone;
use crate::world::World;

/// A naive profile with the plugins in any order, some missing, and with any weight.
pub(crate) fn naive_profile(rng: &mut Rng) -> NaiveProfile {
    let mut profile = fake::profile(rng);
    profile.filter_plugins.retain(|plugin| ALL_PLUGINS.contains(plugin));
    profile.score_plugins.retain(|(plugin, _)| ALL_PLUGINS.contains(plugin));
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
        let dropped = rng.range(1..=8);
        for _ in 0..dropped {
            let name = *rng.pick(&ALL_PLUGINS);
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

const ALL_PLUGINS: [&str; 15] = [
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
];

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
    for name in naive.filter_plugins.iter().filter(|name| ALL_PLUGINS.contains(name)) {
        plugins.push((Arc::new(FilterOnly(engine_plugin(name, naive, vocabulary))), 0));
    }
    for (name, weight) in naive.score_plugins.iter().filter(|(name, _)| ALL_PLUGINS.contains(name)) {
        plugins.push((Arc::new(ScoreOnly(engine_plugin(name, naive, vocabulary))), *weight));
    }
    let mut profile = Profile::new("default-scheduler", plugins);
    profile.percentage_of_nodes_to_score = naive.percentage_of_nodes_to_score;
    profile
}

fn engine_plugin(name: &str, naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Arc<dyn Plugin> {
    match name {
        "NodeName" => Arc::new(NodeName),
        "NodeUnschedulable" => Arc::new(NodeUnschedulable::new(vocabulary)),
        "TaintToleration" => Arc::new(TaintToleration),
        "NodeAffinity" => Arc::new(match &naive.added_affinity {
            Some(added) => NodeAffinity::with_added(added, vocabulary),
            None => NodeAffinity::default(),
        }),
        "NodePorts" => Arc::new(NodePorts),
        "NodeResourcesFit" => Arc::new(fit(naive, vocabulary)),
        "NodeResourcesBalancedAllocation" => {
            let names: Vec<&str> = naive.balanced_resources.iter().map(|spec| spec.name.as_str()).collect();
            let plugin = NodeResourcesBalancedAllocation::over(&names, vocabulary);
            Arc::new(if naive.balanced_volumes { plugin.counting_volumes() } else { plugin })
        }
        "ImageLocality" => Arc::new(ImageLocality),
        "VolumeRestrictions" => Arc::new(VolumeRestrictions),
        "NodeVolumeLimits" => Arc::new(NodeVolumeLimits),
        "VolumeBinding" => Arc::new(VolumeBinding::default()),
        "VolumeZone" => Arc::new(VolumeZone::new(vocabulary)),
        "PodTopologySpread" => {
            let defaults = match &naive.spread_defaulting {
                Defaulting::System => DefaultConstraints::System,
                Defaulting::List(list) => DefaultConstraints::List(list.clone()),
            };
            Arc::new(PodTopologySpread::new(defaults, vocabulary))
        }
        "InterPodAffinity" => Arc::new(InterPodAffinity {
            hard_pod_affinity_weight: naive.inter_pod.hard_pod_affinity_weight,
            ignore_preferred_of_existing: naive.inter_pod.ignore_preferred_terms_of_existing_pods,
        }),
        "NodeDeclaredFeatures" => Arc::new(NodeDeclaredFeatures),
        other => panic!("{other} is not a plugin"),
    }
}

fn fit(naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> NodeResourcesFit {
    let strategy = match &naive.fit.strategy {
        NaiveStrategy::LeastAllocated => Strategy::LeastAllocated,
        NaiveStrategy::MostAllocated => Strategy::MostAllocated,
        NaiveStrategy::RequestedToCapacityRatio(shape) => Strategy::RequestedToCapacityRatio(
            // The API's scores go to 10, the engine's to 100.
            shape.iter().map(|point| (point.utilization, point.score * 10)).collect(),
        ),
    };
    let resources = naive.fit.resources.iter().map(|spec| (spec.name.clone(), spec.weight)).collect();
    let names: Vec<&str> = naive.fit.ignored_resources.iter().map(String::as_str).collect();
    let groups: Vec<&str> = naive.fit.ignored_resource_groups.iter().map(String::as_str).collect();
    NodeResourcesFit::new(ScoringStrategy { strategy, resources }, vocabulary)
        .ignoring(&names, vocabulary)
        .ignoring_groups(&groups)
}
