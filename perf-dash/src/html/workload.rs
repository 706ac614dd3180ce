//! One folding section a workload: charts, tables, settings, source.

use maud::{Markup, html};
use schedlab_workloads::results::{
    Change, Estimate, LatencySummary, Memory, Repeats, RunResult, RunStatus, SloLine, Stage, UnderTestUsage,
    WorkloadResult, slo,
};

use super::page::gates;
use super::summary::{broken_name, slo_mark, status_chip};
use super::{Verdict, anchor_id, threshold_bound};
use crate::chart::{lines, marks};
use crate::format;

/// Up to this many workloads all sections start open.
const OPEN_ALL_MAX: usize = 3;

pub(super) fn sections(run: &RunResult) -> Markup {
    let open_all = run.workloads.len() <= OPEN_ALL_MAX;
    html! {
        @if !run.workloads.is_empty() {
            section aria-labelledby="workloads-title" {
                div.bar {
                    h2 #workloads-title { "Workloads" }
                    button #unfold type="button" hidden { "Open all" }
                }
                @for (index, workload) in run.workloads.iter().enumerate() {
                    @let open = open_all || index == 0 || needs_attention(workload);
                    (section(&anchor_id(index, workload), workload, open))
                }
            }
        }
    }
}

fn needs_attention(workload: &WorkloadResult) -> bool {
    let missed = workload.threshold.as_ref().is_some_and(|t| t.pass == Some(false));
    let slo_failed = workload.slo.iter().any(|line| line.pass == Some(false));
    workload.status != RunStatus::Completed || missed || slo_failed
}

fn section(id: &str, workload: &WorkloadResult, open: bool) -> Markup {
    html! {
        details.workload id=(id) open[open] {
            summary {
                h3 { (broken_name(&workload.name)) }
                (status_chip(workload.status))
                span.brief {
                    span.num { (format::rate(workload.throughput.total)) " pods/s" }
                    (slo_mark(workload))
                }
            }
            (diagnosis(workload))
            (change(workload))
            div.columns {
                div {
                    (throughput_figure(workload))
                    (verdicts(workload))
                    (calls(workload))
                }
                div {
                    (latency_figure(id, workload))
                    (extension_points(workload))
                }
            }
            @if let (Some(repeats), Some(headline)) = (&workload.repeats, workload.throughput.estimate()) {
                (repeats_figure(id, headline, repeats))
            }
            (settings(workload))
            @if !workload.source.is_empty() {
                details.fold {
                    summary { "Source of the test case" }
                    pre tabindex="0" { code { (workload.source) } }
                }
            }
        }
    }
}

/// What changed since earlier runs, a line each.
fn change(workload: &WorkloadResult) -> Markup {
    let lines = workload.change.iter().flat_map(|changes| {
        let last = ("Since the last run with these settings", &changes.last);
        let baseline = changes.baseline.as_ref().map(|baseline| ("Against the baseline", baseline));
        std::iter::once(last).chain(baseline)
    });
    html! {
        @for (what, change) in lines {
            p.muted { (what) ": " @match change {
                Change::Compared(found) => {
                    strong { (found.verdict.word()) ", " (format::signed_percent(found.ratio.value)) }
                    @if found.has_interval() {
                        " (" (format::signed_percent(found.ratio.low)) " … " (format::signed_percent(found.ratio.high)) ")"
                    }
                    ", noise up to ±" (format::percent(found.fence)) ", run of " (format::minute(&found.against.started_at))
                    @if let Some(note) = &found.note { "; " (note) }
                }
                Change::NotComparable { why } => { (why) }
            } }
        }
    }
}

fn diagnosis(workload: &WorkloadResult) -> Markup {
    html! {
        @if let Some(message) = &workload.message {
            p.diagnosis.bad[workload.status != RunStatus::Partial] { (message) }
        }
    }
}

fn throughput_figure(workload: &WorkloadResult) -> Markup {
    html! {
        @if workload.samples.is_empty() {
            h4 { "Throughput over time" }
            p.muted { "The run ended before the first window; only the whole run was measured." }
        } @else {
            (lines::throughput(workload))
        }
    }
}

