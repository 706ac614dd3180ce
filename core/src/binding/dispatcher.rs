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
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::framework::points::Nomination;
use crate::ids::PodUid;
#[cfg(feature = "mutants")]
use crate::mutants::Mutant;
use crate::mutants::Mutants;
use crate::scheduler::{ApiCall, ConditionChange, StatusPatch};

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
pub struct CallCounts {
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

#[derive(Clone, Debug)]
struct Call {
    id: CallId,
    call: ApiCall,
    tries: usize,
}

/// The calls of one pod.
#[derive(Clone, Debug, Default)]
struct Lane {
    on_the_way: Option<Call>,
    waiting: Option<Call>,
    /// A patch that a defect sends behind a binding.
    #[cfg(feature = "mutants")]
    stale: Option<Call>,
}

/// Queues and counts calls.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    mode: DispatchMode,
    lanes: FxHashMap<PodUid, Lane>,
    /// Pods with a call that could go out, in order.
    ready: VecDeque<PodUid>,
    /// Direct calls that are to be answered.
    direct: FxHashMap<CallId, Call>,
    pod_of_call: FxHashMap<CallId, PodUid>,
    /// Calls to be made again: when, and which.
    retries: Vec<(u64, CallId)>,
    on_the_way: usize,
    ids: u64,
    counts: CallCounts,
    out: Vec<OutgoingCall>,
    mutants: Mutants,
}

fn pod_of(call: &ApiCall) -> PodUid {
    match call {
        ApiCall::Bind { pod, .. } | ApiCall::DeletePod { pod } => *pod,
        ApiCall::PatchStatus(patch) => patch.pod,
        ApiCall::BindVolumes(writes) => writes.pod,
    }
}

