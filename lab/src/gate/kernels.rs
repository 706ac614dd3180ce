//! The kernels of two builds, counted and timed: for the gate and for `cargo bench`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use regex::Regex;
use schedlab_perf_dash::compare::{Comparison, Row};
use schedlab_perf_dash::gate::{Looks, NoiseKey, settled_by_equal_counts};
use schedlab_workloads::results::Machine;

use super::counts;
use super::noise::{self, KernelFences};
use super::wall_clock::{self, Effort, WallClock};
use crate::error::file;
use crate::{LabError, Notice};

/// How to measure kernels.
#[derive(Clone, Debug)]
pub struct KernelPlan {
    /// Kernels to measure.
    pub suite: KernelSuite,
    /// What to measure.
    pub measure: Measure,
    /// Pairs of processes that the wall clock is measured with, before the first look.
    pub sessions: usize,
    /// Looks at most: kernels that one leaves open are measured in twice as many sessions for the next.
    pub looks: usize,
    /// A B B A in each session, of about a millisecond a turn.
    pub quartets: usize,
    /// Start no new session after so many seconds, once there are enough for a verdict.
    pub seconds_max: u64,
    /// The history of noise, which fences are taken from.
    pub noise_file: PathBuf,
    /// Percent up to which a difference is noise, where the history says nothing.
    pub fence_percent: f64,
    /// What this machine's measurements can be compared with.
    pub machine: Machine,
    /// Seed of the order and of the bootstrap.
    pub seed: u64,
    /// Where binaries are copied to.
    pub work: PathBuf,
}

/// Which kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSuite {
    /// The hot path in three kernels.
    Short,
    /// Every plugin and way to decide.
    Full,
}

impl KernelSuite {
    pub(super) fn name(self) -> &'static str {
        match self {
            KernelSuite::Short => "short",
            KernelSuite::Full => "full",
        }
    }
}

/// Which halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Wall clock and instructions.
    Both,
    /// Times only.
    WallClock,
    /// Callgrind counts only.
    Instructions,
}

/// Which names.
#[derive(Clone, Debug)]
pub struct Filter(Option<Regex>);

impl Filter {
    /// Those that match; all without a pattern.
    pub fn new(pattern: Option<&str>) -> Result<Filter, regex::Error> {
        Ok(Filter(pattern.map(Regex::new).transpose()?))
    }

    pub(super) fn takes(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(name))
    }
}

/// What the parts of the gate put together.
#[derive(Debug, Default)]
pub struct KernelReport {
    /// A row for everything that was compared.
    pub rows: Vec<Row>,
    /// How it was measured.
    pub notes: Vec<String>,
    /// What only one of the builds has.
    pub unmatched: Vec<String>,
    /// It was interrupted.
    pub is_partial: bool,
}

