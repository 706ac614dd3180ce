//! Between the API's ids and the scheduler's: each spec and each node name is translated once, and
//! again when the scheduler has given ids back.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::{ClassId, NodeId, PodGroupId};
use schedlab_core::input::PodInput;
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, Scheduler};

use crate::api::{Api, EventKind, NodeNameId, PodFlags, SpecId, StoredPodRow, WatchEvent, WatchedObject};
use crate::convert::with_object_event;

/// Translations kept at most; beyond, all are forgotten and made anew. Bodies that differ in what
/// scheduling does not read have one class, so the scheduler's ids alone set no limit.
const KNOWN_MAX: usize = 1 << 16;

/// What pods of a body share: the class, the group, and when they started.
type Body = (ClassId, Option<PodGroupId>, Option<i64>);

/// Feeds watch events to a scheduler.
#[derive(Debug, Default)]
pub struct Bridge {
    /// Of the scheduler whose ids are known.
    epoch: u64,
    /// By body, and whether the pod was told to leave.
    classes: FxHashMap<(SpecId, bool), Body>,
    /// Pods of a template come one after the other.
    last_class: Option<((SpecId, bool), Body)>,
    /// By place in the API's table of names, as far as that is short.
    nodes: Vec<Option<NodeId>>,
    /// The others, after a long time of nodes that came and went.
    far_nodes: FxHashMap<NodeNameId, NodeId>,
    /// Holds the string, so that the store keeps the name for calls that are on their way.
    names: Vec<Option<(NodeNameId, Arc<str>)>>,
}

impl Bridge {
    /// Tells the scheduler about one event.
    pub fn deliver(&mut self, event: &WatchEvent, api: &dyn Api, scheduler: &mut Scheduler, now_ns: u64) {
        match (&event.object, event.kind) {
            (WatchedObject::Pod(row), EventKind::Deleted) => {
                scheduler.on_event(ObjectEvent::pod_deleted(row.uid), now_ns)
            }
            // A finished pod takes no room any more. Upstream: eventhandlers.go filters terminal pods.
            (WatchedObject::Pod(row), _) if row.phase.is_finished() => {
                scheduler.on_event(ObjectEvent::pod_deleted(row.uid), now_ns)
            }
            (WatchedObject::Pod(row), _) => {
                let Some((class, group, started_s)) = self.body(row, api, scheduler) else { return };
                let update = PodUpdate {
                    uid: row.uid,
                    class,
                    node: row.node.map(|name| self.node(name, api, scheduler)),
                    created_ns: row.created_ns,
                    started_s,
                    group,
                    is_preempted: row.flags.contains(PodFlags::PREEMPTED),
                };
                scheduler.on_event(ObjectEvent::pod(update), now_ns);
                // A pod that is new and names no node, or is on one, has nothing to say of this.
                if row.node.is_none() && (row.nominated.is_some() || event.kind == EventKind::Modified) {
                    let nominated = row.nominated.map(|name| self.node(name, api, scheduler));
                    scheduler.on_event(
                        ObjectEvent::nominated_node_name(row.uid, nominated, row.resource_version),
                        now_ns,
                    );
                }
            }
            (WatchedObject::Node(node), EventKind::Deleted) => {
                scheduler.on_event(ObjectEvent::node_deleted(&node.input.name), now_ns)
            }
            (WatchedObject::Node(node), _) => scheduler.on_event(ObjectEvent::node(&node.input), now_ns),
            (WatchedObject::PodEvent(_), _) => {}
            (WatchedObject::Other(object), kind) => {
                with_object_event(object, kind, |event| scheduler.on_event(event, now_ns));
            }
        }
    }

    /// Forgets ids that may be other ones now.
    #[inline]
    fn keep_up(&mut self, scheduler: &Scheduler) {
        let is_full = self.classes.len() >= KNOWN_MAX || self.far_nodes.len() >= KNOWN_MAX;
        if self.epoch != scheduler.epoch() || is_full {
            *self = Bridge { epoch: scheduler.epoch(), ..Bridge::default() };
        }
    }

    /// The class and the group of a pod; `None` when the pod went so long ago that its body is forgotten.
    fn body(&mut self, row: &StoredPodRow, api: &dyn Api, scheduler: &mut Scheduler) -> Option<Body> {
        self.keep_up(scheduler);
        let key = (row.spec, row.flags.contains(PodFlags::TERMINATING));
        if let Some((known, body)) = self.last_class
            && known == key
        {
            return Some(body);
        }
        let body = match self.classes.get(&key) {
            Some(&body) => body,
            None => {
                let entry = api.pod_spec(row.spec);
                entry.object.spec.as_ref()?;
                let class = if key.1 {
                    let input = PodInput::clone(&entry.input);
                    scheduler.compile(&Arc::new(PodInput { is_terminating: true, ..input }))
                } else {
                    scheduler.compile(&entry.input)
                };
                let named = entry.pod_group.as_ref();
                let group = named.and_then(|name| scheduler.pod_group_id(&entry.input.namespace, name));
                let body = (class, group, entry.start_time_s);
                self.classes.insert(key, body);
                body
            }
        };
        self.last_class = Some((key, body));
        Some(body)
    }

    fn node(&mut self, name: NodeNameId, api: &dyn Api, scheduler: &mut Scheduler) -> NodeId {
        self.keep_up(scheduler);
        let mut ask = || scheduler.node_id(&api.node_name(name));
        if name.index() >= KNOWN_MAX {
            return *self.far_nodes.entry(name).or_insert_with(ask);
        }
        *slot(&mut self.nodes, name.index()).get_or_insert_with(&mut ask)
    }

    /// The API's id of a node the scheduler chose.
    pub fn name_of(&mut self, node: NodeId, api: &dyn Api, scheduler: &Scheduler) -> NodeNameId {
        self.keep_up(scheduler);
        let (name, _) = slot(&mut self.names, node.index()).get_or_insert_with(|| {
            let name = api.node_name_id(scheduler.world().node_name(node));
            (name, api.node_name(name))
        });
        *name
    }
}

fn slot<T: Clone>(table: &mut Vec<Option<T>>, at: usize) -> &mut Option<T> {
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    &mut table[at]
}
