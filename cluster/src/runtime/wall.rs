//! The scheduler on real threads and real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded, unbounded};
use schedlab_core::api_call::ApiCall;
use schedlab_core::binding::{CallId, DispatchCounts, DispatchMode, OutgoingCall};
use schedlab_core::framework::extend::Verb;
use schedlab_core::framework::points;
use schedlab_core::scheduler::{
    EventLevel, PodCounts, PodEvent, PreEnqueueStatusCounts, ScheduleOneOutcome, Scheduler, Span,
};

use super::beside::Caller;
use super::binder::{Answer, Batch, BindCall, Binder, PatchCall, Scratch};
use super::bridge::Bridge;
use super::calls::{CallTotals, CallsView};
use super::events::{Outbox, Recorder};
use super::record::{BindRecorder, CycleOutcome, CyclePod, CycleRecorder};
use super::restart::{self, Crashed};
use crate::api::{Api, ApiError, Binding, NominatedNodeNamePatch, Watch, WatchEvent};
use crate::clock::{monotonic_ns, own_thread_number};
use crate::controllers::ControllerConfigError;
use crate::link::LinkSettings;

/// Decisions between two looks at the watch: long enough to make batches, short enough that a
/// binding leaves within tens of microseconds.
const STEPS_PER_ROUND: usize = 128;
/// Batches on the way to the binder; a slower API makes the scheduler wait here.
const BATCHES_MAX: usize = 256;
/// A round of slow cycles ends after this time: what they decided must not wait for all the others.
const ROUND_MAX_NS: u64 = 10_000_000;
/// Cycles between two looks whether the round is over: one look costs several percent of a cached cycle.
const STEPS_PER_LOOK: usize = 16;
/// How long an idle thread sleeps before it looks for commands again.
const IDLE_WAIT: Duration = Duration::from_millis(2);
/// Between two looks whether an answer is still waited for.
const ANSWER_LOOK: Duration = Duration::from_millis(20);
/// A reading that takes longer than this is given up.
const STATUS_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long a runtime that is dropped waits for its threads.
const DROP_WAIT_MAX: Duration = Duration::from_millis(300);
/// Between two looks whether a thread has ended.
const END_LOOK: Duration = Duration::from_micros(200);

/// How a runtime runs.
#[derive(Clone, Copy, Debug)]
pub struct WallSettings {
    /// Threads for Filter and Score, the scheduler's own included.
    pub threads: usize,
    /// What the way to the API is like; the default one takes no time.
    pub link: LinkSettings,
}

