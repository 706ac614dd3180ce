//! Preemption: who has to go, on which nodes, and which of them is best. And the world is as before
//! whenever the engine only supposed something.

use std::sync::Arc;

use crate::cycle::engine::{ClassCache, Decision, Engine, EngineSettings, Pending};
use crate::cycle::probe::NoProbe;
use crate::cycle::select::{Draws, TieBreak};
use crate::fake::{self, Rng, for_each_seed};
use crate::ids::ClassId;
use crate::input::{PodInput, PreemptionPolicy, TolerationInput};
use crate::naive::schedule::NaiveProfile;
use crate::nominator::TryNominated;
use crate::preemption::PreemptionArgs;
use crate::quantity::Quantity;
use crate::snapshot;
use crate::topology::PodCounting;
use crate::twin::{
    Twin, check_decision, check_preemption, engine_profile, naive_profile, node_count, plain_preemption,
    random_event,
};

fn args(rng: &mut Rng) -> PreemptionArgs {
    PreemptionArgs {
        candidates_min_percent: *rng.pick(&[0, 10, 50, 100]),
        candidates_min: *rng.pick(&[1, 2, 100]),
    }
}

/// A pod that is more important than most.
fn important(rng: &mut Rng, twin: &mut Twin) -> ClassId {
    let preemption =
        if rng.chance(5) { PreemptionPolicy::Never } else { PreemptionPolicy::PreemptLowerPriority };
    let mut pod = PodInput { priority: *rng.pick(&[0, 500, 5000, 5000]), preemption, ..fake::pod(rng) };
    if rng.chance(60) {
        // What evictions cannot change is out of the way.
        (pod.node_name, pod.node_selector, pod.node_affinity) = (None, None, None);
        pod.tolerations = vec![TolerationInput { operator: "Exists".to_owned(), ..Default::default() }];
    }
    if rng.chance(60) {
        pod.volumes.clear();
    }
    if rng.chance(60) {
        // All that some nodes have: whoever uses any of it must go.
        let text = *rng.pick(&["1", "2", "4", "7900m", "16", "64"]);
        let cpu = Quantity::parse(text).expect("a quantity");
        pod.containers.truncate(1);
        pod.containers[0].requests = [("cpu".to_owned(), cpu)].into();
        pod.init_containers.clear();
        pod.overhead.clear();
        pod.pod_requests = None;
    }
    twin.compile(&Arc::new(pod))
}

/// Decides, and if no node fits, looks for victims. Whether it came to that.
fn check(
    rng: &mut Rng,
    twin: &mut Twin,
    profiles: (&crate::framework::profile::Profile, &NaiveProfile),
    engines: &mut [Engine; 2],
) -> bool {
    let class = important(rng, twin);
    let pending = twin.random_pending(rng, class);
    let args = args(rng);
    let mut found = false;
    for engine in engines {
        let draws = (TieBreak::First, &mut Draws::new(0));
        if check_decision(twin, profiles, engine, pending, draws).is_none() && !twin.cluster.nodes.is_empty()
        {
            found |= !check_preemption(twin, profiles, engine, pending, args).candidates.is_empty();
        }
    }
    found
}

/// With and without the class cache.
fn engines(naive: &NaiveProfile) -> [Engine; 2] {
    let (tie_break, try_nominated) = (TieBreak::First, naive.try_nominated);
    [ClassCache::On, ClassCache::Off].map(|class_cache| {
        Engine::new(EngineSettings { class_cache, tie_break, try_nominated, ..EngineSettings::default() })
    })
}

/// A profile whose cycles end with a node or with a look for victims.
fn searching_profile(rng: &mut Rng) -> NaiveProfile {
    let mut naive = naive_profile(rng);
    if naive.try_nominated == TryNominated::FirstOrMiss {
        naive.try_nominated = TryNominated::First;
    }
    naive
}

