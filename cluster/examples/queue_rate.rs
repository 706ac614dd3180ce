//! What the queue costs: pods through it, an event that concerns none of many gated pods, and a
//! plain pod through the whole scheduler (core only: watch event, cycle, call, confirmation).
//!
//! `cargo run --release -p schedlab-cluster --example queue_rate`
#![allow(clippy::print_stdout, reason = "an example shows its numbers")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::{ClassId, PodId, PodUid};
use schedlab_core::input::{ContainerInput, NodeInput, PodInput, ResourceList};
use schedlab_core::quantity::Quantity;
use schedlab_core::queue::event::ASSIGNED_POD_DELETE;
use schedlab_core::queue::interest::Interest;
use schedlab_core::queue::{
    Event, PluginNumber, PluginSet, ProfileNumber, QueueHost, QueueSettings, QueuedPod, SchedulingQueue,
    Scope,
};
use schedlab_core::scheduler::{ApiCall, PodUpdate, Scheduler, Step};

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
        priority: i32::from(number.is_multiple_of(7)),
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

fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect("a quantity"))).collect()
}

/// Plain pods on 5,000 nodes, from their arrival to the confirmation of their binding.
fn plain_pods() -> Duration {
    let mut scheduler = Scheduler::new(EngineSettings::default(), 0);
    for index in 0..5000 {
        let allocatable = resources(&[("cpu", "32"), ("memory", "256Gi"), ("pods", "110")]);
        let node = NodeInput { name: format!("node-{index}"), allocatable, ..NodeInput::default() };
        scheduler.on_node(&node, 0);
    }
    let requests = resources(&[("cpu", "100m"), ("memory", "128Mi")]);
    let containers = vec![ContainerInput { requests, ..ContainerInput::default() }];
    let class = scheduler.compile(&Arc::new(PodInput { containers, ..PodInput::default() }));
    let mut calls = Vec::new();
    let start = Instant::now();
    for uid in 0..u64::from(PODS) {
        scheduler.on_pod(PodUpdate { uid: PodUid(uid), class, ..PodUpdate::default() }, uid);
        let step = scheduler.step(&mut NoProbe);
        assert!(matches!(step, Step::Assumed { .. }));
        scheduler.take_calls(&mut calls);
        for outgoing in calls.drain(..) {
            let ApiCall::Bind { pod: uid, node } = outgoing.call else { continue };
            scheduler.on_pod(PodUpdate { uid, class, node: Some(node), ..PodUpdate::default() }, uid.0);
        }
    }
    start.elapsed()
}

fn main() {
    let best = (0..5).map(|_| plain_pods()).min().expect("five rounds");
    println!("plain pod through the scheduler, best of 5 rounds: {:.0} ns", per_item(best, PODS));
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
