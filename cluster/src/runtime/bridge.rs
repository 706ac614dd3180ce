//! Between the API's ids and the scheduler's: each spec and each node name is translated once.

use std::sync::Arc;

use schedlab_core::ids::{ClassId, NodeId};
use schedlab_core::input::storage::StorageKey;
use schedlab_core::scheduler::{PodUpdate, Scheduler};

use crate::api::{Api, EventKind, GenericObject, NodeNameId, PodRow, SpecId, WatchEvent, WatchedObject};
use crate::convert::{storage_input, storage_kind};

/// Feeds watch events to a scheduler.
#[derive(Debug, Default)]
pub struct Bridge {
    class_of_spec: Vec<Option<ClassId>>,
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
                };
                scheduler.on_pod(update, now_ns);
            }
            (WatchedObject::Node(node), EventKind::Deleted) => scheduler.on_node_removed(&node.input.name),
            (WatchedObject::Node(node), _) => scheduler.on_node(&node.input, now_ns),
            (WatchedObject::Other(object), EventKind::Deleted) => {
                if let Some(key) = storage_key(object) {
                    scheduler.on_storage_removed(&key, now_ns);
                }
            }
            (WatchedObject::Other(object), _) => {
                // The store takes such objects as they come. One that cannot be read is as good as
                // absent: upstream's informer drops it, too.
                if let Ok(Some(input)) = storage_input(object) {
                    scheduler.on_storage(&input, now_ns);
                }
            }
        }
    }

    fn class(&mut self, row: &PodRow, api: &dyn Api, scheduler: &mut Scheduler) -> ClassId {
        let SpecId(spec) = row.spec;
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

/// What an object is called, if it is one of storage.
fn storage_key(object: &GenericObject) -> Option<StorageKey> {
    let kind = storage_kind(&object.api_version, &object.kind)?;
    Some(StorageKey {
        kind,
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
        name: object.metadata.name.clone().unwrap_or_default(),
    })
}

fn slot<T: Clone>(table: &mut Vec<Option<T>>, at: usize) -> &mut Option<T> {
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    &mut table[at]
}
