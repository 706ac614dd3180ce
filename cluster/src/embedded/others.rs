//! The verbs on all kinds that are stored as JSON.

use std::sync::Arc;

use schedlab_core::api_call::PodGroupStatusPatch;
use serde_json::{Value, json};

use super::body::time_of;
use super::state::{NamespaceState, ObjectPath, ResourceKey, State};
use crate::api::{
    ApiError, EventKind, GenericObject, ListQuery, NamespaceId, ObjectKey, ResourceInfo, WatchedObject,
    group_of, resource_or_guess, set_pod_group_condition,
};
use crate::defaults::{PriorityClass, default_other, resolve_pod_group_priority};
use crate::selector;
use crate::validate::{validate_other, validate_other_update};

/// Where an object is, or is to be.
pub(super) struct Place {
    pub(super) resource: ResourceInfo,
    pub(super) path: ObjectPath,
}

impl Place {
    pub(super) fn of_key(key: &ObjectKey) -> Self {
        let resource = resource_or_guess(&key.api_version, &key.kind, key.namespace.as_deref());
        Self::of(resource, key.namespace.as_deref(), &key.name)
    }

    pub(super) fn of_object(object: &GenericObject) -> Self {
        let metadata = &object.metadata;
        let namespace = metadata.namespace.as_deref();
        let resource = resource_or_guess(&object.api_version, &object.kind, namespace);
        Self::of(resource, namespace, metadata.name.as_deref().unwrap_or_default())
    }

    fn of(resource: ResourceInfo, namespace: Option<&str>, name: &str) -> Self {
        let namespace = match (resource.namespaced, namespace) {
            (false, _) => "",
            (true, None | Some("")) => "default",
            (true, Some(namespace)) => namespace,
        };
        Self { path: (namespace.to_owned(), name.to_owned()), resource }
    }

    fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && self.resource.plural == "namespaces"
    }

    fn table(&self) -> ResourceKey {
        (self.resource.group.clone(), self.resource.plural.clone())
    }
}

impl State {
    fn find_other(&self, place: &Place) -> Option<&Arc<GenericObject>> {
        self.others.get(&place.table())?.get(&place.path)
    }

    pub(super) fn get_other(&self, place: &Place) -> Result<&Arc<GenericObject>, ApiError> {
        self.find_other(place).ok_or_else(|| ApiError::not_found(&place.resource.qualified(), &place.path.1))
    }

    /// Every object in a namespace needs the namespace.
    ///
    /// Upstream: the NamespaceLifecycle admission plugin.
    pub(super) fn check_namespace(&self, resource: &str, namespace: NamespaceId) -> Result<(), ApiError> {
        let state = self.namespace_states.get(namespace.0 as usize).copied().unwrap_or_default();
        if state == NamespaceState::Active {
            return Ok(());
        }
        let name = self.namespaces.text(namespace.0);
        if state == NamespaceState::Absent {
            return Err(ApiError::not_found("namespaces", name));
        }
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        Err(ApiError::forbidden_resource(resource, why))
    }

    /// Notes what became of an object, if it is a namespace.
    fn note_namespace(&mut self, place: &Place, state: NamespaceState) {
        if place.is_namespace() {
            let id = self.namespace_id(&place.path.1).0 as usize;
            let needed = self.namespace_states.len().max(id + 1);
            self.namespace_states.resize(needed, NamespaceState::Absent);
            self.namespace_states[id] = state;
        }
    }

    pub(super) fn create_other(
        &mut self,
        mut object: GenericObject,
        now_ns: u64,
    ) -> Result<GenericObject, ApiError> {
        let mut place = Place::of_object(&object);
        if place.resource.namespaced {
            let namespace = self.namespace_id(&place.path.0);
            self.check_namespace(&place.resource.qualified(), namespace)?;
            object.metadata.namespace = Some(place.path.0.clone());
        } else {
            object.metadata.namespace = None;
        }
        if place.path.1.is_empty() {
            place.path.1 = self.name_for_other(&object, &place)?;
            object.metadata.name = Some(place.path.1.clone());
        }
        if self.find_other(&place).is_some() {
            return Err(ApiError::already_exists(&place.resource.qualified(), &place.path.1));
        }
        if place.resource.has_status {
            object.body.remove("status");
        }
        default_other(&mut object);
        self.admit_pod_group(&mut object)?;
        check_other(&object, None)?;
        self.check_object_quota(&object, &place)?;
        object.metadata.uid = Some(self.take_uid());
        object.metadata.creation_timestamp = Some(time_of(now_ns));
        object.metadata.deletion_timestamp = None;
        Ok(self.put_other(object, &place, EventKind::Added))
    }

