//! Schedulers and controllers against an API in virtual time, on the thread of whoever runs them.
//!
//! ```text
//!  step ─▶ events of the watch ─▶ answers that are due ─▶ one scheduling cycle ─▶ calls leave on the link
//!           nothing of that? ─▶ the clock jumps to what comes first: an answer, a wake-up, the caller's limit
//! ```
//!
//! Time passes only where the model says so: a scheduling cycle takes [`VirtualSettings::cycle_ns`], a call
//! what [`Link`] draws for it. Everything else, the caller's own writes included, takes none. Same writes at
//! the same times, same seed: same run. Several schedulers have their cycles beside each other; the clock stands
//! still meanwhile, and what a cycle decides leaves when it is over.

use std::sync::Arc;

use schedlab_core::cycle::probe::{Mark, Probe};
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{PodEvent, ScheduleOneOutcome, Scheduler};

use super::restart::{self, Crashed};
use super::virtual_time::{Effect, ReadyCall, ShardCall, VirtualClock, VirtualController, VirtualScheduler};
use super::wall::RuntimeStatus;
use crate::api::{Api, ApiError, Watch, WatchEvent};
use crate::link::{Link, LinkSettings};

/// What takes time.
#[derive(Clone, Copy, Debug)]
pub struct VirtualSettings {
    /// What the way to the API is like.
    pub link: LinkSettings,
    /// How long a scheduling cycle takes, whatever it does.
    pub cycle_ns: u64,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualStep {
    /// Something happened, or the clock jumped to where something will.
    Worked,
    /// The clock stands at the limit: it is the caller's turn.
    Limit,
    /// Nothing is left to happen, and there is no limit.
    Nothing,
}

/// A pod that was bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualBound {
    /// The pod.
    pub pod: PodUid,
    /// When.
    pub at_ns: u64,
    /// How often it was tried.
    pub attempts: u32,
}

/// A scheduler with its controllers in virtual time, and those beside it.
pub struct VirtualRuntime {
    api: Arc<dyn Api>,
    clock: VirtualClock,
    watch: Box<dyn Watch>,
    /// The scheduler that ops change and restart comes first.
    schedulers: Vec<RunningScheduler>,
    controllers: Vec<VirtualController>,
    link: LinkSettings,
    cycle_ns: u64,
    events: Vec<WatchEvent>,
    shard_calls: Vec<ShardCall>,
    bound: Vec<VirtualBound>,
    /// The last version whose event was dealt with.
    handled_version: u64,
}

/// One scheduler, and what it has under way.
struct RunningScheduler {
    scheduler: VirtualScheduler,
    link: Link<Sent>,
    /// Moves with every restart of the scheduler.
    incarnation: u32,
    /// The scheduler has not started: nobody tells it anything.
    is_down: bool,
    /// Its cycle lasts until then.
    busy_until_ns: u64,
    /// When calls last left: a limit of the link counts in the order of time.
    sent_ns: u64,
    calls: Vec<ReadyCall>,
    pod_events: Vec<PodEvent>,
    attempts: u64,
    calls_done: u64,
    failed_calls: u64,
}

impl std::fmt::Debug for VirtualRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("VirtualRuntime")
            .field("now_ns", &self.clock.now_ns())
            .field("attempts", &self.attempts())
            .field("failed_calls", &self.failed_calls())
            .finish_non_exhaustive()
    }
}

/// A call on its way.
struct Sent {
    call: ReadyCall,
    /// How often its pod was tried.
    attempts: u32,
    /// Which scheduler made it.
    incarnation: u32,
}

/// Nobody measures.
struct NoProbe;

impl Probe for NoProbe {
    #[inline]
    fn mark(&mut self, _: Mark) {}
}

impl RunningScheduler {
    fn new(scheduler: Scheduler, link: LinkSettings) -> RunningScheduler {
        RunningScheduler {
            scheduler: VirtualScheduler::new(scheduler),
            link: Link::new(link),
            incarnation: 0,
            is_down: false,
            busy_until_ns: 0,
            sent_ns: 0,
            calls: Vec::new(),
            pod_events: Vec::new(),
            attempts: 0,
            calls_done: 0,
            failed_calls: 0,
        }
    }

