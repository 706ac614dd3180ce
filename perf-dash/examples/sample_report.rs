//! Writes a report of made-up results, to look at the page without a run:
//! `cargo run -p schedlab-perf-dash --example sample_report -- /tmp/report.html`
//!
//! Six workloads: fast, noisy, repeated, below the SLO, stuck, cut short; and two skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schedlab_perf_dash::write_html;
use schedlab_workloads::results::{
    Attempts, Bucket, Estimate, Figure, FigureMetric, FigureRow, FigureValue, LatencySummary, Machine,
    Memory, MetricSelector, Pods, Repeats, ResultError, RunResult, RunStatus, RunTotal, SCHEMA, Sample,
    Skipped, Stage, Threshold, Throughput, Windows, WorkloadResult, slo, workload_items, write_result_json,
};

fn main() -> Result<(), ResultError> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("report.html"), PathBuf::from);
    let run = run();
    write_result_json(&path.with_extension("json"), &run)?;
    write_html(&path, &run)
}

/// The made-up run.
pub(crate) fn run() -> RunResult {
    RunResult {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        git_revision: Some("8b9320d4c1f0a5e6b7c8d9e0f1a2b3c4d5e6f708".to_owned()),
        machine: Machine {
            os: "linux".to_owned(),
            arch: Machine::go_arch("x86_64").to_owned(),
            cpu_model: "AMD EPYC 7B13".to_owned(),
            cores: 2,
            memory_bytes: 25_250_000_000,
        },
        threads: 2,
        parallelism: 16,
        seed: 42,
        percentage_of_nodes_to_score: 0,
        repeat: 5,
        feature_gates: gates(&[("SchedulerAsyncAPICalls", true)]),
        options: BTreeMap::new(),
        started_at: "2026-11-15T12:30:45Z".to_owned(),
        duration_s: 14.82,
        partial: true,
        coverage: "core + queue + embedded API".to_owned(),
        skipped: vec![
            skipped("SchedulingWithMixedChurn/10000Nodes", "interrupted before it began"),
            skipped(
                "SchedulingWithResourceClaimTemplate/5000pods_500nodes",
                "opcode createResourceClaims needs dynamic resource allocation, which the engine does not model yet",
            ),
        ],
        workloads: vec![fast(), noisy(), repeated(), slow(), stuck(), cut_short()],
        figures: vec![study()],
    }
}

/// Three variants at four latencies and two sizes.
fn study() -> Figure {
    let latencies = [("0 ms", 1.0), ("1 ms", 0.6), ("5 ms", 0.2), ("20 ms", 0.06)];
    let variants = [("base", 1.0), ("patch each", 0.72), ("patch once", 0.93)];
    let mut rows = Vec::new();
    for (size, nodes) in [(500.0, "500"), (5000.0, "5,000")] {
        for (latency, slowed) in latencies {
            for (variant, factor) in variants {
                let rate = 120_000.0 / (size / 500.0_f64).sqrt() * slowed * factor;
                let interval = |value: f64| Estimate { value, low: value * 0.95, high: value * 1.06 };
                let value = |value: f64, ratio: f64| FigureValue {
                    median: interval(value),
                    extra: None,
                    ratio: (variant != "base").then(|| interval(ratio)),
                };
                rows.push(FigureRow {
                    point: vec![nodes.to_owned(), latency.to_owned()],
                    variant: variant.to_owned(),
                    runs: 8,
                    values: BTreeMap::from([
                        (FigureMetric::Throughput, value(rate, factor)),
                        (FigureMetric::EndToEnd, value(4e9 / rate, 1.0 / factor)),
                    ]),
                });
            }
        }
    }
    Figure {
        name: "patches".to_owned(),
        title: "What a patch per pod costs".to_owned(),
        about: "Made up: three ways to write a pod's status, over links of four latencies.".to_owned(),
        base: "base".to_owned(),
        axes: vec!["nodes".to_owned(), "API latency".to_owned()],
        metrics: vec![FigureMetric::Throughput, FigureMetric::EndToEnd],
        rounds: 4,
        rows,
    }
}

fn fast() -> WorkloadResult {
    let sketch = Sketch { nodes: 5000, pods: 50_000, rate: 912_000.0, windows: 54, wobble: 0.06 };
    let mut workload = sketch.workload("SchedulingBasic/5000Nodes_50000Pods", "misc");
    finish(&mut workload, 790.0);
    workload
}

