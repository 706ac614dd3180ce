//! Which event brings back a pod that a plugin rejected: one row a plugin, event and outcome, as in
//! upstream's integration test of requeueing.

use std::sync::Arc;

use super::*;
use crate::framework::registry::default_profile;
use crate::ids::{NodeId, PodUid};
use crate::input::{
    ContainerInput, HostPortInput, LabelSelectorInput, Labels, NodeInput, PodAffinityInput,
    PodAffinityTermInput, PodInput, ResourceList, SpreadConstraintInput, TaintInput, TolerationInput,
    VolumeInput, VolumeSourceInput,
};
use crate::quantity::Quantity;
use crate::queue::event::{
    ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, Action, Diff, EventObject, NodeState, PodFacts,
};
use crate::storage::StorageNews;

fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect(text))).collect()
}

fn labels(list: &[(&str, &str)]) -> Labels {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn node(cpu: &str) -> NodeInput {
    NodeInput {
        name: "n".to_owned(),
        allocatable: resources(&[("cpu", cpu), ("memory", "1Gi"), ("pods", "10")]),
        ..NodeInput::default()
    }
}

fn labelled(list: &[(&str, &str)]) -> NodeInput {
    NodeInput { labels: labels(list), ..node("4") }
}

fn tainted(keys: &[&str]) -> NodeInput {
    let taint = |key: &&str| TaintInput {
        key: (*key).to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    };
    NodeInput { taints: keys.iter().map(taint).collect(), ..node("4") }
}

fn cordoned() -> NodeInput {
    NodeInput { unschedulable: true, ..node("4") }
}

fn pod(cpu: &str) -> PodInput {
    let container = ContainerInput { requests: resources(&[("cpu", cpu)]), ..ContainerInput::default() };
    PodInput { namespace: "default".to_owned(), containers: vec![container], ..PodInput::default() }
}

fn app(name: &str) -> PodInput {
    PodInput { labels: labels(&[("app", name)]), ..pod("1") }
}

fn port(number: i32) -> PodInput {
    let mut pod = pod("1");
    pod.containers[0].host_ports = vec![HostPortInput { host_port: number, ..HostPortInput::default() }];
    pod
}

fn selector(name: &str) -> Option<LabelSelectorInput> {
    Some(LabelSelectorInput { match_labels: labels(&[("app", name)]), ..LabelSelectorInput::default() })
}

fn term(name: &str) -> PodAffinityInput {
    let term = PodAffinityTermInput {
        label_selector: selector(name),
        topology_key: "zone".to_owned(),
        ..PodAffinityTermInput::default()
    };
    PodAffinityInput { required: vec![term], preferred: Vec::new() }
}

fn near(name: &str) -> PodInput {
    PodInput { pod_affinity: term(name), ..app("me") }
}

fn far_from(name: &str) -> PodInput {
    PodInput { pod_anti_affinity: term(name), ..app("me") }
}

fn spread() -> PodInput {
    let constraint = SpreadConstraintInput {
        max_skew: 1,
        topology_key: "zone".to_owned(),
        label_selector: selector("me"),
        ..SpreadConstraintInput::default()
    };
    PodInput { spread_constraints: vec![constraint], ..app("me") }
}

/// Counts `me` over zones and `db` over racks.
fn spread_twice() -> PodInput {
    let mut pod = spread();
    let mut second = pod.spread_constraints[0].clone();
    second.topology_key = "rack".to_owned();
    second.label_selector = selector("db");
    pod.spread_constraints.push(second);
    pod
}

fn honoring_taints() -> PodInput {
    let mut pod = spread();
    pod.spread_constraints[0].honor_node_taints = true;
    pod
}

/// Only nodes with this label count.
fn selecting_nodes() -> PodInput {
    PodInput { node_selector: Some(labels(&[("disk", "ssd")])), ..spread() }
}

/// The same, but all nodes count.
fn ignoring_affinity() -> PodInput {
    let mut pod = selecting_nodes();
    pod.spread_constraints[0].ignore_node_affinity = true;
    pod
}

/// Two terms of one pod.
fn both(mut one: PodInput, other: &PodInput) -> PodInput {
    one.pod_affinity.required.extend(other.pod_affinity.required.iter().cloned());
    one.pod_anti_affinity.required.extend(other.pod_anti_affinity.required.iter().cloned());
    one
}

fn with_label(mut pod: PodInput, key: &str, value: &str) -> PodInput {
    pod.labels.insert(key.to_owned(), value.to_owned());
    pod
}

/// The term of `owner` asks for this label as well.
fn also_asking(mut owner: PodInput, key: &str, value: &str) -> PodInput {
    let terms = owner.pod_affinity.required.iter_mut().chain(&mut owner.pod_anti_affinity.required);
    for term in terms {
        let selector = term.label_selector.get_or_insert_default();
        selector.match_labels = labels(&[(key, value)]);
    }
    owner
}

fn with_volume(source: VolumeSourceInput) -> PodInput {
    PodInput { volumes: vec![VolumeInput { name: "v".to_owned(), source }], ..pod("1") }
}

fn claims(name: &str) -> PodInput {
    with_volume(VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false })
}

