//! A page a workload: its numbers over all runs.

use maud::{Markup, html};

use super::data::flame_file;
use super::frame::{Page, alert_words, change_text, chart, fence_text, render, verdict};
use super::model::{Lab, Line};
use super::{flame, instructions};
use crate::format;
use crate::history::ProfileSummary;
use crate::html::broken_name;

pub(super) fn page(lab: &Lab<'_>, line: &Line<'_>) -> Markup {
    let change = lab.change(line);
    let point = change.latest.1;
    let fact = |name: &str, value: Markup| html! { div { dt { (name) } dd { (value) } } };
    let graph = line.newest().points.iter().rev().find_map(|(at, _)| {
        let record = &lab.records[*at];
        let found = record
            .profiles
            .iter()
            .enumerate()
            .find(|(_, profile)| profile.workload == line.name && profile.flamegraph_svg.is_some());
        found.map(|(number, profile)| (record, flame_file(lab, *at, number), profile))
    });
    let has = |of: fn(&crate::history::Point) -> bool| line.points.iter().any(|point| of(point.point));
    let body = html! {
        h1 { (broken_name(&line.name)) }
        p.ends {
            strong.num { (format::rate(point.pods_per_s())) " pods/s" } " at " span.code { (lab.records[change.latest.0].short_revision()) }
            @if change.previous.is_some() {
                ", " (verdict(change.verdict)) " " (change_text(&change)) " against the run before, fence " (fence_text(&change))
            } @else {
                ", the first run with these settings"
            }
        }
        dl.facts data-kernel=[instructions::twin(lab, line)] {
            (fact("Suite", html! { (point.suite) }))
            (fact("Nodes", html! { (format::thousands(point.nodes)) }))
            (fact("Pods, scheduled of created", html! { (format::thousands(point.pods.scheduled)) " of " (format::thousands(point.pods.created)) }))
            (fact("Runs with these settings", html! { (line.newest().points.len()) " of " (line.points.len()) }))
            @for slo in &point.slo {
                (fact(&slo.name, html! { (slo_text(slo)) ", wanted " (slo.target) }))
            }
        }
        @if 1 < line.series.len() { (settings(line)) }
        (change_points(lab, line))
        p.picked data-picked hidden {}
        (chart("rate", "Throughput", "pods/s; the band is the noise around the median of ten runs. Click two runs to compare them."))
        (chart("latency", "Latency", "from queue to binding, and of the scheduling cycle; logarithmic"))
        @if has(|point| point.memory.bytes_per_pod.is_some() || 0.0 < point.calls_per_pod) {
            (chart("memory", "Memory", "bytes per node and per pod"))
            (chart("calls", "API calls", "per scheduled pod"))
        }
        @if let Some(kernel) = instructions::twin(lab, line) {
            (chart("instructions", "Instructions", &format!("of its counted twin, the kernel {kernel}: exact, so every change is one of the code")))
        }
        @if let Some((record, flame_file, profile)) = graph {
            section aria-labelledby="flame-title" {
                h2 #flame-title { "Where the time goes" }
                p.note { "CPU profile at " span.code { (record.short_revision()) } ", " (format::thousands(profile.samples)) " samples. "
                    "Click a frame to zoom, search with Ctrl-F inside it. " a href={ "../" (flame_file) } { "Open alone" } }
                iframe.flame sandbox=(flame::SANDBOX) src={ "../" (flame_file) } title={ "Flamegraph of " (line.name) } loading="lazy" {}
            }
            @if !profile.allocations.is_empty() { (allocations(profile)) }
        }
    };
    let data = vec!["instructions.js".to_owned(), "runs.js".to_owned(), format!("w/{}.js", line.slug)];
    render(lab, Page { title: &line.name, root: "../", data, body })
}

/// Which settings the charts show; the script fills the list from the page's data.
fn settings(line: &Line<'_>) -> Markup {
    html! {
        div.pickers {
            label { "Settings shown" select data-series {
                @for (number, series) in line.series.iter().enumerate() {
                    option value=(number) {
                        @if number == 0 { "of the newest run" } @else { (series.differs) }
                        " (" (format::counted(series.points.len() as u64, "run")) ")"
                    }
                }
            } }
        }
    }
}

fn change_points(lab: &Lab<'_>, line: &Line<'_>) -> Markup {
    let alerts: Vec<_> = lab.alerts_of(line).collect();
    html! {
        @if !alerts.is_empty() {
            section aria-labelledby="points-title" {
                h2 #points-title { "Change points" }
                ol.moved { @for alert in alerts { li { (alert_words(alert)) } } }
            }
        }
    }
}

/// Allocations of the profile's last run, by call site.
fn allocations(profile: &ProfileSummary) -> Markup {
    html! {
        section aria-labelledby="alloc-title" {
            h2 #alloc-title { "Who allocates" }
            p.note { "In one run of the measured part, by the innermost function of schedlab; the dearest "
                (profile.allocations.len()) " call sites." }
            div.wide.tall tabindex="0" role="region" aria-label="Allocations by call site" { table.plain.sortable {
                thead { tr { th scope="col" { "Call site" } th.number scope="col" { "Bytes" } th.number scope="col" { "Count" } } }
                tbody { @for site in &profile.allocations {
                    tr {
                        th scope="row" { span.code { (site.site) } }
                        td.number data-value=(site.bytes) { (format::thousands(site.bytes)) }
                        td.number data-value=(site.count) { (format::thousands(site.count)) }
                    }
                } }
            } }
        }
    }
}

/// The measured value in the unit that suits it.
fn slo_text(slo: &schedlab_workloads::results::SloLine) -> String {
    match (slo.actual, slo.unit.as_str()) {
        (None, _) => "not measured".to_owned(),
        (Some(ms), "ms") => format::millis(ms),
        (Some(actual), unit) => format!("{} {unit}", format::rate(actual)),
    }
}
