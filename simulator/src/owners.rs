//! Controllers that own pods, those that move them, and what holds them back: replica sets, a daemon set, a job,
//! a descheduler, a rescheduler, a quota, a disruption budget and the kubelets, beside two careless schedulers that
//! race for the same room.
//!
//! ```text
//!  seed ──▶ script: create, resize, delete, evict, restart ──▶ store ──late events──▶ controllers
//!                                                               ▲                         │ calls, late,
//!                                                               └───── lost or refused ◀──┘ some lost
//! ```
//!
//! It runs behind each scenario of the profile `controllers`, from the same seed. What must hold is said in
//! plain counts over the store, which share no code with the controllers.

mod checks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{
    Api, ApiError, Binding, ConditionEdit, ConditionPatch, ConditionStatus, NominatedNodeNamePatch, Object,
    ObjectKey, PodFilter, PodFlags, PodPhase, PodStatusPatch, StatusReason, StoredPodRow, Watch, WatchEvent,
    WatchedObject,
};
use schedlab_cluster::controllers::{
    ControllerAnswer, ControllerDescriptor, ControllerRequest, ControllerSettings, daemon, descheduler,
    disruption, job, kubelet, replicaset, rescheduler,
};
use schedlab_cluster::runtime::virtual_time::{Agenda, ShardCall, VirtualClock, VirtualController};
use schedlab_core::cycle::select::Draws;
use schedlab_core::ids::PodUid;
use serde_json::{Value, json};

use super::scenario::Scenario;
use super::violation::{CheckCounts, Invariant, Violation};

const MS: u64 = 1_000_000;
/// Things that the script does.
const SCRIPT_STEPS: usize = 60;
/// Steps after which a run that finds no rest is taken to run in circles.
const STEPS_MAX: u64 = 100_000;
/// How much CPU a pod asks for and a node has.
const POD_CPU: i64 = 1;
const NODE_CPU: i64 = 3;
/// Pods under the budget at the begin.
const KEPT_FIRST: usize = 4;
/// Pods of the budget that must stay.
const MUST_STAY: i64 = 2;

const PARTIES: [&ControllerDescriptor; 7] = [
    &replicaset::DESCRIPTOR,
    &daemon::DESCRIPTOR,
    &job::DESCRIPTOR,
    &disruption::DESCRIPTOR,
    &kubelet::DESCRIPTOR,
    &descheduler::DESCRIPTOR,
    &rescheduler::DESCRIPTOR,
];
/// From here on they are those that move pods: they end with the script, or nothing would come to rest.
const FIRST_MOVER: usize = 5;
/// Pods that nobody owns.
const LONE_PODS: usize = 3;

/// What is to happen.
enum Step {
    Script,
    Deliver { party: usize, epoch: u32 },
    Arrive { party: usize, epoch: u32, flight: usize },
    Answer { party: usize, epoch: u32, flight: usize },
    Wake { party: usize, epoch: u32 },
    Schedule { scheduler: usize },
}

struct Flight {
    call: ShardCall,
    answer: Option<Result<ControllerAnswer, ApiError>>,
}

/// A controller, and what is on its way to it.
struct Party {
    controller: VirtualController,
    epoch: u32,
    inbox: VecDeque<WatchEvent>,
    last_ns: u64,
    flights: BTreeMap<usize, Flight>,
    wake_ns: Option<u64>,
}

/// A run under way.
struct Owners<'s> {
    scenario: &'s Scenario,
    clock: VirtualClock,
    api: EmbeddedCluster,
    watch: Box<dyn Watch>,
    agenda: Agenda<Step>,
    parties: Vec<Party>,
    draws: Draws,
    flights: usize,
    script_left: usize,
    /// Pods of the set that the budget is about.
    kept: usize,
    steps: u64,
    /// Unfinished pods at the last look, and what the quota allows.
    pods_before: i64,
    /// Pods that nobody owns: nobody may take them away.
    lone: BTreeSet<PodUid>,
    checks: CheckCounts,
    violation: Option<Violation>,
}

/// What came of it.
pub(super) struct OwnersOutcome {
    pub(super) steps: u64,
    pub(super) checks: CheckCounts,
    pub(super) violation: Option<Violation>,
}

/// Runs the controllers of owners behind a scenario.
pub(super) fn run_owners(scenario: &Scenario) -> OwnersOutcome {
    let mut run = Owners::new(scenario);
    run.run();
    OwnersOutcome { steps: run.steps, checks: run.checks, violation: run.violation }
}

