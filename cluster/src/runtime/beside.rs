//! Performs calls of an API over a network: many are under way at once, and each is answered when its
//! answer is there.
//!
//! ```text
//! batches ──▶ ┌────────┐ ──bind, work──▶ Caller ──▶ API
//!             │ Binder │                   │
//! answers ◀── └────────┘ ◀──── Ended ──────┘
//! ```
//!
//! A scheduler that stops waits for what is under way; batches that nobody has begun are left alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam::channel::{Receiver, Sender, never, select, unbounded};
use schedlab_core::binding::CallId;
use schedlab_core::ids::PodUid;

use super::bind::bind_by_extender;
use super::binder::{
    Answer, Batch, BindCall, Binder, PatchCall, condition, deletion_failure, disruption, failure,
    scheduled_event,
};
use super::record::{BindRecorder, Bound, CallEnd, CallKind};
use super::{claims, volumes};
use crate::api::{Api, ApiError, Binding, PodEventPost, PodStatusPatch};
use crate::clock::monotonic_ns;

/// Calls under way; more wait. Bindings that nobody queues would otherwise all be sent at once.
const UNDER_WAY_MAX: usize = 512;

/// What is told how a call ended, on any thread.
pub type Then = Box<dyn FnOnce(Result<(), ApiError>) + Send>;

/// Makes calls of an API over a network, beside each other.
pub trait Caller: Send + Sync {
    /// Binds a pod.
    fn bind(&self, binding: Binding, then: Then);

    /// Does what calls the API and waits for its answers.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

/// A call that has its answer.
struct Ended {
    id: CallId,
    pod: PodUid,
    what: What,
    sent_ns: u64,
    result: Result<u64, ApiError>,
}

/// What was called.
enum What {
    Binding(BindCall),
    StatusPatch,
    /// Of a victim: it is gone all the same when another pod has its name.
    Deletion,
    Other,
}

/// Where the answers of calls go.
#[derive(Clone)]
struct Back(Sender<Ended>);

impl Back {
    /// A binder that ended waits for no answer.
    fn tell(&self, ended: Ended) {
        let _ = self.0.send(ended);
    }
}

impl<B: BindRecorder> Binder<B> {
    /// Hands every batch to the caller as it comes.
    pub(super) fn run_beside(mut self, caller: Arc<dyn Caller>) -> B {
        let (sender, ended) = unbounded();
        let back = Back(sender);
        let (mut batches, mut under_way) = (self.batches.clone(), 0);
        let nothing = never();
        loop {
            let takes = if under_way < UNDER_WAY_MAX { &batches } else { &nothing };
            select! {
                recv(takes) -> batch => match batch {
                    Ok(batch) if !self.shared.halt.load(Ordering::Acquire) => {
                        under_way += batch.len();
                        self.begin(batch, &caller, &back);
                    }
                    // Left to whoever schedules next.
                    Ok(batch) => drop(self.shared.calls_in_flight.fetch_sub(batch.len() as u64, Ordering::AcqRel)),
                    Err(_) if under_way == 0 => return self.recorder,
                    Err(_) => batches = never(),
                },
                recv(ended) -> first => {
                    let all: Vec<Ended> = first.into_iter().chain(ended.try_iter()).collect();
                    under_way -= all.len();
                    self.answer(all);
                    if under_way == 0 && is_over(&self.batches, &batches) {
                        return self.recorder;
                    }
                }
            }
        }
    }

    fn begin(&self, batch: Batch, caller: &Arc<dyn Caller>, back: &Back) {
        let sent_ns = monotonic_ns();
        let begun = Begun { api: &self.api, caller, back, sent_ns };
        // A patch was wanted before the binding of the same pod, and the scheduling cycle waits for it.
        for PatchCall { id, patch, nomination, .. } in batch.patches {
            let pod = patch.pod;
            begun.run((id, pod, What::StatusPatch), move |api| {
                let condition = patch.condition.as_ref().map(condition);
                api.patch_pod_status(PodStatusPatch { pod, condition, nomination, phase: None })
            });
        }
        for (id, writes) in batch.volumes {
            begun.run((id, writes.pod, What::Other), move |api| {
                volumes::write(api, &writes).and_then(|()| api.wait_for_volumes(&writes)).map(|()| 0)
            });
        }
        for (id, writes) in batch.claims {
            begun.run((id, writes.pod, What::Other), move |api| claims::write(api, &writes).map(|()| 0));
        }
        batch.binds.into_iter().for_each(|call| self.begin_binding(call, &begun));
        for (id, pod, message) in batch.disruptions {
            begun.run((id, pod, What::Deletion), move |api| api.patch_pod_status(disruption(pod, &message)));
        }
        for (id, pod) in batch.deletes {
            begun.run((id, pod, What::Deletion), move |api| api.delete_pod(pod).map(|()| 0));
        }
        for (id, patch) in batch.pod_groups {
            begun.run((id, patch.group, What::Other), move |api| {
                api.patch_pod_group_status(&patch).map(|()| 0)
            });
        }
    }

