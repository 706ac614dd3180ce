//! Pod groups under one scheduler: members come late, leave or are deleted while their gang is half bound,
//! groups are deleted and made again, calls fail, and the scheduler is restarted between two bindings.
//!
//! ```text
//!  script ──▶ store ──late events, a watch each──▶ scheduler ──calls, late, some lost──▶ store
//!    └ wait ▶ nothing has moved for longer than any backoff: what must hold is checked
//! ```
//!
//! It is what the profile `groups` runs. A group that finds no place is tried again and again after its
//! backoff, so the cluster never stands still: rest is a span of time.

mod actions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Object, ObjectKey, PodFlags, StoredPodRow, Watch, WatchEvent};
use schedlab_cluster::runtime::virtual_time::{Agenda, Effect, ReadyCall, VirtualClock, VirtualScheduler};
use schedlab_core::binding::CallFailure;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::cycle::select::Draws;
use schedlab_core::ids::PodUid;
use schedlab_core::mutants::Mutants;
use schedlab_core::scheduler::ScheduleOneOutcome;
use serde_json::{Value, json};

use super::actor::make_scheduler;
use super::plugins::SharedBoard;
use super::run::SimulationOutcome;
use super::scenario::{NODES_MAX, NodeNumber, Scenario, ScriptAction};
use super::truth::{Objects, stream_of};
use super::violation::{CheckCounts, Invariant, Violation};

pub use actions::PodGroupAction;
pub(super) use actions::script;

const MS: u64 = 1_000_000;
/// Longer than any backoff of a group of this size.
const REST_NS: u64 = 60_000 * MS;
/// Steps after which a run that finds no rest is taken to run in circles.
const STEPS_MAX: u64 = 60_000;
const GROUPS: u8 = 4;
const NODE_CPU: i64 = 4;
/// The node that comes last has room for everybody.
const LARGE_NODE: NodeNumber = NodeNumber(NODES_MAX - 1);

/// What is to happen.
enum Step {
    Script,
    /// Nothing has moved for long enough.
    Rest,
    Deliver {
        stream: usize,
        incarnation: u32,
    },
    Attempt {
        incarnation: u32,
    },
    Wake {
        incarnation: u32,
    },
    Arrive {
        flight: usize,
    },
    Answer {
        flight: usize,
    },
}

/// A call between the scheduler and the API.
struct GroupFlight {
    call: ReadyCall,
    result: Option<Result<u64, CallFailure>>,
}

/// A run under way.
struct Groups<'s> {
    scenario: &'s Scenario,
    clock: VirtualClock,
    api: EmbeddedCluster,
    watch: Box<dyn Watch>,
    agenda: Agenda<Step>,
    truth: Objects,
    virtual_scheduler: VirtualScheduler,
    incarnation: u32,
    /// Events on their way, by watch, and when the last of each arrives.
    pipes: [(VecDeque<WatchEvent>, u64); 3],
    flights: BTreeMap<usize, GroupFlight>,
    /// Calls of one pod are made one after the other: the first is under way.
    lanes: BTreeMap<PodUid, VecDeque<usize>>,
    next_flight: usize,
    attempt_is_due: bool,
    wake_ns: Option<u64>,
    draws: Draws,
    fails_next: Option<u8>,
    /// Groups that may be bound in part: something happened to bound members or to their bindings.
    excused: BTreeSet<String>,
    at: usize,
    pods_made: u32,
    is_last_rest: bool,
    hash: FxHasher,
    outcome: SimulationOutcome,
    /// What happened, line by line, if somebody wants to read it.
    trace: Option<Vec<String>>,
}

/// Runs a script of pod groups.
pub(super) fn run_pod_groups(
    scenario: &Scenario,
    trace: Option<Vec<String>>,
) -> (SimulationOutcome, Vec<String>) {
    let mut run = Groups { trace, ..Groups::new(scenario) };
    run.run();
    run.outcome.hash = run.hash.finish();
    run.outcome.virtual_ns = run.clock.now_ns();
    (run.outcome, run.trace.unwrap_or_default())
}

fn fresh(scenario: &Scenario, mutants: Mutants) -> VirtualScheduler {
    let board = SharedBoard::default();
    VirtualScheduler::new(make_scheduler(0, scenario.seed, &scenario.setup, &board, mutants))
}

fn group_name(group: u8) -> String {
    format!("g{group}")
}

