//! A scheduler under test: a process of its own that talks to the cluster over the network, and is
//! measured from outside.
//!
//! ```text
//! ops ──▶ embedded cluster ◀── API server ◀──HTTP── the scheduler, a child process
//!                │
//!                └─ watch ─▶ bindings over time, created to bound
//! ```
//!
//! Whether such a scheduler is at rest nobody knows: a wait is given up when nothing got anywhere for a while.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use schedlab_cluster::api::{Api, EventKind, Watch, WatchEvent, WatchedObject};
use schedlab_cluster::clock::unix_ns;
use schedlab_cluster::{ApiError, EmbeddedCluster};
use schedlab_core::ids::PodUid;

use super::background::Background;
use super::controllers::Controllers;
use super::error::OpError;
use crate::measure::{Burst, PodScope, Readings};
use crate::metrics::{MetricSpread, MetricValues, new_histogram, table};
use crate::resolve::SchedulerConfigFile;
use crate::results::UnderTestUsage;

/// How long the thread that reads bindings sleeps at most.
const WATCH_WAIT: Duration = Duration::from_millis(20);
/// Between two looks whether the scheduler makes calls at all.
const CALLS_LOOK: Duration = Duration::from_secs(1);

/// Why a scheduler under test cannot be run, with its last log lines where it has any.
#[derive(Debug, thiserror::Error)]
#[error("--scheduler: {0}")]
pub struct UnderTestError(pub String);

/// What a workload says about its scheduler.
#[derive(Clone, Copy, Debug)]
pub struct UnderTestSetup<'a> {
    /// Its configuration file; the default configuration if absent.
    pub config: Option<&'a SchedulerConfigFile>,
    /// The workload's feature gates.
    pub feature_gates: &'a BTreeMap<String, bool>,
    /// `parallelism`, if it was asked for.
    pub parallelism: Option<usize>,
    /// `percentageOfNodesToScore`, if it was asked for.
    pub percentage_of_nodes_to_score: Option<i32>,
}

/// Starts the scheduler under test.
pub trait SchedulerUnderTest: fmt::Debug + Send + Sync {
    /// Serves the cluster, starts the scheduler, and waits until it follows pods and nodes.
    fn start(
        &self,
        cluster: &EmbeddedCluster,
        setup: &UnderTestSetup<'_>,
        interrupt: &AtomicBool,
    ) -> Result<Box<dyn RunningScheduler>, UnderTestError>;
}

/// A scheduler under test that runs. Dropping it ends it.
pub trait RunningScheduler: Send {
    /// An error, with the last log lines, if it ended by itself.
    fn check_alive(&mut self) -> Result<(), UnderTestError>;

    /// What it has taken so far.
    fn usage(&self) -> UnderTestUsage;

    /// What it says of itself is noted, to be taken off later.
    fn begin_metrics(&mut self) -> Result<(), UnderTestError>;

    /// What it says of itself since then, by kube-scheduler's names; nothing where it is not asked.
    fn metrics(&self) -> Result<MetricValues, UnderTestError>;

    /// Its last log lines.
    fn last_lines(&self) -> String;

    /// Ends it as a process that is killed ends.
    fn crash(&mut self);

    /// Starts it again after [`RunningScheduler::crash`].
    fn start_again(&mut self) -> Result<(), UnderTestError>;
}

/// The scheduler under test of a workload, and what goes on beside it.
pub(crate) struct UnderTestSide {
    scheduler: Mutex<Box<dyn RunningScheduler>>,
    pub(super) controllers: Controllers,
    pub(super) background: Background,
    bindings: BindingReader,
    /// Calls that it had made, and since when no others came.
    called: Cell<(u64, Instant)>,
}

impl UnderTestSide {
    pub(super) fn start(
        scheduler: Box<dyn RunningScheduler>,
        controllers: Controllers,
        cluster: &Arc<EmbeddedCluster>,
    ) -> Result<UnderTestSide, ApiError> {
        Ok(UnderTestSide {
            scheduler: Mutex::new(scheduler),
            controllers,
            background: Background::default(),
            bindings: BindingReader::start(cluster)?,
            called: Cell::new((0, Instant::now())),
        })
    }

