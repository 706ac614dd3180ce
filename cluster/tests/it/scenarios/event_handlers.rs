//! What the watch tells. Upstream: test/integration/scheduler/eventhandler.

use super::manifest::{Manifest, node, pod};
use super::plugin::Scripted;
use super::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::points::{ActionType, EventResource, RegisteredEvent};
use schedlab_core::scheduler::Standing;

#[test]
fn node_update_changing_labels_and_taints_raises_both_events() {
    let foo = Scripted::new("Foo", &[ExtensionPoint::Filter]).with(|script| {
        script.passes = Box::new(|_| false);
        script.events = vec![RegisteredEvent::always(EventResource::Node, ActionType::UPDATE_NODE_TAINT)];
    });
    let mut lab = Setup::default().without_backoff().plugin(&foo).start();
    lab.create_all([node("n").taint_softly("key"), pod("p")]);
    lab.run();
    assert_eq!(lab.standing("p"), Standing::Unschedulable);
    foo.set(|script| script.passes = Box::new(|_| true));
    lab.update(node("n").label("foo", "bar"));
    lab.run();
    assert_eq!(lab.node_of("p").as_deref(), Some("n"), "labels and taints changed at once");
}

fn asks(name: &str, memory: &str, priority: i32) -> Manifest {
    pod(name).asks("memory", memory).priority(priority)
}

/// A nominated pod that backs off, and a lower one that does not fit beside it; something happens to
/// the nomination, and the lower one is scheduled.
fn nomination_ends(happens: impl Fn(&mut super::lab::Lab)) {
    for queues_calls in [false, true] {
        let setup = Setup::default()
            .gate("SchedulerAsyncAPICalls", queues_calls)
            .gate("SchedulerPopFromBackoffQ", false)
            .gate("NominatedNodeNameForExpectation", false)
            .settings(|settings| {
                settings.initial_backoff_ns = 60_000_000_000;
                settings.max_backoff_ns = 60_000_000_000;
            });
        let mut lab = setup.start();
        lab.create_all([node("n").has("memory", "32"), asks("low", "20", 100).lingering()]);
        lab.run();
        lab.create(asks("middle", "25", 200));
        lab.run();
        assert_eq!(lab.nominated("middle").as_deref(), Some("n"));
        lab.let_go("low");
        lab.run();
        assert_eq!(lab.standing("middle"), Standing::Backoff);
        lab.create(asks("low2", "20", 100));
        lab.run();
        assert_eq!(lab.standing("low2"), Standing::Unschedulable, "the room is held");
        happens(&mut lab);
        lab.run_for(300);
        assert_eq!(lab.node_of("low2").as_deref(), Some("n"));
    }
}

#[test]
fn higher_priority_pod_taking_nominated_node_requeues_lower_priority_pods() {
    nomination_ends(|lab| {
        lab.create(asks("high", "10", 300));
        lab.run();
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn nominated_pod_delete_requeues_lower_priority_pods() {
    nomination_ends(|lab| lab.delete_pod("middle"));
}