/// The same for all of a group's lives and for all of its members.
fn group_priority(group: u8) -> i64 {
    if group == 2 { 10 } else { 0 }
}

impl<'s> Groups<'s> {
    fn new(scenario: &'s Scenario) -> Groups<'s> {
        let clock = VirtualClock::default();
        clock.set(1_000_000 * MS);
        let api = EmbeddedCluster::new(clock.reader());
        for at in 0..NODES_MAX {
            let _ = api.node_name_id(&NodeNumber(at).to_string());
        }
        let watch = api.watch(api.resource_version()).expect("a new store has kept everything");
        Groups {
            scenario,
            clock,
            api,
            watch,
            agenda: Agenda::default(),
            truth: Objects::default(),
            virtual_scheduler: fresh(scenario, scenario.setup.mutants),
            incarnation: 0,
            pipes: Default::default(),
            flights: BTreeMap::new(),
            lanes: BTreeMap::new(),
            next_flight: 0,
            attempt_is_due: false,
            wake_ns: None,
            draws: Draws::new(scenario.seed ^ 0x6c6174),
            fails_next: None,
            excused: BTreeSet::new(),
            at: 0,
            pods_made: 0,
            is_last_rest: false,
            hash: FxHasher::default(),
            outcome: SimulationOutcome::default(),
            trace: None,
        }
    }

    /// Tells what happens, to the hash and to whoever reads along.
    fn tell(&mut self, what: &dyn fmt::Debug) {
        let line = format!("{:>14.3} ms {what:?}", self.clock.now_ns() as f64 / MS as f64);
        line.hash(&mut self.hash);
        if let Some(trace) = &mut self.trace {
            trace.push(line);
        }
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn later(&mut self, us_max: usize, step: Step) {
        let after_ns = (1 + self.draws.below(us_max) as u64) * 1_000;
        self.agenda.push(self.now_ns() + after_ns, step);
    }

    fn run(&mut self) {
        let nodes = 1 + self.draws.below(3);
        (0..nodes)
            .for_each(|at| self.create_node(NodeNumber(u8::try_from(at).expect("few nodes")), NODE_CPU));
        self.publish();
        self.next_of_script();
        while self.outcome.violation.is_none() {
            let Some((at_ns, step)) = self.agenda.pop() else { break };
            self.clock.set(at_ns);
            self.outcome.events += 1;
            if STEPS_MAX < self.outcome.events {
                self.fail(Invariant::BoundedAttempts, "pod groups find no rest".to_owned());
                break;
            }
            if matches!(step, Step::Rest) && self.rest() {
                break;
            }
            self.perform(step);
            self.publish();
            self.after();
        }
    }

    fn perform(&mut self, step: Step) {
        let current = self.incarnation;
        match step {
            Step::Script => self.script(),
            Step::Deliver { stream, incarnation } if incarnation == current => {
                let event = self.pipes[stream].0.pop_front().expect("a step for each event");
                let now_ns = self.now_ns();
                self.virtual_scheduler.deliver(&event, &self.api, now_ns);
            }
            Step::Attempt { incarnation } if incarnation == current => {
                self.attempt_is_due = false;
                self.virtual_scheduler.scheduler.advance(self.clock.now_ns());
                let outcome = self.virtual_scheduler.scheduler.schedule_one(&mut NoProbe);
                self.tell(&outcome);
            }
            Step::Wake { incarnation } if incarnation == current => {
                self.wake_ns = None;
                self.virtual_scheduler.scheduler.advance(self.clock.now_ns());
            }
            Step::Arrive { flight } if self.flights.contains_key(&flight) => self.arrive(flight),
            Step::Answer { flight } if self.flights.contains_key(&flight) => self.answer(flight),
            // Of a scheduler that was restarted, or of a rest that is over.
            _ => {}
        }
    }

    /// The script goes on after a pause; behind its last event comes a node with room for all.
    fn next_of_script(&mut self) {
        let Some(event) = self.scenario.script.get(self.at) else {
            self.is_last_rest = true;
            self.create_node(LARGE_NODE, 1_000);
            return self.agenda.push(self.now_ns() + REST_NS, Step::Rest);
        };
        let after_ns = event.after_us * 1_000;
        self.agenda.push(self.now_ns() + after_ns, Step::Script);
    }

    fn script(&mut self) {
        let event = self.scenario.script[self.at];
        self.at += 1;
        self.tell(&event.action);
        match event.action {
            ScriptAction::Settle => return self.agenda.push(self.now_ns() + REST_NS, Step::Rest),
            ScriptAction::PodGroup(action) => self.act(action),
            _ => {}
        }
        self.next_of_script();
    }

    fn act(&mut self, action: PodGroupAction) {
        match action {
            PodGroupAction::CreateGroup(group, min_count, all) => {
                let policy = if min_count == 0 {
                    json!({ "basic": {} })
                } else {
                    json!({ "gang": { "minCount": min_count } })
                };
                let mode = if all { json!({ "all": {} }) } else { json!({ "single": {} }) };
                self.create(json!({ "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
                    "metadata": { "name": group_name(group), "namespace": "default" },
                    "spec": { "schedulingPolicy": policy, "disruptionMode": mode,
                        "priority": group_priority(group) } }));
            }
            PodGroupAction::DeleteGroup(group) => {
                self.excused.insert(group_name(group));
                let key = self.group_key(&group_name(group));
                let _ = self.api.delete(&key, None);
            }
            PodGroupAction::CreateMember(group) => {
                let cpu = i64::from(1 + group % 2);
                self.create_pod(cpu, group_priority(group), Some(group_name(group)));
            }
            PodGroupAction::DeleteMember(group, nth) => self.delete_pod(Some(&group_name(group)), nth),
            PodGroupAction::CreateSingle(cpu, important) => {
                self.create_pod(i64::from(cpu), if important { 5 } else { 0 }, None);
            }
            PodGroupAction::DeleteSingle(nth) => self.delete_pod(None, nth),
            PodGroupAction::Restart => self.restart(),
            PodGroupAction::FailBinding(how) => self.fails_next = Some(how),
        }
    }

    /// Refusals, of what is there already, are part of the game.
    fn create(&mut self, value: Value) {
        let _ = self.api.create(Object::from_json(value).expect("well formed"));
    }

    fn create_node(&mut self, number: NodeNumber, cpu: i64) {
        let amounts = json!({ "cpu": cpu.to_string(), "memory": "64Gi", "pods": "100" });
        self.create(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": number.to_string() },
            "status": { "capacity": amounts, "allocatable": amounts } }));
    }

