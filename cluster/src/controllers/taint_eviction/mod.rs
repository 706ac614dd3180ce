//! Evicts pods that their nodes no longer suit: those that do not tolerate a `NoExecute` taint, or no
//! longer, and those whose required node affinity must hold while they run (KEP-2358) and does not.
//!
//! ```text
//!              node or pod update             condition set, deleted
//!   pod ─────▶ stays ─────────────▶ leaving ─────────────────────▶ tombstone ──watch: gone──▶ (unknown)
//!               │  ▲                 ▲  │ an answer: failed
//!   taint, some │  │ taint gone      │  └─────▶ tried again after 10 ms, four times
//!   time left   ▼  │                 │
//!              delayed ──time is up──┘
//! ```
//!
//! A node and the pods on it are known to one shard alone, so shards share nothing and an update of a node
//! costs the pods of that node. A pod that is leaving is not evicted twice, whatever is heard of its node.
//! After a restart everything is told again, and every pod is compared with its node as it then is.
//!
//! An eviction is two calls: the condition `DisruptionTarget`, and the deletion when that is written.
//!
//! Upstream: pkg/controller/tainteviction, whose structure KEP-2358 takes over: work is sharded by node, an
//! eviction is tried five times, 10 ms apart. With the KEP's gate off pods have no execution terms, and this
//! is upstream's controller.

mod rules;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::input::{NodeInput, PodInput};
use schedlab_core::interner::Vocabulary;

use super::{
    CallToken, ConditionWrite, Controller, ControllerAnswer, ControllerCall, ControllerConfigError,
    ControllerContext, ControllerDescriptor, ControllerMutant, ControllerMutants, ControllerReport,
    ControllerRequest, ControllerSettings, LatencySamples, PodsWatched, Remaining, Sharding, WatchScope,
};
use crate::api::{
    ApiError, ConditionStatus, DISRUPTION_TARGET, EventKind, NodeNameId, NominatedNodeNamePatch, PodFlags,
    SpecId, StatusReason, StoredPodRow, WatchEvent, WatchedObject,
};
use rules::{NodeFacts, Rules, Stay};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "taint-eviction-controller",
    about: "evicts pods by NoExecute taints, and by node affinity required during execution (KEP-2358)",
    started_by_feature_gate: Some("NodeAffinityRequiredDuringExecution"),
    scope: WatchScope { nodes: true, pods: PodsWatched::Evictable, kinds: &[] },
    sharding: Sharding::ByNode { shards: SHARDS },
    constructor: new,
};

/// Upstream: tainteviction/taint_eviction.go `UpdateWorkerSize`.
const SHARDS: usize = 8;
/// Upstream: tainteviction/taint_eviction.go `retries`.
const TRIES_MAX: u8 = 5;
/// Between two tries. Upstream: tainteviction/taint_eviction.go `deletePodHandler`.
const RETRY_AFTER_NS: u64 = 10_000_000;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(TaintEviction::with_mutants(settings.mutants)))
}

/// Why a pod has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Its required node affinity no longer holds.
    Affinity,
    /// It does not tolerate a taint of its node, or no longer.
    Taint,
}

/// A node that was heard of, or whose pods were.
#[derive(Debug, Default)]
struct NodeOnShard {
    /// Absent while the node itself is not there: its pods stay.
    facts: Option<NodeFacts>,
    pods: Vec<PodUid>,
}

/// An eviction under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Eviction {
    cause: Cause,
    /// When the cause reached the controller.
    since_ns: u64,
    tries: u8,
}

/// How a pod stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Stays,
    /// It has time until then, counted from when it was first told.
    Delayed {
        due_ns: u64,
    },
    /// A call is to be made or under way.
    Leaving(Eviction),
    /// A call failed; it is tried again then.
    Refused {
        eviction: Eviction,
        due_ns: u64,
    },
    /// The API has taken the eviction; the pod may still be there for a while.
    Tombstone,
}

#[derive(Debug)]
struct Pod {
    node: NodeNameId,
    spec: SpecId,
    rules: Arc<Rules>,
    standing: Standing,
}

/// Which of an eviction's two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Condition,
    Delete,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    nodes_updated: u64,
    pods_checked: u64,
    evicted_by_affinity: u64,
    evicted_by_taint: u64,
    already_gone: u64,
    retried: u64,
    failed: u64,
    delayed: u64,
    reprieved: u64,
}

