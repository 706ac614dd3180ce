//! Events about pods, as somebody who lists them sees them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_cluster::api::{
    Api, GenericObject, ListQuery, Object, ObjectKey, PodEventMessage, PodEventPost, WatchEvent,
};
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::record::NoRecorder;
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_cluster::{EmbeddedCluster, StatusReason};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{EventLevel, PodEventReason, Scheduler, SchedulerSettings};
use schedlab_core::world::World;
use serde_json::json;

use crate::support::{cluster, create, create_pod, drain, node_value, pod_value};

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

fn waits(pod: PodUid) -> PodEventPost {
    let note = PodEventMessage::Text("waiting for claim \"later\" to be present".into());
    PodEventPost { pod, named: None, reason: PodEventReason::NotReadyForScheduling, note }
}

fn event_key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("events.k8s.io/v1", "Event", "default", name)
}

#[test]
fn event_takes_a_resource_version_and_can_be_read_as_an_object() {
    let store = cluster();
    let pod = create_pod(&store, "web");
    let mut watch = store.watch(store.resource_version()).expect("the version exists");
    let mut results = Vec::new();
    store.post_pod_events(&[waits(pod), waits(pod)], &mut results);
    let version = store.resource_version();
    let seen: Vec<u64> = drain(&mut watch).iter().map(WatchEvent::resource_version).collect();
    assert_eq!(seen, [version - 1, version], "each is an event of the watch");
    assert_eq!(results.iter().flatten().map(|event| event.number).collect::<Vec<_>>(), [1, 2]);

    let object = store.get(&event_key("web.2")).expect("it is there").into_other().expect("not a pod");
    assert_eq!(object.metadata.resource_version, Some(version.to_string()));
    assert_eq!(object.body["regarding"]["name"], "web");
    assert_eq!((&object.body["type"], &object.body["action"]), (&json!("Warning"), &json!("Scheduling")));
    store.delete(&event_key("web.1"), None).expect("it can be deleted");
    let refused = store.get(&event_key("web.1")).expect_err("it is gone");
    assert_eq!(refused.reason, StatusReason::NotFound);
}

#[test]
fn pod_events_outlive_the_pod_and_are_deleted_with_the_namespace() {
    let store = cluster();
    let pod = create_pod(&store, "web");
    store.delete_pod(pod).expect("the pod exists");
    let mut results = Vec::new();
    store.post_pod_events(&[waits(pod), waits(PodUid(99))], &mut results);
    assert!(results[0].is_ok(), "the pod went a moment ago");
    assert_eq!(
        results[1].as_ref().map_err(|error| error.reason),
        Err(StatusReason::NotFound),
        "nobody has it"
    );
    let namespace = ObjectKey::cluster("v1", "Namespace", "default");
    store.delete(&namespace, None).expect("the namespace exists");
    let listed = store.list(&ListQuery::all("events.k8s.io/v1", "Event")).expect("listed");
    assert_eq!(listed.items, []);
    store.post_pod_events(&[waits(pod)], &mut results);
    assert_eq!(
        results[2].as_ref().map_err(|error| error.reason),
        Err(StatusReason::NotFound),
        "no namespace"
    );
}
