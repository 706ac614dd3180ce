//! A figure has one value, wherever it is written: property test over random results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schedlab_core::cycle::select::Draws;
use schedlab_perf_dash::history::Record;
use schedlab_perf_dash::metrics::prometheus_text;
use schedlab_perf_dash::site::{Audience, write_site};
use schedlab_perf_dash::{format, render_html, stats};
use schedlab_workloads::metrics::{MetricSeries, MetricSpread, MetricValue, MetricValues, collected, table};
use schedlab_workloads::results::{
    Attempts, DataItem, Machine, Memory, Pods, Repeats, RunLatency, RunResult, RunStatus, RunTotal, SCHEMA,
    Sample, Stage, Threshold, Throughput, Windows, WorkloadResult, bench_text, data_items,
    latencies_by_stage, slo, workload_items,
};

use super::run_text;

/// Between 1 and 10 million, as even on the logarithm as such figures are.
fn rate(draws: &mut Draws) -> f64 {
    10_f64.powf(draws.below(7_000) as f64 / 1000.0) + draws.below(1000) as f64 / 997.0
}

/// Some durations, most of them around a middle one.
fn durations(draws: &mut Draws) -> MetricSpread {
    let middle_ns = 1000.0 * rate(draws);
    let count = 1 + draws.below(40) as u64;
    MetricSpread::of_durations(
        (0..count).map(|at| ((middle_ns * (0.5 + at as f64 / 8.0)) as u64, 1 + at % 3)),
    )
}

/// What the meters of a run recorded and its scheduler counted.
fn measured(draws: &mut Draws) -> MetricValues {
    let mut series = MetricValues::default();
    series.spread(&table::ALGORITHM_DURATION, &[], durations(draws));
    for attempts in ["1", "2", "15+"] {
        series.spread(&table::SLI_DURATION, &[attempts], durations(draws));
    }
    for profile in ["default-scheduler", "a \"quoted\" one"] {
        series.spread(&table::ATTEMPT_DURATION, &["scheduled", profile], durations(draws));
        series.spread(&table::POINT_DURATION, &["PreBind", "Success", profile], durations(draws));
        series.count(&table::SCHEDULE_ATTEMPTS, &["scheduled", profile], draws.below(100_000) as u64);
    }
    series.spread(&table::PLUGIN_DURATION, &["NodeResourcesFit", "Filter", "Success"], durations(draws));
    series.level(&table::PENDING_PODS, &["backoff"], draws.below(100) as u64);
    let counts = (0..6).map(|_| draws.below(50) as u64).collect();
    series.spread(&table::POD_ATTEMPTS, &[], MetricSpread::Bucketed { counts, sum: draws.below(500) as u64 });
    series
}

fn workload(draws: &mut Draws, at: usize) -> (WorkloadResult, MetricValues) {
    let series = measured(draws);
    let middle = rate(draws);
    let count = 1 + draws.below(12);
    let rates: Vec<f64> = (0..count).map(|_| middle * (0.9 + draws.below(200) as f64 / 1000.0)).collect();
    let latency_us = latencies_by_stage(&series);
    let run = |&pods_per_s: &f64| RunTotal {
        pods_per_s,
        duration_ms: 4e7 / pods_per_s,
        scheduled: 40_000,
        latency_us: latency_us.iter().map(|(stage, latency)| (*stage, RunLatency::from(latency))).collect(),
        ..RunTotal::default()
    };
    let windows: Vec<Sample> =
        (0..draws.below(5)).map(|at| Sample { t_ms: at as f64, pods_per_s: rate(draws) }).collect();
    let api_calls = BTreeMap::from([("POST pods/binding".to_owned(), 40_000)]);
    let mut result = WorkloadResult {
        name: format!("Case{at}/Variant"),
        suite: "quick".to_owned(),
        collector: None,
        labels: Vec::new(),
        feature_gates: BTreeMap::new(),
        gates_without_effect: Vec::new(),
        status: RunStatus::Completed,
        message: None,
        nodes: 5000,
        pods: Pods { created: 40_000, scheduled: 40_000, unschedulable: 0 },
        duration_ms: 4e7 / middle,
        throughput: Throughput {
            windows: Windows::from_samples(&windows, 1.0),
            ..Throughput::of_runs(&rates)
        },
        normalised: None,
        warnings: Vec::new(),
        conditions: None,
        window_ms: 1.0,
        samples: windows,
        attempts: Attempts { total: 40_000, per_s: middle },
        latency_us: latency_us.clone(),
        metrics: series.results(),
        metrics_collected: collected(&series, None),
        api_calls_per_pod: WorkloadResult::calls_per_pod(&api_calls, 40_000),
        api_calls,
        memory: Memory::default(),
        slo: Vec::new(),
        threshold: None,
        controllers: Vec::new(),
        extenders: Vec::new(),
        under_test: None,
        repeats: Repeats::from_runs(rates.iter().map(run).collect()),
        change: None,
        content: None,
        seed: 0,
        source: String::new(),
    };
    result.threshold = Threshold::evaluate(rate(draws), Default::default(), &workload_items(&result));
    result.slo = slo::evaluate(&result);
    (result, series)
}

