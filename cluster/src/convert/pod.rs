//! Pods.

use k8s_openapi::api::core::v1::{
    Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements, Toleration,
};
use schedlab_core::input::dra::{GeneratedClaim, PodClaimSource, PodIdentityInput, PodResourceClaimInput};
use schedlab_core::input::{
    ContainerInput, ContainerStatusInput, HostPortInput, NodeAffinityInput, OwnerInput, PodInput, PodMeta,
    PodResourceStatus, PreemptionPolicy, TolerationInput,
};

use super::execution::execution_terms;
use super::quantity::{Place, optional_list};
use super::{ConvertError, affinity, text_or_empty, volume};
use crate::api::{DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER};

/// What scheduling reads from a pod, and what tells it from its replicas. The node of a bound pod
/// is in the second part; [`PodInput::node_name`] stays empty.
pub fn pod_input(pod: &Pod) -> Result<(PodInput, PodMeta), ConvertError> {
    let no_spec = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&no_spec);
    Ok((input(pod, spec)?, meta(pod, spec)))
}

/// `pod default/web`, or `pod default/web-*` while the name is still to be generated.
fn label(pod: &Pod) -> String {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    match (&pod.metadata.name, &pod.metadata.generate_name) {
        (Some(name), _) => format!("pod {namespace}/{name}"),
        (None, Some(prefix)) => format!("pod {namespace}/{prefix}*"),
        (None, None) => format!("pod {namespace}/"),
    }
}

fn input(pod: &Pod, spec: &PodSpec) -> Result<PodInput, ConvertError> {
    let rules = spec.affinity.as_ref();
    let init = spec.init_containers.as_deref().unwrap_or_default();
    Ok(PodInput {
        namespace: pod.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned()),
        labels: pod.metadata.labels.clone().unwrap_or_default(),
        scheduler_name: text_or_empty(spec.scheduler_name.as_ref()),
        priority: spec.priority.unwrap_or(0),
        preemption: preemption_policy(spec),
        scheduling_gates: each(spec.scheduling_gates.as_deref(), |gate| gate.name.clone()),
        node_name: None,
        containers: containers(pod, &spec.containers, "spec.containers")?,
        init_containers: containers(pod, init, "spec.initContainers")?,
        overhead: pod_list(pod, spec.overhead.as_ref(), "spec.overhead")?.unwrap_or_default(),
        pod_requests: pod_list(pod, requests(spec.resources.as_ref()), "spec.resources.requests")?,
        resource_status: resource_status(pod)?,
        node_selector: spec.node_selector.clone(),
        node_affinity: node_affinity(pod, spec)?,
        pod_affinity: rules
            .and_then(|it| it.pod_affinity.as_ref())
            .map(affinity::pod_affinity)
            .unwrap_or_default(),
        pod_anti_affinity: rules
            .and_then(|it| it.pod_anti_affinity.as_ref())
            .map(affinity::pod_anti_affinity)
            .unwrap_or_default(),
        tolerations: each(spec.tolerations.as_deref(), toleration),
        spread_constraints: each(spec.topology_spread_constraints.as_deref(), affinity::spread_constraint),
        volumes: spec.volumes.iter().flatten().filter_map(|it| volume::volume(pod, it)).collect(),
        host_network: spec.host_network.unwrap_or(false),
        has_user_namespace: spec.host_users == Some(false),
        controller: controller(pod),
        is_terminating: pod.metadata.deletion_timestamp.is_some(),
        resource_claims: resource_claims(pod, spec),
        identity: identity(pod, spec),
    })
}

