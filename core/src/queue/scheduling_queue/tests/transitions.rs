//! One situation at a time, in the words of a table.

use super::*;

/// A queue of one profile whose plugins asked for these events, and its clock.
struct Lab {
    queue: SchedulingQueue,
    queue_plugins: Fake,
    now_ns: u64,
}

const NODE_ADD: ClusterEvent = event(EventResource::Node, ActionType::ADD);
const NODE_LABEL: ClusterEvent = event(EventResource::Node, ActionType::UPDATE_NODE_LABEL);
const POD_DELETE: ClusterEvent = ASSIGNED_POD_DELETE;
const OWN_LABEL: ClusterEvent = event(EventResource::TargetPod, ActionType::UPDATE_POD_LABEL);

/// Hears of new nodes.
const FIT: u8 = 2;
/// Hears of new nodes and labels.
const AFFINITY: u8 = 3;
/// Hears of nothing.
const DEAF: u8 = 4;

impl Lab {
    fn with(settings: QueueSettings) -> Lab {
        let mut interest = EventsOfInterest::default();
        let registered = [
            (FIT, NODE_ADD),
            (FIT, POD_DELETE),
            (AFFINITY, event(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL)),
            (AFFINITY, OWN_LABEL),
            (GATES[0].0, OWN_LABEL),
            (GATES[1].0, NODE_ADD),
        ];
        for (plugin, event) in registered {
            interest.register(PluginNumber(plugin), event);
        }
        Lab {
            queue: SchedulingQueue::new(settings, vec![interest]),
            queue_plugins: Fake::default(),
            now_ns: 0,
        }
    }

    fn new() -> Lab {
        Lab::with(QueueSettings::default())
    }

    fn exact() -> Lab {
        let backoff = BackoffSettings { pops_early: false, ..BackoffSettings::default() };
        Lab::with(QueueSettings { backoff, ..QueueSettings::default() })
    }

    fn pod(&self, pod: u32, priority: i32) -> QueuedPod {
        QueuedPod {
            pod: PodId(pod),
            uid: PodUid(u64::from(pod)),
            class: ClassId(pod),
            priority,
            profile: ProfileNumber(0),
        }
    }

    fn add(&mut self, pod: u32, priority: i32) {
        self.queue.add(self.pod(pod, priority), self.now_ns, &mut self.queue_plugins);
    }

    fn own(&self, pod: u32, what: ClusterEvent) -> Event {
        let facts =
            PodFacts { uid: PodUid(u64::from(pod)), class: ClassId(pod), node: None, nominated: None };
        Event::pod(what, Some(facts), Some(facts))
    }

    fn update(&mut self, pod: u32, what: ClusterEvent) {
        let event = self.own(pod, what);
        self.queue.update(self.pod(pod, 0), &[event], self.now_ns, &mut self.queue_plugins);
    }

    /// Every plugin thinks that this event helps this pod.
    fn helps(&mut self, pod: u32, event: ClusterEvent) {
        let plugins = (0..5).map(|plugin| (PluginNumber(plugin), ClassId(pod), event));
        self.queue_plugins.helps.extend(plugins);
    }

    fn close(&mut self, gate: usize, pod: u32) {
        self.queue_plugins.closed.push((GATES[gate], ClassId(pod)));
    }

    fn open(&mut self, pod: u32) {
        self.queue_plugins.closed.retain(|&(_, class)| class != ClassId(pod));
    }

    fn pop(&mut self) -> Option<u32> {
        self.queue.pop().map(|pod| pod.0)
    }

    fn reject(&mut self, pod: u32, unschedulable: &[u8], pending: &[u8]) {
        let plugins = (set(unschedulable), set(pending));
        self.queue.add_unschedulable_pod_if_not_present(
            PodId(pod),
            plugins,
            self.now_ns,
            &mut self.queue_plugins,
        );
    }

    /// Adds a pod and lets it fail.
    fn fail(&mut self, pod: u32, unschedulable: &[u8], pending: &[u8]) {
        self.add(pod, 100);
        assert_eq!(self.pop(), Some(pod), "its priority is the highest");
        self.reject(pod, unschedulable, pending);
    }

    fn event(&mut self, what: ClusterEvent) {
        self.queue.move_all_to_active_or_backoff_queue(
            &Event::bare(what),
            PreCheck::Everyone,
            self.now_ns,
            &mut self.queue_plugins,
        );
    }

