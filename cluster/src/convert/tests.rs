//! Conversion, field by field.

use k8s_openapi::api::core::v1::{Node, Pod};
use schedlab_core::input::{
    ContainerStatusInput, HostPortInput, ImageInput, LabelSelectorInput, NodeInput, OwnerInput, PodInput,
    PodMeta, PreemptionPolicy, SpreadConstraintInput, TaintInput, TolerationInput, VolumeSourceInput,
};
use schedlab_testkit::input::{requirement, resources};
use serde_json::{Value, json};

use super::{node_input, pod_input, storage_input};

fn read(value: Value) -> Pod {
    serde_json::from_value(value).expect("the test's pod is well formed")
}

/// A pod of one container with these further fields of the spec.
fn with_spec(more: Value) -> PodInput {
    let mut spec = json!({ "containers": [{ "name": "c" }] });
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    input(json!({ "metadata": { "name": "web" }, "spec": spec }))
}

fn input(value: Value) -> PodInput {
    pod_input(&read(value)).expect("the pod converts").0
}

fn meta(value: Value) -> PodMeta {
    pod_input(&read(value)).expect("the pod converts").1
}

#[test]
fn a_bare_pod_has_only_defaults() {
    let bare = with_spec(json!({}));
    assert_eq!(bare.containers.len(), 1);
    assert_eq!(PodInput { containers: Vec::new(), namespace: String::new(), ..bare }, PodInput::default());
}

#[test]
fn simple_fields_are_copied() {
    let input = input(json!({
        "metadata": {
            "name": "web", "namespace": "shop", "labels": { "app": "web" },
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1" },
                { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "2", "controller": true }
            ]
        },
        "spec": {
            "containers": [{ "name": "c" }],
            "schedulerName": "mine", "priority": 7, "preemptionPolicy": "Never",
            "schedulingGates": [{ "name": "b" }, { "name": "a" }],
            "nodeName": "n1", "nodeSelector": { "disk": "ssd" }, "hostNetwork": true,
            "overhead": { "cpu": "10m" }, "resources": { "requests": { "cpu": "2" } }
        }
    }));
    assert_eq!(input.namespace, "shop");
    assert_eq!(input.labels.get("app").map(String::as_str), Some("web"));
    assert_eq!(input.scheduler_name, "mine");
    assert_eq!(input.priority, 7);
    assert_eq!(input.preemption, PreemptionPolicy::Never);
    assert_eq!(input.scheduling_gates, ["b", "a"]);
    assert_eq!(input.node_name, None, "the bound node is in the meta");
    assert_eq!(input.node_selector, Some([("disk".to_owned(), "ssd".to_owned())].into()));
    assert!(input.host_network);
    assert_eq!(input.overhead, resources(&[("cpu", "10m")]));
    assert_eq!(input.pod_requests, Some(resources(&[("cpu", "2")])));
    let owner = OwnerInput {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: "rs".to_owned(),
        uid: "2".to_owned(),
    };
    assert_eq!(input.controller, Some(owner));
}

#[test]
fn an_empty_node_selector_is_not_an_absent_one() {
    assert_eq!(with_spec(json!({})).node_selector, None);
    let empty = with_spec(json!({ "nodeSelector": {} })).node_selector;
    assert!(empty.is_some_and(|selector| selector.is_empty()));
}

#[test]
fn identity_is_converted_to_meta() {
    let meta = meta(json!({
        "metadata": {
            "name": "web", "uid": "u-1", "creationTimestamp": "1970-01-01T00:01:40Z",
            "deletionTimestamp": "1970-01-01T00:02:00Z"
        },
        "spec": {
            "containers": [{ "name": "c" }], "nodeName": "n1",
            "schedulingGroup": { "podGroupName": "gang" }
        },
        "status": {
            "nominatedNodeName": "n2", "startTime": "1970-01-01T00:01:41Z", "phase": "Failed",
            "conditions": [{ "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler" }]
        }
    }));
    let expected = PodMeta {
        name: "web".to_owned(),
        uid: "u-1".to_owned(),
        pod_group: Some("gang".to_owned()),
        node_name: Some("n1".to_owned()),
        nominated_node_name: Some("n2".to_owned()),
        start_time_s: Some(101),
        creation_time_s: Some(100),
        is_terminating: true,
        is_preempted: true,
        is_finished: true,
    };
    assert_eq!(meta, expected);
}

