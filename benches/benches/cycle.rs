//! What Filter, Score and a whole scheduling cycle cost, by cluster size.
//!
//! - `filter/<plugin>/<nodes>n`: one plugin over all nodes.
//! - `score/<plugin>/<nodes>n`: one plugin over the nodes a plain pod fits on.
//! - `cycle/<pod>/<way>/<nodes>n`: one decision and the placement that follows it.
//!   - `uncached`: verdicts and scores are computed afresh; upstream's sampling.
//!   - `uncached_all`: the same over 100 % of the nodes. The budget at 5,000 nodes is 25 us.
//!   - `cached`: the same class again after one placement; upstream's sampling. The budget at
//!     5,000 nodes is 300 ns.
//!   - `cached_all`: the same over 100 % of the nodes.
//!
//! All single-threaded; `crossover` is about threads.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use schedlab_benches::check::{
    assert_decides_like_reference, checked_filter, checked_scores, chosen_row, feasible_rows, filter_of,
    reference_settings, score_of,
};
use schedlab_benches::cluster::{SPARE_PODS, WarmCluster};
use schedlab_benches::pods::PodKind;
use schedlab_benches::{SEED, criterion_settings};
use schedlab_core::cycle::engine::{ClassCache, Engine, EngineSettings};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::snapshot::mask::NodeMask;

const NODE_COUNTS: [usize; 4] = [100, 1000, 5000, 15_000];
/// The size at which pods other than plain ones are looked at.
const NODE_COUNT_OF_KINDS: usize = 5000;

fn filters(criterion: &mut Criterion) {
    let plugins = [
        ("node_unschedulable", "NodeUnschedulable", PodKind::Plain),
        ("taint_toleration", "TaintToleration", PodKind::Plain),
        ("node_affinity", "NodeAffinity", PodKind::RequiredAffinity),
        ("node_ports", "NodePorts", PodKind::HostPort),
        ("resources_fit", "NodeResourcesFit", PodKind::Plain),
    ];
    for node_count in NODE_COUNTS {
        let cluster = WarmCluster::new(node_count, 0);
        let world = &cluster.world;
        let all = NodeMask::all(node_count);
        for (path, name, kind) in plugins {
            let expected = checked_filter(&cluster, name, kind);
            let (filter, class) = (filter_of(&cluster.profile, name), world.class(cluster.class(kind)));
            let mut mask = all.clone();
            criterion.bench_function(&format!("filter/{path}/{node_count}n"), |bencher| {
                bencher.iter(|| {
                    mask.words_mut().copy_from_slice(all.words());
                    filter.filter(black_box(world), class, 0, mask.words_mut());
                    black_box(mask.words()[0])
                });
            });
            // Left alone when the command line filtered this bench out.
            assert!(mask == expected || mask == all, "{path} changed its answer under the clock");
        }
    }
}

fn scores(criterion: &mut Criterion) {
    let plugins = [
        ("taint_toleration", "TaintToleration", PodKind::Plain),
        ("node_affinity", "NodeAffinity", PodKind::PreferredAffinity),
        ("resources_fit", "NodeResourcesFit", PodKind::Plain),
        ("balanced_allocation", "NodeResourcesBalancedAllocation", PodKind::Plain),
        ("image_locality", "ImageLocality", PodKind::Plain),
    ];
    for node_count in NODE_COUNTS {
        let cluster = WarmCluster::new(node_count, 0);
        let world = &cluster.world;
        let rows = feasible_rows(&cluster);
        for (path, name, kind) in plugins {
            let mut column = checked_scores(&cluster, name, kind, &rows);
            let (score, class) = (score_of(&cluster.profile, name), world.class(cluster.class(kind)));
            criterion.bench_function(&format!("score/{path}/{node_count}n"), |bencher| {
                bencher.iter(|| {
                    score.score(black_box(world), class, &rows, &mut column);
                    black_box(column[0])
                });
            });
        }
    }
}

fn cycles(criterion: &mut Criterion) {
    let ways = [
        ("uncached", ClassCache::Off, 0),
        ("uncached_all", ClassCache::Off, 100),
        ("cached", ClassCache::On, 0),
        ("cached_all", ClassCache::On, 100),
    ];
    for node_count in NODE_COUNTS {
        for (way, class_cache, percentage) in ways {
            let mut cluster = WarmCluster::new(node_count, percentage);
            let settings = EngineSettings { class_cache, ..reference_settings() };
            let kinds = if node_count == NODE_COUNT_OF_KINDS { &PodKind::ALL[..] } else { &[PodKind::Plain] };
            for &kind in kinds {
                assert_decides_like_reference(&cluster, kind, settings);
                let path = format!("cycle/{}/{way}/{node_count}n", kind.name());
                criterion.bench_function(&path, |bencher| {
                    bencher.iter_custom(|count| run_cycles(&mut cluster, kind, settings, count));
                });
            }
        }
    }
}

/// The time of `count` decisions, each with the placement that follows it. Pods are taken off
/// again between batches, off the clock, so that the cluster stays as it was.
fn run_cycles(cluster: &mut WarmCluster, kind: PodKind, settings: EngineSettings, count: u64) -> Duration {
    let class = cluster.class(kind);
    let spare = cluster.spare(kind).to_vec();
    let mut engine = Engine::new(EngineSettings { seed: SEED, ..settings });
    // All of the rotation is known before the clock runs: a warm cache, and grown scratch memory.
    for _ in 0..64 {
        let _ = engine.decide(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
    }
    let mut spent = Duration::ZERO;
    let mut left = usize::try_from(count).unwrap_or(usize::MAX);
    while left > 0 {
        let batch = left.min(SPARE_PODS / 2);
        let start = Instant::now();
        for &pod in &spare[..batch] {
            let decision =
                engine.decide(black_box(&mut cluster.world), &cluster.profile, class, &mut NoProbe);
            cluster.place(pod, chosen_row(&decision));
        }
        spent += start.elapsed();
        for &pod in &spare[..batch] {
            cluster.world.displace(pod);
        }
        for _ in 0..64 {
            let _ = engine.decide(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
        }
        left -= batch;
    }
    spent
}

criterion_group! {
    name = cycle;
    config = criterion_settings();
    targets = filters, scores, cycles
}
criterion_main!(cycle);
