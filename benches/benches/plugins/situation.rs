//! A cluster in which every plugin has something to look at, and the same in plain inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_benches::cluster::warm_nodes;
use schedlab_benches::pods::{PodKind, requesting, resources};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::args::PluginArgs;
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::registry::Registry;
use schedlab_core::ids::{ClassId, PodUid};
use schedlab_core::input::dra::{
    DeviceAllocationMode, DeviceClassInput, DeviceInput, DeviceRequestInput, DraInput,
    ExactDeviceRequestInput, NodeReachInput, Quantities, ResourceClaimInput, ResourceSliceInput,
};
use schedlab_core::input::storage::{
    BindingMode, ClaimInput, ClaimRefInput, CsiNodeInput, PersistentVolumeInput, PersistentVolumeSourceInput,
    StorageClassInput, StorageInput,
};
use schedlab_core::input::{
    LabelSelectorInput, NodeInput, NodeSelectorTermInput, PodAffinityInput, PodAffinityTermInput, PodInput,
    RequirementInput, ServiceInput, VolumeInput, VolumeSourceInput,
};
use schedlab_core::naive::NaiveCluster;
use schedlab_core::naive::bench::{BenchPod, HOSTNAME, ZONE, claiming, labelled};
use schedlab_core::naive::schedule::NaiveProfile;
use schedlab_core::plugins::IN_TREE;
use schedlab_core::quantity::Quantity;
use schedlab_core::scheduler::{ObjectEvent, ObjectInput, PodUpdate, Scheduler};
use schedlab_core::world::World;

/// The driver of all CSI volumes.
const DRIVER: &str = "csi.example.com";
/// The twin looks at all devices for each node.
const NODES_WITH_DEVICES: usize = 64;
/// The class of all devices.
const DEVICE_CLASS: &str = "gpu";

/// One plugin with one pod.
pub(crate) struct Case {
    /// The plugin.
    pub(crate) plugin: &'static str,
    /// The pod, and what is expected of the answer.
    pub(crate) pod: BenchPod,
}

impl Case {
    fn args(&self) -> PluginArgs {
        self.pod.args.clone().unwrap_or_else(|| PluginArgs::default_of(self.plugin))
    }

    /// The twin's profile of this plugin alone.
    pub(crate) fn naive_profile(&self) -> NaiveProfile {
        let mut profile = NaiveProfile {
            filter_plugins: vec![self.plugin],
            score_plugins: vec![(self.plugin, 1)],
            ..NaiveProfile::default()
        };
        profile.args.insert(self.plugin, self.args());
        profile
    }
}

/// A cluster, twice.
pub(crate) struct Situation {
    /// As the engine has it.
    pub(crate) world: World,
    /// As the twin has it, nodes in the order of rows.
    pub(crate) twin: NaiveCluster,
}

impl Situation {
    pub(crate) fn new(node_count: usize) -> Situation {
        Situation::built(node_count, Builder::new())
    }

    /// With a claim, and devices on the first nodes.
    pub(crate) fn with_devices(node_count: usize) -> Situation {
        let mut builder = Builder::new();
        builder.add_claim();
        for (index, node) in warm_nodes(NODES_WITH_DEVICES).enumerate() {
            builder.add_devices(&node.name, 1 + index % 2);
        }
        Situation::built(node_count, builder)
    }

    fn built(node_count: usize, mut builder: Builder) -> Situation {
        let leaving = node_count / 50 + 1;
        let nodes: BTreeMap<String, NodeInput> = warm_nodes(node_count + leaving)
            .enumerate()
            .map(|(index, node)| (node.name.clone(), decorated(index, node)))
            .collect();
        nodes
            .values()
            .for_each(|node| builder.scheduler.on_event(ObjectEvent::node(&Arc::new(node.clone())), 1));
        for (index, name) in nodes.keys().enumerate() {
            builder.fill(index, name);
        }
        // Churn: every fourth pod and some nodes of the middle have gone again.
        for uid in (1..builder.uids).step_by(4) {
            builder.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(uid)), 1);
        }
        for name in nodes.keys().skip(7).step_by(43).take(leaving) {
            builder.scheduler.on_event(ObjectEvent::node_deleted(name), 0);
        }
        builder.into_situation(&nodes)
    }

    /// Compiles the pod of a case and lets its plugin count what it needs.
    pub(crate) fn prepare(&mut self, case: &Case) -> (ClassId, Arc<dyn Plugin>) {
        let registry = Registry::new_in_tree();
        let factory = registry.factory(case.plugin).expect("a plugin in the tree");
        let plugin = factory(&case.args(), &mut self.world.vocabulary).expect("arguments that can be used");
        let class = self.world.compile(&Arc::new(case.pod.pod.clone()));
        plugin.prepare(&mut self.world, class);
        (class, plugin)
    }
}

/// A warm node with what else plugins read.
fn decorated(index: usize, mut node: NodeInput) -> NodeInput {
    IN_TREE.iter().for_each(|plugin| (plugin.twin.bench_node)(index, &mut node));
    node
}

