//! The first page, and the frame of the page that compares two runs.

use maud::{Markup, html};
use schedlab_workloads::results::RunStatus;

use super::frame::{Page, alert_words, change_text, fence_text, render, verdict};
use super::model::{Change, Lab, Line};
use crate::alerts::{Alert, State};
use crate::format;
use crate::history::{RecordSource, RunKey};
use crate::stats::Verdict;

/// Runs listed on the overview; all of them are on the comparison page.
const RUNS_SHOWN: usize = 20;
/// Change points listed that are not open.
const POINTS_SHOWN: usize = 50;
/// Points of a sparkline.
const SPARK_POINTS: usize = 40;

pub(super) fn page(lab: &Lab<'_>) -> Markup {
    let changes: Vec<(&Line<'_>, Change<'_>)> =
        lab.lines.iter().map(|line| (line, lab.change(line))).collect();
    let body = html! {
        (headline(lab, &changes))
        (slo_board(&changes))
        (what_changed(&changes))
        (change_points(lab))
        (workload_table(lab, &changes))
        (run_table(lab))
    };
    render(lab, Page { title: "Overview", root: "", data: Vec::new(), body })
}

fn headline(lab: &Lab<'_>, changes: &[(&Line<'_>, Change<'_>)]) -> Markup {
    let count = |wanted| changes.iter().filter(|(_, change)| change.verdict == Some(wanted)).count() as u64;
    let Some(latest) = lab.latest().map(|at| &lab.records[at]) else {
        return html! { h1 { "No run has been recorded yet" } p.ends { "Record one with " span.code { "schedlab record" } "." } };
    };
    html! {
        h1 {
            (format::counted(lab.lines.len() as u64, "workload")) ", latest against previous: "
            (count(Verdict::Better)) " better, " (count(Verdict::Worse)) " worse, "
            (count(Verdict::Unchanged)) " unchanged, " (count(Verdict::Inconclusive)) " inconclusive"
        }
        p.ends {
            "Latest run: " span.code { (latest.short_revision()) }
            @if let Some(label) = &latest.label { " (" (label) ")" }
            ", " time datetime=(latest.started_at) { (format::minute(&latest.started_at)) }
            @if let Some(machine) = &latest.machine { ", " (machine.cpu_model) ", " (format::counted(machine.cores.into(), "core")) }
            ". Covers " (latest.coverage) "."
        }
    }
}

