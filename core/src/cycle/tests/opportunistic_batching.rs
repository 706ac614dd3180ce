//! Opportunistic batching against its plain twin, and what upstream's own tests of it look at.

use std::sync::Arc;

use crate::cycle::engine::{BatchCounts, ClassCache, Decision, Engine, EngineSettings, Pending};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::TieBreak;
use crate::fake::{self, Rng, for_each_seed};
use crate::framework::args::{Defaulting, PluginArgs, PodTopologySpreadArgs};
use crate::framework::profile::Profile;
use crate::input::{NodeInput, PodAffinityInput, PodInput};
use crate::naive::opportunistic_batching::{NaiveBatch, schedule_pod_batched};
use crate::naive::schedule::NaiveProfile;
use crate::quantity::Quantity;
use crate::testkit::{PodParts, pod};
use crate::twin::{Twin, engine_profile, node_count};

const MS: u64 = 1_000_000;

/// No pod has constraints that it did not ask for: the default ones keep every pod from being batched.
fn without_default_constraints(mut profile: NaiveProfile) -> NaiveProfile {
    let args = PodTopologySpreadArgs { defaulting: Defaulting::List, default_constraints: Vec::new() };
    profile.args.insert("PodTopologySpread", PluginArgs::PodTopologySpread(args));
    profile
}

fn engine(class_cache: ClassCache) -> Engine {
    let settings = EngineSettings { class_cache, tie_break: TieBreak::First, ..EngineSettings::default() };
    Engine::new(settings).with_opportunistic_batching(true)
}

/// One of a few specs, so that pods of one signature follow each other.
fn specs(rng: &mut Rng) -> Vec<Arc<PodInput>> {
    let spec = PodInput { scheduling_gates: Vec::new(), ..fake::pod(rng) };
    let mut specs = vec![Arc::new(spec)];
    let mut plain = PodInput::clone(&specs[0]);
    plain.pod_affinity = PodAffinityInput::default();
    plain.pod_anti_affinity = PodAffinityInput::default();
    plain.spread_constraints.clear();
    let elsewhere = PodInput { namespace: "elsewhere".to_owned(), ..plain.clone() };
    let mut labelled = plain.clone();
    labelled.labels.insert("signature".to_owned(), "other".to_owned());
    specs.extend([plain, elsewhere, labelled].map(Arc::new));
    specs
}

#[test]
fn batched_decisions_equal_naive() {
    for_each_seed("batched_decisions_equal_naive", 1500, |rng| {
        let count = if rng.chance(30) { node_count(rng) } else { rng.range(2..=9) };
        let mut twin = Twin::random(rng, count);
        let naive = without_default_constraints(NaiveProfile::default());
        let fast = engine_profile(&naive, &mut twin.world.vocabulary);
        let mut engine = engine(*rng.pick(&[ClassCache::On, ClassCache::Off]));
        let mut batch = NaiveBatch::default();
        let specs = specs(rng);
        let mut at = 0;
        let mut now_ns = 0;
        for _ in 0..12 {
            now_ns += if rng.chance(10) { 501 * MS } else { 50 * MS };
            if rng.chance(30) {
                at = rng.range(0..=specs.len() - 1);
            }
            if rng.chance(15) {
                let index = rng.range(0..=count);
                twin.upsert_node(fake::node(rng, index));
                twin.settle();
            }
            let class = twin.compile(&specs[at]);
            let pending = match rng.chance(10) {
                true => twin.random_pending(rng, class),
                false => Pending::from(class),
            };
            let chosen = check(&mut twin, (&fast, &naive), &mut engine, &mut batch, (pending, now_ns));
            if let Some(node) = chosen {
                let input = Arc::clone(&twin.world.class(pending.class).input);
                twin.place(&input, &node);
            }
        }
    });
}

fn check(
    twin: &mut Twin,
    (fast, naive): (&Profile, &NaiveProfile),
    engine: &mut Engine,
    batch: &mut NaiveBatch,
    (pending, now_ns): (Pending, u64),
) -> Option<String> {
    let start = engine.next_start();
    engine.set_now_ns(now_ns);
    let decision = engine.schedule_pod(&mut twin.world, fast, pending, &mut NoProbe);
    let pod = twin.naive_pod(pending);
    let (expected, chosen) = schedule_pod_batched(batch, naive, &twin.cluster, &pod, (start, now_ns));
    assert_eq!(engine.next_start(), expected.next_start, "next start");
    match decision {
        Decision::Chosen(choice) => {
            let name = twin.row_name(choice.row).to_owned();
            if choice.feasible > 1 && expected.scores.is_err() {
                // See `check_decision`: the engine leaves a term out that upstream fails at.
                *batch = NaiveBatch::default();
                *engine = self::engine(ClassCache::On);
                engine.set_next_start(expected.next_start);
                return Some(name);
            }
            assert_eq!(Some(&name), chosen.as_ref(), "chosen");
            assert_eq!(choice.feasible, expected.feasible.len(), "feasible nodes");
            Some(name)
        }
        Decision::Unschedulable(_) | Decision::NominatedMissed => {
            assert_eq!(chosen, None);
            None
        }
    }
}

