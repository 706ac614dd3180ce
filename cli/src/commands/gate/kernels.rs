//! What `schedlab gate` and `schedlab bench` share: the kernels of two builds, counted and timed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use regex::Regex;
use schedlab_perf_dash::compare::{Comparison, Row};
use schedlab_perf_dash::gate::{Looks, NoiseKey, settled_by_equal_counts};

use super::noise::{self, KernelFences};
use super::wall_clock::{self, Effort, WallClock};
use super::{counts, cpu};
use crate::commands::compare::FenceArgs;

/// How to measure kernels.
#[derive(Clone, Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Kernels to measure: short gives a verdict in seconds, full looks at every plugin
    #[arg(long, value_name = "SUITE", value_enum, default_value_t = Suite::Full)]
    pub(crate) suite: Suite,
    /// What to measure
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Measure::Both)]
    measure: Measure,
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
    pub(crate) seconds: u64,
    /// The core that both builds take turns on [default: the one with most idle time]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// The history of noise: fences are the third quartile plus three interquartile ranges of it
    /// [default: noise.jsonl in --work]
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,
    /// Seed of the order and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Where worktrees, builds and the history of noise are kept between calls
    #[arg(long, value_name = "DIR", default_value = "target/gate")]
    pub(crate) work: PathBuf,
    #[command(flatten)]
    pub(crate) fence: FenceArgs,
}

/// Which kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// The hot path in three kernels
    Short,
    /// Every plugin and way to decide
    Full,
}

impl Suite {
    pub(super) fn name(self) -> &'static str {
        match self {
            Suite::Short => "short",
            Suite::Full => "full",
        }
    }
}

/// Which halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Wall clock and instructions
    Both,
    /// Times only
    WallClock,
    /// Callgrind counts only
    Instructions,
}

/// Which names.
pub(crate) struct Filter(Option<Regex>);

impl Filter {
    /// Those that match; all without a pattern.
    pub(crate) fn new(pattern: Option<&str>, flag: &'static str) -> Result<Filter> {
        Ok(Filter(pattern.map(Regex::new).transpose().context(flag)?))
    }

    pub(super) fn takes(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(name))
    }
}

/// What the parts of the gate put together.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
    pub(crate) unmatched: Vec<String>,
}

impl Report {
    /// All of it, under a heading.
    pub(crate) fn comparison(self, title: &str, [base, head]: &[String; 2]) -> Comparison {
        let mut comparison = Comparison::new(title, base, head, self.rows);
        comparison.notes = self.notes;
        comparison.unmatched = self.unmatched;
        comparison
    }
}

/// Copies of the binaries under paths of one length: a program's own path lies on its stack, and
/// where the stack lies changes times and even counts.
struct Places {
    home: PathBuf,
    base: PathBuf,
    head: PathBuf,
}

impl Places {
    fn copy(work: &Path, [base, head]: &[PathBuf; 2]) -> Result<Places> {
        let home = std::path::absolute(work.join(format!("run-{:07}", std::process::id())))?;
        let place = |side: &str, binary: &Path| -> Result<PathBuf> {
            let folder = home.join(side);
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("{}: cannot be made", folder.display()))?;
            let file = folder.join("gate-kernels");
            std::fs::copy(binary, &file)
                .with_context(|| format!("{}: cannot be copied", binary.display()))?;
            Ok(file)
        };
        Ok(Places { base: place("base", base)?, head: place("head", head)?, home })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

impl MeasureArgs {
    /// Keeps to one core; what is to be said of it.
    pub(crate) fn stay_on_core(&self) -> Result<String> {
        cpu::stay_on(self.cpu)
    }

    /// Counts and times the kernels of both builds.
    pub(crate) fn judge(&self, kernels: &[PathBuf; 2], filter: &Filter, report: &mut Report) -> Result<()> {
        let places = Places::copy(&self.work, kernels)?;
        if self.measure != Measure::WallClock {
            self.count(&places, filter, report)?;
        }
        if self.measure != Measure::Instructions {
            self.time(&places, filter, report)?;
        }
        Ok(())
    }

    /// Holds one build against itself for one look, and adds what that shows to the history of
    /// noise.
    pub(crate) fn hold_against_itself(
        &self,
        kernels: &Path,
        filter: &Filter,
        seed: u64,
    ) -> Result<(WallClock, KernelFences)> {
        let places = Places::copy(&self.work, &[kernels.to_owned(), kernels.to_owned()])?;
        let mut effort = self.effort(seed);
        effort.looks.count = 1;
        let fences = self.fences()?;
        let measured = wall_clock::measure([&places.base, &places.head], effort, &fences, filter)?;
        // Cut short by --seconds, it is no measurement of so many sessions.
        if measured.session_count() == effort.looks.first {
            noise::remember(&self.noise_file(), &self.noise_key(), &measured)?;
        }
        Ok((measured, self.fences()?))
    }

