//! Scenarios from seeds. Each seed picks a few features with uneven weights, so that rare mixes
//! occur, and then a script that uses them.

use schedlab_cluster::controllers::{self, ControllerMutants};
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::cycle::select::Draws;
use schedlab_core::mutants::Mutants;
use schedlab_core::scheduler::{FeatureGates, NominatedNodeNameMiss, PlainBindings};

use super::controllers::FIRST_CONTROLLER;
use super::faults::{CallFault, Fault, FaultProfile, SimulatedCallKind, Stream};
use super::pod_groups;
use super::scenario::{NodeNumber, PodHandle, Scenario, ScriptAction, ScriptEvent, SimulationSetup};
use super::shape::{Domain, Hold, NoExecuteToleration, NodeShape, PodShape, SimulatedPreBind, TermScope};
use schedlab_cluster::latency::{Latency, RateLimit};

/// Roles that nodes may have and execution terms may ask for.
const ROLES: u64 = 3;

/// A stream of choices.
struct Choices(Draws);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(usize::try_from(high - low + 1).unwrap_or(usize::MAX)) as u64
    }

    /// True so many times in a hundred.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// What the pods of a scenario may use.
#[derive(Clone, Copy, Debug, Default)]
struct Features {
    zones: bool,
    taints: bool,
    priorities: bool,
    avoids: bool,
    joins: bool,
    spreads: bool,
    ports: bool,
    lingers: bool,
    gates: bool,
    claims: bool,
    permit: bool,
    passes: bool,
    pre_bind: bool,
    budgets: bool,
    nominations: bool,
    node_changes: bool,
}

impl Features {
    fn of(choices: &mut Choices, profile: FaultProfile) -> Features {
        let rivals = profile.includes(FaultProfile::Rivals);
        Features {
            zones: choices.chance(45),
            taints: choices.chance(25),
            priorities: choices.chance(65),
            avoids: choices.chance(30),
            joins: choices.chance(15),
            spreads: choices.chance(25),
            ports: choices.chance(15),
            lingers: choices.chance(50),
            gates: choices.chance(25),
            claims: choices.chance(20),
            permit: choices.chance(30),
            passes: choices.chance(25),
            pre_bind: choices.chance(30),
            budgets: choices.chance(25),
            nominations: rivals && choices.chance(75),
            node_changes: choices.chance(50),
        }
        .of_interest_to(profile)
    }

    /// With what the profile is about. Nothing is drawn: a seed means the same in all other profiles.
    fn of_interest_to(self, profile: FaultProfile) -> Features {
        match profile {
            FaultProfile::Domains => Features {
                zones: true,
                // One of them at least, and often one alone.
                avoids: self.avoids || !(self.joins || self.spreads),
                node_changes: true,
                ..self
            },
            FaultProfile::Nominations => {
                Features { nominations: true, passes: true, pre_bind: self.pre_bind || self.permit, ..self }
            }
            FaultProfile::Victims => Features { priorities: true, lingers: true, ..self },
            FaultProfile::Namespaces => Features {
                avoids: self.avoids || !self.joins,
                // A budget is of the first namespace, and protects nobody in the second.
                budgets: false,
                ..self
            },
            FaultProfile::Controllers => Features { node_changes: true, ..self },
            FaultProfile::Backlog => {
                Features { zones: true, priorities: true, spreads: true, node_changes: true, ..self }
            }
            _ => self,
        }
    }
}

