//! Performs calls: at once, on the scheduler thread, or on a thread of its own after the latency
//! that the link to the API has.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};
use schedlab_core::api_call::{
    ClaimWrites, ConditionChange, ConditionReason, PodGroupStatusPatch, StatusPatch, VolumeWrites,
};
use schedlab_core::binding::{CallFailure, CallId};
use schedlab_core::framework::extend::Extenders;
use schedlab_core::ids::PodUid;
use schedlab_core::queue::ProfileNumber;
use schedlab_core::scheduler::PodEventReason;

use super::bind::bind_by_extender;
use super::events::Outbox;
use super::record::{BindRecorder, Bound, CallEnd, CallKind};
use super::wall::Shared;
use super::{claims, volumes};
use crate::api::{
    Api, ApiError, Binding, ConditionEdit, ConditionPatch, ConditionStatus, DISRUPTION_TARGET,
    NominatedNodeNamePatch, PREEMPTION_BY_SCHEDULER, PodEventMessage, PodEventPost, PodStatusPatch,
    StatusReason,
};
use crate::clock::monotonic_ns;
use crate::link::{Link, LinkSettings};

/// A binding to be made.
#[derive(Clone, Copy)]
pub(super) struct BindCall {
    pub(super) id: CallId,
    pub(super) binding: Binding,
    /// When the pod was created.
    pub(super) created_ns: u64,
    /// When its scheduling cycle began.
    pub(super) begun_ns: u64,
    /// How often the pod was tried.
    pub(super) attempts: u32,
    /// Whose it is.
    pub(super) profile: ProfileNumber,
}

/// A status to be patched; the nomination in the API's terms.
pub(super) struct PatchCall {
    pub(super) id: CallId,
    pub(super) patch: StatusPatch,
    pub(super) nomination: NominatedNodeNamePatch,
    /// When it was sent, over a slow link; otherwise just now.
    pub(super) sent_ns: Option<u64>,
}

/// Calls on their way, by kind.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) binds: Vec<BindCall>,
    pub(super) patches: Vec<PatchCall>,
    /// Victims, and what is said of them before they are deleted.
    pub(super) disruptions: Vec<(CallId, PodUid, Arc<str>)>,
    pub(super) deletes: Vec<(CallId, PodUid)>,
    pub(super) volumes: Vec<(CallId, VolumeWrites)>,
    pub(super) claims: Vec<(CallId, ClaimWrites)>,
    pub(super) pod_groups: Vec<(CallId, PodGroupStatusPatch)>,
    /// When each binding was sent, over a slow link; otherwise they all were just now.
    pub(super) bind_sent_ns: Vec<u64>,
}

/// One call of a batch.
enum Call {
    Bind(BindCall, u64),
    Patch(PatchCall),
    AddDisruptionTarget(CallId, PodUid, Arc<str>),
    Delete(CallId, PodUid),
    Volumes(CallId, VolumeWrites),
    Claims(CallId, ClaimWrites),
    PodGroup(CallId, PodGroupStatusPatch),
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        let of_victims = self.disruptions.len() + self.deletes.len();
        let of_objects = self.volumes.len() + self.claims.len() + self.pod_groups.len();
        self.binds.len() + self.patches.len() + of_victims + of_objects
    }

    fn clear(&mut self) {
        self.binds.clear();
        self.patches.clear();
        self.disruptions.clear();
        self.deletes.clear();
        self.volumes.clear();
        self.claims.clear();
        self.pod_groups.clear();
        self.bind_sent_ns.clear();
    }

    /// Each call on its own, and how many calls to the API it is.
    fn into_calls(self, now_ns: u64) -> impl Iterator<Item = (Call, u32)> {
        let sent_ns = Some(now_ns);
        let patches =
            self.patches.into_iter().map(move |call| (Call::Patch(PatchCall { sent_ns, ..call }), 1));
        let volumes = self.volumes.into_iter().map(|(id, writes)| {
            let trips = writes.bindings.len() + writes.provisions.len();
            (Call::Volumes(id, writes), u32::try_from(trips).unwrap_or(u32::MAX))
        });
        let claims = self.claims.into_iter().map(|(id, writes)| {
            let trips = claims::trips(&writes);
            (Call::Claims(id, writes), trips)
        });
        let binds = self.binds.into_iter().map(move |call| (Call::Bind(call, now_ns), 1));
        let deletes = self.deletes.into_iter().map(|(id, pod)| (Call::Delete(id, pod), 1));
        let disruptions = self.disruptions.into_iter();
        let disruptions =
            disruptions.map(|(id, pod, message)| (Call::AddDisruptionTarget(id, pod, message), 1));
        let groups = self.pod_groups.into_iter().map(|(id, patch)| (Call::PodGroup(id, patch), 1));
        patches.chain(volumes).chain(claims).chain(binds).chain(disruptions).chain(deletes).chain(groups)
    }

    fn push(&mut self, call: Call) {
        match call {
            Call::Bind(call, sent_ns) => {
                self.binds.push(call);
                self.bind_sent_ns.push(sent_ns);
            }
            Call::Patch(call) => self.patches.push(call),
            Call::AddDisruptionTarget(id, pod, message) => self.disruptions.push((id, pod, message)),
            Call::Delete(id, pod) => self.deletes.push((id, pod)),
            Call::Volumes(id, writes) => self.volumes.push((id, writes)),
            Call::Claims(id, writes) => self.claims.push((id, writes)),
            Call::PodGroup(id, patch) => self.pod_groups.push((id, patch)),
        }
    }
}

