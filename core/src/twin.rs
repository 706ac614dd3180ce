//! One cluster told to both sides: the [`World`] with its columns and the plain [`NaiveCluster`].
//! Property tests change a [`Twin`] and compare what the engine and the naive twin make of it.

mod checks;
mod events;
mod groups;
mod objects;
mod profiles;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cycle::engine::Pending;
use crate::fake::{self, Feature, Rng};
use crate::ids::{ClassId, PodId, PodUid};
use crate::input::{NodeInput, PodInput, PodMeta};
use crate::naive::node_tree::NodeTree;
use crate::naive::{NaiveCluster, NaiveNode, NaivePod};
use crate::pods::PodState;
use crate::world::World;

pub(crate) use checks::{check_decision, check_preemption, engine_code, plain_preemption};
pub(crate) use events::random_event;
pub(crate) use groups::{PendingMember, random_group};
pub(crate) use profiles::{engine_profile, engine_profile_with_groups, naive_profile, shuffle};

/// Node counts around the edges of mask words, and small ones.
const NODE_COUNTS: [usize; 14] = [0, 1, 1, 2, 3, 5, 8, 12, 30, 63, 64, 65, 128, 129];

/// A node count, with an edge of a mask word as likely as not.
pub(crate) fn node_count(rng: &mut Rng) -> usize {
    *rng.pick(&NODE_COUNTS)
}

/// A pod on a node, present or not.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) id: PodId,
    pub(crate) node: String,
    pub(crate) pod: NaivePod,
}

/// The same cluster twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twin {
    pub(crate) world: World,
    /// In list order after [`Twin::settle`].
    pub(crate) cluster: NaiveCluster,
    pub(crate) tree: NodeTree,
    pub(crate) placed: Vec<Placed>,
    /// Pods that name a node which is not there.
    absent: BTreeMap<String, Vec<NaivePod>>,
    uids: u64,
}

/// Pods are named after their uids, and waiting pods otherwise than placed ones.
fn waiting_name(uid: PodUid) -> String {
    format!("w{}", uid.0)
}

/// The uid of a placed pod.
fn uid_of(name: &str) -> Option<PodUid> {
    name.strip_prefix('p')?.parse().ok().map(PodUid)
}

impl Twin {
    /// A random cluster with pods on its nodes. Large ones have fewer pods: the naive side adds
    /// every pod up for every question.
    pub(crate) fn random(rng: &mut Rng, node_count: usize) -> Twin {
        let mut twin = Twin::default();
        for object in fake::storage(rng) {
            twin.put_storage(object);
        }
        for object in fake::dra(rng) {
            twin.put_dra(object);
        }
        for index in 0..node_count {
            twin.upsert_node(fake::node(rng, index));
            let pods_max = match node_count {
                0..=12 if rng.uses(Feature::OvercommittedNodes) => 12,
                0..=30 => 3,
                _ => 1,
            };
            for _ in 0..rng.range(0..=pods_max) {
                twin.place(&Arc::new(fake::bound_pod(rng)), &format!("n{index}"));
            }
        }
        twin.put_random_objects(rng);
        twin.settle();
        twin
    }

    /// The cluster of a case, whose nodes are in one zone each or in none.
    pub(crate) fn of(cluster: &NaiveCluster) -> Twin {
        let mut twin = Twin::default();
        for NaiveNode { input, pods, .. } in &cluster.nodes {
            twin.upsert_node(input.clone());
            for pod in pods {
                twin.place_as(pod.clone(), &input.name);
            }
        }
        twin.put_objects(cluster);
        for pod in &cluster.nominated {
            let node = pod.meta.nominated_node_name.clone().expect("it is nominated");
            twin.nominate_as(pod.clone(), &node);
        }
        twin.settle();
        twin
    }

    pub(crate) fn compile(&mut self, pod: &Arc<PodInput>) -> ClassId {
        self.world.compile(pod)
    }

