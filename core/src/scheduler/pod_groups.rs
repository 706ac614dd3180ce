//! Pod groups as the watch tells of them, and their members.
//!
//! Upstream: eventhandlers.go `addPodGroup`, `updatePodGroup`, `deletePodGroup`; backend/cache/cache.go
//! `AddPodGroupMember`.

use std::sync::Arc;

use super::Scheduler;
use super::objects::{NamedObject, ObjectKind};
use crate::framework::points::ActionType;
use crate::ids::{PodGroupId, PodId};
use crate::input::pod_group::PodGroupInput;
use crate::mutants::Mutant;
use crate::pods::PodState;
use crate::storage::StorageNews;

impl Scheduler {
    /// The group that a pod of this namespace names in `spec.schedulingGroup`; nothing without the gate
    /// GenericWorkload. It is good while the pod has it, and until the next sweep ([`Scheduler::epoch`]).
    pub fn pod_group_id(&mut self, namespace: &str, name: &str) -> Option<PodGroupId> {
        let is_on = self.settings.gates.generic_workload;
        is_on.then(|| self.world.pod_groups_mut().id(namespace, name))
    }

    /// A pod that names a group came.
    #[cold]
    pub(super) fn add_pod_group_member(&mut self, pod: PodId, group: PodGroupId, state: PodState) {
        let groups = self.world.pod_groups_mut();
        groups.name(pod, group);
        // A pod that another scheduler is to place is none of ours.
        let is_forgotten = state == PodState::Bound && self.settings.mutants.has(Mutant::GangForgetsItsBound);
        if state != PodState::Foreign && !is_forgotten {
            groups.join(pod);
        }
    }

    pub(super) fn add_or_update_pod_group(&mut self, group: &Arc<PodGroupInput>) {
        if !self.settings.gates.generic_workload {
            return;
        }
        let old = self.world.pod_groups_mut().upsert(group);
        let action = if old.is_none() { ActionType::ADD } else { ActionType::UPDATE };
        let id = self.world.pod_groups().find(&group.namespace, &group.name);
        let id = id.expect("the group was just added");
        self.release_incomplete_pod_group(id);
        self.wake_gated_group(id);
        self.raise_pod_group(&group.namespace, &group.name, action);
    }

    pub(super) fn delete_pod_group(&mut self, namespace: &str, name: &str) {
        if !self.settings.gates.generic_workload {
            return;
        }
        if let Some(id) = self.world.pod_groups().find(namespace, name) {
            self.world.pod_groups_mut().remove(id);
            self.decompose_pod_group(id);
        }
        self.raise_pod_group(namespace, name, ActionType::DELETE);
    }

    fn raise_pod_group(&mut self, namespace: &str, name: &str, action: ActionType) {
        let object = NamedObject { kind: ObjectKind::PodGroup, namespace, name };
        self.raise(object, action, StorageNews::Anything);
    }
}
