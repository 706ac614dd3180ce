use crate::support::{Folder, NODES, PODS, config, schedlab_in};

/// Three nodes: one tainted, one small, one that fits; a pod on the small one and one that waits.
const CLUSTER: &str = r#"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: big}, status: {allocatable: {cpu: 8, memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: 1, memory: 2Gi, pods: "10"}}}
- apiVersion: v1
  kind: Node
  metadata: {name: tainted}
  spec: {taints: [{key: gpu, effect: NoSchedule}]}
  status: {allocatable: {cpu: 8, memory: 16Gi, pods: "10"}}
- apiVersion: v1
  kind: Pod
  metadata: {name: running, namespace: shop, uid: "1", resourceVersion: "7"}
  spec:
    nodeName: small
    priority: 5
    priorityClassName: not-exported
    containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]
  status: {phase: Running, containerStatuses: [{name: c, image: i, imageID: x, ready: true, restartCount: 0}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: done, namespace: shop}
  spec: {nodeName: big, containers: [{name: c, image: i, resources: {requests: {cpu: 8}}}]}
  status: {phase: Succeeded}
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop}
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 600m}}}]}
  status: {phase: Pending}
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("cluster.yaml", CLUSTER);
    folder
}

#[test]
fn a_pending_pod_is_explained_node_by_node() {
    schedlab_in(&folder(), &["explain", "--cluster", "cluster.yaml", "--pod", "shop/web"])
        .ends_with(0)
        .says("pod shop/web (priority 0, cpu 600m)")
        .says("chosen: big with")
        .says("it is the only feasible node")
        .says("1 of 3 nodes are feasible; 2 are out:")
        .says("TaintToleration        1  node(s) had untolerated taint(s)")
        .says("1    gpu:NoSchedule")
        .says("NodeResourcesFit       1  Insufficient cpu")
        .says("1    cpu: requested 600m, free 500m of 1 allocatable")
        .says("not used: 1 Pod (they have finished)");
}

#[test]
fn manifest_in_flow_style_is_read_as_kubectl_reads_it() {
    let folder = folder();
    folder.file(
        "pod.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}",
    );
    let args = ["explain", "--cluster", "cluster.yaml", "--pod-file", "pod.yaml"];
    schedlab_in(&folder, &args).ends_with(0).says("pod default/web");
    // What is neither is told of as JSON, and once.
    folder.file("pod.yaml", "{\"apiVersion\": \"v1\", \"kind\": ");
    let answer = schedlab_in(&folder, &args).ends_with(2).complains("EOF while parsing a value");
    assert_eq!(answer.stderr.matches("EOF while parsing").count(), 1, "{}", answer.stderr);
}

#[test]
fn api_server_error_is_printed_once() {
    let folder = folder();
    folder.file(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i, resources: \
         {requests: {memory: -1Gi}}}]}\n",
    );
    let answer = schedlab_in(&folder, &["explain", "--cluster", "cluster.yaml", "--pod-file", "pod.yaml"]);
    let answer = answer.ends_with(2).complains("must be greater than or equal to 0");
    assert_eq!(answer.stderr.matches("must be greater").count(), 1, "{}", answer.stderr);
}

#[test]
fn bound_pod_is_explained_as_if_unscheduled() {
    schedlab_in(&folder(), &["explain", "--cluster", "cluster.yaml", "--pod", "shop/running"])
        .ends_with(0)
        .says("it is on small; explained as if it were on no node")
        .says("2 of 3 nodes are feasible")
        .says("points ahead of small:");
}

#[test]
fn nodes_can_be_chosen_and_sorted() {
    let folder = folder();
    let ask = |more: &[&str]| {
        let mut args = vec!["explain", "--cluster", "cluster.yaml", "--pod", "shop/web"];
        args.extend(more);
        schedlab_in(&folder, &args).ends_with(0)
    };
    let answer = ask(&["--rejected-by", "taintToleration"]).says("nodes that are out:");
    assert!(!answer.stdout.contains("small"), "{}", answer.stdout);
    let answer = ask(&["--nodes", "^s", "--sort", "name"]).says("small");
    assert!(!answer.stdout.contains("\n  tainted"), "{}", answer.stdout);
    ask(&["--feasible", "--sort", "ImageLocality", "--limit", "0"]).says("feasible nodes");
    ask(&["--nodes", "^nothing$"]).says("no node matches what was asked for");
}