/// Some of the nodes and all pods on them: which have to go, and when.
#[derive(Debug)]
pub struct TaintEviction {
    vocabulary: Vocabulary,
    nodes: FxHashMap<NodeNameId, NodeOnShard>,
    pods: FxHashMap<PodUid, Pod>,
    rules: FxHashMap<SpecId, Arc<Rules>>,
    /// When something is to be done about a pod.
    due: BTreeSet<(u64, PodUid)>,
    /// Pods whose call was refused, waiting for the next try.
    refused: usize,
    /// Pods whose condition is to be set, and whose deletion is to be asked for.
    conditions: Vec<PodUid>,
    deletions: Vec<PodUid>,
    /// Calls that were handed out and not answered. They outlive their pods.
    calls: FxHashMap<PodUid, (Step, Eviction)>,
    counts: Counts,
    latency: LatencySamples,
    mutants: ControllerMutants,
}

impl TaintEviction {
    fn with_mutants(mutants: ControllerMutants) -> TaintEviction {
        TaintEviction {
            vocabulary: Vocabulary::default(),
            nodes: FxHashMap::default(),
            pods: FxHashMap::default(),
            rules: FxHashMap::default(),
            due: BTreeSet::new(),
            refused: 0,
            conditions: Vec::new(),
            deletions: Vec::new(),
            calls: FxHashMap::default(),
            counts: Counts::default(),
            latency: LatencySamples::new("pod_deletion"),
            mutants,
        }
    }

    /// A node is there, or has changed. Only a change of labels or taints means work: one look at
    /// each of its pods.
    fn on_node(&mut self, name: NodeNameId, input: &NodeInput, now_ns: u64) {
        let facts = NodeFacts {
            name: self.vocabulary.symbols.intern(&input.name),
            labels: self.vocabulary.label_set(&input.labels),
            taints: self.vocabulary.taint_set(&input.taints),
        };
        let node = self.nodes.entry(name).or_default();
        if node.facts.replace(facts) == Some(facts) {
            return;
        }
        self.counts.nodes_updated += 1;
        // Borrowed for the loop: checking a pod does not move it.
        let pods = std::mem::take(&mut node.pods);
        for &pod in &pods {
            self.check(pod, facts, now_ns);
        }
        self.nodes.entry(name).or_default().pods = pods;
    }

    /// A node is gone. What becomes of its pods is not decided here.
    fn on_node_gone(&mut self, name: NodeNameId) {
        if let Some(node) = self.nodes.get_mut(&name) {
            node.facts = None;
            if node.pods.is_empty() {
                self.nodes.remove(&name);
            }
        }
    }

    /// A pod runs on a node. It is compared with the node when it comes and when its spec changes;
    /// `input` is asked for once a spec.
    fn on_pod(
        &mut self,
        uid: PodUid,
        node: NodeNameId,
        (spec, input): (SpecId, impl FnOnce() -> Arc<PodInput>),
        now_ns: u64,
    ) {
        let known = self.pods.get(&uid).map(|pod| pod.spec);
        if known == Some(spec) {
            return;
        }
        let (vocabulary, mutants) = (&mut self.vocabulary, self.mutants);
        let rules =
            self.rules.entry(spec).or_insert_with(|| Arc::new(Rules::of(&input(), vocabulary, mutants)));
        let rules = Arc::clone(rules);
        let on = self.nodes.entry(node).or_default();
        let facts = on.facts;
        match self.pods.get_mut(&uid) {
            Some(pod) => (pod.spec, pod.rules) = (spec, rules),
            None => {
                on.pods.push(uid);
                self.pods.insert(uid, Pod { node, spec, rules, standing: Standing::Stays });
            }
        }
        if let Some(facts) = facts.filter(|_| !self.mutants.has(ControllerMutant::LateCheckIsSkipped)) {
            self.check(uid, facts, now_ns);
        }
    }

    /// A pod is gone, finished, or on its way out.
    fn on_pod_gone(&mut self, uid: PodUid) {
        let Some(pod) = self.pods.remove(&uid) else { return };
        match pod.standing {
            Standing::Delayed { due_ns } => drop(self.due.remove(&(due_ns, uid))),
            Standing::Refused { due_ns, .. } => {
                self.due.remove(&(due_ns, uid));
                self.refused -= 1;
            }
            Standing::Stays | Standing::Leaving(_) | Standing::Tombstone => {}
        }
        let Some(node) = self.nodes.get_mut(&pod.node) else { return };
        if let Some(at) = node.pods.iter().position(|&other| other == uid) {
            node.pods.swap_remove(at);
        }
        if node.pods.is_empty() && node.facts.is_none() {
            self.nodes.remove(&pod.node);
        }
    }

