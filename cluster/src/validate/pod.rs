//! Pods.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, NodeSelector, Pod, PodSpec, Toleration, TopologySpreadConstraint,
};
use schedlab_objects::ApiJson as _;

use super::formats::dns_subdomain_errors;
use super::{Errors, Invalid, Path};
use crate::convert::EXECUTION_AFFINITY;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

#[cfg(test)]
thread_local! {
    static BODY_CHECKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many bodies this thread has checked.
#[cfg(test)]
pub(super) fn body_checks() -> u64 {
    BODY_CHECKS.get()
}

/// What tells a pod from its replicas: name, prefix, namespace, node.
pub fn validate_pod_identity(pod: &Pod) -> Result<(), Invalid> {
    let mut errors = Errors::default();
    errors.names(&pod.metadata, dns_subdomain_errors);
    if let Some(spec) = &pod.spec {
        let path = Path::root("spec");
        let node = spec.node_name.as_deref().unwrap_or_default();
        if !node.is_empty() {
            for why in dns_subdomain_errors(node) {
                errors.invalid(&path.field("nodeName"), node, why);
            }
            if spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
                let why = "cannot be set until all schedulingGates have been cleared";
                errors.forbidden(&path.field("nodeName"), why);
            }
        }
    }
    errors.into_result()
}

/// What a pod has in common with its replicas, after defaulting.
///
/// Upstream: `ValidatePodCreate`, `ValidatePodSpec`.
pub fn validate_pod_body(pod: &Pod) -> Result<(), Invalid> {
    #[cfg(test)]
    BODY_CHECKS.with(|count| count.set(count.get() + 1));
    let mut errors = Errors::default();
    errors.label_maps(&pod.metadata);
    errors.execution_affinity(pod);
    if let Some(spec) = &pod.spec {
        errors.pod_spec(&Path::root("spec"), spec);
    }
    errors.into_result()
}

impl Errors {
    fn pod_spec(&mut self, path: &Path<'_>, spec: &PodSpec) {
        let init = spec.init_containers.as_deref().unwrap_or_default();
        self.containers(&path.field("containers"), &spec.containers);
        self.containers(&path.field("initContainers"), init);
        self.unique_container_names(path, spec);
        if let Some(resources) = &spec.resources {
            let path = path.field("resources");
            self.requirements(&path, resources.requests.as_ref(), resources.limits.as_ref());
        }
        for (name, quantity) in spec.overhead.iter().flatten() {
            self.amount(&path.field("overhead").key(name), name, quantity);
        }
        self.labels(&path.field("nodeSelector"), spec.node_selector.iter().flatten());
        if let Some(affinity) = &spec.affinity {
            self.affinity(&path.field("affinity"), affinity);
        }
        self.scheduling_gates(&path.field("schedulingGates"), spec);
        let constraints = spec.topology_spread_constraints.as_deref().unwrap_or_default();
        self.spread_constraints(&path.field("topologySpreadConstraints"), constraints);
        for (at, toleration) in spec.tolerations.iter().flatten().enumerate() {
            self.toleration(&path.field("tolerations").index(at), toleration);
        }
        if let Some(class) = spec.priority_class_name.as_deref().filter(|class| !class.is_empty()) {
            for why in dns_subdomain_errors(class) {
                self.invalid(&path.field("priorityClassName"), class, why);
            }
        }
        if let Some(policy) = &spec.preemption_policy {
            self.one_of(&path.field("preemptionPolicy"), policy, &["Never", "PreemptLowerPriority"]);
        }
        if let Some(group) = &spec.scheduling_group {
            let path = path.field("schedulingGroup");
            let path = path.field("podGroupName");
            match &group.pod_group_name {
                None => {
                    self.push(&path, "Invalid value: null: must specify one of: `podGroupName`".to_owned());
                }
                Some(name) => {
                    for why in dns_subdomain_errors(name) {
                        self.invalid(&path, name.as_str(), why);
                    }
                }
            }
        }
    }

    fn containers(&mut self, path: &Path<'_>, containers: &[Container]) {
        let mut host_ports = BTreeSet::new();
        for (at, container) in containers.iter().enumerate() {
            let path = path.index(at);
            if let Some(resources) = &container.resources {
                let path = path.field("resources");
                self.requirements(&path, resources.requests.as_ref(), resources.limits.as_ref());
            }
            for (at, port) in container.ports.iter().flatten().enumerate() {
                self.port(&path.field("ports").index(at), port, &mut host_ports);
            }
        }
    }

    /// What a pod's status says of a container is found by its name.
    fn unique_container_names(&mut self, path: &Path<'_>, spec: &PodSpec) {
        let mut seen = BTreeSet::new();
        let lists =
            [("containers", Some(&spec.containers)), ("initContainers", spec.init_containers.as_ref())];
        for (list, containers) in lists {
            for (at, container) in containers.into_iter().flatten().enumerate() {
                let name = container.name.as_str();
                if !name.is_empty() && !seen.insert(name) {
                    self.duplicate(&path.field(list).index(at).field("name"), name);
                }
            }
        }
    }

