//! What DynamicResources writes to the API: allocations and reservations before a pod is bound, and what
//! it takes back.
//!
//! Upstream: plugins/dynamicresources/dynamicresources.go `bindClaim`, extendeddynamicresources.go.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use schedlab_core::api_call::{ClaimWrite, ClaimWrites};
use schedlab_core::dra::{DeviceReservation, ExtendedResourceClaim};
use schedlab_core::ids::PodUid;
use schedlab_core::input::NodeSelectorTermInput;
use schedlab_core::input::dra::{
    AllocationInput, DeviceAllocationMode, DeviceRequestInput, DeviceResultInput, DeviceTolerationInput,
    Quantities,
};
use serde_json::{Map, Value, json};

use crate::api::{Api, ApiError, GenericObject, Object, ObjectKey, StatusReason};
use crate::convert::EXTENDED_RESOURCE_CLAIM;

const VERSION: &str = "resource.k8s.io/v1";
const KIND: &str = "ResourceClaim";

/// Performs the writes, up to the first that fails.
pub fn write(api: &dyn Api, writes: &ClaimWrites) -> Result<(), ApiError> {
    let key = |(namespace, name): &(String, String)| ObjectKey::namespaced(VERSION, KIND, namespace, name);
    match &writes.write {
        ClaimWrite::Reserve(reservation) => reserve(api, writes.pod, reservation),
        ClaimWrite::Deallocate(claim) => change_status(api, &key(claim), |status| {
            ["allocation", "reservedFor", "devices"].iter().for_each(|field| drop(status.remove(*field)));
            Ok(())
        }),
        ClaimWrite::Delete(claim) => match api.delete(&key(claim), None) {
            Err(error) if error.reason == StatusReason::NotFound => Ok(()),
            other => other,
        },
    }
}

/// How many calls to the API the writes are.
pub(super) fn trips(writes: &ClaimWrites) -> u32 {
    let ClaimWrite::Reserve(reservation) = &writes.write else { return 1 };
    let created = usize::from(reservation.extended.is_some());
    let trips = reservation.allocations.len() + reservation.shared.len() + created;
    u32::try_from(trips).unwrap_or(u32::MAX)
}

fn reserve(api: &dyn Api, pod: PodUid, reservation: &DeviceReservation) -> Result<(), ApiError> {
    let name = api.pod_row(pod).map(|row| api.pod_name(row.name)).unwrap_or_default();
    let consumer = json!({"resource": "pods", "name": name, "uid": api.pod_uid(pod)});
    let add_consumer = |status: &mut Map<String, Value>| {
        let list = status.entry("reservedFor").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(consumer.clone());
        }
    };
    let last = reservation.allocations.len().saturating_sub(1);
    for (at, pending) in reservation.allocations.iter().enumerate() {
        let claim = &pending.claim;
        let mut key = ObjectKey::namespaced(VERSION, KIND, &claim.namespace, &claim.name);
        if let Some(extended) = reservation.extended.as_ref().filter(|_| at == last) {
            key = create(api, (pod, &name), extended)?;
        }
        change_status(api, &key, |status| {
            if is_allocated(status) {
                return Err("allocated");
            }
            status.insert("allocation".to_owned(), allocation_json(&pending.allocation));
            add_consumer(status);
            Ok(())
        })?;
    }
    for (namespace, name) in &reservation.shared {
        change_status(api, &ObjectKey::namespaced(VERSION, KIND, namespace, name), |status| {
            if !is_allocated(status) {
                return Err("deallocated");
            }
            add_consumer(status);
            Ok(())
        })?;
    }
    Ok(())
}

/// The claim for a pod's extended resources. Its name ends with the pod's UID, upstream's with letters
/// drawn by the API server.
fn create(
    api: &dyn Api,
    (pod, pod_name): (PodUid, &str),
    extended: &ExtendedResourceClaim,
) -> Result<ObjectKey, ApiError> {
    let uid = api.pod_uid(pod);
    let suffix: String = uid.chars().rev().take_while(char::is_ascii_alphanumeric).collect();
    let name = format!("{pod_name}-extended-resources-{suffix}");
    let namespace = extended.claim.namespace.clone();
    let requests: Vec<Value> = extended.claim.requests.iter().map(request_json).collect();
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        namespace: Some(namespace.clone()),
        annotations: Some(BTreeMap::from([(EXTENDED_RESOURCE_CLAIM.to_owned(), "true".to_owned())])),
        owner_references: Some(vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: pod_name.to_owned(),
            uid,
            controller: Some(true),
            ..OwnerReference::default()
        }]),
        ..ObjectMeta::default()
    };
    let body = [("spec".to_owned(), json!({"devices": {"requests": requests}}))].into_iter().collect();
    let claim = GenericObject {
        api_version: VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata,
        body,
        ..GenericObject::default()
    };
    api.create(Object::Other(Box::new(claim)))?;
    Ok(ObjectKey::namespaced(VERSION, KIND, &namespace, &name))
}

