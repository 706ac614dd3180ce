//! The calls to the API, between the scheduler that wants them and the runtime that performs them.
//!
//! Queued (`SchedulerAsyncAPICalls`): a pod has at most one call waiting and one on its way. A
//! status patch that waits takes up what a later one says; a binding makes a waiting patch needless
//! and is made after one that is on its way; behind a binding no patch is made at all, because it
//! would arrive at a pod that is bound. Calls go out in the order in which their pods came, as many
//! at a time as are allowed. Direct (the gate is off): every call goes out at once, and the binding
//! cycle waits for the answers it needs.
//!
//! A call that failed for a passing reason is made again, three times at most, after 10, 50 and
//! 250 ms. A conflict, or a pod that is gone, is final; so is whatever becomes of a deletion.
//!
//! Upstream: backend/api_dispatcher/call_queue.go, framework/api_calls; the retries are those of
//! util/utils.go `PatchPodStatus` and `BindPod`.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::call_table::{CallTable, Road};
use crate::api_call::{ApiCall, ConditionChange, StatusPatch};
use crate::framework::points::NominatingInfo;
use crate::ids::PodUid;
#[cfg(feature = "mutants")]
use crate::mutants::Mutant;
use crate::mutants::Mutants;
use crate::reclaim::Marks;

/// A call that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

impl CallId {
    /// A binding whose success the watch tells: only its failure is to be reported.
    pub const UNTRACKED: CallId = CallId(0);
}

/// A call to be performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingCall {
    /// What to answer with.
    pub id: CallId,
    /// What to do.
    pub call: ApiCall,
}

/// How calls get to the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchMode {
    /// At once.
    Direct,
    /// Through the queue, at most so many at a time.
    Queued {
        /// Calls on their way at most.
        parallel_max: usize,
    },
}

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// The API could not answer; it may the next time.
    Transient,
    /// The object is not what it was.
    Conflict,
    /// The object is gone.
    NotFound,
    /// Anything else.
    Other,
}

/// What happened to calls so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchCounts {
    /// Wanted.
    pub enqueued: u64,
    /// Never made, because another call said the same or made it needless.
    pub merged: u64,
    /// Handed out, retries included.
    pub sent: u64,
    /// Made again.
    pub retried: u64,
    /// Failed for good.
    pub failed: u64,
}

/// A call that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The call.
    pub id: CallId,
    /// What it was.
    pub call: ApiCall,
    /// How it ended.
    pub result: Result<(), CallFailure>,
}

/// Waits before a call is made again. Upstream: client-go `retry.DefaultBackoff`.
const RETRY_AFTER_NS: [u64; 3] = [10_000_000, 50_000_000, 250_000_000];

/// The calls of one pod.
#[derive(Clone, Debug, Default)]
struct Lane {
    on_the_way: Option<CallId>,
    waiting: Option<CallId>,
    /// A patch that a defect sends behind a binding.
    #[cfg(feature = "mutants")]
    stale: Option<ApiCall>,
}

/// Queues and counts calls.
#[derive(Clone, Debug)]
pub struct ApiDispatcher {
    mode: DispatchMode,
    lanes: FxHashMap<PodUid, Lane>,
    /// Pods with a call that could go out, in order.
    ready: VecDeque<PodUid>,
    calls: CallTable,
    /// Calls to be made again: when, and which.
    retries: Vec<(u64, CallId)>,
    /// Of the lanes' calls.
    on_the_way: usize,
    counts: DispatchCounts,
    out: Vec<OutgoingCall>,
    mutants: Mutants,
}

/// It asks a victim of preemption to go.
fn is_of_victim(call: &ApiCall) -> bool {
    matches!(call, ApiCall::AddDisruptionTarget { .. } | ApiCall::DeletePod { .. })
}

/// A later patch, with what it leaves out taken from an earlier one that was not sent; `None` when
/// the two leave nothing to be said.
fn merged(earlier: &StatusPatch, later: &StatusPatch) -> Option<StatusPatch> {
    let nomination = match later.nomination {
        NominatingInfo::Keep => earlier.nomination,
        named => named,
    };
    let condition = merged_condition(earlier.condition.as_ref(), later.condition.as_ref());
    let says_something = condition.is_some() || nomination != NominatingInfo::Keep;
    says_something.then_some(StatusPatch { pod: later.pod, condition, nomination })
}

fn merged_condition(
    earlier: Option<&ConditionChange>,
    later: Option<&ConditionChange>,
) -> Option<ConditionChange> {
    use ConditionChange::{False, Withdraw};
    match (earlier, later) {
        // Said for the first time and taken back, and nobody has heard of it.
        (Some(False { is_first: true, .. }), Some(Withdraw)) => None,
        (Some(earlier), Some(False { reason, message, .. })) => {
            let is_first = matches!(earlier, False { is_first: true, .. });
            Some(False { reason: *reason, message: Arc::clone(message), is_first })
        }
        (earlier, later) => later.or(earlier).cloned(),
    }
}

