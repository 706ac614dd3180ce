//! Profiles built by the registry from lists and arguments decide as the naive profile they were
//! written down from: orders per point, weights and arguments arrive where they belong.

use std::sync::Arc;

use crate::cycle::engine::{Engine, EngineSettings};
use crate::cycle::select::{Draws, TieBreak};
use crate::fake::{self, for_each_seed};
use crate::framework::build::{ProfileConfig, build_profile};
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin_lists::{EnabledPlugin, PluginLists, PluginSet};
use crate::framework::registry::Registry;
use crate::naive::schedule::NaiveProfile;
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
        args: naive.args.iter().map(|(name, args)| ((*name).to_owned(), args.clone())).collect(),
    }
}

#[test]
fn decisions_of_configured_profiles_equal_naive() {
    let registry = Registry::new_in_tree();
    for_each_seed("decisions_of_configured_profiles_equal_naive", 1000, |rng| {
        let count = rng.range(0..=20);
        let mut twin = Twin::random(rng, count);
        let naive = naive_profile(rng);
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
