//! Each plugin on its own, at each of its extension points.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::class::PodClass;
use crate::fake::{self, Rng, for_each_seed};
use crate::framework::plugin::{FilterPlugin, PreFilter, PreScore, ScorePlugin};
use crate::framework::status::{Code, Reason};
use crate::naive;
use crate::naive::schedule::{self, Profile as NaiveProfile};
use crate::snapshot::mask::{NodeMask, WORD_BITS};
use crate::twin::{Twin, engine_code, engine_profile, naive_profile, node_count};

/// A class on a cluster, and whom to ask.
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
            check(rng, &Case { twin: &twin, class: twin.world.class(id), profile: &profile }, &fast);
        }
    });
}

impl Case<'_> {
    fn texts(&self, reasons: &[Reason]) -> Vec<String> {
        reasons.iter().map(|reason| reason.text(&self.twin.world.vocabulary).into_owned()).collect()
    }

    /// Naive verdicts in list order.
    fn verdicts(&self, plugin: &str) -> Vec<Option<naive::Verdict>> {
        let nodes = &self.twin.cluster.nodes;
        let (profile, pod) = (self.profile, &self.class.input);
        let state = schedule::FilterState::new(profile, &self.twin.cluster, pod);
        nodes
            .iter()
            .map(|node| schedule::filter(plugin, profile, &self.twin.cluster, pod, &state, node))
            .collect()
    }

    fn check_pre_filter(&self, name: &str, plugin: &dyn FilterPlugin) {
        let expected = schedule::pre_filter(name, self.profile, &self.twin.cluster, &self.class.input);
        let symbols = &self.twin.world.vocabulary.symbols;
        let actual = match plugin.pre_filter(&self.twin.world, self.class) {
            PreFilter::Run => naive::PreFilter::AllNodes,
            PreFilter::Skip => naive::PreFilter::Skip,
            PreFilter::Nodes(names) => {
                let names: BTreeSet<String> = names.iter().map(|&n| symbols.text(n).to_owned()).collect();
                naive::PreFilter::Nodes(names)
            }
            PreFilter::Reject(code, reason) => {
                let naive::PreFilter::Reject(verdict) = &expected else {
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

    fn check_scores(&self, rng: &mut Rng, name: &str, plugin: &dyn ScorePlugin) {
        let pod = &self.class.input;
        let all: Vec<&naive::NaiveNode> = self.twin.cluster.nodes.iter().collect();
        let state = schedule::ScoreState::new(self.profile, &self.twin.cluster, pod, &all);
        let is_skipped = schedule::skipped_scores(self.profile, pod, &state).contains(name);
        let expected = if is_skipped { PreScore::Skip } else { PreScore::Run };
        assert_eq!(plugin.pre_score(&self.twin.world, self.class), expected, "{name}: PreScore");
        let nodes = &self.twin.cluster.nodes;
        let density = *rng.pick(&[100, 100, 30]);
        let rows: Vec<usize> = (0..nodes.len()).filter(|_| rng.chance(density)).collect();
        let ids: Vec<u32> = rows.iter().map(|&row| u32::try_from(row).expect("few rows")).collect();
        let mut scores = vec![-7; rows.len()];
        plugin.score(&self.twin.world, self.class, &ids, &mut scores);
        let expected: Vec<i64> = rows
            .iter()
            .map(|&row| schedule::score(name, self.profile, &self.twin.cluster, pod, &state, &nodes[row]))
            .collect();
        assert_eq!(scores, expected, "{name}: raw scores");
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
fn raw_scores_equal_naive() {
    for_each_case("raw_scores_equal_naive", 300, |rng, case, fast| {
        for &(at, _) in fast.scores() {
            case.check_scores(rng, fast.name(at), fast.score(at));
        }
    });
}

/// What `replay` and `explain` show: every rejection of every node, in order.
#[test]
fn explanations_equal_naive() {
    for_each_seed("explanations_equal_naive", 200, |rng| {
        let count = node_count(rng);
        let mut twin = Twin::random(rng, count);
        let profile = naive_profile(rng);
        let fast = engine_profile(&profile, &mut twin.world.vocabulary);
        let pod = Arc::new(fake::pod(rng));
        let class = twin.compile(&pod);
        let explanation = crate::cycle::explain::explain(&mut twin.world, &fast, class);
        let pre_filter = schedule::run_pre_filter(&profile, &twin.cluster, &pod);
        let state = schedule::FilterState::new(&profile, &twin.cluster, &pod);
        if pre_filter.rejected.is_some() {
            assert_eq!(explanation.chosen, None);
            assert!(explanation.nodes.is_empty());
            return;
        }
        for (node, explained) in twin.cluster.nodes.iter().zip(&explanation.nodes) {
            if pre_filter.nodes.as_ref().is_some_and(|names| !names.contains(&node.input.name)) {
                assert_eq!(explained.rejections.len(), 1);
                continue;
            }
            let expected: Vec<&str> =
                schedule::all_rejections(&profile, &twin.cluster, &pod, &state, node, &pre_filter.skip)
                    .iter()
                    .map(|verdict| verdict.plugin)
                    .collect();
            let actual: Vec<&str> = explained.rejections.iter().map(|r| r.plugin.as_str()).collect();
            assert_eq!(actual, expected, "{}", node.input.name);
        }
    });
}
