//! A cluster and its schedulers on one thread, with a clock that moves when told.
//!
//! ```text
//!            create, update, delete
//! test ───────────────────────────────▶ embedded store ──watch──▶ Bridge ──▶ Scheduler
//!   │  observe, attempt, run, pass          ▲                                   │ calls
//!   └───────────────────────────────────────┴── performed, held or refused ◀────┘
//! ```
//!
//! Nothing happens by itself: [`Lab::observe`] lets the schedulers see what happened,
//! [`Lab::attempt`] tries one pod, [`Lab::run`] goes on until nothing is left to do at this time,
//! [`Lab::pass`] moves the clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{
    Api, EventKind, NodeEntry, Object, ObjectKey, PodFilter, Watch, WatchEvent, WatchedObject, parse_pod_uid,
};
use schedlab_cluster::convert::node_input;
use schedlab_cluster::runtime::Bridge;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{ScheduleOneOutcome, Scheduler, Standing};

use crate::calls::{Calls, Outcome};
use crate::manifest::Manifest;
use crate::setup::Setup;

/// One second.
pub const SECOND: u64 = 1_000_000_000;
/// Rounds after which a lab that finds no rest is taken to run in circles.
const ROUNDS_MAX: usize = 10_000;

/// A scheduler at work.
pub struct Seat {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Between the watch and the scheduler.
    pub bridge: Bridge,
    watch: Box<dyn Watch>,
    /// What it asked of the API.
    pub calls: Calls,
    attempts: usize,
}

/// The cluster and its schedulers.
pub struct Lab {
    /// The store.
    pub api: Arc<EmbeddedCluster>,
    clock: Arc<AtomicU64>,
    seats: Vec<Seat>,
    names: BTreeMap<PodUid, String>,
}

impl Lab {
    /// A cluster with one scheduler.
    pub fn new(setup: &Setup) -> Lab {
        let clock = Arc::new(AtomicU64::new(1_000 * SECOND));
        let time = Arc::clone(&clock);
        let api = Arc::new(EmbeddedCluster::new(Arc::new(move || time.load(Ordering::Relaxed))));
        if !setup.gates().clearing_nominated_node_name_after_binding {
            api.keep_nomination_of_bound_pods();
        }
        let mut lab = Lab { api, clock, seats: Vec::new(), names: BTreeMap::new() };
        lab.add_scheduler(setup);
        lab
    }

    /// Starts another scheduler, which first sees all that is there. Returns its number.
    pub fn add_scheduler(&mut self, setup: &Setup) -> usize {
        let seat = self.open(setup);
        self.seats.push(seat);
        self.seats.len() - 1
    }

    /// The first scheduler ends, whatever it was doing, and a fresh one takes its place.
    pub fn restart(&mut self, setup: &Setup) {
        self.seats[0] = self.open(setup);
    }

    fn open(&self, setup: &Setup) -> Seat {
        let mut scheduler = setup.build();
        let mut bridge = Bridge::default();
        let (listed, version) = self.list_all();
        for event in &listed {
            bridge.deliver(event, self.api.as_ref(), &mut scheduler, self.now_ns());
        }
        let watch = self.api.watch(version).expect("the log reaches back to the list");
        Seat { scheduler, bridge, watch, calls: Calls::default(), attempts: 0 }
    }