/// Upstream: dynamic-resource-allocation/resourceclaim `Name`.
fn resource_claims(pod: &Pod, spec: &PodSpec) -> Vec<PodResourceClaimInput> {
    let statuses = pod.status.as_ref().and_then(|status| status.resource_claim_statuses.as_deref());
    each(spec.resource_claims.as_deref(), |claim| {
        let made = || statuses.unwrap_or_default().iter().find(|status| status.name == claim.name);
        let source = match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
            (Some(name), _) => PodClaimSource::Named(name.clone()),
            (None, Some(_)) => PodClaimSource::Template(match made() {
                None => GeneratedClaim::Pending,
                Some(status) => match &status.resource_claim_name {
                    Some(name) => GeneratedClaim::Named(name.clone()),
                    None => GeneratedClaim::NotNeeded,
                },
            }),
            (None, None) => PodClaimSource::Unknown,
        };
        PodResourceClaimInput { name: claim.name.clone(), source }
    })
}

/// Only pods that may own or use claims are told apart from others like them.
fn identity(pod: &Pod, spec: &PodSpec) -> Option<PodIdentityInput> {
    let has_claims = spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty());
    let extended = pod.status.as_ref().and_then(|status| status.extended_resource_claim_status.as_ref());
    (has_claims || extended.is_some()).then(|| PodIdentityInput {
        name: text_or_empty(pod.metadata.name.as_ref()),
        uid: text_or_empty(pod.metadata.uid.as_ref()),
    })
}

fn node_affinity(pod: &Pod, spec: &PodSpec) -> Result<Option<NodeAffinityInput>, ConvertError> {
    let typed = spec.affinity.as_ref().and_then(|it| it.node_affinity.as_ref()).map(affinity::node_affinity);
    let Some(terms) = execution_terms(pod, &|| label(pod))? else { return Ok(typed) };
    Ok(Some(NodeAffinityInput { required_during_execution: Some(terms), ..typed.unwrap_or_default() }))
}

fn meta(pod: &Pod, spec: &PodSpec) -> PodMeta {
    let status = pod.status.as_ref();
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let phase = status.and_then(|status| status.phase.as_deref());
    PodMeta {
        name: text_or_empty(pod.metadata.name.as_ref()),
        uid: text_or_empty(pod.metadata.uid.as_ref()),
        pod_group: spec.scheduling_group.as_ref().and_then(|group| filled(&group.pod_group_name)),
        node_name: filled(&spec.node_name),
        nominated_node_name: status.and_then(|status| filled(&status.nominated_node_name)),
        start_time_s: status.and_then(|status| status.start_time.as_ref()).map(|time| time.0.as_second()),
        creation_time_s: pod.metadata.creation_timestamp.as_ref().map(|time| time.0.as_second()),
        is_terminating: pod.metadata.deletion_timestamp.is_some(),
        is_preempted: status.is_some_and(is_preempted),
        is_finished: matches!(phase, Some("Succeeded" | "Failed")),
    }
}

/// Upstream: framework/preemption/util.go `PodTerminatingByPreemption` looks at the first condition
/// of the type.
fn is_preempted(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == DISRUPTION_TARGET).is_some_and(|condition| {
        condition.status == "True" && condition.reason.as_deref() == Some(PREEMPTION_BY_SCHEDULER)
    })
}

fn each<T, U>(items: Option<&[T]>, convert: impl Fn(&T) -> U) -> Vec<U> {
    items.unwrap_or_default().iter().map(convert).collect()
}

fn requests(resources: Option<&ResourceRequirements>) -> Option<&ApiList> {
    resources.and_then(|resources| resources.requests.as_ref())
}

type ApiList = std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>;

fn pod_list(
    pod: &Pod,
    list: Option<&ApiList>,
    field: &str,
) -> Result<Option<schedlab_core::input::ResourceList>, ConvertError> {
    optional_list(list, Place { object: &|| label(pod), field: &|| field.to_owned() })
}

fn preemption_policy(spec: &PodSpec) -> PreemptionPolicy {
    match spec.preemption_policy.as_deref() {
        Some("Never") => PreemptionPolicy::Never,
        _ => PreemptionPolicy::PreemptLowerPriority,
    }
}

fn containers(pod: &Pod, list: &[Container], field: &str) -> Result<Vec<ContainerInput>, ConvertError> {
    list.iter().enumerate().map(|(at, it)| container(pod, it, &format!("{field}[{at}]"))).collect()
}

