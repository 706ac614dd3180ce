use super::*;
use crate::input::storage::{BindingMode, StorageInput};
use crate::testkit::storage::{
    attachment, claim, class, cluster, csi_node, driver, ephemeral, pod_with, uses, volume,
};
use crate::testkit::{bare_node, empty};

const EBS: &str = "ebs.csi.aws.com";

fn ebs_inline(id: &str) -> VolumeSourceInput {
    VolumeSourceInput::AwsElasticBlockStore { volume_id: id.to_owned(), read_only: false }
}

/// Claims `a`, `b`, `c` with volumes of driver `csi`, others as their names say.
fn objects() -> Vec<StorageInput> {
    let mut in_tree = volume("in-tree", "", 1);
    in_tree.source = PersistentVolumeSourceInput::AwsElasticBlockStore { volume_id: "vol-t".to_owned() };
    let mut nfs = volume("nfs", "", 1);
    nfs.source = PersistentVolumeSourceInput::Other;
    let mut other_driver = volume("other-driver", "", 1);
    other_driver.source =
        PersistentVolumeSourceInput::Csi { driver: "other".to_owned(), handle: "h".to_owned() };
    let mut owned = claim("p-v0", "", "a-volume");
    owned.controller_uid = Some("p-uid".to_owned());
    let mut owned_pending = claim("q-v0", "class", "");
    owned_pending.controller_uid = Some("q-uid".to_owned());
    let mut objects: Vec<StorageInput> = vec![
        class("class", "csi", BindingMode::WaitForFirstConsumer).into(),
        class("in-tree-class", "kubernetes.io/aws-ebs", BindingMode::WaitForFirstConsumer).into(),
        class("file-class", "kubernetes.io/azure-file", BindingMode::WaitForFirstConsumer).into(),
        in_tree.into(),
        nfs.into(),
        other_driver.into(),
        claim("in-tree", "", "in-tree").into(),
        claim("nfs", "", "nfs").into(),
        claim("other-driver", "", "other-driver").into(),
        claim("pending", "class", "").into(),
        claim("pending-2", "class", "").into(),
        claim("volume-gone", "class", "gone").into(),
        claim("no-class", "", "").into(),
        claim("class-gone", "gone", "").into(),
        claim("in-tree-pending", "in-tree-class", "").into(),
        claim("file-pending", "file-class", "").into(),
        claim("o-v0", "", "a-volume").into(),
        owned.into(),
        owned_pending.into(),
    ];
    for name in ["a", "b", "c"] {
        objects.push(volume(&format!("{name}-volume"), "", 1).into());
        objects.push(claim(name, "", &format!("{name}-volume")).into());
    }
    objects
}

#[test]
fn limit_cases() {
    let limit = |count| vec![StorageInput::from(csi_node("n", &[("csi", Some(count)), (EBS, Some(count))]))];
    let attached = |count, volumes: &[&str]| {
        let mut more = limit(count);
        more.extend(volumes.iter().map(|it| attachment(&format!("at-{it}"), "n", it).into()));
        more
    };
    struct Case {
        name: &'static str,
        wanted: PodInput,
        placed: Vec<PodInput>,
        more: Vec<StorageInput>,
        fits: bool,
    }
    let case = |name, wanted: &[VolumeSourceInput], placed: &[VolumeSourceInput], more, fits| {
        let placed = placed.iter().map(|source| pod_with(std::slice::from_ref(source))).collect();
        Case { name, wanted: pod_with(wanted), placed, more, fits }
    };
    #[rustfmt::skip]
    let mut cases = vec![
        case("below the limit", &[uses("a")], &[uses("b")], limit(2), true),
        case("beyond the limit", &[uses("a")], &[uses("b")], limit(1), false),
        case("a limit of nothing", &[uses("a")], &[], limit(0), false),
        case("two wanted, room for one", &[uses("a"), uses("b")], &[], limit(1), false),
        case("the same volume is counted once", &[uses("a")], &[uses("a"), uses("a")], limit(1), true),
        case("one claim in two volumes is one", &[uses("a"), uses("a")], &[], limit(1), true),
        case("no CSINode", &[uses("a")], &[uses("b"), uses("c")], Vec::new(), true),
        case("no limit for the driver", &[uses("a")], &[uses("b")], vec![csi_node("n", &[("csi", None), ("other", Some(0))]).into()], true),
        case("no limits at all", &[uses("a")], &[uses("b")], vec![csi_node("n", &[("csi", None)]).into()], true),
        case("a volume of another driver", &[uses("other-driver")], &[uses("a"), uses("b")], limit(1), true),
        case("volumes of other drivers do not count", &[uses("a")], &[uses("other-driver")], limit(1), true),
        case("pending claims count by their class", &[uses("a")], &[uses("pending"), uses("pending-2")], limit(2), false),
        case("a pending claim is wanted", &[uses("pending")], &[uses("a")], limit(1), false),
        case("a claim whose volume is gone counts by its class", &[uses("a")], &[uses("volume-gone")], limit(1), false),
        case("a claim without a class does not count", &[uses("a")], &[uses("no-class")], limit(1), true),
        case("nor one whose class is gone", &[uses("a")], &[uses("class-gone")], limit(1), true),
        case("nor one that is gone itself", &[uses("a")], &[uses("gone")], limit(1), true),
        case("in-tree volumes count as CSI volumes", &[uses("in-tree")], &[ebs_inline("vol-x")], limit(1), false),
        case("pending in-tree claims count", &[uses("in-tree-pending")], &[uses("in-tree")], limit(1), false),
        case("inline volumes count", &[ebs_inline("vol-1")], &[ebs_inline("vol-2")], limit(1), false),
        case("inline and in-tree, the same disk", &[ebs_inline("vol-t")], &[uses("in-tree")], limit(1), true),
        case("volumes that cannot be migrated do not count", &[uses("a")], &[uses("nfs"), uses("file-pending")], limit(1), true),
        case("nor are they limited", &[uses("nfs")], &[uses("a"), uses("b")], limit(1), true),
        case("attachments count", &[uses("a")], &[], attached(1, &["b-volume"]), false),
        case("attachments below the limit", &[uses("a")], &[], attached(2, &["b-volume"]), true),
        case("an attached volume of a pod counts once", &[uses("a")], &[uses("b")], attached(2, &["b-volume"]), true),
        // Upstream: only volumes of pods are taken off the wanted ones.
        case("an attachment of the wanted volume counts beside it", &[uses("a")], &[], attached(1, &["a-volume"]), false),
        case("attachments of volumes that are gone do not count", &[uses("a")], &[], attached(1, &["gone", "nfs"]), true),
        case("an ephemeral volume counts", &[ephemeral("p")], &[uses("b")], limit(1), false),
        case("and fits", &[ephemeral("p")], &[uses("b")], limit(2), true),
        case("a pending ephemeral volume counts", &[ephemeral("q")], &[uses("b")], limit(1), false),
        case("ephemeral volumes of pods count", &[uses("b")], &[ephemeral("p"), ephemeral("q")], limit(2), false),
    ];
    cases.push(Case {
        name: "attachments to other nodes do not count",
        wanted: pod_with(&[uses("a")]),
        placed: Vec::new(),
        more: [limit(1), vec![attachment("x", "m", "b-volume").into()]].concat(),
        fits: true,
    });
    for case in cases {
        let mut node = empty(bare_node("n"));
        node.pods = case.placed.into_iter().map(Into::into).collect();
        let cluster = cluster([objects(), case.more].concat(), node);
        assert_eq!(pre_filter(&case.wanted), NaivePreFilter::AllNodes, "case: {}", case.name);
        let expected = (!case.fits)
            .then(|| NaiveVerdict::new(NAME, NaiveCode::Unschedulable, "node(s) exceed max volume count"));
        assert_eq!(filter(&cluster, &case.wanted, &cluster.nodes[0]), expected, "case: {}", case.name);
    }
}

