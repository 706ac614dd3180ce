//! Nodes and pods of a scenario, in a handful of numbers each: what the judge reads, and what API
//! objects are made from.

use std::fmt;

use k8s_openapi::api::core::v1::Node;
use schedlab_cluster::convert::EXECUTION_AFFINITY;
use serde_json::{Value, json};

/// The label that a pod's `app` number is under.
const APP: &str = "app";
/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";
/// The label of a node's name.
const HOST: &str = "kubernetes.io/hostname";
/// The label of a namespace that terms with a `namespaceSelector` select.
const TEAM: &str = "team";
/// The one taint there is.
const TAINT: &str = "example.com/taint";
/// The gate in `spec.schedulingGates`.
const GATE: &str = "example.com/gate";
/// Labels by which a pod asks for one of the test plugins.
pub(super) const PERMIT_LABEL: &str = "example.com/permit";
pub(super) const PRE_BIND_LABEL: &str = "example.com/pre-bind";
pub(super) const PASS_LABEL: &str = "example.com/pass";
pub(super) const CLAIM_LABEL: &str = "example.com/claim";

/// The label that execution terms ask for.
const ROLE: &str = "example.com/role";
/// The taint that drives pods away.
const EVICTING: &str = "example.com/evicting";

/// The taint of a node that is not ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The conditions a node may be in, a bit each, and the taint that stands for each. The last taint stands for
/// a cordon.
const CONDITIONS: [(&str, &str, &str); 4] = [
    ("Ready", "False", NOT_READY),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("", "", "node.kubernetes.io/unschedulable"),
];
/// The bit of the cordon among condition taints.
const CORDON_BIT: u8 = 1 << 3;

/// The condition taints that a node has, a bit each.
pub(super) fn condition_taints_of(node: &Node) -> u8 {
    let taints = || node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let has = |key: &str| taints().any(|taint| taint.key == key && taint.effect == "NoSchedule");
    CONDITIONS.iter().enumerate().fold(0, |bits, (at, (.., key))| bits | u8::from(has(key)) << at)
}

/// Whether a node has the taint NoExecute of a node that is not ready.
pub(super) fn has_unready_taint(node: &Node) -> bool {
    let mut taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.any(|taint| taint.key == NOT_READY && taint.effect == "NoExecute")
}

/// For how long a pod tolerates the taint that drives pods away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoExecuteToleration {
    /// Not at all.
    #[default]
    None,
    /// `tolerationSeconds`.
    Seconds(u8),
    /// For ever.
    Forever,
}

/// What pods are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The node.
    Host,
    /// The zone; a node may have none.
    Zone,
}

impl Domain {
    fn label(self) -> &'static str {
        match self {
            Domain::Host => HOST,
            Domain::Zone => ZONE,
        }
    }
}

/// Which namespaces a pod's affinity terms are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermScope {
    /// The pod's own.
    #[default]
    Own,
    /// Those that have the label, by `namespaceSelector`.
    Labelled,
}

/// What holds a pod back before the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// Nothing.
    #[default]
    None,
    /// A scheduling gate, until somebody removes it.
    Gate,
    /// A PreEnqueue plugin, until the object it waits for exists.
    Claim,
}

/// What a PreBind plugin does for a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SimulatedPreBind {
    /// Nothing.
    #[default]
    None,
    /// A call to the API.
    Call,
    /// A wait.
    Wait,
    /// A wait, and a refusal the first time.
    Refuse,
}

/// A kind of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodShape {
    /// CPU request.
    pub cpu_milli: u32,
    /// Memory request.
    pub memory_mi: u32,
    /// `spec.priority`.
    pub priority: i32,
    /// `preemptionPolicy: Never`.
    pub never_preempts: bool,
    /// Its label `app`.
    pub app: u8,
    /// `nodeSelector` on the zone.
    pub zone: Option<u8>,
    /// Tolerates the taint.
    pub tolerates: bool,
    /// Required anti-affinity to this app.
    pub avoids: Option<(u8, Domain)>,
    /// Required affinity to this app.
    pub joins: Option<(u8, Domain)>,
    /// Which pods those two are about.
    pub term_scope: TermScope,
    /// The number of its namespace: see [`namespace_name`].
    pub namespace: u8,
    /// Hard spreading of its own app: the largest skew.
    pub spreads: Option<(u8, Domain)>,
    /// A host port.
    pub port: Option<u16>,
    /// Takes time to terminate.
    pub lingers: bool,
    /// What holds it back.
    pub hold: Hold,
    /// A Permit plugin makes it wait.
    pub waits_at_permit: bool,
    /// Another Permit plugin rejects it, sooner or later, unless the claim exists.
    pub needs_pass: bool,
    /// What PreBind does.
    pub pre_bind: SimulatedPreBind,
    /// Which scheduler it names: 0 the first.
    pub scheduler: u8,
    /// Required during execution: a node of one of these roles (KEP-2358), a term each.
    pub execution_terms: Option<(u8, u8)>,
    /// For how long it tolerates the taint that drives pods away.
    pub no_execute: NoExecuteToleration,
}

