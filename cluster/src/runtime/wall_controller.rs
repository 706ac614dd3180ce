//! A controller on threads: one follows the watch, and each shard has one of its own.
//!
//! ```text
//!  watch ──▶ router ──by node──▶ shard 0: Controller ──calls in batches──▶ Api
//!                      └───────▶ shard 1: ...        ◀──── answers ──────┘
//! ```
//!
//! A controller of evictable pods ([`PodsWatched::Evictable`]) has nothing to do while no pod has execution
//! terms and no node has had a `NoExecute` taint. Until then the watch leaves plain pods out, so that they
//! cost neither a copy nor a wake-up, and the router keeps the nodes for later. With the first taint it
//! follows all pods, those that run already first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use rustc_hash::FxHashMap;

use super::RuntimeError;
use crate::api::{
    Api, ApiError, EventKind, NodeEntry, NodeNameId, RunningWatch, Watch, WatchEvent, WatchedObject,
};
use crate::clock::monotonic_ns;
use crate::controllers::{
    Concerns, Controller, ControllerContext, ControllerDescriptor, ControllerReport, ControllerSettings,
    Listed, PodsWatched, Remaining, perform_all,
};

/// How long an idle router sleeps before it looks whether it is to stop, and says how far it has seen.
const IDLE_WAIT: Duration = Duration::from_millis(5);
/// How long an idle shard sleeps.
const SHARD_WAIT: Duration = Duration::from_millis(100);

/// An event for a shard, and when it came.
struct Delivery {
    event: WatchEvent,
    at_ns: u64,
}

/// What the threads publish for whoever waits.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// All up to this resource version was handed to a shard, or concerns none.
    handled_version: AtomicU64,
    /// Handed to a shard and not yet dealt with.
    pending: AtomicU64,
    /// What each shard has left to do, as a number of [`Remaining`].
    remaining: Vec<AtomicU8>,
}

impl Shared {
    fn publish(&self, shard: usize, remaining: Remaining) {
        self.remaining[shard].store(remaining as u8, Ordering::Release);
    }
}

/// A controller that an error path drops must not go on acting: its threads end at their next look.
#[derive(Debug)]
struct StopOnDrop(Arc<Shared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}

/// A controller that runs, from its start to its stop.
#[derive(Debug)]
pub struct WallController {
    descriptor: &'static ControllerDescriptor,
    shared: StopOnDrop,
    router: JoinHandle<Result<(), ApiError>>,
    shards: Vec<JoinHandle<ControllerReport>>,
}

impl WallController {
    /// Lists what the controller is to know, and watches from there on. One that starts anew does the same:
    /// what it knew is not needed.
    pub fn start(
        api: Arc<dyn Api>,
        descriptor: &'static ControllerDescriptor,
        settings: &ControllerSettings,
    ) -> Result<WallController, RuntimeError> {
        let shards = descriptor.sharding.shard_count();
        Self::start_shards(api, descriptor, settings, shards)
    }

    /// With another number of shards than the descriptor's.
    pub fn start_shards(
        api: Arc<dyn Api>,
        descriptor: &'static ControllerDescriptor,
        settings: &ControllerSettings,
        shard_count: usize,
    ) -> Result<WallController, RuntimeError> {
        let name = descriptor.name;
        let spawn_error = |source| RuntimeError::ControllerThreads { name, threads: shard_count + 1, source };
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            handled_version: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            remaining: (0..shard_count).map(|_| AtomicU8::new(Remaining::Nothing as u8)).collect(),
        });
        let controllers: Vec<Box<dyn Controller>> = (0..shard_count)
            .map(|_| (descriptor.constructor)(settings))
            .collect::<Result<_, _>>()
            .map_err(|source| RuntimeError::ControllerConfig { name, source })?;
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..shard_count).map(|_| unbounded()).unzip();
        let router = Router::begin(api.as_ref(), descriptor, senders, Arc::clone(&shared))?;
        let stops = StopOnDrop(Arc::clone(&shared));
        let mut shards = Vec::with_capacity(shard_count);
        for (number, (controller, receiver)) in controllers.into_iter().zip(receivers).enumerate() {
            let (api, shared) = (Arc::clone(&api), Arc::clone(&shared));
            let worker = Worker { number, api, receiver, shared, controller, owed: 0, has_called: false };
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            shards.push(thread.spawn(move || worker.run()).map_err(spawn_error)?);
        }
        let router = std::thread::Builder::new()
            .name(format!("{name}-watch"))
            .spawn(move || router.run())
            .map_err(spawn_error)?;
        Ok(WallController { descriptor, shared: stops, router, shards })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.descriptor.name
    }

    /// Whether everything up to `resource_version` was dealt with: no call is to be made or under way.
    /// Timers that run, as those of `tolerationSeconds`, are not waited for.
    #[must_use]
    pub fn is_quiescent(&self, resource_version: u64) -> bool {
        self.shared.0.handled_version.load(Ordering::Acquire) >= resource_version
            && self.shared.0.pending.load(Ordering::Acquire) == 0
            && self.remaining() < Remaining::Work
    }

    /// Whether timers run that will change the cluster.
    #[must_use]
    pub fn has_timers(&self) -> bool {
        self.remaining() == Remaining::Timers
    }

    fn remaining(&self) -> Remaining {
        let levels = self.shared.0.remaining.iter().map(|shard| shard.load(Ordering::Acquire));
        match levels.max().unwrap_or(0) {
            0 => Remaining::Nothing,
            1 => Remaining::Timers,
            _ => Remaining::Work,
        }
    }

    /// A thread ended although nobody stopped the controller.
    #[must_use]
    pub fn has_died(&self) -> bool {
        self.router.is_finished() || self.shards.iter().any(JoinHandle::is_finished)
    }

    /// Stops the threads and says what was done.
    pub fn stop(self) -> Result<ControllerReport, RuntimeError> {
        let panicked = |_| RuntimeError::Panicked(self.descriptor.name);
        self.shared.0.stop.store(true, Ordering::Release);
        self.router.join().map_err(panicked)??;
        let reports: Result<Vec<ControllerReport>, RuntimeError> =
            self.shards.into_iter().map(|shard| shard.join().map_err(panicked)).collect();
        Ok(ControllerReport::of_shards(self.descriptor.name, reports?))
    }
}

