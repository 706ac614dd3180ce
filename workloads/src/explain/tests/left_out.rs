//! What an answer leaves out is said, and what it cannot answer is not answered.

use super::*;
use crate::scheduler_config::SchedulerConfig;

fn web(spec: Value) -> Manifest {
    let mut spec = spec;
    spec["containers"] = containers("1");
    specified("web", spec)
}

#[test]
fn pod_with_a_scheduling_group_is_unsure() {
    let cases = [
        (json!({"schedulingGroup": {"podGroupName": "g"}}), "spec.schedulingGroup"),
        (json!({"workloadRef": {"name": "w", "podGroup": "g"}}), "spec.workloadRef"),
        (json!({"fromTheFuture": true}), "spec.fromTheFuture"),
    ];
    for (spec, field) in cases {
        let answer = report(vec![sized("a", "2"), web(spec)]);
        assert_eq!(answer.verdict, ExplainVerdict::Unsure, "{field}");
        assert!(answer.chosen.is_none(), "{field}: a plain choice");
        assert_eq!(answer.chosen_if_ignored.as_ref().unwrap().node, "a", "{field}");
        assert_eq!(answer.ignored_fields[0].field, field);
    }
    let plain = report(vec![sized("a", "2"), web(json!({"resourceClaims": []}))]);
    assert_eq!((plain.verdict, plain.ignored_fields.len()), (ExplainVerdict::Chosen, 0));
}

#[test]
fn pod_whose_resource_claim_is_not_there_fits_nowhere() {
    let claims = json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "g"}]});
    let answer = report(vec![sized("a", "2"), web(claims)]);
    assert!(answer.ignored_fields.is_empty() && answer.winner().is_none());
    assert_ne!(answer.verdict, ExplainVerdict::Unsure);
}

#[test]
fn pod_of_another_scheduler_is_not_placed() {
    let answer = report(vec![sized("a", "2"), web(json!({"schedulerName": "volcano"}))]);
    assert_eq!(answer.verdict, ExplainVerdict::OtherScheduler);
    let other = answer.other_scheduler.clone().unwrap();
    assert_eq!(
        (other.scheduler_name.as_str(), other.profiles),
        ("volcano", vec!["default-scheduler".into()])
    );
    assert!(answer.winner().is_none());
    assert!(answer.nodes.is_empty());
}

#[test]
fn profile_of_the_configuration_answers_for_its_pods() {
    let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
        profiles:\n- schedulerName: default-scheduler\n- schedulerName: packing\n  plugins:\n    filter:\n      \
        disabled: [{name: TaintToleration}]\n";
    let config = SchedulerConfig::parse("config.yaml", config).unwrap();
    let registry = lab_plugins::registry();
    let ask = |name: &str| {
        let mut tainted = sized("a", "2");
        if let Object::Node(node) = &mut tainted.object {
            node.spec =
                serde_json::from_value(json!({"taints": [{"key": "k", "effect": "NoSchedule"}]})).unwrap();
        }
        let manifests = vec![tainted, web(json!({"schedulerName": name}))];
        let gates = FeatureGates::default();
        let setup =
            ExplainSetup { source: "cluster.yaml", gates, config: Some(&config), registry: &registry };
        Subject::from_manifests(manifests, "web", &setup).unwrap().explain()
    };
    assert_eq!(ask("default-scheduler").verdict, ExplainVerdict::FitsNowhere);
    assert_eq!(ask("packing").verdict, ExplainVerdict::Chosen);
    assert_eq!(ask("volcano").other_scheduler.unwrap().profiles, ["default-scheduler", "packing"]);
}

#[test]
fn every_kind_that_is_not_used_is_counted() {
    let object = |api_version: &str, kind: &str, name: &str| {
        manifest(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}))
    };
    let mut done = specified("done", json!({"nodeName": "a", "containers": containers("2")}));
    if let Object::Pod(pod) = &mut done.object {
        pod.status = serde_json::from_value(json!({"phase": "Succeeded"})).unwrap();
    }
    let unreadable = manifest(json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "much"}},
    }));
    let answer = report(vec![
        sized("a", "2"),
        web(json!({})),
        done,
        object("v1", "ConfigMap", "one"),
        object("v1", "ConfigMap", "two"),
        object("resource.k8s.io/v1", "ResourceClaimTemplate", "gpu"),
        object("example.com/v1", "Widget", "w"),
        object("policy/v1", "PodDisruptionBudget", "b"),
        object("v1", "Namespace", "used"),
        object("v1", "Service", "used"),
        unreadable,
    ]);
    let kinds: Vec<(&str, usize, bool)> =
        answer.ignored_kinds.iter().map(|it| (it.kind.as_str(), it.count, it.matters)).collect();
    let expected = [
        ("PersistentVolume", 1, true),
        ("ConfigMap", 2, false),
        ("Pod", 1, false),
        ("PodDisruptionBudget", 1, false),
        ("ResourceClaimTemplate", 1, false),
        ("Widget", 1, false),
    ];
    assert_eq!(kinds, expected);
}
