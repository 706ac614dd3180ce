//! `schedlab conform`: does any scheduler decide as we do?

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use schedlab_external::{ConformEvent, ConformOptions, ConformReport, Difference, conform as compare};
use schedlab_workloads::files::{self, Durability};

use super::under_test::UnderTestArgs;
use crate::progress::{notice, say};
use crate::{Exit, signals};

/// What to compare.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConformArgs {
    #[command(flatten)]
    under_test: UnderTestArgs,
    /// Seeds of random clusters, from the first to the one before the last
    #[arg(long, value_name = "A..B", default_value = "0..100", value_parser = seeds)]
    seeds: (u64, u64),
    /// Pods that are scheduled one after the other on each cluster
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pods: u64,
    /// How long the scheduler gets to learn of a change before the next pod is created
    #[arg(long, value_name = "TIME", default_value = "60ms", value_parser = crate::args::time)]
    settle: Duration,
    /// How long it may take for a pod, preemption included
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = crate::args::time)]
    decides_within: Duration,
    /// End after so many differences; each is made smaller, which takes up to a minute
    #[arg(long, value_name = "N", default_value_t = 10)]
    differences: usize,
    /// Where the clusters of differences are written, one file each, which `schedlab explain` and kubectl load
    #[arg(long, value_name = "DIR", default_value = "schedlab-conform")]
    out: PathBuf,
}

const EXAMPLES: &str = "Examples:
  schedlab conform --scheduler 'kube-scheduler --config {config}' --seeds 0..1000
  schedlab explain --cluster schedlab-conform/seed-7-pod-3.yaml --pod default/w3

Exit codes: 0 all decisions are the same; 1 some differ; 2 could not run.";

/// Between two lines that say how far it is.
const SEEDS_A_LINE: u64 = 50;

/// `3..7`.
fn seeds(text: &str) -> Result<(u64, u64), String> {
    let range = text.split_once("..").and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    range.filter(|(first, end)| first < end).ok_or_else(|| "must be a range of seeds, as 0..100".to_owned())
}

pub(crate) fn conform(args: &ConformArgs) -> Result<Exit> {
    let under_test = args.under_test.under_test()?;
    let under_test = under_test.context("--scheduler: name the scheduler that is compared with ours")?;
    let options = ConformOptions {
        seeds: args.seeds,
        pods: args.pods,
        settle: args.settle,
        decides_within: args.decides_within,
        differences_max: args.differences.max(1),
    };
    let interrupt = signals::listen();
    let mut told = |event: &ConformEvent<'_>| match event {
        ConformEvent::Seed(report) if report.seeds % SEEDS_A_LINE == 0 => notice(&summary(report)),
        ConformEvent::Seed(_) => {}
        ConformEvent::Found(what) => notice(&format!("{what}; making it smaller")),
    };
    let report = compare(&under_test, options, interrupt, &mut told)?;
    for difference in &report.differences {
        let file = args.out.join(format!("seed-{}-pod-{}.yaml", difference.seed, difference.pod));
        files::write(&file, difference.manifest().as_bytes(), Durability::Rebuildable).context("--out")?;
        say(&text(difference, &file.display().to_string()));
    }
    say(&summary(&report));
    Ok(match (signals::is_interrupted(), report.differences.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Fine,
        (false, false) => Exit::CheckFailed,
    })
}

fn text(difference: &Difference, file: &str) -> String {
    let Difference { seed, pod, what, ours, theirs, .. } = difference;
    format!("seed {seed}, pod {pod}: {what}\n  ours:   {ours}\n  theirs: {theirs}\n  {file}\n")
}

fn summary(report: &ConformReport) -> String {
    let ConformReport { seeds, decisions, outcomes, passing, refused, differences } = report;
    let (placed, preempted, rejected) = outcomes;
    format!(
        "{seeds} seeds, {decisions} decisions ({placed} placed, {preempted} after a rejection, {rejected} rejected), {} \
         differences; {passing} that a second look did not show, {refused} objects refused by the API",
        differences.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range() {
        assert_eq!(seeds("3..7"), Ok((3, 7)));
        for text in ["7..3", "3", "3..", "a..b", "3..3"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }
}