/// The scenario of a seed.
#[must_use]
pub fn generate(seed: u64, profile: FaultProfile) -> Scenario {
    let mut choices = Choices(Draws::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ profile as u64));
    let features = Features::of(&mut choices, profile);
    let mut setup = setup(&mut choices, profile, &features);
    // Not drawn, so that a seed's script is what it was before the gate was known: one in five has an
    // API server that is older than its scheduler.
    setup.gates.clearing_nominated_node_name_after_binding = seed % 5 != 3;
    let shape_count = choices.range(2, 6) as usize;
    let mut shapes: Vec<PodShape> =
        (0..shape_count).map(|_| shape(&mut choices, &features, setup.schedulers)).collect();
    if profile == FaultProfile::Victims {
        await_victims(&mut setup, &mut shapes);
    }
    if profile == FaultProfile::Backlog {
        queue_calls(&mut setup, &mut shapes);
    }
    if profile == FaultProfile::Namespaces {
        spread_over_namespaces(&mut shapes);
    }
    if profile == FaultProfile::Controllers {
        add_controllers(&mut choices, &mut setup, &mut shapes);
    }
    if profile == FaultProfile::Groups {
        (setup.schedulers, setup.has_plugins, setup.gates.generic_workload) = (1, false, true);
        let script = pod_groups::script(seed);
        return Scenario { seed, profile, setup, shapes: Vec::new(), script };
    }
    let script = Writer::new(choices, profile, features, &shapes, setup.schedulers).write();
    Scenario { seed, profile, setup, shapes, script }
}

/// Every other shape is evicted by those between, and takes its time to go.
fn await_victims(setup: &mut SimulationSetup, shapes: &mut [PodShape]) {
    setup.nominated_node_name_miss = NominatedNodeNameMiss::Requeue;
    setup.gates.try_nominated_node_first = true;
    for (at, shape) in shapes.iter_mut().enumerate() {
        let is_victim = at % 2 == 0;
        shape.priority = if is_victim { 0 } else { 10 };
        shape.lingers |= is_victim;
        shape.never_preempts &= is_victim;
        shape.cpu_milli = shape.cpu_milli.max(500);
    }
}

/// Calls wait behind each other, and every other shape preempts those between, where its zones allow it.
fn queue_calls(setup: &mut SimulationSetup, shapes: &mut [PodShape]) {
    setup.gates.scheduler_async_api_calls = true;
    setup.gates.nominated_node_name_for_expectation = false;
    setup.parallel_calls_max = 1;
    setup.call = Latency::Constant { ns: 300_000_000 };
    for (at, shape) in shapes.iter_mut().enumerate() {
        let preempts = at % 2 == 1;
        shape.priority = if preempts { 100 } else { shape.priority.min(5) };
        shape.never_preempts &= !preempts;
        shape.spreads = preempts.then_some((1, Domain::Zone));
        shape.cpu_milli = shape.cpu_milli.max(1000);
    }
}

/// Every other shape is in the second namespace, and most terms are about labelled namespaces.
fn spread_over_namespaces(shapes: &mut [PodShape]) {
    for (at, shape) in shapes.iter_mut().enumerate() {
        shape.namespace = u8::from(at % 2 == 1);
        shape.term_scope = if at % 4 == 3 { TermScope::Own } else { TermScope::Labelled };
    }
}

/// Controllers, and pods that they have something to do with. No other profile draws for this.
fn add_controllers(choices: &mut Choices, setup: &mut SimulationSetup, shapes: &mut [PodShape]) {
    setup.gates.node_affinity_required_during_execution = true;
    // The others have a simulation of their own (`owners.rs`).
    let all = controllers::IN_TREE.iter().take(2);
    setup.controllers = match choices.below(6) {
        0 => all.take(1).collect(),
        1 => all.skip(1).collect(),
        _ => all.collect(),
    };
    for shape in shapes {
        let role = |choices: &mut Choices| choices.range(0, ROLES - 1) as u8;
        shape.execution_terms = choices.chance(50).then(|| (role(choices), role(choices)));
        shape.no_execute = match choices.below(5) {
            0 => NoExecuteToleration::None,
            1 => NoExecuteToleration::Forever,
            _ => NoExecuteToleration::Seconds(choices.pick(&[1, 2, 3, 5, 10, 30])),
        };
    }
}

