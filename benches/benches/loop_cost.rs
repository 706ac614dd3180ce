//! What the loop costs beside the decision: queue, dispatcher, nominator, and all feature gates of the
//! nominated-node proposals on a pod that none of them concerns.
//!
//! Costs are the best of several rounds, in nanoseconds an operation (core only). `gates` are two whole
//! schedulers that take turns in one run, from a pod's arrival to its confirmed binding: the median over
//! ABBA rounds of on / off, with its bootstrap interval; `A/A` is what the same ratio says of equals.
#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_benches::RunMode;
use schedlab_benches::stats::{Interval, bootstrap_median};
use schedlab_core::binding::{DispatchMode, Dispatcher};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::framework::points::Nomination as Nominating;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::ids::{ClassId, NodeId, PodId, PodUid};
use schedlab_core::input::{ContainerInput, NodeInput, PodInput, ResourceList};
use schedlab_core::nominations::{Nomination, Nominations};
use schedlab_core::quantity::Quantity;
use schedlab_core::queue::event::ASSIGNED_POD_DELETE;
use schedlab_core::queue::interest::Interest;
use schedlab_core::queue::{
    Event, PluginNumber, PluginSet, ProfileNumber, QueueHost, QueueSettings, QueuedPod, SchedulingQueue,
    Scope,
};
use schedlab_core::scheduler::{
    ApiCall, FeatureGates, PodUpdate, Scheduler, SchedulerSettings, StatusPatch, Step,
};
use schedlab_core::world::World;

#[derive(Clone, Copy)]
struct Size {
    pods: u32,
    gated: u32,
    nodes: u32,
    rounds: u32,
    /// Of the schedulers that take turns.
    gate_rounds: u32,
    gate_pods: u64,
}

const MEASURE: Size =
    Size { pods: 100_000, gated: 10_000, nodes: 5000, rounds: 20, gate_rounds: 40, gate_pods: 20_000 };
const TEST: Size = Size { pods: 500, gated: 50, nodes: 20, rounds: 2, gate_rounds: 2, gate_pods: 200 };

fn main() {
    let size = match RunMode::from_args() {
        RunMode::Measure => MEASURE,
        RunMode::Test => TEST,
        RunMode::List => return,
    };
    println!("{} pods, best of {} rounds, ns per operation", size.pods, size.rounds);
    queue_costs(size);
    gated_event(size);
    dispatcher_costs(size);
    nominator_costs(size);
    gate_ratio(size);
}

fn per_item(elapsed: Duration, items: u32) -> f64 {
    elapsed.as_secs_f64() * 1e9 / f64::from(items)
}

fn show(what: &str, elapsed: Duration, items: u32) {
    let ns = per_item(elapsed, items);
    println!("  {what:<42} {ns:>9.1} ns   {:>12.0}/s", 1e9 / ns);
}

/// The shortest of many.
fn best(rounds: u32, mut round: impl FnMut() -> Duration) -> Duration {
    (0..rounds).map(|_| round()).min().unwrap_or_default()
}

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

fn queued(number: u32, class: u32) -> QueuedPod {
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

fn drain(queue: &mut SchedulingQueue) -> u32 {
    let mut count = 0;
    while let Some(pod) = queue.pop() {
        queue.done(pod);
        count += 1;
    }
    count
}

fn queue_costs(size: Size) {
    let mut queue = queue();
    let (mut pushing, mut popping, mut failing) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for round in 0..u64::from(size.rounds) {
        let start = Instant::now();
        (0..size.pods).for_each(|number| queue.add(queued(number, 0), round, &mut Gate));
        pushing = pushing.min(start.elapsed());
        let start = Instant::now();
        let count = drain(&mut queue);
        popping = popping.min(start.elapsed());
        assert_eq!(count, size.pods);
        (0..size.pods).for_each(|number| queue.add(queued(number, 0), round, &mut Gate));
        let start = Instant::now();
        let rejected = (PluginSet::one(PluginNumber(0)), PluginSet::NONE);
        for _ in 0..size.pods {
            let pod = queue.pop().expect("as many as were added");
            queue.reject(pod, rejected, round, &mut Gate);
        }
        queue.on_event(&Event::bare(ASSIGNED_POD_DELETE), Scope::Everyone, round, &mut Gate);
        failing = failing.min(start.elapsed());
        drain(&mut queue);
    }
    show("queue: push", pushing, size.pods);
    show("queue: pop and done", popping, size.pods);
    show("queue: pop, reject, wake to backoff", failing, size.pods);
}

fn gated_event(size: Size) {
    let mut queue = queue();
    (0..size.gated).for_each(|number| queue.add(queued(number, 1), 0, &mut Gate));
    assert_eq!(queue.counts().gated, size.gated as usize);
    let event = Event::bare(ASSIGNED_POD_DELETE);
    let elapsed = best(size.rounds, || {
        let start = Instant::now();
        (0..size.pods).for_each(|_| queue.on_event(&event, Scope::Everyone, 0, &mut Gate));
        start.elapsed()
    });
    show(&format!("queue: event for none of {} gated pods", size.gated), elapsed, size.pods);
    assert_eq!(queue.counts().gated, size.gated as usize);
}

/// Each pod's status is patched, and the pod bound behind it.
fn dispatcher_costs(size: Size) {
    let elapsed = best(size.rounds, || {
        let mut dispatcher = Dispatcher::new(DispatchMode::Queued { parallel_max: 16 });
        let mut calls = Vec::new();
        let start = Instant::now();
        for number in 0..size.pods {
            let pod = PodUid(u64::from(number));
            let patch = StatusPatch { pod, condition: None, nomination: Nominating::Node(NodeId(1)) };
            dispatcher.enqueue(ApiCall::PatchStatus(patch));
            dispatcher.enqueue(ApiCall::Bind { pod, node: NodeId(1) });
            for _ in 0..2 {
                dispatcher.take(&mut calls);
                for outgoing in calls.drain(..) {
                    dispatcher.on_answer(outgoing.id, Ok(()), 0);
                }
            }
        }
        let elapsed = start.elapsed();
        assert!(dispatcher.is_empty());
        assert_eq!(dispatcher.counts().sent, 2 * u64::from(size.pods));
        elapsed
    });
    show("dispatcher: a call from want to answer", elapsed, 2 * size.pods);
}

fn nominator_costs(size: Size) {
    let mut nominations = Nominations::default();
    let elapsed = best(size.rounds, || {
        let start = Instant::now();
        for number in 0..size.pods {
            let nomination = Nomination { pod: PodUid(u64::from(number)), class: ClassId(0), priority: 0 };
            nominations.insert(NodeId(number % size.nodes), nomination);
        }
        for number in 0..size.pods {
            black_box(nominations.remove(PodUid(u64::from(number))));
        }
        start.elapsed()
    });
    assert!(nominations.is_empty());
    show("nominator: nominate and forget", elapsed, size.pods);
}

fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect("a quantity"))).collect()
}

