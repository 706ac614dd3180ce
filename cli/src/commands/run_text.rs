//! What a run says on the terminal: the table, what to know before quoting it, what was left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schedlab_perf_dash::format;
use schedlab_perf_dash::stats::Verdict;
use schedlab_workloads::results::slo::{self, SloVerdict};
use schedlab_workloads::results::{
    Change, Compared, ComparedFigure, ControllerResult, LatencySummary, Pods, RunResult, RunStatus, Skipped,
    Stage, WorkloadResult,
};

use super::run::has_measured_nothing;
use super::under_test;
use crate::progress::say;
use crate::table::{Align, Tone, Toned, render_toned, terminal_width};

/// Prints the summary of a run.
pub(super) fn print(result: &RunResult, report: Option<&Path>) {
    say(&table(&result.workloads, terminal_width()));
    say(&format!("\n{LEGEND}\nCovers {}.", result.coverage));
    for text in notes(result) {
        say(&format!("\n{text}"));
    }
    if result.partial {
        say("\nPARTIAL: the run was interrupted; the numbers cover what was measured until then.");
    }
    say(&format!("\n{} workload(s) in {:.1} s", result.workloads.len(), result.duration_s));
    if let Some(report) = report {
        say(&format!("Report: {}", report.display()));
    }
}

const LEGEND: &str = "pods/s: scheduled pods over the measured interval, median of n runs; ±: half of its 95 % \
interval.\nSLO: at least 100 attempts/s, 100-150 pods/s, algorithm mean at most 10 ms.";

/// A column: its heading, how it is aligned, from which width on it is shown, and its cell. A column in
/// which no workload has anything to say is left out.
struct Column {
    name: &'static str,
    align: Align,
    width_min: u16,
    cell: fn(&WorkloadResult) -> Toned,
}

/// A terminal of this many columns holds everything beside a name of usual length.
const WIDE: u16 = 140;
const MIDDLE: u16 = 100;

const COLUMNS: [Column; 14] = [
    Column { name: "workload", align: Align::Left, width_min: 0, cell: |w| plain(w.name.clone()) },
    Column { name: "pods/s", align: Align::Right, width_min: 0, cell: |w| plain(pods_per_s(w)) },
    Column { name: "±", align: Align::Right, width_min: 0, cell: half_width },
    Column {
        name: "n",
        align: Align::Right,
        width_min: 0,
        cell: |w| plain(w.throughput.samples.to_string()),
    },
    Column { name: CHANGE, align: Align::Right, width_min: 0, cell: |w| change_cell(since_last(w)) },
    Column {
        name: "95 % interval",
        align: Align::Right,
        width_min: MIDDLE,
        cell: |w| plain(since_last(w).map_or_else(|| NOTHING.to_owned(), change_interval)),
    },
    Column {
        name: "vs baseline",
        align: Align::Right,
        width_min: 0,
        cell: |w| change_cell(since_baseline(w)),
    },
    Column { name: "normalised", align: Align::Right, width_min: WIDE, cell: |w| plain(normalised(w)) },
    Column {
        name: "cycle mean",
        align: Align::Right,
        width_min: MIDDLE,
        cell: |w| plain(latency(w, Stage::SchedulingCycle, |summary| summary.mean)),
    },
    Column {
        name: "e2e p50",
        align: Align::Right,
        width_min: WIDE,
        cell: |w| plain(latency(w, Stage::EndToEnd, |summary| summary.p50)),
    },
    Column {
        name: "e2e p99",
        align: Align::Right,
        width_min: MIDDLE,
        cell: |w| plain(latency(w, Stage::EndToEnd, |summary| summary.p99)),
    },
    Column { name: "scheduled", align: Align::Right, width_min: WIDE, cell: |w| plain(scheduled(w)) },
    Column { name: "calls/pod", align: Align::Right, width_min: WIDE, cell: |w| plain(calls_per_pod(w)) },
    Column { name: "SLO", align: Align::Left, width_min: 0, cell: slo_mark },
];

/// What a cell without a value shows.
const NOTHING: &str = "-";
const CHANGE: &str = "change";
/// Columns that are there only where a run was compared with another.
const OPTIONAL: [&str; 3] = [CHANGE, "95 % interval", "vs baseline"];

