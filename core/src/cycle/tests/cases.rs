//! The tables of cases that the plain twins were written from, asked of the fast side.

use std::sync::Arc;

use crate::cycle::engine::{Decision, Engine, EngineSettings, Pending};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::TieBreak;
use crate::framework::plugin::{PreFilter, PreScore};
use crate::framework::status::Code;
use crate::naive;
use crate::naive::cases::{Expected, PluginCase, check};
use crate::naive::preemption;
use crate::naive::schedule::NaiveProfile;
use crate::plugins::IN_TREE;
use crate::preemption::PreemptionArgs;
use crate::twin::{Twin, engine_profile, plain_preemption};

/// How the fast plugin filters.
fn filter(plugin: &'static str, case: &PluginCase) -> Expected {
    let mut twin = Twin::of(&case.cluster);
    let naive =
        NaiveProfile { filter_plugins: vec![plugin], score_plugins: Vec::new(), ..case.profile.clone() };
    let profile = engine_profile(&naive, &mut twin.world.vocabulary);
    let class = twin.compile(&Arc::new(case.pod.clone()));
    profile.plugins().iter().for_each(|plugin| plugin.prepare(&mut twin.world, class));
    let (world, fast) = (&twin.world, profile.filter(profile.filters()[0]));
    let class = world.class(class);
    match fast.pre_filter(world, class) {
        PreFilter::Skip => return Expected::Skip,
        PreFilter::Reject(..) => return Expected::RejectAll,
        PreFilter::Run | PreFilter::Nodes(_) => {}
    }
    let verdict = |node: &naive::NaiveNode| {
        let mut reasons = Vec::new();
        let row = (0..world.nodes().node_count()).find(|&row| twin.row_name(row) == node.input.name);
        let code = fast.verdict(world, class, row.expect("the node is there"), &mut reasons);
        let texts: Vec<_> = reasons.iter().map(|reason| reason.text(&world.vocabulary)).collect();
        match code {
            Code::Success => None,
            Code::Unschedulable => Some((naive::NaiveCode::Unschedulable, texts.join(", "))),
            _ => Some((naive::NaiveCode::UnschedulableAndUnresolvable, texts.join(", "))),
        }
    };
    Expected::Verdicts(case.cluster.nodes.iter().map(verdict).collect())
}

/// How the fast plugin scores.
fn scores(plugin: &'static str, case: &PluginCase) -> Expected {
    let mut twin = Twin::of(&case.cluster);
    let naive =
        NaiveProfile { filter_plugins: Vec::new(), score_plugins: vec![(plugin, 1)], ..case.profile.clone() };
    let profile = engine_profile(&naive, &mut twin.world.vocabulary);
    let class = twin.compile(&Arc::new(case.pod.clone()));
    profile.plugins().iter().for_each(|plugin| plugin.prepare(&mut twin.world, class));
    let (world, fast) = (&twin.world, profile.score(profile.scores()[0].0));
    let class = world.class(class);
    if fast.pre_score(world, class) == PreScore::Skip {
        return Expected::Skip;
    }
    let row = |node: &&naive::NaiveNode| {
        let row = (0..world.nodes().node_count()).find(|&row| twin.row_name(row) == node.input.name);
        u32::try_from(row.expect("the node is there")).expect("few rows")
    };
    let rows: Vec<u32> = case.to_score().iter().map(row).collect();
    let mut scores = vec![0; rows.len()];
    fast.score(world, class, &rows, &mut scores);
    fast.normalize(world, class, &rows, &mut scores);
    Expected::Scores(scores)
}

#[test]
fn plugins_filter_every_case() {
    for plugin in IN_TREE {
        check(plugin.name, plugin.cases.filter(), |case| filter(plugin.name, case));
    }
}

#[test]
fn plugins_score_every_case() {
    for plugin in IN_TREE {
        check(plugin.name, plugin.cases.score(), |case| scores(plugin.name, case));
    }
}

#[test]
fn preemption_answers_every_case() {
    let cases = preemption::cases::cases().into_iter().filter(|case| case.offset == 0).collect();
    preemption::cases::check(cases, |case| {
        let mut twin = Twin::of(&case.cluster);
        let naive = NaiveProfile { percentage_of_nodes_to_score: 100, ..NaiveProfile::default() };
        let profile = engine_profile(&naive, &mut twin.world.vocabulary);
        let settings = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
        let mut engine = Engine::new(settings);
        let pending = asking(&mut twin, &case.pod);
        let decision = engine.schedule_pod(&mut twin.world, &profile, pending, &mut NoProbe);
        // Some cases ask although a node fits.
        let diagnosis = match decision {
            Decision::Unschedulable(diagnosis) => diagnosis,
            Decision::Chosen(_) | Decision::NominatedMissed => Arc::default(),
        };
        let preemption::NaivePreemptionArgs { candidates_min_percent, candidates_min } = case.args;
        let args = PreemptionArgs { candidates_min_percent, candidates_min };
        let found = engine.preempt(&mut twin.world, &profile, pending, (args, &diagnosis));
        if found.ineligible.is_none() && diagnosis.node_count > 0 {
            assert_eq!(found.potential.len(), diagnosis.resolvable_count);
        }
        let mut plain = plain_preemption(&twin, &profile, pending, &found);
        if plain.best.is_empty() && plain.ineligible.is_none() {
            // Whoever asked gives up the pod's own nomination then, not the engine.
            plain.nominations_cleared = case.cleared.iter().map(|&name| name.to_owned()).collect();
        }
        plain
    });
}

/// The case's pod, which may be among the nominated ones.
fn asking(twin: &mut Twin, pod: &naive::NaivePod) -> Pending {
    if let Some(at) = twin.cluster.nominated.iter().position(|other| other.is_same(pod)) {
        return twin.nominated(at);
    }
    let class = twin.compile(&Arc::new(pod.input.clone()));
    let nominated = pod.meta.nominated_node_name.as_ref().map(|name| twin.world.node_id(name));
    Pending { class, pod: None, nominated }
}
