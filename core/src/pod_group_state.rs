//! Pod groups as the engine knows them: the object, and which pods are its members.
//!
//! A group is known by its name from the first pod that names it, also before its object comes or after
//! it has gone. A member is scheduled while it is on a node, assumed or bound.
//!
//! Upstream: backend/cache/podgroupstate.go.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ids::{PodGroupId, PodId};
use crate::input::pod_group::{PodGroupInput, PodGroupPolicy};

/// Namespace and name.
type Name = (String, String);

const NO_GROUP: u32 = u32::MAX;

/// A pod group and its members.
#[derive(Clone, Debug, Default)]
pub struct PodGroupState {
    name: Name,
    object: Option<Arc<PodGroupInput>>,
    /// Pods that this scheduler takes or that are on nodes, in no particular order.
    members: Vec<PodId>,
    /// Members on nodes.
    scheduled: usize,
    /// Pods that name the group, members or not.
    named_by: usize,
}

impl PodGroupState {
    /// `metadata.namespace`.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.name.0
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name.1
    }

    /// The object, if there is one.
    #[must_use]
    pub fn object(&self) -> Option<&Arc<PodGroupInput>> {
        self.object.as_ref()
    }

    /// All members, in no particular order.
    #[must_use]
    pub fn members(&self) -> &[PodId] {
        &self.members
    }

    /// How many members are on nodes. Upstream: `ScheduledPodsCount`.
    #[must_use]
    pub fn scheduled_pods_count(&self) -> usize {
        self.scheduled
    }

    /// Nothing would be lost with it.
    fn is_forgotten(&self) -> bool {
        self.object.is_none() && self.named_by == 0
    }
}

/// All pod groups.
#[derive(Clone, Debug, Default)]
pub struct PodGroups {
    groups: Vec<PodGroupState>,
    free: Vec<u32>,
    by_name: FxHashMap<Name, PodGroupId>,
    /// By pod; short or empty while no pod has a group, so that other pods pay nothing.
    of_pod: Vec<u32>,
    /// The group of the last update, if that lowered minCount.
    min_count_decreased: Option<PodGroupId>,
}

impl PodGroups {
    /// The id of a group's name, known or not.
    pub fn id(&mut self, namespace: &str, name: &str) -> PodGroupId {
        let name = (namespace.to_owned(), name.to_owned());
        if let Some(&id) = self.by_name.get(&name) {
            return id;
        }
        let state = PodGroupState { name: name.clone(), ..PodGroupState::default() };
        let id = match self.free.pop() {
            Some(at) => {
                self.groups[at as usize] = state;
                PodGroupId(at)
            }
            None => {
                self.groups.push(state);
                PodGroupId(u32::try_from(self.groups.len() - 1).expect("fewer than 2^32 groups"))
            }
        };
        self.by_name.insert(name, id);
        id
    }

    /// The id of a group that is known.
    #[must_use]
    pub fn find(&self, namespace: &str, name: &str) -> Option<PodGroupId> {
        self.by_name.get(&(namespace.to_owned(), name.to_owned())).copied()
    }

    /// A group.
    #[must_use]
    pub fn get(&self, id: PodGroupId) -> &PodGroupState {
        &self.groups[id.index()]
    }

    /// The group a pod names.
    #[inline]
    #[must_use]
    pub fn of_pod(&self, pod: PodId) -> Option<PodGroupId> {
        match self.of_pod.get(pod.index()) {
            None | Some(&NO_GROUP) => None,
            Some(&group) => Some(PodGroupId(group)),
        }
    }

    /// The object of the group a pod names.
    #[must_use]
    pub fn object_of_pod(&self, pod: PodId) -> Option<&Arc<PodGroupInput>> {
        self.get(self.of_pod(pod)?).object()
    }

