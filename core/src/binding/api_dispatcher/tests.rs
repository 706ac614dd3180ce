//! What is sent, in which order, and what never is.

use std::sync::Arc;

use super::*;
use crate::api_call::{ConditionChange, ConditionReason};
use crate::ids::NodeId;

fn patch(pod: u64, message: Option<&str>, nomination: NominatingInfo) -> ApiCall {
    let condition = message.map(|text| ConditionChange::False {
        reason: ConditionReason::Unschedulable,
        message: Arc::from(text),
        is_first: false,
    });
    ApiCall::PatchStatus(StatusPatch { pod: PodUid(pod), condition, nomination })
}

fn waits(pod: u64, message: &str) -> ApiCall {
    patch(pod, Some(message), NominatingInfo::Keep)
}

fn bind(pod: u64) -> ApiCall {
    ApiCall::Bind { pod: PodUid(pod), node: NodeId(pod as u32) }
}

fn queued(parallel_max: usize) -> ApiDispatcher {
    ApiDispatcher::new(DispatchMode::Queued { parallel_max })
}

fn taken(dispatcher: &mut ApiDispatcher) -> Vec<ApiCall> {
    let mut calls = Vec::new();
    dispatcher.take(&mut calls);
    calls.into_iter().map(|outgoing| outgoing.call).collect()
}

#[test]
fn later_status_patch_merges_with_queued_one() {
    let mut dispatcher = queued(1);
    let first = dispatcher.add(waits(9, "x")).expect("taken in");
    assert_eq!(taken(&mut dispatcher), [waits(9, "x")], "the only one on the way");
    dispatcher.add(patch(1, Some("old"), NominatingInfo::Node(NodeId(3))));
    dispatcher.add(waits(1, "new"));
    dispatcher.add(patch(1, None, NominatingInfo::Keep));
    assert_eq!(taken(&mut dispatcher), []);
    let finished = dispatcher.on_answer(first, Ok(()), 0).expect("over");
    assert_eq!((finished.call, finished.result), (waits(9, "x"), Ok(())));
    assert_eq!(taken(&mut dispatcher), [patch(1, Some("new"), NominatingInfo::Node(NodeId(3)))]);
    let expected = DispatchCounts { enqueued: 4, merged: 2, sent: 2, ..DispatchCounts::default() };
    assert_eq!(dispatcher.counts(), expected);
}

#[test]
fn condition_withdrawn_before_dispatch_is_never_sent() {
    let said = |message: &str, is_first| {
        let reason = ConditionReason::NotReadyForScheduling;
        Some(ConditionChange::False { reason, message: Arc::from(message), is_first })
    };
    let status = |condition| StatusPatch { pod: PodUid(1), condition, nomination: NominatingInfo::Keep };
    let withdraw = || Some(ConditionChange::Withdraw);
    let cases = [
        ("the first word", vec![said("a", true), withdraw()], None),
        ("the first word, said anew", vec![said("a", true), said("b", false), withdraw()], None),
        ("an earlier word stands", vec![said("b", false), withdraw()], Some(withdraw())),
        ("taken back and said again", vec![withdraw(), said("c", true)], Some(said("c", false))),
    ];
    for (name, words, wanted) in cases {
        let mut dispatcher = queued(1);
        let first = dispatcher.add(waits(9, "x")).expect("taken in");
        let count = words.len() as u64;
        for word in words {
            dispatcher.add(ApiCall::PatchStatus(status(word)));
        }
        taken(&mut dispatcher);
        dispatcher.on_answer(first, Ok(()), 0);
        let wanted: Vec<ApiCall> =
            wanted.into_iter().map(|word| ApiCall::PatchStatus(status(word))).collect();
        assert_eq!(taken(&mut dispatcher), wanted, "{name}");
        assert_eq!(dispatcher.counts().merged, count - wanted.len() as u64, "{name}");
        assert_eq!(dispatcher.is_empty(), wanted.is_empty(), "{name}");
    }
}

#[test]
fn binding_supersedes_queued_status_patch() {
    let mut dispatcher = queued(1);
    let first = dispatcher.add(waits(9, "x")).expect("taken in");
    dispatcher.add(waits(1, "does not fit"));
    dispatcher.add(bind(1));
    assert_eq!(dispatcher.add(waits(1, "late")), None, "and later ones as well");
    dispatcher.on_answer(first, Ok(()), 0);
    assert_eq!(taken(&mut dispatcher), [waits(9, "x"), bind(1)]);
    assert_eq!(dispatcher.counts().merged, 2);
}

