//! What the loop costs beside the decision: queue, dispatcher, nominator, and all feature gates of the
//! nominated-node proposals on a pod that none of them concerns.
//!
//! Costs are the best of several rounds, in nanoseconds an operation (core only). `gates` are two whole
//! schedulers that take turns in one run, from a pod's arrival to its confirmed binding: the median over
//! ABBA rounds of on / off, with its bootstrap interval; `A/A` is what the same ratio says of equals.
//!
//! Beside a figure that has a goal stand the goal and whether it is met. The exit code is 1 when a goal
//! is missed, and 4 when the noise is too high to say.
#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_benches::{RunMode, SEED};
use schedlab_core::api_call::{ApiCall, StatusPatch};
use schedlab_core::binding::{ApiDispatcher, DispatchMode};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::framework::points::NominatingInfo as Nominating;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::ids::{ClassId, NodeId, PodId, PodUid};
use schedlab_core::input::{ContainerInput, NodeInput, PodInput};
use schedlab_core::nominator::{NominatedPod, Nominator};
use schedlab_core::queue::event::ASSIGNED_POD_DELETE;
use schedlab_core::queue::events_of_interest::EventsOfInterest;
use schedlab_core::queue::{
    Event, PluginNumber, PluginNumberSet, PreCheck, ProfileNumber, QueuePlugins, QueueSettings, QueuedPod,
    SchedulingQueue,
};
use schedlab_core::scheduler::{
    FeatureGates, ObjectEvent, PodUpdate, ScheduleOneOutcome, Scheduler, SchedulerSettings,
};
use schedlab_core::testkit::resources;
use schedlab_core::world::World;
use schedlab_stats::{Interval, median, ratio_of_pairs};

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

/// Rounds of the gates are short, a millisecond or two: on a busy machine most of them are then not
/// interrupted, and the median is one of those.
const MEASURE: Size =
    Size { pods: 100_000, gated: 10_000, nodes: 5000, rounds: 20, gate_rounds: 600, gate_pods: 2000 };
const TEST: Size = Size { pods: 500, gated: 50, nodes: 20, rounds: 2, gate_rounds: 2, gate_pods: 200 };

/// A push or a pop at 1,000,000 operations a second.
const QUEUE_NS_MAX: f64 = 1000.0;
/// Microseconds, not a scan: looking at 10,000 pods takes more.
const GATED_EVENT_NS_MAX: f64 = 5000.0;
/// Plain pods with all gates on, against all off.
const GATES_RATIO_MAX: f64 = 1.02;

/// What came of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Met,
    Unsure,
    Missed,
}

impl Verdict {
    fn of_cost(ns: f64, ns_max: f64) -> Verdict {
        if ns <= ns_max { Verdict::Met } else { Verdict::Missed }
    }

    fn of_ratio(ratio: Interval, max: f64) -> Verdict {
        match ratio {
            Interval { high, .. } if high <= max => Verdict::Met,
            Interval { low, .. } if low > max => Verdict::Missed,
            _ => Verdict::Unsure,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Unsure => "too noisy to say; run it on a quieter machine",
            Verdict::Missed => "MISSED",
        }
    }
}

fn main() -> ExitCode {
    let mode = RunMode::from_args();
    let size = match mode {
        RunMode::Measure => MEASURE,
        RunMode::Test => TEST,
        RunMode::List => return ExitCode::SUCCESS,
    };
    println!("{} pods, best of {} rounds, ns per operation", size.pods, size.rounds);
    let mut verdicts = vec![queue_costs(size), gated_event(size)];
    dispatcher_costs(size);
    binding_costs(size);
    nominator_costs(size);
    verdicts.push(gate_ratio(size));
    // The times of a test say nothing.
    match verdicts.into_iter().max() {
        Some(Verdict::Missed) if mode == RunMode::Measure => ExitCode::FAILURE,
        Some(Verdict::Unsure) if mode == RunMode::Measure => ExitCode::from(4),
        _ => ExitCode::SUCCESS,
    }
}