/// A term that selects pods of an app.
fn term(app: &str) -> PodAffinityTermInput {
    let match_labels = [("app".to_owned(), app.to_owned())].into();
    PodAffinityTermInput {
        label_selector: Some(LabelSelectorInput { match_labels, match_expressions: Vec::new() }),
        topology_key: HOSTNAME.to_owned(),
        ..PodAffinityTermInput::default()
    }
}

/// A pod that uses a disk that one node at a time can write to.
fn with_disk(name: &str) -> PodInput {
    let source = VolumeSourceInput::GcePersistentDisk { pd_name: name.to_owned(), read_only: false };
    PodInput { volumes: vec![VolumeInput { name: "disk".to_owned(), source }], ..requesting("100m", "200Mi") }
}

struct Builder {
    scheduler: Scheduler,
    uids: u64,
    storage: Vec<StorageInput>,
    devices: Vec<DraInput>,
    pods: Vec<Arc<PodInput>>,
}

impl Builder {
    fn new() -> Builder {
        let mut port_holder = PodKind::HostPort.spec();
        port_holder.labels.insert("app".to_owned(), "port".to_owned());
        let requiring = PodAffinityInput { required: vec![term("lonely")], preferred: Vec::new() };
        let preferring = PodAffinityInput { required: Vec::new(), preferred: vec![(10, term("liked"))] };
        let pods = [
            requesting("250m", "1Gi"),
            requesting("1", "2Gi"),
            labelled("web"),
            PodInput { pod_anti_affinity: requiring, ..labelled("shy") },
            PodInput { pod_affinity: preferring, ..labelled("fan") },
            port_holder,
            requesting("5", "1Gi"),
        ];
        let mut builder = Builder {
            scheduler: Scheduler::new(EngineSettings::default(), 0),
            uids: 0,
            storage: Vec::new(),
            devices: Vec::new(),
            pods: pods.into_iter().map(Arc::new).collect(),
        };
        builder.add_storage();
        builder
    }

    /// Puts pods on a node, few on most and each kind on its own share of the nodes.
    fn fill(&mut self, index: usize, node: &str) {
        let shares = [2, 3, 5, 7, 11, 10, 4];
        for (kind, share) in shares.into_iter().enumerate() {
            if (index * 31 + kind).is_multiple_of(share) {
                let pod = Arc::clone(&self.pods[kind]);
                self.bind(&pod, node);
            }
        }
        if index.is_multiple_of(13) {
            self.bind(&Arc::new(with_disk(&format!("disk-{}", index / 13 % 2))), node);
        }
        let limit = if index.is_multiple_of(6) { 1 } else { 8 };
        let drivers = vec![(DRIVER.to_owned(), Some(limit))];
        let csi = CsiNodeInput { name: node.to_owned(), drivers, ..CsiNodeInput::default() };
        self.store(StorageInput::CsiNode(csi));
        if index.is_multiple_of(12) {
            self.bind(&Arc::new(claiming(&format!("used-{}", index / 12 % 8))), node);
        }
    }

    fn bind(&mut self, pod: &Arc<PodInput>, node: &str) {
        self.uids += 1;
        let update = PodUpdate {
            uid: PodUid(self.uids),
            class: self.scheduler.compile(pod),
            node: Some(self.scheduler.node_id(node)),
            created_ns: 1,
            ..PodUpdate::default()
        };
        self.scheduler.on_event(ObjectEvent::pod(update), 1);
    }

    fn store(&mut self, object: StorageInput) {
        self.scheduler.on_event(ObjectEvent::Added(ObjectInput::Storage(&object)), 1);
        self.storage.push(object);
    }

    fn add_devices(&mut self, node: &str, count: usize) {
        self.allocate_from(DraInput::ResourceSlice(Arc::new(slice(node, count))));
    }

    fn allocate_from(&mut self, object: DraInput) {
        self.scheduler.on_event(ObjectEvent::Added(ObjectInput::Dra(&object)), 1);
        self.devices.push(object);
    }

    /// A claim that prefers two devices to one.
    fn add_claim(&mut self) {
        let class = DeviceClassInput { name: DEVICE_CLASS.into(), ..DeviceClassInput::default() };
        self.allocate_from(DraInput::DeviceClass(Arc::new(class)));
        let first_available = vec![("two".into(), devices(2)), ("one".into(), devices(1))];
        let claim = ResourceClaimInput {
            namespace: "default".to_owned(),
            name: "first-available".to_owned(),
            uid: "uid-first-available".to_owned(),
            requests: vec![DeviceRequestInput { name: "devices".into(), exactly: None, first_available }],
            ..ResourceClaimInput::default()
        };
        self.allocate_from(DraInput::ResourceClaim(Arc::new(claim)));
    }

