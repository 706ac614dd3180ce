//! Runs a resolved workload: op after op against a cluster, with a scheduler beside it.
//!
//! ```text
//! ops ──▶ Api::create… ──▶ embedded cluster ◀──watch/bind── WallRuntime (scheduler, binder)
//!   │                                                            │
//!   └── waits until pods are scheduled, or never will be ◀───────┘ readings
//! ```
//!
//! Upstream: scheduler_perf/executor.go. A wait that upstream ends by a timeout of ten minutes
//! ends here as soon as the scheduler is at rest: nothing is left to try, so the pods that are
//! missing will never be scheduled, and the diagnosis says why. Beside churn it ends when nothing
//! got anywhere for a while (`stagnation.rs`).

mod background;
mod collect;
mod context;
mod controllers;
mod error;
pub(crate) mod objects;
mod outcome;
mod prefix;
mod profiler;
mod restart;
mod runtime;
mod scheduler;
mod stagnation;
mod start;
mod tally;
mod time;
mod under_test;
mod virtual_side;
mod wait;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schedlab_cluster::extender::{ExtenderCounts, HttpExtender};
use schedlab_cluster::link::LinkSettings;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::framework::extend::Extender as _;
use schedlab_core::framework::registry::Registry;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;

use crate::gates::scheduler_gates;
use crate::measure::Live;
use crate::placements::PlacementLog;
use crate::resolve::ResolvedWorkload;
use crate::results::ExtenderCalls;

use controllers::ControllerSetup;
use scheduler::Setup;
use wait::waits;

pub(crate) use background::{BackgroundJob, JobStep, Lasts};
pub(crate) use collect::OtherPods;
pub use context::OpContext;
pub use error::{ExecuteError, OpError};
pub(crate) use objects::quote_quantities;
pub use outcome::{Collected, Ending, Outcome};
pub(crate) use prefix::run_until;
pub use profiler::{NoProfiler, Profiler};
pub use scheduler::make_for_network;
pub(crate) use scheduler::read_config;
pub(crate) use tally::OpTally;
pub use under_test::{RunningScheduler, SchedulerUnderTest, UnderTestError, UnderTestSetup};

/// How workloads are run.
#[derive(Clone, Copy, Debug)]
pub struct RunSettings {
    /// Threads for Filter and Score.
    pub threads: usize,
    /// Ways that chunks are cut for; absent, the scheduler's configuration decides.
    pub parallelism: Option<usize>,
    /// `percentageOfNodesToScore`, 0 is adaptive; absent, the scheduler's configuration decides.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// Seed of tie-breaking draws.
    pub seed: u64,
    /// Whether the class cache is on.
    pub class_cache: ClassCache,
    /// How pods are counted by topology domain.
    pub pod_counting: PodCounting,
    /// What the way to the API is like.
    pub link: LinkSettings,
    /// Who announces its node (KEP-5278).
    pub nominated_node_name: WriteNominatedNodeName,
    /// What happens to a pod whose nominated node does not fit.
    pub nominated_node_name_miss: NominatedNodeNameMiss,
    /// Whether what kube-scheduler is known to miss is missed.
    pub known_gaps: KnownGaps,
    /// Which events about pods are written.
    pub events: EventLevel,
    /// Whose time passes.
    pub time: TimeMode,
}

/// Whose time passes while a workload runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeMode {
    /// The clock's: what is measured is real.
    #[default]
    Wall,
    /// A model's: the same run every time, and no throughput that was measured.
    Virtual {
        /// How long a scheduling cycle takes, whatever it does.
        cycle_ns: u64,
    },
}

/// Told how far a workload is. Called often; must be quick.
pub trait Progress: Sync {
    /// An op begins.
    fn op_begins(&self, index: usize, count: usize, what: &str);

    /// So many of so many pods are scheduled.
    fn pods(&self, scheduled: u64, wanted: u64);

    /// Something happened that the user should know.
    fn notice(&self, text: &str);

    /// The workload's scheduler runs from now on; it can be read along.
    fn begins(&self, _: &Live) {}

    /// The scheduler is about to end: the last chance to read it.
    fn ends(&self, _: &Live) {}
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn op_begins(&self, _: usize, _: usize, _: &str) {}

    fn pods(&self, _: u64, _: u64) {}

    fn notice(&self, _: &str) {}
}

/// What the outside may do to a run.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set to end the run early, keeping what was measured.
    pub interrupt: &'a AtomicBool,
    /// Told how far the run is.
    pub progress: &'a dyn Progress,
    /// The plugins that may be enabled.
    pub registry: &'a Registry,
    /// Whether the scheduler's configuration file is looked at again while the workload runs.
    pub config_file: ConfigFile,
    /// What samples the spans that ops ask to be profiled.
    pub profiler: &'a dyn Profiler,
    /// Notes where every pod goes, if somebody wants to know.
    pub placements: Option<&'a PlacementLog>,
    /// The scheduler that is run instead of ours, as a process of its own.
    pub under_test: Option<&'a dyn SchedulerUnderTest>,
}

/// What becomes of changes to the scheduler's configuration file during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// Nobody looks.
    Fixed,
    /// They take effect between two cycles.
    Watched,
}

