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
//! missing will never be scheduled, and the diagnosis says why.

mod error;
mod nodes;
mod objects;
mod outcome;
mod pods;
mod volumes;
mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schedlab_cluster::api::{Api, GenericObject, Object};
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_cluster::{EmbeddedCluster, Reason};
use schedlab_core::cycle::dispatch::Ways;
use schedlab_core::cycle::engine::{ClassCache, EngineSettings};
use schedlab_core::cycle::select::TieBreak;
use schedlab_core::scheduler::Scheduler;

use crate::measure::{BindMeter, CycleMeter, Meters};
use crate::ops::{CreateNamespaces, ResolvedOp};
use crate::resolve::ResolvedWorkload;

pub use error::ExecuteError;
pub use outcome::{Collected, Ending, Outcome};

/// How workloads are run.
#[derive(Clone, Copy, Debug)]
pub struct RunSettings {
    /// Threads for Filter and Score.
    pub threads: usize,
    /// Ways that chunks are cut for.
    pub parallelism: usize,
    /// `percentageOfNodesToScore`; 0 is adaptive.
    pub percentage_of_nodes_to_score: i32,
    /// Seed of tie-breaking draws.
    pub seed: u64,
    /// Whether the class cache is on.
    pub class_cache: ClassCache,
}

/// Told how far a workload is. Called often; must be quick.
pub trait Progress: Sync {
    /// An op begins.
    fn op_begins(&self, index: usize, count: usize, what: &str);

    /// So many of so many pods are scheduled.
    fn pods(&self, scheduled: u64, wanted: u64);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn op_begins(&self, _: usize, _: usize, _: &str) {}

    fn pods(&self, _: u64, _: u64) {}
}

/// What the outside may do to a run.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set to end the run early, keeping what was measured.
    pub interrupt: &'a AtomicBool,
    /// Told how far the run is.
    pub progress: &'a dyn Progress,
}

/// Runs one workload from an empty cluster to its last op.
pub fn run_workload(
    workload: &ResolvedWorkload,
    settings: RunSettings,
    control: Control<'_>,
) -> Result<Outcome, ExecuteError> {
    let mut executor = Executor::start(settings, control)?;
    let mut ending = Ending::Completed;
    for (index, op) in workload.ops.iter().enumerate() {
        if control.interrupt.load(Ordering::Relaxed) {
            ending = Ending::Interrupted;
            break;
        }
        control.progress.op_begins(index, workload.ops.len(), op.opcode().name());
        let at = |source| ExecuteError::at(workload, index, op.opcode(), source);
        ending = executor.run_op(index, op).map_err(at)?;
        if !matches!(ending, Ending::Completed) {
            break;
        }
    }
    executor.finish(ending)
}

/// A workload under way.
struct Executor<'a> {
    cluster: Arc<EmbeddedCluster>,
    runtime: WallRuntime<CycleMeter, BindMeter>,
    meters: Meters,
    control: Control<'a>,
    /// Pods that somebody may still have to wait for, by namespace.
    awaited: BTreeMap<String, u64>,
    node_count: u64,
    node_names: u64,
    collected: Vec<Collected>,
}

impl<'a> Executor<'a> {
    fn start(settings: RunSettings, control: Control<'a>) -> Result<Executor<'a>, ExecuteError> {
        let cluster = Arc::new(EmbeddedCluster::new(Arc::new(monotonic_ns)));
        let engine = EngineSettings {
            class_cache: settings.class_cache,
            ways: if settings.threads > 1 { Ways::Measured(monotonic_ns) } else { Ways::Inline },
            parallelism: settings.parallelism,
            tie_break: TieBreak::Draw,
            seed: settings.seed,
        };
        let scheduler = Scheduler::new(engine, settings.percentage_of_nodes_to_score);
        let meters = Meters::default();
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        let version = cluster.resource_version();
        let wall = WallSettings { threads: settings.threads };
        let runtime = WallRuntime::start(api, scheduler, version, wall, meters.recorders())?;
        Ok(Executor {
            cluster,
            runtime,
            meters,
            control,
            awaited: BTreeMap::new(),
            node_count: 0,
            node_names: 0,
            collected: Vec::new(),
        })
    }

    fn run_op(&mut self, index: usize, op: &ResolvedOp) -> Result<Ending, error::OpError> {
        match op {
            ResolvedOp::CreateNodes(op) => self.create_nodes(index, op),
            ResolvedOp::CreateNamespaces(op) => self.create_namespaces(op),
            ResolvedOp::CreatePods(op) => self.create_pods(op),
            ResolvedOp::Barrier(op) => self.barrier(op),
            ResolvedOp::Sleep(op) => Ok(self.sleep(op.duration)),
            other => Err(error::OpError::Unsupported { opcode: other.opcode() }),
        }
    }

    fn create_namespaces(&mut self, op: &CreateNamespaces) -> Result<Ending, error::OpError> {
        for name in op.names() {
            let mut object = match &op.template {
                Some(template) => {
                    objects::other(template.render_json(&Default::default())?, template.path())?
                }
                None => objects::namespace(),
            };
            object.metadata.name = Some(name.clone());
            self.create_namespace(object)?;
            self.awaited.entry(name).or_default();
        }
        Ok(Ending::Completed)
    }

    fn ensure_namespace(&mut self, name: &str) -> Result<(), error::OpError> {
        if !self.awaited.contains_key(name) {
            let mut object = objects::namespace();
            object.metadata.name = Some(name.to_owned());
            self.create_namespace(object)?;
            self.awaited.insert(name.to_owned(), 0);
        }
        Ok(())
    }

    fn create_namespace(&self, object: GenericObject) -> Result<(), error::OpError> {
        match self.cluster.create(Object::Other(Box::new(object))) {
            Err(error) if error.reason != Reason::AlreadyExists => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn finish(self, ending: Ending) -> Result<Outcome, ExecuteError> {
        let status = self.runtime.status();
        let failed_calls = self.runtime.failed_calls();
        self.runtime.stop()?;
        Ok(Outcome {
            ending,
            collected: self.collected,
            node_count: self.node_count,
            pod_count: self.cluster.pod_count() as u64,
            failed_calls,
            store_bytes: self.cluster.memory_bytes() as u64,
            engine_bytes: status.map_or((0, 0), |status| status.memory_bytes),
        })
    }
}
