//! Sets of fields, as server-side apply keeps them: which fields of an object somebody owns.
//!
//! ```text
//!   spec.replicas             ["f:spec", "f:replicas"]
//!   containers, name = c      ["f:containers", "k:{\"name\":\"c\"}"], and ["f:containers", "k:...", "f:image"]
//! ```
//!
//! Upstream: structured-merge-diff `fieldpath`; `FieldsV1` is its form in `metadata.managedFields`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Steps from the object to a field.
pub(super) type Path = Vec<String>;

/// Fields that somebody owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet(pub(super) BTreeSet<Path>);

/// How the elements of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListType {
    /// By these fields.
    Map(&'static [&'static str]),
    /// By their values.
    Set,
    /// Not at all: the list is one value.
    Atomic,
}

/// Upstream: the `listType` and `listMapKey` tags of the API's types.
fn list_type(field: &str, elements: &[Value]) -> ListType {
    let has_all = |name: &str| !elements.is_empty() && elements.iter().all(|it| it.get(name).is_some());
    match field {
        "finalizers" | "podCIDRs" => ListType::Set,
        "conditions" | "addresses" => ListType::Map(&["type"]),
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "resourceClaims"
        | "resourceClaimStatuses"
        | "schedulingGates"
        | "secrets"
        | "drivers"
        | "claims" => ListType::Map(&["name"]),
        "ownerReferences" | "reservedFor" => ListType::Map(&["uid"]),
        "hostAliases" | "podIPs" | "hostIPs" => ListType::Map(&["ip"]),
        "topologySpreadConstraints" => ListType::Map(&["topologyKey", "whenUnsatisfiable"]),
        "volumeMounts" => ListType::Map(&["mountPath"]),
        "volumeDevices" => ListType::Map(&["devicePath"]),
        "ports" if has_all("containerPort") => ListType::Map(&["containerPort", "protocol"]),
        "ports" if has_all("port") => ListType::Map(&["port", "protocol"]),
        _ => ListType::Atomic,
    }
}

/// Maps that are one value.
fn is_atomic_map(field: &str) -> bool {
    matches!(field, "selector" | "nodeSelector" | "labelSelector" | "namespaceSelector" | "claimRef")
}

/// The step to an element; none if it lacks a key.
fn element_step(list: ListType, element: &Value) -> Option<String> {
    match list {
        ListType::Set => Some(format!("v:{element}")),
        ListType::Atomic => None,
        ListType::Map(keys) => {
            let mut key = Map::new();
            for name in keys {
                let value = element.get(*name).filter(|value| !value.is_null()).cloned();
                let value = value.or_else(|| (*name == "protocol").then(|| json!("TCP")))?;
                key.insert((*name).to_owned(), value);
            }
            Some(format!("k:{}", Value::Object(key)))
        }
    }
}

/// A keyed list as pairs of step and element, if every element has its keys.
fn keyed<'a>(field: &str, elements: &'a [Value]) -> Option<Vec<(String, &'a Value)>> {
    let list = list_type(field, elements);
    elements.iter().map(|element| Some((element_step(list, element)?, element))).collect()
}

impl FieldSet {
    /// All fields of an object but for those that say which object it is.
    pub(super) fn of(object: &Value) -> FieldSet {
        let mut set = FieldSet::default();
        for (name, value) in object.as_object().into_iter().flatten() {
            match name.as_str() {
                "apiVersion" | "kind" => {}
                "metadata" => {
                    let owned = ["labels", "annotations", "finalizers", "ownerReferences"];
                    for name in owned.into_iter().filter(|name| !value[*name].is_null()) {
                        let mut path = vec!["f:metadata".to_owned(), format!("f:{name}")];
                        set.add(name, &value[name], &mut path);
                    }
                }
                _ => set.add(name, value, &mut vec![format!("f:{name}")]),
            }
        }
        set
    }

    fn add(&mut self, field: &str, value: &Value, path: &mut Path) {
        match value {
            Value::Object(fields) if !fields.is_empty() && !is_atomic_map(field) => {
                for (name, value) in fields {
                    path.push(format!("f:{name}"));
                    self.add(name, value, path);
                    path.pop();
                }
            }
            Value::Array(elements) if !elements.is_empty() => match keyed(field, elements) {
                None => drop(self.0.insert(path.clone())),
                Some(elements) => {
                    for (step, element) in elements {
                        path.push(step);
                        self.0.insert(path.clone());
                        if element.is_object() {
                            self.add("", element, path);
                        }
                        path.pop();
                    }
                }
            },
            _ => drop(self.0.insert(path.clone())),
        }
    }

    /// Whether the field, or one above it that is one value, is in the set.
    pub(super) fn owns(&self, path: &[String]) -> bool {
        self.0.contains(path)
    }

    pub(super) fn remove(&mut self, path: &[String]) {
        self.0.remove(path);
    }

