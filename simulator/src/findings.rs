//! Scenarios that once made the simulator cry out, told by hand: a generator that changes does not
//! change them.

use schedlab_cluster::controllers::ControllerMutants;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::mutants::Mutants;
use schedlab_core::scheduler::{FeatureGates, NominatedNodeNameMiss, PlainBindings};

use super::faults::FaultProfile;
use super::scenario::{NodeNumber, PodHandle, Scenario, ScriptAction, ScriptEvent, SimulationSetup};
use super::seeds::run_caught;
use super::shape::{Domain, NodeShape, PodShape};

fn setup(gates: FeatureGates) -> SimulationSetup {
    SimulationSetup {
        gates,
        class_cache: ClassCache::On,
        schedulers: 1,
        has_plugins: true,
        watch: "1ms".parse().expect("a latency"),
        call: "0".parse().expect("a latency"),
        cycle_ns: 1_000,
        limit: None,
        parallel_calls_max: 1,
        nominated_node_name_miss: NominatedNodeNameMiss::FallThrough,
        plain_bindings: PlainBindings::Untracked,
        mutants: Mutants::default(),
        controllers: Vec::new(),
        controller_mutants: ControllerMutants::default(),
    }
}

/// Events by their number, microseconds and action.
fn script(events: &[(u32, u64, ScriptAction)]) -> Vec<ScriptEvent> {
    events.iter().map(|&(number, after_us, action)| ScriptEvent { number, after_us, action }).collect()
}

#[track_caller]
fn holds(scenario: &Scenario) {
    let outcome = run_caught(scenario);
    assert_eq!(outcome.violation, None, "{}", scenario.text());
}

/// Two pods wait for the same victim, which lingers, and `nominatedNodeNameMiss: requeue` takes a
/// nomination back that was missed: each woke the other, thousands of times a second.
#[test]
fn preemptors_of_the_same_victims_do_not_requeue_each_other() {
    let node = NodeShape { cpu_milli: 2000, memory_mi: 2048, pods: 110, ..NodeShape::default() };
    let victim = PodShape { cpu_milli: 1000, priority: 5, lingers: true, ..PodShape::default() };
    let preemptor = PodShape { cpu_milli: 500, priority: 100, waits_at_permit: true, ..PodShape::default() };
    for seed in 0..40 {
        let gates = FeatureGates { scheduler_async_preemption: seed % 2 == 0, ..FeatureGates::default() };
        let mut setup = setup(gates);
        setup.nominated_node_name_miss = NominatedNodeNameMiss::Requeue;
        holds(&Scenario {
            seed,
            profile: FaultProfile::None,
            setup,
            shapes: vec![victim, preemptor],
            script: script(&[
                (0, 0, ScriptAction::CreateNode(NodeNumber(0), node)),
                (1, 0, ScriptAction::CreatePod(0)),
                (2, 0, ScriptAction::Settle),
                (3, 0, ScriptAction::CreatePod(1)),
                (4, 0, ScriptAction::CreatePod(1)),
                (5, 0, ScriptAction::CreatePod(1)),
            ]),
        });
    }
}

/// A wait at Permit ends at the very instant at which another pod is tried: the nomination that is
/// taken back with it holds no room any more, although the call that says so was not made yet.
#[test]
fn nominated_node_name_cleared_at_this_instant_reserves_nothing() {
    let big = NodeShape { cpu_milli: 4000, memory_mi: 2048, pods: 5, ..NodeShape::default() };
    let small = NodeShape { cpu_milli: 2000, ..big };
    let shapes = vec![
        PodShape { app: 1, cpu_milli: 3000, memory_mi: 64, waits_at_permit: true, ..PodShape::default() },
        PodShape {
            app: 3,
            cpu_milli: 1000,
            memory_mi: 512,
            priority: 100,
            waits_at_permit: true,
            ..PodShape::default()
        },
        PodShape { app: 1, cpu_milli: 100, priority: -5, ..PodShape::default() },
    ];
    let gates = FeatureGates {
        nominated_node_name_for_expectation: false,
        scheduler_async_preemption: false,
        scheduler_pop_from_backoff_q: false,
        ..FeatureGates::default()
    };
    let mut setup = setup(gates);
    (setup.watch, setup.call) = ("0".parse().expect("a latency"), "20ms".parse().expect("a latency"));
    for seed in 2400..2500 {
        holds(&Scenario {
            seed,
            profile: FaultProfile::Rivals,
            setup: setup.clone(),
            shapes: shapes.clone(),
            script: script(&[
                (25, 1_399_882, ScriptAction::CreatePod(1)),
                (28, 510_983, ScriptAction::CreatePod(2)),
                (35, 0, ScriptAction::CreatePod(1)),
                (38, 0, ScriptAction::CreateNode(NodeNumber(3), big)),
                (49, 0, ScriptAction::CreatePod(1)),
                (50, 1_059_365, ScriptAction::CreatePod(0)),
                (52, 0, ScriptAction::CreatePod(1)),
                (64, 0, ScriptAction::CreatePod(1)),
                (83, 0, ScriptAction::CreatePod(1)),
                (86, 680, ScriptAction::CreateNode(NodeNumber(5), small)),
                (88, 0, ScriptAction::CreatePod(1)),
            ]),
        });
    }
}

