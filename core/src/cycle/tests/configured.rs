//! Profiles built by the registry from lists and arguments decide as the naive profile they were
//! written down from: orders per point, weights and arguments arrive where they belong.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cycle::engine::{Engine, EngineSettings};
use crate::cycle::select::{Draws, TieBreak};
use crate::fake::{self, for_each_seed};
use crate::framework::args::{
    Defaulting, InterPodAffinityArgs, NodeAffinityArgs, NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs, PluginArgs, PodTopologySpreadArgs,
};
use crate::framework::build::{ProfileConfig, build_profile};
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin_lists::{EnabledPlugin, PluginLists, PluginSet};
use crate::framework::registry::Registry;
use crate::naive::schedule::Profile as NaiveProfile;
use crate::plugins::node_resources_fit::naive::Strategy as NaiveStrategy;
use crate::plugins::node_resources_fit::{ScoringStrategy, Strategy};
use crate::plugins::pod_topology_spread::naive::Defaulting as NaiveDefaulting;
use crate::twin::{Twin, check_decision, naive_profile};

/// The naive profile as a user would write it down: `*` disabled at every point, the rest listed.
fn written_down(naive: &NaiveProfile, registry: &Registry) -> ProfileConfig {
    let only = |enabled: Vec<EnabledPlugin>| PluginSet { enabled, disabled: vec!["*".to_owned()] };
    let filters = || only(naive.filter_plugins.iter().map(|name| EnabledPlugin::new(name, 0)).collect());
    let weigh = |&(name, weight): &(&str, i64)| {
        EnabledPlugin::new(name, i32::try_from(weight).expect("a small weight"))
    };
    let scores = || only(naive.score_plugins.iter().map(weigh).collect());
    let mut user = PluginLists::default();
    *user.at_mut(ExtensionPoint::PreFilter) = filters();
    *user.at_mut(ExtensionPoint::Filter) = filters();
    *user.at_mut(ExtensionPoint::PreScore) = scores();
    *user.at_mut(ExtensionPoint::Score) = scores();
    ProfileConfig {
        scheduler_name: "default-scheduler".to_owned(),
        percentage_of_nodes_to_score: naive.percentage_of_nodes_to_score,
        plugins: registry.default_plugins().overlaid_with(&user),
        args: arguments(naive),
    }
}

fn arguments(naive: &NaiveProfile) -> BTreeMap<String, PluginArgs> {
    let strategy = match &naive.fit.strategy {
        NaiveStrategy::LeastAllocated => Strategy::LeastAllocated,
        NaiveStrategy::MostAllocated => Strategy::MostAllocated,
        NaiveStrategy::RequestedToCapacityRatio(shape) => Strategy::RequestedToCapacityRatio(
            shape.iter().map(|point| (point.utilization, point.score * 10)).collect(),
        ),
    };
    let resources = naive.fit.resources.iter().map(|spec| (spec.name.clone(), spec.weight)).collect();
    let fit = NodeResourcesFitArgs {
        ignored_resources: naive.fit.ignored_resources.iter().cloned().collect(),
        ignored_resource_groups: naive.fit.ignored_resource_groups.iter().cloned().collect(),
        scoring_strategy: ScoringStrategy { strategy, resources },
    };
    let balanced = NodeResourcesBalancedAllocationArgs {
        resources: naive.balanced_resources.iter().map(|spec| spec.name.clone()).collect(),
    };
    let (defaulting, default_constraints) = match &naive.spread_defaulting {
        NaiveDefaulting::System => (Defaulting::System, Vec::new()),
        NaiveDefaulting::List(list) => (Defaulting::List, list.clone()),
    };
    let spread = PodTopologySpreadArgs { default_constraints, defaulting };
    let inter_pod = InterPodAffinityArgs {
        hard_pod_affinity_weight: naive.inter_pod.hard_pod_affinity_weight,
        ignore_preferred_terms_of_existing_pods: naive.inter_pod.ignore_preferred_terms_of_existing_pods,
    };
    let affinity = NodeAffinityArgs { added_affinity: naive.added_affinity.clone() };
    BTreeMap::from([
        ("NodeResourcesFit".to_owned(), PluginArgs::NodeResourcesFit(fit)),
        ("NodeResourcesBalancedAllocation".to_owned(), PluginArgs::NodeResourcesBalancedAllocation(balanced)),
        ("NodeAffinity".to_owned(), PluginArgs::NodeAffinity(affinity)),
        ("PodTopologySpread".to_owned(), PluginArgs::PodTopologySpread(spread)),
        ("InterPodAffinity".to_owned(), PluginArgs::InterPodAffinity(inter_pod)),
    ])
}

#[test]
fn configured_profiles_decide_as_naive_ones() {
    let registry = Registry::new_in_tree();
    for_each_seed("configured_profiles_decide_as_naive_ones", 1000, |rng| {
        let count = rng.range(0..=20);
        let mut twin = Twin::random(rng, count);
        // No argument of a configuration file asks for volumes to be counted.
        let naive = NaiveProfile { balanced_volumes: false, ..naive_profile(rng) };
        let config = written_down(&naive, &registry);
        let profile =
            build_profile(&registry, &config, &mut twin.world.vocabulary).expect("the lists are sound");
        let settings =
            EngineSettings { tie_break: TieBreak::First, seed: rng.next_u64(), ..EngineSettings::default() };
        let (mut engine, mut draws) = (Engine::new(settings), Draws::new(settings.seed));
        for _ in 0..3 {
            let class = twin.compile(&Arc::new(fake::pod(rng)));
            let draws = (settings.tie_break, &mut draws);
            if let Some(node) = check_decision(&mut twin, (&profile, &naive), &mut engine, class, draws) {
                let pod = Arc::clone(&twin.world.class(class).input);
                twin.place(&pod, &node);
            }
        }
    });
}