fn setup(choices: &mut Choices, profile: FaultProfile, features: &Features) -> SimulationSetup {
    let is_async = choices.chance(50);
    let gates = FeatureGates {
        nominated_node_name_for_expectation: choices.chance(70),
        try_nominated_node_first: choices.chance(80),
        scheduler_async_api_calls: is_async,
        scheduler_async_preemption: choices.chance(70),
        scheduler_pre_enqueue_pod_status: is_async && choices.chance(50),
        scheduler_pop_from_backoff_q: choices.chance(75),
        node_affinity_required_during_execution: false,
        clearing_nominated_node_name_after_binding: true,
        ..FeatureGates::default()
    };
    let has_rivals = profile.includes(FaultProfile::Rivals) || profile == FaultProfile::Nominations;
    let has_second = has_rivals && choices.chance(35);
    SimulationSetup {
        gates,
        class_cache: if choices.chance(80) { ClassCache::On } else { ClassCache::Off },
        schedulers: 1 + u8::from(has_second),
        has_plugins: features.permit
            || features.passes
            || features.pre_bind
            || features.claims
            || choices.chance(10),
        watch: latency(choices),
        call: latency(choices),
        cycle_ns: choices.pick(&[1_000, 100_000, 100_000, 1_000_000, 5_000_000]),
        limit: choices
            .chance(25)
            .then(|| RateLimit { qps: choices.pick(&[5.0, 20.0, 50.0]), burst: choices.pick(&[1, 5, 20]) }),
        parallel_calls_max: choices.pick(&[1, 2, 8, 64]),
        nominated_node_name_miss: choices.pick(&[
            NominatedNodeNameMiss::FallThrough,
            NominatedNodeNameMiss::FallThrough,
            NominatedNodeNameMiss::FallThrough,
            NominatedNodeNameMiss::Requeue,
        ]),
        plain_bindings: choices.pick(&[
            PlainBindings::Untracked,
            PlainBindings::Untracked,
            PlainBindings::Queued,
        ]),
        mutants: Mutants::default(),
        controllers: Vec::new(),
        controller_mutants: ControllerMutants::default(),
    }
}

fn latency(choices: &mut Choices) -> Latency {
    const MS: u64 = 1_000_000;
    let text = match choices.below(8) {
        0 => "0",
        1 => "1ms",
        2 => "20ms",
        3 => "uniform:0ms..3ms",
        4 => "uniform:1ms..400ms",
        5 => "lognormal:5ms,1",
        6 => "lognormal:60ms,1.2",
        _ => "percentiles:50=4ms,90=9ms,99=300ms",
    };
    text.parse().unwrap_or(Latency::Constant { ns: MS })
}

fn shape(choices: &mut Choices, features: &Features, schedulers: u8) -> PodShape {
    let domain = |choices: &mut Choices| {
        if features.zones && choices.chance(60) { Domain::Zone } else { Domain::Host }
    };
    let app = choices.range(0, 3) as u8;
    PodShape {
        cpu_milli: choices.pick(&[0, 100, 500, 500, 1000, 1000, 2000, 3000]),
        memory_mi: choices.pick(&[0, 64, 64, 512, 1024]),
        priority: if features.priorities { choices.pick(&[0, 0, 5, 10, 100, -5]) } else { 0 },
        never_preempts: features.priorities && choices.chance(10),
        app,
        zone: (features.zones && choices.chance(30)).then(|| choices.range(0, 1) as u8),
        tolerates: features.taints && choices.chance(50),
        avoids: (features.avoids && choices.chance(50))
            .then(|| (if choices.chance(60) { app } else { choices.range(0, 3) as u8 }, domain(choices))),
        joins: (features.joins && choices.chance(50))
            .then(|| (if choices.chance(50) { app } else { choices.range(0, 3) as u8 }, domain(choices))),
        spreads: (features.spreads && choices.chance(50))
            .then(|| (choices.range(1, 2) as u8, domain(choices))),
        term_scope: TermScope::Own,
        namespace: 0,
        port: (features.ports && choices.chance(50)).then(|| choices.pick(&[80, 443])),
        lingers: features.lingers && choices.chance(60),
        hold: match choices.below(4) {
            0 if features.gates => Hold::Gate,
            1 if features.claims => Hold::Claim,
            _ => Hold::None,
        },
        waits_at_permit: features.permit && choices.chance(50),
        needs_pass: features.passes && choices.chance(50),
        pre_bind: match choices.below(5) {
            0 if features.pre_bind => SimulatedPreBind::Call,
            1 if features.pre_bind => SimulatedPreBind::Wait,
            2 if features.pre_bind => SimulatedPreBind::Refuse,
            _ => SimulatedPreBind::None,
        },
        scheduler: u8::from(schedulers > 1 && choices.chance(40)),
        execution_terms: None,
        no_execute: NoExecuteToleration::None,
    }
}