pub(super) fn table(workloads: &[WorkloadResult], width: Option<u16>) -> String {
    let fits = |column: &&Column| width.is_none_or(|width| column.width_min <= width);
    let says = |column: &&Column| {
        !OPTIONAL.contains(&column.name)
            || workloads.iter().any(|workload| (column.cell)(workload).0 != NOTHING)
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(fits).filter(says).collect();
    let heading: Vec<(&str, Align)> = columns.iter().map(|column| (column.name, column.align)).collect();
    let row = |workload: &WorkloadResult| columns.iter().map(|column| (column.cell)(workload)).collect();
    render_toned(&heading, &workloads.iter().map(row).collect::<Vec<Vec<Toned>>>(), width)
}

fn plain(text: String) -> Toned {
    (text, Tone::Plain)
}

fn is_measured(workload: &WorkloadResult) -> bool {
    0 < workload.throughput.samples
}

fn pods_per_s(workload: &WorkloadResult) -> String {
    if is_measured(workload) { format::rate(workload.throughput.total) } else { "-".to_owned() }
}

fn normalised(workload: &WorkloadResult) -> String {
    workload.normalised.map_or_else(|| "-".to_owned(), |it| format::rate(it.pods_per_s))
}

fn half_width(workload: &WorkloadResult) -> Toned {
    let tone = if workload.warnings.is_empty() { Tone::Plain } else { Tone::Unsure };
    let text = workload.throughput.relative_half_width().map_or_else(|| "-".to_owned(), format::percent);
    (text, tone)
}

fn since_last(workload: &WorkloadResult) -> Option<&Compared> {
    workload.change.as_ref()?.last.compared()
}

fn since_baseline(workload: &WorkloadResult) -> Option<&Compared> {
    workload.change.as_ref()?.baseline.as_ref()?.compared()
}

/// `+3.1 % better`.
fn change_cell(change: Option<&Compared>) -> Toned {
    let Some(change) = change else { return plain(NOTHING.to_owned()) };
    let tone = match change.verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::Inconclusive => Tone::Unsure,
        Verdict::Unchanged => Tone::Plain,
    };
    (format!("{} {}", format::signed_percent(change.ratio.value), change.verdict.word()), tone)
}

/// `+1.2 % … +5.0 %`.
fn change_interval(change: &Compared) -> String {
    if !change.has_interval() {
        return NOTHING.to_owned();
    }
    let end = |ratio| format::signed_percent(ratio);
    format!("{} … {}", end(change.ratio.low), end(change.ratio.high))
}

fn latency(workload: &WorkloadResult, stage: Stage, pick: fn(&LatencySummary) -> f64) -> String {
    let summary = workload.latency_us.get(&stage);
    summary.map_or_else(|| "-".to_owned(), |summary| format::micros(pick(summary)))
}

fn scheduled(workload: &WorkloadResult) -> String {
    let pods = &workload.pods;
    format!("{}/{}", format::thousands(pods.scheduled), format::thousands(pods.created))
}

fn calls_per_pod(workload: &WorkloadResult) -> String {
    if workload.api_calls_per_pod.is_empty() {
        return "-".to_owned();
    }
    format!("{:.2}", workload.api_calls_per_pod.values().sum::<f64>())
}

fn slo_mark(workload: &WorkloadResult) -> Toned {
    match workload.status {
        RunStatus::Stuck => return ("stuck".to_owned(), Tone::Bad),
        RunStatus::Failed => return ("failed".to_owned(), Tone::Bad),
        RunStatus::Partial | RunStatus::Completed => {}
    }
    if has_measured_nothing(workload) {
        let why = if pending(workload) == 0 { "FAIL: no pods measured" } else { "FAIL: all pods pending" };
        return (why.to_owned(), Tone::Bad);
    }
    match slo::verdict(workload) {
        SloVerdict::NotMeasured => ("not measured".to_owned(), Tone::Unsure),
        SloVerdict::Missed(lines) => (format!("FAIL: {}", lines.join(", ")), Tone::Bad),
        SloVerdict::Met { times_upper } if times_upper < 1.0 => {
            ("pass (within 100-150/s)".to_owned(), Tone::Good)
        }
        SloVerdict::Met { times_upper } => (format!("pass ({} 150/s)", times(times_upper)), Tone::Good),
    }
}

/// Pods of the measured part without a node.
fn pending(workload: &WorkloadResult) -> u64 {
    let Pods { created, scheduled, unschedulable } = workload.pods;
    created.saturating_sub(scheduled).max(unschedulable)
}

/// Never rounded up to a multiple that was not reached.
fn times(multiple: f64) -> String {
    if multiple < 10.0 {
        format!("{:.1}x", (multiple * 10.0).floor() / 10.0)
    } else {
        format!("{:.0}x", multiple.floor())
    }
}

/// What there is to say below the table, a paragraph each.
fn notes(result: &RunResult) -> Vec<String> {
    let mut notes = Vec::new();
    for workload in &result.workloads {
        notes.extend(of_workload(workload));
    }
    notes.extend(result.workloads.iter().filter_map(under_test::text));
    notes.extend(changes(&result.workloads));
    let ignored: BTreeSet<&str> =
        result.workloads.iter().flat_map(|it| &it.gates_without_effect).map(String::as_str).collect();
    if !ignored.is_empty() {
        let names: Vec<&str> = ignored.into_iter().collect();
        notes.push(format!("Feature gates that change nothing here: {}", names.join(", ")));
    }
    if !result.skipped.is_empty() {
        notes.push(skipped(&result.skipped));
    }
    notes
}

