//! Random storage, and pods that use it.

use super::{Feature, LABEL_VALUES, Rng, ZONE_KEYS, ZONE_VALUES, quantity, requirement, term, word};
use crate::input::storage::{
    AttachmentInput, BindingMode, ClaimInput, ClaimRefInput, CsiDriverInput, CsiNodeInput,
    PersistentVolumeInput, PersistentVolumeSourceInput, StorageCapacityInput, StorageClassInput,
    StorageInput,
};
use crate::input::{LabelSelectorInput, NodeSelectorTermInput, PodInput, VolumeInput, VolumeSourceInput};
use crate::quantity::Quantity;

const NAMESPACES: [&str; 3] = ["default", "team-a", "team-b"];
const CLASSES: [&str; 11] =
    ["wait", "wait", "wait", "wait", "local", "local", "room", "room", "now", "in-tree", "absent"];
const DRIVERS: [&str; 5] =
    ["one.example.com", "two.example.com", "pd.csi.storage.gke.io", "ebs.csi.aws.com", "disk.csi.azure.com"];
const PLUGINS: [&str; 3] = ["kubernetes.io/gce-pd", "kubernetes.io/aws-ebs", "kubernetes.io/cinder"];
const SIZES: [&str; 5] = ["1Gi", "5Gi", "10Gi", "20Gi", "1500m"];
const MODES: [&str; 6] =
    ["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"];

/// Objects of storage: none for many seeds.
pub fn storage(rng: &mut Rng) -> Vec<StorageInput> {
    let mut objects = Vec::new();
    if ![Feature::Claims, Feature::Claims, Feature::InlineDisks].map(|it| rng.uses(it)).contains(&true) {
        return objects;
    }
    for name in ["wait", "local", "now", "room", "in-tree"] {
        if rng.chance(95) {
            objects.push(StorageInput::StorageClass(class(rng, name)));
        }
    }
    for index in 0..12 {
        if rng.chance(60) {
            objects.push(StorageInput::CsiNode(csi_node(rng, &format!("n{index}"))));
        }
    }
    for driver in DRIVERS {
        if rng.chance(60) {
            objects.push(StorageInput::CsiDriver(CsiDriverInput {
                name: driver.to_owned(),
                has_storage_capacity: rng.chance(50),
                is_required_on_node: rng.chance(30),
            }));
        }
    }
    for index in 0..rng.range(0..=4) {
        objects.push(StorageInput::CsiStorageCapacity(capacity(rng, index)));
    }
    for index in 0..rng.range(4..=10) {
        objects.push(StorageInput::PersistentVolume(volume(rng, &format!("pv{index}"))));
    }
    for namespace in NAMESPACES {
        for name in ["c0", "c1", "c2", "c3", "c4", "p0-e0", "p1-e0"] {
            if rng.chance(90) {
                objects.push(StorageInput::PersistentVolumeClaim(claim(rng, namespace, name)));
            }
        }
    }
    for index in 0..rng.range(0..=4) {
        objects.push(StorageInput::VolumeAttachment(AttachmentInput {
            name: format!("a{index}"),
            node_name: format!("n{}", rng.range(0..=5)),
            attacher: word(rng, &["", DRIVERS[0], DRIVERS[0], DRIVERS[1]]),
            volume_name: rng.chance(90).then(|| volume_name(rng)),
        }));
    }
    objects
}

/// Gives a pod claims and disks.
pub(super) fn add(rng: &mut Rng, pod: &mut PodInput) {
    let mut put = |name: String, source| pod.volumes.push(VolumeInput { name, source });
    if rng.uses(Feature::Claims) {
        for at in 0..*rng.pick(&[1, 1, 1, 2, 3]) {
            let claim_name = if rng.chance(4) {
                word(rng, &["", "missing"])
            } else {
                word(rng, &["c0", "c1", "c2", "c3", "c4"])
            };
            put(format!("c{at}"), VolumeSourceInput::Claim { claim_name, read_only: rng.chance(20) });
        }
    }
    if rng.uses(Feature::EphemeralVolumes) && rng.chance(30) {
        let pod_name = word(rng, &["p0", "p0", "p1", "p2"]);
        put(
            "e0".to_owned(),
            VolumeSourceInput::Ephemeral { pod_name, pod_uid: word(rng, &["u0", "u0", "u1"]) },
        );
    }
    if rng.uses(Feature::InlineDisks) {
        let source = disk(rng);
        put("d0".to_owned(), source);
    }
}

