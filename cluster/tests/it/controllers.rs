//! Controllers on threads and in virtual time: whatever a controller watches and does, both runners run it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use schedlab_cluster::api::{Api, ApiError, EventKind, PodTemplateRef, WatchEvent, WatchedObject};
use schedlab_cluster::controllers::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerReport, ControllerRequest, ControllerSettings, PodsWatched, Remaining,
    Sharding, WatchScope, taint_eviction,
};
use schedlab_cluster::runtime::virtual_time::VirtualController;
use schedlab_cluster::runtime::{RuntimeError, WallController};
use serde_json::{Value, json};

use crate::support::{cluster, create, node_value, object, pod_value};

/// Long enough for any machine; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes as many pods as ReplicaSets ask for, and makes those anew that go.
static REPLICAS: ControllerDescriptor = ControllerDescriptor {
    name: "test-replicaset-controller",
    about: "makes pods of ReplicaSets",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: false, pods: PodsWatched::All, kinds: &[("apps/v1", "ReplicaSet")] },
    sharding: Sharding::None,
    constructor: replicas,
};

fn replicas(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    if let Some(config) = &settings.config {
        return Err(ControllerConfigError::new(format!("unknown field in {config}")));
    }
    Ok(Box::<Replicas>::default())
}

#[derive(Default)]
struct Replicas {
    sets: BTreeMap<String, (u32, PodTemplateRef)>,
    /// Pods by their name, without the number.
    pods: BTreeMap<u64, String>,
    under_way: BTreeMap<CallToken, (String, u32)>,
    created: u64,
}

impl Controller for Replicas {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Other(set) => {
                let name = set.metadata.name.clone().expect("a stored object has a name");
                let mut template: Value = set.body["spec"]["template"].clone();
                template["metadata"] = json!({ "generateName": format!("{name}-") });
                let pod = serde_json::from_value(template).expect("a pod");
                let template = context.tables.pod_template(pod, "default").expect("valid");
                let count = set.body["spec"]["replicas"].as_u64().expect("a number") as u32;
                self.sets.insert(name, (count, template));
            }
            WatchedObject::Pod(row) => {
                let name = context.tables.pod_name(row.name);
                let set = name.rsplit_once('-').map(|(set, _)| set.to_owned()).unwrap_or_default();
                match event.kind {
                    EventKind::Deleted => drop(self.pods.remove(&row.uid.0)),
                    EventKind::Added | EventKind::Modified => drop(self.pods.insert(row.uid.0, set)),
                }
            }
            WatchedObject::Node(_) | WatchedObject::PodEvent(_) => panic!("not in its scope: {event:?}"),
        }
    }

    fn advance(&mut self, _: ControllerContext<'_>) {}

    fn next_wake_ns(&self) -> Option<u64> {
        None
    }

    fn take_calls(&mut self, _: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        for (name, (wanted, template)) in &self.sets {
            let there = self.pods.values().filter(|set| *set == name).count() as u32;
            let coming: u32 =
                self.under_way.values().filter(|(set, _)| set == name).map(|(_, count)| count).sum();
            let count = wanted.saturating_sub(there + coming);
            if count > 0 {
                let token = CallToken(self.created);
                self.created += u64::from(count);
                self.under_way.insert(token, (name.clone(), count));
                let request = ControllerRequest::CreatePods { template: Arc::clone(template), count };
                into.push(ControllerCall { token, request });
            }
        }
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        _: ControllerContext<'_>,
    ) {
        let (set, _) = self.under_way.remove(&token).expect("it was under way");
        let Ok(ControllerAnswer::Pods(made)) = answer else { panic!("{answer:?}") };
        // The watch will tell of them; until then they count all the same.
        self.pods.extend(made.uids().map(|pod| (pod.0, set.clone())));
    }

    fn remaining(&self) -> Remaining {
        if self.under_way.is_empty() { Remaining::Nothing } else { Remaining::Work }
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[("pods_created", self.created)])
    }
}

fn replica_set(name: &str, replicas: u32) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": name, "namespace": "default" },
        "spec": { "replicas": replicas, "template": { "spec": pod_value("x")["spec"] } } })
}