#[test]
fn pvcs_must_exist_and_be_owned_by_the_pod_if_ephemeral() {
    let cluster = cluster(objects(), empty(bare_node("n")));
    let reason = |pod: &PodInput| {
        let verdict = filter(&cluster, pod, &cluster.nodes[0]).expect("the claim is of no use");
        assert_eq!(verdict.code, NaiveCode::UnschedulableAndUnresolvable);
        verdict.reasons[0].clone()
    };
    let missing = reason(&pod_with(&[ephemeral("r")]));
    assert_eq!(missing, "looking up PVC ns/r-v0: persistentvolumeclaim \"r-v0\" not found");
    let foreign = reason(&pod_with(&[ephemeral("o")]));
    assert_eq!(foreign, "PVC ns/o-v0 was not created for pod ns/o (pod is not owner)");
}

#[test]
fn missing_csi_driver_rejects_when_driver_requires_installation() {
    let required = || CsiDriverOf { required: true };
    struct CsiDriverOf {
        required: bool,
    }
    let object = |it: &CsiDriverOf| {
        let mut object = driver("csi");
        object.is_required_on_node = it.required;
        StorageInput::from(object)
    };
    let with = StorageInput::from(csi_node("n", &[("csi", None)]));
    let without = StorageInput::from(csi_node("n", &[("other", Some(1))]));
    #[rustfmt::skip]
    let cases = [
        ("nobody knows the driver", vec![without.clone()], true),
        ("the driver does not insist", vec![without.clone(), object(&CsiDriverOf { required: false })], true),
        ("it does, and is there", vec![with, object(&required())], true),
        ("it does, and is not there", vec![without, object(&required())], false),
        ("it does, and there is no CSINode", vec![object(&required())], false),
    ];
    for (name, more, fits) in cases {
        let cluster = cluster([objects(), more].concat(), empty(bare_node("n")));
        let reason = "csi CSI driver is not installed on the node";
        let expected = (!fits).then(|| NaiveVerdict::new(NAME, NaiveCode::Unschedulable, reason));
        assert_eq!(filter(&cluster, &pod_with(&[uses("a")]), &cluster.nodes[0]), expected, "case: {name}");
    }
}

#[test]
fn pods_without_limited_volumes_are_skipped() {
    let image = VolumeSourceInput::Image { reference: "i".to_owned() };
    assert_eq!(pre_filter(&pod_with(&[])), NaivePreFilter::Skip);
    assert_eq!(pre_filter(&pod_with(std::slice::from_ref(&image))), NaivePreFilter::Skip);
    assert_eq!(pre_filter(&pod_with(&[image, uses("a")])), NaivePreFilter::AllNodes);
    assert_eq!(pre_filter(&pod_with(&[ephemeral("p")])), NaivePreFilter::AllNodes);
    assert_eq!(pre_filter(&pod_with(&[ebs_inline("vol-1")])), NaivePreFilter::AllNodes);
}
