//! One situation at a time, in the words of a table.

use super::*;

/// A queue of one profile whose plugins asked for these events, and its clock.
struct Lab {
    queue: SchedulingQueue,
    host: Fake,
    now_ns: u64,
}

const NODE_ADD: ClusterEvent = event(EventResource::Node, Action::ADD);
const NODE_LABEL: ClusterEvent = event(EventResource::Node, Action::UPDATE_NODE_LABEL);
const POD_DELETE: ClusterEvent = ASSIGNED_POD_DELETE;
const OWN_LABEL: ClusterEvent = event(EventResource::TargetPod, Action::UPDATE_POD_LABEL);

/// Hears of new nodes.
const FIT: u8 = 2;
/// Hears of new nodes and labels.
const AFFINITY: u8 = 3;
/// Hears of nothing.
const DEAF: u8 = 4;

impl Lab {
    fn with(settings: QueueSettings) -> Lab {
        let mut interest = Interest::default();
        let registered = [
            (FIT, NODE_ADD),
            (FIT, POD_DELETE),
            (AFFINITY, event(EventResource::Node, Action::ADD | Action::UPDATE_NODE_LABEL)),
            (AFFINITY, OWN_LABEL),
            (GATES[0].0, OWN_LABEL),
            (GATES[1].0, NODE_ADD),
        ];
        for (plugin, event) in registered {
            interest.register(PluginNumber(plugin), event);
        }
        Lab { queue: SchedulingQueue::new(settings, vec![interest]), host: Fake::default(), now_ns: 0 }
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
        self.queue.add(self.pod(pod, priority), self.now_ns, &mut self.host);
    }

    fn own(&self, pod: u32, what: ClusterEvent) -> Event {
        let facts =
            PodFacts { uid: PodUid(u64::from(pod)), class: ClassId(pod), node: None, nominated: None };
        Event::pod(what, Some(facts), Some(facts))
    }

    fn update(&mut self, pod: u32, what: ClusterEvent) {
        let event = self.own(pod, what);
        self.queue.update(self.pod(pod, 0), &[event], self.now_ns, &mut self.host);
    }

    /// Every plugin thinks that this event helps this pod.
    fn helps(&mut self, pod: u32, event: ClusterEvent) {
        let plugins = (0..5).map(|plugin| (PluginNumber(plugin), ClassId(pod), event));
        self.host.helps.extend(plugins);
    }

    fn close(&mut self, gate: usize, pod: u32) {
        self.host.closed.push((GATES[gate], ClassId(pod)));
    }

    fn open(&mut self, pod: u32) {
        self.host.closed.retain(|&(_, class)| class != ClassId(pod));
    }

    fn pop(&mut self) -> Option<u32> {
        self.queue.pop().map(|pod| pod.0)
    }

    fn reject(&mut self, pod: u32, unschedulable: &[u8], pending: &[u8]) {
        let plugins = (set(unschedulable), set(pending));
        self.queue.reject(PodId(pod), plugins, self.now_ns, &mut self.host);
    }

    /// Adds a pod and lets it fail.
    fn fail(&mut self, pod: u32, unschedulable: &[u8], pending: &[u8]) {
        self.add(pod, 100);
        assert_eq!(self.pop(), Some(pod), "its priority is the highest");
        self.reject(pod, unschedulable, pending);
    }

    fn event(&mut self, what: ClusterEvent) {
        self.queue.on_event(&Event::bare(what), Scope::Everyone, self.now_ns, &mut self.host);
    }

    fn pass(&mut self, millis: u64) {
        self.now_ns += millis * 1_000_000;
        self.queue.tick(self.now_ns, &mut self.host);
    }

    fn place(&self, pod: u32) -> QueuePlace {
        self.queue.place(PodId(pod))
    }
}

use QueuePlace::{Active, Backoff, ErrorBackoff, Gated, InFlight, Out, Unschedulable};

