//! Distinct lists of pod conditions, and the steps between them.
//!
//! Thousands of pods wait with the same few messages. A row holds the id of its list; setting a
//! condition is a step from one list to another, which is remembered, so that the second pod to
//! take it costs one hash.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::api::{
    ConditionPatch, ConditionSetId, ConditionStatus, DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER,
    PodConditionEntry,
};

/// A step that setting a condition made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The condition was there already.
    None,
    /// Reason or message differ.
    Text(ConditionSetId),
    /// The condition is new or its status differs.
    Transition(ConditionSetId),
}

/// A step that was made before.
#[derive(Clone, Copy, Debug)]
struct KnownStep {
    from: ConditionSetId,
    step: Step,
    /// Where the list after the step has the condition that was set. Whether a condition takes
    /// this step is decided by comparing it with that one, not by its hash.
    at: usize,
}

/// The table of lists. An id never stands for another list: those that nothing has any more are
/// forgotten, and should one come back it gets another id.
#[derive(Clone, Debug)]
pub(super) struct ConditionTable {
    sets: FxHashMap<u32, Arc<[PodConditionEntry]>>,
    next: u32,
    /// What a list that is forgotten reads as.
    forgotten: Arc<[PodConditionEntry]>,
    by_content: FxHashMap<Arc<[PodConditionEntry]>, ConditionSetId>,
    /// By the hash of list and condition.
    steps: FxHashMap<u64, KnownStep>,
    /// The step taken last: pods of a batch tend to wait for the same reason, and comparing a
    /// message is cheaper than hashing it.
    last: Option<KnownStep>,
    /// The step to [`SCHEDULED`] from each list: every binding takes one.
    to_scheduled: FxHashMap<ConditionSetId, Step>,
    /// The one of them taken last.
    last_scheduled: Option<(ConditionSetId, Step)>,
}

/// How often the table itself holds a list.
const OWN_COUNT: usize = 2;

/// What the API server notes on a pod that gets a node.
const SCHEDULED: ConditionPatch<'static> =
    ConditionPatch { type_: "PodScheduled", status: ConditionStatus::True, reason: "", message: "" };

impl ConditionTable {
    pub(super) fn new() -> Self {
        let empty: Arc<[PodConditionEntry]> = Arc::new([]);
        Self {
            sets: [(0, Arc::clone(&empty))].into_iter().collect(),
            next: 1,
            forgotten: Arc::new([]),
            by_content: [(empty, ConditionSetId(0))].into_iter().collect(),
            steps: FxHashMap::default(),
            last: None,
            to_scheduled: FxHashMap::default(),
            last_scheduled: None,
        }
    }

    /// The id of a list.
    pub(super) fn intern(&mut self, set: Vec<PodConditionEntry>) -> ConditionSetId {
        if let Some(&id) = self.by_content.get(set.as_slice()) {
            return id;
        }
        let id = self.next;
        self.next = id.checked_add(1).expect("fewer than 2^32 lists of conditions");
        let set: Arc<[PodConditionEntry]> = set.into();
        self.sets.insert(id, Arc::clone(&set));
        self.by_content.insert(set, ConditionSetId(id));
        ConditionSetId(id)
    }

