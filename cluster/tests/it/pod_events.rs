//! Events about pods, as somebody who lists them sees them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, GenericObject, ListQuery, Object};
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::record::NoRecorder;
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::scheduler::{EventLevel, Scheduler, SchedulerSettings};
use schedlab_core::world::World;
use serde_json::json;

use crate::support::{cluster, create, node_value, pod_value};

fn start(store: &EmbeddedCluster, events: EventLevel) -> WallRuntime<NoRecorder, NoRecorder> {
    let mut world = World::default();
    let profiles = vec![default_profile(&mut world.vocabulary)];
    let settings = SchedulerSettings { events, ..SchedulerSettings::default() };
    let scheduler = Scheduler::with_settings(world, profiles, EngineSettings::default(), settings);
    let api: Arc<dyn Api> = Arc::new(store.clone());
    let wall = WallSettings { threads: 1, link: LinkSettings::INSTANT };
    WallRuntime::start(api, scheduler.expect("the gates fit"), 0, wall, (NoRecorder, NoRecorder))
        .expect("threads")
}

/// Reason, pod and note of every event, once the scheduler rests.
fn events(store: &EmbeddedCluster, level: EventLevel) -> Vec<String> {
    let runtime = start(store, level);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !runtime.is_quiescent(store.resource_version()) {
        assert!(Instant::now() < deadline, "the scheduler never rests");
        std::thread::yield_now();
    }
    runtime.stop().expect("no thread panicked");
    let listed = store.list(&ListQuery::all("events.k8s.io/v1", "Event")).expect("listed");
    let text = |event: &GenericObject| {
        let body = &event.body;
        format!("{} {} {}", body["reason"], body["regarding"]["name"], body["note"]).replace('"', "")
    };
    let mut texts: Vec<String> = listed
        .items
        .iter()
        .filter_map(|object| if let Object::Other(event) = object { Some(text(event)) } else { None })
        .collect();
    texts.sort();
    texts
}

fn store() -> EmbeddedCluster {
    let store = cluster();
    create(&store, node_value("a"));
    create(&store, pod_value("fits"));
    let mut large = pod_value("large");
    large["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "100" } });
    create(&store, large);
    store
}

#[test]
fn events_are_objects_that_can_be_listed() {
    let failed = "FailedScheduling large 0/1 nodes are available: 1 Insufficient cpu.";
    let cases = [
        (EventLevel::Off, vec![]),
        (EventLevel::Problems, vec![failed]),
        (EventLevel::All, vec![failed, "Scheduled fits Successfully assigned default/fits to a"]),
    ];
    for (level, wanted) in cases {
        let store = store();
        let found = events(&store, level);
        assert_eq!(found.len(), wanted.len(), "{level:?}: {found:?}");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(found.starts_with(wanted), "{level:?}: {found}");
        }
        let posts = store.call_counts().calls.get("POST events").copied().unwrap_or(0);
        assert_eq!(posts, wanted.len() as u64, "{level:?}");
    }
}
