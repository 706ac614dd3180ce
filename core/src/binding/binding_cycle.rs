//! Binding cycles under way, one per pod that has something to do between the choice of a node and
//! its binding.
//!
//! Thousands may be under way at once, and every event of the cluster asks whether one of them waits
//! for it: beginning, ending and asking must not cost a look at all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::framework::points::{PendingPermit, WaitingPod};
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::queue::{PluginNumberSet, ProfileNumber};
use crate::reclaim::Marks;

use super::api_dispatcher::CallId;

/// What a binding cycle waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindingStage {
    /// The API is told which node the pod is meant for, and must answer first.
    WritingNominatedNodeName(CallId),
    /// Permit plugins hold it back; which ones is in [`BindingCycles::waiting_pods`].
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
    pub pre_binds: PluginNumberSet,
    /// What it waits for.
    pub stage: BindingStage,
    /// When its parts began.
    pub times: CycleTimes,
}

/// When the parts of a binding cycle began, 0 for what is not under way or not timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleTimes {
    /// The scheduling cycle of this attempt: always known.
    pub begun_ns: u64,
    /// Waiting at Permit.
    pub permit_ns: u64,
    /// PreBind.
    pub pre_bind_ns: u64,
    /// The PreBind plugin at hand.
    pub plugin_ns: u64,
    /// The parts are timed, not only the whole.
    pub is_timed: bool,
}

/// A cycle and its place among all that ever began.
#[derive(Clone, Debug)]
struct Begun {
    number: u64,
    cycle: BindingCycle,
}

/// Cycles whose PreBind plugin waits for an event, or for its time to be up.
#[derive(Clone, Debug, Default)]
struct PreBindWaits {
    /// By profile and place in its PreBind list, so that an event is held against plugins and not
    /// against pods; each in the order the cycles began.
    by_plugin: BTreeMap<(ProfileNumber, usize), BTreeMap<u64, PodUid>>,
    by_deadline: BTreeMap<(u64, u64), PodUid>,
}

impl PreBindWaits {
    fn insert(&mut self, begun: &Begun) {
        let Begun { number, cycle } = begun;
        if let BindingStage::PreBindWait { at, deadline_ns } = cycle.stage {
            self.by_plugin.entry((cycle.profile, at)).or_default().insert(*number, cycle.uid);
            self.by_deadline.insert((deadline_ns, *number), cycle.uid);
        }
    }

    fn remove(&mut self, begun: &Begun) {
        let Begun { number, cycle } = begun;
        let BindingStage::PreBindWait { at, deadline_ns } = cycle.stage else { return };
        self.by_deadline.remove(&(deadline_ns, *number));
        if let Some(pods) = self.by_plugin.get_mut(&(cycle.profile, at)) {
            pods.remove(number);
            if pods.is_empty() {
                self.by_plugin.remove(&(cycle.profile, at));
            }
        }
    }
}

/// All binding cycles.
#[derive(Clone, Debug, Default)]
pub struct BindingCycles {
    cycles: FxHashMap<PodUid, Begun>,
    /// Cycles that began so far: their numbers give an order that no hash map has.
    begun_count: u64,
    pre_bind_waits: PreBindWaits,
    /// Pods that Permit plugins hold back, in the order they began to wait.
    waiting: Vec<WaitingPod>,
    /// Which pod waits for the answer to a call.
    owners: FxHashMap<CallId, PodUid>,
}

impl BindingCycles {
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
    pub fn waiting_pods(&self) -> &[WaitingPod] {
        &self.waiting
    }

    /// The cycle of a pod.
    #[must_use]
    pub fn get(&self, uid: PodUid) -> Option<&BindingCycle> {
        self.cycles.get(&uid).map(|begun| &begun.cycle)
    }

    /// The cycle of a pod, to be changed; from one stage to another with [`BindingCycles::set_stage`].
    pub(crate) fn get_mut(&mut self, uid: PodUid) -> Option<&mut BindingCycle> {
        self.cycles.get_mut(&uid).map(|begun| &mut begun.cycle)
    }

    /// A pod waits for something else from now on, if it has a cycle.
    pub(crate) fn set_stage(&mut self, uid: PodUid, stage: BindingStage) {
        if let Some(begun) = self.cycles.get_mut(&uid) {
            debug_assert!(begun.number <= self.begun_count, "a cycle began before its stage");
            self.pre_bind_waits.remove(begun);
            begun.cycle.stage = stage;
            self.pre_bind_waits.insert(begun);
        }
    }

    /// Calls whose answers are awaited.
    pub(super) fn owned_calls(&self) -> usize {
        self.owners.len()
    }

