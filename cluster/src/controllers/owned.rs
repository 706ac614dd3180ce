//! The pods of the objects that a controller is responsible for, by the UID of the object.
//!
//! A pod that was just made is counted although the watch has not told of it yet, and one whose deletion was
//! taken is not: otherwise the next look would make or delete it again.
//!
//! Upstream: pkg/controller/controller_utils.go `ControllerExpectations`, which hold a controller back until
//! it has seen what it did.
//! Not built: pods are recognised by their ownerReference alone; orphans are not adopted.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_core::ids::PodUid;

use super::SideTables;
use crate::api::{
    ConditionSetId, ConditionStatus, CreatedPods, EventKind, GenericObject, PodFlags, SpecId, StoredPodRow,
};

/// A pod of an owner.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnedPod {
    /// As it was last seen; none before that.
    pub(super) row: Option<StoredPodRow>,
    /// Which of its owner's pods it is, if its owner said so: a node's name, or a number.
    pub(super) variant: Option<Arc<str>>,
    /// Its deletion was asked for, and not refused.
    pub(super) is_deleted: bool,
    /// Condition `Ready` is true.
    pub(super) is_ready: bool,
}

impl OwnedPod {
    /// It runs, or will. Upstream: controller_utils.go `IsPodActive`.
    pub(super) fn is_active(&self) -> bool {
        let is_ending =
            |row: StoredPodRow| row.phase.is_finished() || row.flags.contains(PodFlags::TERMINATING);
        !self.is_deleted && !self.row.is_some_and(is_ending)
    }
}

type Pods = BTreeMap<PodUid, OwnedPod>;

/// All pods with an owner of one kind.
#[derive(Debug)]
pub(super) struct OwnedPods {
    kind: &'static str,
    owner_of_spec: FxHashMap<SpecId, Option<Arc<str>>>,
    ready: FxHashMap<ConditionSetId, bool>,
    by_owner: BTreeMap<Arc<str>, Pods>,
    owner_of_pod: FxHashMap<PodUid, Arc<str>>,
    /// Pods that were gone before the answer to their creation came.
    gone_early: FxHashSet<PodUid>,
    creations: usize,
}

/// Distinct bodies and lists of conditions that are remembered.
const REMEMBERED_MAX: usize = 65_536;

impl OwnedPods {
    /// Of owners of this kind, such as `ReplicaSet`.
    pub(super) fn new(kind: &'static str) -> OwnedPods {
        OwnedPods {
            kind,
            owner_of_spec: FxHashMap::default(),
            ready: FxHashMap::default(),
            by_owner: BTreeMap::new(),
            owner_of_pod: FxHashMap::default(),
            gone_early: FxHashSet::default(),
            creations: 0,
        }
    }

    /// A pod is there, has changed, or is gone. Its owner, if it has one of the kind.
    pub(super) fn on_pod(
        &mut self,
        kind: EventKind,
        row: &StoredPodRow,
        tables: SideTables<'_>,
    ) -> Option<Arc<str>> {
        if kind == EventKind::Deleted {
            return self.on_gone(row, tables);
        }
        let owner = self.owner(row.spec, tables)?;
        let is_ready = self.is_ready(row.conditions, tables);
        let pods = self.by_owner.entry(Arc::clone(&owner)).or_default();
        let pod = pods.entry(row.uid).or_default();
        // What is listed may be told again by the watch, in an older state.
        if pod.row.is_none_or(|known| known.resource_version <= row.resource_version) {
            (pod.row, pod.is_ready) = (Some(*row), is_ready);
        }
        self.owner_of_pod.insert(row.uid, Arc::clone(&owner));
        Some(owner)
    }

    fn on_gone(&mut self, row: &StoredPodRow, tables: SideTables<'_>) -> Option<Arc<str>> {
        if 0 < self.creations {
            self.gone_early.insert(row.uid);
        }
        let known = self.owner_of_pod.remove(&row.uid);
        let owner = known.or_else(|| self.owner(row.spec, tables))?;
        if let Some(pods) = self.by_owner.get_mut(&owner) {
            pods.remove(&row.uid);
            if pods.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
        Some(owner)
    }

    fn owner(&mut self, spec: SpecId, tables: SideTables<'_>) -> Option<Arc<str>> {
        if REMEMBERED_MAX <= self.owner_of_spec.len() {
            self.owner_of_spec.clear();
        }
        let kind = self.kind;
        let find = || {
            let entry = tables.pod_spec(spec);
            let owner = controller_of(&entry.object.metadata)?;
            (owner.kind == kind).then(|| Arc::from(owner.uid.as_str()))
        };
        self.owner_of_spec.entry(spec).or_insert_with(find).clone()
    }

    fn is_ready(&mut self, conditions: ConditionSetId, tables: SideTables<'_>) -> bool {
        if REMEMBERED_MAX <= self.ready.len() {
            self.ready.clear();
        }
        *self.ready.entry(conditions).or_insert_with(|| is_ready(conditions, tables))
    }

    /// A call that makes pods is under way.
    pub(super) fn creation_begins(&mut self) {
        self.creations += 1;
    }

    /// It has come back.
    pub(super) fn creation_ends(&mut self, owner: &Arc<str>, variant: &Arc<str>, made: Option<CreatedPods>) {
        self.creations = self.creations.saturating_sub(1);
        for uid in made.into_iter().flat_map(CreatedPods::uids) {
            if self.gone_early.contains(&uid) {
                continue;
            }
            self.owner_of_pod.insert(uid, Arc::clone(owner));
            let pods = self.by_owner.entry(Arc::clone(owner)).or_default();
            pods.entry(uid).or_default().variant = Some(Arc::clone(variant));
        }
        if self.creations == 0 {
            self.gone_early.clear();
        }
    }

    /// A deletion is asked for, or was refused.
    pub(super) fn set_deleted(&mut self, pod: PodUid, is_deleted: bool) {
        let Some(owner) = self.owner_of_pod.get(&pod) else { return };
        if let Some(pod) = self.by_owner.get_mut(owner).and_then(|pods| pods.get_mut(&pod)) {
            pod.is_deleted = is_deleted;
        }
    }

    /// The pods of an owner, oldest first.
    pub(super) fn of(&self, owner: &str) -> impl Iterator<Item = (PodUid, &OwnedPod)> {
        self.by_owner.get(owner).into_iter().flatten().map(|(uid, pod)| (*uid, pod))
    }
}

/// Condition `Ready` is true. Upstream: pkg/api/v1/pod/util.go `IsPodReady`.
pub(super) fn is_ready(conditions: ConditionSetId, tables: SideTables<'_>) -> bool {
    let conditions = tables.pod_conditions(conditions);
    conditions.iter().any(|it| &*it.type_ == "Ready" && it.status == ConditionStatus::True)
}

/// The reference to who manages an object. Upstream: apimachinery meta/v1 `GetControllerOf`.
pub(super) fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// The reference that what an object makes carries. Upstream: apimachinery meta/v1 `NewControllerRef`.
pub(super) fn reference_to(owner: &GenericObject) -> OwnerReference {
    OwnerReference {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.metadata.name.clone().unwrap_or_default(),
        uid: owner.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
