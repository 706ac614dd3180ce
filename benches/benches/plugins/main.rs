//! What each plugin of the tree costs a node, alone, with the pods that its twin names: Filter, and Score with NormalizeScore, at 5,000 nodes that
//! have seen churn; the dry run of preemption; and what a pod costs the queue.
//!
//! Every answer is held against the plain twin before it is timed, on all rows or, where the twin
//! is quadratic, on one row in so many. `twin` is what the twin needs for the same node, with its
//! share of what it counts over the cluster in every cycle (PreFilter, PreScore); that is what
//! keeping the counts saves. Fast and twin take turns; figures are medians.
#![allow(clippy::print_stdout, reason = "the table is the result")]

mod evict;
mod queue;
mod situation;

use std::hint::black_box;
use std::time::Instant;

use schedlab_benches::RunMode;
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::status::Code;
use schedlab_core::naive::NaivePod;
use schedlab_core::naive::schedule::{FilterState, all_rejections, score_nodes};
use schedlab_core::plugins::IN_TREE;
use schedlab_core::snapshot::mask::NodeMask;
use schedlab_stats::median;

use situation::{Case, Situation};

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    node_count: usize,
    rounds: usize,
    /// Calls of the fast side that make a sample.
    calls: u32,
}

const MEASURE: Size = Size { node_count: 5000, rounds: 15, calls: 8 };
const TEST: Size = Size { node_count: 130, rounds: 1, calls: 1 };

fn main() {
    let size = match RunMode::from_args() {
        RunMode::Measure => MEASURE,
        RunMode::Test => TEST,
        RunMode::List => return,
    };
    println!(
        "{} nodes, one thread, medians of {} interleaved samples (core only)",
        size.node_count, size.rounds
    );
    println!("{:<44} {:>10} {:>12} {:>10}  {:>8}", "plugin", "ns a node", "us a cycle", "twin ns", "ratio");
    let mut situation = Situation::new(size.node_count);
    for (plugin, twin) in IN_TREE.iter().filter_map(|plugin| Some((plugin.name, plugin.twin.filter?))) {
        for pod in (twin.benches)() {
            let case = Case { plugin, pod };
            print_row(&format!("filter/{}", case.pod.path), filter(&mut situation, &case, size), size);
        }
    }
    let mut with_devices = Situation::with_devices(size.node_count);
    for (plugin, twin) in IN_TREE.iter().filter_map(|plugin| Some((plugin.name, plugin.twin.score?))) {
        for pod in (twin.benches)() {
            let case = Case { plugin, pod };
            let has_claims = !case.pod.pod.resource_claims.is_empty();
            let situation = if has_claims { &mut with_devices } else { &mut situation };
            print_row(&format!("score/{}", case.pod.path), score(situation, &case, size), size);
        }
    }
    evict::run(size);
    queue::run(size);
}

/// Nanoseconds a node.
struct Cost {
    fast: f64,
    twin: f64,
}

#[allow(clippy::cast_precision_loss, reason = "node counts are small")]
fn print_row(path: &str, cost: Cost, size: Size) {
    let cycle_us = cost.fast * size.node_count as f64 / 1000.0;
    println!(
        "{path:<44} {:>10.2} {cycle_us:>12.1} {:>10.0} {:>8.0}x",
        cost.fast,
        cost.twin,
        cost.twin / cost.fast
    );
}

/// Takes turns and returns the medians, in nanoseconds per call and row.
#[allow(clippy::cast_precision_loss, reason = "samples last milliseconds")]
fn alternate(
    size: Size,
    (fast_rows, mut fast): (usize, impl FnMut()),
    (twin_rows, mut twin): (usize, impl FnMut()),
) -> Cost {
    let (mut fasts, mut twins) = (Vec::new(), Vec::new());
    for _ in 0..size.rounds {
        let start = Instant::now();
        (0..size.calls).for_each(|_| fast());
        fasts.push(start.elapsed().as_nanos() as f64 / f64::from(size.calls) / fast_rows as f64);
        let start = Instant::now();
        twin();
        twins.push(start.elapsed().as_nanos() as f64 / twin_rows as f64);
    }
    Cost { fast: median(&fasts), twin: median(&twins) }
}

