//! What the queue costs: pods through it, and an event that concerns none of many gated pods.
//!
//! `cargo run --release -p schedlab-core --example queue_rate`
#![allow(clippy::print_stdout, reason = "an example shows its numbers")]

use std::time::{Duration, Instant};

use schedlab_core::ids::{ClassId, PodId, PodUid};
use schedlab_core::queue::event::ASSIGNED_POD_DELETE;
use schedlab_core::queue::interest::Interest;
use schedlab_core::queue::{
    Event, PluginNumber, PluginSet, ProfileNumber, QueueHost, QueueSettings, QueuedPod, SchedulingQueue,
    Scope,
};

const PODS: u32 = 100_000;
const ROUNDS: u32 = 20;
const GATED: u32 = 10_000;

/// Holds class 1 back; every event helps.
struct Gate;

impl QueueHost for Gate {
    fn pre_enqueue(&mut self, pod: &QueuedPod, _: Option<PluginNumber>) -> Option<PluginNumber> {
        (pod.class == ClassId(1)).then_some(PluginNumber(1))
    }

    fn hint(&mut self, _: PluginNumber, _: &QueuedPod, _: &Event) -> bool {
        true
    }
}

fn pod(number: u32, class: u32) -> QueuedPod {
    QueuedPod {
        pod: PodId(number),
        uid: PodUid(u64::from(number)),
        class: ClassId(class),
        priority: i32::from(number % 7 == 0),
        profile: ProfileNumber(0),
    }
}

fn queue() -> SchedulingQueue {
    let mut interest = Interest::default();
    interest.register(PluginNumber(0), ASSIGNED_POD_DELETE);
    SchedulingQueue::new(QueueSettings::default(), vec![interest])
}

fn per_item(elapsed: Duration, items: u32) -> f64 {
    elapsed.as_secs_f64() * 1e9 / f64::from(items)
}

fn main() {
    let mut queue = queue();
    let (mut pushing, mut popping, mut failing) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for round in 0..u64::from(ROUNDS) {
        let start = Instant::now();
        (0..PODS).for_each(|number| queue.add(pod(number, 0), round, &mut Gate));
        pushing = pushing.min(start.elapsed());
        let start = Instant::now();
        while let Some(pod) = queue.pop() {
            queue.done(pod);
        }
        popping = popping.min(start.elapsed());
        (0..PODS).for_each(|number| queue.add(pod(number, 0), round, &mut Gate));
        let start = Instant::now();
        let rejected = (PluginSet::one(PluginNumber(0)), PluginSet::NONE);
        for _ in 0..PODS {
            let pod = queue.pop().expect("as many as were added");
            queue.reject(pod, rejected, round, &mut Gate);
        }
        queue.on_event(&Event::bare(ASSIGNED_POD_DELETE), Scope::Everyone, round, &mut Gate);
        failing = failing.min(start.elapsed());
        while let Some(pod) = queue.pop() {
            queue.done(pod);
        }
    }
    println!("{PODS} pods, best of {ROUNDS} rounds, ns per pod");
    println!("  add                          {:8.1}", per_item(pushing, PODS));
    println!("  pop and done                 {:8.1}", per_item(popping, PODS));
    println!("  pop, reject, wake to backoff {:8.1}", per_item(failing, PODS));

    (0..GATED).for_each(|number| queue.add(pod(number, 1), 0, &mut Gate));
    assert_eq!(queue.counts().gated, GATED as usize);
    let event = Event::bare(ASSIGNED_POD_DELETE);
    let start = Instant::now();
    (0..PODS).for_each(|_| queue.on_event(&event, Scope::Everyone, 0, &mut Gate));
    println!("event that concerns none of {GATED} gated pods: {:.1} ns", per_item(start.elapsed(), PODS));
    assert_eq!(queue.counts().gated, GATED as usize);
}
