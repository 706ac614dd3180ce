//! A soak: a small cluster in which everything comes and goes under names that never repeat. What is
//! left behind adds up; after the first waves memory must not grow any more.
//!
//! ```text
//! wave n: nodes, namespace, service, claims and pods of names with n in them come, the scheduler
//!         does what it can, pods and objects go, and so do the nodes of wave n - 1
//! ```
//!
//! Other names each time: nodes, namespaces, zones, images, taints, extended resources, labels,
//! classes with rules of topology of their own, bodies, pods, claims, condition messages, and nodes
//! that pods are nominated to and that never exist.

use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{ScheduleOneOutcome, Scheduler};
use serde_json::{Value, json};

use schedlab_cluster::api::{Api, ApiError, Object, ObjectKey, Watch, WatchEvent};
use schedlab_cluster::embedded::EmbeddedCluster;
use schedlab_cluster::runtime::virtual_time::{ReadyCall, VirtualClock, VirtualScheduler};

const NODES: u64 = 8;
/// Pods of a template.
const REPLICAS: u32 = 40;
/// Pods of each kind that have a body of their own.
const SINGLES: u64 = 12;
const MS: u64 = 1_000_000;
/// Rounds after which a wave that does not come to rest is a bug.
const ROUNDS_MAX: usize = 10_000;

/// What the parts of the lab say that they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoakMemory {
    /// Of the store: pods, names, bodies, conditions, the log.
    pub store_bytes: usize,
    /// Of the scheduler: nodes.
    pub node_bytes: usize,
    /// Of the scheduler: pods and queue.
    pub pod_bytes: usize,
}

/// A soak under way.
pub struct Soak {
    api: EmbeddedCluster,
    clock: VirtualClock,
    watch: Box<dyn Watch>,
    scheduler: VirtualScheduler,
    drained: Vec<WatchEvent>,
    calls: Vec<ReadyCall>,
    /// Objects of this wave, to go at its end.
    objects: Vec<ObjectKey>,
    pods: Vec<PodUid>,
    /// Nodes of the last wave.
    old_nodes: Vec<ObjectKey>,
    waves: u64,
    events: u64,
    bound: u64,
}

impl Default for Soak {
    fn default() -> Self {
        let clock = VirtualClock::default();
        clock.set(1_000 * MS);
        let api = EmbeddedCluster::new(clock.reader());
        let watch = api.watch(0).expect("a new store has kept everything");
        Soak {
            api,
            clock,
            watch,
            scheduler: VirtualScheduler::new(Scheduler::new(EngineSettings::default(), 0)),
            drained: Vec::new(),
            calls: Vec::new(),
            objects: Vec::new(),
            pods: Vec::new(),
            old_nodes: Vec::new(),
            waves: 0,
            events: 0,
            bound: 0,
        }
    }
}

impl Soak {
    /// How many things must have come or gone before scheduler and store look for what is no longer in
    /// use.
    pub fn set_reclaim_floor(&mut self, things: u64) {
        self.api.set_reclaim_floor(things);
        self.scheduler.scheduler.set_reclaim_floor(things);
    }

    /// Watch events, attempts and calls so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Waves so far.
    #[must_use]
    pub fn waves(&self) -> u64 {
        self.waves
    }

    /// Pods bound so far.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// What the parts say that they hold.
    #[must_use]
    pub fn memory(&self) -> SoakMemory {
        let (node_bytes, pod_bytes) = self.scheduler.scheduler.memory_bytes();
        SoakMemory { store_bytes: self.api.memory_bytes(), node_bytes, pod_bytes }
    }

    /// Everything comes, and goes.
    ///
    /// # Errors
    /// When the store refuses what the soak does: a bug.
    pub fn wave(&mut self) -> Result<(), ApiError> {
        let wave = self.waves;
        self.waves += 1;
        let mut nodes = Vec::new();
        for at in 0..NODES {
            nodes.push(self.create(node(wave, at))?);
        }
        for object in objects_of_wave(wave) {
            let key = self.create(object)?;
            self.objects.push(key);
        }
        self.settle()?;
        self.create_pods(wave)?;
        self.settle()?;
        for pod in std::mem::take(&mut self.pods) {
            self.bound += u64::from(self.api.pod_row(pod).is_some_and(|row| row.node.is_some()));
            self.api.delete_pod(pod)?;
        }
        let gone = std::mem::replace(&mut self.old_nodes, nodes);
        // The namespace came first and goes last.
        let objects = std::mem::take(&mut self.objects).into_iter().rev();
        for key in gone.into_iter().chain(objects) {
            self.api.delete(&key, None)?;
        }
        self.settle()
    }

    fn create(&self, value: Value) -> Result<ObjectKey, ApiError> {
        Ok(self.api.create(read(value))?.key())
    }

    fn create_pods(&mut self, wave: u64) -> Result<(), ApiError> {
        let namespace = format!("space-{wave}");
        let template = read(replica(wave)).into_pod().expect("a pod");
        let template = self.api.pod_template(*template, &namespace)?;
        self.pods.extend(self.api.create_pods(&template, REPLICAS)?.uids());
        for single in (0..SINGLES).flat_map(|at| [loner(wave, at), ghost(wave, at), claimant(wave, at)]) {
            let pod = read(single).into_pod().expect("a pod");
            let template = self.api.pod_template(*pod, &namespace)?;
            self.pods.extend(self.api.create_pods(&template, 1)?.uids());
        }
        Ok(())
    }

