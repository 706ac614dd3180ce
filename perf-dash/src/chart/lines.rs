//! Line charts: the figure and its data; `chart.js` draws it, in the report and on the site.

use maud::{Markup, html};
use schedlab_workloads::results::{Sample, WorkloadResult, slo};
use serde_json::{Value, json};

use crate::format;

/// Steps a curve has at most: more than one a pixel cannot be seen, and a long run with
/// short windows would make the file large.
const STEPS_MAX: usize = 480;

/// Windows of equal count, merged for drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// End of the last window, since the measured part began.
    pub(crate) t_ms: f64,
    /// Mean rate of the windows.
    pub(crate) mean: f64,
    /// Lowest rate.
    pub(crate) low: f64,
    /// Highest rate.
    pub(crate) high: f64,
}

/// At most `steps_max` steps that together hold every sample.
pub(crate) fn steps(samples: &[Sample], steps_max: usize) -> Vec<Step> {
    let per_step = samples.len().div_ceil(steps_max).max(1);
    samples.chunks(per_step).map(step).collect()
}

fn step(windows: &[Sample]) -> Step {
    let rates = || windows.iter().map(|window| window.pods_per_s);
    Step {
        t_ms: windows.last().map_or(0.0, |window| window.t_ms),
        mean: rates().sum::<f64>() / windows.len() as f64,
        low: rates().fold(f64::INFINITY, f64::min),
        high: rates().fold(0.0, f64::max),
    }
}

/// Throughput over time: one step a window, the headline, and the SLO band where it can be seen.
pub(crate) fn throughput(workload: &WorkloadResult) -> Markup {
    let steps = steps(&workload.samples, STEPS_MAX);
    let start_ms = workload.samples.first().map_or(0.0, |first| first.t_ms - workload.window_ms).max(0.0);
    let total = workload.throughput.total;
    let high = steps.iter().map(|step| step.high).fold(total, f64::max);
    let column =
        |pick: fn(&Step) -> f64| -> Vec<Value> { steps.iter().map(|step| short(pick(step))).collect() };
    let is_merged = steps.iter().any(|step| step.low < step.high);
    let mut windows = json!({
        "name": "windows", "values": column(|step| step.mean), "unit": "rate", "colour": "--s1", "step": true,
    });
    if is_merged {
        windows["low"] = json!(column(|step| step.low));
        windows["high"] = json!(column(|step| step.high));
    }
    let headline = json!({
        "name": "over the measured interval", "values": vec![short(total); steps.len()], "unit": "rate",
        "colour": "--s6", "dash": true,
    });
    let mut spec = json!({
        "x": column(|step| step.t_ms), "xFrom": short(start_ms), "xName": "time since the first creation",
        "xUnit": "ms", "zero": true, "fixed": true, "height": 230, "yName": "pods/s", "series": [windows, headline],
    });
    // A fast workload's scale would make the band a line at zero.
    if high < BAND_RATE_MAX {
        spec["range"] = json!({ "low": slo::PODS_PER_S_MIN, "high": slo::PODS_PER_S_UPPER });
    }
    let note = format!("windows of {}", format::millis(workload.window_ms));
    figure(&Frame { title: "Throughput over time", note: &note, spec: Some(&spec), ..Frame::default() })
}

/// From this rate on the SLO band is too thin to draw.
const BAND_RATE_MAX: f64 = 5_000.0;

/// A number with as many digits as can be seen.
pub(crate) fn short(value: f64) -> Value {
    const DIGITS: i32 = 5;
    if value == 0.0 || !value.is_finite() {
        return json!(0);
    }
    let factor = 10_f64.powi(DIGITS - 1 - value.abs().log10().floor() as i32);
    let rounded = (value * factor).round() / factor;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { json!(rounded as i64) } else { json!(rounded) }
}

/// What stands around a line chart.
#[derive(Default)]
pub(crate) struct Frame<'a> {
    /// By which the site's script finds it.
    pub(crate) id: Option<&'a str>,
    pub(crate) title: &'a str,
    pub(crate) note: &'a str,
    /// The data, when the page carries it.
    pub(crate) spec: Option<&'a Value>,
}

/// A chart that `chart.js` draws into: from its own data, or from what the site's script hands over.
pub(crate) fn figure(frame: &Frame<'_>) -> Markup {
    let Frame { id, title, note, spec } = frame;
    let spec = spec.map(Value::to_string);
    let keys = "Arrow keys move, plus and minus zoom, 0 shows all.";
    html! {
        figure.chart data-chart=[*id] data-spec=[spec] {
            figcaption { h3 { (title) } span.muted { (note) } }
            div.legend data-legend {}
            div.canvas tabindex="0" role="group" aria-label={ (title) ", chart. " (keys) } data-canvas {}
            p.readout aria-live="polite" data-readout { "\u{a0}" }
            details.fold data-table {
                summary { "The same as a table" }
                div.wide.tall tabindex="0" role="region" aria-label={ (title) ", table" } {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_every_sample_and_are_bounded() {
        for count in [0, 1, 479, 480, 481, 5000] {
            let sample = |i| Sample { t_ms: f64::from(i), pods_per_s: f64::from(i % 7) };
            let samples: Vec<Sample> = (0..count).map(sample).collect();
            let steps = steps(&samples, STEPS_MAX);
            assert!(steps.len() <= STEPS_MAX, "{count}");
            let last = |t: Option<f64>| t.unwrap_or(-1.0);
            assert_eq!(
                last(steps.last().map(|step| step.t_ms)),
                last(samples.last().map(|sample| sample.t_ms)),
                "{count}"
            );
            assert!(steps.iter().all(|step| step.low <= step.mean && step.mean <= step.high));
        }
    }
}