/// Runs one workload from an empty cluster to its last op.
pub fn run_workload(
    workload: &ResolvedWorkload,
    settings: RunSettings,
    control: Control<'_>,
) -> Result<Outcome, ExecuteError> {
    let file = match (&workload.scheduler_config, control.config_file) {
        (Some(file), ConfigFile::Watched) => Some(scheduler::reread(file, control.registry)),
        (file, _) => file.clone(),
    };
    let config = match control.under_test {
        // It may have plugins that nobody knows here; what it cannot use it says itself.
        Some(_) => file.as_ref().and_then(|file| scheduler::read_config(file).ok()),
        None => file.as_ref().map(scheduler::read_config).transpose()?,
    };
    let gates = scheduler_gates(&workload.feature_gates).map_err(|source| ExecuteError::Gates {
        file: workload.file.clone(),
        workload: workload.full_name.clone(),
        source,
    })?;
    let controllers = ControllerSetup::of(workload);
    let under_test = UnderTestSetup {
        config: file.as_ref(),
        feature_gates: &workload.feature_gates,
        parallelism: settings.parallelism,
        percentage_of_nodes_to_score: settings.percentage_of_nodes_to_score,
    };
    let schedulers = workload.schedulers.clone();
    let setup =
        Setup { config: config.as_ref(), gates, controllers, schedulers, under_test: Some(under_test) };
    let mut executor = Executor::start(settings, control, &setup)?;
    executor.context.declare_features(workload.node_declared_features);
    let Some(watched) = file.filter(|_| control.config_file == ConfigFile::Watched) else {
        return executor.run(workload);
    };
    let extenders = config.map(|config| config.extenders).unwrap_or_default();
    let Some(changer) = executor.changer() else { return executor.run(workload) };
    let watcher = scheduler::Watcher::new(&watched, extenders, (settings, &gates), control, changer);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watcher.run());
        let outcome = executor.run(workload);
        watcher.stop(watching.thread());
        outcome
    })
}

/// A workload under way: what its ops work with, and what only its end needs.
struct Executor<'a> {
    context: OpContext<'a>,
    extenders: Vec<Arc<HttpExtender>>,
    reading: Option<start::PlacementThread>,
}

impl Executor<'_> {
    fn run(mut self, workload: &ResolvedWorkload) -> Result<Outcome, ExecuteError> {
        let context = &mut self.context;
        let mut ending = Ending::Completed;
        for (index, op) in workload.ops.iter().enumerate() {
            if context.is_interrupted() {
                ending = Ending::Interrupted;
                break;
            }
            context.control.progress.op_begins(index, workload.ops.len(), op.opcode());
            let at = |source| ExecuteError::at(workload, index, op.opcode(), source);
            ending = context.run_op(index, op.as_ref()).map_err(at)?;
            if !matches!(ending, Ending::Completed) {
                break;
            }
        }
        let last = workload.ops.len().saturating_sub(1);
        let at_last = |source| ExecuteError::at(workload, last, workload.ops[last].opcode(), source);
        context.end_of_profile().map_err(at_last)?;
        if let Some(error) = context.runtime.end_jobs() {
            return Err(at_last(error));
        }
        if context.collecting.is_some() && ending != Ending::Completed {
            context.stop_collecting(None).map_err(at_last)?;
        }
        context.rest_of_controllers().map_err(at_last)?;
        self.finish(ending)
    }

    fn finish(self, ending: Ending) -> Result<Outcome, ExecuteError> {
        let Executor { context, extenders, reading } = self;
        let answers = context.halt_if_interrupted();
        let status = answers.then(|| context.runtime.status_while(&context.waits())).flatten();
        let failed_calls = context.runtime.failed_calls();
        if let (true, Some(side)) = (answers, context.runtime.as_wall()) {
            context.control.progress.ends(&side.live);
        }
        if answers {
            context.finish_placements()?;
        }
        let waits = waits(context.control.interrupt);
        let op_reports = context.op_reports();
        let schedulers = context.runtime.report_of_schedulers();
        let mut controllers = context.runtime.stop(&waits)?;
        controllers.extend(schedulers);
        controllers.extend(op_reports);
        if let Some(reading) = reading {
            reading.end()?;
        }
        Ok(Outcome {
            ending,
            controllers,
            extenders: extenders.iter().map(|it| calls_of(it)).collect(),
            collected: context.collected,
            node_count: context.cluster.nodes_now().len() as u64,
            pod_count: context.cluster.pod_count() as u64,
            failed_calls,
            store_bytes: context.cluster.memory_bytes() as u64,
            engine_bytes: status.as_ref().map_or((0, 0), |status| status.memory_bytes),
            dispatched: status.as_ref().map(|status| status.calls).unwrap_or_default(),
            gates: status.map(|status| status.gates).unwrap_or_default(),
        })
    }
}

fn calls_of(extender: &HttpExtender) -> ExtenderCalls {
    let ExtenderCounts { calls, failures, last_failure } = extender.counts();
    let (url, ignorable) = (extender.name().to_owned(), extender.is_ignorable());
    ExtenderCalls { url, ignorable, calls, failures, last_failure }
}