/// A later patch, with what it leaves out taken from an earlier one that was not sent; `None` when
/// the two leave nothing to be said.
fn merged(earlier: &StatusPatch, later: &StatusPatch) -> Option<StatusPatch> {
    let nomination = match later.nomination {
        Nomination::Keep => earlier.nomination,
        named => named,
    };
    let condition = merged_condition(earlier.condition.as_ref(), later.condition.as_ref());
    let says_something = condition.is_some() || nomination != Nomination::Keep;
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

impl Dispatcher {
    /// A dispatcher without calls.
    #[must_use]
    pub fn new(mode: DispatchMode) -> Dispatcher {
        Dispatcher {
            mode,
            lanes: FxHashMap::default(),
            ready: VecDeque::new(),
            direct: FxHashMap::default(),
            pod_of_call: FxHashMap::default(),
            retries: Vec::new(),
            on_the_way: 0,
            ids: 0,
            counts: CallCounts::default(),
            out: Vec::new(),
            mutants: Mutants::default(),
        }
    }

    /// With a defect.
    #[must_use]
    pub(crate) fn with_mutants(mut self, mutants: Mutants) -> Dispatcher {
        self.mutants = mutants;
        self
    }

    /// How calls get to the API.
    #[must_use]
    pub fn mode(&self) -> DispatchMode {
        self.mode
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> CallCounts {
        self.counts
    }

    /// No call waits or is on its way, as far as the dispatcher will hear of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.direct.is_empty()
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

    /// Whether a pod has a call that waits or is on its way.
    #[must_use]
    pub fn has_calls_of(&self, pod: PodUid) -> bool {
        !self.lanes.is_empty() && self.lanes.contains_key(&pod)
    }

    /// The patch of a pod that waits in line. A binding makes it needless: the API will never hear of it.
    #[must_use]
    pub(crate) fn waiting_patch(&self, pod: PodUid) -> Option<&StatusPatch> {
        match &self.lanes.get(&pod)?.waiting.as_ref()?.call {
            ApiCall::PatchStatus(patch) => Some(patch),
            _ => None,
        }
    }

    /// Whether a call waits in line and nobody has heard of it yet.
    #[must_use]
    pub fn is_waiting(&self, id: CallId) -> bool {
        let lane = self.pod_of_call.get(&id).and_then(|pod| self.lanes.get(pod));
        lane.and_then(|lane| lane.waiting.as_ref()).is_some_and(|call| call.id == id)
    }

    /// Whether a condition of a pod is on the books: to be written, or being written.
    #[must_use]
    pub(crate) fn has_condition_of(&self, pod: PodUid) -> bool {
        let tells = |call: &Call| matches!(&call.call, ApiCall::PatchStatus(patch) if patch.pod == pod && patch.condition.is_some());
        let lane = self.lanes.get(&pod);
        let queued = lane.into_iter().flat_map(|lane| [&lane.on_the_way, &lane.waiting]).flatten();
        queued.chain(self.direct.values()).any(tells)
    }

    /// Whether a call is on the books: it waits, is on its way, or is to be made again.
    #[must_use]
    pub fn knows(&self, id: CallId) -> bool {
        self.direct.contains_key(&id) || self.pod_of_call.contains_key(&id)
    }

    /// Wants a call made. `None` when it is needless: a binding of the pod is, or it takes back what was
    /// never sent.
    pub fn enqueue(&mut self, call: ApiCall) -> Option<CallId> {
        self.counts.enqueued += 1;
        self.ids += 1;
        let id = CallId(self.ids);
        let call = Call { id, call, tries: 0 };
        // Writes to other objects than the pod are nobody's to merge or to hold up, nor are victims.
        let goes_at_once = matches!(call.call, ApiCall::BindVolumes(_) | ApiCall::DeletePod { .. });
        let is_direct = self.mode == DispatchMode::Direct || goes_at_once;
        match self.mode {
            _ if is_direct => {
                self.send(&call);
                self.direct.insert(id, call);
            }
            _ => {
                if !self.line_up(call) {
                    self.counts.merged += 1;
                    return None;
                }
                self.pump();
            }
        }
        Some(id)
    }

    /// Whether the call was taken in.
    fn line_up(&mut self, mut new: Call) -> bool {
        let pod = pod_of(&new.call);
        let lane = self.lanes.entry(pod).or_default();
        let is_bind = |call: &Option<Call>| matches!(call, Some(Call { call: ApiCall::Bind { .. }, .. }));
        if let ApiCall::PatchStatus(_) = new.call
            && (is_bind(&lane.on_the_way) || is_bind(&lane.waiting))
        {
            return false;
        }
        let is_first = lane.on_the_way.is_none() && lane.waiting.is_none();
        #[cfg(feature = "mutants")]
        if self.mutants.has(Mutant::PatchAfterBind) && matches!(new.call, ApiCall::Bind { .. }) {
            lane.stale = lane.waiting.clone();
        }
        if let Some(old) = lane.waiting.take() {
            self.counts.merged += 1;
            self.pod_of_call.remove(&old.id);
            if let (ApiCall::PatchStatus(old), ApiCall::PatchStatus(later)) = (&old.call, &new.call) {
                let Some(merged) = merged(old, later) else {
                    if lane.on_the_way.is_none() {
                        self.lanes.remove(&pod);
                    }
                    return false;
                };
                new.call = ApiCall::PatchStatus(merged);
            }
        }
        self.pod_of_call.insert(new.id, pod);
        lane.waiting = Some(new);
        if is_first {
            self.ready.push_back(pod);
        }
        true
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
            let Some(call) = lane.waiting.take() else { continue };
            lane.on_the_way = Some(call.clone());
            self.on_the_way += 1;
            self.send(&call);
        }
    }

    fn send(&mut self, call: &Call) {
        self.counts.sent += 1;
        self.out.push(OutgoingCall { id: call.id, call: call.call.clone() });
    }

    /// The API answered. What is over, if it is: a passing failure is tried again first.
    pub fn on_answer(
        &mut self,
        id: CallId,
        result: Result<(), CallFailure>,
        now_ns: u64,
    ) -> Option<Finished> {
        let call = match self.direct.get_mut(&id) {
            Some(call) => call,
            None => {
                let pod = self.pod_of_call.get(&id)?;
                self.lanes.get_mut(pod)?.on_the_way.as_mut().filter(|call| call.id == id)?
            }
        };
        // Whoever wants a pod deleted looks again whether that is the best there is.
        let may_retry = !matches!(call.call, ApiCall::DeletePod { .. });
        if result == Err(CallFailure::Transient) && call.tries < RETRY_AFTER_NS.len() && may_retry {
            self.retries.push((now_ns + RETRY_AFTER_NS[call.tries], id));
            call.tries += 1;
            return None;
        }
        self.counts.failed += u64::from(result.is_err());
        let call = self.finish(id).expect("the call was just found");
        self.pump();
        Some(Finished { id, call: call.call, result })
    }

    /// Takes a call off the books, and lines up the next of its pod.
    fn finish(&mut self, id: CallId) -> Option<Call> {
        if let Some(call) = self.direct.remove(&id) {
            return Some(call);
        }
        let pod = self.pod_of_call.remove(&id)?;
        let lane = self.lanes.get_mut(&pod)?;
        let call = lane.on_the_way.take()?;
        self.on_the_way -= 1;
        #[cfg(feature = "mutants")]
        if let Some(stale) = lane.stale.take_if(|_| lane.waiting.is_none()) {
            self.pod_of_call.insert(stale.id, pod);
            lane.waiting = Some(stale);
        }
        if lane.waiting.is_some() {
            self.ready.push_back(pod);
        } else {
            self.lanes.remove(&pod);
        }
        Some(call)
    }

    /// A pod is gone: what waits for it is not sent any more, nor is anything made again. A call on
    /// its way stays on the books until it is answered.
    pub fn forget(&mut self, pod: PodUid) {
        if let Some(lane) = self.lanes.get_mut(&pod) {
            if let Some(call) = lane.waiting.take() {
                self.counts.merged += 1;
                self.pod_of_call.remove(&call.id);
            }
            if lane.on_the_way.is_none() {
                self.lanes.remove(&pod);
            }
        }
        self.forget_retries(pod);
    }

    fn forget_retries(&mut self, pod: PodUid) {
        if self.retries.is_empty() {
            return;
        }
        let Dispatcher { retries, direct, pod_of_call, .. } = self;
        let is_of_pod = |id: &CallId| {
            let owner =
                direct.get(id).map(|call| pod_of(&call.call)).or_else(|| pod_of_call.get(id).copied());
            owner == Some(pod)
        };
        let gone: Vec<CallId> = retries.iter().map(|&(_, id)| id).filter(is_of_pod).collect();
        retries.retain(|(_, id)| !gone.contains(id));
        for id in gone {
            self.counts.failed += 1;
            self.finish(id);
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
            let pod = self.pod_of_call.get(&id);
            let in_lane = pod.and_then(|pod| self.lanes.get(pod)).and_then(|lane| lane.on_the_way.as_ref());
            let Some(call) = self.direct.get(&id).or(in_lane).cloned() else { continue };
            self.counts.retried += 1;
            self.send(&call);
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
