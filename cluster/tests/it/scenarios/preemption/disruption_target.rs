//! Why victims go is in their status, for whoever asks later. Upstream: `TestPreemption` looks for condition
//! `DisruptionTarget` of every victim.

use super::{every_way, evicted, settle};
use crate::scenarios::manifest::{Manifest, node, pod};
use crate::scenarios::setup::Setup;
use schedlab_core::scheduler::Standing;

fn asks(name: &str, cpu: &str, priority: i32) -> Manifest {
    pod(name).asks("cpu", cpu).priority(priority)
}

#[test]
fn victim_has_disruption_target_by_preemption() {
    every_way(&Setup::default(), |lab| {
        lab.create(node("n").has("cpu", "4"));
        settle(lab, [asks("victim", "4", 1).lingering()]);
        lab.create(asks("high", "4", 100));
        lab.run();
        assert_eq!(evicted(lab, &["victim"]), ["victim"]);
        let conditions = lab.pod("victim").status.and_then(|status| status.conditions).unwrap_or_default();
        let target = conditions.iter().find(|condition| condition.type_ == "DisruptionTarget");
        let target = target.expect("the victim is told why it goes");
        assert_eq!(
            (target.status.as_str(), target.reason.as_deref()),
            ("True", Some("PreemptionByScheduler"))
        );
        let message = "default-scheduler: preempting to accommodate a higher priority pod";
        assert_eq!(target.message.as_deref(), Some(message));
    });
}

/// The preemptor could take either node, and the one with the victims that are leaving is no better: only
/// their condition tells a scheduler that was started since that room is being made.
#[test]
fn restarted_scheduler_evicts_no_more_pods_while_victims_terminate() {
    for is_async in [true, false] {
        let setup = Setup::default().without_backoff().gate("SchedulerAsyncPreemption", is_async);
        let mut lab = setup.start();
        lab.create(node("n1").has("cpu", "4"));
        settle(&mut lab, ["v1", "v2"].map(|name| asks(name, "2", 1).lingering()));
        lab.create(asks("high", "4", 100));
        lab.run();
        assert_eq!(evicted(&lab, &["v1", "v2"]), ["v1", "v2"]);
        lab.create(node("n2").has("cpu", "4"));
        lab.create(asks("other", "4", 0).on("n2"));
        lab.restart(&setup);
        lab.run();
        assert_eq!(lab.standing("high"), Standing::Unschedulable, "it waits for its victims");
        assert_eq!(evicted(&lab, &["other"]), [""; 0]);
        assert_eq!(lab.nominated("high").as_deref(), Some("n1"));
        ["v1", "v2"].into_iter().for_each(|name| lab.let_go(name));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n1"));
    }
}
