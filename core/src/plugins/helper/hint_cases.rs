//! Cases of queueing hints: a pod that a plugin rejected, what happens, and whether the plugin wants it
//! tried again. As upstream's integration test of requeueing has it, one row a plugin, event and outcome.

use std::sync::Arc;

use crate::dra::DraNews;
use crate::framework::event::{
    ActionType, ClusterEvent, Diff, Event, EventObject, EventResource, NodeState, PodFacts,
};
use crate::framework::points::Hint;
use crate::framework::registry::default_profile;
use crate::ids::{NodeId, PodUid};
use crate::input::dra::DraInput;
use crate::input::{
    LabelSelectorInput, NodeInput, PodAffinityTermInput, PodInput, SpreadConstraintInput, VolumeSourceInput,
};
use crate::known_gaps::KnownGaps;
use crate::plugins::descriptor;
use crate::scheduler::ObjectKind;
use crate::storage::StorageNews;
use crate::testkit::{NodeParts, PodParts, hard, host_port, label_pairs, match_labels, node, pod, resources};
use crate::world::World;

/// One pod and one event.
#[derive(Clone, Debug)]
pub(crate) struct HintCase {
    name: &'static str,
    /// The pod that the plugin rejected.
    waiting: PodInput,
    what: What,
    expected: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Queue,
    Skip,
    /// Upstream does not register for it, or its hint says no.
    QueueUnlessUpstream,
}

/// The event brings the pod back.
pub(crate) fn queues(name: &'static str, waiting: PodInput, what: What) -> HintCase {
    HintCase { name, waiting, what, expected: Expected::Queue }
}

/// It does not.
pub(crate) fn skips(name: &'static str, waiting: PodInput, what: What) -> HintCase {
    HintCase { name, waiting, what, expected: Expected::Skip }
}

/// It does, but not with upstream's gaps.
pub(crate) fn gap(name: &'static str, waiting: PodInput, what: What) -> HintCase {
    HintCase { name, waiting, what, expected: Expected::QueueUnlessUpstream }
}

impl HintCase {
    /// Asks a plugin.
    pub(crate) fn check(&self, plugin: &str) {
        let HintCase { name, expected, .. } = self;
        let is_queued = self.is_queued(plugin, KnownGaps::Mended);
        assert_eq!(is_queued, *expected != Expected::Skip, "{plugin}: {name}");
        if *expected == Expected::QueueUnlessUpstream {
            assert!(!self.is_queued(plugin, KnownGaps::Upstream), "{plugin}, upstream: {name}");
        }
    }

    fn is_queued(&self, plugin: &str, gaps: KnownGaps) -> bool {
        let mut world = World::default();
        // Makes the names known that plugins look for.
        let _ = default_profile(&mut world.vocabulary);
        let event = happen(&mut world, &self.waiting, self.what.clone());
        // A target event shows the pod as it is now.
        let class = match &event.object {
            EventObject::Pod(Diff { new: Some(new), .. })
                if event.what.resource == EventResource::TargetPod =>
            {
                new.class
            }
            _ => world.compile(&Arc::new(self.waiting.clone())),
        };
        let descriptor = descriptor(plugin).expect("a plugin in the tree");
        let plugin = (descriptor.factory)(&(descriptor.default_args)(), &mut world.vocabulary);
        plugin.expect("default arguments").events_to_register(gaps).iter().any(|registered| {
            registered.event.covers(event.what)
                && match registered.hint {
                    Hint::Always => true,
                    Hint::ByClass(hint) => hint(&world, world.class(class), &event),
                    Hint::ByPod => panic!("hints of shipped plugins read the class only"),
                }
        })
    }
}

/// A topology and a domain of it.
pub(crate) const ZONE_A: (&str, &str) = ("zone", "a");
/// Another.
pub(crate) const RACK_R: (&str, &str) = ("rack", "r");
/// The taint that a cordoned node stands for.
pub(crate) const CORDON: &str = "node.kubernetes.io/unschedulable";

pub(crate) fn labelled(list: &[(&str, &str)]) -> NodeInput {
    NodeInput { labels: label_pairs(list), ..node("n") }
}

pub(crate) fn tainted(keys: &[&str]) -> NodeInput {
    keys.iter().fold(node("n"), |node, key| node.taint(key))
}

pub(crate) fn cordoned() -> NodeInput {
    node("n").cordoned()
}

pub(crate) fn app(name: &str) -> PodInput {
    pod().cpu("1").label("app", name)
}

pub(crate) fn port(number: i32) -> PodInput {
    pod().cpu("1").port(host_port("", "", number))
}

fn selector(name: &str) -> Option<LabelSelectorInput> {
    match_labels(&format!("app={name}"))
}

fn term(name: &str) -> PodAffinityTermInput {
    PodAffinityTermInput { label_selector: selector(name), ..crate::testkit::term("zone", "-") }
}

