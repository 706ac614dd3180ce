//! DefaultPreemption: the dry run over all nodes for a pod that fits nowhere, per candidate node.

use std::hint::black_box;
use std::sync::Arc;

use schedlab_benches::check::reference_settings;
use schedlab_benches::cluster::warm_nodes;
use schedlab_benches::pods::requesting;
use schedlab_core::cycle::engine::{Decision, Engine, EngineSettings, Pending};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::PodUid;
use schedlab_core::input::{NodeInput, PodInput};
use schedlab_core::naive::preemption::{NaivePreemptionArgs as NaiveArgs, preempt};
use schedlab_core::naive::schedule::{NaiveProfile, Pick, schedule};
use schedlab_core::naive::{NaiveCluster, NaivePod};
use schedlab_core::preemption::PreemptionArgs;
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, Scheduler};

use crate::{Size, alternate, print_row};

/// Every node is full of four pods of low priority; one of them has to go.
pub(crate) fn run(size: Size) {
    let mut scheduler = Scheduler::new(EngineSettings::default(), 0);
    let mut twin = NaiveCluster::default();
    let nodes: Vec<NodeInput> = warm_nodes(size.node_count)
        .map(|node| NodeInput { taints: Vec::new(), unschedulable: false, ..node })
        .collect();
    let mut uid = 0;
    for (index, node) in nodes.iter().enumerate() {
        scheduler.on_event(ObjectEvent::node(&Arc::new(node.clone())), 1);
        twin.add_node(node.clone());
        let cpu_milli = node.allocatable["cpu"].milli_value() / 4;
        for turn in 0..4 {
            uid += 1;
            let priority = i32::try_from((index + turn) % 5).expect("small");
            let pod = PodInput { priority, ..requesting(&format!("{cpu_milli}m"), "100Mi") };
            let update = PodUpdate {
                uid: PodUid(uid),
                class: scheduler.compile(&Arc::new(pod.clone())),
                node: Some(scheduler.node_id(&node.name)),
                created_ns: 1,
                started_s: Some(1),
                ..PodUpdate::default()
            };
            scheduler.on_event(ObjectEvent::pod(update), 1);
            let mut placed = NaivePod::from(pod);
            placed.meta.name = format!("pod-{uid}");
            placed.meta.start_time_s = Some(1);
            twin.nodes.last_mut().expect("just added").add_pod(placed);
        }
    }
    let preemptor = PodInput { priority: 100, ..requesting("1", "1Gi") };
    let class = scheduler.compile(&Arc::new(preemptor.clone()));
    scheduler.settle();
    let mut world = scheduler.world().clone();
    let profile = scheduler.profile().clone();
    let names: Vec<String> =
        world.nodes().columns().id.iter().map(|&id| world.node_name(id).to_owned()).collect();
    twin.reorder(&names);

    let mut engine = Engine::new(reference_settings());
    let decision = engine.schedule_pod(&mut world, &profile, class, &mut NoProbe);
    let Decision::Unschedulable(diagnosis) = decision else { panic!("every node is full") };
    let args = PreemptionArgs { candidates_min_percent: 100, candidates_min: 1 };
    let found = engine.preempt(&mut world, &profile, Pending::from(class), (args, &diagnosis));
    let naive_args = NaiveArgs { candidates_min_percent: 100, candidates_min: 1 };
    let pod = NaivePod::from(preemptor);
    let naive_profile = NaiveProfile::default();
    let naive_decision = schedule(&naive_profile, &twin, &pod.input, 0, Pick::First);
    let expected = preempt(&naive_profile, &naive_args, &twin, &pod, &naive_decision, 0);
    let best = |at: &usize| names[found.candidates[*at].row].clone();
    assert_eq!(found.candidates.len(), size.node_count);
    assert_eq!(found.best.iter().map(best).collect::<Vec<_>>(), expected.best, "the best candidates");

    let fast = || {
        black_box(engine.preempt(&mut world, &profile, Pending::from(class), (args, &diagnosis)).best.len());
    };
    let asked = || {
        black_box(preempt(&naive_profile, &naive_args, &twin, &pod, &naive_decision, 0).best.len());
    };
    let short = Size { calls: 1, rounds: size.rounds.min(5), ..size };
    let cost = alternate(short, (size.node_count, fast), (size.node_count, asked));
    print_row("default_preemption/dry_run", cost, size);
}
