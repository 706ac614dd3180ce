//! Random clusters and pods as API objects: same seed, same objects.
//!
//! As the generator of the property tests (`core/src/fake.rs`) each seed first draws how often every
//! feature is used: most are off, some rare, a few everywhere; and names, keys and values come from small
//! pools, so that things meet.

use serde_json::{Map, Value, json};

/// How often a seed may use a feature, in percent.
const RATES_PERCENT: [u64; 6] = [0, 0, 0, 15, 40, 90];

/// What a cluster or a pod can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    Zones,
    Taints,
    Cordons,
    NodeSelector,
    RequiredAffinity,
    PreferredAffinity,
    MatchFields,
    HostPorts,
    Images,
    ExtendedResources,
    EphemeralStorage,
    OddQuantities,
    NoRequests,
    InitContainers,
    Overhead,
    PodLevelResources,
    CrowdedNodes,
    PodAffinity,
    PodAntiAffinity,
    PreferredPodAffinity,
    Namespaces,
    HardSpread,
    SoftSpread,
    SpreadPolicies,
    Services,
    Priorities,
    DisruptionBudgets,
    Claims,
    InlineDisks,
}

const FEATURE_COUNT: usize = Feature::InlineDisks as usize + 1;

/// A small seeded generator (splitmix64) with the seed's rates.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
    rates_percent: [u64; FEATURE_COUNT],
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        let mut random = Random { state: seed, rates_percent: [0; FEATURE_COUNT] };
        let dropped_percent = if random.chance(40) { 70 } else { 0 };
        random.rates_percent = [(); FEATURE_COUNT].map(|()| {
            let rate = *random.pick(&RATES_PERCENT);
            if random.chance(dropped_percent) { 0 } else { rate }
        });
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `most`.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        self.next() % (most + 1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let at = self.next() % choices.len() as u64;
        &choices[usize::try_from(at).unwrap_or(0)]
    }

    fn uses(&mut self, feature: Feature) -> bool {
        let percent = self.rates_percent[feature as usize];
        self.chance(percent)
    }

    fn may_use(&self, feature: Feature) -> bool {
        0 < self.rates_percent[feature as usize]
    }
}

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const HOSTNAME: &str = "kubernetes.io/hostname";
const NAMESPACES: [&str; 3] = ["default", "team-a", "team-b"];
const LABEL_KEYS: [&str; 3] = ["disk", "cores", "example.com/rack"];
const LABEL_VALUES: [&str; 6] = ["", "a", "ssd", "3", "7", "12"];
const POD_KEYS: [&str; 3] = ["app", "tier", "rev"];
const POD_VALUES: [&str; 3] = ["a", "b", ""];
const ZONES: [&str; 3] = ["z1", "z2", "z3"];
const IMAGES: [&str; 5] = ["web:1", "web", "web:latest", "db:9", "host:5000/tool"];
const EXTENDED: [&str; 2] = ["example.com/gpu", "acme.org/fpga"];
const TOPOLOGY_KEYS: [&str; 6] = [HOSTNAME, HOSTNAME, ZONE, ZONE, REGION, "disk"];

/// The objects of a cluster, in an order in which they can be created: pods last, on their nodes.
pub(super) fn cluster(random: &mut Random) -> Vec<Value> {
    let node_count = 1 + random.up_to(9);
    let mut objects: Vec<Value> = NAMESPACES.iter().map(|name| namespace(random, name)).collect();
    let nodes: Vec<Value> = (0..node_count).map(|at| random_node(random, at)).collect();
    objects.extend(nodes);
    if random.may_use(Feature::Services) {
        objects.extend((0..1 + random.up_to(2)).map(|at| service(random, at)));
    }
    if random.may_use(Feature::Claims) {
        objects.extend(storage(random, node_count));
    }
    for at in 0..random.up_to(2 * node_count + 2) {
        let node = random.up_to(node_count - 1);
        let mut bound = random_pod(random, &format!("b{at}"));
        bound["spec"]["nodeName"] = json!(format!("n{node}"));
        // What runs is where it is whatever it wished, and claims of it would have to be bound.
        for wish in ["nodeSelector", "volumes", "topologySpreadConstraints"] {
            if let Some(spec) = bound["spec"].as_object_mut() {
                spec.remove(wish);
            }
        }
        objects.push(bound);
    }
    if random.may_use(Feature::DisruptionBudgets) {
        objects.extend((0..1 + random.up_to(2)).map(|at| budget(random, at)));
    }
    objects
}

