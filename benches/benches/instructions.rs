//! Instructions of the kernels, counted by callgrind: the gate on a machine whose clock is noisy.
//! The same binary and seed give the same count, to the instruction.
//!
//! Needs valgrind (`apt install valgrind`) and the runner of gungraun's version:
//! `cargo install gungraun-runner --version 0.20.0`. It is looked for in `PATH`; built elsewhere,
//! name it when the bench is compiled: `GUNGRAUN_RUNNER=/path/to/gungraun-runner cargo bench ...`.
//! Without them the kernels are run once, uncounted, and the bench says what is missing. It uses
//! the system's allocator, as every bench does, because callgrind cannot count others evenly.
#![allow(clippy::print_stdout, reason = "it says what is missing")]

use std::hint::black_box;
use std::path::{Path, PathBuf};

use schedlab_benches::RunMode;
use schedlab_benches::check::{
    assert_decides_like_reference, checked_filter, checked_scores, chosen_row, feasible_rows, filter_of,
    reference_settings, score_of,
};
use schedlab_benches::cluster::WarmCluster;
use schedlab_benches::pods::PodKind;
use schedlab_core::cycle::engine::{ClassCache, Engine, EngineSettings};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::snapshot::mask::NodeMask;

/// Small, because callgrind is fifty times slower than the machine.
const NODE_COUNT: usize = 1000;
/// Decisions of a counted cycle bench, each with its placement.
const DECISIONS: usize = 32;

fn main() {
    let is_counted_child = std::env::args().nth(1).is_some_and(|arg| arg == "--gungraun-run");
    match (is_counted_child, RunMode::from_args()) {
        (true, _) => counted::run(),
        (false, RunMode::List) => {}
        (false, RunMode::Test) => run_uncounted(),
        (false, RunMode::Measure) => match missing_tool() {
            None => counted::run(),
            Some(advice) => {
                println!("instructions: not counted, {advice}");
                run_uncounted();
            }
        },
    }
}

/// What is missing, and what to do about it.
fn missing_tool() -> Option<&'static str> {
    if !is_in_path("valgrind") {
        return Some("valgrind is missing: install it, for example with `apt install valgrind`");
    }
    let runner =
        option_env!("GUNGRAUN_RUNNER").map_or_else(|| PathBuf::from("gungraun-runner"), PathBuf::from);
    if runner.is_absolute() && runner.is_file() || is_in_path(runner.to_str().unwrap_or_default()) {
        return None;
    }
    Some(
        "gungraun-runner is missing: `cargo install gungraun-runner --version 0.20.0`, the version \
         of gungraun in Cargo.lock",
    )
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}

/// Runs every kernel once on the checked inputs.
fn run_uncounted() {
    let cluster = WarmCluster::new(NODE_COUNT, 100);
    for plugin in ["TaintToleration", "NodeResourcesFit"] {
        let expected = checked_filter(&cluster, plugin, PodKind::Plain);
        assert_eq!(run_filter(filter_input(plugin)), expected.count(), "{plugin}");
    }
    let rows = feasible_rows(&cluster);
    for plugin in ["NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"] {
        let expected: i64 = checked_scores(&cluster, plugin, PodKind::Plain, &rows).iter().sum();
        assert_eq!(run_score(score_input(plugin)), expected, "{plugin}");
    }
    for class_cache in [ClassCache::Off, ClassCache::On] {
        for kind in PodKind::ALL {
            let settings = EngineSettings { class_cache, ..reference_settings() };
            assert_decides_like_reference(&cluster, kind, settings);
        }
    }
    let both = [ClassCache::Off, ClassCache::On].map(|cache| run_cycle(cycle_input(PodKind::Plain, cache)));
    assert_eq!(both[0], both[1], "the cache changes no decision");
}

fn filter_input(plugin: &'static str) -> (WarmCluster, &'static str, NodeMask) {
    (WarmCluster::new(NODE_COUNT, 100), plugin, NodeMask::all(NODE_COUNT))
}

