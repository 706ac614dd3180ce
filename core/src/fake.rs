//! Random clusters and pods for property tests: same seed, same cluster.
//!
//! Each seed first draws how often every [`Feature`] is used: most are off, some are rare, a few
//! are everywhere. So one seed has nothing but taints, the next mixes sidecars with huge pages on
//! nodes without memory, and mixes occur that a fixed rate for each feature would never show.
//! Names, keys and values come from small pools, so that things meet.

mod devices;
mod resources;
mod rules;
mod volumes;

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::input::{
    ContainerInput, ImageInput, Labels, NodeAffinityInput, NodeInput, NodeSelectorTermInput, PodInput,
    RequirementInput, TaintInput, TolerationInput,
};
use crate::naive::schedule::NaiveProfile;
use crate::naive::{NaiveCluster, NaiveNode};
use crate::plugins::IN_TREE;
use crate::quantity::Quantity;

pub(crate) use devices::add_resource_claims;
pub use devices::dra;
#[cfg(test)]
pub(crate) use devices::dra_with_all;
pub use volumes::storage;

/// Names a seed for replay.
const SEED_VARIABLE: &str = "SCHEDLAB_SEED";

/// How often a seed may use a feature, in percent. Off is the most likely.
const RATES_PERCENT: [u64; 7] = [0, 0, 0, 0, 10, 40, 90];

/// Something that a cluster or a pod can have, and that a seed uses often, rarely or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Feature {
    Zones,
    Taints,
    Cordons,
    NodeSelector,
    RequiredAffinity,
    PreferredAffinity,
    MatchFields,
    EmptyTerms,
    UnreadableTerms,
    NodeName,
    HostPorts,
    Images,
    ImageVolumes,
    EphemeralStorage,
    ExtendedResources,
    HugePages,
    OddQuantities,
    NoRequests,
    InitContainers,
    Sidecars,
    Overhead,
    PodLevelResources,
    Resizes,
    EmptyNodes,
    CrowdedNodes,
    OvercommittedNodes,
    Hostnames,
    PodLabels,
    PodAffinity,
    PodAntiAffinity,
    PreferredPodAffinity,
    PreferredPodAntiAffinity,
    Namespaces,
    HardSpread,
    SoftSpread,
    SpreadPolicies,
    MatchLabelKeys,
    Services,
    Owners,
    TerminatingPods,
    NominatedPods,
    DisruptionBudgets,
    Claims,
    EphemeralVolumes,
    InlineDisks,
    DeclaredFeatures,
    Devices,
}

const FEATURE_COUNT: usize = Feature::Devices as usize + 1;

/// A small seeded generator (splitmix64), with the seed's rates of features.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
    rates_percent: [u64; FEATURE_COUNT],
}

impl Rng {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng { state: seed, rates_percent: [0; FEATURE_COUNT] };
        // Some seeds leave most features out, so that what little is left decides.
        let dropped_percent = if rng.chance(40) { 75 } else { 0 };
        rng.rates_percent = [(); FEATURE_COUNT].map(|()| {
            let rate = *rng.pick(&RATES_PERCENT);
            if rng.chance(dropped_percent) { 0 } else { rate }
        });
        rng
    }

    /// Uses these features often, whatever the seed drew: for tests of what needs them together.
    pub fn favor(&mut self, features: &[Feature]) {
        for feature in features {
            self.rates_percent[*feature as usize] = 70;
        }
    }

    /// Leaves these features out, whatever the seed drew.
    pub fn avoid(&mut self, features: &[Feature]) {
        for feature in features {
            self.rates_percent[*feature as usize] = 0;
        }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of the range.
    pub fn range(&mut self, range: RangeInclusive<usize>) -> usize {
        let (start, end) = range.into_inner();
        assert!(start <= end);
        start + (self.next_u64() % (end - start + 1) as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next_u64() % 100 < percent
    }

    /// One of them.
    ///
    /// # Panics
    ///
    /// When there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.range(0..=choices.len() - 1)]
    }

    /// Whether the seed uses a feature at all.
    #[must_use]
    pub fn may_use(&self, feature: Feature) -> bool {
        self.rates_percent[feature as usize] > 0
    }

    /// Whether to use a feature here, at the seed's rate.
    pub fn uses(&mut self, feature: Feature) -> bool {
        let percent = self.rates_percent[feature as usize];
        self.chance(percent)
    }
}

