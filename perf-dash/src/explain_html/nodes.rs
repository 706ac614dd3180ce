//! The nodes: first rows for everybody, all rows as data for the script.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use schedlab_workloads::explain::{NodeReport, NodeSortOrder, Report, View};
use serde_json::{Value, json};

use super::page::count;

/// Rows that stand in the page; the script shows pages of the same length.
const PAGE_ROWS: usize = 100;

fn in_order(report: &Report, feasible: bool) -> Vec<&NodeReport> {
    let view = View { order: NodeSortOrder::Total, ..View::default() };
    view.select(report).into_iter().filter(|node| node.feasible == feasible).collect()
}

pub(super) fn feasible(report: &Report) -> Markup {
    let nodes = in_order(report, true);
    let ranges: Vec<(i64, i64)> = (0..report.scores.len()).map(|at| range(&nodes, at)).collect();
    html! {
        @if !nodes.is_empty() {
            section.nodes #feasible aria-labelledby="feasible-title" {
                h2 #feasible-title { "Feasible nodes" }
                (controls(html! {
                    button.raw type="button" aria-pressed="false" { "Show raw scores" }
                }))
                div.wide.sticky tabindex="0" role="region" aria-label="Feasible nodes with scores by plugin" {
                    table.plain.cells {
                        caption.sr { "Feasible nodes with weighted scores by plugin" }
                        thead {
                            tr {
                                th scope="col" { "Node" }
                                th.number scope="col" aria-sort="descending" { "Total" }
                                @for column in &report.scores {
                                    th.number scope="col" { (title(&column.plugin)) small { "×" (column.weight) } }
                                }
                            }
                        }
                        tbody {
                            @for node in nodes.iter().take(PAGE_ROWS) {
                                tr {
                                    th scope="row" { span.code { (node.name) } (chip(report, node)) }
                                    td.number data-label="Total" { (node.total.unwrap_or_default()) }
                                    @for ((score, range), column) in node.weighted.iter().zip(&ranges).zip(&report.scores) {
                                        td.number.heat style={ "--heat:" (heat(*score, *range)) } data-label={ (column.plugin) " ×" (column.weight) } { (score) }
                                    }
                                }
                            }
                        }
                    }
                }
                (rest(nodes.len()))
            }
        }
    }
}

pub(super) fn rejected(report: &Report) -> Markup {
    let nodes = in_order(report, false);
    let mut plugins: Vec<&str> =
        nodes.iter().filter_map(|node| node.rejections.first()).map(|first| first.plugin.as_str()).collect();
    plugins.sort_unstable();
    plugins.dedup();
    html! {
        @if !nodes.is_empty() {
            section.nodes #rejected aria-labelledby="rejected-title" {
                h2 #rejected-title { "Nodes that are out" }
                (controls(html! {
                    label {
                        "Rejected first by "
                        select.plugin {
                            option value="" { "any plugin" }
                            @for plugin in &plugins { option { (plugin) } }
                        }
                    }
                }))
                div.wide.sticky tabindex="0" role="region" aria-label="Nodes that are out, with reasons" {
                    table.plain.cells {
                        caption.sr { "Rejected nodes with plugins and reasons" }
                        thead {
                            tr {
                                th scope="col" { "Node" }
                                th scope="col" { "Rejected first by" }
                                th scope="col" { "Reason" }
                                th scope="col" { "Eviction may help" }
                                th scope="col" { "Would also be rejected by" }
                            }
                        }
                        tbody {
                            @for node in nodes.iter().take(PAGE_ROWS) { (rejected_row(node)) }
                        }
                    }
                }
                (rest(nodes.len()))
            }
        }
    }
}

fn rejected_row(node: &NodeReport) -> Markup {
    let (first, also) = match node.rejections.split_first() {
        Some((first, also)) => (Some(first), also),
        None => (None, node.rejections.as_slice()),
    };
    html! {
        tr {
            th scope="row" { span.code { (node.name) } }
            td data-label="Rejected first by" { (first.map_or("", |first| &first.plugin)) }
            td.reason.row data-label="Reason" { @if let Some(first) = first { (first.with_details()) } }
            td data-label="Eviction may help" { @if let Some(first) = first { (helps(first.code)) } }
            td.reason.row data-label="Would also be rejected by" {
                @for (at, rejection) in also.iter().enumerate() {
                    @if at > 0 { "; " } (rejection.plugin) ": " (rejection.with_details())
                }
            }
        }
    }
}

