//! Pod groups, told to both sides.

use std::sync::Arc;

use super::{Placed, Twin, waiting_name};
use crate::fake::{self, Feature, Rng};
use crate::ids::{PodGroupId, PodId, PodUid};
use crate::input::pod_group::{DisruptionMode, PodGroupInput, PodGroupPolicy};
use crate::input::{PodInput, PodMeta};
use crate::naive::NaivePod;
use crate::pods::PodState;

/// A pending member of a group, as both sides know it.
#[derive(Clone, Debug)]
pub(crate) struct PendingMember {
    pub(crate) id: PodId,
    pub(crate) pod: NaivePod,
}

impl Twin {
    /// A random cluster in which pods are members of groups. No two pods started at the same time, so that no
    /// two victims are equally important; no node decides about claims.
    pub(crate) fn random_with_groups(rng: &mut Rng, node_count: usize) -> Twin {
        let mut twin = Twin::default();
        for index in 0..node_count {
            twin.upsert_node(fake::node(rng, index));
        }
        let namespaces = ["default", "a"];
        for at in 0..rng.range(1..=4) {
            let (namespace, name) = ((*rng.pick(&namespaces)).to_owned(), format!("placed-{at}"));
            let group = random_group(rng, &namespace, &name, 3);
            twin.put_pod_group(group);
        }
        for index in 0..node_count {
            let pods_max = if rng.uses(Feature::OvercommittedNodes) { 8 } else { 3 };
            for _ in 0..rng.range(0..=pods_max) {
                let mut pod = fake::bound_pod(rng);
                let group = (rng.chance(60) && !twin.cluster.pod_groups.is_empty())
                    .then(|| rng.pick(&twin.cluster.pod_groups).clone());
                if let Some(group) = &group {
                    pod.namespace.clone_from(&group.namespace);
                }
                if twin.node_mut(&format!("n{index}")).is_some_and(|node| !node.pods.is_empty()) {
                    // Of two pods that hold one port the first that leaves frees it; no cluster has two.
                    let containers = pod.containers.iter_mut().chain(&mut pod.init_containers);
                    containers.for_each(|container| container.host_ports.clear());
                }
                let name = group.map(|group| group.name);
                twin.place_in_group(pod, &format!("n{index}"), name);
            }
        }
        twin.put_random_objects(rng);
        twin.settle();
        twin
    }

    pub(crate) fn put_pod_group(&mut self, group: PodGroupInput) {
        self.world.pod_groups_mut().upsert(&Arc::new(group.clone()));
        self.cluster
            .pod_groups
            .retain(|known| (&known.namespace, &known.name) != (&group.namespace, &group.name));
        self.cluster.pod_groups.push(group);
    }

    pub(crate) fn pod_group_id(&self, group: &PodGroupInput) -> PodGroupId {
        self.world.pod_groups().find(&group.namespace, &group.name).expect("the group is known")
    }

    /// A new pod of ours, in its group if it names one.
    fn insert_member(&mut self, pod: &NaivePod, state: PodState) -> PodId {
        let class = self.world.compile(&Arc::new(pod.input.clone()));
        self.uids += 1;
        let id = self.world.pods_mut().insert(PodUid(self.uids), class, state, 0);
        if let Some(group) = &pod.meta.pod_group {
            let group = self.world.pod_groups_mut().id(&pod.namespace, group);
            self.world.pod_groups_mut().name(id, group);
            self.world.pod_groups_mut().join(id);
        }
        id
    }

    fn place_in_group(&mut self, input: PodInput, node: &str, group: Option<String>) {
        let number = self.uids + 1;
        let meta = PodMeta {
            name: format!("p{number}"),
            pod_group: group,
            start_time_s: Some((number * 7919 % 10_007) as i64),
            is_terminating: input.is_terminating,
            is_preempted: input.is_terminating && number.is_multiple_of(2),
            ..PodMeta::default()
        };
        let pod = NaivePod { input, meta };
        let id = self.insert_member(&pod, PodState::Bound);
        self.place_member(id, pod, node);
    }

