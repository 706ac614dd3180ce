//! Known faults of kube-scheduler as switchable defects of this core, to find out whether the
//! simulator would have found them.
//!
//! With the feature `mutants` (test builds only) a scheduler can be given one of them. Without it
//! [`Mutants`] is empty, every question is answered `false` at compile time, and nothing is left of
//! the defects. Each mutant takes away the one thing that keeps our core from the fault of the thread it
//! names; what the fault looks like from outside is for the simulator to find.

/// A defect that kube-scheduler has or had, or that ours had until the simulator found it. Thread numbers
/// are kubernetes/kubernetes unless said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mutant {
    /// #141694: a victim that was gone before it was asked to go ends the preemption silently; the
    /// event of its end came while the preemptor was held back.
    RedundantPreemption,
    /// #140082: a victim gives its node up in memory while the preemptor is still held back, and
    /// nothing wakes it afterwards.
    CancelledVictim,
    /// PR #139162: a preemptor that was held back is let in by the hint of whoever rejected it, or not
    /// at all.
    GatedForEver,
    /// #138316: a pod that is deleted and made again while it is in flight leaves its place there
    /// behind, and events are kept for it.
    RecreatedInFlight,
    /// #134249: the preemptor is not held back while its victims are being evicted.
    SecondPreemption,
    /// #134217: a victim on its way to the node keeps its room after its deletion, until its binding
    /// has failed.
    BindingVictimStays,
    /// #135900: the status is written after every attempt, although it says the same.
    StatusFlood,
    /// PR #139602: a patch that waits behind a binding is sent when that has succeeded.
    PatchAfterBind,
    /// PR #120413: events are forgotten when any pod in flight is done with, not only the oldest.
    InFlightEventsLost,
    /// PR #120334: a pod that failed without a rejection keeps the plugins that rejected it before.
    StaleRejectors,
    /// PR #119784: nobody is told that a pod which comes back from an attempt is ready.
    NoBroadcast,
    /// PR #119729: a pod whose binding failed is done with twice, the second time out of the queue.
    DoubleDone,
    /// PR #126962: a pod that is skipped because it terminates stays in flight.
    SkippedWithoutDone,
    /// #118226: an update of a pod that is on its way to a node puts it into the queue.
    QueuedWhileBinding,
    /// #126700: nobody is told that room which was held for a nominated pod is free.
    NominationMovesSilently,
    /// #109236: a pod that is nominated to another node keeps its room on the first.
    PhantomNomination,
    /// #106780, #85677: a nomination is not cleared when a pod of higher priority takes the node, or
    /// after a failed attempt without the gate of KEP-5278.
    NominationNeverCleared,
    /// #102339: room stays held for a nominated pod that was deleted.
    GhostNomination,
    /// #86942: room stays held for a nominated pod that went to a node.
    BoundStillNominated,
    /// #72124: the nominator learns of a preemptor's nomination from the API only.
    NominationUnseen,
    /// #92600, #95752: a preemptor waits for its victims on the nominated node although it cannot
    /// run there any more.
    StuckOnNominated,
    /// #63262: a node that comes back under its name is taken for the node it was.
    NodeReborn,
    /// PR #106102, #104521: the deletion of a pod is missed unless its binding was seen.
    MissedDelete,
    /// #91492: budgets are read one change late.
    StaleBudgets,
    /// scheduler-plugins#293: a pod that Permit rejects keeps its nomination.
    GangKeepsNomination,
    /// koordinator PR #3190: a pod whose binding failed for an error is not given back to the queue.
    ErrorHandlerSuppressed,
    /// PR #127427: a plugin does not hear of an event that helps: NodeUnschedulable, of nodes that can
    /// be used again.
    ForgottenEvent,
    /// #130429: a scheduler fills the room that another scheduler's nominated pod waits for; the two go on
    /// for ever, one evicting and the other filling.
    ForeignNominationIgnored,
    /// interpodaffinity/plugin.go, podtopologyspread/plugin.go: no pod is woken when a node leaves a domain,
    /// or is not counted any more, while its pods remain.
    DomainLeftUnheard,
    /// nominator.go: what a patch of ours wrote is not known before the watch tells of it.
    OwnWriteUnseen,
    /// KEP-5278: a failed attempt clears the nomination although the gate is on.
    NominationClearedAnyway,
    /// A nominated pod holds no room against pods of its own priority.
    EqualsTakeRoom,
    /// KEP-1923, its first design: the fresh cycle after a missed nomination draws among equally good nodes
    /// although the victims on the missed one are on their way out; preemptors move for ever.
    MissMovesNomination,
    /// #141953: no pod is woken when the labels of a namespace change that its terms select by.
    NamespaceUnheard,
    /// executor.go: a victim is deleted without the condition `DisruptionTarget`.
    DisruptionUntold,
    /// preemption/util.go `PodTerminatingByPreemption`: the condition is not read, so a scheduler that was
    /// restarted does not know whose victims are leaving.
    VictimsForgotten,
    /// eventhandlers.go `updatePodInSchedulingQueue`: a nomination that was given up before it was written
    /// is no event, and nobody is told of its room.
    UnwrittenNominationUnheard,
    /// schedule_one_podgroup.go: members that found a node are bound although their gang has no place.
    GangBoundInPart,
    /// podgroupstate.go `AllPodsCount`: members that were bound before the scheduler began do not count.
    GangForgetsItsBound,
    /// gangscheduling.go `isSchedulableAfterPodAdded`: a gang that waits for members does not hear of one.
    GangUnheard,
    /// scheduling_queue.go `AddNominatedPod`: the members of a group that gave up are nominated to the nodes
    /// that were found for some of them, and two gangs hold room against each other.
    GangKeepsRoom,
}

