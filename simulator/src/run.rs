//! One run: the agenda's items one after the other, the script among them.
//!
//! ```text
//!  script ──▶ store ──events──▶ pipe of each scheduler ──▶ seen, Scheduler ──calls──▶ lanes
//!               ▲                                                                      │
//!               └──────────────── arrival, unless a fault meets it ◀───────────────────┘
//! ```

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_core::cycle::select::Draws;
use schedlab_core::framework::points::Request;
use schedlab_core::ids::PodUid;

use super::actor::Actor;
use super::controllers::{ControllerActor, controller_at};
use super::faults::{CallFault, FaultCounts, FaultProfile, SimulatedCallKind};
use super::item::Item;
use super::judge::View;
use super::owners::run_owners;
use super::pod_groups::run_pod_groups;
use super::scenario::{NODES_MAX, NodeNumber, Scenario, ScriptAction};
use super::shape::{NodeShape, PodShape};
use super::truth::Objects;
use super::violation::{CheckCounts, Invariant, Violation};
use schedlab_cluster::api::{Api, PodTemplateRef, StoredPodRow, Watch, WatchEvent};
use schedlab_cluster::embedded::EmbeddedCluster;
use schedlab_cluster::latency::Latency;
use schedlab_cluster::runtime::virtual_time::{Agenda, ReadyCall, VirtualClock};

/// Virtual time that a scenario may take to come to rest after its script has paused.
const REST_WITHIN_NS: u64 = 1_800_000_000_000;
/// Events that it may take.
const REST_WITHIN_EVENTS: u64 = 60_000;
const SECOND: u64 = 1_000_000_000;
/// A look at all of a scheduler costs as much as some ten events.
const CHECK_EVERY_EVENTS: u64 = 256;

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct SimulationOutcome {
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
    pub(super) watch: Box<dyn Watch>,
    pub(super) agenda: Agenda<Item>,
    /// Items on the agenda that are no wakes.
    busy: usize,
    /// Held, so that a node's id is its number as long as the run lasts.
    #[allow(dead_code, reason = "held, not read")]
    node_names: Vec<Arc<str>>,
    pub(super) actors: Vec<Actor>,
    pub(super) controllers: Vec<ControllerActor>,
    pub(super) truth: Objects,
    /// Pods of the script, as they are now.
    pub(super) handles: FxHashMap<u32, PodUid>,
    /// The script's number of a pod: what its latencies are drawn by.
    pub(super) number_of: FxHashMap<PodUid, u32>,
    pub(super) shape_of_spec: Vec<u8>,
    pub(super) node_shapes: FxHashMap<u64, NodeShape>,
    pub(super) templates: Vec<Option<PodTemplateRef>>,
    pub(super) armed: Vec<(SimulatedCallKind, CallFault, u8)>,
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
    pub(super) trace: Option<Vec<String>>,
    pub(super) drained: Vec<WatchEvent>,
    pub(super) calls: Vec<ReadyCall>,
    pub(super) view: View,
}

/// Runs a scenario to its end or to the first violation.
#[must_use]
pub fn run(scenario: &Scenario) -> SimulationOutcome {
    if scenario.profile == FaultProfile::Groups {
        return run_pod_groups(scenario, None).0;
    }
    let mut outcome = Simulation::new(scenario).run().0;
    if scenario.profile == FaultProfile::Controllers && outcome.violation.is_none() {
        let owners = run_owners(scenario);
        outcome.events += owners.steps;
        outcome.checks.add(&owners.checks);
        outcome.violation = owners.violation;
    }
    outcome
}