fn filter(situation: &mut Situation, case: &Case, size: Size) -> Cost {
    let (class, plugin) = situation.prepare(case);
    let Situation { world, twin, .. } = &*situation;
    let class = world.class(class);
    let filter = Plugin::as_filter(plugin.as_ref()).expect("a filter");
    let pod = NaivePod::from((*class.input).clone());
    let profile = case.naive_profile();
    let rows: Vec<usize> = (0..size.node_count).step_by(case.pod.twin_every).collect();
    let all = NodeMask::all(size.node_count);
    let mut mask = all.clone();
    filter.filter(world, class, 0, mask.words_mut());
    let state = FilterState::new(&profile, twin, &pod);
    let mut reasons = Vec::new();
    for &row in &rows {
        let rejections = all_rejections(&profile, twin, &pod, &state, &twin.nodes[row], &Default::default());
        assert_eq!(mask.contains(row), rejections.is_empty(), "{}: row {row}", case.pod.path);
        let is_fit = filter.verdict(world, class, row, &mut reasons) == Code::Success;
        assert_eq!(mask.contains(row), is_fit, "{}: verdict on row {row}", case.pod.path);
    }
    let kept = mask.count();
    assert!(
        case.pod.keeps.contains(&(kept * 100 / size.node_count)),
        "{}: {kept} nodes are kept",
        case.pod.path
    );
    let fast = || {
        mask.words_mut().copy_from_slice(all.words());
        filter.filter(black_box(world), class, 0, mask.words_mut());
        black_box(mask.words());
    };
    let counted = || {
        let state = FilterState::new(&profile, twin, &pod);
        black_box(&state);
    };
    let asked = || {
        for &row in &rows {
            let node = &twin.nodes[row];
            black_box(all_rejections(&profile, twin, &pod, &state, node, &Default::default()));
        }
    };
    let cost = alternate(size, (size.node_count, fast), (rows.len(), asked));
    let counting = alternate(Size { calls: 1, ..size }, (1, || {}), (size.node_count, counted));
    Cost { fast: cost.fast, twin: cost.twin + counting.twin }
}

fn score(situation: &mut Situation, case: &Case, size: Size) -> Cost {
    let (class, plugin) = situation.prepare(case);
    let Situation { world, twin, .. } = &*situation;
    let class = world.class(class);
    let score = Plugin::as_score(plugin.as_ref()).expect("a score");
    let pod = NaivePod::from((*class.input).clone());
    let profile = case.naive_profile();
    let rows: Vec<u32> = (0..size.node_count).map(|row| u32::try_from(row).expect("rows fit u32")).collect();
    let nodes: Vec<_> = twin.nodes.iter().collect();
    let mut scores = vec![0; rows.len()];
    let mut run = || {
        score.score(black_box(world), class, &rows, &mut scores);
        score.normalize(world, class, &rows, &mut scores);
        black_box(scores.last().copied());
    };
    run();
    let expected = score_nodes(&profile, twin, &pod, &nodes).expect("the specs can be read");
    let mut distinct = std::collections::BTreeSet::new();
    let mut single = vec![0; rows.len()];
    score.score(world, class, &rows, &mut single);
    score.normalize(world, class, &rows, &mut single);
    for (row, (node, &score)) in expected.iter().zip(&single).enumerate() {
        let expected = node.weighted.get(case.plugin).copied();
        assert_eq!(expected, Some(score), "{}: row {row}", case.pod.path);
        distinct.insert(score);
    }
    assert!(1 < distinct.len(), "{}: all nodes score alike", case.pod.path);
    let asked = || {
        black_box(score_nodes(&profile, twin, &pod, &nodes).is_ok());
    };
    alternate(size, (rows.len(), run), (rows.len(), asked))
}