/// A runtime that could not start, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The operating system gave no thread.
    #[error("could not start {threads} scheduler thread(s): {source}; try fewer with --threads")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// Why not.
        source: std::io::Error,
    },
    /// The worker pool could not be built.
    #[error("could not start a pool of {threads} thread(s): {source}; try fewer with --threads")]
    Pool {
        /// How many were asked for.
        threads: usize,
        /// Why not.
        source: rayon::ThreadPoolBuildError,
    },
    /// The watch broke.
    #[error("the watch ended: {0}")]
    Watch(#[from] ApiError),
    /// The operating system gave no thread for a controller.
    #[error("could not start {threads} thread(s) of {name}: {source}")]
    ControllerThreads {
        /// The controller.
        name: &'static str,
        /// How many were asked for.
        threads: usize,
        /// Why not.
        source: std::io::Error,
    },
    /// A controller cannot work with its configuration.
    #[error("controller {name}: {source}")]
    ControllerConfig {
        /// The controller.
        name: &'static str,
        /// Why not.
        source: ControllerConfigError,
    },
    /// A thread panicked; its message is on standard error.
    #[error("the {0} thread panicked; this is a bug in schedlab")]
    Panicked(&'static str),
}

/// A reading of where the scheduler stands.
#[derive(Clone, Debug)]
pub struct RuntimeStatus {
    /// How many pods are where.
    pub counts: PodCounts,
    /// Why pods wait, with counts, most frequent first.
    pub waiting: Vec<(String, usize)>,
    /// Bytes held for nodes, and for pods and the queue.
    pub memory_bytes: (usize, usize),
    /// What became of calls on their way to the API.
    pub calls: DispatchCounts,
    /// What became of rejections before the queue.
    pub gates: PreEnqueueStatusCounts,
}

impl RuntimeStatus {
    /// Where this scheduler stands.
    #[must_use]
    pub fn of(scheduler: &Scheduler) -> RuntimeStatus {
        RuntimeStatus {
            counts: scheduler.counts(),
            waiting: scheduler.waiting_reasons(10),
            memory_bytes: scheduler.memory_bytes(),
            calls: scheduler.dispatcher().counts(),
            gates: scheduler.pre_enqueue_status_counts(),
        }
    }
}

enum Command {
    Status(Sender<RuntimeStatus>),
    Change(Change),
    /// The scheduler is gone; this one takes its place, and is told nothing until it starts.
    Crash(Box<Scheduler>, Sender<Crashed>),
    Start(Sender<Result<(), ApiError>>),
}

/// Something to be done to a scheduler, at a time.
type Change = Box<dyn FnOnce(&mut Scheduler, u64) + Send>;

/// Lets others change a running scheduler between two of its cycles.
#[derive(Clone, Debug)]
pub struct Changer {
    commands: Sender<Command>,
}

impl Changer {
    /// Does something to the scheduler on its own thread, between two cycles, and waits for the
    /// answer; `None` when the scheduler has ended.
    pub fn change<R: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Scheduler, u64) -> R + Send + 'static,
    ) -> Option<R> {
        self.change_while(&|| true, change)
    }

    /// The same, and `None` as well when the answer is not waited for any longer: a cycle may be as
    /// long as an extender is silent.
    pub fn change_while<R: Send + 'static>(
        &self,
        waits: &dyn Fn() -> bool,
        change: impl FnOnce(&mut Scheduler, u64) -> R + Send + 'static,
    ) -> Option<R> {
        let (reply, answer) = bounded(1);
        let change: Change = Box::new(move |scheduler, now_ns| {
            // Whoever asked may have stopped waiting.
            let _ = reply.send(change(scheduler, now_ns));
        });
        self.commands.send(Command::Change(change)).ok()?;
        receive_while(&answer, waits)
    }
}

impl Changer {
    /// Ends the scheduler as a process that is killed ends: what it knew and had not sent is lost, what is
    /// on its way to the API arrives. `next` is told nothing before [`Changer::start_while`].
    pub fn crash_while(&self, waits: &dyn Fn() -> bool, next: Scheduler) -> Option<Crashed> {
        let (reply, answer) = bounded(1);
        self.commands.send(Command::Crash(Box::new(next), reply)).ok()?;
        receive_while(&answer, waits)
    }

    /// Starts the scheduler that took the place of one that ended: it lists everything and watches.
    pub fn start_while(&self, waits: &dyn Fn() -> bool) -> Option<Result<(), ApiError>> {
        let (reply, answer) = bounded(1);
        self.commands.send(Command::Start(reply)).ok()?;
        receive_while(&answer, waits)
    }
}