#[test]
fn binding_waits_for_status_patch_in_flight() {
    let mut dispatcher = queued(8);
    let on_its_way = dispatcher.add(waits(1, "x")).expect("taken in");
    let binding = dispatcher.add(bind(1)).expect("taken in");
    assert_eq!(taken(&mut dispatcher), [waits(1, "x")]);
    dispatcher.on_answer(on_its_way, Err(CallFailure::Conflict), 0);
    assert_eq!(taken(&mut dispatcher), [bind(1)]);
    assert_eq!(dispatcher.add(waits(1, "stale")), None, "the binding is on its way");
    assert!(dispatcher.on_answer(binding, Ok(()), 0).is_some());
    assert!(dispatcher.is_empty());
}

#[test]
fn calls_in_flight_stay_within_the_limit() {
    let mut dispatcher = queued(2);
    let ids: Vec<CallId> = (1..=5).filter_map(|pod| dispatcher.add(bind(pod))).collect();
    assert_eq!(taken(&mut dispatcher), [bind(1), bind(2)]);
    dispatcher.on_answer(ids[1], Ok(()), 0);
    assert_eq!(taken(&mut dispatcher), [bind(3)]);
    dispatcher.on_answer(ids[0], Ok(()), 0);
    dispatcher.on_answer(ids[2], Ok(()), 0);
    assert_eq!(taken(&mut dispatcher), [bind(4), bind(5)]);
}

#[test]
fn transient_failures_are_retried_and_others_are_not() {
    let millis = 1_000_000;
    for mut dispatcher in [queued(1), ApiDispatcher::new(DispatchMode::Direct)] {
        let id = dispatcher.add(bind(1)).expect("taken in");
        taken(&mut dispatcher);
        let mut now_ns = 0;
        for after_ms in [10, 50, 250] {
            assert_eq!(dispatcher.on_answer(id, Err(CallFailure::Transient), now_ns), None);
            assert_eq!(dispatcher.next_retry_ns(), Some(now_ns + after_ms * millis));
            dispatcher.tick(now_ns + after_ms * millis - 1);
            assert_eq!(taken(&mut dispatcher), []);
            now_ns += after_ms * millis;
            dispatcher.tick(now_ns);
            assert_eq!(taken(&mut dispatcher), [bind(1)]);
        }
        let finished = dispatcher.on_answer(id, Err(CallFailure::Transient), now_ns).expect("given up");
        assert_eq!(finished.result, Err(CallFailure::Transient));
        let expected = DispatchCounts { enqueued: 1, sent: 4, retried: 3, failed: 1, merged: 0 };
        assert_eq!(dispatcher.counts(), expected);
        for failure in [CallFailure::Conflict, CallFailure::NotFound, CallFailure::Other] {
            let id = dispatcher.add(waits(2, "x")).expect("taken in");
            let finished = dispatcher.on_answer(id, Err(failure), now_ns).expect("final");
            assert_eq!(finished.result, Err(failure));
            assert_eq!(dispatcher.next_retry_ns(), None);
        }
        assert!(dispatcher.is_empty());
    }
}

#[test]
fn direct_calls_are_sent_at_once_and_unmerged() {
    let mut dispatcher = ApiDispatcher::new(DispatchMode::Direct);
    dispatcher.add(waits(1, "a"));
    dispatcher.add(waits(1, "b"));
    dispatcher.add(bind(1));
    assert_eq!(taken(&mut dispatcher), [waits(1, "a"), waits(1, "b"), bind(1)]);
    assert_eq!(dispatcher.counts().merged, 0);
}

#[test]
fn delete_of_pod_drops_its_queued_calls() {
    let mut dispatcher = queued(1);
    let first = dispatcher.add(waits(1, "x")).expect("taken in");
    dispatcher.add(waits(1, "y"));
    dispatcher.add(waits(2, "z"));
    taken(&mut dispatcher);
    dispatcher.remove_pending(PodUid(1));
    dispatcher.remove_pending(PodUid(2));
    dispatcher.remove_pending(PodUid(3));
    assert!(!dispatcher.is_empty(), "one is on its way");
    dispatcher.on_answer(first, Err(CallFailure::NotFound), 0);
    assert_eq!(taken(&mut dispatcher), []);
    assert!(dispatcher.is_empty());
    assert_eq!(dispatcher.on_answer(first, Ok(()), 0), None, "an answer is taken once");
}

#[test]
fn delete_of_pod_drops_its_retries() {
    for mut dispatcher in [queued(1), ApiDispatcher::new(DispatchMode::Direct)] {
        let id = dispatcher.add(bind(1)).expect("taken in");
        taken(&mut dispatcher);
        dispatcher.on_answer(id, Err(CallFailure::Transient), 0);
        dispatcher.remove_pending(PodUid(1));
        assert_eq!(dispatcher.next_retry_ns(), None);
        assert!(dispatcher.is_empty());
        assert_eq!(dispatcher.counts().failed, 1);
        dispatcher.add(bind(2));
        assert_eq!(taken(&mut dispatcher), [bind(2)], "its place is free for others");
    }
}