    /// Panics where the indexes of PreBind waits do not agree.
    pub(super) fn check_waits(&self) {
        let waits = |begun: &&Begun| matches!(begun.cycle.stage, BindingStage::PreBindWait { .. });
        let waiting = self.cycles.values().filter(waits).count();
        let by_plugin: usize = self.pre_bind_waits.by_plugin.values().map(BTreeMap::len).sum();
        assert_eq!(by_plugin, waiting, "a PreBind wait is found by its plugin");
        assert_eq!(self.pre_bind_waits.by_deadline.len(), waiting, "a PreBind wait is found by its deadline");
        for begun in self.cycles.values() {
            assert!(begun.number <= self.begun_count, "a cycle has a number that was given out");
        }
        for uid in self.owners.values() {
            assert!(self.cycles.contains_key(uid), "a call's owner has a cycle");
        }
    }

    /// Some PreBind plugin waits.
    #[must_use]
    pub fn has_pre_bind_waits(&self) -> bool {
        !self.pre_bind_waits.by_plugin.is_empty()
    }

    /// The pods whose PreBind plugin waits and is wanted, in the order they began, each with the
    /// plugin's place. `is_wanted` is asked once a plugin: with its profile and its place in the list.
    pub fn pre_bind_waits(
        &self,
        mut is_wanted: impl FnMut(ProfileNumber, usize) -> bool,
    ) -> Vec<(PodUid, usize)> {
        let mut found: Vec<(u64, PodUid, usize)> = Vec::new();
        for (&(profile, at), pods) in &self.pre_bind_waits.by_plugin {
            if is_wanted(profile, at) {
                found.extend(pods.iter().map(|(&number, &uid)| (number, uid, at)));
            }
        }
        found.sort_unstable_by_key(|&(number, ..)| number);
        found.into_iter().map(|(_, uid, at)| (uid, at)).collect()
    }