/// The answer; `None` when nobody will send one, or it is not waited for any longer.
fn receive_while<R>(answer: &Receiver<R>, waits: &dyn Fn() -> bool) -> Option<R> {
    loop {
        match answer.recv_timeout(ANSWER_LOOK) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if !waits() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// What the threads publish for whoever waits.
#[derive(Debug, Default)]
pub(super) struct Shared {
    stop: AtomicBool,
    /// No attempt is begun any more.
    pub(super) halt: AtomicBool,
    /// The scheduler thread has seen it.
    has_halted: AtomicBool,
    /// The last resource version whose event the scheduler has handled.
    handled_version: AtomicU64,
    /// Calls handed to the binder and not yet answered.
    pub(super) calls_in_flight: AtomicU64,
    /// The operating system's number of the scheduler thread; 0 where it has none.
    scheduler_thread: AtomicU32,
    /// The scheduler found nothing to do when it last looked.
    is_resting: AtomicBool,
    /// How often the scheduler thread has gone round, also when it had nothing to do.
    rounds: AtomicU64,
    attempts: AtomicU64,
    pub(super) failed_calls: AtomicU64,
    /// Events that were handed over and are not posted yet.
    pub(super) events_waiting: AtomicU64,
    /// Events that nobody waited for.
    pub(super) dropped_events: AtomicU64,
    pub(super) calls: Arc<CallTotals>,
}

/// A scheduler running against an API.
#[derive(Debug)]
pub struct WallRuntime<C, B> {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    scheduler: Option<JoinHandle<Result<Ended<C, B>, ApiError>>>,
    binder: Option<JoinHandle<B>>,
}

/// What the scheduler thread hands back when it ends: its recorder, and the binder's where it
/// performed the calls itself.
type Ended<C, B> = (C, Option<B>);

impl<C: CycleRecorder + 'static, B: BindRecorder + 'static> WallRuntime<C, B> {
    /// Starts the threads. The scheduler sees everything that happened after `resource_version`.
    pub fn start(
        api: Arc<dyn Api>,
        scheduler: Scheduler,
        resource_version: u64,
        settings: WallSettings,
        recorders: (C, B),
    ) -> Result<Self, RuntimeError> {
        Self::start_with(api, scheduler, resource_version, settings, recorders, None)
    }

    /// The same against an API whose calls take time: `caller` makes them, many at once.
    pub fn start_beside(
        api: Arc<dyn Api>,
        scheduler: Scheduler,
        threads: usize,
        recorders: (C, B),
        caller: Arc<dyn Caller>,
    ) -> Result<Self, RuntimeError> {
        let settings = WallSettings { threads, link: LinkSettings::INSTANT };
        Self::start_with(api, scheduler, 0, settings, recorders, Some(caller))
    }

    fn start_with(
        api: Arc<dyn Api>,
        scheduler: Scheduler,
        resource_version: u64,
        settings: WallSettings,
        recorders: (C, B),
        caller: Option<Arc<dyn Caller>>,
    ) -> Result<Self, RuntimeError> {
        let threads = settings.threads.max(1);
        let spawn_error = |source| RuntimeError::Threads { threads, source };
        let (watch, pool) = (api.watch(resource_version)?, pool(threads)?);
        let shared = Arc::new(Shared::default());
        shared.handled_version.store(resource_version, Ordering::Release);
        let (to_binder, batches) = bounded(BATCHES_MAX);
        let (answers, from_binder) = unbounded();
        let (commands, from_handle) = unbounded();
        let ((cycles, binds), link) = (recorders, settings.link);
        let is_remote = caller.is_some();
        let calls_are_instant = link.is_instant() && !is_remote;
        let events = start_events(&api, &scheduler, &shared, link).map_err(spawn_error)?;
        let events = events.map(|outbox| outbox.with_limit(is_remote));
        let binder = Binder {
            api: Arc::clone(&api),
            shared: Arc::clone(&shared),
            batches,
            answers,
            recorder: binds,
            extenders: scheduler.extenders().iter().filter(|it| it.does(Verb::Bind)).cloned().collect(),
            scratch: Scratch::default(),
            scheduled: events.clone().filter(|_| scheduler.settings().events == EventLevel::All),
        };
        // An extender that binds is asked over HTTP: the loop must not wait for its answer.
        let (calls_go, binder) = if calls_are_instant && binder.extenders.is_empty() {
            (CallsGo::Inline(Box::new(binder)), None)
        } else {
            let run = move || match caller {
                Some(caller) => binder.run_beside(caller),
                None if link.is_instant() => binder.run(),
                None => binder.run_over(link),
            };
            let thread = std::thread::Builder::new().name("binder".to_owned()).spawn(run);
            (CallsGo::ToBinder(to_binder), Some(thread.map_err(spawn_error)?))
        };
        let mut driver = Driver {
            api,
            watch,
            blocking: Blocking::of(&scheduler, calls_are_instant),
            calls_are_instant,
            is_down: false,
            scheduler,
            bridge: Bridge::default(),
            shared: Arc::clone(&shared),
            calls_go,
            from_binder,
            commands: from_handle,
            events,
            pod_events: Vec::new(),
            recorder: cycles,
            spans: Vec::new(),
            cycles_begun_ns: 0,
            round_begun_ns: 0,
            round_has_failures: false,
        };
        let scheduler = std::thread::Builder::new()
            .name("scheduler".to_owned())
            // The loop runs inside the pool, so that it takes part in the chunks it hands out.
            .spawn(move || pool.install(move || driver.run().map(|()| driver.recorders())))
            .map_err(spawn_error)?;
        Ok(WallRuntime { shared, commands, scheduler: Some(scheduler), binder })
    }

    /// Whether the scheduler has seen everything up to `resource_version`, has nothing left to try
    /// and no call under way: nothing more will happen until somebody changes the cluster.
    #[must_use]
    pub fn is_quiescent(&self, resource_version: u64) -> bool {
        self.shared.is_resting.load(Ordering::Acquire)
            && self.shared.handled_version.load(Ordering::Acquire) >= resource_version
            && self.shared.calls_in_flight.load(Ordering::Acquire) == 0
    }

    /// A thread ended although nobody stopped the runtime.
    #[must_use]
    pub fn has_died(&self) -> bool {
        self.scheduler.as_ref().is_some_and(JoinHandle::is_finished)
            || self.binder.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Scheduling attempts so far.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.shared.attempts.load(Ordering::Relaxed)
    }

    /// How often the scheduler has gone round its loop, also with nothing to do: while that stays the
    /// same, an attempt is under way.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.shared.rounds.load(Ordering::Relaxed)
    }

    /// The operating system's number of the scheduler thread, for reading what it says of the
    /// thread; 0 until it runs, and where threads have no number.
    #[must_use]
    pub fn scheduler_thread(&self) -> u32 {
        self.shared.scheduler_thread.load(Ordering::Relaxed)
    }

    /// API calls that failed so far.
    #[must_use]
    pub fn failed_calls(&self) -> u64 {
        self.shared.failed_calls.load(Ordering::Relaxed)
    }

    /// Whether calls have no answer yet.
    #[must_use]
    pub fn has_calls_under_way(&self) -> bool {
        0 < self.shared.calls_in_flight.load(Ordering::Acquire)
    }

    /// Events about pods that were dropped because the API takes them too slowly.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.shared.dropped_events.load(Ordering::Relaxed)
    }

    /// Asks the scheduler where it stands; `None` when it has ended, or does not answer while it is
    /// waited for.
    #[must_use]
    pub fn status_while(&self, waits: &dyn Fn() -> bool) -> Option<RuntimeStatus> {
        let (reply, answer) = bounded(1);
        self.commands.send(Command::Status(reply)).ok()?;
        let asked = Instant::now();
        receive_while(&answer, &|| asked.elapsed() < STATUS_WAIT_MAX && waits())
    }

    /// Asks the scheduler where it stands; `None` when it has ended, or does not answer.
    #[must_use]
    pub fn status(&self) -> Option<RuntimeStatus> {
        self.status_while(&|| true)
    }

    /// Lets the scheduler begin no more attempts. Whether the one under way ended within this time:
    /// it may wait for an extender.
    #[must_use]
    pub fn halt(&self, at_most: Duration) -> bool {
        self.shared.halt.store(true, Ordering::Release);
        let end = Instant::now() + at_most;
        while !self.shared.has_halted.load(Ordering::Acquire) && !self.has_died() {
            if end <= Instant::now() {
                return false;
            }
            std::thread::sleep(END_LOOK);
        }
        true
    }

    /// What lets others count the calls that were made, also when the runtime has ended.
    #[must_use]
    pub fn calls(&self) -> CallsView {
        CallsView(Arc::clone(&self.shared.calls))
    }

    /// What changes the scheduler while it runs.
    #[must_use]
    pub fn changer(&self) -> Changer {
        Changer { commands: self.commands.clone() }
    }

    /// Stops the threads and hands the recorders back.
    pub fn stop(mut self) -> Result<(C, B), RuntimeError> {
        self.begin_to_stop();
        let scheduler = self.scheduler.take().expect("stopped once");
        let (cycles, binds) = scheduler.join().map_err(|_| RuntimeError::Panicked("scheduler"))??;
        if let Some(binds) = binds {
            return Ok((cycles, binds));
        }
        // The scheduler thread held the sender of batches: the binder drains what is left and ends.
        let binder = self.binder.take().expect("calls go to a thread unless the scheduler performs them");
        let binds = binder.join().map_err(|_| RuntimeError::Panicked("binder"))?;
        Ok((cycles, binds))
    }

    /// Stops the threads, and leaves those behind that do not end while they are waited for: one that
    /// waits for an extender ends when that call has its answer or its deadline, and does nothing more.
    pub fn stop_while(mut self, waits: &dyn Fn() -> bool) -> Result<(), RuntimeError> {
        self.begin_to_stop();
        if !self.ends_while(waits) {
            self.leave_behind();
            return Ok(());
        }
        self.stop().map(|_| ())
    }
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, RuntimeError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|at| format!("filter-{at}"))
        .build()
        .map_err(|source| RuntimeError::Pool { threads, source })
}

