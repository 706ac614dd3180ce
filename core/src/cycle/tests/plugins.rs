//! Each plugin on its own, at each of its extension points.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::class::PodClass;
use crate::cycle::explain::NodeExplanation;
use crate::fake::{self, Rng, for_each_seed};
use crate::framework::plugin::{FilterPlugin, PreFilter, PreScore, ScorePlugin};
use crate::framework::status::{Code, Reason};
use crate::naive;
use crate::naive::plugin_twin::Asked;
use crate::naive::schedule::{self, NaiveProfile};
use crate::snapshot::mask::{NodeMask, WORD_BITS};
use crate::twin::{Twin, engine_code, engine_profile, naive_profile, node_count};

/// A class on a cluster, and the plugins to ask.
struct Case<'a> {
    twin: &'a Twin,
    class: &'a PodClass,
    profile: &'a NaiveProfile,
}

fn for_each_case(
    name: &str,
    seeds: u64,
    check: impl Fn(&mut Rng, &Case<'_>, &crate::framework::profile::Profile),
) {
    for_each_seed(name, seeds, |rng| {
        let count = node_count(rng);
        let mut twin = Twin::random(rng, count);
        let profile = naive_profile(rng);
        let fast = engine_profile(&profile, &mut twin.world.vocabulary);
        for _ in 0..3 {
            let pod = Arc::new(fake::pod(rng));
            let id = twin.compile(&pod);
            fast.plugins().iter().for_each(|plugin| plugin.prepare(&mut twin.world, id));
            check(rng, &Case { twin: &twin, class: twin.world.class(id), profile: &profile }, &fast);
        }
    });
}

impl Case<'_> {
    fn texts(&self, reasons: &[Reason]) -> Vec<String> {
        reasons.iter().map(|reason| reason.text(&self.twin.world.vocabulary).into_owned()).collect()
    }

    fn asked(&self) -> Asked<'_> {
        Asked { profile: self.profile, cluster: &self.twin.cluster, pod: &self.class.input }
    }

    /// Naive verdicts in list order.
    fn verdicts(&self, plugin: &str) -> Vec<Option<naive::NaiveVerdict>> {
        let nodes = &self.twin.cluster.nodes;
        let (profile, pod) = (self.profile, &self.class.input);
        let state = schedule::FilterState::new(profile, &self.twin.cluster, pod);
        nodes.iter().map(|node| schedule::filter(plugin, self.asked(), &state, node)).collect()
    }

    fn check_pre_filter(&self, name: &str, plugin: &dyn FilterPlugin) {
        let expected = schedule::pre_filter(name, self.asked());
        let symbols = &self.twin.world.vocabulary.symbols;
        let actual = match plugin.pre_filter(&self.twin.world, self.class) {
            PreFilter::Run => naive::NaivePreFilter::AllNodes,
            PreFilter::Skip => naive::NaivePreFilter::Skip,
            PreFilter::Nodes(names) => {
                let names: BTreeSet<String> = names.iter().map(|&n| symbols.text(n).to_owned()).collect();
                naive::NaivePreFilter::Nodes(names)
            }
            PreFilter::Reject(code, reason) => {
                let naive::NaivePreFilter::Reject(verdict) = &expected else {
                    panic!("{name}: expected {expected:?}")
                };
                assert_eq!(code, engine_code(verdict.code), "{name}");
                assert_eq!(self.texts(&[reason]), verdict.reasons, "{name}");
                return;
            }
        };
        assert_eq!(actual, expected, "{name}: PreFilter");
    }

    fn check_verdicts(&self, name: &str, plugin: &dyn FilterPlugin) {
        for (row, expected) in self.verdicts(name).into_iter().enumerate() {
            let mut reasons = Vec::new();
            let code = plugin.verdict(&self.twin.world, self.class, row, &mut reasons);
            let (expected_code, mut expected_reasons) = match expected {
                None => (Code::Success, Vec::new()),
                Some(verdict) => (engine_code(verdict.code), verdict.reasons),
            };
            assert_eq!(code, expected_code, "{name}: code of row {row}");
            let mut texts = self.texts(&reasons);
            // Upstream walks a Go map of scalar resources: their order is nobody's promise.
            texts.sort();
            expected_reasons.sort();
            assert_eq!(texts, expected_reasons, "{name}: reasons of row {row}");
            if let Some((only, reason)) = plugin.only_rejection()
                && code != Code::Success
            {
                assert_eq!((code, self.texts(&reasons)), (only, self.texts(&[reason])), "{name}: row {row}");
            }
        }
    }

    /// Any set of rows, asked in any pieces.
    fn check_masks(&self, rng: &mut Rng, name: &str, plugin: &dyn FilterPlugin) {
        let verdicts = self.verdicts(name);
        let mut rows = NodeMask::none(verdicts.len());
        let density = *rng.pick(&[100, 100, 50, 5]);
        (0..verdicts.len()).filter(|_| rng.chance(density)).for_each(|row| rows.insert(row));
        let mut kept = rows.clone();
        let chunk = rng.range(1..=3);
        for (at, words) in kept.words_mut().chunks_mut(chunk).enumerate() {
            plugin.filter(&self.twin.world, self.class, at * chunk, words);
        }
        let expected: Vec<usize> = rows.rows().filter(|&row| verdicts[row].is_none()).collect();
        assert_eq!(kept.rows().collect::<Vec<_>>(), expected, "{name}: mask");
        let ghosts = kept.words().last().map_or(0, |word| match verdicts.len() % WORD_BITS {
            0 => 0,
            rest => word >> rest,
        });
        assert_eq!(ghosts, 0, "{name}: bits past the last row");
    }

    fn check_scores(&self, rng: &mut Rng, name: &'static str, plugin: &dyn ScorePlugin) {
        let (cluster, pod) = (&self.twin.cluster, &self.class.input);
        let density = *rng.pick(&[100, 100, 30]);
        let rows: Vec<usize> = (0..cluster.nodes.len()).filter(|_| rng.chance(density)).collect();
        let nodes: Vec<&naive::NaiveNode> = rows.iter().map(|&row| &cluster.nodes[row]).collect();
        let state = schedule::NaiveScoreState::new(self.profile, cluster, pod, &nodes);
        let is_skipped = state.skipped().contains(name);
        let expected = if is_skipped { PreScore::Skip } else { PreScore::Run };
        if !rows.is_empty() {
            assert_eq!(plugin.pre_score(&self.twin.world, self.class), expected, "{name}: PreScore");
        }
        if is_skipped {
            return;
        }
        let ids: Vec<u32> = rows.iter().map(|&row| u32::try_from(row).expect("few rows")).collect();
        let mut scores = vec![-7; rows.len()];
        plugin.score(&self.twin.world, self.class, &ids, &mut scores);
        if name != "PodTopologySpread" {
            // Raw scores of spreading mean something only together.
            let score = |node: &&naive::NaiveNode| schedule::score(name, self.asked(), &state, node);
            assert_eq!(scores, nodes.iter().map(score).collect::<Vec<i64>>(), "{name}: raw scores");
        }
        let profile = NaiveProfile { score_plugins: vec![(name, 1)], ..self.profile.clone() };
        if let Ok(expected) = schedule::score_nodes(&profile, cluster, pod, &nodes) {
            plugin.normalize(&self.twin.world, self.class, &ids, &mut scores);
            let expected: Vec<i64> = expected.iter().map(|score| score.total).collect();
            assert_eq!(scores, expected, "{name}: normalised scores");
        }
    }
}

