//! Taints by condition, call by call.

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::*;
use crate::EmbeddedCluster;
use crate::api::Api;
use crate::convert::node_input;

struct Lab {
    controller: NodeLifecycle,
    api: EmbeddedCluster,
    now_ns: u64,
}

impl Lab {
    fn new() -> Lab {
        let rates = EvictionRates::read(&ControllerSettings::default()).expect("the defaults");
        let controller = NodeLifecycle::new(rates, ControllerMutants::default());
        Lab { controller, api: EmbeddedCluster::new(Arc::new(|| 0)), now_ns: 0 }
    }

    /// A node in this condition, with these taints, under this version.
    fn node(&self, version: u64, ready: &str, taints: &[&str]) -> Arc<NodeEntry> {
        let taints: Vec<_> = taints.iter().map(|key| json!({ "key": key, "effect": "NoSchedule" })).collect();
        let node: Node = serde_json::from_value(json!({
            "metadata": { "name": "n", "resourceVersion": version.to_string() },
            "spec": { "taints": taints },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] },
        }))
        .expect("a node");
        let input = Arc::new(node_input(&node).expect("readable"));
        let name = self.api.node_name_id("n");
        Arc::new(NodeEntry { name, resource_version: version, input, object: Arc::new(node) })
    }

    fn sees(&mut self, kind: EventKind, entry: &Arc<NodeEntry>) {
        let event = WatchEvent { kind, object: WatchedObject::Node(Arc::clone(entry)) };
        let context = ControllerContext::new(&self.api, self.now_ns);
        self.controller.on_event(&event, context);
        self.controller.advance(context);
    }

    fn sees_state(&mut self, version: u64, ready: &str, taints: &[&str]) {
        let entry = self.node(version, ready, taints);
        self.sees(EventKind::Modified, &entry);
    }

    fn calls(&mut self) -> Vec<ControllerCall> {
        let mut calls = Vec::new();
        let context = ControllerContext::new(&self.api, self.now_ns);
        self.controller.take_calls(context, &mut calls);
        calls
    }

    /// The taints and the version of the one call that is wanted.
    #[track_caller]
    fn written(&mut self) -> (Vec<String>, String, CallToken) {
        let calls = self.calls();
        let [ControllerCall { token, request: ControllerRequest::Update(Object::Node(node)) }] = &*calls
        else {
            panic!("{calls:?}");
        };
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let version = node.metadata.resource_version.clone().unwrap_or_default();
        (taints.map(|taint| taint.key.clone()).collect(), version, *token)
    }

    fn answer(&mut self, token: CallToken, answer: &Result<ControllerAnswer, ApiError>) {
        self.controller.on_answer(token, answer, ControllerContext::new(&self.api, self.now_ns));
    }

    fn stored(&self, version: u64) -> Result<ControllerAnswer, ApiError> {
        let node = (*self.node(version, "False", &[NOT_READY]).object).clone();
        Ok(ControllerAnswer::Object(Box::new(Object::Node(Box::new(node)))))
    }

    fn later(&mut self, ns: u64) {
        self.now_ns += ns;
        self.controller.advance(ControllerContext::new(&self.api, self.now_ns));
    }
}

const NOT_READY: &str = "node.kubernetes.io/not-ready";

#[test]
fn condition_taints_come_and_go_with_their_condition_beside_taints_of_others() {
    let mut lab = Lab::new();
    lab.sees_state(1, "False", &["mine"]);
    let (taints, version, token) = lab.written();
    assert_eq!((taints, version.as_str()), (vec!["mine".to_owned(), NOT_READY.to_owned()], "1"));
    let stored = lab.stored(2);
    lab.answer(token, &stored);
    lab.sees_state(2, "False", &["mine", NOT_READY]);
    assert!(lab.calls().is_empty(), "in line");
    lab.sees_state(3, "True", &["mine", NOT_READY]);
    assert_eq!(lab.written().0, ["mine"]);
    let report = lab.controller.report();
    assert_eq!((report.counter("taints_added"), report.counter("taints_removed")), (1, 1));
}

