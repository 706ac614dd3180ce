//! An object in one state, as the feed keeps it: what selectors ask, and its text when somebody reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use schedlab_cluster::api::{GenericObject, NodeEntry};
use schedlab_cluster::embedded::PodParts;
use schedlab_core::input::Labels;
use schedlab_objects::{node_text, object_text, pod_text};
use serde_json::Value;

use crate::events::core_event_text;
use crate::resources::ResourceId;
use crate::selector::Selection;

/// Namespace and name; the namespace is empty for resources without one.
pub(crate) type ItemKey = (Arc<str>, String);

/// An object in one state.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) resource_version: u64,
    pub(crate) source: Source,
}

/// What the store gave.
#[derive(Debug)]
pub(crate) enum Source {
    Pod(Box<PodParts>),
    Node(Arc<NodeEntry>),
    Other(Arc<GenericObject>),
}

/// How a client wants to see an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// In this version of its group.
    Version(ResourceId, &'static str),
    /// An event of `events.k8s.io` as one of the core group.
    CoreEvent,
}

static NO_LABELS: Labels = BTreeMap::new();

impl Item {
    pub(crate) fn key(&self) -> ItemKey {
        match &self.source {
            Source::Pod(pod) => (Arc::clone(&pod.namespace), pod.name.clone()),
            Source::Node(node) => (Arc::from(""), node.object.metadata.name.clone().unwrap_or_default()),
            Source::Other(other) => {
                let metadata = &other.metadata;
                let namespace = metadata.namespace.as_deref().unwrap_or_default();
                (Arc::from(namespace), metadata.name.clone().unwrap_or_default())
            }
        }
    }

    fn namespace(&self) -> &str {
        match &self.source {
            Source::Pod(pod) => &pod.namespace,
            Source::Node(_) => "",
            Source::Other(other) => other.metadata.namespace.as_deref().unwrap_or_default(),
        }
    }

    fn labels(&self) -> &Labels {
        match &self.source {
            Source::Pod(pod) => &pod.entry.input.labels,
            Source::Node(node) => &node.input.labels,
            Source::Other(other) => other.metadata.labels.as_ref().unwrap_or(&NO_LABELS),
        }
    }

    /// A field that selectors may name, by its name in `events.k8s.io` for events.
    fn field(&self, name: &str) -> Option<&str> {
        match (&self.source, name) {
            (_, "metadata.namespace") => Some(self.namespace()),
            (Source::Pod(pod), _) => pod_field(pod, name),
            (Source::Node(node), "metadata.name") => node.object.metadata.name.as_deref(),
            (Source::Node(node), "spec.unschedulable") => {
                let is_cordoned = node.object.spec.as_ref().and_then(|spec| spec.unschedulable);
                Some(if is_cordoned == Some(true) { "true" } else { "false" })
            }
            (Source::Node(_), _) => None,
            (Source::Other(other), "metadata.name") => other.metadata.name.as_deref(),
            (Source::Other(other), _) => {
                let (first, rest) = name.split_once('.').unwrap_or((name, ""));
                let start = other.body.get(first)?;
                let mut steps = rest.split('.').filter(|step| !step.is_empty());
                steps.try_fold(start, |at, step| at.get(step))?.as_str()
            }
        }
    }

    /// Whether a client wants this object.
    pub(crate) fn is_selected(&self, selection: &Selection) -> bool {
        selection.namespace.as_deref().is_none_or(|wanted| wanted == self.namespace())
            && selection.admits(self.labels(), |name| self.field(name))
    }

    /// The object's JSON text as a client wants to see it.
    pub(crate) fn text(&self, view: View) -> Bytes {
        let written = match (&self.source, view) {
            (Source::Pod(pod), _) => pod_text(&pod.assemble()),
            (Source::Node(node), _) => node_text(&node.object),
            (Source::Other(other), View::CoreEvent) => core_event_text(other),
            (Source::Other(other), View::Version(resource, version)) => {
                other_text(other, &resource.info().api_version(version))
            }
        };
        Bytes::from(written.expect("an object of the store can be written"))
    }

    /// Whether the text is the same for all who see it like this: the version it is stored in.
    pub(crate) fn is_stored_as(&self, view: View) -> bool {
        match (&self.source, view) {
            (Source::Pod(_) | Source::Node(_), _) => true,
            (Source::Other(_), View::CoreEvent) => false,
            (Source::Other(other), View::Version(resource, version)) => {
                other.api_version == resource.info().api_version(version)
            }
        }
    }

    /// The object as JSON, as a client wants to see it.
    pub(crate) fn to_value(&self, view: View) -> Value {
        serde_json::from_slice(&self.text(view)).expect("what was just written can be read")
    }

    /// The same state under another version: how a watch tells that an object left a selection.
    pub(crate) fn at_version(&self, resource_version: u64) -> Item {
        let source = match &self.source {
            Source::Pod(pod) => {
                let mut pod = pod.clone();
                pod.row.resource_version = resource_version;
                Source::Pod(pod)
            }
            Source::Node(node) => {
                let mut object = (*node.object).clone();
                object.metadata.resource_version = Some(resource_version.to_string());
                Source::Node(Arc::new(NodeEntry { object: Arc::new(object), ..(**node).clone() }))
            }
            Source::Other(other) => {
                let mut object = (**other).clone();
                object.metadata.resource_version = Some(resource_version.to_string());
                Source::Other(Arc::new(object))
            }
        };
        Item { resource_version, source }
    }
}

fn other_text(other: &GenericObject, api_version: &str) -> Result<Vec<u8>, serde_json::Error> {
    if other.api_version == api_version {
        return object_text(other);
    }
    object_text(&GenericObject { api_version: api_version.to_owned(), ..other.clone() })
}

fn pod_field<'a>(pod: &'a PodParts, name: &str) -> Option<&'a str> {
    let spec = || pod.entry.object.spec.as_ref();
    match name {
        "metadata.name" => Some(&pod.name),
        "spec.nodeName" => Some(pod.node.as_deref().unwrap_or_default()),
        "spec.schedulerName" => spec()?.scheduler_name.as_deref(),
        "spec.restartPolicy" => spec()?.restart_policy.as_deref(),
        "spec.serviceAccountName" => spec()?.service_account_name.as_deref(),
        "spec.hostNetwork" => Some(if spec()?.host_network == Some(true) { "true" } else { "false" }),
        "status.phase" => Some(pod.row.phase.as_str()),
        "status.nominatedNodeName" => Some(pod.nominated.as_deref().unwrap_or_default()),
        "status.podIP" => pod.entry.object.status.as_ref()?.pod_ip.as_deref(),
        _ => None,
    }
}

/// Whether selectors may name a field of a resource.
///
/// Upstream: `AddFieldLabelConversionFunc` of each API group.
pub(crate) fn has_field(resource: ResourceId, field: &str) -> bool {
    const POD: [&str; 8] = [
        "spec.nodeName",
        "spec.schedulerName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.nominatedNodeName",
        "status.podIP",
    ];
    const EVENT: [&str; 12] = [
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "deprecatedSource.component",
        "type",
        "source",
    ];
    if matches!(field, "metadata.name" | "metadata.namespace") {
        return true;
    }
    match resource.info().kind {
        "Pod" => POD.contains(&field),
        "Node" => field == "spec.unschedulable",
        "Event" => EVENT.contains(&field),
        "Namespace" => field == "status.phase",
        "Secret" => field == "type",
        "ReplicationController" | "ReplicaSet" => field == "status.replicas",
        "Job" => field == "status.successful",
        "ResourceSlice" => matches!(field, "spec.nodeName" | "spec.driver"),
        _ => false,
    }
}
