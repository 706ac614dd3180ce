//! Which pods go first when there are too many.
//!
//! Upstream: pkg/controller/controller_utils.go `ActivePodsWithRanks.Less`, replica_set.go `getPodsToDelete`.
//! Not built: restarts of containers are not known here and count as none; a pod shows the time of its last
//! transition, which stands for when it became ready.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;

use super::super::ControllerContext;
use super::super::owned::OwnedPod;
use super::super::owner::Pods;
use crate::api::{NodeNameId, PodPhase, StoredPodRow};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// What decides about a pod.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    uid: PodUid,
    row: Option<StoredPodRow>,
    is_ready: bool,
    cost: i32,
    /// Pods of the same owner on its node.
    neighbours: usize,
}

/// The pods that go first, `count` of them.
pub(super) fn least_useful(pods: Pods<'_>, count: usize, context: ControllerContext<'_>) -> Vec<PodUid> {
    let pods: Vec<(PodUid, &OwnedPod)> = pods.iter().filter(|(_, pod)| pod.is_active()).copied().collect();
    if pods.len() <= count {
        return pods.into_iter().map(|(uid, _)| uid).collect();
    }
    let node_of = |pod: &OwnedPod| pod.row.and_then(|row| row.node);
    let mut on_node: FxHashMap<Option<NodeNameId>, usize> = FxHashMap::default();
    pods.iter().for_each(|(_, pod)| *on_node.entry(node_of(pod)).or_default() += 1);
    let cost = |row: &StoredPodRow| {
        let entry = context.tables.pod_spec(row.spec);
        let annotation = entry.object.metadata.annotations.as_ref().and_then(|all| all.get(DELETION_COST));
        annotation.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let mut ranked: Vec<Ranked> = pods
        .iter()
        .map(|(uid, pod)| Ranked {
            uid: *uid,
            row: pod.row,
            is_ready: pod.is_ready,
            cost: pod.row.as_ref().map_or(0, cost),
            neighbours: on_node[&node_of(pod)],
        })
        .collect();
    ranked.sort_by(|one, other| compare(one, other, context.now_ns));
    ranked.into_iter().take(count).map(|pod| pod.uid).collect()
}

/// Who is less goes first.
fn compare(one: &Ranked, other: &Ranked, now_ns: u64) -> Ordering {
    let node = |pod: &Ranked| pod.row.and_then(|row| row.node).is_some();
    let phase = |pod: &Ranked| match pod.row.map(|row| row.phase) {
        Some(PodPhase::Running) => 2,
        Some(PodPhase::Unknown) => 1,
        _ => 0,
    };
    let created_ns = |pod: &Ranked| pod.row.map_or(now_ns, |row| row.created_ns);
    let ready_ns = |pod: &Ranked| pod.row.map_or(now_ns, |row| row.transition_ns);
    let by_ready_time = || match one.is_ready && other.is_ready {
        true => by_age(ready_ns(one), ready_ns(other), now_ns, (one.uid, other.uid)),
        false => Ordering::Equal,
    };
    node(one)
        .cmp(&node(other))
        .then(phase(one).cmp(&phase(other)))
        .then(one.is_ready.cmp(&other.is_ready))
        .then(one.cost.cmp(&other.cost))
        .then(other.neighbours.cmp(&one.neighbours))
        .then_with(by_ready_time)
        .then_with(|| by_age(created_ns(one), created_ns(other), now_ns, (one.uid, other.uid)))
        .then(one.uid.cmp(&other.uid))
}

/// Younger first, where ages differ by a power of two; otherwise by UID. Times have whole seconds.
/// Upstream: `logarithmicRankDiff`.
fn by_age(one_ns: u64, other_ns: u64, now_ns: u64, uids: (PodUid, PodUid)) -> Ordering {
    let whole = |ns: u64| ns / 1_000_000_000 * 1_000_000_000;
    if whole(one_ns) == whole(other_ns) {
        return Ordering::Equal;
    }
    let rank = |ns: u64| match now_ns.saturating_sub(whole(ns)) {
        0 => -1,
        age_ns => i64::from(age_ns.ilog2()),
    };
    rank(one_ns).cmp(&rank(other_ns)).then(uids.0.cmp(&uids.1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::EmbeddedCluster;
    use crate::api::{ConditionSetId, NameId, NamespaceId, PodFlags, PodName, SpecId};

    const SECOND: u64 = 1_000_000_000;

    fn ranked(
        uid: u64,
        node: Option<u32>,
        phase: PodPhase,
        is_ready: bool,
        created_s: u64,
    ) -> (PodUid, OwnedPod) {
        let row = StoredPodRow {
            uid: PodUid(uid),
            resource_version: uid,
            created_ns: created_s * SECOND,
            transition_ns: created_s * SECOND,
            spec: SpecId(u32::MAX),
            namespace: NamespaceId(0),
            name: PodName { prefix: NameId(0), number: 0 },
            node: node.map(NodeNameId::from_index),
            nominated: None,
            conditions: ConditionSetId(0),
            phase,
            flags: PodFlags::LIVE,
        };
        (PodUid(uid), OwnedPod { row: Some(row), variant: None, is_deleted: false, is_ready })
    }

    #[test]
    fn least_useful_pod_goes_first() {
        use PodPhase::{Pending, Running};
        let cases = [
            (
                "unassigned",
                vec![ranked(1, Some(1), Pending, false, 0), ranked(2, None, Pending, false, 0)],
                2,
            ),
            (
                "pending",
                vec![ranked(1, Some(1), Running, false, 0), ranked(2, Some(1), Pending, false, 0)],
                2,
            ),
            (
                "not ready",
                vec![ranked(1, Some(1), Running, true, 0), ranked(2, Some(1), Running, false, 0)],
                2,
            ),
            (
                "doubled up",
                vec![
                    ranked(1, Some(1), Running, true, 0),
                    ranked(2, Some(2), Running, true, 0),
                    ranked(3, Some(2), Running, true, 0),
                ],
                2,
            ),
            (
                "younger by a power of two",
                vec![ranked(1, Some(1), Running, true, 0), ranked(2, Some(2), Running, true, 900)],
                2,
            ),
            (
                "nearly of one age: the lower UID",
                vec![ranked(1, Some(1), Running, true, 0), ranked(2, Some(2), Running, true, 5)],
                1,
            ),
        ];
        let api = EmbeddedCluster::new(Arc::new(|| 0));
        let context = ControllerContext::new(&api, 1000 * SECOND);
        for (name, pods, expected) in cases {
            let pods: Vec<(PodUid, &OwnedPod)> = pods.iter().map(|(uid, pod)| (*uid, pod)).collect();
            assert_eq!(least_useful(&pods, 1, context), [PodUid(expected)], "case: {name}");
        }
    }
}
