//! Objects from templates, checked: a field the API does not know is an error, not silence.

use std::path::Path;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::scheduling::v1beta1::PodGroup;
use schedlab_cluster::api::{GenericObject, Object, resource_for};
use schedlab_cluster::convert::lift_execution_affinity;
use schedlab_cluster::validate::unknown_field;
use schedlab_objects::ApiJson;
use serde_json::{Value, json};

use super::error::OpError;
use crate::yaml::with_hint;

/// A pod from a template.
pub(crate) fn pod(value: Value, path: &Path) -> Result<Pod, OpError> {
    typed(value, "Pod", path)
}

/// A node from a template.
pub(crate) fn node(value: Value, path: &Path) -> Result<Node, OpError> {
    typed(value, "Node", path)
}

/// A pod group from a template. Whatever version the template names, it is created as v1beta1, and read as
/// strictly as a pod.
///
/// Upstream: executor.go `createPodGroupWithRetry`.
pub(crate) fn pod_group(mut value: Value, path: &Path) -> Result<GenericObject, OpError> {
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), json!("scheduling.k8s.io/v1beta1"));
    }
    let read: PodGroup = typed(value, "PodGroup", path)?;
    other(read.to_json().map_err(|error| wrong(path, error.to_string()))?, path)
}

/// An object of any other kind from a template.
pub(crate) fn other(value: Value, path: &Path) -> Result<GenericObject, OpError> {
    GenericObject::from_json(value).map_err(|error| wrong(path, error.to_string()))
}

/// An object of whatever kind the template says.
pub(crate) fn any(value: Value, path: &Path) -> Result<Object, OpError> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("v1", "Pod") => Ok(Object::Pod(Box::new(pod(value, path)?))),
        ("v1", "Node") => Ok(Object::Node(Box::new(node(value, path)?))),
        ("", _) | (_, "") => Err(wrong(path, "an object needs `apiVersion` and `kind`".to_owned())),
        _ => Ok(Object::Other(Box::new(other(value, path)?))),
    }
}

/// The pod of createPods without a template.
/// Upstream: scheduler_perf/util.go `makeBasePod`.
pub(crate) fn base_pod() -> Value {
    let resources = json!({"cpu": "100m", "memory": "500Mi"});
    json!({
        "metadata": {"generateName": "pod-"},
        "spec": {"containers": [{
            "name": "pause",
            "image": "registry.k8s.io/pause",
            "ports": [{"containerPort": 80}],
            "resources": {"requests": resources.clone(), "limits": resources},
        }]},
    })
}

