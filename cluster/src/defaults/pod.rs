//! Pods.

use k8s_openapi::api::core::v1::{Container, Pod, PodCondition, PodSpec, PodStatus, Toleration};

use super::label_keys::merge_label_keys;
use super::pod_level::default_pod_level;
use super::priority::{PriorityClass, resolve_priority};
use crate::api::ApiError;

/// How long a pod stays on a node that is not ready, in seconds.
const DEFAULT_TOLERATION_S: i64 = 300;

/// The taints that every pod tolerates for [`DEFAULT_TOLERATION_S`].
const TOLERATED_TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Versioned defaults. Applying them twice changes nothing.
///
/// Upstream: `SetDefaults_Pod`, `SetDefaults_PodSpec` and the generated defaults of ports and rbd.
/// Topology spread constraints have no defaults: absent policies are read as `Honor` and `Ignore`.
pub fn default_pod(pod: &mut Pod) {
    let spec = pod.spec.get_or_insert_default();
    let containers = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    let is_host_network = spec.host_network == Some(true);
    for container in containers {
        request_limits(container);
        default_ports(container);
        if is_host_network {
            publish_ports(container);
        }
    }
    for volume in spec.volumes.iter_mut().flatten() {
        if let Some(rbd) = &mut volume.rbd {
            rbd.pool.get_or_insert_with(|| "rbd".to_owned());
        }
    }
    fill(&mut spec.scheduler_name, "default-scheduler");
    fill(&mut spec.restart_policy, "Always");
    spec.termination_grace_period_seconds.get_or_insert(30);
}

fn fill(text: &mut Option<String>, default: &str) {
    if text.as_deref().unwrap_or_default().is_empty() {
        *text = Some(default.to_owned());
    }
}

/// A limit without a request is a request too.
fn request_limits(container: &mut Container) {
    let Some(resources) = &mut container.resources else { return };
    let Some(limits) = &resources.limits else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, limit) in limits {
        if !requests.contains_key(name) {
            requests.insert(name.clone(), limit.clone());
        }
    }
}

fn default_ports(container: &mut Container) {
    for port in container.ports.iter_mut().flatten() {
        fill(&mut port.protocol, "TCP");
    }
}

/// A port of a pod in the host's network is a port of the host.
fn publish_ports(container: &mut Container) {
    for port in container.ports.iter_mut().flatten() {
        if port.host_port.unwrap_or(0) == 0 {
            port.host_port = Some(port.container_port);
        }
    }
}

/// Admission of a new pod: its priority, and the default tolerations.
pub fn admit_pod(pod: &mut Pod, classes: &[PriorityClass]) -> Result<(), ApiError> {
    let spec = pod.spec.get_or_insert_default();
    resolve_priority(spec, classes).map_err(|class| {
        let name = pod.metadata.name.as_deref().or(pod.metadata.generate_name.as_deref());
        let why = format!("no PriorityClass with name {class} was found");
        ApiError::forbidden("pods", name.unwrap_or_default(), why)
    })?;
    tolerate_unready_nodes(spec);
    Ok(())
}

/// Admission of a changed pod: a writer that left the default tolerations out gets them again.
pub fn admit_pod_update(pod: &mut Pod) {
    tolerate_unready_nodes(pod.spec.get_or_insert_default());
}

/// Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go `Admit`.
fn tolerate_unready_nodes(spec: &mut PodSpec) {
    let tolerations = spec.tolerations.get_or_insert_default();
    let missing: Vec<&str> = TOLERATED_TAINTS
        .into_iter()
        .filter(|taint| !tolerations.iter().any(|toleration| covers_no_execute(toleration, taint)))
        .collect();
    tolerations.extend(missing.into_iter().map(|taint| Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: Some(DEFAULT_TOLERATION_S),
        value: None,
    }));
}

fn covers_no_execute(toleration: &Toleration, taint: &str) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    (key.is_empty() || key == taint) && (effect.is_empty() || effect == "NoExecute")
}

/// What the create strategy does: a fresh status, the condition of gated pods, label keys merged
/// into selectors, pod-level requests.
pub fn prepare_new_pod(pod: &mut Pod) {
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    let spec = pod.spec.get_or_insert_default();
    merge_label_keys(spec, &labels);
    default_pod_level(spec);
    let is_gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    pod.status = Some(PodStatus {
        phase: Some("Pending".to_owned()),
        conditions: is_gated.then(|| vec![gated_condition()]),
        ..PodStatus::default()
    });
}

fn gated_condition() -> PodCondition {
    PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some("SchedulingGated".to_owned()),
        message: Some("Scheduling is blocked due to non-empty scheduling gates".to_owned()),
        ..PodCondition::default()
    }
}