impl PodShape {
    /// Whether one of its execution terms matches a node, or it has none.
    #[must_use]
    pub fn execution_terms_match(&self, node: &NodeShape) -> bool {
        let is_one_of = |(one, other): (u8, u8)| node.role == Some(one) || node.role == Some(other);
        self.execution_terms.is_none_or(is_one_of)
    }

    /// Permit or PreBind hold it up on its way to a node.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        self.waits_at_permit || self.needs_pass || self.pre_bind != SimulatedPreBind::None
    }

    /// The pod as an API object; a name that ends with a dash is a prefix.
    #[must_use]
    pub fn object(&self, name: &str) -> Value {
        let key = if name.ends_with('-') { "generateName" } else { "name" };
        let mut labels = json!({ APP: format!("a{}", self.app) });
        if self.waits_at_permit {
            labels[PERMIT_LABEL] = json!("wait");
        }
        if self.needs_pass {
            labels[PASS_LABEL] = json!("claim");
        }
        match self.pre_bind {
            SimulatedPreBind::None => {}
            SimulatedPreBind::Call => labels[PRE_BIND_LABEL] = json!("call"),
            SimulatedPreBind::Wait => labels[PRE_BIND_LABEL] = json!("wait"),
            SimulatedPreBind::Refuse => labels[PRE_BIND_LABEL] = json!("refuse"),
        }
        if self.hold == Hold::Claim {
            labels[CLAIM_LABEL] = json!("claim");
        }
        let mut metadata =
            json!({ key: name, "namespace": namespace_name(self.namespace), "labels": labels });
        if let Some((one, other)) = self.execution_terms {
            let term = |role: u8| json!({ "matchExpressions": [{ "key": ROLE, "operator": "In", "values": [role_name(role)] }] });
            let terms = json!({ "nodeSelectorTerms": [term(one), term(other)] });
            metadata["annotations"] = json!({ EXECUTION_AFFINITY: terms.to_string() });
        }
        if self.lingers {
            metadata["finalizers"] = json!(["example.com/lingers"]);
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.spec() })
    }

    fn spec(&self) -> Value {
        let mut container = json!({ "name": "c", "image": "i", "resources": { "requests": {
            "cpu": format!("{}m", self.cpu_milli), "memory": format!("{}Mi", self.memory_mi) } } });
        if let Some(port) = self.port {
            container["ports"] = json!([{ "containerPort": port, "hostPort": port }]);
        }
        let mut spec = json!({ "containers": [container], "priority": self.priority,
            "schedulerName": scheduler_name(self.scheduler) });
        if self.never_preempts {
            spec["preemptionPolicy"] = json!("Never");
        }
        if let Some(zone) = self.zone {
            spec["nodeSelector"] = json!({ ZONE: zone_name(zone) });
        }
        let mut tolerations = Vec::new();
        if self.tolerates {
            tolerations.push(json!({ "key": TAINT, "operator": "Exists" }));
        }
        let evicting = json!({ "key": EVICTING, "operator": "Exists", "effect": "NoExecute" });
        match self.no_execute {
            NoExecuteToleration::None => {}
            NoExecuteToleration::Seconds(seconds) => {
                let mut toleration = evicting;
                toleration["tolerationSeconds"] = json!(seconds);
                tolerations.push(toleration);
            }
            NoExecuteToleration::Forever => tolerations.push(evicting),
        }
        if !tolerations.is_empty() {
            spec["tolerations"] = json!(tolerations);
        }
        if self.hold == Hold::Gate {
            spec["schedulingGates"] = json!([{ "name": GATE }]);
        }
        let term = |(app, domain): (u8, Domain)| {
            let mut term = json!({ "topologyKey": domain.label(),
                "labelSelector": { "matchLabels": { APP: format!("a{app}") } } });
            if self.term_scope == TermScope::Labelled {
                term["namespaceSelector"] = json!({ "matchLabels": { TEAM: "blue" } });
            }
            json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] })
        };
        if let Some(avoids) = self.avoids {
            spec["affinity"]["podAntiAffinity"] = term(avoids);
        }
        if let Some(joins) = self.joins {
            spec["affinity"]["podAffinity"] = term(joins);
        }
        if let Some((skew, domain)) = self.spreads {
            spec["topologySpreadConstraints"] = json!([{ "maxSkew": skew, "topologyKey": domain.label(),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": { "matchLabels": { APP: format!("a{}", self.app) } } }]);
        }
        spec
    }
}

/// Namespaces of a scenario. The first is there from the beginning and has no labels; the second is there
/// if a pod is in it, and its label comes and goes.
pub(super) const NAMESPACE_COUNT: usize = 2;

/// The name of a namespace by its number.
#[must_use]
pub(super) fn namespace_name(number: u8) -> &'static str {
    if number == 0 { "default" } else { "second" }
}

