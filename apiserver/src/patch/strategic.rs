//! Strategic merge patches: merge patches that know which lists are sets of keyed elements.
//!
//! Upstream: apimachinery pkg/util/strategicpatch, and the `patchStrategy` tags of the API's types.

use schedlab_cluster::ApiError;
use serde_json::{Map, Value};

/// How a list is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListStrategy {
    /// The patch's list takes its place.
    Replace,
    /// Elements are found by this field.
    ByKey(&'static str),
    /// A set of plain values.
    Set,
}

/// The strategy of a list, by its field and the fields of its elements that a patch shows. The tags belong
/// to types; field names tell the types apart but for `ports`.
fn strategy(field: &str, elements: &[Value]) -> ListStrategy {
    match field {
        "finalizers" | "podCIDRs" => ListStrategy::Set,
        "conditions" | "addresses" => ListStrategy::ByKey("type"),
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
        | "allocatedResourcesStatus"
        | "evictionResponders"
        | "mapping"
        | "overhead"
        | "storageHealth" => ListStrategy::ByKey("name"),
        "nodeAllocatableResourceClaimStatuses" => ListStrategy::ByKey("resourceClaimName"),
        "healthConditions" => ListStrategy::ByKey("status"),
        "ownerReferences" | "reservedFor" => ListStrategy::ByKey("uid"),
        "hostAliases" | "podIPs" | "hostIPs" => ListStrategy::ByKey("ip"),
        "topologySpreadConstraints" => ListStrategy::ByKey("topologyKey"),
        "volumeMounts" => ListStrategy::ByKey("mountPath"),
        "volumeDevices" => ListStrategy::ByKey("devicePath"),
        "ports" if elements.iter().any(|port| port.get("containerPort").is_some()) => {
            ListStrategy::ByKey("containerPort")
        }
        "ports" if elements.iter().all(|port| port.get("port").is_some()) => ListStrategy::ByKey("port"),
        _ => ListStrategy::Replace,
    }
}

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList/";

fn refused(why: &str) -> ApiError {
    ApiError::bad_request(format!("unable to apply the strategic merge patch: {why}"))
}

/// Merges a patch into an object.
pub(super) fn apply(target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let Value::Object(changes) = patch else {
        target.clone_from(patch);
        return Ok(());
    };
    match changes.get(DIRECTIVE).map(Value::as_str) {
        None | Some(Some("merge")) => {}
        Some(Some("replace")) => {
            *target = Value::Object(without_directives(changes));
            return Ok(());
        }
        Some(Some("delete")) => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some(_) => return Err(refused("unknown $patch directive")),
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return Ok(()) };
    if let Some(kept) = changes.get(RETAIN_KEYS) {
        let kept = kept.as_array().ok_or_else(|| refused("$retainKeys is not a list"))?;
        fields.retain(|name, _| kept.iter().any(|kept| kept.as_str() == Some(name)));
    }
    for (name, values) in changes {
        if let Some(field) = name.strip_prefix(DELETE_VALUES) {
            let gone = values.as_array().ok_or_else(|| refused("$deleteFromPrimitiveList is not a list"))?;
            if let Some(Value::Array(items)) = fields.get_mut(field) {
                items.retain(|item| !gone.contains(item));
            }
        }
    }
    for (name, change) in changes {
        if name.starts_with('$') {
            continue;
        }
        match change {
            Value::Null => drop(fields.remove(name)),
            Value::Array(elements) => merge_list(fields, name, elements)?,
            _ => apply(fields.entry(name.clone()).or_insert(Value::Null), change)?,
        }
    }
    for (name, order) in changes {
        if let Some(field) = name.strip_prefix(SET_ORDER) {
            let order = order.as_array().ok_or_else(|| refused("$setElementOrder is not a list"))?;
            if let Some(Value::Array(items)) = fields.get_mut(field) {
                set_order(field, items, order);
            }
        }
    }
    Ok(())
}

