//! The facts behind rejections.

use super::*;

fn labelled(name: &str, labels: Value, spec: Value) -> Manifest {
    let allocatable = json!({"cpu": "4", "memory": "8Gi", "pods": "2", "example.com/gpu": "1"});
    manifest(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec,
        "status": {"allocatable": allocatable},
    }))
}

fn zone(name: &str, zone: &str) -> Manifest {
    labelled(name, json!({"zone": zone}), json!({}))
}

/// A pod `app=<app>` on a node.
fn placed(name: &str, app: &str, node: &str, more: Value) -> Manifest {
    let mut spec = more;
    spec["nodeName"] = json!(node);
    spec["containers"] = containers("1");
    let metadata = json!({"name": name, "labels": {"app": app}});
    manifest(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}

fn web(spec: Value) -> Manifest {
    let mut spec = spec;
    if spec["containers"].is_null() {
        spec["containers"] = containers("1");
    }
    let metadata = json!({"name": "web", "labels": {"app": "web"}});
    manifest(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}

fn term(app: &str, key: &str) -> Value {
    json!([{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}])
}

fn affinity(kind: &str, terms: Value) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
}

/// What is said of the first rejection of a node.
fn details_of<'a>(answer: &'a Report, node: &str) -> &'a [DetailReport] {
    let node = answer.nodes.iter().find(|it| it.name == node).expect("the node is there");
    &node.rejections.first().expect("it is out").details
}

fn texts(answer: &Report, node: &str) -> Vec<String> {
    details_of(answer, node).iter().map(|detail| detail.text.clone()).collect()
}

#[test]
fn untolerated_taints_are_named_and_tolerated_ones_are_not() {
    let taint = |key: &str, value: &str, effect: &str| json!({"key": key, "value": value, "effect": effect});
    let taints = json!({"taints": [
        taint("gpu", "a100", "NoSchedule"), taint("maintenance", "", "NoExecute"),
        taint("known", "", "NoSchedule"), taint("soft", "", "PreferNoSchedule"),
    ]});
    let tolerations = json!({"tolerations": [{"key": "known", "operator": "Exists"}]});
    let answer = report(vec![labelled("a", json!({}), taints), web(tolerations)]);
    assert_eq!(texts(&answer, "a"), ["gpu=a100:NoSchedule", "maintenance:NoExecute"]);
    assert_eq!(answer.nodes[0].rejections[0].reasons, ["node(s) had untolerated taint(s)"]);
    let group = &answer.rejected_first[0];
    assert_eq!(group.details[0], DetailCount { text: "gpu=a100:NoSchedule".into(), nodes: 1 });
}

#[test]
fn insufficient_resources_give_requested_and_free_amounts() {
    let requests = json!({"cpu": "3500m", "memory": "9Gi", "example.com/gpu": 2});
    let resources = json!({"requests": requests, "limits": {"example.com/gpu": 2}});
    let asks = json!({"containers": [{"name": "c", "image": "i", "resources": resources}]});
    let answer = report(vec![zone("a", "z"), placed("db", "db", "a", json!({})), web(asks)]);
    assert_eq!(
        texts(&answer, "a"),
        [
            "cpu: requested 3500m, free 3 of 4 allocatable",
            "memory: requested 9Gi, free 8Gi of 8Gi allocatable",
            "example.com/gpu: requested 2, free 1 of 1 allocatable",
        ]
    );
    // Each reason has its own facts.
    for group in &answer.rejected_first {
        assert_eq!(group.details.len(), 1, "{group:?}");
        assert!(group.details[0].text.starts_with(group.reason.strip_prefix("Insufficient ").unwrap()));
    }
    let pods = [placed("one", "db", "a", json!({})), placed("two", "db", "a", json!({}))];
    let answer = report([vec![zone("a", "z")], pods.to_vec(), vec![web(json!({}))]].concat());
    assert_eq!(texts(&answer, "a"), ["pods: requested 1, free 0 of 2 allocatable"]);
}

#[test]
fn topology_spread_gives_counts_by_domain() {
    let constraint = json!({"topologySpreadConstraints": [{
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]});
    let answer = report(vec![
        zone("a", "west"),
        zone("b", "east"),
        labelled("c", json!({}), json!({})),
        placed("one", "web", "a", json!({})),
        placed("two", "web", "a", json!({})),
        web(constraint),
    ]);
    assert_eq!(answer.chosen.as_ref().unwrap().node, "b");
    let expected = Fact::TopologySpread {
        topology_key: "zone".into(),
        domain: Some("west".into()),
        count: 2,
        min: 0,
        skew: 3,
        max_skew: 1,
    };
    // The node is full as well; spreading is asked for its own facts.
    let all = answer.nodes.iter().find(|node| node.name == "a").unwrap();
    let spread = all.rejections.iter().find(|it| it.plugin == "PodTopologySpread").unwrap();
    assert_eq!(spread.details[0].fact, expected);
    assert_eq!(spread.details[0].text, "zone=west: 2 matching, lowest 0, skew 3 > maxSkew 1");
    assert_eq!(texts(&answer, "c"), ["the node has no label zone"]);
    let domains: Vec<(&str, i64)> =
        answer.topology_spread[0].domains.iter().map(|it| (it.domain.as_str(), it.count)).collect();
    assert_eq!(domains, [("east", 0), ("west", 2)]);
}

#[test]
fn pod_affinity_names_term_domain_and_pods() {
    let nodes = || vec![zone("a", "west"), zone("b", "east"), placed("db-0", "db", "a", json!({}))];
    let ask = |pod: Manifest| report([nodes(), vec![pod]].concat());

    let answer = ask(web(affinity("podAffinity", term("db", "zone"))));
    assert_eq!(answer.chosen.as_ref().unwrap().node, "a");
    assert_eq!(
        texts(&answer, "b"),
        ["affinity to pods app=db in default: none in zone=east, elsewhere default/db-0"]
    );

    let answer = ask(web(affinity("podAntiAffinity", term("db", "zone"))));
    assert_eq!(answer.chosen.as_ref().unwrap().node, "b");
    let expected = Fact::PodAffinity {
        rule: "anti_affinity",
        topology_key: "zone".into(),
        selector: "app=db".into(),
        namespaces: "default".into(),
        domain: Some("west".into()),
        pod_count: 1,
        pods: vec!["default/db-0".into()],
    };
    assert_eq!(details_of(&answer, "a")[0].fact, expected);

    let shy = placed("shy", "shy", "b", affinity("podAntiAffinity", term("web", "zone")));
    let answer = report([nodes(), vec![shy, web(json!({}))]].concat());
    assert_eq!(texts(&answer, "b"), ["default/shy in zone=east keep away pods app=web in default"]);
    assert_eq!(
        answer.nodes[1].rejections[0].reasons,
        ["node(s) didn't satisfy existing pods anti-affinity rules"]
    );
}

#[test]
fn many_pods_of_a_term_are_counted() {
    let mut manifests: Vec<Manifest> =
        (0..7).map(|at| placed(&format!("db-{at}"), "db", &format!("n{at}"), json!({}))).collect();
    manifests.extend((0..7).map(|at| zone(&format!("n{at}"), "west")));
    manifests.push(web(affinity("podAntiAffinity", term("db", "zone"))));
    let answer = report(manifests);
    let Fact::PodAffinity { pod_count, pods, .. } = &details_of(&answer, "n0")[0].fact else {
        panic!("not a term");
    };
    assert_eq!((*pod_count, pods.len()), (7, 5));
    assert!(texts(&answer, "n0")[0].ends_with("and 2 more"), "{:?}", texts(&answer, "n0"));
}
