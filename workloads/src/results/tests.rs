//! The files as bytes: golden tests, and what the writers do on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::write::to_json;
use super::*;
use crate::metrics::{HistogramSummary, MetricSeries, MetricValue};

/// A workload with round numbers, so that a golden file can be checked by eye.
pub(super) fn workload(name: &str) -> WorkloadResult {
    let rates = [800.0, 1000.0, 1200.0, 1000.0];
    let sample = |(i, &pods_per_s)| Sample { t_ms: (i + 1) as f64 * 100.0, pods_per_s };
    let samples: Vec<Sample> = rates.iter().enumerate().map(sample).collect();
    let api_calls =
        BTreeMap::from([("POST pods/binding".to_owned(), 400), ("PATCH pods/status".to_owned(), 20)]);
    WorkloadResult {
        name: name.to_owned(),
        suite: "misc".to_owned(),
        collector: Some("namespace-1".to_owned()),
        labels: vec!["performance".to_owned(), "short".to_owned()],
        feature_gates: BTreeMap::from([("SchedulerAsyncAPICalls".to_owned(), true)]),
        gates_without_effect: Vec::new(),
        status: RunStatus::Completed,
        message: None,
        nodes: 500,
        pods: Pods { created: 420, scheduled: 400, unschedulable: 20 },
        duration_ms: 400.0,
        throughput: Throughput {
            windows: Windows::from_samples(&samples, 100.0),
            ..Throughput::of_runs(&[1000.0])
        },
        normalised: None,
        warnings: Vec::new(),
        conditions: None,
        window_ms: 100.0,
        samples,
        attempts: Attempts { total: 420, per_s: 1050.0 },
        latency_us: BTreeMap::from([
            (Stage::EndToEnd, latency(2000.0)),
            (Stage::Queueing, latency(1000.0)),
            (Stage::SchedulingCycle, latency(100.0)),
            (Stage::AttemptScheduled, latency(150.0)),
            (Stage::Filter, latency(40.0)),
            (Stage::Score, latency(4.0)),
        ]),
        metrics: vec![attempts_series()],
        metrics_collected: vec![
            collected(
                "scheduler_framework_extension_point_duration_seconds",
                ("extension_point", "Filter"),
                40.0,
            ),
            collected("scheduler_scheduling_attempt_duration_seconds", ("result", "scheduled"), 200.0),
            MetricSeries {
                labels: BTreeMap::from([
                    ("plugin".to_owned(), "NodeResourcesFit".to_owned()),
                    ("extension_point".to_owned(), "Filter".to_owned()),
                ]),
                ..collected("scheduler_plugin_execution_duration_seconds", ("plugin", ""), 20.0)
            },
            MetricSeries {
                labels: BTreeMap::new(),
                ..collected("scheduler_pod_scheduling_sli_duration_seconds", ("", ""), 2000.0)
            },
        ],
        api_calls_per_pod: WorkloadResult::calls_per_pod(&api_calls, 400),
        api_calls,
        memory: Memory { peak_rss_bytes: Some(33_554_432), bytes_per_node: Some(512.0), bytes_per_pod: None },
        slo: Vec::new(),
        threshold: None,
        controllers: Vec::new(),
        extenders: Vec::new(),
        under_test: None,
        repeats: None,
        change: None,
        content: None,
        seed: 7,
        source: "- name: SchedulingBasic\n".to_owned(),
    }
}

fn attempts_series() -> MetricSeries {
    MetricSeries {
        name: "scheduler_schedule_attempts_total".to_owned(),
        labels: BTreeMap::from([
            ("profile".to_owned(), "default-scheduler".to_owned()),
            ("result".to_owned(), "scheduled".to_owned()),
        ]),
        value: MetricValue::Counter(400),
    }
}

/// A duration with one label.
fn collected(name: &str, (label, value): (&str, &str), p50_us: f64) -> MetricSeries {
    let p50 = p50_us / 1e6;
    let mean = p50 * 1.25;
    let (p90, p95, p99) = (p50 * 2.0, p50 * 3.0, p50 * 4.0);
    let summary = HistogramSummary { count: 400, sum: mean * 400.0, mean, p50, p90, p95, p99 };
    MetricSeries {
        name: name.to_owned(),
        labels: BTreeMap::from([(label.to_owned(), value.to_owned())]),
        value: MetricValue::Histogram(summary),
    }
}

fn latency(p50: f64) -> LatencySummary {
    LatencySummary {
        count: 420,
        mean: p50 * 1.25,
        p50,
        p90: p50 * 2.0,
        p95: p50 * 3.0,
        p99: p50 * 4.0,
        max: p50 * 8.0,
        buckets: vec![Bucket { le_us: p50, count: 210 }, Bucket { le_us: p50 * 8.0, count: 210 }],
    }
}

