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
//! A node that is not ready gets a taint `NoExecute` too, at the rate of its zone (`zones.rs`);
//! taint-eviction-controller evicts by it.
//!
//! Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go `doNoScheduleTaintingPass`.
//! Differs: upstream gives up after five tries until the node changes again; here it is tried until it
//! succeeds (`conflict_is_tried_again_with_the_newest_state`). Taints of both effects are written in one call.

mod taints;
mod zones;

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
use taints::{NoExecute, ready_of};
use zones::{Asked, EvictionRates, LookedAt, MONITOR_PERIOD_NS, Ready, TAINTING_PERIOD_NS, Zones};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "node-lifecycle-controller",
    about: "taints nodes by their conditions, NoSchedule at once and NoExecute at the rate of their zone",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::None, kinds: &[] },
    sharding: Sharding::None,
    constructor: new,
};

/// Upstream: pkg/controller/util/node/controller_utils.go `SwapNodeControllerTaint` and the backoff of
/// pkg/controller/controller_utils.go `updateTaintBackoff`, 100 ms.
const RETRY_AFTER_NS: u64 = 100_000_000;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    let rates = EvictionRates::read(settings)?;
    Ok(Box::new(NodeLifecycle::new(rates, settings.mutants)))
}

/// A node as it was last seen, and what is under way for it.
#[derive(Debug)]
struct NodeState {
    seen: Arc<NodeEntry>,
    /// When the state that has to be written was seen.
    since_ns: u64,
    stage: Stage,
    /// What its taints `NoExecute` are to be.
    no_execute: NoExecute,
    /// `topology.kubernetes.io/region` and `zone`.
    zone: String,
    /// No look at all nodes has seen it yet.
    is_new: bool,
}

impl NodeState {
    /// The node matters to the next look: it is not ready, or has a taint of a node that is not.
    fn is_unusual(&self) -> bool {
        ready_of(&self.seen.object) != Ready::True || taints::has_no_execute(&self.seen.object)
    }
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
    no_execute_tainted: u64,
    no_execute_cleared: u64,
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
    zones: Zones,
    /// When the controller was first told anything: looks are counted from there.
    started_ns: Option<u64>,
    /// When something changed that the next look may act on.
    must_look_ns: Option<u64>,
    /// The last look, and the last time that nodes were tainted.
    looked_ns: Option<u64>,
    tainted_ns: Option<u64>,
    counts: Counts,
    latency: LatencySamples,
    mutants: ControllerMutants,
}

