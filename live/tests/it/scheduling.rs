//! What the scheduler writes.

use std::time::Duration;

use schedlab_cluster::api::{Api as _, ListQuery, Object, ObjectKey};
use serde_json::{Value, json};

use crate::support::{PATIENCE, schedule, serve, small_node, web_pod};

/// Reasons and notes of the events about a pod.
fn events(served: &crate::support::Served, pod: &str) -> Vec<(String, String)> {
    let list = served.cluster.list(&ListQuery::all("events.k8s.io/v1", "Event")).expect("listed");
    let others = list.items.into_iter().filter_map(Object::into_other);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_pod = others.filter(|event| event.body["regarding"]["name"] == pod);
    of_pod.map(|event| (text(&event.body["reason"]), text(&event.body["note"]))).collect()
}

#[test]
fn pods_are_bound_over_http_on_a_hundred_nodes() {
    let served = serve(100);
    let live = served.live();
    let runtime = schedule(&live);
    for number in 0..200 {
        served.create(web_pod(&format!("web-{number}"), "1"));
    }
    let all_bound =
        live.wait_until(PATIENCE, &|pods| pods.len() == 200 && pods.iter().all(|pod| pod.node.is_some()));
    assert!(all_bound, "{:?}", live.troubles());
    served.wait("events are posted", || events(&served, "web-199").len() == 1);
    let (reason, note) = events(&served, "web-199").remove(0);
    let node = served.pod("web-199")["spec"]["nodeName"].as_str().expect("a node").to_owned();
    assert_eq!(
        (reason.as_str(), note),
        ("Scheduled", format!("Successfully assigned default/web-199 to {node}"))
    );
    assert_eq!(runtime.failed_calls(), 0);
    runtime.stop().expect("no thread panicked");
}

#[test]
fn pod_without_room_gets_condition_and_event_and_a_new_node_takes_it() {
    let served = serve(0);
    served.create(small_node("n1"));
    let live = served.live();
    let runtime = schedule(&live);
    served.create(web_pod("large", "900m"));
    served.wait("the first is bound", || served.pod("large")["spec"]["nodeName"] == "n1");
    served.create(web_pod("next", "900m"));
    let condition = || served.pod("next")["status"]["conditions"][0].clone();
    served.wait("the condition is written", || condition()["status"] == "False");
    let told = condition();
    assert_eq!((&told["type"], &told["reason"]), (&json!("PodScheduled"), &json!("Unschedulable")));
    let message = told["message"].as_str().expect("a message");
    assert!(message.starts_with("0/1 nodes are available: 1 Insufficient cpu"), "{message}");
    served.wait("the event is posted", || {
        events(&served, "next").iter().any(|(reason, note)| reason == "FailedScheduling" && note == message)
    });
    served.create(small_node("n2"));
    served.wait("the new node takes it", || served.pod("next")["spec"]["nodeName"] == "n2");
    runtime.stop().expect("no thread panicked");
}

#[test]
fn victims_get_disruption_target_and_the_preemptor_their_room() {
    let served = serve(0);
    served.create(small_node("n1"));
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000,
    });
    served.create(class);
    let live = served.live();
    let runtime = schedule(&live);
    let mut victim = web_pod("victim", "900m");
    victim["metadata"]["finalizers"] = json!(["example.com/stay"]);
    served.create(victim);
    served.wait("the victim is bound", || served.pod("victim")["spec"]["nodeName"] == "n1");
    let mut preemptor = web_pod("preemptor", "900m");
    preemptor["spec"]["priorityClassName"] = json!("high");
    served.create(preemptor);
    served.wait("the victim is told to go", || {
        !served.pod("victim")["metadata"]["deletionTimestamp"].is_null()
    });
    let victim = served.pod("victim");
    let conditions = victim["status"]["conditions"].as_array().expect("conditions");
    let target = conditions.iter().find(|it| it["type"] == "DisruptionTarget").expect("it is a target");
    assert_eq!((&target["status"], &target["reason"]), (&json!("True"), &json!("PreemptionByScheduler")));
    served.wait("the node is promised", || served.pod("preemptor")["status"]["nominatedNodeName"] == "n1");
    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let expected = format!("Preempted by pod {} on node n1", uid(&served.pod("preemptor")));
    served.wait("the event is posted", || {
        events(&served, "victim").contains(&("Preempted".to_owned(), expected.clone()))
    });
    let key = ObjectKey::pod("default", "victim");
    let mut going = served.cluster.get(&key).expect("it is there").into_pod().expect("a pod");
    going.metadata.finalizers = None;
    served.cluster.update(Object::Pod(going)).expect("its finalizer goes");
    served.wait("the preemptor is bound", || served.pod("preemptor")["spec"]["nodeName"] == "n1");
    runtime.stop().expect("no thread panicked");
}

#[test]
fn stopped_scheduler_leaves_pods_to_the_next_one() {
    let served = serve(3);
    let live = served.live();
    let first = schedule(&live);
    served.create(web_pod("a", "1"));
    served.wait("the first one binds", || served.pod("a")["spec"]["nodeName"].is_string());
    assert!(first.halt(Duration::from_secs(5)));
    first.stop().expect("no thread panicked");
    served.create(web_pod("b", "1"));
    assert!(live.wait_until(PATIENCE, &|pods| pods.len() == 2));
    assert!(served.pod("b")["spec"]["nodeName"].is_null());
    let second = schedule(&live);
    served.wait("the next one binds", || served.pod("b")["spec"]["nodeName"].is_string());
    second.stop().expect("no thread panicked");
}
