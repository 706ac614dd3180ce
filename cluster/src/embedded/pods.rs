//! The verbs on pods.
//!
//! ```text
//!   create ──> pending ──bind──> bound ──delete──> removed
//!                 │                 │
//!                 └──────delete─────┴── with finalizers: terminating ──last finalizer gone──> removed
//! ```
//!
//! Differs: there is no kubelet, so a deleted pod has no grace period
//! (`object_without_finalizers_is_deleted_at_once`).

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use schedlab_core::ids::PodUid;

use super::body::{self, RowTexts};
use super::conditions::{ConditionTable, Step};
use super::state::State;
use super::storage_key;
use crate::api::{
    ApiError, Binding, ConditionEdit, ConditionSetId, CreatedPods, EventKind, NamedBinding,
    NominatedNodeNamePatch, PodFlags, PodName, PodStatusPatch, PodTemplate, SpecId, StoredPodRow,
    TemplatePins, WatchedObject, format_pod_uid,
};
use crate::convert::drop_execution_affinity;
use crate::defaults::{admit_pod, admit_pod_update, default_pod, prepare_new_pod};
use crate::validate::validate_pod_identity;

const PODS: &str = "pods";

impl State {
    /// Defaults, admits and interns a pod to be created.
    pub(super) fn pod_template(&mut self, mut pod: Pod, namespace: &str) -> Result<PodTemplate, ApiError> {
        check_new_pod(&pod, namespace)?;
        pod.metadata.namespace = Some(namespace.to_owned());
        if !self.keeps_execution_affinity {
            drop_execution_affinity(&mut pod);
        }
        default_pod(&mut pod);
        admit_pod(&mut pod, &self.priority_classes())?;
        // Differs: upstream's API server drops the status of a new pod. Here a nomination stays, as if
        // its writer had been faster than the scheduler's watch (`nominated_node_name_of_a_new_pod_is_kept`).
        let nominated = pod.status.as_mut().and_then(|status| status.nominated_node_name.take());
        prepare_new_pod(&mut pod);
        let given = filled(&pod.metadata.name).or_else(|| filled(&pod.metadata.generate_name));
        let shown = given.unwrap_or_default();
        validate_pod_identity(&pod).map_err(|error| ApiError::invalid("Pod", &shown, error))?;

        let name = match filled(&pod.metadata.name) {
            Some(name) => PodName { prefix: self.names.whole(&name), number: PodName::NO_NUMBER },
            None => {
                let prefix = filled(&pod.metadata.generate_name).unwrap_or_default();
                PodName { prefix: self.names.prefix(&prefix), number: 0 }
            }
        };
        let node = pod.spec.as_mut().and_then(|spec| spec.node_name.take());
        let node = node.filter(|node| !node.is_empty()).map(|node| self.node_name_id(&node));
        let nominated = nominated.filter(|node| !node.is_empty()).map(|node| self.node_name_id(&node));
        let columns = body::take_status_columns(pod.status.get_or_insert_default());
        let flags = body::flags_of(&pod);
        let spec = self.intern_body(pod, name)?;
        let conditions = self.conditions.intern(columns.conditions);
        let flags = with_preempted(flags, &self.conditions, conditions);
        let namespace = self.namespace_id(namespace);
        let nodes = node.into_iter().chain(nominated).map(|node| Arc::clone(self.node_name(node)));
        let own = [self.names.prefix_text(name), self.namespaces.text(namespace.0)].map(Arc::clone);
        let names = own.into_iter().chain(nodes).collect();
        let pins = TemplatePins { names, conditions: Arc::clone(self.conditions.get(conditions)) };
        let entry = self.specs.get(spec);
        Ok(PodTemplate {
            object: entry.object.clone(),
            input: entry.input.clone(),
            spec,
            name,
            node,
            nominated,
            conditions,
            namespace,
            flags,
            pins,
        })
    }

    fn intern_body(&mut self, mut pod: Pod, name: PodName) -> Result<SpecId, ApiError> {
        body::strip_identity(&mut pod.metadata);
        self.specs.intern(pod).map_err(|error| ApiError::invalid("Pod", &self.names.text(name), error))
    }

