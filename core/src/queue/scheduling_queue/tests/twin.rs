//! Random histories: the queue and its plain twin agree on every pod after every step.

use super::*;
use crate::fake::{Rng, for_each_seed};
use crate::naive::queue::NaiveQueue;

const POD_COUNT: u32 = 12;

fn kinds() -> Vec<ClusterEvent> {
    vec![
        event(EventResource::Node, ActionType::ADD),
        event(EventResource::Node, ActionType::UPDATE_NODE_LABEL),
        event(EventResource::AssignedPod, ActionType::DELETE),
        event(EventResource::AssignedPod, ActionType::UPDATE),
        event(EventResource::StorageClass, ActionType::ADD),
        WILDCARD,
    ]
}

fn own_kinds() -> Vec<ClusterEvent> {
    vec![
        event(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL),
        event(EventResource::TargetPod, ActionType::UPDATE_POD_SCALE_DOWN),
        event(EventResource::TargetPod, ActionType::UPDATE),
    ]
}

fn some_plugin(rng: &mut Rng) -> PluginNumber {
    PluginNumber(*rng.pick(&[0, 1, 2, 3, 4]))
}

fn some_class(rng: &mut Rng) -> ClassId {
    ClassId(*rng.pick(&[0, 1, 2, 3]))
}

fn some_plugins(rng: &mut Rng) -> PluginNumberSet {
    let count = rng.range(0..=2);
    (0..count).map(|_| some_plugin(rng)).collect()
}

struct Pair {
    fast: SchedulingQueue,
    plain: NaiveQueue,
    queue_plugins: Fake,
    now_ns: u64,
    /// By pod: the UID of its present life.
    lives: Vec<u64>,
    uids: u64,
    in_flight: Vec<PodId>,
}

impl Pair {
    fn new(rng: &mut Rng) -> Pair {
        let general = event(EventResource::Node, ActionType::UPDATE);
        let registered = [kinds(), own_kinds(), vec![general]].concat();
        let mut registrations: Vec<Vec<(PluginNumber, ClusterEvent)>> = vec![Vec::new(); 2];
        for list in &mut registrations {
            for _ in 0..rng.range(0..=12) {
                list.push((some_plugin(rng), *rng.pick(&registered)));
            }
        }
        let interest = |list: &Vec<(PluginNumber, ClusterEvent)>| {
            let mut interest = EventsOfInterest::default();
            list.iter().for_each(|&(plugin, event)| interest.register(plugin, event));
            interest
        };
        let settings = QueueSettings {
            order: QueueOrder::PrioritySort,
            backoff: BackoffSettings {
                initial_ns: *rng.pick(&[BACKOFF_Q_ORDERING_WINDOW_NS, BACKOFF_Q_ORDERING_WINDOW_NS / 3]),
                max_ns: *rng.pick(&[10 * BACKOFF_Q_ORDERING_WINDOW_NS, 3 * BACKOFF_Q_ORDERING_WINDOW_NS, 0]),
                pops_early: rng.chance(60),
            },
            flush_after_ns: *rng.pick(&[
                None,
                Some(40 * BACKOFF_Q_ORDERING_WINDOW_NS),
                Some(300 * BACKOFF_Q_ORDERING_WINDOW_NS),
            ]),
        };
        Pair {
            fast: SchedulingQueue::new(settings.clone(), registrations.iter().map(interest).collect()),
            plain: NaiveQueue::new(settings, registrations),
            queue_plugins: Fake::default(),
            now_ns: 0,
            lives: vec![0; POD_COUNT as usize],
            uids: 0,
            in_flight: Vec::new(),
        }
    }

    fn pod(&self, rng: &mut Rng, pod: PodId) -> QueuedPod {
        let priority = *rng.pick(&[0, 0, 0, 5, -3]);
        let profile = ProfileNumber(u8::from(pod.0 % 2 == 1));
        let uid = PodUid(self.lives[pod.index()]);
        QueuedPod { pod, uid, class: some_class(rng), priority, profile }
    }