    /// Upstream: plugin/pkg/admission/priority/admission.go `admitPodGroup`.
    fn admit_pod_group(&self, object: &mut GenericObject) -> Result<(), ApiError> {
        if (group_of(&object.api_version), object.kind.as_str()) != ("scheduling.k8s.io", "PodGroup") {
            return Ok(());
        }
        let Some(Value::Object(spec)) = object.body.get_mut("spec") else { return Ok(()) };
        resolve_pod_group_priority(spec, &self.priority_classes()).map_err(|class| {
            let why = format!("no PriorityClass with name {class} was found");
            let name = object.metadata.name.as_deref().unwrap_or_default();
            ApiError::forbidden("podgroups.scheduling.k8s.io", name, why)
        })
    }

    fn name_for_other(&mut self, object: &GenericObject, place: &Place) -> Result<String, ApiError> {
        let prefix = object.metadata.generate_name.clone().filter(|prefix| !prefix.is_empty());
        let why = "metadata.name: Required value: name or generateName is required";
        let prefix = prefix.ok_or_else(|| ApiError::invalid(&object.kind, "", why))?;
        let table = place.table();
        Ok(self.generate_name(&place.resource.qualified(), &prefix, |state, name| {
            let path = (place.path.0.clone(), name.to_owned());
            state.others.get(&table).is_some_and(|objects| objects.contains_key(&path))
        }))
    }

    fn put_other(&mut self, mut object: GenericObject, place: &Place, kind: EventKind) -> GenericObject {
        object.resource_version = self.log.next_version();
        object.metadata.resource_version = Some(object.resource_version.to_string());
        self.note_namespace(
            place,
            match object.metadata.deletion_timestamp {
                None => NamespaceState::Active,
                Some(_) => NamespaceState::Terminating,
            },
        );
        let stored = Arc::new(object.clone());
        let table = self.others.entry(place.table()).or_default();
        table.insert(place.path.clone(), Arc::clone(&stored));
        self.publish(kind, WatchedObject::Other(Arc::clone(&stored)));
        self.note_quota(&stored, kind);
        self.bind_claim_of(&stored);
        object
    }

    /// An object that was written before, and takes its place only now.
    pub(super) fn insert_written(&mut self, object: GenericObject) {
        let place = Place::of_object(&object);
        let table = self.others.entry(place.table()).or_default();
        table.insert(place.path, Arc::new(object));
    }

    /// The PV controller's part: a volume that names its claim is bound to it from both sides.
    ///
    /// Upstream: test/integration/util/util.go `StartFakePVController`, which scheduler_perf runs.
    /// Differs: the claim changes in the same step as the volume, without calls of a controller
    /// (`persistent_volume_with_claim_ref_binds_the_pvc`).
    fn bind_claim_of(&mut self, volume: &GenericObject) {
        if !volume.api_version.eq("v1") || volume.kind != "PersistentVolume" {
            return;
        }
        let Some(claim_ref) = volume.body.get("spec").and_then(|spec| spec.get("claimRef")) else { return };
        let text = |key: &str| claim_ref.get(key).and_then(Value::as_str).unwrap_or_default();
        let key = ObjectKey::namespaced("v1", "PersistentVolumeClaim", text("namespace"), text("name"));
        let place = Place::of_key(&key);
        let Some(claim) = self.find_other(&place) else { return };
        let volume_name = claim.body.get("spec").and_then(|spec| spec.get("volumeName"));
        if volume_name.and_then(Value::as_str).is_some_and(|name| !name.is_empty()) {
            return;
        }
        let mut claim = (**claim).clone();
        let spec = claim.body.entry("spec").or_insert_with(|| json!({}));
        spec["volumeName"] = json!(volume.metadata.name);
        let annotations = claim.metadata.annotations.get_or_insert_default();
        annotations.insert("pv.kubernetes.io/bind-completed".to_owned(), "yes".to_owned());
        self.put_other(claim, &place, EventKind::Modified);
    }

    pub(super) fn update_other(&mut self, mut object: GenericObject) -> Result<GenericObject, ApiError> {
        let place = Place::of_object(&object);
        let old = Arc::clone(self.get_other(&place)?);
        super::check_preconditions(&place.resource.qualified(), &object.metadata, &old.metadata)?;
        if place.resource.has_status {
            set_status(&mut object, old.body.get("status"));
        }
        super::keep_system_metadata(&mut object.metadata, &old.metadata);
        self.replace_other(object, &old, &place)
    }

    pub(super) fn update_other_status(&mut self, object: &GenericObject) -> Result<GenericObject, ApiError> {
        let place = Place::of_object(object);
        let old = Arc::clone(self.get_other(&place)?);
        super::check_preconditions(&place.resource.qualified(), &object.metadata, &old.metadata)?;
        let mut new = (*old).clone();
        set_status(&mut new, object.body.get("status"));
        self.replace_other(new, &old, &place)
    }

    /// A patch of a pod group's status.
    pub(super) fn patch_pod_group(
        &mut self,
        patch: &PodGroupStatusPatch,
        now_ns: u64,
    ) -> Result<(), ApiError> {
        self.prepare_kind("PodGroup");
        let key =
            ObjectKey::namespaced("scheduling.k8s.io/v1beta1", "PodGroup", &patch.namespace, &patch.name);
        let place = Place::of_key(&key);
        let old = Arc::clone(self.get_other(&place)?);
        let mut new = (*old).clone();
        let now = time_of(now_ns).0.to_string();
        set_pod_group_condition(&mut new, &patch.condition, Some(&now));
        self.replace_other(new, &old, &place).map(drop)
    }

