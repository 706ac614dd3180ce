//! How throughput and cycle time change with the size of the cluster.

use std::collections::BTreeMap;

use maud::{Markup, html};
use schedlab_workloads::results::Stage;
use serde_json::{Value, json};

use super::data::short;
use super::frame::{Page, chart, render};
use super::model::{Lab, Line, LinePoint, slug};
use crate::history::{Point, RunKey};

/// Test cases that were measured at two sizes or more: the latest point of each size, by source, all
/// with the settings of the newest one.
fn cases<'a>(lab: &Lab<'a>) -> BTreeMap<String, BTreeMap<&'static str, BTreeMap<u64, &'a Point>>> {
    let keys: Vec<RunKey> = lab.records.iter().map(RunKey::of).collect();
    let mut newest: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let of_line = |line: &Line<'a>| -> Vec<(String, LinePoint<'a>)> {
        let case = line.name.split('/').next().unwrap_or(&line.name);
        line.points.iter().filter(|it| 0 < it.point.nodes).map(|it| (case.to_owned(), *it)).collect()
    };
    let all: Vec<(String, LinePoint<'a>)> = lab.lines.iter().flat_map(of_line).collect();
    for (case, point) in &all {
        let at = newest.entry((case, lab.records[point.at].source.word())).or_default();
        *at = point.at.max(*at);
    }
    let mut cases: BTreeMap<String, BTreeMap<&'static str, BTreeMap<u64, &'a Point>>> = BTreeMap::new();
    for (case, LinePoint { at, point, .. }) in &all {
        let source = lab.records[*at].source.word();
        if keys[*at] == keys[newest[&(case.as_str(), source)]] {
            let sizes = cases.entry(case.clone()).or_default().entry(source).or_default();
            // Points of a line come in time order: the last one of a size stays.
            sizes.insert(point.nodes, point);
        }
    }
    cases.retain(|_, sources| sources.values().any(|sizes| 1 < sizes.len()));
    cases
}

pub(super) fn page(lab: &Lab<'_>) -> Markup {
    let cases = cases(lab);
    let body = html! {
        h1 { "Scaling with the cluster" }
        p.ends { "The latest point of every size a test case was measured at, with the settings of the newest; both axes are logarithmic." }
        @if cases.is_empty() {
            p.banner { "No test case has been recorded at two sizes yet. Run its small and its large workload and record both, as with "
                span.code { "schedlab run --suite quick --labels '' --filter PlainPods" } "." }
        }
        div.grid { @for case in cases.keys() { (chart(&format!("scale-{}", slug(case)), case, "pods/s and mean cycle time by nodes")) } }
    };
    render(lab, Page { title: "Scaling", root: "", data: vec!["scaling.js".to_owned()], body })
}

pub(super) fn data(lab: &Lab<'_>) -> Value {
    let series = |sizes: &BTreeMap<u64, &Point>| {
        let cycle =
            |point: &&Point| point.latency_us.get(&Stage::SchedulingCycle).map(|latency| short(latency.mean));
        json!({
            "nodes": sizes.keys().collect::<Vec<_>>(),
            "rate": sizes.values().map(|point| short(point.pods_per_s())).collect::<Vec<_>>(),
            "cycle": sizes.values().map(cycle).collect::<Vec<_>>(),
        })
    };
    let case = |(name, sources): (String, BTreeMap<&'static str, BTreeMap<u64, &Point>>)| {
        let sources: BTreeMap<&str, Value> =
            sources.iter().map(|(source, sizes)| (*source, series(sizes))).collect();
        json!({ "id": format!("scale-{}", slug(&name)), "name": name, "sources": sources })
    };
    cases(lab).into_iter().map(case).collect()
}
