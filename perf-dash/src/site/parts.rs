//! A page a plugin and a page an extension point: what it costs, over runs and workloads.
//!
//! Extension points are timed in every run; a plugin's share comes from the CPU profiles that were
//! recorded with runs.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use schedlab_workloads::results::Stage;
use serde_json::{Value, json};

use super::data::short;
use super::frame::{Page, chart, render};
use super::model::Lab;
use crate::format;
use crate::history::{Point, Record};

/// What a page is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Timed in every run.
    Point(Stage, &'static str),
    /// Found in profiles.
    Plugin(String),
}

impl Part {
    pub(super) fn name(&self) -> &str {
        match self {
            Part::Point(_, name) => name,
            Part::Plugin(name) => name,
        }
    }

    /// What its files are called after.
    pub(super) fn title(&self) -> String {
        match self {
            Part::Point(_, name) => format!("point {name}"),
            Part::Plugin(name) => format!("plugin {name}"),
        }
    }
}

/// Every part that any record knows.
pub(super) fn parts(records: &[Record]) -> BTreeSet<Part> {
    let mut parts = BTreeSet::new();
    for record in records {
        let stages = record.points.iter().flat_map(|point| point.latency_us.keys());
        parts.extend(stages.filter_map(|&stage| Some(Part::Point(stage, stage.extension_point()?))));
        let shares = record.profiles.iter().flat_map(|profile| &profile.shares);
        let plugins = shares.filter(|share| share.kind == "plugin");
        parts.extend(plugins.map(|share| Part::Plugin(share.name.clone())));
    }
    parts
}

/// Cost of a part in one record, by workload: µs per cycle for a point, ns per pod for a plugin. Only
/// of workloads that ran with their newest settings: costs of others are no part of the same line.
fn costs(lab: &Lab<'_>, at: usize, part: &Part) -> BTreeMap<String, f64> {
    let newest: BTreeSet<&str> = lab
        .lines
        .iter()
        .filter(|line| line.is_newest(at))
        .map(|line| line.newest().newest().1.name.as_str())
        .collect();
    let mut costs = all_costs(lab, at, part);
    costs.retain(|workload, _| newest.contains(workload.as_str()));
    costs
}

fn all_costs(lab: &Lab<'_>, at: usize, part: &Part) -> BTreeMap<String, f64> {
    let record = &lab.records[at];
    match part {
        Part::Point(stage, _) => record
            .points
            .iter()
            .filter_map(|point| Some((point.name.clone(), point.latency_us.get(stage)?.mean)))
            .collect(),
        Part::Plugin(name) => record
            .profiles
            .iter()
            .filter_map(|profile| {
                let share =
                    profile.shares.iter().find(|share| share.kind == "plugin" && &share.name == name)?;
                let of_all = share.total_samples as f64 / profile.samples.max(1) as f64;
                Some((profile.workload.clone(), of_all * profile.seconds * 1e9 / profile.pods.max(1) as f64))
            })
            .collect(),
    }
}

pub(super) fn index_page(lab: &Lab<'_>) -> Markup {
    let (points, plugins): (Vec<_>, Vec<_>) =
        lab.parts().partition(|(part, _)| matches!(part, Part::Point(..)));
    let list = |parts: &[(&Part, &str)]| {
        html! {
            div.wide { table.plain.cells {
                thead { tr { th scope="col" { "Name" } th.number scope="col" { "Cost, latest" } th scope="col" { "Workload where it costs most" } } }
                tbody { @for part in parts { (index_row(lab, *part)) } }
            } }
        }
    };
    let body = html! {
        h1 { "Plugins and extension points" }
        section { h2 { "Extension points" } (list(&points)) }
        section {
            h2 { "Plugins" }
            @if plugins.is_empty() {
                p.banner { "No CPU profile has been recorded yet. Make one with " span.code { "schedlab profile WORKLOAD --out DIR" }
                    " and record it with " span.code { "schedlab record RESULT --profile DIR/profile.json" } "." }
            } @else { (list(&plugins)) }
        }
    };
    render(lab, Page { title: "Plugins", root: "", data: Vec::new(), body })
}

fn index_row(lab: &Lab<'_>, (part, file): (&Part, &str)) -> Markup {
    let latest = (0..lab.records.len()).rev().map(|at| costs(lab, at, part)).find(|costs| !costs.is_empty());
    let dearest = latest.into_iter().flatten().max_by(|one, other| one.1.total_cmp(&other.1));
    html! {
        tr {
            th scope="row" { a href={ "p/" (file) ".html" } { (part.name()) } }
            @if let Some((workload, cost)) = dearest {
                td.number data-label="Cost, latest" { (cost_text(part, cost)) }
                td.row data-label="Workload" { (workload) }
            } @else { td {} td {} }
        }
    }
}