    fn replace_other(
        &mut self,
        mut object: GenericObject,
        old: &GenericObject,
        place: &Place,
    ) -> Result<GenericObject, ApiError> {
        object.resource_version = old.resource_version;
        if object == *old {
            return Ok(object);
        }
        check_other(&object, Some(old))?;
        if super::is_to_be_removed(&object.metadata) {
            return Ok(self.remove_other(object, place));
        }
        Ok(self.put_other(object, place, EventKind::Modified))
    }

    pub(super) fn delete_other(
        &mut self,
        place: &Place,
        uid: Option<&str>,
        now_ns: u64,
    ) -> Result<(), ApiError> {
        let mut object = (**self.get_other(place)?).clone();
        super::check_uid(&place.resource.qualified(), uid, &object.metadata)?;
        if super::has_finalizers(&object.metadata) {
            if object.metadata.deletion_timestamp.is_none() {
                object.metadata.deletion_timestamp = Some(time_of(now_ns));
                self.put_other(object, place, EventKind::Modified);
            }
            return Ok(());
        }
        if place.is_namespace() {
            self.empty_namespace(&place.path.1, now_ns);
        }
        self.remove_other(object, place);
        Ok(())
    }

    fn remove_other(&mut self, mut object: GenericObject, place: &Place) -> GenericObject {
        let table = self.others.get_mut(&place.table()).expect("the caller has found the object");
        table.remove(&place.path).expect("the caller has found the object");
        self.note_namespace(place, NamespaceState::Absent);
        object.resource_version = self.log.next_version();
        object.metadata.resource_version = Some(object.resource_version.to_string());
        self.publish(EventKind::Deleted, WatchedObject::Other(Arc::new(object.clone())));
        self.note_quota(&object, EventKind::Deleted);
        object
    }

    /// Deletes all that is in a namespace.
    ///
    /// Differs: upstream's namespace controller does this with calls of its own while the
    /// namespace is terminating; here it is part of the namespace's deletion, and finalizers of
    /// the contents do not hold the namespace back (`namespace_delete_deletes_its_objects`).
    fn empty_namespace(&mut self, namespace: &str, now_ns: u64) {
        if let Some(id) = self.namespaces.find(namespace) {
            let pods = self.rows.iter().filter(|row| row.namespace.0 == id);
            let uids: Vec<_> = pods.map(|row| row.uid).collect();
            for uid in uids {
                self.delete_pod(uid, now_ns).expect("the pod was listed under the same lock");
            }
        }
        let contents = self.others.values().flat_map(|objects| objects.values());
        let inside = contents.filter(|object| object.metadata.namespace.as_deref() == Some(namespace));
        let places: Vec<Place> = inside.map(|object| Place::of_object(object)).collect();
        for place in places {
            self.delete_other(&place, None, now_ns).expect("the object was listed under the same lock");
        }
    }

    pub(super) fn list_others(&self, query: &ListQuery) -> Vec<Arc<GenericObject>> {
        let resource = resource_or_guess(&query.api_version, &query.kind, query.namespace.as_deref());
        let objects = self.others.get(&(resource.group, resource.plural));
        objects
            .into_iter()
            .flat_map(|objects| objects.iter())
            .filter(|((namespace, _), _)| query.namespace.as_ref().is_none_or(|wanted| wanted == namespace))
            .filter(|(_, object)| {
                let labels = object.metadata.labels.clone().unwrap_or_default();
                query.labels.as_ref().is_none_or(|wanted| selector::matches(wanted, &labels))
            })
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }

    /// The priority classes that new pods may name.
    pub(super) fn priority_classes(&self) -> Vec<PriorityClass> {
        self.list_others(&ListQuery::all("scheduling.k8s.io/v1", "PriorityClass"))
            .iter()
            .filter_map(|object| {
                let body = &object.body;
                let policy = body.get("preemptionPolicy").and_then(Value::as_str);
                Some(PriorityClass {
                    name: object.metadata.name.clone()?,
                    value: i32::try_from(body.get("value")?.as_i64()?).ok()?,
                    preemption_policy: policy.map(str::to_owned),
                    is_global_default: body.get("globalDefault").and_then(Value::as_bool).unwrap_or(false),
                })
            })
            .collect()
    }
}

fn check_other(object: &GenericObject, old: Option<&GenericObject>) -> Result<(), ApiError> {
    let unchanging = old.map_or(Ok(()), |old| validate_other_update(object, old));
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let checked = validate_other(object).and(unchanging);
    checked.map_err(|error| ApiError::invalid(&object.kind, name, error))
}

fn set_status(object: &mut GenericObject, status: Option<&Value>) {
    match status {
        Some(status) => object.body.insert("status".to_owned(), status.clone()),
        None => object.body.remove("status"),
    };
}
