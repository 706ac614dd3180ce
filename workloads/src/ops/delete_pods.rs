//! deletePods: deletes pods of a namespace, all or those with some labels.
//!
//! Upstream: operations.go `deletePodsOp`; executor.go `runDeletePodsOp`. Pods have no kubelet there
//! and here: a pod without finalizers is gone at once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::api::{Api, PodFilter};
use schedlab_cluster::{ApiError, EmbeddedCluster, StatusReason};
use schedlab_core::ids::PodUid;
use schedlab_core::input::LabelSelectorInput;

use super::descriptor::{OpDescriptor, OpFacts, OpSupport, ResolvedOp, ResolvedOps, RunOp, WrittenOp, one};
use crate::executor::{BackgroundJob, Ending, JobStep, Lasts, OpContext, OpError};
use crate::resolve::{OpResolver, ResolveError};
use crate::schema::SchemaError;
use crate::yaml::{Fields, Node};

/// The opcode.
pub const DESCRIPTOR: OpDescriptor =
    OpDescriptor { opcode: "deletePods", parse: |file, node| Ok(Arc::new(parse(file, node)?)) };

const FIELDS: &[&str] =
    &["opcode", "namespace", "labelSelector", "skipWaitToCompletion", "deletePodsPerSecond"];

/// deletePods, as written and ready to run. The pods are listed when the op starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletePods {
    /// Where.
    pub namespace: String,
    /// Labels a pod must have; all pods if empty.
    pub label_selector: BTreeMap<String, String>,
    /// Whether the next op has to wait.
    pub waiting: DeletePodsWaiting,
    /// How many a second; 0 deletes all in one call.
    pub pods_per_second: u32,
}

/// Whether the op after deletePods has to wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletePodsWaiting {
    /// It waits until every delete call was made.
    UntilDeleted,
    /// It does not; pods are deleted in the background.
    Background,
}

fn parse(file: &str, node: &Node) -> Result<DeletePods, SchemaError> {
    let fields = Fields::read(file, "op deletePods", node, FIELDS)?;
    let per_second = fields.integer("deletePodsPerSecond")?.unwrap_or(0);
    Ok(DeletePods {
        // Differs: upstream takes an absent namespace as all namespaces when it lists the pods and
        // then fails to delete them (`broken_ops_are_refused`).
        namespace: fields.required_string("namespace", "name the namespace of the pods")?,
        label_selector: fields.string_map("labelSelector")?,
        waiting: match fields.switch("skipWaitToCompletion")? {
            true => DeletePodsWaiting::Background,
            false => DeletePodsWaiting::UntilDeleted,
        },
        pods_per_second: u32::try_from(per_second)
            .map_err(|_| fields.bad_value("deletePodsPerSecond", per_second, "write 0 or more"))?,
    })
}

impl WrittenOp for DeletePods {
    fn collects_metrics(&self) -> bool {
        false
    }

    fn resolve(&self, _: &mut OpResolver<'_, '_>, _: usize) -> Result<ResolvedOps, ResolveError> {
        Ok(one(self.clone()))
    }
}

impl ResolvedOp for DeletePods {
    fn descriptor(&self) -> &'static OpDescriptor {
        &DESCRIPTOR
    }

    fn facts(&self) -> OpFacts<'_> {
        OpFacts::NOTHING
    }

    fn support(&self) -> OpSupport<'_> {
        OpSupport::Runs(self)
    }
}

impl RunOp for DeletePods {
    fn run(&self, context: &mut OpContext<'_>) -> Result<Ending, OpError> {
        let selector =
            LabelSelectorInput { match_labels: self.label_selector.clone(), match_expressions: Vec::new() };
        let filter = PodFilter { namespace: Some(&self.namespace), labels: Some(&selector) };
        let pods: Vec<PodUid> = context.cluster.pods_now(filter).iter().map(|row| row.uid).collect();
        let interval = match self.pods_per_second {
            0 => Duration::ZERO,
            rate => Duration::from_secs(1) / rate,
        };
        let mut step = match self.pods_per_second {
            0 => all_at_once(Arc::clone(&context.cluster), pods),
            _ => one_by_one(Arc::clone(&context.cluster), pods),
        };
        match self.waiting {
            DeletePodsWaiting::UntilDeleted => {
                let mut ticks = context.ticks(interval);
                while context.wait_tick(&mut ticks)? && step()?.is_continue() {}
            }
            DeletePodsWaiting::Background => {
                context.start_background(BackgroundJob { lasts: Lasts::ForAWhile, interval, step });
            }
        }
        Ok(if context.is_interrupted() { Ending::Interrupted } else { Ending::Completed })
    }
}

fn all_at_once(cluster: Arc<EmbeddedCluster>, pods: Vec<PodUid>) -> JobStep {
    Box::new(move || {
        let mut results = Vec::with_capacity(pods.len());
        cluster.delete_pods_batch(&pods, &mut results);
        results.into_iter().try_for_each(gone)?;
        Ok(ControlFlow::Break(()))
    })
}

fn one_by_one(cluster: Arc<EmbeddedCluster>, pods: Vec<PodUid>) -> JobStep {
    let mut left = pods.into_iter();
    Box::new(move || {
        let Some(pod) = left.next() else { return Ok(ControlFlow::Break(())) };
        gone(cluster.delete_pod(pod))?;
        Ok(if left.len() == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
}

/// A pod that somebody else has deleted is as gone as it should be.
fn gone(result: Result<(), ApiError>) -> Result<(), OpError> {
    match result {
        Err(error) if error.reason != StatusReason::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
