//! Which pods are evicted. Upstream: `TestPreemption`, `TestInterPodAffinityPreemption`,
//! `TestNonPreemption`, `TestDisablePreemption`, `TestPodPriorityResolution`.

use super::{every_way, evicted, settle};
use crate::scenarios::manifest::{Manifest, node, pod, priority_class};
use crate::scenarios::plugin::WHO;
use crate::scenarios::setup::Setup;
use schedlab_core::class::PodClass;
use schedlab_core::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads};
use schedlab_core::framework::points::{EnqueueExtensions, RegisteredEvent};
use schedlab_core::framework::status::{Code, Reason};
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::Standing;
use schedlab_core::world::World;
use serde_json::json;

/// Every node has so many seats, whatever pods ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seats {
    pub(super) seats: i64,
    pub(super) code: Code,
    /// PreFilter says no when all seats of the cluster are taken.
    pub(super) asks_before: bool,
    /// It waits for no event, where otherwise every event would help.
    pub(super) is_deaf: bool,
}

impl Plugin for Seats {
    fn name(&self) -> &'static str {
        "Seats"
    }

    fn plan_version(&self, world: &World, _: &PodClass) -> Option<u64> {
        Some(world.nodes().columns().pod_count.iter().sum::<i64>().unsigned_abs())
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        self.is_deaf.then_some(self as _)
    }
}

impl EnqueueExtensions for Seats {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        Vec::new()
    }
}

impl FilterPlugin for Seats {
    fn reads(&self) -> Reads {
        Reads::NodeLocal
    }

    fn pre_filter<'a>(&self, world: &'a World, _: &'a PodClass) -> PreFilter<'a> {
        let is_full = |&count: &i64| count >= self.seats;
        if self.asks_before && world.nodes().columns().pod_count.iter().all(is_full) {
            return PreFilter::Reject(self.code, Reason::Text("all seats are taken"));
        }
        PreFilter::Run
    }

    fn verdict(&self, world: &World, _: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        if world.nodes().columns().pod_count[row] < self.seats {
            return Code::Success;
        }
        reasons.push(Reason::Text("no seat"));
        self.code
    }
}

fn with_seats(code: Code, asks_before: bool) -> Setup {
    Setup::default().plugin(&Seats { seats: 1, code, asks_before, is_deaf: false })
}

fn n() -> Manifest {
    node("n").label("node", "n").has("cpu", "500m").has("memory", "500")
}

fn asks(name: &str, cpu: &str, priority: i32) -> Manifest {
    pod(name).label(WHO, name).asks("cpu", cpu).priority(priority)
}

#[test]
fn lower_priority_pod_is_preempted() {
    every_way(&Setup::default(), |lab| {
        lab.create(n());
        settle(lab, [asks("low", "400m", 100)]);
        lab.create(asks("high", "300m", 300));
        lab.run();
        assert_eq!(evicted(lab, &["low"]), ["low"]);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        lab.assert_clean();
    });
}

