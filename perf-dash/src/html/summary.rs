//! The first screen: one sentence, the SLO tracks, one row a workload.

use maud::{Markup, html};
use schedlab_workloads::results::{LatencySummary, RunResult, RunStatus, Stage, WorkloadResult, slo};

use super::{Verdict, anchor_id, name_parts, threshold_bound};
use crate::chart::marks::{slo_axis, slo_track};
use crate::chart::scale::LogScale;
use crate::format;

/// The run in one sentence.
pub(super) fn headline(run: &RunResult) -> Markup {
    let slowest = slowest(run);
    html! {
        h1 {
            (format::counted(run.workloads.len() as u64, "workload")) (node_range(run))
            @if let Some((index, workload)) = slowest {
                @let rate = workload.throughput.total;
                ": slowest " span.num { (format::rate(rate)) " pods/s" }
                " = " span.num { (format::multiple(rate / slo::PODS_PER_S_UPPER)) }
                " the upper SLO bound"
                @if 1 < run.workloads.len() {
                    " (" a href={ "#" (anchor_id(index, workload)) } { (name_parts(&workload.name).0) } ")"
                }
            }
            "; " (slo_words(run)) "."
        }
        @let ends = ending_words(run);
        @if !ends.is_empty() { p.ends { (ends) "." } }
    }
}

/// The expected band against every workload, on one logarithmic axis.
pub(super) fn slo_section(run: &RunResult) -> Markup {
    let ends = |workload: &WorkloadResult| {
        let throughput = &workload.throughput;
        [throughput.low, Some(throughput.total), throughput.high].into_iter().flatten()
    };
    let rates = run.workloads.iter().flat_map(ends);
    let scale = LogScale::around(rates.chain([slo::PODS_PER_S_MIN, 1000.0]));
    html! {
        @if !run.workloads.is_empty() {
            section aria-labelledby="slo-title" {
                h2 #slo-title { "Throughput against the expected 100 to 150 pods/s" }
                p.note {
                    "Median of the runs with its 95 % interval; at the right, its half width and the multiple of 150. "
                    span.key.band {} " expected band "
                    span.key.tick {} " the workload's own threshold "
                    span.key.ring {} " a single run"
                }
                ol.bars {
                    @for (index, workload) in run.workloads.iter().enumerate() {
                        (slo_row(index, workload, scale))
                    }
                    li.axis { (slo_axis(scale)) }
                }
            }
        }
    }
}

/// A row a workload.
pub(super) fn table_section(run: &RunResult) -> Markup {
    html! {
        section #summary aria-labelledby="summary-title" {
            div.bar {
                h2 #summary-title { "Summary" }
                label.filter hidden {
                    span.sr { "Show workloads whose name contains" }
                    input #filter type="search" placeholder="Filter by name" autocomplete="off";
                }
            }
            p.note.narrow { "Throughput in pods/s, latency end to end, numbers of pods." }
            table.summary role="table" {
                caption.sr { "Results, one row a workload" }
                (table_head())
                tbody role="rowgroup" {
                    @for (index, workload) in run.workloads.iter().enumerate() {
                        (table_row(index, workload))
                    }
                }
            }
            @if run.workloads.is_empty() { p.muted { "No workload ran." } }
        }
    }
}

/// `✓ 3 of 3 pass`, or how many fail.
pub(super) fn slo_mark(workload: &WorkloadResult) -> Markup {
    let count = |pass| workload.slo.iter().filter(|line| line.pass == pass).count();
    let (passed, failed) = (count(Some(true)), count(Some(false)));
    let judged = passed + failed;
    match (failed, judged) {
        (_, 0) => Verdict::NotMeasured.mark("not measured"),
        (0, _) => Verdict::Pass.mark(&format!("{passed} of {judged} pass")),
        (_, _) => Verdict::Fail.mark(&format!("{failed} of {judged} fail")),
    }
}