/// Runs a scenario and tells all that happened, a line an event.
#[must_use]
pub fn run_traced(scenario: &Scenario) -> (SimulationOutcome, Vec<String>) {
    if scenario.profile == FaultProfile::Groups {
        return run_pod_groups(scenario, Some(Vec::new()));
    }
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
        if !scenario.setup.gates.clearing_nominated_node_name_after_binding {
            api.keep_nomination_of_bound_pods();
        }
        if scenario.setup.gates.node_affinity_required_during_execution {
            api.keep_execution_affinity();
        }
        api.set_reclaim_floor(scenario.seed % 64);
        let node_names =
            (0..NODES_MAX).map(|at| api.node_name(api.node_name_id(&NodeNumber(at).to_string())));
        let node_names = node_names.collect();
        let watch = api.watch(0).expect("a new store has kept everything");
        let actors = (0..scenario.setup.schedulers)
            .map(|number| Actor::new(number, 0, scenario.seed, &scenario.setup, &api))
            .collect();
        let controllers = (0..scenario.setup.controllers.len())
            .map(|at| ControllerActor::new(at, 0, scenario.seed, &scenario.setup))
            .collect();
        Simulation {
            scenario,
            clock,
            api,
            watch,
            agenda: Agenda::default(),
            busy: 0,
            node_names,
            actors,
            controllers,
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

    fn run(mut self) -> (SimulationOutcome, Vec<String>) {
        self.create_namespaces();
        self.publish();
        self.schedule_script();
        while self.violation.is_none() {
            if self.is_settling && self.busy == 0 && self.is_settled() {
                self.check_schedulers();
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
                if self.events.is_multiple_of(CHECK_EVERY_EVENTS) {
                    self.check_schedulers();
                }
            }
            self.check_patience();
        }
        let outcome = SimulationOutcome {
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

    pub(super) fn shape_of(&self, row: &StoredPodRow) -> &'s PodShape {
        &self.scenario.shapes[usize::from(self.shape_of_spec[row.spec.0 as usize])]
    }

    pub(super) fn number_of(&self, pod: PodUid) -> u64 {
        u64::from(self.number_of.get(&pod).copied().unwrap_or(u32::MAX))
    }

    fn schedule_script(&mut self) {
        self.paused_ns = self.now_ns();
        self.paused_events = self.events;
        match self.scenario.script.get(self.at) {
            Some(event) if event.action != ScriptAction::Settle => {
                self.is_settling = false;
                self.push(self.now_ns() + event.after_us * 1000, Item::Script);
            }
            _ => self.is_settling = true,
        }
    }

    fn is_settled(&self) -> bool {
        self.actors.iter().all(|actor| actor.is_quiet() && actor.scheduler().is_settled())
            && self.controllers.iter().all(ControllerActor::is_settled)
    }

    /// What the schedulers keep twice says the same. A panic of theirs is a violation of its own.
    fn check_schedulers(&self) {
        self.actors.iter().for_each(|actor| actor.scheduler().check());
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
            Item::Arrive { actor, incarnation, flight } => {
                return match controller_at(actor) {
                    Some(at) => self.arrive_of_controller(at, incarnation, flight),
                    None => self.arrive(actor, incarnation, flight),
                };
            }
            Item::Answer { actor, incarnation, flight } => {
                return match controller_at(actor) {
                    Some(at) => self.answer_to_controller(at, incarnation, flight),
                    None => self.answer(actor, incarnation, flight),
                };
            }
            Item::Wake { actor, incarnation } => {
                return match controller_at(actor) {
                    Some(at) => self.wake_controller(at, incarnation),
                    None => self.wake(actor, incarnation),
                };
            }
            Item::Step { actor, incarnation } => return self.step(actor, incarnation),
            Item::EndPod(pod) => {
                let is_there = self.api.end_pod(pod);
                self.publish();
                return is_there;
            }
            Item::CollectPod(pod) => return self.collect(pod),
            Item::Permit { actor, incarnation, pod } => return self.decide_permit(actor, incarnation, pod),
            Item::Reject { actor, incarnation, pod, plugin, wait } => {
                return self.reject(actor, incarnation, pod, (plugin, wait));
            }
            Item::Activate { actor, incarnation, pod } => {
                return self.request(actor, incarnation, Request::Activate { pod });
            }
        }
        true
    }
}