/// Writes a script.
struct Writer<'a> {
    choices: Choices,
    profile: FaultProfile,
    features: Features,
    shapes: &'a [PodShape],
    schedulers: u8,
    script: Vec<ScriptEvent>,
    pods: Vec<PodHandle>,
    gated: Vec<PodHandle>,
    /// By number: what the node is when it is there.
    nodes: Vec<Option<NodeShape>>,
}

impl<'a> Writer<'a> {
    fn new(
        choices: Choices,
        profile: FaultProfile,
        features: Features,
        shapes: &'a [PodShape],
        schedulers: u8,
    ) -> Writer<'a> {
        Writer {
            choices,
            profile,
            features,
            shapes,
            schedulers,
            script: Vec::new(),
            pods: Vec::new(),
            gated: Vec::new(),
            nodes: Vec::new(),
        }
    }

    fn write(mut self) -> Vec<ScriptEvent> {
        let node_count = self.choices.range(1, 6) as usize;
        for _ in 0..node_count {
            let shape = self.node_shape();
            let number = NodeNumber(u8::try_from(self.nodes.len()).unwrap_or(u8::MAX));
            self.nodes.push(Some(shape));
            self.add(ScriptAction::CreateNode(number, shape));
        }
        let length = self.choices.pick(&[12, 25, 40, 70, 120]);
        // Some scenarios come in bursts, some drip.
        let drips = self.choices.chance(30);
        for _ in 0..length {
            let action = self.action();
            if let Some(action) = action {
                self.add(action);
            }
            if !drips && self.choices.chance(3) {
                self.add(ScriptAction::Settle);
            }
        }
        if (self.features.claims || self.features.passes) && self.choices.chance(60) {
            self.add(ScriptAction::CreateClaim);
        }
        if self.profile == FaultProfile::Nominations && self.choices.chance(60) {
            self.withdraw_unheard();
        }
        self.script
    }

    /// Last of all, so that the script before it is what it was: a pod comes whose scheduler names its node,
    /// the watch breaks before it tells of that, and somebody takes the nomination back meanwhile. The list
    /// that follows says what the last event before it said.
    fn withdraw_unheard(&mut self) {
        let is_named = |shape: &PodShape| shape.waits_at_permit || shape.pre_bind != SimulatedPreBind::None;
        let Some(at) = self.shapes.iter().position(is_named) else { return };
        self.add(ScriptAction::Settle);
        self.add(ScriptAction::CreatePod(u8::try_from(at).unwrap_or(u8::MAX)));
        let Some(&pod) = self.pods.last() else { return };
        let scheduler = self.shapes[at].scheduler;
        let broken = Fault::Disconnect { scheduler, stream: Stream::Pods, ms: 2000 };
        let heard_us = self.choices.pick(&[1_000, 5_000, 20_000, 60_000, 200_000]);
        self.add_after(heard_us, ScriptAction::Fail(broken));
        self.add_after(1_000_000, ScriptAction::Withdraw(pod));
    }

    fn add(&mut self, action: ScriptAction) {
        let after_us = match self.choices.below(10) {
            0..=3 => 0,
            4 | 5 => self.choices.range(1, 900),
            6 | 7 => self.choices.range(1_000, 50_000),
            8 => self.choices.range(100_000, 2_000_000),
            _ => self.choices.range(1_000_000, 12_000_000),
        };
        self.add_after(after_us, action);
    }

    fn add_after(&mut self, after_us: u64, action: ScriptAction) {
        let number = u32::try_from(self.script.len()).unwrap_or(u32::MAX);
        if let ScriptAction::CreatePod(shape) = action {
            let handle = PodHandle(number);
            self.pods.push(handle);
            if self.shapes[usize::from(shape)].hold == Hold::Gate {
                self.gated.push(handle);
            }
        }
        self.script.push(ScriptEvent { number, after_us, action });
    }

    fn node_shape(&mut self) -> NodeShape {
        let has_controllers = self.profile == FaultProfile::Controllers;
        let choices = &mut self.choices;
        let shape = NodeShape {
            cpu_milli: choices.pick(&[1000, 2000, 2000, 4000]),
            memory_mi: choices.pick(&[1024, 2048, 8192]),
            pods: choices.pick(&[2, 5, 10, 110]),
            zone: (self.features.zones && choices.chance(85)).then(|| choices.range(0, 2) as u8),
            tainted: self.features.taints && choices.chance(35),
            cordoned: choices.chance(5),
            ..NodeShape::default()
        };
        if !has_controllers {
            return shape;
        }
        let role = choices.chance(85).then(|| choices.range(0, ROLES - 1) as u8);
        NodeShape { role, ..shape }
    }

    fn pod(&mut self) -> Option<PodHandle> {
        (!self.pods.is_empty()).then(|| self.choices.pick(&self.pods))
    }

    /// One of the last, which is likely to wait.
    fn recent_pod(&mut self) -> Option<PodHandle> {
        let recent = &self.pods[self.pods.len().saturating_sub(6)..];
        (!recent.is_empty()).then(|| self.choices.pick(recent))
    }

    fn node(&mut self) -> NodeNumber {
        let at = self.choices.below(self.nodes.len());
        NodeNumber(u8::try_from(at).unwrap_or(u8::MAX))
    }

    fn action(&mut self) -> Option<ScriptAction> {
        match self.choices.below(100) {
            0..=44 => {
                let shape = self.choices.below(self.shapes.len());
                Some(ScriptAction::CreatePod(u8::try_from(shape).unwrap_or(u8::MAX)))
            }
            45..=56 => self.pod().map(ScriptAction::DeletePod),
            57..=59 => self.recent_pod().map(ScriptAction::Activate),
            60..=62 => self.pod().map(ScriptAction::FinishPod),
            63..=68 if !self.gated.is_empty() => Some(ScriptAction::OpenGate(self.choices.pick(&self.gated))),
            // Where nothing is gated, nodes change more.
            63..=74 => self.change_node(),
            75..=77 => self.budget(),
            78 if self.features.claims || self.features.passes => Some(ScriptAction::CreateClaim),
            79..=99 => self.trouble(),
            _ => None,
        }
    }

    fn change_node(&mut self) -> Option<ScriptAction> {
        let node = self.node();
        let is_there = self.nodes[usize::from(node.0)];
        let Some(old) = is_there else {
            let shape = self.node_shape();
            self.nodes[usize::from(node.0)] = Some(shape);
            return Some(ScriptAction::CreateNode(node, shape));
        };
        if self.nodes.len() < 8 && self.choices.chance(25) {
            let shape = self.node_shape();
            let number = NodeNumber(u8::try_from(self.nodes.len()).unwrap_or(u8::MAX));
            self.nodes.push(Some(shape));
            return Some(ScriptAction::CreateNode(number, shape));
        }
        if !self.features.node_changes {
            return None;
        }
        let other = self.node_shape();
        let shape = match self.choices.below(5) {
            0 | 4 => NodeShape { cordoned: !old.cordoned, ..old },
            1 => NodeShape { tainted: other.tainted, ..old },
            2 => NodeShape { zone: other.zone, ..old },
            _ => NodeShape { cpu_milli: other.cpu_milli, pods: other.pods, ..old },
        };
        self.nodes[usize::from(node.0)] = Some(shape);
        (shape != old).then_some(ScriptAction::UpdateNode(node, shape))
    }

    fn budget(&mut self) -> Option<ScriptAction> {
        if !self.features.budgets {
            return None;
        }
        let app = self.choices.range(0, 3) as u8;
        Some(if self.choices.chance(70) { ScriptAction::Protect(app) } else { ScriptAction::Unprotect(app) })
    }

    /// Something of the profile's own.
    fn trouble(&mut self) -> Option<ScriptAction> {
        match self.profile {
            FaultProfile::Domains | FaultProfile::Backlog => return self.leave_domain(),
            FaultProfile::Namespaces => {
                return match self.choices.below(10) {
                    0..=6 => Some(ScriptAction::LabelNamespace(self.choices.chance(50))),
                    7 => Some(ScriptAction::Fail(self.watch_fault())),
                    8 => self.lose(),
                    _ => Some(ScriptAction::Fail(Fault::Restart { scheduler: 0 })),
                };
            }
            // Somebody has to be evicted before others wait for it.
            FaultProfile::Victims => return self.recent_pod().map(ScriptAction::Activate),
            FaultProfile::Controllers => return self.disturb_controllers(),
            FaultProfile::Nominations => {
                return match self.choices.below(10) {
                    0..=4 => self.rival(),
                    5..=7 => Some(ScriptAction::Fail(self.watch_fault())),
                    _ => Some(ScriptAction::Fail(self.call_fault())),
                };
            }
            _ => {}
        }
        let kinds: Vec<FaultProfile> = [
            FaultProfile::Api,
            FaultProfile::Watch,
            FaultProfile::Nodes,
            FaultProfile::Restart,
            FaultProfile::Rivals,
        ]
        .into_iter()
        .filter(|&kind| self.profile.includes(kind))
        .collect();
        if kinds.is_empty() {
            return None;
        }
        match self.choices.pick(&kinds) {
            FaultProfile::Api => Some(ScriptAction::Fail(self.call_fault())),
            FaultProfile::Watch => Some(ScriptAction::Fail(self.watch_fault())),
            FaultProfile::Nodes => self.lose(),
            FaultProfile::Restart => {
                let scheduler = self.scheduler();
                self.choices.chance(60).then_some(ScriptAction::Fail(Fault::Restart { scheduler }))
            }
            _ => self.rival(),
        }
    }

    fn scheduler(&mut self) -> u8 {
        u8::from(self.schedulers > 1 && self.choices.chance(40))
    }

    fn call_fault(&mut self) -> Fault {
        let choices = &mut self.choices;
        let kind = choices.pick(&[
            SimulatedCallKind::Bind,
            SimulatedCallKind::Bind,
            SimulatedCallKind::Bind,
            SimulatedCallKind::Patch,
            SimulatedCallKind::Patch,
            SimulatedCallKind::Delete,
            SimulatedCallKind::Volumes,
        ]);
        let how = choices.pick(&[
            CallFault::Error,
            CallFault::Error,
            CallFault::Error,
            CallFault::LostRequest,
            CallFault::LostAnswer,
            CallFault::Conflict,
            CallFault::Slow,
        ]);
        Fault::Calls { kind, how, count: choices.pick(&[1, 1, 1, 2, 4, 5]) }
    }

    fn watch_fault(&mut self) -> Fault {
        let scheduler = self.scheduler();
        let stream = self.choices.pick(&[Stream::Pods, Stream::Pods, Stream::Nodes, Stream::Others]);
        match self.choices.below(4) {
            0 => Fault::Stall { scheduler, stream, ms: self.choices.range(1, 5000) as u32 },
            1 => Fault::Duplicate { scheduler, stream },
            _ => Fault::Disconnect { scheduler, stream, ms: self.choices.range(0, 3000) as u32 },
        }
    }

    /// A node goes, or is in another zone or in none, and takes no more pods as often as not.
    fn leave_domain(&mut self) -> Option<ScriptAction> {
        if self.choices.chance(35) {
            return self.lose();
        }
        let node = self.node();
        let old = self.nodes[usize::from(node.0)]?;
        let zone = self.choices.chance(50).then(|| self.choices.range(0, 2) as u8);
        let shape = NodeShape { zone, cordoned: old.cordoned || self.choices.chance(30), ..old };
        self.nodes[usize::from(node.0)] = Some(shape);
        (shape != old).then_some(ScriptAction::UpdateNode(node, shape))
    }

    /// A node changes so that a controller has to act, or something goes wrong for one.
    fn disturb_controllers(&mut self) -> Option<ScriptAction> {
        let controller = FIRST_CONTROLLER + self.choices.range(0, 1) as u8;
        match self.choices.below(20) {
            0..=13 => self.change_standing_of_node(),
            14 | 15 => {
                let kind = self.choices.pick(&[
                    SimulatedCallKind::Patch,
                    SimulatedCallKind::Delete,
                    SimulatedCallKind::Write,
                    SimulatedCallKind::Write,
                ]);
                let Fault::Calls { how, count, .. } = self.call_fault() else { return None };
                Some(ScriptAction::Fail(Fault::Calls { kind, how, count }))
            }
            16 | 17 => Some(ScriptAction::Fail(match self.watch_fault() {
                Fault::Stall { stream, ms, .. } => Fault::Stall { scheduler: controller, stream, ms },
                Fault::Duplicate { stream, .. } => Fault::Duplicate { scheduler: controller, stream },
                Fault::Disconnect { stream, ms, .. } => {
                    Fault::Disconnect { scheduler: controller, stream, ms }
                }
                other => other,
            })),
            18 => Some(ScriptAction::Fail(Fault::Restart { scheduler: controller })),
            _ => self.lose(),
        }
    }

    fn change_standing_of_node(&mut self) -> Option<ScriptAction> {
        let node = self.node();
        let old = self.nodes[usize::from(node.0)]?;
        let shape = match self.choices.below(8) {
            0 | 1 => {
                let role = self.choices.chance(80).then(|| self.choices.range(0, ROLES - 1) as u8);
                NodeShape { role, ..old }
            }
            2..=4 => NodeShape { evicting: !old.evicting, ..old },
            5 => NodeShape { cordoned: !old.cordoned, ..old },
            _ => {
                let condition = 1 << self.choices.below(NodeShape::CONDITION_COUNT);
                NodeShape { conditions: old.conditions ^ condition, ..old }
            }
        };
        self.nodes[usize::from(node.0)] = Some(shape);
        (shape != old).then_some(ScriptAction::UpdateNode(node, shape))
    }

    fn lose(&mut self) -> Option<ScriptAction> {
        if self.choices.chance(40) {
            return self.pod().map(ScriptAction::RecreatePod);
        }
        let node = self.node();
        if self.nodes[usize::from(node.0)].take().is_some() {
            return Some(ScriptAction::DeleteNode(node));
        }
        let shape = self.node_shape();
        self.nodes[usize::from(node.0)] = Some(shape);
        Some(ScriptAction::CreateNode(node, shape))
    }

    fn rival(&mut self) -> Option<ScriptAction> {
        let pod = self.pod()?;
        // Also to a node that is not there, or not yet.
        let node = NodeNumber(self.choices.range(0, self.nodes.len() as u64) as u8);
        match self.choices.below(10) {
            0..=4 if self.features.nominations => Some(ScriptAction::Nominate(pod, node)),
            5 | 6 if self.features.nominations => Some(ScriptAction::Withdraw(pod)),
            7 | 8 => Some(ScriptAction::BindElsewhere(pod, node)),
            _ => None,
        }
    }
}
