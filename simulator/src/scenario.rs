//! A scenario: how the schedulers are set up, which pods there are, and a script of what happens to
//! the cluster. The script is explicit, so that taking events out of it leaves a smaller scenario
//! that can be run by itself.

use std::fmt;

use schedlab_cluster::controllers::{ControllerDescriptor, ControllerMutants};
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::mutants::Mutants;
use schedlab_core::scheduler::{FeatureGates, NominatedNodeNameMiss, PlainBindings};

use super::faults::{Fault, FaultProfile};
use super::pod_groups::PodGroupAction;
use super::shape::{NodeShape, PodShape};
use schedlab_cluster::latency::{Latency, RateLimit};

/// A pod of the script, by the number of the event that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodHandle(pub u32);

/// A node of the script: its name is `n` and this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeNumber(pub u8);

/// Nodes a scenario can have.
pub(super) const NODES_MAX: u8 = 16;

impl fmt::Display for NodeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Display for PodHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// Something that happens to the cluster, or goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    /// A node comes.
    CreateNode(NodeNumber, NodeShape),
    /// A node changes.
    UpdateNode(NodeNumber, NodeShape),
    /// A node goes; its pods are collected later.
    DeleteNode(NodeNumber),
    /// A pod comes, of the shape with this number.
    CreatePod(u8),
    /// Somebody deletes a pod.
    DeletePod(PodHandle),
    /// Somebody deletes a pod and makes another with its name.
    RecreatePod(PodHandle),
    /// A pod ends well.
    FinishPod(PodHandle),
    /// A pod's scheduling gates are removed.
    OpenGate(PodHandle),
    /// The object that pods wait for at PreEnqueue is made.
    CreateClaim,
    /// A plugin of its scheduler asks for a pod to be tried.
    Activate(PodHandle),
    /// An outside writer nominates a pod, if nobody has.
    Nominate(PodHandle, NodeNumber),
    /// The outside writer takes its nomination back.
    Withdraw(PodHandle),
    /// Somebody else binds a pod.
    BindElsewhere(PodHandle, NodeNumber),
    /// A budget that allows no disruption protects an app.
    Protect(u8),
    /// The budget of an app is gone.
    Unprotect(u8),
    /// The second namespace has its label, or no longer has it.
    LabelNamespace(bool),
    /// Something happens to pod groups.
    PodGroup(PodGroupAction),
    /// Something goes wrong.
    Fail(Fault),
    /// Everybody waits until nothing moves any more; then the whole state is checked.
    Settle,
}

/// One line of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptEvent {
    /// Its number: what other events call it by, also in a shrunk script.
    pub number: u32,
    /// How long after the event before it.
    pub after_us: u64,
    /// What happens.
    pub action: ScriptAction,
}

/// How the schedulers work.
#[derive(Clone, Debug)]
pub struct SimulationSetup {
    /// Feature gates.
    pub gates: FeatureGates,
    /// Whether verdicts are kept.
    pub class_cache: ClassCache,
    /// How many schedulers there are, 1 or 2.
    pub schedulers: u8,
    /// The test plugins are in the profile; without them plain pods take the short way.
    pub has_plugins: bool,
    /// From a write to its event, for each watch.
    pub watch: Latency,
    /// One way of a call.
    pub call: Latency,
    /// What a scheduling cycle takes.
    pub cycle_ns: u64,
    /// The client's limit on calls.
    pub limit: Option<RateLimit>,
    /// Queued calls on their way at most.
    pub parallel_calls_max: usize,
    /// What becomes of a pod that its nominated node does not fit.
    pub nominated_node_name_miss: NominatedNodeNameMiss,
    /// How plain pods are bound.
    pub plain_bindings: PlainBindings,
    /// The defect that the schedulers are given; none, without the feature `mutants`.
    pub mutants: Mutants,
    /// The controllers that run beside them.
    pub controllers: Vec<&'static ControllerDescriptor>,
    /// The defect that controllers are given; none, without the feature `mutants`.
    pub controller_mutants: ControllerMutants,
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What latencies and ties are drawn from.
    pub seed: u64,
    /// Which faults it may have.
    pub profile: FaultProfile,
    /// How the schedulers work.
    pub setup: SimulationSetup,
    /// The kinds of pods.
    pub shapes: Vec<PodShape>,
    /// What happens.
    pub script: Vec<ScriptEvent>,
}

