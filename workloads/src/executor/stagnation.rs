//! When a wait is given up although the scheduler is not at rest: the same attempts fail again and
//! again, or churn keeps it busy.
//!
//! Pods that become scheduled are not the only progress. A preemptor may evict for minutes before
//! its first pod is bound, and a pod in front of the queue may take long to fail. So what is left to
//! happen is counted, over the pods that were there when the wait came to a stop:
//!
//! ```text
//! created, 3 ──first attempt──▶ tried, 2 ──bound──▶ on a node, 1 ──evicted, deleted──▶ gone, 0
//! ```
//!
//! None of it happens twice to a pod, so the sum only falls, and a wait that goes on while it falls
//! ends. Pods that come later do not count: churn could go on for ever. Attempts without any of these
//! effects are no progress, however many there are.

use std::time::{Duration, Instant};

use schedlab_core::ids::PodUid;

/// An attempt under way may take this long before the wait is given up all the same. Upstream's waits
/// end after as long.
const ATTEMPT_MAX: Duration = Duration::from_secs(600);

/// Follows a wait.
#[derive(Debug)]
pub(super) struct Stagnation {
    /// The most pods so far that the wait is for.
    most: u64,
    /// Since when nothing has got anywhere.
    since: Instant,
    stock: Option<Stock>,
}

/// What was left when the wait had stood still for a while.
#[derive(Clone, Copy, Debug)]
struct Stock {
    newest: PodUid,
    left: u64,
    /// How often the scheduler had gone round.
    rounds: u64,
}

/// How far a pod has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// No attempt yet.
    Created,
    /// Some attempt, and no node.
    Tried,
    /// A node.
    Node,
}

/// A look at the scheduler while nobody is scheduled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) now: Instant,
    /// For how long nothing may get anywhere.
    pub(super) patience: Duration,
    /// How often the scheduler has gone round: as long as that stays the same, one attempt is under way.
    pub(super) rounds: u64,
}

impl Stagnation {
    pub(super) fn new(now: Instant) -> Stagnation {
        Stagnation { most: 0, since: now, stock: None }
    }

    /// So many pods are where the wait wants them.
    pub(super) fn done(&mut self, count: u64, now: Instant) {
        if self.most < count {
            self.most = count;
            self.progressed(now);
        }
    }

    /// Something happened that the wait may be for.
    pub(super) fn progressed(&mut self, now: Instant) {
        (self.since, self.stock) = (now, None);
    }

    /// Whether the wait is to be given up. `pods` lists all pods, which takes time, and is called when
    /// half of the patience is over and when all of it is.
    pub(super) fn is_hopeless(&mut self, look: Look, pods: impl FnOnce() -> Vec<(PodUid, Reached)>) -> bool {
        let stood = look.now.saturating_duration_since(self.since);
        let Some(stock) = self.stock else {
            if look.patience / 2 <= stood {
                let pods = pods();
                let newest = pods.iter().map(|&(uid, _)| uid).max().unwrap_or_default();
                let left = work_left(&pods, newest);
                self.stock = Some(Stock { newest, left, rounds: look.rounds });
            }
            return false;
        };
        if stood <= look.patience {
            return false;
        }
        let left = work_left(&pods(), stock.newest);
        if left < stock.left {
            self.since = look.now;
            self.stock = Some(Stock { left, rounds: look.rounds, ..stock });
            return false;
        }
        stock.rounds != look.rounds || ATTEMPT_MAX < stood
    }
}