fn namespace(random: &mut Random, name: &str) -> Value {
    let labels = labels(random, &POD_KEYS, &POD_VALUES, 2);
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

fn random_node(random: &mut Random, at: u64) -> Value {
    let name = format!("n{at}");
    let mut labels = labels(random, &LABEL_KEYS, &LABEL_VALUES, 3);
    if random.uses(Feature::Zones) {
        labels.insert(ZONE.to_owned(), json!(random.pick(&ZONES)));
        labels.insert(REGION.to_owned(), json!(random.pick(&["r1", "r2"])));
    }
    if random.chance(90) {
        labels.insert(HOSTNAME.to_owned(), json!(name));
    }
    let pods: &[&str] = if random.uses(Feature::CrowdedNodes) { &["1", "2", "3"] } else { &["30", "110"] };
    let mut room = json!({
        "cpu": random.pick(&["1", "2", "4", "7900m", "16"]),
        "memory": random.pick(&["1Gi", "4Gi", "7.5Gi", "16Gi"]),
        "pods": random.pick(pods),
    });
    if random.uses(Feature::EphemeralStorage) {
        room["ephemeral-storage"] = json!(random.pick(&["1Gi", "100G"]));
    }
    for resource in EXTENDED {
        if random.uses(Feature::ExtendedResources) {
            room[resource] = json!(random.pick(&["0", "1", "4"]));
        }
    }
    let mut spec = Map::new();
    if random.uses(Feature::Taints) {
        let taints: Vec<Value> = (0..1 + random.up_to(1)).map(|_| taint(random)).collect();
        spec.insert("taints".to_owned(), json!(distinct(taints)));
    }
    if random.uses(Feature::Cordons) {
        spec.insert("unschedulable".to_owned(), json!(true));
    }
    let images: Vec<Value> = if random.uses(Feature::Images) { vec![image(random)] } else { Vec::new() };
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec,
        "status": {"allocatable": room, "capacity": room, "images": images},
    })
}

/// A taint is known by its key and effect.
fn distinct(mut taints: Vec<Value>) -> Vec<Value> {
    let mut known: Vec<(Value, Value)> = Vec::new();
    taints.retain(|taint| {
        let id = (taint["key"].clone(), taint["effect"].clone());
        let is_new = !known.contains(&id);
        known.push(id);
        is_new
    });
    taints
}

fn taint(random: &mut Random) -> Value {
    json!({
        "key": random.pick(&["gpu", "team"]), "value": random.pick(&["", "red", "blue"]),
        "effect": random.pick(&["NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"]),
    })
}

fn image(random: &mut Random) -> Value {
    let size = *random.pick(&[10_i64, 150, 999, 3000]) * 1024 * 1024;
    json!({"names": [random.pick(&IMAGES)], "sizeBytes": size})
}

fn service(random: &mut Random, at: u64) -> Value {
    let selector = labels(random, &POD_KEYS, &POD_VALUES, 2);
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": format!("s{at}"), "namespace": random.pick(&NAMESPACES)},
        "spec": {"selector": selector, "ports": [{"port": 80}]},
    })
}

fn budget(random: &mut Random, at: u64) -> Value {
    let allowed = random.up_to(2);
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": format!("budget-{at}"), "namespace": random.pick(&NAMESPACES)},
        "spec": {"selector": selector(random), "minAvailable": 1},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3},
    })
}

