//! createPods with steadyState: each pod that is scheduled is deleted and replaced.
//!
//! Upstream: executor.go `createPodsSteadily`.

use std::collections::BTreeSet;
use std::time::Duration;

use schedlab_cluster::api::{Api, EventKind, WatchedObject};
use schedlab_core::ids::PodUid;

use super::CreatePods;
use super::pods::{Templates, create};
use crate::executor::{Ending, OpContext, OpError};

/// How long a look at the watch may sleep.
const LOOK: Duration = Duration::from_millis(2);

/// Returns how many pods were created.
pub(super) fn create_steadily(
    context: &mut OpContext<'_>,
    op: &CreatePods,
    templates: &Templates,
    duration: Duration,
) -> Result<(Ending, u64), OpError> {
    let mut watch = context.cluster.watch(context.cluster.resource_version())?;
    let end = context.deadline(duration);
    if create(context, templates, op.count)? == Ending::Interrupted {
        return Ok((Ending::Interrupted, u64::from(op.count)));
    }
    let (mut events, mut on_node) = (Vec::new(), Vec::new());
    let mut seen: BTreeSet<PodUid> = BTreeSet::new();
    let mut scheduled = 0_u64;
    while !context.is_over(end) {
        if context.is_interrupted() {
            return Ok((Ending::Interrupted, u64::from(op.count) + scheduled));
        }
        context.wait_for_events(watch.as_mut(), LOOK)?;
        events.clear();
        watch.drain_into(&mut events)?;
        on_node.clear();
        for event in &events {
            let WatchedObject::Pod(row) = &event.object else { continue };
            if event.kind == EventKind::Deleted {
                seen.remove(&row.uid);
            } else if row.node.is_some()
                && *context.cluster.namespace_name(row.namespace) == *op.namespace
                && seen.insert(row.uid)
            {
                on_node.push(row.uid);
            }
        }
        scheduled += on_node.len() as u64;
        context.control.progress.pods(scheduled, scheduled + u64::from(op.count));
        replace(context, templates, &on_node)?;
    }
    match scheduled {
        0 => Err(OpError::NoSteadyState { duration }),
        _ => Ok((Ending::Completed, u64::from(op.count) + scheduled)),
    }
}

fn replace(context: &OpContext<'_>, templates: &Templates, pods: &[PodUid]) -> Result<(), OpError> {
    let mut results = Vec::with_capacity(pods.len());
    context.cluster.delete_pods_batch(pods, &mut results);
    for result in results {
        result?;
        create(context, templates, 1)?;
    }
    Ok(())
}
