//! The way back to the queue: what the pod's status says, and what may bring the pod back.
//!
//! Upstream: schedule_one.go `handleSchedulingFailure`.

use std::sync::Arc;

use super::conditions::{NO_CONDITION, UNSURE};
use super::{ApiCall, ConditionReason, EventLevel, PodEventNote, PodEventReason, Scheduler, StatusPatch};
use crate::framework::points::{NominatingInfo, Status, StatusCode};
use crate::ids::PodId;
use crate::mutants::Mutant;
use crate::pods::PodState;
use crate::queue::{PluginNumber, PluginNumberSet};

/// Why an attempt failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchedulingFailure {
    /// Who rejected the pod; nobody when something else failed.
    pub unschedulable: PluginNumberSet,
    /// Who rejected it and waits for something to happen.
    pub pending: PluginNumberSet,
    /// What its status is to say.
    pub condition: u32,
    /// What becomes of its nomination.
    pub nomination: NominatingInfo,
}

impl Scheduler {
    /// An attempt failed: the pod goes back to the queue and its status says why.
    pub(super) fn handle_scheduling_failure(&mut self, pod: PodId, failure: SchedulingFailure) {
        if self.group_of(pod).is_some() {
            let is_error = failure.unschedulable.is_empty() && failure.pending.is_empty();
            let attempts = self.queue.attempts(pod);
            return self.readd_pod_group_member(pod, attempts, (failure, is_error));
        }
        let now_ns = self.now_ns;
        let plugins = (failure.unschedulable, failure.pending);
        let counts = self.attempt_counts(pod);
        if plugins.0.is_empty() && plugins.1.is_empty() {
            counts.errors += 1;
        } else {
            counts.unschedulable += 1;
        }
        // The pod as it is now: while it was assumed its updates did not go to the queue.
        // Upstream: schedule_one.go `handleSchedulingFailure` takes the pod from the informer.
        let row = self.world.pods().get(pod);
        debug_assert_eq!(row.state, PodState::Pending, "a pod whose attempt failed is on no node");
        let class = row.class;
        let priority = self.world.class(class).priority;
        self.queue.refresh(pod, class, priority);
        self.with_queue(|queue, queue_plugins| {
            queue.add_unschedulable_pod_if_not_present(pod, plugins, now_ns, queue_plugins)
        });
        self.note_scheduling_failure(pod, failure);
    }

    /// What an attempt that failed says of a pod that is back in the queue.
    pub(super) fn note_scheduling_failure(&mut self, pod: PodId, failure: SchedulingFailure) {
        let row = *self.world.pods().get(pod);
        if self.settings.events > EventLevel::Off
            && let Some((_, message)) = self.conditions.get(failure.condition)
        {
            let note = PodEventNote::Text(truncate_message(message));
            self.note_problem(row.uid, PodEventReason::FailedScheduling, note);
        }
        // A group that gave up holds no room, whatever KEP-5278 says of single pods.
        let wanted = match self.group_of(pod) {
            None => self.after_failure(failure.nomination),
            Some(_) => failure.nomination,
        };
        let nomination = match wanted {
            NominatingInfo::Clear if row.nominated().is_none() => NominatingInfo::Keep,
            NominatingInfo::Node(node) if row.nominated() == Some(node) => NominatingInfo::Keep,
            other => other,
        };
        let is_news = row.condition != failure.condition || self.settings.mutants.has(Mutant::StatusFlood);
        if !is_news && nomination == NominatingInfo::Keep {
            return;
        }
        match nomination {
            NominatingInfo::Keep => {}
            NominatingInfo::Clear => self.update_nominated_pod(pod, None),
            NominatingInfo::Node(_) if self.settings.mutants.has(Mutant::NominationUnseen) => {}
            NominatingInfo::Node(node) => self.update_nominated_pod(pod, Some(node)),
        }
        self.requeue_pods_after_unwritten_nomination(pod, row.nominated());
        self.world.pods_mut().get_mut(pod).condition = failure.condition;
        let condition = is_news.then(|| self.conditions.change(row.condition, failure.condition));
        self.add_api_call(ApiCall::PatchStatus(StatusPatch { pod: row.uid, condition, nomination }));
    }