    /// The pods under way, in no order.
    pub fn pods(&self) -> impl Iterator<Item = PodUid> + '_ {
        self.cycles.keys().copied()
    }

    /// Marks what cycles refer to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        for cycle in self.cycles.values().map(|begun| &begun.cycle) {
            marks.class(cycle.class);
            marks.node(cycle.node);
            cycle.left.into_iter().for_each(|node| marks.node(node));
        }
        for pod in &self.waiting {
            marks.class(pod.class_id);
            marks.node(pod.node);
        }
    }

    /// A cycle begins.
    pub fn insert(&mut self, cycle: BindingCycle) {
        self.begun_count += 1;
        let begun = Begun { number: self.begun_count, cycle };
        self.pre_bind_waits.insert(&begun);
        let known = self.cycles.insert(begun.cycle.uid, begun);
        assert!(known.is_none(), "a pod has one binding cycle at a time");
    }

    /// A cycle ends.
    pub fn remove(&mut self, uid: PodUid) -> Option<BindingCycle> {
        let begun = self.cycles.remove(&uid)?;
        self.pre_bind_waits.remove(&begun);
        if !self.waiting.is_empty() {
            self.waiting.retain(|pod| pod.uid != uid);
        }
        let awaited = match &begun.cycle.stage {
            BindingStage::WritingNominatedNodeName(call) | BindingStage::Binding(call) => {
                std::slice::from_ref(call)
            }
            BindingStage::PreBindCalls { left, .. } => left,
            BindingStage::Permit | BindingStage::PreBindWait { .. } => &[],
        };
        for call in awaited {
            self.owners.remove(call);
        }
        debug_assert!(self.owners.values().all(|&owner| owner != uid), "a stage knows what it waits for");
        Some(begun.cycle)
    }

    /// A pod waits for the answer to a call.
    pub fn expect_answer(&mut self, call: CallId, uid: PodUid) {
        let before = self.owners.insert(call, uid);
        debug_assert!(before.is_none(), "one pod waits for a call");
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
    pub fn wait_on_permit(&mut self, uid: PodUid, pending: Vec<PendingPermit>) {
        let BindingCycle { pod: id, class: class_id, node, .. } = self.cycles[&uid].cycle;
        debug_assert!(!pending.is_empty(), "a pod that nobody holds back goes on");
        debug_assert!(!self.is_waiting_on_permit(uid), "a pod waits once");
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
    pub fn is_waiting_on_permit(&self, uid: PodUid) -> bool {
        self.waiting.iter().any(|pod| pod.uid == uid)
    }

    /// Whether PreBind plugins work for a pod: it can still be called back without a word to the API.
    #[must_use]
    pub fn is_in_pre_bind(&self, uid: PodUid) -> bool {
        let stage = self.get(uid).map(|cycle| &cycle.stage);
        matches!(stage, Some(BindingStage::PreBindCalls { .. } | BindingStage::PreBindWait { .. }))
    }

    /// Whether this plugin holds this pod back.
    #[must_use]
    pub fn is_waiting_on_permit_of(&self, uid: PodUid, plugin: &str) -> bool {
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

    /// The PreBind wait whose time was up first, by now.
    #[must_use]
    pub fn expired_pre_bind(&self, now_ns: u64) -> Option<PodUid> {
        let (&(deadline_ns, _), &uid) = self.pre_bind_waits.by_deadline.first_key_value()?;
        (deadline_ns <= now_ns).then_some(uid)
    }

    /// When the next wait ends.
    #[must_use]
    pub fn next_deadline_ns(&self) -> Option<u64> {
        let permits = self.waiting.iter().flat_map(|pod| pod.pending.iter().map(|permit| permit.deadline_ns));
        let pre_bind = self.pre_bind_waits.by_deadline.first_key_value();
        permits.chain(pre_bind.map(|(&(deadline_ns, _), _)| deadline_ns)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(uid: u64, profile: u8, stage: BindingStage) -> BindingCycle {
        BindingCycle {
            uid: PodUid(uid),
            pod: PodId(u32::try_from(uid).expect("small")),
            class: ClassId(0),
            node: NodeId(0),
            left: None,
            profile: ProfileNumber(profile),
            pre_binds: PluginNumberSet::NONE,
            stage,
            times: CycleTimes::default(),
        }
    }

    fn wait(at: usize, deadline_ns: u64) -> BindingStage {
        BindingStage::PreBindWait { at, deadline_ns }
    }

    #[test]
    fn pods_waiting_in_pre_bind_are_found_by_plugin_in_order_of_begin() {
        let mut bindings = BindingCycles::default();
        for (uid, profile, at, deadline_ns) in [(9, 0, 1, 50), (3, 1, 0, 40), (7, 0, 0, 30), (1, 0, 1, 20)] {
            bindings.insert(cycle(uid, profile, BindingStage::Permit));
            bindings.set_stage(PodUid(uid), wait(at, deadline_ns));
        }
        let found = |bindings: &BindingCycles, is_wanted: &dyn Fn(u8, usize) -> bool| {
            let waits = bindings.pre_bind_waits(|profile, at| is_wanted(profile.0, at));
            waits.iter().map(|&(uid, at)| (uid.0, at)).collect::<Vec<_>>()
        };
        assert_eq!(found(&bindings, &|_, _| true), [(9, 1), (3, 0), (7, 0), (1, 1)]);
        assert_eq!(found(&bindings, &|profile, at| profile == 0 && at == 1), [(9, 1), (1, 1)]);
        assert_eq!((bindings.next_deadline_ns(), bindings.expired_pre_bind(19)), (Some(20), None));
        assert_eq!(bindings.expired_pre_bind(100), Some(PodUid(1)), "the earliest first");
        bindings.set_stage(PodUid(1), BindingStage::Permit);
        assert_eq!(bindings.expired_pre_bind(100), Some(PodUid(7)));
        bindings.remove(PodUid(7));
        assert_eq!(found(&bindings, &|_, _| true), [(9, 1), (3, 0)]);
        bindings.remove(PodUid(9));
        bindings.set_stage(PodUid(3), wait(0, 60));
        assert_eq!(bindings.next_deadline_ns(), Some(60), "the later time counts");
        bindings.remove(PodUid(3));
        assert!(!bindings.has_pre_bind_waits());
        assert_eq!(bindings.next_deadline_ns(), None);
    }

    #[test]
    fn ended_binding_cycle_owns_no_call() {
        let stages = [
            BindingStage::WritingNominatedNodeName(CallId(4)),
            BindingStage::Binding(CallId(4)),
            BindingStage::PreBindCalls { at: 0, left: vec![CallId(4), CallId(5)], failed: None },
        ];
        for stage in stages {
            let mut bindings = BindingCycles::default();
            bindings.insert(cycle(1, 0, stage.clone()));
            bindings.expect_answer(CallId(4), PodUid(1));
            if matches!(stage, BindingStage::PreBindCalls { .. }) {
                bindings.expect_answer(CallId(5), PodUid(1));
            }
            bindings.insert(cycle(2, 0, BindingStage::Binding(CallId(6))));
            bindings.expect_answer(CallId(6), PodUid(2));
            bindings.remove(PodUid(1));
            let owned: Vec<bool> = (4..=6).map(|call| bindings.awaits(CallId(call))).collect();
            assert_eq!(owned, [false, false, true], "{stage:?}");
        }
    }
}
