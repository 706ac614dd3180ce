//! What nodes have and what pods ask of them, for controllers that reckon with both.

use k8s_openapi::api::core::v1::Node;

use super::SideTables;
use crate::api::SpecId;
use crate::quota::{Amount, Amounts, pod_requests};

/// What a node has for pods.
pub(super) fn amounts_of(node: &Node) -> Amounts {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    allocatable
        .into_iter()
        .flatten()
        .filter_map(|(name, amount)| Some((name.clone(), Amount::of(amount)?)))
        .collect()
}

/// What a pod of this body asks of its node; a place is part of it.
pub(super) fn asks_of(spec: SpecId, tables: SideTables<'_>) -> Amounts {
    let entry = tables.pod_spec(spec);
    let mut asks = entry.object.spec.as_ref().map(pod_requests).unwrap_or_default();
    asks.retain(|_, amount| !amount.is_zero());
    asks.insert("pods".to_owned(), Amount::units(1));
    asks
}

/// There is as much of everything.
pub(super) fn covers(left: &Amounts, asks: &Amounts) -> bool {
    asks.iter().all(|(name, asked)| left.get(name).copied().unwrap_or_default().covers(*asked))
}

/// So much less is left.
pub(super) fn subtract(left: &mut Amounts, asks: &Amounts) {
    for (name, asked) in asks {
        let amount = left.entry(name.clone()).or_default();
        *amount = amount.minus(*asked);
    }
}