fn noisy() -> WorkloadResult {
    let sketch = Sketch { nodes: 5000, pods: 5000, rate: 212_000.0, windows: 1200, wobble: 0.55 };
    let mut workload =
        sketch.workload("SchedulingRequiredPodAntiAffinityWithNSSelector/5000Nodes_5000Pods", "affinity");
    workload.feature_gates.insert("OpportunisticBatching".to_owned(), false);
    finish(&mut workload, 180.0);
    workload
}

fn repeated() -> WorkloadResult {
    let sketch = Sketch { nodes: 5000, pods: 10_000, rate: 318_000.0, windows: 31, wobble: 0.12 };
    let mut workload = sketch.workload("TopologySpreading/5000Nodes_10000Pods", "topology_spreading");
    let runs = [318_000.0, 311_500.0, 324_800.0, 309_200.0, 321_300.0].map(|total| RunTotal {
        pods_per_s: total,
        duration_ms: 1e7 / total,
        scheduled: 10_000,
        ..RunTotal::default()
    });
    workload.throughput.clone_from(&Throughput {
        windows: workload.throughput.windows,
        ..Throughput::of_runs(&runs.iter().map(|run| run.pods_per_s).collect::<Vec<f64>>())
    });
    workload.repeats = Repeats::from_runs(runs.to_vec());
    finish(&mut workload, 460.0);
    workload
}

fn slow() -> WorkloadResult {
    let sketch = Sketch { nodes: 500, pods: 900, rate: 62.0, windows: 14, wobble: 0.35 };
    let mut workload = sketch.workload("SchedulingPodAffinity/500Nodes_900Pods", "affinity");
    for latency in workload.latency_us.values_mut() {
        scale(latency, 90.0);
    }
    finish(&mut workload, 70.0);
    workload
}

fn stuck() -> WorkloadResult {
    let sketch = Sketch { nodes: 1000, pods: 3100, rate: 140_000.0, windows: 9, wobble: 0.2 };
    let mut workload = sketch.workload("Unschedulable/1kNodes_4kPods", "misc");
    workload.status = RunStatus::Stuck;
    workload.message = Some(
        "op 4 (barrier): 900 of 4,000 pods are unschedulable and no event can wake them: \
         Insufficient cpu on 1,000 nodes (NodeResourcesFit); add nodes or lower `measurePods`"
            .to_owned(),
    );
    workload.pods = Pods { created: 4000, scheduled: 3100, unschedulable: 900 };
    finish(&mut workload, 0.0);
    workload
}

fn cut_short() -> WorkloadResult {
    let sketch = Sketch { nodes: 500, pods: 180, rate: 18_000.0, windows: 0, wobble: 0.0 };
    let mut workload = sketch.workload("PreemptionAsync/500Nodes <short & \"quoted\">", "default_preemption");
    workload.status = RunStatus::Partial;
    workload.message = Some("interrupted during op 2 (createPods)".to_owned());
    workload.latency_us.retain(|stage, _| *stage < Stage::AttemptScheduled);
    finish(&mut workload, 570.0);
    workload
}

struct Sketch {
    nodes: u64,
    pods: u64,
    rate: f64,
    windows: u32,
    wobble: f64,
}

impl Sketch {
    fn workload(&self, name: &str, suite: &str) -> WorkloadResult {
        let duration_ms = self.pods as f64 / self.rate * 1e3;
        let window_ms = duration_ms / f64::from(self.windows.max(1));
        let samples: Vec<Sample> = (1..=self.windows).map(|i| self.sample(i, window_ms)).collect();
        let attempts = self.pods + self.pods / 50;
        let api_calls = BTreeMap::from([
            ("PATCH pods/status".to_owned(), self.pods / 50),
            ("POST events".to_owned(), attempts),
            ("POST pods/binding".to_owned(), self.pods),
        ]);
        WorkloadResult {
            name: name.to_owned(),
            suite: suite.to_owned(),
            collector: Some("namespace-1".to_owned()),
            labels: vec!["performance".to_owned(), "short".to_owned()],
            feature_gates: gates(&[("SchedulerAsyncAPICalls", true)]),
            gates_without_effect: Vec::new(),
            status: RunStatus::Completed,
            message: None,
            nodes: self.nodes,
            pods: Pods { created: self.pods, scheduled: self.pods, unschedulable: 0 },
            duration_ms,
            throughput: Throughput {
                windows: Windows::from_samples(&samples, window_ms),
                ..Throughput::of_runs(&[self.rate])
            },
            normalised: None,
            warnings: Vec::new(),
            conditions: None,
            window_ms,
            samples,
            attempts: Attempts { total: attempts, per_s: attempts as f64 / duration_ms * 1e3 },
            metrics: Vec::new(),
            metrics_collected: Vec::new(),
            latency_us: latencies(attempts, 1e6 / self.rate),
            api_calls_per_pod: WorkloadResult::calls_per_pod(&api_calls, self.pods),
            api_calls,
            memory: Memory {
                peak_rss_bytes: Some(46_137_344 + self.pods * 300),
                bytes_per_node: Some(498.0),
                bytes_per_pod: Some(231.0),
            },
            slo: Vec::new(),
            threshold: None,
            controllers: Vec::new(),
            extenders: Vec::new(),
            under_test: None,
            repeats: None,
            change: None,
            content: None,
            seed: 42,
            source: SOURCE.to_owned(),
        }
    }