    /// Upstream: tainteviction/taint_eviction.go `processPodOnNode`.
    fn check(&mut self, uid: PodUid, node: NodeFacts, now_ns: u64) {
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        let delayed_ns = match pod.standing {
            Standing::Stays => None,
            Standing::Delayed { due_ns } => Some(due_ns),
            Standing::Leaving(_) | Standing::Refused { .. } | Standing::Tombstone => return,
        };
        self.counts.pods_checked += 1;
        let cause = match pod.rules.stay(node, &self.vocabulary) {
            Stay::Forever => {
                if delayed_ns.is_some() && self.mutants.has(ControllerMutant::EvictionIsNotCancelled) {
                    return;
                }
                pod.standing = Standing::Stays;
                if let Some(due_ns) = delayed_ns {
                    self.due.remove(&(due_ns, uid));
                    self.counts.reprieved += 1;
                }
                return;
            }
            Stay::For(time_ns) if time_ns > 0 => return self.delay(uid, delayed_ns, now_ns, time_ns),
            Stay::For(_) | Stay::NotTolerated => Cause::Taint,
            Stay::NotSelected => Cause::Affinity,
        };
        if let Some(due_ns) = delayed_ns {
            self.due.remove(&(due_ns, uid));
        }
        self.evict(uid, Eviction { cause, since_ns: now_ns, tries: 1 });
    }

    /// The time runs from the first taint on; another one does not prolong it.
    fn delay(&mut self, uid: PodUid, delayed_ns: Option<u64>, now_ns: u64, time_ns: u64) {
        if let Some(due_ns) = delayed_ns {
            if !self.mutants.has(ControllerMutant::TolerationIsProlonged) {
                return;
            }
            self.due.remove(&(due_ns, uid));
        }
        let due_ns = now_ns.saturating_add(time_ns);
        self.pods.get_mut(&uid).expect("the caller has it").standing = Standing::Delayed { due_ns };
        self.due.insert((due_ns, uid));
        self.counts.delayed += 1;
    }

    fn evict(&mut self, uid: PodUid, eviction: Eviction) {
        let pod = self.pods.get_mut(&uid).expect("the caller has it");
        pod.standing = Standing::Leaving(eviction);
        self.conditions.push(uid);
    }

    /// Hands out a call for each pod that still stands as it did when the call was wanted.
    fn hand_out(&mut self, step: Step, wanted: &mut Vec<PodUid>, into: &mut Vec<ControllerCall>) {
        for uid in wanted.drain(..) {
            let Some(Standing::Leaving(eviction)) = self.pods.get(&uid).map(|pod| pod.standing) else {
                continue;
            };
            self.calls.insert(uid, (step, eviction));
            let request = match step {
                Step::Condition => disruption(uid, eviction.cause),
                Step::Delete => ControllerRequest::DeletePod(uid),
            };
            into.push(ControllerCall { token: CallToken(uid.0), request });
        }
    }

    fn on_taken(&mut self, uid: PodUid, step: Step, eviction: Eviction, now_ns: u64) {
        if step == Step::Condition {
            self.deletions.push(uid);
            return;
        }
        match eviction.cause {
            Cause::Affinity => self.counts.evicted_by_affinity += 1,
            Cause::Taint => self.counts.evicted_by_taint += 1,
        }
        self.latency.record(eviction.since_ns, now_ns);
        self.put(uid, Standing::Tombstone);
    }

    fn on_refused(&mut self, uid: PodUid, eviction: Eviction, error: &ApiError, now_ns: u64) {
        if error.reason == StatusReason::NotFound {
            self.counts.already_gone += 1;
            self.put(uid, Standing::Tombstone);
        } else if !self.pods.contains_key(&uid) {
            // The watch was faster: there is nothing left to evict.
        } else if eviction.tries < TRIES_MAX {
            let due_ns = now_ns.saturating_add(RETRY_AFTER_NS);
            let eviction = Eviction { tries: eviction.tries + 1, ..eviction };
            self.put(uid, Standing::Refused { eviction, due_ns });
            self.due.insert((due_ns, uid));
            self.refused += 1;
            self.counts.retried += 1;
        } else {
            // Given up, until its node changes again.
            self.put(uid, Standing::Stays);
            self.counts.failed += 1;
        }
    }

