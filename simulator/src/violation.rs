//! What must always hold, by name, how often it was checked, and what is said when it does not.

use std::fmt;

/// Something that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// I1: no pod that fits, or that could make room, stays pending. The flush is off.
    NothingFitsAndWaits,
    /// I2: a pod is in one place: the queue, in flight, at Permit, on its way, or on a node.
    OneOwner,
    /// I3: nothing is in flight, assumed or reserved when nothing moves.
    NothingLeaks,
    /// I4: the nominator says what the API says.
    NominatorEqualsStatus,
    /// I5: a decision takes effect once.
    EffectsOnce,
    /// I6: a pod is tried a few times for each thing that happens, and the cluster comes to rest.
    BoundedAttempts,
    /// I7: nodes and pods are what the events say.
    SnapshotEqualsEvents,
    /// I8: no node is given more than it has.
    NoOvercommitment,
    /// I9: no budget is violated if another choice would not.
    BudgetsHold,
    /// I10: the same seed gives the same bytes.
    SameBytes,
    /// No pod goes to a node that rejects it: taints, selectors, ports, affinity, spreading.
    NodeAccepts,
    /// No pod is lost: it is on a node, waits for a known reason, or is gone.
    NothingLost,
    /// The queue hands out the most important pod first.
    PriorityOrder,
    /// Every write is one that the KEPs allow.
    AllowedWrites,
    /// The scheduler does not panic.
    NoPanic,
    /// At rest a node has the taints that its conditions stand for, and no other of them.
    ConditionTaints,
    /// No pod is evicted by a controller whose execution terms match and whose taints are tolerated, as far
    /// as the controller was told.
    EvictionsAreDue,
    /// No pod stays on a node that no longer suits it.
    NothingOverstays,
    /// `tolerationSeconds` are honoured to the tick.
    TolerationSeconds,
    /// Pods never become more than a resource quota allows, and its status says how many they are.
    QuotaHolds,
    /// No eviction leaves fewer healthy pods than the disruption budget says.
    BudgetsOfEvictions,
    /// No node runs more pods than it has room for, however many schedulers bind to it.
    KubeletsHaveRoom,
    /// At rest every owner has the pods that it asks for.
    OwnersHaveTheirPods,
    /// No gang is bound in part at rest, below its minCount, unless bound members or their bindings were
    /// tampered with.
    GangsAreWhole,
    /// At rest no member of a group that has no place holds room by a nomination.
    GangsKeepNoRoom,
    /// With room for all, every gang of which enough members exist is bound.
    GangsAreComplete,
}

/// All of them, in the order of their numbers.
const ALL: [(Invariant, &str, &str); 26] = [
    (Invariant::NothingFitsAndWaits, "I1", "no pod that fits stays pending"),
    (Invariant::OneOwner, "I2", "one owner per pod"),
    (Invariant::NothingLeaks, "I3", "nothing in flight, assumed or reserved at rest"),
    (Invariant::NominatorEqualsStatus, "I4", "the nominator equals the status"),
    (Invariant::EffectsOnce, "I5", "effects at most once per decision"),
    (Invariant::BoundedAttempts, "I6", "bounded attempts, and rest in the end"),
    (Invariant::SnapshotEqualsEvents, "I7", "the snapshot equals a rebuild"),
    (Invariant::NoOvercommitment, "I8", "no node over-committed"),
    (Invariant::BudgetsHold, "I9", "no budget violated without need"),
    (Invariant::SameBytes, "I10", "same seed, same bytes"),
    (Invariant::NodeAccepts, "accepts", "no pod on a node that rejects it"),
    (Invariant::NothingLost, "lost", "no pod lost"),
    (Invariant::PriorityOrder, "order", "priority order"),
    (Invariant::AllowedWrites, "writes", "only writes the KEPs allow"),
    (Invariant::NoPanic, "panic", "no panic"),
    (Invariant::ConditionTaints, "taints", "condition taints equal conditions"),
    (Invariant::EvictionsAreDue, "evicts", "no pod evicted without a reason"),
    (Invariant::NothingOverstays, "stays", "no pod on a node that does not suit it"),
    (Invariant::TolerationSeconds, "tick", "tolerationSeconds to the tick"),
    (Invariant::QuotaHolds, "quota", "no quota exceeded"),
    (Invariant::BudgetsOfEvictions, "evicted", "no budget broken by an eviction"),
    (Invariant::KubeletsHaveRoom, "room", "no node runs more than it has"),
    (Invariant::OwnersHaveTheirPods, "owners", "owners have their pods"),
    (Invariant::GangsAreWhole, "gangs", "no gang bound below its minCount"),
    (Invariant::GangsKeepNoRoom, "keeps", "no room kept for a gang that gave up"),
    (Invariant::GangsAreComplete, "complete", "every gang bound where there is room for it"),
];

impl Invariant {
    /// Its short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    /// What it says.
    #[must_use]
    pub fn text(self) -> &'static str {
        ALL[self as usize].2
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.text())
    }
}

/// How often each invariant was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts([u64; ALL.len()]);

impl CheckCounts {
    pub(super) fn note(&mut self, invariant: Invariant) {
        self.0[invariant as usize] += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &CheckCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    /// Invariants and counts.
    pub fn iter(&self) -> impl Iterator<Item = (Invariant, u64)> + '_ {
        ALL.iter().map(|(invariant, ..)| *invariant).zip(self.0)
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// What was found.
    pub message: String,
    /// When, in virtual time.
    pub at_ns: u64,
    /// After how many events.
    pub event: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.at_ns as f64 / 1e6;
        write!(f, "{}: {} (at {ms:.3} ms, event {})", self.invariant, self.message, self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invariants_are_indexed_by_their_position() {
        for (at, (invariant, ..)) in ALL.iter().enumerate() {
            assert_eq!(*invariant as usize, at);
        }
    }
}