pub(crate) fn near(name: &str) -> PodInput {
    app("me").near(term(name))
}

pub(crate) fn far_from(name: &str) -> PodInput {
    app("me").away(term(name))
}

pub(crate) fn spread() -> PodInput {
    app("me").spread(SpreadConstraintInput { label_selector: selector("me"), ..hard(1, "zone", "-") })
}

/// Counts `me` over zones and `db` over racks.
pub(crate) fn spread_twice() -> PodInput {
    let mut pod = spread();
    let mut second = pod.spread_constraints[0].clone();
    second.topology_key = "rack".to_owned();
    second.label_selector = selector("db");
    pod.spread_constraints.push(second);
    pod
}

pub(crate) fn honoring_taints() -> PodInput {
    let mut pod = spread();
    pod.spread_constraints[0].honor_node_taints = true;
    pod
}

/// Only nodes with this label count.
pub(crate) fn selecting_nodes() -> PodInput {
    PodInput { node_selector: Some(label_pairs(&[("disk", "ssd")])), ..spread() }
}

/// The same, but all nodes count.
pub(crate) fn ignoring_affinity() -> PodInput {
    let mut pod = selecting_nodes();
    pod.spread_constraints[0].ignore_node_affinity = true;
    pod
}

/// Two terms of one pod.
pub(crate) fn both(mut one: PodInput, other: &PodInput) -> PodInput {
    one.pod_affinity.required.extend(other.pod_affinity.required.iter().cloned());
    one.pod_anti_affinity.required.extend(other.pod_anti_affinity.required.iter().cloned());
    one
}

pub(crate) fn with_label(pod: PodInput, key: &str, value: &str) -> PodInput {
    pod.label(key, value)
}

/// The term of `owner` asks for this label as well.
pub(crate) fn also_asking(mut owner: PodInput, key: &str, value: &str) -> PodInput {
    let terms = owner.pod_affinity.required.iter_mut().chain(&mut owner.pod_anti_affinity.required);
    for term in terms {
        let selector = term.label_selector.get_or_insert_default();
        selector.match_labels = label_pairs(&[(key, value)]);
    }
    owner
}

pub(crate) fn with_volume(source: VolumeSourceInput) -> PodInput {
    pod().cpu("1").mounts("v", source)
}

pub(crate) fn claims(name: &str) -> PodInput {
    with_volume(VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false })
}

pub(crate) fn elsewhere(pod: PodInput) -> PodInput {
    pod.namespaced("other")
}

/// What happens.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "made once per row of a table")]
pub(crate) enum What {
    Node(ActionType, Option<NodeInput>, Option<NodeInput>),
    /// A pod on a node.
    Pod(ActionType, Option<PodInput>, Option<PodInput>),
    /// A pod on no node.
    Nowhere(ActionType, PodInput),
    /// A pod that a node was nominated for went.
    NominatedWent(PodInput),
    /// The waiting pod itself.
    Own(ActionType, PodInput),
    Named(EventResource, ActionType, &'static str, &'static str),
    /// The last of these objects came or changed, the others being there.
    Dra(Vec<DraInput>),
    /// This object went.
    DraGone(DraInput),
}

fn happen(world: &mut World, waiting: &PodInput, what: What) -> Event {
    let facts = |world: &mut World, pod: PodInput, node| PodFacts {
        uid: PodUid(1),
        class: world.compile(&Arc::new(pod)),
        node,
        nominated: None,
    };
    match what {
        What::Node(action, old, new) => {
            let [old, new] = [old, new].map(|node| node.map(|node| Arc::new(NodeState::of(&node, world))));
            Event::node(action, old, new)
        }
        What::Pod(action, old, new) => {
            let [old, new] = [old, new].map(|pod| pod.map(|pod| facts(world, pod, Some(NodeId(0)))));
            let what = ClusterEvent { resource: EventResource::AssignedPod, action };
            Event { what, object: EventObject::Pod(Diff { old, new }) }
        }
        What::Nowhere(action, pod) => {
            let pod = facts(world, pod, None);
            let (old, new) = if action == ActionType::ADD { (None, Some(pod)) } else { (Some(pod), None) };
            Event::pod(ClusterEvent { resource: EventResource::AssignedPod, action }, old, new)
        }
        What::NominatedWent(pod) => {
            let gone = PodFacts { nominated: Some(NodeId(0)), ..facts(world, pod, None) };
            let what = ClusterEvent { resource: EventResource::AssignedPod, action: ActionType::DELETE };
            Event { what, object: EventObject::Pod(Diff { old: Some(gone), new: None }) }
        }
        What::Own(action, new) => {
            let (old, new) = (facts(world, waiting.clone(), None), facts(world, new, None));
            let what = ClusterEvent { resource: EventResource::TargetPod, action };
            Event::pod(what, Some(old), Some(new))
        }
        What::Named(resource, action, namespace, name) => {
            let symbols = &mut world.vocabulary.symbols;
            let (namespace, name) = (symbols.intern(namespace), symbols.intern(name));
            let object = EventObject::Named { namespace, name, news: StorageNews::Anything };
            Event { what: ClusterEvent { resource, action }, object }
        }
        What::Dra(objects) => {
            let (last, before) = objects.split_last().expect("something happens");
            before.iter().for_each(|object| {
                world.upsert_dra(object);
            });
            let is_known = before.iter().any(|object| object.key() == last.key());
            let action = if is_known { ActionType::UPDATE } else { ActionType::ADD };
            let news = world.upsert_dra(last);
            dra_event(world, last, action, news)
        }
        What::DraGone(object) => {
            world.upsert_dra(&object);
            let (kind, namespace, name) = object.key();
            let news = world.remove_dra(kind, namespace, name);
            dra_event(world, &object, ActionType::DELETE, news)
        }
    }
}