/// A scheduler with nodes, and the class of its pods.
struct Loop {
    scheduler: Scheduler,
    class: ClassId,
    next_uid: u64,
    calls: Vec<schedlab_core::binding::OutgoingCall>,
}

impl Loop {
    fn new(gates: FeatureGates, size: Size) -> Loop {
        let mut world = World::default();
        let profiles = vec![default_profile(&mut world.vocabulary)];
        let settings = SchedulerSettings { gates, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::with_settings(world, profiles, EngineSettings::default(), settings)
            .expect("the gates go together");
        for index in 0..size.nodes {
            let allocatable = resources(&[("cpu", "32"), ("memory", "256Gi"), ("pods", "110")]);
            scheduler.on_node(
                &NodeInput { name: format!("node-{index}"), allocatable, ..NodeInput::default() },
                0,
            );
        }
        let requests = resources(&[("cpu", "100m"), ("memory", "128Mi")]);
        let containers = vec![ContainerInput { requests, ..ContainerInput::default() }];
        let class = scheduler.compile(&Arc::new(PodInput { containers, ..PodInput::default() }));
        Loop { scheduler, class, next_uid: 0, calls: Vec::new() }
    }

    /// Pods come, are bound, confirmed and deleted again: every round finds the same cluster. Time per
    /// pod, without the deletions.
    fn round(&mut self, pods: u64) -> f64 {
        let first = self.next_uid;
        let start = Instant::now();
        for uid in first..first + pods {
            let (class, uid) = (self.class, PodUid(uid));
            self.scheduler.on_pod(PodUpdate { uid, class, ..PodUpdate::default() }, uid.0);
            assert!(matches!(self.scheduler.step(&mut NoProbe), Step::Assumed { .. }));
            self.scheduler.take_calls(&mut self.calls);
            assert_eq!(self.calls.len(), 1, "a plain pod is one call");
            for outgoing in self.calls.drain(..) {
                let ApiCall::Bind { pod: uid, node } = outgoing.call else { panic!("a binding") };
                self.scheduler
                    .on_pod(PodUpdate { uid, class, node: Some(node), ..PodUpdate::default() }, uid.0);
            }
        }
        let elapsed = start.elapsed();
        self.next_uid += pods;
        (first..first + pods).for_each(|uid| self.scheduler.on_pod_removed(PodUid(uid), 0));
        elapsed.as_secs_f64() * 1e9 / pods as f64
    }
}

fn all_gates(is_on: bool) -> FeatureGates {
    let mut gates = FeatureGates::default();
    FeatureGates::NAMES.iter().for_each(|name| gates.set(name, is_on).expect("a known gate"));
    gates
}

fn gate_ratio(size: Size) {
    let mut off = Loop::new(all_gates(false), size);
    let mut on = Loop::new(all_gates(true), size);
    let mut same = Loop::new(all_gates(false), size);
    let (mut ratios, mut equals, mut ns) = (Vec::new(), Vec::new(), Vec::new());
    for loops in [&mut off, &mut on, &mut same] {
        loops.round(size.gate_pods);
    }
    for _ in 0..size.gate_rounds {
        let there = [off.round(size.gate_pods), on.round(size.gate_pods), same.round(size.gate_pods)];
        let back_same = same.round(size.gate_pods);
        let back_on = on.round(size.gate_pods);
        let back_off = off.round(size.gate_pods);
        ratios.push((there[1] * back_on / (there[0] * back_off)).sqrt());
        equals.push((there[2] * back_same / (there[0] * back_off)).sqrt());
        ns.push(there[0]);
    }
    let (ratio, equal) = (bootstrap_median(&ratios), bootstrap_median(&equals));
    let text = |it: Interval| format!("{:.4} [{:.4}, {:.4}]", it.median, it.low, it.high);
    println!("plain pod through the scheduler, {} nodes: {:.0} ns", size.nodes, bootstrap_median(&ns).median);
    println!("  gates: time with all on / all off        {}", text(ratio));
    println!("  A/A:   all off / all off                 {}", text(equal));
}