#[track_caller]
fn settle(controller: &WallController, cluster: &schedlab_cluster::EmbeddedCluster) {
    let end = Instant::now() + PATIENCE;
    while !controller.is_quiescent(cluster.resource_version()) {
        assert!(Instant::now() < end, "the controller never rests");
        assert!(!controller.has_died(), "a thread ended");
        thread::yield_now();
    }
}

#[test]
fn controller_of_another_kind_creates_pods_on_threads() {
    let cluster = cluster();
    create(&cluster, replica_set("before", 2));
    let settings = ControllerSettings::default();
    let controller = WallController::start(Arc::new(cluster.clone()), &REPLICAS, &settings).expect("threads");
    settle(&controller, &cluster);
    assert_eq!(cluster.pod_count(), 2, "what was there when it started");
    create(&cluster, node_value("n"));
    create(&cluster, replica_set("after", 3));
    settle(&controller, &cluster);
    assert_eq!(cluster.pod_count(), 5);
    let one = cluster.pods_in(Default::default()).expect("listed").rows[0].uid;
    cluster.delete_pod(one).expect("it exists");
    settle(&controller, &cluster);
    assert_eq!(cluster.pod_count(), 5, "the pod that went is made anew");
    assert_eq!(controller.stop().expect("its threads end well").counter("pods_created"), 6);
}

#[test]
fn the_same_controller_creates_the_same_pods_in_virtual_time() {
    let cluster = cluster();
    create(&cluster, replica_set("a", 2));
    let mut controller = VirtualController::new(&REPLICAS, &ControllerSettings::default(), 4)
        .expect("it takes no configuration");
    let mut watch = cluster.watch(cluster.resource_version()).expect("kept");
    controller.list(&cluster, 0).expect("listed");
    assert_eq!(controller.perform_calls(&cluster, 0), 1, "a batch of two");
    let one = cluster.pods_in(Default::default()).expect("listed").rows[0].uid;
    cluster.delete_pod(one).expect("it exists");
    create(&cluster, node_value("n"));
    let mut events = Vec::new();
    watch.drain_into(&mut events).expect("kept");
    events.iter().for_each(|event| controller.deliver(event, &cluster, 1));
    controller.perform_calls(&cluster, 1);
    assert_eq!((cluster.pod_count(), controller.remaining()), (2, Remaining::Nothing));
    assert_eq!(controller.report().counter("pods_created"), 3);
}

#[test]
fn configuration_that_a_controller_refuses_ends_its_start() {
    let settings = ControllerSettings { config: Some(json!({ "rate": 5 })), ..ControllerSettings::default() };
    for descriptor in [&REPLICAS, &taint_eviction::DESCRIPTOR] {
        let refused = WallController::start(Arc::new(cluster()), descriptor, &settings);
        let Err(error @ RuntimeError::ControllerConfig { .. }) = refused else { panic!("{refused:?}") };
        assert!(error.to_string().starts_with(&format!("controller {}: ", descriptor.name)), "{error}");
    }
}

#[test]
fn toleration_seconds_that_run_are_timers_and_not_work() {
    let cluster = cluster();
    let tainted = |taints: Value| {
        let mut node = node_value("n");
        node["spec"] = json!({ "taints": taints });
        node
    };
    create(&cluster, tainted(json!([{ "key": "down", "effect": "NoExecute" }])));
    let mut pod = pod_value("patient");
    pod["spec"]["nodeName"] = json!("n");
    pod["spec"]["tolerations"] =
        json!([{ "key": "down", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600 }]);
    create(&cluster, pod);
    let settings = ControllerSettings::default();
    let controller = WallController::start(Arc::new(cluster.clone()), &taint_eviction::DESCRIPTOR, &settings)
        .expect("threads");
    settle(&controller, &cluster);
    assert!(controller.has_timers());
    cluster.update(object(tainted(json!([])))).expect("the node exists");
    settle(&controller, &cluster);
    assert!(!controller.has_timers(), "the taint is gone");
    let report = controller.stop().expect("its threads end well");
    assert_eq!((report.counter("delayed"), report.counter("reprieved")), (1, 1));
    assert_eq!(cluster.pod_count(), 1);
}