#[test]
fn json_has_all_nodes_with_reasons_and_scores() {
    let answer = schedlab_in(
        &folder(),
        &["explain", "--cluster", "cluster.yaml", "--pod", "shop/web", "--output", "json"],
    )
    .ends_with(0);
    let report: serde_json::Value = serde_json::from_str(&answer.stdout).expect("one document");
    assert_eq!(report["schema"], "schedlab-explain/v1");
    assert_eq!(report["chosen"]["node"], "big");
    assert_eq!(report["nodes"].as_array().map(Vec::len), Some(3));
    let tainted =
        report["nodes"].as_array().and_then(|nodes| nodes.iter().find(|node| node["name"] == "tainted"));
    let rejection = &tainted.expect("it is there")["rejections"][0];
    assert_eq!(rejection["plugin"], "TaintToleration");
    assert_eq!(rejection["code"], "UnschedulableAndUnresolvable");
    assert_eq!(report["verdict"], "chosen");
    let expected = serde_json::json!([
        {"text": "gpu:NoSchedule", "kind": "taint", "key": "gpu", "value": "", "effect": "NoSchedule"},
    ]);
    assert_eq!(rejection["details"], expected);
    let scores = report["scores"].as_array().map(Vec::len);
    assert_eq!(report["nodes"][0]["weighted"].as_array().map(Vec::len), scores);
}

#[test]
fn a_pod_from_a_file_and_a_page() {
    let folder = folder();
    folder.file(
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: huge}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: c, image: i, resources: {requests: {cpu: 64}}}\n",
    );
    schedlab_in(
        &folder,
        &["explain", "--cluster", "cluster.yaml", "--pod-file", "deployment.yaml", "--html", "why.html"],
    )
    .ends_with(0)
    .says("pod default/huge-*")
    .says("fits nowhere: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.")
    .complains("wrote why.html");
    let page = folder.read("why.html");
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains("fits nowhere"));
    for forbidden in ["http://", "https://", "src=", "@import"] {
        assert!(!page.contains(forbidden), "the page loads {forbidden}");
    }
}

#[test]
fn ignored_fields_and_kinds_are_reported_in_every_output() {
    let folder = folder();
    let pod = |more: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers: [{{name: c, image: i}}]\n  {more}\n"
        )
    };
    folder.file("group.yaml", pod("workloadRef: {name: w, podGroup: g}"));
    folder.file("other.yaml", pod("schedulerName: volcano"));
    folder.file(
        "more/group.yaml",
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n",
    );
    let ask = |file: &str, more: &[&str]| {
        let mut args = vec!["explain", "--cluster", "cluster.yaml", "more", "--pod-file", file];
        args.extend(more);
        schedlab_in(&folder, &args).ends_with(0)
    };
    let answer = ask("group.yaml", &["--html", "why.html"])
        .says(
            "warning: spec.workloadRef has no say here: pod groups are not built: the pod is looked at alone",
        )
        .says("warning: 1 PodGroup in the cluster had no say")
        .says("unsure; without regard to spec.workloadRef it would be big with");
    assert!(!answer.stdout.contains("chosen:"), "{}", answer.stdout);
    assert!(folder.read("why.html").contains(": unsure</h1>"));
    let answer = ask("group.yaml", &["--output", "json"]);
    let report: serde_json::Value = serde_json::from_str(&answer.stdout).expect("one document");
    assert_eq!((&report["verdict"], &report["chosen"]), (&"unsure".into(), &serde_json::Value::Null));
    assert_eq!(report["chosen_if_ignored"]["node"], "big");

    let answer = ask("other.yaml", &[]).says(
        "nothing is chosen: spec.schedulerName is volcano, and the profiles here are default-scheduler",
    );
    assert!(!answer.stdout.contains("feasible"), "{}", answer.stdout);
    folder.file(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: volcano\n",
    );
    ask("other.yaml", &["--scheduler-config", "config.yaml"]).says("chosen: big with");
}

