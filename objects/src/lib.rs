//! Kinds of the API as JSON.
//!
//! serde's readers and writers are generic: whoever calls one compiles it, with the readers of all fields
//! of a pod, and again in the next crate that calls it. Here they are compiled once, behind functions that
//! are not generic, in a crate of their own that is optimised less: an object is read once, or once for
//! thousands of replicas. With them in `cluster` and `workloads` those two took 170 of the 500 seconds of
//! processor time of a first build.

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Node, NodeSelector, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1beta1::PodGroup;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Error, Map, Value};

/// A kind, or a part of one, that is read from JSON and written as JSON.
pub trait ApiJson: Sized {
    /// Reads one.
    fn from_json(value: Value) -> Result<Self, Error>;

    /// What it is as JSON.
    fn to_json(&self) -> Result<Value, Error>;
}

/// The only place that compiles readers and writers of these types.
macro_rules! api_json {
    ($($kind:ty),* $(,)?) => {
        $(impl ApiJson for $kind {
            #[inline(never)]
            fn from_json(value: Value) -> Result<Self, Error> {
                serde_json::from_value(value)
            }

            #[inline(never)]
            fn to_json(&self) -> Result<Value, Error> {
                serde_json::to_value(self)
            }
        })*
    };
}

api_json!(
    Pod,
    Node,
    GenericObject,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PodDisruptionBudget,
    PodGroup,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    NodeSelector,
    LabelSelector,
    Quantity,
);

/// A pod as the text of its JSON; equal pods have equal texts.
#[inline(never)]
pub fn pod_text(pod: &Pod) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(pod)
}

/// A node as the text of its JSON.
#[inline(never)]
pub fn node_text(node: &Node) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(node)
}

/// Any other object as the text of its JSON.
#[inline(never)]
pub fn object_text(object: &GenericObject) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(object)
}

/// Reads a pod from the text of its JSON.
#[inline(never)]
pub fn pod_from_text(text: &[u8]) -> Result<Pod, Error> {
    serde_json::from_slice(text)
}

/// Reads a node from the text of its JSON.
#[inline(never)]
pub fn node_from_text(text: &[u8]) -> Result<Node, Error> {
    serde_json::from_slice(text)
}

/// Reads any other object from the text of its JSON. In lists objects do not say what they are: `kind` and
/// `api_version` are the list's.
#[inline(never)]
pub fn object_from_text(text: &[u8], api_version: &str, kind: &str) -> Result<GenericObject, Error> {
    let mut fields: Map<String, Value> = serde_json::from_slice(text)?;
    fields.insert("apiVersion".to_owned(), Value::from(api_version));
    fields.insert("kind".to_owned(), Value::from(kind));
    GenericObject::from_json(Value::Object(fields))
}

/// An object the cluster stores without knowing what its fields mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenericObject {
    /// `apiVersion`, as in `apps/v1`.
    pub api_version: String,
    /// `kind`, as in `ReplicaSet`.
    pub kind: String,
    /// `metadata`.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The version this state was written at; 0 for an object that is not stored.
    #[serde(skip)]
    pub resource_version: u64,
    /// All other fields.
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_of_any_kind_keeps_the_fields_that_nobody_here_knows() {
        let written = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"size": 3}});
        let object = GenericObject::from_json(written.clone()).unwrap();
        assert_eq!((object.kind.as_str(), object.metadata.name.as_deref()), ("Gadget", Some("a")));
        assert_eq!(object.to_json().unwrap(), written);
    }

    #[test]
    fn pod_with_a_field_of_another_shape_is_refused() {
        assert!(Pod::from_json(json!({"spec": {"containers": "none"}})).is_err());
    }

    #[test]
    fn object_of_a_list_gets_the_kind_of_the_list() {
        let read =
            object_from_text(br#"{"metadata":{"name":"a"},"size":3}"#, "example.com/v1", "Gadget").unwrap();
        let whole =
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}, "size": 3});
        assert_eq!(read.to_json().unwrap(), whole);
        assert_eq!(
            pod_from_text(br#"{"metadata":{"name":"a"}}"#).unwrap().metadata.name.as_deref(),
            Some("a")
        );
        assert!(node_from_text(b"[]").is_err());
    }

    #[test]
    fn equal_pods_have_equal_texts() {
        let pod = |name: &str| Pod::from_json(json!({"metadata": {"name": name}})).unwrap();
        assert_eq!(pod_text(&pod("a")).unwrap(), pod_text(&pod("a")).unwrap());
        assert_ne!(pod_text(&pod("a")).unwrap(), pod_text(&pod("b")).unwrap());
    }
}
