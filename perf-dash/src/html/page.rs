//! The frame of the report: head, run facts, banner, sections, footer.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use schedlab_workloads::results::{RunResult, Skipped};

use super::{anchor_id, figure, first, summary, workload};
use crate::chart::{self, stack};
use crate::format;

pub(crate) const STYLE: &str = include_str!("style.css");
pub(crate) const SCRIPT: &str = include_str!("script.js");

/// Nothing may be loaded; only what is written in the page applies.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

pub(super) fn page(run: &RunResult) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "schedlab " (run.version) };
                title { "schedlab report, " (format::minute(&run.started_at)) }
                style { (PreEscaped(STYLE)) (PreEscaped(chart::STYLE)) }
            }
            body {
                @if let Some(first) = run.figures.first().filter(|_| run.workloads.is_empty()) {
                    a.skip href={ "#" (first.name) } { "Skip to the figures" }
                } @else {
                    a.skip href="#summary" { "Skip to the summary" }
                }
                (top_bar(run))
                main {
                    (partial_banner(run))
                    @if run.workloads.is_empty() && !run.figures.is_empty() {
                        (figure::headline(run))
                        (facts(run))
                        (figure::sections(run))
                    } @else {
                        (summary::headline(run))
                        (first::cards(run))
                        (summary::slo_section(run))
                        (stack::section(&run.workloads, |index| workload_link(run, index)))
                        (summary::table_section(run))
                        (figure::sections(run))
                        (workload::sections(run))
                        (conditions(run))
                    }
                    (skipped_section(&run.skipped))
                }
                (footer(run))
                script { (PreEscaped(chart::SCRIPT)) (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn workload_link(run: &RunResult, index: usize) -> Markup {
    let workload = &run.workloads[index];
    html! { a.name href={ "#" (anchor_id(index, workload)) } { (summary::broken_name(&workload.name)) } }
}

/// Under what the numbers were measured.
fn conditions(run: &RunResult) -> Markup {
    html! {
        section aria-labelledby="conditions-title" {
            h2 #conditions-title { "Measured with" }
            (facts(run))
        }
    }
}

/// Gates as `Name=true`, or a word for none.
pub(super) fn gates(gates: &BTreeMap<String, bool>) -> Markup {
    html! {
        @if gates.is_empty() { span.muted { "defaults" } }
        @for (i, (name, enabled)) in gates.iter().enumerate() {
            @if 0 < i { ", " }
            span.code { (name) "=" (enabled) }
        }
    }
}

fn top_bar(run: &RunResult) -> Markup {
    html! {
        header.top {
            p.brand { strong { "schedlab" } " " span.muted { "scheduling performance report" } }
            p.when { time datetime=(run.started_at) { (format::minute(&run.started_at)) } }
            button #theme type="button" hidden { "Theme: auto" }
        }
    }
}

fn partial_banner(run: &RunResult) -> Markup {
    html! {
        @if run.partial {
            p.banner role="status" {
                strong { "Partial run. " }
                "It was interrupted: the numbers below are true for what ran, but workloads or "
                "repeats are missing. Do not compare them with a whole run."
            }
        }
    }
}

fn facts(run: &RunResult) -> Markup {
    let machine = &run.machine;
    let sampling = match run.percentage_of_nodes_to_score {
        0 => "adaptive".to_owned(),
        percentage => format!("{percentage} %"),
    };
    html! {
        dl.facts {
            (fact("Covers", html! { (run.coverage) }))
            (fact("schedlab", html! {
                (run.version)
                @if let Some(revision) = &run.git_revision {
                    " " span.code title=(revision) { (revision.get(..12).unwrap_or(revision)) }
                }
            }))
            (fact("Machine", html! {
                (machine.cpu_model) ", " (format::counted(machine.cores.into(), "core")) ", "
                (format::bytes(machine.memory_bytes as f64)) ", " (machine.os) "/" (machine.arch)
            }))
            (fact("Threads, parallelism", html! { (run.threads) ", " (run.parallelism) }))
            (fact("Nodes to score", html! { (sampling) }))
            (fact("Seed", html! { span.code { (run.seed) } }))
            (fact("Repeats", html! {
                @if run.repeat == 0 { "until precise, within the budget" } @else { (run.repeat) }
            }))
            (fact("Run time", html! { (format::millis(run.duration_s * 1e3)) }))
            (fact("Feature gates", gates(&run.feature_gates)))
            @if !run.options.is_empty() { (fact("Options", html! {
                @for (i, (name, value)) in run.options.iter().enumerate() {
                    @if 0 < i { ", " } (name) " " span.code { (value) }
                }
            })) }
        }
    }
}

fn fact(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn skipped_section(skipped: &[Skipped]) -> Markup {
    html! {
        @if !skipped.is_empty() {
            section aria-labelledby="skipped-title" {
                h2 #skipped-title { "Skipped" }
                div.wide tabindex="0" role="region" aria-label="Skipped workloads" {
                    table.plain {
                        caption.sr { "Workloads that were selected but not run" }
                        thead { tr { th scope="col" { "Workload" } th scope="col" { "Why" } } }
                        tbody {
                            @for workload in skipped {
                                tr { th scope="row" { (workload.name) } td { (workload.reason) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn footer(run: &RunResult) -> Markup {
    html! {
        footer.end {
            p {
                "Throughput is the scheduled pods over the measured interval, the median of the runs, with its 95 % "
                "bootstrap interval; upstream's window statistics stand beside it under their own names. SLO lines: at least 100 scheduling "
                "attempts/s, at least 100 pods/s, algorithm average at most 10 ms. A number covers "
                (run.coverage) ", and nothing else."
            }
        }
    }
}
