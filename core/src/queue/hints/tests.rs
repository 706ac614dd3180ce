//! Which event brings back a pod that a plugin rejected, by the tables of the plugins.

use super::*;
use crate::framework::registry::default_profile;
use crate::plugins::IN_TREE;

#[test]
fn queueing_hints_answer_every_case() {
    for plugin in IN_TREE {
        (plugin.cases.hints)().iter().for_each(|case| case.check(plugin.name));
    }
}

/// Their hints read more than a pod's class, which is all that a case has: `tests.rs` of the plugin shows
/// both answers.
const HINTS_IN_OWN_TESTS: &[&str] = &["GangScheduling"];

/// A plugin that can reject a pod registers for what may bring it back, and its cases show both answers.
#[test]
fn every_plugin_that_registers_for_events_has_cases_of_hints() {
    let mut world = World::default();
    for plugin in IN_TREE {
        let made = (plugin.factory)(&(plugin.default_args)(), &mut world.vocabulary).expect("defaults");
        let is_registered = !made.events_to_register(KnownGaps::Mended).is_empty();
        let has_cases = !(plugin.cases.hints)().is_empty() || HINTS_IN_OWN_TESTS.contains(&plugin.name);
        assert_eq!(is_registered, has_cases, "{}", plugin.name);
    }
}

/// Every plugin of the default profile that can reject a pod says what may bring it back.
#[test]
fn no_default_plugin_registers_for_all_events() {
    let mut world = World::default();
    let table = QueueingHintMap::of(&default_profile(&mut world.vocabulary), KnownGaps::Mended);
    let greedy = table.sources.iter().filter(|source| matches!(source, Source::Everything)).count();
    assert_eq!(greedy, 0);
}