fn container(pod: &Pod, from: &Container, field: &str) -> Result<ContainerInput, ConvertError> {
    let requested = requests(from.resources.as_ref());
    let field_of_requests = format!("{field}.resources.requests");
    Ok(ContainerInput {
        name: from.name.clone(),
        image: text_or_empty(from.image.as_ref()),
        requests: pod_list(pod, requested, &field_of_requests)?.unwrap_or_default(),
        is_sidecar: from.restart_policy.as_deref() == Some("Always"),
        host_ports: host_ports(from),
        may_restart_all: from
            .restart_policy_rules
            .iter()
            .flatten()
            .any(|rule| rule.action == "RestartAllContainers"),
        // The typed API does not know `bindMountOptions` yet; no pod gets past admission with them.
        has_bind_mount_options: false,
        status: status_of(pod, &from.name)
            .map(|(status, field)| container_status(pod, status, field))
            .transpose()?,
    })
}

fn host_ports(container: &Container) -> Vec<HostPortInput> {
    container
        .ports
        .iter()
        .flatten()
        .filter_map(|port| {
            let host_port = port.host_port.filter(|&number| 0 < number)?;
            Some(HostPortInput {
                host_ip: text_or_empty(port.host_ip.as_ref()),
                protocol: text_or_empty(port.protocol.as_ref()),
                host_port,
            })
        })
        .collect()
}

/// Upstream: component-helpers/resource/helpers.go `findContainerStatus` looks a name up in the
/// statuses of the plain containers first, whichever kind the container is.
fn status_of<'a>(pod: &'a Pod, name: &str) -> Option<(&'a ContainerStatus, &'static str)> {
    let status = pod.status.as_ref()?;
    let find = |statuses: Option<&'a Vec<ContainerStatus>>, field| {
        let found = statuses?.iter().find(|status| status.name == name)?;
        Some((found, field))
    };
    find(status.container_statuses.as_ref(), "status.containerStatuses")
        .or_else(|| find(status.init_container_statuses.as_ref(), "status.initContainerStatuses"))
}

fn container_status(
    pod: &Pod,
    status: &ContainerStatus,
    field: &str,
) -> Result<ContainerStatusInput, ConvertError> {
    let name = &status.name;
    let field_of_actual = format!("{field}[{name}].resources.requests");
    let field_of_allocated = format!("{field}[{name}].allocatedResources");
    Ok(ContainerStatusInput {
        allocated: pod_list(pod, status.allocated_resources.as_ref(), &field_of_allocated)?,
        actual_requests: pod_list(pod, requests(status.resources.as_ref()), &field_of_actual)?,
    })
}

fn resource_status(pod: &Pod) -> Result<PodResourceStatus, ConvertError> {
    let Some(status) = &pod.status else {
        return Ok(PodResourceStatus::default());
    };
    let reason = resize_reason(status);
    Ok(PodResourceStatus {
        has_resources: status.resources.is_some(),
        requests: pod_list(pod, requests(status.resources.as_ref()), "status.resources.requests")?,
        allocated: pod_list(pod, status.allocated_resources.as_ref(), "status.allocatedResources")?,
        resize_infeasible: reason == Some("Infeasible"),
        resize_deferred: reason == Some("Deferred"),
    })
}

fn resize_reason(status: &PodStatus) -> Option<&str> {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == "PodResizePending")?.reason.as_deref()
}

fn toleration(toleration: &Toleration) -> TolerationInput {
    TolerationInput {
        key: text_or_empty(toleration.key.as_ref()),
        operator: text_or_empty(toleration.operator.as_ref()),
        value: text_or_empty(toleration.value.as_ref()),
        effect: text_or_empty(toleration.effect.as_ref()),
        seconds: toleration.toleration_seconds,
    }
}

fn controller(pod: &Pod) -> Option<OwnerInput> {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(OwnerInput {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}