fn tolerates(mut pod: PodInput, key: &str) -> PodInput {
    let toleration =
        TolerationInput { key: key.to_owned(), operator: "Exists".to_owned(), ..TolerationInput::default() };
    pod.tolerations.push(toleration);
    pod
}

fn elsewhere(mut pod: PodInput) -> PodInput {
    pod.namespace = "other".to_owned();
    pod
}

#[allow(clippy::large_enum_variant, reason = "made once per row of a table")]
enum What {
    Node(Action, Option<NodeInput>, Option<NodeInput>),
    /// A pod on a node.
    Pod(Action, Option<PodInput>, Option<PodInput>),
    /// A pod on no node.
    Nowhere(Action, PodInput),
    /// A pod that a node was nominated for went.
    NominatedWent(PodInput),
    /// The waiting pod itself.
    Own(Action, PodInput),
    Named(EventResource, Action, &'static str, &'static str),
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
            let (old, new) = if action == Action::ADD { (None, Some(pod)) } else { (Some(pod), None) };
            Event::pod(ClusterEvent { resource: EventResource::AssignedPod, action }, old, new)
        }
        What::NominatedWent(pod) => {
            let gone = PodFacts { nominated: Some(NodeId(0)), ..facts(world, pod, None) };
            let what = ClusterEvent { resource: EventResource::AssignedPod, action: Action::DELETE };
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
    }
}

/// Whether a plugin that rejected the pod wants it tried again.
fn helps(plugin: &str, waiting: &PodInput, what: What) -> bool {
    helps_with(KnownGaps::Mended, plugin, waiting, what)
}

fn helps_with(gaps: KnownGaps, plugin: &str, waiting: &PodInput, what: What) -> bool {
    let mut world = World::default();
    // Makes the names known that plugins look for.
    let profile = default_profile(&mut world.vocabulary);
    let event = happen(&mut world, waiting, what);
    // A target event shows the pod as it is now.
    let class = match &event.object {
        EventObject::Pod(Diff { new: Some(new), .. }) if event.what.resource == EventResource::TargetPod => {
            new.class
        }
        _ => world.compile(&Arc::new(waiting.clone())),
    };
    let plugin = profile.plugins().iter().find(|it| it.name() == plugin).expect("a default plugin");
    let extensions = plugin.as_enqueue_extensions().expect("a plugin that ships with the engine");
    extensions.events_to_register(gaps).iter().any(|registered| {
        registered.event.covers(event.what)
            && match registered.hint {
                Hint::Always => true,
                Hint::ByClass(hint) => hint(&world, world.class(class), &event),
                Hint::ByPod => panic!("hints of shipped plugins read the class only"),
            }
    })
}

