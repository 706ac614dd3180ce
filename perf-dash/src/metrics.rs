//! A reading of a scheduler as Prometheus text, with the names, labels and buckets that
//! kube-scheduler's operators know.
//!
//! Upstream: metrics/metrics.go. Counters and gauges cover everything since the run began; durations
//! cover measured parts and are sampled (one cycle in sixteen, extension points one in sixty-four,
//! events one in sixty-four, plugins one cycle in 256), so the count of such a histogram is that of
//! samples.
//!
//! Differs: `scheduler_pod_scheduling_sli_duration_seconds` has no label `attempts`: a latency is
//! not recorded by attempt (`text_has_upstreams_names_and_buckets`). `scheduler_goroutines` is not
//! there: there are none.

use std::fmt::Write as _;

use schedlab_core::cycle::plugin_times::plugin_bounds_s;
use schedlab_core::scheduler::Doubling;
use schedlab_workloads::measure::{Reading, cumulative};
use schedlab_workloads::results::Stage;

const PROFILE: &str = "profile=\"default-scheduler\"";

/// The text for a reading.
#[must_use]
pub fn prometheus_text(reading: &Reading) -> String {
    let mut page = Page::default();
    attempts(&mut page, reading);
    queues(&mut page, reading);
    page.head(
        "scheduler_cache_size",
        "gauge",
        "Number of nodes, pods, and assumed (bound) pods in the cache.",
    );
    let (bound, assumed) = (reading.pods.bound, reading.pods.assumed);
    for (kind, count) in [("nodes", reading.node_count), ("pods", bound + assumed), ("assumed_pods", assumed)]
    {
        page.value("scheduler_cache_size", &format!("type=\"{kind}\""), count as u64);
    }
    page.head("scheduler_preemption_attempts_total", "counter", "Total preemption attempts so far.");
    page.value("scheduler_preemption_attempts_total", "", reading.counters.preemption_attempts);
    page.doubling(
        "scheduler_preemption_victims",
        "Number of victims of a preemption.",
        &reading.counters.preemption_victims,
    );
    for family in FAMILIES {
        family.write(&mut page, reading);
    }
    plugins(&mut page, reading);
    events(&mut page, reading);
    const CALLS: &str = "scheduler_async_api_call_execution_total";
    page.head(CALLS, "counter", "API calls that were made, by kind and result.");
    for ((kind, result), count) in &reading.calls {
        page.value(CALLS, &format!("call_type=\"{kind}\",result=\"{result}\""), *count);
    }
    page.0
}

fn attempts(page: &mut Page, reading: &Reading) {
    let counters = &reading.counters;
    const ATTEMPTS: &str = "scheduler_schedule_attempts_total";
    page.head(ATTEMPTS, "counter", "Attempts to schedule pods, by result.");
    let results = [
        ("scheduled", counters.scheduled),
        ("unschedulable", counters.unschedulable),
        ("error", counters.errors),
    ];
    for (result, count) in results {
        page.value(ATTEMPTS, &format!("{PROFILE},result=\"{result}\""), count);
    }
    page.doubling(
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.",
        &counters.pod_attempts,
    );
}

fn queues(page: &mut Page, reading: &Reading) {
    let pods = &reading.pods;
    page.head("scheduler_pending_pods", "gauge", "Pending pods, by queue.");
    let queues = [
        ("active", pods.queued),
        ("backoff", pods.backoff),
        ("unschedulable", pods.unschedulable),
        ("gated", pods.gated),
    ];
    for (queue, count) in queues {
        page.value("scheduler_pending_pods", &format!("queue=\"{queue}\""), count as u64);
    }
    const INCOMING: &str = "scheduler_queue_incoming_pods_total";
    page.head(INCOMING, "counter", "Pods added to scheduling queues, by event and queue.");
    for ((queue, event), count) in &reading.incoming {
        page.value(INCOMING, &format!("event=\"{event}\",queue=\"{queue}\""), *count);
    }
}

fn plugins(page: &mut Page, reading: &Reading) {
    const NAME: &str = "scheduler_plugin_execution_duration_seconds";
    let bounds: Vec<f64> = plugin_bounds_s().collect();
    if !reading.plugins.is_empty() {
        page.head(NAME, "histogram", "Duration of a plugin's call for all nodes at hand, sampled.");
    }
    for ((plugin, point), calls) in &reading.plugins {
        let labels = format!("extension_point=\"{point}\",plugin=\"{plugin}\",status=\"Success\"");
        let mut below = 0;
        let counts: Vec<u64> = calls.counts[..bounds.len()]
            .iter()
            .map(|count| {
                below += count;
                below
            })
            .collect();
        let histogram = (counts, calls.counts.iter().sum(), calls.sum_ns as f64 / 1e9);
        page.histogram(NAME, &labels, &bounds, &histogram);
    }
}