/// Runs a check for the seeds from 0 on, or only for the one in `SCHEDLAB_SEED`.
///
/// # Panics
///
/// When the check does: with the seed and the command to replay it.
pub fn for_each_seed(name: &str, count: u64, check: impl Fn(&mut Rng)) {
    let seeds = match std::env::var(SEED_VARIABLE) {
        Ok(text) => {
            let seed: u64 = text.parse().expect("SCHEDLAB_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..count,
    };
    for seed in seeds {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&mut Rng::new(seed))));
        assert!(
            outcome.is_ok(),
            "SEED={seed}; replay with {SEED_VARIABLE}={seed} cargo test -p schedlab-core {name}"
        );
    }
}

use resources::{HUGE_PAGES, allocatable, container, requests, resize};
pub(crate) use rules::default_constraint;
pub use rules::{add_nominations, add_objects, identified};

/// A cluster with some pods on its nodes, fitting or not, named `p0`, `p1` and so on, with objects
/// around them and pods that wait for room.
pub fn cluster(rng: &mut Rng, node_count: RangeInclusive<usize>) -> NaiveCluster {
    let mut cluster = NaiveCluster::new(nodes(rng, node_count));
    for object in storage(rng) {
        cluster.storage.put(object);
    }
    for object in dra(rng) {
        cluster.dra.put(object);
    }
    let mut pod_count = 0;
    for NaiveNode { pods, .. } in &mut cluster.nodes {
        let pods_max = if rng.uses(Feature::OvercommittedNodes) { 20 } else { 3 };
        for _ in 0..rng.range(0..=pods_max) {
            let input = bound_pod(rng);
            pods.push(identified(rng, input, &format!("p{pod_count}")));
            pod_count += 1;
        }
    }
    add_objects(rng, &mut cluster);
    add_nominations(rng, &mut cluster);
    cluster
}

/// Nodes named `n0`, `n1` and so on.
pub fn nodes(rng: &mut Rng, count: RangeInclusive<usize>) -> Vec<NodeInput> {
    (0..rng.range(count)).map(|i| node(rng, i)).collect()
}

/// A node named `n<index>`.
pub fn node(rng: &mut Rng, index: usize) -> NodeInput {
    let mut node =
        NodeInput { name: format!("n{index}"), allocatable: allocatable(rng), ..Default::default() };
    for key in LABEL_KEYS {
        if rng.chance(50) {
            let value = word(rng, &LABEL_VALUES);
            node.labels.insert(key.to_owned(), value);
        }
    }
    if rng.uses(Feature::Zones) {
        for key in ZONE_KEYS {
            if rng.chance(60) {
                let value = word(rng, &ZONE_VALUES);
                node.labels.insert(key.to_owned(), value);
            }
        }
    }
    if rng.uses(Feature::Hostnames) {
        node.labels.insert("kubernetes.io/hostname".to_owned(), node.name.clone());
    }
    for plugin in IN_TREE {
        (plugin.twin.fakes.node)(rng, &mut node);
    }
    node
}

/// A pending pod.
pub fn pod(rng: &mut Rng) -> PodInput {
    let mut pod = bound_pod(rng);
    pod.resource_status = Default::default();
    pod.is_terminating = false;
    for container in pod.containers.iter_mut().chain(&mut pod.init_containers) {
        container.status = None;
    }
    for plugin in IN_TREE {
        (plugin.twin.fakes.pending_pod)(rng, &mut pod);
    }
    pod
}

/// A pod as it runs on a node: with a status, and without wishes about where to go.
pub fn bound_pod(rng: &mut Rng) -> PodInput {
    let mut pod = PodInput {
        namespace: word(rng, &rules::NAMESPACES),
        priority: *rng.pick(&[0, 0, 0, 10, 1000, -5]),
        containers: (0..rng.range(1..=3)).map(|i| container(rng, &format!("c{i}"))).collect(),
        ..Default::default()
    };
    if rng.uses(Feature::InitContainers) || rng.uses(Feature::Sidecars) {
        pod.init_containers = (0..rng.range(1..=3))
            .map(|i| ContainerInput {
                is_sidecar: rng.uses(Feature::Sidecars),
                ..container(rng, &format!("i{i}"))
            })
            .collect();
    }
    if rng.uses(Feature::Overhead) {
        pod.overhead = requests(rng);
    }
    if rng.uses(Feature::PodLevelResources) {
        pod.pod_requests = Some(requests(rng));
    }
    for plugin in IN_TREE {
        (plugin.twin.fakes.pod)(rng, &mut pod);
    }
    volumes::add(rng, &mut pod);
    if rng.uses(Feature::Resizes) {
        resize(rng, &mut pod);
    }
    rules::add_rules(rng, &mut pod);
    pod
}

