//! Victims that are on their way to a node themselves. Upstream: `TestPreemptionRespectsWaitingPod`,
//! `TestPreemptionRespectsBindingPod`, `TestPreemptWithPermitPlugin`.

use super::every_way;
use crate::scenarios::manifest::{Manifest, node, pod};
use crate::scenarios::plugin::{Scripted, WHO};
use crate::scenarios::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::points::Permit;

fn asks(name: &str, cpu: &str, priority: i32) -> Manifest {
    pod(name).label(WHO, name).asks("cpu", cpu).priority(priority)
}

/// Holds the pod called `low` back at Permit, on the big node only if that is all there is.
fn holds_low() -> Scripted {
    Scripted::new("Holds", &[ExtensionPoint::Permit, ExtensionPoint::Reserve]).with(|script| {
        script.permit = Box::new(|handle, pod| {
            let is_low = pod.class.input.labels.get(WHO).is_some_and(|who| who == "low");
            let is_alone = handle.world.nodes().node_count() == 1;
            if is_low && is_alone { Permit::Wait { timeout_ns: u64::MAX } } else { Permit::Approve }
        });
    })
}

#[test]
fn victim_waiting_on_permit_is_rejected_without_deletion_and_rescheduled() {
    let plugin = holds_low();
    every_way(&Setup::default().plugin(&plugin), |lab| {
        lab.create_all([node("big").has("cpu", "2"), asks("low", "1", 100)]);
        lab.run();
        assert_eq!(lab.scheduler().binding_cycles().waiting_pods().len(), 1);
        lab.create(node("small").has("cpu", "1"));
        lab.create(asks("high", "1500m", 300));
        lab.run_for(20);
        assert_eq!(lab.node_of("high").as_deref(), Some("big"));
        assert_eq!(lab.node_of("low").as_deref(), Some("small"));
        assert!(!lab.take_calls().contains(&"delete low".to_owned()));
        assert!(plugin.take_log().contains(&"unreserve low".to_owned()));
        lab.assert_clean();
    });
}

#[test]
fn waiting_pod_without_preemptor_keeps_waiting_on_permit() {
    let plugin = holds_low();
    every_way(&Setup::default().plugin(&plugin), |lab| {
        lab.create_all([node("big").has("cpu", "2"), asks("low", "1", 100)]);
        lab.run();
        // It fits beside the waiting one.
        lab.create(asks("high", "1", 300));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("big"));
        assert_eq!(lab.scheduler().binding_cycles().waiting_pods().len(), 1, "the lower pod still waits");
    });
}
