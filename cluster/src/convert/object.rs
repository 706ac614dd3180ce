//! Objects of all kinds but pods and nodes, as events for the scheduler's one door.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_core::input::WorkloadKind;
use schedlab_core::scheduler::{NamedObject, ObjectEvent, ObjectInput, ObjectKind, ObjectRef};

use super::pod_group::pod_group_input;
use super::storage::typed;
use super::{
    disruption_budget_input, dra_input, replica_set_input, replication_controller_input, service_input,
    stateful_set_input, storage_input,
};
use crate::api::{EventKind, GenericObject};

/// Hands an object over as an event, if scheduling reads its kind.
///
/// The store takes such objects as they come. One that cannot be read is as good as absent:
/// upstream's informers drop it, too.
pub fn with_object_event(object: &GenericObject, kind: EventKind, then: impl FnOnce(ObjectEvent<'_>)) {
    let Some(named) = named(object) else { return };
    if kind == EventKind::Deleted {
        return then(ObjectEvent::Deleted(ObjectRef::Named(named)));
    }
    with_input(object, named, |input| {
        then(if kind == EventKind::Added { ObjectEvent::Added(input) } else { ObjectEvent::Modified(input) });
    });
}

fn named(object: &GenericObject) -> Option<NamedObject<'_>> {
    let metadata = &object.metadata;
    Some(NamedObject {
        kind: ObjectKind::of(&object.api_version, &object.kind)?,
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: metadata.name.as_deref().unwrap_or_default(),
    })
}

/// Hands over what scheduling reads of an object.
fn with_input(object: &GenericObject, named: NamedObject<'_>, then: impl FnOnce(ObjectInput<'_>)) {
    match named.kind {
        ObjectKind::Namespace => {
            let none = BTreeMap::new();
            let labels = object.metadata.labels.as_ref().unwrap_or(&none);
            then(ObjectInput::Namespace { name: named.name, labels });
        }
        ObjectKind::Service => {
            if let Ok(service) = typed(object) {
                then(ObjectInput::Service(&service_input(&service)));
            }
        }
        ObjectKind::Workload(kind) => {
            let input = match kind {
                WorkloadKind::ReplicationController => {
                    typed(object).map(|it| replication_controller_input(&it))
                }
                WorkloadKind::ReplicaSet => typed(object).map(|it| replica_set_input(&it)),
                WorkloadKind::StatefulSet => typed(object).map(|it| stateful_set_input(&it)),
            };
            if let Ok(input) = input {
                then(ObjectInput::Workload(&input));
            }
        }
        ObjectKind::PodDisruptionBudget => {
            if let Ok(budget) = typed(object) {
                // Nobody but the eviction API, which is not here, writes `disruptedPods`.
                let budget = disruption_budget_input(&budget);
                then(ObjectInput::PodDisruptionBudget { budget: &budget, disrupted: &[] });
            }
        }
        ObjectKind::Storage(_) => match storage_input(object) {
            Ok(Some(input)) => then(ObjectInput::Storage(&input)),
            Ok(None) | Err(_) => then(ObjectInput::Named(named)),
        },
        ObjectKind::PodGroup => then(ObjectInput::PodGroup(&Arc::new(pod_group_input(object)))),
        ObjectKind::Dra(_) => match dra_input(object) {
            Ok(Some(input)) => then(ObjectInput::Dra(&input)),
            Ok(None) | Err(_) => then(ObjectInput::Named(named)),
        },
        ObjectKind::Pod | ObjectKind::Node => unreachable!("pods and nodes are watched as rows"),
    }
}
