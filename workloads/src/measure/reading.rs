//! What can be read of a scheduler while it runs: the numbers its operators watch.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use schedlab_cluster::api::{EventKind, WatchEvent, WatchedObject};
use schedlab_cluster::runtime::{CallsView, Changer};
use schedlab_core::cycle::plugin_times::{PLUGIN_BUCKETS, PluginTime};
use schedlab_core::queue::{Action, ClusterEvent, EventResource};
use schedlab_core::scheduler::{Counters, PodCounts};

use super::meter::{Latencies, MetersView};

/// How long events of one name took, in nanoseconds.
pub type EventTimes = BTreeMap<String, Histogram<u64>>;

/// Calls of a plugin by bucket, the last beyond all bounds, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginCalls {
    /// By upstream's buckets.
    pub counts: [u64; PLUGIN_BUCKETS + 1],
    /// Nanoseconds of all.
    pub sum_ns: u64,
}

/// A reading. What is counted adds up over schedulers; what is measured now does not.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Of measured parts.
    pub latencies: Latencies,
    /// Of measured parts, sampled, by upstream's name of the event.
    pub events: EventTimes,
    /// What the scheduler counted.
    pub counters: Counters,
    /// Pods that came to a queue, by queue and event.
    pub incoming: BTreeMap<(&'static str, String), u64>,
    /// Sampled, by plugin and extension point.
    pub plugins: BTreeMap<(&'static str, &'static str), PluginCalls>,
    /// API calls by kind and result.
    pub calls: BTreeMap<(&'static str, &'static str), u64>,
    /// Pods now.
    pub pods: PodCounts,
    /// Nodes now.
    pub node_count: usize,
}

impl Reading {
    /// Adds what another scheduler counted.
    pub fn add(&mut self, other: &Reading) {
        self.latencies.merge(&other.latencies);
        merge_events(&mut self.events, &other.events);
        self.counters.add(&other.counters);
        for (key, count) in &other.incoming {
            *self.incoming.entry(key.clone()).or_default() += count;
        }
        for (key, calls) in &other.plugins {
            let all = self.plugins.entry(*key).or_default();
            all.counts.iter_mut().zip(calls.counts).for_each(|(count, more)| *count += more);
            all.sum_ns += calls.sum_ns;
        }
        for (key, count) in &other.calls {
            *self.calls.entry(*key).or_default() += count;
        }
    }

    /// The same without what is true only now.
    #[must_use]
    pub fn counted_only(self) -> Reading {
        Reading { pods: PodCounts::default(), node_count: 0, ..self }
    }
}

/// Adds histograms by name.
pub(super) fn merge_events(all: &mut EventTimes, more: &EventTimes) {
    for (name, histogram) in more {
        match all.get_mut(name) {
            Some(known) => known.add(histogram).expect("all histograms have the same bounds"),
            None => drop(all.insert(name.clone(), histogram.clone())),
        }
    }
}

/// Lets others read a scheduler while it runs. A reading costs the scheduler one command between two
/// rounds; without readers it costs nothing.
#[derive(Clone, Debug)]
pub struct Live {
    changer: Changer,
    calls: CallsView,
    meters: MetersView,
}

impl Live {
    /// A view of a scheduler with these meters.
    #[must_use]
    pub fn new(changer: Changer, calls: CallsView, meters: MetersView) -> Live {
        Live { changer, calls, meters }
    }

    /// Reads everything; `None` when the scheduler has ended.
    #[must_use]
    pub fn read(&self) -> Option<Reading> {
        let mut reading = self.changer.change(|scheduler, _| Reading {
            counters: scheduler.counters(),
            incoming: scheduler
                .queue()
                .incoming()
                .counts()
                .map(|(queue, event, n)| ((queue, event), n))
                .collect(),
            plugins: scheduler.plugin_times().iter().map(named_calls).collect(),
            pods: scheduler.counts(),
            node_count: scheduler.world().nodes().node_count(),
            ..Reading::default()
        })?;
        (reading.latencies, reading.events) = self.meters.read();
        reading.calls =
            self.calls.totals().into_iter().map(|(kind, result, n)| ((kind, result), n)).collect();
        Some(reading)
    }
}

fn named_calls(time: &PluginTime) -> ((&'static str, &'static str), PluginCalls) {
    use schedlab_core::framework::extension_point::ExtensionPoint;
    let point = match time.point {
        ExtensionPoint::Score => "Score",
        ExtensionPoint::PostFilter => "PostFilter",
        _ => "Filter",
    };
    ((time.plugin, point), PluginCalls { counts: time.counts, sum_ns: time.sum_ns })
}

/// Upstream's name of an event, as `UnscheduledPodAdd`. Upstream: eventhandlers.go.
///
/// Differs: a pod that is on a node and changed is taken for one that came there, because the watch
/// does not say what it was before; nearly all of these are bindings that the API confirms.
pub(super) fn event_name(event: &WatchEvent) -> String {
    let action = match event.kind {
        EventKind::Added => Action::ADD,
        EventKind::Modified => Action::UPDATE,
        EventKind::Deleted => Action::DELETE,
    };
    let named = |resource, action| ClusterEvent { resource, action }.label();
    match &event.object {
        WatchedObject::Pod(row) if row.node.is_none() => named(EventResource::UnscheduledPod, action),
        WatchedObject::Pod(_) if action == Action::DELETE => named(EventResource::AssignedPod, action),
        WatchedObject::Pod(_) => named(EventResource::AssignedPod, Action::ADD),
        WatchedObject::Node(_) => named(EventResource::Node, action),
        WatchedObject::PodEvent(_) => format!("events.k8s.io/Event{}", action.label()),
        WatchedObject::Other(object) => {
            let group =
                object.api_version.split_once('/').map(|(group, _)| format!("{group}/")).unwrap_or_default();
            format!("{group}{}{}", object.kind, action.label())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_schedulers_after_each_other_add_up() {
        let mut one = Reading::default();
        one.counters.scheduled = 3;
        one.incoming.insert(("active", "UnscheduledPodAdd".to_owned()), 4);
        one.calls.insert(("pod_binding", "success"), 3);
        one.pods.queued = 5;
        let mut all = one.clone().counted_only();
        all.add(&one);
        assert_eq!(all.counters.scheduled, 6);
        assert_eq!(all.incoming[&("active", "UnscheduledPodAdd".to_owned())], 8);
        assert_eq!(all.calls[&("pod_binding", "success")], 6);
        assert_eq!(all.pods.queued, 0, "who waits now does not add up");
    }
}
