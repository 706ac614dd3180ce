//! One run: the agenda's items one after the other, the script among them.
//!
//! ```text
//!  script ──▶ store ──events──▶ pipe of each scheduler ──▶ seen, Scheduler ──calls──▶ lanes
//!               ▲                                                                      │
//!               └──────────────── arrival, unless a fault meets it ◀───────────────────┘
//! ```

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::cycle::select::Draws;
use schedlab_core::framework::points::Request;
use schedlab_core::ids::{PodId, PodUid};
use schedlab_core::pods::PodState;
use schedlab_core::queue::QueuePlace;
use schedlab_core::scheduler::{Scheduler, Step};

use super::actor::Actor;
use super::faults::{CallFault, CallKind, Counted, FaultCounts};
use super::judge::View;
use super::plugins::{PERMIT, PERMIT_TIMEOUT_NS};
use super::scenario::{Action, NODES_MAX, NodeNumber, Scenario};
use super::shape::{NodeShape, PodShape};
use super::truth::{Objects, stream_of};
use super::violation::{CheckCounts, Invariant, Violation};
use crate::api::{Api, EventKind, PodFlags, PodRow, PodTemplateRef, Watch, WatchEvent, WatchedObject};
use crate::embedded::EmbeddedCluster;
use crate::latency::Latency;
use crate::runtime::virtual_time::{Agenda, ReadyCall, VirtualClock};

/// Virtual time that a scenario may take to come to rest after its script has paused.
const REST_WITHIN_NS: u64 = 1_800_000_000_000;
/// Events that it may take.
const REST_WITHIN_EVENTS: u64 = 60_000;
/// Between two looks at who owns which pod.
const OWNERS_EVERY: u64 = 4;
/// Between two rebuilds of the snapshot.
const SNAPSHOT_EVERY: u64 = 16;
/// How often a pod may be tried although nothing happened: a nomination that was missed is tried
/// twice, and another pod's attempt may have made room.
const IDLE_ATTEMPTS_MAX: u32 = 6;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// What is on the agenda.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// The next event of the script.
    Script,
    /// The next event of a watch arrives.
    Deliver { actor: u8, stream: u8, epoch: u32 },
    /// A scheduler lists again.
    Relist { actor: u8, stream: u8, epoch: u32 },
    /// A call reaches the API.
    Arrive { actor: u8, incarnation: u32, flight: u32 },
    /// The answer to a call reaches the scheduler.
    Answer { actor: u8, incarnation: u32, flight: u32 },
    /// A scheduler wanted to be woken.
    Wake { actor: u8, incarnation: u32 },
    /// A scheduler tries its next pod.
    Step { actor: u8, incarnation: u32 },
    /// A pod has terminated.
    EndPod(PodUid),
    /// A pod of a lost node is collected.
    CollectPod(PodUid),
    /// The Permit plugin makes up its mind.
    Permit { actor: u8, incarnation: u32, pod: PodUid },
    /// A plugin wants a pod to be tried again.
    Activate { actor: u8, incarnation: u32, pod: PodUid },
}

impl Item {
    /// A number for the log.
    fn code(self) -> (u64, u64, u64) {
        match self {
            Item::Script => (0, 0, 0),
            Item::Deliver { actor, stream, epoch } => {
                (1, u64::from(actor) << 8 | u64::from(stream), u64::from(epoch))
            }
            Item::Relist { actor, stream, epoch } => {
                (2, u64::from(actor) << 8 | u64::from(stream), u64::from(epoch))
            }
            Item::Arrive { actor, flight, .. } => (3, u64::from(actor), u64::from(flight)),
            Item::Answer { actor, flight, .. } => (4, u64::from(actor), u64::from(flight)),
            Item::Wake { actor, .. } => (5, u64::from(actor), 0),
            Item::Step { actor, .. } => (6, u64::from(actor), 0),
            Item::EndPod(pod) => (7, pod.0, 0),
            Item::CollectPod(pod) => (8, pod.0, 0),
            Item::Permit { actor, pod, .. } => (9, u64::from(actor), pod.0),
            Item::Activate { actor, pod, .. } => (10, u64::from(actor), pod.0),
        }
    }

