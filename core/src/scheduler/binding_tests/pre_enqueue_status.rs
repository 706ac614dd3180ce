//! KEP-5501: what a pod's status says while a PreEnqueue plugin holds it back.

use super::*;

const CLAIM: &str = "waiting for a claim";

/// A scheduler with the gate on.
fn reporting() -> Lab {
    Lab::with(FeatureGates {
        scheduler_async_api_calls: true,
        scheduler_pre_enqueue_pod_status: true,
        ..FeatureGates::default()
    })
}

/// Something happens that both probe plugins registered for.
fn ask_again(lab: &mut Lab) {
    lab.scheduler.on_event(storage_class_added(), lab.now_ns);
}

fn close(lab: &Lab, message: Option<&'static str>) {
    lab.first.set(|script| script.closed = message);
}

/// Reason and note of the events so far.
fn events(lab: &mut Lab) -> Vec<String> {
    let mut events = Vec::new();
    lab.scheduler.take_pod_events(&mut events);
    let text = |event: PodEvent| match event.note {
        PodEventNote::Text(note) => format!("{} {}: {note}", event.pod.0, event.reason.as_str()),
        other => format!("{other:?}"),
    };
    events.into_iter().map(text).collect()
}

#[test]
fn a_rejection_before_the_queue_is_told_once_and_withdrawn() {
    let mut lab = reporting();
    lab.first.set(|script| script.closed = Some("waiting for a claim"));
    lab.pod(7, pod("1", 0));
    assert_eq!(lab.run(), ["7: waiting for a claim"]);
    lab.answer(Ok(()));
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0], "the same message");
    lab.first.set(|script| script.closed = Some("waiting for another"));
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: waiting for another"]);
    lab.answer(Ok(()));
    lab.first.set(|script| script.closed = Some(""));
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0], "an empty message says nothing");
    assert_eq!(lab.standing(7), Some(Standing::Gated));
    lab.first.set(|script| script.closed = None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: -"], "withdrawn; the binding is lined up behind it");
    lab.answer(Ok(()));
    assert_eq!(lab.run(), ["7 -> n1"]);
}

#[test]
fn a_rejection_before_the_queue_is_not_told_without_the_gate() {
    let mut lab = Lab::new();
    lab.first.set(|script| script.closed = Some("waiting for a claim"));
    lab.pod(7, pod("1", 0));
    assert_eq!(lab.run(), [""; 0]);
}

#[test]
fn a_rejection_is_also_told_by_an_event_once_a_message() {
    let mut lab = reporting();
    close(&lab, Some(CLAIM));
    lab.pod(7, pod("1", 0));
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
    let wanted = GateCounts { told: 2, repeated: 1, silent: 1, withdrawn: 1 };
    assert_eq!(lab.scheduler.gate_counts(), wanted);
}

#[test]
fn a_silent_plugin_leaves_the_word_of_another_standing() {
    let mut lab = reporting();
    close(&lab, Some(CLAIM));
    lab.pod(7, pod("1", 0));
    lab.run();
    lab.answer(Ok(()));
    close(&lab, None);
    lab.second.set(|script| script.closed = Some(""));
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0], "stale, as the KEP accepts");
    lab.second.set(|script| script.closed = None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: -"]);
}

#[test]
fn a_rejection_and_a_pass_that_follow_quickly_are_no_call_at_all() {
    let gates = *reporting().scheduler.settings();
    let mut lab = Lab::set(SchedulerSettings { parallel_calls_max: 1, ..gates });
    close(&lab, Some(CLAIM));
    lab.pod(6, pod("5", 0));
    lab.pod(7, pod("1", 0));
    assert_eq!(lab.run(), ["6: waiting for a claim"], "one call at a time");
    close(&lab, None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), [""; 0]);
    lab.answer(Ok(()));
    let said = lab.run();
    assert!(!said.iter().any(|call| call.starts_with("7:")), "nobody heard of pod 7's wait: {said:?}");
    assert!(lab.scheduler.dispatcher().counts().merged >= 2);
}

#[test]
fn a_failed_call_leaves_scheduling_untouched_and_is_made_again_when_asked_again() {
    let mut lab = reporting();
    close(&lab, Some(CLAIM));
    lab.pod(7, pod("1", 0));
    assert_eq!(lab.run(), ["7: waiting for a claim"]);
    lab.answer(Err(CallFailure::Other));
    assert_eq!(lab.standing(7), Some(Standing::Gated));
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: waiting for a claim"], "the API never took it");
    lab.answer(Err(CallFailure::Other));
    close(&lab, None);
    ask_again(&mut lab);
    assert_eq!(lab.run(), ["7: -"], "nobody knows what the status says");
    lab.answer(Err(CallFailure::Other));
    assert_eq!(lab.run(), ["7 -> n1"], "the pod is bound all the same");
}

#[test]
fn scheduling_gates_do_not_report() {
    let mut lab = reporting();
    lab.pod(7, PodInput { scheduling_gates: vec!["quota".to_owned()], ..pod("1", 0) });
    assert_eq!((lab.run(), lab.standing(7)), (vec![], Some(Standing::Gated)));
    assert_eq!(events(&mut lab), [""; 0]);
    assert_eq!(lab.scheduler.gate_counts(), GateCounts { silent: 1, ..GateCounts::default() });
}

#[test]
fn a_pod_that_passes_at_once_costs_no_call_and_no_report() {
    let mut lab = reporting();
    lab.pod(7, pod("1", 0));
    assert_eq!(lab.run(), ["7 -> n1"]);
    assert_eq!(lab.scheduler.gate_counts(), GateCounts::default());
}

#[test]
fn failures_are_told_by_events_only_where_somebody_wants_them() {
    for (level, wanted) in [
        (EventLevel::Off, ""),
        (EventLevel::Problems, "7 FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu."),
    ] {
        let mut lab = Lab::set(SchedulerSettings { events: level, ..SchedulerSettings::default() });
        lab.pod(7, pod("5", 0));
        lab.run();
        let told = events(&mut lab);
        assert_eq!(told.len(), usize::from(!wanted.is_empty()), "{level:?}: {told:?}");
        assert!(told.iter().all(|event| event.starts_with(wanted)), "{level:?}: {told:?}");
    }
}