/// The second namespace as an API object.
#[must_use]
pub(super) fn second_namespace(is_labelled: bool) -> Value {
    let labels = if is_labelled { json!({ TEAM: "blue" }) } else { json!({}) };
    json!({ "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": namespace_name(1), "labels": labels } })
}

/// Whether labels of a namespace are those that `namespaceSelector`s select.
#[must_use]
pub(super) fn is_of_team(labels: &std::collections::BTreeMap<String, String>) -> bool {
    labels.get(TEAM).is_some_and(|team| team == "blue")
}

/// The name of a scheduler by its number.
#[must_use]
pub(super) fn scheduler_name(number: u8) -> &'static str {
    if number == 0 { "default-scheduler" } else { "second" }
}

fn zone_name(zone: u8) -> String {
    format!("z{zone}")
}

fn role_name(role: u8) -> String {
    format!("r{role}")
}

/// A node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeShape {
    /// Allocatable CPU.
    pub cpu_milli: u32,
    /// Allocatable memory.
    pub memory_mi: u32,
    /// Allocatable pods.
    pub pods: u32,
    /// Its zone label.
    pub zone: Option<u8>,
    /// Carries the taint, NoSchedule.
    pub tainted: bool,
    /// `spec.unschedulable`.
    pub cordoned: bool,
    /// The label that execution terms ask for.
    pub role: Option<u8>,
    /// Carries the taint that drives pods away, NoExecute.
    pub evicting: bool,
    /// Bad conditions it is in, a bit each.
    pub conditions: u8,
    /// The taints by condition that it has; a controller's work, not the script's.
    pub condition_taints: u8,
    /// Carries the taint NoExecute of a node that is not ready; a controller's work, too.
    pub unready_taint: bool,
}

impl NodeShape {
    /// Bad conditions that a node may be in.
    pub(super) const CONDITION_COUNT: usize = CONDITIONS.len() - 1;

    /// A taint keeps the pod away, beside the one taint that all may tolerate.
    #[must_use]
    pub fn repels(&self, pod: &PodShape) -> bool {
        self.condition_taints != 0 || (self.evicting && pod.no_execute == NoExecuteToleration::None)
    }

    /// The condition taints that it should have.
    #[must_use]
    pub fn wanted_condition_taints(&self) -> u8 {
        self.conditions | if self.cordoned { CORDON_BIT } else { 0 }
    }