fn helps(code: &str) -> &'static str {
    if code == "UnschedulableAndUnresolvable" { "no" } else { "yes" }
}

/// Filter, page buttons: of use only with script, which takes `hidden` off.
fn controls(more: Markup) -> Markup {
    html! {
        div.controls hidden {
            label { span.sr { "Filter by node name" } input.filter type="search" placeholder="Filter nodes" autocomplete="off"; }
            (more)
            span.status role="status" {}
            span.pager {
                button.previous type="button" aria-label="Previous page" { "‹" }
                button.next type="button" aria-label="Next page" { "›" }
            }
        }
    }
}

fn rest(total: usize) -> Markup {
    html! {
        @if total > PAGE_ROWS {
            p.note.rest { "The first " (PAGE_ROWS) " of " (count(total)) ". Script turns the pages." }
        }
    }
}

fn chip(report: &Report, node: &NodeReport) -> Markup {
    let winner = report.winner();
    let chosen = if report.chosen.is_some() { "chosen" } else { "best" };
    html! {
        @if winner.is_some_and(|winner| winner.node == node.name) { " " span.chip.good { (chosen) } }
        @else if winner.is_some_and(|winner| node.total == Some(winner.total)) { " " span.chip { "tied" } }
    }
}

/// A camel-case name that may break between its words.
fn title(name: &str) -> Markup {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut() {
            Some(word)
                if !(letter.is_ascii_uppercase()
                    && word.ends_with(|last: char| last.is_ascii_lowercase())) =>
            {
                word.push(letter)
            }
            _ => words.push(letter.to_string()),
        }
    }
    html! { @for (at, word) in words.iter().enumerate() { @if at > 0 { wbr; } (word) } }
}

fn range(nodes: &[&NodeReport], at: usize) -> (i64, i64) {
    let scores = || nodes.iter().filter_map(|node| node.weighted.get(at).copied());
    (scores().min().unwrap_or(0), scores().max().unwrap_or(0))
}

/// Where a score stands between the lowest and the highest of its column, 0 to 100.
fn heat(score: i64, (low, high): (i64, i64)) -> i64 {
    if high == low { 0 } else { (score - low) * 100 / (high - low) }
}

/// All nodes, each text written once.
pub(super) fn data(report: &Report) -> Markup {
    let mut texts = Texts::default();
    let feasible: Vec<Value> = in_order(report, true)
        .iter()
        .map(|node| json!([node.name, node.total, node.weighted, node.raw]))
        .collect();
    let rejected: Vec<Value> = in_order(report, false)
        .iter()
        .map(|node| {
            let said = |rejection: &schedlab_workloads::explain::RejectionReport, texts: &mut Texts| {
                json!([texts.id(&rejection.plugin), texts.id(&rejection.with_details())])
            };
            let first = node.rejections.first();
            let helps = first.map_or("", |first| helps(first.code));
            let all: Vec<Value> =
                node.rejections.iter().map(|rejection| said(rejection, &mut texts)).collect();
            json!([node.name, helps, all])
        })
        .collect();
    let word = if report.chosen.is_some() { "chosen" } else { "best" };
    let chosen = report.winner().map(|winner| json!([winner.node, winner.total, word]));
    let document = json!({
        "pageRows": PAGE_ROWS,
        "chosen": chosen,
        "feasible": feasible,
        "rejected": rejected,
        "texts": texts.list,
    });
    // A closing tag inside a name would end the element.
    let text = document.to_string().replace('<', "\\u003c");
    html! { script #data type="application/json" { (PreEscaped(text)) } }
}

#[derive(Default)]
struct Texts {
    ids: BTreeMap<String, usize>,
    list: Vec<String>,
}

impl Texts {
    fn id(&mut self, text: &str) -> usize {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        self.ids.insert(text.to_owned(), self.list.len());
        self.list.push(text.to_owned());
        self.list.len() - 1
    }
}
