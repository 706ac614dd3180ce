//! What `compare`, `ab` and `gate` share: the table, the files, the exit code.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use schedlab_perf_dash::compare::{Comparison, PAIRED, Row, junit, markdown};
use schedlab_perf_dash::format;
use schedlab_perf_dash::stats::Verdict;
use schedlab_workloads::results::write_atomic;

use super::keep::write_or_keep;
use crate::Exit;
use crate::progress::say;
use crate::table::{Align, Tone, Toned, render_toned, terminal_width, toned};

/// Where a comparison goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write JSON, Markdown (for a pull request) and JUnit XML here: comparison.json, .md and .xml,
    /// or gate.json, .md and .xml
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the comparison as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints and writes comparisons, to files of this name; says how the process ends.
pub(crate) fn present(comparisons: &[Comparison], output: &OutputArgs, name: &str) -> Result<Exit> {
    if output.json {
        say(&to_json(comparisons)?);
    } else {
        comparisons.iter().for_each(print_comparison);
    }
    if let Some(dir) = &output.out {
        if let Some(trouble) = write_or_keep(dir, |dir| write_files(dir, name, comparisons))?.trouble {
            return Err(trouble);
        }
        if !output.json {
            say(&format!("Written: {}/{name}.json, {name}.md, {name}.xml", dir.display()));
        }
    }
    Ok(exit(comparisons))
}

/// One regression decides; without one, one open question does.
pub(crate) fn exit(comparisons: &[Comparison]) -> Exit {
    let has = |verdict| comparisons.iter().any(|comparison| comparison.verdict == verdict);
    if has(Verdict::Worse) {
        Exit::Regression
    } else if has(Verdict::Inconclusive) {
        Exit::Inconclusive
    } else {
        Exit::Fine
    }
}

/// One document for one comparison, a list for several.
fn to_json(comparisons: &[Comparison]) -> Result<String> {
    let text = match comparisons {
        [one] => serde_json::to_string_pretty(one),
        several => serde_json::to_string_pretty(several),
    };
    text.context("could not write the comparison as JSON")
}

fn write_files(dir: &Path, name: &str, comparisons: &[Comparison]) -> Result<()> {
    let all = |text: fn(&Comparison) -> String| comparisons.iter().map(text).collect::<Vec<_>>().join("\n");
    write_atomic(&dir.join(format!("{name}.json")), to_json(comparisons)?.as_bytes())?;
    write_atomic(&dir.join(format!("{name}.md")), all(markdown).as_bytes())?;
    write_atomic(&dir.join(format!("{name}.xml")), junit(comparisons)?.as_bytes())?;
    Ok(())
}

fn print_comparison(comparison: &Comparison) {
    let columns = [
        ("workload", Align::Left),
        ("metric", Align::Left),
        ("base, median", Align::Right),
        ("head, median", Align::Right),
        ("change", Align::Right),
        ("95 % interval", Align::Right),
        ("fence", Align::Right),
        ("n", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ];
    say(&format!("{} (base) against {} (head)\n", comparison.base, comparison.head));
    let rows: Vec<Vec<Toned>> = comparison.rows.iter().map(toned_cells).collect();
    say(&render_toned(&columns, &rows, terminal_width()));
    if let Some(geomean) = comparison.geomean("throughput").filter(|_| 1 < comparison.rows.len()) {
        say(&format!("\ngeometric mean of throughput: {:+.2} %", (geomean - 1.0) * 100.0));
    }
    let mut tests: Vec<&str> = comparison.rows.iter().map(|row| row.test.as_str()).collect();
    tests.sort_unstable();
    tests.dedup();
    say(&format!("\ntest: {}", tests.join("; ")));
    if comparison.rows.iter().any(|row| row.is_paired) {
        say(PAIRED);
    }
    for note in &comparison.notes {
        say(&format!("note: {note}"));
    }
    for row in comparison.rows.iter().filter(|row| row.note.is_some()) {
        say(&format!("{} {}: {}", row.workload, row.metric.name, row.note.as_deref().unwrap_or_default()));
    }
    if !comparison.unmatched.is_empty() {
        say(&format!("not compared: {}", comparison.unmatched.join(", ")));
    }
    let verdict = format!("verdict: {}{}", comparison.verdict.word(), advice(comparison));
    say(&format!("\n{}\n", toned(&verdict, tone_of(comparison.verdict))));
}

/// The cells, the verdict in its colour.
fn toned_cells(row: &Row) -> Vec<Toned> {
    let mut cells: Vec<Toned> = cells(row).into_iter().map(|text| (text, Tone::Plain)).collect();
    if let Some((_, tone)) = cells.last_mut().filter(|_| row.is_judged()) {
        *tone = tone_of(row.verdict);
    }
    cells
}

fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::Inconclusive => Tone::Unsure,
        Verdict::Unchanged => Tone::Plain,
    }
}

fn cells(row: &Row) -> Vec<String> {
    let value =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| quantity(value, &row.metric.unit));
    let verdict = if row.is_judged() { row.verdict_words() } else { String::new() };
    vec![
        row.workload.clone(),
        row.metric.name.clone(),
        value(row.base),
        value(row.head),
        row.labelled_change(),
        row.change_interval(),
        format!("±{:.2} %", row.fence.relative * 100.0),
        format!("{}/{}", row.base_samples, row.head_samples),
        row.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.3}")),
        verdict,
    ]
}

fn quantity(value: f64, unit: &str) -> String {
    if unit == "µs" { format::micros(value) } else { format!("{} {unit}", format::rate(value)) }
}

/// How many more samples would decide, for the workload that needs most.
fn advice(comparison: &Comparison) -> String {
    let open = || {
        let counts = comparison.rows.iter().filter(|row| row.counts());
        counts.filter(|row| row.verdict == Verdict::Inconclusive)
    };
    if comparison.verdict != Verdict::Inconclusive {
        return String::new();
    }
    match open().filter_map(|row| row.more_needed).max() {
        Some(more) => format!("; about {more} more sample(s) a side would decide"),
        None => String::new(),
    }
}