fn events(page: &mut Page, reading: &Reading) {
    const NAME: &str = "scheduler_event_handling_duration_seconds";
    if !reading.events.is_empty() {
        page.head(NAME, "histogram", "Event handling latency, sampled.");
    }
    let bounds = doubled(0.0001, 12);
    for (event, histogram) in &reading.events {
        page.histogram(NAME, &format!("event=\"{event}\""), &bounds, &cumulative(histogram, &bounds));
    }
}

/// Bounds, each twice the one before.
fn doubled(first: f64, count: usize) -> Vec<f64> {
    std::iter::successors(Some(first), |bound| Some(bound * 2.0)).take(count).collect()
}

struct Family {
    name: &'static str,
    help: &'static str,
    /// First upper bound in seconds and how many, each twice the one before.
    first_s: f64,
    count: usize,
    stages: &'static [(Stage, &'static str)],
}

const FAMILIES: [Family; 4] = [
    Family {
        name: "scheduler_scheduling_attempt_duration_seconds",
        help: "Latency of scheduling attempts, algorithm and binding, sampled.",
        first_s: 0.001,
        count: 15,
        stages: &[
            (Stage::AttemptScheduled, "profile=\"default-scheduler\",result=\"scheduled\""),
            (Stage::AttemptUnschedulable, "profile=\"default-scheduler\",result=\"unschedulable\""),
            (Stage::AttemptError, "profile=\"default-scheduler\",result=\"error\""),
        ],
    },
    Family {
        name: "scheduler_scheduling_algorithm_duration_seconds",
        help: "Latency of the scheduling algorithm, sampled.",
        first_s: 0.001,
        count: 15,
        stages: &[(Stage::SchedulingCycle, "")],
    },
    Family {
        name: "scheduler_pod_scheduling_sli_duration_seconds",
        help: "Latency from first enqueued to bound.",
        first_s: 0.01,
        count: 20,
        stages: &[(Stage::EndToEnd, "")],
    },
    Family {
        name: "scheduler_framework_extension_point_duration_seconds",
        help: "Latency of running all plugins of an extension point, sampled.",
        first_s: 0.0001,
        count: 12,
        stages: &[
            (Stage::PreFilter, ""),
            (Stage::Filter, ""),
            (Stage::PostFilter, ""),
            (Stage::PreScore, ""),
            (Stage::Score, ""),
            (Stage::Reserve, ""),
            (Stage::Permit, ""),
            (Stage::PreBind, ""),
            (Stage::Bind, ""),
            (Stage::PostBind, ""),
        ],
    },
];

impl Family {
    fn write(&self, page: &mut Page, reading: &Reading) {
        let bounds = doubled(self.first_s, self.count);
        let mut has_head = false;
        for (stage, labels) in self.stages {
            let Some(histogram) = reading.latencies.cumulative(*stage, &bounds) else { continue };
            if !std::mem::replace(&mut has_head, true) {
                page.head(self.name, "histogram", self.help);
            }
            let labels = match stage.extension_point() {
                Some(point) => format!("extension_point=\"{point}\",{PROFILE},status=\"Success\""),
                None => (*labels).to_owned(),
            };
            page.histogram(self.name, &labels, &bounds, &histogram);
        }
    }
}