    /// Everything that exists, as a client sees it that lists before it watches.
    fn list_all(&self) -> (Vec<WatchEvent>, u64) {
        let api = self.api.as_ref();
        let added = |object| WatchEvent { kind: EventKind::Added, object };
        let mut events = Vec::new();
        let others = [
            ("v1", "Namespace"),
            ("v1", "Service"),
            ("v1", "PersistentVolume"),
            ("v1", "PersistentVolumeClaim"),
            ("storage.k8s.io/v1", "StorageClass"),
            ("storage.k8s.io/v1", "CSINode"),
            ("storage.k8s.io/v1", "CSIDriver"),
            ("storage.k8s.io/v1", "CSIStorageCapacity"),
            ("storage.k8s.io/v1", "VolumeAttachment"),
            ("policy/v1", "PodDisruptionBudget"),
        ];
        for (api_version, kind) in others {
            let list = api.list(&schedlab_cluster::api::ListQuery::all(api_version, kind)).expect("listed");
            let objects = list.items.into_iter().filter_map(Object::into_other);
            events.extend(objects.map(|object| added(WatchedObject::Other(Arc::from(object)))));
        }
        let nodes = api.list(&schedlab_cluster::api::ListQuery::all("v1", "Node")).expect("listed");
        for node in nodes.items.into_iter().filter_map(Object::into_node) {
            let input = Arc::new(node_input(&node).expect("a stored node can be read"));
            let name = api.node_name_id(&input.name);
            let entry = NodeEntry { name, resource_version: 0, input, object: Arc::from(node) };
            events.push(added(WatchedObject::Node(Arc::new(entry))));
        }
        let pods = api.pods_in(PodFilter::default()).expect("listed");
        events.extend(pods.rows.iter().map(|&row| added(WatchedObject::Pod(row))));
        (events, pods.resource_version)
    }

    /// The time.
    pub fn now_ns(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    // What users do.

    /// Creates an object, and writes its status where that takes a second call.
    pub fn create(&mut self, manifest: impl Into<Manifest>) {
        let value: serde_json::Value = manifest.into().into();
        let object = Object::from_json(value.clone()).expect("a well-formed object");
        let made = self.api.create(object).unwrap_or_else(|error| panic!("{value}: {error}"));
        if let Object::Pod(pod) = &made {
            let uid = pod.metadata.uid.as_deref().and_then(parse_pod_uid).expect("a pod has a UID");
            self.names.insert(uid, pod.metadata.name.clone().unwrap_or_default());
        }
        if matches!(made, Object::Other(_)) && !value["status"].is_null() {
            let object = Object::from_json(value).expect("it was read before");
            self.api.update_status(object).expect("the object is there");
        }
    }

    /// Creates objects in order.
    pub fn create_all(&mut self, manifests: impl IntoIterator<Item = Manifest>) {
        manifests.into_iter().for_each(|manifest| self.create(manifest));
    }

    /// Replaces an object; its status stays.
    pub fn update(&mut self, manifest: Manifest) {
        let object = Object::from_json(manifest.into()).expect("a well-formed object");
        self.api.update(object).expect("the object is there");
    }

    /// Replaces an object's status.
    pub fn update_status(&mut self, manifest: Manifest) {
        let object = Object::from_json(manifest.into()).expect("a well-formed object");
        self.api.update_status(object).expect("the object is there");
    }

    /// Changes a stored pod and writes it back.
    pub fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        let mut pod = self.pod(name);
        change(&mut pod);
        self.api.update(Object::Pod(Box::new(pod))).expect("the pod is there");
    }

    /// Lets a pod go that was deleted and stayed.
    pub fn let_go(&mut self, name: &str) {
        self.change_pod(name, |pod| pod.metadata.finalizers = None);
    }

    /// Deletes an object.
    pub fn delete(&mut self, manifest: &Manifest) {
        let object = Object::from_json(manifest.clone().into()).expect("a well-formed object");
        self.api.delete(&object.key(), None).expect("the object is there");
    }

    /// Deletes a pod.
    pub fn delete_pod(&mut self, name: &str) {
        self.api.delete(&ObjectKey::pod("default", name), None).expect("the pod is there");
    }

    /// Deletes a node.
    pub fn delete_node(&mut self, name: &str) {
        self.api.delete(&ObjectKey::node(name), None).expect("the node is there");
    }

    /// Somebody other than the scheduler says where a pod is to go, or that nobody knows.
    pub fn nominate(&mut self, pod: &str, node: Option<&str>) {
        let mut object = self.pod(pod);
        object.status.get_or_insert_default().nominated_node_name = node.map(str::to_owned);
        self.api.update_status(Object::Pod(Box::new(object))).expect("the pod is there");
    }

    // What happens.

    /// The schedulers see what happened, and the time.
    pub fn observe(&mut self) {
        for at in 0..self.seats.len() {
            self.observe_at(at);
        }
    }

