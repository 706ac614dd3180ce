//! JSON patches (RFC 6902).

use schedlab_cluster::{ApiError, StatusReason};
use serde_json::Value;

/// Upstream: apiserver pkg/endpoints/handlers/patch.go `maxJSONPatchOperations`.
const OPERATIONS_MAX: usize = 10_000;
/// A document that copies itself into itself grows without bound.
///
/// Upstream: json-patch `AccumulatedCopySizeLimit`, which the API server sets to the largest body.
const COPIES_MAX: usize = 1000;

/// Applies the operations in order; on an error the object is to be thrown away.
pub(super) fn apply(target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let operations = patch.as_array().ok_or_else(|| refused("a JSON patch is a list of operations"))?;
    if OPERATIONS_MAX < operations.len() {
        let why = format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
            operations.len()
        );
        return Err(ApiError { reason: StatusReason::BadRequest, message: why });
    }
    let mut copies = 0;
    for operation in operations {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let path = text("path").ok_or_else(|| refused("an operation has no path"))?;
        let value = || operation.get("value").cloned().ok_or_else(|| refused("an operation has no value"));
        let from = || text("from").ok_or_else(|| refused("an operation has no from"));
        match text("op") {
            Some("add") => add(target, path, value()?)?,
            Some("remove") => drop(remove(target, path)?),
            Some("replace") => *existing(target, path)? = value()?,
            Some("test") => test(target, path, &value()?)?,
            Some("move") => {
                let from = from()?;
                if path.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
                    return Err(refused(&format!("{from} cannot be moved into itself, {path}")));
                }
                let moved = remove(target, from)?;
                add(target, path, moved)?;
            }
            Some("copy") => {
                copies += 1;
                if COPIES_MAX < copies {
                    return Err(refused("too many copies"));
                }
                let copied = existing(target, from()?)?.clone();
                if MAX_COPIED_BYTES < copied.to_string().len() {
                    return Err(refused("a copy is too large"));
                }
                add(target, path, copied)?;
            }
            other => return Err(refused(&format!("unexpected operation {:?}", other.unwrap_or_default()))),
        }
    }
    Ok(())
}

/// Doubling a document reaches this in a few steps and goes no further.
const MAX_COPIED_BYTES: usize = 64 << 10;

fn refused(why: &str) -> ApiError {
    ApiError {
        reason: StatusReason::Invalid,
        message: format!("the server rejected our request due to an error in our request: {why}"),
    }
}

fn steps(path: &str) -> Result<Vec<String>, ApiError> {
    match path.strip_prefix('/') {
        None if path.is_empty() => Ok(Vec::new()),
        None => Err(refused(&format!("path {path:?} does not begin with a slash"))),
        Some(rest) => Ok(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()),
    }
}

fn missing(path: &str) -> ApiError {
    refused(&format!("there is nothing at path {path:?}"))
}

fn existing<'a>(target: &'a mut Value, path: &str) -> Result<&'a mut Value, ApiError> {
    steps(path)?
        .iter()
        .try_fold(target, |at, step| match at {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => index(step).and_then(|index| items.get_mut(index)),
            _ => None,
        })
        .ok_or_else(|| missing(path))
}

/// A number as RFC 6901 writes it: no sign, no leading zero.
fn index(step: &str) -> Option<usize> {
    let is_number =
        step == "0" || (!step.starts_with('0') && step.bytes().all(|digit| digit.is_ascii_digit()));
    if is_number { step.parse().ok() } else { None }
}

/// The parent of a path, and the last step.
fn parent<'a>(target: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), ApiError> {
    let at = path.rfind('/').ok_or_else(|| missing(path))?;
    let last = steps(&path[at..])?.pop().ok_or_else(|| missing(path))?;
    Ok((existing(target, &path[..at])?, last))
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), ApiError> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    match parent(target, path)? {
        (Value::Object(fields), name) => {
            fields.insert(name, value);
        }
        (Value::Array(items), last) => {
            let at = if last == "-" { Some(items.len()) } else { index(&last) };
            let at = at.filter(|at| *at <= items.len()).ok_or_else(|| missing(path))?;
            items.insert(at, value);
        }
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn remove(target: &mut Value, path: &str) -> Result<Value, ApiError> {
    match parent(target, path)? {
        (Value::Object(fields), name) => fields.remove(&name).ok_or_else(|| missing(path)),
        (Value::Array(items), last) => {
            let at = index(&last).filter(|at| *at < items.len()).ok_or_else(|| missing(path))?;
            Ok(items.remove(at))
        }
        _ => Err(missing(path)),
    }
}

/// Upstream: json-patch lets a test for null pass where there is nothing.
fn test(target: &mut Value, path: &str, expected: &Value) -> Result<(), ApiError> {
    match existing(target, path) {
        Ok(found) if found == expected => Ok(()),
        Err(_) if expected.is_null() => Ok(()),
        _ => Err(refused(&format!("testing path {path} value failed"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_change_what_they_name() {
        let cases = [
            (
                json!({"a": 1}),
                json!([{"op": "add", "path": "/b", "value": 2}]),
                Some(json!({"a": 1, "b": 2})),
            ),
            (
                json!({"a": [1, 3]}),
                json!([{"op": "add", "path": "/a/1", "value": 2}]),
                Some(json!({"a": [1, 2, 3]})),
            ),
            (
                json!({"a": [1]}),
                json!([{"op": "add", "path": "/a/-", "value": 2}]),
                Some(json!({"a": [1, 2]})),
            ),
            (json!({"a": [1]}), json!([{"op": "add", "path": "/a/2", "value": 2}]), None),
            (json!({"a": {"b/c": 1}}), json!([{"op": "remove", "path": "/a/b~1c"}]), Some(json!({"a": {}}))),
            (json!({}), json!([{"op": "remove", "path": "/a"}]), None),
            (
                json!({"a": 1}),
                json!([{"op": "replace", "path": "/a", "value": null}]),
                Some(json!({"a": null})),
            ),
            (json!({}), json!([{"op": "replace", "path": "/a", "value": 1}]), None),
            (json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/b"}]), Some(json!({"b": 1}))),
            (json!({"a": {}}), json!([{"op": "move", "from": "/a", "path": "/a/b"}]), None),
            (
                json!({"a": 1}),
                json!([{"op": "copy", "from": "/a", "path": "/b"}]),
                Some(json!({"a": 1, "b": 1})),
            ),
            (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 1}]), Some(json!({"a": 1}))),
            (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 2}]), None),
            (json!({}), json!([{"op": "test", "path": "/a", "value": null}]), Some(json!({}))),
            (json!({"a": [1]}), json!([{"op": "remove", "path": "/a/00"}]), None),
            (json!({}), json!([{"op": "twist", "path": "/a"}]), None),
            (json!({}), json!([{"op": "add", "path": "a", "value": 1}]), None),
            (json!({}), json!({"op": "add"}), None),
        ];
        for (before, patch, expected) in cases {
            let mut after = before.clone();
            let done = apply(&mut after, &patch).is_ok().then_some(after);
            assert_eq!(done, expected, "case: {before} + {patch}");
        }
    }

    #[test]
    fn document_that_doubles_itself_is_stopped() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let mut target = json!({"a": ["some text that is copied again and again"]});
        assert!(apply(&mut target, &Value::Array(vec![double; 100])).is_err());
    }
}