/// The watch that is the cheapest for a scope.
enum Feed {
    /// Of nodes and of pods that ask something of their node, or of all pods on nodes.
    Running(Box<dyn RunningWatch>),
    /// Of everything.
    All { watch: Box<dyn Watch>, seen_version: u64 },
}

impl Feed {
    fn drain_into(&mut self, events: &mut Vec<WatchEvent>) -> Result<usize, ApiError> {
        match self {
            Feed::Running(watch) => watch.drain_into(events),
            Feed::All { watch, seen_version } => {
                let count = watch.drain_into(events)?;
                *seen_version = events.last().map_or(*seen_version, WatchEvent::resource_version);
                Ok(count)
            }
        }
    }

    fn seen_version(&self) -> u64 {
        match self {
            Feed::Running(watch) => watch.seen_version(),
            Feed::All { seen_version, .. } => *seen_version,
        }
    }

    fn wait(&mut self) {
        match self {
            Feed::Running(watch) => watch.wait(IDLE_WAIT),
            Feed::All { watch, .. } => watch.wait(IDLE_WAIT),
        };
    }
}

/// Hands events to the shards they concern.
struct Router {
    descriptor: &'static ControllerDescriptor,
    senders: Vec<Sender<Delivery>>,
    shared: Arc<Shared>,
    feed: Feed,
    listed: Listed,
    /// Of evictable pods only those with execution terms come so far.
    leaves_pods_out: bool,
    /// The nodes, while there is no evictable pod and no taint that drives pods away: the shards then have
    /// nothing to do, and are told of nothing.
    at_rest: Option<FxHashMap<NodeNameId, Arc<NodeEntry>>>,
}

impl Router {
    /// Hands out everything there is; the watch misses nothing after it.
    fn begin(
        api: &dyn Api,
        descriptor: &'static ControllerDescriptor,
        senders: Vec<Sender<Delivery>>,
        shared: Arc<Shared>,
    ) -> Result<Router, ApiError> {
        let scope = &descriptor.scope;
        let mut listed = scope.list(api)?;
        let seen_version = listed.resource_version;
        let needs_all = scope.pods == PodsWatched::All || !scope.kinds.is_empty();
        let mut events = std::mem::take(&mut listed.events);
        let feed = if needs_all {
            Feed::All { watch: api.watch(seen_version)?, seen_version }
        } else {
            let mut watch = api.watch_running(seen_version)?;
            if scope.pods == PodsWatched::OnNodes {
                // Those that the list has come a second time.
                watch.follow_all(&mut events)?;
            }
            Feed::Running(watch)
        };
        let is_evictable = scope.pods == PodsWatched::Evictable;
        let at_rest = is_evictable.then(FxHashMap::default);
        let mut router =
            Router { descriptor, senders, shared, feed, listed, leaves_pods_out: is_evictable, at_rest };
        router.route(&mut events)?;
        Ok(router)
    }

    fn run(mut self) -> Result<(), ApiError> {
        let mut events = Vec::new();
        while !self.shared.stop.load(Ordering::Acquire) {
            if self.feed.drain_into(&mut events)? == 0 {
                self.shared.handled_version.store(self.feed.seen_version(), Ordering::Release);
                self.feed.wait();
                continue;
            }
            events.retain(|event| !self.listed.knows(event));
            self.route(&mut events)?;
        }
        Ok(())
    }