    /// Upstream: `validateContainerPorts`, `AccumulateUniqueHostPorts`.
    fn port(&mut self, path: &Path<'_>, port: &ContainerPort, host_ports: &mut BTreeSet<String>) {
        const RANGE: &str = "must be between 1 and 65535, inclusive";
        let container_path = path.field("containerPort");
        if port.container_port == 0 {
            self.required(&container_path, "");
        } else if !(1..=65535).contains(&port.container_port) {
            self.invalid(&container_path, port.container_port, RANGE);
        }
        let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP");
        self.one_of(&path.field("protocol"), protocol, &["SCTP", "TCP", "UDP"]);
        let host_port = port.host_port.unwrap_or(0);
        if host_port == 0 {
            return;
        }
        let host_path = path.field("hostPort");
        if !(1..=65535).contains(&host_port) {
            self.invalid(&host_path, host_port, RANGE);
        }
        let taken = format!("{protocol}/{}/{host_port}", port.host_ip.as_deref().unwrap_or_default());
        if host_ports.contains(&taken) {
            self.duplicate(&host_path, taken.as_str());
        }
        host_ports.insert(taken);
    }

    /// Upstream: `validateSchedulingGates`.
    fn scheduling_gates(&mut self, path: &Path<'_>, spec: &PodSpec) {
        let mut seen = BTreeSet::new();
        for (at, gate) in spec.scheduling_gates.iter().flatten().enumerate() {
            self.label_key(&path.index(at), &gate.name);
            if !seen.insert(gate.name.as_str()) {
                self.duplicate(&path.index(at), gate.name.as_str());
            }
        }
    }

    /// Upstream: `validateTopologySpreadConstraints`.
    fn spread_constraints(&mut self, path: &Path<'_>, constraints: &[TopologySpreadConstraint]) {
        let mut kinds = BTreeSet::new();
        // As upstream does it: the earlier of two is the one that is named.
        for (at, constraint) in constraints.iter().enumerate().rev() {
            let kind = (constraint.topology_key.as_str(), constraint.when_unsatisfiable.as_str());
            if !kinds.insert(kind) {
                let kind = format!("{{{}, {}}}", kind.0, kind.1);
                self.duplicate(&path.index(at).field("{topologyKey, whenUnsatisfiable}"), kind.as_str());
            }
        }
        for (at, constraint) in constraints.iter().enumerate() {
            self.spread_constraint(&path.index(at), constraint);
        }
    }

    fn spread_constraint(&mut self, path: &Path<'_>, constraint: &TopologySpreadConstraint) {
        const POSITIVE: &str = "must be greater than zero";
        if constraint.max_skew <= 0 {
            self.invalid(&path.field("maxSkew"), constraint.max_skew, POSITIVE);
        }
        if constraint.topology_key.is_empty() {
            self.required(&path.field("topologyKey"), "can not be empty");
        }
        let action = constraint.when_unsatisfiable.as_str();
        self.one_of(&path.field("whenUnsatisfiable"), action, &["DoNotSchedule", "ScheduleAnyway"]);
        if let Some(min_domains) = constraint.min_domains {
            let path = path.field("minDomains");
            if min_domains <= 0 {
                self.invalid(&path, min_domains, POSITIVE);
            }
            if action != "DoNotSchedule" {
                let why =
                    format_args!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                self.invalid(&path, min_domains, why);
            }
        }
        let policies = [
            ("nodeAffinityPolicy", &constraint.node_affinity_policy),
            ("nodeTaintsPolicy", &constraint.node_taints_policy),
        ];
        for (name, policy) in policies {
            if let Some(policy) = policy {
                self.one_of(&path.field(name), policy, &["Honor", "Ignore"]);
            }
        }
        let keys = constraint.match_label_keys.as_deref();
        self.label_keys(&path.field("matchLabelKeys"), keys, constraint.label_selector.is_some());
        self.label_selector(&path.field("labelSelector"), constraint.label_selector.as_ref());
    }

    /// Upstream: `ValidateTolerations`.
    fn toleration(&mut self, path: &Path<'_>, toleration: &Toleration) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (key, operator) = (text(&toleration.key), text(&toleration.operator));
        let (value, effect) = (text(&toleration.value), text(&toleration.effect));
        let operator_path = path.field("operator");
        if !key.is_empty() {
            self.label_key(&path.field("key"), &key);
        } else if operator != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            self.invalid(&operator_path, operator.as_str(), why);
        }
        if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            self.invalid(&path.field("effect"), effect.as_str(), why);
        }
        match operator.as_str() {
            "Equal" | "" => self.label_value(&operator_path, &value),
            "Exists" if !value.is_empty() => {
                self.invalid(
                    &operator_path,
                    value.as_str(),
                    "value must be empty when `operator` is 'Exists'",
                );
            }
            "Exists" => {}
            "Lt" | "Gt" if value.parse::<i64>().is_err() => {
                self.invalid(&path.field("value"), value.as_str(), "must be a valid integer");
            }
            "Lt" | "Gt" => {}
            other => self.not_supported(&operator_path, other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            self.taint_effect(&path.field("effect"), &effect);
        }
    }

    pub(super) fn taint_effect(&mut self, path: &Path<'_>, effect: &str) {
        self.one_of(path, effect, &EFFECTS);
    }

    /// The field of KEP-2358, which travels in an annotation: terms as of any node selector.
    fn execution_affinity(&mut self, pod: &Pod) {
        let annotation = pod.metadata.annotations.as_ref().and_then(|all| all.get(EXECUTION_AFFINITY));
        // What cannot be read is refused by the conversion, which says where.
        let Some(selector) =
            annotation.and_then(|text| NodeSelector::from_json(serde_json::from_str(text).ok()?).ok())
        else {
            return;
        };
        let path = Path::root("spec.affinity.nodeAffinity");
        self.node_selector(&path.field("requiredDuringSchedulingRequiredDuringExecution"), &selector);
    }
}
