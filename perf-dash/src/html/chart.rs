//! Inline SVG charts. Places along the width are percentages, heights and text are pixels:
//! a chart stretches with the page and its text does not.
//!
//! A curve cannot be given in percent, so it sits in a nested `svg` with its own stretched
//! coordinates (`0 0 1000 1000`) and a stroke that does not stretch.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use schedlab_workloads::results::{Estimate, LatencySummary, Repeats, Sample, Stage, WorkloadResult, slo};

use super::scale::{LogScale, anchor, linear_ticks};
use crate::format;

/// Steps a curve has at most: more than one a pixel cannot be seen, and a long run with
/// short windows would make the file large.
const STEPS_MAX: usize = 480;

/// Windows of equal count, merged for drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// End of the last window, since the measured part began.
    pub(super) t_ms: f64,
    /// Mean rate of the windows.
    pub(super) mean: f64,
    /// Lowest rate.
    pub(super) low: f64,
    /// Highest rate.
    pub(super) high: f64,
}

/// At most `steps_max` steps that together hold every sample.
pub(super) fn steps(samples: &[Sample], steps_max: usize) -> Vec<Step> {
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
pub(super) fn throughput(id: &str, workload: &WorkloadResult) -> Markup {
    const HEIGHT: f64 = 190.0;
    const TOP: f64 = 22.0;
    let steps = steps(&workload.samples, STEPS_MAX);
    let start_ms = workload.samples.first().map_or(0.0, |first| first.t_ms - workload.window_ms).max(0.0);
    let end_ms = steps.last().map_or(1.0, |last| last.t_ms);
    let high = steps.iter().map(|step| step.high).fold(workload.throughput.total, f64::max);
    // A slow workload is drawn below the band it misses.
    let ticks = linear_ticks(high.max(slo::PODS_PER_S_UPPER), 4);
    let top_rate = ticks.last().copied().unwrap_or(1.0);
    let y = |rate: f64| TOP + HEIGHT * (1.0 - rate / top_rate);
    let total = workload.throughput.total;
    // Below two pixels a band reads as a line at zero.
    let band_visible = 2.0 <= HEIGHT * (slo::PODS_PER_S_UPPER - slo::PODS_PER_S_MIN) / top_rate;
    html! {
        div.plot {
            svg.chart.time width="100%" height=(HEIGHT + TOP + 24.0) role="img" tabindex="0"
                aria-labelledby={ (id) "-t " (id) "-d" } data-points=(points(&steps, start_ms, end_ms)) {
                title id={ (id) "-t" } { "Throughput over time of " (workload.name) }
                desc id={ (id) "-d" } {
                    "Pods per second in windows of " (format::millis(workload.window_ms)) ": over the measured interval "
                    (format::rate(total)) ", highest window "
                    (format::rate(high)) ". The windows are in the table below the chart."
                }
                @if band_visible {
                    rect.band x="0" width="100%" y=(px(y(slo::PODS_PER_S_UPPER)))
                        height=(px(y(slo::PODS_PER_S_MIN) - y(slo::PODS_PER_S_UPPER))) {}
                }
                @for &tick in &ticks {
                    line.grid x1="0" x2="100%" y1=(px(y(tick))) y2=(px(y(tick))) {}
                }
                svg x="0" y=(TOP) width="100%" height=(HEIGHT) viewBox="0 0 1000 1000"
                    preserveAspectRatio="none" overflow="visible" {
                    (curve(&steps, start_ms, end_ms, top_rate))
                }
                @for &tick in ticks.iter().skip(1) {
                    text.label x="0" y=(px(y(tick) - 4.0)) { (format::short(tick)) }
                }
                line.average x1="0" x2="100%" y1=(px(y(total))) y2=(px(y(total))) {}
                @if 14.0 <= y(slo::PODS_PER_S_MIN) - y(slo::PODS_PER_S_UPPER) {
                    text.label x="100%" dx="-6" y=(px(y(slo::PODS_PER_S_UPPER) + 14.0)) text-anchor="end" {
                        "SLO band"
                    }
                }
                (time_axis(start_ms, end_ms, TOP + HEIGHT + 17.0))
                line.cursor y1=(TOP) y2=(TOP + HEIGHT) visibility="hidden" {}
            }
            output.tip hidden {}
        }
        @if !band_visible {
            p.note {
                "The SLO band (100 to 150 pods/s) is too thin to draw at this scale: the throughput is "
                (format::multiple(total / slo::PODS_PER_S_UPPER)) " its upper end."
            }
        }
    }
}

/// Latency of every stage on one logarithmic axis: p50, p90, p99 and the highest value, over
/// the distribution where the result has it.
pub(super) fn latency(id: &str, workload: &WorkloadResult) -> Markup {
    const ROW: f64 = 38.0;
    let stages = &workload.latency_us;
    let values = stages.values().flat_map(|stage| [stage.p50, stage.max]);
    let scale = LogScale::around(values);
    let bottom = ROW * stages.len() as f64;
    let slowest = stages.iter().max_by(|a, b| a.1.p99.total_cmp(&b.1.p99));
    html! {
        svg.chart.latency width="100%" height=(bottom + 26.0) role="img"
            aria-labelledby={ (id) "-t " (id) "-d" } {
            title id={ (id) "-t" } { "Latency by stage of " (workload.name) }
            desc id={ (id) "-d" } {
                "Median, 90th and 99th percentile and maximum of " (stages.len())
                " stages, on a logarithmic axis."
                @if let Some((stage, latency)) = slowest {
                    " The highest 99th percentile is " (stage.title()) ", " (format::micros(latency.p99)) "."
                }
                " The values are in the table below the chart."
            }
            @for (exponent, x) in scale.decades() {
                line.grid x1=(percent(x)) x2=(percent(x)) y1="0" y2=(bottom + 6.0) {}
                // Every third decade is a unit of its own; a phone shows only those.
                text.label.decade[exponent % 3 != 0] x=(percent(x)) y=(bottom + 20.0) text-anchor=(anchor(x)) {
                    (format::decade_micros(exponent))
                }
            }
            @for (row, (stage, latency)) in stages.iter().enumerate() {
                (latency_row(ROW * row as f64, *stage, latency, scale))
            }
        }
    }
}

/// One workload's place against the expected band, on the axis all workloads share.
pub(super) fn slo_track(id: &str, workload: &WorkloadResult, scale: LogScale) -> Markup {
    let rate = workload.throughput.total;
    let (band_low, band_high) = (scale.percent(slo::PODS_PER_S_MIN), scale.percent(slo::PODS_PER_S_UPPER));
    // The bar leads from the nearer edge of the band: its length is the distance to it.
    let from = if rate < slo::PODS_PER_S_UPPER { band_low } else { band_high };
    let class = if rate < slo::PODS_PER_S_MIN { "bad" } else { "good" };
    let throughput_floor = workload
        .threshold
        .as_ref()
        .filter(|threshold| threshold.metric == "SchedulingThroughput" && !threshold.selector.expect_lower);
    html! {
        svg.track width="100%" height="22" role="img" aria-labelledby={ (id) "-t" } {
            title id={ (id) "-t" } {
                (workload.name) ": " (format::rate(rate)) " pods/s, "
                (format::multiple(rate / slo::PODS_PER_S_UPPER)) " the upper SLO bound"
            }
            @for (_, x) in scale.decades() {
                line.grid x1=(percent(x)) x2=(percent(x)) y1="0" y2="22" {}
            }
            rect.band x=(percent(band_low)) width=(percent(band_high - band_low)) y="0" height="22" {}
            line class={ "lead " (class) } x1=(percent(from)) x2=(percent(scale.percent(rate))) y1="11" y2="11" {}
            @if let Some(floor) = throughput_floor {
                line.floor x1=(percent(scale.percent(floor.value))) x2=(percent(scale.percent(floor.value)))
                    y1="4" y2="18" {}
            }
            circle class={ "dot " (class) } cx=(percent(scale.percent(rate))) cy="11" r="5" {}
        }
    }
}

/// The axis below the tracks.
pub(super) fn slo_axis(scale: LogScale) -> Markup {
    html! {
        svg.axis width="100%" height="16" aria-hidden="true" {
            @for (exponent, x) in scale.decades() {
                text.label x=(percent(x)) y="12" text-anchor=(anchor(x)) {
                    (format::short(10_f64.powi(exponent)))
                }
            }
        }
    }
}

/// Every run as a dot, with the interval of their median.
pub(super) fn repeats(id: &str, headline: Estimate, repeats: &Repeats) -> Markup {
    let totals = || repeats.runs.iter().map(|run| run.pods_per_s);
    let Estimate { value: middle, low: interval_low, high: interval_high } = headline;
    let low = totals().fold(interval_low, f64::min);
    let high = totals().fold(interval_high, f64::max);
    let span = if low < high { high - low } else { 1.0 };
    // Four percent on either side keep the dots inside.
    let x = |rate: f64| 4.0 + (rate - low) / span * 92.0;
    html! {
        svg.track.repeats width="100%" height="40" role="img" aria-labelledby={ (id) "-t" } {
            title id={ (id) "-t" } {
                "Throughput of " (repeats.runs.len()) " runs, from "
                (format::rate(low)) " to " (format::rate(high)) " pods/s"
            }
            rect.band x=(percent(x(interval_low))) width=(percent(x(interval_high) - x(interval_low)))
                y="0" height="22" {}
            line.mean x1=(percent(x(middle))) x2=(percent(x(middle))) y1="0" y2="22" {}
            @for total in totals() { circle.dot.run cx=(percent(x(total))) cy="11" r="4" {} }
            text.label x="0" y="37" { (format::rate(low)) }
            text.label x="100%" y="37" text-anchor="end" { (format::rate(high)) " pods/s" }
        }
    }
}

fn latency_row(top: f64, stage: Stage, latency: &LatencySummary, scale: LogScale) -> Markup {
    let y = top + 27.0;
    let x = |us: f64| percent(scale.percent(us));
    html! {
        g {
            title {
                (stage.title()) ": p50 " (format::micros(latency.p50)) ", p90 " (format::micros(latency.p90))
                ", p99 " (format::micros(latency.p99)) ", max " (format::micros(latency.max))
            }
            rect.hit x="0" width="100%" y=(top) height="38" {}
            text.stage x="0" y=(top + 14.0) { (stage.title()) }
            text.label x="100%" y=(top + 14.0) text-anchor="end" {
                (format::micros(latency.p50)) " / " (format::micros(latency.p99))
            }
            (distribution(y, latency, scale))
            line.whisker x1=(x(latency.p50)) x2=(x(latency.max)) y1=(y) y2=(y) {}
            line.p90 x1=(x(latency.p90)) x2=(x(latency.p90)) y1=(y - 5.0) y2=(y + 5.0) {}
            rect.p99 x=(x(latency.p99)) y=(y - 4.0) width="8" height="8" {}
            circle.max cx=(x(latency.max)) cy=(y) r="3.5" {}
            circle.p50 cx=(x(latency.p50)) cy=(y) r="4.5" {}
        }
    }
}

/// The histogram as a strip: the fuller a bucket, the darker. The root keeps rare ones visible.
fn distribution(y: f64, latency: &LatencySummary, scale: LogScale) -> Markup {
    // A bucket after a gap begins no further back than one step of the histogram.
    const WIDEST: f64 = 1.26;
    let fullest = latency.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let lows = std::iter::once(0.0).chain(latency.buckets.iter().map(|bucket| bucket.le_us));
    html! {
        @for (low_us, bucket) in lows.zip(&latency.buckets) {
            @let left = scale.percent(low_us.max(bucket.le_us / WIDEST));
            @let share = (bucket.count as f64 / fullest as f64).sqrt();
            rect.cell x=(percent(left)) width=(percent(scale.percent(bucket.le_us) - left))
                y=(y - 6.0) height="12" opacity=(format!("{:.2}", share * 0.45)) {}
        }
    }
}

/// Line, area and the range of merged windows, in the nested coordinates.
fn curve(steps: &[Step], start_ms: f64, end_ms: f64, top_rate: f64) -> Markup {
    let span = (end_ms - start_ms).max(f64::MIN_POSITIVE);
    let x = |t_ms: f64| (t_ms - start_ms) / span * 1000.0;
    let y = |rate: f64| 1000.0 - rate / top_rate * 1000.0;
    let line = |pick: fn(&Step) -> f64| {
        let mut path = String::new();
        let mut left = 0.0;
        for step in steps {
            let (right, height) = (x(step.t_ms), y(pick(step)));
            let command = if path.is_empty() { 'M' } else { 'L' };
            write!(path, "{command}{left:.1} {height:.1}H{right:.1}").expect("a String takes all");
            left = right;
        }
        path
    };
    let mean = line(|step| step.mean);
    let is_merged = steps.iter().any(|step| step.low < step.high);
    html! {
        @if !steps.is_empty() {
            path.area d={ (PreEscaped(&mean)) "V1000H0Z" } {}
            @if is_merged {
                path.range d=(PreEscaped(line(|step| step.high))) vector-effect="non-scaling-stroke" {}
                path.range d=(PreEscaped(line(|step| step.low))) vector-effect="non-scaling-stroke" {}
            }
            path.line d=(PreEscaped(&mean)) vector-effect="non-scaling-stroke" {}
        }
    }
}

fn time_axis(start_ms: f64, end_ms: f64, y: f64) -> Markup {
    let span_ms = (end_ms - start_ms).max(f64::MIN_POSITIVE);
    let ticks = linear_ticks(end_ms, 4);
    let inside = ticks.into_iter().filter(|tick| start_ms <= *tick && *tick <= end_ms);
    html! {
        @for tick in inside {
            @let x = (tick - start_ms) / span_ms * 100.0;
            text.label x=(percent(x)) y=(px(y)) text-anchor=(anchor(x)) { (format::tick_millis(tick)) }
        }
    }
}

/// What the script shows on hover: where a step ends in percent, its time, its rates.
fn points(steps: &[Step], start_ms: f64, end_ms: f64) -> String {
    let span = (end_ms - start_ms).max(f64::MIN_POSITIVE);
    let point = |step: &Step| {
        let x = (step.t_ms - start_ms) / span * 100.0;
        let rates = match step.low < step.high {
            true => format!(
                "{} pods/s ({} to {})",
                format::rate(step.mean),
                format::rate(step.low),
                format::rate(step.high)
            ),
            false => format!("{} pods/s", format::rate(step.mean)),
        };
        format!("{x:.2}|{}|{rates}", format::millis(step.t_ms))
    };
    steps.iter().map(point).collect::<Vec<_>>().join(";")
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

fn px(value: f64) -> String {
    format!("{value:.1}")
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