impl<C, B> WallRuntime<C, B> {
    fn begin_to_stop(&self) {
        self.shared.halt.store(true, Ordering::Release);
        self.shared.stop.store(true, Ordering::Release);
    }

    /// Whether the threads have ended, or do so while they are waited for.
    fn ends_while(&self, waits: &dyn Fn() -> bool) -> bool {
        let has_ended = || {
            self.scheduler.as_ref().is_none_or(JoinHandle::is_finished)
                && self.binder.as_ref().is_none_or(JoinHandle::is_finished)
        };
        while !has_ended() {
            if !waits() {
                return false;
            }
            std::thread::sleep(END_LOOK);
        }
        true
    }

    fn leave_behind(&mut self) {
        drop((self.scheduler.take(), self.binder.take()));
    }
}

/// A runtime that an error path drops must not go on scheduling beside the next one. The wait is bounded,
/// because a call of an extender may last as long as its deadline; its thread then ends by itself.
impl<C, B> Drop for WallRuntime<C, B> {
    fn drop(&mut self) {
        self.begin_to_stop();
        let begun = Instant::now();
        if !self.ends_while(&|| begun.elapsed() < DROP_WAIT_MAX) {
            return self.leave_behind();
        }
        // Whoever drops a runtime asks for no result; a panic was printed by its own thread.
        self.scheduler.take().map(JoinHandle::join);
        self.binder.take().map(JoinHandle::join);
    }
}

