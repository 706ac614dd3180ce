//! Bytes for each node and each pending pod, as the allocator sees them, against the budgets of
//! 512 B and 256 B; and that a warm cycle allocates nothing.
//!
//! `live` is what is allocated and not freed, spare capacity and interned strings included;
//! `own count` is what the engine says of itself, which leaves the vocabulary out.
#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schedlab_benches::check::{chosen_row, reference_settings};
use schedlab_benches::cluster::{WarmCluster, warm_nodes};
use schedlab_benches::pods::PodKind;
use schedlab_benches::{RunMode, SEED};
use schedlab_core::cycle::engine::{ClassCache, Engine, EngineSettings};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, Scheduler};

const NODE_BUDGET: f64 = 512.0;
const POD_BUDGET: f64 = 256.0;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
struct Counting;

#[allow(unsafe_code, reason = "an allocator can be counted only by being one")]
// SAFETY: every call goes to the system's allocator unchanged; counting touches two atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let sizes: &[(usize, usize)] = match RunMode::from_args() {
        RunMode::Measure => &[(1000, 10_000), (5000, 50_000), (20_000, 200_000), (100_000, 1_000_000)],
        RunMode::Test => &[(100, 1000)],
        RunMode::List => return,
    };
    println!("bytes each (core only)          node: live  own count      pending pod: live  own count");
    for &(node_count, pod_count) in sizes {
        let weight = weigh(node_count, pod_count);
        println!(
            "{node_count:>7} nodes, {pod_count:>8} pods {:>12.0} {:>10.0} {:>22.0} {:>10.0}  {}",
            weight.node_live,
            weight.node_own,
            weight.pod_live,
            weight.pod_own,
            weight.verdict()
        );
    }
    println!("budgets: {NODE_BUDGET} B a node, {POD_BUDGET} B a pending pod");
    for class_cache in [ClassCache::On, ClassCache::Off] {
        let (cycles, count) = count_allocations(class_cache);
        println!("class cache {class_cache:?}: {count} allocations in {cycles} warm cycles");
        assert_eq!(count, 0, "a warm cycle must not allocate");
    }
}

/// Bytes each.
struct Weight {
    node_live: f64,
    node_own: f64,
    pod_live: f64,
    pod_own: f64,
}

impl Weight {
    fn verdict(&self) -> &'static str {
        match (self.node_live <= NODE_BUDGET, self.pod_live <= POD_BUDGET) {
            (true, true) => "within both",
            (false, true) => "nodes over",
            (true, false) => "pods over",
            (false, false) => "both over",
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn weigh(node_count: usize, pod_count: usize) -> Weight {
    let per = |bytes: usize, count: usize| bytes as f64 / count as f64;
    let mut scheduler = Scheduler::new(EngineSettings::default(), 0);
    let live = || LIVE_BYTES.load(Ordering::Relaxed);
    let (before, own_before) = (live(), scheduler.memory_bytes());
    for node in warm_nodes(node_count) {
        scheduler.on_event(ObjectEvent::node(&Arc::new(node)), 0);
    }
    let (with_nodes, own_nodes) = (live(), scheduler.memory_bytes());
    let class = scheduler.compile(&Arc::new(PodKind::Plain.spec()));
    for uid in 1..=pod_count as u64 {
        let update = PodUpdate { uid: PodUid(uid), class, created_ns: uid, ..PodUpdate::default() };
        scheduler.on_event(ObjectEvent::pod(update), uid);
    }
    assert_eq!(scheduler.counts().queued, pod_count);
    Weight {
        node_live: per(with_nodes - before, node_count),
        node_own: per(own_nodes.0 - own_before.0, node_count),
        pod_live: per(live() - with_nodes, pod_count),
        pod_own: per(scheduler.memory_bytes().1 - own_nodes.1, pod_count),
    }
}

/// Cycles run, and the allocations they made.
fn count_allocations(class_cache: ClassCache) -> (usize, usize) {
    const TURNS: usize = 40;
    let mut cluster = WarmCluster::new(1000, 0);
    let class = cluster.class(PodKind::Plain);
    let spare = cluster.spare(PodKind::Plain).to_vec();
    let settings = EngineSettings { class_cache, seed: SEED, ..reference_settings() };
    let mut engine = Engine::new(settings);
    let mut count = 0;
    for turn in 0..TURNS {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for &pod in &spare {
            let decision = engine.schedule_pod(&mut cluster.world, &cluster.profile, class, &mut NoProbe);
            cluster.place(pod, chosen_row(&decision));
        }
        for &pod in &spare {
            cluster.world.displace(pod);
        }
        // Half of the turns are there to warm up.
        if turn >= TURNS / 2 {
            count += ALLOCATIONS.load(Ordering::Relaxed) - before;
        }
    }
    (TURNS / 2 * spare.len(), count)
}
