//! Situations of upstream's gangscheduling_test.go.

use std::sync::Arc;

use super::GangScheduling;
use crate::framework::plugin::PreEnqueuePlugin;
use crate::framework::points::{
    ActionType, ClusterEvent, EnqueueExtensions, EventResource, Handle, ObjectChange, Permit, PermitPlugin,
    PodRef, QueueingHint, Request,
};
use crate::ids::{NodeId, PodGroupId, PodId, PodUid};
use crate::input::pod_group::{PodGroupInput, PodGroupPolicy};
use crate::pods::PodState;
use crate::testkit::{NodeParts, PodParts, node, pod};
use crate::world::World;

/// A world with a node `n`.
struct Setup {
    world: World,
    node: NodeId,
    uids: u64,
}

impl Setup {
    fn new() -> Setup {
        let mut world = World::default();
        let node = world.upsert_node(&node("n").cpu("8"));
        world.settle();
        Setup { world, node, uids: 0 }
    }

    fn group(&mut self, name: &str, policy: PodGroupPolicy) -> PodGroupId {
        let namespace = "default".to_owned();
        let group = PodGroupInput { namespace, name: name.to_owned(), policy, ..PodGroupInput::default() };
        self.world.pod_groups_mut().upsert(&Arc::new(group));
        self.world.pod_groups().find("default", name).expect("the group was just added")
    }

    fn pod(&mut self, group: Option<PodGroupId>) -> PodId {
        self.uids += 1;
        let class = self.world.compile(&Arc::new(pod().cpu("1")));
        let id = self.world.pods_mut().insert(PodUid(self.uids), class, PodState::Pending, 0);
        if let Some(group) = group {
            self.world.pod_groups_mut().name(id, group);
            self.world.pod_groups_mut().join(id);
        }
        id
    }

    fn held(&self, pod: PodId) -> Option<String> {
        GangScheduling.pre_enqueue_pod(&self.world, PodRef::of(&self.world, pod)).map(|held| held.reason)
    }

    fn permit(&self, pod: PodId) -> (Permit, Vec<Request>) {
        let mut requests = Vec::new();
        let mut handle = Handle::new(&self.world, 0, &[], &mut requests);
        let answer = GangScheduling.permit(&mut handle, PodRef::of(&self.world, pod), self.node);
        (answer, requests)
    }

    fn hint(&self, pod: PodId, resource: EventResource, change: &ObjectChange<'_>) -> QueueingHint {
        let event = ClusterEvent { resource, action: ActionType::ADD };
        GangScheduling.queueing_hint(&self.world, PodRef::of(&self.world, pod), event, change)
    }
}

const GANG_OF_TWO: PodGroupPolicy = PodGroupPolicy::Gang { min_count: 2 };
const INCOMPLETE: &str = "waiting for minCount pods from a gang to appear in scheduling queue";

#[test]
fn gang_member_waits_before_the_queue_until_min_count_members_are_known() {
    let mut setup = Setup::new();
    let gang = setup.group("gang", GANG_OF_TWO);
    let first = setup.pod(Some(gang));
    assert_eq!(setup.held(first).as_deref(), Some(INCOMPLETE));
    let second = setup.pod(Some(gang));
    assert_eq!((setup.held(first), setup.held(second)), (None, None));
    setup.world.place(second, setup.node);
    assert_eq!(setup.held(first), None, "one that is bound counts");
}

#[test]
fn member_of_a_group_that_does_not_exist_waits_and_says_so() {
    let mut setup = Setup::new();
    let missing = setup.world.pod_groups_mut().id("default", "missing");
    let pod = setup.pod(Some(missing));
    let expected = "waiting for pods's pod group \"missing\" to appear in scheduling queue";
    assert_eq!(setup.held(pod).as_deref(), Some(expected));
}

#[test]
fn basic_group_and_plain_pod_pass_pre_enqueue_and_permit() {
    let mut setup = Setup::new();
    let basic = setup.group("basic", PodGroupPolicy::Basic);
    for group in [Some(basic), None] {
        let pod = setup.pod(group);
        assert_eq!(setup.held(pod), None);
        assert_eq!(setup.permit(pod), (Permit::Approve, vec![]));
    }
}

#[test]
fn permit_holds_a_member_until_min_count_members_are_on_nodes() {
    let mut setup = Setup::new();
    let gang = setup.group("gang", GANG_OF_TWO);
    let (first, second) = (setup.pod(Some(gang)), setup.pod(Some(gang)));
    setup.world.place(first, setup.node);
    let (answer, requests) = setup.permit(first);
    assert!(matches!(answer, Permit::Wait { .. }));
    assert_eq!(requests, [Request::Activate { pod: setup.world.pods().get(second).uid }]);
    setup.world.place(second, setup.node);
    assert_eq!(setup.permit(second).0, Permit::Approve);
}

#[test]
fn events_of_its_own_group_bring_a_member_back() {
    let mut setup = Setup::new();
    let gang = setup.group("gang", GANG_OF_TWO);
    let waiting = setup.pod(Some(gang));
    let (plain, member) = (setup.pod(None), setup.pod(Some(gang)));
    let other = setup.group("other", GANG_OF_TWO);
    let stranger = setup.pod(Some(other));
    let added = |setup: &Setup, pod: PodId| {
        let uid = setup.world.pods().get(pod).uid;
        let change = ObjectChange::Pod { uid, node: None, old: None, new: None };
        setup.hint(waiting, EventResource::UnscheduledPod, &change)
    };
    assert_eq!(added(&setup, member), QueueingHint::Queue);
    assert_eq!(added(&setup, plain), QueueingHint::Skip);
    assert_eq!(added(&setup, stranger), QueueingHint::Skip);
    let named = |setup: &Setup, name: &str| {
        setup.hint(waiting, EventResource::PodGroup, &ObjectChange::Object { namespace: "default", name })
    };
    assert_eq!(named(&setup, "gang"), QueueingHint::Queue);
    assert_eq!(named(&setup, "other"), QueueingHint::Skip);
}