fn latency_figure(id: &str, workload: &WorkloadResult) -> Markup {
    html! {
        figure {
            figcaption {
                h4 { "Latency by stage" }
                span.legend {
                    (legend("p50", html! { circle.p50 cx="6" cy="6" r="4.5" {} }))
                    (legend("p90", html! { line.p90 x1="6" x2="6" y1="1" y2="11" {} }))
                    (legend("p99", html! { rect.p99 x="6" y="2" width="8" height="8" {} }))
                    (legend("max", html! { circle.max cx="6" cy="6" r="3.5" {} }))
                    span.muted { "right: p50 / p99" }
                }
            }
            @if workload.latency_us.is_empty() {
                p.muted { "No latency was measured." }
            } @else {
                (marks::latency(&format!("{id}-latency"), workload))
                details.fold {
                    summary { "Latencies as a table" }
                    (latency_table(workload))
                }
            }
        }
    }
}

fn legend(word: &str, shape: Markup) -> Markup {
    html! {
        span { svg width="12" height="12" aria-hidden="true" { (shape) } " " (word) }
    }
}

fn latency_table(workload: &WorkloadResult) -> Markup {
    let values =
        |latency: &LatencySummary| [latency.mean, latency.p50, latency.p90, latency.p99, latency.max];
    html! {
        div.wide tabindex="0" role="region" aria-label="Latencies" {
            table.plain {
                caption.sr { "Latency of " (workload.name) " by stage" }
                thead {
                    tr {
                        th scope="col" { "Stage" }
                        @for title in ["Count", "Mean", "p50", "p90", "p99", "Max"] {
                            th.number scope="col" { (title) }
                        }
                    }
                }
                tbody {
                    @for (stage, latency) in &workload.latency_us {
                        tr {
                            th scope="row" { (stage.title()) }
                            td.number { (format::thousands(latency.count)) }
                            @for value in values(latency) { td.number { (format::micros(value)) } }
                        }
                    }
                }
            }
        }
    }
}

fn verdicts(workload: &WorkloadResult) -> Markup {
    html! {
        div.block {
            h4 { "SLO and threshold" }
            table.plain {
                caption.sr { "Service level lines of " (workload.name) }
                thead {
                    tr {
                        th scope="col" { "Line" }
                        th.number scope="col" { "Measured" }
                        th.number scope="col" { "Margin" }
                        th scope="col" { "Verdict" }
                    }
                }
                tbody {
                    @for line in &workload.slo { (slo_row(line)) }
                    @if let Some(threshold) = &workload.threshold {
                        @let verdict = Verdict::of(threshold.pass);
                        tr {
                            th scope="row" {
                                "own threshold"
                                small { (broken_name(&threshold.metric)) " " (threshold.selector.data_bucket) " "
                                    (threshold_bound(threshold)) }
                            }
                            td.number { (threshold.actual.map_or("–".to_owned(), format::rate)) }
                            td.number { (threshold_margin(threshold.actual, threshold.value,
                                threshold.selector.expect_lower)) }
                            td { (verdict.mark(verdict.word())) }
                        }
                    }
                }
            }
            @if workload.slo.iter().any(|line| line.name == "throughput" && line.actual.is_some()) {
                p.note {
                    "Throughput is "
                    (format::multiple(workload.throughput.total / slo::PODS_PER_S_UPPER))
                    " the upper end of the expected 100 to 150 pods/s."
                }
            }
        }
    }
}

fn slo_row(line: &SloLine) -> Markup {
    let verdict = Verdict::of(line.pass);
    let actual = line.actual.map(|actual| match line.unit.as_str() {
        "ms" => format::millis(actual),
        // The target beside it names the unit; a phone has no room for it twice.
        _ => format::rate(actual),
    });
    html! {
        tr {
            th scope="row" { (line.name) small { (line.target) } }
            td.number { (actual.as_deref().unwrap_or("–")) }
            td.number { (line.margin.map_or("–".to_owned(), format::multiple)) }
            td { (verdict.mark(verdict.word())) }
        }
    }
}

