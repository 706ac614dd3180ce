//! Columns after any history equal columns built at once from what is left.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::fake::for_each_seed;
use crate::input::{ContainerInput, HostPortInput, PodInput};
use crate::interner::TaintEffect;
use crate::naive::NaiveNode;
use crate::naive::requests::{Resources, occupied};
use crate::plugins::node_ports::naive as node_ports;
use crate::plugins::node_resources_fit::naive::requested;
use crate::resources::{ResourceKind, ScalarId};
use crate::snapshot::mask::WORD_BITS;
use crate::snapshot::ports::HostPort;
use crate::twin::{Twin, node_count, random_event};
use crate::world::World;

/// A row in words: ids differ from world to world, what they stand for must not.
fn row_text(world: &World, row: usize) -> String {
    let (columns, vocabulary) = (world.nodes().columns(), &world.vocabulary);
    let text = |symbol| vocabulary.symbols.text(symbol);
    let labels: BTreeMap<&str, &str> = vocabulary
        .labels(columns.label_set[row])
        .iter()
        .map(|&(key, value)| (text(key), text(value)))
        .collect();
    let taints: Vec<(&str, &str, TaintEffect)> = vocabulary
        .taints(columns.taint_set[row])
        .iter()
        .map(|taint| (text(taint.key), text(taint.value), taint.effect))
        .collect();
    let images: Vec<(&str, i64)> = vocabulary
        .images(columns.image_set[row])
        .iter()
        .map(|image| (text(image.name), image.size_bytes))
        .collect();
    let mut scalars: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for at in 0..vocabulary.scalars.len() {
        let kind = ResourceKind::Scalar(ScalarId(u16::try_from(at).expect("few resources")));
        let amounts = (columns.allocatable(kind, row), columns.requested(kind, row));
        let ResourceKind::Scalar(id) = kind else { unreachable!("made above") };
        if amounts != (0, 0) {
            scalars.insert(vocabulary.scalar_name(id), amounts);
        }
    }
    let mut out = String::new();
    let fixed = [
        columns.allocatable_cpu_milli[row],
        columns.allocatable_memory_bytes[row],
        columns.allocatable_ephemeral_bytes[row],
        columns.allocatable_pods[row],
        columns.requested_cpu_milli[row],
        columns.requested_memory_bytes[row],
        columns.requested_ephemeral_bytes[row],
        columns.nonzero_cpu_milli[row],
        columns.nonzero_memory_bytes[row],
        columns.pod_count[row],
    ];
    let cordoned = columns.unschedulable.contains(row);
    let name = text(columns.name[row]);
    write!(out, "{name} {labels:?} {taints:?} {images:?} {fixed:?} {scalars:?} {cordoned}")
        .expect("a string");
    out
}

/// The ports of the generator's pods, and which rows hold them.
fn ports(world: &mut World) -> Vec<(String, Vec<usize>)> {
    let mut taken = Vec::new();
    let node_count = world.nodes().node_count();
    for ip in ["0.0.0.0", "10.0.0.1", "10.0.0.2", "::"] {
        for protocol in ["TCP", "UDP", "SCTP"] {
            for number in [80, 443, 8080] {
                let port = HostPort::new(ip, protocol, number, &mut world.vocabulary);
                let word = |row: usize| world.nodes().ports().taken_word(&port, row / WORD_BITS);
                let rows = (0..node_count).filter(|&row| word(row) >> (row % WORD_BITS) & 1 == 1).collect();
                taken.push((format!("{ip} {protocol} {number}"), rows));
            }
        }
    }
    taken
}

/// Ports as the naive side knows them: which are free depends on who left.
fn check_ports(twin: &mut Twin) {
    for (port, rows) in ports(&mut twin.world) {
        let parts: Vec<&str> = port.split(' ').collect();
        let wanted = HostPortInput {
            host_ip: parts[0].to_owned(),
            protocol: parts[1].to_owned(),
            host_port: parts[2].parse().expect("a number"),
        };
        let container = ContainerInput { host_ports: vec![wanted], ..ContainerInput::default() };
        let pod = PodInput { containers: vec![container], ..PodInput::default() };
        let is_taken = |node: &NaiveNode| node_ports::filter(&pod, node).is_some();
        let nodes = twin.cluster.nodes.iter().enumerate();
        let expected: Vec<usize> = nodes.filter(|(_, node)| is_taken(node)).map(|(row, _)| row).collect();
        assert_eq!(rows, expected, "port {port}");
    }
}

fn names(world: &World) -> Vec<String> {
    world.nodes().columns().id.iter().map(|&id| world.node_name(id).to_owned()).collect()
}

/// A world that was told only of what is left, in list order: every zone's first node comes before
/// any zone's second, so zones and nodes arrive in the tree's order.
fn rebuilt(twin: &Twin) -> World {
    let mut fresh = Twin::default();
    for node in &twin.cluster.nodes {
        fresh.upsert_node(node.input.clone());
    }
    for placed in &twin.placed {
        fresh.place(&Arc::new(placed.pod.input.clone()), &placed.node);
    }
    fresh.settle();
    fresh.world
}

