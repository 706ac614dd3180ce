//! Virtual time: a discrete-event queue, a clock that jumps from event to event, and a scheduler and
//! controllers whose calls are performed one by one when their time has come.
//!
//! ```text
//!  Agenda: (time, number) ──pop──▶ whoever drives it ──▶ VirtualScheduler { Scheduler, Bridge }
//!     ▲                                             └──▶ VirtualController { shards }
//!     │                                                        │ calls as values
//!     └────────── push: arrival, answer, delivery, wake ◀──────┘
//! ```
//!
//! The scheduler, the bridge and the controllers are those of the wall-clock runtime; only threads and
//! clocks are missing. Same items, same order of pushes: same run.

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schedlab_core::api_call::{ApiCall, ClaimWrites, ConditionChange, PodGroupStatusPatch, VolumeWrites};
use schedlab_core::binding::{CallFailure, CallId, DispatchMode, OutgoingCall};
use schedlab_core::framework::points;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::Scheduler;

use super::binder;
use super::bridge::Bridge;
use super::{claims, volumes};
use crate::api::{Api, ApiError, Binding, NominatedNodeNamePatch, PodStatusPatch, WatchEvent};
use crate::controllers::{
    Concerns, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerReport, ControllerSettings, Remaining,
};
use crate::embedded::NowNs;

/// A clock that is set, not read off the world.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    now_ns: Arc<AtomicU64>,
}

impl VirtualClock {
    /// The time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    /// Jumps to a time.
    pub fn set(&self, now_ns: u64) {
        self.now_ns.store(now_ns, Ordering::Relaxed);
    }