    /// No group is known.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// All groups, in no particular order.
    pub fn ids(&self) -> impl Iterator<Item = PodGroupId> + '_ {
        self.by_name.values().copied()
    }

    /// Adds a group's object or takes over its new state. Returns the old one.
    pub(crate) fn upsert(&mut self, object: &Arc<PodGroupInput>) -> Option<Arc<PodGroupInput>> {
        let id = self.id(&object.namespace, &object.name);
        let old = self.groups[id.index()].object.replace(Arc::clone(object));
        let is_lower = |old: &Arc<PodGroupInput>| match (old.policy, object.policy) {
            (PodGroupPolicy::Gang { min_count: old }, PodGroupPolicy::Gang { min_count: new }) => new < old,
            _ => false,
        };
        self.min_count_decreased = old.as_ref().is_some_and(is_lower).then_some(id);
        old
    }

    /// The group whose object came last, if its minCount is lower than it was: what hints ask about.
    pub(crate) fn min_count_decreased(&self) -> Option<PodGroupId> {
        self.min_count_decreased
    }

    /// Takes a group's object out; its pods keep naming it.
    pub(crate) fn remove(&mut self, id: PodGroupId) {
        self.groups[id.index()].object = None;
    }

    /// A pod that names a group came. It is a member only from [`PodGroups::join`] on.
    pub(crate) fn name(&mut self, pod: PodId, group: PodGroupId) {
        if self.of_pod.len() <= pod.index() {
            self.of_pod.resize(pod.index() + 1, NO_GROUP);
        }
        assert_eq!(self.of_pod[pod.index()], NO_GROUP, "a pod names its group once");
        self.of_pod[pod.index()] = group.0;
        self.groups[group.index()].named_by += 1;
    }

    /// A pod that names a group is gone.
    pub(crate) fn unname(&mut self, pod: PodId) {
        let Some(group) = self.of_pod(pod) else { return };
        self.leave(pod);
        self.of_pod[pod.index()] = NO_GROUP;
        self.groups[group.index()].named_by -= 1;
    }

    /// A pod is ours to place or on a node: it counts among the members of its group, if it names one.
    pub(crate) fn join(&mut self, pod: PodId) {
        if let Some(group) = self.of_pod(pod) {
            let members = &mut self.groups[group.index()].members;
            debug_assert!(!members.contains(&pod), "a pod is a member once");
            members.push(pod);
        }
    }

    /// A pod is no member any more.
    pub(crate) fn leave(&mut self, pod: PodId) {
        if let Some(group) = self.of_pod(pod) {
            let members = &mut self.groups[group.index()].members;
            if let Some(at) = members.iter().position(|&member| member == pod) {
                members.swap_remove(at);
            }
        }
    }

    /// A pod came to a node.
    #[inline]
    pub(crate) fn on_placed(&mut self, pod: PodId) {
        if let Some(group) = self.of_pod(pod) {
            self.groups[group.index()].scheduled += 1;
        }
    }

    /// A pod left its node.
    #[inline]
    pub(crate) fn on_displaced(&mut self, pod: PodId) {
        if let Some(group) = self.of_pod(pod) {
            debug_assert!(self.groups[group.index()].scheduled > 0, "who leaves a node was counted there");
            self.groups[group.index()].scheduled -= 1;
        }
    }

    /// Panics where groups, names and pods do not agree. See `World::check`.
    pub(crate) fn check(&self) {
        assert_eq!(self.by_name.len() + self.free.len(), self.groups.len(), "a group has a name or is free");
        for (name, &id) in &self.by_name {
            assert!(id.index() < self.groups.len(), "a name is that of a group");
            let group = self.get(id);
            assert_eq!(group.name, *name, "a group is found under its own name");
            let naming = self.of_pod.iter().filter(|&&of_pod| of_pod == id.0).count();
            assert_eq!(group.named_by, naming, "pods that name a group are counted");
            assert!(group.members.len() <= naming, "a member names its group");
            assert!(group.scheduled <= naming, "who is on a node names its group");
            for (at, &member) in group.members.iter().enumerate() {
                assert_eq!(self.of_pod(member), Some(id), "a member is one of the group it names");
                assert!(!group.members[..at].contains(&member), "a pod is a member once");
            }
            if let Some(object) = &group.object {
                let own = (object.namespace.as_str(), object.name.as_str());
                assert_eq!(own, (group.namespace(), group.name()), "a group has its own object");
            }
        }
        for &at in &self.free {
            assert!((at as usize) < self.groups.len(), "a free id is one of the table");
            assert!(self.groups[at as usize].is_forgotten(), "a free id is no group");
        }
    }

    /// Forgets the names that nothing has any more.
    pub(crate) fn sweep(&mut self) {
        let PodGroups { groups, free, by_name, of_pod, .. } = self;
        by_name.retain(|_, id| {
            let group = &mut groups[id.index()];
            let stays = !group.is_forgotten();
            if !stays {
                *group = PodGroupState::default();
                free.push(id.0);
            }
            stays
        });
        free.sort_unstable_by(|one, other| other.cmp(one));
        by_name.shrink_to(2 * by_name.len());
        let len = of_pod.iter().rposition(|&group| group != NO_GROUP).map_or(0, |last| last + 1);
        crate::reclaim::cut(of_pod, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Arc<PodGroupInput> {
        Arc::new(PodGroupInput { namespace: "a".into(), name: name.into(), ..PodGroupInput::default() })
    }

    #[test]
    fn members_are_counted_while_they_name_the_group() {
        let mut groups = PodGroups::default();
        let id = groups.id("a", "gang");
        groups.name(PodId(3), id);
        groups.join(PodId(3));
        groups.name(PodId(5), id);
        groups.on_placed(PodId(3));
        assert_eq!(groups.get(id).members(), [PodId(3)], "pod 5 is another scheduler's");
        assert_eq!(groups.get(id).scheduled_pods_count(), 1);
        assert_eq!(groups.of_pod(PodId(4)), None);
        groups.on_displaced(PodId(3));
        groups.unname(PodId(3));
        assert!(groups.get(id).members().is_empty());
        assert_eq!(groups.get(id).scheduled_pods_count(), 0);
    }

    #[test]
    fn name_is_forgotten_when_neither_the_object_nor_a_pod_has_it() {
        let mut groups = PodGroups::default();
        let id = groups.id("a", "gang");
        groups.upsert(&group("gang"));
        groups.name(PodId(0), id);
        groups.remove(id);
        groups.sweep();
        assert_eq!(groups.find("a", "gang"), Some(id), "a pod names it");
        groups.unname(PodId(0));
        groups.sweep();
        assert!(groups.is_empty());
        assert_eq!(groups.id("a", "other"), id, "the id is given out again");
    }
}