fn request_json(request: &DeviceRequestInput) -> Value {
    let exactly = request.exactly.as_ref().map(|it| {
        let count = match it.mode {
            DeviceAllocationMode::ExactCount(count) => count,
            DeviceAllocationMode::All | DeviceAllocationMode::Unknown => 1,
        };
        json!({"deviceClassName": &*it.device_class_name, "allocationMode": "ExactCount", "count": count})
    });
    json!({"name": &*request.name, "exactly": exactly})
}

fn is_allocated(status: &Map<String, Value>) -> bool {
    status.get("allocation").is_some_and(|it| !it.is_null())
}

/// Writes what a change makes of a claim's status. An error of the change says what somebody else did to
/// the claim since the node was chosen.
fn change_status(
    api: &dyn Api,
    key: &ObjectKey,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<(), &'static str>,
) -> Result<(), ApiError> {
    let Object::Other(mut object) = api.get(key)? else { return Ok(()) };
    let meanwhile = |done: &str| {
        let claim = format!("{}/{}", key.namespace.as_deref().unwrap_or_default(), key.name);
        let message = format!("claim {claim} got {done} elsewhere in the meantime");
        ApiError { reason: StatusReason::Conflict, message }
    };
    let status = object.body.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    if let Some(status) = status.as_object_mut() {
        change(status).map_err(meanwhile)?;
    }
    api.update_status(Object::Other(object)).map(|_| ())
}

/// An allocation as `status.allocation` has it.
#[must_use]
pub fn allocation_json(allocation: &AllocationInput) -> Value {
    let config: Vec<Value> = allocation
        .config
        .iter()
        .map(|it| {
            let mut config: Value = serde_json::from_str(&it.body).unwrap_or_default();
            config["source"] = json!(if it.is_from_class { "FromClass" } else { "FromClaim" });
            if !it.requests.is_empty() {
                config["requests"] = json!(it.requests);
            }
            config
        })
        .collect();
    let mut devices = json!({"results": allocation.results.iter().map(result_json).collect::<Vec<_>>()});
    if !config.is_empty() {
        devices["config"] = json!(config);
    }
    let mut json = json!({"devices": devices});
    if let Some(terms) = &allocation.node_selector {
        json["nodeSelector"] = json!({"nodeSelectorTerms": terms.iter().map(term_json).collect::<Vec<_>>()});
    }
    json
}

fn result_json(result: &DeviceResultInput) -> Value {
    let device = &result.device;
    let mut json = json!({
        "request": result.request, "driver": &*device.driver, "pool": &*device.pool, "device": &*device.device,
    });
    if result.admin_access {
        json["adminAccess"] = json!(true);
    }
    if !result.tolerations.is_empty() {
        json["tolerations"] = result.tolerations.iter().map(toleration_json).collect();
    }
    if let Some(share) = &result.share_id {
        json["shareID"] = json!(&**share);
    }
    if let Some(consumed) = &result.consumed_capacity {
        json["consumedCapacity"] = quantities_json(consumed);
    }
    if let Some(conditions) = &result.binding_conditions {
        json["bindingConditions"] = json!(conditions);
    }
    if let Some(conditions) = &result.binding_failure_conditions {
        json["bindingFailureConditions"] = json!(conditions);
    }
    json
}

fn quantities_json(quantities: &Quantities) -> Value {
    let entry = |(name, amount): (&Arc<str>, &schedlab_core::quantity::Quantity)| {
        (name.to_string(), Value::String(amount.to_string()))
    };
    Value::Object(quantities.iter().map(entry).collect())
}

fn toleration_json(toleration: &DeviceTolerationInput) -> Value {
    let DeviceTolerationInput { key, operator, value, effect, seconds } = toleration;
    let mut json = Map::new();
    for (field, text) in [("key", key), ("operator", operator), ("value", value), ("effect", effect)] {
        if !text.is_empty() {
            json.insert(field.to_owned(), json!(text));
        }
    }
    json.extend(seconds.map(|seconds| ("tolerationSeconds".to_owned(), json!(seconds))));
    Value::Object(json)
}