    /// The node as an API object.
    #[must_use]
    pub fn object(&self, name: &str) -> Value {
        let mut labels = json!({ HOST: name });
        if let Some(zone) = self.zone {
            labels[ZONE] = json!(zone_name(zone));
        }
        if let Some(role) = self.role {
            labels[ROLE] = json!(role_name(role));
        }
        let mut spec = json!({});
        let tainted = self.tainted.then(|| json!({ "key": TAINT, "effect": "NoSchedule" }));
        let evicting = self.evicting.then(|| json!({ "key": EVICTING, "effect": "NoExecute" }));
        let has = |at: usize| self.condition_taints & (1 << at) != 0;
        let by_condition = CONDITIONS.iter().enumerate().filter(|(at, _)| has(*at));
        let by_condition = by_condition.map(|(_, (.., key))| json!({ "key": key, "effect": "NoSchedule" }));
        let unready = self.unready_taint.then(|| json!({ "key": NOT_READY, "effect": "NoExecute" }));
        let taints: Vec<Value> =
            tainted.into_iter().chain(evicting).chain(unready).chain(by_condition).collect();
        if !taints.is_empty() {
            spec["taints"] = json!(taints);
        }
        if self.cordoned {
            spec["unschedulable"] = json!(true);
        }
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
            "spec": spec, "status": self.status() })
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> Value {
        let amounts = json!({ "cpu": format!("{}m", self.cpu_milli),
            "memory": format!("{}Mi", self.memory_mi), "pods": self.pods.to_string() });
        let mut status = json!({ "capacity": amounts, "allocatable": amounts });
        let is_in = |at: usize| self.conditions & (1 << at) != 0;
        let in_condition = CONDITIONS.iter().enumerate().filter(|(at, _)| is_in(*at));
        let conditions: Vec<Value> =
            in_condition.map(|(_, (kind, value, _))| json!({ "type": kind, "status": value })).collect();
        if !conditions.is_empty() {
            status["conditions"] = json!(conditions);
        }
        status
    }
}

impl fmt::Display for NodeShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu {}m, memory {}Mi, {} pods", self.cpu_milli, self.memory_mi, self.pods)?;
        if let Some(zone) = self.zone {
            write!(f, ", zone {}", zone_name(zone))?;
        }
        if self.tainted {
            write!(f, ", tainted")?;
        }
        if self.cordoned {
            write!(f, ", cordoned")?;
        }
        if let Some(role) = self.role {
            write!(f, ", role {}", role_name(role))?;
        }
        if self.evicting {
            write!(f, ", tainted NoExecute")?;
        }
        for (at, (kind, status, _)) in CONDITIONS.iter().enumerate() {
            if self.conditions & (1 << at) != 0 {
                write!(f, ", {kind}={status}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for PodShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "app a{}, cpu {}m, memory {}Mi, priority {}",
            self.app, self.cpu_milli, self.memory_mi, self.priority
        )?;
        let facts = [
            (self.never_preempts, "never preempts"),
            (self.tolerates, "tolerates the taint"),
            (self.lingers, "lingers"),
            (self.hold == Hold::Gate, "gated"),
            (self.hold == Hold::Claim, "waits for the claim"),
            (self.waits_at_permit, "waits at Permit"),
            (self.needs_pass, "passes Permit with the claim"),
            (self.pre_bind == SimulatedPreBind::Call, "PreBind calls"),
            (self.pre_bind == SimulatedPreBind::Wait, "PreBind waits"),
            (self.pre_bind == SimulatedPreBind::Refuse, "PreBind refuses once"),
            (self.scheduler == 1, "of the second scheduler"),
            (self.namespace == 1, "in the second namespace"),
            (self.term_scope == TermScope::Labelled, "terms about labelled namespaces"),
        ];
        for (_, text) in facts.into_iter().filter(|(holds, _)| *holds) {
            write!(f, ", {text}")?;
        }
        if let Some(zone) = self.zone {
            write!(f, ", zone {}", zone_name(zone))?;
        }
        if let Some((app, domain)) = self.avoids {
            write!(f, ", avoids a{app} by {domain:?}")?;
        }
        if let Some((app, domain)) = self.joins {
            write!(f, ", joins a{app} by {domain:?}")?;
        }
        if let Some((skew, domain)) = self.spreads {
            write!(f, ", skew {skew} by {domain:?}")?;
        }
        if let Some(port) = self.port {
            write!(f, ", port {port}")?;
        }
        if let Some((one, other)) = self.execution_terms {
            write!(f, ", needs role {} or {} while it runs", role_name(one), role_name(other))?;
        }
        match self.no_execute {
            NoExecuteToleration::None => {}
            NoExecuteToleration::Seconds(seconds) => write!(f, ", tolerates NoExecute for {seconds}s")?,
            NoExecuteToleration::Forever => write!(f, ", tolerates NoExecute")?,
        }
        Ok(())
    }
}
