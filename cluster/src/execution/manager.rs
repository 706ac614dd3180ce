//! Shards on threads, fed from one watch.
//!
//! A pod without execution terms has nothing to fear but a `NoExecute` taint. While no node has had
//! one, the watch leaves such pods out: plain pods cost the manager nothing, not even a wake-up. With
//! the first taint it follows all pods, those that run already first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use super::report::{ExecutionCounts, ExecutionReport};
use super::shard::{Cause, Eviction, Shard};
use crate::api::{
    Api, ApiError, ConditionEdit, ConditionPatch, ConditionStatus, EventKind, ListQuery, NodeEntry,
    NodeNameId, Nomination, Object, PodFilter, PodFlags, PodRow, PodStatusPatch, RunningWatch, WatchEvent,
    WatchedObject,
};
use crate::clock::monotonic_ns;
use crate::convert::node_input;
use crate::runtime::RuntimeError;

/// How long an idle thread sleeps before it looks whether it is to stop, and says how far it has seen.
const IDLE_WAIT: Duration = Duration::from_millis(5);

/// How the manager runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionSettings {
    /// Threads that look at pods and evict them, each for its share of the nodes.
    pub shards: usize,
}

impl Default for ExecutionSettings {
    /// Upstream: tainteviction/taint_eviction.go `UpdateWorkerSize`.
    fn default() -> Self {
        ExecutionSettings { shards: 8 }
    }
}

/// Something for a shard to look at, and when it came.
struct Work {
    what: What,
    at_ns: u64,
}

enum What {
    Node(Arc<NodeEntry>),
    NodeGone(NodeNameId),
    Pod(PodRow, NodeNameId),
    PodGone(PodUid),
}

/// What the threads publish for whoever waits.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// All up to this resource version was handed to a shard, or concerns nobody.
    handled_version: AtomicU64,
    /// Handed to a shard and not yet dealt with.
    pending: AtomicU64,
}

/// What a shard's thread leaves behind.
#[derive(Debug, Default)]
struct Tally {
    counts: ExecutionCounts,
    latencies_us: Vec<u64>,
    first_ns: Option<u64>,
    last_ns: u64,
}

/// Evicts pods that their nodes no longer suit, from its start to its stop.
#[derive(Debug)]
pub struct ExecutionManager {
    shared: StopOnDrop,
    dispatcher: JoinHandle<Result<(), ApiError>>,
    shards: Vec<JoinHandle<Tally>>,
}

/// A manager that an error path drops must not go on evicting: its threads end at their next look.
#[derive(Debug)]
struct StopOnDrop(Arc<Shared>);

impl std::ops::Deref for StopOnDrop {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

impl ExecutionManager {
    /// Lists nodes and pods, compares them, and watches from there on. A manager that starts anew
    /// does the same: what it knew is not needed.
    pub fn start(api: Arc<dyn Api>, settings: ExecutionSettings) -> Result<ExecutionManager, RuntimeError> {
        let threads = settings.shards.max(1) + 1;
        let spawn_error = |source| RuntimeError::Threads { threads, source };
        let shared = StopOnDrop(Arc::default());
        let (senders, receivers): (Vec<_>, Vec<_>) = (1..threads).map(|_| unbounded()).unzip();
        let mut router = Router {
            senders,
            shared: Arc::clone(&shared.0),
            follows: Follows::AskingPods,
            at_rest: Some(FxHashMap::default()),
        };
        let watch = router.begin(api.as_ref())?;
        let mut shards = Vec::with_capacity(receivers.len());
        for (at, receiver) in receivers.into_iter().enumerate() {
            let (api, shared) = (Arc::clone(&api), Arc::clone(&shared.0));
            let worker = Worker { api, receiver, shared, shard: Shard::default(), tally: Tally::default() };
            let thread = std::thread::Builder::new().name(format!("execution-{at}"));
            shards.push(thread.spawn(move || worker.run()).map_err(spawn_error)?);
        }
        let dispatcher = std::thread::Builder::new()
            .name("execution-watch".to_owned())
            .spawn(move || router.run(watch))
            .map_err(spawn_error)?;
        Ok(ExecutionManager { shared, dispatcher, shards })
    }

    /// Whether everything up to `resource_version` was dealt with. Pods that still have time left
    /// are not waited for.
    #[must_use]
    pub fn is_quiescent(&self, resource_version: u64) -> bool {
        self.shared.handled_version.load(Ordering::Acquire) >= resource_version
            && self.shared.pending.load(Ordering::Acquire) == 0
    }

    /// A thread ended although nobody stopped the manager.
    #[must_use]
    pub fn has_died(&self) -> bool {
        self.dispatcher.is_finished() || self.shards.iter().any(JoinHandle::is_finished)
    }