    /// The history of noise.
    pub(crate) fn noise_file(&self) -> PathBuf {
        self.noise.clone().unwrap_or_else(|| self.work.join("noise.jsonl"))
    }

    fn noise_key(&self) -> NoiseKey {
        noise::key(usize::from(self.sessions), usize::from(self.quartets))
    }

    fn fences(&self) -> Result<KernelFences> {
        KernelFences::read(&self.noise_file(), &self.noise_key(), self.fence.checked()?)
    }

    fn effort(&self, seed: u64) -> Effort {
        Effort {
            suite: self.suite,
            looks: Looks { first: usize::from(self.sessions), count: usize::from(self.looks) },
            quartets: usize::from(self.quartets),
            seconds_max: self.seconds,
            seed,
        }
    }

    fn count(&self, places: &Places, filter: &Filter, report: &mut Report) -> Result<()> {
        let Some(valgrind) = counts::valgrind() else {
            if self.measure == Measure::Instructions {
                bail!(
                    "valgrind is not in PATH, so instructions cannot be counted; `apt-get install valgrind` has it"
                );
            }
            report.notes.push("instructions were not counted: valgrind is not in PATH".to_owned());
            return Ok(());
        };
        let both = (places.base.as_path(), places.head.as_path());
        let counted = counts::count(&valgrind, both, self.suite, filter, &places.home)?;
        let is_same = |row: &&Row| row.base == row.head;
        report.notes.push(format!(
            "instructions: {} of {} counts are equal to the instruction",
            counted.rows.iter().filter(is_same).count(),
            counted.rows.len()
        ));
        report.rows.extend(counted.rows);
        report.unmatched.extend(counted.unmatched);
        Ok(())
    }

    fn time(&self, places: &Places, filter: &Filter, report: &mut Report) -> Result<()> {
        let (effort, fences) = (self.effort(self.seed), self.fences()?);
        let measured = wall_clock::measure([&places.base, &places.head], effort, &fences, filter)?;
        let equal = EqualCounts::of(&report.rows);
        let settle =
            |row: Row| if equal.holds_for(&row.workload) { settled_by_equal_counts(row) } else { row };
        report.rows.extend(measured.rows(&fences).into_iter().map(settle));
        report.notes.extend(measured.score_notes(self.seed));
        report.notes.push(format!(
            "wall clock: up to {} sessions of {} quartets, as many as a row's n says; order from seed {}",
            measured.session_count(),
            self.quartets,
            self.seed
        ));
        report.notes.push(format!(
            "a row has up to {} look(s): the interval of each is of {:.2} %, of all together 95 %",
            self.looks,
            effort.looks.confidence() * 100.0
        ));
        if measured.kernels.iter().any(|kernel| !fences.knows(&kernel.path)) {
            report.notes.push(format!(
                "fences of {} % are a guess: `schedlab gate BASE --calibrate 20` measures this machine's own",
                self.fence.fence
            ));
        }
        report.unmatched.extend(measured.unmatched);
        Ok(())
    }
}

/// Kernels that do as many instructions in both builds, to the instruction.
struct EqualCounts(BTreeMap<String, bool>);

impl EqualCounts {
    fn of(counted: &[Row]) -> EqualCounts {
        EqualCounts(counted.iter().map(|row| (row.workload.clone(), row.base == row.head)).collect())
    }

    /// A kernel that is timed at a size that is not counted goes by all that are.
    fn holds_for(&self, kernel: &str) -> bool {
        let all = || !self.0.is_empty() && self.0.values().all(|is_equal| *is_equal);
        self.0.get(kernel).copied().unwrap_or_else(all)
    }
}

#[cfg(test)]
mod tests {
    use schedlab_perf_dash::compare::Metric;
    use schedlab_perf_dash::stats::Fence;

    use super::*;

    #[test]
    fn a_kernel_goes_by_its_own_count_and_one_that_is_not_counted_by_all() {
        let row = |kernel: &str, head: f64| {
            Row::exact(kernel, Metric::cost("instructions", ""), 100.0, head, Fence::given(0.002))
        };
        let some = EqualCounts::of(&[row("a", 100.0), row("b", 101.0)]);
        assert_eq!(["a", "b", "c"].map(|kernel| some.holds_for(kernel)), [true, false, false]);
        let all = EqualCounts::of(&[row("a", 100.0)]);
        assert!(all.holds_for("c"));
        assert!(!EqualCounts::of(&[]).holds_for("a"), "nothing was counted");
    }
}