impl ApiDispatcher {
    /// A dispatcher without calls.
    #[must_use]
    pub fn new(mode: DispatchMode) -> ApiDispatcher {
        ApiDispatcher {
            mode,
            lanes: FxHashMap::default(),
            ready: VecDeque::new(),
            calls: CallTable::default(),
            retries: Vec::new(),
            on_the_way: 0,
            counts: DispatchCounts::default(),
            out: Vec::new(),
            mutants: Mutants::default(),
        }
    }

    /// With a defect.
    #[must_use]
    pub(crate) fn with_mutants(mut self, mutants: Mutants) -> ApiDispatcher {
        self.mutants = mutants;
        self
    }

    /// How calls get to the API.
    #[must_use]
    pub fn mode(&self) -> DispatchMode {
        self.mode
    }

    /// Marks what calls refer to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        self.calls.iter().for_each(|call| call.mark(marks));
        self.out.iter().for_each(|outgoing| outgoing.call.mark(marks));
        #[cfg(feature = "mutants")]
        self.lanes.values().filter_map(|lane| lane.stale.as_ref()).for_each(|call| call.mark(marks));
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> DispatchCounts {
        self.counts
    }

    /// No call waits or is on its way, as far as the dispatcher will hear of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Calls of lanes that are on their way.
    pub(super) fn on_the_way(&self) -> usize {
        self.on_the_way
    }

    /// Panics where lanes and calls do not agree.
    pub(super) fn check_lanes(&self) {
        self.calls.check();
        let mut on_the_way = 0;
        for (&pod, lane) in &self.lanes {
            assert!(lane.on_the_way.is_some() || lane.waiting.is_some(), "a lane without calls goes");
            for (id, is_out) in [(lane.on_the_way, true), (lane.waiting, false)] {
                let Some(id) = id else { continue };
                let call = self.calls.get(id).expect("a lane's call is on the books");
                assert_eq!(call.call.pod(), pod, "a call is in the lane of its pod");
                assert_eq!(call.is_out, is_out, "a call that waits was not handed out");
                assert_eq!(call.road, Road::Lane, "a call of a lane goes by the lane");
            }
            on_the_way += usize::from(lane.on_the_way.is_some());
            if lane.on_the_way.is_none() {
                assert!(self.ready.contains(&pod), "a call that could go out is in line");
            }
        }
        assert_eq!(self.on_the_way, on_the_way, "calls of lanes on their way are counted");
    }

    /// Calls to be performed that were not taken yet.
    #[must_use]
    pub fn outgoing_count(&self) -> usize {
        self.out.len()
    }

    /// Takes the calls to be performed, oldest first.
    pub fn take(&mut self, into: &mut Vec<OutgoingCall>) {
        into.append(&mut self.out);
    }

    /// A binding of a pod that has no other call and whose success nobody waits for. Goes out at
    /// once, in every mode: there is nothing to merge it with.
    #[inline]
    pub fn bind_untracked(&mut self, call: ApiCall) {
        self.counts.enqueued += 1;
        self.counts.sent += 1;
        self.out.push(OutgoingCall { id: CallId::UNTRACKED, call });
    }

    /// Whether a pod has a call that waits in line, is on its way, or failed and is to be made again.
    #[must_use]
    pub fn has_calls_of(&self, pod: PodUid) -> bool {
        (!self.lanes.is_empty() && self.lanes.contains_key(&pod)) || self.retried_patch(pod).is_some()
    }

    /// The patch of a pod that failed and is to be made again.
    fn retried_patch(&self, pod: PodUid) -> Option<CallId> {
        let is_patch = |id: &CallId| {
            let call = self.calls.get(*id).map(|call| &call.call);
            matches!(call, Some(ApiCall::PatchStatus(patch)) if patch.pod == pod)
        };
        self.retries.iter().map(|&(_, id)| id).find(is_patch)
    }

    /// A pod is about to be bound: the patch that the API will never hear of. One that waits in line is
    /// dropped when the binding takes its place. One that is to be made again is dropped here, unless the
    /// binding waits for it: it would arrive after the binding.
    #[must_use]
    pub(crate) fn supersede_patch(&mut self, pod: PodUid) -> Option<StatusPatch> {
        if let Some(waiting) = self.lanes.get(&pod).and_then(|lane| lane.waiting)
            && let Some(ApiCall::PatchStatus(patch)) = self.calls.get(waiting).map(|call| &call.call)
        {
            return Some(patch.clone());
        }
        let id = self.retried_patch(pod).filter(|_| self.mode == DispatchMode::Direct)?;
        self.retries.retain(|&(_, known)| known != id);
        self.counts.merged += 1;
        match self.calls.remove(id)?.call {
            ApiCall::PatchStatus(patch) => Some(patch),
            _ => None,
        }
    }