    fn observe_at(&mut self, at: usize) -> usize {
        let now_ns = self.now_ns();
        let seat = &mut self.seats[at];
        let mut events = Vec::new();
        seat.watch.drain_into(&mut events).expect("the log keeps a lab's events");
        seat.scheduler.advance(now_ns);
        for event in &events {
            seat.bridge.deliver(event, self.api.as_ref(), &mut seat.scheduler, now_ns);
        }
        events.len()
    }

    /// The first scheduler tries one pod, and its calls are performed. Whether there was a pod.
    pub fn attempt(&mut self) -> bool {
        self.attempt_at(0)
    }

    /// The same of another scheduler.
    pub fn attempt_at(&mut self, at: usize) -> bool {
        self.observe_at(at);
        let seat = &mut self.seats[at];
        let did = seat.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle;
        seat.attempts += usize::from(did);
        self.perform_at(at);
        did
    }

    /// A scheduler tries one pod on what it knows, without a look at what has happened since.
    pub fn attempt_blindly(&mut self, at: usize) -> bool {
        let seat = &mut self.seats[at];
        let did = seat.scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle;
        seat.attempts += usize::from(did);
        self.perform_at(at);
        did
    }

    fn perform_at(&mut self, at: usize) -> usize {
        let now_ns = self.now_ns();
        let seat = &mut self.seats[at];
        let outcomes = seat.calls.send(&self.api, &mut seat.bridge, &mut seat.scheduler, &self.names);
        for outcome in &outcomes {
            answer(&mut seat.scheduler, outcome, now_ns);
        }
        outcomes.len()
    }

