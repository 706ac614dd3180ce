//! How many pods the replica sets of a deployment are to have. Pure rules.
//!
//! Upstream: pkg/controller/deployment/rolling.go `rolloutRolling`, recreate.go `rolloutRecreate`;
//! util/deployment_util.go `NewRSNewReplicas`, `ResolveFenceposts`.

use serde_json::Value;

use super::super::pod_template::{pointer, text, whole};
use crate::api::GenericObject;

/// What a deployment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) replicas: i64,
    pub(super) strategy: Strategy,
}

/// `spec.strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The old ones go before the new ones come.
    Recreate,
    /// A few at a time.
    RollingUpdate {
        /// So many more than asked for.
        surge: i64,
        /// So many fewer that are available.
        unavailable: i64,
    },
}

impl Wanted {
    pub(super) fn of(deployment: &GenericObject) -> Wanted {
        let replicas = whole(deployment, "/spec/replicas").unwrap_or(1).max(0);
        if text(deployment, "/spec/strategy/type") == "Recreate" {
            return Wanted { replicas, strategy: Strategy::Recreate };
        }
        let field = |name: &str| pointer(deployment, &format!("/spec/strategy/rollingUpdate/{name}"));
        let surge = share(field("maxSurge"), replicas, Rounded::Up);
        let unavailable = share(field("maxUnavailable"), replicas, Rounded::Down);
        // Both 0 would be a rollout that never begins.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        Wanted {
            replicas,
            strategy: Strategy::RollingUpdate { surge, unavailable: unavailable.min(replicas) },
        }
    }
}

#[derive(Clone, Copy)]
enum Rounded {
    Up,
    Down,
}

/// A number, or a percentage of the replicas; a quarter if it is not there.
fn share(written: Option<&Value>, replicas: i64, rounded: Rounded) -> i64 {
    let percent = match written {
        Some(Value::Number(number)) => return number.as_i64().unwrap_or(0).max(0),
        Some(Value::String(text)) => text.trim_end_matches('%').parse::<i64>().unwrap_or(0).max(0),
        _ => 25,
    };
    match rounded {
        Rounded::Up => (replicas * percent + 99) / 100,
        Rounded::Down => replicas * percent / 100,
    }
}

/// A replica set, as far as a rollout looks at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SetSize {
    /// `spec.replicas`.
    pub(super) replicas: i64,
    /// `status.replicas`.
    pub(super) pods: i64,
    /// `status.availableReplicas`.
    pub(super) available: i64,
}

/// The sizes that the sets are to have now: of the new one, which may not be there yet, and of the old ones,
/// oldest first. `None`: it is not to be made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) new: Option<i64>,
    pub(super) old: Vec<i64>,
}

/// One step of a rollout.
pub(super) fn step(wanted: Wanted, new: Option<SetSize>, old: &[SetSize]) -> Sizes {
    let kept: Vec<i64> = old.iter().map(|set| set.replicas).collect();
    match wanted.strategy {
        Strategy::Recreate => {
            let is_clear = old.iter().all(|set| set.replicas == 0 && set.pods == 0);
            let size = if is_clear { Some(wanted.replicas) } else { new.map(|set| set.replicas) };
            Sizes { new: size, old: vec![0; old.len()] }
        }
        Strategy::RollingUpdate { surge, unavailable } => {
            let now = new.unwrap_or_default();
            let size = new_replicas(wanted.replicas, surge, now, &kept);
            if new.is_none() || size != now.replicas {
                return Sizes { new: Some(size), old: kept };
            }
            Sizes { new: Some(size), old: old_replicas(wanted.replicas - unavailable, now, old) }
        }
    }
}

/// Upstream: `NewRSNewReplicas`.
fn new_replicas(replicas: i64, surge: i64, new: SetSize, old: &[i64]) -> i64 {
    if replicas <= new.replicas {
        return replicas;
    }
    let room = replicas + surge - new.replicas - old.iter().sum::<i64>();
    new.replicas + room.clamp(0, replicas - new.replicas)
}

