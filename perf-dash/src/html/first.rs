//! The first screen: what is slow, what changed, how sure that is.

use maud::{Markup, html};
use schedlab_workloads::results::{RunResult, WorkloadResult, slo};

use super::summary::{broken_name, slowest};
use super::{anchor_id, name_parts};
use crate::chart::stack;
use crate::format;

/// From this half width on, as a share of the value, a headline should not be quoted.
const WIDE: f64 = 0.05;
/// Workloads or warnings named before the rest is counted.
const NAMED_MAX: usize = 3;

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

/// What the history says of this run.
fn changed(_run: &RunResult) -> Markup {
    html! {
        p.big { "not compared" }
        p.muted { "This run was not held against an earlier one." }
    }
}

/// How many headlines can be quoted, and what stands against the others.
fn sure(run: &RunResult) -> Markup {
    let width = |workload: &WorkloadResult| workload.throughput.relative_half_width();
    let judged: Vec<f64> = run.workloads.iter().filter_map(width).collect();
    let single = run.workloads.len() - judged.len();
    let wide = judged.iter().filter(|&&width| width > WIDE).count();
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
            @if wide > 0 { (format::counted(wide as u64, "workload")) " wider than ±" (format::percent(WIDE)) "; do not quote. " }
            @else if !judged.is_empty() { "every interval within ±" (format::percent(WIDE)) ". " }
            @if single > 0 && !judged.is_empty() { (format::counted(single as u64, "workload")) " ran once, without an interval. " }
        }
        @if !warnings.is_empty() {
            details.fold {
                summary.warned { (format::counted(warnings.len() as u64, "warning")) }
                ul {
                    @for warning in warnings.iter().take(NAMED_MAX * NAMED_MAX) { li { (warning) } }
                    @if warnings.len() > NAMED_MAX * NAMED_MAX { li { (warnings.len() - NAMED_MAX * NAMED_MAX) " more" } }
                }
            }
        }
    }
}