#[test]
fn nodes_bring_back_whom_they_may_fit() {
    use Action as A;
    let added = |node| What::Node(A::ADD, None, Some(node));
    let grown = |from, to| What::Node(A::UPDATE_NODE_ALLOCATABLE, Some(node(from)), Some(node(to)));
    let taints =
        |from: &[&str], to: &[&str]| What::Node(A::UPDATE_NODE_TAINT, Some(tainted(from)), Some(tainted(to)));
    let uncordoned = || What::Node(A::UPDATE_NODE_TAINT, Some(cordoned()), Some(node("4")));
    let relabelled = |from: &[(&str, &str)], to: &[(&str, &str)]| {
        What::Node(A::UPDATE_NODE_LABEL, Some(labelled(from)), Some(labelled(to)))
    };
    let zoned = |from, to| relabelled(&[("zone", from)], &[("zone", to)]);
    let gone = |node| What::Node(A::DELETE, Some(node), None);
    let picky = PodInput { node_selector: Some(labels(&[("disk", "ssd")])), ..pod("1") };
    let no_room = NodeInput { allocatable: resources(&[("cpu", "4")]), ..node("4") };
    let only = |pods: &str| NodeInput {
        allocatable: resources(&[("cpu", "4"), ("memory", "4Gi"), ("pods", pods)]),
        ..node("4")
    };
    let more_pods = |from, to| What::Node(A::UPDATE_NODE_ALLOCATABLE, Some(only(from)), Some(only(to)));
    let retainted = |from: &[&str], to: &[&str], zone: &[(&str, &str)]| {
        let node = |taints: &[&str]| NodeInput { taints: tainted(taints).taints, ..labelled(zone) };
        What::Node(A::UPDATE_NODE_TAINT, Some(node(from)), Some(node(to)))
    };
    let (zone, rack) = (("zone", "a"), ("rack", "r"));
    let rows = [
        ("NodeResourcesFit", pod("2"), added(node("2")), true, "a node that fits"),
        ("NodeResourcesFit", pod("2"), added(node("1")), false, "a node that is too small"),
        ("NodeResourcesFit", pod("1"), added(no_room), false, "a node that takes no pods"),
        ("NodeResourcesFit", pod("2"), grown("1", "2"), true, "a node grew"),
        ("NodeResourcesFit", pod("2"), grown("1", "1500m"), false, "grew too little"),
        ("NodeResourcesFit", pod("2"), grown("4", "3"), false, "a node shrank"),
        ("NodeResourcesFit", pod("1"), more_pods("1", "2"), true, "a node takes more pods"),
        ("NodeResourcesFit", pod("0"), more_pods("1", "2"), true, "whatever they ask for"),
        ("NodeResourcesFit", pod("0"), grown("1", "2"), false, "grew in what it does not ask for"),
        ("NodeResourcesFit", pod("2"), relabelled(&[], &[("a", "b")]), false, "labels"),
        ("NodeResourcesFit", pod("2"), gone(node("2")), false, "a node went"),
        ("NodeAffinity", picky.clone(), added(labelled(&[("disk", "ssd")])), true, "a node matches"),
        ("NodeAffinity", picky.clone(), added(node("4")), false, "a node does not match"),
        ("NodeAffinity", picky.clone(), relabelled(&[], &[("disk", "ssd")]), true, "matches now"),
        ("NodeAffinity", picky.clone(), relabelled(&[("disk", "ssd")], &[]), false, "no longer matches"),
        (
            "NodeAffinity",
            picky.clone(),
            relabelled(&[("disk", "ssd")], &[("disk", "ssd"), ("a", "b")]),
            false,
            "matched before",
        ),
        ("NodeAffinity", picky, grown("1", "2"), false, "allocatable"),
        ("TaintToleration", pod("1"), added(node("4")), true, "a node without taints"),
        ("TaintToleration", pod("1"), added(tainted(&["k"])), false, "a node with a taint"),
        ("TaintToleration", pod("1"), taints(&["k"], &[]), true, "a taint went"),
        ("TaintToleration", pod("1"), taints(&["k", "l"], &["l"]), false, "one of two went"),
        (
            "TaintToleration",
            tolerates(pod("1"), "l"),
            taints(&["k", "l"], &["l"]),
            true,
            "the other is tolerated",
        ),
        ("TaintToleration", pod("1"), taints(&[], &[]), false, "was tolerated before"),
        ("NodeUnschedulable", pod("1"), added(node("4")), true, "an open node"),
        ("NodeUnschedulable", pod("1"), added(cordoned()), false, "a cordoned node"),
        ("NodeUnschedulable", pod("1"), uncordoned(), true, "opened"),
        ("NodeUnschedulable", pod("1"), taints(&["k"], &[]), false, "was open"),
        ("NodeName", pod("1"), added(node("4")), true, "any new node"),
        ("NodePorts", port(80), added(node("4")), true, "any new node"),
        ("InterPodAffinity", near("db"), added(labelled(&[("zone", "a")])), true, "a node with the key"),
        ("InterPodAffinity", near("db"), added(node("4")), false, "a node without the key"),
        ("InterPodAffinity", near("db"), zoned("a", "b"), true, "a node moved"),
        ("InterPodAffinity", near("db"), relabelled(&[("zone", "a")], &[]), false, "lost the key"),
        ("InterPodAffinity", near("db"), gone(labelled(&[("zone", "a")])), false, "a domain less to join"),
        ("InterPodAffinity", app("web"), gone(labelled(&[("zone", "a")])), false, "wants and avoids nobody"),
        ("InterPodAffinity", far_from("db"), added(node("4")), true, "a node without the key is fine"),
        ("InterPodAffinity", far_from("db"), relabelled(&[("zone", "a")], &[]), true, "left the domain"),
        ("InterPodAffinity", far_from("db"), relabelled(&[], &[("zone", "a")]), false, "joined a domain"),
        ("PodTopologySpread", spread(), added(labelled(&[("zone", "a")])), true, "a node with the key"),
        ("PodTopologySpread", spread(), added(node("4")), false, "a node without the key"),
        ("PodTopologySpread", spread(), gone(labelled(&[("zone", "a")])), true, "a domain may have gone"),
        ("PodTopologySpread", spread(), gone(node("4")), false, "a node outside all domains went"),
        ("PodTopologySpread", spread(), zoned("a", "b"), true, "a node moved"),
        (
            "PodTopologySpread",
            spread(),
            relabelled(&[("zone", "a")], &[("zone", "a"), ("x", "y")]),
            false,
            "another label",
        ),
        (
            "PodTopologySpread",
            ignoring_affinity(),
            relabelled(&[("zone", "a")], &[("zone", "a"), ("x", "y")]),
            false,
            "another label, and every node counts",
        ),
        ("PodTopologySpread", spread_twice(), added(labelled(&[zone])), false, "one of two keys"),
        ("PodTopologySpread", spread_twice(), added(labelled(&[zone, rack])), true, "both keys"),
        ("PodTopologySpread", spread_twice(), zoned("a", "b"), false, "one of two keys, another value"),
        ("PodTopologySpread", spread_twice(), relabelled(&[zone], &[zone, rack]), true, "has both now"),
        ("PodTopologySpread", spread_twice(), relabelled(&[zone, rack], &[rack]), true, "had both"),
        ("PodTopologySpread", spread(), retainted(&["k"], &[], &[zone]), true, "other taints in a domain"),
        ("PodTopologySpread", spread(), retainted(&["k"], &[], &[]), false, "other taints outside of all"),
        (
            "PodTopologySpread",
            spread_twice(),
            retainted(&["k"], &[], &[zone]),
            false,
            "other taints, one of two keys",
        ),
        ("VolumeBinding", claims("c"), added(node("4")), true, "any new node"),
        ("VolumeZone", claims("c"), relabelled(&[], &[("zone", "a")]), true, "any change of labels"),
        ("VolumeRestrictions", claims("c"), added(node("4")), true, "any new node"),
        ("NodeVolumeLimits", claims("c"), added(node("4")), false, "its CSI node says more"),
        ("SchedulingGates", pod("1"), added(node("4")), false, "gates do not care"),
    ];
    for (plugin, waiting, what, expected, name) in rows {
        assert_eq!(helps(plugin, &waiting, what), expected, "{plugin}: {name}");
    }
}

