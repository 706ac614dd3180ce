//! Some of the nodes and all pods on them: who has to go, and when.
//!
//! ```text
//!              node or pod update           answer: done
//!   pod ─────▶ stays ─────────────▶ leaving ───────────▶ tombstone ──watch: gone──▶ (unknown)
//!               │  ▲                 ▲  │ answer: failed
//!   taint, some │  │ taint gone      │  └─────▶ tried again after 10 ms, four times
//!   time left   ▼  │                 │
//!              delayed ──time is up──┘
//! ```
//!
//! A pod that is leaving is not evicted twice, whatever is heard of its node. After a restart
//! everything is told again, and every pod is compared with its node as it then is.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::input::{NodeInput, PodInput};
use schedlab_core::interner::Vocabulary;

use super::report::ExecutionCounts;
use super::rules::{NodeFacts, Rules, Stay};
use crate::api::{ApiError, NodeNameId, Reason, SpecId};

/// Upstream: tainteviction/taint_eviction.go `retries`.
const TRIES_MAX: u8 = 5;
/// Between two tries.
const RETRY_AFTER_NS: u64 = 10_000_000;

/// Why a pod has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its required node affinity no longer holds.
    Affinity,
    /// It does not tolerate a taint of its node, or no longer.
    Taint,
}

/// A pod to be evicted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The pod.
    pub pod: PodUid,
    /// Why.
    pub cause: Cause,
    /// When the cause reached the shard.
    pub since_ns: u64,
}

/// A node that was heard of, or whose pods were.
#[derive(Debug, Default)]
struct Node {
    /// Absent while the node itself is not there: its pods stay.
    facts: Option<NodeFacts>,
    pods: Vec<PodUid>,
}

/// How a pod stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Stays,
    /// It has time until then, counted from when it was first told.
    Delayed {
        due_ns: u64,
    },
    /// An eviction is under way, or will be tried again.
    Leaving {
        cause: Cause,
        since_ns: u64,
        tries: u8,
    },
    /// The API has taken the eviction; the pod may still be there for a while.
    Tombstone,
}

#[derive(Debug)]
struct Pod {
    node: NodeNameId,
    rules: Arc<Rules>,
    standing: Standing,
}

/// The state of a shard.
#[derive(Debug, Default)]
pub struct Shard {
    vocabulary: Vocabulary,
    nodes: FxHashMap<NodeNameId, Node>,
    pods: FxHashMap<PodUid, Pod>,
    rules: FxHashMap<SpecId, Arc<Rules>>,
    /// When something is to be done about a pod.
    due: BTreeSet<(u64, PodUid)>,
    evictions: Vec<Eviction>,
    counts: ExecutionCounts,
}

impl Shard {
    /// A node is there, or has changed. Only a change of labels or taints means work: one look at
    /// each of its pods.
    pub fn on_node(&mut self, name: NodeNameId, input: &NodeInput, now_ns: u64) {
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
    pub fn on_node_gone(&mut self, name: NodeNameId) {
        if let Some(node) = self.nodes.get_mut(&name) {
            node.facts = None;
            if node.pods.is_empty() {
                self.nodes.remove(&name);
            }
        }
    }

    /// A pod runs on a node. It is compared with the node once; `input` is asked for once a spec.
    pub fn on_pod(
        &mut self,
        pod: PodUid,
        node: NodeNameId,
        (spec, input): (SpecId, impl FnOnce() -> Arc<PodInput>),
        now_ns: u64,
    ) {
        if self.pods.contains_key(&pod) {
            return;
        }
        let vocabulary = &mut self.vocabulary;
        let rules = self.rules.entry(spec).or_insert_with(|| Arc::new(Rules::of(&input(), vocabulary)));
        let rules = Arc::clone(rules);
        self.pods.insert(pod, Pod { node, rules, standing: Standing::Stays });
        let on = self.nodes.entry(node).or_default();
        on.pods.push(pod);
        if let Some(facts) = on.facts {
            self.check(pod, facts, now_ns);
        }
    }

    /// A pod is gone, finished, or on its way out.
    pub fn on_pod_gone(&mut self, uid: PodUid) {
        let Some(pod) = self.pods.remove(&uid) else { return };
        if let Standing::Delayed { due_ns } = pod.standing {
            self.due.remove(&(due_ns, uid));
        }
        let Some(node) = self.nodes.get_mut(&pod.node) else { return };
        if let Some(at) = node.pods.iter().position(|&other| other == uid) {
            node.pods.swap_remove(at);
        }
        if node.pods.is_empty() && node.facts.is_none() {
            self.nodes.remove(&pod.node);
        }
    }

    /// Time has passed: pods whose time is up have to go, and evictions that failed are tried again.
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(&(due_ns, uid)) = self.due.first()
            && due_ns <= now_ns
        {
            self.due.pop_first();
            let Some(pod) = self.pods.get_mut(&uid) else { continue };
            match pod.standing {
                Standing::Delayed { .. } => {
                    let (cause, since_ns) = (Cause::Taint, due_ns);
                    pod.standing = Standing::Leaving { cause, since_ns, tries: 1 };
                    self.evictions.push(Eviction { pod: uid, cause, since_ns });
                }
                Standing::Leaving { cause, since_ns, .. } => {
                    self.evictions.push(Eviction { pod: uid, cause, since_ns });
                }
                Standing::Stays | Standing::Tombstone => {}
            }
        }
    }

