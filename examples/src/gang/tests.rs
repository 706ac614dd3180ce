//! The plugin against the trait, with a table of waiting pods kept the way a loop keeps it.

use std::sync::Arc;

use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::points::{PendingPermit, Request, WaitingPod};
use schedlab_core::ids::ClassId;
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, Scheduler};
use schedlab_testkit::input::{PodParts, pod};

use super::*;

const NODE: NodeId = NodeId(0);
const TIMEOUT_NS: u64 = 1_000;

/// Pods in a world, the plugin, and who waits.
struct Lab {
    scheduler: Scheduler,
    gang: Gang,
    waiting: Vec<WaitingPod>,
}

impl Lab {
    fn new() -> Lab {
        Lab {
            scheduler: Scheduler::new(EngineSettings::default(), 0),
            gang: Gang::new(TIMEOUT_NS),
            waiting: Vec::new(),
        }
    }

    fn pod(&mut self, uid: u64, gang: Option<(&str, &str)>) -> ClassId {
        self.pod_in("default", uid, gang)
    }

    fn pod_in(&mut self, namespace: &str, uid: u64, gang: Option<(&str, &str)>) -> ClassId {
        let mut spec = pod().namespaced(namespace);
        if let Some((name, size)) = gang {
            spec = spec.label(GANG_LABEL, name).label(SIZE_LABEL, size);
        }
        let class = self.scheduler.compile(&Arc::new(spec));
        let update = PodUpdate { uid: PodUid(uid), class, created_ns: uid, ..PodUpdate::default() };
        self.scheduler.on_event(ObjectEvent::pod(update), uid);
        class
    }

    /// Calls the plugin with a handle and returns its answer and its requests as text.
    fn call<R>(
        &self,
        uid: u64,
        call: impl FnOnce(&Gang, &mut Handle<'_>, PodRef<'_>) -> R,
    ) -> (R, Vec<String>) {
        let world = self.scheduler.world();
        let id = world.pods().find(PodUid(uid)).expect("the pod exists");
        let mut requests = Vec::new();
        let mut handle = Handle::new(world, 0, &self.waiting, &mut requests);
        let answer = call(&self.gang, &mut handle, PodRef::of(world, id));
        let text = |request: &Request| match request {
            Request::Allow { pod, plugin } => format!("{plugin} allows {}", pod.0),
            Request::Reject { pod, message, .. } => format!("reject {}: {message}", pod.0),
            other => format!("{other:?}"),
        };
        (answer, requests.iter().map(text).collect())
    }

    /// Reserve and Permit, as after a node was chosen; a pod that waits joins the table.
    fn place(&mut self, uid: u64) -> (Permit, Vec<String>) {
        let (reserved, _) = self.call(uid, |gang, handle, pod| gang.reserve(handle, pod, NODE));
        assert_eq!(reserved, Ok(()));
        let (permit, requests) = self.call(uid, |gang, handle, pod| gang.permit(handle, pod, NODE));
        if let Permit::Wait { timeout_ns } = permit {
            let world = self.scheduler.world();
            let id = world.pods().find(PodUid(uid)).expect("the pod exists");
            self.waiting.push(WaitingPod {
                uid: PodUid(uid),
                id,
                class_id: world.pods().get(id).class,
                node: NODE,
                pending: vec![PendingPermit { plugin: NAME, deadline_ns: timeout_ns }],
            });
        }
        (permit, requests)
    }

    fn leave(&mut self, uid: u64) -> Vec<String> {
        self.waiting.retain(|pod| pod.uid != PodUid(uid));
        self.call(uid, |gang, handle, pod| gang.unreserve(handle, pod, NODE)).1
    }

    fn bind(&mut self, uid: u64) {
        self.waiting.retain(|pod| pod.uid != PodUid(uid));
        self.call(uid, |gang, handle, pod| gang.post_bind(handle, pod, NODE));
    }
}

const WAIT: Permit = Permit::Wait { timeout_ns: TIMEOUT_NS };

#[test]
fn pod_without_gang_is_permitted() {
    let mut lab = Lab::new();
    lab.pod(1, None);
    assert_eq!(lab.place(1), (Permit::Approve, vec![]));
}

#[test]
fn last_member_allows_all_waiting_members() {
    let mut lab = Lab::new();
    for uid in 1..=3 {
        lab.pod(uid, Some(("g", "3")));
    }
    assert_eq!(lab.place(1), (WAIT, vec![]));
    assert_eq!(lab.place(2), (WAIT, vec![]));
    let allowed = vec!["Gang allows 1".to_owned(), "Gang allows 2".to_owned()];
    assert_eq!(lab.place(3), (Permit::Approve, allowed));
}