    /// Until nothing moves but the clock.
    fn settle(&mut self) -> Result<(), ApiError> {
        for _ in 0..ROUNDS_MAX {
            let now_ns = self.clock.now_ns() + 10 * MS;
            self.clock.set(now_ns);
            let mut moved = self.watch.drain_into(&mut self.drained)?;
            for event in self.drained.drain(..) {
                self.scheduler.deliver(&event, &self.api, now_ns);
            }
            self.scheduler.scheduler.advance(now_ns);
            while self.scheduler.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle {
                moved += 1;
            }
            self.scheduler.take_calls(&self.api, &mut self.calls);
            moved += self.calls.len();
            for call in self.calls.drain(..) {
                let result = call.perform(&self.api);
                self.scheduler.answer(&call, result, now_ns);
            }
            self.events += moved as u64;
            if moved == 0 {
                return Ok(());
            }
        }
        panic!("wave {} does not come to rest", self.waves)
    }
}

fn read(value: Value) -> Object {
    Object::from_json(value).expect("the soak's objects are well formed")
}

fn node(wave: u64, at: u64) -> Value {
    let name = format!("node-{wave}-{at}");
    let image = format!("registry.example/image-{wave}:{at}");
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("zone-{wave}-{}", at % 3),
            format!("key-{wave}"): "x",
        } },
        "spec": { "taints": [{ "key": format!("taint-{wave}"), "effect": "PreferNoSchedule" }] },
        "status": {
            "allocatable": { "cpu": "16", "memory": "64Gi", "pods": "110",
                             format!("example.com/device-{wave}"): "4" },
            "images": [{ "names": [image], "sizeBytes": 300_000_000 + at }],
        },
    })
}

fn objects_of_wave(wave: u64) -> Vec<Value> {
    let namespace = format!("space-{wave}");
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": namespace, "labels": { "wave": format!("{wave}") } } }),
        json!({ "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "service", "namespace": namespace },
                "spec": { "selector": { "app": format!("app-{wave}") } } }),
        json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": { "name": format!("class-{wave}") },
                "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer" }),
    ];
    for at in 0..SINGLES {
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": format!("claim-{at}"), "namespace": namespace },
            "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": format!("class-{wave}"),
                      "resources": { "requests": { "storage": "1Gi" } } },
        }));
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": { "name": format!("volume-{wave}-{at}") },
            "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": format!("class-{wave}"),
                      "capacity": { "storage": "1Gi" },
                      "csi": { "driver": format!("driver-{wave}.example"), "volumeHandle": format!("{wave}-{at}") } },
            "status": { "phase": "Available" },
        }));
    }
    objects
}

fn pod(metadata: Value, spec: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

fn containers(wave: u64, milli: u64) -> Value {
    json!([{ "name": "c", "image": format!("registry.example/image-{wave}:1"),
             "resources": { "requests": { "cpu": format!("{milli}m") } } }])
}

/// One of many that spread over zones.
fn replica(wave: u64) -> Value {
    let app = format!("app-{wave}");
    pod(
        json!({ "generateName": format!("replica-{wave}-"), "labels": { "app": app } }),
        json!({
            "containers": containers(wave, 100),
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": { "matchLabels": { "app": app } },
            }],
        }),
    )
}

/// One that keeps away from its like, prefers a label of the wave, and takes a device.
fn loner(wave: u64, at: u64) -> Value {
    let term = json!({
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": { "matchLabels": { "single": format!("{wave}-{at}") } },
    });
    let prefers = json!({ "matchExpressions": [{ "key": format!("key-{wave}"), "operator": "Exists" }] });
    let mut containers = containers(wave, 100 + at);
    ask_device(&mut containers, &format!("example.com/device-{wave}"));
    containers[0]["ports"] =
        json!([{ "containerPort": 80, "hostPort": 1 + wave % 30_000, "hostIP": "10.0.0.1" }]);
    pod(
        json!({ "name": format!("loner-{wave}-{at}"), "labels": { "single": format!("{wave}-{at}") } }),
        json!({
            "containers": containers,
            "affinity": {
                "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] },
                "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution":
                                  [{ "weight": 1, "preference": prefers }] },
            },
        }),
    )
}

/// A device for the first container; the API takes no request of one without its limit.
fn ask_device(containers: &mut Value, name: &str) {
    for list in ["requests", "limits"] {
        containers[0]["resources"][list][name] = json!("1");
    }
}

/// One that fits nowhere and is nominated to a node that never exists; its condition names a resource
/// of its own.
fn ghost(wave: u64, at: u64) -> Value {
    let mut containers = containers(wave, 100);
    ask_device(&mut containers, &format!("example.com/none-{wave}-{at}"));
    let mut ghost = pod(json!({ "name": format!("ghost-{wave}-{at}") }), json!({ "containers": containers }));
    ghost["status"] = json!({ "nominatedNodeName": format!("nowhere-{wave}-{at}") });
    ghost
}

/// One with a claim.
fn claimant(wave: u64, at: u64) -> Value {
    let claim = json!({ "name": "data", "persistentVolumeClaim": { "claimName": format!("claim-{at}") } });
    pod(
        json!({ "name": format!("claimant-{wave}-{at}") }),
        json!({ "containers": containers(wave, 100), "volumes": [claim] }),
    )
}

impl std::fmt::Debug for Soak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Soak")
            .field("waves", &self.waves)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}