/// Which answers the scheduling loop waits for before it tries the next pod.
///
/// Upstream: without `SchedulerAsyncAPICalls`, schedule_one.go `handleSchedulingFailure` patches the
/// pod's status inside the scheduling cycle; binding cycles have goroutines of their own. Deletions
/// of victims are inside the cycle unless `SchedulerAsyncPreemption` is on.
enum Blocking {
    /// None: calls are queued, or take no time.
    Never,
    /// Those of calls that no binding cycle waits for.
    OwnCalls {
        /// Deletions are among them.
        with_deletes: bool,
        /// Not answered yet.
        open: Vec<CallId>,
    },
}

impl Blocking {
    fn of(scheduler: &Scheduler, calls_are_instant: bool) -> Blocking {
        if calls_are_instant || scheduler.dispatcher().mode() != DispatchMode::Direct {
            return Blocking::Never;
        }
        let with_deletes = !scheduler.settings().gates.scheduler_async_preemption;
        Blocking::OwnCalls { with_deletes, open: Vec::new() }
    }

    fn is_waiting(&self) -> bool {
        matches!(self, Blocking::OwnCalls { open, .. } if !open.is_empty())
    }

    fn note(&mut self, calls: &[OutgoingCall], scheduler: &Scheduler) {
        let Blocking::OwnCalls { with_deletes, open } = self else { return };
        let blocks = |outgoing: &&OutgoingCall| match outgoing.call {
            ApiCall::PatchStatus(_) => !scheduler.binding_cycles().awaits(outgoing.id),
            ApiCall::AddDisruptionTarget { .. } | ApiCall::DeletePod { .. } => *with_deletes,
            ApiCall::Bind { .. }
            | ApiCall::BindVolumes(_)
            | ApiCall::WriteClaims(_)
            | ApiCall::PatchPodGroupStatus(_) => false,
        };
        open.extend(calls.iter().filter(blocks).map(|outgoing| outgoing.id));
    }

    fn answered(&mut self, id: CallId) {
        if let Blocking::OwnCalls { open, .. } = self {
            open.retain(|&waits| waits != id);
        }
    }
}

/// Where API calls are performed.
///
/// Calls that take no time are performed by the scheduler thread itself, at the end of a round:
/// waking another thread for 128 bindings costs more than making them, and how much more differs
/// from run to run by several times. Calls over a link with latency have a thread of their own, as
/// upstream's binding cycles have goroutines.
enum CallsGo<B> {
    Inline(Box<Binder<B>>),
    ToBinder(Sender<Batch>),
}

