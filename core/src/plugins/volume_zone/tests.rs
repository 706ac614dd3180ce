use super::*;
use crate::input::NodeInput;
use crate::testkit::storage::{claim, class, cluster, ephemeral, pod_with, uses, volume};
use crate::testkit::{bare_node, empty, label_pairs};

#[test]
fn zone_cases() {
    struct Case {
        name: &'static str,
        volume: &'static [(&'static str, &'static str)],
        node: &'static [(&'static str, &'static str)],
        fits: bool,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "a node without labels", volume: &[(ZONE, "a")], node: &[], fits: true },
        Case { name: "a node with other labels", volume: &[(ZONE, "a")], node: &[("disk", "ssd")], fits: true },
        Case { name: "beta zone", volume: &[(BETA_ZONE, "a")], node: &[(BETA_ZONE, "a"), ("x", "y")], fits: true },
        Case { name: "another beta zone", volume: &[(BETA_ZONE, "a")], node: &[(BETA_ZONE, "b")], fits: false },
        Case { name: "beta region", volume: &[(BETA_REGION, "r"), ("x", "y")], node: &[(BETA_REGION, "r")], fits: true },
        Case { name: "another beta region", volume: &[(BETA_REGION, "r")], node: &[(BETA_REGION, "s")], fits: false },
        Case { name: "zone", volume: &[(ZONE, "a")], node: &[(ZONE, "a")], fits: true },
        Case { name: "another zone", volume: &[(ZONE, "a")], node: &[(ZONE, "b")], fits: false },
        Case { name: "region", volume: &[(REGION, "r")], node: &[(REGION, "r")], fits: true },
        Case { name: "another region", volume: &[(REGION, "r")], node: &[(REGION, "s")], fits: false },
        Case { name: "the volume also has a region, the node has none", volume: &[(ZONE, "a"), (REGION, "r")], node: &[(ZONE, "a")], fits: false },
        Case { name: "a current label is not looked for among beta ones", volume: &[(ZONE, "a")], node: &[(BETA_ZONE, "a")], fits: false },
        Case { name: "a beta label is", volume: &[(BETA_ZONE, "a")], node: &[(ZONE, "a")], fits: true },
        Case { name: "a beta label is, and differs", volume: &[(BETA_ZONE, "a")], node: &[(ZONE, "b")], fits: false },
        Case { name: "one of several zones", volume: &[(ZONE, "c__a")], node: &[(ZONE, "a")], fits: true },
        Case { name: "none of several zones", volume: &[(BETA_ZONE, "c__a")], node: &[(BETA_ZONE, "b")], fits: false },
    ];
    for case in &cases {
        let mut bound = volume("pv", "", 1);
        bound.labels = label_pairs(case.volume);
        let node = empty(NodeInput { labels: label_pairs(case.node), ..bare_node("n") });
        let cluster = cluster(vec![bound.into(), claim("c", "", "pv").into()], node);
        let pod = pod_with(&[uses("c")]);
        assert_eq!(pre_filter(&cluster, &pod), NaivePreFilter::AllNodes, "case: {}", case.name);
        let reason = "node(s) had no available volume zone";
        let expected =
            (!case.fits).then(|| NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason));
        assert_eq!(filter(&cluster, &pod, &cluster.nodes[0]), expected, "case: {}", case.name);
    }
}

#[test]
fn pvcs_must_be_bound_or_wait_for_first_consumer() {
    let mut unset = class("unset", "p", BindingMode::Immediate);
    unset.binding_mode = None;
    let mut empty_zone = volume("empty-zone", "", 1);
    empty_zone.labels = label_pairs(&[(ZONE, "a__")]);
    let cluster = cluster(
        vec![
            class("now", "p", BindingMode::Immediate).into(),
            class("wait", "p", BindingMode::WaitForFirstConsumer).into(),
            unset.into(),
            volume("plain", "", 1).into(),
            empty_zone.into(),
            claim("no-class", "", "").into(),
            claim("no-such-class", "gone", "").into(),
            claim("mode-unset", "unset", "").into(),
            claim("now", "now", "").into(),
            claim("wait", "wait", "").into(),
            claim("plain", "", "plain").into(),
            claim("empty-zone", "", "empty-zone").into(),
            claim("lost", "", "gone").into(),
        ],
        empty(bare_node("n")),
    );
    let rejects = |reason: &str| {
        NaivePreFilter::Reject(NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason))
    };
    #[rustfmt::skip]
    let cases = [
        ("no volumes", pod_with(&[]), NaivePreFilter::Skip),
        ("a template's claim is not looked at", pod_with(&[ephemeral("p")]), NaivePreFilter::Skip),
        ("a claim without a name", pod_with(&[uses("")]), rejects("PersistentVolumeClaim had no name")),
        ("no such claim", pod_with(&[uses("gone")]), rejects("persistentvolumeclaim \"gone\" not found")),
        ("no such volume", pod_with(&[uses("lost")]), rejects("persistentvolume \"gone\" not found")),
        ("unbound without a class", pod_with(&[uses("no-class")]), rejects("PersistentVolumeClaim had no pv name and storageClass name")),
        ("unbound, no such class", pod_with(&[uses("no-such-class")]), rejects("storageclass.storage.k8s.io \"gone\" not found")),
        ("unbound, the class has no mode", pod_with(&[uses("mode-unset")]), rejects("VolumeBindingMode not set for StorageClass \"unset\"")),
        ("unbound, should be bound by now", pod_with(&[uses("now")]), rejects("PersistentVolume had no name")),
        ("unbound and waiting", pod_with(&[uses("wait")]), NaivePreFilter::Skip),
        ("bound, in no zone", pod_with(&[uses("plain")]), NaivePreFilter::Skip),
        ("bound, a zone label that says nothing", pod_with(&[uses("empty-zone")]), NaivePreFilter::Skip),
    ];
    for (name, pod, expected) in cases {
        assert_eq!(pre_filter(&cluster, &pod), expected, "case: {name}");
    }
}
