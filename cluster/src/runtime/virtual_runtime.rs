//! A scheduler and controllers against an API in virtual time, on the thread of whoever runs it.
//!
//! ```text
//!  step ─▶ events of the watch ─▶ answers that are due ─▶ one scheduling cycle ─▶ calls leave on the link
//!           nothing of that? ─▶ the clock jumps to what comes first: an answer, a wake-up, the caller's limit
//! ```
//!
//! Time passes only where the model says so: a scheduling cycle takes [`VirtualSettings::cycle_ns`], a call
//! what [`Link`] draws for it. Everything else, the caller's own writes included, takes none. Same writes at
//! the same times, same seed: same run.

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

/// A scheduler with its controllers in virtual time.
pub struct VirtualRuntime {
    api: Arc<dyn Api>,
    clock: VirtualClock,
    watch: Box<dyn Watch>,
    scheduler: VirtualScheduler,
    controllers: Vec<VirtualController>,
    link: Link<Sent>,
    /// Moves with every restart of the scheduler.
    incarnation: u32,
    /// The scheduler has not started: nobody tells it anything.
    is_down: bool,
    cycle_ns: u64,
    events: Vec<WatchEvent>,
    calls: Vec<ReadyCall>,
    shard_calls: Vec<ShardCall>,
    pod_events: Vec<PodEvent>,
    bound: Vec<VirtualBound>,
    attempts: u64,
    calls_done: u64,
    failed_calls: u64,
    /// The last version whose event was dealt with.
    handled_version: u64,
}

impl std::fmt::Debug for VirtualRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { attempts, failed_calls, .. } = self;
        formatter
            .debug_struct("VirtualRuntime")
            .field("now_ns", &self.clock.now_ns())
            .field("attempts", attempts)
            .field("failed_calls", failed_calls)
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
            scheduler: VirtualScheduler::new(scheduler),
            controllers,
            link: Link::new(settings.link),
            incarnation: 0,
            is_down: false,
            cycle_ns: settings.cycle_ns,
            events: Vec::new(),
            calls: Vec::new(),
            shard_calls: Vec::new(),
            pod_events: Vec::new(),
            bound: Vec::new(),
            attempts: 0,
            calls_done: 0,
            failed_calls: 0,
            handled_version: resource_version,
        })
    }

    /// The time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Scheduling attempts so far.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Calls of the scheduler that were answered so far.
    #[must_use]
    pub fn calls_done(&self) -> u64 {
        self.calls_done
    }

    /// Calls of the scheduler that failed so far.
    #[must_use]
    pub fn failed_calls(&self) -> u64 {
        self.failed_calls
    }

    /// The scheduler.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler.scheduler
    }

    /// The scheduler, to be changed between two steps.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler.scheduler
    }

    /// The controllers, in the order in which they were started.
    #[must_use]
    pub fn controllers(&self) -> &[VirtualController] {
        &self.controllers
    }

    /// Where the scheduler stands.
    #[must_use]
    pub fn status(&self) -> RuntimeStatus {
        RuntimeStatus::of(&self.scheduler.scheduler)
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
        resource_version <= self.handled_version
            && self.scheduler.scheduler.is_settled()
            && self.link.next_due_ns().is_none()
            && self.controllers.iter().all(|controller| controller.next_wake_ns().is_none())
    }

    /// Ends the scheduler as a process that is killed ends; see [`super::Changer::crash_while`].
    pub fn crash(&mut self, next: Scheduler) -> Crashed {
        let crashed = Crashed::of(&self.scheduler.scheduler, self.api.as_ref());
        self.scheduler = VirtualScheduler::new(next);
        self.incarnation += 1;
        self.is_down = true;
        crashed
    }

    /// Starts the scheduler that took the place of one that ended: it lists everything and watches.
    pub fn start_again(&mut self) -> Result<(), ApiError> {
        let now_ns = self.now_ns();
        // Controllers hear of what has happened by the watch that ends now.
        self.deliver(now_ns)?;
        let begun = restart::begin(self.api.as_ref())?;
        self.scheduler.scheduler.advance(now_ns);
        for event in &begun.events {
            self.scheduler.deliver(event, self.api.as_ref(), now_ns);
        }
        self.watch = begun.watch;
        self.is_down = false;
        self.send(now_ns);
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
        worked |= self.answer_due(now_ns);
        if self.scheduler.scheduler.next_wake_ns().is_some_and(|wake_ns| wake_ns <= now_ns) {
            self.scheduler.scheduler.advance(now_ns);
            self.send(now_ns);
            worked = true;
        }
        worked |= self.run_controllers(now_ns);
        // What that changed is seen before the next pod is tried.
        if self.deliver(now_ns)? {
            worked = true;
        }
        Ok(self.schedule_one(now_ns) || worked)
    }

    fn deliver(&mut self, now_ns: u64) -> Result<bool, ApiError> {
        let mut events = std::mem::take(&mut self.events);
        self.watch.drain_into(&mut events)?;
        let any = !events.is_empty();
        if let Some(last) = events.last() {
            self.handled_version = last.resource_version();
            self.scheduler.scheduler.advance(now_ns);
        }
        let api = self.api.as_ref();
        for event in events.drain(..) {
            if !self.is_down {
                self.scheduler.deliver(&event, api, now_ns);
            }
            self.controllers.iter_mut().for_each(|controller| controller.deliver(&event, api, now_ns));
        }
        self.events = events;
        if any {
            self.send(now_ns);
        }
        Ok(any)
    }

    fn answer_due(&mut self, now_ns: u64) -> bool {
        let mut any = false;
        while let Some(Sent { call, attempts, incarnation }) = self.link.take_due(now_ns) {
            let result = call.perform(self.api.as_ref());
            match &result {
                Ok(_) if matches!(call.effect, Effect::Bind(_)) => {
                    self.bound.push(VirtualBound { pod: call.pod, at_ns: now_ns, attempts });
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
            self.send(now_ns);
        }
        any
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

    fn schedule_one(&mut self, now_ns: u64) -> bool {
        if self.scheduler.is_blocked() || !self.scheduler.scheduler.has_work() {
            return false;
        }
        self.scheduler.scheduler.advance(now_ns);
        if self.scheduler.scheduler.schedule_one(&mut NoProbe) == ScheduleOneOutcome::Idle {
            self.send(now_ns);
            return false;
        }
        self.attempts += 1;
        let end_ns = now_ns + self.cycle_ns;
        self.clock.set(end_ns);
        self.send(end_ns);
        true
    }

    /// Calls that came up leave.
    fn send(&mut self, now_ns: u64) {
        // Events about pods are written by a thread of the wall-clock runtime; here nobody reads them.
        self.scheduler.scheduler.take_pod_events(&mut self.pod_events);
        self.pod_events.clear();
        self.scheduler.take_calls(self.api.as_ref(), &mut self.calls);
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
            self.link.send(sent, u32::try_from(trips).unwrap_or(u32::MAX), now_ns);
        }
    }

    /// When something will happen by itself.
    fn next_ns(&self) -> Option<u64> {
        let controllers = self.controllers.iter().filter_map(VirtualController::next_wake_ns).min();
        let scheduler = self.scheduler.scheduler.next_wake_ns();
        [self.link.next_due_ns(), scheduler, controllers].into_iter().flatten().min()
    }
}
