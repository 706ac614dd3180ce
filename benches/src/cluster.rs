//! Warm clusters: nodes of three shapes in zones of unequal size, some full, tainted or cordoned,
//! with pods that came and went and nodes that were taken out of the middle.
//!
//! | share of nodes | what |
//! | --- | --- |
//! | 50, 30, 20 % | in zones 0, 1 and 2 |
//! | 6 % | tainted `dedicated=gpu:NoSchedule` |
//! | 2 % | cordoned |
//! | 5 % | full: no CPU left |
//! | 10 % | host port 8080 taken |
//! | the rest | 0 to 7 pods, few on most nodes and many on some |

use std::sync::Arc;

use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::profile::Profile;
use schedlab_core::ids::{ClassId, PodId, PodUid};
use schedlab_core::input::{ImageInput, NodeInput, PodInput, TaintInput};
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, Scheduler};
use schedlab_core::world::World;

use crate::SEED;
use crate::pods::{PodKind, requesting, resources};

/// Placements that a bench can make before it takes pods off again.
pub const SPARE_PODS: usize = 256;

/// Nodes that arrive and leave again. Each removal moves all rows, so large clusters see no more.
const LEAVING_NODES_MAX: usize = 64;

/// A cluster that has seen something.
#[derive(Clone, Debug)]
pub struct WarmCluster {
    /// Nodes, pods and classes; rows are settled.
    pub world: World,
    /// The default profile.
    pub profile: Profile,
    classes: Vec<ClassId>,
    spare: Vec<Vec<PodId>>,
}

impl WarmCluster {
    /// A warm cluster whose cycles look for this share of the nodes (0 is adaptive).
    #[must_use]
    pub fn new(node_count: usize, percentage_of_nodes_to_score: i32) -> WarmCluster {
        let mut builder = Builder::default();
        builder.build(node_count);
        WarmCluster::with_spare_pods(builder.scheduler, builder.uids, percentage_of_nodes_to_score)
    }

    fn with_spare_pods(mut scheduler: Scheduler, mut uids: u64, percentage: i32) -> WarmCluster {
        let mut classes = Vec::new();
        let mut spare_uids = Vec::new();
        for kind in PodKind::ALL {
            let class = scheduler.compile(&Arc::new(kind.spec()));
            classes.push(class);
            for _ in 0..SPARE_PODS {
                uids += 1;
                let uid = PodUid(uids);
                scheduler.on_event(
                    ObjectEvent::pod(PodUpdate { uid, class, created_ns: uids, ..PodUpdate::default() }),
                    uids,
                );
                spare_uids.push(uid);
            }
        }
        let mut world = scheduler.world().clone();
        world.settle();
        let mut profile = scheduler.profile().clone();
        profile.percentage_of_nodes_to_score = percentage;
        let pod = |uid: &PodUid| world.pods().find(*uid).expect("the pod was just added");
        let spare = spare_uids.chunks(SPARE_PODS).map(|uids| uids.iter().map(pod).collect()).collect();
        WarmCluster { world, profile, classes, spare }
    }

    /// The class of a kind.
    #[must_use]
    pub fn class(&self, kind: PodKind) -> ClassId {
        self.classes[kind as usize]
    }

    /// Pods of a kind that are on no node.
    #[must_use]
    pub fn spare(&self, kind: PodKind) -> &[PodId] {
        &self.spare[kind as usize]
    }

    /// Puts a spare pod on a row.
    pub fn place(&mut self, pod: PodId, row: usize) {
        let node = self.world.nodes().columns().id[row];
        self.world.place(pod, node);
    }
}

/// The nodes of a warm cluster, one by one.
pub fn warm_nodes(node_count: usize) -> impl Iterator<Item = NodeInput> {
    (0..node_count).map(node_input)
}

struct Builder {
    scheduler: Scheduler,
    random: Random,
    uids: u64,
    bound: Vec<PodUid>,
    small: Vec<Arc<PodInput>>,
    filling: Vec<Arc<PodInput>>,
    port_holder: Arc<PodInput>,
}

impl Default for Builder {
    fn default() -> Self {
        let sizes = [("100m", "200Mi"), ("250m", "1Gi"), ("500m", "512Mi"), ("1", "2Gi")];
        let mut port_holder = PodKind::HostPort.spec();
        port_holder.labels.insert("app".to_owned(), "port-holder".to_owned());
        Builder {
            scheduler: Scheduler::new(EngineSettings::default(), 0),
            random: Random(SEED),
            uids: 0,
            bound: Vec::new(),
            small: sizes.iter().map(|(cpu, memory)| Arc::new(requesting(cpu, memory))).collect(),
            filling: SHAPES.iter().map(|(cpu, _)| Arc::new(requesting(cpu, "1Gi"))).collect(),
            port_holder: Arc::new(port_holder),
        }
    }
}

/// CPU and memory of the node shapes.
const SHAPES: [(&str, &str); 3] = [("8", "32Gi"), ("16", "64Gi"), ("32", "256Gi")];

