//! How throughput and cycle time change with the size of the cluster.

use std::collections::BTreeMap;

use maud::{Markup, html};
use schedlab_workloads::results::Stage;
use serde_json::{Value, json};

use super::data::short;
use super::frame::{Page, chart, render};
use super::model::{Lab, slug};
use crate::history::{Point, Source};

/// Test cases that were measured at two sizes or more: the latest point of each size, by source.
fn cases<'a>(lab: &Lab<'a>) -> BTreeMap<String, BTreeMap<&'static str, BTreeMap<u64, &'a Point>>> {
    let mut cases: BTreeMap<String, BTreeMap<&'static str, BTreeMap<u64, &'a Point>>> = BTreeMap::new();
    for line in &lab.lines {
        let case = line.name.split('/').next().unwrap_or(&line.name);
        for (at, point) in line.points.iter().filter(|(_, point)| 0 < point.nodes) {
            let source = match lab.records[*at].source {
                Source::Schedlab => "schedlab",
                Source::PerfDash => "kube-scheduler",
            };
            let sizes = cases.entry(case.to_owned()).or_default().entry(source).or_default();
            // Points come in time order: the last one of a size stays.
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
        p.ends { "The latest point of every size a test case was measured at; both axes are logarithmic." }
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