    fn begin_binding(&self, call: BindCall, begun: &Begun<'_>) {
        let (id, binding) = (call.id, call.binding);
        if !self.extenders.is_empty() {
            let extenders = self.extenders.clone();
            return begun.run((id, binding.pod, What::Binding(call)), move |api| {
                let bound = bind_by_extender(api, &extenders, binding);
                bound.unwrap_or_else(|| api.bind_pod(binding)).map(|()| 0)
            });
        }
        let (back, sent_ns) = (begun.back.clone(), begun.sent_ns);
        let then = move |result: Result<(), ApiError>| {
            let (what, result) = (What::Binding(call), result.map(|()| 0));
            back.tell(Ended { id, pod: binding.pod, what, sent_ns, result });
        };
        begun.caller.bind(binding, Box::new(then));
    }

    fn answer(&mut self, all: Vec<Ended>) {
        let count = all.len() as u64;
        let (mut answers, mut bound, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bindings, mut patches) = (Vec::new(), Vec::new());
        for ended in all {
            self.record(&ended, &mut bound, &mut events);
            let Ended { id, pod, what, result, .. } = ended;
            if result.is_err() || id != CallId::UNTRACKED {
                let told = if matches!(what, What::Deletion) { deletion_failure } else { failure };
                answers.push(Answer { id, pod, result: result.as_ref().copied().map_err(told) });
            }
            match what {
                What::Binding(_) => bindings.push(result),
                What::StatusPatch => patches.push(result),
                What::Deletion | What::Other => {}
            }
        }
        self.shared.calls.bindings.count(&bindings);
        self.shared.calls.status_patches.count(&patches);
        self.recorder.binds_begin();
        self.recorder.binds_ended(&bound);
        self.recorder.rests();
        if let Some(outbox) = &self.scheduled {
            outbox.send(events);
        }
        self.finish_count(count, answers);
    }

    fn record(&mut self, ended: &Ended, bound: &mut Vec<Bound>, events: &mut Vec<PodEventPost>) {
        let Ended { what, sent_ns, result, .. } = ended;
        match (what, result) {
            (What::Binding(call), Ok(_)) => {
                let BindCall { binding, created_ns, begun_ns, attempts, profile, .. } = *call;
                let sent_ns = Some(*sent_ns);
                bound.push(Bound { pod: binding.pod, created_ns, begun_ns, attempts, profile, sent_ns });
                events.push(scheduled_event(binding));
            }
            (What::Binding(_), Err(_)) if self.recorder.times_calls() => {
                let elapsed_ns = monotonic_ns().saturating_sub(*sent_ns);
                self.recorder.call_ended(CallKind::PodBinding, CallEnd::Error, elapsed_ns);
            }
            (What::StatusPatch, result) if self.recorder.times_calls() => {
                let elapsed_ns = monotonic_ns().saturating_sub(*sent_ns);
                self.recorder.call_ended(CallKind::PodStatusPatch, CallEnd::of(result), elapsed_ns);
            }
            _ => {}
        }
    }
}

/// Whether nobody sends batches any more: their sender is gone, and so the receiver was put aside.
fn is_over(own: &Receiver<Batch>, in_use: &Receiver<Batch>) -> bool {
    !own.same_channel(in_use)
}

/// What calls of a batch have in common.
struct Begun<'a> {
    api: &'a Arc<dyn Api>,
    caller: &'a Arc<dyn Caller>,
    back: &'a Back,
    sent_ns: u64,
}

impl Begun<'_> {
    fn run(
        &self,
        (id, pod, what): (CallId, PodUid, What),
        call: impl FnOnce(&dyn Api) -> Result<u64, ApiError> + Send + 'static,
    ) {
        let (api, back, sent_ns) = (Arc::clone(self.api), self.back.clone(), self.sent_ns);
        let work = move || {
            let result = call(api.as_ref());
            back.tell(Ended { id, pod, what, sent_ns, result });
        };
        self.caller.run(Box::new(work));
    }
}