    /// Calls that came up leave.
    fn send(&mut self, api: &dyn Api, now_ns: u64) {
        // Events about pods are written by a thread of the wall-clock runtime; here nobody reads them.
        self.scheduler.scheduler.take_pod_events(&mut self.pod_events);
        self.pod_events.clear();
        self.scheduler.take_calls(api, &mut self.calls);
        self.sent_ns = self.sent_ns.max(now_ns);
        let scheduler = &self.scheduler.scheduler;
        for call in self.calls.drain(..) {
            let (trips, attempts) = match &call.effect {
                Effect::Volumes(writes) => (writes.bindings.len() + writes.provisions.len(), 0),
                Effect::Bind(_) => {
                    let pod = scheduler.world().pods().find(call.pod);
                    (1, pod.map_or(1, |pod| scheduler.queue().attempts(pod)))
                }
                Effect::Claims(writes) => (super::claims::trips(writes) as usize, 0),
                Effect::Patch { .. }
                | Effect::PodGroup(_)
                | Effect::AddDisruptionTarget { .. }
                | Effect::Delete => (1, 0),
            };
            let sent = Sent { call, attempts, incarnation: self.incarnation };
            self.link.send(sent, u32::try_from(trips).unwrap_or(u32::MAX), self.sent_ns);
        }
    }

    /// Performs the calls that have arrived. Whether there were any.
    fn answer_due(&mut self, api: &dyn Api, now_ns: u64, bound: &mut Vec<VirtualBound>) -> bool {
        let mut any = false;
        while let Some(Sent { call, attempts, incarnation }) = self.link.take_due(now_ns) {
            let result = call.perform(api);
            match &result {
                Ok(_) if matches!(call.effect, Effect::Bind(_)) => {
                    bound.push(VirtualBound { pod: call.pod, at_ns: now_ns, attempts });
                }
                Ok(_) => {}
                Err(_) => self.failed_calls += 1,
            }
            if incarnation == self.incarnation {
                self.scheduler.answer(&call, result, now_ns);
            }
            self.calls_done += 1;
            any = true;
        }
        if any {
            self.send(api, now_ns);
        }
        any
    }

    /// Lets the scheduler do what its time has come for. Whether there was anything.
    fn wake(&mut self, api: &dyn Api, now_ns: u64) -> bool {
        let is_due = self.scheduler.scheduler.next_wake_ns().is_some_and(|wake_ns| wake_ns <= now_ns);
        if is_due {
            self.scheduler.scheduler.advance(now_ns);
            self.send(api, now_ns);
        }
        is_due
    }

    fn has_pod_to_try(&self) -> bool {
        !self.scheduler.is_blocked() && self.scheduler.scheduler.has_work()
    }

    /// One cycle, which ends after so long; whether there was a pod to try.
    fn schedule_one(&mut self, api: &dyn Api, now_ns: u64, cycle_ns: u64) -> bool {
        if !self.has_pod_to_try() || now_ns < self.busy_until_ns {
            return false;
        }
        self.scheduler.scheduler.advance(now_ns);
        if self.scheduler.scheduler.schedule_one(&mut NoProbe) == ScheduleOneOutcome::Idle {
            self.send(api, now_ns);
            return false;
        }
        self.attempts += 1;
        self.busy_until_ns = now_ns + cycle_ns;
        true
    }

    /// When something will happen by itself.
    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let cycle = Some(self.busy_until_ns).filter(|&ns| now_ns < ns && self.has_pod_to_try());
        [self.link.next_due_ns(), self.scheduler.scheduler.next_wake_ns(), cycle].into_iter().flatten().min()
    }
}

