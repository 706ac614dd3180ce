//! What each verb sends and does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_cluster::api::{Api, NamedBinding, format_pod_uid, parse_pod_uid};
use schedlab_cluster::extender::{as_extenders, build_extenders, ignored_resources};
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::record::NoRecorder;
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::extend::{Extender as _, Victims};
use schedlab_core::framework::extender::{ExtenderConfig, ManagedResource};
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::profile::Profile;
use schedlab_core::plugins::default_binder::DefaultBinder;
use schedlab_core::plugins::node_resources_fit::{NodeResourcesFit, ScoringStrategy};
use schedlab_core::scheduler::Scheduler;
use schedlab_core::world::World;
use serde_json::json;

use super::server::{Answer, Server};
use super::{Lab, filtering, node, scoring};
use crate::support::{cluster, create, create_pod, get_pod, pod_value};

#[test]
fn filter_by_name_sends_names_and_takes_names() {
    let server = Server::start(|_, _| Answer::Json(json!({"nodeNames": ["b"], "failedNodes": {"a": "hot"}})));
    let mut lab = Lab::new(&[filtering(&server.url())]);
    assert_eq!(lab.schedule(), "b");
    let requests = server.requests();
    let (verb, body) = &requests[0];
    assert_eq!(verb, "filter");
    assert_eq!(body["Pod"]["metadata"]["name"], "web");
    assert_eq!(body["Pod"]["metadata"]["namespace"], "default");
    assert!(body["Pod"]["spec"]["containers"].is_array());
    assert_eq!(body["NodeNames"], json!(["a", "b", "c"]));
    assert!(body["Nodes"].is_null());
}

#[test]
fn filter_by_object_sends_nodes_and_takes_nodes() {
    let server = Server::start(|_, body| {
        let kept = body["Nodes"]["items"][2].clone();
        Answer::Json(json!({"Nodes": {"items": [kept]}}))
    });
    let mut lab = Lab::new(&[ExtenderConfig { node_cache_capable: false, ..filtering(&server.url()) }]);
    assert_eq!(lab.schedule(), "c");
    let (_, body) = &server.requests()[0];
    assert!(body["NodeNames"].is_null());
    assert_eq!(body["Nodes"]["items"][0]["status"]["allocatable"]["cpu"], "4");
}

#[test]
fn extender_rejections_are_counted_in_the_condition() {
    let server = Server::start(|_, _| {
        Answer::Json(json!({
            "NodeNames": [],
            "FailedNodes": {"a": "too hot", "b": "too hot", "c": "too hot"},
            "FailedAndUnresolvableNodes": {"c": "no such rack"},
        }))
    });
    let mut lab = Lab::new(&[filtering(&server.url())]);
    assert_eq!(
        lab.schedule(),
        "Unschedulable: 0/3 nodes are available: 1 no such rack, 2 too hot. preemption: 0/3 nodes are \
         available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming \
         pod."
    );
}

#[test]
fn scores_are_scaled_and_weighed() {
    // a is emptier by far: the plugins give it 50 points more than the others.
    let cases = [
        ("one point weighs too little", 1, 4, "a"),
        ("enough points", 1, 10, "b"),
        ("enough weight", 3, 4, "b"),
    ];
    for (name, weight, score, expected) in cases {
        let server = Server::start(move |_, _| {
            Answer::Json(json!([{"Host": "b", "Score": score}, {"Host": "nowhere", "Score": 10}]))
        });
        let mut lab = Lab::new(&[scoring(&server.url(), weight)]);
        for node in ["b", "c"] {
            let mut filler = pod_value(&format!("filler-{node}"));
            filler["spec"]["nodeName"] = json!(node);
            filler["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "3", "memory": "2Gi"}});
            create(&lab.cluster, filler);
        }
        assert_eq!(lab.schedule(), expected, "case: {name}");
    }
}

#[test]
fn several_extenders_add_up() {
    let score = |host: &'static str, score: i64| {
        Server::start(move |_, _| Answer::Json(json!([{"Host": host, "Score": score}])))
    };
    let (one, two, three) = (score("b", 6), score("c", 5), score("c", 5));
    let configs = [scoring(&one.url(), 1), scoring(&two.url(), 1), scoring(&three.url(), 1)];
    assert_eq!(Lab::new(&configs).schedule(), "c");
}

fn gpu(ignored_by_scheduler: bool) -> Vec<ManagedResource> {
    vec![ManagedResource { name: "example.com/gpu".to_owned(), ignored_by_scheduler }]
}