fn make(at: usize, scenario: &Scenario) -> VirtualController {
    let mutants = scenario.setup.controller_mutants;
    let config = config_of(PARTIES[at].name);
    let settings =
        ControllerSettings { config, seed: scenario.seed, mutants, ..ControllerSettings::default() };
    VirtualController::new(PARTIES[at], &settings, 1 + (scenario.seed % 2) as usize)
        .expect("their configurations will do")
}

/// Those that move pods do so as often as they can.
fn config_of(name: &str) -> Option<Value> {
    let plugins = ["RemoveDuplicates", "LowNodeUtilization"];
    let policy = json!({ "apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [{
        "name": "moves", "pluginConfig": [{ "name": plugins[1], "args": {
            "thresholds": { "cpu": 40 }, "targetThresholds": { "cpu": 60 } } }],
        "plugins": { "balance": { "enabled": plugins } } }] });
    match name {
        "descheduler" => Some(json!({ "intervalSeconds": 0.05, "policy": policy })),
        "rescheduler" => {
            Some(json!({ "intervalSeconds": 0.03, "pendingSeconds": 0.1, "redistributes": true }))
        }
        _ => None,
    }
}

fn owner(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({ "matchLabels": { "app": name } });
    spec["template"] = json!({ "metadata": { "labels": { "app": name } }, "spec": { "containers": [
        { "name": "c", "resources": { "requests": { "cpu": POD_CPU.to_string() } } }] } });
    json!({ "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "namespace": "default" }, "spec": spec })
}

fn set(name: &str, replicas: usize) -> Value {
    owner("apps/v1", "ReplicaSet", name, json!({ "replicas": replicas }))
}

impl<'s> Owners<'s> {
    fn new(scenario: &'s Scenario) -> Owners<'s> {
        let clock = VirtualClock::default();
        clock.set(1_000_000 * MS);
        let api = EmbeddedCluster::new(clock.reader());
        api.give_mutants(scenario.setup.controller_mutants);
        let watch = api.watch(api.resource_version()).expect("a new store has kept everything");
        let party = |at: usize| Party {
            controller: make(at, scenario),
            epoch: 0,
            inbox: VecDeque::new(),
            last_ns: 0,
            flights: BTreeMap::new(),
            wake_ns: None,
        };
        Owners {
            scenario,
            clock,
            api,
            watch,
            agenda: Agenda::default(),
            parties: (0..PARTIES.len()).map(party).collect(),
            draws: Draws::new(scenario.seed ^ 0x6f77_6e65_7273),
            flights: 0,
            script_left: SCRIPT_STEPS,
            kept: KEPT_FIRST,
            steps: 0,
            pods_before: 0,
            lone: BTreeSet::new(),
            checks: CheckCounts::default(),
            violation: None,
        }
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn later(&mut self, ms_max: usize, step: Step) {
        let after_ns = (1 + self.draws.below(ms_max) as u64) * MS;
        self.agenda.push(self.now_ns() + after_ns, step);
    }

    fn run(&mut self) {
        (0..3).for_each(|number| self.create_node(number));
        self.write(set("kept", KEPT_FIRST));
        self.write(json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": { "name": "kept", "namespace": "default" },
            "spec": { "minAvailable": MUST_STAY, "selector": { "matchLabels": { "app": "kept" } } } }));
        (0..LONE_PODS).for_each(|number| self.create_lone(number));
        self.publish();
        self.later(5, Step::Script);
        (0..2).for_each(|scheduler| self.later(5, Step::Schedule { scheduler }));
        while self.violation.is_none() {
            let Some((at_ns, step)) = self.agenda.pop() else { break };
            self.clock.set(at_ns);
            self.steps += 1;
            if STEPS_MAX < self.steps {
                self.fail(Invariant::BoundedAttempts, "controllers of owners find no rest".to_owned());
                break;
            }
            self.perform(step);
            self.publish();
            self.check_quota();
            self.check_room();
            self.check_lone();
        }
        if self.violation.is_none() {
            self.check_at_rest();
        }
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Script => self.script(),
            Step::Schedule { scheduler } => self.schedule(scheduler),
            Step::Deliver { party, epoch } if self.parties[party].epoch == epoch => self.deliver(party),
            Step::Arrive { party, epoch, flight } if self.parties[party].epoch == epoch => {
                self.arrive(party, flight);
            }
            Step::Answer { party, epoch, flight } if self.parties[party].epoch == epoch => {
                self.answer(party, flight);
            }
            Step::Wake { party, epoch } if self.parties[party].epoch == epoch => {
                self.parties[party].wake_ns = None;
                self.after(party);
            }
            // Of a controller that was restarted.
            Step::Deliver { .. } | Step::Arrive { .. } | Step::Answer { .. } | Step::Wake { .. } => {}
        }
    }

    /// Refusals are part of the game.
    fn write(&mut self, value: Value) {
        let object = Object::from_json(value).expect("well formed");
        if self.api.create(object.clone()).is_err() {
            let _ = self.api.update(object);
        }
    }

    fn delete(&mut self, api_version: &str, kind: &str, name: &str) {
        let _ = self.api.delete(&ObjectKey::namespaced(api_version, kind, "default", name), None);
    }

    fn create_node(&mut self, number: usize) {
        let name = format!("n{number}");
        let amounts = json!({ "cpu": NODE_CPU.to_string(), "pods": "10" });
        self.write(json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "status": { "capacity": amounts, "allocatable": amounts } }));
    }

    fn create_lone(&mut self, number: usize) {
        self.write(json!({ "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": format!("lone-{number}"), "namespace": "default", "labels": { "app": "lone" } },
            "spec": { "containers": [
                { "name": "c", "resources": { "requests": { "cpu": POD_CPU.to_string() } } }] } }));
    }

    fn script(&mut self) {
        self.script_left -= 1;
        match self.draws.below(14) {
            0 | 1 => {
                let replicas = self.draws.below(6);
                self.write(set("web", replicas));
            }
            2 => self.delete("apps/v1", "ReplicaSet", "web"),
            3 => {
                // Never fewer: who makes a set smaller need not heed the budget, and its status is behind then.
                self.kept = self.kept.max(4 + self.draws.below(3));
                self.write(set("kept", self.kept));
            }
            4 => self.write(owner("apps/v1", "DaemonSet", "log", json!({}))),
            5 => {
                let spec = json!({ "parallelism": 1 + self.draws.below(3), "completions": 3 });
                self.write(owner("batch/v1", "Job", "sum", spec));
            }
            6 | 7 => {
                let pods = 3 + self.draws.below(8);
                self.write(json!({ "apiVersion": "v1", "kind": "ResourceQuota",
                    "metadata": { "name": "q", "namespace": "default" },
                    "spec": { "hard": { "pods": pods } } }));
                // Who lowers a quota below what is used takes nobody's pod away.
                self.pods_before = self.unfinished();
            }
            8 => self.delete("v1", "ResourceQuota", "q"),
            9..=11 => self.evict(),
            12 => {
                let number = 3 + self.draws.below(2);
                self.create_node(number);
            }
            _ => {
                let party = self.draws.below(PARTIES.len());
                self.restart(party);
            }
        }
        if self.draws.below(3) == 0 {
            self.end_a_pod_of_the_job();
        }
        if 0 < self.script_left {
            self.later(60, Step::Script);
        } else {
            self.delete("v1", "ResourceQuota", "q");
        }
    }

    fn end_a_pod_of_the_job(&mut self) {
        let of_job = |row: &&StoredPodRow| {
            self.label(row, "app").as_deref() == Some("sum") && row.phase == PodPhase::Running
        };
        let pods = self.api.pods_now(PodFilter::default());
        let Some(row) = pods.iter().find(of_job) else { return };
        let phase = Some(if self.draws.below(5) == 0 { PodPhase::Failed } else { PodPhase::Succeeded });
        let nomination = NominatedNodeNamePatch::Keep;
        let patch = PodStatusPatch { pod: row.uid, condition: None, nomination, phase };
        let _ = self.api.patch_pod_status(patch);
    }

    fn label(&self, row: &StoredPodRow, key: &str) -> Option<String> {
        self.api.pod_spec(row.spec).input.labels.get(key).cloned()
    }

    fn is_ready(&self, row: &StoredPodRow) -> bool {
        let conditions = self.api.pod_conditions(row.conditions);
        let is_ready =
            conditions.iter().any(|it| &*it.type_ == "Ready" && it.status == ConditionStatus::True);
        row.phase == PodPhase::Running && is_ready && !row.flags.contains(PodFlags::TERMINATING)
    }

    /// The pods that run under the budget.
    fn healthy(&self) -> Vec<PodUid> {
        let pods = self.api.pods_now(PodFilter::default());
        let healthy =
            |row: &&StoredPodRow| self.label(row, "app").as_deref() == Some("kept") && self.is_ready(row);
        pods.iter().filter(healthy).map(|row| row.uid).collect()
    }

    /// Somebody evicts a pod that runs under the budget.
    fn evict(&mut self) {
        let healthy = self.healthy();
        if !healthy.is_empty() {
            let pod = healthy[self.draws.below(healthy.len())];
            // A refusal is what budgets are for.
            let _ = self.perform_call(&ControllerRequest::EvictPod(pod));
        }
    }

    /// Performs a call. An eviction is held to the budget.
    fn perform_call(&mut self, request: &ControllerRequest) -> Result<ControllerAnswer, ApiError> {
        let ControllerRequest::EvictPod(pod) = request else { return request.perform(&self.api) };
        let healthy = self.healthy();
        let answer = request.perform(&self.api);
        self.checks.note(Invariant::BudgetsOfEvictions);
        let left = i64::try_from(healthy.len()).expect("few") - 1;
        if answer.is_ok() && healthy.contains(pod) && left < MUST_STAY {
            let pod = pod.0;
            let message =
                format!("pod {pod} is evicted, {left} healthy pods are left of {MUST_STAY} that must stay");
            self.fail(Invariant::BudgetsOfEvictions, message);
        }
        answer
    }

    /// Two schedulers that do not look at each other: while the script runs each binds any pod to any node,
    /// afterwards only to one that has room.
    fn schedule(&mut self, scheduler: usize) {
        let pods = self.api.pods_now(PodFilter::default());
        let pending: Vec<&StoredPodRow> =
            pods.iter().filter(|row| row.node.is_none() && !row.phase.is_finished()).collect();
        let mut has_bound = false;
        if !pending.is_empty() {
            let is_careless = 0 < self.script_left;
            let at = self.draws.below(pending.len());
            let other = self.draws.below(5);
            let tried = if is_careless { &pending[at..=at] } else { &pending[..] };
            for row in tried {
                if is_careless && self.draws.below(4) == 0 {
                    self.say_unschedulable(row.uid);
                    break;
                }
                let named = target_of(&self.api.pod_spec(row.spec).object);
                let nodes = match named {
                    Some(node) => vec![node],
                    None if is_careless => vec![format!("n{other}")],
                    None => (0..5).map(|number| format!("n{number}")).collect(),
                };
                let node = nodes.into_iter().find(|node| is_careless || self.has_room(node));
                let Some(node) = node else { continue };
                let node = self.api.node_name_id(&node);
                has_bound |= self.api.bind_pod(Binding { pod: row.uid, node }).is_ok();
                break;
            }
        }
        // The other scheduler's step may be the last thing on the agenda.
        if 0 < self.script_left || has_bound || 1 < self.agenda.len() {
            self.later(20, Step::Schedule { scheduler });
        }
    }

    /// As a scheduler that has found no node.
    fn say_unschedulable(&self, pod: PodUid) {
        let (status, reason) = (ConditionStatus::False, "Unschedulable");
        let condition = ConditionPatch { type_: "PodScheduled", status, reason, message: "" };
        let condition = Some(ConditionEdit::Set(condition));
        let nomination = NominatedNodeNamePatch::Keep;
        let _ = self.api.patch_pod_status(PodStatusPatch { pod, condition, nomination, phase: None });
    }

    fn has_room(&self, node: &str) -> bool {
        let id = self.api.node_name_id(node);
        let pods = self.api.pods_now(PodFilter::default());
        let on_it = pods.iter().filter(|row| row.node == Some(id) && !row.phase.is_finished()).count();
        let fits = i64::try_from(on_it + 1).expect("few") * POD_CPU <= NODE_CPU;
        fits && self.api.get(&ObjectKey::node(node)).is_ok()
    }

    /// Hands events to all controllers, each after a while of its own.
    fn publish(&mut self) {
        let mut events: Vec<WatchEvent> = Vec::new();
        self.watch.drain_into(&mut events).expect("the log keeps a run's events");
        for event in events {
            if is_stranded(&event) {
                self.free(&event);
            }
            for party in 0..PARTIES.len() {
                let after_ns = (1 + self.draws.below(15) as u64) * MS;
                let at_ns = (self.now_ns() + after_ns).max(self.parties[party].last_ns);
                let to = &mut self.parties[party];
                to.last_ns = at_ns;
                to.inbox.push_back(event.clone());
                self.agenda.push(at_ns, Step::Deliver { party, epoch: to.epoch });
            }
        }
    }

    /// A pod that its kubelet refused is in nobody's way.
    fn free(&mut self, event: &WatchEvent) {
        let WatchedObject::Pod(row) = &event.object else { return };
        if self.draws.below(4) == 0 {
            let _ = self.api.delete_pod(row.uid);
            self.lone.remove(&row.uid);
        }
    }

    fn deliver(&mut self, party: usize) {
        let now_ns = self.now_ns();
        let to = &mut self.parties[party];
        let event = to.inbox.pop_front().expect("a step for each event");
        to.controller.deliver(&event, &self.api, now_ns);
        self.after(party);
    }

    fn after(&mut self, party: usize) {
        if FIRST_MOVER <= party && self.script_left == 0 {
            return;
        }
        let now_ns = self.now_ns();
        let mut calls = Vec::new();
        let of = &mut self.parties[party];
        of.controller.advance(&self.api, now_ns);
        of.controller.take_calls(&self.api, now_ns, &mut calls);
        let epoch = of.epoch;
        for call in calls {
            self.flights += 1;
            let flight = self.flights;
            self.parties[party].flights.insert(flight, Flight { call, answer: None });
            self.later(10, Step::Arrive { party, epoch, flight });
        }
        let of = &mut self.parties[party];
        let wake_ns = of.controller.next_wake_ns().map(|wake_ns| wake_ns.max(now_ns + 1));
        if let Some(wake_ns) = wake_ns.filter(|wake_ns| of.wake_ns.is_none_or(|known_ns| *wake_ns < known_ns))
        {
            of.wake_ns = Some(wake_ns);
            self.agenda.push(wake_ns, Step::Wake { party, epoch });
        }
    }

    fn arrive(&mut self, party: usize, flight: usize) {
        let epoch = self.parties[party].epoch;
        let request = self.parties[party].flights[&flight].call.call.request.clone();
        let error = |reason| Err(ApiError { reason, message: "a fault of the simulation".to_owned() });
        // While the script runs, some calls fail, and some are done without an answer.
        let fault = if 0 < self.script_left { self.draws.below(12) } else { 12 };
        let answer = match fault {
            0 => error(StatusReason::InternalError),
            1 => {
                let _ = self.perform_call(&request);
                error(StatusReason::Timeout)
            }
            _ => self.perform_call(&request),
        };
        self.parties[party].flights.get_mut(&flight).expect("looked up just now").answer = Some(answer);
        self.later(10, Step::Answer { party, epoch, flight });
    }

    fn answer(&mut self, party: usize, flight: usize) {
        let now_ns = self.now_ns();
        let of = &mut self.parties[party];
        let Flight { call, answer } = of.flights.remove(&flight).expect("a call is answered once");
        let answer = answer.expect("it has arrived");
        of.controller.answer(&call, &answer, &self.api, now_ns);
        self.after(party);
    }

    /// The new one lists everything; calls of the old one that have not arrived never do.
    fn restart(&mut self, party: usize) {
        let now_ns = self.now_ns();
        let epoch = self.parties[party].epoch + 1;
        let mut controller = make(party, self.scenario);
        controller.list(&self.api, now_ns).expect("the store lists");
        let last_ns = self.parties[party].last_ns;
        self.parties[party] = Party {
            controller,
            epoch,
            inbox: VecDeque::new(),
            last_ns,
            flights: BTreeMap::new(),
            wake_ns: None,
        };
        self.after(party);
    }

    fn fail(&mut self, invariant: Invariant, message: String) {
        let (at_ns, event) = (self.now_ns(), self.steps);
        self.violation.get_or_insert(Violation { invariant, message, at_ns, event });
    }

    fn unfinished(&self) -> i64 {
        let pods = self.api.pods_now(PodFilter::default());
        i64::try_from(pods.iter().filter(|row| !row.phase.is_finished()).count()).expect("few")
    }
}

/// Its kubelet had no room for it.
fn is_stranded(event: &WatchEvent) -> bool {
    matches!(&event.object, WatchedObject::Pod(row) if row.phase == PodPhase::Failed)
        && event.kind != schedlab_cluster::api::EventKind::Deleted
}

/// The node that a pod's affinity names.
fn target_of(pod: &k8s_openapi::api::core::v1::Pod) -> Option<String> {
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let field = required.node_selector_terms.first()?.match_fields.as_ref()?.first()?;
    field.values.as_ref()?.first().cloned()
}
