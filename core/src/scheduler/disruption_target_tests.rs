//! What victims are told before they are deleted, and who reads it.
//!
//! Upstream: framework/preemption/executor_test.go, util_test.go `TestPodTerminatingByPreemption`.

use super::*;
use crate::binding::CallFailure;
use crate::testkit::{PodParts, SchedulerLab, pod};

/// A node of four CPUs with a victim of two on it; the test answers what the victim is told. With and
/// without `SchedulerAsyncPreemption`.
fn labs() -> [SchedulerLab; 2] {
    [false, true].map(|scheduler_async_preemption| {
        let gates = FeatureGates { scheduler_async_preemption, ..FeatureGates::default() };
        let settings = SchedulerSettings {
            gates,
            initial_backoff_ns: 0,
            max_backoff_ns: 0,
            ..SchedulerSettings::default()
        };
        let mut lab = SchedulerLab::new(settings, Vec::new(), &[("n1", "4")]);
        lab.holds_disruption_targets = true;
        lab.placed(1, pod().cpu("2").priority(1), "n1");
        lab
    })
}

/// The calls that are about victims.
fn of_victims(calls: Vec<String>) -> Vec<String> {
    calls.into_iter().filter(|call| call.ends_with(" !") || call.ends_with(" x")).collect()
}

#[test]
fn victim_is_deleted_after_its_disruption_target_is_written() {
    for mut lab in labs() {
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(of_victims(lab.run()), ["1 !"]);
        let told = lab.open.iter().find_map(|open| match &open.call {
            ApiCall::AddDisruptionTarget { message, .. } => Some(message.to_string()),
            _ => None,
        });
        let message = "default-scheduler: preempting to accommodate a higher priority pod";
        assert_eq!(told.as_deref(), Some(message));
        lab.answer("1 !", Ok(()));
        assert_eq!(of_victims(lab.run()), ["1 x"]);
        lab.answer("1 x", Ok(()));
        lab.gone(1);
        assert!(lab.run().contains(&"9 -> n1".to_owned()));
    }
}

#[test]
fn failed_disruption_target_deletes_nobody_and_preemption_is_tried_again() {
    for mut lab in labs() {
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(of_victims(lab.run()), ["1 !"]);
        lab.answer("1 !", Err(CallFailure::Other));
        assert_eq!(of_victims(lab.run()), ["1 !"], "told again, not deleted");
    }
}

#[test]
fn disruption_target_of_a_victim_that_is_gone_is_followed_by_no_deletion() {
    for mut lab in labs() {
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(of_victims(lab.run()), ["1 !"]);
        lab.gone(1);
        lab.answer("1 !", Err(CallFailure::NotFound));
        let calls = lab.run();
        assert!(calls.contains(&"9 -> n1".to_owned()), "{calls:?}");
        assert_eq!(of_victims(calls), [""; 0]);
    }
}

/// A passing failure is tried again, also when the watch says that the victim is gone: the preemptor waits
/// for the answer.
#[test]
fn disruption_target_of_a_victim_that_is_gone_is_still_answered() {
    for mut lab in labs() {
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(of_victims(lab.run()), ["1 !"]);
        let id = lab.open.iter().find(|open| matches!(open.call, ApiCall::AddDisruptionTarget { .. }));
        let id = id.expect("an open call").id;
        lab.answer("1 !", Err(CallFailure::Transient));
        lab.gone(1);
        lab.later();
        assert_eq!(lab.calls().into_iter().filter(|call| call == "1 !").count(), 1, "made again");
        assert_eq!(lab.open.iter().filter(|open| open.id == id).count(), 1);
        lab.answer("1 !", Err(CallFailure::NotFound));
        lab.run();
        lab.answer_patches();
        assert!(!lab.scheduler.is_pod_running_preemption(PodUid(9)));
    }
}

#[test]
fn victim_that_has_its_disruption_target_is_not_told_again() {
    for mut lab in labs() {
        let class = lab.scheduler.compile(&Arc::new(pod().cpu("2").priority(1)));
        let node = Some(lab.scheduler.node_id("n1"));
        let told = PodUpdate { uid: PodUid(1), class, node, is_preempted: true, ..PodUpdate::default() };
        lab.event(ObjectEvent::pod(told));
        lab.pod(9, pod().cpu("4").priority(100));
        assert_eq!(of_victims(lab.run()), ["1 x"]);
    }
}

/// A scheduler that was restarted has asked nobody; the condition of the pod that leaves says it.
#[test]
fn restarted_scheduler_waits_for_victims_with_a_disruption_target() {
    for (is_victim, expected) in [(true, Vec::new()), (false, vec!["2 !".to_owned()])] {
        for mut lab in labs() {
            lab.placed(2, pod().cpu("2").priority(1), "n1");
            let spec = pod().cpu("2").priority(1);
            match is_victim {
                true => lab.terminating(1, spec, Some("n1")),
                false => lab.leaving(1, spec, "n1"),
            }
            lab.pod(9, pod().cpu("2").priority(100));
            lab.nominated(9, Some("n1"));
            assert_eq!(of_victims(lab.run()), expected, "leaves as a victim: {is_victim}");
        }
    }
}
