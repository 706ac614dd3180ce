//! A scheduler whose API calls take time: what waits for which call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, PodFilter};
use schedlab_cluster::latency::{Latency, RateLimit};
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::record::NoRecorder;
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::scheduler::{FeatureGates, PlainBindings, Scheduler, SchedulerSettings};
use schedlab_core::world::World;
use serde_json::json;

use crate::support::{cluster, create, node_value, object, template};

const LATENCY: Duration = Duration::from_millis(20);
const PODS: u32 = 10;

/// How calls are made.
#[derive(Clone, Copy, Debug)]
enum Calls {
    Direct,
    Queued { parallel_max: usize },
}

fn scheduler(calls: Calls) -> Scheduler {
    let (is_queued, parallel_calls_max) = match calls {
        Calls::Direct => (false, 1),
        Calls::Queued { parallel_max } => (true, parallel_max),
    };
    let settings = SchedulerSettings {
        gates: FeatureGates { scheduler_async_api_calls: is_queued, ..FeatureGates::default() },
        parallel_calls_max,
        plain_bindings: PlainBindings::Queued,
        ..SchedulerSettings::default()
    };
    let mut world = World::default();
    let profiles = vec![default_profile(&mut world.vocabulary)];
    Scheduler::with_settings(world, profiles, EngineSettings::default(), settings).expect("the gates fit")
}

/// Runs until the store says so; how long that took.
fn run(
    store: EmbeddedCluster,
    calls: Calls,
    link: LinkSettings,
    is_done: impl Fn(&EmbeddedCluster) -> bool,
) -> Duration {
    let settings = WallSettings { threads: 1, link };
    let api: Arc<dyn Api> = Arc::new(store.clone());
    let start = Instant::now();
    let runtime = WallRuntime::start(api, scheduler(calls), 0, settings, (NoRecorder, NoRecorder));
    let runtime = runtime.expect("threads");
    while !is_done(&store) {
        assert!(start.elapsed() < Duration::from_secs(30), "{calls:?}: not done in half a minute");
        std::thread::yield_now();
    }
    let elapsed = start.elapsed();
    runtime.stop().expect("no thread panicked");
    elapsed
}

fn with_latency() -> LinkSettings {
    let ns = u64::try_from(LATENCY.as_nanos()).expect("a short time");
    LinkSettings { latency: Latency::Constant { ns }, ..LinkSettings::INSTANT }
}

/// A store with pods, and a node if they are to fit.
fn store(has_node: bool) -> EmbeddedCluster {
    let store = cluster();
    if has_node {
        create(&store, node_value("a"));
    } else {
        let mut node = node_value("full");
        node["status"]["capacity"] = json!({ "cpu": "1m", "pods": "110" });
        store.create(object(node)).expect("created");
    }
    let pods = template(&store, "web-");
    store.create_pods(&pods, PODS).expect("created");
    store
}

fn bound(store: &EmbeddedCluster) -> usize {
    let rows = store.pods_in(PodFilter::default()).expect("listed").rows;
    rows.iter().filter(|row| row.node.is_some()).count()
}

fn patches(store: &EmbeddedCluster) -> u64 {
    store.call_counts().calls.get("PATCH pods/status").copied().unwrap_or(0)
}

#[test]
fn binding_takes_effect_after_its_latency() {
    for calls in [Calls::Direct, Calls::Queued { parallel_max: 16 }] {
        let elapsed = run(store(true), calls, with_latency(), |store| bound(store) == PODS as usize);
        assert!(LATENCY <= elapsed, "{calls:?}: {elapsed:?}");
    }
}

#[test]
fn without_async_api_calls_scheduling_waits_for_each_status_patch() {
    let is_done = |store: &EmbeddedCluster| patches(store) == u64::from(PODS);
    let elapsed = run(store(false), Calls::Direct, with_latency(), is_done);
    assert!(LATENCY * PODS <= elapsed, "{PODS} calls after each other: {elapsed:?}");
}

#[test]
fn async_api_calls_overlap_up_to_parallel_max() {
    let is_done = |store: &EmbeddedCluster| patches(store) == u64::from(PODS);
    let elapsed = run(store(false), Calls::Queued { parallel_max: 2 }, with_latency(), is_done);
    assert!(LATENCY * PODS / 2 <= elapsed, "two at a time: {elapsed:?}");
    let is_done = |store: &EmbeddedCluster| bound(store) == PODS as usize;
    let elapsed = run(store(true), Calls::Queued { parallel_max: 2 }, with_latency(), is_done);
    assert!(LATENCY * PODS / 2 <= elapsed, "bindings count: {elapsed:?}");
}

#[test]
fn rate_limit_applies_to_bindings() {
    let limit = Some(RateLimit { qps: 100.0, burst: 1 });
    let link = LinkSettings { limit, ..LinkSettings::INSTANT };
    let elapsed = run(store(true), Calls::Direct, link, |store| bound(store) == PODS as usize);
    assert!(Duration::from_millis(10) * (PODS - 1) <= elapsed, "one call in 10 ms: {elapsed:?}");
}

/// Whether a runtime that was dropped, as an error path drops it, holds nothing of the API any more.
fn lets_go_when_dropped(link: LinkSettings) -> bool {
    let api: Arc<dyn Api> = Arc::new(store(true));
    let settings = WallSettings { threads: 2, link };
    let runtime =
        WallRuntime::start(Arc::clone(&api), scheduler(Calls::Direct), 0, settings, (NoRecorder, NoRecorder));
    drop(runtime.expect("threads"));
    Arc::strong_count(&api) == 1
}

#[test]
fn dropped_runtime_has_stopped_its_scheduler_and_binder_threads() {
    assert!(lets_go_when_dropped(LinkSettings::INSTANT), "calls on the scheduler thread");
    assert!(lets_go_when_dropped(with_latency()), "calls on a thread of their own");
}
