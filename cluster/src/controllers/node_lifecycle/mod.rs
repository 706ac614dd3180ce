//! Taints by condition: what a node's conditions say, told to schedulers as taints.
//!
//! Schedulers read no conditions. A node that is not ready, or short of something, gets a taint
//! `NoSchedule` for each such condition, and loses it when the condition ends. Other taints are left
//! alone.
//!
//! ```text
//!  node event ──▶ differs? ──▶ PUT node, its version as precondition ──▶ taken: done
//!                    ▲                                              └──▶ refused: again after 100 ms
//!                    └── with the newest state that is known ◀────────────┘
//! ```
//!
//! Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go `doNoScheduleTaintingPass`.
//! Differs: upstream gives up after five tries until the node changes again; here it is tried until it
//! succeeds (`conflict_is_tried_again_with_the_newest_state`). No taint `NoExecute` is set and nobody is
//! evicted.

mod taints;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerMutant, ControllerMutants, ControllerReport, ControllerRequest,
    ControllerSettings, LatencySamples, PodsWatched, Remaining, Sharding, WatchScope,
};
use crate::api::{
    ApiError, EventKind, NodeEntry, NodeNameId, Object, StatusReason, WatchEvent, WatchedObject,
};

pub use taints::condition_taints;

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "node-lifecycle-controller",
    about: "taints nodes by their conditions, NoSchedule",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::None, kinds: &[] },
    sharding: Sharding::None,
    constructor: new,
};

/// Upstream: pkg/controller/util/node/controller_utils.go `SwapNodeControllerTaint` and the backoff of
/// pkg/controller/controller_utils.go `updateTaintBackoff`, 100 ms.
const RETRY_AFTER_NS: u64 = 100_000_000;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(NodeLifecycle::with_mutants(settings.mutants)))
}

/// A node as it was last seen, and what is under way for it.
#[derive(Debug)]
struct NodeState {
    seen: Arc<NodeEntry>,
    /// When the state that has to be written was seen.
    since_ns: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its taints are as they should be, as far as is known.
    InLine,
    /// To be written with the next calls.
    Queued,
    /// The write is under way, as this call.
    Writing { token: CallToken },
    /// The write was refused and is due again then.
    Refused { due_ns: u64 },
    /// Written as this version, which the watch has not told of yet.
    Written { version: u64 },
}

#[derive(Debug, Default)]
struct Counts {
    nodes_checked: u64,
    taints_added: u64,
    taints_removed: u64,
    retried: u64,
}

/// The controller.
#[derive(Debug)]
pub struct NodeLifecycle {
    nodes: FxHashMap<NodeNameId, NodeState>,
    queue: Vec<NodeNameId>,
    due: BTreeSet<(u64, NodeNameId)>,
    /// Calls that were handed out and not answered. They outlive their nodes.
    writing: FxHashMap<CallToken, NodeNameId>,
    last_token: u64,
    counts: Counts,
    latency: LatencySamples,
    mutants: ControllerMutants,
}

impl NodeLifecycle {
    fn with_mutants(mutants: ControllerMutants) -> NodeLifecycle {
        NodeLifecycle {
            nodes: FxHashMap::default(),
            queue: Vec::new(),
            due: BTreeSet::new(),
            writing: FxHashMap::default(),
            last_token: 0,
            counts: Counts::default(),
            latency: LatencySamples::new("node_tainting"),
            mutants,
        }
    }

    fn on_node(&mut self, entry: &Arc<NodeEntry>, now_ns: u64) {
        let name = entry.name;
        let node = self.nodes.entry(name).or_insert_with(|| NodeState {
            seen: Arc::clone(entry),
            since_ns: now_ns,
            stage: Stage::InLine,
        });
        node.seen = Arc::clone(entry);
        match node.stage {
            Stage::InLine => self.check(name, now_ns),
            Stage::Written { version } if version <= entry.resource_version => self.check(name, now_ns),
            // What is under way is looked at again when it has ended, with the state that is known then.
            Stage::Queued | Stage::Writing { .. } | Stage::Refused { .. } | Stage::Written { .. } => {}
        }
    }