#[test]
fn pre_filters_equal_naive() {
    for_each_case("pre_filters_equal_naive", 1500, |_, case, fast| {
        for &at in fast.filters() {
            case.check_pre_filter(fast.name(at), fast.filter(at));
        }
    });
}

#[test]
fn verdicts_and_reasons_equal_naive() {
    for_each_case("verdicts_and_reasons_equal_naive", 400, |_, case, fast| {
        for &at in fast.filters() {
            case.check_verdicts(fast.name(at), fast.filter(at));
        }
    });
}

#[test]
fn filter_masks_equal_naive() {
    for_each_case("filter_masks_equal_naive", 400, |rng, case, fast| {
        for &at in fast.filters() {
            case.check_masks(rng, fast.name(at), fast.filter(at));
        }
    });
}

#[test]
fn scores_equal_naive() {
    for_each_case("scores_equal_naive", 300, |rng, case, fast| {
        for &(at, _) in fast.scores() {
            case.check_scores(rng, fast.name(at), fast.score(at));
        }
    });
}

/// What `replay` and `explain` show: every rejection of every node, in order, and every score.
#[test]
fn explanations_equal_naive() {
    for_each_seed("explanations_equal_naive", 400, |rng| {
        let count = node_count(rng);
        let mut twin = Twin::random(rng, count);
        let profile = naive_profile(rng);
        let fast = engine_profile(&profile, &mut twin.world.vocabulary);
        let class = twin.compile(&Arc::new(fake::pod(rng)));
        let pending = twin.random_pending(rng, class);
        let explanation = crate::cycle::explain::explain(&mut twin.world, &fast, pending);
        twin.world.check_counts();
        let (pod, cluster) = (twin.naive_pod(pending), &twin.cluster);
        let pre_filter = schedule::run_pre_filter(&profile, cluster, &pod);
        if pre_filter.rejected.is_some() {
            assert_eq!(explanation.chosen, None);
            assert!(explanation.nodes.is_empty());
            return;
        }
        let search = schedule::Search::new(&profile, cluster, &pod, &pre_filter.skip);
        for (node, explained) in cluster.nodes.iter().zip(&explanation.nodes) {
            if pre_filter.nodes.as_ref().is_some_and(|names| !names.contains(&node.input.name)) {
                assert_eq!(explained.rejections.len(), 1);
                continue;
            }
            let actual: Vec<&str> = explained.rejections.iter().map(|r| r.plugin.as_str()).collect();
            assert_eq!(actual, rejecting(&search, node), "{}", node.input.name);
        }
        let is_feasible = |(node, explained): (&'_ naive::NaiveNode, &NodeExplanation)| {
            explained.is_feasible().then(|| node.input.name.clone())
        };
        let feasible: Vec<String> =
            cluster.nodes.iter().zip(&explanation.nodes).filter_map(is_feasible).collect();
        let nodes: Vec<&naive::NaiveNode> =
            cluster.nodes.iter().filter(|node| feasible.contains(&node.input.name)).collect();
        let Ok(scores) = schedule::score_nodes(&profile, cluster, &pod, &nodes) else { return };
        let explained = explanation.nodes.iter().filter(|node| node.is_feasible());
        for (expected, explained) in scores.iter().zip(explained) {
            let weighted: BTreeMap<&str, i64> =
                explained.scores.iter().map(|score| (fast.name(score.plugin), score.weighted)).collect();
            assert_eq!(weighted, expected.weighted, "{}", expected.node);
            assert_eq!(explained.total, expected.total, "{}", expected.node);
        }
    });
}

/// Who rejects a node first, then who does with all plugins up to that one left out, and so on.
fn rejecting(search: &schedule::Search<'_>, node: &naive::NaiveNode) -> Vec<&'static str> {
    let mut left: &[&'static str] = &search.profile.filter_plugins;
    let mut plugins = Vec::new();
    while let Some(verdict) = naive::nominated_pods::first_rejection(search, &search.state, node, left) {
        let place = left.iter().position(|plugin| *plugin == verdict.plugin);
        left = &left[place.expect("one that is left rejects") + 1..];
        plugins.push(verdict.plugin);
    }
    plugins
}