/// The scheduler thread.
struct Driver<C, B> {
    api: Arc<dyn Api>,
    watch: Box<dyn Watch>,
    blocking: Blocking,
    calls_are_instant: bool,
    /// The scheduler has not started: nobody tells it anything.
    is_down: bool,
    scheduler: Scheduler,
    bridge: Bridge,
    shared: Arc<Shared>,
    calls_go: CallsGo<B>,
    from_binder: Receiver<Vec<Answer>>,
    commands: Receiver<Command>,
    /// Where events about pods go, if somebody wants them.
    events: Option<Outbox>,
    pod_events: Vec<PodEvent>,
    recorder: C,
    spans: Vec<Span>,
    /// When the cycles began whose calls are sent next.
    cycles_begun_ns: u64,
    round_begun_ns: u64,
    /// A cycle of this round found no node.
    round_has_failures: bool,
}

/// Starts the thread that writes events, if there can be any.
fn start_events(
    api: &Arc<dyn Api>,
    scheduler: &Scheduler,
    shared: &Arc<Shared>,
    link: LinkSettings,
) -> std::io::Result<Option<Outbox>> {
    let settings = scheduler.settings();
    if settings.events == EventLevel::Off && !settings.gates.scheduler_pre_enqueue_pod_status {
        return Ok(None);
    }
    let (sender, inbox) = unbounded();
    let recorder = Recorder::new(Arc::clone(api), Arc::clone(shared), inbox);
    // Nobody joins it: it ends when the other two have ended, and holds nothing back.
    let run = move || if link.is_instant() { recorder.run() } else { recorder.run_over(link) };
    std::thread::Builder::new().name("events".to_owned()).spawn(run)?;
    Ok(Some(Outbox { sender, shared: Arc::clone(shared), waiting_max: u64::MAX }))
}

impl<C: CycleRecorder, B: BindRecorder> Driver<C, B> {
    fn recorders(self) -> Ended<C, B> {
        match self.calls_go {
            CallsGo::Inline(binder) => (self.recorder, Some(binder.recorder)),
            CallsGo::ToBinder(_) => (self.recorder, None),
        }
    }

    fn run(&mut self) -> Result<(), ApiError> {
        let mut events = Vec::new();
        let mut calls = Vec::new();
        self.shared.scheduler_thread.store(own_thread_number().unwrap_or(0), Ordering::Relaxed);
        self.report_profiles();
        while !self.shared.stop.load(Ordering::Acquire) {
            self.shared.rounds.fetch_add(1, Ordering::Relaxed);
            self.answer_commands();
            if self.shared.halt.load(Ordering::Acquire) {
                self.recorders_rest();
                self.shared.has_halted.store(true, Ordering::Release);
                self.watch.wait(IDLE_WAIT);
                continue;
            }
            events.clear();
            let event_count = self.watch.drain_into(&mut events)?;
            let answer_count = self.from_binder.len();
            let now_ns = monotonic_ns();
            let is_due = self.scheduler.next_wake_ns().is_some_and(|wake_ns| wake_ns <= now_ns);
            let has_work = self.scheduler.has_work() && !self.blocking.is_waiting();
            if event_count == 0 && answer_count == 0 && !is_due && !has_work {
                self.recorders_rest();
                self.shared.is_resting.store(self.scheduler.is_settled(), Ordering::Release);
                self.watch.wait(IDLE_WAIT);
                continue;
            }
            self.shared.is_resting.store(false, Ordering::Release);
            let times_spans = self.recorder.times_spans();
            self.scheduler.set_timing(times_spans);
            self.scheduler.advance(now_ns);
            if !self.is_down {
                events.iter().for_each(|event| self.handle(event, now_ns));
            }
            for Answer { id, pod, result } in self.from_binder.try_iter().take(answer_count).flatten() {
                self.blocking.answered(id);
                match (id, result) {
                    (CallId::UNTRACKED, _) => self.scheduler.on_bind_failed(pod, now_ns),
                    (id, Ok(version)) => self.scheduler.on_patched(id, version, now_ns),
                    (id, Err(failure)) => self.scheduler.on_answer(id, Err(failure), now_ns),
                }
            }
            if let Some(last) = events.last() {
                self.shared.handled_version.store(last.resource_version(), Ordering::Release);
            }
            self.steps(&mut calls);
            self.send_all(&mut calls);
            if times_spans {
                self.scheduler.take_spans(&mut self.spans);
                self.recorder.spans(&mut self.spans);
            }
        }
        Ok(())
    }

    fn recorders_rest(&mut self) {
        self.recorder.rests();
        if let CallsGo::Inline(binder) = &mut self.calls_go {
            binder.recorder.rests();
        }
    }