    /// Whether a call waits in line and nobody has heard of it yet.
    #[must_use]
    pub fn is_waiting(&self, id: CallId) -> bool {
        self.calls.get(id).is_some_and(|call| !call.is_out)
    }

    /// Calls that wait in line.
    pub(crate) fn waiting_calls(&self) -> impl Iterator<Item = &ApiCall> + '_ {
        let waiting = self.lanes.values().filter_map(|lane| lane.waiting);
        waiting.filter_map(|id| self.calls.get(id)).map(|call| &call.call)
    }

    /// Whether a condition of a pod is on the books: to be written, or being written.
    #[must_use]
    pub(crate) fn has_condition_of(&self, pod: PodUid) -> bool {
        self.has_patch_of(pod, |patch| patch.condition.is_some())
    }

    /// The same of a nomination.
    #[must_use]
    pub(crate) fn has_nomination_of(&self, pod: PodUid) -> bool {
        self.has_patch_of(pod, |patch| patch.nomination != NominatingInfo::Keep)
    }

    fn has_patch_of(&self, pod: PodUid, is_meant: impl Fn(&StatusPatch) -> bool) -> bool {
        let tells = |call: &ApiCall| matches!(call, ApiCall::PatchStatus(patch) if patch.pod == pod && is_meant(patch));
        if self.mode == DispatchMode::Direct {
            return self.calls.iter().any(tells);
        }
        let lane = self.lanes.get(&pod);
        let queued = lane.into_iter().flat_map(|lane| [lane.on_the_way, lane.waiting]).flatten();
        queued.filter_map(|id| self.calls.get(id)).any(|call| tells(&call.call))
    }

    /// Whether a call is on the books: it waits, is on its way, or is to be made again.
    #[must_use]
    pub fn knows(&self, id: CallId) -> bool {
        self.calls.get(id).is_some()
    }

    /// Wants a call made. `None` when it is needless: a binding of the pod is, or it takes back what was
    /// never sent.
    pub fn add(&mut self, call: ApiCall) -> Option<CallId> {
        self.counts.enqueued += 1;
        // Writes to other objects than the pod are nobody's to merge or to hold up, nor are victims.
        let of_objects = matches!(
            call,
            ApiCall::BindVolumes(_) | ApiCall::WriteClaims(_) | ApiCall::PatchPodGroupStatus(_)
        );
        let goes_at_once = of_objects || is_of_victim(&call);
        if self.mode == DispatchMode::Direct || goes_at_once {
            let id = self.calls.insert(call, Road::Direct);
            self.send(id);
            return Some(id);
        }
        let id = self.enqueue_call(call);
        match id {
            Some(_) => self.pump(),
            None => self.counts.merged += 1,
        }
        id
    }

    /// The id of the call, if it was taken in.
    fn enqueue_call(&mut self, mut new: ApiCall) -> Option<CallId> {
        let pod = new.pod();
        let ApiDispatcher { lanes, calls, counts, .. } = self;
        let lane = lanes.entry(pod).or_default();
        let is_bind = |id: Option<CallId>| {
            let call = id.and_then(|id| calls.get(id));
            call.is_some_and(|call| matches!(call.call, ApiCall::Bind { .. }))
        };
        if let ApiCall::PatchStatus(_) = new
            && (is_bind(lane.on_the_way) || is_bind(lane.waiting))
        {
            return None;
        }
        let is_first = lane.on_the_way.is_none() && lane.waiting.is_none();
        if let Some(old) = lane.waiting.take().and_then(|id| calls.remove(id)) {
            counts.merged += 1;
            if let (ApiCall::PatchStatus(old), ApiCall::PatchStatus(later)) = (&old.call, &new) {
                let Some(merged) = merged(old, later) else {
                    if lane.on_the_way.is_none() {
                        lanes.remove(&pod);
                    }
                    return None;
                };
                new = ApiCall::PatchStatus(merged);
            }
            #[cfg(feature = "mutants")]
            if self.mutants.has(Mutant::PatchAfterBind) && matches!(new, ApiCall::Bind { .. }) {
                lane.stale = Some(old.call);
            }
        }
        debug_assert!(lane.waiting.is_none(), "a pod has one call that waits");
        let id = calls.insert(new, Road::Lane);
        lane.waiting = Some(id);
        if is_first {
            self.ready.push_back(pod);
        }
        Some(id)
    }

    /// Hands out as much as is allowed.
    fn pump(&mut self) {
        let DispatchMode::Queued { parallel_max } = self.mode else { return };
        while self.on_the_way < parallel_max {
            let Some(pod) = self.ready.pop_front() else { return };
            let Some(lane) = self.lanes.get_mut(&pod) else { continue };
            if lane.on_the_way.is_some() {
                continue;
            }
            let Some(id) = lane.waiting.take() else { continue };
            debug_assert!(self.calls.get(id).is_some(), "a call that waits is on the books");
            lane.on_the_way = Some(id);
            self.on_the_way += 1;
            self.send(id);
        }
    }

    fn send(&mut self, id: CallId) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.is_out = true;
        self.counts.sent += 1;
        self.out.push(OutgoingCall { id, call: call.call.clone() });
    }

    /// The API answered. What is over, if it is: a passing failure is tried again first.
    pub fn on_answer(
        &mut self,
        id: CallId,
        result: Result<(), CallFailure>,
        now_ns: u64,
    ) -> Option<Finished> {
        let call = self.calls.get_mut(id).filter(|call| call.is_out)?;
        if result == Err(CallFailure::Transient)
            && let Some(after_ns) = RETRY_AFTER_NS.get(usize::from(call.tries))
            // Whoever wants a pod deleted looks again whether that is the best there is.
            && !matches!(call.call, ApiCall::DeletePod { .. })
        {
            self.retries.push((now_ns + after_ns, id));
            call.tries += 1;
            return None;
        }
        self.counts.failed += u64::from(result.is_err());
        let call = self.finalize(id)?;
        self.pump();
        Some(Finished { id, call, result })
    }

    /// Takes a call that was handed out off the books, and lines up the next of its pod.
    fn finalize(&mut self, id: CallId) -> Option<ApiCall> {
        let call = self.calls.remove(id)?;
        if call.road == Road::Direct {
            return Some(call.call);
        }
        let pod = call.call.pod();
        if let Entry::Occupied(mut lane) = self.lanes.entry(pod) {
            debug_assert_eq!(lane.get().on_the_way, Some(id), "the call that ends is the one on its way");
            debug_assert!(self.on_the_way > 0, "calls on their way are counted");
            lane.get_mut().on_the_way = None;
            self.on_the_way -= 1;
            #[cfg(feature = "mutants")]
            if lane.get().waiting.is_none()
                && let Some(stale) = lane.get_mut().stale.take()
            {
                lane.get_mut().waiting = Some(self.calls.insert(stale, Road::Lane));
            }
            if lane.get().waiting.is_some() {
                self.ready.push_back(pod);
            } else {
                lane.remove();
            }
        }
        Some(call.call)
    }

    /// A pod is gone: what waits for it is not sent any more, nor is anything made again. A call on
    /// its way stays on the books until it is answered.
    pub fn remove_pending(&mut self, pod: PodUid) {
        if !self.lanes.is_empty()
            && let Entry::Occupied(mut lane) = self.lanes.entry(pod)
        {
            if let Some(waiting) = lane.get_mut().waiting.take() {
                self.counts.merged += 1;
                self.calls.remove(waiting);
            }
            if lane.get().on_the_way.is_none() {
                lane.remove();
            }
        }
        self.remove_retries(pod);
    }

    fn remove_retries(&mut self, pod: PodUid) {
        if self.retries.is_empty() {
            return;
        }
        let ApiDispatcher { retries, calls, .. } = self;
        // A preemptor waits for the answer to what its victims are asked: that they are gone.
        let is_meant = |call: &ApiCall| call.pod() == pod && !is_of_victim(call);
        let is_of_pod = |id: &CallId| calls.get(*id).is_some_and(|call| is_meant(&call.call));
        let gone: Vec<CallId> = retries.iter().map(|&(_, id)| id).filter(is_of_pod).collect();
        retries.retain(|(_, id)| !gone.contains(id));
        for id in gone {
            self.counts.failed += 1;
            self.finalize(id);
        }
        self.pump();
    }

    /// Time has passed: calls that failed are made again.
    pub fn tick(&mut self, now_ns: u64) {
        if self.retries.is_empty() {
            return;
        }
        let (due, left) = self.retries.iter().partition(|(at_ns, _)| *at_ns <= now_ns);
        self.retries = left;
        let due: Vec<(u64, CallId)> = due;
        for (_, id) in due {
            self.counts.retried += u64::from(self.knows(id));
            self.send(id);
        }
    }

    /// When a call is to be made again.
    #[must_use]
    pub fn next_retry_ns(&self) -> Option<u64> {
        self.retries.iter().map(|&(at_ns, _)| at_ns).min()
    }
}

#[cfg(test)]
mod tests;
