//! The thread that follows the store's log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use schedlab_cluster::api::{
    EventKind, ListQuery, Object, PodFilter, StoredPodRow, Watch, WatchEvent, WatchedObject,
};
use schedlab_cluster::embedded::PodParts;
use schedlab_cluster::{Api as _, ApiError};

use super::{Feed, Item, Source};
use crate::resources::{NODES, PODS, RESOURCES, ResourceId, by_kind};

/// How soon the thread notices that it shall end, should a nudge be lost.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Rows that are looked up under one lock of the store.
const ROWS_AT_ONCE: usize = 1024;

/// Loads all tables and starts the thread.
pub(super) fn spawn(feed: &Arc<Feed>) -> Result<JoinHandle<()>, ApiError> {
    let watch = feed.load()?;
    let feed = Arc::clone(feed);
    let started = thread::Builder::new().name("apiserver-feed".to_owned()).spawn(move || feed.follow(watch));
    started.map_err(|error| ApiError {
        reason: schedlab_cluster::StatusReason::InternalError,
        message: error.to_string(),
    })
}

/// An event with what its ids stand for.
struct Resolved {
    kind: EventKind,
    resource: ResourceId,
    item: Item,
}

impl Feed {
    /// Lists everything. Watchers cannot go back behind this.
    fn load(&self) -> Result<Box<dyn Watch>, ApiError> {
        let watch = self.cluster.watch(self.cluster.resource_version())?;
        for (at, resource) in RESOURCES.iter().enumerate() {
            let items = match ResourceId(at) {
                PODS => self.pods(),
                NODES => self.nodes(),
                _ => self.others(&resource.api_version(resource.versions[0]), resource.kind)?,
            };
            let mut table = self.table(ResourceId(at));
            items.into_iter().for_each(|item| table.load(item));
        }
        let version = self.cluster.resource_version();
        for at in 0..RESOURCES.len() {
            self.table(ResourceId(at)).forget_until(version);
        }
        self.version.send_replace(version);
        Ok(watch)
    }

    fn pods(&self) -> Vec<Item> {
        let rows = self.cluster.pods_now(PodFilter::default());
        let parts = rows.chunks(ROWS_AT_ONCE).flat_map(|rows| self.cluster.pod_parts(rows.iter()));
        parts.map(pod_item).collect()
    }

    fn nodes(&self) -> Vec<Item> {
        self.cluster.nodes_now().into_iter().map(node_item).collect()
    }

    fn others(&self, api_version: &str, kind: &str) -> Result<Vec<Item>, ApiError> {
        let listed = self.cluster.list(&ListQuery::all(api_version, kind))?;
        let others = listed.items.into_iter().filter_map(Object::into_other);
        Ok(others.map(|object| other_item(Arc::from(object))).collect())
    }

    fn follow(&self, mut watch: Box<dyn Watch>) {
        let mut events = Vec::new();
        while !self.is_stopped.load(Ordering::Acquire) {
            watch.wait(LOOK_EVERY);
            events.clear();
            match watch.drain_into(&mut events) {
                Ok(0) => {}
                Ok(_) => self.take(&events),
                // Millions of events behind: all is listed again, and so must the watchers.
                Err(_) => match self.load() {
                    Ok(anew) => watch = anew,
                    Err(_) => return,
                },
            }
        }
    }

    fn take(&self, events: &[WatchEvent]) {
        for events in events.chunks(ROWS_AT_ONCE) {
            let mut is_changed = vec![false; RESOURCES.len()];
            for Resolved { kind, resource, item } in self.resolve(events) {
                is_changed[resource.0] |= self.table(resource).apply(kind, item);
            }
            if let Some(last) = events.last() {
                self.version.send_replace(last.resource_version());
            }
            let changed = self.changed.iter().zip(is_changed).filter(|&(_, is_changed)| is_changed);
            changed.for_each(|(sender, _)| {
                sender.send_replace(());
            });
        }
    }

    fn resolve(&self, events: &[WatchEvent]) -> Vec<Resolved> {
        let rows = events.iter().filter_map(|event| match &event.object {
            WatchedObject::Pod(row) => Some(row),
            _ => None,
        });
        let rows: Vec<&StoredPodRow> = rows.collect();
        let mut pods = self.cluster.pod_parts(rows.into_iter()).into_iter();
        let resolved = events.iter().filter_map(|event| {
            let (resource, item) = match &event.object {
                WatchedObject::Pod(_) => (PODS, pod_item(pods.next().expect("a part for each row"))),
                WatchedObject::Node(node) => (NODES, node_item(Arc::clone(node))),
                WatchedObject::Other(other) => {
                    let group = other.api_version.split_once('/').map_or("", |(group, _)| group);
                    (by_kind(group, &other.kind)?, other_item(Arc::clone(other)))
                }
                WatchedObject::PodEvent(event) => {
                    let object = self.cluster.pod_event_now(event)?;
                    (by_kind("events.k8s.io", "Event")?, other_item(Arc::new(object)))
                }
            };
            Some(Resolved { kind: event.kind, resource, item })
        });
        resolved.collect()
    }
}

fn pod_item(parts: PodParts) -> Item {
    Item { resource_version: parts.row.resource_version, source: Source::Pod(Box::new(parts)) }
}

fn node_item(node: Arc<schedlab_cluster::api::NodeEntry>) -> Item {
    Item { resource_version: node.resource_version, source: Source::Node(node) }
}

fn other_item(other: Arc<schedlab_cluster::api::GenericObject>) -> Item {
    Item { resource_version: other.resource_version, source: Source::Other(other) }
}
