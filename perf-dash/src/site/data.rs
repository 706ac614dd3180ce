//! The numbers as scripts: `schedlab.put("runs", …)`. Columns, not objects, and no more digits than
//! anybody can see: a thousand runs of a workload are some hundred kilobytes.

use schedlab_workloads::results::{LatencySummary, ResultError, Stage};
use serde_json::{Value, json};

use super::model::{Lab, Line};
use super::{Writer, flame, instructions, parts, scaling};
use crate::history::{Point, Record};

pub(super) fn write(site: &mut Writer<'_>, lab: &Lab<'_>) -> Result<(), ResultError> {
    put(site, "runs", &runs(lab))?;
    put(site, "scaling", &scaling::data(lab))?;
    put(site, "instructions", &instructions::data(lab))?;
    for line in &lab.lines {
        put(site, &format!("w/{}", line.slug), &line_columns(lab, line))?;
    }
    for (at, record) in lab.records.iter().enumerate() {
        put(site, &format!("r/{}", lab.run_file(at)), &run_rows(lab, at))?;
        for (number, profile) in record.profiles.iter().enumerate() {
            if let Some(svg) = &profile.flamegraph_svg {
                let page = flame::page(&profile.workload, svg).into_string();
                site.file(&flame_file(lab, at, number), page.as_bytes())?;
            }
        }
    }
    for (part, file) in lab.parts() {
        put(site, &format!("p/{file}"), &parts::data(lab, part))?;
    }
    Ok(())
}

/// Where the page of a record's flamegraph is written.
pub(super) fn flame_file(lab: &Lab<'_>, at: usize, number: usize) -> String {
    format!("flame/{}-{number}.html", lab.run_file(at))
}

fn put(site: &Writer<'_>, key: &str, value: &Value) -> Result<(), ResultError> {
    site.file(&format!("data/{key}.js"), format!("schedlab.put({:?}, {value});\n", key).as_bytes())
}

/// Four digits are more than any of these numbers is good for.
pub(super) fn short(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(0);
    }
    let digits = 4 - 1 - value.abs().log10().floor() as i32;
    let factor = 10_f64.powi(digits);
    let rounded = (value * factor).round() / factor;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { json!(rounded as i64) } else { json!(rounded) }
}

fn runs(lab: &Lab<'_>) -> Value {
    let run = |(at, record): (usize, &Record)| {
        let machine =
            record.machine.as_ref().map(|machine| format!("{}, {} cores", machine.cpu_model, machine.cores));
        json!({
            "id": lab.run_file(at),
            "rev": record.short_revision(),
            "at": record.started_at,
            "label": record.label,
            "source": record.source.word(),
            "machine": machine,
            "count": record.points.len(),
        })
    };
    lab.records.iter().enumerate().map(run).collect()
}

fn line_columns(lab: &Lab<'_>, line: &Line<'_>) -> Value {
    let column = |of: &dyn Fn(&Point) -> Option<f64>| -> Value {
        line.points.iter().map(|point| of(point.point).map_or(Value::Null, short)).collect()
    };
    let latency = |stage: Stage, pick: fn(&LatencySummary) -> f64| {
        column(&move |point: &Point| point.latency_us.get(&stage).map(pick))
    };
    json!({
        "name": line.name,
        "series": series(lab, line),
        "of": line.points.iter().map(|point| point.series).collect::<Vec<_>>(),
        "run": line.points.iter().map(|point| point.at).collect::<Vec<_>>(),
        "rate": column(&|point| Some(point.pods_per_s())),
        "p50": column(&|point| point.throughput.windows.map(|windows| windows.p50)),
        "p99": column(&|point| point.throughput.windows.map(|windows| windows.p99)),
        "threshold": column(&|point| point.threshold.as_ref().map(|threshold| threshold.value)),
        "e2e50": latency(Stage::EndToEnd, |l| l.p50),
        "e2e90": latency(Stage::EndToEnd, |l| l.p90),
        "e2e99": latency(Stage::EndToEnd, |l| l.p99),
        "cycle": latency(Stage::SchedulingCycle, |l| l.mean),
        "cycle99": latency(Stage::SchedulingCycle, |l| l.p99),
        "node": column(&|point| point.memory.bytes_per_node),
        "pod": column(&|point| point.memory.bytes_per_pod),
        "calls": column(&|point| Some(point.calls_per_pod).filter(|&calls| 0.0 < calls)),
    })
}

/// One a setting, the newest first: how it differs from that, who measured, its fence, and where its
/// level changed (indices of points). A chart joins points of one series only.
fn series(lab: &Lab<'_>, line: &Line<'_>) -> Value {
    let marks = |key: &str| -> Vec<Value> {
        let alerts = lab.alerts_of(line).filter(|alert| alert.series == key);
        let mark = |alert: &crate::alerts::Alert| {
            let at = line.points.iter().position(|point| point.at == alert.at)?;
            let words = format!("{} {}, {}", alert.verdict.word(), alert.change(), alert.state.word());
            Some(json!({ "at": at, "verdict": alert.verdict.word(), "words": words }))
        };
        alerts.filter_map(mark).collect()
    };
    let one = |(number, series): (usize, &crate::history::Series<'_>)| {
        json!({
            "differs": series.differs,
            "source": lab.records[series.newest().0].source.word(),
            "count": series.points.len(),
            "fence": line.fences[number].map(|fence| short(fence.relative)),
            "marks": marks(&series.key.id()),
        })
    };
    line.series.iter().enumerate().map(one).collect()
}

/// One run for the comparison page: `[line, slug, fence, rate, cycle mean, e2e p99, calls, bytes per
/// pod, setting]`; runs are judged only where the setting is the same.
fn run_rows(lab: &Lab<'_>, at: usize) -> Value {
    let mut rows = Vec::new();
    for line in &lab.lines {
        // Points are in the order of records.
        if let Ok(found) = line.points.binary_search_by_key(&at, |point| point.at) {
            let super::model::LinePoint { point, series, .. } = line.points[found];
            let stage = |stage: Stage, pick: fn(&LatencySummary) -> f64| {
                point.latency_us.get(&stage).map_or(Value::Null, |latency| short(pick(latency)))
            };
            rows.push(json!([
                line.name,
                line.slug,
                line.fences[series].map(|fence| short(fence.relative)),
                short(point.pods_per_s()),
                stage(Stage::SchedulingCycle, |l| l.mean),
                stage(Stage::EndToEnd, |l| l.p99),
                short(point.calls_per_pod),
                point.memory.bytes_per_pod.map(short),
                series,
            ]));
        }
    }
    json!(rows)
}