#[test]
fn members_of_other_gangs_and_namespaces_do_not_count() {
    let mut lab = Lab::new();
    lab.pod(1, Some(("g", "2")));
    lab.pod(2, Some(("h", "2")));
    lab.pod_in("elsewhere", 3, Some(("g", "2")));
    for uid in 1..=3 {
        assert_eq!(lab.place(uid), (WAIT, vec![]), "pod {uid}");
    }
}

#[test]
fn pod_waiting_on_another_permit_plugin_does_not_count() {
    let mut lab = Lab::new();
    lab.pod(1, Some(("g", "2")));
    lab.pod(2, Some(("g", "2")));
    lab.place(1);
    lab.waiting[0].pending[0].plugin = "Other";
    assert_eq!(lab.place(2), (Permit::Approve, vec![]));
}

#[test]
fn unreserved_member_rejects_waiting_members_once() {
    let mut lab = Lab::new();
    for uid in 1..=3 {
        lab.pod(uid, Some(("g", "4")));
        lab.place(uid);
    }
    let why = "another pod of gang g lost its node";
    assert_eq!(lab.leave(2), [format!("reject 1: {why}"), format!("reject 3: {why}")]);
    assert!(lab.leave(2).is_empty(), "a second Unreserve changes nothing");
    assert_eq!(lab.leave(1), [format!("reject 3: {why}")]);
    assert!(lab.leave(3).is_empty());
    assert!(lab.gang.groups().is_empty(), "nothing is left of a group that nobody is in");
}

#[test]
fn bound_members_count_for_later_members() {
    let mut lab = Lab::new();
    lab.pod(1, Some(("g", "2")));
    lab.pod(2, Some(("g", "2")));
    lab.place(1);
    lab.place(2);
    lab.bind(1);
    lab.bind(2);
    lab.pod(3, Some(("g", "2")));
    assert_eq!(lab.place(3), (Permit::Approve, vec![]));
}

#[test]
fn deleted_bound_members_do_not_count() {
    let mut lab = Lab::new();
    for uid in 1..=2 {
        lab.pod(uid, Some(("g", "2")));
        lab.place(uid);
    }
    for uid in 1..=2 {
        lab.bind(uid);
        lab.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(uid)), 9);
    }
    lab.pod(3, Some(("g", "2")));
    assert_eq!(lab.place(3), (WAIT, vec![]));
}

#[test]
fn malformed_gang_size_is_denied_with_the_label() {
    let mut lab = Lab::new();
    for (uid, size) in [(1, "many"), (2, "0"), (3, "")] {
        lab.pod(uid, Some(("g", size)));
        let (Permit::Deny(rejection), _) = lab.place(uid) else { panic!("size {size:?} is accepted") };
        let text = rejection.reason.text(&lab.scheduler.world().vocabulary).into_owned();
        assert_eq!(
            text,
            format!("label example.com/gang-size is {size:?}; write how many pods gang g needs")
        );
    }
}

#[test]
fn queueing_hint_requeues_for_members_of_the_same_gang_only() {
    let mut lab = Lab::new();
    let mine = lab.pod(1, Some(("g", "2")));
    let same = lab.pod(2, Some(("g", "2")));
    let other = lab.pod(3, Some(("h", "2")));
    let alone = lab.pod(4, None);
    assert_eq!(mine, same);
    for (class, expected) in
        [(same, QueueingHint::Queue), (other, QueueingHint::Skip), (alone, QueueingHint::Skip)]
    {
        let world = lab.scheduler.world();
        let event = ClusterEvent { resource: EventResource::UnscheduledPod, action: ActionType::ADD };
        let change =
            ObjectChange::Pod { uid: PodUid(9), node: None, old: None, new: Some(world.class(class)) };
        let (hint, _) =
            lab.call(1, |gang, handle, pod| gang.queueing_hint(handle.world, pod, event, &change));
        assert_eq!(hint, expected, "class {class:?}");
    }
}

#[test]
fn permit_timeout_is_a_plugin_argument() {
    let args = |value| PluginArgs::Other(ArgValue::Map([("timeoutSeconds".to_owned(), value)].into()));
    assert!(factory(&args(ArgValue::Integer(5)), &mut Vocabulary::default()).is_ok());
    let refused = factory(&args(ArgValue::Integer(0)), &mut Vocabulary::default());
    assert_eq!(
        refused.expect_err("0 is refused"),
        "`timeoutSeconds` is no positive integer; write such as 60"
    );
}
