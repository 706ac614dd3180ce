//! Answers are asserted before anything is timed: the engine under test decides like the engine
//! without cache and threads, Filter like the verdict on each node, Score like one row at a time.

use schedlab_core::cycle::engine::{ClassCache, Decision, Engine, EngineSettings};
use schedlab_core::cycle::parallelize::Ways;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::framework::plugin::{FilterPlugin, ScorePlugin};
use schedlab_core::framework::profile::Profile;
use schedlab_core::framework::status::Code;
use schedlab_core::snapshot::mask::NodeMask;

use crate::SEED;
use crate::cluster::WarmCluster;
use crate::pods::PodKind;

/// Settings of the engine that others are held against.
#[must_use]
pub fn reference_settings() -> EngineSettings {
    EngineSettings {
        class_cache: ClassCache::Off,
        ways: Ways::Inline,
        seed: SEED,
        ..EngineSettings::default()
    }
}

/// The row of a decision that must have found one.
///
/// # Panics
///
/// When no node was found: the warm cluster has room for every kind of pod.
#[must_use]
pub fn chosen_row(decision: &Decision) -> usize {
    match decision {
        Decision::Chosen(choice) => choice.row,
        Decision::Unschedulable(diagnosis) => panic!("no node was found: {diagnosis:?}"),
        Decision::NominatedMissed => panic!("the pods of benches are not nominated"),
    }
}

/// Places some pods with an engine of these settings and with the reference, side by side.
///
/// # Panics
///
/// When they differ.
pub fn assert_decides_like_reference(cluster: &WarmCluster, kind: PodKind, settings: EngineSettings) {
    const PLACEMENTS: usize = 24;
    let mut cluster = cluster.clone();
    let class = cluster.class(kind);
    let (mut tested, mut reference) = (Engine::new(settings), Engine::new(reference_settings()));
    for turn in 0..PLACEMENTS {
        let decision = tested.schedule_pod(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
        let expected = reference.schedule_pod(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
        assert_eq!(decision, expected, "{} pod {turn}", kind.name());
        cluster.place(cluster.spare(kind)[turn], chosen_row(&decision));
    }
}

/// The filter of a plugin.
///
/// # Panics
///
/// When the profile has no such filter.
#[must_use]
pub fn filter_of<'a>(profile: &'a Profile, name: &str) -> &'a dyn FilterPlugin {
    let plugin = profile.plugins().iter().find(|plugin| plugin.name() == name);
    plugin.and_then(|plugin| plugin.as_filter()).expect("a filter of the default profile")
}

/// The score of a plugin.
///
/// # Panics
///
/// When the profile has no such score.
#[must_use]
pub fn score_of<'a>(profile: &'a Profile, name: &str) -> &'a dyn ScorePlugin {
    let plugin = profile.plugins().iter().find(|plugin| plugin.name() == name);
    plugin.and_then(|plugin| plugin.as_score()).expect("a score of the default profile")
}

/// The rows a filter keeps, asserted against its verdicts.
///
/// # Panics
///
/// When they differ.
#[must_use]
pub fn checked_filter(cluster: &WarmCluster, plugin: &str, kind: PodKind) -> NodeMask {
    let world = &cluster.world;
    let (filter, class) = (filter_of(&cluster.profile, plugin), world.class(cluster.class(kind)));
    let node_count = world.nodes().node_count();
    let mut mask = NodeMask::all(node_count);
    filter.filter(world, class, 0, mask.words_mut());
    let mut reasons = Vec::new();
    for row in 0..node_count {
        let fits = filter.verdict(world, class, row, &mut reasons) == Code::Success;
        assert_eq!(mask.contains(row), fits, "{plugin} on row {row}");
    }
    mask
}

/// A score column, asserted against single rows.
///
/// # Panics
///
/// When they differ.
#[must_use]
pub fn checked_scores(cluster: &WarmCluster, plugin: &str, kind: PodKind, rows: &[u32]) -> Vec<i64> {
    let world = &cluster.world;
    let (score, class) = (score_of(&cluster.profile, plugin), world.class(cluster.class(kind)));
    let mut scores = vec![0; rows.len()];
    score.score(world, class, rows, &mut scores);
    for (&row, &expected) in rows.iter().zip(&scores) {
        let mut single = [0];
        score.score(world, class, &[row], &mut single);
        assert_eq!(single[0], expected, "{plugin} on row {row}");
    }
    scores
}

/// The rows that the resource filter leaves to be scored.
#[must_use]
pub fn feasible_rows(cluster: &WarmCluster) -> Vec<u32> {
    let mut mask = checked_filter(cluster, "NodeResourcesFit", PodKind::Plain);
    let class = cluster.world.class(cluster.class(PodKind::Plain));
    for plugin in ["NodeUnschedulable", "TaintToleration"] {
        filter_of(&cluster.profile, plugin).filter(&cluster.world, class, 0, mask.words_mut());
    }
    mask.rows().map(|row| u32::try_from(row).expect("rows fit u32")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use schedlab_core::cycle::select::TieBreak;
    use schedlab_core::naive::NaiveCluster;
    use schedlab_core::naive::schedule::{NaiveProfile, Pick, schedule};

    /// What benches compare with is itself compared with the plain twin.
    #[test]
    fn reference_engine_equals_naive() {
        for percentage in [0, 100] {
            let mut cluster = WarmCluster::new(130, percentage);
            let naive = crate::cluster::naive_twin(&cluster.world);
            for kind in PodKind::ALL {
                let settings = EngineSettings { tie_break: TieBreak::First, ..reference_settings() };
                let mut engine = Engine::new(settings);
                let class = cluster.class(kind);
                let decision = engine.schedule_pod(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
                let expected = decide_naively(&naive, kind, percentage);
                let node = cluster.world.nodes().columns().id[chosen_row(&decision)];
                assert_eq!(Some(cluster.world.node_name(node)), expected.as_deref(), "{}", kind.name());
            }
        }
    }

    fn decide_naively(cluster: &NaiveCluster, kind: PodKind, percentage: i32) -> Option<String> {
        let profile = NaiveProfile { percentage_of_nodes_to_score: percentage, ..NaiveProfile::default() };
        schedule(&profile, cluster, &kind.spec(), 0, Pick::First).chosen
    }

    #[test]
    fn class_cache_changes_no_decision_of_any_pod_kind() {
        let cluster = WarmCluster::new(300, 0);
        let settings = EngineSettings { seed: SEED, ..EngineSettings::default() };
        for kind in PodKind::ALL {
            assert_decides_like_reference(&cluster, kind, settings);
        }
    }
}
