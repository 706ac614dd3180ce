//! Preemptions whose victims are being evicted, and the calls that evict them.
//!
//! With `SchedulerAsyncPreemption` the loop goes on meanwhile. The preemptor is held back by
//! PreEnqueue, or it would look at the same node again, find its victims still there and evict them
//! once more. The last victim is asked to go when all others have been: then whoever wants to know
//! whether the preemption is still under way need only look whether that one is still there, and
//! the event of its end is never one that finds the preemptor held back.
//!
//! Without the gate the loop waits: no pod is tried while a call is on its way.
//!
//! Upstream: framework/preemption/executor.go `Executor.preempting`, `isRunningPreemption`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::binding::{ApiDispatcher, CallId};
use crate::ids::PodUid;
use crate::world::World;

/// How far a preemption is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// All victims but the last are asked to go.
    Others {
        /// Calls not answered yet.
        left: usize,
        /// One of them failed.
        has_failed: bool,
    },
    /// The last one is.
    Last,
    /// All were asked; the last one has not been seen to go. Nobody is held back any more.
    Asked,
}

/// A preemption under way.
#[derive(Clone, Debug)]
struct Run {
    /// Tells it from an earlier one of the same pod.
    number: u64,
    last: PodUid,
    /// What the condition of its victims says.
    message: Arc<str>,
    progress: Progress,
    begun_ns: u64,
}

/// Who waits for the answer to a call.
#[derive(Clone, Copy, Debug)]
struct Owner {
    preemptor: PodUid,
    /// Absent when it is the loop that waits.
    run: Option<u64>,
}

/// What an answer means for a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Nothing: others are missing, or nobody waits for it any more.
    Nothing,
    /// The last victim's turn has come.
    OthersAsked {
        /// Whose preemption.
        preemptor: PodUid,
    },
    /// The preemption has failed and is over.
    Failed {
        /// Whose preemption.
        preemptor: PodUid,
    },
    /// The last victim was asked to go, and the preemption is over.
    Over {
        /// Whose preemption.
        preemptor: PodUid,
    },
}

/// All preemptions under way.
#[derive(Clone, Debug, Default)]
pub(super) struct PreemptionExecutor {
    /// Victims and their preemptors, if somebody wants to know.
    victims: Option<Vec<(PodUid, PodUid)>>,
    /// By preemptor.
    runs: FxHashMap<PodUid, Run>,
    owners: FxHashMap<CallId, Owner>,
    numbers: u64,
    /// Calls that the loop waits for.
    blocking: usize,
}

impl PreemptionExecutor {
    /// Keeps victims and their preemptors from now on, or not.
    pub(super) fn keep_victims(&mut self, is_wanted: bool) {
        self.victims = is_wanted.then(Vec::new);
    }

    /// A preemptor has these victims.
    pub(super) fn note_victims(&mut self, preemptor: PodUid, victims: &[PodUid]) {
        if let Some(kept) = &mut self.victims {
            kept.extend(victims.iter().map(|&victim| (victim, preemptor)));
        }
    }

    /// Takes what was kept.
    pub(super) fn take_victims(&mut self) -> Vec<(PodUid, PodUid)> {
        self.victims.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The loop waits for calls.
    #[inline]
    pub(super) fn blocks(&self) -> bool {
        self.blocking > 0
    }

    /// Whether a pod's preemption is under way. That its last victim is gone, or on its way out, can
    /// be seen before the call is answered.
    #[inline]
    pub(super) fn is_pod_running_preemption(&self, preemptor: PodUid, world: &World) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        let Some(run) = self.runs.get(&preemptor) else { return false };
        match run.progress {
            Progress::Others { .. } => true,
            Progress::Last => is_staying(run.last, world),
            Progress::Asked => false,
        }
    }

    /// A preemption begins, in place of an earlier one of the same pod that nobody heard the end of.
    pub(super) fn begin(&mut self, preemptor: PodUid, (last, message): (PodUid, Arc<str>), begun_ns: u64) {
        self.numbers += 1;
        let progress = Progress::Others { left: 0, has_failed: false };
        self.runs.insert(preemptor, Run { number: self.numbers, last, message, progress, begun_ns });
    }

    /// When the preemption under way for a pod began.
    pub(super) fn begun_ns(&self, preemptor: PodUid) -> Option<u64> {
        self.runs.get(&preemptor).map(|run| run.begun_ns)
    }

    /// A victim of a preemption is asked to go.
    pub(super) fn expect(&mut self, call: CallId, preemptor: PodUid) {
        let run = self.runs.get_mut(&preemptor).expect("the preemption has begun");
        if let Progress::Others { left, .. } = &mut run.progress {
            *left += 1;
        }
        let before = self.owners.insert(call, Owner { preemptor, run: Some(run.number) });
        debug_assert!(before.is_none(), "one preemption waits for a call");
    }

