//! The watch cache: one reader of the store's log for all lists and watches.
//!
//! ```text
//!   store's log ──thread──▶ tables by resource: objects (for lists and first events)
//!                                              ring of changes (for watches) ──▶ any number of watchers
//! ```
//!
//! A watcher is a version in the ring: nothing is queued for it, so one that does not read costs nothing.
//! One that falls behind the ring is told 410 and lists again. A change is written as text once, by the first
//! who reads it, for all who see it in the version it is stored in.
//!
//! Upstream: apiserver pkg/storage/cacher.

mod item;
mod table;
mod thread;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schedlab_cluster::{Api as _, ApiError, EmbeddedCluster};
use tokio::sync::watch;

pub(crate) use item::{Item, Source, View, has_field};
pub(crate) use table::Changes;
use table::Table;

use crate::resources::{RESOURCES, ResourceId};
use crate::selector::Selection;

/// How long a request waits for a version that is not written yet.
///
/// Upstream: apiserver pkg/storage/cacher/watch_cache.go `blockTimeout`.
const FRESH_TIMEOUT: Duration = Duration::from_secs(3);

/// The cache. Its thread ends when [`Feed::stop`] is called.
pub(crate) struct Feed {
    cluster: EmbeddedCluster,
    tables: Vec<Mutex<Table>>,
    /// Told of changes, by resource.
    changed: Vec<watch::Sender<()>>,
    /// All up to this version is in the tables.
    version: watch::Sender<u64>,
    is_stopped: AtomicBool,
}

/// Objects of a resource, and the version they were read at.
pub(crate) struct Listed {
    pub(crate) version: u64,
    /// By namespace and name.
    pub(crate) items: Vec<Arc<Item>>,
}

impl Feed {
    /// Reads all that is there, and follows from then on in a thread of its own.
    pub(crate) fn start(
        cluster: EmbeddedCluster,
    ) -> Result<(Arc<Feed>, std::thread::JoinHandle<()>), ApiError> {
        let feed = Arc::new(Feed {
            cluster,
            tables: RESOURCES.iter().map(|_| Mutex::default()).collect(),
            changed: RESOURCES.iter().map(|_| watch::Sender::new(())).collect(),
            version: watch::Sender::new(0),
            is_stopped: AtomicBool::new(false),
        });
        let thread = thread::spawn(&feed)?;
        Ok((feed, thread))
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.cluster.nudge();
    }

    fn table(&self, resource: ResourceId) -> MutexGuard<'_, Table> {
        self.tables[resource.0].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All up to this version is in the tables.
    pub(crate) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Waits until the tables hold what the store holds now, or `at_least` if that is more.
    pub(crate) async fn catch_up(&self, at_least: u64) -> Result<(), ApiError> {
        let wanted = self.cluster.resource_version().max(at_least);
        if wanted <= self.version() {
            return Ok(());
        }
        let mut version = self.version.subscribe();
        let reached = tokio::time::timeout(FRESH_TIMEOUT, version.wait_for(|version| wanted <= *version));
        match reached.await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(ApiError::too_large_version(wanted, self.version())),
        }
    }

    /// The objects that a client wants.
    pub(crate) fn list(&self, resource: ResourceId, selection: &Selection) -> Listed {
        let version = self.version();
        let table = self.table(resource);
        let version = version.max(table.last_version());
        Listed { version, items: table.selected(selection) }
    }

    /// The changes after a version, at most `limit`.
    pub(crate) fn changes_since(
        &self,
        resource: ResourceId,
        version: u64,
        limit: usize,
    ) -> Result<Changes, ApiError> {
        let seen_by_all = self.version();
        self.table(resource).changes_since(version, seen_by_all, limit)
    }

    /// Told of changes of a resource.
    pub(crate) fn subscribe(&self, resource: ResourceId) -> watch::Receiver<()> {
        self.changed[resource.0].subscribe()
    }
}
