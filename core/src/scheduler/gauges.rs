//! How things stand now, by the labels of upstream's gauges. Reading looks at every queued pod: for
//! whoever scrapes, between two rounds, not for the loop.

use std::collections::BTreeMap;

use super::{ApiCall, Scheduler};
use crate::framework::extend::EXTENDER_NAME;

/// Upstream's label of pods in flight among the events kept for them.
const POD_POPPED: &str = "PodPopped";

impl Scheduler {
    /// Pods in the queue that a plugin rejected or holds back, by plugin and profile. A pod counts for
    /// every plugin that does. Upstream: metric `unschedulable_pods`.
    #[must_use]
    pub fn unschedulable_by_plugin(&self) -> BTreeMap<(&'static str, &str), u64> {
        let mut counts = BTreeMap::new();
        for (profile, plugins) in self.queue.rejector_plugins() {
            let profile = &self.parts[usize::from(profile.0)].profile;
            for plugin in plugins.iter() {
                let known = profile.plugins().get(usize::from(plugin.0));
                let name = known.map_or(EXTENDER_NAME, |plugin| plugin.name());
                *counts.entry((name, profile.scheduler_name.as_str())).or_default() += 1;
            }
        }
        counts
    }

    /// Events kept for pods in flight, by upstream's name of the event; and those pods themselves.
    /// Upstream: metric `inflight_events`.
    #[must_use]
    pub fn in_flight_events(&self) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for what in self.queue.in_flight_events() {
            *counts.entry(what.label()).or_default() += 1;
        }
        counts.insert(POD_POPPED.to_owned(), self.queue.counts().in_flight as u64);
        counts
    }

    /// API calls that wait in line, bindings and status patches. Upstream: metric
    /// `pending_async_api_calls`.
    #[must_use]
    pub fn pending_calls(&self) -> PendingCalls {
        let mut pending = PendingCalls::default();
        for call in self.dispatcher.waiting_calls() {
            match call {
                ApiCall::Bind { .. } => pending.bindings += 1,
                ApiCall::PatchStatus(_) => pending.status_patches += 1,
                ApiCall::AddDisruptionTarget { .. }
                | ApiCall::DeletePod { .. }
                | ApiCall::BindVolumes(_)
                | ApiCall::WriteClaims(_)
                | ApiCall::PatchPodGroupStatus(_) => {}
            }
        }
        pending
    }
}

/// Calls that wait in line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingCalls {
    /// Bindings.
    pub bindings: u64,
    /// Patches of a pod's status.
    pub status_patches: u64,
}