/// How a call ended. Bindings that nobody tracks are answered only if they failed.
pub(super) struct Answer {
    pub(super) id: CallId,
    pub(super) pod: PodUid,
    /// The version that a patched pod has then; 0 for other calls.
    pub(super) result: Result<u64, CallFailure>,
}

/// Performs calls.
pub(super) struct Binder<B> {
    pub(super) api: Arc<dyn Api>,
    pub(super) shared: Arc<Shared>,
    pub(super) batches: Receiver<Batch>,
    pub(super) answers: Sender<Vec<Answer>>,
    pub(super) recorder: B,
    /// Those that bind.
    pub(super) extenders: Extenders,
    pub(super) scratch: Scratch,
    /// Where bound pods are told of, if somebody wants to know.
    pub(super) scheduled: Option<Outbox>,
}

/// What is used again by every batch.
#[derive(Default)]
pub(super) struct Scratch {
    results: Vec<Result<(), ApiError>>,
    patched: Vec<Result<u64, ApiError>>,
    binds: Vec<Binding>,
    bound: Vec<Bound>,
}

impl<B: BindRecorder> Binder<B> {
    /// Performs every batch as it comes.
    pub(super) fn run(mut self) -> B {
        while let Ok(batch) = self.batches.recv() {
            // Each call of an extender may take as long as its deadline.
            if self.shared.halt.load(Ordering::Acquire) {
                break;
            }
            self.perform_and_rest(&batch);
        }
        self.recorder
    }

    /// Performs every call when its time on the link is over.
    pub(super) fn run_over(mut self, settings: LinkSettings) -> B {
        let mut link = Link::new(settings);
        let mut arrived = Batch::default();
        loop {
            let now_ns = monotonic_ns();
            arrived.clear();
            while let Some(call) = link.take_due(now_ns) {
                arrived.push(call);
            }
            if arrived.len() > 0 {
                self.perform_and_rest(&arrived);
            }
            match self.next_batch(link.next_due_ns()) {
                Ok(batch) => {
                    let now_ns = monotonic_ns();
                    for (call, trips) in batch.into_calls(now_ns) {
                        link.send(call, trips, now_ns);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The scheduler has stopped: nobody will ask how the rest ends.
                Err(RecvTimeoutError::Disconnected) => return self.recorder,
            }
        }
    }

    fn next_batch(&self, until_ns: Option<u64>) -> Result<Batch, RecvTimeoutError> {
        let Some(until_ns) = until_ns else {
            return self.batches.recv().map_err(|_| RecvTimeoutError::Disconnected);
        };
        self.batches.recv_timeout(Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())))
    }

    /// Performs a batch in line. Who calls it says when the recorder rests.
    pub(super) fn perform(&mut self, batch: &Batch) {
        let answers = self.call(batch);
        self.finish(batch, answers);
    }

    /// Performs a batch on a thread of its own: as soon as nothing is in flight, somebody may look at
    /// what was recorded.
    fn perform_and_rest(&mut self, batch: &Batch) {
        let answers = self.call(batch);
        self.recorder.rests();
        self.finish(batch, answers);
    }