impl KernelReport {
    /// All of it, under a heading. One that was interrupted before it had a row is nothing to show.
    pub fn comparison(self, title: &str, [base, head]: &[String; 2]) -> Result<Comparison, LabError> {
        if self.is_partial && self.rows.is_empty() {
            return Err(LabError::Interrupted);
        }
        let mut comparison = Comparison::new(title, base, head, self.rows);
        comparison.notes = self.notes;
        comparison.unmatched = self.unmatched;
        Ok(if self.is_partial { comparison.cut_short() } else { comparison })
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
    fn copy(work: &Path, [base, head]: &[PathBuf; 2]) -> Result<Places, LabError> {
        let home = std::path::absolute(work.join(format!("run-{:07}", std::process::id())))?;
        let place = |side: &str, binary: &Path| -> Result<PathBuf, LabError> {
            let folder = home.join(side);
            std::fs::create_dir_all(&folder).map_err(file(&folder, "cannot be made"))?;
            let copy = folder.join("gate-kernels");
            std::fs::copy(binary, &copy).map_err(file(binary, "cannot be copied"))?;
            Ok(copy)
        };
        Ok(Places { base: place("base", base)?, head: place("head", head)?, home })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// What is noise for a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// The kernel's name.
    pub kernel: String,
    /// Its fence, as a share.
    pub fence: f64,
    /// The fence is from the kernel's own history, which is long enough.
    pub is_known: bool,
}

impl KernelPlan {
    /// Counts and times the kernels of both builds. An interrupt keeps what was measured.
    pub fn judge(
        &self,
        kernels: &[PathBuf; 2],
        filter: &Filter,
        report: &mut KernelReport,
        interrupt: &AtomicBool,
    ) -> Result<(), LabError> {
        let places = Places::copy(&self.work, kernels)?;
        if self.measure != Measure::WallClock {
            self.count(&places, filter, report, interrupt)?;
        }
        if self.measure != Measure::Instructions && !report.is_partial {
            match self.time(&places, filter, report, interrupt) {
                Err(LabError::Interrupted) => report.is_partial = true,
                timed => timed?,
            }
        }
        Ok(())
    }

    /// Holds one build against itself for one look, and adds what that shows to the history of
    /// noise.
    pub fn hold_against_itself(
        &self,
        kernels: &Path,
        filter: &Filter,
        seed: u64,
        interrupt: &AtomicBool,
    ) -> Result<(WallClock, KernelFences), LabError> {
        let places = Places::copy(&self.work, &[kernels.to_owned(), kernels.to_owned()])?;
        let mut effort = self.effort(seed, interrupt);
        effort.looks.count = 1;
        let fences = self.fences()?;
        let measured = wall_clock::measure([&places.base, &places.head], effort, &fences, filter)?;
        // Cut short by --seconds or an interrupt, it is no measurement of so many sessions.
        if measured.session_count() == effort.looks.first {
            noise::remember(&self.noise_file, &self.noise_key(), &measured)?;
        }
        Ok((measured, self.fences()?))
    }

    /// Holds a build against itself so often, and says what is noise then. Nothing, if never, or if it was
    /// interrupted: what was done until then is in the history of noise.
    pub fn calibrate(
        &self,
        kernels: &Path,
        filter: &Filter,
        count: u32,
        (notice, interrupt): (Notice<'_>, &AtomicBool),
    ) -> Result<Vec<Calibrated>, LabError> {
        let mut last = None;
        for at in 0..count {
            let seed = self.seed.wrapping_add(u64::from(at));
            let held = self.hold_against_itself(kernels, filter, seed, interrupt)?;
            if held.0.is_partial {
                let file = self.noise_file.display();
                notice(&format!("PARTIAL: {at} of {count} calibrations are kept in {file}"));
                return Ok(Vec::new());
            }
            last = Some(held);
            notice(&format!("calibration {} of {count}", at + 1));
        }
        let Some((measured, fences)) = last else { return Ok(Vec::new()) };
        let calibrated = |path: &String| Calibrated {
            kernel: path.clone(),
            fence: fences.of(path).relative,
            is_known: fences.knows(path),
        };
        Ok(measured.kernels.iter().map(|kernel| calibrated(&kernel.path)).collect())
    }

    fn noise_key(&self) -> NoiseKey {
        noise::key(&self.machine, self.sessions, self.quartets)
    }

    fn fences(&self) -> Result<KernelFences, LabError> {
        KernelFences::read(&self.noise_file, &self.noise_key(), self.fence_percent)
    }

    fn effort<'a>(&self, seed: u64, interrupt: &'a AtomicBool) -> Effort<'a> {
        Effort {
            suite: self.suite,
            looks: Looks { first: self.sessions, count: self.looks },
            quartets: self.quartets,
            seconds_max: self.seconds_max,
            seed,
            interrupt,
        }
    }

    fn count(
        &self,
        places: &Places,
        filter: &Filter,
        report: &mut KernelReport,
        interrupt: &AtomicBool,
    ) -> Result<(), LabError> {
        let Some(valgrind) = counts::valgrind() else {
            if self.measure == Measure::Instructions {
                return Err(LabError::NoValgrind);
            }
            report.notes.push("instructions were not counted: valgrind is not in PATH".to_owned());
            return Ok(());
        };
        let both = (places.base.as_path(), places.head.as_path());
        let counted = counts::count(&valgrind, both, self.suite, filter, (&places.home, interrupt))?;
        let is_same = |row: &&Row| row.base == row.head;
        report.notes.push(format!(
            "instructions: {} of {} counts are equal to the instruction",
            counted.rows.iter().filter(is_same).count(),
            counted.rows.len()
        ));
        report.rows.extend(counted.rows);
        report.unmatched.extend(counted.unmatched);
        report.is_partial |= counted.is_partial;
        Ok(())
    }

    fn time(
        &self,
        places: &Places,
        filter: &Filter,
        report: &mut KernelReport,
        interrupt: &AtomicBool,
    ) -> Result<(), LabError> {
        let (effort, fences) = (self.effort(self.seed, interrupt), self.fences()?);
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
                self.fence_percent
            ));
        }
        report.unmatched.extend(measured.unmatched);
        report.is_partial |= measured.is_partial;
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
    use schedlab_perf_dash::compare::ComparedMetric;
    use schedlab_perf_dash::stats::Fence;

    use super::*;

    #[test]
    fn kernel_is_judged_by_its_own_instruction_count_or_by_all_when_uncounted() {
        let row = |kernel: &str, head: f64| {
            Row::exact(kernel, ComparedMetric::cost("instructions", ""), 100.0, head, Fence::given(0.002))
        };
        let some = EqualCounts::of(&[row("a", 100.0), row("b", 101.0)]);
        assert_eq!(["a", "b", "c"].map(|kernel| some.holds_for(kernel)), [true, false, false]);
        let all = EqualCounts::of(&[row("a", 100.0)]);
        assert!(all.holds_for("c"));
        assert!(!EqualCounts::of(&[]).holds_for("a"), "nothing was counted");
    }
}