/// One plain workload, and one of another suite that repeats, misses its floor and is stuck.
fn run() -> RunResult {
    let mut plain = workload("SchedulingBasic/500Nodes");
    plain.threshold = Threshold::evaluate(500.0, MetricSelector::default(), &workload_items(&plain));
    plain.slo = slo::evaluate(&plain);

    let mut stuck = workload("PodAffinity/500Nodes with spaces");
    stuck.suite = "affinity".to_owned();
    stuck.collector = None;
    stuck.status = RunStatus::Stuck;
    stuck.message = Some("op 3 (barrier): 20 pods will never fit: Insufficient cpu".to_owned());
    stuck.latency_us.clear();
    stuck.metrics.clear();
    stuck.metrics_collected.clear();
    stuck.threshold = Threshold::evaluate(5000.0, MetricSelector::default(), &workload_items(&stuck));
    stuck.slo = slo::evaluate(&stuck);
    let repeat = |total: f64| RunTotal {
        pods_per_s: total,
        duration_ms: 400_000.0 / total,
        scheduled: 400,
        ..RunTotal::default()
    };
    stuck.repeats = Repeats::from_runs(vec![repeat(900.0), repeat(1000.0), repeat(1100.0)]);
    stuck.throughput =
        Throughput { windows: stuck.throughput.windows, ..Throughput::of_runs(&[900.0, 1000.0, 1100.0]) };

    RunResult {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        git_revision: Some("0123456789abcdef".to_owned()),
        machine: Machine {
            os: "linux".to_owned(),
            arch: Machine::go_arch("x86_64").to_owned(),
            cpu_model: "Example CPU @ 3.00GHz".to_owned(),
            cores: 2,
            memory_bytes: 25_769_803_776,
        },
        threads: 2,
        parallelism: 16,
        seed: 7,
        percentage_of_nodes_to_score: 0,
        repeat: 1,
        feature_gates: BTreeMap::new(),
        options: BTreeMap::new(),
        started_at: "2026-11-15T12:30:45.5Z".to_owned(),
        duration_s: 1.5,
        partial: false,
        coverage: "core + queue + embedded API".to_owned(),
        skipped: vec![Skipped {
            name: "Volumes/5000Nodes".to_owned(),
            reason: "label filter `performance` does not match".to_owned(),
        }],
        workloads: vec![plain, stuck],
        figures: Vec::new(),
    }
}

fn check_golden(file: &str, actual: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return write_atomic(&path, actual).expect("the golden directory can be written");
    }
    let wanted = fs::read(&path).unwrap_or_default();
    let (wanted, actual) = (String::from_utf8_lossy(&wanted), String::from_utf8_lossy(actual));
    assert!(wanted == actual, "{file} differs; UPDATE_GOLDEN=1 rewrites it. Got:\n{actual}");
}

#[test]
fn result_json_is_golden() {
    check_golden("result.json", &to_json(&run()));
}

#[test]
fn data_items_are_golden() {
    check_golden("data_items.json", &to_json(&data_items(&run(), None)));
}

#[test]
fn bench_text_is_golden() {
    check_golden("bench.txt", bench_text(&run()).as_bytes());
}

#[test]
fn every_data_item_has_the_same_labels() {
    let items = data_items(&run(), None).data_items;
    let labels = |item: &DataItem| item.labels.keys().cloned().collect::<Vec<_>>();
    assert!(items.iter().all(|item| labels(item) == labels(&items[0])));
    assert_eq!(labels(&items[0]), ["Metric", "Name", "extension_point", "plugin", "result"]);
}

#[test]
fn partial_run_is_marked_in_perf_dash_json_and_bench_text() {
    let mut cut_short = run();
    cut_short.partial = true;
    cut_short.workloads[0].status = RunStatus::Partial;
    let items = data_items(&cut_short, None);
    assert_eq!(items.labels.get(DATASET_PARTIAL).map(String::as_str), Some("true"));
    let name = &items.data_items[0].labels["Name"];
    assert!(name.ends_with(" (partial)"), "{name}");
    assert_eq!(split_status(name), (name.trim_end_matches(" (partial)"), RunStatus::Partial));
    let text = bench_text(&cut_short);
    assert!(text.contains("\npartial: true\n"), "{text}");
    let line = text.lines().position(|line| line.starts_with("Benchmark")).expect("a result");
    assert_eq!(text.lines().nth(line - 1), Some("status: partial"), "{text}");

    let whole = RunResult { workloads: vec![run().workloads.remove(0)], ..run() };
    assert!(!data_items(&whole, None).labels.contains_key(DATASET_PARTIAL));
    assert!(!data_items(&whole, None).data_items[0].labels["Name"].contains('('));
    assert!(!bench_text(&whole).contains("partial") && !bench_text(&whole).contains("status"));
}

#[test]
fn threshold_stands_beside_the_value_it_is_compared_with() {
    let items = data_items(&run(), Some("misc")).data_items;
    assert_eq!(items[0].data.get("AverageThreshold"), Some(&500.0));
    assert!(items[1..].iter().all(|item| !item.data.contains_key("AverageThreshold")));
}

