//! A figure has one value, wherever it is written: property test over random results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schedlab_core::cycle::select::Draws;
use schedlab_perf_dash::history::Record;
use schedlab_perf_dash::site::{Audience, write_site};
use schedlab_perf_dash::{format, render_html, stats};
use schedlab_workloads::results::{
    Attempts, LatencySummary, Machine, Memory, Pods, Repeats, RunLatency, RunResult, RunTotal, SCHEMA,
    Sample, Stage, Status, Threshold, Throughput, Windows, WorkloadResult, bench_text, data_items, slo,
    workload_items,
};

use super::run_text;

/// Between 1 and 10 million, as even on the logarithm as such figures are.
fn rate(draws: &mut Draws) -> f64 {
    10_f64.powf(draws.below(7_000) as f64 / 1000.0) + draws.below(1000) as f64 / 997.0
}

fn latency(draws: &mut Draws) -> LatencySummary {
    let p50 = rate(draws);
    LatencySummary {
        count: 40,
        mean: p50 * 1.1,
        p50,
        p90: p50 * 1.5,
        p95: p50 * 1.7,
        p99: p50 * 2.5,
        max: p50 * 4.0,
        buckets: Vec::new(),
    }
}

fn workload(draws: &mut Draws, at: usize) -> WorkloadResult {
    let middle = rate(draws);
    let count = 1 + draws.below(12);
    let rates: Vec<f64> = (0..count).map(|_| middle * (0.9 + draws.below(200) as f64 / 1000.0)).collect();
    let end_to_end = latency(draws);
    let run = |&pods_per_s: &f64| RunTotal {
        pods_per_s,
        duration_ms: 4e7 / pods_per_s,
        scheduled: 40_000,
        latency_us: BTreeMap::from([(Stage::EndToEnd, RunLatency::from(&end_to_end))]),
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
        status: Status::Completed,
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
        latency_us: BTreeMap::from([
            (Stage::EndToEnd, end_to_end.clone()),
            (Stage::SchedulingCycle, latency(draws)),
        ]),
        api_calls_per_pod: WorkloadResult::calls_per_pod(&api_calls, 40_000),
        api_calls,
        memory: Memory::default(),
        slo: Vec::new(),
        threshold: None,
        execution: None,
        repeats: Repeats::from_runs(rates.iter().map(run).collect()),
        change: None,
        content: None,
        seed: 0,
        source: String::new(),
    };
    result.threshold = Threshold::evaluate(rate(draws), Default::default(), &workload_items(&result));
    result.slo = slo::evaluate(&result);
    result
}

fn run(seed: u64) -> RunResult {
    let mut draws = Draws::new(seed);
    RunResult {
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
        workloads: (0..1 + draws.below(3)).map(|at| workload(&mut draws, at)).collect(),
        figures: Vec::new(),
    }
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
        write_site(&dir, &[Record::from_run(&run, None, Vec::new())], Audience::Anybody).expect("written");
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
            assert_eq!(data["Perc99"], summary.p99 / 1000.0, "seed {seed}: {name}: perf-dash JSON, in ms");
            assert!(report.contains(&format::micros(summary.p99)), "seed {seed}: {name}: report");
        }
    }
}