/// A profile: the default one, or with other strategies, resources and percentages.
pub fn profile(rng: &mut Rng) -> NaiveProfile {
    let mut profile = NaiveProfile::default();
    if rng.chance(50) {
        return profile;
    }
    profile.percentage_of_nodes_to_score = *rng.pick(&[0, 0, 1, 30, 70, 100]);
    profile.args = IN_TREE.iter().map(|plugin| (plugin.name, (plugin.twin.fakes.args)(rng))).collect();
    profile
}

const LABEL_KEYS: [&str; 4] = ["disk", "cores", "example.com/rack", "pool"];
const LABEL_VALUES: [&str; 9] = ["", "a", "b", "ssd", "3", "7", "007", "12", "2.5"];
const ZONE_KEYS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];
const ZONE_VALUES: [&str; 4] = ["z1", "z2", "z3", ""];
const TAINT_KEYS: [&str; 3] = ["gpu", "team", "spot"];
const TAINT_VALUES: [&str; 3] = ["", "red", "blue"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const IMAGES: [&str; 7] =
    ["web:1", "web", "web:latest", "db:9", "host:5000/tool", "host:5000/tool:latest", "huge:1"];
const EXTENDED_RESOURCES: [&str; 3] = ["example.com/gpu", "acme.org/fpga", "kubernetes.io/thing"];
const DECLARED_FEATURES: [&str; 4] = [
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
    "SomethingElse",
];

/// One of the texts.
fn word(rng: &mut Rng, pool: &[&str]) -> String {
    (*rng.pick(pool)).to_owned()
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).expect("the pools hold quantities")
}

fn pick_quantity(rng: &mut Rng, plain: &[&str], odd: &[&str]) -> Quantity {
    let pool = if rng.uses(Feature::OddQuantities) { odd } else { plain };
    quantity(&word(rng, pool))
}

pub(crate) fn taint(rng: &mut Rng) -> TaintInput {
    TaintInput { key: word(rng, &TAINT_KEYS), value: word(rng, &TAINT_VALUES), effect: word(rng, &EFFECTS) }
}

pub(crate) fn toleration(rng: &mut Rng) -> TolerationInput {
    let operators = ["", "Equal", "Equal", "Exists", "Exists", "Gt"];
    TolerationInput {
        key: word(rng, &["gpu", "team", "spot", ""]),
        operator: word(rng, &operators),
        value: word(rng, &TAINT_VALUES),
        effect: word(rng, &["", "NoSchedule", "PreferNoSchedule", "NoExecute"]),
        seconds: None,
    }
}

pub(crate) fn image(rng: &mut Rng) -> ImageInput {
    const MIB: i64 = 1024 * 1024;
    ImageInput {
        names: (0..rng.range(1..=2)).map(|_| word(rng, &IMAGES)).collect(),
        size_bytes: *rng.pick(&[0, 10 * MIB, 23 * MIB, 150 * MIB, 999 * MIB + 7, 3000 * MIB]),
    }
}

/// The name of an image.
pub(crate) fn image_name(rng: &mut Rng) -> String {
    word(rng, &IMAGES)
}

/// An extended resource.
pub(crate) fn extended_resource(rng: &mut Rng) -> String {
    word(rng, &EXTENDED_RESOURCES)
}

/// What a node declares, sorted mostly.
pub(crate) fn declared_features(rng: &mut Rng) -> Vec<String> {
    let mut features: Vec<String> = (0..rng.range(0..=3)).map(|_| word(rng, &DECLARED_FEATURES)).collect();
    if rng.chance(80) {
        features.sort();
    }
    features
}

/// A node selector.
pub(crate) fn node_selector(rng: &mut Rng) -> Labels {
    let count = rng.range(0..=2);
    (0..count).map(|_| (word(rng, &LABEL_KEYS), word(rng, &LABEL_VALUES))).collect()
}

/// A name that a node of a small cluster has.
pub(crate) fn node_name(rng: &mut Rng) -> String {
    format!("n{}", rng.range(0..=11))
}