fn without_directives(changes: &Map<String, Value>) -> Map<String, Value> {
    let plain = changes.iter().filter(|(name, _)| !name.starts_with('$'));
    plain.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn merge_list(fields: &mut Map<String, Value>, name: &str, elements: &[Value]) -> Result<(), ApiError> {
    let directive = |element: &Value| element.get(DIRECTIVE).and_then(Value::as_str).map(str::to_owned);
    let replaces = elements.iter().any(|element| directive(element).as_deref() == Some("replace"));
    let strategy = strategy(name, elements);
    if replaces || strategy == ListStrategy::Replace {
        let plain = elements.iter().filter(|element| directive(element).as_deref() != Some("replace"));
        fields.insert(name.to_owned(), Value::Array(plain.cloned().collect()));
        return Ok(());
    }
    let entry = fields.entry(name.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
    if !entry.is_array() {
        *entry = Value::Array(Vec::new());
    }
    let Value::Array(items) = entry else { return Ok(()) };
    let ListStrategy::ByKey(key) = strategy else {
        let news: Vec<Value> = elements.iter().filter(|element| !items.contains(element)).cloned().collect();
        items.extend(news);
        return Ok(());
    };
    for element in elements {
        let id = element.get(key).filter(|id| !id.is_null());
        let id =
            id.ok_or_else(|| refused(&format!("an element of {name} does not have the merge key {key}")))?;
        let place = items.iter().position(|item| item.get(key) == Some(id));
        match (directive(element).as_deref(), place) {
            (Some("delete"), _) => items.retain(|item| item.get(key) != Some(id)),
            (None | Some("merge"), Some(at)) => apply(&mut items[at], element)?,
            (None | Some("merge"), None) => {
                let mut new = Value::Object(Map::new());
                apply(&mut new, element)?;
                items.push(new);
            }
            (Some(other), _) => return Err(refused(&format!("unknown $patch directive {other:?}"))),
        }
    }
    Ok(())
}

/// Elements that the order names stand in that order; the others keep their places among them.
///
/// Upstream: strategicpatch `mergeSliceWithOrder`: those that the patch does not name follow the one they
/// followed before.
fn set_order(field: &str, items: &mut Vec<Value>, order: &[Value]) {
    let key = match strategy(field, order) {
        ListStrategy::ByKey(key) => Some(key),
        ListStrategy::Set | ListStrategy::Replace => None,
    };
    let rank = |item: &Value| match key {
        Some(key) => {
            order.iter().position(|wanted| wanted.get(key).is_some() && wanted.get(key) == item.get(key))
        }
        None => order.iter().position(|wanted| wanted == item),
    };
    // An element without a rank takes that of the one before it, so that a stable sort keeps them together.
    let mut last = None;
    let mut ranked: Vec<(Option<usize>, Value)> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        last = rank(&item).or(last);
        ranked.push((last, item));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    items.extend(ranked.into_iter().map(|(_, item)| item));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_merge_as_upstream_merges_them() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        let cases = [
            (
                "condition is added by its type",
                json!({"conditions": [condition("Ready", "True")]}),
                json!({"conditions": [condition("PodScheduled", "False")],
                       "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}]}),
                json!({"conditions": [condition("Ready", "True"), condition("PodScheduled", "False")]}),
            ),
            (
                "condition is changed by its type",
                json!({"conditions": [{"type": "Ready", "status": "True", "reason": "a"}]}),
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": null}]}),
                json!({"conditions": [condition("Ready", "False")]}),
            ),
            (
                "element is deleted by its key",
                json!({"containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"containers": [{"name": "a", "$patch": "delete"}]}),
                json!({"containers": [{"name": "b"}]}),
            ),
            (
                "list without a key is replaced",
                json!({"taints": [{"key": "a"}, {"key": "b"}]}),
                json!({"taints": [{"key": "b"}]}),
                json!({"taints": [{"key": "b"}]}),
            ),
            (
                "map is replaced on demand",
                json!({"labels": {"a": "1", "b": "2"}}),
                json!({"labels": {"$patch": "replace", "c": "3"}}),
                json!({"labels": {"c": "3"}}),
            ),
            (
                "list is replaced on demand",
                json!({"containers": [{"name": "a"}]}),
                json!({"containers": [{"$patch": "replace"}, {"name": "b"}]}),
                json!({"containers": [{"name": "b"}]}),
            ),
            (
                "values are deleted from a set and added to it",
                json!({"finalizers": ["a", "b"]}),
                json!({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c", "b"]}),
                json!({"finalizers": ["b", "c"]}),
            ),
            (
                "keys that are not retained go",
                json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
                json!({"volumes": [{"name": "v", "hostPath": {"path": "/a"}, "$retainKeys": ["name", "hostPath"]}]}),
                json!({"volumes": [{"name": "v", "hostPath": {"path": "/a"}}]}),
            ),
            (
                "order is set",
                json!({"containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}),
                json!({"containers": [{"name": "b"}, {"name": "a"}]}),
            ),
            (
                "null removes, nested objects merge",
                json!({"spec": {"nodeName": "n", "x": {"y": 1}}}),
                json!({"spec": {"nodeName": null, "x": {"z": 2}}}),
                json!({"spec": {"x": {"y": 1, "z": 2}}}),
            ),
            (
                "ports of a container are told by their number",
                json!({"ports": [{"containerPort": 80, "name": "a"}]}),
                json!({"ports": [{"containerPort": 80, "name": "b"}, {"containerPort": 81}]}),
                json!({"ports": [{"containerPort": 80, "name": "b"}, {"containerPort": 81}]}),
            ),
        ];
        for (name, before, patch, expected) in cases {
            let mut after = before;
            apply(&mut after, &patch).unwrap();
            assert_eq!(after, expected, "case: {name}");
        }
    }

    #[test]
    fn broken_directives_are_refused() {
        for patch in [
            json!({"$patch": "twist"}),
            json!({"$retainKeys": "name"}),
            json!({"conditions": [{"status": "True"}]}),
            json!({"containers": [{"name": "a", "$patch": "twist"}]}),
        ] {
            assert!(apply(&mut json!({}), &patch).is_err(), "case: {patch}");
        }
    }
}