impl fmt::Display for ScriptAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptAction::CreateNode(node, shape) => write!(f, "create node {node} ({shape})"),
            ScriptAction::UpdateNode(node, shape) => write!(f, "update node {node} ({shape})"),
            ScriptAction::DeleteNode(node) => write!(f, "delete node {node}"),
            ScriptAction::CreatePod(shape) => write!(f, "create a pod of shape {shape}"),
            ScriptAction::DeletePod(pod) => write!(f, "delete {pod}"),
            ScriptAction::RecreatePod(pod) => write!(f, "delete {pod} and create it again under its name"),
            ScriptAction::FinishPod(pod) => write!(f, "{pod} succeeds"),
            ScriptAction::OpenGate(pod) => write!(f, "remove the gate of {pod}"),
            ScriptAction::CreateClaim => write!(f, "create the claim"),
            ScriptAction::Activate(pod) => write!(f, "a plugin asks for {pod}"),
            ScriptAction::Nominate(pod, node) => write!(f, "an outside writer nominates {pod} to {node}"),
            ScriptAction::Withdraw(pod) => write!(f, "the outside writer takes the nomination of {pod} back"),
            ScriptAction::BindElsewhere(pod, node) => write!(f, "somebody else binds {pod} to {node}"),
            ScriptAction::Protect(app) => write!(f, "a budget protects app a{app}"),
            ScriptAction::Unprotect(app) => write!(f, "the budget of app a{app} is deleted"),
            ScriptAction::LabelNamespace(true) => write!(f, "label the second namespace"),
            ScriptAction::LabelNamespace(false) => write!(f, "remove the label of the second namespace"),
            ScriptAction::PodGroup(action) => write!(f, "{action}"),
            ScriptAction::Fail(fault) => write!(f, "{fault}"),
            ScriptAction::Settle => write!(f, "wait until nothing moves"),
        }
    }
}

impl Scenario {
    /// Whether there is a second namespace.
    pub(super) fn has_second_namespace(&self) -> bool {
        self.shapes.iter().any(|shape| shape.namespace == 1)
    }

    /// Runs these controllers as well, each once.
    pub fn run_controllers(&mut self, more: &[&'static ControllerDescriptor]) {
        let controllers = &mut self.setup.controllers;
        for descriptor in more {
            if !controllers.iter().any(|known| known.name == descriptor.name) {
                controllers.push(descriptor);
            }
        }
    }

    /// The scenario as text: the setup, the shapes in use, and the script.
    #[must_use]
    pub fn text(&self) -> String {
        let SimulationSetup { gates, class_cache, schedulers, watch, call, cycle_ns, limit, .. } =
            &self.setup;
        let mut lines = vec![format!(
            "schedulers {schedulers}, class cache {class_cache:?}, watch {watch}, calls {call}, cycle {cycle_ns}ns, \
             limit {limit:?}, test plugins {}, parallel calls {}, miss {:?}, plain bindings {:?}",
            self.setup.has_plugins,
            self.setup.parallel_calls_max,
            self.setup.nominated_node_name_miss,
            self.setup.plain_bindings
        )];
        lines.push(format!("{gates:?}"));
        if !self.setup.controllers.is_empty() {
            let names: Vec<&str> = self.setup.controllers.iter().map(|descriptor| descriptor.name).collect();
            lines.push(format!("controllers {}", names.join(", ")));
        }
        let is_used = |at: usize| {
            self.script
                .iter()
                .any(|event| event.action == ScriptAction::CreatePod(u8::try_from(at).unwrap_or(u8::MAX)))
        };
        for (at, shape) in self.shapes.iter().enumerate().filter(|(at, _)| is_used(*at)) {
            lines.push(format!("shape {at}: {shape}"));
        }
        for event in &self.script {
            let made = match event.action {
                ScriptAction::CreatePod(_) => format!(": p{}", event.number),
                _ => String::new(),
            };
            lines.push(format!("{:>5} +{}us {}{made}", event.number, event.after_us, event.action));
        }
        lines.join("\n")
    }
}
