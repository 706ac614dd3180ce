//! What `schedlab gate` and `schedlab bench` share: the flags that say how kernels are measured.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use schedlab_lab::gate::{KernelPlan, KernelSuite, Measure};

use super::compare::FenceArgs;
use crate::host;

/// How to measure kernels.
#[derive(Clone, Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Kernels to measure: short gives a verdict in seconds, full looks at every plugin
    #[arg(long, value_name = "SUITE", value_enum, default_value_t = SuiteMode::Full)]
    suite: SuiteMode,
    /// What to measure
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = MeasureMode::Both)]
    measure: MeasureMode,
    /// Pairs of processes that the wall clock is measured with, before the first look
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1000))]
    sessions: u16,
    /// Looks at most: kernels that one leaves open are measured in twice as many sessions for the next
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=8))]
    looks: u16,
    /// A B B A in each of them, of about a millisecond a turn
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    quartets: u16,
    /// Start no new session or round after so many seconds, once there are enough for a verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 150)]
    pub(super) seconds: u64,
    /// The core that both builds take turns on [default: the one with most idle time]
    #[arg(long, value_name = "N")]
    pub(super) cpu: Option<usize>,
    /// The history of noise: fences are the third quartile plus three interquartile ranges of it
    /// [default: noise.jsonl in --work]
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,
    /// Seed of the order and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Where worktrees, builds and the history of noise are kept between calls
    #[arg(long, value_name = "DIR", default_value = "target/gate")]
    pub(super) work: PathBuf,
    #[command(flatten)]
    pub(super) fence: FenceArgs,
}

/// Which kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SuiteMode {
    /// The hot path in three kernels
    Short,
    /// Every plugin and way to decide
    Full,
}

/// Which halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MeasureMode {
    /// Wall clock and instructions
    Both,
    /// Times only
    WallClock,
    /// Callgrind counts only
    Instructions,
}

impl MeasureArgs {
    /// What the flags mean.
    pub(super) fn plan(&self) -> Result<KernelPlan> {
        Ok(KernelPlan {
            suite: match self.suite {
                SuiteMode::Short => KernelSuite::Short,
                SuiteMode::Full => KernelSuite::Full,
            },
            measure: match self.measure {
                MeasureMode::Both => Measure::Both,
                MeasureMode::WallClock => Measure::WallClock,
                MeasureMode::Instructions => Measure::Instructions,
            },
            sessions: usize::from(self.sessions),
            looks: usize::from(self.looks),
            quartets: usize::from(self.quartets),
            seconds_max: self.seconds,
            noise_file: self.noise.clone().unwrap_or_else(|| self.work.join("noise.jsonl")),
            fence_percent: self.fence.checked()?,
            machine: host::machine(),
            seed: self.seed,
            work: self.work.clone(),
        })
    }
}