#[test]
fn a_workload_is_run_up_to_its_measured_op() {
    let folder = Folder::new();
    folder.file(
        "performance-config.yaml",
        config(&format!("{NODES}  - opcode: createPods\n    count: 2\n{PODS}")),
    );
    schedlab_in(&folder, &["explain", "--config", "performance-config.yaml"])
        .ends_with(0)
        .says("Case/small, before op 2 (createPods), 3 nodes")
        .says("3 of 3 nodes are feasible");
    schedlab_in(&folder, &["explain", "--config", "performance-config.yaml", "--op", "1"])
        .ends_with(0)
        .says("before op 1")
        .says("3 nodes share that total");
    schedlab_in(&folder, &["explain", "--config", "performance-config.yaml", "--op", "0"])
        .ends_with(2)
        .complains("--op 0 does not create pods; these do: 1, 2");
}

/// Every case: what is wrong, files, arguments, what the message must say. Always exit code 2.
#[test]
fn bad_explain_arguments_are_refused_with_place_and_fix() {
    const ALL: &[&str] = &["--cluster", "cluster.yaml", "--pod", "shop/web"];
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        (
            "no such file",
            CLUSTER,
            &["--cluster", "absent.yaml", "--pod", "a"],
            &["absent.yaml", "cannot read it"],
        ),
        ("malformed YAML", "a: [1,\nb: 2\n", ALL, &["cluster.yaml:1:4: "]),
        ("malformed JSON", "{\"kind\": ]}", ALL, &["cluster.yaml:1:10: "]),
        ("not an object", "a: 1\n", ALL, &["document 1: no `kind`; this is not a Kubernetes object"]),
        (
            "a field of another type",
            "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {taints: 3}\n",
            ALL,
            &["cluster.yaml: document 1 (Node n1): "],
        ),
        (
            "a bad quantity",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1x}}}\n- {apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: []}}\n",
            ALL,
            &["Node n1", "cpu", "1x"],
        ),
        (
            "no nodes",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: []}\n",
            ALL,
            &["cluster.yaml: there is no node", "kubectl get nodes,pods"],
        ),
        (
            "a mistyped pod",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod", "shop/wbe"],
            &["no pod \"shop/wbe\" among 3 pods; did you mean shop/web?"],
        ),
        (
            "a forgotten namespace",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod", "web"],
            &["did you mean shop/web?"],
        ),
        ("no pod", CLUSTER, &["--cluster", "cluster.yaml"], &["which pod?", "--pod-file"]),
        ("no cluster", CLUSTER, &["--pod-file", "x.yaml"], &["which cluster?", "--config"]),
        (
            "a file with several pods",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod-file", "cluster.yaml"],
            &["holds 6 objects, but --pod-file wants one Pod"],
        ),
        (
            "an unknown plugin",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod", "shop/web", "--rejected-by", "TaintTolerations"],
            &["no plugin \"TaintTolerations\"; did you mean TaintToleration?", "NodeResourcesFit"],
        ),
        (
            "an unknown sort key",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod", "shop/web", "--sort", "size"],
            &["no plugin \"size\"", "ImageLocality"],
        ),
        (
            "a bad pattern",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod", "shop/web", "--nodes", "["],
            &["--nodes"],
        ),
        (
            "an unwritable page",
            CLUSTER,
            &["--cluster", "cluster.yaml", "--pod", "shop/web", "--html", "cluster.yaml/x"],
            &["--html"],
        ),
        (
            "an empty folder",
            CLUSTER,
            &["--cluster", "empty", "--pod", "a"],
            &["empty: no .yaml, .yml or .json file"],
        ),
        (
            "several workloads",
            CLUSTER,
            &["--suite", "quick"],
            &["workloads match, explain takes one", "--filter"],
        ),
    ];
    for (name, text, args, expected) in cases {
        let folder = Folder::new();
        folder.file("cluster.yaml", text);
        std::fs::create_dir(folder.path().join("empty")).expect("a folder");
        let mut all = vec!["explain"];
        all.extend(*args);
        let answer = schedlab_in(&folder, &all);
        assert_eq!(answer.code, 2, "case: {name}\n{}\n{}", answer.stdout, answer.stderr);
        for part in *expected {
            assert!(answer.stderr.contains(part), "case: {name}: no {part:?} in {}", answer.stderr);
        }
    }
}

