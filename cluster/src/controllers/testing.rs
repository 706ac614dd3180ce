//! What tests of controllers are written with: a cluster, a controller in virtual time, and objects as JSON.

use serde_json::{Value, json};

use super::{ControllerDescriptor, ControllerSettings};
use crate::EmbeddedCluster;
use crate::api::{
    Api, ApiError, Binding, ConditionEdit, ConditionPatch, ConditionStatus, NominatedNodeNamePatch, Object,
    ObjectKey, PodFilter, PodPhase, PodStatusPatch, StoredPodRow, Watch, WatchEvent,
};
use crate::runtime::virtual_time::{VirtualClock, VirtualController};

/// One second.
pub(super) const SECOND: u64 = 1_000_000_000;

/// A cluster with some controllers.
pub(super) struct Bench {
    pub(super) api: EmbeddedCluster,
    clock: VirtualClock,
    watch: Box<dyn Watch>,
    pub(super) controllers: Vec<VirtualController>,
}

impl Bench {
    /// With these controllers, at second 1000.
    pub(super) fn new(controllers: &[(&'static ControllerDescriptor, Value)]) -> Bench {
        let clock = VirtualClock::default();
        clock.set(1000 * SECOND);
        let api = EmbeddedCluster::new(clock.reader());
        let watch = api.watch(api.resource_version()).expect("the log begins here");
        let make = |(descriptor, config): &(&'static ControllerDescriptor, Value)| {
            let config = Some(config.clone()).filter(|config| !config.is_null());
            let settings = ControllerSettings { config, seed: 7, ..ControllerSettings::default() };
            VirtualController::new(descriptor, &settings, 1).expect("a configuration that will do")
        };
        Bench { api, clock, watch, controllers: controllers.iter().map(make).collect() }
    }

    pub(super) fn create(&self, value: Value) -> Object {
        let object = Object::from_json(value.clone()).expect("an object");
        self.api.create(object).unwrap_or_else(|error| panic!("{value}: {error}"))
    }

    pub(super) fn update(&self, value: Value) {
        self.api.update(Object::from_json(value).expect("an object")).expect("the object is there");
    }

    pub(super) fn node(&self, name: &str, cpu: &str) {
        let amounts = json!({ "cpu": cpu, "memory": "8Gi", "pods": "10" });
        self.create(json!({ "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
            "status": { "capacity": amounts, "allocatable": amounts } }));
    }

    /// Lets the controllers see what happened and act, until nothing is left to do now.
    pub(super) fn settle(&mut self) {
        for _ in 0..200 {
            let mut events: Vec<WatchEvent> = Vec::new();
            self.watch.drain_into(&mut events).expect("the log keeps a test's events");
            let now_ns = self.clock.now_ns();
            let mut work = events.len();
            for controller in &mut self.controllers {
                events.iter().for_each(|event| controller.deliver(event, &self.api, now_ns));
                controller.advance(&self.api, now_ns);
                work += controller.perform_calls(&self.api, now_ns);
            }
            if work == 0 {
                return;
            }
        }
        panic!("no rest after 200 rounds");
    }

    /// Moves the clock and settles.
    pub(super) fn pass(&mut self, ns: u64) {
        self.clock.set(self.clock.now_ns() + ns);
        self.settle();
    }

    pub(super) fn pods(&self) -> Vec<StoredPodRow> {
        self.api.pods_now(PodFilter::default())
    }

    /// A pod as JSON.
    pub(super) fn pod(&self, row: &StoredPodRow) -> Value {
        let key = ObjectKey::pod("default", &self.api.pod_name(row.name));
        let pod = self.api.get(&key).expect("there").into_pod().expect("a pod");
        serde_json::to_value(*pod).expect("a pod as JSON")
    }

    /// Binds a pod as a scheduler does.
    pub(super) fn bind(&self, row: &StoredPodRow, node: &str) {
        let node = self.api.node_name_id(node);
        self.api.bind_pod(Binding { pod: row.uid, node }).expect("it is unbound");
    }

    /// Says that a pod runs, and whether it is ready.
    pub(super) fn run(&self, row: &StoredPodRow, is_ready: bool) {
        let status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
        let condition = ConditionPatch { type_: "Ready", status, reason: "", message: "" };
        self.patch(row, Some(ConditionEdit::Set(condition)), PodPhase::Running).expect("there");
    }

    /// Ends a pod.
    pub(super) fn finish(&self, row: &StoredPodRow, phase: PodPhase) {
        self.patch(row, None, phase).expect("there");
    }

    fn patch(
        &self,
        row: &StoredPodRow,
        condition: Option<ConditionEdit<'_>>,
        phase: PodPhase,
    ) -> Result<u64, ApiError> {
        let nomination = NominatedNodeNamePatch::Keep;
        self.api.patch_pod_status(PodStatusPatch { pod: row.uid, condition, nomination, phase: Some(phase) })
    }

    /// The status of an object in namespace `default`.
    pub(super) fn status(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let key = ObjectKey::namespaced(api_version, kind, "default", name);
        let object = self.api.get(&key).expect("there").into_other().expect("another kind");
        object.body.get("status").cloned().unwrap_or_default()
    }

    /// What a controller counted.
    pub(super) fn counter(&self, at: usize, name: &str) -> u64 {
        self.controllers[at].report().counter(name)
    }
}

/// An object that owns pods with label `app` of its name.
pub(super) fn owner(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({ "matchLabels": { "app": name } });
    if spec.get("template").is_none() {
        spec["template"] = json!({ "metadata": { "labels": { "app": name } },
            "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] } });
    }
    json!({ "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "namespace": "default" }, "spec": spec })
}

/// The descriptor without a configuration.
pub(super) fn plain(descriptor: &'static ControllerDescriptor) -> (&'static ControllerDescriptor, Value) {
    (descriptor, Value::Null)
}