    fn report_profiles(&mut self) {
        // What was recorded so far is of the profiles so far.
        self.recorders_rest();
        let names = self.scheduler.profiles().map(|profile| profile.scheduler_name.clone());
        self.recorder.profiles(names.collect());
    }

    #[inline]
    fn handle(&mut self, event: &WatchEvent, now_ns: u64) {
        let start_ns = self.recorder.times_event().then(monotonic_ns);
        self.bridge.deliver(event, self.api.as_ref(), &mut self.scheduler, now_ns);
        if let Some(start_ns) = start_ns {
            self.recorder.event_handled(event, monotonic_ns() - start_ns);
        }
    }

    fn steps(&mut self, calls: &mut Vec<OutgoingCall>) {
        let mut attempts = 0;
        self.cycles_begun_ns = monotonic_ns();
        self.round_begun_ns = self.cycles_begun_ns;
        self.round_has_failures = false;
        self.recorder.round_begins();
        let may_block = matches!(self.blocking, Blocking::OwnCalls { .. });
        for step in 0..STEPS_PER_ROUND {
            if self.shared.halt.load(Ordering::Relaxed) || self.is_round_over(step) {
                break;
            }
            if may_block {
                self.send_all(calls);
                if self.blocking.is_waiting() {
                    break;
                }
            }
            let (pod, outcome) = match self.scheduler.schedule_one(&mut self.recorder) {
                ScheduleOneOutcome::Idle => break,
                ScheduleOneOutcome::Assumed { pod, choice } => {
                    (pod, CycleOutcome::Assumed { evaluated: choice.evaluated })
                }
                ScheduleOneOutcome::Unschedulable { pod } | ScheduleOneOutcome::NominatedMissed { pod } => {
                    (pod, CycleOutcome::Unschedulable)
                }
                ScheduleOneOutcome::Failed { pod } => (pod, CycleOutcome::Failed),
            };
            self.round_has_failures |= !matches!(outcome, CycleOutcome::Assumed { .. });
            attempts += 1;
            let scheduler = &self.scheduler;
            self.recorder.cycle_ended(outcome, || CyclePod {
                queued_ns: scheduler.world().pods().get(pod).queued_ns,
                profile: scheduler.profile_number(pod),
            });
        }
        self.shared.attempts.fetch_add(attempts, Ordering::Relaxed);
    }

    /// Whether the cycles of this round have taken long enough. Every cycle is looked at where they may
    /// be slow: beside extenders, and from the first on that found no node.
    fn is_round_over(&self, step: usize) -> bool {
        let is_slow = self.round_has_failures || !self.scheduler.extenders().is_empty();
        (is_slow || step % STEPS_PER_LOOK == STEPS_PER_LOOK - 1)
            && ROUND_MAX_NS < monotonic_ns().saturating_sub(self.round_begun_ns)
    }

    /// Sends the calls that came up.
    fn send_all(&mut self, calls: &mut Vec<OutgoingCall>) {
        if let Some(outbox) = &self.events {
            self.scheduler.take_pod_events(&mut self.pod_events);
            outbox.send_problems(&mut self.pod_events, self.api.as_ref(), &self.scheduler);
        }
        self.scheduler.take_calls(calls);
        self.blocking.note(calls, &self.scheduler);
        self.send(calls);
    }

