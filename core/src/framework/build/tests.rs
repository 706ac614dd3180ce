//! The situations of upstream's framework_test.go (`TestNewFrameworkMultiPointExpansion` and its
//! neighbours), default_plugins_test.go and profile_test.go, with plugins of our own.

mod fake;

use super::*;
use crate::framework::args::ArgValue;
use crate::framework::plugin_lists::{EnabledPlugin, PluginSet};
use crate::framework::registry::{AlreadyRegistered, DEFAULT_SCHEDULER_NAME, default_profile};
use ExtensionPoint as At;
use fake::Fake;

const FAKES: [(&str, &[At]); 7] = [
    ("sort", &[At::QueueSort]),
    ("sort2", &[At::QueueSort]),
    ("binder", &[At::Bind]),
    ("a", &[At::Filter, At::Score]),
    ("b", &[At::Filter, At::Score]),
    ("c", &[At::Filter, At::Score, At::Permit]),
    ("gate", &[At::PreEnqueue]),
];

fn registry() -> Registry {
    let mut registry = Registry::default();
    for (name, points) in FAKES {
        registry.register(name, move |_, _| Ok(Arc::new(Fake(name, points)))).unwrap();
    }
    registry
        .register("picky", |args, _| match args.field("size").and_then(ArgValue::as_integer) {
            Some(size) if 0 < size => Ok(Arc::new(Fake("picky", &[At::Filter]))),
            other => Err(format!("`size` is {other:?}; write a positive integer")),
        })
        .unwrap();
    registry
}

fn entry(text: &str) -> EnabledPlugin {
    match text.split_once('*') {
        Some((name, weight)) => EnabledPlugin::new(name, weight.parse().unwrap()),
        None => EnabledPlugin::new(text, 0),
    }
}

/// `a b*3 -c -*`: enabled plugins with weights, disabled ones with a minus.
fn set(text: &str) -> PluginSet {
    let mut set = PluginSet::default();
    for word in text.split_whitespace() {
        match word.strip_prefix('-') {
            Some(disabled) => set.disabled.push(disabled.to_owned()),
            None => set.enabled.push(entry(word)),
        }
    }
    set
}

/// `multi: a b | score: b*3`.
fn lists(text: &str) -> PluginLists {
    let mut lists = PluginLists::default();
    for part in text.split('|').filter(|part| !part.trim().is_empty()) {
        let (point, plugins) = part.split_once(':').unwrap();
        match At::ALL.into_iter().find(|known| known.name() == point.trim()) {
            Some(point) => *lists.at_mut(point) = set(plugins),
            None => lists.multi_point = set(plugins),
        }
    }
    lists
}

fn profile_config(name: &str, plugins: PluginLists) -> ProfileConfig {
    ProfileConfig {
        scheduler_name: name.to_owned(),
        percentage_of_nodes_to_score: 0,
        plugins,
        args: BTreeMap::new(),
    }
}

fn build(text: &str) -> Result<Profile, ProfileProblem> {
    build_profile(&registry(), &profile_config("one", lists(text)), &mut Vocabulary::default())
}

fn names(profile: &Profile, point: At) -> String {
    profile.plugins_at(point).map(Plugin::name).collect::<Vec<_>>().join(" ")
}

fn weights(profile: &Profile) -> String {
    let entries = profile.scores().iter().map(|&(at, weight)| format!("{}*{weight}", profile.name(at)));
    entries.collect::<Vec<_>>().join(" ")
}

#[test]
fn multi_point_expands_to_every_point_a_plugin_extends() {
    struct Case {
        name: &'static str,
        lists: &'static str,
        filter: &'static str,
        score: &'static str,
        permit: &'static str,
    }
    let case = |name, lists, filter, score, permit| Case { name, lists, filter, score, permit };
    let cases = [
        case("plain", "multi: sort binder a b c", "a b c", "a*1 b*1 c*1", "c"),
        case("weights", "multi: sort binder a*5 b c*0", "a b c", "a*5 b*1 c*1", "c"),
        case("disabled at one point", "multi: sort binder a b c | score: -b", "a b c", "a*1 c*1", "c"),
        case("all disabled at one point", "multi: sort binder a b c | score: -*", "a b c", "", "c"),
        case(
            "all disabled, one enabled again",
            "multi: sort binder a b c | score: b*7 -*",
            "a b c",
            "b*7",
            "c",
        ),
        case("a point's weight wins", "multi: sort binder a*2 b*2 | score: b*9", "a b", "b*9 a*2", ""),
        case(
            "a point's own plugins that multiPoint has come first, in the point's order",
            "multi: sort binder a b c | filter: c b",
            "c b a",
            "a*1 b*1 c*1",
            "c",
        ),
        case(
            "a point's own plugins that multiPoint lacks come last",
            "multi: sort binder a b | filter: c",
            "a b c",
            "a*1 b*1",
            "",
        ),
        case("all three at once", "multi: sort binder a b | filter: c b", "b a c", "a*1 b*1", ""),
        case(
            "reordered: disabled and enabled again",
            "multi: sort binder a b c | filter: c a b -*",
            "c a b",
            "a*1 b*1 c*1",
            "c",
        ),
        case(
            "enabled wins over disabled in one point",
            "multi: sort binder a | filter: a -a",
            "a",
            "a*1",
            "",
        ),
        case(
            "no multiPoint at all",
            "queueSort: sort | bind: binder | filter: b a | score: a*4",
            "b a",
            "a*4",
            "",
        ),
        case(
            "an unknown name in disabled is nobody's loss",
            "multi: sort binder a | filter: -z",
            "a",
            "a*1",
            "",
        ),
    ];
    for case in cases {
        let profile = build(case.lists).unwrap_or_else(|problem| panic!("case: {}: {problem}", case.name));
        assert_eq!(names(&profile, At::Filter), case.filter, "case: {}: filter", case.name);
        assert_eq!(weights(&profile), case.score, "case: {}: score", case.name);
        assert_eq!(names(&profile, At::Permit), case.permit, "case: {}: permit", case.name);
        assert_eq!(names(&profile, At::QueueSort), "sort", "case: {}", case.name);
        assert_eq!(names(&profile, At::Bind), "binder", "case: {}", case.name);
    }
}