/// Plugin, waiting pod, what happens, and a name.
type Row = (&'static str, PodInput, Box<dyn Fn() -> What>, &'static str);

/// What upstream does not hear of, and we do.
#[test]
fn known_gaps_are_mended_unless_upstreams_behaviour_is_asked_for() {
    use Action as A;
    let went = |pod| What::Pod(A::DELETE, Some(pod), None);
    let loses_zone =
        || What::Node(A::UPDATE_NODE_LABEL, Some(labelled(&[("zone", "a")])), Some(labelled(&[("x", "y")])));
    let other_label = || {
        let (old, new) = (labelled(&[("zone", "a")]), labelled(&[("zone", "a"), ("disk", "ssd")]));
        What::Node(A::UPDATE_NODE_LABEL, Some(old), Some(new))
    };
    let gone = |labels: &[(&str, &str)]| What::Node(A::DELETE, Some(labelled(labels)), None);
    let zone = [("zone", "a")];
    let rows: Vec<Row> = vec![
        ("InterPodAffinity", near("me"), Box::new(loses_zone), "it may lead its group now"),
        ("InterPodAffinity", near("me"), Box::new(move || gone(&zone)), "the same, the node was deleted"),
        ("InterPodAffinity", near("me"), Box::new(move || went(app("me"))), "the same, the pod went"),
        ("InterPodAffinity", far_from("db"), Box::new(move || gone(&zone)), "those it avoids are nowhere"),
        ("PodTopologySpread", selecting_nodes(), Box::new(other_label), "other nodes count"),
    ];
    for (plugin, waiting, what, name) in rows {
        assert!(helps_with(KnownGaps::Mended, plugin, &waiting, what()), "{plugin}: {name}");
        assert!(!helps_with(KnownGaps::Upstream, plugin, &waiting, what()), "{plugin}, upstream: {name}");
    }
}