/// The status as a word with a mark; nothing for a workload that completed.
pub(super) fn status_chip(status: RunStatus) -> Markup {
    let (class, word) = match status {
        RunStatus::Completed => return html! {},
        RunStatus::Partial => ("warn", "partial"),
        RunStatus::Stuck => ("bad", "stuck"),
        RunStatus::Failed => ("bad", "failed"),
    };
    html! { span class={ "chip " (class) } { (word) } }
}

pub(super) fn slowest(run: &RunResult) -> Option<(usize, &WorkloadResult)> {
    let ran = |(_, workload): &(usize, &WorkloadResult)| 0 < workload.pods.scheduled;
    let rate = |(_, workload): &(usize, &WorkloadResult)| workload.throughput.total;
    run.workloads.iter().enumerate().filter(ran).min_by(|one, other| rate(one).total_cmp(&rate(other)))
}

/// `, 500 to 5,000 nodes`.
fn node_range(run: &RunResult) -> String {
    let nodes = || run.workloads.iter().map(|workload| workload.nodes);
    match (nodes().min(), nodes().max()) {
        (Some(low), Some(high)) if low == high => format!(", {}", format::counted(low, "node")),
        (Some(low), Some(high)) => {
            format!(", {} to {} nodes", format::thousands(low), format::thousands(high))
        }
        _ => String::new(),
    }
}

fn slo_words(run: &RunResult) -> String {
    let lines = || run.workloads.iter().flat_map(|workload| &workload.slo);
    let judged = lines().filter(|line| line.pass.is_some()).count() as u64;
    let failed = lines().filter(|line| line.pass == Some(false)).count() as u64;
    match (failed, judged) {
        (_, 0) => "no SLO line was measured".to_owned(),
        (0, _) => "all SLO lines pass".to_owned(),
        (1, _) => format!("1 of {judged} SLO lines fails"),
        (_, _) => format!("{failed} of {judged} SLO lines fail"),
    }
}

/// What else a reader must know before the numbers: missed thresholds, unhappy ends, skips.
fn ending_words(run: &RunResult) -> String {
    let missed = |w: &&WorkloadResult| w.threshold.as_ref().is_some_and(|t| t.pass == Some(false));
    let ended = |status| run.workloads.iter().filter(|w| w.status == status).count();
    let counts = [
        (run.workloads.iter().filter(missed).count(), "missed its own threshold"),
        (ended(RunStatus::Stuck), "stuck"),
        (ended(RunStatus::Failed), "failed"),
        (ended(RunStatus::Partial), "partial"),
        (run.skipped.len(), "skipped"),
    ];
    let present = counts.into_iter().filter(|(count, _)| 0 < *count);
    let words: Vec<String> = present.map(|(count, word)| format!("{count} {word}")).collect();
    words.join(", ")
}

fn slo_row(index: usize, workload: &WorkloadResult, scale: LogScale) -> Markup {
    let rate = workload.throughput.total;
    let times = format::multiple(rate / slo::PODS_PER_S_UPPER);
    let width = match workload.throughput.relative_half_width() {
        Some(width) => format!("±{}", format::percent(width)),
        None => "n=1".to_owned(),
    };
    html! {
        li {
            a.name href={ "#" (anchor_id(index, workload)) } { (broken_name(&workload.name)) }
            (slo_track(&format!("slo-{}", index + 1), workload, scale))
            span.value.three {
                span.num { (format::rate(rate)) }
                " " span.muted.num { (width) }
                " " span.muted.num { (times) }
            }
        }
    }
}

/// A name that may break after a slash or underscore and between `camelCase` words, so that
/// long test cases wrap where a reader would wrap them.
pub(crate) fn broken_name(name: &str) -> Markup {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        let is_hump = before.is_lowercase() && c.is_uppercase();
        if is_hump || matches!(before, '/' | '_') {
            parts.push(&name[start..at]);
            start = at;
        }
        before = c;
    }
    html! {
        @for part in parts { (part) wbr; }
        (&name[start..])
    }
}