    fn step(&mut self, rng: &mut Rng) {
        let pod = PodId(u32::try_from(rng.range(0..=POD_COUNT as usize - 1)).expect("few pods"));
        match rng.range(0..=19) {
            0..=3 => self.add_or_update(rng, pod),
            4 => {
                self.fast.delete(pod);
                self.plain.delete(pod);
                self.in_flight.retain(|&other| other != pod);
            }
            5..=8 => {
                let popped = self.fast.pop();
                assert_eq!(popped, self.plain.pop());
                self.in_flight.extend(popped);
            }
            9..=12 if !self.in_flight.is_empty() => self.end_flight(rng),
            13..=15 => {
                let scope = match rng.range(0..=4) {
                    0 => PreCheck::UpToPriority(0),
                    4 => PreCheck::UpToPriorityExcept(0, PodUid(self.lives[pod.index()])),
                    1 => PreCheck::Except(PodUid(self.lives[pod.index()])),
                    _ => PreCheck::Everyone,
                };
                let event = Event::bare(*rng.pick(&kinds()));
                self.fast.move_all_to_active_or_backoff_queue(
                    &event,
                    scope,
                    self.now_ns,
                    &mut self.queue_plugins,
                );
                self.plain.move_all_to_active_or_backoff_queue(
                    &event,
                    scope,
                    self.now_ns,
                    &mut self.queue_plugins,
                );
            }
            16 => {
                self.fast.activate(pod, self.now_ns, &mut self.queue_plugins);
                self.plain.activate(pod, &mut self.queue_plugins);
            }
            17 => {
                let gate = (*rng.pick(&GATES), some_class(rng));
                match self.queue_plugins.closed.iter().position(|&closed| closed == gate) {
                    Some(at) => drop(self.queue_plugins.closed.remove(at)),
                    None => self.queue_plugins.closed.push(gate),
                }
            }
            18 => {
                let event = *rng.pick(&[kinds(), own_kinds()].concat());
                self.queue_plugins.helps.push((some_plugin(rng), some_class(rng), event));
            }
            _ => {
                let seconds = *rng.pick(&[0, 1, 1, 2, 11, 31, 400]);
                self.now_ns += seconds * BACKOFF_Q_ORDERING_WINDOW_NS + rng.range(0..=999_999_999) as u64;
                self.fast.tick(self.now_ns, &mut self.queue_plugins);
                self.plain.tick(self.now_ns, &mut self.queue_plugins);
            }
        }
        self.check();
    }

    fn add_or_update(&mut self, rng: &mut Rng, pod: PodId) {
        if self.fast.place(pod) == QueuePlace::Out {
            self.uids += 1;
            self.lives[pod.index()] = self.uids;
            let new = self.pod(rng, pod);
            self.fast.add(new, self.now_ns, &mut self.queue_plugins);
            self.plain.add(new, self.now_ns, &mut self.queue_plugins);
            return;
        }
        let new = self.pod(rng, pod);
        let facts = PodFacts { uid: new.uid, class: new.class, node: None, nominated: None };
        let mut own = || Event::pod(*rng.pick(&own_kinds()), Some(facts), Some(facts));
        let events = [own(), own()];
        self.fast.update(new, &events, self.now_ns, &mut self.queue_plugins);
        self.plain.update(new, &events, self.now_ns, &mut self.queue_plugins);
    }

    fn end_flight(&mut self, rng: &mut Rng) {
        let pod = self.in_flight.swap_remove(rng.range(0..=self.in_flight.len() - 1));
        if rng.chance(25) {
            self.fast.done(pod);
            self.plain.done(pod);
            return;
        }
        let pending = if rng.chance(30) { some_plugins(rng) } else { PluginNumberSet::NONE };
        let plugins = (some_plugins(rng), pending);
        self.fast.add_unschedulable_pod_if_not_present(pod, plugins, self.now_ns, &mut self.queue_plugins);
        self.plain.add_unschedulable_pod_if_not_present(pod, plugins, self.now_ns, &mut self.queue_plugins);
    }

    fn check(&self) {
        let Pair { fast, plain, .. } = self;
        for pod in (0..POD_COUNT).map(PodId) {
            assert_eq!(fast.place(pod), plain.place(pod), "{pod:?}");
            if fast.place(pod) != QueuePlace::Out {
                assert_eq!(
                    fast.was_flushed_from_unschedulable(pod),
                    plain.was_flushed_from_unschedulable(pod),
                    "{pod:?}"
                );
            }
        }
        assert_eq!(fast.counts(), plain.counts());
        assert_eq!(fast.counts().in_flight, self.in_flight.len());
        if self.in_flight.is_empty() {
            assert_eq!(fast.in_flight_event_count(), 0, "nobody needs events");
        }
    }
}

#[test]
fn scheduling_queue_equals_naive() {
    for_each_seed("scheduling_queue_equals_naive", 2000, |rng| {
        let mut pair = Pair::new(rng);
        for _ in 0..200 {
            pair.step(rng);
        }
        pair.fast.check();
    });
}

/// The same over histories that shrink: each number is a step, and the fewest steps that fail are reported.
#[test]
fn short_queue_histories_equal_naive() {
    use proptest::prelude::any;
    crate::property_tests::holds(
        300,
        (any::<u64>(), proptest::collection::vec(any::<u64>(), 0..80)),
        |input| {
            let (settings, steps) = input;
            let mut pair = Pair::new(&mut Rng::new(settings));
            for step in steps {
                pair.step(&mut Rng::new(step));
                pair.fast.check();
            }
        },
    );
}

/// Nothing to do before the time that the queue names.
#[test]
fn flush_before_next_flush_time_moves_no_pod() {
    for_each_seed("flush_before_next_flush_time_moves_no_pod", 300, |rng| {
        let mut pair = Pair::new(rng);
        for _ in 0..100 {
            pair.step(rng);
            let Pair { fast, queue_plugins, now_ns, .. } = &mut pair;
            let until_ns =
                fast.next_tick_ns().unwrap_or(u64::MAX).min(*now_ns + 1000 * BACKOFF_Q_ORDERING_WINDOW_NS);
            let mut copy = fast.clone();
            copy.tick((until_ns - 1).max(*now_ns), queue_plugins);
            assert_eq!(copy.counts(), fast.counts());
        }
    });
}
