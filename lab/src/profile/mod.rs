//! Where the time of a workload's measured part goes, and who allocates in it.

mod allocations;
mod counters;
mod diff;
mod draw;
mod sampler;
mod span;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pprof::Report;
use pprof::protos::Message as _;
use schedlab_perf_dash::folded::{self, Stacks};
use schedlab_perf_dash::history::ProfileSummary;
use schedlab_perf_dash::profile::{frame_name, shares};
use schedlab_workloads::executor::{ConfigFile, Control, Ending, NoProfiler};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::ResolvedWorkload;
use schedlab_workloads::results::write_atomic;

pub use allocations::Allocations;
pub use counters::Counted;
pub use diff::{ProfileDiff, diff};
pub use span::{SPAN_FREQUENCY, SpanProfiler};

use crate::run::RunPlan;
use crate::{LabError, Notice, alloc};
use counters::Counters;
use draw::Drawing;
use sampler::{Look, Sampler};

/// How to profile.
#[derive(Clone, Debug)]
pub struct ProfilePlan {
    /// How the workload runs.
    pub run: RunPlan,
    /// Samples a second of CPU time.
    pub frequency: i32,
    /// Run the workload again until its measured part has been sampled for so long.
    pub sampled_min: Duration,
    /// Also read the machine's counters, where it offers them.
    pub with_counters: bool,
    /// Also count allocations by call site, in a run of their own.
    pub with_allocations: bool,
}

/// What a profile found.
#[derive(Debug)]
pub struct ProfileResult {
    /// Shares by extension point, plugin and part of the engine.
    pub summary: ProfileSummary,
    /// Who allocates, and the pods of the run in which that was counted.
    pub allocations: Option<(Allocations, u64)>,
    /// What the machine counted.
    pub counted: Option<Counted>,
    stacks: Stacks,
    protobuf: Vec<u8>,
}

/// Call sites that a recorded profile keeps.
const SITES_KEPT: usize = 40;

/// Profiles a workload. An interrupt keeps what was sampled.
pub fn profile(
    plan: &ProfilePlan,
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
    notice: Notice<'_>,
) -> Result<ProfileResult, LabError> {
    let session = Session { plan, workload, interrupt, notice };
    let counters = plan.with_counters.then(Counters::open);
    let sampler = Sampler::new(workload, Look::Cpu { frequency: plan.frequency, counters })?;
    let pods = session.sample(&sampler)?;
    let mut state = sampler.lock();
    let seconds = state.sampled.as_secs_f64();
    let is_interrupted = || interrupt.load(Ordering::Relaxed);
    let nothing = |why| if is_interrupted() { LabError::Interrupted } else { why };
    let report = state.report.take().ok_or_else(|| nothing(LabError::NotSampled))?;
    let stacks = stacks_of(&report);
    let samples: u64 = stacks.values().sum();
    if samples == 0 {
        return Err(nothing(LabError::NoSample { seconds }));
    }
    let allocations =
        if plan.with_allocations && !is_interrupted() { session.count_allocations()? } else { None };
    let partial = is_interrupted();
    let subtitle = partial.then_some("partial: the profile was interrupted");
    let drawing = Drawing { title: &workload.full_name, subtitle, unit: "samples" };
    let summary = ProfileSummary {
        workload: workload.full_name.clone(),
        partial,
        samples,
        pods,
        seconds,
        shares: shares(&stacks),
        flamegraph_svg: Some(draw::flamegraph(&drawing, &folded::lines(&stacks))?),
        allocations: allocations
            .iter()
            .flat_map(|(found, _)| found.sites.iter().take(SITES_KEPT).cloned())
            .collect(),
    };
    let protobuf = report.pprof().map_err(LabError::Protobuf)?.encode_to_vec();
    let counted = state.counters().map(Counters::read);
    Ok(ProfileResult { summary, allocations, counted, stacks, protobuf })
}

/// A workload that is profiled.
struct Session<'a> {
    plan: &'a ProfilePlan,
    workload: &'a ResolvedWorkload,
    interrupt: &'a AtomicBool,
    notice: Notice<'a>,
}

