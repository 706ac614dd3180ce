//! Watches: from a list on, from nothing, resumed, filtered, cut off.

use serde_json::json;

use crate::client::serve;

const LIST_AND_WATCH: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[test]
fn streaming_list_ends_with_its_bookmark_and_goes_on() {
    let served = serve(3);
    let mut watch = served.watch(&format!("/api/v1/nodes?{LIST_AND_WATCH}"));
    assert_eq!(watch.initial(), ["node-0", "node-1", "node-2"]);
    served.delete("/api/v1/nodes/node-1");
    assert_eq!(watch.next_named(), ("DELETED".to_owned(), "node-1".to_owned()));
}

#[test]
fn streaming_list_of_nothing_is_a_bookmark() {
    let served = serve(0);
    let path = format!("/apis/storage.k8s.io/v1/csinodes?{LIST_AND_WATCH}");
    let event = served.watch(&path).next().expect("a bookmark");
    assert_eq!(
        (event["type"].as_str(), event["object"]["kind"].as_str()),
        (Some("BOOKMARK"), Some("CSINode"))
    );
    assert_eq!(event["object"]["apiVersion"], "storage.k8s.io/v1");
}

#[test]
fn pod_that_leaves_the_selection_is_deleted_for_its_watcher() {
    let served = serve(1);
    served.pod("a");
    let path = "/api/v1/pods?fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed";
    let mut watch = served.watch(&format!("{path}&{LIST_AND_WATCH}"));
    assert_eq!(watch.initial(), ["a"]);
    let status = json!({"status": {"phase": "Succeeded"}});
    let patched = served.patch("/api/v1/namespaces/default/pods/a/status", "merge-patch+json", &status);
    assert_eq!(patched.code, 200);
    let event = watch.next().expect("an event");
    assert_eq!(event["type"], "DELETED");
    assert_eq!(event["object"]["status"]["phase"], "Pending", "the last state that was selected");
    let version = |value: &serde_json::Value| value["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&event["object"]), version(&patched.json()));
}

#[test]
fn watch_resumes_after_a_list() {
    let served = serve(0);
    served.pod("a");
    let version = served.get("/api/v1/pods").json()["metadata"]["resourceVersion"].clone();
    served.pod("b");
    served.delete("/api/v1/namespaces/default/pods/a");
    let path = format!("/api/v1/pods?watch=1&resourceVersion={}", version.as_str().unwrap());
    let mut watch = served.watch(&path);
    assert_eq!(watch.next_named(), ("ADDED".to_owned(), "b".to_owned()));
    assert_eq!(watch.next_named(), ("DELETED".to_owned(), "a".to_owned()));
    let mut anew = served.watch("/api/v1/watch/namespaces/default/pods");
    assert_eq!(anew.next_named(), ("ADDED".to_owned(), "b".to_owned()));
}

#[test]
fn watch_from_compacted_resource_version_answers_410() {
    let served = serve(5);
    // What was written before the server began is not kept as changes.
    let event = served.watch("/api/v1/nodes?watch=1&resourceVersion=1").next().expect("an event");
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert_eq!(event["object"]["reason"], "Expired");
}

#[test]
fn watch_from_the_future_is_refused() {
    let served = serve(0);
    let event = served.watch("/api/v1/nodes?watch=1&resourceVersion=999999").next().expect("an event");
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(504)));
    assert_eq!(served.get("/api/v1/nodes?resourceVersion=999999").code, 504);
}

#[test]
fn watch_ends_with_its_timeout() {
    let served = serve(0);
    let mut watch = served.watch("/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=0");
    assert_eq!(watch.next(), None);
}

#[test]
fn queries_that_contradict_themselves_are_refused() {
    let served = serve(0);
    for query in [
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersion=a",
        "labelSelector=a+b",
    ] {
        let answer = served.get(&format!("/api/v1/nodes?watch=true&{query}"));
        assert!(matches!(answer.code, 400 | 422), "case: {query}: {}", answer.code);
    }
}

#[test]
fn every_watcher_sees_every_change_in_order() {
    let served = serve(1);
    let mut watches: Vec<_> =
        (0..8).map(|_| served.watch(&format!("/api/v1/pods?{LIST_AND_WATCH}"))).collect();
    watches.iter_mut().for_each(|watch| assert!(watch.initial().is_empty()));
    for number in 0..200 {
        served.pod(&format!("pod-{number:03}"));
    }
    for watch in &mut watches {
        for number in 0..200 {
            assert_eq!(watch.next_named(), ("ADDED".to_owned(), format!("pod-{number:03}")));
        }
    }
}

#[test]
fn table_rows_are_watched() {
    let served = serve(1);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let answer = served.ask("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1").header("accept", accept).send();
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains("\"kind\":\"Table\"") && text.contains("node-0"), "{text}");
}