    /// Adds a node, with the pods that already name it, or replaces its attributes.
    pub(crate) fn upsert_node(&mut self, node: NodeInput) {
        self.world.upsert_node(&node);
        match self.cluster.nodes.iter().find(|known| known.input.name == node.name) {
            Some(known) => {
                self.tree.update_node(&known.input, &node);
                self.cluster.update_node(node);
            }
            None => {
                self.tree.add_node(&node);
                let pods = self.absent.remove(&node.name).unwrap_or_default();
                self.cluster.add_node(node);
                self.cluster.nodes.last_mut().expect("just added").pods = pods;
            }
        }
    }

    /// Takes a node out; its pods still name it.
    pub(crate) fn remove_node(&mut self, name: &str) {
        let id = self.world.node_id(name);
        self.world.remove_node(id);
        let NaiveNode { input, pods, .. } = self.cluster.remove_node(name);
        self.tree.remove_node(&input);
        self.absent.insert(name.to_owned(), pods);
    }

    /// Puts a pod on a node, present or not. When it started, and whether it was preempted, follows
    /// from its number.
    pub(crate) fn place(&mut self, pod: &Arc<PodInput>, node: &str) {
        let number = self.uids + 1;
        let meta = PodMeta {
            name: format!("p{number}"),
            start_time_s: (!number.is_multiple_of(11)).then_some((number * 7 % 19) as i64),
            is_terminating: pod.is_terminating,
            is_preempted: pod.is_terminating && number.is_multiple_of(2),
            ..PodMeta::default()
        };
        self.place_as(NaivePod { input: pod.as_ref().clone(), meta }, node);
    }

    fn place_as(&mut self, pod: NaivePod, node: &str) {
        let class = self.world.compile(&Arc::new(pod.input.clone()));
        let node_id = self.world.node_id(node);
        self.uids += 1;
        let id = self.world.pods_mut().insert(PodUid(self.uids), class, PodState::Bound, 0);
        let row = self.world.pods_mut().get_mut(id);
        row.started_s = pod.meta.start_time_s.unwrap_or(i64::MAX);
        row.is_preempted = pod.meta.is_preempted;
        self.world.place(id, node_id);
        match self.node_mut(node) {
            Some(known) => known.add_pod(pod.clone()),
            None => self.absent.entry(node.to_owned()).or_default().push(pod.clone()),
        }
        self.placed.push(Placed { id, node: node.to_owned(), pod });
    }

    /// Takes a pod off its node and forgets it.
    pub(crate) fn displace(&mut self, at: usize) {
        let Placed { id, node, pod } = self.placed.swap_remove(at);
        self.world.displace(id);
        self.world.pods_mut().remove(id);
        match self.node_mut(&node) {
            Some(known) => known.remove_pod(&pod),
            None => self.absent.entry(node).or_default().retain(|other| !other.is_same(&pod)),
        }
    }

    /// A placed pod is to go, but is still there.
    pub(crate) fn terminate(&mut self, at: usize) {
        let Placed { id, node, pod: old } = self.placed[at].clone();
        let mut pod = old.clone();
        (pod.input.is_terminating, pod.meta.is_terminating) = (true, true);
        let class = self.world.compile(&Arc::new(pod.input.clone()));
        let node_id = self.world.node_id(&node);
        self.world.displace(id);
        self.world.pods_mut().get_mut(id).class = class;
        self.world.place(id, node_id);
        let pods = match self.node_mut(&node) {
            Some(known) => {
                let position = known.pods.iter().position(|other| other.is_same(&old));
                known.remove_pod(&old);
                known.add_pod(pod.clone());
                // Pods that are equally important stand in the order of their numbers.
                let last = known.pods.pop().expect("just added");
                known.pods.insert(position.expect("the pod is on its node"), last);
                &mut known.pods
            }
            None => self.absent.entry(node).or_default(),
        };
        pods.iter_mut().filter(|other| other.is_same(&old)).for_each(|other| *other = pod.clone());
        self.placed[at].pod = pod;
    }

