//! What holds a pod back before the queue, told in its status: KEP-5501.

use super::calls::Fate;
use super::lab::Lab;
use super::manifest::{node, pod, storage_class};
use super::plugin::{Scripted, on_new_class};
use super::setup::Setup;
use schedlab_core::binding::CallFailure;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::scheduler::Standing;

const GATE: &str = "SchedulerPreEnqueuePodStatus";
const REASON: &str = "NotReadyForScheduling";

/// A door that is closed, tells why or not, and is asked again for every new storage class.
fn door(says: Option<&'static str>) -> Scripted {
    Scripted::new("Door", &[ExtensionPoint::PreEnqueue]).with(|script| {
        script.closed = Some("closed");
        script.says = says;
        script.events = vec![on_new_class()];
    })
}

/// One pod before the door.
fn before(door: &Scripted, is_on: bool) -> Lab {
    let setup = Setup::default().gate("SchedulerAsyncAPICalls", true).gate(GATE, is_on).plugin(door);
    let mut lab = setup.start();
    lab.create_all([node("n").has("cpu", "1"), pod("p").asks("cpu", "1")]);
    lab
}

/// The door is asked again.
fn knock(lab: &mut Lab, class: &str) {
    lab.create(storage_class(class));
    lab.run();
}

#[test]
fn pre_enqueue_rejection_is_written_to_pod_condition() {
    let mut lab = before(&door(Some("waiting for the claim")), true);
    lab.run();
    assert_eq!(lab.standing("p"), Standing::Gated);
    let condition = lab.scheduled_condition("p").expect("it was written");
    assert_eq!(condition.status, "False");
    assert_eq!((lab.reason("p").as_str(), lab.message("p").as_str()), (REASON, "waiting for the claim"));
    assert_eq!(lab.take_calls(), ["patch p NotReadyForScheduling"]);
}

#[test]
fn pre_enqueue_rejection_is_not_written_without_feature_gate() {
    let mut lab = before(&door(Some("waiting for the claim")), false);
    lab.run();
    assert_eq!(lab.standing("p"), Standing::Gated);
    assert_eq!(lab.take_calls(), [""; 0]);
    assert_ne!(lab.reason("p"), REASON);
}

#[test]
fn equal_pre_enqueue_message_is_written_once_and_a_new_one_again() {
    let door = door(Some("one"));
    let mut lab = before(&door, true);
    lab.run();
    lab.take_calls();
    knock(&mut lab, "a");
    assert_eq!((door.count("pre-enqueue"), lab.take_calls().len()), (2, 0), "asked again, nothing new");
    door.set(|script| script.says = Some("two"));
    knock(&mut lab, "b");
    assert_eq!(lab.take_calls(), ["patch p NotReadyForScheduling"]);
    assert_eq!(lab.message("p"), "two");
}

#[test]
fn pre_enqueue_rejection_without_message_writes_no_status() {
    for says in [None, Some("")] {
        let mut lab = before(&door(says), true);
        lab.run();
        assert_eq!(lab.standing("p"), Standing::Gated);
        assert_eq!(lab.take_calls(), [""; 0], "{says:?}");
    }
}

#[test]
fn passing_pre_enqueue_replaces_its_condition() {
    let door = door(Some("waiting"));
    let mut lab = before(&door, true);
    // A pod of its own keeps the node, so that passing is not the same as being bound.
    lab.create(pod("here").asks("cpu", "1").on("n"));
    lab.run();
    assert_eq!(lab.reason("p"), REASON);
    door.set(|script| script.closed = None);
    knock(&mut lab, "a");
    assert_eq!(lab.reason("p"), "Unschedulable", "what the attempt says stands now");
    lab.delete_pod("here");
    lab.run_for(30);
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
}

#[test]
fn scheduling_gates_keep_reason_scheduling_gated() {
    let setup = Setup::default().gate("SchedulerAsyncAPICalls", true).gate(GATE, true);
    let mut lab = setup.start();
    lab.create_all([node("n"), pod("p").gate("foo")]);
    lab.run();
    assert_eq!(lab.reason("p"), "SchedulingGated");
    assert_eq!(lab.take_calls(), [""; 0]);
}

#[test]
fn failed_status_patch_does_not_block_scheduling() {
    let door = door(Some("waiting"));
    let mut lab = before(&door, true);
    lab.calls().always("patch", Fate::Refuse(CallFailure::Other));
    lab.run();
    assert_eq!(lab.standing("p"), Standing::Gated);
    door.set(|script| script.closed = None);
    knock(&mut lab, "a");
    lab.run_for(30);
    assert_eq!(lab.node_of("p").as_deref(), Some("n"));
    lab.assert_clean();
}

#[test]
fn pre_enqueue_rejection_followed_by_pass_before_dispatch_makes_no_call() {
    let door = door(Some("waiting"));
    let setup = Setup::default().gate("SchedulerAsyncAPICalls", true).gate(GATE, true).plugin(&door);
    // One call at a time: the second pod's waits behind the first pod's.
    let mut lab = setup.settings(|settings| settings.parallel_calls_max = 1).start();
    lab.calls().once("patch first", Fate::Hold);
    lab.create_all([
        node("n").has("cpu", "2"),
        pod("first").asks("cpu", "1"),
        pod("second").asks("cpu", "1"),
    ]);
    lab.run();
    assert_eq!(lab.take_calls(), ["patch first NotReadyForScheduling"]);
    door.set(|script| script.closed = None);
    knock(&mut lab, "a");
    lab.release("patch first");
    lab.run();
    let calls = lab.take_calls();
    assert!(!calls.iter().any(|call| call.starts_with("patch second")), "{calls:?}");
    for name in ["first", "second"] {
        assert_eq!(lab.node_of(name).as_deref(), Some("n"), "{name}");
    }
    lab.assert_clean();
}

#[test]
fn pods_passing_pre_enqueue_make_no_status_patch() {
    let setup = Setup::default().gate("SchedulerAsyncAPICalls", true).gate(GATE, true);
    let mut lab = setup.start();
    lab.create(node("n").has("cpu", "8"));
    lab.create_all((0..8).map(|at| pod(&format!("p{at}")).asks("cpu", "1")));
    lab.run();
    assert_eq!(lab.take_calls().len(), 8, "one binding each");
}