    /// Stops the threads and says what was done.
    pub fn stop(self) -> Result<ExecutionReport, RuntimeError> {
        self.shared.stop.store(true, Ordering::Release);
        self.dispatcher.join().map_err(|_| RuntimeError::Panicked("execution-watch"))??;
        let mut report = ExecutionReport::default();
        let (mut first_ns, mut last_ns) = (u64::MAX, 0);
        for shard in self.shards {
            let tally = shard.join().map_err(|_| RuntimeError::Panicked("execution"))?;
            report.counts += tally.counts;
            report.latencies_us.extend(tally.latencies_us);
            first_ns = first_ns.min(tally.first_ns.unwrap_or(u64::MAX));
            last_ns = last_ns.max(tally.last_ns);
        }
        report.latencies_us.sort_unstable();
        report.span_ns = last_ns.saturating_sub(first_ns);
        Ok(report)
    }
}

/// Which pods the router hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// Those with execution terms: no node has had a `NoExecute` taint yet.
    AskingPods,
    AllPods,
}

/// Hands events to the shards of their nodes.
struct Router {
    senders: Vec<Sender<Work>>,
    shared: Arc<Shared>,
    follows: Follows,
    /// The nodes, while no pod asks anything of one and none drives pods away: the shards then have
    /// nothing to do, and hear of nothing.
    at_rest: Option<FxHashMap<NodeNameId, Arc<NodeEntry>>>,
}

impl Router {
    /// Everything there is, and a watch that misses nothing after it. Nodes are listed first and the
    /// watch begins there: what comes twice is no news the second time.
    fn begin(&mut self, api: &dyn Api) -> Result<Box<dyn RunningWatch>, RuntimeError> {
        let nodes = api.list(&ListQuery::all("v1", "Node"))?;
        let pods = api.pods_in(PodFilter::default())?;
        let version = nodes.resource_version.min(pods.resource_version);
        let mut events = Vec::new();
        for node in nodes.items.into_iter().filter_map(Object::into_node) {
            let name = node.metadata.name.clone().unwrap_or_default();
            let input = node_input(&node).map_err(|error| ApiError::invalid("Node", &name, error))?;
            let entry = NodeEntry {
                name: api.node_name_id(&name),
                resource_version: version,
                input: Arc::new(input),
                object: Arc::new(*node),
            };
            events.push(added(WatchedObject::Node(Arc::new(entry))));
        }
        let asking = pods.rows.into_iter().filter(|row| row.flags.contains(PodFlags::EXECUTION_TERMS));
        events.extend(asking.map(|row| added(WatchedObject::Pod(row))));
        let mut watch = api.watch_running(version)?;
        self.route(&mut events, watch.as_mut())?;
        Ok(watch)
    }

    fn run(mut self, mut watch: Box<dyn RunningWatch>) -> Result<(), ApiError> {
        let mut events = Vec::new();
        while !self.shared.stop.load(Ordering::Acquire) {
            if watch.drain_into(&mut events)? == 0 {
                self.shared.handled_version.store(watch.seen_version(), Ordering::Release);
                watch.wait(IDLE_WAIT);
                continue;
            }
            self.route(&mut events, watch.as_mut())?;
        }
        Ok(())
    }

    /// Hands out events, and all pods behind them if one of the nodes drives pods away.
    fn route(&mut self, events: &mut Vec<WatchEvent>, watch: &mut dyn RunningWatch) -> Result<(), ApiError> {
        if self.follows == Follows::AskingPods && events.iter().any(drives_pods_away) {
            watch.follow_all(events)?;
            self.follows = Follows::AllPods;
        }
        let now_ns = monotonic_ns();
        if self.follows == Follows::AllPods || events.iter().any(is_of_pod) {
            self.wake_shards(now_ns);
        }
        for event in events.drain(..) {
            match event.object {
                WatchedObject::Node(entry) => self.node(event.kind, entry, now_ns),
                WatchedObject::Pod(row) => self.pod(event.kind, row, now_ns),
                WatchedObject::PodEvent(_) | WatchedObject::Other(_) => {}
            }
        }
        self.shared.handled_version.store(watch.seen_version(), Ordering::Release);
        Ok(())
    }

    /// Tells the shards of all nodes, if they do not know them yet.
    fn wake_shards(&mut self, at_ns: u64) {
        let mut nodes: Vec<Arc<NodeEntry>> = self.at_rest.take().unwrap_or_default().into_values().collect();
        nodes.sort_unstable_by_key(|entry| entry.name);
        for entry in nodes {
            self.send(entry.name, What::Node(entry), at_ns);
        }
    }