    /// As `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut root = Map::new();
        for path in &self.0 {
            put(&mut root, path);
        }
        Value::Object(root)
    }

    /// Of `fieldsV1`.
    pub(super) fn from_json(fields: &Value) -> FieldSet {
        fn read(fields: &Map<String, Value>, path: &mut Path, set: &mut FieldSet) {
            for (step, below) in fields {
                if step == "." {
                    set.0.insert(path.clone());
                    continue;
                }
                path.push(step.clone());
                match below.as_object().filter(|below| !below.is_empty()) {
                    Some(below) => read(below, path, set),
                    None => drop(set.0.insert(path.clone())),
                }
                path.pop();
            }
        }
        let mut set = FieldSet::default();
        if let Some(fields) = fields.as_object() {
            read(fields, &mut Path::new(), &mut set);
        }
        set
    }
}

fn put(fields: &mut Map<String, Value>, path: &[String]) {
    let Some((step, rest)) = path.split_first() else { return };
    let below = fields.entry(step.clone()).or_insert_with(|| json!({}));
    let Value::Object(below) = below else { return };
    // An element is owned itself, beside its fields.
    if rest.is_empty() && step.starts_with("k:") {
        below.insert(".".to_owned(), json!({}));
    }
    put(below, rest);
}

/// The value at a path.
pub(super) fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    let mut at = object;
    let mut field = "";
    for step in path {
        at = match step.strip_prefix("f:") {
            Some(name) => {
                field = name;
                at.get(name)?
            }
            None => {
                let elements = at.as_array()?;
                keyed(field, elements)?.into_iter().find(|(found, _)| found == step)?.1
            }
        };
    }
    Some(at)
}

/// Takes the value at a path out.
pub(super) fn take_out(object: &mut Value, path: &[String]) {
    let Some((last, above)) = path.split_last() else { return };
    let mut at = object;
    let mut field = String::new();
    for step in above {
        let next = match step.strip_prefix("f:") {
            Some(name) => {
                name.clone_into(&mut field);
                at.get_mut(name)
            }
            None => place(&field, at, step).and_then(|place| at.get_mut(place)),
        };
        let Some(next) = next else { return };
        at = next;
    }
    match (last.strip_prefix("f:"), at) {
        (Some(name), Value::Object(fields)) => drop(fields.remove(name)),
        (None, list) => {
            if let (Some(place), Value::Array(elements)) = (place(&field, list, last), list) {
                elements.remove(place);
            }
        }
        _ => {}
    }
}

fn place(field: &str, list: &Value, step: &str) -> Option<usize> {
    keyed(field, list.as_array()?)?.iter().position(|(found, _)| found == step)
}

/// Lays a configuration over an object: fields replace, keyed elements are found by their keys.
pub(super) fn overlay(field: &str, live: &mut Value, config: &Value) {
    match (live, config) {
        (Value::Object(fields), Value::Object(wanted)) if !is_atomic_map(field) => {
            for (name, value) in wanted {
                overlay(name, fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(elements), Value::Array(wanted)) => {
            let (Some(known), Some(wanted_keyed)) = (keyed(field, elements), keyed(field, wanted)) else {
                elements.clone_from(wanted);
                return;
            };
            let steps: Vec<String> = known.into_iter().map(|(step, _)| step).collect();
            for (step, element) in wanted_keyed {
                match steps.iter().position(|known| *known == step) {
                    Some(place) => overlay("", &mut elements[place], element),
                    None => elements.push(element.clone()),
                }
            }
        }
        (live, config) => live.clone_from(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["a/b"]},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": [
                    {"name": "c", "image": "i", "ports": [{"containerPort": 80}]},
                ], "tolerations": [{"key": "x"}]}},
            },
        })
    }

    #[test]
    fn set_survives_being_written_and_leads_back_to_the_values() {
        let set = FieldSet::of(&object());
        assert_eq!(FieldSet::from_json(&set.to_json()), set);
        assert!(set.0.iter().all(|path| at(&object(), path).is_some()));
        let containers =
            &set.to_json()["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"];
        assert_eq!(containers["f:image"], json!({}));
        assert_eq!(containers["."], json!({}));
        let port = "k:{\"containerPort\":80,\"protocol\":\"TCP\"}";
        assert!(containers["f:ports"].get(port).is_some(), "{containers}");
        assert_eq!(set.to_json()["f:spec"]["f:selector"], json!({}), "one value");
        assert_eq!(set.to_json()["f:metadata"].get("f:name"), None);
    }

    #[test]
    fn overlay_and_taking_out_find_elements_by_key() {
        let mut live = object();
        let config = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "d", "image": "new"}, {"name": "c", "image": "j"}]}}}});
        overlay("", &mut live, &config);
        let containers = &live["spec"]["template"]["spec"]["containers"];
        assert_eq!(
            (containers[0]["image"].as_str(), containers[0]["ports"][0]["containerPort"].as_i64()),
            (Some("j"), Some(80))
        );
        assert_eq!(containers[1]["name"], "d");
        let path: Path = ["f:spec", "f:template", "f:spec", "f:containers", "k:{\"name\":\"c\"}"]
            .map(str::to_owned)
            .to_vec();
        take_out(&mut live, &path);
        assert_eq!(live["spec"]["template"]["spec"]["containers"].as_array().map(Vec::len), Some(1));
    }
}