    /// A rate that wanders as real ones do: two slow waves and a fast one.
    fn sample(&self, i: u32, window_ms: f64) -> Sample {
        let turn = f64::from(i) * 12.0 / f64::from(self.windows);
        let wave = 0.5 * turn.sin() + 0.3 * (turn * 2.7).cos() + 0.2 * (f64::from(i) * 2.1).sin();
        Sample { t_ms: f64::from(i) * window_ms, pods_per_s: self.rate * (1.0 + self.wobble * wave) }
    }
}

fn finish(workload: &mut WorkloadResult, floor: f64) {
    workload.threshold = Threshold::evaluate(floor, MetricSelector::default(), &workload_items(workload));
    workload.slo = slo::evaluate(workload);
}

fn latencies(count: u64, cycle_us: f64) -> BTreeMap<Stage, LatencySummary> {
    let shares = [
        (Stage::EndToEnd, 2400.0),
        (Stage::Queueing, 2100.0),
        (Stage::SchedulingCycle, 0.82),
        (Stage::AttemptScheduled, 2.5),
        (Stage::PreFilter, 0.05),
        (Stage::Filter, 0.34),
        (Stage::PreScore, 0.04),
        (Stage::Score, 0.21),
        (Stage::Bind, 1.4),
    ];
    shares.map(|(stage, share)| (stage, latency(count, cycle_us * share))).into()
}

fn latency(count: u64, p50: f64) -> LatencySummary {
    let weights = [2, 5, 12, 30, 62, 90, 100, 84, 60, 41, 26, 16, 10, 6, 4, 3, 2, 1, 1, 1];
    let bucket =
        |(i, weight)| Bucket { le_us: p50 * 1.189_f64.powi(i as i32 - 6), count: count * weight / 556 };
    LatencySummary {
        count,
        mean: p50 * 1.12,
        p50,
        p90: p50 * 1.9,
        p95: p50 * 2.6,
        p99: p50 * 4.4,
        max: p50 * 23.0,
        buckets: weights.into_iter().enumerate().map(bucket).collect(),
    }
}

fn scale(latency: &mut LatencySummary, factor: f64) {
    for value in [
        &mut latency.mean,
        &mut latency.p50,
        &mut latency.p90,
        &mut latency.p95,
        &mut latency.p99,
        &mut latency.max,
    ] {
        *value /= factor;
    }
    latency.buckets.iter_mut().for_each(|bucket| bucket.le_us /= factor);
}

fn gates(gates: &[(&str, bool)]) -> BTreeMap<String, bool> {
    gates.iter().map(|&(name, enabled)| (name.to_owned(), enabled)).collect()
}

fn skipped(name: &str, reason: &str) -> Skipped {
    Skipped { name: name.to_owned(), reason: reason.to_owned() }
}

const SOURCE: &str = "\
- name: SchedulingBasic
  defaultPodTemplatePath: ../templates/pod-default.yaml
  workloadTemplate:
  - opcode: createNodes
    countParam: $initNodes
  - opcode: createPods
    countParam: $initPods
  - opcode: createPods
    countParam: $measurePods
    collectMetrics: true
  workloads:
  - name: 5000Nodes_50000Pods
    labels: [performance, short]
    threshold: 790
    params:
      initNodes: 5000
      initPods: 1000
      measurePods: 50000
";
