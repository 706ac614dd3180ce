//! What a scheduled pod costs, by extension point, across workloads.
//!
//! The whole bar is the headline turned round: the measured interval over the pods that were scheduled
//! in it. Its parts are the extension points of the scheduling cycle, the rest of the cycle, and all
//! that is outside (queue, cache, bindings, API). Cycles are timed by the wall clock; where other
//! processes took the processor meanwhile, which the headline leaves out, they are scaled to it.
//! Bind and PreBind wait for others while the scheduler
//! goes on, so they are latencies, not costs, and are no parts.

use maud::{Markup, html};
use schedlab_workloads::results::{Stage, WorkloadResult};

use crate::format;

/// The parts in the order they happen, each with its colour.
const PARTS: [(Stage, &str, &str); 5] = [
    (Stage::PreFilter, "PreFilter", "--s1"),
    (Stage::Filter, "Filter", "--s2"),
    (Stage::PostFilter, "PostFilter", "--s8"),
    (Stage::PreScore, "PreScore", "--s3"),
    (Stage::Score, "Score", "--s4"),
];
const REST_OF_CYCLE: (&str, &str) = ("rest of the cycle", "--s7");
const OUTSIDE: (&str, &str) = ("queue, cache, binding, API", "--s6");

/// Beyond this ratio of dearest to cheapest, bars on one axis would hide the cheap ones.
const ONE_AXIS_MAX: f64 = 12.0;

/// One part of a pod's cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    colour: &'static str,
    pub(crate) us: f64,
}

/// The cost of a scheduled pod by part, in microseconds; empty where no extension point was timed.
pub(crate) fn parts(workload: &WorkloadResult) -> Vec<Part> {
    let scheduled = workload.pods.scheduled as f64;
    let total = workload.throughput.total;
    let mean = |stage: Stage| workload.latency_us.get(&stage).map(|latency| latency.mean);
    let is_timed = PARTS.iter().any(|(stage, ..)| mean(*stage).is_some());
    if !is_timed || scheduled == 0.0 || total <= 0.0 {
        return Vec::new();
    }
    let attempts = workload.attempts.total as f64 / scheduled;
    // Every attempt runs the points of the cycle once; one that failed runs PostFilter, too.
    let times = |stage: Stage| if stage == Stage::PostFilter { (attempts - 1.0).max(0.0) } else { attempts };
    let points = PARTS.iter().filter_map(|&(stage, name, colour)| {
        Some(Part { name, colour, us: mean(stage)? * times(stage) }).filter(|part| part.us > 0.0)
    });
    let mut parts: Vec<Part> = points.collect();
    let timed: f64 = parts.iter().map(|part| part.us).sum();
    let cycle = mean(Stage::SchedulingCycle).unwrap_or(0.0) * attempts;
    let rest = (cycle - timed).max(0.0);
    let whole = 1e6 / total;
    let scale = (whole / (timed + rest)).min(1.0);
    parts.iter_mut().for_each(|part| part.us *= scale);
    let rest = rest * scale;
    let outside = (whole - timed * scale - rest).max(0.0);
    for ((name, colour), us) in [(REST_OF_CYCLE, rest), (OUTSIDE, outside)] {
        if us > 0.0 {
            parts.push(Part { name, colour, us });
        }
    }
    parts
}

fn cost(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.us).sum()
}

/// A bar a workload. `link` names the workload and leads to it.
pub(crate) fn section(workloads: &[WorkloadResult], link: impl Fn(usize) -> Markup) -> Markup {
    let all: Vec<(usize, Vec<Part>)> =
        workloads.iter().map(parts).enumerate().filter(|(_, parts)| !parts.is_empty()).collect();
    let dearest = all.iter().map(|(_, parts)| cost(parts)).fold(0.0, f64::max);
    let cheapest = all.iter().map(|(_, parts)| cost(parts)).fold(f64::INFINITY, f64::min);
    let is_shares = dearest > ONE_AXIS_MAX * cheapest;
    html! {
        @if !all.is_empty() {
            section.stacks aria-labelledby="cost-title" {
                h2 #cost-title { "What a scheduled pod costs" }
                p.note {
                    "Time per pod: the measured interval over the pods scheduled in it. "
                    @if is_shares { "Costs span decades, so each bar is its own whole; the cost stands at the right. " }
                    (key(&all))
                }
                ol.bars {
                    @for (index, parts) in &all {
                        @let whole = if is_shares { cost(parts) } else { dearest };
                        li {
                            (link(*index))
                            (bar(&workloads[*index].name, parts, whole))
                            span.value.num { (format::micros(cost(parts))) }
                        }
                    }
                    li.axis { (axis(dearest, is_shares)) }
                }
            }
        }
    }
}