#[cfg(feature = "mutants")]
impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 41] = [
        Mutant::RedundantPreemption,
        Mutant::CancelledVictim,
        Mutant::GatedForEver,
        Mutant::RecreatedInFlight,
        Mutant::SecondPreemption,
        Mutant::BindingVictimStays,
        Mutant::StatusFlood,
        Mutant::PatchAfterBind,
        Mutant::InFlightEventsLost,
        Mutant::StaleRejectors,
        Mutant::NoBroadcast,
        Mutant::DoubleDone,
        Mutant::SkippedWithoutDone,
        Mutant::QueuedWhileBinding,
        Mutant::NominationMovesSilently,
        Mutant::PhantomNomination,
        Mutant::NominationNeverCleared,
        Mutant::GhostNomination,
        Mutant::BoundStillNominated,
        Mutant::NominationUnseen,
        Mutant::StuckOnNominated,
        Mutant::NodeReborn,
        Mutant::MissedDelete,
        Mutant::StaleBudgets,
        Mutant::GangKeepsNomination,
        Mutant::ErrorHandlerSuppressed,
        Mutant::ForgottenEvent,
        Mutant::ForeignNominationIgnored,
        Mutant::DomainLeftUnheard,
        Mutant::OwnWriteUnseen,
        Mutant::NominationClearedAnyway,
        Mutant::EqualsTakeRoom,
        Mutant::MissMovesNomination,
        Mutant::NamespaceUnheard,
        Mutant::DisruptionUntold,
        Mutant::VictimsForgotten,
        Mutant::UnwrittenNominationUnheard,
        Mutant::GangBoundInPart,
        Mutant::GangForgetsItsBound,
        Mutant::GangUnheard,
        Mutant::GangKeepsRoom,
    ];

    /// The threads that tell of the fault, or where upstream has it.
    #[must_use]
    pub fn threads(self) -> &'static str {
        match self {
            Mutant::RedundantPreemption => "#141694",
            Mutant::CancelledVictim => "#140082",
            Mutant::GatedForEver => "PR #139162",
            Mutant::RecreatedInFlight => "#138316",
            Mutant::SecondPreemption => "#134249",
            Mutant::BindingVictimStays => "#134217, PR #134294",
            Mutant::StatusFlood => "#135900, PR #134400",
            Mutant::PatchAfterBind => "PR #139602",
            Mutant::InFlightEventsLost => "PR #120413",
            Mutant::StaleRejectors => "PR #120334",
            Mutant::NoBroadcast => "PR #119784",
            Mutant::DoubleDone => "PR #119729",
            Mutant::SkippedWithoutDone => "PR #126962, #120622, #122725",
            Mutant::QueuedWhileBinding => "#118226, PR #127016",
            Mutant::NominationMovesSilently => "#126700",
            Mutant::PhantomNomination => "#109236",
            Mutant::NominationNeverCleared => "#106780, #85677, PR #106816",
            Mutant::GhostNomination => "#102339",
            Mutant::BoundStillNominated => "#86942",
            Mutant::NominationUnseen => "#72124",
            Mutant::StuckOnNominated => "#92600, #95752",
            Mutant::NodeReborn => "#63262",
            Mutant::MissedDelete => "#104521, PR #106102, #42063, #50916, #55587",
            Mutant::StaleBudgets => "#91492",
            Mutant::GangKeepsNomination => "scheduler-plugins#293",
            Mutant::ErrorHandlerSuppressed => "koordinator PR #3190",
            Mutant::ForgottenEvent => "PR #127427",
            Mutant::ForeignNominationIgnored => "#130429",
            Mutant::DomainLeftUnheard => "interpodaffinity/plugin.go, podtopologyspread/plugin.go",
            Mutant::OwnWriteUnseen => "backend/queue/nominator.go",
            Mutant::NominationClearedAnyway => "KEP-5278",
            Mutant::EqualsTakeRoom => "KEP-1923",
            Mutant::MissMovesNomination => "KEP-1923, Design Details 2",
            Mutant::NamespaceUnheard => "#141953",
            Mutant::DisruptionUntold => "framework/preemption/executor.go",
            Mutant::VictimsForgotten => "framework/preemption/util.go",
            Mutant::UnwrittenNominationUnheard => "eventhandlers.go",
            Mutant::GangBoundInPart => "schedule_one_podgroup.go",
            Mutant::GangForgetsItsBound => "backend/cache/podgroupstate.go",
            Mutant::GangUnheard => "gangscheduling/gangscheduling.go",
            Mutant::GangKeepsRoom => "backend/queue/scheduling_queue.go",
        }
    }
}

/// The mutant a scheduler is given, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mutants {
    #[cfg(feature = "mutants")]
    active: Option<Mutant>,
}

impl Mutants {
    /// With this one.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn of(mutant: Mutant) -> Mutants {
        Mutants { active: Some(mutant) }
    }

    /// Whether the scheduler has this defect.
    #[cfg(feature = "mutants")]
    #[inline]
    pub(crate) fn has(self, mutant: Mutant) -> bool {
        self.active == Some(mutant)
    }

    /// Whether the scheduler has this defect: it has none.
    #[cfg(not(feature = "mutants"))]
    #[inline(always)]
    pub(crate) const fn has(self, _: Mutant) -> bool {
        false
    }
}

#[cfg(not(feature = "mutants"))]
const _: () = assert!(size_of::<Mutants>() == 0, "without the feature nothing is left of mutants");

#[cfg(all(test, feature = "mutants"))]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_is_listed_once() {
        let mut all = Mutant::ALL.to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), Mutant::GangKeepsRoom as usize + 1);
        assert!(Mutants::of(Mutant::DoubleDone).has(Mutant::DoubleDone));
        assert!(!Mutants::default().has(Mutant::DoubleDone));
    }
}
