//! `requiredDuringSchedulingRequiredDuringExecution` of a pod's node affinity (KEP-2358).
//!
//! The typed API does not know the field. It travels through typed pods as an annotation: whoever
//! reads JSON lifts the field into it, conversion reads it, and whoever writes JSON lowers it again.
//!
//! ```text
//! JSON ──lift──▶ Pod with the annotation ──pod_input──▶ NodeAffinityInput::required_during_execution
//!  ▲────lower────────┘
//! ```

use k8s_openapi::api::core::v1::{NodeSelector, Pod};
use schedlab_core::input::NodeSelectorTermInput;
use schedlab_objects::ApiJson as _;
use serde_json::{Map, Value};

use super::ConvertError;
use super::affinity::node_term;

/// The annotation that carries the field.
pub const EXECUTION_AFFINITY: &str = "schedlab.io/required-during-execution";

const FIELD: &str = "requiredDuringSchedulingRequiredDuringExecution";
const PATH: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingRequiredDuringExecution";

/// Moves the field of a pod's JSON, if it is there, into the annotation. As strict as the typed
/// fields are: what a node selector does not have is an error.
pub fn lift_execution_affinity(pod: &mut Value) -> Result<(), ConvertError> {
    let affinity = pod.pointer_mut("/spec/affinity/nodeAffinity").and_then(Value::as_object_mut);
    let Some(written) = affinity.and_then(|affinity| affinity.remove(FIELD)) else { return Ok(()) };
    if written.is_null() {
        return Ok(());
    }
    let text = written.to_string();
    let label = label_of(pod);
    check(&label, &text)?;
    let fields = pod.as_object_mut().expect("it has a spec");
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else {
        let error = "metadata: expected a mapping".to_owned();
        return Err(ConvertError::Shape { object: label, error });
    };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(EXECUTION_AFFINITY.to_owned(), Value::String(text));
    }
    Ok(())
}

/// Moves the annotation of a pod's JSON, if it is there, back into the field.
pub fn lower_execution_affinity(pod: &mut Value) {
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    let Some(Value::String(text)) = annotations.remove(EXECUTION_AFFINITY) else { return };
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    let Ok(field) = serde_json::from_str::<Value>(&text) else { return };
    let mut at = pod;
    for name in ["spec", "affinity", "nodeAffinity"] {
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    if let Some(affinity) = at.as_object_mut() {
        affinity.insert(FIELD.to_owned(), field);
    }
}

/// What the API server does while the gate is off: it forgets the field.
pub fn drop_execution_affinity(pod: &mut Pod) {
    if let Some(annotations) = &mut pod.metadata.annotations {
        annotations.remove(EXECUTION_AFFINITY);
    }
}

/// Whether the pod has the field.
pub(crate) fn has_execution_terms(pod: &Pod) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|it| it.contains_key(EXECUTION_AFFINITY))
}

/// The terms, if the pod has the field.
pub(super) fn execution_terms(
    pod: &Pod,
    label: &dyn Fn() -> String,
) -> Result<Option<Vec<NodeSelectorTermInput>>, ConvertError> {
    let annotations = pod.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|annotations| annotations.get(EXECUTION_AFFINITY)) else {
        return Ok(None);
    };
    let selector = check(&label(), text)?;
    Ok(Some(selector.node_selector_terms.iter().map(node_term).collect()))
}

/// Reads a node selector and nothing else.
fn check(object: &str, text: &str) -> Result<NodeSelector, ConvertError> {
    let shape = |error: String| ConvertError::Shape { object: object.to_owned(), error };
    let written: Value = serde_json::from_str(text).map_err(|error| shape(format!("{PATH}: {error}")))?;
    let selector: NodeSelector =
        NodeSelector::from_json(written.clone()).map_err(|error| shape(format!("{PATH}: {error}")))?;
    if selector.node_selector_terms.is_empty() {
        return Err(shape(format!("{PATH}.nodeSelectorTerms: at least one node selector term is required")));
    }
    let known = selector.to_json().map_err(|error| shape(format!("{PATH}: {error}")))?;
    if known != written {
        return Err(shape(format!("{PATH}: {written} has fields that a node selector does not have")));
    }
    Ok(selector)
}

fn label_of(pod: &Value) -> String {
    let text = |name: &str| pod.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
    let namespace = text("namespace").unwrap_or("default");
    let name = text("name").or_else(|| text("generateName")).unwrap_or_default();
    format!("pod {namespace}/{name}")
}

#[cfg(test)]
mod tests {
    use schedlab_testkit::manifest::pod;
    use serde_json::json;

    use super::super::pod_input;
    use super::*;

    fn asking(field: Value) -> Value {
        pod("web").set(&format!("/spec/affinity/nodeAffinity/{FIELD}"), field).into()
    }

    fn cache() -> Value {
        let requirement = json!({ "key": "app", "operator": "In", "values": ["cache"] });
        json!({ "nodeSelectorTerms": [{ "matchExpressions": [requirement] }] })
    }

    #[test]
    fn execution_affinity_round_trips_through_conversion() {
        let written = asking(cache());
        let mut lifted = written.clone();
        lift_execution_affinity(&mut lifted).expect("a node selector");
        assert_eq!(lifted.pointer("/spec/affinity/nodeAffinity"), Some(&json!({})));
        let typed: Pod = serde_json::from_value(lifted).expect("a pod");
        let (input, _) = pod_input(&typed).expect("it can be converted");
        let affinity = input.node_affinity.expect("it has node affinity");
        assert_eq!(affinity.required, None, "the other field stays absent");
        let terms = affinity.required_during_execution.expect("the terms");
        assert_eq!(terms[0].match_expressions[0].key, "app");
        let mut back = serde_json::to_value(&typed).expect("JSON");
        lower_execution_affinity(&mut back);
        assert_eq!(
            back.pointer("/spec/affinity/nodeAffinity"),
            written.pointer("/spec/affinity/nodeAffinity")
        );
        assert_eq!(back.pointer("/metadata/annotations"), None);
    }

    #[test]
    fn pod_without_execution_affinity_is_unchanged() {
        for written in [json!({}), json!({ "spec": { "affinity": null } }), asking(Value::Null)] {
            let mut lifted = written.clone();
            lift_execution_affinity(&mut lifted).expect("nothing to lift");
            assert_eq!(lifted.pointer("/metadata/annotations"), None, "{written}");
        }
    }

    #[test]
    fn malformed_execution_affinity_is_refused_with_its_path() {
        let cases = [
            ("no terms", json!({ "nodeSelectorTerms": [] }), "at least one node selector term is required"),
            ("a list", json!([]), "invalid type"),
            (
                "an unknown field",
                json!({ "nodeSelectorTerms": [{ "matchLabels": { "a": "b" } }] }),
                "has fields that a node selector does not have",
            ),
        ];
        for (name, field, expected) in cases {
            let error = lift_execution_affinity(&mut asking(field)).expect_err(name).to_string();
            assert!(
                error.starts_with("pod default/web: spec.affinity.nodeAffinity.required"),
                "{name}: {error}"
            );
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn without_feature_gate_execution_affinity_is_dropped() {
        let mut lifted = asking(cache());
        lift_execution_affinity(&mut lifted).expect("a node selector");
        let mut typed: Pod = serde_json::from_value(lifted).expect("a pod");
        drop_execution_affinity(&mut typed);
        let (input, _) = pod_input(&typed).expect("it can be converted");
        assert_eq!(input.node_affinity.and_then(|it| it.required_during_execution), None);
    }
}
