//! One cluster told to both sides: the [`World`] with its columns and the plain [`NaiveCluster`].
//! Property tests change a [`Twin`] and compare what the engine and the naive twin make of it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::cycle::engine::{Decision, Engine};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::{Draws, TieBreak};
use crate::fake::{self, Feature, Rng};
use crate::framework::plugin::Plugin;
use crate::framework::profile::Profile;
use crate::ids::{ClassId, PodId, PodUid};
use crate::input::storage::{StorageInput, StorageKey};
use crate::input::{HostPortInput, NodeInput, PodInput};
use crate::interner::Vocabulary;
use crate::naive;
use crate::naive::node_ports::host_ports;
use crate::naive::node_resources_fit::Strategy as NaiveStrategy;
use crate::naive::node_tree::NodeTree;
use crate::naive::schedule::{Pick, Profile as NaiveProfile, schedule};
use crate::naive::{NaiveCluster, NaiveNode, NaivePod};
use crate::plugins::image_locality::ImageLocality;
use crate::plugins::node_affinity::NodeAffinity;
use crate::plugins::node_declared_features::NodeDeclaredFeatures;
use crate::plugins::node_name::NodeName;
use crate::plugins::node_ports::NodePorts;
use crate::plugins::node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
use crate::plugins::node_resources_fit::{NodeResourcesFit, ScoringStrategy, Strategy};
use crate::plugins::node_unschedulable::NodeUnschedulable;
use crate::plugins::node_volume_limits::NodeVolumeLimits;
use crate::plugins::taint_toleration::TaintToleration;
use crate::plugins::volume_binding::VolumeBinding;
use crate::plugins::volume_restrictions::VolumeRestrictions;
use crate::plugins::volume_zone::VolumeZone;
use crate::pods::PodState;
use crate::snapshot::ports::HostPort;
use crate::world::World;

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
    pub(crate) input: Arc<PodInput>,
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

impl Twin {
    /// A random cluster with pods on its nodes. Large ones have fewer pods: the naive side adds
    /// every pod up for every question.
    pub(crate) fn random(rng: &mut Rng, node_count: usize) -> Twin {
        let mut twin = Twin::default();
        for object in fake::storage(rng) {
            twin.put_storage(object);
        }
        for index in 0..node_count {
            twin.upsert_node(fake::node(rng, index));
            let pods_max = match node_count {
                0..=12 if rng.uses(Feature::OvercommittedNodes) => 12,
                0..=30 => 3,
                _ => 1,
            };
            for _ in 0..rng.range(0..=pods_max) {
                let (pod, node) = (Arc::new(fake::bound_pod(rng)), format!("n{index}"));
                if !twin.shares_a_port(&pod, &node) {
                    twin.place(&pod, &node);
                }
            }
        }
        twin.settle();
        twin
    }

    pub(crate) fn compile(&mut self, pod: &Arc<PodInput>) -> ClassId {
        self.world.compile(pod)
    }

    /// Adds an object of storage, or replaces it.
    pub(crate) fn put_storage(&mut self, object: StorageInput) {
        self.world.upsert_storage(&object);
        self.cluster.storage.put(object);
    }

