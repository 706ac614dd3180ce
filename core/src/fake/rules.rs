//! What pods want of other pods, and the objects around them: labels, affinity, spread constraints,
//! services and owners, nominations, budgets. The alphabets are small, so that much matches.

use super::{Feature, Rng, word};
use crate::input::{
    DisruptionBudgetInput, LabelSelectorInput, Labels, OwnerInput, PodAffinityInput, PodAffinityTermInput,
    PodInput, RequirementInput, ServiceInput, SpreadConstraintInput, WorkloadInput, WorkloadKind,
};
use crate::naive::{NaiveCluster, NaivePod};

pub(super) const NAMESPACES: [&str; 3] = ["default", "team-a", "team-b"];
const KEYS: [&str; 3] = ["app", "tier", "rev"];
const VALUES: [&str; 3] = ["a", "b", ""];
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Keys that nodes have, some have, and none has.
const TOPOLOGY_KEYS: [&str; 7] = [
    HOSTNAME,
    HOSTNAME,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "disk",
    "nowhere",
];
const OWNERS: [&str; 2] = ["owner-0", "owner-1"];
const KINDS: [WorkloadKind; 3] =
    [WorkloadKind::ReplicationController, WorkloadKind::ReplicaSet, WorkloadKind::StatefulSet];

/// Gives a pod labels and rules about other pods.
pub(super) fn add_rules(rng: &mut Rng, pod: &mut PodInput) {
    if rng.uses(Feature::PodLabels) {
        pod.labels = labels(rng);
    }
    let features = [
        (Feature::PodAffinity, Feature::PreferredPodAffinity),
        (Feature::PodAntiAffinity, Feature::PreferredPodAntiAffinity),
    ];
    let [near, away] = features.map(|(required, preferred)| pod_affinity(rng, required, preferred));
    (pod.pod_affinity, pod.pod_anti_affinity) = (near, away);
    for (feature, schedule_anyway) in [(Feature::HardSpread, false), (Feature::SoftSpread, true)] {
        if rng.uses(feature) {
            let count = rng.range(1..=2);
            pod.spread_constraints.extend((0..count).map(|_| constraint(rng, schedule_anyway)));
        }
    }
    if rng.uses(Feature::Owners) {
        let (api_version, kind) = rng.pick(&KINDS).type_names();
        pod.controller = Some(OwnerInput {
            api_version: api_version.to_owned(),
            kind: if rng.chance(90) { kind } else { "Job" }.to_owned(),
            name: word(rng, &OWNERS),
            uid: String::new(),
        });
    }
    pod.is_terminating = rng.uses(Feature::TerminatingPods);
}

/// Gives a cluster namespaces, services, workloads and budgets.
pub fn add_objects(rng: &mut Rng, cluster: &mut NaiveCluster) {
    for name in NAMESPACES {
        if rng.chance(80) {
            let labels = labels(rng);
            cluster.namespaces.insert(name.to_owned(), labels);
        }
    }
    if rng.uses(Feature::Services) {
        for at in 0..rng.range(1..=4) {
            cluster.services.push(ServiceInput {
                namespace: word(rng, &NAMESPACES),
                name: format!("service-{at}"),
                selector: rng.chance(90).then(|| labels(rng)),
            });
        }
    }
    if rng.uses(Feature::Owners) {
        for kind in KINDS {
            for namespace in NAMESPACES {
                for name in OWNERS {
                    if rng.chance(50) {
                        cluster.workloads.push(workload(rng, kind, namespace, name));
                    }
                }
            }
        }
    }
    if rng.uses(Feature::DisruptionBudgets) {
        for at in 0..rng.range(1..=4) {
            cluster.budgets.push(DisruptionBudgetInput {
                namespace: word(rng, &NAMESPACES),
                name: format!("budget-{at}"),
                selector: rng.chance(90).then(|| selector(rng)),
                disruptions_allowed: *rng.pick(&[0, 0, 1, 2]),
                disrupted_pods: (0..rng.range(0..=2)).map(|_| format!("p{}", rng.range(0..=30))).collect(),
            });
        }
    }
}

/// Gives a cluster pods that wait for room on its nodes, or on a node that is not there.
pub fn add_nominations(rng: &mut Rng, cluster: &mut NaiveCluster) {
    if !rng.uses(Feature::NominatedPods) {
        return;
    }
    for at in 0..rng.range(1..=4) {
        let input = super::pod(rng);
        let mut pod = identified(rng, input, &format!("nominated-{at}"));
        pod.meta.start_time_s = None;
        let node = rng.range(0..=cluster.nodes.len());
        let name = cluster.nodes.get(node).map_or("gone".to_owned(), |node| node.input.name.clone());
        pod.meta.nominated_node_name = Some(name);
        cluster.nominated.push(pod);
    }
}