pub(crate) fn node_affinity(rng: &mut Rng) -> NodeAffinityInput {
    let mut affinity = NodeAffinityInput::default();
    if rng.uses(Feature::RequiredAffinity) {
        affinity.required = Some((0..rng.range(0..=3)).map(|_| term(rng)).collect());
        if rng.chance(20) {
            affinity.required_during_execution = Some(vec![term(rng), readable_term(rng)]);
        }
    }
    if rng.uses(Feature::PreferredAffinity) {
        let weights = [1, 1, 2, 10, 100, 0];
        affinity.preferred = Some((0..rng.range(0..=3)).map(|_| (*rng.pick(&weights), term(rng))).collect());
    }
    affinity
}

fn term(rng: &mut Rng) -> NodeSelectorTermInput {
    if rng.uses(Feature::EmptyTerms) {
        return NodeSelectorTermInput::default();
    }
    let mut term = NodeSelectorTermInput::default();
    if rng.uses(Feature::MatchFields) {
        term.match_fields = (0..rng.range(1..=2)).map(|_| field(rng)).collect();
    }
    if term.match_fields.is_empty() || rng.chance(30) {
        term.match_expressions = (0..rng.range(1..=2)).map(|_| expression(rng)).collect();
    }
    if rng.uses(Feature::UnreadableTerms) && rng.chance(50) {
        term.match_expressions.push(unreadable_expression(rng));
    }
    term
}

pub(crate) fn readable_term(rng: &mut Rng) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: vec![expression(rng)], match_fields: Vec::new() }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> RequirementInput {
    RequirementInput {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

fn field(rng: &mut Rng) -> RequirementInput {
    let name = node_name(rng);
    match rng.range(0..=9) {
        0 => requirement("metadata.namespace", "NotIn", &[&name]),
        1 | 2 => requirement("metadata.name", "NotIn", &[&name]),
        3 => requirement("metadata.name", "In", &[&name, "n1"]),
        _ => requirement("metadata.name", "In", &[&name]),
    }
}

fn expression(rng: &mut Rng) -> RequirementInput {
    let key = *rng.pick(&["disk", "cores", "example.com/rack", "pool", "absent", ZONE_KEYS[0]]);
    let (one, two) = (*rng.pick(&LABEL_VALUES), *rng.pick(&LABEL_VALUES));
    let bound = *rng.pick(&["0", "3", "007", "10"]);
    match rng.range(0..=7) {
        0 => requirement(key, "Exists", &[]),
        1 => requirement(key, "DoesNotExist", &[]),
        2 => requirement(key, "Gt", &[bound]),
        3 => requirement(key, "Lt", &[bound]),
        4 => requirement(key, "NotIn", &[one, two]),
        _ => requirement(key, "In", &[one, two, "z1"]),
    }
}

fn unreadable_expression(rng: &mut Rng) -> RequirementInput {
    match rng.range(0..=5) {
        0 => requirement("not a key!", "Exists", &[]),
        1 => requirement("disk", "In", &[]),
        2 => requirement("disk", "Near", &["a"]),
        3 => requirement("cores", "Gt", &["2.5"]),
        4 => requirement("cores", "Lt", &["-3"]),
        _ => requirement("disk", "NotIn", &["no spaces"]),
    }
}

/// Points of ascending utilisation and scores of 0 to 100.
pub(crate) fn shape(rng: &mut Rng) -> Vec<(i64, i64)> {
    let mut points: Vec<(i64, i64)> = Vec::new();
    for utilization in [0, 7, 40, 85, 100] {
        if rng.chance(60) {
            points.push((utilization, rng.range(0..=10) as i64 * 10));
        }
    }
    if points.is_empty() {
        points.push((50, 50));
    }
    points
}

/// Resources that count in a score, and how much.
pub(crate) fn resource_weights(rng: &mut Rng) -> Vec<(String, i64)> {
    let names = ["cpu", "memory", "ephemeral-storage", EXTENDED_RESOURCES[0], HUGE_PAGES[0]];
    let mut specs: Vec<(String, i64)> = Vec::new();
    for name in names {
        if specs.is_empty() || rng.chance(50) {
            specs.push((name.to_owned(), *rng.pick(&[1, 1, 2, 7, 100])));
        }
    }
    specs
}

#[cfg(test)]
mod tests;