    /// Creates pods of a template, all at one time.
    pub(super) fn create_pods(
        &mut self,
        template: &PodTemplate,
        count: u32,
        now_ns: u64,
    ) -> Result<CreatedPods, ApiError> {
        self.check_namespace(PODS, template.namespace)?;
        let first = self.rows.next_uid();
        let (room, refusal) = self.room_for_pods(template, count);
        if template.name.number == PodName::NO_NUMBER {
            self.create_named_pod(template, room, now_ns)?;
        } else {
            let first_number = self.names.take_numbers(template.name.prefix, room, first);
            for number in first_number..first_number + room {
                self.push_pod(template, PodName { number, ..template.name }, now_ns);
            }
        }
        refusal.map_or(Ok(CreatedPods { first, count }), Err)
    }

    /// The first pod gets the name; a second one would find it taken.
    fn create_named_pod(&mut self, template: &PodTemplate, count: u32, now_ns: u64) -> Result<(), ApiError> {
        let name = self.names.text(template.name);
        let namespace = self.namespaces.text(template.namespace.0).clone();
        for _ in 0..count {
            if self.find_pod(&namespace, &name).is_some() {
                return Err(ApiError::already_exists(PODS, &name));
            }
            let uid = self.rows.next_uid();
            self.names.put_given(template.namespace, template.name.prefix, uid);
            self.push_pod(template, template.name, now_ns);
        }
        Ok(())
    }

    #[inline]
    fn push_pod(&mut self, template: &PodTemplate, name: PodName, now_ns: u64) {
        let row = StoredPodRow {
            uid: self.rows.next_uid(),
            resource_version: self.log.next_version(),
            created_ns: now_ns,
            transition_ns: now_ns,
            spec: template.spec,
            namespace: template.namespace,
            name,
            node: template.node,
            nominated: template.nominated,
            conditions: template.conditions,
            phase: crate::api::PodPhase::Pending,
            flags: template.flags,
        };
        self.rows.push(row);
        self.quota_changes(None, Some(&row));
        if row.node.is_some() {
            *self.scheduled_count_mut(row.namespace) += 1;
        }
        self.publish(EventKind::Added, WatchedObject::Pod(row));
    }

    /// The pod of this name.
    pub(super) fn find_pod(&self, namespace: &str, name: &str) -> Option<&StoredPodRow> {
        let namespace = crate::api::NamespaceId(self.namespaces.find(namespace)?);
        self.names
            .candidates(namespace, name)
            .filter_map(|uid| self.rows.get(uid))
            .find(|row| row.namespace == namespace && self.names.text(row.name) == name)
    }

    pub(super) fn get_pod(&self, namespace: &str, name: &str) -> Result<&StoredPodRow, ApiError> {
        self.find_pod(namespace, name).ok_or_else(|| ApiError::not_found(PODS, name))
    }

    /// The pod as an API object.
    pub(super) fn assemble_pod(&self, row: &StoredPodRow) -> Pod {
        let texts = RowTexts {
            name: self.names.text(row.name),
            node: row.node.map(|node| &**self.node_name(node)),
            nominated: row.nominated.map(|node| &**self.node_name(node)),
            conditions: self.conditions.get(row.conditions),
            deletion_ns: self.pod_deletion_ns.get(&row.uid).copied(),
        };
        body::assemble(&self.specs.get(row.spec).object, row, texts)
    }

    /// Upstream: pkg/registry/core/pod/storage/storage.go `BindingREST.assignPod`. The node is not
    /// looked up. `nominatedNodeName` goes with the gate `ClearingNominatedNodeNameAfterBinding`.
    #[inline]
    pub(super) fn bind_pod(&mut self, binding: Binding, now_ns: u64) -> Result<(), ApiError> {
        let Some(row) = self.rows.get_mut(binding.pod) else {
            return Err(self.pod_is_gone(binding.pod));
        };
        let refusing = PodFlags::TERMINATING.with(PodFlags::GATED);
        let is_forgotten = self.node_names.is_forgotten(binding.node.number());
        if row.node.is_some() || row.flags.intersects(refusing) || is_forgotten {
            return Err(self.bind_is_refused(binding));
        }
        row.node = Some(binding.node);
        if self.clears_nomination_of_bound {
            row.nominated = None;
        }
        row.resource_version = self.log.next_version();
        apply(row, self.conditions.set_scheduled(row.conditions), now_ns);
        let row = *row;
        *self.scheduled_count_mut(row.namespace) += 1;
        self.publish(EventKind::Modified, WatchedObject::Pod(row));
        Ok(())
    }