/// A cluster of nodes with so many CPUs, and a profile with which pods are batched.
fn cluster(cpus: &[i64]) -> (Twin, Profile) {
    let mut twin = Twin::default();
    for (index, cpu) in cpus.iter().enumerate() {
        let quantity = |text: &str| Quantity::parse(text).expect("a quantity");
        let allocatable =
            [("cpu", cpu.to_string()), ("memory", "8Gi".to_owned()), ("pods", "110".to_owned())];
        twin.upsert_node(NodeInput {
            name: format!("n{index}"),
            allocatable: allocatable.map(|(name, text)| (name.to_owned(), quantity(&text))).into(),
            ..NodeInput::default()
        });
    }
    twin.settle();
    let naive = without_default_constraints(NaiveProfile::default());
    let profile = engine_profile(&naive, &mut twin.world.vocabulary);
    (twin, profile)
}

/// Schedules pods one after the other and says where each went; at the time of each, in milliseconds.
fn run(twin: &mut Twin, profile: &Profile, engine: &mut Engine, pods: &[(u64, PodInput)]) -> Vec<String> {
    let mut nodes = Vec::new();
    for (at_ms, pod) in pods {
        engine.set_now_ns(at_ms * MS);
        let pod = Arc::new(pod.clone());
        let class = twin.compile(&pod);
        let node = match engine.schedule_pod(&mut twin.world, profile, class, &mut NoProbe) {
            Decision::Chosen(choice) => twin.row_name(choice.row).to_owned(),
            _ => "-".to_owned(),
        };
        if node != "-" {
            twin.place(&pod, &node);
        }
        nodes.push(node);
    }
    nodes
}

fn counts(hint_used: u64, hint_not_used: u64, no_hint: u64) -> BatchCounts {
    BatchCounts { hint_used, hint_not_used, no_hint }
}

#[test]
fn next_pod_of_a_signature_takes_the_next_best_node() {
    let (mut twin, profile) = cluster(&[4, 4, 4, 4]);
    let mut engine = engine(ClassCache::Off);
    let pods = [0, 1, 2, 3].map(|at_ms| (at_ms, pod().cpu("3")));
    assert_eq!(run(&mut twin, &profile, &mut engine, &pods), ["n0", "n1", "n2", "n3"]);
    assert_eq!(engine.batch_counts(), counts(3, 0, 1));
}

/// A name, when which pod comes, and what the batch counts.
type BatchCase = (&'static str, Vec<(u64, PodInput)>, BatchCounts);

#[test]
fn batch_ends_with_its_age_its_signature_and_a_failed_cycle() {
    let cases: [BatchCase; 5] = [
        ("young enough", vec![(0, pod().cpu("3")), (500, pod().cpu("3"))], counts(1, 0, 1)),
        ("too old", vec![(0, pod().cpu("3")), (501, pod().cpu("3"))], counts(0, 0, 2)),
        ("another label", vec![(0, pod().cpu("3")), (1, pod().cpu("3").labels("a=b"))], counts(0, 0, 2)),
        (
            "a pod between that does not fit",
            vec![(0, pod().cpu("3")), (1, pod().cpu("9")), (2, pod().cpu("3"))],
            counts(0, 0, 3),
        ),
        (
            "another namespace has the same signature",
            vec![(0, pod().cpu("3")), (1, PodInput { namespace: "b".to_owned(), ..pod().cpu("3") })],
            counts(1, 0, 1),
        ),
    ];
    for (name, pods, expected) in cases {
        let (mut twin, profile) = cluster(&[4, 4, 4, 4]);
        let mut engine = engine(ClassCache::On);
        run(&mut twin, &profile, &mut engine, &pods);
        assert_eq!(engine.batch_counts(), expected, "case: {name}");
    }
}

#[test]
fn pods_that_differ_in_what_no_plugin_reads_are_not_batched() {
    let (mut twin, _) = cluster(&[4, 4, 4]);
    let mut naive = without_default_constraints(NaiveProfile::default());
    naive.filter_plugins.retain(|plugin| *plugin != "NodeAffinity");
    naive.score_plugins.retain(|(plugin, _)| *plugin != "NodeAffinity");
    let profile = engine_profile(&naive, &mut twin.world.vocabulary);
    let mut engine = engine(ClassCache::On);
    let node_selector = Some([("disk".to_owned(), "ssd".to_owned())].into());
    let pods = [(0, pod().cpu("3")), (1, PodInput { node_selector, ..pod().cpu("3") })];
    assert_eq!(run(&mut twin, &profile, &mut engine, &pods), ["n0", "n1"], "the selector is not read");
    assert_eq!(engine.batch_counts(), counts(0, 0, 2));
}

#[test]
fn hinted_node_that_has_filled_up_is_searched_past() {
    let (mut twin, profile) = cluster(&[4, 4, 4]);
    let mut engine = engine(ClassCache::On);
    let pods = [(0, pod().cpu("3"))];
    assert_eq!(run(&mut twin, &profile, &mut engine, &pods), ["n0"]);
    twin.place(&Arc::new(pod().cpu("3")), "n1");
    twin.settle();
    assert_eq!(run(&mut twin, &profile, &mut engine, &pods), ["n2"]);
    assert_eq!(engine.batch_counts(), counts(0, 1, 1));
}

#[test]
fn node_with_room_left_is_scored_again_with_the_others() {
    let (mut twin, profile) = cluster(&[64, 4]);
    let mut engine = engine(ClassCache::On);
    let pods = [0, 1, 2].map(|at_ms| (at_ms, pod().cpu("1")));
    assert_eq!(
        run(&mut twin, &profile, &mut engine, &pods),
        ["n0", "n0", "n0"],
        "the large one stays the best"
    );
    assert_eq!(engine.batch_counts(), counts(2, 0, 1));
}
