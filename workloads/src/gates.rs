//! Feature gates of workloads: which of them the scheduler has, which change nothing here.

mod known;

use std::collections::BTreeMap;

use schedlab_core::scheduler::{FeatureGateError, FeatureGates};

use crate::suggest::closest_of;

/// Gates that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatesError {
    /// Neither the scheduler nor upstream knows the gate.
    #[error(
        "unknown feature gate `{name}`{}; kube-scheduler and schedlab have none of that name",
        suggestions.first().map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
    )]
    Unknown {
        /// As written.
        name: String,
        /// Names near it.
        suggestions: Vec<String>,
    },
    /// Gates that do not go together.
    #[error(transparent)]
    Scheduler(#[from] FeatureGateError),
}

/// The scheduler's gates with these settings over its defaults.
pub fn scheduler_gates(written: &BTreeMap<String, bool>) -> Result<FeatureGates, GatesError> {
    let mut gates = FeatureGates::default();
    for (name, &is_on) in written {
        if gates.set(name, is_on).is_err() && !is_without_effect(name) {
            let names = FeatureGates::NAMES.iter().chain(known::WITHOUT_EFFECT).copied();
            return Err(GatesError::Unknown { name: name.clone(), suggestions: closest_of(name, names, 1) });
        }
    }
    gates.check()?;
    Ok(gates)
}

/// The plugins that these gates take out of every profile.
#[must_use]
pub(crate) fn switched_off_plugins(gates: &FeatureGates) -> &'static [&'static str] {
    if gates.node_declared_features { &[] } else { &["NodeDeclaredFeatures"] }
}

/// The gates that are known upstream and change nothing here.
#[must_use]
pub fn without_effect(written: &BTreeMap<String, bool>) -> Vec<String> {
    written.keys().filter(|name| is_without_effect(name)).cloned().collect()
}

fn is_without_effect(name: &str) -> bool {
    known::WITHOUT_EFFECT.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(gates: &[(&str, bool)]) -> BTreeMap<String, bool> {
        gates.iter().map(|&(name, is_on)| (name.to_owned(), is_on)).collect()
    }

    #[test]
    fn feature_gates_without_effect_are_sorted_and_not_scheduler_gates() {
        assert!(known::WITHOUT_EFFECT.is_sorted());
        for name in FeatureGates::NAMES {
            assert!(!is_without_effect(name), "{name}");
        }
    }

    #[test]
    fn feature_gates_reach_the_scheduler_or_are_listed() {
        let gates = written(&[("SchedulerAsyncAPICalls", true), ("NodeSwap", true)]);
        let scheduler = scheduler_gates(&gates).unwrap();
        assert_eq!(scheduler, FeatureGates { scheduler_async_api_calls: true, ..FeatureGates::default() });
        assert_eq!(without_effect(&gates), ["NodeSwap"]);
    }

    #[test]
    fn node_declared_features_off_takes_its_plugin_out() {
        let gates = scheduler_gates(&written(&[("NodeDeclaredFeatures", false)])).unwrap();
        assert_eq!(switched_off_plugins(&gates), ["NodeDeclaredFeatures"]);
        assert!(switched_off_plugins(&FeatureGates::default()).is_empty());
    }

    #[test]
    fn feature_gates_that_cannot_be_set_are_refused() {
        let cases = [
            (
                written(&[("SchedulerAsyncAPICall", true)]),
                "unknown feature gate `SchedulerAsyncAPICall` (did you mean `SchedulerAsyncAPICalls`?); \
                 kube-scheduler and schedlab have none of that name",
            ),
            (
                written(&[("SchedulerPreEnqueuePodStatus", true)]),
                "feature gate SchedulerPreEnqueuePodStatus needs SchedulerAsyncAPICalls; switch \
                 SchedulerAsyncAPICalls on as well, or SchedulerPreEnqueuePodStatus off",
            ),
        ];
        for (gates, message) in cases {
            assert_eq!(scheduler_gates(&gates).unwrap_err().to_string(), message);
        }
    }
}
