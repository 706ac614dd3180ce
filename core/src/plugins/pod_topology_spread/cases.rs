//! Cases of PodTopologySpread.

use super::NAME;
use super::hint_cases::hint_cases;
use super::naive::{NO_LABEL, TOO_SKEWED};
use crate::framework::args::{Defaulting, PluginArgs, PodTopologySpreadArgs};
use crate::input::{
    NodeAffinityInput, NodeInput, NodeSelectorTermInput, OwnerInput, PodInput, RequirementInput,
    ServiceInput, SpreadConstraintInput, TaintInput, WorkloadInput, WorkloadKind,
};
use crate::naive::cases::{Cases, PluginCase};
use crate::naive::{NaiveCluster, NaiveCode};
use crate::testkit::{NodeParts, PodParts, hard, labels, large_node, pod, selector, soft};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

/// These default constraints.
fn defaulting(constraints: &[SpreadConstraintInput]) -> PluginArgs {
    let default_constraints = constraints.to_vec();
    PluginArgs::PodTopologySpread(PodTopologySpreadArgs { default_constraints, defaulting: Defaulting::List })
}

const HOST: &str = "kubernetes.io/hostname";

const SKEWED: (NaiveCode, &str) = (NaiveCode::Unschedulable, TOO_SKEWED);
const LACKS: (NaiveCode, &str) = (NaiveCode::UnschedulableAndUnresolvable, NO_LABEL);

/// Two zones of two nodes: a and b in z1, x and y in z2.
fn four() -> Vec<NodeInput> {
    [("a", "z1"), ("b", "z1"), ("x", "z2"), ("y", "z2")]
        .map(|(name, zone)| large_node(name).labels(&format!("zone={zone} node={name} {HOST}={name}")))
        .to_vec()
}

