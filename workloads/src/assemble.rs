//! From what a run left behind to what is written about it.

use std::collections::BTreeMap;

use crate::executor::{Collected, Ending, Outcome, RunSettings};
use crate::gates::without_effect;
use crate::measure::{window_for, windows};
use crate::metrics::{MetricValues, collected as collected_metrics};
use crate::resolve::ResolvedWorkload;
use crate::results::{
    Attempts, Conditions, ControllerResult, ExtenderCalls, Memory, Normalised, Pods, Repeats, RunStatus,
    RunTotal, Sample, Threshold, Throughput, Windows, WorkloadResult, half_width_of_runs, latencies_by_stage,
    pods_per_s, slo, workload_items,
};

/// One run of a workload, and how fast the machine was beside it.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the run left behind.
    pub outcome: Outcome,
    /// Speed of the machine by the reference kernel; 1 is the reference. See
    /// [`crate::results::Normalised`].
    pub machine_speed: Option<f64>,
}

/// How the results of a workload are put together.
#[derive(Clone, Copy, Debug)]
pub struct Assembly<'a> {
    /// The workload that ran.
    pub workload: &'a ResolvedWorkload,
    /// How it ran.
    pub settings: RunSettings,
    /// Highest resident set of the process so far.
    pub peak_rss_bytes: Option<u64>,
    /// Processors of the machine.
    pub cores: u32,
    /// The half width of the headline's interval, as a share of it, from which on the result says
    /// that it is wide.
    pub precision: f64,
}

impl<'a> Assembly<'a> {
    /// For runs whose numbers go into a comparison of their own: no warning, no memory.
    #[must_use]
    pub fn without_warnings(workload: &'a ResolvedWorkload, settings: RunSettings) -> Assembly<'a> {
        Assembly { workload, settings, peak_rss_bytes: None, cores: u32::MAX, precision: f64::INFINITY }
    }
}

/// The results of a workload that was run once or several times: one for each measured part.
/// The headline is the median of the runs; counts and samples are those of the run in the middle;
/// latencies are pooled, and kept by run.
#[must_use]
pub fn workload_results(assembly: &Assembly<'_>, runs: &[Run]) -> Vec<WorkloadResult> {
    let part_count = runs.iter().map(|run| run.outcome.collected.len()).max().unwrap_or(0);
    (0..part_count.max(1))
        .filter_map(|part| {
            let parts: Vec<Part<'_>> =
                runs.iter().map(|run| Part { run, collected: run.outcome.collected.get(part) }).collect();
            result_of_part(assembly, &parts)
        })
        .collect()
}

/// Half the width of the interval that the runs show, as a share of the headline, of the measured part
/// where it is widest: what decides whether more runs are needed. `None` without an interval.
#[must_use]
pub fn widest_half_width(runs: &[Run]) -> Option<f64> {
    let part_count = runs.iter().map(|run| run.outcome.collected.len()).max()?;
    let of_part = |part: usize| {
        let rate = |collected: &Collected| pods_per_s(collected.scheduled, duration_ms(collected));
        let parts = runs.iter().filter_map(|run| run.outcome.collected.get(part));
        let rates: Vec<f64> = parts.map(rate).collect();
        // Nothing was ever scheduled: more runs would say the same.
        let is_nothing = 1 < rates.len() && rates.iter().all(|&rate| rate == 0.0);
        if is_nothing { Some(0.0) } else { half_width_of_runs(&rates) }
    };
    (0..part_count).filter_map(of_part).max_by(f64::total_cmp)
}

struct Part<'a> {
    run: &'a Run,
    collected: Option<&'a Collected>,
}

/// One run of a part in numbers.
struct Measured<'a> {
    collected: &'a Collected,
    samples: Vec<Sample>,
    window_ns: u64,
    duration_ms: f64,
}

fn measure(collected: &Collected) -> Measured<'_> {
    let window_ns = window_for(collected.end_ns.saturating_sub(collected.start_ns));
    let samples = windows(&collected.readings.bursts, collected.start_ns, window_ns);
    Measured { collected, samples, window_ns, duration_ms: duration_ms(collected) }
}