    /// The list of an id this table gave out; empty if it is forgotten.
    pub(super) fn get(&self, id: ConditionSetId) -> &Arc<[PodConditionEntry]> {
        self.sets.get(&id.0).unwrap_or(&self.forgotten)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// How many there ever were.
    pub(super) fn given_out(&self) -> u64 {
        u64::from(self.next)
    }

    /// Forgets lists that are neither named here nor held by somebody outside, and all steps.
    pub(super) fn sweep(&mut self, used: &FxHashSet<u32>) {
        let ConditionTable { sets, by_content, .. } = self;
        sets.retain(|id, set| {
            let stays = *id == 0 || Arc::strong_count(set) > OWN_COUNT || used.contains(id);
            if !stays {
                by_content.remove(set);
            }
            stays
        });
        sets.shrink_to(2 * sets.len());
        by_content.shrink_to(2 * by_content.len());
        self.steps = FxHashMap::default();
        self.last = None;
        self.to_scheduled = FxHashMap::default();
        self.last_scheduled = None;
    }

    /// Whether a list says that preemption asks its pod to go.
    ///
    /// Upstream: framework/preemption/util.go `PodTerminatingByPreemption`.
    pub(super) fn is_preempted(&self, id: ConditionSetId) -> bool {
        let target = self.get(id).iter().find(|entry| *entry.type_ == *DISRUPTION_TARGET);
        target.is_some_and(|entry| {
            entry.status == ConditionStatus::True && *entry.reason == *PREEMPTION_BY_SCHEDULER
        })
    }

    /// What setting a condition makes of a list.
    ///
    /// Upstream: pkg/api/pod/util.go `UpdatePodCondition`.
    pub(super) fn set(&mut self, from: ConditionSetId, patch: &ConditionPatch<'_>) -> Step {
        if let Some(last) = self.last
            && self.is_step_of(&last, from, patch)
        {
            return last.step;
        }
        let mut hasher = FxHasher::default();
        (from, patch).hash(&mut hasher);
        let hash = hasher.finish();
        let known = match self.steps.get(&hash) {
            Some(&known) if self.is_step_of(&known, from, patch) => known,
            _ => self.make_step(from, patch),
        };
        self.steps.insert(hash, known);
        self.last = Some(known);
        known.step
    }

    /// What removing a condition makes of a list: nothing, if it is not there with this reason.
    pub(super) fn remove(&mut self, from: ConditionSetId, type_: &str, reason: &str) -> Step {
        let is_meant = |entry: &PodConditionEntry| *entry.type_ == *type_ && *entry.reason == *reason;
        let kept: Vec<PodConditionEntry> =
            self.get(from).iter().filter(|entry| !is_meant(entry)).cloned().collect();
        if kept.len() == self.get(from).len() {
            return Step::None;
        }
        Step::Text(self.intern(kept))
    }

    /// What a binding makes of a list.
    #[inline]
    pub(super) fn set_scheduled(&mut self, from: ConditionSetId) -> Step {
        match self.last_scheduled {
            Some((known, step)) if known == from => step,
            _ => self.other_scheduled(from),
        }
    }

    #[cold]
    fn other_scheduled(&mut self, from: ConditionSetId) -> Step {
        let step = match self.to_scheduled.get(&from) {
            Some(&step) => step,
            None => self.make_step(from, &SCHEDULED).step,
        };
        self.to_scheduled.insert(from, step);
        self.last_scheduled = Some((from, step));
        step
    }

    fn is_step_of(&self, known: &KnownStep, from: ConditionSetId, patch: &ConditionPatch<'_>) -> bool {
        let to = match known.step {
            Step::None => known.from,
            Step::Text(to) | Step::Transition(to) => to,
        };
        known.from == from && is_equal(&self.get(to)[known.at], patch)
    }

    fn make_step(&mut self, from: ConditionSetId, patch: &ConditionPatch<'_>) -> KnownStep {
        let mut set = self.get(from).to_vec();
        let entry = PodConditionEntry {
            type_: patch.type_.into(),
            status: patch.status,
            reason: patch.reason.into(),
            message: patch.message.into(),
        };
        let place = set.iter().position(|old| *old.type_ == *patch.type_);
        let at = place.unwrap_or(set.len());
        let is_transition = place.is_none_or(|at| set[at].status != entry.status);
        if place.is_some_and(|at| set[at] == entry) {
            return KnownStep { from, step: Step::None, at };
        }
        match place {
            Some(at) => set[at] = entry,
            None => set.push(entry),
        }
        let to = self.intern(set);
        let step = if is_transition { Step::Transition(to) } else { Step::Text(to) };
        KnownStep { from, step, at }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let entry_bytes = |entry: &PodConditionEntry| {
            size_of::<PodConditionEntry>() + entry.type_.len() + entry.reason.len() + entry.message.len()
        };
        let content: usize = self.sets.values().flat_map(|set| set.iter()).map(entry_bytes).sum();
        content
            + self.sets.capacity() * (size_of::<(u32, Arc<[PodConditionEntry]>)>() + 1)
            + self.by_content.capacity() * (size_of::<(Arc<[PodConditionEntry]>, ConditionSetId)>() + 1)
            + self.steps.capacity() * (size_of::<(u64, KnownStep)>() + 1)
            + self.to_scheduled.capacity() * (size_of::<(ConditionSetId, Step)>() + 1)
    }
}

fn is_equal(entry: &PodConditionEntry, patch: &ConditionPatch<'_>) -> bool {
    *entry.type_ == *patch.type_
        && entry.status == patch.status
        && *entry.reason == *patch.reason
        && *entry.message == *patch.message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(status: ConditionStatus, message: &str) -> ConditionPatch<'_> {
        ConditionPatch { type_: "PodScheduled", status, reason: "", message }
    }