fn run(seed: u64) -> RunResult {
    measured_run(seed).0
}

fn measured_run(seed: u64) -> (RunResult, Vec<MetricValues>) {
    let mut draws = Draws::new(seed);
    let (workloads, series) = (0..1 + draws.below(3)).map(|at| workload(&mut draws, at)).unzip();
    let run = RunResult {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        git_revision: Some("0123456789abcdef".to_owned()),
        machine: Machine {
            os: "linux".to_owned(),
            arch: "amd64".to_owned(),
            cpu_model: "Example CPU".to_owned(),
            cores: 2,
            memory_bytes: 1 << 34,
        },
        threads: 2,
        parallelism: 16,
        seed,
        percentage_of_nodes_to_score: 0,
        repeat: 0,
        feature_gates: BTreeMap::new(),
        options: BTreeMap::new(),
        started_at: "2026-11-15T12:30:45Z".to_owned(),
        duration_s: 1.5,
        partial: false,
        coverage: "core + queue + embedded API".to_owned(),
        skipped: Vec::new(),
        workloads,
        figures: Vec::new(),
    };
    (run, series)
}

/// The values of a unit on the lines of a benchmark.
fn bench_values(text: &str, name: &str, unit: &str) -> Vec<f64> {
    let lines = text.lines().filter(|line| line.starts_with(&format!("BenchmarkPerfScheduling/{name}-")));
    let value = |line: &str| {
        let field = line.split('\t').find_map(|field| field.strip_suffix(unit));
        field.and_then(|number| number.trim().parse::<f64>().ok())
    };
    lines.filter_map(value).collect()
}

/// The text of a page, without tags.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => is_tag = true,
            '>' => is_tag = false,
            letter if !is_tag => text.push(letter),
            _ => {}
        }
    }
    text
}

fn pages(dir: &Path) -> String {
    let mut files: Vec<PathBuf> = vec![dir.to_owned()];
    let mut text = String::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).expect("ours").map(|entry| entry.expect("ours").path()));
        } else if path.extension().is_some_and(|extension| extension == "html") {
            text.push_str(&text_of(&std::fs::read_to_string(&path).expect("text")));
        }
    }
    text
}

