//! Whole decisions: the chosen node, how far the search went, ties, and why no node fits.

use std::sync::Arc;

use crate::cycle::engine::{ClassCache, Decision, Engine, EngineSettings};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::{Draws, TieBreak};
use crate::fake::{self, Rng, for_each_seed};
use crate::framework::profile::Profile;
use crate::input::{
    ContainerInput, NodeAffinityInput, NodeInput, NodeSelectorTermInput, PodInput, RequirementInput,
};
use crate::naive::schedule::NaiveProfile;
use crate::quantity::Quantity;
use crate::twin::{Twin, check_decision, engine_profile, naive_profile, node_count};

fn settings(rng: &mut Rng) -> EngineSettings {
    EngineSettings {
        class_cache: *rng.pick(&[ClassCache::On, ClassCache::Off]),
        tie_break: *rng.pick(&[TieBreak::First, TieBreak::Draw]),
        seed: rng.next_u64(),
        ..EngineSettings::default()
    }
}

/// Several pods in a row on one cluster, each from where the one before left off.
fn check_some(rng: &mut Rng, twin: &mut Twin, pod_count: usize) {
    let naive = naive_profile(rng);
    let fast = engine_profile(&naive, &mut twin.world.vocabulary);
    let settings = EngineSettings { try_nominated: naive.try_nominated, ..settings(rng) };
    let mut engine = Engine::new(settings);
    let mut draws = Draws::new(settings.seed);
    engine.set_next_start(rng.range(0..=2 * twin.cluster.nodes.len()));
    for _ in 0..pod_count {
        let class = twin.compile(&Arc::new(fake::pod(rng)));
        let pending = twin.random_pending(rng, class);
        let chosen =
            check_decision(twin, (&fast, &naive), &mut engine, pending, (settings.tie_break, &mut draws));
        if let Some(node) = chosen {
            let pod = Arc::clone(&twin.world.class(class).input);
            twin.place(&pod, &node);
        }
    }
}

#[test]
fn decisions_equal_naive() {
    for_each_seed("decisions_equal_naive", 500, |rng| {
        let count = node_count(rng);
        let mut twin = Twin::random(rng, count);
        check_some(rng, &mut twin, 4);
    });
}

/// Many small clusters: this is where rare mixes of features meet.
#[test]
fn decisions_in_small_clusters_equal_naive() {
    for_each_seed("decisions_in_small_clusters_equal_naive", 4000, |rng| {
        let count = rng.range(0..=6);
        let mut twin = Twin::random(rng, count);
        check_some(rng, &mut twin, 3);
    });
}

/// From a hundred nodes on, the search may end early, anywhere in a word.
#[test]
fn sampled_decisions_equal_naive() {
    for_each_seed("sampled_decisions_equal_naive", 300, |rng| {
        let count = *rng.pick(&[101, 127, 128, 129, 192, 193, 230]);
        let mut twin = Twin::default();
        for index in 0..count {
            twin.upsert_node(fake::node(rng, index));
        }
        twin.settle();
        check_some(rng, &mut twin, 6);
    });
}

fn plain_nodes(count: usize) -> Twin {
    let mut twin = Twin::default();
    for index in 0..count {
        let quantity = |text: &str| Quantity::parse(text).expect("a quantity");
        twin.upsert_node(NodeInput {
            name: format!("n{index}"),
            allocatable: [("cpu", "4"), ("memory", "8Gi"), ("pods", "110")]
                .map(|(name, text)| (name.to_owned(), quantity(text)))
                .into(),
            ..NodeInput::default()
        });
    }
    twin.settle();
    twin
}

fn default_profiles(twin: &mut Twin) -> (Profile, NaiveProfile) {
    let naive = NaiveProfile::default();
    (engine_profile(&naive, &mut twin.world.vocabulary), naive)
}

fn named(names: &[&str]) -> PodInput {
    let term = |name: &&str| NodeSelectorTermInput {
        match_expressions: Vec::new(),
        match_fields: vec![RequirementInput {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: vec![(*name).to_owned()],
        }],
    };
    let required = Some(names.iter().map(term).collect());
    PodInput {
        node_affinity: Some(NodeAffinityInput { required, ..NodeAffinityInput::default() }),
        ..PodInput::default()
    }
}