#[test]
fn empty_node_name_is_unassigned() {
    let meta = meta(json!({
        "metadata": { "name": "web" },
        "spec": { "containers": [], "nodeName": "" },
        "status": { "nominatedNodeName": "", "phase": "Running" }
    }));
    assert_eq!(meta.node_name, None);
    assert_eq!(meta.nominated_node_name, None);
    assert!(!meta.is_finished);
}

#[test]
fn containers_keep_requests_ports_and_kind() {
    let input = with_spec(json!({
        "containers": [{
            "name": "main", "image": "nginx",
            "resources": { "requests": { "cpu": "100m", "example.com/gpu": "1" }, "limits": { "memory": "1Gi" } },
            "ports": [
                { "containerPort": 80 },
                { "containerPort": 81, "hostPort": 0 },
                { "containerPort": 82, "hostPort": 8082, "protocol": "UDP", "hostIP": "10.0.0.1" }
            ]
        }],
        "initContainers": [{ "name": "side", "restartPolicy": "Always" }, { "name": "once" }]
    }));
    let main = &input.containers[0];
    assert_eq!((main.name.as_str(), main.image.as_str()), ("main", "nginx"));
    assert_eq!(main.requests, resources(&[("cpu", "100m"), ("example.com/gpu", "1")]));
    let port = HostPortInput { host_ip: "10.0.0.1".to_owned(), protocol: "UDP".to_owned(), host_port: 8082 };
    assert_eq!(main.host_ports, [port], "ports without a host port are left out");
    let sidecars: Vec<bool> = input.init_containers.iter().map(|init| init.is_sidecar).collect();
    assert_eq!(sidecars, [true, false]);
}

#[test]
fn resource_statuses_are_found_by_container_name() {
    let input = input(json!({
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "a" }, { "name": "b" }], "initContainers": [{ "name": "i" }] },
        "status": {
            "containerStatuses": [{
                "name": "b", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "allocatedResources": { "cpu": "2" }, "resources": { "requests": { "cpu": "3" } }
            }],
            "initContainerStatuses": [{ "name": "i", "image": "", "imageID": "", "ready": true, "restartCount": 0 }],
            "resources": { "requests": { "cpu": "4" } },
            "allocatedResources": { "cpu": "5" },
            "conditions": [{ "type": "PodResizePending", "status": "True", "reason": "Infeasible" }]
        }
    }));
    assert_eq!(input.containers[0].status, None);
    let status = ContainerStatusInput {
        allocated: Some(resources(&[("cpu", "2")])),
        actual_requests: Some(resources(&[("cpu", "3")])),
    };
    assert_eq!(input.containers[1].status, Some(status));
    assert_eq!(input.init_containers[0].status, Some(ContainerStatusInput::default()));
    let pod = input.resource_status;
    assert!(pod.has_resources);
    assert_eq!(pod.requests, Some(resources(&[("cpu", "4")])));
    assert_eq!(pod.allocated, Some(resources(&[("cpu", "5")])));
    assert!(pod.resize_infeasible);
    assert!(!pod.resize_deferred);
}

#[test]
fn node_affinity_keeps_terms_as_written() {
    let term = json!({
        "matchExpressions": [{ "key": "zone", "operator": "In", "values": ["a", "b"] }],
        "matchFields": [{ "key": "metadata.name", "operator": "NotIn", "values": ["n1"] }]
    });
    let input = with_spec(json!({ "affinity": { "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [term, {}] },
        "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 9, "preference": term }]
    }}}));
    let affinity = input.node_affinity.expect("the pod has node affinity");
    let required = affinity.required.expect("it has required terms");
    assert_eq!(required.len(), 2, "an empty term is meaningful");
    assert_eq!(required[0].match_expressions, [requirement("zone", "In", &["a", "b"])]);
    assert_eq!(required[0].match_fields, [requirement("metadata.name", "NotIn", &["n1"])]);
    assert_eq!(affinity.preferred, Some(vec![(9, required[0].clone())]));
    assert_eq!(affinity.required_during_execution, None);
}