    fn create_pod(&mut self, cpu: i64, priority: i64, group: Option<String>) {
        self.pods_made += 1;
        let mut spec = json!({ "priority": priority, "schedulerName": super::shape::scheduler_name(0),
            "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": cpu.to_string() } } }] });
        if let Some(group) = group {
            spec["schedulingGroup"] = json!({ "podGroupName": group });
        }
        self.create(json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": { "name": format!("p{}", self.pods_made), "namespace": "default" } }));
    }

    fn group_key(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced("scheduling.k8s.io/v1beta1", "PodGroup", "default", name)
    }

    /// The group that a pod names.
    fn group_of(&self, row: &StoredPodRow) -> Option<String> {
        self.api.pod_spec(row.spec).pod_group.as_deref().map(str::to_owned)
    }

    fn delete_pod(&mut self, group: Option<&str>, nth: u8) {
        let is_of = |row: &&StoredPodRow| self.group_of(row).as_deref() == group;
        let pods: Vec<PodUid> = self.truth.pods.values().filter(is_of).map(|row| row.uid).collect();
        if !pods.is_empty() {
            let _ = self.api.delete_pod(pods[usize::from(nth) % pods.len()]);
        }
    }

    /// The new one lists everything; calls of the old one are done or lost.
    fn restart(&mut self) {
        for flight in std::mem::take(&mut self.flights).into_values() {
            self.excuse(flight.call.pod);
            if flight.result.is_none() && self.draws.below(2) == 0 {
                let _ = flight.call.perform(&self.api);
            }
        }
        self.lanes.clear();
        self.publish();
        self.incarnation += 1;
        self.pipes.iter_mut().for_each(|(queue, _)| queue.clear());
        (self.attempt_is_due, self.wake_ns) = (false, None);
        self.virtual_scheduler = fresh(self.scenario, self.scenario.setup.mutants);
        let mut events = Vec::new();
        self.truth.list(&mut events);
        let now_ns = self.now_ns();
        events.iter().for_each(|event| self.virtual_scheduler.deliver(event, &self.api, now_ns));
    }

    /// The group of a pod may be bound in part from now on.
    fn excuse(&mut self, pod: PodUid) {
        let known = self.truth.pods.get(&pod).and_then(|row| self.group_of(row));
        self.excused.extend(known);
    }

    /// Hands events to the scheduler, each watch in order.
    fn publish(&mut self) {
        let mut events: Vec<WatchEvent> = Vec::new();
        self.watch.drain_into(&mut events).expect("the log keeps a run's events");
        for event in events {
            let stream = stream_of(&event) as usize;
            if let (
                schedlab_cluster::api::EventKind::Deleted,
                schedlab_cluster::api::WatchedObject::Pod(row),
            ) = (event.kind, &event.object)
            {
                self.excuse(row.uid);
            }
            self.truth.note(&event);
            let after_ns = (1 + self.draws.below(3_000) as u64) * 1_000;
            let at_ns = (self.now_ns() + after_ns).max(self.pipes[stream].1);
            self.pipes[stream].1 = at_ns;
            self.pipes[stream].0.push_back(event);
            self.agenda.push(at_ns, Step::Deliver { stream, incarnation: self.incarnation });
        }
    }

    /// What follows from anything that the scheduler was told or did.
    fn after(&mut self) {
        let mut calls = Vec::new();
        self.virtual_scheduler.take_calls(&self.api, &mut calls);
        for call in calls {
            self.next_flight += 1;
            let flight = self.next_flight;
            let lane = self.lanes.entry(call.pod).or_default();
            lane.push_back(flight);
            let is_first = lane.len() == 1;
            self.flights.insert(flight, GroupFlight { call, result: None });
            if is_first {
                self.later(3_000, Step::Arrive { flight });
            }
        }
        let scheduler = &self.virtual_scheduler.scheduler;
        let has_work = scheduler.has_work() && !self.virtual_scheduler.is_blocked();
        let wake_ns = scheduler.next_wake_ns().map(|wake_ns| wake_ns.max(self.clock.now_ns() + 1));
        let incarnation = self.incarnation;
        if has_work && !self.attempt_is_due {
            self.attempt_is_due = true;
            self.later(300, Step::Attempt { incarnation });
        }
        if let Some(wake_ns) = wake_ns.filter(|wake_ns| self.wake_ns.is_none_or(|known| *wake_ns < known)) {
            self.wake_ns = Some(wake_ns);
            self.agenda.push(wake_ns, Step::Wake { incarnation });
        }
    }

    fn arrive(&mut self, flight: usize) {
        let call = self.flights[&flight].call.clone();
        self.tell(&(call.pod, &call.effect));
        let how = self.fails_next.filter(|_| matches!(call.effect, Effect::Bind(_)));
        if how.is_some() {
            self.fails_next = None;
            self.excuse(call.pod);
        }
        let result = match how {
            Some(0) => Err(CallFailure::Other),
            Some(1) => Err(CallFailure::Conflict),
            Some(_) => call.perform(&self.api).and(Err(CallFailure::Other)),
            None => call.perform(&self.api),
        };
        self.flights.get_mut(&flight).expect("looked up just now").result = Some(result);
        self.later(3_000, Step::Answer { flight });
    }

    fn answer(&mut self, flight: usize) {
        let GroupFlight { call, result } = self.flights.remove(&flight).expect("a call is answered once");
        let lane = self.lanes.get_mut(&call.pod).expect("a call is in its pod's lane");
        lane.pop_front();
        match lane.front().copied() {
            Some(next) => self.later(3_000, Step::Arrive { flight: next }),
            None => drop(self.lanes.remove(&call.pod)),
        }
        let now_ns = self.now_ns();
        self.virtual_scheduler.answer(&call, result.expect("it has arrived"), now_ns);
    }

    fn fail(&mut self, invariant: Invariant, message: String) {
        let (at_ns, event) = (self.now_ns(), self.outcome.events);
        self.outcome.violation.get_or_insert(Violation { invariant, message, at_ns, event });
    }

    fn note(&mut self, invariant: Invariant) {
        let checks: &mut CheckCounts = &mut self.outcome.checks;
        checks.note(invariant);
    }

    /// Everything is checked once no call is under way. Whether it was the last time.
    fn rest(&mut self) -> bool {
        if !self.flights.is_empty() || self.virtual_scheduler.scheduler.has_work() {
            self.agenda.push(self.now_ns() + 10 * MS, Step::Rest);
            return false;
        }
        self.virtual_scheduler.scheduler.check();
        self.check_gangs();
        self.check_nominations();
        self.check_nothing_waits_for_nothing();
        if self.is_last_rest {
            self.check_all_are_bound();
            return true;
        }
        self.next_of_script();
        false
    }

    /// minCount of a group that is there, 0 if it is basic.
    fn min_count(&self, group: &str) -> Option<usize> {
        let Ok(Object::Other(object)) = self.api.get(&self.group_key(group)) else { return None };
        let min_count = object.body["spec"]["schedulingPolicy"]["gang"]["minCount"].as_u64();
        Some(min_count.map_or(0, |count| usize::try_from(count).expect("a small number")))
    }

    fn members(&self, group: &str) -> Vec<StoredPodRow> {
        let is_of = |row: &&StoredPodRow| self.group_of(row).as_deref() == Some(group);
        self.truth.pods.values().filter(is_of).copied().collect()
    }

    /// The group is there, and enough of its members.
    fn is_complete(&self, group: &str) -> bool {
        self.min_count(group).is_some_and(|min_count| min_count <= self.members(group).len())
    }

    fn check_gangs(&mut self) {
        self.note(Invariant::GangsAreWhole);
        for group in (0..GROUPS).map(group_name) {
            let Some(min_count) = self.min_count(&group) else { continue };
            let bound = self.members(&group).iter().filter(|row| row.node.is_some()).count();
            if 0 < bound && bound < min_count && !self.excused.contains(&group) {
                let message = format!("{bound} members of {group} are bound, and minCount is {min_count}");
                self.fail(Invariant::GangsAreWhole, message);
            }
        }
    }

    /// Victims are gone at once, so a group that preempted has its place by now, or has given up. One that is
    /// not tried, because its object is gone or too few members are left, keeps what it was nominated to.
    fn check_nominations(&mut self) {
        self.note(Invariant::GangsKeepNoRoom);
        let nominator = self.virtual_scheduler.scheduler.world().nominator();
        let nominated = nominator.nodes().flat_map(|(_, pods)| pods.iter().map(|it| it.pod));
        let is_tried = |pod: &PodUid| {
            let group = self.truth.pods.get(pod).and_then(|row| self.group_of(row));
            group.is_some_and(|group| self.is_complete(&group))
        };
        if let Some(pod) = nominated.filter(is_tried).min() {
            self.fail(Invariant::GangsKeepNoRoom, format!("member {} has no place, and holds room", pod.0));
        }
    }

    /// A scheduler that has never seen anything would place nobody and evict nobody: so no room is kept for a
    /// gang that gave up, and no two gangs wait for each other.
    fn check_nothing_waits_for_nothing(&mut self) {
        self.note(Invariant::NothingFitsAndWaits);
        let mut other = fresh(self.scenario, Mutants::default());
        let mut events = Vec::new();
        self.truth.list(&mut events);
        let now_ns = self.now_ns();
        events.iter().for_each(|event| other.deliver(event, &self.api, now_ns));
        for _ in 0..2 * self.truth.pods.len() + 4 {
            match other.scheduler.schedule_one(&mut NoProbe) {
                ScheduleOneOutcome::Idle => break,
                ScheduleOneOutcome::Assumed { pod, .. } => {
                    let pod = other.scheduler.world().pods().get(pod).uid.0;
                    let message = format!("pod {pod} waits, but it fits");
                    return self.fail(Invariant::NothingFitsAndWaits, message);
                }
                _ => {}
            }
        }
        let mut calls = Vec::new();
        other.take_calls(&self.api, &mut calls);
        let evicts =
            |call: &&ReadyCall| matches!(call.effect, Effect::Delete | Effect::AddDisruptionTarget { .. });
        if let Some(call) = calls.iter().find(evicts) {
            let message = format!("pod {} may stay, but it would be evicted for one that waits", call.pod.0);
            self.fail(Invariant::NothingFitsAndWaits, message);
        }
    }

    /// With room for all, who waits has a reason: its group is not there, or not enough of it are.
    fn check_all_are_bound(&mut self) {
        self.note(Invariant::GangsAreComplete);
        let pods: Vec<StoredPodRow> = self.truth.pods.values().copied().collect();
        for row in pods.iter().filter(|row| row.node.is_none() && !row.flags.contains(PodFlags::TERMINATING))
        {
            let has_reason = self.group_of(row).is_some_and(|group| !self.is_complete(&group));
            if !has_reason {
                let message = format!("pod {} is not bound, although there is room for all", row.uid.0);
                return self.fail(Invariant::GangsAreComplete, message);
            }
        }
    }
}