fn disk(rng: &mut Rng) -> VolumeSourceInput {
    let read_only = rng.chance(50);
    match rng.range(0..=6) {
        0 => VolumeSourceInput::GcePersistentDisk { pd_name: word(rng, &["d0", "d1"]), read_only },
        1 => VolumeSourceInput::AwsElasticBlockStore {
            volume_id: word(rng, &["vol-0", "vol-1", "aws://z1/vol-0", "aws://z1/disk"]),
            read_only,
        },
        2 => VolumeSourceInput::Iscsi {
            target_portal: "t".to_owned(),
            iqn: word(rng, &["q0", "q1"]),
            lun: 0,
            read_only,
        },
        3 | 4 => {
            let mut monitors = vec!["m0".to_owned(), "m1".to_owned(), "m2".to_owned()];
            monitors.retain(|_| rng.chance(50));
            VolumeSourceInput::Rbd {
                monitors,
                pool: word(rng, &["rbd", "rbd", "other"]),
                image: "i".to_owned(),
                read_only,
            }
        }
        5 => VolumeSourceInput::Csi { driver: DRIVERS[0].to_owned() },
        _ => VolumeSourceInput::InTree {
            kind: word(rng, &["azureDisk", "azureDisk/Shared", "azureFile", "cinder", "portworxVolume"]),
            id: word(rng, &["x", "y"]),
        },
    }
}

fn class(rng: &mut Rng, name: &str) -> StorageClassInput {
    let provisioner = match name {
        "local" => "kubernetes.io/no-provisioner".to_owned(),
        "in-tree" => word(rng, &[PLUGINS[0], PLUGINS[1], "kubernetes.io/azure-file"]),
        _ => word(rng, &[DRIVERS[0], DRIVERS[0], DRIVERS[1], DRIVERS[1], ""]),
    };
    let mode = if name == "now" { BindingMode::Immediate } else { BindingMode::WaitForFirstConsumer };
    let topologies = if rng.chance(70) { 0 } else { rng.range(1..=2) };
    StorageClassInput {
        name: name.to_owned(),
        provisioner,
        binding_mode: (!rng.chance(3)).then_some(mode),
        allowed_topologies: (0..topologies).map(|_| zone_term(rng)).collect(),
    }
}

fn zone_term(rng: &mut Rng) -> NodeSelectorTermInput {
    if rng.chance(10) {
        return NodeSelectorTermInput::default();
    }
    let zones = [*rng.pick(&ZONE_VALUES), *rng.pick(&ZONE_VALUES)];
    let expression = match rng.range(0..=2) {
        0 => requirement("disk", "In", &[*rng.pick(&LABEL_VALUES), "a"]),
        _ => requirement(*rng.pick(&ZONE_KEYS), "In", &zones),
    };
    NodeSelectorTermInput { match_expressions: vec![expression], match_fields: Vec::new() }
}

fn csi_node(rng: &mut Rng, name: &str) -> CsiNodeInput {
    let mut drivers: Vec<(String, Option<i32>)> = Vec::new();
    for driver in DRIVERS {
        if rng.chance(60) {
            let limit = i32::try_from(rng.range(0..=3)).expect("a small number");
            drivers.push((driver.to_owned(), rng.chance(70).then_some(limit)));
        }
    }
    CsiNodeInput {
        name: name.to_owned(),
        drivers,
        migrated_plugins: PLUGINS.iter().filter(|_| rng.chance(50)).map(|it| (*it).to_owned()).collect(),
    }
}

fn label_selector(rng: &mut Rng, key: &str, values: &[&str]) -> LabelSelectorInput {
    let mut selector = LabelSelectorInput::default();
    match rng.range(0..=4) {
        0 => {}
        1 => selector.match_expressions = vec![requirement(key, "Exists", &[])],
        2 => {
            selector.match_expressions =
                vec![requirement(key, *rng.pick(&["NotIn", "Gt", "In"]), &values[..1])]
        }
        _ => {
            selector.match_labels.insert(key.to_owned(), word(rng, values));
        }
    }
    selector
}