fn term_json(term: &NodeSelectorTermInput) -> Value {
    let mut json = Map::new();
    for (field, requirements) in
        [("matchExpressions", &term.match_expressions), ("matchFields", &term.match_fields)]
    {
        if !requirements.is_empty() {
            let requirement = |it: &schedlab_core::input::RequirementInput| json!({"key": it.key, "operator": it.operator, "values": it.values});
            json.insert(field.to_owned(), requirements.iter().map(requirement).collect());
        }
    }
    Value::Object(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EmbeddedCluster;
    use crate::api::PodFilter;
    use schedlab_core::dra::PendingAllocation;
    use schedlab_core::input::dra::ResourceClaimInput;

    fn key() -> ObjectKey {
        ObjectKey::namespaced(VERSION, KIND, "default", "one")
    }

    /// A cluster with a claim of this status, and a pod.
    fn cluster(status: Value) -> (EmbeddedCluster, PodUid) {
        let api = EmbeddedCluster::new(Arc::new(|| 0));
        let metadata = |name: &str| json!({"name": name, "namespace": "default"});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("pod"),
            "spec": {"containers": [{"name": "c"}]}});
        let claim = json!({"apiVersion": VERSION, "kind": KIND, "metadata": metadata("one"),
            "spec": {"devices": {"requests": []}}});
        for object in [pod, claim] {
            api.create(Object::from_json(object).expect("an object")).expect("a valid object");
        }
        let Ok(Object::Other(mut claim)) = api.get(&key()) else { panic!("it was made") };
        claim.body.insert("status".to_owned(), status);
        api.update_status(Object::Other(claim)).expect("a valid status");
        let pod = api.pods_now(PodFilter::default())[0].uid;
        (api, pod)
    }

    fn status_of(api: &EmbeddedCluster) -> Value {
        let Ok(Object::Other(claim)) = api.get(&key()) else { panic!("it was made") };
        claim.body.get("status").cloned().unwrap_or_default()
    }

    /// What a pod for which a claim was allocated, or that shares one, is told.
    fn reserve_one(status: Value, is_shared: bool) -> (Result<(), String>, Value) {
        let (api, pod) = cluster(status);
        let claim = ResourceClaimInput {
            namespace: "default".to_owned(),
            name: "one".to_owned(),
            ..ResourceClaimInput::default()
        };
        let pending = PendingAllocation { claim: Arc::new(claim), allocation: Arc::default() };
        let reservation = DeviceReservation {
            allocations: if is_shared { Vec::new() } else { vec![pending] },
            shared: if is_shared { vec![("default".to_owned(), "one".to_owned())] } else { Vec::new() },
            extended: None,
        };
        let writes = ClaimWrites { pod, write: ClaimWrite::Reserve(Arc::new(reservation)) };
        let said = write(&api, &writes).map_err(|error| error.message);
        (said, status_of(&api))
    }

    fn consumers(count: usize) -> Value {
        (0..count).map(|at| json!({"resource": "pods", "name": "p", "uid": format!("uid-{at}")})).collect()
    }

    #[test]
    fn claim_that_somebody_allocated_or_deallocated_meanwhile_is_not_written() {
        let allocated = json!({"allocation": {"devices": {"results": []}}});
        let (said, status) = reserve_one(allocated.clone(), false);
        assert_eq!(said, Err("claim default/one got allocated elsewhere in the meantime".to_owned()));
        assert_eq!(status, allocated);
        let (said, status) = reserve_one(json!({}), true);
        assert_eq!(said, Err("claim default/one got deallocated elsewhere in the meantime".to_owned()));
        assert!(status.get("reservedFor").is_none());
        let (said, status) = reserve_one(json!({}), false);
        assert_eq!(said, Ok(()));
        assert_eq!(status["reservedFor"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn claim_with_256_consumers_gets_no_other() {
        let with = |count: usize| json!({"allocation": {"devices": {"results": []}}, "reservedFor": consumers(count)});
        assert_eq!(reserve_one(with(255), true).0, Ok(()));
        let (said, status) = reserve_one(with(256), true);
        let why = "status.reservedFor: Too many: 257: must have at most 256 items";
        assert_eq!(said, Err(format!("ResourceClaim \"one\" is invalid: {why}")));
        assert_eq!(status["reservedFor"].as_array().map(Vec::len), Some(256));
    }
}
