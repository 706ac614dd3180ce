//! From what a run left behind to what is written about it.

use std::collections::BTreeMap;

use schedlab_cluster::execution::ExecutionReport;

use crate::executor::{Collected, Ending, Outcome, RunSettings};
use crate::gates::without_effect;
use crate::measure::{Latencies, window_for, windows};
use crate::resolve::ResolvedWorkload;
use crate::results::{
    Attempts, Execution, Memory, Pods, Repeats, RunTotal, Sample, Status, Threshold, Throughput,
    WorkloadResult, slo, workload_items,
};

/// The results of a workload that was run once or several times: one for each measured part.
/// Throughput and its samples are those of the repeat in the middle; latencies are pooled.
#[must_use]
pub fn workload_results(
    workload: &ResolvedWorkload,
    feature_gates: &BTreeMap<String, bool>,
    settings: RunSettings,
    repeats: &[Outcome],
    peak_rss_bytes: Option<u64>,
) -> Vec<WorkloadResult> {
    let part_count = repeats.iter().map(|outcome| outcome.collected.len()).max().unwrap_or(0);
    (0..part_count.max(1))
        .filter_map(|part| {
            let parts: Vec<Part<'_>> = repeats
                .iter()
                .map(|outcome| Part { outcome, collected: outcome.collected.get(part) })
                .collect();
            result_of_part(workload, feature_gates, settings, &parts, peak_rss_bytes)
        })
        .collect()
}

struct Part<'a> {
    outcome: &'a Outcome,
    collected: Option<&'a Collected>,
}

/// One repeat of a part in numbers.
struct Measured<'a> {
    collected: &'a Collected,
    samples: Vec<Sample>,
    window_ns: u64,
    duration_ms: f64,
    throughput: Throughput,
}

#[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
fn measure(collected: &Collected) -> Measured<'_> {
    let elapsed_ns = collected.end_ns.saturating_sub(collected.start_ns);
    let window_ns = window_for(elapsed_ns);
    let samples = windows(&collected.readings.bursts, collected.start_ns, window_ns);
    let duration_ms = elapsed_ns as f64 / 1e6;
    let throughput = Throughput::from_samples(&samples, collected.scheduled, duration_ms);
    Measured { collected, samples, window_ns, duration_ms, throughput }
}

#[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
fn result_of_part(
    workload: &ResolvedWorkload,
    feature_gates: &BTreeMap<String, bool>,
    settings: RunSettings,
    parts: &[Part<'_>],
    peak_rss_bytes: Option<u64>,
) -> Option<WorkloadResult> {
    let last = parts.last()?.outcome;
    let mut measured: Vec<Measured<'_>> =
        parts.iter().filter_map(|part| part.collected).map(measure).collect();
    let totals: Vec<RunTotal> = measured
        .iter()
        .map(|repeat| RunTotal {
            throughput: repeat.throughput,
            duration_ms: repeat.duration_ms,
            scheduled: repeat.collected.scheduled,
        })
        .collect();
    let mut latencies = Latencies::default();
    for repeat in &measured {
        latencies.merge(&repeat.collected.readings.latencies);
    }
    measured.sort_by(|one, other| one.throughput.total.total_cmp(&other.throughput.total));
    let middle = measured.into_iter().nth(totals.len() / 2);
    let (status, message) = ending(last, middle.is_some());
    let mut result = WorkloadResult {
        name: workload.full_name.clone(),
        suite: workload.topic.clone(),
        collector: middle.as_ref().map(|middle| middle.collected.collector.clone()),
        labels: workload.labels.clone(),
        feature_gates: feature_gates.clone(),
        gates_without_effect: without_effect(feature_gates),
        status,
        message,
        nodes: last.node_count,
        pods: Pods::default(),
        duration_ms: 0.0,
        throughput: Throughput::default(),
        window_ms: 0.0,
        samples: Vec::new(),
        attempts: Attempts::default(),
        latency_us: latencies.summaries(),
        api_calls: BTreeMap::new(),
        api_calls_per_pod: BTreeMap::new(),
        memory: memory(last, peak_rss_bytes),
        slo: Vec::new(),
        threshold: None,
        execution: last.execution.as_ref().map(execution),
        repeats: Repeats::from_runs(totals),
        seed: settings.seed,
        source: workload.source_text.clone(),
    };
    if let Some(middle) = middle {
        let part = middle.collected;
        result.pods = Pods {
            created: part.created,
            scheduled: part.scheduled,
            unschedulable: part.created.saturating_sub(part.scheduled),
        };
        result.duration_ms = middle.duration_ms;
        result.throughput = middle.throughput;
        result.window_ms = middle.window_ns as f64 / 1e6;
        result.samples = middle.samples;
        let seconds = middle.duration_ms / 1e3;
        let per_s = if seconds > 0.0 { part.attempts as f64 / seconds } else { 0.0 };
        result.attempts = Attempts { total: part.attempts, per_s };
        result.api_calls = part.calls.clone();
        result.api_calls_per_pod = WorkloadResult::calls_per_pod(&part.calls, part.scheduled);
    }
    let threshold = &workload.threshold;
    result.threshold =
        Threshold::evaluate(threshold.value, threshold.selector.clone(), &workload_items(&result));
    result.slo = slo::evaluate(&result);
    Some(result)
}

fn ending(outcome: &Outcome, has_measured: bool) -> (Status, Option<String>) {
    match &outcome.ending {
        Ending::Completed if 0 < outcome.failed_calls => {
            let message =
                format!("{} API call(s) of the scheduler failed and were retried", outcome.failed_calls);
            (Status::Completed, Some(message))
        }
        Ending::Completed => (Status::Completed, None),
        Ending::Interrupted if has_measured => {
            (Status::Partial, Some("interrupted; the numbers cover what was measured until then".to_owned()))
        }
        Ending::Interrupted => {
            (Status::Partial, Some("interrupted before the measured part; there are no numbers".to_owned()))
        }
        Ending::Stuck(why) => (Status::Stuck, Some(why.clone())),
    }
}

#[allow(clippy::cast_precision_loss, reason = "memory sizes are far below 2^53")]
fn memory(outcome: &Outcome, peak_rss_bytes: Option<u64>) -> Memory {
    let per = |bytes: u64, count: u64| (0 < count).then(|| bytes as f64 / count as f64);
    Memory {
        peak_rss_bytes,
        bytes_per_node: per(outcome.engine_bytes.0 as u64, outcome.node_count),
        bytes_per_pod: per(outcome.engine_bytes.1 as u64 + outcome.store_bytes, outcome.pod_count),
    }
}

fn execution(report: &ExecutionReport) -> Execution {
    let counts = &report.counts;
    Execution {
        nodes_updated: counts.nodes_updated,
        pods_checked: counts.pods_checked,
        evicted_by_affinity: counts.evicted_by_affinity,
        evicted_by_taint: counts.evicted_by_taint,
        failed: counts.failed,
        evictions_per_s: report.evictions_per_second(),
        latency_us_p50: report.latency_us(50),
        latency_us_p99: report.latency_us(99),
        latency_us_max: report.latency_us(100),
    }
}