#[test]
fn explain_reads_feature_gates_as_run_does() {
    let explain = |gates: &str| {
        let args = ["explain", "--cluster", "cluster.yaml", "--pod", "shop/web", "--feature-gates", gates];
        schedlab_in(&folder(), &args)
    };
    explain("NodeAffinityRequiredDuringExecution=true").ends_with(0).says("chosen: big with");
    explain("SchedulerAsyncAPICall=true")
        .ends_with(2)
        .complains("unknown feature gate `SchedulerAsyncAPICall`");
    explain("SchedulerPreEnqueuePodStatus=true").ends_with(2).complains("needs SchedulerAsyncAPICalls");
}

#[test]
fn invalid_objects_get_the_message_of_the_api_server() {
    const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n";
    let pod =
        |spec: &str| format!("{NODE}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {spec}\n");
    let class = |value: i64| {
        format!(
            "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: p, uid: u}}\nvalue: {value}\n"
        )
    };
    let cases = [
        (
            "a negative request",
            pod("{containers: [{name: c, resources: {requests: {memory: -1Gi}}}]}"),
            "Pod \"web\" is invalid: spec.containers[0].resources.requests[memory]: Invalid value: \"-1Gi\": must be greater than or equal to 0",
        ),
        (
            "no skew",
            pod(
                "{containers: [{name: c}], topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}",
            ),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        ),
        (
            "an operator that is none",
            pod("{containers: [{name: c}], tolerations: [{key: a, operator: Foo}]}"),
            "spec.tolerations[0].operator: Unsupported value: \"Foo\"",
        ),
        (
            "a port that is none",
            pod("{containers: [{name: c, ports: [{containerPort: 80, hostPort: 99999999}]}]}"),
            "spec.containers[0].ports[0].hostPort: Invalid value: 99999999: must be between 1 and 65535, inclusive",
        ),
        (
            "a misspelt field",
            pod("{containers: [{name: c}], nodeSelecter: {zone: a}}"),
            "strict decoding error: unknown field \"spec.nodeSelecter\"",
        ),
        (
            "a name twice",
            format!("{}---\n{}", pod("{containers: [{name: c}]}"), NODE.replace("cpu: 4", "cpu: 8")),
            "nodes \"n1\" already exists",
        ),
        (
            "a priority class that changed",
            pod("{containers: [{name: c}]}") + &class(5) + &class(6),
            "PriorityClass \"p\" is invalid: value: Forbidden: may not be changed in an update.",
        ),
        (
            "a priority beyond those of users",
            pod("{containers: [{name: c}]}") + &class(1_000_000_001),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            "a taint effect that is none",
            pod("{containers: [{name: c}]}")
                .replace("status:", "spec: {taints: [{key: a, effect: Never}]}\nstatus:"),
            "Node \"n1\" is invalid: metadata.taints[0].effect: Unsupported value: \"Never\"",
        ),
    ];
    let folder = Folder::new();
    for (name, text, expected) in cases {
        let file = folder.file("cluster.yaml", text);
        let answer = schedlab_in(&folder, &["explain", "--cluster", &file, "--pod", "web"]);
        assert_eq!(answer.code, 2, "case: {name}: {}", answer.stdout);
        assert!(answer.stderr.contains(expected), "case: {name}: {}", answer.stderr);
        assert!(answer.stdout.is_empty(), "case: {name}: {}", answer.stdout);
    }
    let file = folder.file("cluster.yaml", pod("{containers: [{name: c}]}"));
    schedlab_in(&folder, &["explain", "--cluster", &file, "--pod", "web"]).ends_with(0);
    // What a server printed it has decoded: a field that this build does not know is newer.
    let newer =
        pod("{containers: [{name: c}], fromTheFuture: 1}").replace("{name: web}", "{name: web, uid: u}");
    let file = folder.file("cluster.yaml", newer);
    let answer = schedlab_in(&folder, &["explain", "--cluster", &file, "--pod", "web"]);
    assert!(answer.stdout.contains("spec.fromTheFuture"), "{}{}", answer.stdout, answer.stderr);
}