    /// Goes on until nothing is left to do at this time.
    ///
    /// # Panics
    /// When it finds no end.
    pub fn run(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let mut work = 0;
            for at in 0..self.seats.len() {
                work += self.observe_at(at) + self.perform_at(at);
                work += usize::from(self.attempt_at(at));
            }
            if work == 0 {
                return;
            }
        }
        panic!("no rest after {ROUNDS_MAX} rounds; pods wait for: {:?}", self.reasons());
    }

    /// Moves the clock and goes on.
    pub fn pass(&mut self, seconds: u64) {
        self.clock.fetch_add(seconds * SECOND, Ordering::Relaxed);
        self.run();
    }

    /// Moves the clock and lets nobody do anything.
    pub fn wait_silently(&mut self, seconds: u64) {
        self.clock.fetch_add(seconds * SECOND, Ordering::Relaxed);
    }

    /// Goes on, moving the clock whenever somebody waits for it, until nobody does or `seconds` are
    /// over.
    pub fn run_for(&mut self, seconds: u64) {
        let end_ns = self.now_ns() + seconds * SECOND;
        self.run();
        while let Some(wake_ns) = self.next_wake_ns().filter(|&wake_ns| wake_ns <= end_ns) {
            self.clock.store(wake_ns.max(self.now_ns()), Ordering::Relaxed);
            self.run();
        }
        self.clock.store(end_ns, Ordering::Relaxed);
        self.run();
    }

    fn next_wake_ns(&self) -> Option<u64> {
        let wakes = self.seats.iter().filter_map(|seat| seat.scheduler.next_wake_ns());
        // A wake that has passed and left nothing behind would be found for ever.
        wakes.filter(|&wake_ns| wake_ns > self.now_ns()).min()
    }

    /// Performs and answers held calls whose text begins like this; how many they were.
    pub fn release(&mut self, what: &str) -> usize {
        let now_ns = self.now_ns();
        let seat = &mut self.seats[0];
        let outcomes = seat.calls.release(what, &self.api, &mut seat.bridge, &seat.scheduler);
        for outcome in &outcomes {
            answer(&mut seat.scheduler, outcome, now_ns);
        }
        outcomes.len()
    }

    // What is to be seen.

    /// A scheduler by its number.
    pub fn seat(&mut self, at: usize) -> &mut Seat {
        &mut self.seats[at]
    }

    /// The first scheduler.
    pub fn scheduler(&mut self) -> &mut Scheduler {
        &mut self.seats[0].scheduler
    }

    /// The calls of the first scheduler.
    pub fn calls(&mut self) -> &mut Calls {
        &mut self.seats[0].calls
    }

    /// The calls of the first scheduler since this was asked last.
    pub fn take_calls(&mut self) -> Vec<String> {
        self.seats[0].calls.take_log()
    }

    /// How many pods the first scheduler has tried.
    pub fn attempts(&self) -> usize {
        self.seats[0].attempts
    }

    /// A pod as the API has it.
    pub fn pod(&self, name: &str) -> Pod {
        let object = self.api.get(&ObjectKey::pod("default", name)).expect("the pod is there");
        *object.into_pod().expect("a pod")
    }

    /// Whether the API has a pod.
    pub fn exists(&self, name: &str) -> bool {
        self.api.get(&ObjectKey::pod("default", name)).is_ok()
    }

    /// The node a pod is on, by the API.
    pub fn node_of(&self, name: &str) -> Option<String> {
        self.pod(name).spec.and_then(|spec| spec.node_name)
    }

    /// The node a pod is nominated to, by the API.
    pub fn nominated(&self, name: &str) -> Option<String> {
        self.pod(name).status.and_then(|status| status.nominated_node_name)
    }

    /// Condition `PodScheduled` of a pod.
    pub fn scheduled_condition(&self, name: &str) -> Option<PodCondition> {
        let status = self.pod(name).status?;
        status.conditions?.into_iter().find(|condition| condition.type_ == "PodScheduled")
    }

    /// `reason` of condition `PodScheduled`, empty when there is none.
    pub fn reason(&self, name: &str) -> String {
        self.scheduled_condition(name).and_then(|condition| condition.reason).unwrap_or_default()
    }

    /// `message` of condition `PodScheduled`, empty when there is none.
    pub fn message(&self, name: &str) -> String {
        self.scheduled_condition(name).and_then(|condition| condition.message).unwrap_or_default()
    }

    /// The UID of a pod.
    pub fn uid(&self, name: &str) -> PodUid {
        self.pod(name).metadata.uid.as_deref().and_then(parse_pod_uid).expect("a pod has a UID")
    }

    /// Where the first scheduler has a pod.
    pub fn standing(&self, name: &str) -> Standing {
        self.standing_at(0, name)
    }

    /// Where a scheduler has a pod.
    pub fn standing_at(&self, at: usize, name: &str) -> Standing {
        let scheduler = &self.seats[at].scheduler;
        let pod = scheduler.world().pods().find(self.uid(name)).expect("the scheduler knows the pod");
        scheduler.standing(pod)
    }

    /// The node that the first scheduler's nominator has for a pod.
    pub fn held_room(&self, name: &str) -> Option<String> {
        let world = self.seats[0].scheduler.world();
        world.nominator().node_of(self.uid(name)).map(|node| world.node_name(node).to_owned())
    }

    /// Why pods wait, as the first scheduler sees it.
    pub fn reasons(&self) -> Vec<(String, usize)> {
        self.seats[0].scheduler.waiting_reasons(10)
    }

    /// Nothing is held for anybody, nothing is in flight and no event is kept.
    pub fn assert_clean(&self) {
        for seat in &self.seats {
            let scheduler = &seat.scheduler;
            assert!(scheduler.binding_cycles().is_empty(), "a binding cycle is under way");
            assert!(scheduler.dispatcher().is_empty(), "a call is under way");
            assert_eq!(scheduler.queue().counts().in_flight, 0, "a pod is in flight");
            assert_eq!(scheduler.queue().in_flight_event_count(), 0, "events are kept for nobody");
            assert_eq!(scheduler.counts().assumed, 0, "a pod is assumed");
        }
    }
}

fn answer(scheduler: &mut Scheduler, outcome: &Outcome, now_ns: u64) {
    match (outcome.id, outcome.result) {
        (schedlab_core::binding::CallId::UNTRACKED, Ok(())) => {}
        (schedlab_core::binding::CallId::UNTRACKED, Err(_)) => {
            scheduler.on_bind_failed(outcome.pod, now_ns);
        }
        (id, result) => scheduler.on_answer(id, result, now_ns),
    }
}