impl NodeLifecycle {
    fn new(rates: EvictionRates, mutants: ControllerMutants) -> NodeLifecycle {
        NodeLifecycle {
            zones: Zones::new(rates),
            started_ns: None,
            must_look_ns: None,
            looked_ns: None,
            tainted_ns: None,
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
        self.started_ns.get_or_insert(now_ns);
        let node = self.nodes.entry(name).or_insert_with(|| NodeState {
            seen: Arc::clone(entry),
            since_ns: now_ns,
            stage: Stage::InLine,
            no_execute: NoExecute::AsItIs,
            zone: String::new(),
            is_new: true,
        });
        let was_unusual = node.is_unusual();
        node.seen = Arc::clone(entry);
        node.zone = taints::zone_of(&entry.object);
        if was_unusual || node.is_unusual() || self.zones.is_disrupted() {
            self.must_look_ns.get_or_insert(now_ns);
        }
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
        if taints::is_in_line(&node.seen.object, node.no_execute, self.mutants) {
            node.stage = Stage::InLine;
            node.no_execute = NoExecute::AsItIs;
            return;
        }
        node.stage = Stage::Queued;
        node.since_ns = now_ns;
        self.queue.push(name);
    }

    /// Says what a node's taints `NoExecute` are to be, and writes that at once if nothing is under way.
    fn want(&mut self, name: NodeNameId, wanted: NoExecute, now_ns: u64) {
        let Some(node) = self.nodes.get_mut(&name) else { return };
        node.no_execute = wanted;
        if node.stage == Stage::InLine {
            self.check(name, now_ns);
        }
    }

    /// Looks at all nodes, as upstream does every five seconds.
    fn look(&mut self, now_ns: u64) {
        let mut names: Vec<NodeNameId> = self.nodes.keys().copied().collect();
        names.sort_unstable();
        let looked_at = |name: &NodeNameId| {
            let node = &self.nodes[name];
            let object = &node.seen.object;
            let (has_own, has_opposite) = taints::no_execute_taints(object);
            LookedAt {
                name: *name,
                zone: &node.zone,
                ready: ready_of(object),
                is_excluded: taints::is_excluded(object),
                has_own,
                has_opposite,
                is_new: node.is_new,
            }
        };
        let looked_at: Vec<LookedAt<'_>> = names.iter().map(looked_at).collect();
        let asked = self.zones.monitor(&looked_at, now_ns);
        self.nodes.values_mut().for_each(|node| node.is_new = false);
        for asked in asked {
            match asked {
                Asked::Clear(name) => self.want(name, NoExecute::Cleared, now_ns),
                Asked::Swap(name) => self.want(name, NoExecute::Tainted, now_ns),
            }
        }
        self.must_look_ns = None;
    }

    /// The next time that is so many periods after the start.
    fn on_beat(&self, at_ns: u64, period_ns: u64) -> Option<u64> {
        let started_ns = self.started_ns?;
        let beats = at_ns.saturating_sub(started_ns).div_ceil(period_ns);
        Some(started_ns.saturating_add(beats.saturating_mul(period_ns)))
    }

    /// When the next look is due, if one has anything to act on.
    fn look_ns(&self) -> Option<u64> {
        let since_ns = self.must_look_ns?;
        self.on_beat(since_ns.max(self.looked_ns.map_or(0, |looked_ns| looked_ns + 1)), MONITOR_PERIOD_NS)
    }

    fn tainting_ns(&self) -> Option<u64> {
        let due_ns = self.zones.next_due_ns()?;
        self.on_beat(due_ns.max(self.tainted_ns.map_or(0, |tainted_ns| tainted_ns + 1)), TAINTING_PERIOD_NS)
    }

    /// Looks at all nodes, and taints those whose turn it is, if it is time.
    fn keep_zones(&mut self, now_ns: u64) {
        if self.look_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            self.looked_ns = Some(now_ns);
            self.look(now_ns);
        }
        if self.tainting_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            self.tainted_ns = Some(now_ns);
            for name in self.zones.take_due(now_ns) {
                let is_unready = |node: &NodeState| ready_of(&node.seen.object) != Ready::True;
                if self.nodes.get(&name).is_some_and(is_unready) {
                    self.want(name, NoExecute::Tainted, now_ns);
                }
            }
        }
    }

    fn forget(&mut self, name: NodeNameId, now_ns: u64) {
        self.zones.forget(name);
        if self.nodes.get(&name).is_some_and(NodeState::is_unusual) || self.zones.is_disrupted() {
            self.must_look_ns.get_or_insert(now_ns);
        }
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
            EventKind::Deleted => self.forget(entry.name, context.now_ns),
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
        self.keep_zones(context.now_ns);
    }

    fn next_wake_ns(&self) -> Option<u64> {
        let due_ns = self.due.first().map(|&(due_ns, _)| due_ns);
        [due_ns, self.look_ns(), self.tainting_ns()].into_iter().flatten().min()
    }

    fn take_calls(&mut self, _: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        for name in self.queue.drain(..) {
            let Some(node) = self.nodes.get_mut(&name).filter(|node| node.stage == Stage::Queued) else {
                continue;
            };
            let (object, change) = taints::brought_in_line(&node.seen.object, node.no_execute, self.mutants);
            self.counts.taints_added += change.added;
            self.counts.taints_removed += change.removed;
            self.counts.no_execute_tainted += change.no_execute_added;
            self.counts.no_execute_cleared += change.no_execute_removed;
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
        if !self.queue.is_empty() || !self.due.is_empty() || !self.writing.is_empty() {
            Remaining::Work
        } else if self.look_ns().or(self.tainting_ns()).is_some() {
            Remaining::Timers
        } else {
            Remaining::Nothing
        }
    }

    fn report(&self) -> ControllerReport {
        let Counts {
            nodes_checked,
            taints_added,
            taints_removed,
            no_execute_tainted,
            no_execute_cleared,
            retried,
        } = self.counts;
        ControllerReport::of(&[
            ("nodes_checked", nodes_checked),
            ("taints_added", taints_added),
            ("taints_removed", taints_removed),
            ("no_execute_tainted", no_execute_tainted),
            ("no_execute_cleared", no_execute_cleared),
            ("retried", retried),
        ])
        .timed(&self.latency)
    }
}

#[cfg(test)]
mod tests;