/// What can still happen to pods up to `newest`.
fn work_left(pods: &[(PodUid, Reached)], newest: PodUid) -> u64 {
    let of = |&(_, reached): &(PodUid, Reached)| match reached {
        Reached::Created => 3,
        Reached::Tried => 2,
        Reached::Node => 1,
    };
    pods.iter().filter(|(uid, _)| *uid <= newest).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::Reached::{Created, Node, Tried};
    use super::*;

    const PATIENCE_S: u64 = 30;

    type Pods = Vec<(PodUid, Reached)>;

    /// Looks at a wait every second, up to an hour; what the pods are at a second, and how often the
    /// scheduler has gone round. When the wait is given up.
    fn given_up_at_s(pods: impl Fn(u64) -> Pods, rounds: impl Fn(u64) -> u64) -> Option<u64> {
        let start = Instant::now();
        let mut stagnation = Stagnation::new(start);
        (0..3600).find(|&second| {
            let look = Look {
                now: start + Duration::from_secs(second),
                patience: Duration::from_secs(PATIENCE_S),
                rounds: rounds(second),
            };
            stagnation.is_hopeless(look, || pods(second))
        })
    }

    #[test]
    fn steady_evictions_are_progress_until_no_victim_is_left() {
        // One victim every 20 s, 50 of them: nothing is scheduled for a thousand seconds.
        let victims = |second: u64| (0..50_u64.saturating_sub(second / 20)).map(|at| (PodUid(at), Node));
        let pods = |second: u64| victims(second).chain([(PodUid(1000), Tried)]).collect();
        let end_s = given_up_at_s(pods, |second| second).expect("nothing is left to evict");
        assert!((1000..=1000 + 2 * PATIENCE_S).contains(&end_s), "{end_s}");
    }

    #[test]
    fn failing_attempts_alone_are_no_progress() {
        let pods = |_| vec![(PodUid(1), Tried), (PodUid(2), Node)];
        assert_eq!(given_up_at_s(pods, |second| 1000 * second), Some(PATIENCE_S + 1));
    }

    #[test]
    fn first_attempt_of_a_pod_is_progress() {
        // Each of six pods takes 25 s to be rejected.
        let tried = |at: u64, second: u64| if 25 * (at + 1) <= second { Tried } else { Created };
        let pods = |second: u64| (0..6).map(|at| (PodUid(at), tried(at, second))).collect();
        let end_s = given_up_at_s(pods, |second| second / 25).expect("all were tried");
        assert!((6 * 25..=6 * 25 + 2 * PATIENCE_S).contains(&end_s), "{end_s}");
    }

    #[test]
    fn preemption_livelock_with_recreated_victims_ends() {
        // A controller creates each victim anew: pod `second` takes the place of the one before.
        let pods = |second: u64| vec![(PodUid(1), Tried), (PodUid(10 + second), Node)];
        let end_s = given_up_at_s(pods, |second| second).expect("nothing gets anywhere");
        assert!(end_s <= 3 * PATIENCE_S, "{end_s}");
    }

    #[test]
    fn attempt_in_progress_extends_the_wait_up_to_a_limit() {
        let pods = |_| vec![(PodUid(1), Created)];
        let end_s = given_up_at_s(pods, |second| u64::from(200 < second)).expect("it failed in the end");
        assert!((201..=201 + PATIENCE_S).contains(&end_s), "{end_s}");
        assert_eq!(given_up_at_s(pods, |_| 0), Some(601));
    }

    #[test]
    fn scheduled_pod_starts_the_wait_anew() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let look = |second| Look { now: at(second), patience: Duration::from_secs(30), rounds: second };
        let mut stagnation = Stagnation::new(start);
        let pods = || vec![(PodUid(1), Tried)];
        let is_hopeless = |stagnation: &mut Stagnation, second| stagnation.is_hopeless(look(second), pods);
        assert!(!is_hopeless(&mut stagnation, 20));
        stagnation.done(1, at(25));
        assert!(!is_hopeless(&mut stagnation, 45), "it takes stock again");
        assert!(!is_hopeless(&mut stagnation, 55));
        assert!(is_hopeless(&mut stagnation, 56));
        stagnation.done(1, at(57));
        assert!(is_hopeless(&mut stagnation, 58), "the same pod counts once");
    }
}