    fn is_wake(self) -> bool {
        matches!(self, Item::Wake { .. })
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Items of the agenda that were processed.
    pub events: u64,
    /// Virtual time that passed.
    pub virtual_ns: u64,
    /// A hash of everything that happened.
    pub hash: u64,
    /// Faults that happened.
    pub faults: FaultCounts,
    /// Checks that were made.
    pub checks: CheckCounts,
    /// What did not hold; the run ended there.
    pub violation: Option<Violation>,
}

/// A run under way.
pub(super) struct Simulation<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) clock: VirtualClock,
    pub(super) api: EmbeddedCluster,
    watch: Box<dyn Watch>,
    pub(super) agenda: Agenda<Item>,
    /// Items on the agenda that are no wakes.
    busy: usize,
    pub(super) actors: Vec<Actor>,
    pub(super) truth: Objects,
    /// Pods of the script, as they are now.
    pub(super) handles: FxHashMap<u32, PodUid>,
    /// The script's number of a pod: what its latencies are drawn by.
    pub(super) number_of: FxHashMap<PodUid, u32>,
    pub(super) shape_of_spec: Vec<u8>,
    pub(super) node_shapes: FxHashMap<u64, NodeShape>,
    pub(super) templates: Vec<Option<PodTemplateRef>>,
    pub(super) armed: Vec<(CallKind, CallFault, u8)>,
    pub(super) protected: [bool; 16],
    /// Pods that somebody else bound.
    pub(super) foreign: FxHashSet<PodUid>,
    /// The next event of the script.
    at: usize,
    is_settling: bool,
    paused_ns: u64,
    paused_events: u64,
    pub(super) events: u64,
    hash: u64,
    pub(super) faults: FaultCounts,
    pub(super) checks: CheckCounts,
    pub(super) violation: Option<Violation>,
    /// What happened, line by line, if somebody wants to read it.
    trace: Option<Vec<String>>,
    drained: Vec<WatchEvent>,
    pub(super) calls: Vec<ReadyCall>,
    pub(super) view: View,
}

/// Runs a scenario to its end or to the first violation.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    Simulation::new(scenario).run().0
}

/// Runs a scenario and tells all that happened, a line an event.
#[must_use]
pub fn run_traced(scenario: &Scenario) -> (Outcome, Vec<String>) {
    let mut simulation = Simulation::new(scenario);
    simulation.trace = Some(Vec::new());
    simulation.run()
}