#[test]
fn bench_units_of_a_line_are_distinct() {
    for line in bench_text(&run()).lines().filter(|line| line.starts_with("Benchmark")) {
        let units: Vec<&str> =
            line.split('\t').skip(2).map(|pair| pair.split(' ').nth(1).expect("a unit")).collect();
        let distinct: std::collections::BTreeSet<_> = units.iter().collect();
        assert_eq!(distinct.len(), units.len(), "{line}");
    }
}

#[test]
fn stages_have_distinct_names_and_sort_as_listed() {
    assert!(Stage::ALL.is_sorted());
    let name = |stage| serde_json::to_string(&stage).expect("a stage is a string");
    let names: std::collections::BTreeSet<_> = Stage::ALL.into_iter().map(name).collect();
    let titles: std::collections::BTreeSet<_> = Stage::ALL.into_iter().map(Stage::title).collect();
    assert_eq!(names.len(), Stage::ALL.len());
    assert_eq!(titles.len(), Stage::ALL.len());
}

#[test]
fn file_name_is_the_one_perf_dash_looks_for() {
    let wanted = "BenchmarkPerfScheduling_benchmark_misc_2026-11-15T12-30-45Z.json";
    for started_at in ["2026-11-15T12:30:45Z", "2026-11-15T12:30:45.123Z"] {
        assert_eq!(data_items_file_name("misc", started_at), wanted);
    }
}

#[test]
fn file_name_never_leaves_its_directory_and_has_no_character_that_artifact_uploads_refuse() {
    for suite in ["../../etc", "a:b", "a\\b", "ä b", "\n", "C:\\x", "<|>\"*?"] {
        let name = data_items_file_name(suite, "2026-11-15T12:30:45Z");
        let is_portable = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        assert!(name.bytes().all(is_portable), "{suite:?}: {name}");
        assert!(name.starts_with("BenchmarkPerfScheduling_benchmark_"), "{name}");
    }
}

#[test]
fn written_files_are_read_back_and_leave_nothing_beside_them() {
    let dir = scratch("round_trip");
    let path = dir.join("deeper/result.json");
    write_result_json(&path, &run()).expect("the scratch directory can be written");
    write_result_json(&path, &run()).expect("a second write replaces the first");
    assert_eq!(read_result_json(&path).expect("it was just written"), run());
    assert_eq!(fs::read_dir(dir.join("deeper")).expect("it exists").count(), 1);

    let written = write_data_items(&dir.join("items"), &run()).expect("writable");
    assert_eq!(written.len(), 2, "one file a suite");
    write_bench_text(&dir.join("bench.txt"), &run()).expect("writable");
    fs::remove_dir_all(dir).expect("the scratch directory is ours");
}

#[test]
fn errors_name_the_path() {
    let dir = scratch("errors");
    let file = dir.join("file");
    write_atomic(&file, b"{\"schema\":\"schedlab-result/v9\"}").expect("writable");
    let cases = [
        write_result_json(&file.join("below/result.json"), &run()).map(drop),
        write_result_json(&dir, &run()).map(drop),
        read_result_json(&dir.join("absent")).map(drop),
        read_result_json(&file).map(drop),
    ];
    let messages = cases.map(|case| case.expect_err("each case is an error").to_string());
    let wanted = ["cannot create the directory", "cannot write", "cannot read", "schema is"];
    for (message, wanted) in messages.iter().zip(wanted) {
        assert!(message.contains(wanted), "{message}");
        assert!(message.contains(&dir.display().to_string()), "{message}");
    }
    fs::remove_dir_all(dir).expect("the scratch directory is ours");
}

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("schedlab-results-{}-{name}", std::process::id()));
    fs::create_dir_all(&dir).expect("the temporary directory can be written");
    dir
}

#[test]
fn evictions_of_older_results_are_read_as_a_controller() {
    let mut run = serde_json::to_value(run()).unwrap();
    let workload = run.pointer_mut("/workloads/0").unwrap().as_object_mut().unwrap();
    assert!(!workload.contains_key("controllers"), "left out where none ran");
    let execution = serde_json::json!({ "nodes_updated": 4, "pods_checked": 40, "evicted_by_affinity": 20,
        "evicted_by_taint": 0, "failed": 0, "evictions_per_s": 100.5, "latency_us_p50": 7, "latency_us_p99": 9,
        "latency_us_max": 11 });
    workload.insert("execution".to_owned(), execution);
    let read = parse_result_json(Path::new("r"), &serde_json::to_vec(&run).unwrap()).unwrap();
    let [controller] = &*read.workloads[0].controllers else { panic!("{:?}", read.workloads[0].controllers) };
    assert_eq!(controller.name, "taint-eviction-controller");
    assert_eq!((controller.counters["pods_checked"], controller.counters["evicted_by_affinity"]), (40, 20));
    let latency = controller.latency_us["pod_deletion"];
    assert_eq!((latency.count, latency.p50, latency.p99, latency.max), (20, 7, 9, 11));
    let again = serde_json::to_vec(&read).unwrap();
    assert_eq!(parse_result_json(Path::new("r"), &again).unwrap(), read, "written as it is written now");
}
