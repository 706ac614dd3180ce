use super::*;
use crate::input::storage::READ_WRITE_ONCE_POD;
use crate::testkit::storage::{claim, cluster, pod_with, uses};
use crate::testkit::{bare_node, empty, strings};

fn gce(name: &str, read_only: bool) -> VolumeSourceInput {
    VolumeSourceInput::GcePersistentDisk { pd_name: name.to_owned(), read_only }
}

fn ebs(id: &str, read_only: bool) -> VolumeSourceInput {
    VolumeSourceInput::AwsElasticBlockStore { volume_id: id.to_owned(), read_only }
}

fn iscsi(portal: &str, iqn: &str, read_only: bool) -> VolumeSourceInput {
    VolumeSourceInput::Iscsi { target_portal: portal.to_owned(), iqn: iqn.to_owned(), lun: 0, read_only }
}

fn rbd(monitors: &[&str], pool: &str, image: &str, read_only: bool) -> VolumeSourceInput {
    VolumeSourceInput::Rbd {
        monitors: strings(monitors),
        pool: pool.to_owned(),
        image: image.to_owned(),
        read_only,
    }
}

#[test]
fn disk_cases() {
    #[rustfmt::skip]
    let cases = [
        ("another GCE disk", gce("a", false), gce("b", false), true),
        ("the same GCE disk", gce("a", false), gce("a", false), false),
        ("one reader and one writer", gce("a", true), gce("a", false), false),
        ("two readers", gce("a", true), gce("a", true), true),
        ("another EBS volume", ebs("a", false), ebs("b", false), true),
        ("the same EBS volume", ebs("a", false), ebs("a", false), false),
        ("EBS volumes are not even read together", ebs("a", true), ebs("a", true), false),
        ("another iSCSI target", iscsi("p", "a", false), iscsi("p", "b", false), true),
        ("the same iSCSI target, whatever the portal", iscsi("p", "a", false), iscsi("q", "a", false), false),
        ("two iSCSI readers", iscsi("p", "a", true), iscsi("p", "a", true), true),
        ("one iSCSI reader", iscsi("p", "a", true), iscsi("p", "a", false), false),
        ("the same RBD image", rbd(&["m1", "m2"], "p", "i", false), rbd(&["m2", "m3"], "p", "i", false), false),
        ("no monitor in common", rbd(&["m1"], "p", "i", false), rbd(&["m2"], "p", "i", false), true),
        ("another RBD pool", rbd(&["m"], "p", "i", false), rbd(&["m"], "q", "i", false), true),
        ("another RBD image", rbd(&["m"], "p", "i", false), rbd(&["m"], "p", "j", false), true),
        ("two RBD readers", rbd(&["m"], "p", "i", true), rbd(&["m"], "p", "i", true), true),
        ("one RBD reader", rbd(&["m"], "p", "i", true), rbd(&["m"], "p", "i", false), false),
        ("kinds do not meet", gce("a", false), ebs("a", false), true),
    ];
    for (name, wanted, used, fits) in cases {
        let mut node = empty(bare_node("n"));
        node.pods = vec![pod_with(&[used]).into()];
        let cluster = cluster(Vec::new(), node);
        let pod = pod_with(&[wanted]);
        assert_eq!(pre_filter(&cluster, &pod), NaivePreFilter::AllNodes, "case: {name}");
        let verdict = filter(&claim_uses(&cluster, &pod), &pod, &cluster.nodes[0]);
        let expected = (!fits)
            .then(|| NaiveVerdict::new(NAME, NaiveCode::Unschedulable, "node(s) had no available disk"));
        assert_eq!(verdict, expected, "case: {name}");
    }
}

#[test]
fn read_write_once_pod_pvc_is_used_by_one_pod_of_the_cluster() {
    let mut one_pod = claim("one", "", "v");
    one_pod.access_modes = strings(&[READ_WRITE_ONCE_POD]);
    let shared = claim("shared", "", "v");
    let mut busy = empty(bare_node("busy"));
    busy.pods = vec![pod_with(&[uses("one"), uses("shared")]).into()];
    let mut cluster = cluster(vec![one_pod.into(), shared.into()], busy);
    cluster.add_node(bare_node("idle"));
    let wanted = pod_with(&[uses("one")]);
    assert_eq!(pre_filter(&cluster, &wanted), NaivePreFilter::AllNodes);
    for node in &cluster.nodes {
        let verdict = filter(&claim_uses(&cluster, &wanted), &wanted, node).expect("the claim is in use");
        assert_eq!(verdict.code, NaiveCode::Unschedulable, "evicting the user helps");
        assert!(verdict.reasons[0].contains("ReadWriteOncePod"));
    }
    assert_eq!(pre_filter(&cluster, &pod_with(&[uses("shared")])), NaivePreFilter::Skip);
    cluster.nodes[0].pods.clear();
    assert_eq!(pre_filter(&cluster, &wanted), NaivePreFilter::Skip, "nobody uses it any more");
    let mut elsewhere = pod_with(&[uses("one")]);
    elsewhere.namespace = "other".to_owned();
    cluster.nodes[0].pods = vec![elsewhere.into()];
    assert_eq!(
        pre_filter(&cluster, &wanted),
        NaivePreFilter::Skip,
        "a claim of that name in another namespace"
    );
}

#[test]
fn pvcs_must_exist_and_pods_without_volumes_are_skipped() {
    let cluster = cluster(vec![claim("there", "", "").into()], empty(bare_node("n")));
    assert_eq!(pre_filter(&cluster, &PodInput::default()), NaivePreFilter::Skip);
    assert_eq!(pre_filter(&cluster, &pod_with(&[uses("there")])), NaivePreFilter::Skip);
    let missing = pod_with(&[uses("there"), uses("gone")]);
    let reason = "persistentvolumeclaim \"gone\" not found";
    let expected = NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason);
    assert_eq!(pre_filter(&cluster, &missing), NaivePreFilter::Reject(expected));
}