impl<'s> Simulation<'s> {
    fn new(scenario: &'s Scenario) -> Simulation<'s> {
        let clock = VirtualClock::default();
        // The epoch is no time at which anything was ever created.
        clock.set(SECOND);
        let api = EmbeddedCluster::new(clock.reader());
        for at in 0..NODES_MAX {
            api.node_name_id(&NodeNumber(at).to_string());
        }
        let watch = api.watch(0).expect("a new store has kept everything");
        let actors = (0..scenario.setup.schedulers)
            .map(|number| Actor::new(number, 0, scenario.seed, &scenario.setup, &api))
            .collect();
        Simulation {
            scenario,
            clock,
            api,
            watch,
            agenda: Agenda::default(),
            busy: 0,
            actors,
            truth: Objects::default(),
            handles: FxHashMap::default(),
            number_of: FxHashMap::default(),
            shape_of_spec: Vec::new(),
            node_shapes: FxHashMap::default(),
            templates: vec![None; scenario.shapes.len()],
            armed: Vec::new(),
            protected: [false; 16],
            foreign: FxHashSet::default(),
            at: 0,
            is_settling: false,
            paused_ns: 0,
            paused_events: 0,
            events: 0,
            hash: scenario.seed,
            faults: FaultCounts::default(),
            checks: CheckCounts::default(),
            violation: None,
            trace: None,
            drained: Vec::new(),
            calls: Vec::new(),
            view: View::default(),
        }
    }

    fn run(mut self) -> (Outcome, Vec<String>) {
        self.publish();
        self.schedule_script();
        while self.violation.is_none() {
            if self.is_settling && self.busy == 0 && self.is_settled() {
                self.check_rest();
                if self.at == self.scenario.script.len() || self.violation.is_some() {
                    break;
                }
                self.at += 1;
                self.schedule_script();
                continue;
            }
            let Some((at_ns, item)) = self.agenda.pop() else {
                self.fail(Invariant::NothingLeaks, || {
                    "nothing is left to happen, but a scheduler waits for something".to_owned()
                });
                break;
            };
            self.busy -= usize::from(!item.is_wake());
            self.clock.set(at_ns);
            if self.trace.is_some()
                && !matches!(
                    item,
                    Item::Script | Item::Deliver { .. } | Item::Arrive { .. } | Item::Answer { .. }
                )
            {
                self.note(|| format!("{item:?}"));
            }
            if self.process(item) {
                self.events += 1;
                self.log(item.code(), at_ns);
            }
            self.check_patience();
        }
        let outcome = Outcome {
            events: self.events,
            virtual_ns: self.clock.now_ns() - SECOND,
            hash: self.hash,
            faults: self.faults,
            checks: self.checks,
            violation: self.violation,
        };
        (outcome, self.trace.unwrap_or_default())
    }

    /// Adds a line to the trace.
    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        let at_ms = (self.now_ns() - SECOND) as f64 / 1e6;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{at_ms:>12.3} {}", line()));
        }
    }

    pub(super) fn log(&mut self, (kind, one, two): (u64, u64, u64), at_ns: u64) {
        for word in [kind, one, two, at_ns] {
            self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub(super) fn push(&mut self, at_ns: u64, item: Item) {
        self.busy += usize::from(!item.is_wake());
        self.agenda.push(at_ns.max(self.now_ns()), item);
    }

    /// Notes a violation; the first one counts.
    pub(super) fn fail(&mut self, invariant: Invariant, message: impl FnOnce() -> String) {
        if self.violation.is_none() {
            let (at_ns, event) = (self.now_ns() - SECOND, self.events);
            self.violation = Some(Violation { invariant, message: message(), at_ns, event });
        }
    }

    /// 64 random bits for a purpose.
    pub(super) fn bits(&self, purpose: u64, one: u64, two: u64) -> u64 {
        let mut hash = self.scenario.seed ^ 0x9E37_79B9_7F4A_7C15;
        for word in [purpose, one, two] {
            hash = (hash ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            hash ^= hash >> 29;
        }
        hash
    }

    /// A duration between two bounds.
    pub(super) fn between(&self, (low_ns, high_ns): (u64, u64), bits: u64) -> u64 {
        Latency::Uniform { low_ns, high_ns }.draw_ns(&mut Draws::new(bits))
    }

    pub(super) fn shape_of(&self, row: &PodRow) -> &'s PodShape {
        &self.scenario.shapes[usize::from(self.shape_of_spec[row.spec.0 as usize])]
    }

    pub(super) fn number_of(&self, pod: PodUid) -> u64 {
        u64::from(self.number_of.get(&pod).copied().unwrap_or(u32::MAX))
    }

    fn schedule_script(&mut self) {
        self.paused_ns = self.now_ns();
        self.paused_events = self.events;
        match self.scenario.script.get(self.at) {
            Some(event) if event.action != Action::Settle => {
                self.is_settling = false;
                self.push(self.now_ns() + event.after_us * 1000, Item::Script);
            }
            _ => self.is_settling = true,
        }
    }

    fn is_settled(&self) -> bool {
        self.actors.iter().all(|actor| actor.is_quiet() && actor.scheduler().is_settled())
    }

    fn check_patience(&mut self) {
        let is_over = self.now_ns() - self.paused_ns > REST_WITHIN_NS
            || self.events - self.paused_events > REST_WITHIN_EVENTS;
        if is_over {
            let counts: Vec<_> = self.actors.iter().map(|actor| actor.scheduler().counts()).collect();
            self.fail(Invariant::BoundedAttempts, || {
                format!("the cluster does not come to rest: {counts:?}")
            });
        }
    }

    /// Whether the item was still meant.
    fn process(&mut self, item: Item) -> bool {
        match item {
            Item::Script => {
                let event = self.scenario.script[self.at];
                self.at += 1;
                self.note(|| format!("script {}: {}", event.number, event.action));
                self.perform(event);
                self.publish();
                self.schedule_script();
            }
            Item::Deliver { actor, stream, epoch } => return self.deliver_next(actor, stream, epoch),
            Item::Relist { actor, stream, epoch } => return self.relist(actor, stream, epoch),
            Item::Arrive { actor, incarnation, flight } => return self.arrive(actor, incarnation, flight),
            Item::Answer { actor, incarnation, flight } => return self.answer(actor, incarnation, flight),
            Item::Wake { actor, incarnation } => return self.wake(actor, incarnation),
            Item::Step { actor, incarnation } => return self.step(actor, incarnation),
            Item::EndPod(pod) => {
                let is_there = self.api.end_pod(pod);
                self.publish();
                return is_there;
            }
            Item::CollectPod(pod) => return self.collect(pod),
            Item::Permit { actor, incarnation, pod } => return self.decide_permit(actor, incarnation, pod),
            Item::Activate { actor, incarnation, pod } => {
                return self.request(actor, incarnation, Request::Activate { pod });
            }
        }
        true
    }

    /// Puts what was written on its way to the schedulers.
    pub(super) fn publish(&mut self) {
        let mut drained = std::mem::take(&mut self.drained);
        self.watch.drain_into(&mut drained).expect("the log keeps what was not read");
        for event in drained.drain(..) {
            if let (WatchedObject::Pod(row), EventKind::Modified) = (&event.object, event.kind) {
                self.note_termination(row);
            }
            self.truth.note(&event);
            for at in 0..self.actors.len() {
                self.send(at, event.clone());
            }
        }
        self.drained = drained;
    }

    /// A pod that was told to leave is gone after a while.
    fn note_termination(&mut self, row: &PodRow) {
        let was_leaving =
            self.truth.pods.get(&row.uid).is_some_and(|old| old.flags.contains(PodFlags::TERMINATING));
        if row.flags.contains(PodFlags::TERMINATING) && !was_leaving {
            let bits = self.bits(1, self.number_of(row.uid), 0);
            let grace_ns = self.between((20 * MS, 12 * SECOND), bits);
            self.faults.note(Counted::SlowTermination);
            self.push(self.now_ns() + grace_ns, Item::EndPod(row.uid));
        }
    }

    pub(super) fn send(&mut self, at: usize, event: WatchEvent) {
        let stream = stream_of(&event) as usize;
        let now_ns = self.now_ns();
        let version = event.resource_version();
        let bits = self.bits(2, at as u64 * 4 + stream as u64, version);
        let actor = &mut self.actors[at];
        let pipe = &mut actor.pipes[stream];
        if pipe.is_broken {
            return;
        }
        let arrives_ns = now_ns + self.scenario.setup.watch.draw_ns(&mut Draws::new(bits));
        let arrives_ns = arrives_ns.max(pipe.last_ns).max(pipe.stalled_until_ns);
        pipe.last_ns = arrives_ns;
        pipe.queue.push_back((arrives_ns, event));
        let item = Item::Deliver { actor: actor.number, stream: stream as u8, epoch: pipe.epoch };
        self.push(arrives_ns, item);
    }

    fn deliver_next(&mut self, number: u8, stream: u8, epoch: u32) -> bool {
        let actor = &mut self.actors[usize::from(number)];
        let pipe = &mut actor.pipes[usize::from(stream)];
        if pipe.epoch != epoch {
            return false;
        }
        let (_, event) = pipe.queue.pop_front().expect("an item for each event");
        let twice = event.kind != EventKind::Deleted && std::mem::take(&mut pipe.doubles_next);
        self.tell(usize::from(number), &event);
        if twice {
            self.faults.note(Counted::Duplicate);
            self.events += 1;
            self.tell(usize::from(number), &WatchEvent { kind: EventKind::Modified, ..event });
        }
        self.after(usize::from(number));
        true
    }

    /// Tells a scheduler of an event, and notes that it knows.
    pub(super) fn tell(&mut self, at: usize, event: &WatchEvent) {
        let now_ns = self.now_ns();
        self.note(|| format!("scheduler {at} sees {}", event_text(event)));
        let actor = &mut self.actors[at];
        actor.seen.note(event);
        if let WatchedObject::Other(object) = &event.object
            && object.kind == "StorageClass"
        {
            actor.board.lock().has_claim = event.kind != EventKind::Deleted;
        }
        actor.causes += 1;
        if let WatchedObject::Pod(row) = &event.object {
            self.note_ports(at, row);
        }
        let actor = &mut self.actors[at];
        actor.scheduler_mut().advance(now_ns);
        actor.virtual_scheduler.deliver(event, &self.api, now_ns);
    }

    fn wake(&mut self, number: u8, incarnation: u32) -> bool {
        let now_ns = self.now_ns();
        let actor = &mut self.actors[usize::from(number)];
        if actor.incarnation != incarnation || actor.wake_ns != Some(now_ns) {
            return false;
        }
        actor.wake_ns = None;
        actor.causes += 1;
        actor.scheduler_mut().advance(now_ns);
        self.after(usize::from(number));
        true
    }

    fn decide_permit(&mut self, number: u8, incarnation: u32, pod: PodUid) -> bool {
        let permits = u64::from(self.actors[usize::from(number)].record(pod).permits);
        let bits = self.bits(4, self.number_of(pod), permits);
        if permits < 3 && bits.is_multiple_of(5) {
            let wait_ns = self.between((SECOND, 3 * SECOND), bits >> 8);
            self.push(self.now_ns() + wait_ns, Item::Activate { actor: number, incarnation, pod });
            let message = "rejected by the script".into();
            return self.request(number, incarnation, Request::Reject { pod, plugin: PERMIT, message });
        }
        self.request(number, incarnation, Request::Allow { pod, plugin: PERMIT })
    }

    fn request(&mut self, number: u8, incarnation: u32, request: Request) -> bool {
        let now_ns = self.now_ns();
        let actor = &mut self.actors[usize::from(number)];
        if actor.incarnation != incarnation {
            return false;
        }
        actor.causes += 1;
        actor.scheduler_mut().advance(now_ns);
        actor.scheduler_mut().request(request, now_ns);
        self.after(usize::from(number));
        true
    }

    fn step(&mut self, number: u8, incarnation: u32) -> bool {
        let at = usize::from(number);
        let now_ns = self.now_ns();
        let actor = &mut self.actors[at];
        if actor.incarnation != incarnation {
            return false;
        }
        actor.step_is_due = false;
        actor.scheduler_mut().advance(now_ns);
        let first = first_priority(actor);
        let step = actor.scheduler_mut().step(&mut NoProbe);
        if self.trace.is_some() {
            let text = step_text(self.actors[at].scheduler(), &step);
            self.note(|| format!("scheduler {number} {text}"));
        }
        let actor = &mut self.actors[at];
        let preemptor = match step {
            Step::Idle => None,
            Step::Assumed { pod, choice } => {
                let node = actor.scheduler().world().nodes().columns().id[choice.row];
                self.check_attempt(at, pod, first);
                self.check_choice(at, pod, u8::try_from(node.index()).unwrap_or(u8::MAX));
                None
            }
            Step::NominatedMissed { pod } => {
                self.check_attempt(at, pod, first);
                None
            }
            Step::Unschedulable { pod } | Step::Failed { pod } => {
                self.check_attempt(at, pod, first);
                self.note_failure(at, pod);
                Some(self.actors[at].scheduler().world().pods().get(pod).uid)
            }
        };
        self.take_calls(at, preemptor);
        self.after(at);
        true
    }

    /// What follows from anything that a scheduler was told or did.
    pub(super) fn after(&mut self, at: usize) {
        self.take_calls(at, None);
        self.read_board(at);
        let now_ns = self.now_ns();
        let cycle_ns = self.scenario.setup.cycle_ns;
        let actor = &mut self.actors[at];
        let (number, incarnation) = (actor.number, actor.incarnation);
        let has_work = actor.scheduler().has_work() && !actor.virtual_scheduler.is_blocked();
        let steps = has_work && !actor.step_is_due;
        actor.step_is_due |= has_work;
        let wake_ns = actor.scheduler().next_wake_ns().map(|wake_ns| wake_ns.max(now_ns + 1));
        let wakes = wake_ns.filter(|&wake_ns| actor.wake_ns.is_none_or(|known_ns| wake_ns < known_ns));
        if let Some(wake_ns) = wakes {
            actor.wake_ns = Some(wake_ns);
        }
        if steps {
            self.push(now_ns + cycle_ns, Item::Step { actor: number, incarnation });
        }
        if let Some(wake_ns) = wakes {
            self.push(wake_ns, Item::Wake { actor: number, incarnation });
        }
        if self.events.is_multiple_of(OWNERS_EVERY) {
            self.check_owners(at);
        }
        if self.events.is_multiple_of(SNAPSHOT_EVERY) {
            self.check_snapshot(at);
        }
    }

    fn read_board(&mut self, at: usize) {
        if !self.scenario.setup.has_plugins {
            return;
        }
        let mut board = self.actors[at].board.lock();
        if board.waiting.is_empty() && board.refused.is_empty() {
            return;
        }
        let (waiting, refused) = (std::mem::take(&mut board.waiting), std::mem::take(&mut board.refused));
        drop(board);
        let (actor, incarnation) = (self.actors[at].number, self.actors[at].incarnation);
        for pod in waiting {
            let record = self.actors[at].record(pod);
            record.permits += 1;
            let permits = u64::from(record.permits);
            let bits = self.bits(5, self.number_of(pod), permits);
            if permits < 3 && bits.is_multiple_of(7) {
                // Nobody comes: the wait ends by itself, and somebody asks for the pod later.
                let later_ns = PERMIT_TIMEOUT_NS + self.between((SECOND, 3 * SECOND), bits >> 8);
                self.push(self.now_ns() + later_ns, Item::Activate { actor, incarnation, pod });
            } else {
                let wait_ns = self.between((MS, 2 * SECOND), bits >> 8);
                self.push(self.now_ns() + wait_ns, Item::Permit { actor, incarnation, pod });
            }
        }
        for pod in refused {
            let bits = self.bits(6, self.number_of(pod), 0);
            let wait_ns = self.between((SECOND, 3 * SECOND), bits);
            self.push(self.now_ns() + wait_ns, Item::Activate { actor, incarnation, pod });
        }
    }

    fn check_attempt(&mut self, at: usize, pod: PodId, first: Option<i32>) {
        let now_ns = self.now_ns();
        let actor = &mut self.actors[at];
        let row = *actor.scheduler().world().pods().get(pod);
        let priority = actor.scheduler().world().class(row.class).priority;
        let causes = actor.causes;
        let record = actor.record(row.uid);
        let is_idle = record.causes == causes && now_ns - record.tried_ns < 900 * MS;
        record.idle_attempts = if is_idle { record.idle_attempts + 1 } else { 0 };
        (record.causes, record.tried_ns) = (causes, now_ns);
        let idle_attempts = record.idle_attempts;
        self.checks.note(Invariant::BoundedAttempts);
        self.checks.note(Invariant::PriorityOrder);
        if idle_attempts > IDLE_ATTEMPTS_MAX {
            self.fail(Invariant::BoundedAttempts, || {
                format!("pod {} was tried {idle_attempts} times although nothing happened", row.uid.0)
            });
        }
        if first.is_some_and(|first| priority < first) {
            self.fail(Invariant::PriorityOrder, || {
                format!("pod {} of priority {priority} was tried before one of priority {first:?}", row.uid.0)
            });
        }
    }
}

fn event_text(event: &WatchEvent) -> String {
    match &event.object {
        WatchedObject::Pod(row) => {
            let node = row.node.map(|name| format!(" on n{}", name.index())).unwrap_or_default();
            let named =
                row.nominated.map(|name| format!(" nominated to n{}", name.index())).unwrap_or_default();
            let leaves = if row.flags.contains(PodFlags::TERMINATING) { " leaving" } else { "" };
            format!("pod {} {:?}{node}{named}{leaves}", row.uid.0, event.kind)
        }
        WatchedObject::Node(entry) => format!("node {} {:?}", entry.input.name, event.kind),
        WatchedObject::Other(object) => format!("{} {:?}", object.kind, event.kind),
    }
}

fn step_text(scheduler: &Scheduler, step: &Step) -> String {
    let world = scheduler.world();
    let (pod, what) = match step {
        Step::Idle => return "finds nothing to try".to_owned(),
        Step::Assumed { pod, choice } => {
            (pod, format!("placed on {}", world.node_name(world.nodes().columns().id[choice.row])))
        }
        Step::Unschedulable { pod } => (pod, "unschedulable".to_owned()),
        Step::Failed { pod } => (pod, "failed".to_owned()),
        Step::NominatedMissed { pod } => (pod, "missed its nominated node".to_owned()),
    };
    let row = world.pods().get(*pod);
    let named = row.nominated().map(|node| world.node_name(node));
    format!("tries pod {}: {what}, {:?}, nominated {named:?}", row.uid.0, scheduler.standing(*pod))
}

/// The highest priority among the pods that are ready.
fn first_priority(actor: &Actor) -> Option<i32> {
    let scheduler = actor.scheduler();
    let (world, queue) = (scheduler.world(), scheduler.queue());
    let ready = world.pods().ids().filter(|&pod| {
        world.pods().get(pod).state == PodState::Pending && queue.place(pod) == QueuePlace::Active
    });
    let classes = ready.map(|pod| world.class(world.pods().get(pod).class));
    classes.filter(|class| !class.is_terminating).map(|class| class.priority).max()
}

/// The nodes of a view, by number.
pub(super) fn node_shapes(
    objects: &Objects,
    shapes: &FxHashMap<u64, NodeShape>,
    into: &mut Vec<Option<NodeShape>>,
) {
    into.resize(usize::from(NODES_MAX), None);
    for (&number, entry) in &objects.nodes {
        into[usize::from(number)] = shapes.get(&entry.resource_version).copied();
    }
}
