//! What the watches have told so far, and what readers have not heard of it yet.
//!
//! ```text
//! follow (a task a kind) ──apply, replace──▶ State ──▶ a queue a reader ──drain──▶ scheduler, extenders
//! ```
//!
//! Events of one kind come in the order of the API's; those of different kinds as they arrive, as
//! with kube-scheduler's informers. Ids of pods, specs and nodes are given out here and are never used again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_cluster::api::{
    ConditionSetId, EventKind, GenericObject, NameId, NamespaceId, NodeEntry, NodeNameId, PodName,
    StoredPodRow, WatchEvent, WatchedObject,
};
use schedlab_core::ids::PodUid;

use crate::object::{OwnCondition, ReadNode, ReadObject, ReadPod};
use crate::specs::SpecTable;
use crate::table::NameTable;

/// Pods that are gone whose names are kept: what is still to be said of them.
const GONE_MAX: usize = 10_000;

/// A pod.
#[derive(Clone, Debug)]
pub(crate) struct KnownPod {
    pub(crate) row: StoredPodRow,
    pub(crate) uid: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) scheduler_name: Arc<str>,
    pub(crate) generation: i64,
    pub(crate) conditions: Vec<OwnCondition>,
}

/// Namespace and name of an object; the namespace is empty for kinds without one.
type Place = (String, String);

/// Where the tables are, shared by the tasks that write and the threads that read.
#[derive(Default)]
pub(crate) struct Store {
    state: Mutex<State>,
    pub(crate) changed: Condvar,
}

/// The tables.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) node_names: NameTable,
    pub(crate) namespaces: NameTable,
    pub(crate) specs: SpecTable,
    pub(crate) pods: FxHashMap<PodUid, KnownPod>,
    by_uid: FxHashMap<Arc<str>, PodUid>,
    gone: VecDeque<PodUid>,
    gone_pods: FxHashMap<PodUid, KnownPod>,
    next_pod: u32,
    nodes: BTreeMap<String, Arc<NodeEntry>>,
    others: BTreeMap<(&'static str, Place), Arc<GenericObject>>,
    readers: BTreeMap<u64, VecDeque<WatchEvent>>,
    next_reader: u64,
    pub(crate) nudges: u64,
    pub(crate) version: u64,
    synced: FxHashSet<&'static str>,
    /// Objects that could not be read, and the last one's trouble.
    pub(crate) unreadable: (u64, String),
    /// What keeps kinds from being followed, by resource.
    pub(crate) troubles: BTreeMap<&'static str, String>,
}

impl Store {
    /// A poisoned lock means a panic elsewhere, which ends the process; the tables are whole between events.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The first list of a kind is there.
    pub(crate) fn note_synced(&mut self, resource: &'static str) {
        self.troubles.remove(resource);
        self.synced.insert(resource);
    }

    pub(crate) fn is_synced(&self, resource: &str) -> bool {
        self.synced.contains(resource)
    }

    /// Takes an event in.
    pub(crate) fn apply(&mut self, kind: EventKind, object: ReadObject, now_ns: u64) {
        match (object, kind) {
            (ReadObject::Pod(pod), EventKind::Deleted) => {
                self.remove_pod(&pod.meta.uid, pod.resource_version)
            }
            (ReadObject::Pod(pod), _) => self.put_pod(*pod, now_ns),
            (ReadObject::Node(node), EventKind::Deleted) => self.remove_node(&node.input.name),
            (ReadObject::Node(node), _) => self.put_node(*node),
            (ReadObject::Other(object), EventKind::Deleted) => {
                let (kind, place) = place_of(&object);
                self.remove_other(kind, &place);
            }
            (ReadObject::Other(object), _) => self.put_other(object),
        }
    }