#[test]
fn lower_priority_pod_is_preempted_for_out_of_tree_filter() {
    every_way(&with_seats(Code::Unschedulable, false), |lab| {
        lab.create(n());
        settle(lab, [asks("low", "200m", 100)]);
        lab.create(asks("high", "200m", 300));
        lab.run();
        assert_eq!(evicted(lab, &["low"]), ["low"]);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn lower_priority_pod_is_preempted_when_pre_filter_rejected() {
    every_way(&with_seats(Code::Unschedulable, true), |lab| {
        lab.create(n());
        settle(lab, [asks("low", "200m", 100)]);
        lab.create(asks("high", "200m", 300));
        lab.run();
        assert_eq!(evicted(lab, &["low"]), ["low"]);
        assert_eq!(lab.node_of("high").as_deref(), Some("n"));
    });
}

#[test]
fn unschedulable_and_unresolvable_node_has_no_victims() {
    every_way(&with_seats(Code::UnschedulableAndUnresolvable, false), |lab| {
        lab.create(n());
        settle(lab, [asks("low", "200m", 100)]);
        lab.create(asks("high", "200m", 300));
        lab.run();
        assert_eq!(evicted(lab, &["low"]), [""; 0]);
        assert_eq!(lab.standing("high"), Standing::Unschedulable);
        assert_eq!(lab.nominated("high"), None);
    });
}

/// Required anti-affinity to pods whose label `who` has a value.
fn avoids(pod: Manifest, who: &str, topology: &str) -> Manifest {
    let term = json!({ "labelSelector": { "matchLabels": { WHO: who } }, "topologyKey": topology });
    let path = "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    pod.set(path, json!([term]))
}

#[test]
fn both_directions_of_anti_affinity_are_preempted() {
    for topology in ["node", "kubernetes.io/hostname"] {
        every_way(&Setup::default(), |lab| {
            lab.create(n().label("kubernetes.io/hostname", "n"));
            settle(lab, [asks("p0", "100m", 200), avoids(asks("p1", "100m", 100), "high", topology)]);
            lab.create(avoids(asks("high", "100m", 300), "p0", topology));
            lab.run();
            assert_eq!(evicted(lab, &["p0", "p1"]), ["p0", "p1"], "{topology}");
            assert_eq!(lab.node_of("high").as_deref(), Some("n"));
        });
    }
}

#[test]
fn no_victim_when_pod_with_anti_affinity_has_equal_priority() {
    for topology in ["node", "kubernetes.io/hostname"] {
        every_way(&Setup::default(), |lab| {
            lab.create(n().label("kubernetes.io/hostname", "n"));
            settle(lab, [asks("p0", "100m", 200), avoids(asks("p1", "100m", 300), "high", topology)]);
            lab.create(avoids(asks("high", "100m", 300), "p0", topology));
            lab.run();
            assert_eq!(evicted(lab, &["p0", "p1"]), [""; 0], "{topology}");
            assert_eq!(lab.standing("high"), Standing::Unschedulable);
        });
    }
}

#[test]
fn preemption_policy_never_has_no_victims() {
    every_way(&Setup::default(), |lab| {
        lab.create(n());
        settle(lab, [asks("low", "400m", 100)]);
        lab.create(asks("meek", "300m", 300).never_preempts());
        lab.run();
        assert_eq!(evicted(lab, &["low"]), [""; 0]);
        assert_eq!((lab.nominated("meek"), lab.standing("meek")), (None, Standing::Unschedulable));
        let said = lab.message("meek");
        assert!(said.contains("preemption: not eligible due to preemptionPolicy=Never."), "{said}");
    });
}

#[test]
fn no_preemption_without_default_preemption_plugin() {
    every_way(&Setup::default().without("DefaultPreemption"), |lab| {
        lab.create(n());
        settle(lab, [asks("low", "400m", 100)]);
        lab.create(asks("high", "300m", 300));
        lab.run();
        assert_eq!(evicted(lab, &["low"]), [""; 0]);
        assert_eq!((lab.nominated("high"), lab.standing("high")), (None, Standing::Unschedulable));
        assert_eq!(lab.reason("high"), "Unschedulable");
    });
}

#[test]
fn priority_classes_are_resolved() {
    let mut lab = Setup::default().start();
    lab.create_all([n(), priority_class("mine", 7)]);
    let classes =
        [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000), ("mine", 7)];
    for (class, priority) in classes {
        lab.create(pod(class).set("/spec/priorityClassName", json!(class)));
        let spec = lab.pod(class).spec.expect("a spec");
        assert_eq!(spec.priority, Some(priority), "{class}");
    }
    let unknown = pod("lost").set("/spec/priorityClassName", json!("foo"));
    let object = schedlab_cluster::api::Object::from_json(unknown.into()).expect("well formed");
    let error = schedlab_cluster::Api::create(lab.api.as_ref(), object).expect_err("no such class");
    assert_eq!(error.to_string(), "pods \"lost\" is forbidden: no PriorityClass with name foo was found");
}
