//! Exact instruction counts of kernels over runs: what the gate counts, recorded with a run.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde_json::{Value, json};

use super::frame::{Page, chart, render};
use super::model::{Lab, Line};
use crate::format;

/// Kernels that do the work of a test case, by the beginning of its name: the dearest part of its
/// cycle, counted alone.
const TWINS: [(&str, &str); 4] = [
    ("PlainPods", "plain_cached"),
    ("SchedulingBasic", "plain_cached"),
    ("PreferredNodeAffinity", "preferred_affinity_cached"),
    ("SchedulingPreferredNodeAffinity", "preferred_affinity_cached"),
];

/// The kernel whose counts stand for a workload's, if it was counted.
pub(super) fn twin(lab: &Lab<'_>, line: &Line<'_>) -> Option<String> {
    let case = line.name.split('/').next().unwrap_or(&line.name);
    let (_, mark) = TWINS.iter().find(|(name, _)| *name == case)?;
    kernels(lab).into_keys().find(|kernel| kernel.contains(mark))
}

/// Every kernel that was counted, with its counts by index of the record.
fn kernels(lab: &Lab<'_>) -> BTreeMap<String, Vec<(usize, u64)>> {
    let mut kernels: BTreeMap<String, Vec<(usize, u64)>> = BTreeMap::new();
    for (at, record) in lab.records.iter().enumerate() {
        for (kernel, &count) in &record.instructions {
            kernels.entry(kernel.clone()).or_default().push((at, count));
        }
    }
    kernels
}

pub(super) fn page(lab: &Lab<'_>) -> Markup {
    let kernels = kernels(lab);
    let body = html! {
        h1 { "Instructions" }
        p.ends { "Counted by callgrind, kernel by kernel. The same code gives the same count on any machine, so every change is one of the code." }
        @if kernels.is_empty() {
            p.banner { "No count has been recorded yet. Count with " span.code { "scripts/bench-gate BASE --out DIR" }
                " and record the counts with a run: " span.code { "schedlab record RESULT --instructions DIR/gate.json" } "." }
        } @else {
            (chart("kernels", "Change since the first count", "percent, by kernel"))
            section {
                h2 { "Kernels" }
                div.wide tabindex="0" role="region" aria-label="Kernels" { table.plain.sortable #kernels {
                    thead { tr { th scope="col" { "Kernel" } th.number scope="col" { "instructions" } th.number scope="col" { "before" } th.number scope="col" { "change" } } }
                    tbody { @for (kernel, counts) in &kernels { (row(kernel, counts)) } }
                } }
            }
        }
    };
    let data = vec!["runs.js".to_owned(), "instructions.js".to_owned()];
    render(lab, Page { title: "Instructions", root: "", data, body })
}

fn row(kernel: &str, counts: &[(usize, u64)]) -> Markup {
    let latest = counts[counts.len() - 1].1;
    let before = counts.len().checked_sub(2).map(|at| counts[at].1);
    let change = before.map(|before| (latest as f64 / before.max(1) as f64 - 1.0) * 100.0);
    html! {
        tr {
            th scope="row" { span.code { (kernel) } }
            td.number data-value=(latest) { (format::thousands(latest)) }
            td.number data-value=(before.unwrap_or(0)) { (before.map_or_else(|| "–".to_owned(), format::thousands)) }
            td.number data-value=(change.unwrap_or(0.0)) { (change.map_or_else(|| "–".to_owned(), |change| format!("{change:+.3} %"))) }
        }
    }
}

/// `{ run: [record index], kernels: { name: [count or null] } }`.
pub(super) fn data(lab: &Lab<'_>) -> Value {
    let kernels = kernels(lab);
    let runs: Vec<usize> =
        (0..lab.records.len()).filter(|&at| !lab.records[at].instructions.is_empty()).collect();
    let column = |kernel: &String| -> Vec<Option<u64>> {
        runs.iter().map(|&at| lab.records[at].instructions.get(kernel).copied()).collect()
    };
    let columns: BTreeMap<&String, Vec<Option<u64>>> =
        kernels.keys().map(|kernel| (kernel, column(kernel))).collect();
    json!({ "run": runs, "kernels": columns })
}