    /// A victim is asked to go, and the loop waits for the answer.
    pub(super) fn block_on(&mut self, call: CallId, preemptor: PodUid) {
        self.blocking += 1;
        self.owners.insert(call, Owner { preemptor, run: None });
    }

    /// A call was answered, and another takes its place: whoever waited for the one waits for the other.
    pub(super) fn hand_over(&mut self, from: CallId, to: CallId) {
        if let Some(owner) = self.owners.remove(&from) {
            self.owners.insert(to, owner);
        }
    }

    /// The last victim, if its turn has come: no call is on its way any more.
    pub(super) fn reach_last(&mut self, preemptor: PodUid) -> Option<(PodUid, Arc<str>)> {
        let run = self.runs.get_mut(&preemptor)?;
        let Progress::Others { left: 0, .. } = run.progress else { return None };
        run.progress = Progress::Last;
        Some((run.last, Arc::clone(&run.message)))
    }

    /// A call was answered.
    pub(super) fn answer(&mut self, call: CallId, is_failure: bool) -> Answered {
        let Some(Owner { preemptor, run: number }) = self.owners.remove(&call) else {
            return Answered::Nothing;
        };
        let Some(number) = number else {
            debug_assert!(self.blocking > 0, "a call that the loop waits for was counted");
            self.blocking -= 1;
            return if is_failure { Answered::Failed { preemptor } } else { Answered::Nothing };
        };
        let Some(run) = self.runs.get_mut(&preemptor).filter(|run| run.number == number) else {
            return Answered::Nothing;
        };
        match &mut run.progress {
            Progress::Asked => Answered::Nothing,
            Progress::Last if is_failure => Answered::Failed { preemptor },
            Progress::Last => Answered::Over { preemptor },
            Progress::Others { left, has_failed } => {
                *left -= 1;
                *has_failed |= is_failure;
                match (*left, *has_failed) {
                    (0, true) => Answered::Failed { preemptor },
                    (0, false) => Answered::OthersAsked { preemptor },
                    _ => Answered::Nothing,
                }
            }
        }
    }

    /// A preemption is over, or nobody needs it any more.
    pub(super) fn end(&mut self, preemptor: PodUid) {
        if !self.runs.is_empty() {
            self.runs.remove(&preemptor);
        }
    }

    /// The last victim was asked to go, and will be seen to.
    pub(super) fn await_end(&mut self, preemptor: PodUid) {
        if let Some(run) = self.runs.get_mut(&preemptor) {
            run.progress = Progress::Asked;
        }
    }

    /// A pod is gone or on its way out. Preemptions that it was the last victim of, and that had come
    /// to it, are over; their preemptors.
    pub(super) fn end_those_waiting_for(&mut self, victim: PodUid) -> Vec<PodUid> {
        let is_over = |run: &Run| run.last == victim && !matches!(run.progress, Progress::Others { .. });
        let over =
            self.runs.iter().filter(|(_, run)| is_over(run)).map(|(&preemptor, run)| (run.number, preemptor));
        let mut over: Vec<(u64, PodUid)> = over.collect();
        over.sort_unstable();
        self.runs.retain(|_, run| !is_over(run));
        over.into_iter().map(|(_, preemptor)| preemptor).collect()
    }

    /// Panics where preemptions and the calls they wait for do not agree. See `Scheduler::check`.
    pub(super) fn check(&self, dispatcher: &ApiDispatcher) {
        let blocking = self.owners.values().filter(|owner| owner.run.is_none()).count();
        assert_eq!(blocking, self.blocking, "calls that the loop waits for are counted");
        for (&preemptor, run) in &self.runs {
            assert!(run.number <= self.numbers, "a preemption has a number that was given out");
            assert_ne!(run.last, preemptor, "a pod is not its own victim");
            let is_its = |owner: &&Owner| owner.preemptor == preemptor && owner.run == Some(run.number);
            if let Progress::Others { left, .. } = run.progress {
                let awaited = self.owners.values().filter(is_its).count();
                assert_eq!(left, awaited, "answers that are missing are counted");
            }
        }
        for &call in self.owners.keys() {
            assert!(dispatcher.knows(call), "a call that is awaited is on the books");
        }
    }

    /// No preemption is under way.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Pods whose preemption is under way.
    pub(super) fn len(&self) -> usize {
        self.runs.values().filter(|run| run.progress != Progress::Asked).count()
    }
}

pub(super) fn is_staying(pod: PodUid, world: &World) -> bool {
    let pod = world.pods().find(pod).map(|pod| world.pods().get(pod));
    pod.is_some_and(|pod| !world.class(pod.class).is_terminating)
}