impl VirtualRuntime {
    /// Around a scheduler that knows nothing yet; it sees what happens from now on. The API reads `clock`.
    pub fn start(
        api: Arc<dyn Api>,
        clock: VirtualClock,
        scheduler: Scheduler,
        mut controllers: Vec<VirtualController>,
        settings: VirtualSettings,
        resource_version: u64,
    ) -> Result<VirtualRuntime, ApiError> {
        let watch = api.watch(resource_version)?;
        for controller in &mut controllers {
            controller.list(api.as_ref(), clock.now_ns())?;
        }
        Ok(VirtualRuntime {
            api,
            clock,
            watch,
            schedulers: vec![RunningScheduler::new(scheduler, settings.link)],
            controllers,
            link: settings.link,
            cycle_ns: settings.cycle_ns,
            events: Vec::new(),
            shard_calls: Vec::new(),
            bound: Vec::new(),
            handled_version: resource_version,
        })
    }

    /// Another scheduler beside the first, to be added before the first step.
    pub fn add_scheduler(&mut self, scheduler: Scheduler) {
        self.schedulers.push(RunningScheduler::new(scheduler, self.link));
    }

    /// The time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Scheduling attempts so far.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.schedulers.iter().map(|running| running.attempts).sum()
    }

    /// Calls of the scheduler that were answered so far.
    #[must_use]
    pub fn calls_done(&self) -> u64 {
        self.schedulers.iter().map(|running| running.calls_done).sum()
    }

    /// Calls of the scheduler that failed so far.
    #[must_use]
    pub fn failed_calls(&self) -> u64 {
        self.schedulers.iter().map(|running| running.failed_calls).sum()
    }

    /// The first scheduler.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.schedulers[0].scheduler.scheduler
    }

    /// The first scheduler, to be changed between two steps.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.schedulers[0].scheduler.scheduler
    }

    /// The controllers, in the order in which they were started.
    #[must_use]
    pub fn controllers(&self) -> &[VirtualController] {
        &self.controllers
    }

    /// How many schedulers there are.
    #[must_use]
    pub fn scheduler_count(&self) -> usize {
        self.schedulers.len()
    }

    /// Where the first scheduler stands.
    #[must_use]
    pub fn status(&self) -> RuntimeStatus {
        RuntimeStatus::of(self.scheduler())
    }

    /// Takes the pods that were bound since the last time, in that order.
    pub fn take_bound(&mut self, into: &mut Vec<VirtualBound>) {
        into.append(&mut self.bound);
    }

    /// The last version whose event was dealt with.
    #[must_use]
    pub fn handled_version(&self) -> u64 {
        self.handled_version
    }

    /// Everything up to `resource_version` was dealt with, and nothing more will happen until somebody
    /// changes the cluster. Timers of controllers count as something.
    #[must_use]
    pub fn is_settled(&self, resource_version: u64) -> bool {
        let is_settled = |running: &RunningScheduler| {
            running.scheduler.scheduler.is_settled() && running.link.next_due_ns().is_none()
        };
        resource_version <= self.handled_version
            && self.schedulers.iter().all(is_settled)
            && self.controllers.iter().all(|controller| controller.next_wake_ns().is_none())
    }

    /// Ends the first scheduler as a process that is killed ends; see [`super::Changer::crash_while`].
    pub fn crash(&mut self, next: Scheduler) -> Crashed {
        let crashed = Crashed::of(self.scheduler(), self.api.as_ref());
        let running = &mut self.schedulers[0];
        running.scheduler = VirtualScheduler::new(next);
        running.incarnation += 1;
        running.is_down = true;
        crashed
    }

    /// Starts the scheduler that took the place of one that ended: it lists everything and watches.
    pub fn start_again(&mut self) -> Result<(), ApiError> {
        let now_ns = self.now_ns();
        // The others hear of what has happened by the watch that ends now.
        self.deliver(now_ns)?;
        let begun = restart::begin(self.api.as_ref())?;
        let running = &mut self.schedulers[0];
        running.scheduler.scheduler.advance(now_ns);
        for event in &begun.events {
            running.scheduler.deliver(event, self.api.as_ref(), now_ns);
        }
        self.watch = begun.watch;
        running.is_down = false;
        running.send(self.api.as_ref(), now_ns);
        Ok(())
    }

    /// Lets the next thing happen, at the latest at `limit_ns`.
    pub fn step(&mut self, limit_ns: Option<u64>) -> Result<VirtualStep, ApiError> {
        if self.settle_now()? {
            return Ok(VirtualStep::Worked);
        }
        match (self.next_ns(), limit_ns) {
            (Some(next_ns), None) => self.clock.set(next_ns.max(self.now_ns())),
            (Some(next_ns), Some(limit_ns)) if next_ns < limit_ns => {
                self.clock.set(next_ns.max(self.now_ns()));
            }
            (_, Some(limit_ns)) => {
                self.clock.set(limit_ns.max(self.now_ns()));
                return Ok(VirtualStep::Limit);
            }
            (None, None) => return Ok(VirtualStep::Nothing),
        }
        Ok(VirtualStep::Worked)
    }

    /// Does what is due at this moment, up to one scheduling cycle. Whether there was anything.
    fn settle_now(&mut self) -> Result<bool, ApiError> {
        let now_ns = self.now_ns();
        let mut worked = self.deliver(now_ns)?;
        let api = self.api.as_ref();
        for running in &mut self.schedulers {
            worked |= running.answer_due(api, now_ns, &mut self.bound);
            worked |= running.wake(api, now_ns);
        }
        worked |= self.run_controllers(now_ns);
        // What that changed is seen before the next pod is tried.
        if self.deliver(now_ns)? {
            worked = true;
        }
        Ok(self.schedule(now_ns) || worked)
    }

    fn deliver(&mut self, now_ns: u64) -> Result<bool, ApiError> {
        let mut events = std::mem::take(&mut self.events);
        self.watch.drain_into(&mut events)?;
        let any = !events.is_empty();
        if let Some(last) = events.last() {
            self.handled_version = last.resource_version();
            self.schedulers.iter_mut().for_each(|running| running.scheduler.scheduler.advance(now_ns));
        }
        let api = self.api.as_ref();
        for event in events.drain(..) {
            for running in self.schedulers.iter_mut().filter(|running| !running.is_down) {
                running.scheduler.deliver(&event, api, now_ns);
            }
            self.controllers.iter_mut().for_each(|controller| controller.deliver(&event, api, now_ns));
        }
        self.events = events;
        if any {
            self.schedulers.iter_mut().for_each(|running| running.send(api, now_ns));
        }
        Ok(any)
    }

    /// Calls of controllers take no time, as on the wall clock.
    fn run_controllers(&mut self, now_ns: u64) -> bool {
        let mut any = false;
        let (api, calls) = (self.api.as_ref(), &mut self.shard_calls);
        for controller in &mut self.controllers {
            if controller.next_wake_ns().is_some_and(|wake_ns| wake_ns <= now_ns) {
                controller.advance(api, now_ns);
                any = true;
            }
            controller.take_calls(api, now_ns, calls);
            for call in calls.drain(..) {
                let answer = call.call.request.perform(api);
                controller.answer(&call, &answer, api, now_ns);
                any = true;
            }
        }
        any
    }

    /// Schedulers that are not in a cycle begin one. Alone, a scheduler lets the clock pass; beside others what
    /// it decides leaves at the end of its cycle.
    fn schedule(&mut self, now_ns: u64) -> bool {
        let is_alone = self.schedulers.len() == 1;
        let mut any = false;
        for running in &mut self.schedulers {
            if running.schedule_one(self.api.as_ref(), now_ns, self.cycle_ns) {
                if is_alone {
                    self.clock.set(running.busy_until_ns);
                }
                running.send(self.api.as_ref(), running.busy_until_ns);
                any = true;
            }
        }
        any
    }

    /// When something will happen by itself.
    fn next_ns(&self) -> Option<u64> {
        let now_ns = self.now_ns();
        let controllers = self.controllers.iter().filter_map(VirtualController::next_wake_ns);
        controllers.chain(self.schedulers.iter().filter_map(|running| running.next_ns(now_ns))).min()
    }
}