#[test]
fn every_output_says_the_same_headline() {
    let dir = std::env::temp_dir().join(format!("schedlab-outputs-agree-{}", std::process::id()));
    for seed in 0..25 {
        let run = run(seed);
        let json: RunResult =
            serde_json::from_str(&serde_json::to_string(&run).expect("plain data")).expect("our own");
        let terminal = run_text::table(&run.workloads, None);
        let items = data_items(&run, None);
        let bench = bench_text(&run);
        let report = text_of(&render_html(&run));
        let _ = std::fs::remove_dir_all(&dir);
        write_site(&dir, &[Record::from_run(&run, None, Vec::new())], &[], Audience::Anybody)
            .expect("written");
        let site = pages(&dir);
        for workload in &run.workloads {
            let (name, headline) = (&workload.name, workload.throughput);
            let at = format!("seed {seed}: {name}");
            let shown = format::rate(headline.total);
            let read = json.workloads.iter().find(|read| read.name == *name).expect("every workload is read");
            // serde_json reads a number to the last bit but one.
            let is_same = |one: f64, other: f64| (one - other).abs() <= other.abs() * 1e-15;
            assert!(is_same(read.throughput.total, headline.total), "{at}: result.json");
            assert_eq!(read.throughput.samples, headline.samples, "{at}: result.json");
            let ends =
                |throughput: &Throughput| [throughput.low.unwrap_or(0.0), throughput.high.unwrap_or(0.0)];
            let mut pairs = ends(&read.throughput).into_iter().zip(ends(&headline));
            assert!(pairs.all(|(one, other)| is_same(one, other)), "{at}: result.json");
            let row = terminal.lines().find(|line| line.starts_with(name.as_str())).expect("a row");
            let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            assert_eq!(cells[1], shown, "{at}: terminal");
            let spread = headline.relative_half_width().map_or_else(|| "-".to_owned(), format::percent);
            assert_eq!((cells[2], cells[3]), (&*spread, &*headline.samples.to_string()), "{at}: terminal");
            let item = items.data_items.iter().find(|item| {
                item.labels["Metric"] == "SchedulingThroughput" && item.labels["Name"].contains(name.as_str())
            });
            let data = &item.expect("every workload has one").data;
            assert_eq!(data["Average"], headline.total, "{at}: perf-dash JSON");
            assert_eq!(data.get("Low").copied(), headline.low, "{at}: perf-dash JSON");
            assert_eq!(data.get("High").copied(), headline.high, "{at}: perf-dash JSON");
            let benched = bench_values(&bench, name, " SchedulingThroughput/Average");
            assert_eq!(benched.len(), headline.samples as usize, "{at}: a line a run in bench.txt");
            assert_eq!(stats::median(&benched), headline.total, "{at}: benchstat takes the median");
            assert!(report.contains(&shown), "{at}: {shown} is not in the report");
            assert!(site.contains(&shown), "{at}: {shown} is not on the site");
            let threshold = workload.threshold.as_ref().expect("each has one");
            assert_eq!(threshold.actual, Some(headline.total), "{at}: threshold");
            let line = workload.slo.iter().find(|line| line.name == slo::THROUGHPUT).expect("judged");
            assert_eq!(line.actual, Some(headline.total), "{at}: SLO");
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn every_output_says_the_same_latency() {
    for seed in 100..125 {
        let run = run(seed);
        let terminal = run_text::table(&run.workloads, None);
        let items = data_items(&run, None);
        let report = text_of(&render_html(&run));
        for workload in &run.workloads {
            let name = &workload.name;
            let summary = &workload.latency_us[&Stage::EndToEnd];
            let row = terminal.lines().find(|line| line.starts_with(name.as_str())).expect("a row");
            assert!(row.contains(&format::micros(summary.p99)), "seed {seed}: {name}: terminal: {row}");
            let sli = "scheduler_pod_scheduling_sli_duration_seconds";
            let item = items
                .data_items
                .iter()
                .find(|item| item.labels["Metric"] == sli && item.labels["Name"].contains(name.as_str()));
            let data = &item.expect("every workload has one").data;
            let is_same = (data["Perc99"] * 1000.0 / summary.p99 - 1.0).abs() < 1e-12;
            assert!(
                is_same,
                "seed {seed}: {name}: perf-dash JSON, in ms: {} {}",
                data["Perc99"], summary.p99
            );
            assert!(report.contains(&format::micros(summary.p99)), "seed {seed}: {name}: report");
        }
    }
}

/// The value of a line of Prometheus text, by name and the labels of a series.
fn scraped(text: &str, name: &str, labels: &BTreeMap<String, String>) -> Option<f64> {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
    let labels = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
    let labels = labels.collect::<Vec<String>>().join(",");
    let head = if labels.is_empty() { format!("{name} ") } else { format!("{name}{{{labels}}} ") };
    text.lines().find_map(|line| line.strip_prefix(&head)?.parse().ok())
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= other.abs() * 1e-12
}

fn check_prometheus(text: &str, series: &MetricSeries, at: &str) {
    let MetricSeries { name, labels, value } = series;
    let value_of = |suffix: &str| {
        let name = format!("{name}{suffix}");
        scraped(text, &name, labels).unwrap_or_else(|| panic!("{at}: no {name} {labels:?} in\n{text}"))
    };
    match value {
        MetricValue::Counter(count) | MetricValue::Gauge(count) => {
            assert_eq!(value_of(""), *count as f64, "{at}")
        }
        MetricValue::Histogram(summary) => {
            assert_eq!(value_of("_count"), summary.count as f64, "{at}: {name}");
            assert!(is_near(value_of("_sum"), summary.sum), "{at}: {name}: sum");
            assert!(is_near(summary.mean, summary.sum / summary.count as f64), "{at}: {name}: mean");
        }
    }
}

fn item_of<'a>(items: &'a [DataItem], workload: &str, series: &MetricSeries) -> &'a DataItem {
    let is_its = |item: &&DataItem| {
        let has = |(label, value): (&String, &String)| item.labels.get(label) == Some(value);
        item.labels["Metric"] == series.name
            && item.labels["Name"].contains(workload)
            && series.labels.iter().all(has)
    };
    items.iter().find(is_its).unwrap_or_else(|| panic!("no item of {series:?}"))
}

#[test]
fn every_output_says_the_same_metrics() {
    for seed in 200..225 {
        let (run, measured) = measured_run(seed);
        let json: RunResult =
            serde_json::from_str(&serde_json::to_string(&run).expect("plain data")).expect("our own");
        let items = data_items(&run, None).data_items;
        for ((workload, series), read) in run.workloads.iter().zip(&measured).zip(&json.workloads) {
            let at = format!("seed {seed}: {}", workload.name);
            assert_eq!(read.metrics.len(), workload.metrics.len(), "{at}: result.json");
            let text = prometheus_text(series);
            assert!(!workload.metrics.is_empty(), "{at}");
            read.metrics.iter().for_each(|series| check_prometheus(&text, series, &at));
            for collected in &workload.metrics_collected {
                let MetricValue::Histogram(summary) = collected.value else { panic!("{collected:?}") };
                let data = &item_of(&items, &workload.name, collected).data;
                assert!(
                    is_near(data["Average"], summary.mean * 1000.0),
                    "{at}: {collected:?}: perf-dash JSON"
                );
                assert!(is_near(data["Perc99"], summary.p99 * 1000.0), "{at}: {collected:?}: perf-dash JSON");
                // What one series alone makes up is that series.
                let same: Vec<&MetricSeries> = workload
                    .metrics
                    .iter()
                    .filter(|series| series.name == collected.name)
                    .filter(|series| collected.labels.iter().all(|(k, v)| series.labels.get(k) == Some(v)))
                    .collect();
                let count = |series: &&MetricSeries| match series.value {
                    MetricValue::Histogram(summary) => summary.count,
                    MetricValue::Counter(count) | MetricValue::Gauge(count) => count,
                };
                assert_eq!(same.iter().map(count).sum::<u64>(), summary.count, "{at}: {collected:?}");
                // Stages are the same figures in microseconds.
                let label = |label: &str| collected.labels.get(label).map(String::as_str);
                if let Some(stage) = Stage::of_metric(&collected.name, label) {
                    let latency = &workload.latency_us[&stage];
                    assert_eq!(latency.count, summary.count, "{at}: {stage:?}");
                    assert!(is_near(latency.p99, summary.p99 * 1e6), "{at}: {stage:?}");
                    assert!(is_near(latency.mean, summary.mean * 1e6), "{at}: {stage:?}");
                }
            }
        }
    }
}