fn dra_event(world: &mut World, object: &DraInput, action: ActionType, news: DraNews) -> Event {
    let (kind, namespace, name) = object.key();
    let resource = ObjectKind::Dra(kind).row().event.expect("plugins wait for it");
    let symbols = &mut world.vocabulary.symbols;
    let (namespace, name) = (symbols.intern(namespace), symbols.intern(name));
    let object = EventObject::Named { namespace, name, news: StorageNews::Dra(news) };
    Event { what: ClusterEvent { resource, action }, object }
}

pub(crate) fn added(node: NodeInput) -> What {
    What::Node(ActionType::ADD, None, Some(node))
}

pub(crate) fn node_gone(node: NodeInput) -> What {
    What::Node(ActionType::DELETE, Some(node), None)
}

pub(crate) fn grown(from: &str, to: &str) -> What {
    What::Node(ActionType::UPDATE_NODE_ALLOCATABLE, Some(node("n").cpu(from)), Some(node("n").cpu(to)))
}

/// A node takes more pods.
pub(crate) fn more_pods(from: &str, to: &str) -> What {
    let only = |pods: &str| NodeInput {
        allocatable: resources(&[("cpu", "4"), ("memory", "4Gi"), ("pods", pods)]),
        ..node("n")
    };
    What::Node(ActionType::UPDATE_NODE_ALLOCATABLE, Some(only(from)), Some(only(to)))
}

/// A node that takes no pods.
pub(crate) fn no_room() -> NodeInput {
    NodeInput { allocatable: resources(&[("cpu", "4")]), ..node("n") }
}

pub(crate) fn taints(from: &[&str], to: &[&str]) -> What {
    What::Node(ActionType::UPDATE_NODE_TAINT, Some(tainted(from)), Some(tainted(to)))
}

/// Other taints on a node with labels.
pub(crate) fn retainted(from: &[&str], to: &[&str], labels: &[(&str, &str)]) -> What {
    let node = |taints: &[&str]| NodeInput { taints: tainted(taints).taints, ..labelled(labels) };
    What::Node(ActionType::UPDATE_NODE_TAINT, Some(node(from)), Some(node(to)))
}

pub(crate) fn uncordoned() -> What {
    What::Node(ActionType::UPDATE_NODE_TAINT, Some(cordoned()), Some(node("n")))
}

pub(crate) fn node_relabelled(from: &[(&str, &str)], to: &[(&str, &str)]) -> What {
    What::Node(ActionType::UPDATE_NODE_LABEL, Some(labelled(from)), Some(labelled(to)))
}

pub(crate) fn zoned(from: &str, to: &str) -> What {
    node_relabelled(&[("zone", from)], &[("zone", to)])
}

pub(crate) fn came(pod: PodInput) -> What {
    What::Pod(ActionType::ADD, None, Some(pod))
}

pub(crate) fn went(pod: PodInput) -> What {
    What::Pod(ActionType::DELETE, Some(pod), None)
}

pub(crate) fn pod_changed(from: PodInput, to: PodInput) -> What {
    What::Pod(ActionType::UPDATE_POD_LABEL, Some(from), Some(to))
}

pub(crate) fn pod_relabelled(from: &str, to: &str) -> What {
    pod_changed(app(from), app(to))
}

pub(crate) fn tolerates_more(pod: PodInput) -> What {
    What::Own(ActionType::UPDATE_POD_TOLERATION, pod.tolerates("k"))
}

pub(crate) fn claim_event(action: ActionType, namespace: &'static str, name: &'static str) -> What {
    What::Named(EventResource::PersistentVolumeClaim, action, namespace, name)
}

/// A pod with a claim that is made for it.
pub(crate) fn generated() -> PodInput {
    with_volume(VolumeSourceInput::Ephemeral { pod_name: "pod".to_owned(), pod_uid: "u".to_owned() })
}