    /// Queues the node if its taints are not what its conditions say.
    fn check(&mut self, name: NodeNameId, now_ns: u64) {
        let Some(node) = self.nodes.get_mut(&name) else { return };
        self.counts.nodes_checked += 1;
        if taints::is_in_line(&node.seen.object, self.mutants) {
            node.stage = Stage::InLine;
            return;
        }
        node.stage = Stage::Queued;
        node.since_ns = now_ns;
        self.queue.push(name);
    }

    fn forget(&mut self, name: NodeNameId) {
        if let Some(NodeState { stage: Stage::Refused { due_ns }, .. }) = self.nodes.remove(&name) {
            self.due.remove(&(due_ns, name));
        }
    }

    fn on_written(&mut self, name: NodeNameId, object: &Object, now_ns: u64) {
        let Some(node) = self.nodes.get_mut(&name) else { return };
        self.latency.record(node.since_ns, now_ns);
        let version = object.metadata().resource_version.as_deref().and_then(|text| text.parse().ok());
        let version = version.unwrap_or(0);
        if node.seen.resource_version < version {
            node.stage = Stage::Written { version };
        } else {
            self.check(name, now_ns);
        }
    }

    fn on_refused(&mut self, name: NodeNameId, error: &ApiError, now_ns: u64) {
        let Some(node) = self.nodes.get_mut(&name) else { return };
        if error.reason == StatusReason::NotFound
            || (error.reason == StatusReason::Conflict
                && self.mutants.has(ControllerMutant::ConflictIsForgotten))
        {
            // The watch will say that it is gone.
            node.stage = Stage::InLine;
            return;
        }
        let due_ns = now_ns.saturating_add(RETRY_AFTER_NS);
        node.stage = Stage::Refused { due_ns };
        self.due.insert((due_ns, name));
        self.counts.retried += 1;
    }
}

impl Controller for NodeLifecycle {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        let WatchedObject::Node(entry) = &event.object else { return };
        match event.kind {
            EventKind::Deleted => self.forget(entry.name),
            EventKind::Added | EventKind::Modified => self.on_node(entry, context.now_ns),
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        while let Some(&(due_ns, name)) = self.due.first()
            && due_ns <= context.now_ns
        {
            self.due.pop_first();
            let since_ns = self.nodes.get(&name).map_or(due_ns, |node| node.since_ns);
            self.check(name, since_ns);
        }
    }

    fn next_wake_ns(&self) -> Option<u64> {
        self.due.first().map(|&(due_ns, _)| due_ns)
    }

    fn take_calls(&mut self, into: &mut Vec<ControllerCall>) {
        for name in self.queue.drain(..) {
            let Some(node) = self.nodes.get_mut(&name).filter(|node| node.stage == Stage::Queued) else {
                continue;
            };
            let (object, change) = taints::brought_in_line(&node.seen.object, self.mutants);
            self.counts.taints_added += change.added;
            self.counts.taints_removed += change.removed;
            self.last_token += 1;
            let token = CallToken(self.last_token);
            node.stage = Stage::Writing { token };
            self.writing.insert(token, name);
            let request = ControllerRequest::Update(Object::Node(Box::new(object)));
            into.push(ControllerCall { token, request });
        }
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some(name) = self.writing.remove(&token) else { return };
        // A node that was deleted meanwhile may be back under its name.
        if self.nodes.get(&name).is_none_or(|node| node.stage != (Stage::Writing { token })) {
            return;
        }
        match answer {
            Ok(ControllerAnswer::Object(object)) => self.on_written(name, object, context.now_ns),
            Ok(_) => {}
            Err(error) => self.on_refused(name, error, context.now_ns),
        }
    }

    fn remaining(&self) -> Remaining {
        let is_idle = self.queue.is_empty() && self.due.is_empty() && self.writing.is_empty();
        if is_idle { Remaining::Nothing } else { Remaining::Work }
    }

    fn report(&self) -> ControllerReport {
        let Counts { nodes_checked, taints_added, taints_removed, retried } = self.counts;
        ControllerReport::of(&[
            ("nodes_checked", nodes_checked),
            ("taints_added", taints_added),
            ("taints_removed", taints_removed),
            ("retried", retried),
        ])
        .timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