/// The measured interval: the time from the first creation to the last binding in which the
/// scheduler thread ran, or had nothing to do. Time in which it stood ready and other processes had
/// the processors says something about them, not about the scheduler; it is taken off, shown, and
/// warned of.
#[allow(clippy::cast_precision_loss, reason = "times of a run are far below 2^53")]
fn duration_ms(collected: &Collected) -> f64 {
    let elapsed_ns = collected.end_ns.saturating_sub(collected.start_ns);
    (elapsed_ns as f64 / 1e6 - collected.conditions.waited_ms).max(0.0)
}

impl Measured<'_> {
    fn total(&self, machine_speed: Option<f64>) -> RunTotal {
        let window_ms = self.window_ns as f64 / 1e6;
        let summaries = latencies_by_stage(&self.collected.readings.series);
        RunTotal {
            pods_per_s: pods_per_s(self.collected.scheduled, self.duration_ms),
            duration_ms: self.duration_ms,
            scheduled: self.collected.scheduled,
            machine_speed,
            conditions: Some(self.collected.conditions),
            windows: Windows::from_samples(&self.samples, window_ms),
            latency_us: summaries.iter().map(|(stage, summary)| (*stage, summary.into())).collect(),
        }
    }
}

fn result_of_part(assembly: &Assembly<'_>, parts: &[Part<'_>]) -> Option<WorkloadResult> {
    let Assembly { workload, settings, peak_rss_bytes, .. } = *assembly;
    let last = &parts.last()?.run.outcome;
    let feature_gates = &workload.feature_gates;
    // Durations are pooled over runs; counts are those of the run in the middle, as pods and calls.
    let mut pooled = MetricValues::default();
    let mut measured: Vec<(Measured<'_>, RunTotal)> = Vec::new();
    for part in parts {
        let Some(collected) = part.collected else { continue };
        pooled.merge(&collected.readings.series.durations_only());
        let of_run = measure(collected);
        let total = of_run.total(part.run.machine_speed);
        measured.push((of_run, total));
    }
    let totals: Vec<RunTotal> = measured.iter().map(|(_, total)| total.clone()).collect();
    let rates: Vec<f64> = totals.iter().map(|total| total.pods_per_s).collect();
    let conditions: Vec<Conditions> = totals.iter().filter_map(|total| total.conditions).collect();
    let (status, message) = ending(last, !measured.is_empty());
    let mut result = WorkloadResult {
        name: workload.full_name.clone(),
        suite: workload.topic.clone(),
        collector: measured.first().map(|(first, _)| first.collected.collector.clone()),
        labels: workload.labels.clone(),
        feature_gates: feature_gates.clone(),
        gates_without_effect: without_effect(feature_gates),
        status,
        message,
        nodes: last.node_count,
        pods: Pods::default(),
        duration_ms: 0.0,
        throughput: Throughput::of_disturbed_runs(&rates, Conditions::waited_share_over(&conditions)),
        normalised: Normalised::of_runs(&totals),
        warnings: Vec::new(),
        conditions: Conditions::over(&conditions),
        window_ms: 0.0,
        samples: Vec::new(),
        attempts: Attempts::default(),
        latency_us: latencies_by_stage(&pooled),
        metrics: Vec::new(),
        metrics_collected: Vec::new(),
        api_calls: BTreeMap::new(),
        api_calls_per_pod: BTreeMap::new(),
        memory: memory(last, peak_rss_bytes),
        slo: Vec::new(),
        threshold: None,
        controllers: last.controllers.iter().map(ControllerResult::from).collect(),
        extenders: extender_calls(parts.iter().map(|part| part.run.outcome.extenders.as_slice())),
        under_test: None,
        repeats: Repeats::from_runs(totals),
        change: None,
        content: Some(workload.content()),
        seed: settings.seed,
        source: workload.source_text.clone(),
    };
    measured.sort_by(|(_, one), (_, other)| one.pods_per_s.total_cmp(&other.pods_per_s));
    let middle = measured.len() / 2;
    if let Some((middle, total)) = measured.into_iter().nth(middle) {
        pooled.merge(&middle.collected.readings.series.counts_only());
        result.metrics = pooled.results();
        result.metrics_collected = collected_metrics(&pooled, workload.metrics_collector_config.as_ref());
        take_from_middle(&mut result, middle, &total);
    }
    result.warnings = warnings(&result, &rates, assembly);
    let threshold = &workload.threshold;
    result.threshold =
        Threshold::evaluate(threshold.value, threshold.selector.clone(), &workload_items(&result));
    result.slo = slo::evaluate(&result);
    Some(result)
}

#[allow(clippy::cast_precision_loss, reason = "counts and times of a run are far below 2^53")]
fn take_from_middle(result: &mut WorkloadResult, middle: Measured<'_>, total: &RunTotal) {
    let part = middle.collected;
    result.pods = Pods { created: part.created, scheduled: part.scheduled, unschedulable: part.pending };
    result.duration_ms = middle.duration_ms;
    result.throughput.windows = total.windows;
    result.window_ms = middle.window_ns as f64 / 1e6;
    result.samples = middle.samples;
    let seconds = middle.duration_ms / 1e3;
    let per_s = if seconds > 0.0 { part.attempts as f64 / seconds } else { 0.0 };
    result.attempts = Attempts { total: part.attempts, per_s };
    result.under_test = part.under_test.clone();
    result.api_calls = part.calls.clone();
    result.api_calls_per_pod = WorkloadResult::calls_per_pod(&part.calls, part.scheduled);
}

/// What a reader must know before quoting the headline.
fn warnings(result: &WorkloadResult, rates: &[f64], assembly: &Assembly<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let troubles =
        result.conditions.map(|conditions| conditions.troubles(assembly.cores)).unwrap_or_default();
    let why = if troubles.is_empty() {
        "the machine shows no cause; look at the runs in result.json".to_owned()
    } else {
        troubles.join("; ")
    };
    match half_width_of_runs(rates) {
        Some(half_width) if assembly.precision < half_width => {
            let (percent, runs) = (half_width * 100.0, result.throughput.samples);
            warnings.push(format!("the runs differ, ±{percent:.1} % over {runs} of them: {why}"));
        }
        _ if !troubles.is_empty() => warnings.push(format!("the machine was busy: {why}")),
        _ => {}
    }
    warnings.extend(result.extenders.iter().filter_map(ExtenderCalls::warning));
    warnings
}

/// Calls of each extender over all runs, in the order of the configuration.
fn extender_calls<'a>(runs: impl Iterator<Item = &'a [ExtenderCalls]>) -> Vec<ExtenderCalls> {
    let mut sums: Vec<ExtenderCalls> = Vec::new();
    for run in runs {
        for (at, calls) in run.iter().enumerate() {
            match sums.get_mut(at) {
                Some(sum) => {
                    sum.calls += calls.calls;
                    sum.failures += calls.failures;
                    sum.last_failure = calls.last_failure.clone().or(sum.last_failure.take());
                }
                None => sums.push(calls.clone()),
            }
        }
    }
    sums
}

fn ending(outcome: &Outcome, has_measured: bool) -> (RunStatus, Option<String>) {
    match &outcome.ending {
        Ending::Completed if 0 < outcome.failed_calls => {
            let message =
                format!("{} API call(s) of the scheduler failed and were retried", outcome.failed_calls);
            (RunStatus::Completed, Some(message))
        }
        Ending::Completed => (RunStatus::Completed, None),
        Ending::Interrupted if has_measured => (
            RunStatus::Partial,
            Some("interrupted; the numbers cover what was measured until then".to_owned()),
        ),
        Ending::Interrupted => (
            RunStatus::Partial,
            Some("interrupted before the measured part; there are no numbers".to_owned()),
        ),
        Ending::Stuck(why) => (RunStatus::Stuck, Some(why.clone())),
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