impl Session<'_> {
    /// Runs the workload until its measured part was sampled for long enough. Pods scheduled meanwhile.
    fn sample(&self, sampler: &Sampler<'_>) -> Result<u64, LabError> {
        let mut pods = 0;
        loop {
            pods += self.run_sampled(sampler)?;
            let sampled = sampler.lock().sampled;
            if self.plan.sampled_min <= sampled || self.interrupt.load(Ordering::Relaxed) {
                return Ok(pods);
            }
            if sampled.is_zero() {
                return Err(LabError::NotMeasured { workload: self.workload.full_name.clone() });
            }
        }
    }

    fn run_sampled(&self, sampler: &Sampler<'_>) -> Result<u64, LabError> {
        let registry = lab_plugins::registry();
        let control = Control {
            interrupt: self.interrupt,
            progress: sampler,
            registry: &registry,
            config_file: ConfigFile::Fixed,
            profiler: &NoProfiler,
            placements: None,
            under_test: None,
        };
        let outcome = self.plan.run.run(self.workload, control)?;
        sampler.pause()?;
        if let Ending::Stuck(why) = &outcome.ending {
            (self.notice)(&format!("{}: the run ended early: {why}", self.workload.full_name));
        }
        Ok(outcome.collected.iter().map(|part| part.scheduled).sum())
    }

    /// Runs the workload once more; `None` when that is interrupted: they would not be those of the
    /// measured part.
    fn count_allocations(&self) -> Result<Option<(Allocations, u64)>, LabError> {
        let sampler = Sampler::new(self.workload, Look::Allocations)?;
        let pods = self.run_sampled(&sampler)?;
        let counted = alloc::take_counted();
        let is_whole = !self.interrupt.load(Ordering::Relaxed);
        Ok(is_whole.then(|| (allocations::resolve(&counted), pods)))
    }
}

impl ProfileResult {
    /// Writes flamegraph, stacks, protobuf and summary of the CPU's part.
    pub fn write_cpu(&self, dir: &Path) -> Result<(), LabError> {
        let svg = self.summary.flamegraph_svg.as_deref().unwrap_or_default();
        write_atomic(&dir.join("flamegraph.svg"), svg.as_bytes())?;
        write_atomic(&dir.join("stacks.folded"), (folded::lines(&self.stacks).join("\n") + "\n").as_bytes())?;
        write_atomic(&dir.join("profile.pb"), &self.protobuf)?;
        let json =
            serde_json::to_vec(&self.summary).map_err(|source| LabError::Json { what: "profile", source })?;
        Ok(write_atomic(&dir.join("profile.json"), &json)?)
    }

    /// Writes flamegraph, stacks and call sites of the allocations, if there are any.
    pub fn write_allocations(&self, dir: &Path) -> Result<(), LabError> {
        let Some((found, _)) = self.allocations.as_ref().filter(|(found, _)| !found.stacks.is_empty()) else {
            return Ok(());
        };
        let lines = folded::lines(&found.stacks);
        let title = format!("{}, bytes allocated", self.summary.workload);
        let svg = draw::flamegraph(&Drawing { title: &title, subtitle: None, unit: "bytes" }, &lines)?;
        write_atomic(&dir.join("allocations.svg"), svg.as_bytes())?;
        write_atomic(&dir.join("allocations.folded"), (lines.join("\n") + "\n").as_bytes())?;
        let json = serde_json::to_vec_pretty(&found.sites)
            .map_err(|source| LabError::Json { what: "allocations", source })?;
        Ok(write_atomic(&dir.join("allocations.json"), &json)?)
    }
}

/// Stacks by function names, outermost first, inlined functions as frames of their own.
fn stacks_of(report: &Report) -> Stacks {
    let mut stacks: Stacks = BTreeMap::new();
    for (frames, &count) in &report.data {
        let names = frames.frames.iter().rev().flat_map(|inlined| inlined.iter().rev());
        let mut stack = vec![frames.thread_name_or_id()];
        stack.extend(names.map(|symbol| frame_name(&symbol.name(), &symbol.filename())));
        *stacks.entry(stack).or_default() += u64::try_from(count).unwrap_or(0);
    }
    stacks
}
