//! A run as Prometheus text, with the names, labels and buckets kube-scheduler's operators know.
//!
//! Upstream: metrics/metrics.go. Only what was measured is there. Durations are sampled (one cycle
//! in eight, extension points one in thirty-two), so a histogram's count is that of samples.
//!
//! Differs: `scheduler_pod_scheduling_sli_duration_seconds` has no label `attempts`: a latency is
//! not recorded by attempt (`text_has_upstreams_names_and_buckets`).

use std::fmt::Write as _;

use schedlab_workloads::results::{Bucket, LatencySummary, Stage, WorkloadResult};

const PROFILE: &str = "profile=\"default-scheduler\"";

/// The text for everything measured so far and the pods that wait now.
#[must_use]
pub fn prometheus_text(workloads: &[WorkloadResult], pending_pods: u64) -> String {
    let mut text = String::new();
    let sum = |of: fn(&WorkloadResult) -> u64| workloads.iter().map(of).sum::<u64>();
    let scheduled = sum(|workload| workload.pods.scheduled);
    let attempts = sum(|workload| workload.attempts.total);
    head(&mut text, "scheduler_schedule_attempts_total", "counter", "Attempts to schedule pods, by result.");
    for (result, count) in [("scheduled", scheduled), ("unschedulable", attempts.saturating_sub(scheduled))] {
        let _ = writeln!(text, "scheduler_schedule_attempts_total{{{PROFILE},result=\"{result}\"}} {count}");
    }
    head(&mut text, "scheduler_pending_pods", "gauge", "Pods that the running workload still waits for.");
    let _ = writeln!(text, "scheduler_pending_pods{{queue=\"active\"}} {pending_pods}");
    for family in FAMILIES {
        family.write(&mut text, workloads);
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

struct Family {
    name: &'static str,
    help: &'static str,
    /// First upper bound in seconds and how many, each twice the one before.
    first_s: f64,
    count: u32,
    stages: &'static [(Stage, &'static str)],
}

const POINT: &str = "scheduler_framework_extension_point_duration_seconds";