fn table_head() -> Markup {
    html! {
        thead role="rowgroup" {
            tr role="row" {
                td role="cell" {}
                th colspan="4" scope="colgroup" role="columnheader" { "Throughput, pods/s" }
                th colspan="2" scope="colgroup" role="columnheader" { "End to end" }
                th colspan="2" scope="colgroup" role="columnheader" { "Pods" }
                td role="cell" {}
                th colspan="2" scope="colgroup" role="columnheader" { "Verdict" }
            }
            tr.columns role="row" {
                (column("Workload", "text"))
                (column("Pods/s", "number"))
                (column("±", "number"))
                (column("Runs", "number"))
                (column("Window p50", "number"))
                (column("p50", "number"))
                (column("p99", "number"))
                (column("Bound", "number"))
                (column("Unsched.", "number"))
                (column("API calls / pod", "number"))
                (column("SLO", "text"))
                (column("Threshold", "text"))
            }
        }
    }
}

fn column(title: &str, kind: &str) -> Markup {
    html! { th scope="col" role="columnheader" class=(kind) data-sort=(kind) { (title) } }
}

fn table_row(index: usize, workload: &WorkloadResult) -> Markup {
    let throughput = &workload.throughput;
    let end_to_end = workload.latency_us.get(&Stage::EndToEnd);
    let (test_case, variant) = name_parts(&workload.name);
    html! {
        tr role="row" data-name=(workload.name) {
            th scope="row" role="rowheader" data-key=(workload.name) {
                a href={ "#" (anchor_id(index, workload)) } { (broken_name(test_case)) }
                span.variant {
                    (broken_name(variant)) " " (status_chip(workload.status))
                }
            }
            (number_cell("Pods/s", Some(throughput.total), format::rate))
            (number_cell("±", throughput.relative_half_width(), format::percent))
            (count_cell("Runs", u64::from(throughput.samples)))
            (number_cell("Window p50", throughput.windows.map(|windows| windows.p50), format::rate))
            (latency_cell("Latency p50", end_to_end, |latency| latency.p50))
            (latency_cell("Latency p99", end_to_end, |latency| latency.p99))
            (count_cell("Bound", workload.pods.scheduled))
            (count_cell("Unschedulable", workload.pods.unschedulable))
            (number_cell("API calls / pod", calls_per_pod(workload), |calls| format!("{calls:.2}")))
            td role="cell" data-label="SLO" { (slo_mark(workload)) }
            td role="cell" data-label="Threshold" { (threshold_mark(workload)) }
        }
    }
}

fn number_cell(label: &str, value: Option<f64>, text: impl Fn(f64) -> String) -> Markup {
    html! {
        @match value {
            Some(value) => td.number role="cell" data-label=(label) data-key=(value) { (text(value)) },
            None => td.number.muted role="cell" data-label=(label) { "–" },
        }
    }
}

fn count_cell(label: &str, count: u64) -> Markup {
    number_cell(label, Some(count as f64), |_| format::thousands(count))
}

fn latency_cell(
    label: &str,
    latency: Option<&LatencySummary>,
    pick: impl Fn(&LatencySummary) -> f64,
) -> Markup {
    number_cell(label, latency.map(pick), format::micros)
}

fn calls_per_pod(workload: &WorkloadResult) -> Option<f64> {
    let per_pod = &workload.api_calls_per_pod;
    (!per_pod.is_empty()).then(|| per_pod.values().sum())
}

fn threshold_mark(workload: &WorkloadResult) -> Markup {
    html! {
        @match &workload.threshold {
            Some(threshold) => {
                @let verdict = Verdict::of(threshold.pass);
                span {
                    (verdict.mark(verdict.word())) " "
                    span.bound { (threshold_bound(threshold)) }
                }
            },
            None => span.muted { "none set" },
        }
    }
}