fn capacity(rng: &mut Rng, index: usize) -> StorageCapacityInput {
    let size =
        |rng: &mut Rng| rng.chance(80).then(|| quantity(*rng.pick(&["0", "4Gi", "12Gi", "30Gi", "100Gi"])));
    StorageCapacityInput {
        namespace: "default".to_owned(),
        name: format!("room{index}"),
        storage_class: word(rng, &["room", "wait"]),
        capacity: size(rng),
        maximum_volume_size: if rng.chance(20) { size(rng) } else { None },
        node_topology: rng.chance(90).then(|| label_selector(rng, "disk", &["a", "b", "ssd"])),
    }
}

fn volume_name(rng: &mut Rng) -> String {
    format!("pv{}", rng.range(0..=6))
}

fn pick_size(rng: &mut Rng) -> Quantity {
    quantity(*rng.pick(&SIZES))
}

fn volume(rng: &mut Rng, name: &str) -> PersistentVolumeInput {
    let mut volume = PersistentVolumeInput {
        name: name.to_owned(),
        storage_class: word(rng, &CLASSES),
        beta_storage_class: rng.chance(3).then(|| "wait".to_owned()),
        capacity: pick_size(rng),
        access_modes: vec!["ReadWriteOnce".to_owned(), word(rng, &MODES), word(rng, &MODES)],
        is_block: rng.chance(5),
        attributes_class: if rng.chance(5) { "gold".to_owned() } else { String::new() },
        is_available: rng.chance(85),
        is_terminating: rng.chance(5),
        source: source(rng),
        ..Default::default()
    };
    if rng.chance(60) {
        let zones =
            if rng.chance(30) { format!("{}__z2", rng.pick(&ZONE_VALUES)) } else { word(rng, &ZONE_VALUES) };
        volume.labels.insert((*rng.pick(&ZONE_KEYS)).to_owned(), zones);
    }
    if rng.chance(40) {
        volume.labels.insert("disk".to_owned(), word(rng, &LABEL_VALUES));
    }
    if rng.chance(50) {
        volume.node_affinity = Some(
            (0..rng.range(0..=2)).map(|_| if rng.chance(60) { zone_term(rng) } else { term(rng) }).collect(),
        );
    }
    if rng.chance(20) {
        volume.claim_ref = Some(ClaimRefInput {
            namespace: word(rng, &NAMESPACES),
            name: word(rng, &["c0", "c1", "c2"]),
            uid: word(rng, &["", "c0", "c1", "other"]),
        });
    }
    volume
}

fn source(rng: &mut Rng) -> PersistentVolumeSourceInput {
    use PersistentVolumeSourceInput as Source;
    match rng.range(0..=9) {
        0 => Source::GcePersistentDisk { pd_name: word(rng, &["d0", "d1"]) },
        1 => {
            Source::AwsElasticBlockStore { volume_id: word(rng, &["vol-0", "aws://z1/vol-0", "aws://z1/x"]) }
        }
        2 => Source::AzureDisk { disk_uri: "x".to_owned(), is_managed: rng.chance(70) },
        3 => Source::Cinder { volume_id: "x".to_owned() },
        4 => Source::Portworx { volume_id: "x".to_owned() },
        5 => Source::Other,
        _ => {
            Source::Csi { driver: word(rng, &DRIVERS[..2]), handle: word(rng, &["h0", "h1", "h2", "h3", ""]) }
        }
    }
}

fn claim(rng: &mut Rng, namespace: &str, name: &str) -> ClaimInput {
    let is_bound = rng.chance(45);
    ClaimInput {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        storage_class: rng.chance(95).then(|| word(rng, &CLASSES)),
        beta_storage_class: rng.chance(3).then(|| "wait".to_owned()),
        selector: rng.chance(15).then(|| label_selector(rng, "disk", &["a", "b", "ssd"])),
        request: rng.chance(90).then(|| pick_size(rng)),
        access_modes: vec![word(rng, &MODES)],
        is_block: rng.chance(5),
        attributes_class: if rng.chance(5) { "gold".to_owned() } else { String::new() },
        volume_name: if is_bound { volume_name(rng) } else { String::new() },
        is_bind_completed: rng.chance(97),
        selected_node: rng.chance(8).then(|| format!("n{}", rng.range(0..=5))),
        is_lost: rng.chance(1),
        is_terminating: rng.chance(1),
        controller_uid: rng.chance(80).then(|| "u0".to_owned()),
    }
}