    /// The clock as the embedded cluster reads it.
    #[must_use]
    pub fn reader(&self) -> NowNs {
        let now_ns = Arc::clone(&self.now_ns);
        Arc::new(move || now_ns.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
struct Entry<T> {
    at_ns: u64,
    number: u64,
    item: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The earliest is the greatest: the heap hands out the greatest first.
    fn cmp(&self, other: &Self) -> Order {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

/// What is to happen, in order of time; items of one time in the order they were pushed.
#[derive(Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    pushed: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { heap: BinaryHeap::new(), pushed: 0 }
    }
}

impl<T> Agenda<T> {
    /// Puts an item on the agenda.
    pub fn push(&mut self, at_ns: u64, item: T) {
        self.pushed += 1;
        self.heap.push(Entry { at_ns, number: self.pushed, item });
    }

    /// The next item and its time.
    pub fn pop(&mut self) -> Option<(u64, T)> {
        self.heap.pop().map(|entry| (entry.at_ns, entry.item))
    }

    /// Items left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// What a call does, in the API's terms.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Binds the pod.
    Bind(Binding),
    /// Changes the pod's status.
    Patch {
        /// What becomes of condition PodScheduled.
        condition: Option<ConditionChange>,
        /// What becomes of the nomination.
        nomination: NominatedNodeNamePatch,
    },
    /// Says of the pod that preemption asks it to go.
    AddDisruptionTarget {
        /// The condition's message.
        message: Arc<str>,
    },
    /// Deletes the pod.
    Delete,
    /// Writes what the pod's volumes need.
    Volumes(Box<VolumeWrites>),
    /// Writes what the pod's claims need.
    Claims(Box<ClaimWrites>),
    /// Changes the status of a pod group.
    PodGroup(Box<PodGroupStatusPatch>),
}

/// A call that is to be performed when it has reached the API.
#[derive(Clone, Debug)]
pub struct ReadyCall {
    /// What to answer with.
    pub id: CallId,
    /// The pod it is about.
    pub pod: PodUid,
    /// What it does.
    pub effect: Effect,
}

impl ReadyCall {
    /// Performs the call now. The version that a patched pod has then; 0 for other calls.
    pub fn perform(&self, api: &dyn Api) -> Result<u64, CallFailure> {
        let result = match &self.effect {
            Effect::Bind(binding) => api.bind_pod(*binding).map(|()| 0),
            Effect::Patch { condition, nomination } => api.patch_pod_status(PodStatusPatch {
                pod: self.pod,
                condition: condition.as_ref().map(binder::condition),
                nomination: *nomination,
                phase: None,
            }),
            Effect::AddDisruptionTarget { message } => {
                let result = api.patch_pod_status(binder::disruption(self.pod, message));
                return result.map_err(|error| binder::deletion_failure(&error));
            }
            Effect::Delete => {
                let result = api.delete_pod(self.pod).map(|()| 0);
                return result.map_err(|error| binder::deletion_failure(&error));
            }
            Effect::Volumes(writes) => volumes::write(api, writes).map(|()| 0),
            Effect::Claims(writes) => claims::write(api, writes).map(|()| 0),
            Effect::PodGroup(patch) => api.patch_pod_group_status(patch).map(|()| 0),
        };
        result.map_err(|error| binder::failure(&error))
    }
}

/// A scheduler and its bridge to the API, driven from outside.
#[derive(Debug)]
pub struct VirtualScheduler {
    /// The scheduler.
    pub scheduler: Scheduler,
    bridge: Bridge,
    taken: Vec<OutgoingCall>,
    /// Calls that the scheduling loop waits for.
    awaited: Vec<CallId>,
    /// The newest call it made: those up to here are made again.
    newest: CallId,
}

impl VirtualScheduler {
    /// Around a scheduler that knows nothing yet.
    #[must_use]
    pub fn new(scheduler: Scheduler) -> VirtualScheduler {
        VirtualScheduler {
            scheduler,
            bridge: Bridge::default(),
            taken: Vec::new(),
            awaited: Vec::new(),
            newest: CallId::UNTRACKED,
        }
    }

    /// Tells it of one event.
    pub fn deliver(&mut self, event: &WatchEvent, api: &dyn Api, now_ns: u64) {
        self.bridge.deliver(event, api, &mut self.scheduler, now_ns);
    }

    /// Takes the calls it wants made, oldest first.
    pub fn take_calls(&mut self, api: &dyn Api, into: &mut Vec<ReadyCall>) {
        if self.scheduler.call_count() == 0 {
            return;
        }
        self.scheduler.take_calls(&mut self.taken);
        if self.scheduler.dispatcher().mode() == DispatchMode::Direct {
            self.await_own_calls();
        }
        for OutgoingCall { id, call } in self.taken.drain(..) {
            let mut name = |node| self.bridge.name_of(node, api, &self.scheduler);
            let (pod, effect) = match call {
                ApiCall::Bind { pod, node } => (pod, Effect::Bind(Binding { pod, node: name(node) })),
                ApiCall::PatchStatus(patch) => {
                    let nomination = match patch.nomination {
                        points::NominatingInfo::Keep => NominatedNodeNamePatch::Keep,
                        points::NominatingInfo::Clear => NominatedNodeNamePatch::Clear,
                        points::NominatingInfo::Node(node) => NominatedNodeNamePatch::Set(name(node)),
                    };
                    (patch.pod, Effect::Patch { condition: patch.condition, nomination })
                }
                ApiCall::AddDisruptionTarget { pod, message } => {
                    (pod, Effect::AddDisruptionTarget { message })
                }
                ApiCall::DeletePod { pod } => (pod, Effect::Delete),
                ApiCall::BindVolumes(writes) => (writes.pod, Effect::Volumes(writes)),
                ApiCall::WriteClaims(writes) => (writes.pod, Effect::Claims(writes)),
                ApiCall::PatchPodGroupStatus(patch) => (patch.group, Effect::PodGroup(patch)),
            };
            into.push(ReadyCall { id, pod, effect });
        }
    }

    /// The loop waits for an answer before it tries another pod: where calls are not queued,
    /// kube-scheduler patches statuses inside the scheduling cycle. For deletions the scheduler waits
    /// by itself.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        let dispatcher = self.scheduler.dispatcher();
        self.awaited.iter().any(|&id| dispatcher.knows(id))
    }

    fn await_own_calls(&mut self) {
        for OutgoingCall { id, call } in &self.taken {
            let is_new = self.newest < *id;
            self.newest = self.newest.max(*id);
            let is_own =
                matches!(call, ApiCall::PatchStatus(_)) && !self.scheduler.binding_cycles().awaits(*id);
            self.awaited.extend((is_new && is_own).then_some(*id));
        }
    }

    /// Tells it how a call ended. Bindings that nobody tracks are answered only if they failed.
    pub fn answer(&mut self, call: &ReadyCall, result: Result<u64, CallFailure>, now_ns: u64) {
        match (call.id, result) {
            (CallId::UNTRACKED, Ok(_)) => {}
            (CallId::UNTRACKED, Err(_)) => self.scheduler.on_bind_failed(call.pod, now_ns),
            (id, Ok(version)) => self.scheduler.on_patched(id, version, now_ns),
            (id, Err(failure)) => self.scheduler.on_answer(id, Err(failure), now_ns),
        }
        // One that failed for a passing reason is made again, and stays on the dispatcher's books.
        let dispatcher = self.scheduler.dispatcher();
        self.awaited.retain(|&id| dispatcher.knows(id));
    }
}

/// A call that a shard of a controller wants made.
#[derive(Clone, Debug)]
pub struct ShardCall {
    shard: usize,
    /// The call.
    pub call: ControllerCall,
}

/// A controller with its shards, driven from outside.
pub struct VirtualController {
    descriptor: &'static ControllerDescriptor,
    shards: Vec<Box<dyn Controller>>,
    taken: Vec<ControllerCall>,
    /// Calls that were taken and not answered.
    calls_under_way: usize,
}

impl VirtualController {
    /// One that knows nothing yet. A controller that is not sharded has one shard, whatever `shard_count`
    /// says.
    pub fn new(
        descriptor: &'static ControllerDescriptor,
        settings: &ControllerSettings,
        shard_count: usize,
    ) -> Result<VirtualController, ControllerConfigError> {
        let shard_count = shard_count.clamp(1, descriptor.sharding.shard_count());
        let shards =
            (0..shard_count).map(|_| (descriptor.constructor)(settings)).collect::<Result<_, _>>()?;
        Ok(VirtualController { descriptor, shards, taken: Vec::new(), calls_under_way: 0 })
    }

    /// What is known of it.
    #[must_use]
    pub fn descriptor(&self) -> &'static ControllerDescriptor {
        self.descriptor
    }

    /// Tells it of everything there is, as when it starts.
    pub fn list(&mut self, api: &dyn Api, now_ns: u64) -> Result<(), ApiError> {
        let listed = self.descriptor.scope.list(api)?;
        listed.events.iter().for_each(|event| self.deliver(event, api, now_ns));
        Ok(())
    }

    /// Tells it of one event, if it is about something that the controller watches.
    pub fn deliver(&mut self, event: &WatchEvent, api: &dyn Api, now_ns: u64) {
        let ControllerDescriptor { scope, sharding, .. } = self.descriptor;
        let context = ControllerContext::new(api, now_ns);
        match scope.concerns(&event.object, *sharding, self.shards.len()) {
            Concerns::Nobody => {}
            Concerns::Shard(shard) => self.shards[shard].on_event(event, context),
            Concerns::EveryShard => self.shards.iter_mut().for_each(|it| it.on_event(event, context)),
        }
    }

    /// Lets time pass.
    pub fn advance(&mut self, api: &dyn Api, now_ns: u64) {
        let context = ControllerContext::new(api, now_ns);
        self.shards.iter_mut().for_each(|shard| shard.advance(context));
    }

    /// When it wants time to have passed.
    #[must_use]
    pub fn next_wake_ns(&self) -> Option<u64> {
        self.shards.iter().filter_map(|shard| shard.next_wake_ns()).min()
    }

    /// Takes the calls it wants made, shard after shard.
    pub fn take_calls(&mut self, api: &dyn Api, now_ns: u64, into: &mut Vec<ShardCall>) {
        for (shard, controller) in self.shards.iter_mut().enumerate() {
            controller.take_calls(ControllerContext::new(api, now_ns), &mut self.taken);
            self.calls_under_way += self.taken.len();
            into.extend(self.taken.drain(..).map(|call| ShardCall { shard, call }));
        }
    }

    /// Tells it how a call ended.
    pub fn answer(
        &mut self,
        call: &ShardCall,
        answer: &Result<ControllerAnswer, ApiError>,
        api: &dyn Api,
        now_ns: u64,
    ) {
        self.calls_under_way -= 1;
        self.shards[call.shard].on_answer(call.call.token, answer, ControllerContext::new(api, now_ns));
    }

    /// What it has left to do.
    #[must_use]
    pub fn remaining(&self) -> Remaining {
        let of_shards = self.shards.iter().map(|shard| shard.remaining()).max().unwrap_or(Remaining::Nothing);
        if self.calls_under_way > 0 { Remaining::Work } else { of_shards }
    }

    /// What it did so far.
    #[must_use]
    pub fn report(&self) -> ControllerReport {
        ControllerReport::of_shards(self.descriptor.name, self.shards.iter().map(|shard| shard.report()))
    }

    /// Makes all calls at once, and those that follow from their answers; how many they were. Events of what
    /// they did are not delivered.
    pub fn perform_calls(&mut self, api: &dyn Api, now_ns: u64) -> usize {
        let mut count = 0;
        let mut calls = Vec::new();
        loop {
            self.take_calls(api, now_ns, &mut calls);
            if calls.is_empty() {
                return count;
            }
            count += calls.len();
            for call in calls.drain(..) {
                let answer = call.call.request.perform(api);
                self.answer(&call, &answer, api, now_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agenda_pops_by_time_then_by_insertion_order() {
        let mut agenda = Agenda::default();
        for (at_ns, item) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (0, 'e')] {
            agenda.push(at_ns, item);
        }
        let popped: Vec<(u64, char)> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(popped, [(0, 'e'), (3, 'b'), (3, 'd'), (5, 'a'), (5, 'c')]);
        assert!(agenda.is_empty());
    }

    #[test]
    fn virtual_clock_reader_returns_the_time_set() {
        let clock = VirtualClock::default();
        let reader = clock.reader();
        clock.set(42);
        assert_eq!((reader(), clock.now_ns()), (42, 42));
    }
}