    fn node_mut(&mut self, name: &str) -> Option<&mut NaiveNode> {
        self.cluster.nodes.iter_mut().find(|known| known.input.name == name)
    }

    /// Nominates a waiting pod to a node, present or not.
    pub(crate) fn add_nominated_pod(&mut self, pod: &Arc<PodInput>, node: &str) {
        let mut pod = NaivePod::from(pod.as_ref().clone());
        pod.meta.name = waiting_name(PodUid(self.uids + 1));
        self.nominate_as(pod, node);
    }

    fn nominate_as(&mut self, mut pod: NaivePod, node: &str) {
        let class = self.world.compile(&Arc::new(pod.input.clone()));
        let node_id = self.world.node_id(node);
        self.uids += 1;
        self.world.add_nominated_pod(PodUid(self.uids), class, node_id);
        pod.meta.uid = self.uids.to_string();
        pod.meta.nominated_node_name = Some(node.to_owned());
        self.cluster.nominated.push(pod);
    }

    /// Takes a nomination back.
    pub(crate) fn delete_nominated_pod_if_exists(&mut self, at: usize) {
        let pod = self.cluster.nominated.remove(at);
        self.world.delete_nominated_pod_if_exists(nominated_uid(&pod));
    }

    /// A nominated pod that is to be decided for.
    pub(crate) fn nominated(&mut self, at: usize) -> Pending {
        let pod = self.cluster.nominated[at].clone();
        let class = self.world.compile(&Arc::new(pod.input.clone()));
        let node = pod.meta.nominated_node_name.as_ref().map(|name| self.world.node_id(name));
        Pending { class, pod: Some(nominated_uid(&pod)), nominated: node }
    }

    /// Someone to decide for: a pod that nobody knows, one with a nominated node of its own, or one
    /// of those that wait for room.
    pub(crate) fn random_pending(&mut self, rng: &mut Rng, class: ClassId) -> Pending {
        let nominated = self.cluster.nominated.len();
        match rng.range(0..=5) {
            0 if nominated > 0 => self.nominated(rng.range(0..=nominated - 1)),
            1 => {
                let name = format!("n{}", rng.range(0..=self.cluster.nodes.len()));
                Pending { class, pod: None, nominated: Some(self.world.node_id(&name)) }
            }
            _ => class.into(),
        }
    }

    /// The same pod for the naive side.
    pub(crate) fn naive_pod(&self, pending: Pending) -> NaivePod {
        let known = |pod: &&NaivePod| Some(nominated_uid(pod)) == pending.pod;
        if let Some(pod) = self.cluster.nominated.iter().find(known) {
            return pod.clone();
        }
        let mut pod = NaivePod::from(self.world.class(pending.class).input.as_ref().clone());
        pod.meta.nominated_node_name = pending.nominated.map(|node| self.world.node_name(node).to_owned());
        pod
    }

    /// A placed pod for the naive side.
    fn naive_placed(&self, id: PodId) -> NaivePod {
        self.placed.iter().find(|placed| placed.id == id).expect("the pod is placed").pod.clone()
    }

    /// A nominated pod as `namespace/name`.
    fn nominated_name(&self, uid: PodUid) -> String {
        let pod = self.cluster.nominated.iter().find(|pod| nominated_uid(pod) == uid);
        let pod = pod.expect("the pod is nominated");
        format!("{}/{}", pod.namespace, pod.meta.name)
    }

    /// Puts both node lists into order.
    pub(crate) fn settle(&mut self) {
        self.world.settle();
        self.cluster.reorder(&self.tree.list());
    }

    pub(crate) fn row_name(&self, row: usize) -> &str {
        self.world.node_name(self.world.nodes().columns().id[row])
    }
}

fn nominated_uid(pod: &NaivePod) -> PodUid {
    PodUid(pod.meta.uid.parse().expect("a nominated pod's uid is a number"))
}