#[test]
fn other_pods_bring_back_whom_they_kept_out() {
    use Action as A;
    let came = |pod| What::Pod(A::ADD, None, Some(pod));
    let went = |pod| What::Pod(A::DELETE, Some(pod), None);
    let relabelled = |from, to| What::Pod(A::UPDATE_POD_LABEL, Some(app(from)), Some(app(to)));
    let shrank = |from, to| What::Pod(A::UPDATE_POD_SCALE_DOWN, Some(pod(from)), Some(pod(to)));
    let mounts = |name: &str, read_only| {
        with_volume(VolumeSourceInput::GcePersistentDisk { pd_name: name.to_owned(), read_only })
    };
    let tier = |owner| also_asking(owner, "tier", "1");
    let near_both = || both(near("db"), &tier(near("")));
    let far_from_both = || both(far_from("db"), &tier(far_from("")));
    let labelled = |from, to| What::Pod(A::UPDATE_POD_LABEL, Some(from), Some(to));
    let tiered = |name| labelled(app(name), with_label(app(name), "tier", "1"));
    let untiered = |name| labelled(with_label(app(name), "tier", "1"), app(name));
    let disk = |name: &str| mounts(name, false);
    let reads = |name: &str| mounts(name, true);
    let rows = [
        ("NodeResourcesFit", pod("1"), went(pod("1")), true, "room came free"),
        ("NodeResourcesFit", pod("1"), What::Nowhere(A::DELETE, pod("1")), false, "it was on no node"),
        ("NodeResourcesFit", pod("1"), came(pod("1")), false, "a pod came"),
        ("NodeResourcesFit", pod("1"), shrank("2", "1"), true, "a pod shrank"),
        ("NodeResourcesFit", pod("0"), shrank("2", "1"), false, "of something it does not ask for"),
        ("NodePorts", port(80), went(port(80)), true, "its port came free"),
        ("NodePorts", port(80), went(port(81)), false, "another port"),
        ("NodePorts", port(80), went(pod("1")), false, "no port"),
        ("InterPodAffinity", near("db"), came(app("db")), true, "whom it wants to be near"),
        ("InterPodAffinity", near("db"), came(app("web")), false, "somebody else"),
        ("InterPodAffinity", near("db"), came(elsewhere(app("db"))), false, "in another namespace"),
        ("InterPodAffinity", near("db"), relabelled("web", "db"), true, "became one"),
        ("InterPodAffinity", near("db"), relabelled("db", "web"), false, "was one"),
        ("InterPodAffinity", near("db"), went(app("db")), false, "went"),
        ("InterPodAffinity", near("me"), went(app("me")), true, "it may be the first of its group now"),
        ("InterPodAffinity", near("me"), relabelled("me", "web"), true, "the same, by its labels"),
        ("InterPodAffinity", near("me"), went(app("web")), false, "never was of the group"),
        ("InterPodAffinity", near("db"), What::Nowhere(A::ADD, app("db")), false, "is on no node"),
        ("InterPodAffinity", far_from("db"), went(app("db")), true, "whom it cannot bear went"),
        ("InterPodAffinity", far_from("db"), went(app("web")), false, "somebody else went"),
        ("InterPodAffinity", far_from("db"), relabelled("db", "web"), true, "is one no longer"),
        ("InterPodAffinity", app("db"), went(far_from("db")), true, "who could not bear it went"),
        ("PodTopologySpread", spread(), came(app("me")), true, "a counted pod came"),
        ("PodTopologySpread", spread(), went(app("me")), true, "a counted pod went"),
        ("PodTopologySpread", spread(), came(app("web")), false, "not counted"),
        ("PodTopologySpread", spread(), came(elsewhere(app("me"))), false, "in another namespace"),
        ("PodTopologySpread", spread(), relabelled("web", "me"), true, "is counted now"),
        ("PodTopologySpread", spread(), relabelled("web", "db"), false, "neither is"),
        ("PodTopologySpread", spread_twice(), relabelled("x", "db"), true, "counted by one of two"),
        ("PodTopologySpread", spread_twice(), relabelled("me", "db"), true, "counted by the other now"),
        ("PodTopologySpread", spread_twice(), relabelled("x", "y"), false, "counted by neither"),
        ("PodTopologySpread", spread(), What::NominatedWent(app("me")), true, "room was kept for it"),
        ("PodTopologySpread", spread(), What::NominatedWent(app("web")), false, "but it is not counted"),
        ("PodTopologySpread", spread(), What::Nowhere(A::DELETE, app("me")), false, "it was on no node"),
        ("NodeResourcesFit", pod("1"), What::NominatedWent(pod("1")), true, "room was kept for it"),
        ("NodePorts", port(80), What::NominatedWent(port(80)), true, "its port was kept"),
        ("NodePorts", port(80), What::Nowhere(A::DELETE, port(80)), false, "it held no port"),
        ("InterPodAffinity", far_from("db"), What::NominatedWent(app("db")), true, "it was to come"),
        ("InterPodAffinity", far_from("db"), What::NominatedWent(app("web")), false, "somebody else was"),
        ("InterPodAffinity", near_both(), came(app("db")), false, "one of two terms"),
        ("InterPodAffinity", near_both(), came(with_label(app("db"), "tier", "1")), true, "both terms"),
        ("InterPodAffinity", near_both(), tiered("db"), true, "both terms by a new label"),
        ("InterPodAffinity", near_both(), untiered("db"), false, "one of two terms is lost"),
        ("InterPodAffinity", far_from_both(), went(app("db")), true, "one of two terms is enough"),
        ("InterPodAffinity", far_from_both(), untiered("db"), false, "the other term still holds"),
        ("InterPodAffinity", far_from_both(), untiered("web"), true, "no term holds any more"),
        ("InterPodAffinity", app("db"), went(far_from_both()), true, "one of the two of who went"),
        ("InterPodAffinity", app("web"), went(far_from("db")), false, "who went meant others"),
        ("VolumeRestrictions", claims("c"), went(claims("c")), true, "its claim came free"),
        ("VolumeRestrictions", claims("c"), went(claims("d")), false, "another claim"),
        ("VolumeRestrictions", claims("c"), went(elsewhere(claims("c"))), false, "in another namespace"),
        ("VolumeRestrictions", disk("d"), went(disk("d")), true, "its disk came free"),
        ("VolumeRestrictions", disk("d"), went(disk("e")), false, "another disk"),
        ("VolumeRestrictions", reads("d"), went(reads("d")), false, "two that only read share it"),
        ("VolumeRestrictions", reads("d"), went(disk("d")), true, "one that writes went"),
        ("NodeVolumeLimits", claims("c"), went(claims("d")), true, "an attachment came free"),
        ("NodeVolumeLimits", claims("c"), went(pod("1")), false, "it had none"),
        ("NodeAffinity", pod("1"), went(pod("1")), false, "pods do not matter"),
        ("TaintToleration", pod("1"), went(pod("1")), false, "pods do not matter"),
        ("DefaultPreemption", pod("1"), went(pod("1")), false, "the eviction's end lets it in"),
    ];
    for (plugin, waiting, what, expected, name) in rows {
        assert_eq!(helps(plugin, &waiting, what), expected, "{plugin}: {name}");
    }
    assert_eq!((ASSIGNED_POD_ADD.action, ASSIGNED_POD_DELETE.action), (A::ADD, A::DELETE));
}