    fn node(&mut self, kind: EventKind, entry: Arc<NodeEntry>, at_ns: u64) {
        let name = entry.name;
        if let Some(nodes) = &mut self.at_rest {
            match kind {
                EventKind::Deleted => nodes.remove(&name),
                EventKind::Added | EventKind::Modified => nodes.insert(name, entry),
            };
            return;
        }
        let what = match kind {
            EventKind::Deleted => What::NodeGone(name),
            EventKind::Added | EventKind::Modified => What::Node(entry),
        };
        self.send(name, what, at_ns);
    }

    fn pod(&mut self, kind: EventKind, row: PodRow, at_ns: u64) {
        let Some(node) = row.node else { return };
        let leaves = kind == EventKind::Deleted
            || row.phase.is_finished()
            || row.flags.contains(PodFlags::TERMINATING);
        let what = if leaves { What::PodGone(row.uid) } else { What::Pod(row, node) };
        self.send(node, what, at_ns);
    }

    fn send(&mut self, node: NodeNameId, what: What, at_ns: u64) {
        self.shared.pending.fetch_add(1, Ordering::AcqRel);
        let sender = &self.senders[node.index() % self.senders.len()];
        if sender.send(Work { what, at_ns }).is_err() {
            // The shard's thread is gone, which `has_died` reports.
            self.shared.pending.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn added(object: WatchedObject) -> WatchEvent {
    WatchEvent { kind: EventKind::Added, object }
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
    api: Arc<dyn Api>,
    receiver: Receiver<Work>,
    shared: Arc<Shared>,
    shard: Shard,
    tally: Tally,
}

impl Worker {
    fn run(mut self) -> Tally {
        loop {
            let first = match self.receiver.recv_timeout(self.patience()) {
                Ok(work) => Some(work),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let waiting = self.receiver.len();
            let mut taken = 0;
            for work in first.into_iter().chain(self.receiver.try_iter().take(waiting)).collect::<Vec<_>>() {
                self.note(work);
                taken += 1;
            }
            self.shard.advance(monotonic_ns());
            self.evict();
            self.shared.pending.fetch_sub(taken, Ordering::AcqRel);
        }
        self.tally.counts = self.shard.counts();
        self.tally
    }

    /// Until the next thing that is due, or for long.
    fn patience(&self) -> Duration {
        let long = Duration::from_millis(100);
        let due = self.shard.next_due_ns().map(|due_ns| due_ns.saturating_sub(monotonic_ns()));
        due.map_or(long, Duration::from_nanos).min(long)
    }

    fn note(&mut self, Work { what, at_ns }: Work) {
        match what {
            What::Node(entry) => self.shard.on_node(entry.name, &entry.input, at_ns),
            What::NodeGone(name) => self.shard.on_node_gone(name),
            What::Pod(row, node) => {
                let input = || Arc::clone(&self.api.pod_spec(row.spec).input);
                self.shard.on_pod(row.uid, node, (row.spec, input), at_ns);
            }
            What::PodGone(pod) => self.shard.on_pod_gone(pod),
        }
    }

    /// Says why, then deletes: two calls a pod, as the taint manager makes them, in two batches.
    fn evict(&mut self) {
        let evictions = self.shard.take_evictions();
        if evictions.is_empty() {
            return;
        }
        let patches: Vec<PodStatusPatch<'_>> = evictions.iter().map(disruption).collect();
        let mut told = Vec::with_capacity(patches.len());
        self.api.patch_pod_status_batch(&patches, &mut told);
        let pods: Vec<PodUid> = evictions.iter().map(|eviction| eviction.pod).collect();
        let mut answers = Vec::with_capacity(pods.len());
        self.api.delete_pods_batch(&pods, &mut answers);
        let now_ns = monotonic_ns();
        for (eviction, answer) in evictions.iter().zip(&answers) {
            self.shard.on_answer(eviction.pod, answer, now_ns);
            if answer.is_ok() {
                self.tally.latencies_us.push(now_ns.saturating_sub(eviction.since_ns) / 1000);
                let first_ns = self.tally.first_ns.get_or_insert(eviction.since_ns);
                *first_ns = (*first_ns).min(eviction.since_ns);
                self.tally.last_ns = now_ns;
            }
        }
    }
}

/// The condition that tells others why the pod goes.
/// Upstream: tainteviction/taint_eviction.go `addConditionAndDeletePod`.
fn disruption(eviction: &Eviction) -> PodStatusPatch<'static> {
    let (reason, message) = match eviction.cause {
        Cause::Affinity => (
            "DeletionByNodeAffinityManager",
            "Node affinity manager: deleting because required node affinity no longer holds",
        ),
        Cause::Taint => ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"),
    };
    PodStatusPatch {
        pod: eviction.pod,
        condition: Some(ConditionEdit::Set(ConditionPatch {
            type_: "DisruptionTarget",
            status: ConditionStatus::True,
            reason,
            message,
        })),
        nomination: Nomination::Keep,
        phase: None,
    }
}