    fn pass(&mut self, millis: u64) {
        self.now_ns += millis * 1_000_000;
        self.queue.tick(self.now_ns, &mut self.queue_plugins);
    }

    fn place(&self, pod: u32) -> QueuePlace {
        self.queue.place(PodId(pod))
    }
}

use QueuePlace::{Active, Backoff, ErrorBackoff, Gated, InFlight, Out, Unschedulable};

#[test]
fn pop_takes_highest_priority_then_oldest() {
    let mut lab = Lab::new();
    for (pod, priority) in [(0, 1), (1, 5), (2, 5), (3, -1)] {
        lab.now_ns += 1;
        lab.add(pod, priority);
    }
    let order: Vec<u32> = std::iter::from_fn(|| lab.pop()).collect();
    assert_eq!(order, [1, 2, 0, 3]);
    assert_eq!(lab.pop(), None);
}

#[test]
fn failed_pod_does_not_starve_pods_of_equal_priority() {
    let mut lab = Lab::new();
    lab.fail(0, &[FIT], &[]);
    lab.pass(1);
    lab.add(1, 100);
    lab.helps(0, NODE_ADD);
    lab.pass(20_000);
    lab.event(NODE_ADD);
    assert_eq!((lab.place(0), lab.place(1)), (Active, Active));
    assert_eq!(lab.pop(), Some(0), "it failed before the other was added");
    lab.reject(0, &[FIT], &[]);
    lab.pass(20_000);
    lab.event(NODE_ADD);
    assert_eq!(lab.pop(), Some(1), "now its failure is the younger time");
}

#[test]
fn unschedulable_pod_is_requeued_by_events_its_rejector_plugins_registered() {
    struct Case {
        name: &'static str,
        unschedulable: &'static [u8],
        pending: &'static [u8],
        helps: bool,
        event: ClusterEvent,
        expected: QueuePlace,
    }
    let cases = [
        Case {
            name: "asked for, helps",
            unschedulable: &[FIT],
            pending: &[],
            helps: true,
            event: NODE_ADD,
            expected: Backoff,
        },
        Case {
            name: "asked for, does not help",
            unschedulable: &[FIT],
            pending: &[],
            helps: false,
            event: NODE_ADD,
            expected: Unschedulable,
        },
        Case {
            name: "not asked for",
            unschedulable: &[FIT],
            pending: &[],
            helps: true,
            event: NODE_LABEL,
            expected: Unschedulable,
        },
        Case {
            name: "asked for by one of two",
            unschedulable: &[FIT, AFFINITY],
            pending: &[],
            helps: true,
            event: NODE_LABEL,
            expected: Backoff,
        },
        Case {
            name: "asked for by a plugin that did not reject",
            unschedulable: &[DEAF],
            pending: &[],
            helps: true,
            event: NODE_ADD,
            expected: Unschedulable,
        },
        Case {
            name: "a pending plugin skips the wait",
            unschedulable: &[],
            pending: &[FIT],
            helps: true,
            event: NODE_ADD,
            expected: Active,
        },
        Case {
            name: "a pending plugin skips the wait although another would not",
            unschedulable: &[AFFINITY],
            pending: &[FIT],
            helps: true,
            event: NODE_ADD,
            expected: Active,
        },
        Case {
            name: "the pending plugin did not ask",
            unschedulable: &[AFFINITY],
            pending: &[FIT],
            helps: true,
            event: NODE_LABEL,
            expected: Backoff,
        },
        Case {
            name: "everything",
            unschedulable: &[DEAF],
            pending: &[],
            helps: false,
            event: WILDCARD,
            expected: Backoff,
        },
        Case {
            name: "everything, pending",
            unschedulable: &[],
            pending: &[DEAF],
            helps: false,
            event: WILDCARD,
            expected: Backoff,
        },
    ];
    for case in cases {
        let mut lab = Lab::new();
        lab.fail(0, case.unschedulable, case.pending);
        assert_eq!(lab.place(0), Unschedulable, "case: {}", case.name);
        if case.helps {
            lab.helps(0, case.event);
        }
        lab.event(case.event);
        assert_eq!(lab.place(0), case.expected, "case: {}", case.name);
    }
}