    /// Hands out events, and all pods behind them if one of the nodes drives pods away.
    fn route(&mut self, events: &mut Vec<WatchEvent>) -> Result<(), ApiError> {
        if self.leaves_pods_out
            && events.iter().any(drives_pods_away)
            && let Feed::Running(watch) = &mut self.feed
        {
            watch.follow_all(events)?;
            self.leaves_pods_out = false;
        }
        let at_ns = monotonic_ns();
        if !self.leaves_pods_out || events.iter().any(is_of_pod) {
            self.wake_shards(at_ns);
        }
        for event in events.drain(..) {
            self.hand_out(event, at_ns);
        }
        self.shared.handled_version.store(self.feed.seen_version(), Ordering::Release);
        Ok(())
    }

    /// Tells the shards of all nodes, if they do not know them yet.
    fn wake_shards(&mut self, at_ns: u64) {
        let mut nodes: Vec<Arc<NodeEntry>> = self.at_rest.take().unwrap_or_default().into_values().collect();
        nodes.sort_unstable_by_key(|entry| entry.name);
        for entry in nodes {
            self.hand_out(WatchEvent { kind: EventKind::Added, object: WatchedObject::Node(entry) }, at_ns);
        }
    }

    fn hand_out(&mut self, event: WatchEvent, at_ns: u64) {
        if let (Some(nodes), WatchedObject::Node(entry)) = (&mut self.at_rest, &event.object) {
            match event.kind {
                EventKind::Deleted => nodes.remove(&entry.name),
                EventKind::Added | EventKind::Modified => nodes.insert(entry.name, Arc::clone(entry)),
            };
            return;
        }
        let ControllerDescriptor { scope, sharding, .. } = self.descriptor;
        match scope.concerns(&event.object, *sharding, self.senders.len()) {
            Concerns::Nobody => {}
            Concerns::Shard(shard) => self.send(shard, event, at_ns),
            Concerns::EveryShard => {
                (0..self.senders.len()).for_each(|shard| self.send(shard, event.clone(), at_ns));
            }
        }
    }

    fn send(&self, shard: usize, event: WatchEvent, at_ns: u64) {
        self.shared.pending.fetch_add(1, Ordering::AcqRel);
        if self.senders[shard].send(Delivery { event, at_ns }).is_err() {
            // The shard's thread is gone, which `has_died` reports.
            self.shared.pending.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn is_of_pod(event: &WatchEvent) -> bool {
    matches!(event.object, WatchedObject::Pod(_))
}

/// Whether the event is about a node that has a `NoExecute` taint.
fn drives_pods_away(event: &WatchEvent) -> bool {
    let WatchedObject::Node(entry) = &event.object else { return false };
    entry.input.taints.iter().any(|taint| taint.effect == "NoExecute")
}

/// The thread of a shard.
struct Worker {
    number: usize,
    api: Arc<dyn Api>,
    receiver: Receiver<Delivery>,
    shared: Arc<Shared>,
    controller: Box<dyn Controller>,
    /// Events that were taken in and whose calls are not all made.
    owed: u64,
    /// The last round made calls: there may be more.
    has_called: bool,
}

impl Worker {
    /// Takes events in, lets time pass and makes one round of calls, again and again.
    fn run(mut self) -> ControllerReport {
        let (mut calls, mut answers) = (Vec::new(), Vec::new());
        loop {
            let first = match self.receiver.recv_timeout(self.patience()) {
                Ok(delivery) => Some(delivery),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) if self.has_called => None,
                Err(RecvTimeoutError::Disconnected) => return self.controller.report(),
            };
            let now_ns = monotonic_ns();
            if first.is_some() || self.controller.next_wake_ns().is_some_and(|due_ns| due_ns <= now_ns) {
                self.shared.publish(self.number, Remaining::Work);
            }
            self.take_in(first);
            self.controller.advance(ControllerContext::new(self.api.as_ref(), monotonic_ns()));
            let context = ControllerContext::new(self.api.as_ref(), monotonic_ns());
            self.controller.take_calls(context, &mut calls);
            self.has_called = !calls.is_empty();
            perform_all(&calls, self.api.as_ref(), &mut answers);
            let context = ControllerContext::new(self.api.as_ref(), monotonic_ns());
            for (call, answer) in calls.drain(..).zip(answers.drain(..)) {
                self.controller.on_answer(call.token, &answer, context);
            }
            if !self.has_called {
                self.shared.publish(self.number, self.controller.remaining());
                self.shared.pending.fetch_sub(std::mem::take(&mut self.owed), Ordering::AcqRel);
            }
        }
    }

    /// Until the next thing that is due, or for long.
    fn patience(&self) -> Duration {
        if self.has_called {
            return Duration::ZERO;
        }
        let due = self.controller.next_wake_ns().map(|due_ns| due_ns.saturating_sub(monotonic_ns()));
        due.map_or(SHARD_WAIT, Duration::from_nanos).min(SHARD_WAIT)
    }

    fn take_in(&mut self, first: Option<Delivery>) {
        let waiting = self.receiver.len();
        for Delivery { event, at_ns } in first.into_iter().chain(self.receiver.try_iter().take(waiting)) {
            self.controller.on_event(&event, ControllerContext::new(self.api.as_ref(), at_ns));
            self.owed += 1;
        }
    }
}