    pub(super) fn scheduler(&self) -> MutexGuard<'_, Box<dyn RunningScheduler>> {
        lock(&self.scheduler)
    }

    /// An error if it ended by itself, or the thread that reads bindings did.
    pub(super) fn check_alive(&self) -> Result<(), OpError> {
        if self.bindings.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            return Err(OpError::Died);
        }
        self.scheduler().check_alive().map_err(OpError::UnderTest)
    }

    /// Counts bindings of these pods from now on; of all with `None`.
    pub(super) fn start_measuring(&self, scope: Option<PodScope>) {
        *lock(&self.bindings.seen) = Seen { is_on: true, scope, ..Seen::default() };
    }

    /// What was counted.
    pub(super) fn stop_measuring(&self) -> Result<Readings, OpError> {
        let Seen { bursts, latencies, .. } = std::mem::take(&mut *lock(&self.bindings.seen));
        let mut series = self.scheduler().metrics().map_err(OpError::UnderTest)?;
        if !latencies.is_empty() {
            let mut histogram = new_histogram();
            latencies.iter().for_each(|&elapsed_ns| histogram.saturating_record(elapsed_ns.max(1)));
            series.spread(&table::SLI_DURATION, &[ANY_ATTEMPTS], MetricSpread::Durations(histogram));
        }
        Ok(Readings { series, bursts, ..Readings::default() })
    }

    /// The scheduler, which ends when it is dropped, and the controllers.
    pub(super) fn into_parts(self) -> (Box<dyn RunningScheduler>, Controllers) {
        (self.scheduler.into_inner().unwrap_or_else(PoisonError::into_inner), self.controllers)
    }

    /// Everything up to a version was read.
    pub(super) fn has_read(&self, resource_version: u64) -> bool {
        resource_version <= self.bindings.version.load(Ordering::Acquire)
    }

    /// For how long it has made no call.
    pub(super) fn silent_for(&self) -> Duration {
        let (calls, since) = self.called.get();
        if since.elapsed() < CALLS_LOOK {
            return Duration::ZERO;
        }
        let now = self.scheduler().usage().call_count();
        if now != calls {
            self.called.set((now, Instant::now()));
        }
        self.called.get().1.elapsed()
    }
}

/// From outside nobody knows how often a pod was tried.
const ANY_ATTEMPTS: &str = "any";

/// What the scheduler under test did to pods that are measured.
#[derive(Debug, Default)]
struct Seen {
    is_on: bool,
    /// Which pods count; all with `None`.
    scope: Option<PodScope>,
    bursts: Vec<Burst>,
    /// From creation to binding.
    latencies: Vec<u64>,
}

impl Seen {
    fn bound(&mut self, (pod, created_ns): (PodUid, u64), at_ns: u64) {
        if !self.is_on || self.scope.as_mut().is_some_and(|scope| !scope.covers(pod)) {
            return;
        }
        self.latencies.push(at_ns.saturating_sub(created_ns));
        match self.bursts.last_mut() {
            Some(burst) if burst.at_ns == at_ns => burst.pods += 1,
            _ => self.bursts.push(Burst { at_ns, pods: 1 }),
        }
    }
}

/// Reads bindings from the cluster's watch, on a thread of its own.
struct BindingReader {
    seen: Arc<Mutex<Seen>>,
    version: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ApiError>>>,
}

impl BindingReader {
    fn start(cluster: &Arc<EmbeddedCluster>) -> Result<BindingReader, ApiError> {
        let begin = cluster.resource_version();
        let watch = cluster.watch(begin)?;
        let (seen, stop) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
        let version = Arc::new(AtomicU64::new(begin));
        let (told, read, to_stop) = (Arc::clone(&seen), Arc::clone(&version), Arc::clone(&stop));
        let thread = std::thread::spawn(move || read_bindings(watch, &told, &read, &to_stop));
        Ok(BindingReader { seen, version, stop, thread: Some(thread) })
    }
}

impl Drop for BindingReader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // Why it ended was looked at while the workload ran.
            drop(thread.join());
        }
    }
}

fn read_bindings(
    mut watch: Box<dyn Watch>,
    seen: &Mutex<Seen>,
    version: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), ApiError> {
    let (mut events, mut on_nodes) = (Vec::new(), BTreeSet::new());
    while !stop.load(Ordering::Acquire) {
        watch.wait(WATCH_WAIT);
        watch.drain_into(&mut events)?;
        let Some(last) = events.last().map(WatchEvent::resource_version) else { continue };
        let now_ns = unix_ns();
        let mut seen = lock(seen);
        for event in events.drain(..) {
            if let Some(bound) = newly_bound(&event, &mut on_nodes) {
                seen.bound(bound, now_ns);
            }
        }
        drop(seen);
        version.store(last, Ordering::Release);
    }
    Ok(())
}

/// The pod that an event binds, and when it was created. One that is created on a node is not bound.
fn newly_bound(event: &WatchEvent, on_nodes: &mut BTreeSet<PodUid>) -> Option<(PodUid, u64)> {
    let WatchedObject::Pod(row) = &event.object else { return None };
    if event.kind == EventKind::Deleted {
        on_nodes.remove(&row.uid);
        return None;
    }
    let is_new = row.node.is_some() && on_nodes.insert(row.uid);
    (is_new && event.kind == EventKind::Modified).then_some((row.uid, row.created_ns))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