/// How many times better than the bound, as the SLO lines count it.
fn threshold_margin(actual: Option<f64>, bound: f64, expect_lower: bool) -> String {
    let margin = actual.map(|actual| if expect_lower { bound / actual } else { actual / bound });
    margin.filter(|m| m.is_finite()).map_or("–".to_owned(), format::multiple)
}

fn calls(workload: &WorkloadResult) -> Markup {
    let total: u64 = workload.api_calls.values().sum();
    html! {
        div.block {
            h4 { "API calls" }
            @if workload.api_calls.is_empty() {
                p.muted { "No call was counted." }
            } @else {
                table.plain {
                    caption.sr { "API calls of " (workload.name) }
                    thead {
                        tr {
                            th scope="col" { "Call" }
                            th.number scope="col" { "Count" }
                            th.number scope="col" { "Per bound pod" }
                        }
                    }
                    tbody {
                        @for (call, count) in &workload.api_calls {
                            tr {
                                th scope="row" { span.code { (call) } }
                                td.number { (format::thousands(*count)) }
                                td.number { (per_pod(workload.api_calls_per_pod.get(call).copied())) }
                            }
                        }
                    }
                    tfoot {
                        tr {
                            th scope="row" { "all" }
                            td.number { (format::thousands(total)) }
                            td.number { (per_pod((!workload.api_calls_per_pod.is_empty())
                                .then(|| workload.api_calls_per_pod.values().sum()))) }
                        }
                    }
                }
            }
        }
    }
}

fn per_pod(calls: Option<f64>) -> String {
    calls.map_or("–".to_owned(), |calls| format!("{calls:.3}"))
}