/// Upstream: `reconcileOldReplicaSets`, `cleanupUnhealthyReplicas`,
/// `scaleDownOldReplicaSetsForRollingUpdate`.
fn old_replicas(min_available: i64, new: SetSize, old: &[SetSize]) -> Vec<i64> {
    let mut sizes: Vec<i64> = old.iter().map(|set| set.replicas).collect();
    let total = new.replicas + sizes.iter().sum::<i64>();
    let mut may_go = (total - min_available - (new.replicas - new.available)).max(0);
    for (size, set) in sizes.iter_mut().zip(old) {
        let goes = (set.replicas - set.available).clamp(0, may_go);
        *size -= goes;
        may_go -= goes;
    }
    let available = new.available + old.iter().map(|set| set.available).sum::<i64>();
    let mut surplus = (available - min_available).clamp(0, may_go);
    for size in &mut sizes {
        let goes = surplus.min(*size);
        *size -= goes;
        surplus -= goes;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(replicas: i64, available: i64) -> SetSize {
        SetSize { replicas, pods: replicas, available }
    }

    fn rolling(surge: i64, unavailable: i64) -> Wanted {
        Wanted { replicas: 10, strategy: Strategy::RollingUpdate { surge, unavailable } }
    }

    #[test]
    fn rolling_update_steps() {
        let cases = [
            ("nothing there", rolling(3, 2), None, vec![], Some(10), vec![]),
            (
                "a new template: as many as the surge has room for",
                rolling(3, 2),
                None,
                vec![set(10, 10)],
                Some(3),
                vec![10],
            ),
            (
                "the new ones are not ready: old ones go down to what must be available",
                rolling(3, 2),
                Some(set(3, 0)),
                vec![set(10, 10)],
                Some(3),
                vec![8],
            ),
            (
                "room again: the new set grows before the old one shrinks",
                rolling(3, 2),
                Some(set(3, 3)),
                vec![set(8, 8)],
                Some(5),
                vec![8],
            ),
            (
                "old ones that are not available go first",
                rolling(0, 2),
                Some(set(0, 0)),
                vec![set(4, 1), set(6, 6)],
                Some(0),
                vec![2, 6],
            ),
            ("done", rolling(3, 2), Some(set(10, 10)), vec![set(0, 0)], Some(10), vec![0]),
            ("too many", rolling(3, 2), Some(set(12, 12)), vec![], Some(10), vec![]),
        ];
        for (name, wanted, new, old, expected_new, expected_old) in cases {
            assert_eq!(step(wanted, new, &old), Sizes { new: expected_new, old: expected_old }, "{name}");
        }
    }

    #[test]
    fn recreate_waits_until_the_old_pods_are_gone() {
        let wanted = Wanted { replicas: 4, strategy: Strategy::Recreate };
        assert_eq!(step(wanted, None, &[set(4, 4)]), Sizes { new: None, old: vec![0] });
        let leaving = SetSize { replicas: 0, pods: 2, available: 2 };
        assert_eq!(step(wanted, None, &[leaving]), Sizes { new: None, old: vec![0] });
        assert_eq!(step(wanted, None, &[set(0, 0)]), Sizes { new: Some(4), old: vec![0] });
    }

    /// However quick pods become ready, never too many of them and never too few that are available.
    #[test]
    fn every_rollout_ends_within_its_limits() {
        for (surge, unavailable) in [(0, 1), (1, 0), (3, 2), (10, 10), (2, 0)] {
            for delay in 1..4 {
                let wanted = rolling(surge, unavailable);
                let (mut new, mut old) = (None, vec![set(10, 10)]);
                for round in 0..200 {
                    let sizes = step(wanted, new, &old);
                    let grown = sizes.new.unwrap_or(0);
                    let before = new.unwrap_or_default();
                    let ready = if round % delay == 0 {
                        before.replicas.min(grown)
                    } else {
                        before.available.min(grown)
                    };
                    new = sizes.new.map(|replicas| set(replicas, ready));
                    old = sizes
                        .old
                        .iter()
                        .zip(&old)
                        .map(|(&size, set_before)| set(size, set_before.available.min(size)))
                        .collect();
                    let total = grown + old[0].replicas;
                    let available = ready + old[0].available;
                    assert!(total <= 10 + surge, "{surge}/{unavailable}: {total} pods");
                    assert!(10 - unavailable <= available, "{surge}/{unavailable}: {available} available");
                }
                assert_eq!((new, old[0].replicas), (Some(set(10, 10)), 0), "{surge}/{unavailable}/{delay}");
            }
        }
    }
}
