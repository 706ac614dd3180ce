//! Pods.

use super::{labels, resources};
use crate::input::{
    ContainerInput, HostPortInput, PodAffinityTermInput, PodInput, PreemptionPolicy, SpreadConstraintInput,
    TolerationInput, VolumeInput, VolumeSourceInput,
};

/// A pod in namespace `default` that asks for nothing: it has no container until it does.
#[must_use]
pub fn pod() -> PodInput {
    PodInput { namespace: "default".to_owned(), ..PodInput::default() }
}

/// A container.
#[must_use]
pub fn container(requests: &[(&str, &str)]) -> ContainerInput {
    ContainerInput { requests: resources(requests), ..ContainerInput::default() }
}

/// An init container that goes on running.
#[must_use]
pub fn sidecar(requests: &[(&str, &str)]) -> ContainerInput {
    ContainerInput { is_sidecar: true, ..container(requests) }
}

/// A port of the node.
#[must_use]
pub fn host_port(ip: &str, protocol: &str, port: i32) -> HostPortInput {
    HostPortInput { host_ip: ip.to_owned(), protocol: protocol.to_owned(), host_port: port }
}

/// A toleration.
#[must_use]
pub fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> TolerationInput {
    TolerationInput {
        key: key.to_owned(),
        operator: operator.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        seconds: None,
    }
}

/// What pods may have.
#[must_use]
pub trait PodParts: Sized {
    /// These requests of its first container and no others.
    fn requests(self, requests: &[(&str, &str)]) -> Self;
    /// So many CPUs of its first container.
    fn cpu(self, amount: &str) -> Self;
    /// A port of the node, of its first container.
    fn port(self, port: HostPortInput) -> Self;
    /// Its namespace.
    fn namespaced(self, namespace: &str) -> Self;
    /// A label.
    fn label(self, key: &str, value: &str) -> Self;
    /// Labels from text.
    fn labels(self, text: &str) -> Self;
    /// Its priority.
    fn priority(self, priority: i32) -> Self;
    /// It pushes nobody out.
    fn never_preempts(self) -> Self;
    /// Whose it is.
    fn scheduler(self, name: &str) -> Self;
    /// Not to be scheduled yet.
    fn gated(self, gate: &str) -> Self;
    /// It is to go.
    fn terminating(self) -> Self;
    /// A constraint of topology spread.
    fn spread(self, constraint: SpreadConstraintInput) -> Self;
    /// Pods it must be with.
    fn near(self, term: PodAffinityTermInput) -> Self;
    /// Pods it must not be with.
    fn away(self, term: PodAffinityTermInput) -> Self;
    /// Pods it would like to be with.
    fn likes(self, weight: i32, term: PodAffinityTermInput) -> Self;
    /// Pods it would rather not be with.
    fn dislikes(self, weight: i32, term: PodAffinityTermInput) -> Self;
    /// Only nodes with these labels, from text.
    fn on(self, node_labels: &str) -> Self;
    /// A taint it tolerates, whatever its value and effect.
    fn tolerates(self, key: &str) -> Self;
    /// A volume.
    fn mounts(self, name: &str, source: VolumeSourceInput) -> Self;
}

impl PodParts for PodInput {
    fn requests(mut self, requests: &[(&str, &str)]) -> PodInput {
        first_container(&mut self).requests = resources(requests);
        self
    }

    fn cpu(mut self, amount: &str) -> PodInput {
        first_container(&mut self).requests.extend(resources(&[("cpu", amount)]));
        self
    }

    fn port(mut self, port: HostPortInput) -> PodInput {
        first_container(&mut self).host_ports.push(port);
        self
    }

    fn namespaced(self, namespace: &str) -> PodInput {
        PodInput { namespace: namespace.to_owned(), ..self }
    }

    fn label(mut self, key: &str, value: &str) -> PodInput {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    fn labels(mut self, text: &str) -> PodInput {
        self.labels.extend(labels(text));
        self
    }

    fn priority(self, priority: i32) -> PodInput {
        PodInput { priority, ..self }
    }

    fn never_preempts(self) -> PodInput {
        PodInput { preemption: PreemptionPolicy::Never, ..self }
    }

    fn scheduler(self, name: &str) -> PodInput {
        PodInput { scheduler_name: name.to_owned(), ..self }
    }

    fn gated(mut self, gate: &str) -> PodInput {
        self.scheduling_gates.push(gate.to_owned());
        self
    }

    fn terminating(self) -> PodInput {
        PodInput { is_terminating: true, ..self }
    }

    fn spread(mut self, constraint: SpreadConstraintInput) -> PodInput {
        self.spread_constraints.push(constraint);
        self
    }

    fn near(mut self, term: PodAffinityTermInput) -> PodInput {
        self.pod_affinity.required.push(term);
        self
    }

    fn away(mut self, term: PodAffinityTermInput) -> PodInput {
        self.pod_anti_affinity.required.push(term);
        self
    }

    fn likes(mut self, weight: i32, term: PodAffinityTermInput) -> PodInput {
        self.pod_affinity.preferred.push((weight, term));
        self
    }

    fn dislikes(mut self, weight: i32, term: PodAffinityTermInput) -> PodInput {
        self.pod_anti_affinity.preferred.push((weight, term));
        self
    }

    fn on(self, node_labels: &str) -> PodInput {
        PodInput { node_selector: Some(labels(node_labels)), ..self }
    }

    fn tolerates(mut self, key: &str) -> PodInput {
        self.tolerations.push(toleration(key, "Exists", "", ""));
        self
    }

    fn mounts(mut self, name: &str, source: VolumeSourceInput) -> PodInput {
        self.volumes.push(VolumeInput { name: name.to_owned(), source });
        self
    }
}

fn first_container(pod: &mut PodInput) -> &mut ContainerInput {
    if pod.containers.is_empty() {
        pod.containers.push(ContainerInput::default());
    }
    &mut pod.containers[0]
}