#[test]
fn pod_affinity_distinguishes_absent_from_empty_selector() {
    let input = with_spec(json!({ "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                { "topologyKey": "zone" },
                { "topologyKey": "zone", "labelSelector": {}, "namespaces": ["a"], "namespaceSelector": {} }
            ]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 3, "podAffinityTerm": {
                "topologyKey": "host",
                "labelSelector": {
                    "matchLabels": { "app": "web" },
                    "matchExpressions": [{ "key": "tier", "operator": "Exists" }]
                }
            }}]
        }
    }}));
    let required = &input.pod_affinity.required;
    assert_eq!(required[0].label_selector, None);
    assert_eq!(required[1].label_selector, Some(LabelSelectorInput::default()));
    assert_eq!(required[1].namespace_selector, Some(LabelSelectorInput::default()));
    assert_eq!(required[1].namespaces, ["a"]);
    assert!(input.pod_affinity.preferred.is_empty());
    let (weight, term) = &input.pod_anti_affinity.preferred[0];
    assert_eq!((*weight, term.topology_key.as_str()), (3, "host"));
    let selector = LabelSelectorInput {
        match_labels: [("app".to_owned(), "web".to_owned())].into(),
        match_expressions: vec![requirement("tier", "Exists", &[])],
    };
    assert_eq!(term.label_selector, Some(selector));
}

#[test]
fn tolerations_and_spread_constraints_are_copied() {
    let input = with_spec(json!({
        "tolerations": [
            { "key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5 },
            { "operator": "Exists" }
        ],
        "topologySpreadConstraints": [
            { "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule" },
            {
                "maxSkew": 2, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {}, "minDomains": 3, "nodeAffinityPolicy": "Ignore",
                "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["rev"]
            }
        ]
    }));
    let first = TolerationInput {
        key: "k".to_owned(),
        operator: "Equal".to_owned(),
        value: "v".to_owned(),
        effect: "NoExecute".to_owned(),
        seconds: Some(5),
    };
    let second = TolerationInput { operator: "Exists".to_owned(), ..TolerationInput::default() };
    assert_eq!(input.tolerations, [first, second]);
    let plain = SpreadConstraintInput {
        max_skew: 1,
        topology_key: "zone".to_owned(),
        ..SpreadConstraintInput::default()
    };
    let full = SpreadConstraintInput {
        max_skew: 2,
        topology_key: "host".to_owned(),
        schedule_anyway: true,
        label_selector: Some(LabelSelectorInput::default()),
        min_domains: Some(3),
        ignore_node_affinity: true,
        honor_node_taints: true,
        match_label_keys: vec!["rev".to_owned()],
    };
    assert_eq!(input.spread_constraints, [plain, full]);
}

#[test]
fn volumes_that_scheduling_reads_are_kept() {
    use VolumeSourceInput as Source;
    let text = str::to_owned;
    let in_tree = |kind: &str, id: &str| Some(Source::InTree { kind: text(kind), id: text(id) });
    let cases = [
        (
            "claim",
            json!({ "persistentVolumeClaim": { "claimName": "c", "readOnly": true } }),
            Some(Source::Claim { claim_name: text("c"), read_only: true }),
        ),
        (
            "ephemeral",
            json!({ "ephemeral": {} }),
            Some(Source::Ephemeral { pod_name: text("web"), pod_uid: text("") }),
        ),
        ("image", json!({ "image": { "reference": "r" } }), Some(Source::Image { reference: text("r") })),
        ("csi", json!({ "csi": { "driver": "d" } }), Some(Source::Csi { driver: text("d") })),
        (
            "gce disk",
            json!({ "gcePersistentDisk": { "pdName": "p" } }),
            Some(Source::GcePersistentDisk { pd_name: text("p"), read_only: false }),
        ),
        (
            "aws disk",
            json!({ "awsElasticBlockStore": { "volumeID": "v", "readOnly": true } }),
            Some(Source::AwsElasticBlockStore { volume_id: text("v"), read_only: true }),
        ),
        (
            "iscsi",
            json!({ "iscsi": { "targetPortal": "t", "iqn": "q", "lun": 2 } }),
            Some(Source::Iscsi { target_portal: text("t"), iqn: text("q"), lun: 2, read_only: false }),
        ),
        (
            "rbd",
            json!({ "rbd": { "monitors": ["m"], "image": "i", "pool": "p" } }),
            Some(Source::Rbd {
                monitors: vec![text("m")],
                pool: text("p"),
                image: text("i"),
                read_only: false,
            }),
        ),
        (
            "azure disk",
            json!({ "azureDisk": { "diskName": "n", "diskURI": "u" } }),
            in_tree("azureDisk", "u"),
        ),
        (
            "azure file",
            json!({ "azureFile": { "secretName": "s", "shareName": "h" } }),
            in_tree("azureFile", "s#h"),
        ),
        ("cinder", json!({ "cinder": { "volumeID": "v" } }), in_tree("cinder", "v")),
        ("vsphere", json!({ "vsphereVolume": { "volumePath": "p" } }), in_tree("vsphereVolume", "p")),
        ("portworx", json!({ "portworxVolume": { "volumeID": "v" } }), in_tree("portworxVolume", "v")),
        ("empty dir is nobody's business", json!({ "emptyDir": {} }), None),
    ];
    for (name, mut volume, expected) in cases {
        volume["name"] = json!("vol");
        let volumes = with_spec(json!({ "volumes": [volume] })).volumes;
        let found = volumes.into_iter().next().map(|volume| {
            assert_eq!(volume.name, "vol", "case: {name}");
            volume.source
        });
        assert_eq!(found, expected, "case: {name}");
    }
}

#[test]
fn nodes_are_copied() {
    let node: Node = serde_json::from_value(json!({
        "metadata": { "name": "n1", "labels": { "zone": "a" } },
        "spec": { "unschedulable": true, "taints": [{ "key": "k", "effect": "NoSchedule" }] },
        "status": {
            "capacity": { "cpu": "9" }, "allocatable": { "cpu": "8", "pods": "110" },
            "images": [{ "names": ["a", "b"], "sizeBytes": 7 }], "declaredFeatures": ["F"]
        }
    }))
    .expect("the test's node is well formed");
    let expected = NodeInput {
        name: "n1".to_owned(),
        labels: [("zone".to_owned(), "a".to_owned())].into(),
        taints: vec![TaintInput {
            key: "k".to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
        }],
        unschedulable: true,
        allocatable: resources(&[("cpu", "8"), ("pods", "110")]),
        images: vec![ImageInput { names: vec!["a".to_owned(), "b".to_owned()], size_bytes: 7 }],
        declared_features: vec!["F".to_owned()],
    };
    assert_eq!(node_input(&node), Ok(expected));
}

#[test]
fn a_bad_quantity_is_found_by_object_field_and_value() {
    let cases = [
        (
            json!({ "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1x0m" } } }] }),
            "pod shop/web: spec.containers[0].resources.requests[\"cpu\"]: \"1x0m\" is not a quantity: ",
        ),
        (
            json!({ "containers": [], "initContainers": [{ "name": "c", "resources": { "requests": { "cpu": "" } } }] }),
            "pod shop/web: spec.initContainers[0].resources.requests[\"cpu\"]: \"\" is not a quantity: ",
        ),
        (
            json!({ "containers": [], "overhead": { "memory": "1Gb" } }),
            "pod shop/web: spec.overhead[\"memory\"]: \"1Gb\" is not a quantity: ",
        ),
        (
            json!({ "containers": [], "resources": { "requests": { "cpu": "one" } } }),
            "pod shop/web: spec.resources.requests[\"cpu\"]: \"one\" is not a quantity: ",
        ),
    ];
    for (spec, expected) in cases {
        let bad = read(json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec }));
        let message = pod_input(&bad).expect_err("the quantity is bad").to_string();
        assert!(message.starts_with(expected), "{message} does not start with {expected}");
    }
}