fn run_filter((cluster, plugin, mut mask): (WarmCluster, &'static str, NodeMask)) -> usize {
    let class = cluster.world.class(cluster.class(PodKind::Plain));
    filter_of(&cluster.profile, plugin).filter(black_box(&cluster.world), class, 0, mask.words_mut());
    let kept = mask.count();
    // Freeing the cluster is not the kernel's work.
    std::mem::forget(cluster);
    kept
}

fn score_input(plugin: &'static str) -> (WarmCluster, &'static str, Vec<u32>, Vec<i64>) {
    let cluster = WarmCluster::new(NODE_COUNT, 100);
    let rows = feasible_rows(&cluster);
    let scores = vec![0; rows.len()];
    (cluster, plugin, rows, scores)
}

fn run_score((cluster, plugin, rows, mut scores): (WarmCluster, &'static str, Vec<u32>, Vec<i64>)) -> i64 {
    let class = cluster.world.class(cluster.class(PodKind::Plain));
    score_of(&cluster.profile, plugin).score(black_box(&cluster.world), class, &rows, &mut scores);
    let sum = scores.iter().sum();
    std::mem::forget(cluster);
    sum
}

fn cycle_input(kind: PodKind, class_cache: ClassCache) -> (WarmCluster, PodKind, Engine) {
    let mut cluster = WarmCluster::new(NODE_COUNT, 0);
    let class = cluster.class(kind);
    let mut engine = Engine::new(EngineSettings { class_cache, ..reference_settings() });
    for _ in 0..DECISIONS {
        let _ = engine.decide(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
    }
    (cluster, kind, engine)
}

/// The sum of the chosen rows stands for the answer.
fn run_cycle((mut cluster, kind, mut engine): (WarmCluster, PodKind, Engine)) -> usize {
    let class = cluster.class(kind);
    let mut sum = 0;
    for turn in 0..DECISIONS {
        let decision = engine.decide(black_box(&mut cluster.world), &cluster.profile, class, &mut NoProbe);
        let row = chosen_row(&decision);
        cluster.place(cluster.spare(kind)[turn], row);
        sum += row;
    }
    std::mem::forget((cluster, engine));
    sum
}

/// What gungraun's macros make.
#[allow(missing_docs, clippy::unwrap_used, clippy::print_stderr, reason = "made by gungraun's macros")]
mod counted {
    use gungraun::{library_benchmark, library_benchmark_group};
    use schedlab_benches::cluster::WarmCluster;
    use schedlab_benches::pods::PodKind;
    use schedlab_core::cycle::engine::{ClassCache, Engine};
    use schedlab_core::snapshot::mask::NodeMask;

    use super::{cycle_input, filter_input, score_input};

    #[library_benchmark(setup = filter_input)]
    #[bench::taint_toleration("TaintToleration")]
    #[bench::resources_fit("NodeResourcesFit")]
    fn filter(input: (WarmCluster, &'static str, NodeMask)) -> usize {
        crate::run_filter(input)
    }

    #[library_benchmark(setup = score_input)]
    #[bench::resources_fit("NodeResourcesFit")]
    #[bench::balanced_allocation("NodeResourcesBalancedAllocation")]
    #[bench::image_locality("ImageLocality")]
    fn score(input: (WarmCluster, &'static str, Vec<u32>, Vec<i64>)) -> i64 {
        crate::run_score(input)
    }

    #[library_benchmark(setup = cycle_input)]
    #[bench::plain_uncached(PodKind::Plain, ClassCache::Off)]
    #[bench::plain_cached(PodKind::Plain, ClassCache::On)]
    #[bench::preferred_affinity_uncached(PodKind::PreferredAffinity, ClassCache::Off)]
    #[bench::preferred_affinity_cached(PodKind::PreferredAffinity, ClassCache::On)]
    fn cycle(input: (WarmCluster, PodKind, Engine)) -> usize {
        crate::run_cycle(input)
    }

    library_benchmark_group!(name = kernels, benchmarks = [filter, score, cycle]);
    gungraun::main!(library_benchmark_groups = kernels);

    pub(super) fn run() {
        main();
    }
}