    fn send(&mut self, calls: &mut Vec<OutgoingCall>) {
        if calls.is_empty() {
            return;
        }
        let mut batch = Batch { binds: Vec::with_capacity(calls.len()), ..Batch::default() };
        // Cycles follow each other, so that of a pod whose binding nobody tracks began where its place
        // among them says, to some microseconds; a look at the clock for each would cost a tenth of a
        // cached cycle. Others know when theirs began: it may be long ago.
        let mut begun_ns = self.cycles_begun_ns;
        self.cycles_begun_ns = monotonic_ns();
        let cycle_ns = self.cycles_begun_ns.saturating_sub(begun_ns) / calls.len() as u64;
        for OutgoingCall { id, call } in calls.drain(..) {
            let round_ns = begun_ns;
            begun_ns += cycle_ns;
            match call {
                ApiCall::Bind { pod, node } => {
                    let node = self.bridge.name_of(node, self.api.as_ref(), &self.scheduler);
                    batch.binds.push(bind_call(&self.scheduler, id, Binding { pod, node }, round_ns));
                }
                ApiCall::PatchStatus(patch) => {
                    let nomination = match patch.nomination {
                        points::NominatingInfo::Keep => NominatedNodeNamePatch::Keep,
                        points::NominatingInfo::Clear => NominatedNodeNamePatch::Clear,
                        points::NominatingInfo::Node(node) => NominatedNodeNamePatch::Set(
                            self.bridge.name_of(node, self.api.as_ref(), &self.scheduler),
                        ),
                    };
                    batch.patches.push(PatchCall { id, patch, nomination, sent_ns: None });
                }
                ApiCall::AddDisruptionTarget { pod, message } => batch.disruptions.push((id, pod, message)),
                ApiCall::DeletePod { pod } => batch.deletes.push((id, pod)),
                ApiCall::BindVolumes(writes) => batch.volumes.push((id, *writes)),
                ApiCall::WriteClaims(writes) => batch.claims.push((id, *writes)),
                ApiCall::PatchPodGroupStatus(patch) => batch.pod_groups.push((id, *patch)),
            }
        }
        let count = batch.len() as u64;
        self.shared.calls_in_flight.fetch_add(count, Ordering::AcqRel);
        match &mut self.calls_go {
            CallsGo::Inline(binder) => binder.perform(&batch),
            CallsGo::ToBinder(to_binder) => {
                if to_binder.send(batch).is_err() {
                    // The binder is gone (a bug that `stop` reports): nothing is in flight.
                    self.shared.calls_in_flight.fetch_sub(count, Ordering::AcqRel);
                    self.shared.stop.store(true, Ordering::Release);
                }
            }
        }
    }

    fn answer_commands(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Status(reply)) => {
                    // Whoever asked may have stopped waiting.
                    let _ = reply.send(RuntimeStatus::of(&self.scheduler));
                }
                Ok(Command::Change(change)) => {
                    self.shared.is_resting.store(false, Ordering::Release);
                    change(&mut self.scheduler, monotonic_ns());
                    // Other profiles may have the numbers now.
                    self.report_profiles();
                }
                Ok(Command::Crash(next, reply)) => {
                    let _ = reply.send(self.crash(*next));
                }
                Ok(Command::Start(reply)) => {
                    let _ = reply.send(self.start());
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }
}

impl<C: CycleRecorder, B: BindRecorder> Driver<C, B> {
    fn crash(&mut self, next: Scheduler) -> Crashed {
        let crashed = Crashed::of(&self.scheduler, self.api.as_ref());
        while 0 < self.shared.calls_in_flight.load(Ordering::Acquire)
            && !self.shared.stop.load(Ordering::Acquire)
        {
            self.watch.wait(IDLE_WAIT);
        }
        // Answers to calls of the one that is gone.
        self.from_binder.try_iter().for_each(drop);
        self.scheduler = next;
        self.bridge = Bridge::default();
        self.blocking = Blocking::of(&self.scheduler, self.calls_are_instant);
        self.is_down = true;
        self.report_profiles();
        crashed
    }

    fn start(&mut self) -> Result<(), ApiError> {
        let begun = restart::begin(self.api.as_ref())?;
        let now_ns = monotonic_ns();
        self.scheduler.advance(now_ns);
        begun.events.iter().for_each(|event| self.handle(event, now_ns));
        self.watch = begun.watch;
        self.shared.handled_version.store(begun.resource_version, Ordering::Release);
        self.shared.is_resting.store(false, Ordering::Release);
        self.is_down = false;
        Ok(())
    }
}

/// A binding with what is measured of its pod. `round_ns` is when its scheduling cycle began, if it was
/// one of those whose calls are sent now.
fn bind_call(scheduler: &Scheduler, id: CallId, binding: Binding, round_ns: u64) -> BindCall {
    let pods = scheduler.world().pods();
    let tracked = if id == CallId::UNTRACKED { None } else { scheduler.binding_cycles().get(binding.pod) };
    let begun_ns = tracked.map_or(round_ns, |cycle| cycle.times.begun_ns);
    let known = pods.find(binding.pod);
    BindCall {
        id,
        binding,
        created_ns: known.map_or(0, |pod| pods.get(pod).created_ns),
        begun_ns,
        attempts: known.map_or(1, |pod| scheduler.queue().attempts(pod)),
        profile: known.map_or_else(Default::default, |pod| scheduler.profile_number(pod)),
    }
}