    fn call(&mut self, batch: &Batch) -> Vec<Answer> {
        let mut answers = Vec::new();
        // A patch was wanted before the binding of the same pod: it must not arrive after it.
        self.patch(&batch.patches, &mut answers);
        for (id, writes) in &batch.volumes {
            answers.push(answer(*id, writes.pod, &volumes::write(self.api.as_ref(), writes)));
        }
        for (id, writes) in &batch.claims {
            answers.push(answer(*id, writes.pod, &claims::write(self.api.as_ref(), writes)));
        }
        self.bind(batch, &mut answers);
        self.add_disruption_targets(&batch.disruptions, &mut answers);
        self.delete(&batch.deletes, &mut answers);
        for (id, patch) in &batch.pod_groups {
            answers.push(answer(*id, patch.group, &self.api.patch_pod_group_status(patch)));
        }
        answers
    }

    fn finish(&self, batch: &Batch, answers: Vec<Answer>) {
        self.finish_count(batch.len() as u64, answers);
    }

    /// So many calls are over.
    pub(super) fn finish_count(&self, count: u64, answers: Vec<Answer>) {
        let failed = answers.iter().filter(|answer| answer.result.is_err()).count() as u64;
        let has_answers = !answers.is_empty();
        if has_answers {
            // The scheduler thread ends before the binder only when stopped.
            let _ = self.answers.send(answers);
        }
        self.shared.failed_calls.fetch_add(failed, Ordering::Relaxed);
        self.shared.calls_in_flight.fetch_sub(count, Ordering::AcqRel);
        if has_answers {
            // The writes may have woken the scheduler before the answers were there.
            self.api.nudge();
        }
    }

    /// Binds through the API, but for pods that an extender binds.
    fn bind_each(&self, binds: &[Binding], results: &mut Vec<Result<(), ApiError>>) {
        if self.extenders.is_empty() {
            return self.api.bind_batch(binds, results);
        }
        for binding in binds {
            match bind_by_extender(self.api.as_ref(), &self.extenders, *binding) {
                Some(result) => results.push(result),
                None => results.push(self.api.bind_pod(*binding)),
            }
        }
    }

    fn bind(&mut self, batch: &Batch, answers: &mut Vec<Answer>) {
        if batch.binds.is_empty() {
            return;
        }
        self.recorder.binds_begin();
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { results, binds, bound, .. } = &mut scratch;
        binds.clear();
        binds.extend(batch.binds.iter().map(|call| call.binding));
        results.clear();
        self.bind_each(binds, results);
        bound.clear();
        for (at, (call, result)) in batch.binds.iter().zip(results.iter()).enumerate() {
            if result.is_ok() {
                let sent_ns = batch.bind_sent_ns.get(at).copied();
                let BindCall { binding, created_ns, begun_ns, attempts, profile, .. } = *call;
                bound.push(Bound { pod: binding.pod, created_ns, begun_ns, attempts, profile, sent_ns });
            } else if self.recorder.times_calls() {
                let now_ns = monotonic_ns();
                let sent_ns = batch.bind_sent_ns.get(at).copied().unwrap_or(now_ns);
                self.recorder.call_ended(CallKind::PodBinding, CallEnd::Error, now_ns - sent_ns);
            }
            if result.is_err() || call.id != CallId::UNTRACKED {
                answers.push(answer(call.id, call.binding.pod, result));
            }
        }
        self.shared.calls.bindings.count(results);
        self.recorder.binds_ended(bound);
        if let Some(outbox) = &self.scheduled {
            outbox.send(scheduled_events(&batch.binds, results));
        }
        self.scratch = scratch;
    }

    fn patch(&mut self, patches: &[PatchCall], answers: &mut Vec<Answer>) {
        if patches.is_empty() {
            return;
        }
        let wanted: Vec<PodStatusPatch<'_>> = patches
            .iter()
            .map(|call| PodStatusPatch {
                pod: call.patch.pod,
                condition: call.patch.condition.as_ref().map(condition),
                nomination: call.nomination,
                phase: None,
            })
            .collect();
        let results = &mut self.scratch.patched;
        results.clear();
        let start_ns = self.recorder.times_calls().then(monotonic_ns);
        self.api.patch_pod_status_batch(&wanted, results);
        self.shared.calls.status_patches.count(results);
        if let Some(start_ns) = start_ns {
            let now_ns = monotonic_ns();
            for (call, result) in patches.iter().zip(results.iter()) {
                let elapsed_ns = now_ns.saturating_sub(call.sent_ns.unwrap_or(start_ns));
                self.recorder.call_ended(CallKind::PodStatusPatch, CallEnd::of(result), elapsed_ns);
            }
        }
        let calls = patches.iter().zip(results.iter());
        answers.extend(calls.map(|(call, result)| {
            let result = result.as_ref().copied().map_err(failure);
            Answer { id: call.id, pod: call.patch.pod, result }
        }));
    }