/// A pod that waits.
pub(super) fn random_pod(random: &mut Random, name: &str) -> Value {
    let containers: Vec<Value> =
        (0..1 + random.up_to(1)).map(|at| container(random, &format!("c{at}"))).collect();
    let mut spec = json!({"containers": containers});
    if random.uses(Feature::Priorities) {
        spec["priority"] = json!(random.pick(&[-5, 0, 10, 1000]));
        if random.chance(10) {
            spec["preemptionPolicy"] = json!("Never");
        }
    }
    if random.uses(Feature::InitContainers) {
        let mut init = container(random, "i0");
        if random.chance(50) {
            init["restartPolicy"] = json!("Always");
        }
        spec["initContainers"] = json!([init]);
    }
    if random.uses(Feature::Overhead) {
        spec["overhead"] = json!({"cpu": "50m"});
    }
    if random.uses(Feature::PodLevelResources) {
        spec["resources"] = json!({"requests": {"cpu": "3", "memory": "3Gi"}});
    }
    if random.uses(Feature::NodeSelector) {
        spec["nodeSelector"] = json!(labels(random, &LABEL_KEYS, &LABEL_VALUES, 1));
    }
    if random.uses(Feature::Taints) {
        let count = 1 + random.up_to(1);
        spec["tolerations"] = (0..count).map(|_| toleration(random)).collect();
    }
    spec["affinity"] = affinity(random);
    let constraints = spread_constraints(random);
    if !constraints.is_empty() {
        spec["topologySpreadConstraints"] = json!(constraints);
    }
    let volumes = volumes(random);
    if !volumes.is_empty() {
        spec["volumes"] = json!(volumes);
    }
    let labels = labels(random, &POD_KEYS, &POD_VALUES, 3);
    let namespace = if random.uses(Feature::Namespaces) { random.pick(&NAMESPACES) } else { "default" };
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn container(random: &mut Random, name: &str) -> Value {
    let mut requests = Map::new();
    if !random.uses(Feature::NoRequests) {
        let is_odd = random.uses(Feature::OddQuantities);
        let cpu: &[&str] =
            if is_odd { &["1e-1", "33.3m", "2.0001"] } else { &["10m", "100m", "500m", "1", "3"] };
        let memory: &[&str] =
            if is_odd { &["0.3Gi", "123456789", "1e8"] } else { &["64Mi", "200Mi", "1Gi", "3Gi"] };
        requests.insert("cpu".to_owned(), json!(random.pick(cpu)));
        requests.insert("memory".to_owned(), json!(random.pick(memory)));
    }
    if random.uses(Feature::EphemeralStorage) {
        requests.insert("ephemeral-storage".to_owned(), json!(random.pick(&["100Mi", "2Gi"])));
    }
    let mut resources = json!({});
    if random.uses(Feature::ExtendedResources) {
        let name = (*random.pick(&EXTENDED)).to_owned();
        requests.insert(name.clone(), json!("1"));
        resources["limits"] = json!({name: "1"});
    }
    resources["requests"] = json!(requests);
    let mut container = json!({"name": name, "image": random.pick(&IMAGES), "resources": resources});
    if random.uses(Feature::HostPorts) {
        let port = *random.pick(&[80, 443]);
        container["ports"] = json!([{
            "containerPort": port, "hostPort": port, "protocol": random.pick(&["TCP", "UDP"]),
            "hostIP": random.pick(&["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),
        }]);
    }
    container
}

fn toleration(random: &mut Random) -> Value {
    let mut toleration = json!({"key": random.pick(&["gpu", "team"])});
    if random.chance(50) {
        toleration["operator"] = json!("Exists");
    } else {
        toleration["value"] = json!(random.pick(&["", "red", "blue"]));
    }
    if random.chance(60) {
        toleration["effect"] = json!(random.pick(&["NoSchedule", "PreferNoSchedule"]));
    }
    toleration
}

fn affinity(random: &mut Random) -> Value {
    let mut affinity = json!({});
    if random.uses(Feature::RequiredAffinity) {
        let terms: Vec<Value> = (0..1 + random.up_to(1)).map(|_| node_term(random)).collect();
        affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
    }
    if random.uses(Feature::PreferredAffinity) {
        let weight = *random.pick(&[1, 2, 10, 100]);
        affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
            json!([{"weight": weight, "preference": node_term(random)}]);
    }
    for (kind, feature) in
        [("podAffinity", Feature::PodAffinity), ("podAntiAffinity", Feature::PodAntiAffinity)]
    {
        if random.uses(feature) {
            affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"] = json!([pod_term(random)]);
        }
        if random.uses(Feature::PreferredPodAffinity) {
            let weight = 1 + random.up_to(99);
            affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"] =
                json!([{"weight": weight, "podAffinityTerm": pod_term(random)}]);
        }
    }
    affinity
}

fn node_term(random: &mut Random) -> Value {
    if random.uses(Feature::MatchFields) {
        let (operator, name) = (*random.pick(&["In", "In", "NotIn"]), format!("n{}", random.up_to(5)));
        return json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]});
    }
    let key = *random.pick(&["disk", "cores", "example.com/rack", "absent", ZONE]);
    let expression = match random.up_to(6) {
        0 => json!({"key": key, "operator": "Exists"}),
        1 => json!({"key": key, "operator": "DoesNotExist"}),
        2 => {
            json!({"key": key, "operator": random.pick(&["Gt", "Lt"]), "values": [random.pick(&["3", "10"])]})
        }
        3 => json!({"key": key, "operator": "NotIn", "values": [random.pick(&LABEL_VALUES)]}),
        _ => json!({"key": key, "operator": "In", "values": [random.pick(&LABEL_VALUES), "z1"]}),
    };
    json!({"matchExpressions": [expression]})
}

fn pod_term(random: &mut Random) -> Value {
    let mut term = json!({"topologyKey": random.pick(&TOPOLOGY_KEYS)});
    if random.chance(95) {
        term["labelSelector"] = selector(random);
    }
    if random.uses(Feature::Namespaces) {
        term["namespaces"] = json!([random.pick(&NAMESPACES)]);
        if random.chance(40) {
            term["namespaceSelector"] = selector(random);
        }
    }
    term
}