#[test]
fn heartbeat_of_node_with_current_taints_makes_no_call() {
    let mut lab = Lab::new();
    for version in 1..5 {
        lab.sees_state(version, "True", &["mine"]);
    }
    assert!(lab.calls().is_empty());
    assert_eq!(lab.controller.remaining(), Remaining::Nothing);
}

#[test]
fn taint_write_is_not_repeated_before_its_watch_event() {
    let mut lab = Lab::new();
    lab.sees_state(1, "False", &[]);
    let (_, _, token) = lab.written();
    lab.sees_state(2, "False", &[]);
    assert!(lab.calls().is_empty(), "one write at a time");
    let stored = lab.stored(4);
    lab.answer(token, &stored);
    lab.sees_state(3, "False", &[]);
    assert!(lab.calls().is_empty(), "this state is older than the write");
    lab.sees_state(4, "False", &[NOT_READY]);
    assert!(lab.calls().is_empty());
    lab.sees_state(5, "True", &[NOT_READY]);
    assert_eq!(lab.written().1, "5");
}

#[test]
fn conflict_is_tried_again_with_the_newest_state() {
    let mut lab = Lab::new();
    lab.sees_state(1, "False", &[]);
    let (_, _, token) = lab.written();
    lab.answer(token, &Err(ApiError::modified("nodes", "n")));
    assert_eq!(lab.controller.remaining(), Remaining::Work);
    lab.sees_state(2, "False", &["mine"]);
    assert!(lab.calls().is_empty(), "not at once");
    assert_eq!(lab.controller.next_wake_ns(), Some(RETRY_AFTER_NS));
    lab.later(RETRY_AFTER_NS);
    let (taints, version, token) = lab.written();
    assert_eq!((taints.len(), version.as_str()), (2, "2"));
    lab.answer(token, &Err(ApiError::modified("nodes", "n")));
    lab.sees_state(3, "True", &["mine"]);
    lab.later(RETRY_AFTER_NS);
    assert!(lab.calls().is_empty(), "the condition has ended meanwhile");
    lab.later(MONITOR_PERIOD_NS);
    assert_eq!(lab.controller.remaining(), Remaining::Nothing);
    assert_eq!(lab.controller.report().counter("retried"), 2);
}

#[test]
fn deleted_node_is_forgotten_with_its_retry() {
    let mut lab = Lab::new();
    lab.sees_state(1, "Unknown", &[]);
    let (taints, _, token) = lab.written();
    assert_eq!(taints, ["node.kubernetes.io/unreachable"]);
    lab.answer(token, &Err(ApiError::modified("nodes", "n")));
    let last = lab.node(2, "Unknown", &[]);
    lab.sees(EventKind::Deleted, &last);
    assert_eq!(lab.controller.remaining(), Remaining::Timers, "a zone is looked at without it");
    lab.later(MONITOR_PERIOD_NS);
    assert_eq!((lab.controller.next_wake_ns(), lab.controller.remaining()), (None, Remaining::Nothing));
}

#[test]
fn write_to_a_deleted_node_is_not_tried_again() {
    let mut lab = Lab::new();
    lab.sees_state(1, "False", &[]);
    let (_, _, token) = lab.written();
    lab.answer(token, &Err(ApiError::not_found("nodes", "n")));
    assert_eq!(lab.controller.remaining(), Remaining::Nothing);
}

/// A node of one zone in this condition, with these taints `NoExecute`.
fn zone_node(lab: &Lab, name: &str, version: u64, ready: &str, no_execute: &[&str]) -> Arc<NodeEntry> {
    let taints: Vec<_> = no_execute.iter().map(|key| json!({ "key": key, "effect": "NoExecute" })).collect();
    let node: Node = serde_json::from_value(json!({
        "metadata": { "name": name, "resourceVersion": version.to_string() },
        "spec": { "taints": taints },
        "status": { "conditions": [{ "type": "Ready", "status": ready }] },
    }))
    .expect("a node");
    let input = Arc::new(node_input(&node).expect("readable"));
    let name = lab.api.node_name_id(name);
    Arc::new(NodeEntry { name, resource_version: version, input, object: Arc::new(node) })
}