impl Builder {
    fn build(&mut self, node_count: usize) {
        let leaving = (node_count / 20).clamp(1, LEAVING_NODES_MAX);
        for node in warm_nodes(node_count + leaving) {
            self.scheduler.on_event(ObjectEvent::node(&Arc::new(node)), self.uids);
        }
        for index in 0..node_count + leaving {
            self.add_pods(index);
        }
        // Every fourth pod has gone again.
        for at in (0..self.bound.len()).step_by(4) {
            self.scheduler.on_event(ObjectEvent::pod_deleted(self.bound[at]), self.uids);
        }
        let stride = (node_count + leaving) / leaving;
        for nth in 0..leaving {
            self.scheduler.on_event(ObjectEvent::node_deleted(&node_name(nth * stride)), 0);
        }
        assert_eq!(self.scheduler.world().nodes().node_count(), node_count);
    }

    fn add_pods(&mut self, index: usize) {
        if self.random.percent(5) {
            // Not among the pods that leave: the node stays full.
            let filling = Arc::clone(&self.filling[node_shape(index)]);
            self.bind(&filling, index);
            return;
        }
        if self.random.percent(10) {
            let holder = Arc::clone(&self.port_holder);
            self.bind(&holder, index);
        }
        // The lower of two draws: few pods on most nodes, many on some.
        for _ in 0..self.random.below(8).min(self.random.below(8)) {
            let pod = Arc::clone(&self.small[self.random.below(4)]);
            let uid = self.bind(&pod, index);
            self.bound.push(uid);
        }
    }

    fn bind(&mut self, pod: &Arc<PodInput>, node: usize) -> PodUid {
        self.uids += 1;
        let uid = PodUid(self.uids);
        let update = PodUpdate {
            uid,
            class: self.scheduler.compile(pod),
            node: Some(self.scheduler.node_id(&node_name(node))),
            created_ns: self.uids,
            ..PodUpdate::default()
        };
        self.scheduler.on_event(ObjectEvent::pod(update), self.uids);
        uid
    }
}

fn node_shape(index: usize) -> usize {
    [0, 0, 0, 1, 1, 2][Random::of_node(index).below(6)]
}

/// The node of this index: the same one whenever it is asked for.
fn node_input(index: usize) -> NodeInput {
    let (cpu, memory) = SHAPES[node_shape(index)];
    let mut random = Random::of_node(index);
    let _shape = random.next();
    let zone = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2][random.below(10)];
    let disk = ["hdd", "hdd", "ssd", "nvme"][random.below(4)];
    let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let labels = [
        text("kubernetes.io/hostname", &node_name(index)),
        text("topology.kubernetes.io/region", "region-0"),
        text("topology.kubernetes.io/zone", &format!("zone-{zone}")),
        text("node.kubernetes.io/instance-type", cpu),
        text("disk", disk),
    ];
    let mut node = NodeInput {
        name: node_name(index),
        labels: labels.into(),
        unschedulable: random.percent(2),
        allocatable: resources(&[
            ("cpu", cpu),
            ("memory", memory),
            ("ephemeral-storage", "100Gi"),
            ("pods", "110"),
        ]),
        ..NodeInput::default()
    };
    if random.percent(6) {
        let (key, value, effect) = ("dedicated".to_owned(), "gpu".to_owned(), "NoSchedule".to_owned());
        node.taints.push(TaintInput { key, value, effect });
    }
    if random.percent(50) {
        let names = vec!["registry.k8s.io/pause:latest".to_owned()];
        node.images.push(ImageInput { names, size_bytes: 300 << 20 });
    }
    node
}

fn node_name(index: usize) -> String {
    format!("node-{index:06}")
}

/// Draws that only clusters are made of (SplitMix64).
struct Random(u64);

impl Random {
    fn of_node(index: usize) -> Random {
        Random(SEED.wrapping_mul(0xD134_2543_DE82_EF95) ^ ((index as u64) << 20))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The same cluster in plain inputs, in the order of rows.
#[cfg(test)]
pub(crate) fn naive_twin(world: &World) -> schedlab_core::naive::NaiveCluster {
    let mut twin = schedlab_core::naive::NaiveCluster::default();
    for &id in &world.nodes().columns().id {
        let name = world.node_name(id);
        let index = name.trim_start_matches("node-").parse().expect("names end in the index");
        twin.add_node(node_input(index));
        for pod in world.pods().on_node(id) {
            twin.add_pod(name, (*world.class(world.pods().get(pod).class).input).clone());
        }
    }
    twin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_cluster_has_churn_holes_and_skew() {
        let cluster = WarmCluster::new(1000, 0);
        let nodes = cluster.world.nodes();
        let columns = nodes.columns();
        let cordoned = columns.unschedulable.count();
        assert!((5..50).contains(&cordoned), "{cordoned} cordoned");
        let full = (0..1000)
            .filter(|&row| columns.requested_cpu_milli[row] == columns.allocatable_cpu_milli[row])
            .count();
        assert!((20..120).contains(&full), "{full} full");
        let empty = columns.pod_count.iter().filter(|&&pods| pods == 0).count();
        assert!((20..500).contains(&empty), "{empty} empty");
        let busy = columns.pod_count.iter().filter(|&&pods| pods > 3).count();
        assert!(busy > 50, "{busy} with many pods");
    }

    #[test]
    fn the_same_seed_makes_the_same_cluster() {
        let (one, other) = (WarmCluster::new(200, 0), WarmCluster::new(200, 0));
        let (one, other) = (one.world.nodes().columns(), other.world.nodes().columns());
        assert_eq!(one.name, other.name);
        assert_eq!(one.requested_cpu_milli, other.requested_cpu_milli);
        assert_eq!(one.taint_set, other.taint_set);
    }
}
