//! One look at the cluster: the strategies of all profiles, one after the other, each of which sees what those
//! before it have taken away.

use std::collections::BTreeMap;

use schedlab_core::ids::PodUid;

use super::super::cluster_view::ClusterView;
use super::super::evictable::{Evictor, Surroundings};
use super::policy::{Limits, Policy, Scope};
use super::{balance, utilization, violations};
use crate::api::NamespaceId;
use crate::selector;

/// An eviction to be asked for, and which strategy wants it.
pub(super) type Wanted = (PodUid, &'static str);

/// A cycle under way.
pub(super) struct DescheduleCycle<'a, 'v> {
    pub(super) view: ClusterView<'v>,
    pub(super) evictor: &'a Evictor,
    pub(super) around: &'a Surroundings<'a>,
    limits: Limits,
    strategy: &'static str,
    by_node: BTreeMap<usize, u64>,
    by_namespace: BTreeMap<NamespaceId, u64>,
    wanted: Vec<Wanted>,
}

/// What the policy wants evicted now.
pub(super) fn run(policy: &Policy, view: ClusterView<'_>, around: &Surroundings<'_>) -> Vec<Wanted> {
    let Some(first) = policy.profiles.first() else { return Vec::new() };
    let mut cycle = DescheduleCycle {
        view,
        evictor: &first.evictor,
        around,
        limits: policy.limits,
        strategy: "",
        by_node: BTreeMap::new(),
        by_namespace: BTreeMap::new(),
        wanted: Vec::new(),
    };
    for profile in &policy.profiles {
        cycle.evictor = &profile.evictor;
        for strategy in &profile.strategies {
            cycle.strategy = strategy.name();
            violations::run(strategy, &mut cycle);
            balance::run(strategy, &mut cycle);
            utilization::run(strategy, &mut cycle);
        }
    }
    cycle.wanted
}

impl DescheduleCycle<'_, '_> {
    /// Whether a strategy looks at a pod.
    pub(super) fn is_within(&self, scope: &Scope, pod: usize) -> bool {
        let input = self.view.pods[pod].input();
        let is_included = scope.include.is_empty() || scope.include.contains(&input.namespace);
        is_included
            && !scope.exclude.contains(&input.namespace)
            && scope.selector.as_ref().is_none_or(|it| selector::matches(it, &input.labels))
    }

    pub(super) fn may_evict(&mut self, pod: usize) -> bool {
        self.evictor.may_evict(pod, &mut self.view, self.around)
    }

    /// The pods of a scope that may be evicted.
    pub(super) fn evictable(&mut self, scope: &Scope) -> Vec<usize> {
        let all = 0..self.view.pods.len();
        let within: Vec<usize> =
            all.filter(|&at| self.view.pods[at].is_there() && self.is_within(scope, at)).collect();
        within.into_iter().filter(|&at| self.may_evict(at)).collect()
    }

    /// Evicts a pod, if the limits let it. Whether it goes.
    pub(super) fn evict(&mut self, pod: usize) -> bool {
        let (row, node) = (self.view.pods[pod].row, self.view.pods[pod].node);
        let of_node = self.by_node.get(&node).copied().unwrap_or(0);
        let of_namespace = self.by_namespace.get(&row.namespace).copied().unwrap_or(0);
        let has_room = |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used < limit);
        let may = has_room(self.limits.total, self.wanted.len() as u64)
            && has_room(self.limits.per_node, of_node)
            && has_room(self.limits.per_namespace, of_namespace);
        if may {
            self.by_node.insert(node, of_node + 1);
            self.by_namespace.insert(row.namespace, of_namespace + 1);
            self.view.remove(pod);
            self.wanted.push((row.uid, self.strategy));
        }
        may
    }
}