#[test]
fn invalid_plugin_lists_are_refused() {
    let cases = [
        ("unknown in multiPoint", "multi: sort binder zzz", "there is no plugin `zzz`; known: a, b, binder"),
        ("unknown at a point", "multi: sort binder | score: zzz", "there is no plugin `zzz`"),
        (
            "upstream's, but not here",
            "multi: sort binder VolumeZone",
            "plugin `VolumeZone` of kube-scheduler is not built into schedlab yet; remove it from `enabled`",
        ),
        (
            "twice in multiPoint",
            "multi: sort binder a a",
            "plugin `a` is enabled twice at multiPoint; remove one",
        ),
        (
            "twice at a point",
            "multi: sort binder | score: a a",
            "plugin `a` is enabled twice at score; remove one",
        ),
        (
            "not at that point",
            "multi: sort binder | bind: a",
            "plugin `a` does not extend bind; it extends preFilter, filter, preScore, score",
        ),
        (
            "two queue sorts",
            "multi: sort sort2 binder",
            "exactly one queueSort plugin is needed, 2 are enabled (sort, sort2); disable all but one of them at \
             queueSort",
        ),
        (
            "two queue sorts at the point",
            "multi: binder | queueSort: sort sort2",
            "exactly one queueSort plugin is needed, 2 are enabled (sort, sort2)",
        ),
        (
            "no queue sort",
            "multi: sort binder | queueSort: -*",
            "exactly one queueSort plugin is needed, 0 are enabled; enable PrioritySort",
        ),
        ("no binder", "multi: sort a", "no bind plugin is enabled; enable DefaultBinder"),
        (
            "weight below 0",
            "multi: sort binder a | score: a*-1",
            "weight -1 of plugin `a` is not allowed; write 1 or more, or disable it at score",
        ),
        (
            "a factory that refuses",
            "multi: sort binder picky",
            "plugin `picky` could not be made: `size` is None; write a positive integer",
        ),
    ];
    for (name, lists, message) in cases {
        let problem = build(lists).map(|_| ()).expect_err(name);
        assert!(problem.to_string().starts_with(message), "case: {name}: {problem}");
    }
}

#[test]
fn a_plugin_gets_the_arguments_under_its_name() {
    let mut config = profile_config("one", lists("multi: sort binder picky"));
    let size = ArgValue::Map(BTreeMap::from([("size".to_owned(), ArgValue::Integer(3))]));
    config.args.insert("picky".to_owned(), PluginArgs::Other(size));
    let profile = build_profile(&registry(), &config, &mut Vocabulary::default()).unwrap();
    assert_eq!(names(&profile, At::Filter), "picky");
}

#[test]
fn a_name_is_registered_once() {
    let again = registry().register("a", |_, _| Err(String::new()));
    assert_eq!(again, Err(AlreadyRegistered("a".to_owned())));
}