#[test]
fn a_pods_own_change_may_bring_it_back() {
    use Action as A;
    let cordon = "node.kubernetes.io/unschedulable";
    let gated = PodInput { scheduling_gates: vec!["g".to_owned()], ..pod("1") };
    let me = |name: &str| PodInput { labels: labels(&[("app", name)]), ..spread() };
    let toleration = |pod| What::Own(A::UPDATE_POD_TOLERATION, tolerates(pod, "k"));
    let rows = [
        ("NodeResourcesFit", pod("2"), What::Own(A::UPDATE_POD_SCALE_DOWN, pod("1")), true, "asks for less"),
        ("NodeResourcesFit", pod("2"), What::Own(A::UPDATE_POD_LABEL, pod("2")), false, "labels"),
        (
            "SchedulingGates",
            gated,
            What::Own(A::UPDATE_POD_SCHEDULING_GATES_ELIMINATED, pod("1")),
            true,
            "gates",
        ),
        (
            "TaintToleration",
            pod("1"),
            What::Own(A::UPDATE_POD_TOLERATION, tolerates(pod("1"), "k")),
            true,
            "tolerates more",
        ),
        (
            "NodeUnschedulable",
            pod("1"),
            What::Own(A::UPDATE_POD_TOLERATION, tolerates(pod("1"), cordon)),
            true,
            "tolerates the cordon",
        ),
        (
            "NodeUnschedulable",
            pod("1"),
            What::Own(A::UPDATE_POD_TOLERATION, tolerates(pod("1"), "k")),
            false,
            "tolerates something else",
        ),
        ("InterPodAffinity", near("me"), What::Own(A::UPDATE_POD_LABEL, near("me")), true, "labels"),
        ("PodTopologySpread", spread(), What::Own(A::UPDATE_POD_LABEL, me("db")), true, "counts otherwise"),
        ("PodTopologySpread", me("x"), What::Own(A::UPDATE_POD_LABEL, me("db")), false, "counts as before"),
        ("PodTopologySpread", honoring_taints(), toleration(honoring_taints()), true, "more nodes count"),
        ("PodTopologySpread", spread(), toleration(spread()), false, "taints do not matter"),
    ];
    for (plugin, waiting, what, expected, name) in rows {
        assert_eq!(helps(plugin, &waiting, what), expected, "{plugin}: {name}");
    }
}