/// A preemptor was nominated, the call that was to say so waited behind others, and the next attempt failed
/// for another reason: what took the nomination back replaced that call, no watch event told of the room,
/// and a pod that fitted there waited for ever.
#[test]
fn room_of_a_nomination_that_was_never_written_wakes_pods() {
    let node = NodeShape { cpu_milli: 2000, memory_mi: 2048, pods: 2, zone: Some(0), ..NodeShape::default() };
    let large = NodeShape { cpu_milli: 4000, pods: 10, zone: Some(1), ..node };
    let shapes = vec![
        PodShape { app: 3, cpu_milli: 2000, memory_mi: 64, priority: 5, ..PodShape::default() },
        PodShape {
            app: 2,
            cpu_milli: 2000,
            memory_mi: 512,
            priority: 100,
            spreads: Some((1, Domain::Zone)),
            ..PodShape::default()
        },
    ];
    let gates = FeatureGates {
        nominated_node_name_for_expectation: false,
        scheduler_async_api_calls: true,
        scheduler_pre_enqueue_pod_status: true,
        ..FeatureGates::default()
    };
    let mut setup = setup(gates);
    (setup.watch, setup.call) =
        ("20ms".parse().expect("a latency"), "lognormal:60ms,1.2".parse().expect("a latency"));
    setup.cycle_ns = 100_000;
    holds(&Scenario {
        seed: 60_145_424,
        profile: FaultProfile::Domains,
        setup,
        shapes,
        script: script(&[
            (87, 0, ScriptAction::CreateNode(NodeNumber(2), node)),
            (100, 0, ScriptAction::CreatePod(1)),
            (106, 0, ScriptAction::CreatePod(1)),
            (107, 0, ScriptAction::CreatePod(1)),
            (109, 759_162, ScriptAction::CreateNode(NodeNumber(0), large)),
            (110, 0, ScriptAction::CreatePod(0)),
            (113, 27_514, ScriptAction::UpdateNode(NodeNumber(0), NodeShape { zone: None, ..large })),
            (114, 0, ScriptAction::CreatePod(0)),
        ]),
    });
}

/// A victim was deleted and made again under its name before the watch told of it. Deleting it by its uid is
/// a conflict to the API, and its preemptor tried again at once, thousands of times.
#[test]
fn victim_that_was_recreated_under_its_name_is_gone() {
    let node = NodeShape { cpu_milli: 1000, memory_mi: 8192, pods: 5, ..NodeShape::default() };
    let shapes = vec![
        PodShape {
            app: 1,
            memory_mi: 512,
            priority: -5,
            lingers: true,
            avoids: Some((1, Domain::Host)),
            ..PodShape::default()
        },
        PodShape { app: 1, cpu_milli: 100, memory_mi: 512, zone: Some(0), ..PodShape::default() },
    ];
    for miss in [NominatedNodeNameMiss::Requeue, NominatedNodeNameMiss::FallThrough] {
        let gates = FeatureGates {
            nominated_node_name_for_expectation: false,
            scheduler_async_api_calls: true,
            ..FeatureGates::default()
        };
        let mut setup = setup(gates);
        setup.watch = "uniform:1ms..400ms".parse().expect("a latency");
        (setup.parallel_calls_max, setup.has_plugins, setup.nominated_node_name_miss) = (8, false, miss);
        holds(&Scenario {
            seed: 60_165_249,
            profile: FaultProfile::Domains,
            setup,
            shapes: shapes.clone(),
            script: script(&[
                (0, 0, ScriptAction::CreateNode(NodeNumber(0), NodeShape { cpu_milli: 2000, ..node })),
                (1, 0, ScriptAction::CreatePod(0)),
                (3, 5_919_166, ScriptAction::DeleteNode(NodeNumber(0))),
                (9, 0, ScriptAction::CreateNode(NodeNumber(0), node)),
                (10, 0, ScriptAction::CreatePod(1)),
                (11, 25_102, ScriptAction::RecreatePod(PodHandle(1))),
                (13, 0, ScriptAction::UpdateNode(NodeNumber(0), NodeShape { zone: Some(0), ..node })),
            ]),
        });
    }
}