/// A pod with a name, a start time that others may share, and a way out.
pub fn identified(rng: &mut Rng, input: PodInput, name: &str) -> NaivePod {
    let mut pod = NaivePod::from(input);
    pod.meta.name = name.to_owned();
    pod.meta.uid = name.to_owned();
    pod.meta.start_time_s = rng.chance(90).then(|| rng.range(0..=20) as i64);
    pod.meta.is_terminating = pod.input.is_terminating;
    pod.meta.is_preempted = pod.input.is_terminating && rng.chance(50);
    pod
}

/// A default constraint of PodTopologySpread.
pub(crate) fn default_constraint(rng: &mut Rng) -> SpreadConstraintInput {
    SpreadConstraintInput {
        max_skew: rng.range(1..=3) as i32,
        topology_key: word(rng, &TOPOLOGY_KEYS),
        schedule_anyway: rng.chance(50),
        ..Default::default()
    }
}

fn labels(rng: &mut Rng) -> Labels {
    let count = rng.range(0..=3);
    (0..count).map(|_| (word(rng, &KEYS), word(rng, &VALUES))).collect()
}

fn selector(rng: &mut Rng) -> LabelSelectorInput {
    let mut selector = LabelSelectorInput::default();
    for _ in 0..*rng.pick(&[0, 1, 1, 1, 2]) {
        if rng.chance(50) {
            selector.match_labels.insert(word(rng, &KEYS), word(rng, &VALUES));
        } else {
            selector.match_expressions.push(requirement(rng));
        }
    }
    selector
}

fn requirement(rng: &mut Rng) -> RequirementInput {
    let operator = word(rng, &["In", "NotIn", "Exists", "DoesNotExist"]);
    let has_values = operator == "In" || operator == "NotIn";
    let count = if has_values { rng.range(1..=2) } else { 0 };
    let values = (0..count).map(|_| word(rng, &VALUES)).collect();
    RequirementInput { key: word(rng, &KEYS), operator, values }
}

fn pod_affinity(rng: &mut Rng, required: Feature, preferred: Feature) -> PodAffinityInput {
    let mut affinity = PodAffinityInput::default();
    if rng.uses(required) {
        let count = *rng.pick(&[1, 1, 2]);
        affinity.required = (0..count).map(|_| term(rng)).collect();
    }
    if rng.uses(preferred) {
        let count = rng.range(1..=3);
        affinity.preferred = (0..count).map(|_| (rng.range(1..=100) as i32, term(rng))).collect();
    }
    affinity
}

fn term(rng: &mut Rng) -> PodAffinityTermInput {
    let has_namespaces = rng.uses(Feature::Namespaces);
    let namespaces = if has_namespaces { rng.range(0..=2) } else { 0 };
    PodAffinityTermInput {
        label_selector: rng.chance(95).then(|| selector(rng)),
        namespaces: (0..namespaces).map(|_| word(rng, &NAMESPACES)).collect(),
        namespace_selector: (has_namespaces && rng.chance(60)).then(|| selector(rng)),
        topology_key: word(rng, &TOPOLOGY_KEYS),
    }
}

fn constraint(rng: &mut Rng, schedule_anyway: bool) -> SpreadConstraintInput {
    let has_policies = rng.uses(Feature::SpreadPolicies);
    let key_count = if rng.uses(Feature::MatchLabelKeys) { rng.range(1..=2) } else { 0 };
    SpreadConstraintInput {
        max_skew: *rng.pick(&[1, 1, 1, 2, 3]),
        topology_key: word(rng, &TOPOLOGY_KEYS),
        schedule_anyway,
        label_selector: rng.chance(95).then(|| selector(rng)),
        min_domains: (!schedule_anyway && rng.chance(20)).then(|| rng.range(1..=5) as i32),
        ignore_node_affinity: has_policies && rng.chance(50),
        honor_node_taints: has_policies && rng.chance(50),
        match_label_keys: (0..key_count).map(|_| word(rng, &KEYS)).collect(),
    }
}

fn workload(rng: &mut Rng, kind: WorkloadKind, namespace: &str, name: &str) -> WorkloadInput {
    let mut selector = selector(rng);
    if kind == WorkloadKind::ReplicationController {
        selector.match_expressions.clear();
    }
    WorkloadInput {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        selector: rng.chance(95).then_some(selector),
    }
}