    /// A member goes to a node.
    pub(crate) fn place_member(&mut self, id: PodId, pod: NaivePod, node: &str) {
        let node_id = self.world.node_id(node);
        let row = self.world.pods_mut().get_mut(id);
        row.state = PodState::Bound;
        row.started_s = pod.meta.start_time_s.unwrap_or(i64::MAX);
        row.is_preempted = pod.meta.is_preempted;
        self.world.place(id, node_id);
        self.node_mut(node).expect("the node is there").add_pod(pod.clone());
        self.placed.push(Placed { id, node: node.to_owned(), pod });
    }

    /// A pod that waits with its group, nominated or not.
    pub(crate) fn add_pending_member(
        &mut self,
        input: PodInput,
        group: &PodGroupInput,
        nominated: Option<String>,
    ) -> PendingMember {
        let number = self.uids + 1;
        let meta = PodMeta {
            name: waiting_name(PodUid(number)),
            uid: number.to_string(),
            pod_group: Some(group.name.clone()),
            start_time_s: Some((number * 7919 % 10_007) as i64),
            nominated_node_name: nominated,
            ..PodMeta::default()
        };
        let pod = NaivePod { input, meta };
        let id = self.insert_member(&pod, PodState::Pending);
        let mut member = PendingMember { id, pod };
        let nominated = member.pod.meta.nominated_node_name.take();
        self.nominate_member(&mut member, nominated);
        member
    }

    /// Changes what a member is nominated to.
    pub(crate) fn nominate_member(&mut self, member: &mut PendingMember, node: Option<String>) {
        let (uid, class) = (self.world.pods().get(member.id).uid, self.world.pods().get(member.id).class);
        let node_id = node.as_ref().map(|name| self.world.node_id(name));
        self.world.pods_mut().get_mut(member.id).set_nominated(node_id);
        self.world.delete_nominated_pod_if_exists(uid);
        self.cluster.nominated.retain(|other| !other.is_same(&member.pod));
        member.pod.meta.nominated_node_name = node;
        if let Some(node) = node_id {
            self.world.add_nominated_pod(uid, class, node);
            self.cluster.nominated.push(member.pod.clone());
        }
    }

    /// A member is deleted before it found a node.
    pub(crate) fn remove_pending_member(&mut self, mut member: PendingMember) {
        self.nominate_member(&mut member, None);
        self.world.pod_groups_mut().unname(member.id);
        self.world.pods_mut().remove(member.id);
    }

    /// Takes the placed pod of this name off its node, as when it was evicted.
    pub(crate) fn evict(&mut self, name: &str) {
        let at = self.placed.iter().position(|placed| placed.pod.meta.name == name).expect("it is placed");
        let id = self.placed[at].id;
        self.world.displace(id);
        self.world.pod_groups_mut().unname(id);
        let Placed { node, pod, .. } = self.placed.swap_remove(at);
        self.world.pods_mut().remove(id);
        self.node_mut(&node).expect("the node is there").remove_pod(&pod);
    }
}

/// A group for so many pending members.
pub(crate) fn random_group(rng: &mut Rng, namespace: &str, name: &str, size: usize) -> PodGroupInput {
    let min_count = i32::try_from(rng.range(1..=size + 1)).expect("a small size");
    let keys = ["topology.kubernetes.io/zone", "disk", "example.com/rack", "nobody"];
    let topology_key = rng.chance(50).then(|| (*rng.pick(&keys)).to_owned());
    PodGroupInput {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        priority: *rng.pick(&[0, 0, 10, 500, 5000]),
        policy: *rng.pick(&[PodGroupPolicy::Basic, PodGroupPolicy::Gang { min_count }]),
        has_scheduling_constraints: topology_key.is_some(),
        topology_key,
        disruption_mode: *rng.pick(&[DisruptionMode::Single, DisruptionMode::All]),
        ..PodGroupInput::default()
    }
}