fn cost_text(part: &Part, cost: f64) -> String {
    match part {
        Part::Point(..) => format!("{} a cycle", format::micros(cost)),
        Part::Plugin(_) => format!("{} a pod", format::micros(cost / 1e3)),
    }
}

pub(super) fn page(lab: &Lab<'_>, part: &Part, file: &str) -> Markup {
    let (what, unit) = match part {
        Part::Point(..) => ("Extension point", "mean µs a cycle"),
        Part::Plugin(_) => ("Plugin", "ns a pod, by CPU profile"),
    };
    let mut by_nodes: Vec<(u64, String, f64)> = Vec::new();
    for line in &lab.lines {
        // The latest run that knows it: not every run is profiled.
        let latest = line
            .newest()
            .points
            .iter()
            .rev()
            .find_map(|(at, point)| Some((*point, cost_of(lab, *at, part, point)?)));
        if let Some((point, cost)) = latest {
            by_nodes.push((point.nodes, line.name.clone(), cost));
        }
    }
    by_nodes.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let body = html! {
        h1 { (part.name()) }
        p.ends { (what) "; " (unit) " over runs, for the workloads where it costs most." }
        (chart("part", "Cost over runs", unit))
        @if !by_nodes.is_empty() { section {
            h2 { "By size of the cluster" }
            (chart("part-nodes", "Cost by nodes", "latest point of every size, of test cases that were measured at two or more; both axes logarithmic"))
            div.wide { table.plain.cells.sortable {
                thead { tr { th scope="col" { "Workload" } th.number scope="col" { "Nodes" } th.number scope="col" { "Cost, latest" } } }
                tbody { @for (nodes, name, cost) in &by_nodes {
                    tr { th scope="row" { (name) } td.number data-label="Nodes" data-value=(nodes) { (format::thousands(*nodes)) } td.number data-label="Cost, latest" data-value=(cost) { (cost_text(part, *cost)) } }
                } }
            } }
        } }
    };
    let data = vec!["runs.js".to_owned(), format!("p/{file}.js")];
    render(lab, Page { title: part.name(), root: "../", data, body })
}

/// Series of the workloads where the part costs most.
pub(super) fn data(lab: &Lab<'_>, part: &Part) -> Value {
    const SERIES_MAX: usize = 6;
    let by_run: Vec<BTreeMap<String, f64>> = (0..lab.records.len()).map(|at| costs(lab, at, part)).collect();
    let mut dearest: BTreeMap<&String, f64> = BTreeMap::new();
    for (workload, &cost) in by_run.iter().flatten() {
        let highest = dearest.entry(workload).or_default();
        *highest = highest.max(cost);
    }
    let mut names: Vec<(&String, f64)> = dearest.into_iter().collect();
    names.sort_by(|one, other| other.1.total_cmp(&one.1));
    let runs: Vec<usize> = (0..by_run.len()).filter(|&at| !by_run[at].is_empty()).collect();
    let series: Vec<Value> = names
        .iter()
        .take(SERIES_MAX)
        .map(|(name, _)| {
            let values: Vec<Value> =
                runs.iter().map(|&at| by_run[at].get(*name).map_or(Value::Null, |&c| short(c))).collect();
            json!({ "name": name, "values": values })
        })
        .collect();
    json!({ "run": runs, "series": series, "sizes": sizes(lab, part) })
}

/// The latest cost at each number of nodes, of test cases that were measured at two or more.
fn sizes(lab: &Lab<'_>, part: &Part) -> Vec<Value> {
    const CASES_MAX: usize = 6;
    let mut cases: BTreeMap<String, BTreeMap<u64, f64>> = BTreeMap::new();
    for line in &lab.lines {
        let latest = line
            .newest()
            .points
            .iter()
            .rev()
            .find_map(|(at, point)| Some((point.nodes, cost_of(lab, *at, part, point)?)));
        if let Some((nodes, cost)) = latest.filter(|(nodes, cost)| 0 < *nodes && 0.0 < *cost) {
            let case = line.name.split('/').next().unwrap_or(&line.name);
            cases.entry(case.to_owned()).or_default().insert(nodes, cost);
        }
    }
    let several = cases.into_iter().filter(|(_, sizes)| 1 < sizes.len()).take(CASES_MAX);
    let column = |(name, sizes): (String, BTreeMap<u64, f64>)| {
        let values: Vec<Value> = sizes.values().map(|&cost| short(cost)).collect();
        json!({ "name": name, "nodes": sizes.keys().collect::<Vec<_>>(), "values": values })
    };
    several.map(column).collect()
}

fn cost_of(lab: &Lab<'_>, at: usize, part: &Part, point: &Point) -> Option<f64> {
    match part {
        Part::Point(stage, _) => point.latency_us.get(stage).map(|latency| latency.mean),
        Part::Plugin(_) => all_costs(lab, at, part).get(&point.name).copied(),
    }
}
