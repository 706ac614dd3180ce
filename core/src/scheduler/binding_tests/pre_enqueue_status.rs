//! KEP-5501: what a pod's status says while a PreEnqueue plugin holds it back.

use super::*;

const CLAIM: &str = "waiting for a claim";

/// A scheduler with the gate on.
fn reporting() -> ProbedLab {
    ProbedLab::with(FeatureGates {
        scheduler_async_api_calls: true,
        scheduler_pre_enqueue_pod_status: true,
        ..FeatureGates::default()
    })
}

/// Something happens that both probe plugins registered for.
fn ask_again(lab: &mut ProbedLab) {
    lab.event(storage_class_added());
}

fn close(lab: &ProbedLab, message: Option<&'static str>) {
    lab.first.set(|script| script.closed = message);
}

/// Reason and note of the events so far.
fn events(lab: &mut ProbedLab) -> Vec<String> {
    let mut events = Vec::new();
    lab.scheduler.take_pod_events(&mut events);
    let text = |event: PodEvent| match event.note {
        PodEventNote::Text(note) => format!("{} {}: {note}", event.pod.0, event.reason.as_str()),
        other => format!("{other:?}"),
    };
    events.into_iter().map(text).collect()
}

#[test]
fn pre_enqueue_rejection_is_written_once_per_message_and_withdrawn() {
    let mut lab = reporting();
    lab.first.set(|script| script.closed = Some("waiting for a claim"));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7: waiting for a claim"]);
    lab.answer_next(Ok(()));
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0], "the same message");
    lab.first.set(|script| script.closed = Some("waiting for another"));
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: waiting for another"]);
    lab.answer_next(Ok(()));
    lab.first.set(|script| script.closed = Some(""));
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0], "an empty message says nothing");
    assert_eq!(lab.standing(7), Some(Standing::Gated));
    lab.first.set(|script| script.closed = None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: -"], "withdrawn; the binding is lined up behind it");
    lab.answer_next(Ok(()));
    assert_eq!(lab.run(), ["7 -> n1"]);
}

#[test]
fn pre_enqueue_rejection_is_not_written_without_feature_gate() {
    let mut lab = ProbedLab::new();
    lab.first.set(|script| script.closed = Some("waiting for a claim"));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), [""; 0]);
}

#[test]
fn pre_enqueue_rejection_records_one_event_per_message() {
    let mut lab = reporting();
    close(&lab, Some(CLAIM));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(events(&mut lab), ["7 NotReadyForScheduling: waiting for a claim"]);
    ask_again(&mut lab);
    assert_eq!(events(&mut lab), [""; 0], "the same message");
    close(&lab, Some("waiting for another"));
    ask_again(&mut lab);
    assert_eq!(events(&mut lab), ["7 NotReadyForScheduling: waiting for another"]);
    close(&lab, Some(""));
    ask_again(&mut lab);
    close(&lab, None);
    ask_again(&mut lab);
    assert_eq!(events(&mut lab), [""; 0], "silence and success are no news");
    let wanted = PreEnqueueStatusCounts { written: 2, repeated: 1, silent: 1, withdrawn: 1 };
    assert_eq!(lab.scheduler.pre_enqueue_status_counts(), wanted);
}

#[test]
fn pre_enqueue_rejection_without_message_keeps_condition_of_another_plugin() {
    let mut lab = reporting();
    close(&lab, Some(CLAIM));
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_next(Ok(()));
    close(&lab, None);
    lab.second.set(|script| script.closed = Some(""));
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0], "stale, as the KEP accepts");
    lab.second.set(|script| script.closed = None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: -"]);
}

#[test]
fn pre_enqueue_rejection_followed_by_pass_before_dispatch_makes_no_call() {
    let gates = *reporting().scheduler.settings();
    let mut lab = ProbedLab::set(SchedulerSettings { parallel_calls_max: 1, ..gates });
    close(&lab, Some(CLAIM));
    lab.pod(6, pod().cpu("5"));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["6: waiting for a claim"], "one call at a time");
    close(&lab, None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0]);
    lab.answer_next(Ok(()));
    let said = lab.run();
    assert!(!said.iter().any(|call| call.starts_with("7:")), "nobody heard of pod 7's wait: {said:?}");
    assert!(lab.scheduler.dispatcher().counts().merged >= 2);
}

#[test]
fn failed_pre_enqueue_patch_is_written_again_and_does_not_block_scheduling() {
    let mut lab = reporting();
    close(&lab, Some(CLAIM));
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7: waiting for a claim"]);
    lab.answer_next(Err(CallFailure::Other));
    assert_eq!(lab.standing(7), Some(Standing::Gated));
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: waiting for a claim"], "the API never took it");
    lab.answer_next(Err(CallFailure::Other));
    close(&lab, None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: -"], "nobody knows what the status says");
    lab.answer_next(Err(CallFailure::Other));
    assert_eq!(lab.run(), ["7 -> n1"], "the pod is bound all the same");
}

#[test]
fn scheduling_gates_write_no_pre_enqueue_condition() {
    let mut lab = reporting();
    lab.pod(7, pod().cpu("1").gated("quota"));
    assert_eq!((lab.run(), lab.standing(7)), (vec![], Some(Standing::Gated)));
    assert_eq!(events(&mut lab), [""; 0]);
    assert_eq!(
        lab.scheduler.pre_enqueue_status_counts(),
        PreEnqueueStatusCounts { silent: 1, ..PreEnqueueStatusCounts::default() }
    );
}

#[test]
fn pod_passing_pre_enqueue_makes_no_status_patch() {
    let mut lab = reporting();
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
    assert_eq!(lab.scheduler.pre_enqueue_status_counts(), PreEnqueueStatusCounts::default());
}

#[test]
fn failed_scheduling_events_are_recorded_only_at_event_level_problems() {
    for (level, wanted) in [
        (EventLevel::Off, ""),
        (EventLevel::Problems, "7 FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu."),
    ] {
        let mut lab = ProbedLab::set(SchedulerSettings { events: level, ..SchedulerSettings::default() });
        lab.pod(7, pod().cpu("5"));
        lab.run();
        let told = events(&mut lab);
        assert_eq!(told.len(), usize::from(!wanted.is_empty()), "{level:?}: {told:?}");
        assert!(told.iter().all(|event| event.starts_with(wanted)), "{level:?}: {told:?}");
    }
}