    /// When [`Shard::advance`] has something to do.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.due.first().map(|&(due_ns, _)| due_ns)
    }

    /// Pods to be evicted, each handed out once a try.
    pub fn take_evictions(&mut self) -> Vec<Eviction> {
        std::mem::take(&mut self.evictions)
    }

    /// How an eviction ended.
    pub fn on_answer(&mut self, uid: PodUid, answer: &Result<(), ApiError>, now_ns: u64) {
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        let Standing::Leaving { cause, since_ns, tries } = pod.standing else { return };
        match answer {
            Ok(()) => {
                pod.standing = Standing::Tombstone;
                match cause {
                    Cause::Affinity => self.counts.evicted_by_affinity += 1,
                    Cause::Taint => self.counts.evicted_by_taint += 1,
                }
            }
            Err(error) if error.reason == Reason::NotFound => {
                pod.standing = Standing::Tombstone;
                self.counts.already_gone += 1;
            }
            Err(_) if tries < TRIES_MAX => {
                pod.standing = Standing::Leaving { cause, since_ns, tries: tries + 1 };
                self.due.insert((now_ns.saturating_add(RETRY_AFTER_NS), uid));
                self.counts.retried += 1;
            }
            Err(_) => {
                // Given up, until its node changes again.
                pod.standing = Standing::Stays;
                self.counts.failed += 1;
            }
        }
    }

    /// What was done so far.
    #[must_use]
    pub fn counts(&self) -> ExecutionCounts {
        self.counts
    }

    /// Upstream: tainteviction/taint_eviction.go `processPodOnNode`.
    fn check(&mut self, uid: PodUid, node: NodeFacts, now_ns: u64) {
        let Shard { pods, vocabulary, due, evictions, counts, .. } = self;
        let Some(pod) = pods.get_mut(&uid) else { return };
        if !matches!(pod.standing, Standing::Stays | Standing::Delayed { .. }) {
            return;
        }
        counts.pods_checked += 1;
        let cause = match pod.rules.stay(node, vocabulary) {
            Stay::Forever => {
                if let Standing::Delayed { due_ns } = pod.standing {
                    due.remove(&(due_ns, uid));
                    counts.reprieved += 1;
                }
                pod.standing = Standing::Stays;
                return;
            }
            // The time runs from the first taint on; another one does not prolong it.
            Stay::For(_) if matches!(pod.standing, Standing::Delayed { .. }) => return,
            Stay::For(time_ns) if time_ns > 0 => {
                let due_ns = now_ns.saturating_add(time_ns);
                pod.standing = Standing::Delayed { due_ns };
                due.insert((due_ns, uid));
                counts.delayed += 1;
                return;
            }
            Stay::For(_) | Stay::NotTolerated => Cause::Taint,
            Stay::NotSelected => Cause::Affinity,
        };
        if let Standing::Delayed { due_ns } = pod.standing {
            due.remove(&(due_ns, uid));
        }
        pod.standing = Standing::Leaving { cause, since_ns: now_ns, tries: 1 };
        evictions.push(Eviction { pod: uid, cause, since_ns: now_ns });
    }
}

#[cfg(test)]
mod tests;