/// The start index applies to the list that is searched: upstream's
/// `nodes[(nextStartNodeIndex+i)%numAllNodes]`, where `nodes` are the named ones.
#[test]
fn start_index_rotates_within_the_nodes_of_pre_filter_result() {
    let mut twin = plain_nodes(7);
    let (fast, naive) = default_profiles(&mut twin);
    let class = twin.compile(&Arc::new(named(&["n1", "n4", "n6"])));
    for start in 0..9 {
        // The draw is the first of three ties in search order.
        let seed = (0..).find(|&seed| Draws::new(seed).below(3) == 0).expect("one in three seeds");
        let mut engine = Engine::new(EngineSettings { seed, ..EngineSettings::default() });
        engine.set_next_start(start);
        let mut draws = Draws::new(seed);
        let chosen =
            check_decision(&mut twin, (&fast, &naive), &mut engine, class, (TieBreak::Draw, &mut draws));
        let expected = ["n1", "n4", "n6"][start % 3];
        assert_eq!(chosen.as_deref(), Some(expected), "start: {start}");
        assert_eq!(engine.next_start(), (start + 3) % 7, "start: {start}");
    }
}

/// Nodes of 2^63 - 1 bytes with so many pods of one byte less, which somebody else has bound.
fn nodes_full_of_memory(node_count: usize, pods_each: usize) -> Twin {
    let memory = |bytes: i64| ("memory".to_owned(), Quantity::parse(&bytes.to_string()).expect("a quantity"));
    let mut twin = plain_nodes(node_count);
    let requests = [memory(i64::MAX - 1)].into();
    let huge = Arc::new(PodInput {
        containers: vec![ContainerInput { requests, ..ContainerInput::default() }],
        ..PodInput::default()
    });
    for index in 0..node_count {
        let name = format!("n{index}");
        let mut node =
            twin.cluster.nodes.iter().find(|node| node.input.name == name).expect("made").input.clone();
        node.allocatable.extend([memory(i64::MAX)]);
        twin.upsert_node(node);
        (0..pods_each).for_each(|_| twin.place(&huge, &name));
    }
    twin.settle();
    twin
}

/// Upstream: fit.go `fitsRequest` and types.go `NodeInfo.update` calculate in int64. Two such pods leave
/// 2^63 - 1 + 4, which is negative; three leave 5.
#[test]
fn requests_beyond_int64_in_sum_wrap_as_in_go() {
    let requests = [("memory".to_owned(), Quantity::parse("5").expect("a quantity"))].into();
    let small = PodInput {
        containers: vec![ContainerInput { requests, ..ContainerInput::default() }],
        ..PodInput::default()
    };
    // Few nodes are looked at one by one, many in whole words.
    for (node_count, pods_each, has_room) in [(1, 2, false), (1, 3, true), (70, 2, false), (70, 3, true)] {
        let mut twin = nodes_full_of_memory(node_count, pods_each);
        let (fast, naive) = default_profiles(&mut twin);
        let class = twin.compile(&Arc::new(small.clone()));
        let mut engine =
            Engine::new(EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() });
        let first = (TieBreak::First, &mut Draws::new(0));
        let chosen = check_decision(&mut twin, (&fast, &naive), &mut engine, class, first);
        assert_eq!(chosen.is_some(), has_room, "{node_count} nodes with {pods_each} pods each");
    }
}

#[test]
fn empty_spec_node_name_is_unassigned() {
    let mut twin = plain_nodes(3);
    let (fast, naive) = default_profiles(&mut twin);
    let class = twin.compile(&Arc::new(PodInput { node_name: Some(String::new()), ..PodInput::default() }));
    let mut engine = Engine::new(EngineSettings { tie_break: TieBreak::First, ..EngineSettings::default() });
    let first = (TieBreak::First, &mut Draws::new(0));
    assert_eq!(check_decision(&mut twin, (&fast, &naive), &mut engine, class, first).as_deref(), Some("n0"));
}

/// Upstream: `hasScoring`. Without scores the first feasible node is as good as any.
#[test]
fn without_score_plugins_the_first_feasible_node_is_chosen() {
    let mut twin = plain_nodes(70);
    let naive = NaiveProfile { score_plugins: Vec::new(), ..NaiveProfile::default() };
    let fast = engine_profile(&naive, &mut twin.world.vocabulary);
    let mut engine = Engine::new(EngineSettings::default());
    let mut draws = Draws::new(0);
    for pod in [PodInput::default(), named(&["n3", "n66"])] {
        let class = twin.compile(&Arc::new(pod));
        for _ in 0..70 {
            check_decision(&mut twin, (&fast, &naive), &mut engine, class, (TieBreak::Draw, &mut draws));
        }
    }
}

#[test]
fn empty_cluster_gives_no_nodes_available() {
    let mut twin = Twin::default();
    let (fast, _) = default_profiles(&mut twin);
    let class = twin.compile(&Arc::new(PodInput::default()));
    let decision =
        Engine::new(EngineSettings::default()).schedule_pod(&mut twin.world, &fast, class, &mut NoProbe);
    let Decision::Unschedulable(diagnosis) = decision else { panic!("there is no node") };
    assert_eq!(diagnosis.message(&twin.world.vocabulary), "no nodes available to schedule pods");
}
