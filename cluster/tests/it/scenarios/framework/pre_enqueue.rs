//! PreEnqueue and QueueSort.

use super::{try_pod, with_plugins};
use crate::scenarios::manifest::{node, pod, storage_class};
use crate::scenarios::plugin::{Scripted, on_new_class};
use crate::scenarios::setup::Setup;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::scheduler::Standing;

#[test]
fn pre_enqueue_rejection_keeps_pod_out_of_active_queue() {
    for closed in [Some("not open"), None] {
        let door = Scripted::new("Door", &[ExtensionPoint::PreEnqueue]).with(|script| script.closed = closed);
        let mut lab = with_plugins(&[&door]);
        try_pod(&mut lab, "p");
        assert!(door.count("pre-enqueue") > 0);
        assert_eq!(lab.node_of("p").is_some(), closed.is_none());
        assert_eq!(lab.attempts(), usize::from(closed.is_none()));
    }
}

#[test]
fn pre_enqueue_runs_again_on_registered_event_only() {
    for waits in [true, false] {
        let door = Scripted::new("Door", &[ExtensionPoint::PreEnqueue]).with(|script| {
            script.closed = Some("not open");
            script.events = if waits { vec![on_new_class()] } else { Vec::new() };
        });
        let mut lab = with_plugins(&[&door]);
        try_pod(&mut lab, "p");
        assert_eq!((door.count("pre-enqueue"), lab.standing("p")), (1, Standing::Gated));
        lab.create_all([node("n3"), pod("bound").on("n1")]);
        lab.run();
        assert_eq!(door.count("pre-enqueue"), 1, "nobody told it");
        door.set(|script| script.closed = None);
        lab.create(storage_class("fast"));
        lab.run();
        assert_eq!(door.count("pre-enqueue"), if waits { 2 } else { 1 });
        assert_eq!(lab.node_of("p").is_some(), waits);
    }
}

#[test]
fn queue_sort_plugin_orders_active_queue() {
    let sort = Scripted::new("YoungestFirst", &[ExtensionPoint::QueueSort]);
    let mut lab = Setup::default().without("PrioritySort").plugin(&sort).start();
    lab.create(node("n"));
    for name in ["a", "b", "c"] {
        lab.create(pod(name));
        lab.observe();
        lab.wait_silently(1);
    }
    lab.run();
    assert_eq!(lab.take_calls(), ["bind c n", "bind b n", "bind a n"]);
}
