//! Objects of any kind: pods and nodes typed, all others as JSON under their metadata.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schedlab_core::input::LabelSelectorInput;
use schedlab_objects::ApiJson as _;
pub use schedlab_objects::GenericObject;
use serde_json::Value;

/// An API object.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A pod.
    Pod(Box<Pod>),
    /// A node.
    Node(Box<Node>),
    /// Any other kind.
    Other(Box<GenericObject>),
}

impl Object {
    /// Reads an object of any kind; `apiVersion` and `kind` say which.
    pub fn from_json(value: Value) -> Result<Object, serde_json::Error> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("apiVersion"), text("kind")) {
            ("v1", "Pod") => Pod::from_json(value).map(|pod| Object::Pod(Box::new(pod))),
            ("v1", "Node") => Node::from_json(value).map(|node| Object::Node(Box::new(node))),
            _ => GenericObject::from_json(value).map(|other| Object::Other(Box::new(other))),
        }
    }

    /// `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        match self {
            Object::Pod(_) | Object::Node(_) => "v1",
            Object::Other(object) => &object.api_version,
        }
    }

    /// `kind`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Object::Pod(_) => "Pod",
            Object::Node(_) => "Node",
            Object::Other(object) => &object.kind,
        }
    }

    /// `metadata`.
    #[must_use]
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Object::Pod(pod) => &pod.metadata,
            Object::Node(node) => &node.metadata,
            Object::Other(object) => &object.metadata,
        }
    }

    /// `metadata`, to be changed before the object is sent.
    pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Object::Pod(pod) => &mut pod.metadata,
            Object::Node(node) => &mut node.metadata,
            Object::Other(object) => &mut object.metadata,
        }
    }

    /// Where the object is found once it is stored under its name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey {
            api_version: self.api_version().to_owned(),
            kind: self.kind().to_owned(),
            namespace: self.metadata().namespace.clone(),
            name: self.metadata().name.clone().unwrap_or_default(),
        }
    }

    /// The pod, if it is one.
    #[must_use]
    pub fn into_pod(self) -> Option<Box<Pod>> {
        match self {
            Object::Pod(pod) => Some(pod),
            Object::Node(_) | Object::Other(_) => None,
        }
    }

    /// The node, if it is one.
    #[must_use]
    pub fn into_node(self) -> Option<Box<Node>> {
        match self {
            Object::Node(node) => Some(node),
            Object::Pod(_) | Object::Other(_) => None,
        }
    }

    /// The object of another kind than pod and node, if it is one.
    #[must_use]
    pub fn into_other(self) -> Option<Box<GenericObject>> {
        match self {
            Object::Other(object) => Some(object),
            Object::Pod(_) | Object::Node(_) => None,
        }
    }
}

/// Names one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata.namespace`; absent for kinds without one.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectKey {
    /// Names a pod.
    #[must_use]
    pub fn pod(namespace: &str, name: &str) -> Self {
        Self::namespaced("v1", "Pod", namespace, name)
    }

    /// Names a node.
    #[must_use]
    pub fn node(name: &str) -> Self {
        Self::cluster("v1", "Node", name)
    }

    /// Names an object in a namespace.
    #[must_use]
    pub fn namespaced(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::cluster(api_version, kind, name) }
    }

    /// Names an object of a kind without namespaces.
    #[must_use]
    pub fn cluster(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }
}

/// Which objects a list covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// `apiVersion` of the kind.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// Only this namespace; all namespaces when absent.
    pub namespace: Option<String>,
    /// Only objects whose labels match; all when absent.
    pub labels: Option<LabelSelectorInput>,
}

impl ListQuery {
    /// All objects of a kind.
    #[must_use]
    pub fn all(api_version: &str, kind: &str) -> Self {
        Self { api_version: api_version.to_owned(), kind: kind.to_owned(), ..Self::default() }
    }

    /// All objects of a kind in a namespace.
    #[must_use]
    pub fn within(api_version: &str, kind: &str, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::all(api_version, kind) }
    }
}

/// The answer to a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectList {
    /// Watch from here on to miss nothing.
    pub resource_version: u64,
    /// Pods in the order of creation, other kinds by namespace and name.
    pub items: Vec<Object>,
}