/// So many pods with the labels on each node.
fn each(text: &str, counts: &[(&'static str, usize)]) -> Vec<(&'static str, PodInput)> {
    counts.iter().flat_map(|&(node, count)| vec![(node, pod().labels(text)); count]).collect()
}

fn skewed(names: &[&'static str]) -> Vec<(&'static str, NaiveCode, &'static str)> {
    names.iter().map(|name| (*name, SKEWED.0, SKEWED.1)).collect()
}

fn tainted(mut node: NodeInput) -> NodeInput {
    let (key, effect) = ("spot".to_owned(), "NoSchedule".to_owned());
    node.taints.push(TaintInput { key, value: String::new(), effect });
    node
}

fn honoring_taints(constraint: SpreadConstraintInput) -> SpreadConstraintInput {
    SpreadConstraintInput { honor_node_taints: true, ..constraint }
}

fn ignoring_affinity(constraint: SpreadConstraintInput) -> SpreadConstraintInput {
    SpreadConstraintInput { ignore_node_affinity: true, ..constraint }
}

fn min_domains(count: i32, constraint: SpreadConstraintInput) -> SpreadConstraintInput {
    SpreadConstraintInput { min_domains: Some(count), ..constraint }
}

fn matching_keys(keys: &[&str], constraint: SpreadConstraintInput) -> SpreadConstraintInput {
    let match_label_keys = keys.iter().map(|key| (*key).to_owned()).collect();
    SpreadConstraintInput { match_label_keys, ..constraint }
}

/// Only on nodes with one of the names.
fn on_nodes(pod: PodInput, names: &[&str]) -> PodInput {
    let values = names.iter().map(|name| (*name).to_owned()).collect();
    let requirement = RequirementInput { key: "node".to_owned(), operator: "In".to_owned(), values };
    let term = NodeSelectorTermInput { match_expressions: vec![requirement], ..Default::default() };
    let affinity = NodeAffinityInput { required: Some(vec![term]), ..Default::default() };
    PodInput { node_affinity: Some(affinity), ..pod }
}

fn service(text: &str) -> impl FnOnce(&mut NaiveCluster) {
    let service = ServiceInput {
        namespace: "default".to_owned(),
        name: format!("of {text}"),
        selector: (text != "-").then(|| labels(text)),
    };
    |cluster| cluster.services.push(service)
}

fn owner(kind: WorkloadKind, text: &str) -> impl FnOnce(&mut NaiveCluster) {
    let mut chosen = selector(text);
    if kind == WorkloadKind::ReplicationController {
        chosen = Some(crate::input::LabelSelectorInput { match_labels: labels(text), ..Default::default() });
    }
    let (namespace, name) = ("default".to_owned(), "owner".to_owned());
    let workload = WorkloadInput { kind, namespace, name, selector: chosen };
    |cluster| cluster.workloads.push(workload)
}

fn owned(pod: PodInput, kind: WorkloadKind) -> PodInput {
    let (api_version, kind) = kind.type_names();
    let owner = OwnerInput {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: "owner".to_owned(),
        uid: String::new(),
    };
    PodInput { controller: Some(owner), ..pod }
}

/// Filter by one constraint.
fn one_hard_constraint() -> Vec<PluginCase> {
    let web = || pod().labels("app=web");
    let by_zone = |skew| web().spread(hard(skew, "zone", "app=web"));
    let by_node = |skew| web().spread(hard(skew, "node", "app=web"));
    let uneven = each("app=web", &[("a", 2), ("b", 1), ("y", 3)]);
    let mut without_zone = four();
    without_zone[1].labels.remove("zone");
    #[rustfmt::skip]
    let cases = vec![
        PluginCase::new("no constraints, no defaults that apply", &four(), web()),
        PluginCase::new("only soft constraints", &four(), web().spread(soft(1, "zone", "app=web"))),
        PluginCase::new("an empty cluster", &four(), by_zone(1)).all_fit(),
        PluginCase::new("an empty cluster, and the pod is not one of those counted", &four(), pod().labels("app=db").spread(hard(1, "zone", "app=web"))).all_fit(),
        PluginCase::new("even zones", &four(), by_zone(1)).with(&each("app=web", &[("a", 2), ("b", 1), ("y", 3)])).all_fit(),
        PluginCase::new("one zone ahead", &four(), by_zone(1)).with(&each("app=web", &[("a", 1), ("b", 1), ("x", 1)])).rejects(&skewed(&["a", "b"])),
        PluginCase::new("only the emptiest node", &four(), by_node(1)).with(&uneven).rejects(&skewed(&["a", "b", "y"])),
        PluginCase::new("a skew of two lets more nodes in", &four(), by_node(2)).with(&uneven).rejects(&skewed(&["a", "y"])),
        PluginCase::new("the pod does not count itself", &four(), pod().labels("app=db").spread(hard(1, "node", "app=web"))).with(&uneven).rejects(&skewed(&["a", "y"])),
        PluginCase::new("pods of another namespace do not count", &four(), by_zone(1)).with(&[("a", web().namespaced("other")), ("b", web().namespaced("other")), ("x", web())]).rejects(&skewed(&["x", "y"])),
        PluginCase::new("terminating pods do not count", &four(), by_node(1)).with(&[("a", web().terminating()), ("b", web())]).rejects(&skewed(&["b"])),
        PluginCase::new("a node without the key is out, and its pods do not count", &without_zone, by_zone(1)).with(&each("app=web", &[("a", 1), ("b", 2), ("x", 2)])).rejects(&[("b", LACKS.0, LACKS.1), ("x", SKEWED.0, SKEWED.1), ("y", SKEWED.0, SKEWED.1)]),
        PluginCase::new("no node has the key", &four(), web().spread(hard(1, "rack", "app=web"))).rejects(&["a", "b", "x", "y"].map(|name| (name, LACKS.0, LACKS.1))),
        PluginCase::new("an absent selector matches no pods, not even the pod", &four(), web().spread(hard(1, "zone", "-"))).with(&uneven).all_fit(),
        PluginCase::new("an empty selector matches the pod but no others", &four(), web().spread(hard(1, "zone", ""))).with(&uneven).all_fit(),
        PluginCase::new("operators of selectors", &four(), web().spread(hard(1, "node", "app!=db tier"))).with(&[("a", pod().labels("app=web tier=1")), ("b", pod().labels("app=db tier=1")), ("x", web())]).all_fit(),
        PluginCase::new("operators of selectors, when the pod counts itself", &four(), pod().labels("app=web tier=2").spread(hard(1, "node", "app!=db tier"))).with(&[("a", pod().labels("app=web tier=1")), ("b", pod().labels("app=db tier=1")), ("x", web())]).rejects(&skewed(&["a"])),
    ];
    cases
}

/// Filter by constraints with few domains, policies and label keys.
fn refined_hard_constraints() -> Vec<PluginCase> {
    let web = || pod().labels("app=web");
    let by_zone = || hard(1, "zone", "app=web");
    let by_node = || hard(1, "node", "app=web");
    let mut spot = four();
    spot[3] = tainted(spot[3].clone());
    let three = &four()[..3];
    let revisions = [
        ("a", pod().labels("app=web rev=1")),
        ("b", pod().labels("app=web rev=1")),
        ("x", pod().labels("app=web rev=2")),
    ];
    #[rustfmt::skip]
    let cases = vec![
        PluginCase::new("fewer nodes than domains wanted: the least is 0", three, web().spread(min_domains(4, hard(2, "node", "app=web")))).with(&each("app=web", &[("a", 2), ("b", 2), ("x", 1)])).rejects(&skewed(&["a", "b"])),
        PluginCase::new("as many nodes as domains wanted", three, web().spread(min_domains(3, hard(2, "node", "app=web")))).with(&each("app=web", &[("a", 2), ("b", 2), ("x", 1)])).all_fit(),
        PluginCase::new("fewer zones than domains wanted", &four(), web().spread(min_domains(3, hard(2, "zone", "app=web")))).with(&each("app=web", &[("a", 2), ("x", 1)])).rejects(&skewed(&["a", "b"])),
        PluginCase::new("as many zones as domains wanted", &four(), web().spread(min_domains(2, hard(2, "zone", "app=web")))).with(&each("app=web", &[("a", 2), ("x", 1)])).all_fit(),
        PluginCase::new("nodes that the selector excludes are no domains", &four(), web().on("zone=z1").spread(by_node())).with(&each("app=web", &[("a", 1), ("b", 2), ("x", 4)])).rejects(&skewed(&["b"])),
        PluginCase::new("unless their affinity is ignored", &four(), web().on("zone=z1").spread(ignoring_affinity(by_node()))).with(&each("app=web", &[("a", 1), ("b", 2), ("x", 4)])).rejects(&skewed(&["a", "b", "x"])),
        PluginCase::new("nodes that the affinity excludes are no domains", &four(), on_nodes(web(), &["a", "y"]).spread(by_node())).with(&each("app=web", &[("a", 2), ("b", 1), ("y", 3)])).rejects(&skewed(&["y"])),
        PluginCase::new("and so cannot be the emptiest", &four(), on_nodes(web(), &["a", "y"]).spread(by_node())).with(&each("app=web", &[("b", 2), ("y", 1)])).rejects(&skewed(&["y"])),
        PluginCase::new("unless their affinity is ignored, again", &four(), on_nodes(web(), &["a", "y"]).spread(ignoring_affinity(by_node()))).with(&each("app=web", &[("a", 1), ("y", 1), ("x", 1)])).rejects(&skewed(&["a", "x", "y"])),
        PluginCase::new("an empty tainted node is a domain", &spot, web().spread(by_node())).with(&each("app=web", &[("a", 1), ("b", 1), ("x", 1)])).rejects(&skewed(&["a", "b", "x"])),
        PluginCase::new("unless taints are honoured", &spot, web().spread(honoring_taints(by_node()))).with(&each("app=web", &[("a", 1), ("b", 1), ("x", 1)])).all_fit(),
        PluginCase::new("and not tolerated", &spot, web().tolerates("spot").spread(honoring_taints(by_node()))).with(&each("app=web", &[("a", 1), ("b", 1), ("x", 1)])).rejects(&skewed(&["a", "b", "x"])),
        PluginCase::new("label keys narrow the selector", &four(), pod().labels("app=web rev=2").spread(matching_keys(&["rev"], by_node()))).with(&revisions).rejects(&skewed(&["x"])),
        PluginCase::new("label keys that are merged already", &four(), pod().labels("app=web rev=2").spread(matching_keys(&["rev"], hard(1, "node", "app=web rev=2")))).with(&revisions).rejects(&skewed(&["x"])),
        PluginCase::new("label keys make an empty selector count", &four(), pod().labels("app=web rev=2").spread(matching_keys(&["rev"], hard(1, "node", "")))).with(&revisions).rejects(&skewed(&["x"])),
        PluginCase::new("label keys do not help an absent selector", &four(), pod().labels("app=web rev=2").spread(matching_keys(&["rev"], hard(1, "node", "-")))).with(&revisions).all_fit(),
        PluginCase::new("label keys that the pod lacks are left out", &four(), web().spread(matching_keys(&["rev"], by_zone()))).with(&revisions).rejects(&skewed(&["a", "b"])),
    ];
    cases
}

/// Filter by several constraints, or by defaults.
fn several_and_default_constraints() -> Vec<PluginCase> {
    let web = || pod().labels("app=web");
    let both = || web().spread(hard(1, "zone", "app=web")).spread(hard(1, "node", "app=web"));
    let mixed =
        || pod().labels("app=web tier=1").spread(hard(1, "zone", "app=web")).spread(hard(1, "node", "tier"));
    let mut without_node = four();
    without_node[2].labels.remove("node");
    let mut spot = four();
    spot[3] = tainted(spot[3].clone());
    let policies = |zone: SpreadConstraintInput, node: SpreadConstraintInput| {
        web().on("zone=z1").spread(zone).spread(node)
    };
    let (zone, by_node) = (|| hard(1, "zone", "app=web"), || hard(1, "node", "app=web"));
    let defaults = [hard(2, "node", "-"), soft(1, "zone", "-"), hard(1, "zone", "-")];
    let spread_out = each("app=web", &[("a", 1), ("b", 1), ("x", 1)]);
    #[rustfmt::skip]
    let cases = vec![
        PluginCase::new("both must hold: zones even, one node empty", &four(), both()).with(&each("app=web", &[("a", 2), ("b", 1), ("y", 3)])).rejects(&skewed(&["a", "b", "y"])),
        PluginCase::new("both must hold: the zone with the empty node is ahead", &four(), both()).with(&each("app=web", &[("a", 2), ("b", 1), ("y", 4)])).rejects(&skewed(&["a", "b", "x", "y"])),
        PluginCase::new("different selectors, each its own counts", &four(), mixed()).with(&[("a", web()), ("b", pod().labels("tier=2")), ("y", pod().labels("tier=2"))]).rejects(&skewed(&["a", "b", "y"])),
        PluginCase::new("different selectors, no node left", &four(), mixed()).with(&[("a", web()), ("x", pod().labels("tier=1")), ("y", pod().labels("tier=1"))]).rejects(&skewed(&["a", "b", "x", "y"])),
        PluginCase::new("different selectors, the pod in one of them only", &four(), web().spread(hard(1, "zone", "app=web")).spread(hard(1, "node", "tier"))).with(&[("a", web()), ("x", pod().labels("tier=1")), ("y", pod().labels("tier=2"))]).rejects(&skewed(&["a", "b"])),
        PluginCase::new("a node that lacks one key counts for neither", &without_node, both()).with(&each("app=web", &[("a", 1), ("x", 2)])).rejects(&[("a", SKEWED.0, SKEWED.1), ("b", SKEWED.0, SKEWED.1), ("x", LACKS.0, LACKS.1)]),
        PluginCase::new("two constraints on one key, the stricter decides", &four(), web().spread(hard(3, "zone", "app=web")).spread(hard(1, "zone", "app=web"))).with(&each("app=web", &[("a", 2), ("x", 1)])).rejects(&skewed(&["a", "b"])),
        PluginCase::new("two constraints on one key with their own selectors", &four(), pod().labels("app=web tier=1").spread(hard(1, "zone", "app=web")).spread(hard(1, "zone", "tier"))).with(&[("a", web()), ("x", pod().labels("tier=1"))]).rejects(&skewed(&["a", "b", "x", "y"])),
        PluginCase::new("policies differ: zones by affinity, nodes not", &spot, policies(zone(), ignoring_affinity(by_node()))).with(&spread_out).rejects(&skewed(&["a", "b", "x"])),
        PluginCase::new("policies differ: zones by affinity and taints", &spot, policies(honoring_taints(zone()), by_node())).with(&spread_out).all_fit(),
        PluginCase::new("policies differ: zones by neither, nodes by both", &spot, policies(ignoring_affinity(zone()), honoring_taints(by_node()))).with(&spread_out).rejects(&skewed(&["a", "b"])),
        PluginCase::new("list defaults and a service", &four(), web()).with_args(NAME, defaulting(&defaults)).having(service("app=web")).with(&each("app=web", &[("a", 1)])).rejects(&skewed(&["a", "b"])),
        PluginCase::new("list defaults and a service of other pods", &four(), web()).with_args(NAME, defaulting(&defaults)).having(service("app=db")).with(&each("app=web", &[("a", 1)])),
        PluginCase::new("list defaults and a service without a selector", &four(), web()).with_args(NAME, defaulting(&defaults)).having(service("-")),
        PluginCase::new("list defaults, and the pod has its own", &four(), web().spread(hard(1, "node", "app=web"))).with_args(NAME, defaulting(&defaults)).having(service("app=web")).with(&each("app=web", &[("a", 1)])).rejects(&skewed(&["a"])),
        PluginCase::new("list defaults, and the pod has its own soft ones", &four(), web().spread(soft(1, "node", "app=web"))).with_args(NAME, defaulting(&defaults)).having(service("app=web")),
        PluginCase::new("soft defaults only", &four(), web()).with_args(NAME, defaulting(&defaults[1..2])).having(service("app=web")),
        PluginCase::new("an empty list of defaults", &four(), web()).with_args(NAME, defaulting(&[])).having(service("app=web")),
        PluginCase::new("the system's defaults are soft", &four(), web()).having(service("app=web")),
    ];
    cases
}

/// All cases of Filter.
fn filter_cases() -> Vec<PluginCase> {
    let mut cases = one_hard_constraint();
    cases.extend(refined_hard_constraints());
    cases.extend(several_and_default_constraints());
    cases.extend(default_selector_cases());
    cases
}

/// Which pods default constraints count: list defaults by node, skew 1, so that a counted pod closes its
/// node.
fn default_selector_cases() -> Vec<PluginCase> {
    use WorkloadKind::{ReplicaSet, ReplicationController, StatefulSet};
    let web = || pod().labels("app=web tier=1");
    let defaults = [hard(1, "node", "-")];
    let others = [("a", web()), ("b", pod().labels("app=web")), ("x", pod().labels("tier=1"))];
    let case =
        |name, pod| PluginCase::new(name, &four(), pod).with_args(NAME, defaulting(&defaults)).with(&others);
    #[rustfmt::skip]
    let cases = vec![
        case("no service, no owner", web()),
        case("a service", web()).having(service("app=web")).rejects(&skewed(&["a", "b"])),
        case("two services", web()).having(service("app=web")).having(service("tier=1")).rejects(&skewed(&["a"])),
        case("a service of another namespace", web()).having(service("app=web")).having(|cluster| cluster.services[0].namespace = "other".to_owned()),
        case("a replica set", owned(web(), ReplicaSet)).having(owner(ReplicaSet, "tier=1")).rejects(&skewed(&["a", "x"])),
        case("a stateful set", owned(web(), StatefulSet)).having(owner(StatefulSet, "tier")).rejects(&skewed(&["a", "x"])),
        case("a replication controller", owned(web(), ReplicationController)).having(owner(ReplicationController, "app=web")).rejects(&skewed(&["a", "b"])),
        case("a replica set and a service", owned(web(), ReplicaSet)).having(owner(ReplicaSet, "tier=1")).having(service("app=web")).rejects(&skewed(&["a"])),
        case("a replica set that does not select the pod counts its pods all the same", owned(pod().labels("app=db"), ReplicaSet)).having(owner(ReplicaSet, "tier=1")).all_fit(),
        case("a replication controller's labels replace a service's", owned(web(), ReplicationController)).having(service("app=web")).having(owner(ReplicationController, "app=db")).all_fit(),
        case("an owner that is not there", owned(web(), ReplicaSet)).having(service("app=web")).rejects(&skewed(&["a", "b"])),
        case("an owner of another kind", owned(web(), ReplicaSet)).having(owner(StatefulSet, "tier")),
        case("an owner of another namespace", owned(web(), ReplicaSet)).having(owner(ReplicaSet, "tier")).having(|cluster| cluster.workloads[0].namespace = "other".to_owned()),
    ];
    cases
}

/// All cases of Score. The expected numbers are worked out beside those that need it.
fn score_cases() -> Vec<PluginCase> {
    let web = || pod().labels("app=web");
    let by_node = |skew| web().spread(soft(skew, HOST, "app=web"));
    let by_zone = || web().spread(soft(1, "zone", "app=web"));
    let both = || by_zone().spread(soft(1, HOST, "app=web"));
    let counts = each("app=web", &[("a", 2), ("b", 1), ("y", 3)]);
    let mut without_host = four();
    without_host[3].labels.remove(HOST);
    let mut spot = four();
    spot[3] = tainted(spot[3].clone());
    let revisions = [
        ("a", pod().labels("app=web rev=1")),
        ("b", pod().labels("app=web rev=1")),
        ("x", pod().labels("app=web rev=2")),
    ];
    let zones: Vec<NodeInput> = four()
        .into_iter()
        .map(|mut node| {
            let zone = node.labels["zone"].clone();
            node.labels.insert("topology.kubernetes.io/zone".to_owned(), zone);
            node
        })
        .collect();
    let service_pods = each("app=web", &[("a", 1), ("b", 2)]);
    #[rustfmt::skip]
    let cases = vec![
        PluginCase::new("no constraints", &four(), web()),
        PluginCase::new("only hard constraints", &four(), web().spread(hard(1, HOST, "app=web"))),
        PluginCase::new("list defaults, but nothing selects the pod", &four(), web()).with_args(NAME, defaulting(&[soft(1, HOST, "-")])),
        PluginCase::new("no pods: all equal", &four(), by_node(1)).scores(&[100; 4]),
        PluginCase::new("one node", &four(), by_node(1)).with(&counts).only(&["a"]).scores(&[100]),
        PluginCase::new("the same number everywhere", &four()[..2], by_node(1)).with(&each("app=web", &[("a", 1), ("b", 1)])).scores(&[100, 100]),
        // Weight ln 6: raw 4, 2, 0, 5; 100 * (5 + 0 - raw) / 5.
        PluginCase::new("fewer is better", &four(), by_node(1)).with(&counts).scores(&[20, 60, 100, 0]),
        // Skew 2 adds 1 to each: raw 5, 3, 1, 6; 100 * (6 + 1 - raw) / 6.
        PluginCase::new("a wider skew brings scores together", &four(), by_node(2)).with(&counts).scores(&[33, 66, 100, 16]),
        // Skew 3 adds 2: raw 6, 4, 2, 7.
        PluginCase::new("a still wider skew", &four(), by_node(3)).with(&counts).scores(&[42, 71, 100, 28]),
        PluginCase::new("an absent selector counts nothing", &four(), web().spread(soft(1, HOST, "-"))).with(&counts).scores(&[100; 4]),
        // Weight ln 5 of three nodes: raw 3, 2, 0.
        PluginCase::new("three of four nodes", &four(), by_node(1)).with(&counts).only(&["a", "b", "x"]).scores(&[0, 33, 100]),
        // y has no such label: 0, and not counted among the nodes.
        PluginCase::new("a node without the key gets nothing", &without_host, by_node(1)).with(&each("app=web", &[("a", 2), ("b", 1)])).scores(&[0, 33, 100, 0]),
        // Zone z1 has 3, z2 has 3 although y is not scored: weight ln 4, all raw 4.
        PluginCase::new("pods on nodes that are not scored count in their zone", &four(), by_zone()).with(&counts).only(&["a", "b", "x"]).scores(&[100; 3]),
        // A zone of nodes that are not scored is no domain: weight ln 3; raw 3, 3.
        PluginCase::new("a zone of its own", &four(), by_zone()).with(&counts).only(&["a", "b"]).scores(&[100, 100]),
        // Zones 1.386 * (3, 3), nodes 1.791 * (2, 1, 0, 3): raw 8, 6, 4, 10.
        PluginCase::new("zone and node", &four(), both()).with(&counts).scores(&[60, 80, 100, 40]),
        // Two of four: zones ln 4, nodes ln 4: a = (3 + 2) * 1.386 = 7, x = (3 + 0) * 1.386 = 4.
        PluginCase::new("zone and node, two of four nodes", &four(), both()).with(&counts).only(&["a", "x"]).scores(&[57, 100]),
        // Zones by app: z1 1, z2 0; nodes by tier: 0, 0, 1, 1: raw 1, 1, 2, 2.
        PluginCase::new("zone and node, each with its selector", &four(), by_zone().spread(soft(1, HOST, "tier"))).with(&[("a", web()), ("x", pod().labels("tier=1")), ("y", pod().labels("tier=2"))]).scores(&[100, 100, 50, 50]),
        // Zones by app 1 and 1 (1.386 each); nodes by tier on a and y (1.791): raw 3, 1, 1, 3.
        PluginCase::new("zone and node, some nodes without either", &four(), by_zone().spread(soft(1, HOST, "tier"))).with(&[("a", pod().labels("app=web tier=1")), ("y", pod().labels("app=web tier=1"))]).scores(&[33, 100, 100, 33]),
        // Both on zone: 1.386 * (1 + 0) and 1.386 * (0 + 2): raw 1, 3.
        PluginCase::new("two constraints on the zone", &four(), by_zone().spread(soft(1, "zone", "tier"))).with(&[("b", web()), ("x", pod().labels("tier=1")), ("y", pod().labels("tier=2"))]).only(&["a", "x"]).scores(&[100, 33]),
        PluginCase::new("pods of another namespace do not count", &four()[..2], by_node(1)).with(&[("a", web().namespaced("other")), ("b", web())]).scores(&[100, 0]),
        PluginCase::new("terminating pods do not count", &four()[..2], by_node(1)).with(&[("a", web().terminating()), ("b", web())]).scores(&[100, 0]),
        // Weight ln 4: raw 3, 1.
        PluginCase::new("a number of domains has no effect", &four()[..2], web().spread(min_domains(10, soft(1, HOST, "app=web")))).with(&each("app=web", &[("a", 2), ("b", 1)])).scores(&[33, 100]),
        // Without z2's nodes, its count is 0: raw 1 (1.386 * 1) and 0.
        PluginCase::new("pods on nodes that the selector excludes do not count", &four(), by_zone().on("zone=z1")).with(&each("app=web", &[("a", 1), ("x", 3)])).scores(&[0, 0, 100, 100]),
        PluginCase::new("unless their affinity is ignored", &four(), web().on("zone=z1").spread(ignoring_affinity(soft(1, "zone", "app=web")))).with(&each("app=web", &[("a", 1), ("x", 3)])).scores(&[100, 100, 25, 25]),
        PluginCase::new("pods on nodes that the affinity excludes do not count", &four(), on_nodes(by_zone(), &["a", "b", "y"])).with(&each("app=web", &[("a", 1), ("x", 3), ("y", 2)])).scores(&[100, 100, 33, 33]),
        PluginCase::new("unless that affinity is ignored", &four(), on_nodes(web(), &["a", "b", "y"]).spread(ignoring_affinity(soft(1, "zone", "app=web")))).with(&each("app=web", &[("a", 1), ("x", 3), ("y", 2)])).scores(&[100, 100, 14, 14]),
        PluginCase::new("pods on tainted nodes count", &spot, by_zone()).with(&each("app=web", &[("a", 1), ("y", 2)])).scores(&[100, 100, 33, 33]),
        PluginCase::new("unless taints are honoured", &spot, web().spread(honoring_taints(soft(1, "zone", "app=web")))).with(&each("app=web", &[("a", 1), ("y", 2)])).scores(&[0, 0, 100, 100]),
        PluginCase::new("label keys narrow the selector", &four(), pod().labels("app=web rev=2").spread(matching_keys(&["rev"], soft(1, HOST, "app=web")))).with(&revisions).scores(&[100, 100, 0, 100]),
        PluginCase::new("label keys make an empty selector count", &four(), pod().labels("app=web rev=2").spread(matching_keys(&["rev"], soft(1, HOST, "")))).with(&revisions).scores(&[100, 100, 0, 100]),
        // By name: 1.791 * (1, 2, 0, 0) + 2; no zones: one domain of nodes without, not scored.
        PluginCase::new("the system's defaults without zones", &four(), web()).having(service("app=web")).with(&service_pods).scores(&[66, 33, 100, 100]),
        // By name 1.791 * (1, 2, 0, 0) + 2, by zone 1.386 * (3, 3, 0, 0) + 4: raw 12, 14, 6, 6.
        PluginCase::new("the system's defaults with zones", &zones, web()).having(service("app=web")).with(&service_pods).scores(&[57, 42, 100, 100]),
        // b without a zone: by name only 1.791 * 2 + 2 = 6; a 4 + ln 4 * 1 + 4 = 9; x and y 2 + 4.
        PluginCase::new("the system's defaults, one node without a zone", &{ let mut nodes = zones.clone(); nodes[1].labels.remove("topology.kubernetes.io/zone"); nodes }, web()).having(service("app=web")).with(&service_pods).scores(&[66, 100, 100, 100]),
        // List defaults need every key: b gets nothing.
        PluginCase::new("list defaults, one node without a zone", &{ let mut nodes = four(); nodes[1].labels.remove("zone"); nodes }, web()).with_args(NAME, defaulting(&[soft(1, HOST, "-"), soft(1, "zone", "-")])).having(service("app=web")).with(&service_pods).scores(&[0, 0, 100, 100]),
        PluginCase::new("list defaults, and the pod has its own", &four(), by_node(1)).with_args(NAME, defaulting(&[soft(5, "zone", "-")])).having(service("app=web")).with(&counts).scores(&[20, 60, 100, 0]),
    ];
    cases
}
