//! createPods with steadyState: each pod that is scheduled is deleted and replaced.
//!
//! Upstream: executor.go `createPodsSteadily`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use schedlab_cluster::api::{Api, EventKind, WatchedObject};
use schedlab_core::ids::PodUid;

use super::Executor;
use super::error::OpError;
use super::outcome::Ending;
use super::pods::Templates;
use crate::ops::CreatePods;

/// How long a look at the watch may sleep.
const LOOK: Duration = Duration::from_millis(2);

impl Executor<'_> {
    /// Returns how many pods were created.
    pub(super) fn create_steadily(
        &mut self,
        op: &CreatePods,
        templates: &Templates,
        duration: Duration,
    ) -> Result<(Ending, u64), OpError> {
        let mut watch = self.cluster.watch(self.cluster.resource_version())?;
        let end = Instant::now() + duration;
        if self.create(templates, op.count)? == Ending::Interrupted {
            return Ok((Ending::Interrupted, u64::from(op.count)));
        }
        let (mut events, mut on_node) = (Vec::new(), Vec::new());
        let mut seen: BTreeSet<PodUid> = BTreeSet::new();
        let mut scheduled = 0_u64;
        while Instant::now() < end {
            if self.is_interrupted() {
                return Ok((Ending::Interrupted, u64::from(op.count) + scheduled));
            }
            if self.runtime.has_died() {
                return Err(OpError::Died);
            }
            watch.wait(LOOK);
            events.clear();
            watch.drain_into(&mut events)?;
            on_node.clear();
            for event in &events {
                let WatchedObject::Pod(row) = &event.object else { continue };
                if event.kind == EventKind::Deleted {
                    seen.remove(&row.uid);
                } else if row.node.is_some()
                    && *self.cluster.namespace_name(row.namespace) == *op.namespace
                    && seen.insert(row.uid)
                {
                    on_node.push(row.uid);
                }
            }
            scheduled += on_node.len() as u64;
            self.control.progress.pods(scheduled, scheduled + u64::from(op.count));
            self.replace(templates, &on_node)?;
        }
        match scheduled {
            0 => Err(OpError::NoSteadyState { duration }),
            _ => Ok((Ending::Completed, u64::from(op.count) + scheduled)),
        }
    }

    fn replace(&mut self, templates: &Templates, pods: &[PodUid]) -> Result<(), OpError> {
        let mut results = Vec::with_capacity(pods.len());
        self.cluster.delete_pods_batch(pods, &mut results);
        for result in results {
            result?;
            self.create(templates, 1)?;
        }
        Ok(())
    }
}