fn per_item(elapsed: Duration, items: u32) -> f64 {
    elapsed.as_secs_f64() * 1e9 / f64::from(items)
}

fn show(what: &str, elapsed: Duration, items: u32) {
    let ns = per_item(elapsed, items);
    println!("  {what:<52} {ns:>9.1} ns   {:>12.0}/s", 1e9 / ns);
}

fn judge(goal: &str, verdict: Verdict) -> Verdict {
    println!("    goal: {goal}: {}", verdict.text());
    verdict
}

/// The shortest of many.
fn best(rounds: u32, mut round: impl FnMut() -> Duration) -> Duration {
    (0..rounds).map(|_| round()).min().unwrap_or_default()
}

/// Holds class 1 back; every event helps.
struct Gate;

impl QueuePlugins for Gate {
    fn run_pre_enqueue_plugins(&mut self, pod: &QueuedPod, _: Option<PluginNumber>) -> Option<PluginNumber> {
        (pod.class == ClassId(1)).then_some(PluginNumber(1))
    }

    fn queueing_hint(&mut self, _: PluginNumber, _: &QueuedPod, _: &Event) -> bool {
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
    let mut interest = EventsOfInterest::default();
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

fn queue_costs(size: Size) -> Verdict {
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
        let rejected = (PluginNumberSet::one(PluginNumber(0)), PluginNumberSet::NONE);
        for _ in 0..size.pods {
            let pod = queue.pop().expect("as many as were added");
            queue.add_unschedulable_pod_if_not_present(pod, rejected, round, &mut Gate);
        }
        queue.move_all_to_active_or_backoff_queue(
            &Event::bare(ASSIGNED_POD_DELETE),
            PreCheck::Everyone,
            round,
            &mut Gate,
        );
        failing = failing.min(start.elapsed());
        drain(&mut queue);
    }
    show("queue: push", pushing, size.pods);
    show("queue: pop and done", popping, size.pods);
    let slower = per_item(pushing.max(popping), size.pods);
    let verdict = judge("1,000,000 operations/s or more", Verdict::of_cost(slower, QUEUE_NS_MAX));
    show("queue: pop, reject, wake to backoff", failing, size.pods);
    verdict
}

/// An event that concerns none of so many pods that are held back.
fn gated_event_cost(gated: u32, size: Size) -> Duration {
    let mut queue = queue();
    (0..gated).for_each(|number| queue.add(queued(number, 1), 0, &mut Gate));
    assert_eq!(queue.counts().gated, gated as usize);
    let event = Event::bare(ASSIGNED_POD_DELETE);
    let elapsed = best(size.rounds, || {
        let start = Instant::now();
        (0..size.pods).for_each(|_| {
            queue.move_all_to_active_or_backoff_queue(black_box(&event), PreCheck::Everyone, 0, &mut Gate)
        });
        start.elapsed()
    });
    assert_eq!(queue.counts().gated, gated as usize);
    elapsed
}

fn gated_event(size: Size) -> Verdict {
    let few = size.gated.div_ceil(100);
    show(&format!("queue: event for none of {few} gated pods"), gated_event_cost(few, size), size.pods);
    let elapsed = gated_event_cost(size.gated, size);
    show(&format!("queue: event for none of {} gated pods", size.gated), elapsed, size.pods);
    let ns = per_item(elapsed, size.pods);
    judge("5 µs at most, whatever their number", Verdict::of_cost(ns, GATED_EVENT_NS_MAX))
}

/// A binding that is waited for, with calls made in line and through the queue.
fn binding_costs(size: Size) {
    let modes = [("in line", DispatchMode::Direct), ("queued", DispatchMode::Queued { parallel_max: 1024 })];
    for (name, mode) in modes {
        let mut dispatcher = ApiDispatcher::new(mode);
        let mut calls = Vec::new();
        let elapsed = best(size.rounds, || {
            let start = Instant::now();
            for first in (0..size.pods).step_by(128) {
                for number in first..size.pods.min(first + 128) {
                    dispatcher.add(ApiCall::Bind { pod: PodUid(u64::from(number)), node: NodeId(1) });
                }
                dispatcher.take(&mut calls);
                for outgoing in calls.drain(..) {
                    black_box(dispatcher.on_answer(outgoing.id, Ok(()), 0));
                }
            }
            start.elapsed()
        });
        assert!(dispatcher.is_empty());
        show(&format!("dispatcher: a binding from want to answer, {name}"), elapsed, size.pods);
    }
}

/// Each pod's status is patched, and the pod bound behind it.
fn dispatcher_costs(size: Size) {
    let elapsed = best(size.rounds, || {
        let mut dispatcher = ApiDispatcher::new(DispatchMode::Queued { parallel_max: 16 });
        let mut calls = Vec::new();
        let start = Instant::now();
        for number in 0..size.pods {
            let pod = PodUid(u64::from(number));
            let patch = StatusPatch { pod, condition: None, nomination: Nominating::Node(NodeId(1)) };
            dispatcher.add(ApiCall::PatchStatus(patch));
            dispatcher.add(ApiCall::Bind { pod, node: NodeId(1) });
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
    let mut nominations = Nominator::default();
    let elapsed = best(size.rounds, || {
        let start = Instant::now();
        for number in 0..size.pods {
            let nomination = NominatedPod { pod: PodUid(u64::from(number)), class: ClassId(0), priority: 0 };
            nominations.add_nominated_pod(NodeId(number % size.nodes), nomination);
        }
        for number in 0..size.pods {
            black_box(nominations.delete_nominated_pod_if_exists(PodUid(u64::from(number))));
        }
        start.elapsed()
    });
    assert!(nominations.is_empty());
    show("nominator: nominate and forget", elapsed, size.pods);
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
            scheduler.on_event(
                ObjectEvent::node(&Arc::new(NodeInput {
                    name: format!("node-{index}"),
                    allocatable,
                    ..NodeInput::default()
                })),
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
            self.scheduler
                .on_event(ObjectEvent::pod(PodUpdate { uid, class, ..PodUpdate::default() }), uid.0);
            assert!(matches!(self.scheduler.schedule_one(&mut NoProbe), ScheduleOneOutcome::Assumed { .. }));
            self.scheduler.take_calls(&mut self.calls);
            assert_eq!(self.calls.len(), 1, "a plain pod is one call");
            for outgoing in self.calls.drain(..) {
                let ApiCall::Bind { pod: uid, node } = outgoing.call else { panic!("a binding") };
                self.scheduler.on_event(
                    ObjectEvent::pod(PodUpdate { uid, class, node: Some(node), ..PodUpdate::default() }),
                    uid.0,
                );
            }
        }
        let elapsed = start.elapsed();
        self.next_uid += pods;
        (first..first + pods)
            .for_each(|uid| self.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(uid)), 0));
        elapsed.as_secs_f64() * 1e9 / pods as f64
    }
}

fn all_gates(is_on: bool) -> FeatureGates {
    let mut gates = FeatureGates::default();
    FeatureGates::NAMES.iter().for_each(|name| gates.set(name, is_on).expect("a known gate"));
    gates
}

fn gate_ratio(size: Size) -> Verdict {
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
    let (ratio, equal) = (ratio_of_pairs(&ratios, SEED), ratio_of_pairs(&equals, SEED));
    let text = |it: Interval| format!("{:.4} [{:.4}, {:.4}]", it.ratio, it.low, it.high);
    println!("plain pod through the scheduler, {} nodes: {:.0} ns", size.nodes, median(&ns));
    println!("  gates: time with all on / all off        {}", text(ratio));
    println!("  A/A:   all off / all off                 {}", text(equal));
    judge("within 2 %", Verdict::of_ratio(ratio, GATES_RATIO_MAX))
}