#[test]
fn the_highest_priority_is_popped_then_the_oldest() {
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
fn a_failed_pod_does_not_starve_its_equals() {
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
fn a_rejected_pod_waits_for_an_event_that_a_rejecting_plugin_asked_for() {
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
fn an_event_helps_at_once_when_the_wait_is_over() {
    let mut lab = Lab::new();
    lab.fail(0, &[FIT], &[]);
    lab.helps(0, NODE_ADD);
    lab.pass(2_000);
    lab.event(NODE_ADD);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn a_pod_that_failed_without_a_rejection_waits_for_time_alone() {
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
fn errors_are_counted_apart_from_rejections() {
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
fn pods_in_backoff_are_popped_when_nothing_else_is_ready() {
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
fn what_happens_in_flight_counts_when_the_pod_fails() {
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
        assert_eq!(lab.queue.kept_event_count(), 0, "case: {}", case.name);
    }
}

#[test]
fn an_update_in_flight_counts_for_that_pod_alone() {
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
fn a_pod_deleted_in_flight_leaves_no_event_behind() {
    let mut lab = Lab::new();
    lab.add(0, 0);
    lab.pop();
    lab.event(NODE_ADD);
    lab.queue.delete(PodId(0));
    assert_eq!((lab.place(0), lab.queue.kept_event_count()), (Out, 0));
    lab.add(0, 0);
    assert_eq!(lab.pop(), Some(0), "the same row, another life");
    lab.queue.done(PodId(0));
    lab.queue.done(PodId(0));
    assert_eq!(lab.queue.counts(), QueueCounts::default());
}

#[test]
fn a_gated_pod_is_let_in_by_an_event_of_its_gate_alone() {
    let mut lab = Lab::new();
    lab.close(1, 0);
    lab.add(0, 0);
    assert_eq!((lab.place(0), lab.queue.gate(PodId(0))), (Gated, Some(GATES[1])));
    lab.helps(0, NODE_ADD);
    lab.helps(0, NODE_LABEL);
    lab.event(NODE_LABEL);
    assert_eq!(lab.host.asked, 0, "the gate did not ask for labels");
    lab.event(NODE_ADD);
    assert_eq!(lab.place(0), Gated, "asked for, but it is still closed");
    lab.open(0);
    lab.event(NODE_ADD);
    assert_eq!((lab.place(0), lab.queue.gate(PodId(0))), (Active, None));
}

#[test]
fn a_gated_pod_is_let_in_by_its_own_update() {
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
fn one_gate_after_the_other() {
    let mut lab = Lab::new();
    lab.close(0, 0);
    lab.close(1, 0);
    lab.add(0, 0);
    assert_eq!(lab.queue.gate(PodId(0)), Some(GATES[0]));
    lab.host.closed.remove(0);
    lab.helps(0, OWN_LABEL);
    lab.update(0, OWN_LABEL);
    assert_eq!((lab.place(0), lab.queue.gate(PodId(0))), (Gated, Some(GATES[1])));
}

#[test]
fn a_gate_that_closes_catches_pods_on_their_way_back() {
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
fn who_waits_too_long_is_tried_again() {
    let mut lab = Lab::new();
    lab.fail(0, &[DEAF], &[]);
    lab.close(0, 1);
    lab.add(1, 0);
    lab.pass(300_000);
    assert_eq!(lab.place(0), Unschedulable, "five minutes are not over");
    lab.pass(29_000);
    assert_eq!(lab.place(0), Unschedulable, "looked at every thirty seconds");
    lab.pass(1_000);
    assert_eq!((lab.place(0), lab.queue.was_flushed(PodId(0))), (Active, true));
    assert_eq!((lab.place(1), lab.queue.was_flushed(PodId(1))), (Gated, false));
}

#[test]
fn the_flush_can_be_switched_off() {
    let mut lab = Lab::with(QueueSettings { flush_after_ns: None, ..QueueSettings::default() });
    lab.fail(0, &[DEAF], &[]);
    lab.pass(3_600_000);
    assert_eq!(lab.place(0), Unschedulable);
    assert_eq!(lab.queue.next_tick_ns(), None);
}

#[test]
fn a_flush_counts_for_pods_in_flight() {
    let mut lab = Lab::new();
    lab.fail(0, &[DEAF], &[]);
    lab.add(1, 0);
    lab.pop();
    lab.pass(330_000);
    lab.reject(1, &[DEAF], &[]);
    assert_eq!(lab.place(1), Backoff);
}

#[test]
fn an_event_may_concern_some_only() {
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
    lab.queue.on_event(&event, Scope::UpToPriority(5), 0, &mut lab.host);
    assert_eq!([0, 1, 2].map(|pod| lab.place(pod)), [Backoff, Backoff, Unschedulable]);
    lab.queue.on_event(&event, Scope::Except(PodUid(2)), 0, &mut lab.host);
    assert_eq!(lab.place(2), Unschedulable);
    lab.queue.on_event(&event, Scope::Everyone, 0, &mut lab.host);
    assert_eq!(lab.place(2), Backoff);
}

#[test]
fn an_update_moves_a_waiting_pod_if_it_helps() {
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
fn an_update_of_an_unknown_pod_adds_it() {
    let mut lab = Lab::new();
    lab.update(0, OWN_LABEL);
    assert_eq!(lab.place(0), Active);
}

#[test]
fn a_new_priority_moves_a_ready_pod() {
    let mut lab = Lab::new();
    lab.add(0, 0);
    lab.add(1, 1);
    let raised = lab.pod(0, 2);
    lab.queue.update(raised, &[], 0, &mut lab.host);
    assert_eq!((lab.pop(), lab.pop(), lab.pop()), (Some(0), Some(1), None));
}

#[test]
fn a_plugin_may_ask_for_a_pod() {
    let mut lab = Lab::new();
    lab.fail(0, &[DEAF], &[]);
    lab.fail(1, &[], &[]);
    lab.add(2, 0);
    lab.pop();
    for pod in [0, 1, 2, 3] {
        lab.queue.activate(PodId(pod), 0, &mut lab.host);
    }
    assert_eq!([0, 1, 2, 3].map(|pod| lab.place(pod)), [Active, Active, InFlight, Out]);
    lab.reject(2, &[DEAF], &[]);
    assert_eq!(lab.place(2), Backoff, "the wish came while it was in flight");
}

/// One question per class, none about groups that did not ask, however many pods wait.
#[test]
fn hints_are_asked_once_per_class() {
    let mut lab = Lab::new();
    lab.close(0, 7);
    for pod in 0..1000 {
        let gated = QueuedPod { class: ClassId(7), ..lab.pod(pod, 0) };
        lab.queue.add(gated, 0, &mut lab.host);
    }
    for pod in 1000..1500 {
        let plain = QueuedPod { class: ClassId(8), ..lab.pod(pod, 0) };
        lab.queue.add(plain, 0, &mut lab.host);
        lab.pop();
        lab.reject(pod, &[FIT], &[]);
    }
    assert_eq!((lab.queue.counts().gated, lab.queue.counts().unschedulable), (1000, 500));
    lab.event(NODE_LABEL);
    assert_eq!(lab.host.asked, 0);
    lab.event(NODE_ADD);
    assert_eq!(lab.host.asked, 1);
}

/// Pods that come and go without being popped do not pile up.
#[test]
fn leftovers_are_dropped() {
    let mut lab = Lab::new();
    lab.add(0, 0);
    for _ in 0..100_000 {
        lab.add(1, -1);
        lab.queue.delete(PodId(1));
    }
    assert!(lab.queue.memory_bytes() < 200_000, "{}", lab.queue.memory_bytes());
    assert_eq!((lab.pop(), lab.pop()), (Some(0), None));
}
