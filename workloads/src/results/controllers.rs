//! What controllers did, as results say it.

use std::collections::BTreeMap;

use schedlab_cluster::controllers::{ControllerReport, LatencySamples};
use serde::{Deserialize, Deserializer, Serialize};

/// What a controller did over the whole workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControllerResult {
    /// As kube-controller-manager calls it.
    pub name: String,
    /// What it counted.
    pub counters: BTreeMap<String, u64>,
    /// What it timed, from the cause reaching it to the API's answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_us: BTreeMap<String, ControllerLatency>,
}

/// How long one thing that a controller does took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControllerLatency {
    /// How often it was done.
    pub count: u64,
    /// So many a second, from the first cause to the last answer.
    pub per_s: f64,
    /// Half of them took no longer.
    pub p50: u64,
    /// Exceeded by one in a hundred.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl From<&ControllerReport> for ControllerResult {
    fn from(report: &ControllerReport) -> ControllerResult {
        let counters = report.counters.iter().map(|counter| (counter.name.to_owned(), counter.count));
        let latency = |samples: &LatencySamples| ControllerLatency {
            count: samples.samples_us.len() as u64,
            per_s: samples.per_second(),
            p50: samples.percentile_us(50),
            p99: samples.percentile_us(99),
            max: samples.percentile_us(100),
        };
        let latencies = report.latencies.iter().filter(|samples| !samples.samples_us.is_empty());
        ControllerResult {
            name: report.controller.to_owned(),
            counters: counters.collect(),
            latency_us: latencies.map(|samples| (samples.name.to_owned(), latency(samples))).collect(),
        }
    }
}

/// `execution` of results from before there were several controllers.
#[derive(Deserialize)]
struct Execution {
    nodes_updated: u64,
    pods_checked: u64,
    evicted_by_affinity: u64,
    evicted_by_taint: u64,
    failed: u64,
    evictions_per_s: f64,
    latency_us_p50: u64,
    latency_us_p99: u64,
    latency_us_max: u64,
}

impl From<Execution> for ControllerResult {
    fn from(old: Execution) -> ControllerResult {
        let counters = [
            ("nodes_updated", old.nodes_updated),
            ("pods_checked", old.pods_checked),
            ("evicted_by_affinity", old.evicted_by_affinity),
            ("evicted_by_taint", old.evicted_by_taint),
            ("failed", old.failed),
        ];
        let count = old.evicted_by_affinity + old.evicted_by_taint;
        let latency = ControllerLatency {
            count,
            per_s: old.evictions_per_s,
            p50: old.latency_us_p50,
            p99: old.latency_us_p99,
            max: old.latency_us_max,
        };
        ControllerResult {
            name: "taint-eviction-controller".to_owned(),
            counters: counters.map(|(name, count)| (name.to_owned(), count)).into(),
            latency_us: (count > 0).then(|| ("pod_deletion".to_owned(), latency)).into_iter().collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Now(Vec<ControllerResult>),
    Before(Execution),
}

/// Reads `controllers`, and `execution` as older versions wrote it.
pub(super) fn read<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<ControllerResult>, D::Error> {
    Ok(match Written::deserialize(source)? {
        Written::Now(controllers) => controllers,
        Written::Before(execution) => vec![execution.into()],
    })
}