/// What changed, in sentences: each workload that got better or worse, what the others were held
/// against, and why some were held against nothing.
fn changes(workloads: &[WorkloadResult]) -> Vec<String> {
    let all = workloads.iter().filter_map(|it| Some((it, it.change.as_ref()?)));
    let all: Vec<(&WorkloadResult, &str, &Change)> = all
        .flat_map(|(workload, changes)| {
            let baseline = changes.baseline.as_ref().map(|change| (workload, "against the baseline", change));
            std::iter::once((workload, "since the last run", &changes.last)).chain(baseline)
        })
        .collect();
    let mut notes = Vec::new();
    for (workload, what, change) in &all {
        if let Some(change) = change.compared()
            && (matches!(change.verdict, Verdict::Better | Verdict::Worse) || change.note.is_some())
        {
            notes.push(format!("{} {what}: {}", workload.name, sentence(change)));
        }
    }
    let mut by_reason: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (workload, what, change) in &all {
        if let Change::NotComparable { why } = change {
            by_reason.entry((what, why)).or_default().push(&workload.name);
        }
    }
    let none = by_reason.into_iter().map(|((what, why), names)| {
        let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(NAMES_MAX);
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("No verdict {what} of {shown}{rest}: {why}")
    });
    notes.extend(none);
    notes
}

/// `worse, -12.3 % (-14.0 % … -10.1 %), 1,000 to 877 pods/s, noise up to ±2.00 %, run of ...`.
fn sentence(change: &Compared) -> String {
    let interval = match change.has_interval() {
        true => format!(" ({})", change_interval(change)),
        false => String::new(),
    };
    let unit = match change.figure {
        ComparedFigure::PodsPerS => "pods/s",
        ComparedFigure::Normalised => "normalised pods/s",
    };
    let note = change.note.as_deref().map(|note| format!("; {note}")).unwrap_or_default();
    let revision = change.against.revision.as_deref().map(|it| it.get(..10).unwrap_or(it));
    format!(
        "{}, {}{interval}, {} to {} {unit}, noise up to ±{:.2} %, run of {} ({}){note}",
        change.verdict.word(),
        format::signed_percent(change.ratio.value),
        format::rate(change.base),
        format::rate(change.head),
        change.fence * 100.0,
        format::minute(&change.against.started_at),
        change.against.label.as_deref().or(revision).unwrap_or("unknown revision"),
    )
}

fn of_workload(workload: &WorkloadResult) -> Vec<String> {
    let name = &workload.name;
    let mut notes = Vec::new();
    if workload.status != RunStatus::Completed {
        notes.push(format!("{name}: {}", workload.message.as_deref().unwrap_or("did not complete")));
    }
    if has_measured_nothing(workload) {
        let collector = workload.collector.as_deref().unwrap_or_default();
        notes.push(match pending(workload) {
            0 => format!(
                "{name}: no pod was created in the measured part {collector:?}; do its namespaces and labels name \
                 those of the pods?"
            ),
            count => {
                let count = format::thousands(count);
                format!("{name}: none of the {count} measured pods was scheduled; there is no throughput")
            }
        });
    }
    notes.extend(workload.warnings.iter().map(|warning| format!("warning: {name}: {warning}")));
    if let Some(threshold) = workload.threshold.as_ref().filter(|threshold| threshold.pass == Some(false)) {
        let actual = threshold.actual.map_or_else(|| "nothing".to_owned(), |actual| format!("{actual:.1}"));
        notes.push(format!("{name}: {actual} misses the threshold {} of its file", threshold.value));
    }
    let did = |it: &ControllerResult| format!("{name}: {}: {}", it.name, format::controller(it));
    notes.extend(workload.controllers.iter().map(did));
    notes
}

/// Names of a reason that are printed; the rest is counted.
const NAMES_MAX: usize = 3;

/// Skipped workloads by reason, most frequent first.
fn skipped(skipped: &[Skipped]) -> String {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Skipped { name, reason } in skipped {
        by_reason.entry(without_op(reason)).or_default().push(name);
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = by_reason.into_iter().collect();
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let mut text = format!("{} workload(s) skipped (`schedlab list` shows each):", skipped.len());
    for (reason, names) in reasons {
        let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(NAMES_MAX);
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        text.push_str(&format!("\n  {} {reason}: {shown}{rest}", names.len()));
    }
    text
}

/// `op 2 (churn): …` and `op 3 (churn): …` are one reason.
fn without_op(reason: &str) -> &str {
    let behind = reason.strip_prefix("op ").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    behind.map_or(reason, str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_never_rounded_up() {
        assert_eq!((times(1.99), times(0.99), times(5801.9)), ("1.9x".into(), "0.9x".into(), "5801x".into()));
    }

    #[test]
    fn skipped_workloads_are_grouped_by_reason() {
        let of = |name: &str, reason: &str| Skipped { name: name.to_owned(), reason: reason.to_owned() };
        let list: Vec<Skipped> = (0..67)
            .map(|at| of(&format!("Dra/{at}"), &format!("op {at} (createResourceClaims): not built")))
            .chain([of("Gang/1", "needs createPodGroups")])
            .collect();
        let text = skipped(&list);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.contains("67 (createResourceClaims): not built: Dra/0, Dra/1, Dra/2 and 64 more"),
            "{text}"
        );
        assert!(text.contains("1 needs createPodGroups: Gang/1"), "{text}");
    }
}
