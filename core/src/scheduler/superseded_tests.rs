//! Calls that something else has made needless.

use super::*;
use crate::binding::CallFailure;
use crate::testkit::lab::SECOND_NS;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

/// Calls are queued and go out one at a time; KEP-5278 is off.
fn lab(nodes: &[(&str, &str)]) -> SchedulerLab {
    let gates = FeatureGates {
        scheduler_async_api_calls: true,
        nominated_node_name_for_expectation: false,
        ..FeatureGates::default()
    };
    let settings = SchedulerSettings {
        gates,
        parallel_calls_max: 1,
        plain_bindings: PlainBindings::Queued,
        ..SchedulerSettings::default()
    };
    SchedulerLab::new(settings, Vec::new(), nodes)
}

#[test]
fn queued_binding_is_dropped_when_another_scheduler_bound_the_pod() {
    let mut lab = lab(&[("n1", "4")]);
    lab.pod(1, pod().cpu("1"));
    lab.pod(2, pod().cpu("1"));
    assert_eq!(lab.run(), ["1 -> n1"], "the second waits in line");
    lab.placed(2, pod().cpu("1"), "n1");
    lab.answer("1 -> n1", Ok(()));
    lab.placed(1, pod().cpu("1"), "n1");
    assert_eq!(lab.calls(), [""; 0]);
    assert_eq!((lab.standing(1), lab.standing(2)), (Some(Standing::Bound), Some(Standing::Bound)));
    lab.check_clean();
}

#[test]
fn failed_condition_patch_superseded_by_another_is_not_retried() {
    let mut lab = lab(&[("n1", "4")]);
    lab.pod(7, pod().cpu("8"));
    let first = lab.run();
    assert!(first[0].starts_with("7: 0/1 nodes are available"), "{first:?}");
    lab.node(&node("n2").cpu("2"));
    lab.activate(7);
    assert_eq!(lab.run(), [""; 0], "it waits for the first to be answered");
    lab.answer(&first[0], Err(CallFailure::Other));
    let second = lab.calls();
    assert!(second[0].starts_with("7: 0/2 nodes are available"), "{second:?}");
    lab.answer(&second[0], Ok(()));
    lab.activate(7);
    assert_eq!(lab.run(), [""; 0], "the status says so");
}

/// A victim on its way to the node fails to get there, and is told to leave by somebody else, while
/// another victim is being asked to go: neither its leaving nor its end frees any room.
#[test]
fn victim_whose_binding_failed_does_not_strand_the_preemptor() {
    let mut lab = SchedulerLab::new(SchedulerSettings::default(), Vec::new(), &[("n1", "4")]);
    lab.placed(1, pod().cpu("2").priority(1), "n1");
    lab.pod(2, pod().cpu("2"));
    assert_eq!(lab.run(), ["2 -> n1"]);
    lab.pod(9, pod().cpu("4").priority(100));
    assert_eq!(lab.run()[0], "1 x", "the last victim waits for the answer");
    lab.scheduler.on_bind_failed(PodUid(2), lab.now_ns);
    lab.terminating(2, pod().cpu("2"), None);
    lab.gone(1);
    assert_eq!(lab.standing(9), Some(Standing::Gated));
    lab.answer("1 x", Ok(()));
    assert!(lab.calls().contains(&"2 x".to_owned()));
    lab.answer("2 x", Ok(()));
    assert_eq!(lab.run(), ["9 -> n1"]);
}

/// A failed binding takes the nomination back and says why; the next binding takes the place of that
/// patch, and fails as well.
#[test]
fn status_patch_superseded_by_binding_is_written_when_binding_fails() {
    let mut lab = lab(&[("n1", "4")]);
    lab.pod(7, pod().cpu("1"));
    lab.nominated(7, Some("n1"));
    lab.pod(8, pod().cpu("1"));
    assert_eq!(lab.run(), ["7 -> n1"]);
    lab.answer("7 -> n1", Err(CallFailure::Other));
    assert_eq!(lab.calls(), ["8 -> n1"], "the patch of pod 7 waits in line");
    lab.pass(10 * SECOND_NS);
    assert_eq!(lab.run(), [""; 0], "and so does its binding, in its place");
    lab.answer("8 -> n1", Ok(()));
    assert_eq!(lab.calls(), ["7 -> n1"]);
    lab.answer("7 -> n1", Err(CallFailure::Other));
    assert_eq!(lab.calls(), ["7 ~: the API refused the binding: Other"]);
}