/// The names and the keys of taints `NoExecute` of the nodes that are written now.
fn no_execute_written(lab: &mut Lab) -> Vec<(String, Vec<String>)> {
    let mut written = Vec::new();
    for ControllerCall { request, .. } in lab.calls() {
        let ControllerRequest::Update(Object::Node(node)) = request else { panic!("{request:?}") };
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let no_execute = taints.filter(|taint| taint.effect == "NoExecute").map(|taint| taint.key.clone());
        written.push((node.metadata.name.clone().unwrap_or_default(), no_execute.collect()));
    }
    written
}

#[test]
fn unready_nodes_get_no_execute_taints_at_the_rate_of_their_zone() {
    let mut lab = Lab::new();
    for (at, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let node = zone_node(&lab, name, at as u64 + 1, "True", &[]);
        lab.sees(EventKind::Added, &node);
    }
    lab.later(MONITOR_PERIOD_NS + 1_000_000_000);
    assert!(no_execute_written(&mut lab).is_empty(), "all are ready");
    for (version, name) in [(11, "a"), (12, "b")] {
        let node = zone_node(&lab, name, version, "False", &[]);
        lab.sees(EventKind::Modified, &node);
    }
    let at_once = no_execute_written(&mut lab);
    assert!(at_once.iter().all(|(_, no_execute)| no_execute.is_empty()), "NoSchedule only: {at_once:?}");
    assert_eq!(lab.controller.remaining(), Remaining::Work, "the writes are under way");
    lab.later(MONITOR_PERIOD_NS - 1_000_000_000);
    lab.later(TAINTING_PERIOD_NS);
    // The writes of NoSchedule have not been answered: NoExecute waits for them and is not forgotten.
    assert!(no_execute_written(&mut lab).is_empty());
    for (token, version, name) in [(1, 21, "a"), (2, 22, "b")] {
        let node = zone_node(&lab, name, version, "False", &[]);
        let stored = ControllerAnswer::Object(Box::new(Object::Node(Box::new((*node.object).clone()))));
        lab.answer(CallToken(token), &Ok(stored));
        lab.sees(EventKind::Modified, &node);
    }
    let written = no_execute_written(&mut lab);
    let tainted: Vec<_> = written.iter().filter(|(_, no_execute)| !no_execute.is_empty()).collect();
    assert_eq!(tainted.len(), 1, "one at once, the next ten seconds later: {written:?}");
    assert_eq!(tainted[0].1, [NOT_READY]);
}

#[test]
fn no_execute_taint_goes_when_the_node_is_ready_and_is_swapped_when_it_is_lost() {
    let cases = [
        ("ready again", "True", NOT_READY, vec![]),
        ("lost", "Unknown", NOT_READY, vec!["node.kubernetes.io/unreachable"]),
        ("heard of again", "False", "node.kubernetes.io/unreachable", vec![NOT_READY]),
    ];
    for (name, ready, has, expected) in cases {
        let mut lab = Lab::new();
        for (version, ready, name, taints) in [(1, "True", "a", &[][..]), (2, "False", "b", &[][..])] {
            let node = zone_node(&lab, name, version, ready, taints);
            lab.sees(EventKind::Added, &node);
        }
        lab.calls();
        let stored = zone_node(&lab, "b", 3, "False", &[]);
        let answer = ControllerAnswer::Object(Box::new(Object::Node(Box::new((*stored.object).clone()))));
        lab.answer(CallToken(1), &Ok(answer));
        let node = zone_node(&lab, "b", 4, ready, &[has]);
        lab.sees(EventKind::Modified, &node);
        // A first write brings NoSchedule in line; the look asks for NoExecute.
        lab.later(MONITOR_PERIOD_NS);
        let written = no_execute_written(&mut lab);
        assert_eq!(
            written.last().map(|(_, taints)| taints.clone()),
            Some(expected.iter().map(|it| (*it).to_owned()).collect()),
            "case: {name}"
        );
    }
}