fn spread_constraints(random: &mut Random) -> Vec<Value> {
    let mut constraints: Vec<Value> = Vec::new();
    for (feature, when) in [(Feature::HardSpread, "DoNotSchedule"), (Feature::SoftSpread, "ScheduleAnyway")] {
        if !random.uses(feature) {
            continue;
        }
        let mut constraint = json!({
            "maxSkew": random.pick(&[1, 1, 2]), "topologyKey": random.pick(&TOPOLOGY_KEYS),
            "whenUnsatisfiable": when, "labelSelector": selector(random),
        });
        if when == "DoNotSchedule" && random.chance(20) {
            constraint["minDomains"] = json!(1 + random.up_to(3));
        }
        if random.uses(Feature::SpreadPolicies) {
            constraint["nodeAffinityPolicy"] = json!(random.pick(&["Honor", "Ignore"]));
            constraint["nodeTaintsPolicy"] = json!(random.pick(&["Honor", "Ignore"]));
        }
        constraints.push(constraint);
    }
    constraints
}

fn selector(random: &mut Random) -> Value {
    match random.up_to(5) {
        0 => json!({}),
        1 => {
            json!({"matchExpressions": [{"key": random.pick(&POD_KEYS), "operator": random.pick(&["Exists", "DoesNotExist"])}]})
        }
        2 => {
            let values = [random.pick(&POD_VALUES)];
            json!({"matchExpressions": [{"key": random.pick(&POD_KEYS), "operator": random.pick(&["In", "NotIn"]), "values": values}]})
        }
        _ => json!({"matchLabels": labels(random, &POD_KEYS, &POD_VALUES, 1)}),
    }
}

fn labels(random: &mut Random, keys: &[&str], values: &[&str], most: u64) -> Map<String, Value> {
    let count = random.up_to(most);
    (0..count).map(|_| ((*random.pick(keys)).to_owned(), json!(random.pick(values)))).collect()
}

fn volumes(random: &mut Random) -> Vec<Value> {
    let mut volumes = Vec::new();
    if random.uses(Feature::Claims) {
        let claim = random.pick(&["c0", "c1", "c2", "c3", "missing"]);
        volumes.push(json!({"name": "claim", "persistentVolumeClaim": {"claimName": claim}}));
    }
    if random.uses(Feature::InlineDisks) {
        let read_only = random.chance(50);
        volumes.push(match random.up_to(2) {
            0 => json!({"name": "disk", "gcePersistentDisk": {"pdName": random.pick(&["d0", "d1"]), "readOnly": read_only}}),
            1 => json!({"name": "disk", "awsElasticBlockStore": {"volumeID": random.pick(&["vol-0", "vol-1"]), "readOnly": read_only}}),
            _ => json!({"name": "disk", "iscsi": {"targetPortal": "t", "iqn": random.pick(&["q0", "q1"]), "lun": 0, "readOnly": read_only}}),
        });
    }
    volumes
}

/// Volumes and claims of them that are bound already, and some that are not.
fn storage(random: &mut Random, node_count: u64) -> Vec<Value> {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "wait"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
    });
    let mut objects = vec![class];
    for at in 0..node_count {
        if random.chance(50) {
            let limit = random.up_to(2);
            objects.push(json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": format!("n{at}")},
                "spec": {"drivers": [{"name": "one.example.com", "nodeID": format!("n{at}"), "allocatable": {"count": limit}}]},
            }));
        }
    }
    for at in 0..4 {
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("pv{at}")},
            "spec": {
                "capacity": {"storage": "5Gi"}, "accessModes": [random.pick(&["ReadWriteOnce", "ReadWriteMany"])],
                "storageClassName": "wait", "csi": {"driver": "one.example.com", "volumeHandle": format!("h{at}")},
            },
        });
        if random.chance(50) {
            volume["metadata"]["labels"] = json!({ZONE: random.pick(&["z1", "z2", "z1__z2"])});
        }
        if random.chance(50) {
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [node_term(random)]}});
        }
        let mode = volume["spec"]["accessModes"][0].clone();
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": format!("c{at}"), "namespace": "default", "uid": format!("c{at}-uid")},
            "spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "wait"},
        });
        if random.chance(70) {
            let (claim_name, volume_name) = (format!("c{at}"), format!("pv{at}"));
            volume["spec"]["claimRef"] =
                json!({"namespace": "default", "name": claim_name, "uid": format!("c{at}-uid")});
            claim["spec"]["volumeName"] = json!(volume_name);
            claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "true"});
            claim["status"] = json!({"phase": "Bound"});
            volume["status"] = json!({"phase": "Bound"});
        }
        objects.extend([volume, claim]);
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_cluster_and_seeds_differ() {
        let of = |seed| {
            let mut random = Random::new(seed);
            (cluster(&mut random), random_pod(&mut random, "p"))
        };
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }

    #[test]
    fn every_feature_is_used_by_some_seed() {
        let used = |at: usize| (0..60).any(|seed| 0 < Random::new(seed).rates_percent[at]);
        assert!((0..FEATURE_COUNT).all(used));
    }
}
