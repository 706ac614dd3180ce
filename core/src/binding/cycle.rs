//! Binding cycles under way, one per pod that has something to do between the choice of a node and
//! its binding.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::framework::points::{PendingPermit, WaitingPod};
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::queue::{PluginSet, ProfileNumber};

use super::dispatcher::CallId;

/// What a binding cycle waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The API is told which node the pod is meant for, and must answer first.
    Announcing(CallId),
    /// Permit plugins hold it back; which ones is in [`Bindings::waiting`].
    Permit,
    /// A PreBind plugin's calls are on their way.
    PreBindCalls {
        /// Index into the profile's PreBind plugins.
        at: usize,
        /// Calls not yet answered.
        left: Vec<CallId>,
        /// The first that failed.
        failed: Option<Arc<str>>,
    },
    /// A PreBind plugin waits for an event.
    PreBindWait {
        /// Index into the profile's PreBind plugins.
        at: usize,
        /// Until when.
        deadline_ns: u64,
    },
    /// The binding is on its way.
    Binding(CallId),
}

/// One pod on its way to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingCycle {
    /// The pod.
    pub uid: PodUid,
    /// Its row.
    pub pod: PodId,
    /// Its class.
    pub class: ClassId,
    /// Where it goes.
    pub node: NodeId,
    /// Another node that was held for it before.
    pub left: Option<NodeId>,
    /// Whose it is.
    pub profile: ProfileNumber,
    /// PreBind plugins that have something to do.
    pub pre_binds: PluginSet,
    /// What it waits for.
    pub stage: Stage,
}

/// All binding cycles.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    cycles: FxHashMap<PodUid, BindingCycle>,
    /// In the order they began, so that nothing depends on the order of a hash map.
    order: Vec<PodUid>,
    /// Pods that Permit plugins hold back, in the order they began to wait.
    waiting: Vec<WaitingPod>,
    /// Which pod waits for the answer to a call.
    owners: FxHashMap<CallId, PodUid>,
}

impl Bindings {
    /// No cycle is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cycles.is_empty()
    }

    /// Cycles under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cycles.len()
    }

    /// Pods that Permit plugins hold back.
    #[must_use]
    pub fn waiting(&self) -> &[WaitingPod] {
        &self.waiting
    }

    /// The cycle of a pod.
    #[must_use]
    pub fn get(&self, uid: PodUid) -> Option<&BindingCycle> {
        self.cycles.get(&uid)
    }

    /// The cycle of a pod, to be changed.
    pub fn get_mut(&mut self, uid: PodUid) -> Option<&mut BindingCycle> {
        self.cycles.get_mut(&uid)
    }

    /// The pods under way, in the order they began.
    #[must_use]
    pub fn pods(&self) -> &[PodUid] {
        &self.order
    }

    /// A cycle begins.
    pub fn insert(&mut self, cycle: BindingCycle) {
        self.order.push(cycle.uid);
        let known = self.cycles.insert(cycle.uid, cycle);
        assert!(known.is_none(), "a pod has one binding cycle at a time");
    }

    /// A cycle ends.
    pub fn remove(&mut self, uid: PodUid) -> Option<BindingCycle> {
        let cycle = self.cycles.remove(&uid)?;
        self.order.retain(|&other| other != uid);
        self.waiting.retain(|pod| pod.uid != uid);
        if !self.owners.is_empty() {
            self.owners.retain(|_, owner| *owner != uid);
        }
        Some(cycle)
    }

    /// A pod waits for the answer to a call.
    pub fn expect_answer(&mut self, call: CallId, uid: PodUid) {
        self.owners.insert(call, uid);
    }

    /// The pod that waits for the answer to a call.
    pub fn take_owner(&mut self, call: CallId) -> Option<PodUid> {
        self.owners.remove(&call)
    }

    /// Whether some pod waits for the answer to a call.
    #[must_use]
    pub fn awaits(&self, call: CallId) -> bool {
        self.owners.contains_key(&call)
    }

    /// A pod begins to wait for Permit plugins.
    pub fn wait(&mut self, uid: PodUid, pending: Vec<PendingPermit>) {
        let cycle = &self.cycles[&uid];
        let BindingCycle { pod: id, class: class_id, node, .. } = *cycle;
        self.waiting.push(WaitingPod { uid, id, class_id, node, pending });
    }

    /// A plugin no longer holds a pod back. Whether that was the last one.
    pub fn allow(&mut self, uid: PodUid, plugin: &str) -> bool {
        let Some(at) = self.waiting.iter().position(|pod| pod.uid == uid) else { return false };
        let pending = &mut self.waiting[at].pending;
        pending.retain(|permit| permit.plugin != plugin);
        let is_free = pending.is_empty();
        if is_free {
            self.waiting.remove(at);
        }
        is_free
    }

    /// Whether a Permit plugin holds a pod back.
    #[must_use]
    pub fn is_held(&self, uid: PodUid) -> bool {
        self.waiting.iter().any(|pod| pod.uid == uid)
    }

    /// Whether PreBind plugins work for a pod: it can still be called back without a word to the API.
    #[must_use]
    pub fn is_in_pre_bind(&self, uid: PodUid) -> bool {
        let stage = self.cycles.get(&uid).map(|cycle| &cycle.stage);
        matches!(stage, Some(Stage::PreBindCalls { .. } | Stage::PreBindWait { .. }))
    }

    /// Whether this plugin holds this pod back.
    #[must_use]
    pub fn is_held_by(&self, uid: PodUid, plugin: &str) -> bool {
        let of_pod = |pod: &&WaitingPod| pod.uid == uid;
        let held = self.waiting.iter().find(of_pod);
        held.is_some_and(|pod| pod.pending.iter().any(|permit| permit.plugin == plugin))
    }

    /// The permit whose time was up first, by now.
    #[must_use]
    pub fn expired_permit(&self, now_ns: u64) -> Option<(PodUid, PendingPermit)> {
        let permits = self.waiting.iter().flat_map(|pod| pod.pending.iter().map(|permit| (pod.uid, *permit)));
        let expired = permits.filter(|(_, permit)| permit.deadline_ns <= now_ns);
        // The first of equals, so that the order of waiting decides.
        expired.reduce(|first, other| if other.1.deadline_ns < first.1.deadline_ns { other } else { first })
    }

    /// A PreBind wait whose time is up.
    #[must_use]
    pub fn expired_pre_bind(&self, now_ns: u64) -> Option<PodUid> {
        let is_up = |uid: &&PodUid| matches!(self.cycles[*uid].stage, Stage::PreBindWait { deadline_ns, .. } if deadline_ns <= now_ns);
        self.order.iter().find(is_up).copied()
    }

    /// When the next wait ends.
    #[must_use]
    pub fn next_deadline_ns(&self) -> Option<u64> {
        let permits = self.waiting.iter().flat_map(|pod| pod.pending.iter().map(|permit| permit.deadline_ns));
        let waits = self.cycles.values().filter_map(|cycle| match cycle.stage {
            Stage::PreBindWait { deadline_ns, .. } => Some(deadline_ns),
            _ => None,
        });
        permits.chain(waits).min()
    }
}
