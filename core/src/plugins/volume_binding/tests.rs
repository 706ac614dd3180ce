use super::*;
use crate::input::storage::{PersistentVolumeSourceInput, StorageInput};
use crate::testkit::storage::{
    capacity, claim, class, cluster, csi_node, driver, ephemeral, kept_for, on_nodes, pod_with, uses, volume,
};
use crate::testkit::{bare_node, empty, label_pairs, node_term, requirement, strings};

const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";
const NOTHING: &str = "node(s) didn't find available persistent volumes to bind";
const NO_SPACE: &str = "node(s) did not have enough free storage";
const NO_VOLUME: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Classes `wait` (provisioned), `local` (not provisioned) and `now`, on a node of zone `a`.
fn world(objects: Vec<StorageInput>) -> NaiveCluster {
    let classes = vec![
        class("wait", "csi", BindingMode::WaitForFirstConsumer).into(),
        class("local", "kubernetes.io/no-provisioner", BindingMode::WaitForFirstConsumer).into(),
        class("now", "csi", BindingMode::Immediate).into(),
    ];
    let mut node = empty(bare_node("n"));
    node.input.labels = label_pairs(&[("zone", "a")]);
    cluster([classes, objects].concat(), node)
}

fn sized(mut claim: ClaimInput, size: i64) -> ClaimInput {
    claim.request = Some(Quantity::from_units(size));
    claim
}

/// `c=v` for bindings, `c` for provisions; or the reasons.
fn found(cluster: &NaiveCluster, pod: &PodInput) -> Result<Vec<String>, Vec<String>> {
    let volumes = find(cluster, pod, &cluster.nodes[0])?;
    let bindings = volumes.bindings.iter().map(|(claim, volume)| format!("{}={}", claim.name, volume.name));
    Ok(bindings.chain(volumes.provisions.iter().map(|(claim, _)| claim.name.clone())).collect())
}

#[test]
fn pre_filter_cases() {
    let mut lost = claim("lost", "wait", "gone");
    lost.is_lost = true;
    let mut deleted = claim("deleted", "wait", "pv");
    deleted.is_terminating = true;
    let mut prebound = claim("prebound", "wait", "pv");
    prebound.is_bind_completed = false;
    let mut owned = claim("p-v0", "wait", "");
    owned.controller_uid = Some("p-uid".to_owned());
    let cluster = world(vec![
        lost.into(),
        deleted.into(),
        prebound.into(),
        owned.into(),
        claim("o-v0", "wait", "").into(),
        claim("bound", "now", "pv").into(),
        claim("open", "wait", "").into(),
        claim("now", "now", "").into(),
        claim("class-gone", "gone", "").into(),
        claim("no-class", "", "").into(),
    ]);
    let immediate = "pod has unbound immediate PersistentVolumeClaims";
    #[rustfmt::skip]
    let cases: [(&str, &[VolumeSource], Option<&str>); 14] = [
        ("all bound", &[Named("bound")], None),
        ("bound and waiting", &[Named("bound"), Named("open")], None),
        ("a claim of the pod's own", &[Own("p")], None),
        ("no such claim", &[Named("gone")], Some("persistentvolumeclaim \"gone\" not found")),
        ("one of two is missing", &[Named("bound"), Named("gone")], Some("persistentvolumeclaim \"gone\" not found")),
        ("the pod's own claim is still to be made", &[Own("q")], Some("waiting for ephemeral volume controller to create the persistentvolumeclaim \"q-v0\"")),
        ("the claim is another's", &[Own("o")], Some("PVC ns/o-v0 was not created for pod ns/o (pod is not owner)")),
        ("the volume is lost", &[Named("lost")], Some("persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"gone\"")),
        ("the claim is on its way out", &[Named("deleted")], Some("persistentvolumeclaim \"deleted\" is being deleted")),
        ("should be bound by now", &[Named("now")], Some(immediate)),
        ("one should be bound by now", &[Named("open"), Named("now")], Some(immediate)),
        ("names its volume, which is not bound", &[Named("prebound")], Some(immediate)),
        ("a class that is gone binds at once", &[Named("class-gone")], Some(immediate)),
        ("no class binds at once", &[Named("no-class")], Some(immediate)),
    ];
    for (name, sources, reason) in cases {
        let pod = pod_with(&sources.iter().map(VolumeSource::input).collect::<Vec<_>>());
        let expected = match reason {
            None => NaivePreFilter::AllNodes,
            Some(reason) => NaivePreFilter::Reject(NaiveVerdict::new(
                NAME,
                NaiveCode::UnschedulableAndUnresolvable,
                reason,
            )),
        };
        assert_eq!(pre_filter(&cluster, &pod), expected, "case: {name}");
    }
    assert_eq!(pre_filter(&cluster, &pod_with(&[])), NaivePreFilter::Skip);
}

