//! The plugins registered beside upstream's and enabled by a configuration file, as a user does it.

mod command_line;
mod coscheduling;

use std::sync::Arc;

use schedlab_core::api_call::ApiCall;
use schedlab_core::binding::OutgoingCall;
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::framework::registry::Registry;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, ScheduleOneOutcome, Scheduler};
use schedlab_core::world::World;
use schedlab_testkit::input::{NodeParts, PodParts, bare_node, pod};
use schedlab_workloads::scheduler_config::SchedulerConfig;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn registry() -> Registry {
    let mut registry = Registry::new_in_tree();
    schedlab_examples::register(&mut registry).expect("their names are free");
    registry
}

fn scheduler(body: &str) -> Scheduler {
    let config = SchedulerConfig::parse("scheduler.yaml", &format!("{HEAD}{body}")).expect("it is valid");
    let mut world = World::default();
    let profiles = config.build(&registry(), &mut world.vocabulary).expect("its plugins are registered");
    Scheduler::with_profiles(world, profiles, EngineSettings::default())
}

/// Nodes of 8 GPUs, of which some are taken, and a pod that wants one: where it goes.
fn node_for_one_gpu(scheduler: &mut Scheduler, free: &[(&str, i64)]) -> String {
    let gpus = |count: i64| Arc::new(pod().requests(&[("nvidia.com/gpu", &count.to_string())]));
    for (uid, (name, free)) in free.iter().enumerate() {
        let allocatable = [("nvidia.com/gpu", "8"), ("cpu", "8"), ("memory", "8Gi"), ("pods", "9")];
        scheduler.on_event(ObjectEvent::node(&Arc::new(bare_node(name).has(&allocatable))), 0);
        let (class, node) = (scheduler.compile(&gpus(8 - free)), scheduler.node_id(name));
        let uid = PodUid(100 + uid as u64);
        scheduler.on_event(
            ObjectEvent::pod(PodUpdate { uid, class, node: Some(node), ..PodUpdate::default() }),
            0,
        );
    }
    let class = scheduler.compile(&gpus(1));
    scheduler.on_event(
        ObjectEvent::pod(PodUpdate { uid: PodUid(1), class, created_ns: 1, ..PodUpdate::default() }),
        1,
    );
    assert!(matches!(scheduler.schedule_one(&mut NoProbe), ScheduleOneOutcome::Assumed { .. }));
    let mut calls = Vec::new();
    scheduler.take_calls(&mut calls);
    match calls.as_slice() {
        [OutgoingCall { call: ApiCall::Bind { node, .. }, .. }] => {
            scheduler.world().node_name(*node).to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_gpu_pod_goes_to_the_most_fragmented_node() {
    let weighty = "profiles:
- plugins:
    score:
      enabled: [{name: GpuFragmentation, weight: 100}]
";
    for free in [[("whole", 8), ("half", 4), ("rest", 1)], [("rest", 3), ("half", 4), ("whole", 8)]] {
        assert_eq!(node_for_one_gpu(&mut scheduler(weighty), &free), "rest");
    }
    // Pods of 4 do not occur here: a node with 4 free is as good for the pairs as one with 2.
    let pairs = "profiles:
- plugins:
    score:
      disabled: [{name: '*'}]
      enabled: [{name: GpuFragmentation}]
  pluginConfig:
  - name: GpuFragmentation
    args: {sizes: [2]}
";
    assert_eq!(node_for_one_gpu(&mut scheduler(pairs), &[("even", 4), ("odd", 3)]), "odd");
}

#[test]
fn out_of_tree_plugin_runs_at_every_point_it_extends() {
    let scheduler = scheduler("profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: Gang}]\n");
    let points = [ExtensionPoint::Reserve, ExtensionPoint::Permit, ExtensionPoint::PostBind];
    for point in points {
        let names: Vec<&str> = scheduler.profile().plugins_at(point).map(|plugin| plugin.name()).collect();
        assert!(names.contains(&"Gang"), "{point}: {names:?}");
    }
    assert!(scheduler.profile().plugins_at(ExtensionPoint::Filter).all(|plugin| plugin.name() != "Gang"));
}

#[test]
fn bad_arguments_of_out_of_tree_plugin_point_into_the_file() {
    let body = "profiles:
- plugins:
    multiPoint:
      enabled: [{name: Gang}]
  pluginConfig:
  - name: Gang
    args: {timeoutSeconds: soon}
";
    let config = SchedulerConfig::parse("scheduler.yaml", &format!("{HEAD}{body}")).expect("it is valid");
    let error = config.build(&registry(), &mut World::default().vocabulary).expect_err("soon is no number");
    assert_eq!(
        error.to_string(),
        "scheduler.yaml:8:5: profile `default-scheduler`: plugin `Gang` could not be made: `timeoutSeconds` is no \
         positive integer; write such as 60"
    );
}
