//! Marks along a track: throughput with its interval, latency by stage, repeats.
//!
//! Places along the width are percentages, heights and text are pixels: a track stretches with the
//! page and its text does not.

use maud::{Markup, html};
use schedlab_workloads::results::{Estimate, LatencySummary, Repeats, Stage, WorkloadResult, slo};

use super::scale::{LogScale, anchor};
use crate::format;

/// Latency of every stage on one logarithmic axis: p50, p90, p99 and the highest value, over
/// the distribution where the result has it.
pub(crate) fn latency(id: &str, workload: &WorkloadResult) -> Markup {
    const ROW: f64 = 38.0;
    let stages = &workload.latency_us;
    let values = stages.values().flat_map(|stage| [stage.p50, stage.max]);
    let scale = LogScale::around(values);
    let bottom = ROW * stages.len() as f64;
    let slowest = stages.iter().max_by(|a, b| a.1.p99.total_cmp(&b.1.p99));
    html! {
        svg.latency width="100%" height=(bottom + 42.0) role="img"
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
            text.label.axis-name x="100%" y=(bottom + 38.0) text-anchor="end" { "time, logarithmic" }
            @for (row, (stage, latency)) in stages.iter().enumerate() {
                (latency_row(ROW * row as f64, *stage, latency, scale))
            }
        }
    }
}

/// One workload's place against the expected band, on the axis all workloads share.
pub(crate) fn slo_track(id: &str, workload: &WorkloadResult, scale: LogScale) -> Markup {
    let rate = workload.throughput.total;
    let at = scale.percent(rate);
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
                (workload.name) ": " (format::rate(rate)) " pods/s"
                @if let Some(interval) = workload.throughput.estimate() {
                    ", 95 % interval " (format::rate(interval.low)) " to " (format::rate(interval.high))
                }
                ", "
                (format::multiple(rate / slo::PODS_PER_S_UPPER)) " the upper SLO bound"
            }
            @for (_, x) in scale.decades() {
                line.grid x1=(percent(x)) x2=(percent(x)) y1="0" y2="22" {}
            }
            rect.band x=(percent(band_low)) width=(percent(band_high - band_low)) y="0" height="22" {}
            rect class={ "bar " (class) } x=(percent(from.min(at))) width=(percent((at - from).abs())) y="6" height="10" {}
            @if let Some(floor) = throughput_floor {
                line.floor x1=(percent(scale.percent(floor.value))) x2=(percent(scale.percent(floor.value)))
                    y1="4" y2="18" {}
            }
            (whisker(workload, scale))
        }
    }
}

/// The interval of the headline; a single run has none, and a ring says so.
fn whisker(workload: &WorkloadResult, scale: LogScale) -> Markup {
    let at = scale.percent(workload.throughput.total);
    html! {
        @match workload.throughput.estimate() {
            Some(Estimate { low, high, .. }) => {
                @let (low, high) = (scale.percent(low), scale.percent(high));
                line.error x1=(percent(low)) x2=(percent(high)) y1="11" y2="11" {}
                @for end in [low, high] { line.error x1=(percent(end)) x2=(percent(end)) y1="5" y2="17" {} }
            },
            None => circle.max cx=(percent(at)) cy="11" r="4" {},
        }
    }
}

/// The axis below the tracks.
pub(crate) fn slo_axis(scale: LogScale) -> Markup {
    html! {
        svg.axis width="100%" height="32" aria-hidden="true" {
            @for (exponent, x) in scale.decades() {
                text.label x=(percent(x)) y="12" text-anchor=(anchor(x)) {
                    (format::short(10_f64.powi(exponent)))
                }
            }
            text.label.axis-name x="100%" y="28" text-anchor="end" { "pods/s, logarithmic" }
        }
    }
}

/// Every run as a dot, with the interval of their median.
pub(crate) fn repeats(id: &str, headline: Estimate, repeats: &Repeats) -> Markup {
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
            line.span x1=(x(latency.p50)) x2=(x(latency.max)) y1=(y) y2=(y) {}
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

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}
