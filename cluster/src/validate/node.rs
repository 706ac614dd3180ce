//! Nodes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;

use super::formats::dns_subdomain_errors;
use super::{Errors, Invalid, Path};

/// Upstream: `ValidateNode`, which names taints below `metadata`.
pub fn validate_node(node: &Node) -> Result<(), Invalid> {
    let mut errors = Errors::default();
    errors.metadata(&node.metadata, dns_subdomain_errors);
    errors.taints(node);
    let status = node.status.as_ref();
    let lists = [
        ("capacity", status.and_then(|status| status.capacity.as_ref())),
        ("allocatable", status.and_then(|status| status.allocatable.as_ref())),
    ];
    let path = Path::root("status");
    for (list, amounts) in lists {
        for (name, quantity) in amounts.into_iter().flatten() {
            errors.amount(&path.field(list).field(name), name, quantity);
        }
    }
    errors.into_result()
}

impl Errors {
    /// Upstream: `validateNodeTaints`.
    fn taints(&mut self, node: &Node) {
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let mut seen = BTreeSet::new();
        let path = Path::root("metadata");
        let path = path.field("taints");
        for (at, taint) in taints.enumerate() {
            let path = path.index(at);
            self.label_key(&path.field("key"), &taint.key);
            self.label_value(&path.field("value"), taint.value.as_deref().unwrap_or_default());
            if taint.effect.is_empty() {
                self.required(&path.field("effect"), "");
            } else {
                self.taint_effect(&path.field("effect"), &taint.effect);
            }
            if !seen.insert((&taint.key, &taint.effect)) {
                let shown = format!("{}:{}", taint.key, taint.effect);
                self.push(
                    &path,
                    format!("Duplicate value: {shown:?}: taints must be unique by key and effect pair"),
                );
            }
        }
    }
}
