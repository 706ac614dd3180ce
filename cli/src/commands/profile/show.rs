//! What a profile prints.

use std::path::Path;

use schedlab_lab::alloc;
use schedlab_lab::profile::{Allocations, Counted};
use schedlab_perf_dash::format;
use schedlab_perf_dash::history::{ProfileSummary, Share};
use schedlab_perf_dash::profile::{KINDS, samples_missing, share_error_points};

use crate::progress::say;
use crate::table::{Align, render};

/// Call sites listed; the file has all of them.
const SITES_SHOWN: usize = 12;

/// Self and total time by extension point, plugin and part of the engine.
pub(super) fn cpu(summary: &ProfileSummary, frequency: i32) {
    let columns =
        [("", Align::Left), ("self", Align::Right), ("total", Align::Right), ("total/pod", Align::Right)];
    let percent = |samples: u64| format!("{:.1} %", samples as f64 / summary.samples as f64 * 100.0);
    // Of the measured time, by share of samples: SIGPROF counts CPU time, of all threads together.
    let per_pod = |share: &Share| {
        let of_all = share.total_samples as f64 / summary.samples as f64;
        format::micros(of_all * summary.seconds * 1e6 / summary.pods.max(1) as f64)
    };
    say(&format!(
        "{}: {} samples in {:.1} s of measured time, {} pods",
        summary.workload,
        format::thousands(summary.samples),
        summary.seconds,
        format::thousands(summary.pods)
    ));
    say(&format!(
        "a share may be off by ±{:.1} percentage points (95 %, at a share of one half; less elsewhere)",
        share_error_points(summary.samples)
    ));
    if let Some(advice) = too_few(summary, frequency) {
        say(&advice);
    }
    for kind in KINDS {
        let of_kind: Vec<&Share> = summary.shares.iter().filter(|share| share.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let row = |share: &&Share| {
            vec![
                share.name.clone(),
                percent(share.self_samples),
                percent(share.total_samples),
                per_pod(share),
            ]
        };
        let mut columns = columns;
        columns[0].0 = kind;
        say(&format!("\n{}", render(&columns, &of_kind.iter().map(row).collect::<Vec<_>>())));
    }
}

/// Said at the end of a profile that a signal cut short.
pub(super) fn partial() {
    say("\nPARTIAL: the profile was interrupted; it covers what was sampled until then.");
}

/// A warning with what to do, when there are too few samples to carry shares.
fn too_few(summary: &ProfileSummary, frequency: i32) -> Option<String> {
    let times = samples_missing(summary.samples)?;
    let per_second = summary.samples as f64 / summary.seconds.max(1e-3);
    // The kernel's own tick is the limit, whatever was asked for.
    let asked_for_more_than_there_is = per_second < 0.7 * f64::from(frequency);
    let or_frequency = if asked_for_more_than_there_is {
        format!(
            " (a higher --frequency gives no more: this system gave {per_second:.0} a second of {frequency})"
        )
    } else {
        format!(", or --frequency {:.0}", (f64::from(frequency) * times).ceil())
    };
    Some(format!(
        "warning: {} samples are too few to compare shares; --seconds {:.0} would be enough{or_frequency}",
        format::thousands(summary.samples),
        (summary.seconds * times).ceil()
    ))
}

/// Who allocates.
pub(super) fn allocations(found: &Allocations, pods: u64) {
    let per_pod = |amount: u64| format!("{:.2}", amount as f64 / pods.max(1) as f64);
    say(&format!(
        "\n{} allocations of {} bytes in one run of the measured part, {} and {} bytes a pod",
        format::thousands(found.all.count),
        format::thousands(found.all.bytes),
        per_pod(found.all.count),
        per_pod(found.all.bytes)
    ));
    if alloc::ALL_UP_TO < found.all.count {
        say(&format!(
            "(exact up to {}, then one in {} was looked at)",
            format::thousands(alloc::ALL_UP_TO),
            alloc::THEN_ONE_OF
        ));
    }
    let columns = [
        ("bytes", Align::Right),
        ("count", Align::Right),
        ("count/pod", Align::Right),
        ("allocated by", Align::Left),
    ];
    let rows: Vec<Vec<String>> = found
        .sites
        .iter()
        .take(SITES_SHOWN)
        .map(|site| {
            vec![
                format::thousands(site.bytes),
                format::thousands(site.count),
                per_pod(site.count),
                site.site.clone(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say(&render(&columns, &rows));
    }
    let more = found.sites.len().saturating_sub(SITES_SHOWN);
    if 0 < more {
        say(&format!("{more} more in allocations.json"));
    }
}

/// What the machine counted, per pod too, and what could not be counted.
pub(super) fn counters(counted: &Counted, pods: u64) {
    let columns = [("counter", Align::Left), ("total", Align::Right), ("per pod", Align::Right)];
    let row = |(name, count): &(&str, u64)| {
        vec![(*name).to_owned(), format::thousands(*count), format::rate(*count as f64 / pods.max(1) as f64)]
    };
    let rows: Vec<Vec<String>> = counted.counts.iter().map(row).collect();
    let mut text = if rows.is_empty() { String::new() } else { render(&columns, &rows) };
    for (why, names) in &counted.refused {
        text.push_str(&format!("\nNot counted: {} ({why})", names.join(", ")));
    }
    say(&format!("\n{text}"));
}

/// Where everything is.
pub(super) fn files(out: &Path, has_allocations: bool) {
    let allocations = if has_allocations { ", allocations.svg, allocations.json" } else { "" };
    say(&format!(
        "\nWritten to {}: flamegraph.svg, profile.pb (go tool pprof, speedscope), stacks.folded (schedlab profile --diff), profile.json (schedlab record --profile){allocations}",
        out.display()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(samples: u64, seconds: f64) -> ProfileSummary {
        ProfileSummary {
            partial: false,
            workload: "T/W".to_owned(),
            samples,
            pods: 1,
            seconds,
            shares: Vec::new(),
            flamegraph_svg: None,
            allocations: Vec::new(),
        }
    }

    #[test]
    fn few_samples_warning_gives_the_needed_duration() {
        assert_eq!(
            too_few(&summary(178, 2.0), 997).as_deref(),
            Some(
                "warning: 178 samples are too few to compare shares; --seconds 5 would be enough (a higher \
                 --frequency gives no more: this system gave 89 a second of 997)"
            )
        );
        assert_eq!(
            too_few(&summary(178, 2.0), 90).as_deref(),
            Some(
                "warning: 178 samples are too few to compare shares; --seconds 5 would be enough, or --frequency 195"
            )
        );
        assert_eq!(too_few(&summary(424, 2.0), 997), None);
    }
}