    /// The nominated node does not fit: the nomination is cleared, and the pod is tried again at once,
    /// on all nodes. That is the first design of KEP-1923, also while victims are on their way out: were
    /// the nomination kept, as KEP-5278 has it, the pod would miss for ever if they stay.
    pub(super) fn retry_without_nominated_node(&mut self, pod: PodId) {
        let now_ns = self.now_ns;
        self.with_queue(|queue, queue_plugins| queue.requeue_at_once(pod, now_ns, queue_plugins));
        let row = *self.world.pods().get(pod);
        let name = row.nominated().map_or("", |node| self.world.node_name(node));
        let message: Arc<str> = format!("nominated node {name} does not fit the pod any more").into();
        let condition = self.conditions.id(ConditionReason::SchedulerError, &message);
        let is_news = row.condition != condition;
        self.update_nominated_pod(pod, None);
        if let Some(node) = row.nominated() {
            let before = self.missed.insert(row.uid, node);
            self.requeue_pods_after_nomination_left(pod, before.filter(|&before| before != node));
        }
        self.world.pods_mut().get_mut(pod).condition = condition;
        let condition = is_news.then(|| self.conditions.change(row.condition, condition));
        let patch = StatusPatch { pod: row.uid, condition, nomination: NominatingInfo::Clear };
        self.add_api_call(ApiCall::PatchStatus(patch));
    }

    /// A plugin refused a pod after a node was found; the pod has left the node.
    pub(super) fn handle_rejection(&mut self, pod: PodId, plugin: PluginNumber, rejection: &Status) {
        let text: Arc<str> = rejection.reason.text(&self.world.vocabulary).into();
        let rejected = PluginNumberSet::one(plugin);
        let (unschedulable, pending) = match rejection.code {
            StatusCode::Unschedulable | StatusCode::UnschedulableAndUnresolvable => {
                (rejected, PluginNumberSet::NONE)
            }
            StatusCode::Pending => (PluginNumberSet::NONE, rejected),
            StatusCode::Error => (PluginNumberSet::NONE, PluginNumberSet::NONE),
        };
        let condition = if rejection.code == StatusCode::Error {
            self.conditions.id(ConditionReason::SchedulerError, &text)
        } else {
            // One node was left, and it is out as well.
            let message: Arc<str> = format!("0/1 nodes are available: 1 {text}.").into();
            self.conditions.id(ConditionReason::Unschedulable, &message)
        };
        let keeps = self.settings.mutants.has(Mutant::GangKeepsNomination);
        let nomination = if keeps { NominatingInfo::Keep } else { NominatingInfo::Clear };
        self.handle_scheduling_failure(
            pod,
            SchedulingFailure { unschedulable, pending, condition, nomination },
        );
    }

    /// Takes an assumed pod off its node.
    pub(super) fn forget_pod(&mut self, pod: PodId) {
        debug_assert_eq!(
            self.world.pods().get(pod).state,
            PodState::Assumed,
            "only an assumed pod is forgotten"
        );
        self.world.displace(pod);
        self.world.unreserve_volumes(self.world.pods().get(pod).uid);
        self.world.unreserve_devices(self.world.pods().get(pod).uid);
        self.move_to(pod, PodState::Pending);
        let nominated = self.world.pods().get(pod).nominated();
        self.update_nominated_pod(pod, nominated);
    }

    /// Writes a condition, or withdraws the last one, outside an attempt.
    pub(super) fn write_condition(&mut self, pod: PodId, condition: u32) {
        debug_assert!(
            condition == NO_CONDITION || self.conditions.get(condition).is_some(),
            "what is written is known"
        );
        let row = self.world.pods_mut().get_mut(pod);
        let before = std::mem::replace(&mut row.condition, condition);
        let uid = row.uid;
        let change = Some(self.conditions.change(before, condition));
        let patch = StatusPatch { pod: uid, condition: change, nomination: NominatingInfo::Keep };
        self.add_api_call(ApiCall::PatchStatus(patch));
    }

    /// A status could not be written: scheduling goes on as before, and the next time there is
    /// something to say about the pod it is said again, the same or not. Unless something else was to
    /// be said meanwhile: that replaces what got lost.
    pub(super) fn on_patch_failed(&mut self, patch: &StatusPatch) {
        let Some(pod) = self.world.pods().find(patch.pod).filter(|_| patch.condition.is_some()) else {
            return;
        };
        if self.dispatcher.has_condition_of(patch.pod) {
            return;
        }
        self.world.pods_mut().get_mut(pod).condition = UNSURE;
    }
}

/// The longest note of an event. Upstream: schedule_one.go `truncateMessage`.
const NOTE_BYTES_MAX: usize = 1024;

fn truncate_message(message: &Arc<str>) -> Arc<str> {
    const ENDING: &str = " ...";
    if message.len() <= NOTE_BYTES_MAX {
        return Arc::clone(message);
    }
    let longest = NOTE_BYTES_MAX - ENDING.len();
    let end = (0..=longest).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
    format!("{}{ENDING}", &message[..end]).into()
}