enum VolumeSource {
    Named(&'static str),
    Own(&'static str),
}
use VolumeSource::{Named, Own};

impl VolumeSource {
    fn input(&self) -> crate::input::VolumeSourceInput {
        match self {
            Named(claim) => uses(claim),
            Own(pod) => ephemeral(pod),
        }
    }
}

#[test]
fn matching_cases() {
    let open = |name: &str| claim(name, "local", "");
    let local = |name: &str, size| volume(name, "local", size);
    let changed = |change: fn(&mut PersistentVolumeInput)| {
        let mut volume = volume("v", "local", 5);
        change(&mut volume);
        volume
    };
    let mut selecting = open("c");
    selecting.selector =
        Some(LabelSelectorInput { match_labels: label_pairs(&[("k", "v")]), ..Default::default() });
    let mut labelled = local("v2", 7);
    labelled.labels = label_pairs(&[("k", "v")]);
    struct Case {
        name: &'static str,
        objects: Vec<StorageInput>,
        claims: &'static [&'static str],
        expected: Result<&'static [&'static str], &'static [&'static str]>,
    }
    let case = |name, objects, claims, expected| Case { name, objects, claims, expected };
    #[rustfmt::skip]
    let cases = vec![
        case("bound", vec![volume("pv", "now", 1).into(), claim("c", "now", "pv").into()], &["c"], Ok(&[])),
        case("bound elsewhere", vec![on_nodes(volume("pv", "now", 1), "zone", "b").into(), claim("c", "now", "pv").into()], &["c"], Err(&[AFFINITY])),
        case("bound to nothing", vec![claim("c", "now", "gone").into()], &["c"], Err(&[NO_VOLUME])),
        case("the first of two bound claims decides", vec![claim("c", "now", "gone").into(), on_nodes(volume("pv", "now", 1), "zone", "b").into(), claim("d", "now", "pv").into()], &["c", "d"], Err(&[NO_VOLUME])),
        case("open, a volume here", vec![on_nodes(local("v", 5), "zone", "a").into(), open("c").into()], &["c"], Ok(&["c=v"])),
        case("open, a volume elsewhere", vec![on_nodes(local("v", 5), "zone", "b").into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("open, no volume", vec![open("c").into()], &["c"], Err(&[NOTHING])),
        case("two open, two volumes", vec![local("v", 5).into(), local("w", 6).into(), open("c").into(), open("d").into()], &["c", "d"], Ok(&["c=v", "d=w"])),
        case("the smaller claim chooses first", vec![local("v", 5).into(), local("w", 9).into(), sized(open("c"), 9).into(), open("d").into()], &["c", "d"], Ok(&["d=v", "c=w"])),
        case("two open, one volume", vec![local("v", 5).into(), open("c").into(), open("d").into()], &["c", "d"], Err(&[NOTHING])),
        case("bound and open", vec![volume("pv", "now", 1).into(), claim("b", "now", "pv").into(), local("v", 5).into(), open("c").into()], &["b", "c"], Ok(&["c=v"])),
        case("bound here, open nowhere", vec![volume("pv", "now", 1).into(), claim("b", "now", "pv").into(), open("c").into()], &["b", "c"], Err(&[NOTHING])),
        case("bound elsewhere, open nowhere", vec![on_nodes(volume("pv", "now", 1), "zone", "b").into(), claim("b", "now", "pv").into(), open("c").into()], &["b", "c"], Err(&[AFFINITY, NOTHING])),
        case("the smallest that will do", vec![local("v", 4).into(), local("w", 9).into(), local("x", 6).into(), open("c").into()], &["c"], Ok(&["c=x"])),
        case("of equal ones the first by name", vec![local("w", 5).into(), local("v", 5).into(), open("c").into()], &["c"], Ok(&["c=v"])),
        case("kept for the claim, though larger", vec![local("v", 5).into(), kept_for(local("w", 9), "c").into(), open("c").into()], &["c"], Ok(&["c=w"])),
        case("kept for the claim, elsewhere", vec![local("v", 5).into(), on_nodes(kept_for(local("w", 9), "c"), "zone", "b").into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("kept for another", vec![kept_for(local("v", 5), "other").into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("too small", vec![local("v", 4).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("another class", vec![volume("v", "other", 5).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("a block device", vec![changed(|it| it.is_block = true).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("another attributes class", vec![changed(|it| it.attributes_class = "gold".to_owned()).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("on its way out", vec![changed(|it| it.is_terminating = true).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("not available", vec![changed(|it| it.is_available = false).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("kept for the claim, available or not", vec![kept_for(changed(|it| it.is_available = false), "c").into(), open("c").into()], &["c"], Ok(&["c=v"])),
        case("another access mode", vec![changed(|it| it.access_modes = strings(&["ReadOnlyMany"])).into(), open("c").into()], &["c"], Err(&[NOTHING])),
        case("selected by labels", vec![local("v", 5).into(), labelled.into(), selecting.clone().into()], &["c"], Ok(&["c=v2"])),
        case("nothing selected", vec![local("v", 5).into(), selecting.into()], &["c"], Err(&[NOTHING])),
        case("field requirements of volumes do not count", vec![changed(|it| it.node_affinity = Some(vec![crate::input::NodeSelectorTermInput { match_expressions: Vec::new(), match_fields: vec![requirement("metadata.name", "In", &["m"])] }])).into(), open("c").into()], &["c"], Ok(&["c=v"])),
        case("a volume for no node", vec![changed(|it| it.node_affinity = Some(Vec::new())).into(), open("c").into()], &["c"], Err(&[NOTHING])),
    ];
    for case in cases {
        let cluster = world(case.objects);
        let pod = pod_with(&case.claims.iter().map(|claim| uses(claim)).collect::<Vec<_>>());
        let expected = case.expected.map(strings).map_err(strings);
        assert_eq!(found(&cluster, &pod), expected, "case: {}", case.name);
        let verdict = filter(&cluster, &pod, &cluster.nodes[0]);
        assert!(verdict.is_none_or(|it| it.code == NaiveCode::UnschedulableAndUnresolvable));
    }
}

#[test]
fn provisioning_cases() {
    let open = |name: &str| claim(name, "wait", "");
    let selected = |node: &str| {
        let mut claim = open("s");
        claim.selected_node = Some(node.to_owned());
        claim
    };
    let zoned = |zone: &str| {
        let mut class = class("zoned", "csi", BindingMode::WaitForFirstConsumer);
        class.allowed_topologies = vec![node_term(&[requirement("zone", "In", &[zone])])];
        class
    };
    let mut publishing = driver("csi");
    publishing.has_storage_capacity = true;
    let room =
        |bytes, zone| vec![publishing.clone().into(), capacity("wait", bytes, zone).into(), open("c").into()];
    let at_most = |bytes: i64| {
        let mut capacity = capacity("wait", Some(100), "a");
        capacity.maximum_volume_size = Some(Quantity::from_units(bytes));
        vec![publishing.clone().into(), capacity.into(), open("c").into()]
    };
    let mut other_class = capacity("wait", Some(100), "a");
    other_class.storage_class = "other".to_owned();
    let mut nowhere = capacity("wait", Some(100), "a");
    nowhere.node_topology = None;
    let mut no_request = open("c");
    no_request.request = None;
    type Expected = Result<&'static [&'static str], &'static [&'static str]>;
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<StorageInput>, &[&str], Expected)> = vec![
        ("provisioned", vec![open("c").into()], &["c"], Ok(&["c"])),
        ("one matched, one provisioned", vec![volume("v", "wait", 5).into(), open("c").into(), sized(open("d"), 9).into()], &["d", "c"], Ok(&["c=v", "d"])),
        ("one bound, one provisioned", vec![volume("pv", "now", 1).into(), claim("b", "now", "pv").into(), open("c").into()], &["b", "c"], Ok(&["c"])),
        ("being provisioned here", vec![selected("n").into()], &["s"], Ok(&["s"])),
        ("being provisioned here, another to be bound", vec![selected("n").into(), volume("v", "wait", 5).into(), open("c").into()], &["s", "c"], Ok(&["c=v", "s"])),
        ("being provisioned elsewhere", vec![selected("m").into(), volume("v", "wait", 5).into()], &["s"], Err(&[NOTHING])),
        ("no provisioner", vec![claim("c", "local", "").into()], &["c"], Err(&[NOTHING])),
        ("allowed here", vec![zoned("a").into(), claim("c", "zoned", "").into()], &["c"], Ok(&["c"])),
        ("allowed elsewhere", vec![zoned("b").into(), claim("c", "zoned", "").into()], &["c"], Err(&[NOTHING])),
        ("room enough", room(Some(5), "a"), &["c"], Ok(&["c"])),
        ("room elsewhere", room(Some(5), "b"), &["c"], Err(&[NO_SPACE])),
        ("too little room", room(Some(4), "a"), &["c"], Err(&[NO_SPACE])),
        ("no room at all", room(Some(0), "a"), &["c"], Err(&[NO_SPACE])),
        ("unknown room", room(None, "a"), &["c"], Err(&[NO_SPACE])),
        ("volumes of that size", at_most(5), &["c"], Ok(&["c"])),
        ("no volume so large", at_most(4), &["c"], Err(&[NO_SPACE])),
        ("no volumes at all", at_most(0), &["c"], Err(&[NO_SPACE])),
        ("room of another class", vec![publishing.clone().into(), other_class.into(), open("c").into()], &["c"], Err(&[NO_SPACE])),
        ("room nowhere", vec![publishing.clone().into(), nowhere.into(), open("c").into()], &["c"], Err(&[NO_SPACE])),
        ("no room published", vec![publishing.clone().into(), open("c").into()], &["c"], Err(&[NO_SPACE])),
        ("room does not matter without a size", vec![publishing.clone().into(), no_request.into()], &["c"], Ok(&["c"])),
        ("nor for a driver that publishes none", vec![driver("csi").into(), open("c").into()], &["c"], Ok(&["c"])),
    ];
    for (name, objects, claims, expected) in cases {
        let cluster = world(objects);
        let pod = pod_with(&claims.iter().map(|claim| uses(claim)).collect::<Vec<_>>());
        assert_eq!(found(&cluster, &pod), expected.map(strings).map_err(strings), "case: {name}");
    }
}

#[test]
fn migrated_volumes_are_matched_by_the_drivers_label() {
    let mut in_tree = on_nodes(volume("pv", "", 1), "topology.kubernetes.io/zone", "z");
    in_tree.source = PersistentVolumeSourceInput::GcePersistentDisk { pd_name: "d".to_owned() };
    let pod = pod_with(&[uses("c")]);
    let migrated = |plugins: &[&str]| {
        let mut node = csi_node("n", &[]);
        node.migrated_plugins = strings(plugins);
        Some(node)
    };
    let driver_label = &[("topology.gke.io/zone", "z")][..];
    let plain_label = &[("topology.kubernetes.io/zone", "z")][..];
    #[rustfmt::skip]
    let cases = [
        ("migrated, the driver's label", migrated(&["kubernetes.io/gce-pd"]), driver_label, true),
        ("migrated, only the plain label", migrated(&["kubernetes.io/gce-pd"]), plain_label, false),
        ("another plugin is migrated", migrated(&["kubernetes.io/aws-ebs"]), plain_label, true),
        ("no CSINode", None, plain_label, true),
        ("no CSINode, only the driver's label", None, driver_label, false),
    ];
    for (name, csi_node, node_labels, fits) in cases {
        let mut objects = vec![in_tree.clone().into(), claim("c", "", "pv").into()];
        objects.extend(csi_node.map(StorageInput::from));
        let mut cluster = world(objects);
        cluster.nodes[0].input.labels = label_pairs(node_labels);
        assert_eq!(found(&cluster, &pod).is_ok(), fits, "case: {name}");
    }
}

#[test]
fn score_cases() {
    let mut publishing = driver("csi");
    publishing.has_storage_capacity = true;
    let open = |name: &str, class: &str, size| StorageInput::from(sized(claim(name, class, ""), size));
    let local = |name: &str, class: &str, size| StorageInput::from(volume(name, class, size));
    let more = || StorageInput::from(class("more", "csi", BindingMode::WaitForFirstConsumer));
    let room = |class: &str, bytes| StorageInput::from(capacity(class, Some(bytes), "a"));
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<StorageInput>, &[&str], i64)> = vec![
        ("no claims", Vec::new(), &[], 0),
        ("all bound", vec![volume("pv", "now", 1).into(), claim("c", "now", "pv").into()], &["c"], 0),
        ("a volume that is just right", vec![local("v", "local", 50), open("c", "local", 50)], &["c"], 0),
        ("a volume with room to spare", vec![local("v", "local", 100), open("c", "local", 50)], &["c"], 50),
        ("the percentage is cut", vec![local("v", "local", 300), open("c", "local", 100)], &["c"], 67),
        ("two of a class are added up", vec![local("v", "local", 50), local("w", "local", 150), open("c", "local", 50), open("d", "local", 100)], &["c", "d"], 25),
        ("classes weigh the same", vec![more(), local("v", "local", 50), open("c", "local", 50), local("w", "more", 100), open("d", "more", 25)], &["c", "d"], 38),
        ("provisioned without a word of capacity", vec![open("c", "wait", 5)], &["c"], 0),
        ("provisioned from much", vec![publishing.clone().into(), room("wait", 100), open("c", "wait", 30)], &["c"], 70),
        ("two share what there is", vec![publishing.clone().into(), room("wait", 100), open("c", "wait", 30), open("d", "wait", 30)], &["c", "d"], 40),
        ("two share too little", vec![publishing.clone().into(), room("wait", 50), open("c", "wait", 30), open("d", "wait", 30)], &["c", "d"], 0),
        ("volumes that exist count alone", vec![publishing.clone().into(), room("wait", 100), local("v", "local", 100), open("c", "local", 50), open("d", "wait", 1)], &["c", "d"], 50),
        ("no place, no score", vec![open("c", "local", 5)], &["c"], 0),
    ];
    for (name, objects, claims, expected) in cases {
        let cluster = world(objects);
        let pod = pod_with(&claims.iter().map(|claim| uses(claim)).collect::<Vec<_>>());
        assert_eq!(score(&cluster, &pod, &cluster.nodes[0]), expected, "case: {name}");
    }
}
