//! Go benchmark text, so that `benchstat` compares our runs, and ours with upstream's.
//!
//! ```text
//! goos: linux
//! goarch: amd64
//! covers: core + queue + embedded API
//! pkg: schedlab/misc
//! cpu: AMD EPYC 7763
//! BenchmarkPerfScheduling/SchedulingBasic/5000Nodes-2   1   1e+06 SchedulingThroughput/Average ...
//! ```
//!
//! Upstream: scheduler_perf.go `RunBenchmarkPerfScheduling`: units are `<metric>/<bucket>`, with
//! `_seconds` replaced by the unit of the value, and `ns/op` is suppressed because it would
//! include set-up. Each repeat is a line of its own: that is where benchstat's spread comes from.
//!
//! A run that was cut short says `partial: true` above everything, and a workload that did not complete
//! has a line `status: partial` (or `stuck`, `failed`) above its own: benchstat puts results under other
//! such lines into other tables.
//!
//! Differs: upstream reports the extension points under one unit, so only the last survives;
//! we put the values of labels in between (golden `bench.txt`) (`bench_text_is_golden`).

use std::fmt::Write as _;

use super::data_items::{DataItem, METRIC_LABEL, NAME_LABEL, workload_items};
use super::{RunResult, RunStatus, RunTotal, Throughput, WorkloadResult};

/// The run as Go benchmark text.
pub fn bench_text(run: &RunResult) -> String {
    let machine = &run.machine;
    let mut text = format!("goos: {}\ngoarch: {}\n", machine.os, machine.arch);
    // A line of the format's own kind, key and value: readers that do not know it keep it.
    push(&mut text, format_args!("covers: {}\n", run.coverage));
    if run.partial {
        text.push_str("partial: true\n");
    }
    let mut suite: Option<&str> = None;
    let mut status = RunStatus::Completed;
    for workload in &run.workloads {
        if suite != Some(&workload.suite) {
            push(&mut text, format_args!("pkg: schedlab/{}\n", workload.suite));
            // `go test` repeats the processor under every package.
            push(&mut text, format_args!("cpu: {}\n", machine.cpu_model));
            suite = Some(&workload.suite);
        }
        // The line holds for all that follow.
        if workload.status != status {
            push(&mut text, format_args!("status: {}\n", workload.status.label()));
            status = workload.status;
        }
        push_workload(&mut text, workload, run.threads);
    }
    text
}

fn push_workload(text: &mut String, workload: &WorkloadResult, threads: u32) {
    let name = bench_name(&workload.name, threads);
    let items = workload_items(workload);
    let Some(repeats) = &workload.repeats else {
        return push_line(text, &name, &items);
    };
    for run in &repeats.runs {
        push_line(text, &name, &workload_items(&of_repeat(workload, run)));
    }
}

/// The workload as one repeat saw it. Latencies are pooled over repeats and would repeat the
/// same value on every line, which benchstat would take for a measurement without noise.
fn of_repeat(workload: &WorkloadResult, run: &RunTotal) -> WorkloadResult {
    let windows = run.windows;
    WorkloadResult {
        throughput: Throughput { windows, ..Throughput::of_runs(&[run.pods_per_s]) },
        duration_ms: run.duration_ms,
        latency_us: Default::default(),
        metrics_collected: Vec::new(),
        ..workload.clone()
    }
}

/// Go appends the processors unless it is one, and a name has no spaces.
fn bench_name(name: &str, threads: u32) -> String {
    let name = name.replace(char::is_whitespace, "_");
    match threads {
        1 => format!("BenchmarkPerfScheduling/{name}"),
        _ => format!("BenchmarkPerfScheduling/{name}-{threads}"),
    }
}

fn push_line(text: &mut String, name: &str, items: &[DataItem]) {
    push(text, format_args!("{name} \t1"));
    for item in items {
        let metric = unit_prefix(item);
        for (bucket, value) in &item.data {
            push(text, format_args!("\t{value} {metric}/{bucket}"));
        }
    }
    text.push('\n');
}

fn unit_prefix(item: &DataItem) -> String {
    let metric = item.labels.get(METRIC_LABEL).map_or("", String::as_str);
    let metric = metric.replace("_seconds", &format!("_{}", item.unit));
    // What tells items of one metric apart, in the order of the labels' names. Values of labels have no
    // spaces but may have slashes (`storage.k8s.io/CSINodeAdd`), which units take.
    let own = item.labels.iter().filter(|(label, _)| *label != METRIC_LABEL && *label != NAME_LABEL);
    own.fold(metric, |prefix, (_, value)| format!("{prefix}/{}", value.replace(char::is_whitespace, "_")))
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a String does not fail");
}
