//! Objects around pods and nodes: namespaces, services, workloads, budgets, storage.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use schedlab_core::input::WorkloadKind;
use schedlab_core::input::storage::StorageKey;
use schedlab_core::queue::{Action, ClusterEvent, EventResource};
use schedlab_core::scheduler::Scheduler;
use schedlab_core::storage::StorageNews;
use schedlab_core::world::World;
use serde::de::DeserializeOwned;

use crate::api::{EventKind, GenericObject};
use crate::convert::{
    disruption_budget_input, replica_set_input, replication_controller_input, service_input,
    stateful_set_input, storage_input, storage_kind,
};

/// Takes over the new state of an object, and wakes pods that may have waited for it.
///
/// The store takes such objects as they come. One that cannot be read is as good as absent:
/// upstream's informers drop it, too.
pub(super) fn tell_of(object: &GenericObject, kind: EventKind, scheduler: &mut Scheduler, now_ns: u64) {
    if (object.api_version.as_str(), object.kind.as_str()) == ("v1", "Namespace") {
        let none = BTreeMap::new();
        let labels = object.metadata.labels.as_ref().unwrap_or(&none);
        let labels = (kind != EventKind::Deleted).then_some(labels);
        return scheduler.on_namespace(name_of(object).1, labels, now_ns);
    }
    let (world, _) = scheduler.parts();
    let news = match kind {
        EventKind::Deleted => forget(object, world),
        EventKind::Added | EventKind::Modified => learn(object, world),
    };
    let Some(resource) = resource(&object.kind) else { return };
    let action = match kind {
        EventKind::Added => Action::ADD,
        EventKind::Modified => Action::UPDATE,
        EventKind::Deleted => Action::DELETE,
    };
    scheduler.on_object_news(ClusterEvent { resource, action }, name_of(object), news, now_ns);
}

fn name_of(object: &GenericObject) -> (&str, &str) {
    let metadata = &object.metadata;
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// The kinds that some plugin waits for.
fn resource(kind: &str) -> Option<EventResource> {
    Some(match kind {
        "PersistentVolume" => EventResource::PersistentVolume,
        "PersistentVolumeClaim" => EventResource::PersistentVolumeClaim,
        "StorageClass" => EventResource::StorageClass,
        "CSINode" => EventResource::CsiNode,
        "CSIDriver" => EventResource::CsiDriver,
        "CSIStorageCapacity" => EventResource::CsiStorageCapacity,
        "VolumeAttachment" => EventResource::VolumeAttachment,
        "ResourceClaim" => EventResource::ResourceClaim,
        "ResourceSlice" => EventResource::ResourceSlice,
        "DeviceClass" => EventResource::DeviceClass,
        _ => return None,
    })
}

fn learn(object: &GenericObject, world: &mut World) -> StorageNews {
    match (object.api_version.as_str(), object.kind.as_str()) {
        ("v1", "Service") => {
            if let Some(service) = typed::<Service>(object) {
                world.owners_mut().upsert_service(service_input(&service));
            }
        }
        ("v1", "ReplicationController") => {
            if let Some(controller) = typed::<ReplicationController>(object) {
                world.owners_mut().upsert_workload(replication_controller_input(&controller));
            }
        }
        ("apps/v1", "ReplicaSet") => {
            if let Some(set) = typed::<ReplicaSet>(object) {
                world.owners_mut().upsert_workload(replica_set_input(&set));
            }
        }
        ("apps/v1", "StatefulSet") => {
            if let Some(set) = typed::<StatefulSet>(object) {
                world.owners_mut().upsert_workload(stateful_set_input(&set));
            }
        }
        ("policy/v1", "PodDisruptionBudget") => {
            if let Some(budget) = typed::<PodDisruptionBudget>(object) {
                // Nobody but the eviction API, which is not here, writes `disruptedPods`.
                world.upsert_budget(&disruption_budget_input(&budget), |_| None);
            }
        }
        _ => {
            if let Ok(Some(input)) = storage_input(object) {
                return world.upsert_storage(&input);
            }
        }
    }
    StorageNews::Anything
}

fn forget(object: &GenericObject, world: &mut World) -> StorageNews {
    let (namespace, name) = name_of(object);
    match (object.api_version.as_str(), object.kind.as_str()) {
        ("v1", "Service") => world.owners_mut().remove_service(namespace, name),
        ("policy/v1", "PodDisruptionBudget") => world.remove_budget(namespace, name),
        (api_version, kind) => {
            let kinds =
                [WorkloadKind::ReplicationController, WorkloadKind::ReplicaSet, WorkloadKind::StatefulSet];
            if let Some(workload) = kinds.into_iter().find(|it| it.type_names() == (api_version, kind)) {
                world.owners_mut().remove_workload(workload, namespace, name);
            } else if let Some(kind) = storage_kind(api_version, kind) {
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                return world.remove_storage(&StorageKey { kind, namespace, name });
            }
        }
    }
    StorageNews::Anything
}

fn typed<T: DeserializeOwned>(object: &GenericObject) -> Option<T> {
    serde_json::from_value(serde_json::to_value(object).ok()?).ok()
}