#[test]
fn event_moves_pod_to_active_queue_when_backoff_is_over() {
    let mut lab = Lab::new();
    lab.fail(0, &[FIT], &[]);
    lab.helps(0, NODE_ADD);
    lab.pass(2_000);
    lab.event(NODE_ADD);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn pod_failed_by_error_leaves_error_backoff_by_time_only() {
    let mut lab = Lab::new();
    lab.fail(0, &[], &[]);
    assert_eq!(lab.place(0), ErrorBackoff);
    assert_eq!(lab.pop(), None, "and is not popped early");
    lab.event(WILDCARD);
    assert_eq!(lab.place(0), ErrorBackoff);
    lab.pass(1_999);
    assert_eq!(lab.place(0), ErrorBackoff);
    lab.pass(1);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn consecutive_errors_back_off_independently_of_unschedulable_count() {
    let mut lab = Lab::exact();
    let wait_s = |lab: &mut Lab| {
        let mut seconds = 0;
        while lab.place(0) != Active {
            lab.pass(1_000);
            seconds += 1;
        }
        seconds
    };
    lab.add(0, 0);
    let mut fail = |plugins: &[u8]| {
        lab.pop();
        lab.reject(0, plugins, &[]);
        lab.event(WILDCARD);
        wait_s(&mut lab)
    };
    // A wait ends strictly after its end, and pods leave at whole seconds.
    assert_eq!([fail(&[FIT]), fail(&[FIT]), fail(&[FIT])], [2, 3, 5]);
    assert_eq!([fail(&[]), fail(&[]), fail(&[])], [2, 3, 5], "errors begin anew");
    assert_eq!([fail(&[FIT]), fail(&[FIT])], [9, 11], "rejections go on");
    assert_eq!(fail(&[]), 2, "a rejection ended the row of errors");
}

#[test]
fn pop_takes_from_backoff_queue_when_active_queue_is_empty() {
    for (mut lab, expected) in [(Lab::new(), Some(0)), (Lab::exact(), None)] {
        lab.fail(0, &[FIT], &[]);
        lab.event(WILDCARD);
        assert_eq!(lab.place(0), Backoff);
        assert_eq!(lab.queue.has_ready(), expected.is_some());
        lab.add(1, -5);
        assert_eq!(lab.pop(), Some(1), "a ready pod goes first, whatever its priority");
        assert_eq!(lab.pop(), expected);
    }
}

#[test]
fn in_flight_events_decide_where_a_failed_pod_goes() {
    struct Case {
        name: &'static str,
        unschedulable: &'static [u8],
        pending: &'static [u8],
        events: &'static [ClusterEvent],
        expected: QueuePlace,
    }
    let cases = [
        Case { name: "nothing", unschedulable: &[FIT], pending: &[], events: &[], expected: Unschedulable },
        Case {
            name: "what it lacks",
            unschedulable: &[FIT],
            pending: &[],
            events: &[NODE_LABEL, NODE_ADD],
            expected: Backoff,
        },
        Case {
            name: "something else",
            unschedulable: &[FIT],
            pending: &[],
            events: &[NODE_LABEL],
            expected: Unschedulable,
        },
        Case {
            name: "what a pending plugin lacks",
            unschedulable: &[AFFINITY],
            pending: &[FIT],
            events: &[NODE_LABEL, NODE_ADD],
            expected: Active,
        },
        Case {
            name: "anything, after an error",
            unschedulable: &[],
            pending: &[],
            events: &[NODE_LABEL],
            expected: ErrorBackoff,
        },
    ];
    for case in cases {
        let mut lab = Lab::new();
        for event in [NODE_ADD, NODE_LABEL] {
            lab.helps(0, event);
        }
        lab.event(NODE_ADD);
        lab.add(0, 0);
        lab.add(1, -1);
        assert_eq!((lab.pop(), lab.pop()), (Some(0), Some(1)));
        case.events.iter().for_each(|&event| lab.event(event));
        lab.queue.done(PodId(1));
        lab.reject(0, case.unschedulable, case.pending);
        assert_eq!(lab.place(0), case.expected, "case: {}", case.name);
        assert_eq!(lab.queue.in_flight_event_count(), 0, "case: {}", case.name);
    }
}

#[test]
fn update_of_in_flight_pod_requeues_that_pod_only() {
    let mut lab = Lab::new();
    for pod in [0, 1] {
        lab.add(pod, 0);
        lab.helps(pod, OWN_LABEL);
    }
    lab.pop();
    lab.pop();
    lab.update(0, OWN_LABEL);
    lab.reject(0, &[AFFINITY], &[]);
    lab.reject(1, &[AFFINITY], &[]);
    assert_eq!((lab.place(0), lab.place(1)), (Backoff, Unschedulable));
}

#[test]
fn delete_of_in_flight_pod_drops_its_in_flight_events() {
    let mut lab = Lab::new();
    lab.add(0, 0);
    lab.pop();
    lab.event(NODE_ADD);
    lab.queue.delete(PodId(0));
    assert_eq!((lab.place(0), lab.queue.in_flight_event_count()), (Out, 0));
    lab.add(0, 0);
    assert_eq!(lab.pop(), Some(0), "the same row, another life");
    lab.queue.done(PodId(0));
    lab.queue.done(PodId(0));
    assert_eq!(lab.queue.counts(), QueueCounts::default());
}

#[test]
fn gated_pod_is_moved_by_events_of_its_gating_plugin_only() {
    let mut lab = Lab::new();
    lab.close(1, 0);
    lab.add(0, 0);
    assert_eq!((lab.place(0), lab.queue.gating_plugin(PodId(0))), (Gated, Some(GATES[1])));
    lab.helps(0, NODE_ADD);
    lab.helps(0, NODE_LABEL);
    lab.event(NODE_LABEL);
    assert_eq!(lab.queue_plugins.asked, 0, "the gate did not ask for labels");
    lab.event(NODE_ADD);
    assert_eq!(lab.place(0), Gated, "asked for, but it is still closed");
    lab.open(0);
    lab.event(NODE_ADD);
    assert_eq!((lab.place(0), lab.queue.gating_plugin(PodId(0))), (Active, None));
}

#[test]
fn gated_pod_is_moved_by_its_own_update() {
    let mut lab = Lab::new();
    lab.close(0, 0);
    lab.add(0, 0);
    lab.helps(0, OWN_LABEL);
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Gated);
    lab.open(0);
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn gating_plugin_is_the_first_that_rejects() {
    let mut lab = Lab::new();
    lab.close(0, 0);
    lab.close(1, 0);
    lab.add(0, 0);
    assert_eq!(lab.queue.gating_plugin(PodId(0)), Some(GATES[0]));
    lab.queue_plugins.closed.remove(0);
    lab.helps(0, OWN_LABEL);
    lab.update(0, OWN_LABEL);
    assert_eq!((lab.place(0), lab.queue.gating_plugin(PodId(0))), (Gated, Some(GATES[1])));
}

#[test]
fn pre_enqueue_gates_pod_on_its_way_back_to_active_queue() {
    let mut lab = Lab::new();
    lab.fail(0, &[FIT], &[]);
    lab.close(1, 0);
    lab.helps(0, NODE_ADD);
    lab.event(NODE_ADD);
    assert_eq!(lab.place(0), Gated, "asked before the backoff, because it may be cut short");
    let mut lab = Lab::exact();
    lab.fail(0, &[FIT], &[]);
    lab.close(1, 0);
    lab.helps(0, NODE_ADD);
    lab.event(NODE_ADD);
    assert_eq!(lab.place(0), Backoff);
    lab.pass(2_000);
    assert_eq!(lab.place(0), Gated, "asked after the backoff");
}

#[test]
fn unschedulable_pod_is_flushed_after_max_duration_and_gated_pod_is_not() {
    let mut lab = Lab::new();
    lab.fail(0, &[DEAF], &[]);
    lab.close(0, 1);
    lab.add(1, 0);
    lab.pass(300_000);
    assert_eq!(lab.place(0), Unschedulable, "five minutes are not over");
    lab.pass(29_000);
    assert_eq!(lab.place(0), Unschedulable, "looked at every thirty seconds");
    lab.pass(1_000);
    assert_eq!((lab.place(0), lab.queue.was_flushed_from_unschedulable(PodId(0))), (Active, true));
    assert_eq!((lab.place(1), lab.queue.was_flushed_from_unschedulable(PodId(1))), (Gated, false));
}

#[test]
fn flush_of_unschedulable_pods_can_be_disabled() {
    let mut lab = Lab::with(QueueSettings { flush_after_ns: None, ..QueueSettings::default() });
    lab.fail(0, &[DEAF], &[]);
    lab.pass(3_600_000);
    assert_eq!(lab.place(0), Unschedulable);
    assert_eq!(lab.queue.next_tick_ns(), None);
}

#[test]
fn flush_is_an_in_flight_event_for_popped_pods() {
    let mut lab = Lab::new();
    lab.fail(0, &[DEAF], &[]);
    lab.add(1, 0);
    lab.pop();
    lab.pass(330_000);
    lab.reject(1, &[DEAF], &[]);
    assert_eq!(lab.place(1), Backoff);
}

#[test]
fn pre_check_limits_which_pods_an_event_moves() {
    let mut lab = Lab::new();
    for (pod, priority) in [(0, 0), (1, 5), (2, 9)] {
        lab.add(pod, priority);
        lab.helps(pod, POD_DELETE);
    }
    for _ in 0..3 {
        let pod = lab.pop().expect("three pods");
        lab.reject(pod, &[FIT], &[]);
    }
    let event = Event::bare(POD_DELETE);
    lab.queue.move_all_to_active_or_backoff_queue(
        &event,
        PreCheck::UpToPriority(5),
        0,
        &mut lab.queue_plugins,
    );
    assert_eq!([0, 1, 2].map(|pod| lab.place(pod)), [Backoff, Backoff, Unschedulable]);
    lab.queue.move_all_to_active_or_backoff_queue(
        &event,
        PreCheck::Except(PodUid(2)),
        0,
        &mut lab.queue_plugins,
    );
    assert_eq!(lab.place(2), Unschedulable);
    lab.queue.move_all_to_active_or_backoff_queue(&event, PreCheck::Everyone, 0, &mut lab.queue_plugins);
    assert_eq!(lab.place(2), Backoff);
}

#[test]
fn update_moves_unschedulable_pod_when_hint_says_queue() {
    let mut lab = Lab::new();
    lab.fail(0, &[AFFINITY], &[]);
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Unschedulable);
    lab.helps(0, OWN_LABEL);
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Backoff);
    lab.pass(2_000);
    assert_eq!(lab.place(0), Active);
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn update_of_unknown_pod_adds_it() {
    let mut lab = Lab::new();
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn priority_update_reorders_active_queue() {
    let mut lab = Lab::new();
    lab.add(0, 0);
    lab.add(1, 1);
    let raised = lab.pod(0, 2);
    lab.queue.update(raised, &[], 0, &mut lab.queue_plugins);
    assert_eq!((lab.pop(), lab.pop(), lab.pop()), (Some(0), Some(1), None));
}

#[test]
fn activate_moves_pod_to_active_queue_or_notes_it_for_in_flight_pod() {
    let mut lab = Lab::new();
    lab.fail(0, &[DEAF], &[]);
    lab.fail(1, &[], &[]);
    lab.add(2, 0);
    lab.pop();
    for pod in [0, 1, 2, 3] {
        lab.queue.activate(PodId(pod), 0, &mut lab.queue_plugins);
    }
    assert_eq!([0, 1, 2, 3].map(|pod| lab.place(pod)), [Active, Active, InFlight, Out]);
    lab.reject(2, &[DEAF], &[]);
    assert_eq!(lab.place(2), Backoff, "the wish came while it was in flight");
}

/// One question per class, none about groups that did not ask, however many pods wait.
#[test]
fn queueing_hints_are_called_once_per_pod_class() {
    let mut lab = Lab::new();
    lab.close(0, 7);
    for pod in 0..1000 {
        let gated = QueuedPod { class: ClassId(7), ..lab.pod(pod, 0) };
        lab.queue.add(gated, 0, &mut lab.queue_plugins);
    }
    for pod in 1000..1500 {
        let plain = QueuedPod { class: ClassId(8), ..lab.pod(pod, 0) };
        lab.queue.add(plain, 0, &mut lab.queue_plugins);
        lab.pop();
        lab.reject(pod, &[FIT], &[]);
    }
    assert_eq!((lab.queue.counts().gated, lab.queue.counts().unschedulable), (1000, 500));
    lab.event(NODE_LABEL);
    assert_eq!(lab.queue_plugins.asked, 0);
    lab.event(NODE_ADD);
    assert_eq!(lab.queue_plugins.asked, 1);
}

/// Pods that come and go without being popped do not pile up.
#[test]
fn stale_queue_entries_are_compacted() {
    let mut lab = Lab::new();
    lab.add(0, 0);
    for _ in 0..100_000 {
        lab.add(1, -1);
        lab.queue.delete(PodId(1));
    }
    assert!(lab.queue.memory_bytes() < 200_000, "{}", lab.queue.memory_bytes());
    assert_eq!((lab.pop(), lab.pop()), (Some(0), None));
}