    fn put(&mut self, uid: PodUid, standing: Standing) {
        if let Some(pod) = self.pods.get_mut(&uid) {
            pod.standing = standing;
        }
    }
}

impl Controller for TaintEviction {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match (&event.object, event.kind) {
            (WatchedObject::Node(entry), EventKind::Deleted) => self.on_node_gone(entry.name),
            (WatchedObject::Node(entry), _) => self.on_node(entry.name, &entry.input, context.now_ns),
            (WatchedObject::Pod(row), kind) => {
                let Some(node) = row.node else { return };
                if kind == EventKind::Deleted || is_leaving(row) {
                    return self.on_pod_gone(row.uid);
                }
                let input = || Arc::clone(&context.tables.pod_spec(row.spec).input);
                self.on_pod(row.uid, node, (row.spec, input), context.now_ns);
            }
            (WatchedObject::PodEvent(_) | WatchedObject::Other(_), _) => {}
        }
    }

    /// Pods whose time is up have to go, and evictions that failed are tried again.
    fn advance(&mut self, context: ControllerContext<'_>) {
        while let Some(&(due_ns, uid)) = self.due.first()
            && due_ns <= context.now_ns
        {
            self.due.pop_first();
            match self.pods.get(&uid).map(|pod| pod.standing) {
                Some(Standing::Delayed { .. }) => {
                    self.evict(uid, Eviction { cause: Cause::Taint, since_ns: due_ns, tries: 1 });
                }
                Some(Standing::Refused { eviction, .. }) => {
                    self.refused -= 1;
                    self.evict(uid, eviction);
                }
                Some(Standing::Stays | Standing::Leaving(_) | Standing::Tombstone) | None => {}
            }
        }
    }

    fn next_wake_ns(&self) -> Option<u64> {
        self.due.first().map(|&(due_ns, _)| due_ns)
    }

    /// All conditions, then all deletions: two batches.
    fn take_calls(&mut self, _: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        let mut conditions = std::mem::take(&mut self.conditions);
        let mut deletions = std::mem::take(&mut self.deletions);
        self.hand_out(Step::Condition, &mut conditions, into);
        self.hand_out(Step::Delete, &mut deletions, into);
        // Their memory is kept.
        (self.conditions, self.deletions) = (conditions, deletions);
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let uid = PodUid(token.0);
        let Some((step, eviction)) = self.calls.remove(&uid) else { return };
        match answer {
            Ok(_) => self.on_taken(uid, step, eviction, context.now_ns),
            Err(error) => self.on_refused(uid, eviction, error, context.now_ns),
        }
    }

    fn remaining(&self) -> Remaining {
        let has_calls = !self.conditions.is_empty() || !self.deletions.is_empty() || !self.calls.is_empty();
        if has_calls || self.refused > 0 {
            Remaining::Work
        } else if self.due.is_empty() {
            Remaining::Nothing
        } else {
            Remaining::Timers
        }
    }

    fn report(&self) -> ControllerReport {
        let counts = &self.counts;
        ControllerReport::of(&[
            ("nodes_updated", counts.nodes_updated),
            ("pods_checked", counts.pods_checked),
            ("evicted_by_affinity", counts.evicted_by_affinity),
            ("evicted_by_taint", counts.evicted_by_taint),
            ("already_gone", counts.already_gone),
            ("retried", counts.retried),
            ("failed", counts.failed),
            ("delayed", counts.delayed),
            ("reprieved", counts.reprieved),
        ])
        .timed(&self.latency)
    }
}

fn is_leaving(row: &StoredPodRow) -> bool {
    row.phase.is_finished() || row.flags.contains(PodFlags::TERMINATING)
}

/// The condition that tells others why the pod goes.
/// Upstream: tainteviction/taint_eviction.go `addConditionAndDeletePod`.
fn disruption(pod: PodUid, cause: Cause) -> ControllerRequest {
    let (reason, message) = match cause {
        Cause::Affinity => (
            "DeletionByNodeAffinityManager",
            "Node affinity manager: deleting because required node affinity no longer holds",
        ),
        Cause::Taint => ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"),
    };
    ControllerRequest::PatchPodStatus {
        pod,
        condition: Some(ConditionWrite {
            type_: Cow::Borrowed(DISRUPTION_TARGET),
            status: ConditionStatus::True,
            reason: Cow::Borrowed(reason),
            message: Cow::Borrowed(message),
        }),
        nomination: NominatedNodeNamePatch::Keep,
        phase: None,
    }
}

#[cfg(test)]
mod tests;