fn key(all: &[(usize, Vec<Part>)]) -> Markup {
    let points = PARTS.iter().map(|&(_, name, colour)| (name, colour));
    let present =
        |(name, _): &(&str, &str)| all.iter().any(|(_, parts)| parts.iter().any(|part| part.name == *name));
    html! {
        span.stack-key {
            @for (name, colour) in points.chain([REST_OF_CYCLE, OUTSIDE]).filter(present) {
                span style={ "--series:var(" (colour) ")" } { i {} (name) }
            }
        }
    }
}

fn bar(name: &str, parts: &[Part], whole: f64) -> Markup {
    let mut left = 0.0;
    let placed: Vec<(f64, f64, &Part)> = parts
        .iter()
        .map(|part| {
            let (from, width) = (left, part.us / whole * 100.0);
            left += width;
            (from, width, part)
        })
        .collect();
    html! {
        svg.track.stack width="100%" height="22" role="img" aria-label={ "Cost of a pod of " (name) } {
            rect.frame data-plot="" x="0" y="0" width="100%" height="22" {}
            @for (from, width, part) in placed {
                rect.part x=(format!("{from:.2}%")) width=(format!("{width:.2}%")) y="3" height="16"
                    style={ "--series:var(" (part.colour) ")" } {
                    title {
                        (part.name) ": " (format::micros(part.us)) ", "
                        (format::percent(part.us / cost(parts))) " of the pod"
                    }
                }
            }
        }
    }
}

fn axis(dearest: f64, is_shares: bool) -> Markup {
    let name = if is_shares { "share of the cost of a pod" } else { "time per pod" };
    let text = |share: f64| {
        if is_shares { format!("{:.0} %", share * 100.0) } else { format::micros(dearest * share) }
    };
    html! {
        svg.axis width="100%" height="32" aria-hidden="true" {
            @for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
                text.label x=(format!("{:.0}%", share * 100.0)) y="12" text-anchor=(anchor) {
                    @if share == 0.0 { "0" } @else { (text(share)) }
                }
            }
            text.label.axis-name x="100%" y="28" text-anchor="end" { (name) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::workload;
    use schedlab_workloads::results::LatencySummary;

    fn timed(stages: &[(Stage, f64)]) -> WorkloadResult {
        let mut workload = workload("T/W", &[100_000.0]);
        let latency = |mean| LatencySummary { count: 10, mean, ..LatencySummary::default() };
        workload.latency_us = stages.iter().map(|&(stage, mean)| (stage, latency(mean))).collect();
        workload.pods.scheduled = 1000;
        workload.attempts.total = 1000;
        workload
    }

    #[test]
    fn parts_add_up_to_the_time_per_pod_of_the_headline() {
        // 100,000 pods/s are 10 µs a pod.
        let workload = timed(&[(Stage::Filter, 1.0), (Stage::Score, 2.0), (Stage::SchedulingCycle, 4.0)]);
        let parts = parts(&workload);
        let named: Vec<(&str, f64)> = parts.iter().map(|part| (part.name, part.us.round())).collect();
        let expected = [
            ("Filter", 1.0),
            ("Score", 2.0),
            ("rest of the cycle", 1.0),
            ("queue, cache, binding, API", 6.0),
        ];
        assert_eq!(named, expected);
        assert!((cost(&parts) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn cycles_that_waited_for_a_processor_are_scaled_to_the_headline() {
        let parts =
            parts(&timed(&[(Stage::Filter, 5.0), (Stage::Score, 10.0), (Stage::SchedulingCycle, 20.0)]));
        assert!((cost(&parts) - 10.0).abs() < 1e-9, "{parts:?}");
        assert_eq!(parts.iter().map(|part| part.us).collect::<Vec<_>>(), [2.5, 5.0, 2.5]);
    }

    #[test]
    fn post_filter_counts_for_attempts_that_failed() {
        let mut workload = timed(&[(Stage::Filter, 1.0), (Stage::PostFilter, 3.0)]);
        workload.attempts.total = 1500;
        let us = |name: &str| parts(&workload).iter().find(|part| part.name == name).map(|part| part.us);
        assert_eq!(us("PostFilter"), Some(1.5));
        assert_eq!(us("Filter"), Some(1.5));
    }

    #[test]
    fn nothing_is_drawn_of_a_workload_without_times() {
        assert!(parts(&timed(&[])).is_empty());
        assert!(parts(&timed(&[(Stage::Bind, 10.0)])).is_empty());
    }

    #[test]
    fn bars_that_span_decades_are_shares_and_say_so() {
        let cheap = timed(&[(Stage::Filter, 1.0)]);
        let mut dear = timed(&[(Stage::Filter, 1.0)]);
        dear.throughput.total = 1000.0;
        let link = |_: usize| html! { "a name" };
        let one_axis = section(std::slice::from_ref(&cheap), link).into_string();
        assert!(one_axis.contains("time per pod") && !one_axis.contains("span decades"));
        let shares = section(&[cheap, dear], link).into_string();
        assert!(shares.contains("share of the cost of a pod") && shares.contains("span decades"));
    }
}
