//! The numbers as scripts: `schedlab.put("runs", …)`. Columns, not objects, and no more digits than
//! anybody can see: a thousand runs of a workload are some hundred kilobytes.

use schedlab_workloads::results::{LatencySummary, ResultError, Stage};
use serde_json::{Value, json};

use super::model::{Lab, Line};
use super::{Writer, instructions, parts, scaling};
use crate::history::{Point, Record, Source};

pub(super) fn write(site: &mut Writer<'_>, lab: &Lab<'_>) -> Result<(), ResultError> {
    put(site, "runs", &runs(lab))?;
    put(site, "scaling", &scaling::data(lab))?;
    put(site, "instructions", &instructions::data(lab))?;
    for line in &lab.lines {
        put(site, &format!("w/{}", line.slug), &line_columns(lab, line))?;
    }
    for (at, record) in lab.records.iter().enumerate() {
        put(site, &format!("r/{}", record.id), &run_rows(lab, at))?;
        for (number, profile) in record.profiles.iter().enumerate() {
            if let Some(svg) = &profile.flamegraph_svg {
                site.file(&flame_file(record, number), svg.as_bytes())?;
            }
        }
    }
    for part in parts::parts(lab) {
        put(site, &format!("p/{}", part.slug()), &parts::data(lab, &part))?;
    }
    Ok(())
}

/// Where the flamegraph of a record's profile is written.
pub(super) fn flame_file(record: &Record, number: usize) -> String {
    format!("flame/{}-{number}.svg", record.id)
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
    let run = |record: &Record| {
        let machine =
            record.machine.as_ref().map(|machine| format!("{}, {} cores", machine.cpu_model, machine.cores));
        json!({
            "id": record.id,
            "rev": record.short_revision(),
            "at": record.started_at,
            "label": record.label,
            "source": match record.source { Source::Schedlab => "schedlab", Source::PerfDash => "kube-scheduler" },
            "machine": machine,
            "count": record.points.len(),
        })
    };
    lab.records.iter().map(run).collect()
}

fn line_columns(lab: &Lab<'_>, line: &Line<'_>) -> Value {
    let column = |of: &dyn Fn(&Point) -> Option<f64>| -> Value {
        line.points.iter().map(|(_, point)| of(point).map_or(Value::Null, short)).collect()
    };
    let latency = |stage: Stage, pick: fn(&LatencySummary) -> f64| {
        column(&move |point: &Point| point.latency_us.get(&stage).map(pick))
    };
    json!({
        "name": line.name,
        "fence": lab.fence(line).map(|fence| short(fence.relative)),
        "run": line.points.iter().map(|(at, _)| at).collect::<Vec<_>>(),
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

/// One run for the comparison page: `[line, rate, cycle mean, e2e p99, calls, bytes per pod]`.
fn run_rows(lab: &Lab<'_>, at: usize) -> Value {
    let mut rows = Vec::new();
    for line in &lab.lines {
        // Points are in the order of records.
        if let Ok(found) = line.points.binary_search_by_key(&at, |(record, _)| *record) {
            let point = line.points[found].1;
            let stage = |stage: Stage, pick: fn(&LatencySummary) -> f64| {
                point.latency_us.get(&stage).map_or(Value::Null, |latency| short(pick(latency)))
            };
            rows.push(json!([
                line.name,
                line.slug,
                lab.fence(line).map(|fence| short(fence.relative)),
                short(point.pods_per_s()),
                stage(Stage::SchedulingCycle, |l| l.mean),
                stage(Stage::EndToEnd, |l| l.p99),
                short(point.calls_per_pod),
                point.memory.bytes_per_pod.map(short),
            ]));
        }
    }
    json!(rows)
}
