//! Writes a history of made-up runs, to look at the site at any size:
//! `cargo run -p schedlab-perf-dash --example sample_history -- DIR [RUNS [WORKLOADS]]`
//!
//! Most workloads are calm, every seventh is noisy; one run in fifty gains or loses a tenth; every
//! fortieth record is an import of kube-scheduler's numbers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schedlab_core::cycle::select::Draws;
use schedlab_perf_dash::history::{
    HistoryError, Point, ProfileSummary, Record, RecordSource, SCHEMA, Settings, Share, append,
};
use schedlab_workloads::results::{
    LatencySummary, Machine, Memory, Pods, RunStatus, SloLine, Stage, Throughput,
};

fn main() -> Result<(), HistoryError> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().map_or_else(|| PathBuf::from("schedlab-history"), PathBuf::from);
    let mut number = |default: usize| args.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (runs, workloads) = (number(220), number(12));
    for record in records(runs, workloads) {
        append(&dir, &record)?;
    }
    Ok(())
}

/// The made-up runs, in time order. The browser test shows these.
pub(crate) fn records(runs: usize, workloads: usize) -> Vec<Record> {
    let mut draws = Draws::new(7);
    let mut levels = vec![1.0; workloads];
    (0..runs)
        .map(|at| {
            for level in &mut levels {
                if draws.below(50) == 0 {
                    *level *= if draws.below(2) == 0 { 0.9 } else { 1.1 };
                }
            }
            record(at, &levels, &mut draws)
        })
        .collect()
}

fn record(at: usize, levels: &[f64], draws: &mut Draws) -> Record {
    let is_import = at % 40 == 39;
    let (day, minute) = (at / 20, at % 20 * 3);
    let points = levels.iter().enumerate().map(|(number, level)| point(number, *level, is_import, draws));
    Record {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        source: if is_import { RecordSource::PerfDash } else { RecordSource::Schedlab },
        label: Some("made up".to_owned()),
        // Ten runs of each revision, so that the history has noise to judge by.
        revision: Some(if is_import {
            format!("v1.{}.0", 30 + at / 40)
        } else {
            format!("{:010x}", 0x9e37_79b9_u64 * (at / 10 + 1) as u64)
        }),
        started_at: format!("2026-{:02}-{:02}T08:{minute:02}:00Z", 1 + day / 28 % 12, 1 + day % 28),
        machine: Some(Machine {
            os: "linux".to_owned(),
            arch: "amd64".to_owned(),
            cpu_model: "Sample CPU".to_owned(),
            cores: 2,
            memory_bytes: 1 << 34,
        }),
        settings: (!is_import).then(|| Settings {
            threads: 2,
            parallelism: 16,
            percentage_of_nodes_to_score: 0,
            feature_gates: BTreeMap::new(),
            seed: Some(0),
            options: BTreeMap::new(),
        }),
        coverage: "core + queue + embedded API".to_owned(),
        partial: false,
        points: points.collect(),
        instructions: if is_import { BTreeMap::new() } else { kernels(at) },
        profiles: if at.is_multiple_of(25) { vec![profile(draws)] } else { Vec::new() },
    }
    .with_id()
}

/// Counts do not scatter: they change with the revision only.
fn kernels(at: usize) -> BTreeMap<String, u64> {
    let revision = (at / 10) as u64;
    let count = |base: u64| base + revision * 37 % 5 * (base / 400);
    BTreeMap::from([
        ("filter/resources_fit".to_owned(), count(52_000)),
        ("score/balanced_allocation".to_owned(), count(88_000)),
        ("cycle/plain_cached".to_owned(), count(410_000)),
    ])
}

const CASES: [&str; 6] = [
    "PlainPods",
    "RequiredNodeAffinity",
    "PreferredNodeAffinity",
    "TaintsAndTolerations",
    "HostPorts",
    "OverloadedCluster",
];
const SIZES: [u64; 4] = [5000, 500, 1000, 100];

fn point(number: usize, level: f64, is_import: bool, draws: &mut Draws) -> Point {
    let nodes = SIZES[number / CASES.len() % SIZES.len()];
    let spread = if number % 7 == 6 { 0.08 } else { 0.01 };
    let mut noise = || (draws.below(1000) as f64 / 1000.0 - 0.5) * spread + 1.0;
    let base = if is_import { 300.0 } else { 600_000.0 / (1 + number % CASES.len()) as f64 };
    let rate = base * level * noise() * (5000.0 / nodes as f64).powf(0.3);
    let latency = |us: f64, noise: f64| LatencySummary {
        count: 20_000,
        mean: us * noise,
        p50: us * 0.9 * noise,
        p90: us * 1.6 * noise,
        p95: us * 1.9 * noise,
        p99: us * 2.6 * noise,
        max: us * 5.0,
        buckets: Vec::new(),
    };
    let cycle_us = 1e6 / rate * 0.6;
    let stages = [
        (Stage::EndToEnd, 60_000.0),
        (Stage::SchedulingCycle, cycle_us),
        (Stage::Filter, cycle_us * 0.3),
        (Stage::Score, cycle_us * 0.4),
        (Stage::Bind, 400.0),
    ];
    let target = |name: &str, target: &str, actual: f64, unit: &str, pass: bool| SloLine {
        name: name.to_owned(),
        target: target.to_owned(),
        actual: Some(actual),
        unit: unit.to_owned(),
        pass: Some(pass),
        margin: None,
    };
    Point {
        name: format!(
            "{}{}/{nodes}Nodes_{}Pods",
            CASES[number % CASES.len()],
            if number < 24 { String::new() } else { (number / 24).to_string() },
            nodes * 10
        ),
        suite: "quick".to_owned(),
        collector: None,
        status: RunStatus::Completed,
        message: None,
        feature_gates: (!is_import).then(BTreeMap::new),
        content: None,
        nodes,
        pods: Pods { created: nodes * 10, scheduled: nodes * 10, unschedulable: 0 },
        throughput: Throughput::of_runs(&[rate]),
        repeats: Vec::new(),
        normalised: None,
        repeat_speeds: Vec::new(),
        repeat_latency_us: BTreeMap::new(),
        latency_us: stages.into_iter().map(|(stage, us)| (stage, latency(us, noise()))).collect(),
        calls_per_pod: if is_import { 0.0 } else { 2.0 },
        memory: Memory {
            peak_rss_bytes: None,
            bytes_per_node: (!is_import).then_some(420.0),
            bytes_per_pod: (!is_import).then_some(131.0),
        },
        slo: vec![
            target("throughput", "at least 100 pods/s", rate, "pods/s", 100.0 <= rate),
            target("algorithm average", "at most 10 ms", cycle_us / 1e3, "ms", cycle_us <= 10_000.0),
        ],
        threshold: None,
    }
}

fn profile(draws: &mut Draws) -> ProfileSummary {
    let plugins = [
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
        "TaintToleration",
        "NodeAffinity",
        "ImageLocality",
    ];
    let mut share = |name: &&str| Share {
        kind: "plugin".to_owned(),
        name: (*name).to_owned(),
        self_samples: 10 + draws.below(40) as u64,
        total_samples: 60 + draws.below(60) as u64,
    };
    ProfileSummary {
        partial: false,
        workload: "PlainPods/5000Nodes_50000Pods".to_owned(),
        samples: 1000,
        pods: 50_000,
        seconds: 1.0,
        shares: plugins.iter().map(&mut share).collect(),
        flamegraph_svg: None,
        allocations: Vec::new(),
    }
}
