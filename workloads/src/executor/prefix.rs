//! The first ops of a workload, and the cluster they leave behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, ObjectKey, PodFilter, Watch, WatchEvent};

use super::context::OpContext;
use super::error::{ExecuteError, OpError};
use super::outcome::Ending;
use super::scheduler::{Setup, read_config};
use super::{Control, Executor, RunSettings};
use crate::ops::RunOp as _;
use crate::ops::create_pods::{self, Completion, CreatePods};
use crate::resolve::ResolvedWorkload;

/// How long pods that no op waits for may still be scheduled.
const REST_MAX: Duration = Duration::from_secs(30);

/// A workload that stopped before one of its ops.
pub(crate) struct Stopped<'a> {
    executor: Executor<'a>,
    watch: Box<dyn Watch>,
    /// How the ops before ended.
    pub(crate) ending: Ending,
    /// Everything that happened.
    pub(crate) events: Vec<WatchEvent>,
    /// Where it happened.
    pub(crate) cluster: Arc<EmbeddedCluster>,
}

/// Runs the ops before op `end` and lets the scheduler come to rest.
pub(crate) fn run_until<'a>(
    workload: &ResolvedWorkload,
    end: usize,
    settings: RunSettings,
    control: Control<'a>,
) -> Result<Stopped<'a>, ExecuteError> {
    let config = workload.scheduler_config.as_ref().map(read_config).transpose()?;
    let setup = Setup { config: config.as_ref(), ..Setup::default() };
    let mut executor = Executor::start(settings, control, &setup)?;
    let cluster = Arc::clone(&executor.context.cluster);
    let at = |index, error: OpError| {
        ExecuteError::at(
            workload,
            index,
            workload.ops.get(index).map_or(create_pods::DESCRIPTOR.opcode, |op| op.opcode()),
            error,
        )
    };
    let mut watch = cluster.watch(0).map_err(|error| at(0, error.into()))?;
    let mut ending = Ending::Completed;
    for (index, op) in workload.ops.iter().enumerate().take(end) {
        control.progress.op_begins(index, end, op.opcode());
        ending = executor.context.run_op(index, op.as_ref()).map_err(|error| at(index, error))?;
        if ending != Ending::Completed {
            break;
        }
    }
    executor.context.rest(REST_MAX);
    let mut events = Vec::new();
    watch.drain_into(&mut events).map_err(|error| at(end, error.into()))?;
    Ok(Stopped { executor, watch, ending, events, cluster })
}

impl Stopped<'_> {
    /// The first pod that an op creates, with all that comes with it. It is created for that, and
    /// handed out as if it were on no node.
    pub(crate) fn first_pod(
        &mut self,
        workload: &ResolvedWorkload,
        index: usize,
        op: &CreatePods,
    ) -> Result<Pod, ExecuteError> {
        let at = |error| ExecuteError::at(workload, index, create_pods::DESCRIPTOR.opcode, error);
        let one =
            CreatePods { count: 1, collect_metrics: false, completion: Completion::Created, ..op.clone() };
        one.run(&mut self.executor.context).map_err(at)?;
        self.created_pod(&op.namespace).map_err(at)
    }

    fn created_pod(&self, namespace: &str) -> Result<Pod, OpError> {
        let filter = PodFilter { namespace: Some(namespace), labels: None };
        let rows = self.cluster.pods_in(filter)?.rows;
        let last = rows.last().expect("a pod was just created");
        let key = ObjectKey::pod(namespace, &self.cluster.pod_name(last.name));
        let mut pod = *self.cluster.get(&key)?.into_pod().expect("the key names a pod");
        pod.status = None;
        if let Some(spec) = &mut pod.spec {
            // The scheduler may have been quick.
            spec.node_name = None;
        }
        Ok(pod)
    }

    /// What happened since the last look.
    pub(crate) fn news(&mut self) -> Result<Vec<WatchEvent>, OpError> {
        let mut events = Vec::new();
        self.watch.drain_into(&mut events)?;
        Ok(events)
    }
}

impl OpContext<'_> {
    fn rest(&self, at_most: Duration) {
        let end = Instant::now() + at_most;
        let Some(side) = self.runtime.as_wall() else { return };
        while !side.are_schedulers_quiescent(self.cluster.resource_version())
            && !side.runtime.has_died()
            && !self.is_interrupted()
            && Instant::now() < end
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
