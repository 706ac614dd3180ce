//! Calls of the scheduler, many at once.

use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::api::Binding;
use schedlab_cluster::runtime::{Caller, Then};
use schedlab_cluster::{ApiError, StatusReason};

use crate::cluster::LiveCluster;

/// Waits before a binding is tried again. Upstream: client-go `retry.DefaultBackoff`.
const RETRY_AFTER: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

/// Makes calls on a cluster's threads.
#[derive(Clone, Debug)]
pub struct LiveCaller {
    cluster: Arc<LiveCluster>,
    retries: Retries,
}

/// Who tries a binding again that failed for a passing reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retries {
    /// The caller, as upstream's `BindPod` does.
    Here,
    /// The dispatcher, which queues calls.
    ByDispatcher,
}

impl LiveCaller {
    /// Calls of a scheduler whose dispatcher queues calls (`SchedulerAsyncAPICalls`) or does not.
    #[must_use]
    pub fn new(cluster: Arc<LiveCluster>, queues_calls: bool) -> LiveCaller {
        let retries = if queues_calls { Retries::ByDispatcher } else { Retries::Here };
        LiveCaller { cluster, retries }
    }
}

impl Caller for LiveCaller {
    fn bind(&self, binding: Binding, then: Then) {
        let (cluster, retries) = (Arc::clone(&self.cluster), self.retries);
        self.cluster.connection.handle().spawn(async move {
            then(bind(&cluster, binding, retries).await);
        });
    }

    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        self.cluster.connection.handle().spawn_blocking(work);
    }
}

async fn bind(cluster: &LiveCluster, binding: Binding, retries: Retries) -> Result<(), ApiError> {
    let mut result = cluster.bind_on_server(binding).await;
    if retries == Retries::Here {
        for wait in RETRY_AFTER {
            if !result.as_ref().is_err_and(is_passing) {
                break;
            }
            tokio::time::sleep(wait).await;
            result = cluster.bind_on_server(binding).await;
        }
    }
    result
}

/// Upstream: util/utils.go `Retriable`.
fn is_passing(error: &ApiError) -> bool {
    matches!(error.reason, StatusReason::InternalError | StatusReason::ServiceUnavailable)
}
