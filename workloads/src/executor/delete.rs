//! deletePods.
//!
//! Upstream: executor.go `runDeletePodsOp`. Pods have no kubelet there and here: a pod without
//! finalizers is gone at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schedlab_cluster::api::{Api, PodFilter};
use schedlab_cluster::{ApiError, EmbeddedCluster, StatusReason};
use schedlab_core::ids::PodUid;
use schedlab_core::input::LabelSelectorInput;

use super::Executor;
use super::background::{Lasts, Ticker};
use super::error::OpError;
use super::outcome::Ending;
use crate::ops::{DeletePods, DeletePodsWaiting, Opcode};

impl Executor<'_> {
    pub(super) fn delete_pods(&mut self, index: usize, op: &DeletePods) -> Result<Ending, OpError> {
        let selector =
            LabelSelectorInput { match_labels: op.label_selector.clone(), match_expressions: Vec::new() };
        let filter = PodFilter { namespace: Some(&op.namespace), labels: Some(&selector) };
        let pods: Vec<PodUid> = self.cluster.pods_now(filter).iter().map(|row| row.uid).collect();
        let ticker = (0 < op.pods_per_second).then(|| Ticker::per_second(op.pods_per_second));
        match op.waiting {
            DeletePodsWaiting::UntilDeleted => {
                delete(&self.cluster, &pods, ticker, self.control.interrupt)?;
            }
            DeletePodsWaiting::Background => {
                let cluster = Arc::clone(&self.cluster);
                self.background.start((index, Opcode::DeletePods), Lasts::ForAWhile, move |stop| {
                    delete(&cluster, &pods, ticker, stop)
                });
            }
        }
        Ok(if self.is_interrupted() { Ending::Interrupted } else { Ending::Completed })
    }
}

fn delete(
    cluster: &EmbeddedCluster,
    pods: &[PodUid],
    ticker: Option<Ticker>,
    stop: &AtomicBool,
) -> Result<(), OpError> {
    let Some(mut ticker) = ticker else {
        let mut results = Vec::with_capacity(pods.len());
        cluster.delete_pods_batch(pods, &mut results);
        return results.into_iter().try_for_each(gone);
    };
    for &pod in pods {
        if !ticker.wait(stop) {
            break;
        }
        gone(cluster.delete_pod(pod))?;
    }
    Ok(())
}

/// A pod that somebody else has deleted is as gone as it should be.
fn gone(result: Result<(), ApiError>) -> Result<(), OpError> {
    match result {
        Err(error) if error.reason != StatusReason::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
