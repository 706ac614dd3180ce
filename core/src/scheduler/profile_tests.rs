//! Several profiles in one scheduler, the order of their filters, and a change between two cycles.

use std::collections::BTreeMap;

use super::*;
use crate::cycle::select::TieBreak;
use crate::framework::build::{ProfileConfig, build_profiles};
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin_lists::{EnabledPlugin, PluginLists};
use crate::framework::registry::Registry;
use crate::input::NodeInput;
use crate::interner::Vocabulary;
use crate::testkit::{NodeParts, PodParts, SchedulerLab, node, pod};

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

fn lab(names: &[&str], change: impl Fn(&str, &mut PluginLists), nodes: &[NodeInput]) -> SchedulerLab {
    let mut world = World::default();
    let profiles = profiles(&mut world.vocabulary, names, change);
    let settings = EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() };
    let mut lab = SchedulerLab::of(Scheduler::with_profiles(world, profiles, settings));
    nodes.iter().for_each(|node| lab.node(node));
    lab
}

fn packs(name: &str, lists: &mut PluginLists) {
    if name == "blind" {
        lists.at_mut(ExtensionPoint::Filter).disabled.push("TaintToleration".to_owned());
    }
}

const NOT_HELPFUL: &str = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";

#[test]
fn pod_is_scheduled_by_the_profile_of_its_scheduler_name() {
    let nodes = [node("tainted").cpu("4").taint("k")];
    let mut lab = lab(&["default-scheduler", "blind"], packs, &nodes);
    lab.pod(1, pod().cpu("1"));
    lab.pod(2, pod().cpu("1").scheduler("blind"));
    lab.pod(3, pod().cpu("1").scheduler("somebody-else"));
    let said = lab.run();
    let rejected = format!("1: 0/1 nodes are available: 1 node(s) had untolerated taint(s). {NOT_HELPFUL}");
    assert_eq!(said, [rejected.as_str(), "2 -> tainted"]);
    assert_eq!(lab.scheduler.counts().foreign, 1);
}

fn fit_first(_: &str, lists: &mut PluginLists) {
    let filter = lists.at_mut(ExtensionPoint::Filter);
    filter.enabled = ["NodeResourcesFit", "TaintToleration"].map(|name| EnabledPlugin::new(name, 0)).into();
}

#[test]
fn first_filter_in_profile_order_gives_the_reason() {
    // The node is both tainted and too small: whoever is asked first says why.
    let nodes = [node("n").cpu("1").taint("k")];
    let default_order = |_: &str, _: &mut PluginLists| {};
    let cases = [
        ("upstream's order", default_order as fn(&str, &mut PluginLists), "node(s) had untolerated taint(s)"),
        ("the user's order", fit_first, "Insufficient cpu"),
    ];
    for (name, change, reason) in cases {
        let mut lab = lab(&["default-scheduler"], change, &nodes);
        lab.pod(1, pod().cpu("2"));
        let said = lab.run();
        let expected = format!("1: 0/1 nodes are available: 1 {reason}. {NOT_HELPFUL}");
        assert_eq!(said, [expected], "case: {name}");
    }
}

#[test]
fn replaced_profiles_apply_to_unschedulable_pods_and_cached_classes() {
    let nodes = [node("tainted").cpu("4").taint("k")];
    let mut lab = lab(&["default-scheduler"], packs, &nodes);
    lab.pod(1, pod().cpu("1"));
    assert_eq!(lab.run().len(), 1);
    assert_eq!(lab.scheduler.counts().unschedulable, 1);
    let tolerant = |_: &str, lists: &mut PluginLists| packs("blind", lists);
    let changed = profiles(&mut lab.scheduler.world.vocabulary, &["default-scheduler"], tolerant);
    lab.scheduler.set_profiles(changed, 10);
    lab.pod(2, pod().cpu("1"));
    assert_eq!(lab.run(), ["1 -> tainted", "2 -> tainted"]);
}

#[test]
fn replaced_profile_names_change_which_pods_are_scheduled() {
    let mut lab = lab(&["default-scheduler"], packs, &[]);
    lab.pod(1, pod().cpu("1"));
    lab.pod(2, pod().cpu("1").scheduler("blind"));
    assert_eq!((lab.scheduler.counts().queued, lab.scheduler.counts().foreign), (1, 1));
    let changed = profiles(&mut lab.scheduler.world.vocabulary, &["blind"], packs);
    lab.scheduler.set_profiles(changed, 10);
    assert_eq!((lab.scheduler.counts().queued, lab.scheduler.counts().foreign), (1, 1));
    lab.scheduler.on_event(ObjectEvent::node(&Arc::new(node("n").cpu("4"))), 11);
    assert_eq!(lab.run(), ["2 -> n"]);
    let changed = profiles(&mut lab.scheduler.world.vocabulary, &["blind", "default-scheduler"], packs);
    lab.scheduler.set_profiles(changed, 12);
    assert_eq!(lab.run(), ["1 -> n"]);
}
