//! What is timed on the way to a node, with a clock that the test sets.

use std::cell::Cell;

use super::*;

const MS: u64 = 1_000_000;

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(0) };
}

fn now_ns() -> u64 {
    NOW_NS.get()
}

/// Time passes, on the clock and for the scheduler.
fn pass(lab: &mut ProbedLab, ns: u64) {
    NOW_NS.set(NOW_NS.get() + ns);
    lab.pass(ns);
}

fn timed(gates: FeatureGates) -> ProbedLab {
    NOW_NS.set(0);
    let mut lab = ProbedLab::with(gates);
    lab.scheduler.time_plugins(now_ns);
    lab.scheduler.set_timing(true);
    lab
}

/// The spans so far, with milliseconds; those that took no time are left out, and PreEnqueue.
fn spans(lab: &mut ProbedLab) -> Vec<String> {
    let mut spans = Vec::new();
    lab.scheduler.take_spans(&mut spans);
    let text = |Span { timed, elapsed_ns }: &Span| {
        let ms = elapsed_ns / MS;
        match timed {
            Timed::Point { point, status, .. } => format!("{point} {status} {ms}"),
            Timed::Plugin { plugin, point, status } => format!("{plugin} {point} {status} {ms}"),
            Timed::PermitWait { result } => format!("wait {result} {ms}"),
            Timed::FailedAttempt { is_error, .. } => format!("failed {is_error} {ms}"),
            other => format!("{other:?}"),
        }
    };
    spans.iter().filter(|span| span.elapsed_ns > 0).map(text).collect()
}

#[test]
fn permit_wait_pre_bind_and_attempt_are_timed_separately() {
    let mut lab = timed(FeatureGates::default());
    lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    lab.second.set(|script| {
        script.pre_flight = Some(WORK);
        script.pre_bind = vec![PreBindStep::Wait { deadline_ns: 30 * MS }, PreBindStep::Done];
    });
    pass(&mut lab, MS);
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_all(Ok(()));
    pass(&mut lab, 9 * MS);
    lab.request(Request::Allow { pod: PodUid(7), plugin: "First" });
    assert_eq!(spans(&mut lab), ["wait Success 9"]);
    pass(&mut lab, 20 * MS);
    assert_eq!(lab.run(), ["7 -> n1"]);
    assert_eq!(spans(&mut lab), ["Second PreBind Success 20", "PreBind Success 20"]);
    let cycle = lab.scheduler.binding_cycles().get(PodUid(7)).expect("it is being bound");
    assert_eq!(cycle.times.begun_ns, MS, "the attempt began with its scheduling cycle");
    pass(&mut lab, 5 * MS);
    lab.answer_next(Err(CallFailure::Conflict));
    assert_eq!(spans(&mut lab), ["failed true 34"], "the whole attempt");
}

#[test]
fn rejection_of_waiting_pod_ends_permit_wait_and_attempt_durations() {
    let mut lab = timed(FeatureGates::default());
    lab.first.set(|script| script.permit = Some(Permit::Wait { timeout_ns: SECOND }));
    pass(&mut lab, MS);
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_all(Ok(()));
    pass(&mut lab, 8 * MS);
    lab.request(Request::Reject { pod: PodUid(7), plugin: "First", message: "no".into() });
    assert_eq!(spans(&mut lab), ["wait Unschedulable 8", "failed false 8"]);
}

#[test]
fn every_extension_point_with_plugins_is_timed_and_none_when_timing_is_off() {
    let points = |lab: &mut ProbedLab| {
        let mut spans = Vec::new();
        lab.scheduler.take_spans(&mut spans);
        let point = |span: &Span| match span.timed {
            Timed::Point { point, status, .. } => Some(format!("{point} {status}")),
            _ => None,
        };
        spans.iter().filter_map(point).collect::<Vec<String>>()
    };
    let mut lab = timed(FeatureGates::default());
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_next(Ok(()));
    assert_eq!(
        points(&mut lab),
        [
            "PreEnqueue Success",
            "Reserve Success",
            "Permit Success",
            "PreBindPreFlight Success",
            "PostBind Success"
        ]
    );
    lab.confirm(7, "n1");
    lab.pod(8, pod().cpu("1"));
    lab.run();
    assert!(points(&mut lab).contains(&"PostFilter Unschedulable".to_owned()), "no node fits");
    lab.scheduler.set_timing(false);
    lab.pod(9, pod().cpu("1"));
    lab.run();
    assert_eq!(points(&mut lab), Vec::<String>::new());
}

#[test]
fn attempts_are_counted_by_the_profile_of_the_pod() {
    let mut lab = timed(FeatureGates::default());
    lab.pod(7, pod().cpu("1"));
    lab.run();
    lab.answer_next(Ok(()));
    lab.confirm(7, "n1");
    lab.pod(8, pod().cpu("1"));
    lab.run();
    let counts = lab.scheduler.attempts_by_profile();
    let wanted = AttemptCounts { scheduled: 1, unschedulable: 1, errors: 0 };
    assert_eq!(counts.get("default-scheduler"), Some(&wanted));
    let rejected = lab.scheduler.unschedulable_by_plugin();
    assert_eq!(rejected.get(&("NodeResourcesFit", "default-scheduler")), Some(&1));
}
