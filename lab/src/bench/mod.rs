//! What `cargo bench` compares a build with, and which builds it keeps.
//!
//! ```text
//! head: the build that is judged
//! base: kernels that were kept, or those of a revision      none: head is timed, and kept
//!                          both, side by side ------------------> a verdict a row
//! ```
//!
//! Times of another day cannot be compared with times of today: the machine was another one then.
//! So what a baseline keeps is the program, not its times, and both programs run interleaved, as
//! the gate runs them.

mod baseline;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use schedlab_perf_dash::compare::Row;
use schedlab_perf_dash::stats::Verdict;

pub use baseline::{Baseline, Baselines, LAST, check_name};

use crate::build::Build;
use crate::gate::{Filter, KernelPlan, KernelReport};
use crate::{LabError, Notice};

/// What to compare with and what to keep.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// Keep head under this name, without comparing it with anything.
    pub save_baseline: Option<String>,
    /// Compare with a build that was kept under this name, or else with this git revision.
    pub baseline: Option<String>,
    /// Not all kernels are measured.
    pub is_filtered: bool,
}

impl BenchPlan {
    /// What to compare with, if anything. A revision is built in `work`.
    pub fn base(
        &self,
        baselines: &Baselines,
        work: &Path,
        (notice, interrupt): (Notice<'_>, &AtomicBool),
    ) -> Result<Option<Baseline>, LabError> {
        let Some(name) = &self.baseline else {
            return if self.save_baseline.is_some() { Ok(None) } else { baselines.read(LAST) };
        };
        if let Some(kept) = baselines.read(name)? {
            return Ok(Some(kept));
        }
        let build = Build::of_revision(name, work)
            .map_err(|source| LabError::NoBaseline { name: name.clone(), source: Box::new(source) })?;
        Ok(Some(Baseline { name: build.name.clone(), kernels: build.kernels(notice, interrupt)? }))
    }

    /// Keeps head, if the plan and the verdict are for it, and says what became of it.
    pub fn keep(
        &self,
        baselines: &Baselines,
        head: &Baseline,
        base: Option<&Baseline>,
        verdict: Verdict,
    ) -> Result<Kept, LabError> {
        let keep = |name: &str| baselines.save(name, &head.name, &head.kernels);
        if let Some(name) = &self.save_baseline {
            keep(name)?;
            return Ok(Kept::As(name.clone()));
        }
        if self.baseline.is_some() {
            return Ok(Kept::LeftAlone);
        }
        let Some(base) = base else {
            keep(LAST)?;
            return Ok(Kept::AsLast);
        };
        match verdict {
            Verdict::Worse => Ok(Kept::NotWorse { base: base.name.clone() }),
            Verdict::Inconclusive => Ok(Kept::NotOpen { base: base.name.clone() }),
            _ if self.is_filtered => Ok(Kept::NotFiltered { base: base.name.clone() }),
            Verdict::Better | Verdict::Unchanged => {
                keep(LAST)?;
                Ok(Kept::AsLast)
            }
        }
    }
}

/// What became of the build that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is kept under a name.
    As(String),
    /// It is what the next call compares with.
    AsLast,
    /// Baselines stay as they are, as was asked for.
    LeftAlone,
    /// A regression is not kept.
    NotWorse {
        /// What the next call compares with.
        base: String,
    },
    /// Nor is a build with open rows.
    NotOpen {
        /// What the next call compares with.
        base: String,
    },
    /// Nor one of which only some kernels were measured.
    NotFiltered {
        /// What the next call compares with.
        base: String,
    },
}

/// Head against base; against itself where there is no other program to hold it against.
pub fn judge(
    plan: &KernelPlan,
    head: &Baseline,
    base: Option<&Baseline>,
    filter: &Filter,
    interrupt: &AtomicBool,
) -> Result<KernelReport, LabError> {
    if let Some(base) = base
        && !baseline::is_same_program(&base.kernels, &head.kernels)?
    {
        let mut report = KernelReport::default();
        plan.judge(&[base.kernels.clone(), head.kernels.clone()], filter, &mut report, interrupt)?;
        return Ok(report);
    }
    held_against_itself(plan, head, filter, (base.is_some(), interrupt))
}

/// The times of a build without another to hold against, or with its own twin. What differs is
/// noise, and is kept as such.
fn held_against_itself(
    plan: &KernelPlan,
    head: &Baseline,
    filter: &Filter,
    (has_base, interrupt): (bool, &AtomicBool),
) -> Result<KernelReport, LabError> {
    let (measured, fences) = plan.hold_against_itself(&head.kernels, filter, plan.seed, interrupt)?;
    let unchanged = |row: Row| Row { verdict: Verdict::Unchanged, more_needed: None, ..row };
    let why = if has_base {
        "base and head are the same program, byte for byte: nothing has changed, and what differs is noise"
    } else {
        "there is nothing to compare with: head ran against itself, and what differs is noise"
    };
    Ok(KernelReport {
        rows: measured.rows(&fences).into_iter().map(unchanged).collect(),
        notes: vec![why.to_owned()],
        is_partial: measured.is_partial,
        unmatched: measured.unmatched,
    })
}