fn extension_points(workload: &WorkloadResult) -> Markup {
    let points = || {
        let all = workload.latency_us.iter();
        all.filter(|(stage, _)| stage.extension_point().is_some())
    };
    let cycle_us = cycle_us(workload);
    html! {
        div.block {
            h4 { "Extension points" }
            @if points().next().is_none() {
                p.muted { "Not measured." }
            } @else {
                div.wide tabindex="0" role="region" aria-label="Extension points" {
                    table.plain {
                        caption.sr { "Cost of the extension points of " (workload.name) }
                        thead {
                            tr {
                                th scope="col" { "Point" }
                                th.number scope="col" { "Timed runs" }
                                th.number scope="col" { "Mean" }
                                th.number scope="col" { "p99" }
                                th.number scope="col" { "Of the cycle" }
                            }
                        }
                        tbody {
                            @for (stage, latency) in points() {
                                tr {
                                    th scope="row" { (broken_name(stage.title())) }
                                    td.number { (format::thousands(latency.count)) }
                                    td.number { (format::micros(latency.mean)) }
                                    td.number { (format::micros(latency.p99)) }
                                    (share_cell(*stage, latency, cycle_us))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The points that run inside a cycle, each once.
const INSIDE: [Stage; 4] = [Stage::PreFilter, Stage::Filter, Stage::PreScore, Stage::Score];

/// Mean length of a cycle. Points are timed in fewer cycles than the cycle itself: where a thread that
/// lost its processor made their means longer than that of the cycle, their sum is the cycle.
fn cycle_us(workload: &WorkloadResult) -> Option<f64> {
    let mean = |stage: &Stage| workload.latency_us.get(stage).map(|latency| latency.mean);
    let timed: f64 = INSIDE.iter().filter_map(mean).sum();
    mean(&Stage::SchedulingCycle).map(|cycle_us| cycle_us.max(timed)).filter(|&cycle_us| 0.0 < cycle_us)
}

/// Mean time of this point over the mean cycle, for the points that run inside one. Points are timed
/// in a sample of the cycles, so sums over a run would not compare.
fn share_cell(stage: Stage, latency: &LatencySummary, cycle_us: Option<f64>) -> Markup {
    let share = cycle_us.filter(|_| INSIDE.contains(&stage)).map(|cycle_us| latency.mean / cycle_us);
    html! {
        @match share {
            Some(share) => td.number {
                span.meter aria-hidden="true" { span style={ "width:" (format!("{:.1}%", share.min(1.0) * 100.0)) } {} }
                span.percent { (format::percent(share)) }
            },
            None => td.number.muted { "–" },
        }
    }
}

fn settings(workload: &WorkloadResult) -> Markup {
    let pods = &workload.pods;
    html! {
        div.settings {
            h4 { "Settings and size" }
            dl.facts {
                (entry("Suite", html! { (workload.suite) }))
                (entry("Nodes", html! { (format::thousands(workload.nodes)) }))
                (entry("Pods", html! {
                    (format::thousands(pods.created)) " created, " (format::thousands(pods.scheduled))
                    " bound, " (format::thousands(pods.unschedulable)) " unschedulable"
                }))
                (entry("Attempts", html! {
                    (format::thousands(workload.attempts.total)) ", "
                    (format::rate(workload.attempts.per_s)) "/s"
                }))
                (entry("Measured time", html! { (format::millis(workload.duration_ms)) }))
                (memory(&workload.memory))
                @if let Some(usage) = &workload.under_test { (under_test(usage)) }
                @for controller in &workload.controllers {
                    (entry(&controller.name, html! { (format::controller(controller)) }))
                }
                (entry("Feature gates", gates(&workload.feature_gates)))
                (entry("Labels", html! {
                    @if workload.labels.is_empty() { span.muted { "none" } }
                    (workload.labels.join(", "))
                }))
                (entry("Seed", html! { span.code { (workload.seed) } }))
            }
        }
    }
}

/// A scheduler that ran as a process: what it took, beside the API server. Its calls are in result.json by
/// program; those of all are in the table of calls.
fn under_test(usage: &UnderTestUsage) -> Markup {
    let time = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), format::millis);
    html! {
        (entry("Scheduler", html! { span.code { (usage.command) } }))
        (entry("Its processor time", html! {
            (time(usage.cpu_ms)) "; " (time(usage.server_cpu_ms)) " of the API server"
        }))
        @if let Some(bytes) = usage.peak_rss_bytes {
            (entry("Its memory", html! { (format::bytes(bytes as f64)) " at most" }))
        }
    }
}

fn entry(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn memory(memory: &Memory) -> Markup {
    let parts = [
        (memory.peak_rss_bytes.map(|bytes| bytes as f64), "peak resident"),
        (memory.bytes_per_node, "a node"),
        (memory.bytes_per_pod, "a pod"),
    ];
    let known = parts.into_iter().filter_map(|(bytes, what)| Some((bytes?, what)));
    let texts: Vec<String> = known.map(|(bytes, what)| format!("{} {what}", format::bytes(bytes))).collect();
    html! {
        @if !texts.is_empty() { (entry("Memory", html! { (texts.join(", ")) })) }
    }
}

fn repeats_figure(id: &str, headline: Estimate, repeats: &Repeats) -> Markup {
    html! {
        figure.repeats {
            figcaption {
                h4 { "Repeats" }
                span.muted {
                    "median " (format::rate(headline.value)) " pods/s, 95 % interval "
                    (format::rate(headline.low)) " to " (format::rate(headline.high)) ", n = "
                    (repeats.runs.len())
                }
            }
            (marks::repeats(&format!("{id}-repeats"), headline, repeats))
            details.fold {
                summary { "Repeats as a table" }
                (repeats_table(repeats))
            }
        }
    }
}

fn repeats_table(repeats: &Repeats) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Repeats" {
            table.plain {
                caption.sr { "Each repeat" }
                thead {
                    tr {
                        th.number scope="col" { "Repeat" }
                        th.number scope="col" { "Pods/s" }
                        th.number scope="col" { "Waited for a processor" }
                        th.number scope="col" { "Bound" }
                        th.number scope="col" { "Time" }
                    }
                }
                tbody {
                    @for (index, run) in repeats.runs.iter().enumerate() {
                        tr {
                            th.number scope="row" { (index + 1) }
                            td.number { (format::rate(run.pods_per_s)) }
                            td.number { (run.conditions.map_or_else(String::new, |it| format::percent(it.waited_share()))) }
                            td.number { (format::thousands(run.scheduled)) }
                            td.number { (format::millis(run.duration_ms)) }
                        }
                    }
                }
            }
        }
    }
}