    pub(super) fn bind_named(&mut self, binding: &NamedBinding<'_>, now_ns: u64) -> Result<(), ApiError> {
        let pod = self.get_pod(binding.namespace, binding.name)?.uid;
        self.check_pod_uid(pod, binding.uid)?;
        let node = self.node_name_id(binding.node);
        self.bind_pod(Binding { pod, node }, now_ns)
    }

    #[cold]
    fn bind_is_refused(&self, Binding { pod, node }: Binding) -> ApiError {
        let row = self.rows.get(pod).expect("the caller has found the pod");
        let name = self.names.text(row.name);
        let why = match row.node {
            _ if row.flags.contains(PodFlags::TERMINATING) => {
                format!("pod {name} is being deleted, cannot be assigned to a host")
            }
            Some(node) => format!("pod {name} is already assigned to node \"{}\"", self.node_name(node)),
            None if self.node_names.is_forgotten(node.number()) => {
                format!("the node that pod {name} is to be assigned to went a long time ago")
            }
            None => format!("pod {name} has non-empty .spec.schedulingGates"),
        };
        ApiError::conflict("pods/binding", &name, why)
    }

    /// The pod that a call means is gone: its name is free, or another pod's.
    #[cold]
    pub(super) fn pod_is_gone(&self, pod: PodUid) -> ApiError {
        let Some(row) = self.rows.last_known(pod) else {
            return ApiError::not_found(PODS, &format_pod_uid(pod));
        };
        let name = self.names.text(row.name);
        let namespace = self.namespaces.text(row.namespace.0);
        match self.find_pod(namespace, &name) {
            Some(other) => self.uid_differs(other, &format_pod_uid(pod)),
            None => ApiError::not_found(PODS, &name),
        }
    }

    fn uid_differs(&self, row: &StoredPodRow, wanted: &str) -> ApiError {
        let name = self.names.text(row.name);
        let key = storage_key(PODS, Some(self.namespaces.text(row.namespace.0)), &name);
        ApiError::uid_differs(PODS, &key, &name, wanted, &format_pod_uid(row.uid))
    }

    pub(super) fn check_pod_uid(&self, pod: PodUid, uid: Option<&str>) -> Result<(), ApiError> {
        match uid {
            Some(wanted) if wanted != format_pod_uid(pod) => {
                let row = self.rows.get(pod).expect("the caller has found the pod");
                Err(self.uid_differs(row, wanted))
            }
            _ => Ok(()),
        }
    }

    /// Upstream: pkg/apis/core/validation `ValidatePodStatusUpdate`.
    #[cold]
    fn nomination_is_refused(&self, pod: PodUid) -> ApiError {
        let row = self.rows.get(pod).expect("the caller has found the pod");
        let why =
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node";
        ApiError::invalid("Pod", &self.names.text(row.name), why)
    }

    /// The version that the pod has then. A patch that changes nothing is no write.
    #[inline]
    pub(super) fn patch_pod(&mut self, patch: &PodStatusPatch<'_>, now_ns: u64) -> Result<u64, ApiError> {
        let Some(row) = self.rows.get_mut(patch.pod) else {
            return Err(self.pod_is_gone(patch.pod));
        };
        let before = *row;
        match &patch.condition {
            None => {}
            Some(ConditionEdit::Set(condition)) => {
                apply(row, self.conditions.set(row.conditions, condition), now_ns);
            }
            Some(ConditionEdit::Remove { type_, reason }) => {
                apply(row, self.conditions.remove(row.conditions, type_, reason), now_ns);
            }
        }
        match patch.nomination {
            NominatedNodeNamePatch::Keep => {}
            NominatedNodeNamePatch::Clear => row.nominated = None,
            NominatedNodeNamePatch::Set(node) => {
                if self.clears_nomination_of_bound && row.node.is_some() && row.nominated != Some(node) {
                    *row = before;
                    return Err(self.nomination_is_refused(patch.pod));
                }
                row.nominated = Some(node);
            }
        }
        if row.conditions != before.conditions {
            row.flags = with_preempted(row.flags, &self.conditions, row.conditions);
        }
        row.phase = patch.phase.unwrap_or(row.phase);
        if *row == before {
            return Ok(before.resource_version);
        }
        self.pressure.release();
        row.resource_version = self.log.next_version();
        let row = *row;
        self.quota_changes(Some(&before), Some(&row));
        self.publish(EventKind::Modified, WatchedObject::Pod(row));
        Ok(row.resource_version)
    }

