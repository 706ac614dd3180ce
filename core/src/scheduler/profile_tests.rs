//! Several profiles in one scheduler, the order of their filters, and a change between two cycles.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::cycle::probe::NoProbe;
use crate::cycle::select::TieBreak;
use crate::framework::build::{ProfileConfig, build_profiles};
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin_lists::{EnabledPlugin, PluginLists};
use crate::framework::registry::Registry;
use crate::input::{ContainerInput, NodeInput, ResourceList, TaintInput};
use crate::interner::Vocabulary;
use crate::quantity::Quantity;

fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect(text))).collect()
}

fn node(name: &str, cpu: &str, taint: Option<&str>) -> NodeInput {
    let taint = taint.map(|key| TaintInput {
        key: key.to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    });
    NodeInput {
        name: name.to_owned(),
        allocatable: resources(&[("cpu", cpu), ("memory", "8Gi"), ("pods", "10")]),
        taints: taint.into_iter().collect(),
        ..NodeInput::default()
    }
}

fn pod(scheduler_name: &str, cpu: &str) -> PodInput {
    let container = ContainerInput { requests: resources(&[("cpu", cpu)]), ..ContainerInput::default() };
    PodInput { scheduler_name: scheduler_name.to_owned(), containers: vec![container], ..PodInput::default() }
}

/// Profiles by name; `change` edits the user's lists of each.
fn profiles(
    vocabulary: &mut Vocabulary,
    names: &[&str],
    change: impl Fn(&str, &mut PluginLists),
) -> Vec<Profile> {
    let registry = Registry::new_in_tree();
    let configs: Vec<ProfileConfig> = names
        .iter()
        .map(|name| {
            let mut user = PluginLists::default();
            change(name, &mut user);
            ProfileConfig {
                scheduler_name: (*name).to_owned(),
                percentage_of_nodes_to_score: 0,
                plugins: registry.default_plugins().overlaid_with(&user),
                args: BTreeMap::new(),
            }
        })
        .collect();
    build_profiles(&registry, &configs, vocabulary).expect("the lists are sound")
}

fn scheduler(names: &[&str], change: impl Fn(&str, &mut PluginLists), nodes: &[NodeInput]) -> Scheduler {
    let mut world = World::default();
    let profiles = profiles(&mut world.vocabulary, names, change);
    let settings = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
    let mut scheduler = Scheduler::with_profiles(world, profiles, settings);
    for node in nodes {
        scheduler.on_event(ObjectEvent::node(&Arc::new(node.clone())), 0);
    }
    scheduler
}

fn add(scheduler: &mut Scheduler, uid: u64, spec: PodInput) {
    let class = scheduler.compile(&Arc::new(spec));
    scheduler.on_event(
        ObjectEvent::pod(PodUpdate {
            uid: PodUid(uid),
            class,
            node: None,
            created_ns: uid,
            ..PodUpdate::default()
        }),
        uid,
    );
}

/// Steps until idle; where pods went (`7 -> n1`) or why they wait (`7: <condition>`).
fn run(scheduler: &mut Scheduler) -> Vec<String> {
    while scheduler.schedule_one(&mut NoProbe) != ScheduleOneOutcome::Idle {}
    let mut calls = Vec::new();
    scheduler.take_calls(&mut calls);
    calls.iter().map(|outgoing| outgoing.call.text(scheduler.world())).collect()
}

fn packs(name: &str, lists: &mut PluginLists) {
    if name == "blind" {
        lists.at_mut(ExtensionPoint::Filter).disabled.push("TaintToleration".to_owned());
    }
}

const NOT_HELPFUL: &str = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";

#[test]
fn pod_is_scheduled_by_the_profile_of_its_scheduler_name() {
    let nodes = [node("tainted", "4", Some("k"))];
    let mut scheduler = scheduler(&["default-scheduler", "blind"], packs, &nodes);
    add(&mut scheduler, 1, pod("", "1"));
    add(&mut scheduler, 2, pod("blind", "1"));
    add(&mut scheduler, 3, pod("somebody-else", "1"));
    let said = run(&mut scheduler);
    let rejected = format!("1: 0/1 nodes are available: 1 node(s) had untolerated taint(s). {NOT_HELPFUL}");
    assert_eq!(said, [rejected.as_str(), "2 -> tainted"]);
    assert_eq!(scheduler.counts().foreign, 1);
}

fn fit_first(_: &str, lists: &mut PluginLists) {
    let filter = lists.at_mut(ExtensionPoint::Filter);
    filter.enabled = ["NodeResourcesFit", "TaintToleration"].map(|name| EnabledPlugin::new(name, 0)).into();
}

#[test]
fn first_filter_in_profile_order_gives_the_reason() {
    // The node is both tainted and too small: whoever is asked first says why.
    let nodes = [node("n", "1", Some("k"))];
    let default_order = |_: &str, _: &mut PluginLists| {};
    let cases = [
        ("upstream's order", default_order as fn(&str, &mut PluginLists), "node(s) had untolerated taint(s)"),
        ("the user's order", fit_first, "Insufficient cpu"),
    ];
    for (name, change, reason) in cases {
        let mut scheduler = scheduler(&["default-scheduler"], change, &nodes);
        add(&mut scheduler, 1, pod("", "2"));
        let said = run(&mut scheduler);
        let expected = format!("1: 0/1 nodes are available: 1 {reason}. {NOT_HELPFUL}");
        assert_eq!(said, [expected], "case: {name}");
    }
}

#[test]
fn replaced_profiles_apply_to_unschedulable_pods_and_cached_classes() {
    let nodes = [node("tainted", "4", Some("k"))];
    let mut scheduler = scheduler(&["default-scheduler"], packs, &nodes);
    add(&mut scheduler, 1, pod("", "1"));
    assert_eq!(run(&mut scheduler).len(), 1);
    assert_eq!(scheduler.counts().unschedulable, 1);
    let tolerant = |_: &str, lists: &mut PluginLists| packs("blind", lists);
    let changed = profiles(&mut scheduler.world.vocabulary, &["default-scheduler"], tolerant);
    scheduler.set_profiles(changed, 10);
    add(&mut scheduler, 2, pod("", "1"));
    assert_eq!(run(&mut scheduler), ["1 -> tainted", "2 -> tainted"]);
}

#[test]
fn replaced_profile_names_change_which_pods_are_scheduled() {
    let mut scheduler = scheduler(&["default-scheduler"], packs, &[]);
    add(&mut scheduler, 1, pod("", "1"));
    add(&mut scheduler, 2, pod("blind", "1"));
    assert_eq!((scheduler.counts().queued, scheduler.counts().foreign), (1, 1));
    let changed = profiles(&mut scheduler.world.vocabulary, &["blind"], packs);
    scheduler.set_profiles(changed, 10);
    assert_eq!((scheduler.counts().queued, scheduler.counts().foreign), (1, 1));
    scheduler.on_event(ObjectEvent::node(&Arc::new(node("n", "4", None))), 11);
    assert_eq!(run(&mut scheduler), ["2 -> n"]);
    let changed = profiles(&mut scheduler.world.vocabulary, &["blind", "default-scheduler"], packs);
    scheduler.set_profiles(changed, 12);
    assert_eq!(run(&mut scheduler), ["1 -> n"]);
}