    /// Takes a list in: what is not in it is gone. Older pods come first.
    pub(crate) fn replace(&mut self, kind: &'static str, mut objects: Vec<ReadObject>, now_ns: u64) {
        objects.sort_by_key(ReadObject::created_s);
        match kind {
            "Pod" => {
                let listed: FxHashSet<Arc<str>> = objects.iter().filter_map(uid_of).collect();
                let gone: Vec<Arc<str>> =
                    self.by_uid.keys().filter(|uid| !listed.contains(*uid)).cloned().collect();
                gone.iter().for_each(|uid| self.remove_pod(uid, 0));
            }
            "Node" => {
                let listed: FxHashSet<&str> = objects.iter().filter_map(node_name).collect();
                let gone: Vec<String> =
                    self.nodes.keys().filter(|name| !listed.contains(name.as_str())).cloned().collect();
                gone.iter().for_each(|name| self.remove_node(name));
            }
            _ => {
                let listed: FxHashSet<Place> = objects.iter().filter_map(other_place).collect();
                let of_kind = self.others.keys().filter(|(of, place)| *of == kind && !listed.contains(place));
                let gone: Vec<Place> = of_kind.map(|(_, place)| place.clone()).collect();
                gone.iter().for_each(|place| self.remove_other(kind, place));
            }
        }
        objects.into_iter().for_each(|object| self.apply(EventKind::Added, object, now_ns));
    }

    fn put_pod(&mut self, pod: ReadPod, now_ns: u64) {
        let uid: Arc<str> = Arc::from(pod.meta.uid.as_str());
        let known = self.by_uid.get(&uid).copied();
        let before = known.and_then(|id| self.pods.get(&id)).map(|known| known.row);
        if before.is_some_and(|row| row.resource_version == pod.resource_version) {
            return;
        }
        let id = known.unwrap_or_else(|| self.next_pod_uid());
        let known = self.known_pod(id, uid, pod, before.map_or(now_ns, |row| row.created_ns));
        if let Some(before) = before {
            self.specs.release(before.spec);
        }
        let row = known.row;
        self.by_uid.insert(Arc::clone(&known.uid), id);
        self.pods.insert(id, known);
        let kind = if before.is_some() { EventKind::Modified } else { EventKind::Added };
        self.publish(WatchEvent { kind, object: WatchedObject::Pod(row) });
    }

    /// `created_ns` is when the pod was seen first, on the clock of the scheduler's queue.
    fn known_pod(&mut self, id: PodUid, uid: Arc<str>, pod: ReadPod, created_ns: u64) -> KnownPod {
        let ReadPod { input, meta, resource_version, generation, phase, flags, conditions } = pod;
        let (namespace, scheduler_name) = (Arc::from(&*input.namespace), Arc::from(&*input.scheduler_name));
        let namespace_id = NamespaceId(self.namespaces.number(&input.namespace));
        let row = StoredPodRow {
            uid: id,
            resource_version,
            created_ns,
            transition_ns: created_ns,
            spec: self.specs.take(input, meta.start_time_s, meta.pod_group.as_deref()),
            namespace: namespace_id,
            name: name_of(id),
            node: meta.node_name.as_deref().map(|name| self.node_name_id(name)),
            nominated: meta.nominated_node_name.as_deref().map(|name| self.node_name_id(name)),
            conditions: ConditionSetId::default(),
            phase,
            flags,
        };
        KnownPod { row, uid, namespace, name: Arc::from(meta.name), scheduler_name, generation, conditions }
    }

    fn next_pod_uid(&mut self) -> PodUid {
        self.next_pod =
            self.next_pod.checked_add(1).expect("fewer than 2^32 pods in the life of a scheduler");
        PodUid(u64::from(self.next_pod))
    }

    fn remove_pod(&mut self, uid: &str, resource_version: u64) {
        let Some(id) = self.by_uid.remove(uid) else { return };
        let mut known = self.pods.remove(&id).expect("both maps agree");
        self.specs.release(known.row.spec);
        known.row.resource_version = known.row.resource_version.max(resource_version);
        let row = known.row;
        self.gone_pods.insert(id, known);
        self.gone.push_back(id);
        if GONE_MAX < self.gone.len() {
            self.gone.pop_front().map(|oldest| self.gone_pods.remove(&oldest));
        }
        self.publish(WatchEvent { kind: EventKind::Deleted, object: WatchedObject::Pod(row) });
    }

    fn put_node(&mut self, node: ReadNode) {
        let ReadNode { input, object, resource_version } = node;
        let before = self.nodes.get(&input.name);
        if before.is_some_and(|before| before.resource_version == resource_version) {
            return;
        }
        let kind = if before.is_some() { EventKind::Modified } else { EventKind::Added };
        let name = self.node_name_id(&input.name);
        let entry = Arc::new(NodeEntry { name, resource_version, input, object });
        self.nodes.insert(entry.input.name.clone(), Arc::clone(&entry));
        self.publish(WatchEvent { kind, object: WatchedObject::Node(entry) });
    }

