//! The first screen: what is slow, what changed, how sure that is.

use maud::{Markup, html};
use schedlab_workloads::results::{Change, Compared, RunResult, WorkloadResult, slo};

use super::summary::{broken_name, slowest};
use super::{anchor_id, name_parts};
use crate::chart::stack;
use crate::format;
use crate::stats::Verdict;

/// Workloads that moved named before the rest is left to the table.
const MOVED_MAX: usize = 3;
/// Warnings listed before the rest is counted.
const WARNINGS_MAX: usize = 9;

/// Three answers beside each other.
pub(super) fn cards(run: &RunResult) -> Markup {
    html! {
        @if !run.workloads.is_empty() {
            div.cards {
                (card("What is slow", slow(run)))
                (card("What changed", changed(run)))
                (card("How sure we are", sure(run)))
            }
        }
    }
}

fn card(title: &str, body: Markup) -> Markup {
    html! { section.card { h2 { (title) } (body) } }
}

fn link(run: &RunResult, index: usize) -> Markup {
    let workload = &run.workloads[index];
    html! { a href={ "#" (anchor_id(index, workload)) } { (broken_name(name_parts(&workload.name).0)) } }
}

fn slow(run: &RunResult) -> Markup {
    let dearest = |workload: &WorkloadResult| {
        stack::parts(workload).into_iter().max_by(|one, other| one.us.total_cmp(&other.us))
    };
    html! {
        @if let Some((index, workload)) = slowest(run) {
            @let rate = workload.throughput.total;
            p.big.num { (format::rate(rate)) " pods/s" }
            p { (link(run, index)) ", " (format::multiple(rate / slo::PODS_PER_S_UPPER)) " the upper SLO bound" }
            @if let Some(part) = dearest(workload) {
                p.muted { "most of it " (part.name) ", " (format::micros(part.us)) " of " (format::micros(1e6 / rate)) " a pod" }
            }
        } @else { p.big { "no pod was scheduled" } }
    }
}

/// What the history says of this run: against the baseline that was asked for, else since the last
/// run with the same settings.
fn changed(run: &RunResult) -> Markup {
    let of = |workload: &WorkloadResult| -> Option<Change> {
        let changes = workload.change.as_ref()?;
        Some(changes.baseline.as_ref().unwrap_or(&changes.last).clone())
    };
    let changes: Vec<(usize, Change)> =
        run.workloads.iter().enumerate().filter_map(|(at, workload)| Some((at, of(workload)?))).collect();
    let compared: Vec<(usize, &Compared)> =
        changes.iter().filter_map(|(at, change)| Some((*at, change.compared()?))).collect();
    let why = changes.iter().find_map(|(_, change)| match change {
        Change::NotComparable { why } => Some(why.as_str()),
        Change::Compared(_) => None,
    });
    let is_baseline =
        run.workloads.iter().any(|it| it.change.as_ref().is_some_and(|it| it.baseline.is_some()));
    html! {
        @match compared.first() {
            None => {
                p.big { "not compared" }
                p.muted { (why.unwrap_or("this run was not held against an earlier one")) "." }
            }
            Some((_, first)) => {
                p.big { (verdict_counts(&compared)) }
                ul.moved { @for (index, change) in moved(&compared).into_iter().take(MOVED_MAX) { (moved_line(run, index, change)) } }
                p.muted {
                    @if is_baseline { "against the baseline" } @else { "since the last run with these settings" }
                    ", " (first.against.label.clone().unwrap_or_else(|| format::minute(&first.against.started_at)))
                    @if compared.len() < run.workloads.len() {
                        "; " (format::counted((run.workloads.len() - compared.len()) as u64, "workload")) " not compared"
                    }
                }
            }
        }
    }
}

fn moved_line(run: &RunResult, index: usize, change: &Compared) -> Markup {
    let mark = if change.verdict == Verdict::Worse { ("fail", "▼") } else { ("pass", "▲") };
    html! {
        li {
            span class={ "mark " (mark.0) } { span aria-hidden="true" { (mark.1) } " " (change.verdict.word()) }
            " " (link(run, index)) " " strong.num { (format::signed_percent(change.ratio.value)) }
            " " span.muted.num {
                "[" (format::signed_percent(change.ratio.low)) ", " (format::signed_percent(change.ratio.high)) "]"
            }
        }
    }
}

/// `1 worse, 2 better`; what did not move is named only when nothing did.
fn verdict_counts(compared: &[(usize, &Compared)]) -> String {
    let count = |verdict| compared.iter().filter(|(_, change)| change.verdict == verdict).count();
    let all =
        [Verdict::Worse, Verdict::Better, Verdict::Inconclusive].map(|verdict| (count(verdict), verdict));
    let words: Vec<String> = all
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", verdict.word()))
        .collect();
    if words.is_empty() { "nothing changed".to_owned() } else { words.join(", ") }
}

/// What moved, the largest move first.
fn moved<'a>(compared: &[(usize, &'a Compared)]) -> Vec<(usize, &'a Compared)> {
    let is_move =
        |(_, change): &&(usize, &Compared)| matches!(change.verdict, Verdict::Worse | Verdict::Better);
    let mut moved: Vec<(usize, &Compared)> = compared.iter().filter(is_move).copied().collect();
    let size = |change: &Compared| change.ratio.value.ln().abs();
    moved.sort_by(|one, other| size(other.1).total_cmp(&size(one.1)));
    moved
}

/// How many headlines can be quoted, and what stands against the others.
fn sure(run: &RunResult) -> Markup {
    let width = |workload: &WorkloadResult| workload.throughput.relative_half_width();
    let judged: Vec<f64> = run.workloads.iter().filter_map(width).collect();
    let single = run.workloads.len() - judged.len();
    // The run itself says which of its headlines are not to be quoted, and why.
    let warned = run.workloads.iter().filter(|workload| !workload.warnings.is_empty()).count();
    let widest = judged.iter().copied().fold(0.0, f64::max);
    let warnings: Vec<String> = run
        .workloads
        .iter()
        .flat_map(|workload| workload.warnings.iter().map(|warning| format!("{}: {warning}", workload.name)))
        .collect();
    html! {
        p.big.num {
            @if judged.is_empty() { "n = 1, no interval" }
            @else { "±" (format::percent(widest)) span.muted { " at most" } }
        }
        p {
            @if warned > 0 { (format::counted(warned as u64, "workload")) " with a warning; do not quote. " }
            @else if !judged.is_empty() { "no warning: quote a value with its interval. " }
            @if single > 0 && !judged.is_empty() { (format::counted(single as u64, "workload")) " ran once, without an interval. " }
        }
        @if !warnings.is_empty() {
            details.fold {
                summary.warned { (format::counted(warnings.len() as u64, "warning")) }
                ul {
                    @for warning in warnings.iter().take(WARNINGS_MAX) { li { (warning) } }
                    @if warnings.len() > WARNINGS_MAX { li { (warnings.len() - WARNINGS_MAX) " more" } }
                }
            }
        }
    }
}
