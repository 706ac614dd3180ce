//! What a pod costs the queue: SchedulingGates at PreEnqueue, PrioritySort in the active queue.

use std::hint::black_box;
use std::sync::Arc;

use schedlab_benches::pods::requesting;
use schedlab_core::framework::plugin::{Plugin, QueueKey};
use schedlab_core::ids::PodId;
use schedlab_core::input::PodInput;
use schedlab_core::plugins::priority_sort::naive::sort_key;
use schedlab_core::plugins::scheduling_gates::SchedulingGates;
use schedlab_core::plugins::scheduling_gates::naive::is_gated;
use schedlab_core::queue::active_queue::ActiveQueue;
use schedlab_core::queue::order::{QueueOrder, SortKey, Ticket};
use schedlab_core::world::World;

use crate::{Size, alternate};

pub(crate) fn run(size: Size) {
    println!("{:<44} {:>10} {:>12} {:>10}  {:>8}", "", "ns a pod", "", "twin ns", "ratio");
    gates(size);
    priority_sort(size);
}

/// One pod in eight is gated; the twin looks at the spec.
fn gates(size: Size) {
    let mut world = World::default();
    let gated = PodInput { scheduling_gates: vec!["example.com/wait".to_owned()], ..requesting("1", "1Gi") };
    let inputs = [requesting("1", "1Gi"), gated].map(Arc::new);
    let classes = [&inputs[0], &inputs[1]].map(|input| world.compile(input));
    let gate = Plugin::as_pre_enqueue(&SchedulingGates).expect("it gates");
    let pick = |at: usize| usize::from(at.is_multiple_of(8));
    for (class, input) in classes.iter().zip(&inputs) {
        let is_held = gate.pre_enqueue(&world, world.class(*class)).is_some();
        assert_eq!(is_held, is_gated(input));
    }
    let fast = || {
        for at in 0..size.node_count {
            black_box(gate.pre_enqueue(&world, world.class(classes[pick(at)])).is_some());
        }
    };
    let plain = || {
        for at in 0..size.node_count {
            black_box(is_gated(&inputs[pick(at)]));
        }
    };
    print_pods("scheduling_gates/pre_enqueue", size, fast, plain);
}

/// Pods of five priorities come and are taken, mostly in order of time; the twin sorts them all.
fn priority_sort(size: Size) {
    let keys: Vec<(SortKey, Ticket)> = (0..size.node_count)
        .map(|at| {
            let number = u32::try_from(at).expect("small");
            let late = if at.is_multiple_of(16) { 40 } else { 0 };
            let queued_ns = (at as u64 * 10).saturating_sub(late);
            let priority = i32::try_from(at * 7 % 5).expect("small");
            let key = SortKey { plugin: QueueKey { priority, queued_ns }, order: at as u64 };
            (key, Ticket { pod: PodId(number), number })
        })
        .collect();
    let mut queue = ActiveQueue::new(QueueOrder::PrioritySort);
    let mut order = Vec::new();
    let mut run = || {
        order.clear();
        keys.iter().for_each(|&(key, ticket)| queue.push(key, ticket));
        while let Some(ticket) = queue.pop() {
            order.push(ticket.number);
        }
        black_box(order.len());
    };
    run();
    let sorted = || {
        let mut all = keys.clone();
        all.sort_by_key(|(key, _)| (sort_key(key.plugin), key.order));
        all
    };
    let expected: Vec<u32> = sorted().iter().map(|(_, ticket)| ticket.number).collect();
    print_pods("priority_sort/push_and_pop", size, run, || {
        black_box(sorted().len());
    });
    assert_eq!(order, expected, "the order of PrioritySort");
}

fn print_pods(path: &str, size: Size, fast: impl FnMut(), twin: impl FnMut()) {
    let cost = alternate(size, (size.node_count, fast), (size.node_count, twin));
    println!("{path:<44} {:>10.2} {:>12} {:>10.1} {:>8.1}x", cost.fast, "", cost.twin, cost.twin / cost.fast);
}