/// Columns and ports are as if the cluster had just been built.
pub(crate) fn check(twin: &mut Twin) {
    assert_eq!(names(&twin.world), twin.tree.list(), "list order");
    let fresh = rebuilt(twin);
    let rows = 0..twin.cluster.nodes.len();
    let texts = |world: &World| rows.clone().map(|row| row_text(world, row)).collect::<Vec<_>>();
    assert_eq!(texts(&twin.world), texts(&fresh));
    check_ports(twin);
    for row in rows {
        let id = twin.world.nodes().columns().id[row];
        assert_eq!(twin.world.nodes().row_of(id), Some(row));
    }
    check_images(twin, &fresh);
    check_sums(twin);
}

/// Spread as rebuilt; sizes as the naive side remembers them, because they depend on who came
/// first.
fn check_images(twin: &Twin, fresh: &World) {
    let names = twin.cluster.nodes.iter().flat_map(|node| &node.input.images).flat_map(|image| &image.names);
    for name in names.chain(["nowhere:1".to_owned()].iter()) {
        let state = |world: &World| world.nodes().images().get(world.vocabulary.symbols.get(name)?);
        let expected = twin.cluster.images.get(name).map(|state| (state.size_bytes, state.nodes.len()));
        let actual = state(&twin.world).map(|state| (state.size_bytes, state.node_count as usize));
        assert_eq!(actual, expected, "image {name}");
        assert_eq!(state(fresh).map(|state| state.node_count as usize), expected.map(|(_, count)| count));
    }
}

/// The columns against sums made by the naive side.
fn check_sums(twin: &Twin) {
    let columns = twin.world.nodes().columns();
    for (row, node) in twin.cluster.nodes.iter().enumerate() {
        let (used, allocatable) = (requested(node), Resources::from_list(&node.input.allocatable));
        let occupied: Vec<_> = node.pods.iter().map(|pod| occupied(pod)).collect();
        assert_eq!(columns.requested_cpu_milli[row], used.cpu_milli);
        assert_eq!(columns.requested_memory_bytes[row], used.memory_bytes);
        assert_eq!(columns.requested_ephemeral_bytes[row], used.ephemeral_storage_bytes);
        assert_eq!(
            columns.nonzero_cpu_milli[row],
            occupied.iter().map(|it| it.nonzero_cpu_milli).sum::<i64>()
        );
        assert_eq!(
            columns.nonzero_memory_bytes[row],
            occupied.iter().map(|it| it.nonzero_memory_bytes).sum::<i64>()
        );
        assert_eq!(columns.allocatable_pods[row], allocatable.pods);
        assert_eq!(columns.pod_count[row], i64::try_from(node.pods.len()).expect("few pods"));
    }
}

#[test]
fn columns_after_a_history_equal_columns_built_at_once() {
    for_each_seed("columns_after_a_history_equal_columns_built_at_once", 300, |rng| {
        let count = node_count(rng);
        let mut twin = Twin::random(rng, count);
        for _ in 0..5 {
            // Several changes between two looks: rows settle once.
            for _ in 0..rng.range(1..=8) {
                random_event(rng, &mut twin, 0..=count + 2);
            }
            twin.settle();
            check(&mut twin);
        }
    });
}

/// Upstream keeps a node's ports as a set: what two pods hold by force is free once either leaves.
#[test]
fn host_port_of_two_pods_is_free_when_either_is_removed() {
    use crate::input::NodeInput;
    let mut twin = Twin::default();
    twin.upsert_node(NodeInput { name: "n0".to_owned(), ..NodeInput::default() });
    let port = HostPortInput { host_port: 80, ..HostPortInput::default() };
    let container = ContainerInput { host_ports: vec![port], ..ContainerInput::default() };
    let pod = Arc::new(PodInput { containers: vec![container], ..PodInput::default() });
    twin.place(&pod, "n0");
    twin.place(&pod, "n0");
    let held = |twin: &mut Twin| ports(&mut twin.world)[0].1.clone();
    assert_eq!(held(&mut twin), [0]);
    twin.displace(0);
    assert_eq!(held(&mut twin), [0usize; 0]);
    assert_eq!(twin.world.nodes().columns().pod_count[0], 1);
}

/// Found by `columns_after_a_history_equal_columns_built_at_once`, seed 32.
#[test]
fn node_removal_reorders_round_robin_over_zones() {
    use crate::input::NodeInput;
    let mut twin = Twin::default();
    for (name, zone) in [("n0", "a"), ("n1", "a"), ("n2", "b")] {
        let labels = [("topology.kubernetes.io/zone".to_owned(), zone.to_owned())].into();
        twin.upsert_node(NodeInput { name: name.to_owned(), labels, ..NodeInput::default() });
    }
    twin.settle();
    assert_eq!(names(&twin.world), ["n0", "n2", "n1"]);
    twin.remove_node("n0");
    twin.settle();
    assert_eq!(names(&twin.world), ["n1", "n2"]);
}
