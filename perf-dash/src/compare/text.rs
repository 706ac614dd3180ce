//! A comparison as Markdown for a pull request.

use std::fmt::Write as _;

use super::{Comparison, Row};
use crate::format;
use crate::markdown::{code, escape};
use crate::stats::{FenceSource, Verdict};

/// Markdown: the verdict, a table of what counts, the rest folded.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "### {}: {}\n", escape(&comparison.title), headline(comparison));
    let _ = writeln!(text, "{} (base) against {} (head)\n", code(&comparison.base), code(&comparison.head));
    for note in &comparison.notes {
        let _ = writeln!(text, "- {}", escape(note));
    }
    if !comparison.notes.is_empty() {
        text.push('\n');
    }
    let changed = |row: &&Row| row.is_judged() && row.verdict != Verdict::Unchanged;
    table(&mut text, comparison.rows.iter().filter(changed));
    let rest: Vec<&Row> = comparison.rows.iter().filter(|row| !changed(row)).collect();
    if !rest.is_empty() {
        let _ = writeln!(
            text,
            "<details><summary>{} more</summary>\n",
            format::counted(rest.len() as u64, "row")
        );
        table(&mut text, rest.into_iter());
        text.push_str("</details>\n");
    }
    if comparison.rows.iter().any(|row| row.is_paired) {
        let _ = writeln!(text, "\n{PAIRED}");
    }
    if !comparison.unmatched.is_empty() {
        let _ = writeln!(text, "\nOn one side only: {}", escape(&comparison.unmatched.join(", ")));
    }
    text
}

/// What stands beside medians that it need not agree with.
pub const PAIRED: &str = "paired: the middle of the ratios of runs that were side by side, head over base; the \
                          medians are each side's own, of all that the machine did meanwhile, and their ratio \
                          may differ from it";

/// `worse: 1 of 12 rows`, in words.
fn headline(comparison: &Comparison) -> String {
    let counting: Vec<&Row> = comparison.rows.iter().filter(|row| row.is_judged()).collect();
    let of = |verdict| counting.iter().filter(|row| row.verdict == verdict).count();
    format!(
        "{} ({} better, {} worse, {} unchanged, {} inconclusive)",
        comparison.verdict.word(),
        of(Verdict::Better),
        of(Verdict::Worse),
        of(Verdict::Unchanged),
        of(Verdict::Inconclusive)
    )
}

fn table<'a>(text: &mut String, rows: impl Iterator<Item = &'a Row>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    text.push_str("| workload | metric | base, median | head, median | change | 95 % interval | fence | n | p | verdict |\n");
    text.push_str("|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for row in rows {
        let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), format::rate);
        let p = row.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.3}"));
        let note = row.note.as_deref().map(|note| format!("; {}", escape(note))).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} ({}) | {} | {} | {} | {} | ±{} | {}/{} | {p} | {}{note} |",
            escape(&row.workload),
            escape(&row.metric.name),
            escape(&row.metric.unit),
            value(row.base),
            value(row.head),
            row.labelled_change(),
            row.change_interval(),
            fence_words(row),
            row.base_samples,
            row.head_samples,
            if row.is_judged() { row.verdict_words() } else { String::new() },
        );
    }
    text.push('\n');
}

fn fence_words(row: &Row) -> String {
    let percent = format!("{:.2} %", row.fence.relative * 100.0);
    match row.fence.source {
        FenceSource::Given => percent,
        FenceSource::History { changes } => format!("{percent} (of {changes})"),
    }
}

/// A row in one sentence.
pub(super) fn sentence(row: &Row) -> String {
    let value = |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), format::rate);
    let note = row.note.as_deref().map(|note| format!("; {note}")).unwrap_or_default();
    format!(
        "{}: {} to {} {} ({}, {}), fence ±{}, n {}/{}{note}",
        row.verdict_words(),
        value(row.base),
        value(row.head),
        row.metric.unit,
        row.labelled_change(),
        row.change_interval(),
        fence_words(row),
        row.base_samples,
        row.head_samples
    )
}