    #[test]
    fn condition_set_reports_transition_text_change_or_nothing() {
        let mut table = ConditionTable::new();
        let empty = ConditionSetId::default();
        let unfit = scheduled(ConditionStatus::False, "0/1 nodes are available");
        let Step::Transition(waiting) = table.set(empty, &unfit) else {
            panic!("a new condition is a transition")
        };
        assert_eq!(table.set(empty, &unfit), Step::Transition(waiting), "remembered");
        assert_eq!(table.set(waiting, &unfit), Step::None);
        let other_text = scheduled(ConditionStatus::False, "0/2 nodes are available");
        assert!(matches!(table.set(waiting, &other_text), Step::Text(_)));
        let bound = scheduled(ConditionStatus::True, "");
        let Step::Transition(done) = table.set(waiting, &bound) else {
            panic!("another status is a transition")
        };
        assert_eq!(table.get(done).len(), 1, "a condition is replaced by type");
        assert_eq!(table.set(empty, &bound), Step::Transition(done), "equal lists have one id");
    }

    #[test]
    fn a_condition_is_removed_by_type_and_reason() {
        let mut table = ConditionTable::new();
        let empty = ConditionSetId::default();
        let waiting = ConditionPatch {
            type_: "PodScheduled",
            status: ConditionStatus::False,
            reason: "NotReadyForScheduling",
            message: "waiting for claim",
        };
        let Step::Transition(held) = table.set(empty, &waiting) else {
            panic!("a new condition is a transition")
        };
        assert_eq!(table.remove(held, "PodScheduled", "Unschedulable"), Step::None, "another reason");
        assert_eq!(table.remove(held, "PodScheduled", "NotReadyForScheduling"), Step::Text(empty));
        assert_eq!(table.remove(empty, "PodScheduled", "NotReadyForScheduling"), Step::None);
    }

    #[test]
    fn set_scheduled_equals_set_of_pod_scheduled_true() {
        let mut table = ConditionTable::new();
        let empty = ConditionSetId::default();
        let bound = scheduled(ConditionStatus::True, "");
        let unfit = scheduled(ConditionStatus::False, "0/1 nodes are available");
        let Step::Transition(waiting) = table.set(empty, &unfit) else {
            panic!("a new condition is a transition")
        };
        for from in [empty, waiting, empty, waiting] {
            assert_eq!(table.set_scheduled(from), table.set(from, &bound), "from {from:?}");
        }
        let Step::Transition(done) = table.set_scheduled(waiting) else {
            panic!("another status is a transition")
        };
        assert_eq!(table.set_scheduled(done), Step::None);
    }

    #[test]
    fn conditions_of_different_types_coexist() {
        let mut table = ConditionTable::new();
        let bound = scheduled(ConditionStatus::True, "");
        let target = ConditionPatch { type_: "DisruptionTarget", ..bound };
        let Step::Transition(one) = table.set(ConditionSetId::default(), &bound) else {
            panic!("a new condition is a transition")
        };
        let Step::Transition(two) = table.set(one, &target) else {
            panic!("a new condition is a transition")
        };
        assert_eq!(table.set(two, &bound), Step::None);
        assert_eq!(table.set(one, &target), Step::Transition(two));
        assert_eq!(table.set(one, &bound), Step::None, "not the step that led to both");
        let types: Vec<&str> = table.get(two).iter().map(|entry| &*entry.type_).collect();
        assert_eq!(types, ["PodScheduled", "DisruptionTarget"]);
    }
}