    /// Open claims with volumes in two of three zones, bound claims of all kinds.
    fn add_storage(&mut self) {
        self.store(StorageInput::StorageClass(StorageClassInput {
            name: "local".to_owned(),
            provisioner: "kubernetes.io/no-provisioner".to_owned(),
            binding_mode: Some(BindingMode::WaitForFirstConsumer),
            ..StorageClassInput::default()
        }));
        for (index, zone) in [(0, "zone-0"), (1, "zone-2"), (2, "zone-0"), (3, "zone-2")] {
            let volume = volume(&format!("local-{index}"), Some(zone));
            self.store(StorageInput::PersistentVolume(PersistentVolumeInput {
                is_available: true,
                ..volume
            }));
        }
        self.store(StorageInput::PersistentVolumeClaim(claim("open", "")));
        self.bound("bound", Some("zone-1"), None);
        self.bound("zonal", None, Some("zone-2"));
        self.bound("attached", None, None);
        for index in 0..8 {
            self.bound(&format!("used-{index}"), None, None);
        }
    }

    /// A claim and the volume it is bound to: reachable from one zone, or labelled with one.
    fn bound(&mut self, name: &str, reachable: Option<&str>, label: Option<&str>) {
        let volume_name = format!("pv-{name}");
        let mut volume = volume(&volume_name, reachable);
        volume.labels.extend(label.map(|zone| (ZONE.to_owned(), zone.to_owned())));
        let uid = name.to_owned();
        volume.claim_ref =
            Some(ClaimRefInput { namespace: "default".to_owned(), name: name.to_owned(), uid });
        self.store(StorageInput::PersistentVolume(volume));
        self.store(StorageInput::PersistentVolumeClaim(claim(name, &volume_name)));
    }

    fn into_situation(mut self, nodes: &BTreeMap<String, NodeInput>) -> Situation {
        let service = ServiceInput {
            namespace: "default".to_owned(),
            name: "web".to_owned(),
            selector: Some([("app".to_owned(), "web".to_owned())].into()),
        };
        self.scheduler.settle();
        let mut world = self.scheduler.world().clone();
        world.owners_mut().upsert_service(service.clone());
        let mut twin = NaiveCluster::default();
        for &id in &world.nodes().columns().id {
            let name = world.node_name(id);
            twin.add_node(nodes[name].clone());
            // Pods stand newest first.
            let pods: Vec<_> = world.pods().on_node(id).collect();
            for &pod in pods.iter().rev() {
                let input = (*world.class(world.pods().get(pod).class).input).clone();
                twin.nodes.last_mut().expect("just added").add_pod(input.into());
            }
        }
        twin.services.push(service);
        self.storage.into_iter().for_each(|object| twin.storage.put(object));
        self.devices.into_iter().for_each(|object| twin.dra.put(object));
        Situation { world, twin }
    }
}

/// A node's devices, in a pool of one slice.
fn slice(node: &str, count: usize) -> ResourceSliceInput {
    let device = |at| DeviceInput { name: format!("device-{at}").into(), ..DeviceInput::default() };
    ResourceSliceInput {
        name: format!("slice-{node}"),
        driver: "gpu.example.com".into(),
        pool: node.into(),
        generation: 1,
        slice_count: 1,
        reach: NodeReachInput { node_name: Some(node.to_owned()), ..NodeReachInput::default() },
        devices: (0..count).map(device).collect(),
        ..ResourceSliceInput::default()
    }
}

fn devices(count: i64) -> ExactDeviceRequestInput {
    ExactDeviceRequestInput {
        device_class_name: DEVICE_CLASS.into(),
        selectors: Vec::new(),
        mode: DeviceAllocationMode::ExactCount(count),
        admin_access: false,
        tolerations: Vec::new(),
        capacity: Quantities::new(),
    }
}

fn volume(name: &str, zone: Option<&str>) -> PersistentVolumeInput {
    let in_zone = |zone: &str| {
        let requirement = RequirementInput {
            key: ZONE.to_owned(),
            operator: "In".to_owned(),
            values: vec![zone.to_owned()],
        };
        vec![NodeSelectorTermInput { match_expressions: vec![requirement], match_fields: Vec::new() }]
    };
    PersistentVolumeInput {
        name: name.to_owned(),
        storage_class: "local".to_owned(),
        capacity: quantity("10Gi"),
        access_modes: vec!["ReadWriteOnce".to_owned()],
        node_affinity: zone.map(in_zone),
        source: PersistentVolumeSourceInput::Csi { driver: DRIVER.to_owned(), handle: name.to_owned() },
        ..PersistentVolumeInput::default()
    }
}

fn claim(name: &str, volume: &str) -> ClaimInput {
    ClaimInput {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        storage_class: Some("local".to_owned()),
        request: Some(quantity("5Gi")),
        access_modes: vec!["ReadWriteOnce".to_owned()],
        volume_name: volume.to_owned(),
        is_bind_completed: !volume.is_empty(),
        ..ClaimInput::default()
    }
}

fn quantity(text: &str) -> Quantity {
    resources(&[("storage", text)])["storage"]
}