/// The node of createNodes without a template.
/// Upstream: scheduler_perf/util.go `makeBaseNode`.
pub(crate) fn base_node(prefix: &str) -> Value {
    let capacity = json!({"pods": "110", "cpu": "4", "memory": "32Gi"});
    json!({
        "metadata": {"generateName": prefix},
        "status": {
            "capacity": capacity.clone(),
            "allocatable": capacity,
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// A namespace without a name.
pub(crate) fn namespace() -> GenericObject {
    GenericObject { api_version: "v1".to_owned(), kind: "Namespace".to_owned(), ..GenericObject::default() }
}

/// The object in the op's namespace; the kind and the op must agree about there being one.
pub(crate) fn placed(mut object: Object, namespace: Option<&str>, path: &Path) -> Result<Object, OpError> {
    let kind = object.kind().to_owned();
    let is_namespaced = resource_for(object.api_version(), &kind).map(|resource| resource.namespaced);
    let path = path.to_owned();
    match (is_namespaced, namespace) {
        (Some(true), None) => return Err(OpError::NoNamespace { path, kind }),
        (Some(false), Some(name)) => {
            return Err(OpError::NeedlessNamespace { path, kind, name: name.to_owned() });
        }
        _ => {}
    }
    if let (Some(own), Some(name)) = (object.metadata().namespace.as_deref(), namespace)
        && own != name
    {
        let (own, name) = (own.to_owned(), name.to_owned());
        return Err(OpError::OtherNamespace { path, own, name });
    }
    object.metadata_mut().namespace = namespace.map(str::to_owned);
    Ok(object)
}

fn typed<T: ApiJson>(mut value: Value, kind: &str, path: &Path) -> Result<T, OpError> {
    let made = value.get("kind").and_then(Value::as_str).unwrap_or(kind).to_owned();
    if made != kind {
        return Err(wrong(path, format!("makes a {made}, but this op creates a {kind}")));
    }
    quote_quantities(&mut value);
    if kind == "Pod" {
        lift_execution_affinity(&mut value).map_err(|error| wrong(path, error.to_string()))?;
    }
    let (object, known) = read(&value, path)?;
    let Some(unknown) = unknown_field(&value, &known) else { return Ok(object) };
    // Upstream reads files with Go's decoder, to which `NodeTaintsPolicy` is `nodeTaintsPolicy`.
    let mut respelt = value;
    lower_unknown(&mut respelt, &known);
    let (object, known) = read(&respelt, path)?;
    match unknown_field(&respelt, &known) {
        Some(_) => Err(wrong(path, format!("unknown field {unknown:?} in a {kind}"))),
        None => Ok(object),
    }
}

/// The object, and what of it the API knows.
fn read<T: ApiJson>(value: &Value, path: &Path) -> Result<(T, Value), OpError> {
    let object = T::from_json(value.clone()).map_err(|error| wrong(path, error.to_string()))?;
    let known = object.to_json().map_err(|error| wrong(path, error.to_string()))?;
    Ok((object, known))
}

/// Writes the first letter of fields that did not survive into `known` small.
fn lower_unknown(written: &mut Value, known: &Value) {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => {
            let unknown: Vec<String> =
                written.keys().filter(|name| !known.contains_key(*name)).cloned().collect();
            for name in unknown {
                let mut letters = name.chars();
                let small: String =
                    letters.next().iter().flat_map(|letter| letter.to_lowercase()).chain(letters).collect();
                if !written.contains_key(&small)
                    && let Some(value) = written.remove(&name)
                {
                    written.insert(small, value);
                }
            }
            for (name, value) in written.iter_mut() {
                if let Some(inner) = known.get(name) {
                    lower_unknown(value, inner);
                }
            }
        }
        (Value::Array(written), Value::Array(known)) => {
            written.iter_mut().zip(known).for_each(|(value, inner)| lower_unknown(value, inner));
        }
        _ => {}
    }
}

fn wrong(path: &Path, message: String) -> OpError {
    OpError::Object { path: path.to_owned(), message: with_hint(message) }
}

/// Quantities may be written as numbers; the typed objects want text.
pub(crate) fn quote_quantities(value: &mut Value) {
    const LISTS: [&str; 6] =
        ["requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources"];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if LISTS.contains(&name.as_str())
                    && let Value::Object(list) = field
                {
                    for quantity in list.values_mut().filter(|quantity| quantity.is_number()) {
                        *quantity = Value::String(quantity.to_string());
                    }
                }
                quote_quantities(field);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(quote_quantities),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_the_api_does_not_know_are_named_with_their_path() {
        let cases = [
            (
                json!({"kind": "Pod", "spec": {"containers": [{"name": "a", "imagee": "x"}]}}),
                Some("spec.containers[0].imagee"),
            ),
            (json!({"kind": "Pod", "speck": {}}), Some("speck")),
            (
                json!({"kind": "Pod", "spec": {"containers": []}, "metadata": {"creationTimestamp": null}}),
                None,
            ),
        ];
        for (value, expected) in cases {
            let result = pod(value, Path::new("pod.yaml"));
            match expected {
                None => assert!(result.is_ok(), "{result:?}"),
                Some(field) => {
                    let message = result.expect_err("must be refused").to_string();
                    assert_eq!(
                        message,
                        format!("pod.yaml: unknown field {field:?} in a Pod; correct the template")
                    );
                }
            }
        }
    }

    #[test]
    fn a_field_may_start_with_a_large_letter() {
        let spread = json!([{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "NodeTaintsPolicy": "Honor", "labelSelector": {"matchLabels": {"App": "a"}}}]);
        let value = json!({"kind": "Pod", "spec": {"containers": [], "topologySpreadConstraints": spread}});
        let pod = pod(value, Path::new("pod.yaml")).expect("as upstream reads it");
        let spread = pod.spec.and_then(|spec| spec.topology_spread_constraints).expect("a constraint");
        assert_eq!(spread[0].node_taints_policy.as_deref(), Some("Honor"));
        let labels = spread[0].label_selector.as_ref().and_then(|selector| selector.match_labels.clone());
        assert_eq!(labels.expect("labels")["App"], "a", "keys of maps stay as they are");
    }

    #[test]
    fn another_kind_is_refused() {
        let message = node(json!({"kind": "Pod"}), Path::new("n.yaml")).expect_err("not a node").to_string();
        assert_eq!(message, "n.yaml: makes a Pod, but this op creates a Node; correct the template");
    }

    #[test]
    fn an_object_without_a_kind_is_refused() {
        let message = any(json!({"metadata": {"name": "a"}}), Path::new("a.yaml")).expect_err("no kind");
        assert_eq!(
            message.to_string(),
            "a.yaml: an object needs `apiVersion` and `kind`; correct the template"
        );
    }

    #[test]
    fn quantities_may_be_numbers() {
        let value = json!({"kind": "Node", "status": {"capacity": {"cpu": 4, "memory": "1Gi"}}});
        let node = node(value, Path::new("n.yaml")).expect("numbers are fine");
        let capacity = node.status.and_then(|status| status.capacity).expect("it was given");
        assert_eq!(capacity["cpu"].0, "4");
    }

    #[test]
    fn the_built_in_objects_are_valid() {
        pod(base_pod(), Path::new("-")).expect("base pod");
        node(base_node("node-"), Path::new("-")).expect("base node");
    }

    fn object(kind: &str, namespace: Option<&str>) -> Object {
        let value =
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": namespace}});
        any(value, Path::new("a.yaml")).expect("an object")
    }

    #[test]
    fn op_namespace_must_match_the_kind() {
        let cases = [
            (object("Service", None), Some("x"), Ok(Some("x"))),
            (object("PersistentVolume", None), None, Ok(None)),
            (
                object("Service", None),
                None,
                Err("a.yaml: a Service lives in a namespace; set `namespace` of this op"),
            ),
            (
                object("PersistentVolume", None),
                Some("x"),
                Err("a.yaml: a PersistentVolume has no namespace; remove `namespace: x` from this op"),
            ),
            (
                object("Service", Some("y")),
                Some("x"),
                Err("a.yaml: the object says namespace \"y\", the op \"x\"; remove it from the template"),
            ),
        ];
        for (object, namespace, expected) in cases {
            let result = placed(object, namespace, Path::new("a.yaml"));
            match expected {
                Ok(expected) => {
                    assert_eq!(result.expect("it is fine").metadata().namespace.as_deref(), expected);
                }
                Err(message) => assert_eq!(result.expect_err("refused").to_string(), message),
            }
        }
    }
}
