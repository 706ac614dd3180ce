//! Resource quotas: what a pod uses of one, which pods one is about, and the refusal where it would be
//! exceeded. Pure rules; the store keeps the sums (`embedded/quotas.rs`).
//!
//! Upstream: apiserver pkg/admission/plugin/resourcequota/controller.go `CheckRequest`,
//! pkg/quota/v1/evaluator/core/pods.go, apiserver pkg/quota/v1/resources.go.

mod amount;
mod scopes;
mod usage;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

pub use amount::{Amount, Amounts};
pub use scopes::Scope;
pub use usage::{PodUsage, pod_requests};

use crate::api::GenericObject;

/// A `ResourceQuota`, and what is used of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    /// `metadata.name`.
    pub name: String,
    /// `spec.hard`.
    pub hard: Amounts,
    /// `spec.scopes` and `spec.scopeSelector`; all must hold.
    pub scopes: Vec<Scope>,
    /// `status.used`.
    pub used: Amounts,
}

impl Quota {
    /// Reads one; nothing is used of it yet. What is not a quantity was refused when it was created.
    #[must_use]
    pub fn of(object: &GenericObject) -> Quota {
        let spec = object.body.get("spec");
        let hard = spec.and_then(|spec| spec.get("hard")).and_then(serde_json::Value::as_object);
        let hard: Amounts = hard
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), Amount::of_json(value)?)))
            .collect();
        let used = hard.keys().map(|name| (name.clone(), Amount::default())).collect();
        Quota {
            name: object.metadata.name.clone().unwrap_or_default(),
            hard,
            scopes: spec.map(Scope::all_of).unwrap_or_default(),
            used,
        }
    }

    /// Whether a pod counts: it is within the scopes, and the quota limits something of pods.
    #[must_use]
    pub fn is_about(&self, pod: &Pod) -> bool {
        self.hard.keys().any(|name| usage::is_of_pods(name))
            && self.scopes.iter().all(|scope| scope.matches(pod))
    }

    /// What a pod leaves out that must be said where the quota limits it.
    pub fn check_constraints(&self, pod: &Pod) -> Result<(), String> {
        let limited = self.hard.keys().map(String::as_str);
        usage::check_constraints(pod, limited).map_err(|why| format!("failed quota: {}: {why}", self.name))
    }

    /// How many more of something there is room for, `most` at the most.
    #[must_use]
    pub fn room_for(&self, usage: &Amounts, most: u32) -> u32 {
        let rooms = usage.iter().filter_map(|(name, amount)| {
            let hard = self.hard.get(name)?;
            let used = self.used.get(name).copied().unwrap_or_default();
            hard.times_above(used, *amount)
        });
        rooms.min().unwrap_or(u64::MAX).min(u64::from(most)).try_into().unwrap_or(most)
    }

    /// Why there is no room for something.
    #[must_use]
    pub fn exceeded_by(&self, usage: &Amounts) -> String {
        let is_exceeded = |name: &&String| {
            let used = self.used.get(*name).copied().unwrap_or_default();
            self.hard.get(*name).is_some_and(|hard| !hard.covers(used.plus(usage[*name])))
        };
        let exceeded: Vec<&String> = usage.keys().filter(is_exceeded).collect();
        let list = |of: &Amounts| {
            let part = |name: &&String| format!("{name}={}", of.get(*name).copied().unwrap_or_default());
            exceeded.iter().map(part).collect::<Vec<_>>().join(",")
        };
        format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            self.name,
            list(usage),
            list(&self.used),
            list(&self.hard)
        )
    }

    /// Something comes, `count` times.
    pub fn add(&mut self, usage: &Amounts, count: u32) {
        self.change(usage, |used, amount| used.plus(amount.times(count)));
    }

    /// Something goes.
    pub fn subtract(&mut self, usage: &Amounts) {
        self.change(usage, Amount::minus);
    }

    fn change(&mut self, usage: &Amounts, change: impl Fn(Amount, Amount) -> Amount) {
        for (name, &amount) in usage {
            if let Some(used) = self.used.get_mut(name) {
                *used = change(*used, amount);
            }
        }
    }

    /// `status`.
    #[must_use]
    pub fn status(&self) -> serde_json::Value {
        let texts = |amounts: &Amounts| -> BTreeMap<String, String> {
            amounts.iter().map(|(name, amount)| (name.clone(), amount.to_string())).collect()
        };
        serde_json::json!({ "hard": texts(&self.hard), "used": texts(&self.used) })
    }
}

#[cfg(test)]
mod tests;