    #[inline]
    pub(super) fn delete_pod(&mut self, pod: PodUid, now_ns: u64) -> Result<(), ApiError> {
        let Some(row) = self.rows.get_mut(pod) else {
            return Err(self.pod_is_gone(pod));
        };
        if !row.flags.contains(PodFlags::FINALIZERS) {
            self.remove_pod(pod);
            return Ok(());
        }
        if row.flags.contains(PodFlags::TERMINATING) {
            return Ok(());
        }
        row.flags = row.flags.with(PodFlags::TERMINATING);
        row.resource_version = self.log.next_version();
        let row = *row;
        self.pod_deletion_ns.insert(pod, now_ns);
        self.publish(EventKind::Modified, WatchedObject::Pod(row));
        Ok(())
    }

    /// Removes a pod without regard to finalizers. Whether it existed.
    pub(super) fn end_pod(&mut self, pod: PodUid) -> bool {
        let exists = self.rows.get(pod).is_some();
        if exists {
            self.remove_pod(pod);
        }
        exists
    }

    fn remove_pod(&mut self, pod: PodUid) -> StoredPodRow {
        self.pressure.release();
        let mut row = self.rows.remove(pod).expect("the caller has found the pod");
        self.quota_changes(Some(&row), None);
        self.names.remove(row.namespace, row.name);
        if row.node.is_some() {
            *self.scheduled_count_mut(row.namespace) -= 1;
        }
        if row.flags.contains(PodFlags::TERMINATING) {
            self.pod_deletion_ns.remove(&pod);
        }
        row.resource_version = self.log.next_version();
        self.publish(EventKind::Deleted, WatchedObject::Pod(row));
        row
    }

    /// The row that a new state of a pod is to replace, if it is the one its writer has read.
    fn pod_to_replace(&self, pod: &Pod) -> Result<StoredPodRow, ApiError> {
        let namespace = filled(&pod.metadata.namespace).unwrap_or_else(|| "default".to_owned());
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let row = *self.get_pod(&namespace, name)?;
        self.check_pod_uid(row.uid, filled(&pod.metadata.uid).as_deref())?;
        let version = filled(&pod.metadata.resource_version);
        if version.is_some_and(|version| version != row.resource_version.to_string()) {
            return Err(ApiError::modified(PODS, name));
        }
        Ok(row)
    }

    /// Differs: upstream lets an update change few fields of a spec. Here only the node and new
    /// scheduling gates are refused (`pod_update_cannot_change_node_name_nor_add_scheduling_gates`).
    pub(super) fn update_pod(&mut self, mut pod: Pod) -> Result<Pod, ApiError> {
        let row = self.pod_to_replace(&pod)?;
        let old = self.specs.get(row.spec).object.clone();
        default_pod(&mut pod);
        admit_pod_update(&mut pod);
        let spec = pod.spec.get_or_insert_default();
        let no_spec = PodSpec::default();
        let old_spec = old.spec.as_ref().unwrap_or(&no_spec);
        self.check_spec_update(spec, old_spec, &row)?;
        spec.node_name = None;
        spec.priority = spec.priority.or(old_spec.priority);
        spec.preemption_policy = spec.preemption_policy.take().or_else(|| old_spec.preemption_policy.clone());
        pod.metadata.namespace.clone_from(&old.metadata.namespace);
        pod.metadata.generate_name.clone_from(&old.metadata.generate_name);
        pod.status.clone_from(&old.status);
        let flags = body::flags_of(&pod);
        let spec = self.intern_body(pod, row.name)?;
        self.check_quotas_of_change(&row, spec)?;
        let not_of_the_body = PodFlags::TERMINATING.with(PodFlags::PREEMPTED);
        let kept = row.flags.and(not_of_the_body.with(PodFlags::EXECUTION_TERMS));
        Ok(self.replace_pod(row, StoredPodRow { spec, flags: flags.with(kept), ..row }))
    }