#[test]
fn pod_without_name_is_reported_by_generate_name() {
    let bad = read(json!({
        "metadata": { "generateName": "web-" },
        "spec": { "containers": [], "overhead": { "cpu": "x" } }
    }));
    let message = pod_input(&bad).expect_err("the quantity is bad").to_string();
    assert!(message.starts_with("pod default/web-*: spec.overhead"), "{message}");
}

#[test]
fn malformed_nodes_are_refused() {
    let cases = [
        (
            json!({ "metadata": { "name": "n1" }, "status": { "allocatable": { "cpu": "4 cores" } } }),
            "node n1: status.allocatable[\"cpu\"]: \"4 cores\" is not a quantity: ",
        ),
        (json!({ "metadata": {} }), "node: metadata.name is empty; the API requires it"),
    ];
    for (value, expected) in cases {
        let node: Node = serde_json::from_value(value).expect("the test's node is well formed");
        let message = node_input(&node).expect_err("the node is bad").to_string();
        assert!(message.starts_with(expected), "{message} does not start with {expected}");
    }
}

fn stored(value: serde_json::Value) -> crate::api::GenericObject {
    serde_json::from_value(value).expect("the test's object is well formed")
}

#[test]
fn objects_of_storage_are_read() {
    use schedlab_core::input::storage::{BindingMode, PersistentVolumeSourceInput, StorageInput};
    let read = |value| storage_input(&stored(value)).expect("it can be read").expect("it is of storage");
    let volume = read(json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": { "name": "pv", "annotations": { "volume.beta.kubernetes.io/storage-class": "old" } },
        "spec": {
            "storageClassName": "new", "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Block", "claimRef": { "namespace": "a", "name": "c", "uid": "u" },
            "azureDisk": { "diskName": "n", "diskURI": "uri", "kind": "Shared" },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "k", "operator": "Exists" }] }] } }
        },
        "status": { "phase": "Available" }
    }));
    let StorageInput::PersistentVolume(volume) = volume else { panic!("{volume:?}") };
    assert_eq!((volume.class(), volume.storage_class.as_str()), ("old", "new"));
    assert_eq!(volume.capacity.value(), 1 << 30);
    assert!(volume.is_block && volume.is_available && !volume.is_terminating);
    assert_eq!(volume.claim_ref.map(|it| it.uid).as_deref(), Some("u"));
    assert_eq!(volume.node_affinity.map(|terms| terms.len()), Some(1));
    let source = PersistentVolumeSourceInput::AzureDisk { disk_uri: "uri".to_owned(), is_managed: false };
    assert_eq!(volume.source, source);

    let claim = read(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "c", "namespace": "a", "uid": "u",
            "annotations": { "pv.kubernetes.io/bind-completed": "", "volume.kubernetes.io/selected-node": "n" },
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1" },
                { "apiVersion": "v1", "kind": "Pod", "name": "y", "uid": "2", "controller": true }
            ]
        },
        "spec": {
            "volumeName": "pv", "accessModes": ["ReadWriteOncePod"],
            "resources": { "requests": { "storage": "5" } }, "selector": {}
        },
        "status": { "phase": "Lost" }
    }));
    let StorageInput::PersistentVolumeClaim(claim) = claim else { panic!("{claim:?}") };
    assert!(claim.is_fully_bound() && claim.is_for_one_pod() && claim.is_lost);
    assert_eq!(claim.class(), "");
    assert_eq!(claim.request.map(|it| it.value()), Some(5));
    assert_eq!(claim.selector, Some(LabelSelectorInput::default()));
    assert_eq!(claim.selected_node.as_deref(), Some("n"));
    assert_eq!(claim.controller_uid.as_deref(), Some("2"));

    let class = read(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": "s" },
        "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{ "matchLabelExpressions": [{ "key": "k", "values": ["v"] }] }]
    }));
    let StorageInput::StorageClass(class) = class else { panic!("{class:?}") };
    assert_eq!(class.binding_mode, Some(BindingMode::WaitForFirstConsumer));
    assert_eq!(class.allowed_topologies[0].match_expressions[0].operator, "In");

    let node = read(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
        "metadata": { "name": "n", "annotations": { "storage.alpha.kubernetes.io/migrated-plugins": "a,b" } },
        "spec": { "drivers": [{ "name": "d", "nodeID": "n", "allocatable": { "count": 3 } }, { "name": "e", "nodeID": "n" }] }
    }));
    let StorageInput::CsiNode(node) = node else { panic!("{node:?}") };
    assert_eq!(node.drivers, [("d".to_owned(), Some(3)), ("e".to_owned(), None)]);
    assert_eq!(node.migrated_plugins, ["a", "b"]);
}

#[test]
fn other_kinds_are_unchanged_and_bad_quantities_are_reported() {
    let other = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "r" } });
    assert_eq!(storage_input(&stored(other)), Ok(None));
    let bad = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "c", "namespace": "a" },
        "spec": { "resources": { "requests": { "storage": "much" } } }
    });
    let message = storage_input(&stored(bad)).expect_err("the quantity is bad").to_string();
    let start = "persistentvolumeclaim a/c: spec.resources.requests[\"storage\"]: \"much\" is not a quantity";
    assert!(message.starts_with(start), "{message}");
    let shapeless =
        json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "pv" }, "spec": 5 });
    let message = storage_input(&stored(shapeless)).expect_err("the spec is no object").to_string();
    assert!(message.starts_with("persistentvolume pv: "), "{message}");
}