    fn add_disruption_targets(
        &mut self,
        disruptions: &[(CallId, PodUid, Arc<str>)],
        answers: &mut Vec<Answer>,
    ) {
        if disruptions.is_empty() {
            return;
        }
        let wanted: Vec<PodStatusPatch<'_>> =
            disruptions.iter().map(|(_, pod, message)| disruption(*pod, message)).collect();
        let results = &mut self.scratch.patched;
        results.clear();
        self.api.patch_pod_status_batch(&wanted, results);
        let calls = disruptions.iter().zip(results.iter());
        answers.extend(calls.map(|(&(id, pod, _), result)| {
            let result = result.as_ref().copied().map_err(deletion_failure);
            Answer { id, pod, result }
        }));
    }

    fn delete(&mut self, deletes: &[(CallId, PodUid)], answers: &mut Vec<Answer>) {
        if deletes.is_empty() {
            return;
        }
        let pods: Vec<PodUid> = deletes.iter().map(|&(_, pod)| pod).collect();
        let results = &mut self.scratch.results;
        results.clear();
        self.api.delete_pods_batch(&pods, results);
        let calls = deletes.iter().zip(results.iter());
        answers.extend(calls.map(|(&(id, pod), result)| {
            let result = result.as_ref().map(|()| 0).map_err(deletion_failure);
            Answer { id, pod, result }
        }));
    }
}

fn scheduled_events(binds: &[BindCall], results: &[Result<(), ApiError>]) -> Vec<PodEventPost> {
    let bound = binds.iter().zip(results).filter(|(_, result)| result.is_ok());
    bound.map(|(call, _)| scheduled_event(call.binding)).collect()
}

pub(super) fn scheduled_event(binding: Binding) -> PodEventPost {
    PodEventPost {
        pod: binding.pod,
        named: None,
        reason: PodEventReason::Scheduled,
        note: PodEventMessage::AssignedTo(binding.node),
    }
}

pub(super) fn condition(change: &ConditionChange) -> ConditionEdit<'_> {
    const TYPE: &str = "PodScheduled";
    match change {
        ConditionChange::False { reason, message, .. } => ConditionEdit::Set(ConditionPatch {
            type_: TYPE,
            status: ConditionStatus::False,
            reason: reason.as_str(),
            message,
        }),
        // The scheduler takes back no other.
        ConditionChange::Withdraw => {
            ConditionEdit::Remove { type_: TYPE, reason: ConditionReason::NotReadyForScheduling.as_str() }
        }
    }
}

/// What is written of a victim before it is deleted.
/// Upstream: framework/preemption/executor.go `PreemptPod`.
pub(super) fn disruption(pod: PodUid, message: &str) -> PodStatusPatch<'_> {
    let condition = ConditionPatch {
        type_: DISRUPTION_TARGET,
        status: ConditionStatus::True,
        reason: PREEMPTION_BY_SCHEDULER,
        message,
    };
    let (nomination, phase) = (NominatedNodeNamePatch::Keep, None);
    PodStatusPatch { pod, condition: Some(condition.into()), nomination, phase }
}

fn answer(id: CallId, pod: PodUid, result: &Result<(), ApiError>) -> Answer {
    Answer { id, pod, result: result.as_ref().map(|()| 0).map_err(failure) }
}

/// What the scheduler is told of a victim that could not be asked to go. A pod is deleted by its uid: to the API
/// it is a conflict that another one has its name now, and the victim is gone all the same.
pub(super) fn deletion_failure(error: &ApiError) -> CallFailure {
    match failure(error) {
        CallFailure::Conflict => CallFailure::NotFound,
        other => other,
    }
}

/// What the scheduler is told of an error.
/// Upstream: util/utils.go `Retriable`, and client-go's own retry of 429.
pub(super) fn failure(error: &ApiError) -> CallFailure {
    match error.reason {
        StatusReason::NotFound => CallFailure::NotFound,
        StatusReason::Conflict => CallFailure::Conflict,
        StatusReason::InternalError | StatusReason::ServiceUnavailable | StatusReason::TooManyRequests => {
            CallFailure::Transient
        }
        _ => CallFailure::Other,
    }
}