#[test]
fn profiles_share_queue_sort_and_have_distinct_names() {
    let plugins = "multi: sort binder a";
    let other_sort = "multi: sort2 binder a";
    let cases = [
        ("two profiles", vec![("one", plugins), ("two", plugins)], None),
        (
            "one name twice",
            vec![("one", plugins), ("two", plugins), ("one", plugins)],
            Some((2, "profile `one`: another profile has the same scheduler name")),
        ),
        ("no name", vec![("", plugins)], Some((0, "profile ``: no scheduler name"))),
        (
            "two queues",
            vec![("one", plugins), ("two", other_sort)],
            Some((1, "profile `two`: queueSort plugin `sort2` differs from `sort` of the first profile")),
        ),
    ];
    for (name, profiles, expected) in cases {
        let configs: Vec<ProfileConfig> =
            profiles.into_iter().map(|(name, text)| profile_config(name, lists(text))).collect();
        let built = build_profiles(&registry(), &configs, &mut Vocabulary::default());
        match (built, expected) {
            (Ok(profiles), None) => assert_eq!(profiles.len(), configs.len(), "case: {name}"),
            (Err(error), Some((index, message))) => {
                assert_eq!(error.index, index, "case: {name}");
                assert!(error.to_string().starts_with(message), "case: {name}: {error}");
            }
            (built, expected) => panic!("case: {name}: {built:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn queue_sort_arguments_must_be_equal_in_all_profiles() {
    let mut configs = ["one", "two"].map(|name| profile_config(name, lists("multi: sort binder a")));
    configs[1].args.insert("sort".to_owned(), PluginArgs::Other(ArgValue::Bool(true)));
    let error = build_profiles(&registry(), &configs, &mut Vocabulary::default()).unwrap_err();
    assert_eq!(error.problem, ProfileProblem::QueueSortArgsDiffer { plugin: "sort".to_owned() });
}

#[test]
fn user_plugin_lists_override_the_default_ones() {
    struct Case {
        name: &'static str,
        default: &'static str,
        user: &'static str,
        enabled: &'static [(&'static str, i32)],
        disabled: &'static [&'static str],
    }
    let cases = [
        Case {
            name: "nothing said",
            default: "a b",
            user: "",
            enabled: &[("a", 0), ("b", 0)],
            disabled: &[],
        },
        Case { name: "one more", default: "a", user: "c", enabled: &[("a", 0), ("c", 0)], disabled: &[] },
        Case { name: "one less", default: "a b", user: "-a", enabled: &[("b", 0)], disabled: &["a"] },
        Case { name: "all gone", default: "a b", user: "-*", enabled: &[], disabled: &["*"] },
        Case {
            name: "all gone, others instead",
            default: "a b",
            user: "c b -*",
            enabled: &[("c", 0), ("b", 0)],
            disabled: &["*"],
        },
        Case {
            name: "another weight, the same place",
            default: "a b*2 c",
            user: "d b*5",
            enabled: &[("a", 0), ("b", 5), ("c", 0), ("d", 0)],
            disabled: &[],
        },
        Case {
            name: "moved to the end",
            default: "a b",
            user: "a*3 -a",
            enabled: &[("b", 0), ("a", 3)],
            disabled: &["a"],
        },
        Case {
            name: "a repeated entry stays to be refused",
            default: "a b",
            user: "a*1 a*2",
            enabled: &[("a", 2), ("b", 0), ("a", 1)],
            disabled: &[],
        },
        Case {
            name: "what is disabled by default stays disabled",
            default: "a -b",
            user: "c -d",
            enabled: &[("a", 0), ("c", 0)],
            disabled: &["d", "b"],
        },
    ];
    for case in cases {
        let merged = set(case.default).overlaid_with(&set(case.user));
        let enabled: Vec<(&str, i32)> =
            merged.enabled.iter().map(|plugin| (plugin.name.as_str(), plugin.weight)).collect();
        assert_eq!(enabled, case.enabled, "case: {}", case.name);
        assert_eq!(merged.disabled, case.disabled, "case: {}", case.name);
    }
}

#[test]
fn the_default_profile_has_upstreams_order_and_weights() {
    let profile = default_profile(&mut Vocabulary::default());
    assert_eq!(profile.scheduler_name, DEFAULT_SCHEDULER_NAME);
    let order = |names: &[&'static str]| -> Vec<&'static str> {
        let registry = Registry::new_in_tree();
        names.iter().copied().filter(|name| registry.contains(name)).collect()
    };
    let filters: Vec<&str> = profile.plugins_at(At::Filter).map(Plugin::name).collect();
    let expected = order(&[
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]);
    assert_eq!(filters, expected);
    let weight = |name: &str| {
        profile.scores().iter().find(|&&(at, _)| profile.name(at) == name).map(|&(_, weight)| weight)
    };
    for (name, expected) in [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    ] {
        assert_eq!(weight(name), Some(expected), "plugin: {name}");
    }
    assert_eq!(names(&profile, At::PreEnqueue).split(' ').next(), Some("SchedulingGates"));
    assert_eq!(names(&profile, At::QueueSort), "PrioritySort");
    assert_eq!(names(&profile, At::Bind), "DefaultBinder");
}

#[test]
fn every_in_tree_plugin_has_the_name_it_is_registered_under() {
    let registry = Registry::new_in_tree();
    for name in registry.names() {
        let factory = registry.factory(name).unwrap();
        let plugin = factory(&PluginArgs::default_of(name), &mut Vocabulary::default()).unwrap();
        assert_eq!(plugin.name(), name);
    }
}