const FAMILIES: [Family; 4] = [
    Family {
        name: "scheduler_scheduling_attempt_duration_seconds",
        help: "Latency of scheduling attempts, algorithm and binding.",
        first_s: 0.001,
        count: 15,
        stages: &[
            (Stage::AttemptScheduled, "result=\"scheduled\""),
            (Stage::AttemptUnschedulable, "result=\"unschedulable\""),
            (Stage::AttemptError, "result=\"error\""),
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
        name: POINT,
        help: "Latency of running all plugins of an extension point, sampled.",
        first_s: 0.0001,
        count: 12,
        stages: &[
            (Stage::PreFilter, "extension_point=\"PreFilter\",status=\"Success\""),
            (Stage::Filter, "extension_point=\"Filter\",status=\"Success\""),
            (Stage::PostFilter, "extension_point=\"PostFilter\",status=\"Success\""),
            (Stage::PreScore, "extension_point=\"PreScore\",status=\"Success\""),
            (Stage::Score, "extension_point=\"Score\",status=\"Success\""),
            (Stage::Reserve, "extension_point=\"Reserve\",status=\"Success\""),
            (Stage::Permit, "extension_point=\"Permit\",status=\"Success\""),
            (Stage::PreBind, "extension_point=\"PreBind\",status=\"Success\""),
            (Stage::Bind, "extension_point=\"Bind\",status=\"Success\""),
            (Stage::PostBind, "extension_point=\"PostBind\",status=\"Success\""),
        ],
    },
];

impl Family {
    fn write(&self, text: &mut String, workloads: &[WorkloadResult]) {
        let mut has_head = false;
        for (stage, labels) in self.stages {
            let measured: Vec<&LatencySummary> =
                workloads.iter().filter_map(|workload| workload.latency_us.get(stage)).collect();
            if measured.is_empty() {
                continue;
            }
            if !std::mem::replace(&mut has_head, true) {
                head(text, self.name, "histogram", self.help);
            }
            self.write_histogram(text, labels, &measured);
        }
    }

    fn write_histogram(&self, text: &mut String, labels: &str, measured: &[&LatencySummary]) {
        let all = || measured.iter().flat_map(|latency| &latency.buckets);
        // Upstream's algorithm latency has no labels at all.
        let labels = match (labels, self.name) {
            ("", _) => String::new(),
            (labels, _) => format!("{labels},{PROFILE}"),
        };
        let with = |le: &str| {
            if labels.is_empty() { format!("le=\"{le}\"") } else { format!("{labels},le=\"{le}\"") }
        };
        let mut bound_s = self.first_s;
        for _ in 0..self.count {
            // A fine bucket counts from the bound on that it lies wholly below.
            let fits = |bucket: &&Bucket| bucket.le_us <= bound_s * 1e6 * (1.0 + 1e-9);
            let count: u64 = all().filter(fits).map(|bucket| bucket.count).sum();
            let _ = writeln!(text, "{}_bucket{{{}}} {count}", self.name, with(&number(bound_s)));
            bound_s *= 2.0;
        }
        let count: u64 = measured.iter().map(|latency| latency.count).sum();
        let sum_s: f64 = measured.iter().map(|latency| latency.mean * latency.count as f64 / 1e6).sum();
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(text, "{}_bucket{{{}}} {count}", self.name, with("+Inf"));
        let _ = writeln!(text, "{}_sum{braces} {sum_s}\n{}_count{braces} {count}", self.name, self.name);
    }
}

/// As Go prints a bucket's bound: 0.0001, 0.001, 5242.88; no digits of the binary fraction.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::workload;

    fn measured() -> WorkloadResult {
        let mut measured = workload("T/W", &[1000.0]);
        measured.attempts.total = 1010;
        let buckets = [(50.0, 4), (150.0, 3), (900.0, 2), (5_000_000.0, 1)];
        let buckets = buckets.map(|(le_us, count)| Bucket { le_us, count });
        let latency =
            LatencySummary { count: 10, mean: 200.0, buckets: buckets.to_vec(), ..LatencySummary::default() };
        measured.latency_us.clear();
        for stage in [Stage::Filter, Stage::SchedulingCycle, Stage::EndToEnd] {
            measured.latency_us.insert(stage, latency.clone());
        }
        measured
    }

    #[test]
    fn text_has_upstreams_names_and_buckets() {
        let text = prometheus_text(&[measured(), measured()], 7);
        for line in [
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 2000",
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"} 20",
            "scheduler_pending_pods{queue=\"active\"} 7",
            "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 18",
            "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 20",
            "scheduler_scheduling_algorithm_duration_seconds_count 20",
            "scheduler_pod_scheduling_sli_duration_seconds_bucket{le=\"5242.88\"} 20",
            "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",status=\"Success\",profile=\"default-scheduler\",le=\"0.0001\"} 8",
            "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",status=\"Success\",profile=\"default-scheduler\",le=\"0.2048\"} 18",
            "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",status=\"Success\",profile=\"default-scheduler\",le=\"+Inf\"} 20",
        ] {
            assert!(text.lines().any(|other| other == line), "no {line} in\n{text}");
        }
        assert!(!text.contains("scheduling_attempt_duration"), "what was not measured is not there");
    }

    #[test]
    fn every_family_is_announced_once_and_buckets_ascend() {
        let text = prometheus_text(&[measured()], 0);
        let types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        assert_eq!(types.len(), 5, "{types:?}");
        let counts: Vec<u64> = text
            .lines()
            .filter(|line| line.starts_with("scheduler_scheduling_algorithm_duration_seconds_bucket"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(counts.len(), 16);
        assert!(counts.is_sorted(), "{counts:?}");
    }
}
