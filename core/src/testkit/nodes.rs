//! Nodes.

use super::{labels, resources};
use crate::input::{NodeInput, TaintInput};

/// A node without anything, not even room for pods.
#[must_use]
pub fn bare_node(name: &str) -> NodeInput {
    NodeInput { name: name.to_owned(), ..NodeInput::default() }
}

/// A node of 4 CPUs and 8Gi for 10 pods.
#[must_use]
pub fn node(name: &str) -> NodeInput {
    bare_node(name).has(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "10")])
}

/// A node of 10 CPUs and 64Gi for 110 pods: shares of a CPU are percents of ten.
#[must_use]
pub fn large_node(name: &str) -> NodeInput {
    bare_node(name).has(&[("cpu", "10"), ("memory", "64Gi"), ("pods", "110")])
}

/// A taint.
#[must_use]
pub fn taint(key: &str, value: &str, effect: &str) -> TaintInput {
    TaintInput { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() }
}

/// What nodes may have.
#[must_use]
pub trait NodeParts: Sized {
    /// These resources and no others.
    fn has(self, allocatable: &[(&str, &str)]) -> Self;
    /// So many CPUs.
    fn cpu(self, amount: &str) -> Self;
    /// A label.
    fn label(self, key: &str, value: &str) -> Self;
    /// Labels from text.
    fn labels(self, text: &str) -> Self;
    /// A taint that keeps pods off.
    fn taint(self, key: &str) -> Self;
    /// It takes no new pods.
    fn cordoned(self) -> Self;
}

impl NodeParts for NodeInput {
    fn has(self, allocatable: &[(&str, &str)]) -> NodeInput {
        NodeInput { allocatable: resources(allocatable), ..self }
    }

    fn cpu(mut self, amount: &str) -> NodeInput {
        self.allocatable.extend(resources(&[("cpu", amount)]));
        self
    }

    fn label(mut self, key: &str, value: &str) -> NodeInput {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    fn labels(mut self, text: &str) -> NodeInput {
        self.labels.extend(labels(text));
        self
    }

    fn taint(mut self, key: &str) -> NodeInput {
        self.taints.push(taint(key, "", "NoSchedule"));
        self
    }

    fn cordoned(self) -> NodeInput {
        NodeInput { unschedulable: true, ..self }
    }
}
