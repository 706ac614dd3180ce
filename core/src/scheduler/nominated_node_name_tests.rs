//! What the scheduler writes of `status.nominatedNodeName`, what the watch tells of it, and in which order.

use super::*;
use crate::binding::CallFailure;
use crate::known_gaps::KnownGaps;
use crate::testkit::lab::SECOND_NS;
use crate::testkit::{PodParts, SchedulerLab, pod};

/// Pod 7 preempts pod 1 and is nominated to node n1; the text of the patch that says so.
fn preemptor(lab: &mut SchedulerLab) -> String {
    lab.placed(1, pod().cpu("4"), "n1");
    lab.pod(7, pod().cpu("4").priority(5));
    let calls = lab.run();
    let patch = calls.iter().find(|call| call.starts_with("7 ~ n1")).expect("a nomination");
    assert_eq!(lab.nomination(7), Some("n1"));
    patch.clone()
}

fn lab() -> SchedulerLab {
    SchedulerLab::new(SchedulerSettings::default(), Vec::new(), &[("n1", "4")])
}

/// The watch breaks before it tells of our nomination, somebody clears it, and the list that follows
/// names no node, as the last event did.
#[test]
fn relist_without_our_nominated_node_name_clears_the_nominator() {
    let mut lab = lab();
    let patch = preemptor(&mut lab);
    let version = lab.take_patch(&patch);
    lab.nominated_at(7, None, version + 1);
    assert_eq!(lab.nomination(7), None);
}

#[test]
fn pod_event_older_than_our_patch_does_not_change_the_nominator() {
    let mut lab = lab();
    let patch = preemptor(&mut lab);
    lab.nominated_at(7, None, 3);
    lab.answer_patch(&patch, 6);
    for (older, node) in [(4, None), (5, Some("n2"))] {
        lab.nominated_at(7, node, older);
        assert_eq!(lab.nomination(7), Some("n1"), "version {older}");
    }
    lab.nominated_at(7, Some("n1"), 6);
    assert_eq!(lab.nomination(7), Some("n1"));
    lab.nominated_at(7, None, 7);
    assert_eq!(lab.nomination(7), None);
}

/// The same as a relist without our nomination, but the list comes before the answer to the patch.
#[test]
fn patch_answer_that_a_newer_list_has_overtaken_clears_the_nominator() {
    let mut lab = lab();
    let patch = preemptor(&mut lab);
    lab.nominated_at(7, None, 7);
    assert_eq!(lab.nomination(7), Some("n1"), "the list may be older than our write");
    lab.answer_patch(&patch, 6);
    assert_eq!(lab.nomination(7), None);
}

/// What our patch is to write counts until the answer says whether others have written since. The event may
/// be that of our own write before it.
#[test]
fn pod_event_before_the_answer_to_our_patch_does_not_change_the_nominator() {
    for (version, after_answer) in [(3, "n1"), (7, "n2")] {
        let mut lab = lab();
        let patch = preemptor(&mut lab);
        lab.nominated_at(7, Some("n2"), version);
        assert_eq!(lab.nomination(7), Some("n1"), "version {version}");
        lab.answer_patch(&patch, 6);
        assert_eq!(lab.nomination(7), Some(after_answer), "version {version}");
    }
}

/// Calls are not queued: a condition whose patch failed would be written again after the binding.
#[test]
fn failed_status_patch_is_not_made_again_after_the_binding() {
    let mut lab = lab();
    lab.pod(7, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.scheduler.on_bind_failed(PodUid(7), lab.now_ns);
    assert_eq!(lab.calls(), ["7: the API refused the binding"]);
    lab.answer("7: the API refused the binding", Err(CallFailure::Transient));
    lab.activate(7);
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.pass(SECOND_NS);
    assert_eq!(lab.calls(), [""; 0]);
    // Should the binding fail as well, it is said then.
    lab.answer("7 -> n1", Err(CallFailure::Other));
    assert_eq!(lab.calls(), ["7: the API refused the binding: Other"]);
}

/// kubernetes#130429: upstream fills the room that another scheduler has made for its own pod.
#[test]
fn nominated_pods_of_another_scheduler_reserve() {
    for (known_gaps, expected) in [(KnownGaps::Mended, None), (KnownGaps::Upstream, Some("8 -> n1"))] {
        let settings = SchedulerSettings { known_gaps, ..SchedulerSettings::default() };
        let mut lab = SchedulerLab::new(settings, Vec::new(), &[("n1", "4")]);
        lab.pod(7, pod().cpu("4").priority(5).scheduler("other"));
        lab.nominated(7, Some("n1"));
        lab.pod(8, pod().cpu("1"));
        let calls = lab.run();
        assert_eq!(calls.iter().find(|call| call.contains("->")).map(String::as_str), expected);
        if expected.is_none() {
            lab.nominated(7, None);
            lab.pass(2 * SECOND_NS);
            assert_eq!(lab.run(), ["8 -> n1"], "it is woken when the nomination goes");
        }
    }
}

/// Both preempt on one node before either hears of the other: neither may wait for the other for ever.
#[test]
fn nominated_pod_of_another_scheduler_reserves_nothing_against_equal_priority() {
    let mut lab = lab();
    lab.pod(6, pod().cpu("4").priority(5).scheduler("other"));
    lab.nominated(6, Some("n1"));
    lab.pod(7, pod().cpu("4").priority(5));
    assert_eq!(lab.run(), ["7 -> n1"]);
}

/// What a pod's status says is for its own scheduler to clear.
#[test]
fn preemption_does_not_clear_nominated_node_names_of_another_scheduler() {
    let mut lab = lab();
    lab.placed(1, pod().cpu("4"), "n1");
    lab.pod(6, pod().cpu("4").priority(1).scheduler("other"));
    lab.nominated(6, Some("n1"));
    lab.pod(7, pod().cpu("4").priority(5));
    let calls = lab.run();
    assert!(calls.iter().any(|call| call.starts_with("7 ~ n1")), "{calls:?}");
    assert!(calls.iter().all(|call| !call.starts_with('6')), "{calls:?}");
    assert_eq!(lab.nomination(6), Some("n1"));
}

#[test]
fn nominator_follows_an_update_of_the_nominated_pod() {
    let mut lab = lab();
    let gated = |cpu| pod().cpu(cpu).priority(5).gated("wait");
    lab.pod(7, gated("1"));
    lab.nominated(7, Some("n1"));
    lab.pod(7, gated("4"));
    lab.pod(8, pod().cpu("1").priority(5));
    let calls = lab.run();
    assert!(calls[0].starts_with("8: 0/1 nodes are available: 1 Insufficient cpu."), "{calls:?}");
}