#[test]
fn preemptions_equal_naive() {
    for_each_seed("preemptions_equal_naive", 3000, |rng| {
        let count = rng.range(0..=8);
        let mut twin = Twin::random(rng, count);
        let naive = searching_profile(rng);
        let fast = engine_profile(&naive, &mut twin.world.vocabulary);
        let mut engines = engines(&naive);
        for _ in 0..3 {
            check(rng, &mut twin, (&fast, &naive), &mut engines);
        }
        snapshot::tests::check(&mut twin);
    });
}

#[test]
fn preemptions_across_word_edges_equal_naive() {
    for_each_seed("preemptions_across_word_edges_equal_naive", 60, |rng| {
        let count = node_count(rng);
        let mut twin = Twin::random(rng, count);
        let naive = searching_profile(rng);
        let fast = engine_profile(&naive, &mut twin.world.vocabulary);
        let mut engines = engines(&naive);
        check(rng, &mut twin, (&fast, &naive), &mut engines);
        snapshot::tests::check(&mut twin);
    });
}

#[test]
fn preemptions_in_histories_equal_naive() {
    for_each_seed("preemptions_in_histories_equal_naive", 150, |rng| {
        let count = rng.range(1..=6);
        let mut twin = Twin::random(rng, count);
        let naive = searching_profile(rng);
        let fast = engine_profile(&naive, &mut twin.world.vocabulary);
        let mut engines = engines(&naive);
        for _ in 0..30 {
            for _ in 0..rng.range(0..=3) {
                random_event(rng, &mut twin, 0..=count + 2);
            }
            twin.settle();
            check(rng, &mut twin, (&fast, &naive), &mut engines);
        }
        snapshot::tests::check(&mut twin);
    });
}

/// Counting pods in every cycle changes nothing.
#[test]
fn decisions_of_scanned_pods_equal_kept_counts() {
    for_each_seed("decisions_of_scanned_pods_equal_kept_counts", 400, |rng| {
        let count = node_count(rng);
        let mut kept = Twin::random(rng, count);
        let naive = searching_profile(rng);
        let fast = engine_profile(&naive, &mut kept.world.vocabulary);
        let mut scanned = kept.clone();
        scanned.world = scanned.world.counting(PodCounting::Scanned);
        let [mut engine, _] = engines(&naive);
        let mut other = engine.clone();
        for _ in 0..6 {
            let class = important(rng, &mut kept);
            let same = scanned.compile(&Arc::clone(&kept.world.class(class).input));
            assert_eq!(class, same);
            kept.settle();
            scanned.settle();
            let pending = Pending::from(class);
            let one = engine.schedule_pod(&mut kept.world, &fast, pending, &mut NoProbe);
            let two = other.schedule_pod(&mut scanned.world, &fast, pending, &mut NoProbe);
            assert_eq!(one, two);
            match one {
                Decision::Chosen(choice) => {
                    let node = kept.row_name(choice.row).to_owned();
                    let pod = Arc::clone(&kept.world.class(class).input);
                    kept.place(&pod, &node);
                    scanned.place(&pod, &node);
                }
                Decision::Unschedulable(diagnosis) if count > 0 => {
                    let [one, two] =
                        [(&mut kept, &mut engine), (&mut scanned, &mut other)].map(|(twin, engine)| {
                            let args = (PreemptionArgs::default(), &*diagnosis);
                            let found = engine.preempt(&mut twin.world, &fast, pending, args);
                            if found.ineligible.is_none() {
                                assert_eq!(found.potential.len(), diagnosis.resolvable_count);
                            }
                            plain_preemption(twin, &fast, pending, &found)
                        });
                    assert_eq!(one, two);
                }
                Decision::Unschedulable(_) | Decision::NominatedMissed => {}
            }
        }
    });
}

/// The property is worth something only if victims are found often.
#[test]
fn preemption_finds_victims() {
    let mut found = 0;
    for seed in 0..100 {
        let rng = &mut Rng::new(seed);
        let mut twin = Twin::random(rng, 4);
        let naive = NaiveProfile::default();
        let fast = engine_profile(&naive, &mut twin.world.vocabulary);
        for _ in 0..4 {
            found += usize::from(check(rng, &mut twin, (&fast, &naive), &mut engines(&naive)));
        }
    }
    assert!(found >= 15, "{found} of 400 pods found victims");
}
