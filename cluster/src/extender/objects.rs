//! Pods and nodes as API objects, for extenders that want them whole. Upstream reads them from the
//! scheduler's informers; this is one list and one watch.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::{Node, Pod};
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use crate::api::{
    Api, ApiError, EventKind, ListQuery, Object, StatusReason, Watch, WatchEvent, WatchedObject,
};

/// What extenders are told about.
pub struct Objects {
    api: Arc<dyn Api>,
    nodes: Mutex<Nodes>,
}

struct Nodes {
    by_name: FxHashMap<String, Arc<Node>>,
    watch: Box<dyn Watch>,
    events: Vec<WatchEvent>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").finish_non_exhaustive()
    }
}

impl Objects {
    /// Lists the nodes and follows them from there.
    pub fn new(api: Arc<dyn Api>) -> Result<Objects, ApiError> {
        let nodes = Mutex::new(Nodes::list(api.as_ref())?);
        Ok(Objects { api, nodes })
    }

    /// The pod as an object, on no node; `None` when it is gone.
    #[must_use]
    pub fn pod(&self, uid: PodUid) -> Option<Pod> {
        let row = self.api.pod_row(uid)?;
        let mut pod = (*self.api.pod_spec(row.spec).object).clone();
        pod.metadata.name = Some(self.api.pod_name(row.name));
        pod.metadata.namespace = Some(self.api.namespace_name(row.namespace).to_string());
        pod.metadata.uid = Some(self.api.pod_uid(uid));
        pod.metadata.resource_version = Some(row.resource_version.to_string());
        Some(pod)
    }

    /// The nodes of these names that exist, in this order.
    pub fn nodes(&self, names: &[&str]) -> Result<Vec<Arc<Node>>, ApiError> {
        // A poisoned lock means a panic elsewhere; the table itself is whole after every line.
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.catch_up(self.api.as_ref())?;
        Ok(names.iter().filter_map(|&name| nodes.by_name.get(name).cloned()).collect())
    }
}

impl Nodes {
    fn list(api: &dyn Api) -> Result<Nodes, ApiError> {
        let list = api.list(&ListQuery::all("v1", "Node"))?;
        let watch = api.watch(list.resource_version)?;
        let named = |object: Object| {
            let node = *object.into_node()?;
            Some((node.metadata.name.clone()?, Arc::new(node)))
        };
        let by_name = list.items.into_iter().filter_map(named).collect();
        Ok(Nodes { by_name, watch, events: Vec::new() })
    }

    fn catch_up(&mut self, api: &dyn Api) -> Result<(), ApiError> {
        self.events.clear();
        match self.watch.drain_into(&mut self.events) {
            Ok(_) => {}
            // Too far behind: what was missed is in a fresh list.
            Err(error) if error.reason == StatusReason::Gone => {
                *self = Nodes::list(api)?;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        for event in self.events.drain(..) {
            let WatchedObject::Node(entry) = event.object else { continue };
            match event.kind {
                EventKind::Deleted => self.by_name.remove(&entry.input.name),
                _ => self.by_name.insert(entry.input.name.clone(), Arc::clone(&entry.object)),
            };
        }
        Ok(())
    }
}