    /// Takes an object of storage out.
    pub(crate) fn remove_storage(&mut self, key: &StorageKey) {
        self.world.remove_storage(key);
        self.cluster.storage.objects.remove(key);
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

    /// Puts a pod on a node, present or not.
    pub(crate) fn place(&mut self, pod: &Arc<PodInput>, node: &str) {
        let class = self.world.compile(pod);
        let node_id = self.world.node_id(node);
        self.uids += 1;
        let id = self.world.pods_mut().insert(PodUid(self.uids), class, PodState::Bound, 0);
        self.world.place(id, node_id);
        self.pods_of(node).push(pod.as_ref().clone().into());
        self.placed.push(Placed { id, node: node.to_owned(), input: Arc::clone(pod) });
    }

    /// Takes a pod off its node and forgets it.
    pub(crate) fn displace(&mut self, at: usize) {
        let Placed { id, node, input } = self.placed.swap_remove(at);
        self.world.displace(id);
        self.world.pods_mut().remove(id);
        let pods = self.pods_of(&node);
        let position = pods.iter().position(|pod| pod.input == *input).expect("the pod is on its node");
        pods.remove(position);
    }

    /// Whether a pod of the node holds one of the pod's host ports on the same address. The engine
    /// keeps ports as upstream does, as a set: such a port is free once either pod leaves. The
    /// naive side looks at the pods that are left, so histories avoid it.
    pub(crate) fn shares_a_port(&mut self, pod: &PodInput, node: &str) -> bool {
        let mut vocabulary = Vocabulary::default();
        let mut ports = |pod: &PodInput| -> Vec<HostPort> {
            let compile = |port: &HostPortInput| {
                HostPort::new(&port.host_ip, &port.protocol, port.host_port, &mut vocabulary)
            };
            host_ports(pod).into_iter().map(compile).collect()
        };
        let wanted = ports(pod);
        self.pods_of(node).iter().any(|other| ports(other).iter().any(|port| wanted.contains(port)))
    }

    fn pods_of(&mut self, node: &str) -> &mut Vec<NaivePod> {
        match self.cluster.nodes.iter_mut().find(|known| known.input.name == node) {
            Some(known) => &mut known.pods,
            None => self.absent.entry(node.to_owned()).or_default(),
        }
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

/// A naive profile with the plugins in any order, some missing, and with any weight.
pub(crate) fn naive_profile(rng: &mut Rng) -> NaiveProfile {
    let mut profile = fake::profile(rng);
    profile.filter_plugins.retain(|plugin| ALL_PLUGINS.contains(plugin));
    profile.score_plugins.retain(|(plugin, _)| ALL_PLUGINS.contains(plugin));
    if rng.chance(50) {
        profile.percentage_of_nodes_to_score = i32::try_from(rng.range(0..=100)).expect("a percentage");
    }
    if rng.chance(30) {
        shuffle(rng, &mut profile.filter_plugins);
        shuffle(rng, &mut profile.score_plugins);
    }
    if rng.chance(30) {
        for (_, weight) in &mut profile.score_plugins {
            *weight = *rng.pick(&[1, 2, 7, 100]);
        }
    }
    if rng.chance(20) {
        let dropped = rng.range(1..=8);
        for _ in 0..dropped {
            let name = *rng.pick(&ALL_PLUGINS);
            profile.filter_plugins.retain(|plugin| *plugin != name);
            profile.score_plugins.retain(|(plugin, _)| *plugin != name);
        }
    }
    if rng.chance(5) {
        profile.score_plugins.clear();
    }
    profile
}

const ALL_PLUGINS: [&str; 13] = [
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "NodeDeclaredFeatures",
];

pub(crate) fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for end in (1..items.len()).rev() {
        let other = rng.range(0..=end);
        items.swap(end, other);
    }
}

/// A plugin with only one side: Filter or Score. So that the orders of both need not agree.
#[derive(Debug)]
struct FilterOnly(Arc<dyn Plugin>);
#[derive(Debug)]
struct ScoreOnly(Arc<dyn Plugin>);

impl Plugin for FilterOnly {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn plan_version(&self, world: &World, class: &crate::class::PodClass) -> Option<u64> {
        self.0.plan_version(world, class)
    }
    fn as_filter(&self) -> Option<&dyn crate::framework::plugin::FilterPlugin> {
        self.0.as_filter()
    }
}

impl Plugin for ScoreOnly {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn plan_version(&self, world: &World, class: &crate::class::PodClass) -> Option<u64> {
        self.0.plan_version(world, class)
    }
    fn as_score(&self) -> Option<&dyn crate::framework::plugin::ScorePlugin> {
        self.0.as_score()
    }
}

/// The engine's profile that says the same.
pub(crate) fn engine_profile(naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Profile {
    let mut plugins: Vec<(Arc<dyn Plugin>, i64)> = Vec::new();
    for name in naive.filter_plugins.iter().filter(|name| ALL_PLUGINS.contains(name)) {
        plugins.push((Arc::new(FilterOnly(engine_plugin(name, naive, vocabulary))), 0));
    }
    for (name, weight) in naive.score_plugins.iter().filter(|(name, _)| ALL_PLUGINS.contains(name)) {
        plugins.push((Arc::new(ScoreOnly(engine_plugin(name, naive, vocabulary))), *weight));
    }
    let mut profile = Profile::new("default-scheduler", plugins);
    profile.percentage_of_nodes_to_score = naive.percentage_of_nodes_to_score;
    profile
}

fn engine_plugin(name: &str, naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> Arc<dyn Plugin> {
    match name {
        "NodeName" => Arc::new(NodeName),
        "NodeUnschedulable" => Arc::new(NodeUnschedulable::new(vocabulary)),
        "TaintToleration" => Arc::new(TaintToleration),
        "NodeAffinity" => Arc::new(match &naive.added_affinity {
            Some(added) => NodeAffinity::with_added(added, vocabulary),
            None => NodeAffinity::default(),
        }),
        "NodePorts" => Arc::new(NodePorts),
        "NodeResourcesFit" => Arc::new(fit(naive, vocabulary)),
        "NodeResourcesBalancedAllocation" => {
            let names: Vec<&str> = naive.balanced_resources.iter().map(|spec| spec.name.as_str()).collect();
            Arc::new(NodeResourcesBalancedAllocation::over(&names, vocabulary))
        }
        "ImageLocality" => Arc::new(ImageLocality),
        "VolumeRestrictions" => Arc::new(VolumeRestrictions),
        "NodeVolumeLimits" => Arc::new(NodeVolumeLimits),
        "VolumeBinding" => Arc::new(VolumeBinding::default()),
        "VolumeZone" => Arc::new(VolumeZone::new(vocabulary)),
        "NodeDeclaredFeatures" => Arc::new(NodeDeclaredFeatures),
        other => panic!("{other} is not a plugin"),
    }
}

fn fit(naive: &NaiveProfile, vocabulary: &mut Vocabulary) -> NodeResourcesFit {
    let strategy = match &naive.fit.strategy {
        NaiveStrategy::LeastAllocated => Strategy::LeastAllocated,
        NaiveStrategy::MostAllocated => Strategy::MostAllocated,
        NaiveStrategy::RequestedToCapacityRatio(shape) => Strategy::RequestedToCapacityRatio(
            // The API's scores go to 10, the engine's to 100.
            shape.iter().map(|point| (point.utilization, point.score * 10)).collect(),
        ),
    };
    let resources = naive.fit.resources.iter().map(|spec| (spec.name.clone(), spec.weight)).collect();
    let names: Vec<&str> = naive.fit.ignored_resources.iter().map(String::as_str).collect();
    let groups: Vec<&str> = naive.fit.ignored_resource_groups.iter().map(String::as_str).collect();
    NodeResourcesFit::new(ScoringStrategy { strategy, resources }, vocabulary)
        .ignoring(&names, vocabulary)
        .ignoring_groups(&groups)
}

/// Lets the engine decide and holds the decision against the naive twin's. `draws` is a copy of
/// the engine's stream, kept in step. Returns the chosen node.
pub(crate) fn check_decision(
    twin: &mut Twin,
    (profile, naive_profile): (&Profile, &NaiveProfile),
    engine: &mut Engine,
    class: ClassId,
    (tie_break, draws): (TieBreak, &mut Draws),
) -> Option<String> {
    let start = engine.next_start();
    let decision = engine.decide(&mut twin.world, profile, class, &mut NoProbe);
    let pod = &twin.world.class(class).input;
    let expected = schedule(naive_profile, &twin.cluster, pod, start, Pick::First);
    assert_eq!(engine.next_start(), expected.next_start, "next start");
    match decision {
        Decision::Unschedulable(diagnosis) => {
            assert_eq!(expected.feasible, Vec::<String>::new(), "feasible nodes");
            let plugins: Vec<&str> = expected.unschedulable_plugins.iter().copied().collect();
            assert_eq!(diagnosis.plugins, plugins, "unschedulable plugins");
            assert_eq!(Some(diagnosis.message(&twin.world.vocabulary)), expected.message);
            None
        }
        Decision::Chosen(choice) => {
            assert_eq!(expected.message, None);
            assert_eq!(choice.feasible, expected.feasible.len(), "feasible nodes");
            assert_eq!(choice.evaluated, expected.feasible.len() + expected.rejected.len(), "evaluated");
            let nth =
                if choice.ties > 1 && tie_break == TieBreak::Draw { draws.below(choice.ties) } else { 0 };
            let chosen = twin.row_name(choice.row).to_owned();
            if choice.feasible > 1 && expected.scores.is_err() {
                // Differs: upstream ends the cycle with an error when a preferred term cannot be
                // read; the engine leaves the term out (`PreferredTerms::compile`).
                assert!(expected.feasible.contains(&chosen));
                return Some(chosen);
            }
            let mut ties = expected.ties;
            if choice.feasible == 1 {
                ties = expected.feasible;
            }
            assert_eq!(choice.ties, ties.len(), "ties");
            if tie_break == TieBreak::First {
                // The engine's first is the first in the list, the naive side's the first found.
                let position = |name: &String| twin.cluster.nodes.iter().position(|n| n.input.name == *name);
                ties.sort_by_key(position);
            }
            assert_eq!(chosen, ties[nth], "chosen among {ties:?}");
            Some(chosen)
        }
    }
}

/// A node that has some attributes changed: labels and zone, taints, images, room.
pub(crate) fn changed_node(rng: &mut Rng, old: &NodeInput) -> NodeInput {
    let index: usize = old.name[1..].parse().expect("nodes are named n<index>");
    let fresh = fake::node(rng, index);
    let mut node = old.clone();
    match rng.range(0..=7) {
        0 => node = fresh,
        6 => node.declared_features = fresh.declared_features,
        1 => node.labels = fresh.labels,
        2 => node.taints = fresh.taints,
        3 => node.images = fresh.images,
        4 => node.allocatable = fresh.allocatable,
        5 => node.unschedulable = !node.unschedulable,
        _ => {}
    }
    node
}

/// A random step of a cluster's life that involves no decision. Node names go up to `n<last>`.
pub(crate) fn random_event(rng: &mut Rng, twin: &mut Twin, names: RangeInclusive<usize>) {
    match rng.range(0..=12) {
        10 | 11 => {
            // One object of a whole new storage, so that its references have a chance to hold.
            let objects = fake::storage(rng);
            if !objects.is_empty() {
                twin.put_storage(rng.pick(&objects).clone());
            }
        }
        12 if !twin.cluster.storage.objects.is_empty() => {
            let keys: Vec<StorageKey> = twin.cluster.storage.objects.keys().cloned().collect();
            twin.remove_storage(rng.pick(&keys));
        }
        0..=2 if !twin.placed.is_empty() => {
            let at = rng.range(0..=twin.placed.len() - 1);
            twin.displace(at);
        }
        3 | 4 => bind_elsewhere(rng, twin, &names),
        5 | 6 => {
            let index = rng.range(names);
            let node = fake::node(rng, index);
            twin.upsert_node(node);
        }
        7 | 8 if !twin.cluster.nodes.is_empty() => {
            let at = rng.range(0..=twin.cluster.nodes.len() - 1);
            let node = changed_node(rng, &twin.cluster.nodes[at].input.clone());
            twin.upsert_node(node);
        }
        9 if !twin.cluster.nodes.is_empty() => {
            let at = rng.range(0..=twin.cluster.nodes.len() - 1);
            let name = twin.cluster.nodes[at].input.name.clone();
            twin.remove_node(&name);
        }
        _ => {}
    }
}

/// Another scheduler binds a pod to some name, of a node or not, whether it fits or not.
fn bind_elsewhere(rng: &mut Rng, twin: &mut Twin, names: &RangeInclusive<usize>) {
    let name = format!("n{}", rng.range(names.clone()));
    let pod = Arc::new(fake::bound_pod(rng));
    if !twin.shares_a_port(&pod, &name) {
        twin.place(&pod, &name);
    }
}

/// What the naive side's code is called on the fast side.
pub(crate) fn engine_code(code: naive::Code) -> crate::framework::status::Code {
    match code {
        naive::Code::Unschedulable => crate::framework::status::Code::Unschedulable,
        naive::Code::UnschedulableAndUnresolvable => {
            crate::framework::status::Code::UnschedulableAndUnresolvable
        }
    }
}