#[test]
fn extender_with_managed_resources_is_called_for_pods_requesting_them() {
    let server = Server::start(|_, _| Answer::Json(json!({"NodeNames": ["c"]})));
    let config = ExtenderConfig { managed_resources: gpu(true), ..filtering(&server.url()) };
    let mut lab = Lab::new(std::slice::from_ref(&config));
    assert_eq!(lab.schedule(), "a", "the pod wants no GPU");
    assert_eq!(server.requests().len(), 0);

    let mut wants = pod_value("wants");
    wants["spec"]["containers"][0]["resources"] = json!({"limits": {"example.com/gpu": "1"}});
    create(&lab.cluster, wants.clone());
    assert_eq!(
        lab.step(),
        "Unschedulable: 0/3 nodes are available: 3 Insufficient example.com/gpu. preemption: 0/3 nodes are \
         available: 3 Preemption is not helpful for scheduling."
    );

    // With ignoredByScheduler the plugin leaves the resource to the extender.
    let mut world = World::default();
    let ignored: Vec<&str> = ignored_resources(std::slice::from_ref(&config)).collect();
    let fit = NodeResourcesFit::new(ScoringStrategy::least_allocated(), &mut world.vocabulary)
        .ignoring(&ignored, &mut world.vocabulary);
    let plugins: Vec<(Arc<dyn Plugin>, i64)> = vec![(Arc::new(fit), 1), (Arc::new(DefaultBinder), 0)];
    let profile = Profile::new("default-scheduler", plugins);
    let scheduler = Scheduler::with_profile(world, profile, EngineSettings::default());
    let mut lab = Lab::with(&[config], scheduler);
    create(&lab.cluster, wants);
    assert_eq!(lab.step(), "c");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn preempt_sends_candidates_and_takes_victims() {
    for capable in [true, false] {
        let server = Server::start(move |_, body| {
            let (field, uid) = if capable {
                ("NodeNameToMetaVictims", "/Pods/0/UID")
            } else {
                ("NodeNameToVictims", "/Pods/0/metadata/uid")
            };
            let uid = body[field]["a"].pointer(uid).expect("the victim of a").clone();
            Answer::Json(
                json!({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": uid}], "NumPDBViolations": 2}}}),
            )
        });
        let config = ExtenderConfig {
            preempt_verb: "preempt".to_owned(),
            filter_verb: String::new(),
            node_cache_capable: capable,
            ..filtering(&server.url())
        };
        let lab = Lab::new(&[config]);
        let (pod, victim) = (create_pod(&lab.cluster, "web"), create_pod(&lab.cluster, "victim"));
        let candidate = |node: &str, pdb_violations| Victims {
            node: node.to_owned(),
            pods: vec![victim],
            pdb_violations,
        };
        let answer = lab.extenders[0].preempt(pod, &[candidate("a", 1), candidate("b", 0)]);
        assert_eq!(answer, Ok(vec![candidate("a", 2)]), "capable: {capable}");
        assert_eq!(server.requests()[0].1["Pod"]["metadata"]["uid"], json!(format_pod_uid(pod)));
    }
}

/// Runs a scheduler on threads until the pod is bound.
fn bound_node(
    handler: impl FnMut(&str, &serde_json::Value) -> Answer + Send + 'static,
    store: Arc<schedlab_cluster::EmbeddedCluster>,
    ignorable: bool,
) -> (String, Server) {
    let server = Server::start(handler);
    let config = ExtenderConfig {
        bind_verb: "bind".to_owned(),
        filter_verb: String::new(),
        ignorable,
        ..filtering(&server.url())
    };
    let api: Arc<dyn Api> = Arc::clone(&store) as _;
    let mut scheduler = Scheduler::new(EngineSettings::default(), 0);
    scheduler.set_extenders(as_extenders(&build_extenders(&[config], &api).expect("good")));
    let version = store.resource_version();
    create(&store, node("a").has("cpu", "4").has("memory", "8Gi").has("pods", "10").into());
    let settings = WallSettings { threads: 1, link: LinkSettings::default() };
    let runtime =
        WallRuntime::start(api, scheduler, version, settings, (NoRecorder, NoRecorder)).expect("threads");
    create_pod(&store, "web");
    let deadline = Instant::now() + Duration::from_secs(20);
    let node = loop {
        let pod = get_pod(&store, "web").expect("the pod exists");
        if let Some(node) = pod.spec.and_then(|spec| spec.node_name) {
            break node;
        }
        assert!(Instant::now() < deadline, "the pod was never bound");
        std::thread::yield_now();
    };
    runtime.stop().expect("no thread panicked");
    (node, server)
}

#[test]
fn bind_is_left_to_the_extender() {
    let store = Arc::new(cluster());
    let binder = Arc::clone(&store);
    let handler = move |_: &str, body: &serde_json::Value| {
        let text = |field: &str| body[field].as_str().expect("a text").to_owned();
        assert!(parse_pod_uid(&text("PodUID")).is_some());
        let (namespace, name, node, uid) =
            (text("PodNamespace"), text("PodName"), text("Node"), text("PodUID"));
        let binding = NamedBinding { namespace: &namespace, name: &name, uid: Some(&uid), node: &node };
        binder.bind(&binding).expect("the pod is free");
        Answer::Json(json!({"Error": ""}))
    };
    let (node, server) = bound_node(handler, Arc::clone(&store), false);
    assert_eq!(node, "a");
    assert_eq!(server.requests().len(), 1);
    let calls = store.call_counts().calls;
    assert_eq!(calls.get("POST pods/binding"), Some(&1), "only the extender's: {calls:?}");
}

#[test]
fn extender_without_a_way_to_the_api_is_taken_at_its_word() {
    let store = Arc::new(cluster());
    let (node, server) = bound_node(|_, _| Answer::Json(json!({"Error": ""})), Arc::clone(&store), false);
    assert_eq!((node.as_str(), server.requests().len()), ("a", 1));
    assert_eq!(store.call_counts().calls.get("POST pods/binding"), Some(&1));
}

#[test]
fn failing_ignorable_bind_extender_is_skipped() {
    let (node, server) =
        bound_node(|_, _| Answer::Json(json!({"Error": "not today"})), Arc::new(cluster()), true);
    assert_eq!(node, "a");
    assert_eq!(server.requests().len(), 1);
}