fn slo_board(changes: &[(&Line<'_>, Change<'_>)]) -> Markup {
    type Missed<'a, 'b> = (&'a Line<'b>, f64, String);
    let mut lines: Vec<(String, String, u64, Vec<Missed<'_, '_>>)> = Vec::new();
    for (line, change) in changes {
        for slo in &change.latest.1.slo {
            let at = lines.iter().position(|(name, ..)| *name == slo.name).unwrap_or_else(|| {
                lines.push((slo.name.clone(), slo.target.clone(), 0, Vec::new()));
                lines.len() - 1
            });
            match (slo.pass, slo.actual) {
                (Some(true), _) => lines[at].2 += 1,
                (Some(false), Some(actual)) => lines[at].3.push((line, actual, slo.unit.clone())),
                _ => {}
            }
        }
    }
    html! {
        @if !lines.is_empty() {
            section aria-labelledby="slo-title" {
                h2 #slo-title { "Service levels" }
                ul.board {
                    @for (name, target, passed, failed) in &lines {
                        li class=(if failed.is_empty() { "good" } else { "bad" }) {
                            strong { (name) } span.muted { (target) }
                            span.big { (passed) " of " (passed + failed.len() as u64) " pass" }
                            @if !failed.is_empty() {
                                details { summary { (failed.len()) " miss it" }
                                    ul { @for (line, actual, unit) in failed {
                                        li { a href={ "w/" (line.slug) ".html" } { (line.name) } ": " (format::rate(*actual)) " " (unit) }
                                    } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn what_changed(changes: &[(&Line<'_>, Change<'_>)]) -> Markup {
    let mut moved: Vec<&(&Line<'_>, Change<'_>)> = changes
        .iter()
        .filter(|(_, change)| matches!(change.verdict, Some(Verdict::Better | Verdict::Worse)))
        .collect();
    let size = |change: &Change<'_>| change.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    moved.sort_by(|one, other| size(&other.1).total_cmp(&size(&one.1)));
    html! {
        section aria-labelledby="changed-title" {
            h2 #changed-title { "What changed" }
            @if changes.iter().all(|(_, change)| change.previous.is_none()) {
                p.note { "The latest run is the first one with its settings." }
            } @else if moved.is_empty() {
                p.note { "Nothing moved beyond its fence between the latest run and the one before." }
            } @else {
                ol.moved {
                    @for (line, change) in moved.iter().take(10) {
                        li { a href={ "w/" (line.slug) ".html" } { (line.name) } " " (verdict(change.verdict)) " " strong.num { (change_text(change)) }
                            " " span.muted { "fence " (fence_text(change)) } }
                    }
                }
                @if 10 < moved.len() { p.note { (moved.len() - 10) " more in the table below." } }
            }
        }
    }
}

/// Where workloads got slower or faster for good; those that are open first.
fn change_points(lab: &Lab<'_>) -> Markup {
    let (open, rest): (Vec<&Alert>, Vec<&Alert>) =
        lab.alerts.iter().partition(|alert| alert.state == State::Open);
    let slug = |name: &str| lab.lines.iter().find(|line| line.name == name).map(|line| line.slug.as_str());
    let item = |alert: &Alert| {
        html! {
            li { @if let Some(slug) = slug(&alert.workload) { a href={ "w/" (slug) ".html" } { (alert.workload) } } " " (alert_words(alert)) }
        }
    };
    html! {
        section aria-labelledby="points-title" {
            h2 #points-title { "Change points" }
            @if lab.alerts.is_empty() {
                p.note { "No workload has changed its level. A level is three runs or more with the same settings on the same machine." }
            }
            @if !open.is_empty() { ol.moved { @for alert in &open { (item(alert)) } } }
            @if !rest.is_empty() {
                details { summary { (format::counted(rest.len() as u64, "change point")) " not open" }
                    ol.moved { @for alert in rest.iter().take(POINTS_SHOWN) { (item(alert)) } } }
            }
        }
    }
}

fn workload_table(lab: &Lab<'_>, changes: &[(&Line<'_>, Change<'_>)]) -> Markup {
    html! {
        section aria-labelledby="workloads-title" {
            div.bar {
                h2 #workloads-title { "Workloads" }
                label.filter { span.sr { "Filter workloads" } input type="search" placeholder="Filter" data-filter="workloads"; }
            }
            div.wide tabindex="0" role="region" aria-label="Workloads" {
                table.plain.cells.sortable #workloads {
                    caption.sr { "Latest throughput of every workload against the run before" }
                    thead { tr {
                        th scope="col" { "Workload" }
                        th.number scope="col" { "Nodes" }
                        th.number scope="col" { "pods/s" }
                        th.number scope="col" { "before" }
                        th.number scope="col" { "change" }
                        th.number scope="col" { "fence" }
                        th scope="col" { "verdict" }
                        th scope="col" { "last " (SPARK_POINTS) " runs" }
                    } }
                    tbody { @for (line, change) in changes { (workload_row(lab, line, change)) } }
                }
            }
        }
    }
}

fn workload_row(lab: &Lab<'_>, line: &Line<'_>, change: &Change<'_>) -> Markup {
    let point = change.latest.1;
    let before = change.previous.map(|(_, point)| point.pods_per_s());
    html! {
        tr {
            th scope="row" { a href={ "w/" (line.slug) ".html" } { (line.name) }
                @if lab.records[change.latest.0].source == RecordSource::PerfDash { " " span.chip { "kube-scheduler" } }
                @if point.status != RunStatus::Completed { " " span.chip.bad { "did not complete" } } }
            td.number data-label="Nodes" data-value=(point.nodes) { (format::thousands(point.nodes)) }
            td.number data-label="pods/s" data-value=(point.pods_per_s()) { (format::rate(point.pods_per_s())) }
            td.number data-label="before" data-value=(before.unwrap_or(0.0)) { (before.map_or_else(|| "–".to_owned(), format::rate)) }
            td.number data-label="change" data-value=(change.ratio.unwrap_or(0.0)) { (change_text(change)) }
            td.number data-label="fence" data-value=(change.fence.map_or(0.0, |fence| fence.relative)) { (fence_text(change)) }
            td data-label="verdict" { (verdict(change.verdict)) }
            td.row data-label={ "last " (SPARK_POINTS) " runs" } { (spark(line)) }
        }
    }
}

/// The last runs of the newest settings as a line without axes; the numbers are on the workload's own page.
fn spark(line: &Line<'_>) -> Markup {
    let same: Vec<f64> = line.newest().points.iter().map(|(_, point)| point.pods_per_s()).collect();
    let from = same.len().saturating_sub(SPARK_POINTS);
    let values = &same[from..];
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let span = if low < high { high - low } else { 1.0 };
    let step = 120.0 / (values.len().max(2) - 1) as f64;
    let place = |(at, value): (usize, &f64)| {
        format!("{:.0},{:.0}", at as f64 * step, 19.0 - (value - low) / span * 18.0)
    };
    let points = values.iter().enumerate().map(place).collect::<Vec<_>>().join(" ");
    if values.len() < 2 {
        return Markup::default();
    }
    html! { svg.spark width="120" height="20" viewBox="0 0 120 20" aria-hidden="true" { polyline.line points=(points) {} } }
}

fn run_table(lab: &Lab<'_>) -> Markup {
    let from = lab.records.len().saturating_sub(RUNS_SHOWN);
    let before = |at: usize| {
        let key = RunKey::of(&lab.records[at]);
        lab.records[..at].iter().rposition(|other| RunKey::of(other) == key)
    };
    html! {
        section aria-labelledby="runs-title" {
            div.bar { h2 #runs-title { "Latest runs" } a href="compare.html" { "Compare any two" } }
            div.wide tabindex="0" role="region" aria-label="Latest runs" {
                table.plain.cells {
                    thead { tr { th scope="col" { "Run" } th scope="col" { "Revision" } th scope="col" { "Label" } th scope="col" { "By" }
                        th.number scope="col" { "Workloads" } th scope="col" { "Compare" } } }
                    tbody { @for at in (from..lab.records.len()).rev() {
                        @let record = &lab.records[at];
                        tr {
                            th scope="row" { time datetime=(record.started_at) { (format::minute(&record.started_at)) } }
                            td data-label="Revision" { span.code { (record.short_revision()) } }
                            td data-label="Label" { (record.label.as_deref().unwrap_or("")) @if record.partial { " " span.chip.warn { "partial" } } }
                            td data-label="By" { (record.source.word()) }
                            td.number data-label="Workloads" { (record.points.len()) }
                            td.row data-label="Compare" { @if let Some(before) = before(at) { a href={ "compare.html#a=" (lab.run_file(before)) "&b=" (lab.run_file(at)) } { "with the run before" } } }
                        }
                    } }
                }
            }
        }
    }
}

/// Two lists and an empty table; the script loads the two runs that the address names.
pub(super) fn compare_page(lab: &Lab<'_>) -> Markup {
    let picker = |id: &str, name: &str| html! { label { (name) " " select id=(id) {} } };
    let body = html! {
        h1 { "Compare two runs" }
        p.ends #compare-verdict aria-live="polite" { "Choose two runs." }
        div.pickers { (picker("run-a", "Base")) (picker("run-b", "Head")) button #swap type="button" { "Swap" } }
        p.note #compare-note {}
        label.filter { span.sr { "Filter workloads" } input type="search" placeholder="Filter" data-filter="compared"; }
        div.wide tabindex="0" role="region" aria-label="Compared workloads" {
            table.plain.cells.sortable #compared {
                thead { tr {
                    th scope="col" { "Workload" }
                    th.number scope="col" { "base pods/s" }
                    th.number scope="col" { "head pods/s" }
                    th.number scope="col" { "change" }
                    th.number scope="col" { "fence" }
                    th scope="col" { "verdict" }
                    th.number scope="col" { "cycle mean" }
                    th.number scope="col" { "e2e p99" }
                    th.number scope="col" { "calls/pod" }
                } }
                tbody {}
            }
        }
    };
    render(lab, Page { title: "Compare", root: "", data: vec!["runs.js".to_owned()], body })
}
