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
mod scheduler;
mod stagnation;
mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::Api;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::extender::{ExtenderCounts, HttpExtender};
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::framework::extend::Extender as _;
use schedlab_core::framework::registry::Registry;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;

use crate::gates::scheduler_gates;
use crate::measure::{Live, Meters};
use crate::resolve::ResolvedWorkload;
use crate::results::ExtenderCalls;

use background::Background;
use context::OpPosition;
use controllers::{ControllerSetup, Controllers};
use scheduler::Setup;
use wait::waits;

pub(crate) use background::{Lasts, Ticker};
pub(crate) use collect::OtherPods;
pub use context::OpContext;
pub use error::{ExecuteError, OpError};
pub(crate) use objects::quote_quantities;
pub use outcome::{Collected, Ending, Outcome};
pub(crate) use prefix::run_until;
pub(crate) use scheduler::read_config;
pub(crate) use wait::Deadline;

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
    let config = file.as_ref().map(scheduler::read_config).transpose()?;
    let gates = scheduler_gates(&workload.feature_gates).map_err(|source| ExecuteError::Gates {
        file: workload.file.clone(),
        workload: workload.full_name.clone(),
        source,
    })?;
    let controllers = ControllerSetup::of(workload);
    let setup = Setup { config: config.as_ref(), gates, controllers };
    let mut executor = Executor::start(settings, control, &setup)?;
    executor.context.declare_features(workload.node_declared_features);
    let Some(watched) = file.filter(|_| control.config_file == ConfigFile::Watched) else {
        return executor.run(workload);
    };
    let extenders = config.map(|config| config.extenders).unwrap_or_default();
    let changer = executor.context.runtime.changer();
    let watcher = scheduler::Watcher::new(&watched, extenders, settings, control, changer);
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
}

impl<'a> Executor<'a> {
    fn start(
        settings: RunSettings,
        control: Control<'a>,
        setup: &Setup<'_>,
    ) -> Result<Executor<'a>, ExecuteError> {
        let cluster = Arc::new(EmbeddedCluster::new(Arc::new(monotonic_ns)));
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        if !setup.gates.clearing_nominated_node_name_after_binding {
            cluster.keep_nomination_of_bound_pods();
        }
        if setup.gates.node_affinity_required_during_execution {
            cluster.keep_execution_affinity();
        }
        let ControllerSetup { enabled, feature_gates } = &setup.controllers;
        let controllers = Controllers::start(&api, enabled, feature_gates, settings.seed)?;
        let (scheduler, extenders) = scheduler::make(settings, setup, control.registry, &api)?;
        let backoff_max = Duration::from_nanos(scheduler.settings().max_backoff_ns);
        let meters = Meters::default();
        let version = cluster.resource_version();
        let wall = WallSettings { threads: settings.threads, link: settings.link };
        let runtime = WallRuntime::start(api, scheduler, version, wall, meters.recorders())?;
        let live = Live::new(runtime.changer(), runtime.calls(), meters.view());
        control.progress.begins(&live);
        let context = OpContext {
            cluster,
            runtime,
            controllers,
            live,
            meters,
            control,
            op: OpPosition::FIRST,
            awaited: BTreeMap::new(),
            node_count: 0,
            node_names: 0,
            declared_features: Vec::new(),
            backoff_max,
            background: Background::default(),
            collecting: None,
            collected: Vec::new(),
        };
        Ok(Executor { context, extenders })
    }

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
        context.background.end();
        if let Some(error) = context.background.take_error() {
            let last = workload.ops.len().saturating_sub(1);
            return Err(ExecuteError::at(workload, last, workload.ops[last].opcode(), error));
        }
        if context.collecting.is_some() && ending != Ending::Completed {
            let last = workload.ops.len().saturating_sub(1);
            let at = |source| ExecuteError::at(workload, last, workload.ops[last].opcode(), source);
            context.stop_collecting(None).map_err(at)?;
        }
        self.finish(ending)
    }

    fn finish(self, ending: Ending) -> Result<Outcome, ExecuteError> {
        let Executor { context, extenders } = self;
        context.rest_of_controllers();
        let answers = context.halt_if_interrupted();
        let status = answers.then(|| context.runtime.status_while(&context.waits())).flatten();
        let failed_calls = context.runtime.failed_calls();
        if answers {
            context.control.progress.ends(&context.live);
        }
        let waits = waits(context.control.interrupt);
        context.runtime.stop_while(&waits)?;
        let controllers = context.controllers.stop()?;
        Ok(Outcome {
            ending,
            controllers,
            extenders: extenders.iter().map(|it| calls_of(it)).collect(),
            collected: context.collected,
            node_count: context.node_count,
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