/// The text so far.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: u64) {
        let _ = writeln!(self.0, "{name}{} {value}", braced(labels));
    }

    fn histogram(
        &mut self,
        name: &str,
        labels: &str,
        bounds: &[f64],
        (counts, count, sum): &(Vec<u64>, u64, f64),
    ) {
        let comma = if labels.is_empty() { "" } else { "," };
        for (bound, below) in bounds.iter().zip(counts) {
            let _ = writeln!(self.0, "{name}_bucket{{{labels}{comma}le=\"{}\"}} {below}", number(*bound));
        }
        let _ = writeln!(self.0, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
        let braces = braced(labels);
        let _ = writeln!(self.0, "{name}_sum{braces} {sum}\n{name}_count{braces} {count}");
    }

    fn doubling<const N: usize>(&mut self, name: &str, help: &str, values: &Doubling<N>) {
        self.head(name, "histogram", help);
        let mut below = 0;
        let counts = values.counts.iter().map(|count| {
            below += count;
            below
        });
        let histogram = (counts.collect(), values.count(), values.sum as f64);
        self.histogram(name, "", &doubled(1.0, N), &histogram);
    }
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

/// As Go prints a bucket's bound: 1e-05, 0.0001, 5242.88; no digits of the binary fraction.
fn number(value: f64) -> String {
    if value < 0.0001 {
        let text = format!("{value:.10e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e-0{}", exponent.trim_start_matches('-'));
    }
    let text = format!("{value:.12}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::measure::PluginCalls;

    use super::*;

    fn measured() -> Reading {
        let mut reading = Reading::default();
        for stage in [Stage::Filter, Stage::SchedulingCycle, Stage::EndToEnd] {
            for (us, count) in [(50, 4), (150, 3), (900, 2), (5_000_000, 1)] {
                reading.latencies.record(stage, us * 1000, count);
            }
        }
        reading.counters.scheduled = 1000;
        reading.counters.unschedulable = 10;
        reading.counters.preemption_victims.observe(3);
        reading.counters.pod_attempts.observe(1);
        reading.incoming.insert(("active", "UnscheduledPodAdd".to_owned()), 1000);
        reading.calls.insert(("pod_binding", "success"), 1000);
        let mut calls = PluginCalls::default();
        (calls.counts[0], calls.counts[2], calls.sum_ns) = (5, 1, 40_000);
        reading.plugins.insert(("NodeResourcesFit", "Filter"), calls);
        reading.pods.backoff = 7;
        reading.node_count = 50;
        reading
    }

    #[test]
    fn text_has_upstreams_names_and_buckets() {
        let text = prometheus_text(&measured());
        for line in [
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1000",
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"} 10",
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"error\"} 0",
            "scheduler_pending_pods{queue=\"active\"} 0",
            "scheduler_pending_pods{queue=\"backoff\"} 7",
            "scheduler_queue_incoming_pods_total{event=\"UnscheduledPodAdd\",queue=\"active\"} 1000",
            "scheduler_cache_size{type=\"nodes\"} 50",
            "scheduler_preemption_victims_bucket{le=\"2\"} 0",
            "scheduler_preemption_victims_bucket{le=\"4\"} 1",
            "scheduler_preemption_victims_bucket{le=\"64\"} 1",
            "scheduler_preemption_victims_sum 3",
            "scheduler_pod_scheduling_attempts_bucket{le=\"16\"} 1",
            "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 9",
            "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 10",
            "scheduler_scheduling_algorithm_duration_seconds_count 10",
            "scheduler_pod_scheduling_sli_duration_seconds_bucket{le=\"5242.88\"} 10",
            "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",profile=\"default-scheduler\",status=\"Success\",le=\"0.0001\"} 4",
            "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",profile=\"default-scheduler\",status=\"Success\",le=\"0.2048\"} 9",
            "scheduler_plugin_execution_duration_seconds_bucket{extension_point=\"Filter\",plugin=\"NodeResourcesFit\",status=\"Success\",le=\"1e-05\"} 5",
            "scheduler_plugin_execution_duration_seconds_bucket{extension_point=\"Filter\",plugin=\"NodeResourcesFit\",status=\"Success\",le=\"2.25e-05\"} 6",
            "scheduler_async_api_call_execution_total{call_type=\"pod_binding\",result=\"success\"} 1000",
        ] {
            assert!(text.lines().any(|other| other == line), "no {line} in\n{text}");
        }
        assert!(!text.contains("scheduling_attempt_duration"), "what was not measured is not there");
    }

    #[test]
    fn every_family_is_announced_once_and_buckets_ascend() {
        let text = prometheus_text(&measured());
        let mut types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        let announced = types.len();
        types.sort_unstable();
        types.dedup();
        assert_eq!(types.len(), announced, "{types:?}");
        let counts: Vec<u64> = text
            .lines()
            .filter(|line| line.starts_with("scheduler_scheduling_algorithm_duration_seconds_bucket"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(counts.len(), 16);
        assert!(counts.is_sorted(), "{counts:?}");
    }

    #[test]
    fn bounds_are_written_as_go_writes_them() {
        let cases =
            [(1e-5, "1e-05"), (1.5e-5, "1.5e-05"), (0.0001, "0.0001"), (0.001, "0.001"), (64.0, "64")];
        for (value, wanted) in cases {
            assert_eq!(number(value), wanted);
        }
    }
}
