//! Between the API's ids and the scheduler's: each spec and each node name is translated once.

use std::sync::Arc;

use schedlab_core::ids::{ClassId, NodeId};
use schedlab_core::input::PodInput;
use schedlab_core::scheduler::{PodUpdate, Scheduler};

use super::surroundings::tell_of;
use crate::api::{Api, EventKind, NodeNameId, PodFlags, PodRow, SpecId, WatchEvent, WatchedObject};

/// Feeds watch events to a scheduler.
#[derive(Debug, Default)]
pub struct Bridge {
    class_of_spec: Vec<Option<ClassId>>,
    /// Of pods that were told to leave.
    class_of_leaving: Vec<Option<ClassId>>,
    node_of_name: Vec<Option<NodeId>>,
    name_of_node: Vec<Option<NodeNameId>>,
}

impl Bridge {
    /// Tells the scheduler about one event.
    pub fn deliver(&mut self, event: &WatchEvent, api: &dyn Api, scheduler: &mut Scheduler, now_ns: u64) {
        match (&event.object, event.kind) {
            (WatchedObject::Pod(row), EventKind::Deleted) => scheduler.on_pod_removed(row.uid, now_ns),
            // A finished pod takes no room any more. Upstream: eventhandlers.go filters terminal pods.
            (WatchedObject::Pod(row), _) if row.phase.is_finished() => {
                scheduler.on_pod_removed(row.uid, now_ns)
            }
            (WatchedObject::Pod(row), _) => {
                let update = PodUpdate {
                    uid: row.uid,
                    class: self.class(row, api, scheduler),
                    node: row.node.map(|name| self.node(name, api, scheduler)),
                    created_ns: row.created_ns,
                    ..PodUpdate::default()
                };
                scheduler.on_pod(update, now_ns);
                // A pod that is new and names no node, or is on one, has nothing to say of this.
                if row.node.is_none() && (row.nominated.is_some() || event.kind == EventKind::Modified) {
                    let nominated = row.nominated.map(|name| self.node(name, api, scheduler));
                    scheduler.on_nomination(row.uid, nominated, now_ns);
                }
            }
            (WatchedObject::Node(node), EventKind::Deleted) => scheduler.on_node_removed(&node.input.name),
            (WatchedObject::Node(node), _) => scheduler.on_shared_node(&node.input, now_ns),
            (WatchedObject::PodEvent(_), _) => {}
            (WatchedObject::Other(object), kind) => tell_of(object, kind, scheduler, now_ns),
        }
    }

    fn class(&mut self, row: &PodRow, api: &dyn Api, scheduler: &mut Scheduler) -> ClassId {
        let SpecId(spec) = row.spec;
        if row.flags.contains(PodFlags::TERMINATING) {
            let known = slot(&mut self.class_of_leaving, spec as usize);
            return *known.get_or_insert_with(|| {
                let input = PodInput::clone(&api.pod_spec(row.spec).input);
                scheduler.compile(&Arc::new(PodInput { is_terminating: true, ..input }))
            });
        }
        let known = slot(&mut self.class_of_spec, spec as usize);
        *known.get_or_insert_with(|| scheduler.compile(&Arc::clone(&api.pod_spec(row.spec).input)))
    }

    fn node(&mut self, name: NodeNameId, api: &dyn Api, scheduler: &mut Scheduler) -> NodeId {
        let known = slot(&mut self.node_of_name, name.index());
        *known.get_or_insert_with(|| scheduler.node_id(&api.node_name(name)))
    }

    /// The API's id of a node the scheduler chose.
    pub fn name_of(&mut self, node: NodeId, api: &dyn Api, scheduler: &Scheduler) -> NodeNameId {
        let known = slot(&mut self.name_of_node, node.index());
        *known.get_or_insert_with(|| api.node_name_id(scheduler.world().node_name(node)))
    }
}

fn slot<T: Clone>(table: &mut Vec<Option<T>>, at: usize) -> &mut Option<T> {
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    &mut table[at]
}