    fn check_spec_update(&self, new: &PodSpec, old: &PodSpec, row: &StoredPodRow) -> Result<(), ApiError> {
        let refused = |why: String| Err(ApiError::invalid("Pod", &self.names.text(row.name), why));
        let node = row.node.map(|node| &**self.node_name(node)).unwrap_or_default();
        if new.node_name.as_deref().is_some_and(|named| named != node) {
            return refused(
                "spec: Forbidden: pod updates may not change spec.nodeName; create a Binding".to_owned(),
            );
        }
        let old_gates = old.scheduling_gates.as_deref().unwrap_or_default();
        let added = new.scheduling_gates.iter().flatten().find(|gate| !old_gates.contains(gate));
        match added {
            Some(gate) => refused(format!(
                "spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gate '{}'",
                gate.name
            )),
            None => Ok(()),
        }
    }

    pub(super) fn update_pod_status(&mut self, mut pod: Pod, now_ns: u64) -> Result<Pod, ApiError> {
        let row = self.pod_to_replace(&pod)?;
        let mut status = pod.status.take().unwrap_or_default();
        let columns = body::take_status_columns(&mut status);
        let nominated = columns.nominated.map(|node| self.node_name_id(&node));
        let is_named_anew = nominated.is_some() && nominated != row.nominated;
        if self.clears_nomination_of_bound && row.node.is_some() && is_named_anew {
            return Err(self.nomination_is_refused(row.uid));
        }
        let mut body = (*self.specs.get(row.spec).object).clone();
        body.status = Some(status);
        let conditions = self.conditions.intern(columns.conditions);
        let new = StoredPodRow {
            spec: self.intern_body(body, row.name)?,
            phase: columns.phase,
            nominated,
            conditions,
            flags: with_preempted(row.flags, &self.conditions, conditions),
            transition_ns: if conditions == row.conditions { row.transition_ns } else { now_ns },
            ..row
        };
        Ok(self.replace_pod(row, new))
    }

    /// Writes a changed row, or removes a pod whose last finalizer is gone.
    fn replace_pod(&mut self, old: StoredPodRow, mut new: StoredPodRow) -> Pod {
        self.pressure.release();
        if new == old {
            return self.assemble_pod(&new);
        }
        let is_terminating = new.flags.contains(PodFlags::TERMINATING);
        let pod = self.rows.get_mut(new.uid).expect("the caller has found the pod");
        if is_terminating && !new.flags.contains(PodFlags::FINALIZERS) {
            *pod = new;
            self.quota_changes(Some(&old), Some(&new));
            let last = self.assemble_pod(&new);
            self.remove_pod(new.uid);
            return last;
        }
        new.resource_version = self.log.next_version();
        *pod = new;
        self.quota_changes(Some(&old), Some(&new));
        self.publish(EventKind::Modified, WatchedObject::Pod(new));
        self.assemble_pod(&new)
    }
}

/// The flags of a pod that has these conditions.
fn with_preempted(flags: PodFlags, table: &ConditionTable, conditions: ConditionSetId) -> PodFlags {
    match table.is_preempted(conditions) {
        true => flags.with(PodFlags::PREEMPTED),
        false => flags.without(PodFlags::PREEMPTED),
    }
}

#[inline]
fn apply(row: &mut StoredPodRow, step: Step, now_ns: u64) {
    match step {
        Step::None => {}
        Step::Text(conditions) => row.conditions = conditions,
        Step::Transition(conditions) => {
            row.conditions = conditions;
            row.transition_ns = now_ns;
        }
    }
}

fn filled(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

fn check_new_pod(pod: &Pod, namespace: &str) -> Result<(), ApiError> {
    let name = filled(&pod.metadata.name).or_else(|| filled(&pod.metadata.generate_name));
    let Some(name) = name else {
        let why = "metadata.name: Required value: name or generateName is required";
        return Err(ApiError::invalid("Pod", "", why));
    };
    if filled(&pod.metadata.namespace).is_some_and(|named| named != namespace) {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if pod.spec.as_ref().is_none_or(|spec| spec.containers.is_empty()) {
        return Err(ApiError::invalid("Pod", &name, "spec.containers: Required value"));
    }
    Ok(())
}