#[test]
fn volumes_and_claims_bring_back_whom_they_concern() {
    use Action as A;
    use EventResource as R;
    let claim = |action, namespace, name| What::Named(R::PersistentVolumeClaim, action, namespace, name);
    let generated =
        with_volume(VolumeSourceInput::Ephemeral { pod_name: "pod".to_owned(), pod_uid: "u".to_owned() });
    let rows = [
        ("VolumeBinding", claims("c"), claim(A::ADD, "default", "c"), true, "its claim"),
        ("VolumeBinding", claims("c"), claim(A::UPDATE, "default", "d"), false, "another claim"),
        ("VolumeBinding", claims("c"), claim(A::ADD, "other", "c"), false, "in another namespace"),
        ("VolumeBinding", generated.clone(), claim(A::ADD, "default", "pod-v"), true, "made for it"),
        (
            "VolumeBinding",
            generated.clone(),
            claim(A::ADD, "default", "pod-w"),
            false,
            "made for another volume",
        ),
        ("VolumeBinding", claims("c"), What::Named(R::PersistentVolume, A::ADD, "", "p"), true, "a volume"),
        ("VolumeBinding", claims("c"), What::Named(R::StorageClass, A::ADD, "", "s"), true, "a class"),
        (
            "VolumeBinding",
            claims("c"),
            What::Named(R::CsiStorageCapacity, A::UPDATE, "x", "s"),
            true,
            "capacity",
        ),
        ("VolumeBinding", claims("c"), What::Named(R::CsiDriver, A::ADD, "", "d"), false, "a new driver"),
        ("VolumeZone", claims("c"), claim(A::UPDATE, "default", "c"), true, "its claim"),
        (
            "VolumeZone",
            claims("c"),
            What::Named(R::StorageClass, A::UPDATE, "", "s"),
            false,
            "a changed class",
        ),
        ("VolumeRestrictions", claims("c"), claim(A::ADD, "default", "c"), true, "its claim"),
        ("VolumeRestrictions", generated, claim(A::ADD, "default", "pod-v"), false, "not one it names"),
        ("NodeVolumeLimits", claims("c"), claim(A::ADD, "default", "c"), true, "its claim"),
        ("NodeVolumeLimits", claims("c"), What::Named(R::CsiNode, A::UPDATE, "", "n"), true, "limits"),
        (
            "NodeVolumeLimits",
            claims("c"),
            What::Named(R::VolumeAttachment, A::DELETE, "", "a"),
            true,
            "detached",
        ),
        (
            "NodeVolumeLimits",
            pod("1"),
            What::Named(R::VolumeAttachment, A::DELETE, "", "a"),
            false,
            "has none",
        ),
        ("NodeResourcesFit", claims("c"), claim(A::ADD, "default", "c"), false, "claims do not matter"),
    ];
    for (plugin, waiting, what, expected, name) in rows {
        assert_eq!(helps(plugin, &waiting, what), expected, "{plugin}: {name}");
    }
}

/// Every plugin of the default profile that can reject a pod says what may bring it back.
#[test]
fn no_default_plugin_asks_for_everything() {
    let mut world = World::default();
    let table = HintTable::of(&default_profile(&mut world.vocabulary), KnownGaps::Mended);
    let greedy = table.sources.iter().filter(|source| matches!(source, Source::Everything)).count();
    assert_eq!(greedy, 0);
}