    fn remove_node(&mut self, name: &str) {
        if let Some(entry) = self.nodes.remove(name) {
            self.publish(WatchEvent { kind: EventKind::Deleted, object: WatchedObject::Node(entry) });
        }
    }

    fn put_other(&mut self, object: Arc<GenericObject>) {
        let (kind, place) = place_of(&object);
        let before = self.others.get(&(kind, place.clone()));
        if before.is_some_and(|before| before.resource_version == object.resource_version) {
            return;
        }
        let event = if before.is_some() { EventKind::Modified } else { EventKind::Added };
        self.others.insert((kind, place), Arc::clone(&object));
        self.publish(WatchEvent { kind: event, object: WatchedObject::Other(object) });
    }

    fn remove_other(&mut self, kind: &'static str, place: &Place) {
        if let Some(object) = self.others.remove(&(kind, place.clone())) {
            self.publish(WatchEvent { kind: EventKind::Deleted, object: WatchedObject::Other(object) });
        }
    }

    fn publish(&mut self, event: WatchEvent) {
        self.version = self.version.max(event.resource_version());
        self.readers.values_mut().for_each(|queue| queue.push_back(event.clone()));
    }

    pub(crate) fn node_name_id(&mut self, name: &str) -> NodeNameId {
        NodeNameId::from_index(self.node_names.number(name))
    }

    /// A pod that is there, or was a short while ago.
    pub(crate) fn pod(&self, id: PodUid) -> Option<&KnownPod> {
        self.pods.get(&id).or_else(|| self.gone_pods.get(&id))
    }

    /// The pod behind a packed name.
    pub(crate) fn pod_named(&self, name: PodName) -> Option<&KnownPod> {
        self.pod(PodUid(u64::from(name.prefix.0)))
    }

    /// An object of another kind than pod and node.
    pub(crate) fn other(
        &self,
        kind: &'static str,
        namespace: &str,
        name: &str,
    ) -> Option<&Arc<GenericObject>> {
        self.others.get(&(kind, (namespace.to_owned(), name.to_owned())))
    }

    /// A reader, who first hears of all that is there: of pods last, the oldest first.
    pub(crate) fn open(&mut self) -> u64 {
        let others = self.others.values().map(|object| WatchedObject::Other(Arc::clone(object)));
        let nodes = self.nodes.values().map(|node| WatchedObject::Node(Arc::clone(node)));
        let mut rows: Vec<StoredPodRow> = self.pods.values().map(|pod| pod.row).collect();
        rows.sort_by_key(|row| row.uid);
        let all = others.chain(nodes).chain(rows.into_iter().map(WatchedObject::Pod));
        let queue = all.map(|object| WatchEvent { kind: EventKind::Added, object }).collect();
        self.next_reader += 1;
        self.readers.insert(self.next_reader, queue);
        self.next_reader
    }

    pub(crate) fn close(&mut self, reader: u64) {
        self.readers.remove(&reader);
    }

    pub(crate) fn has_news(&self, reader: u64) -> bool {
        self.readers.get(&reader).is_some_and(|queue| !queue.is_empty())
    }

    pub(crate) fn drain(&mut self, reader: u64, events: &mut Vec<WatchEvent>) -> usize {
        let Some(queue) = self.readers.get_mut(&reader) else { return 0 };
        let count = queue.len();
        events.extend(queue.drain(..));
        count
    }
}

/// Pods are few enough for their numbers to stand for their names.
fn name_of(id: PodUid) -> PodName {
    let prefix = NameId(u32::try_from(id.0).expect("pods are numbered in 32 bits"));
    PodName { prefix, number: PodName::NO_NUMBER }
}

fn uid_of(object: &ReadObject) -> Option<Arc<str>> {
    let ReadObject::Pod(pod) = object else { return None };
    Some(Arc::from(pod.meta.uid.as_str()))
}

fn node_name(object: &ReadObject) -> Option<&str> {
    let ReadObject::Node(node) = object else { return None };
    Some(&node.input.name)
}

fn other_place(object: &ReadObject) -> Option<Place> {
    let ReadObject::Other(object) = object else { return None };
    Some(place_of(object).1)
}

fn place_of(object: &GenericObject) -> (&'static str, Place) {
    let kind = schedlab_core::scheduler::ObjectKind::of(&object.api_version, &object.kind);
    let name = kind.map_or("", |kind| kind.row().name);
    let metadata = &object.metadata;
    let place = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
    (name, place)
}

#[cfg(test)]
mod tests;
