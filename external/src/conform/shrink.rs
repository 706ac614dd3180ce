//! The smallest cluster and pod that still show a difference.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::session::{ConformError, Session};

/// A trial takes two waits; more than this in all is not worth it.
const SHRINK_WITHIN: Duration = Duration::from_secs(60);

/// Takes away objects, then parts of the pod and of the objects, as long as the difference stays.
pub(super) fn shrink(
    session: &mut Session<'_>,
    mut objects: Vec<Value>,
    mut pod: Value,
) -> Result<(Vec<Value>, Value), ConformError> {
    let begun = Instant::now();
    let settle = session.options.settle.max(Duration::from_millis(100));
    let mut differs = |objects: &[Value], pod: &Value| -> Result<bool, ConformError> {
        if SHRINK_WITHIN < begun.elapsed() {
            return Ok(false);
        }
        Ok(session.look_again(objects, pod, settle)?.is_some())
    };
    let mut size = objects.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < objects.len() {
            let mut fewer = objects.clone();
            fewer.drain(at..(at + size).min(objects.len()));
            if differs(&fewer, &pod)? {
                objects = fewer;
            } else {
                at += size;
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    for smaller in Smaller::of(&pod) {
        let fewer = smaller.apply(&pod);
        if differs(&objects, &fewer)? {
            pod = fewer;
        }
    }
    for at in 0..objects.len() {
        for smaller in Smaller::of(&objects[at]) {
            let mut fewer = objects.clone();
            fewer[at] = smaller.apply(&objects[at]);
            if fewer[at] != objects[at] && differs(&fewer, &pod)? {
                objects = fewer;
            }
        }
    }
    Ok((objects, pod))
}

/// A part that may be left out: a path of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Smaller(Vec<String>);

/// Without these an object is none.
const KEPT: [&[&str]; 6] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["spec", "containers"],
];
/// Fields inside of fields inside of fields are left out with what they are in.
const DEPTH_MAX: usize = 3;

impl Smaller {
    fn of(object: &Value) -> Vec<Smaller> {
        let mut all = Vec::new();
        if let Some(fields) = object.as_object() {
            walk(fields, &mut Vec::new(), &mut all);
        }
        all
    }

    fn apply(&self, object: &Value) -> Value {
        let mut object = object.clone();
        let Some((last, holders)) = self.0.split_last() else { return object };
        let holder = holders.iter().try_fold(&mut object, |value, name| value.get_mut(name));
        if let Some(fields) = holder.and_then(Value::as_object_mut) {
            fields.remove(last);
        }
        object
    }
}

fn walk(fields: &Map<String, Value>, path: &mut Vec<String>, all: &mut Vec<Smaller>) {
    for (name, value) in fields {
        path.push(name.clone());
        let is_kept = KEPT.iter().any(|kept| kept.iter().eq(path.iter()));
        let is_the_spec = path.len() == 1 && name == "spec";
        if !is_kept && !is_the_spec {
            all.push(Smaller(path.clone()));
        }
        if let (Some(inner), true) = (value.as_object(), path.len() < DEPTH_MAX) {
            walk(inner, path, all);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_left_out_but_what_makes_the_object() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}},
            "spec": {"containers": [], "affinity": {"podAffinity": {}}, "priority": 1},
        });
        let all = Smaller::of(&pod);
        let paths: Vec<String> = all.iter().map(|smaller| smaller.0.join(".")).collect();
        let expected = [
            "metadata.labels",
            "metadata.labels.a",
            "spec.affinity",
            "spec.affinity.podAffinity",
            "spec.priority",
        ];
        assert_eq!(paths, expected);
        assert_eq!(all[4].apply(&pod)["spec"], json!({"containers": [], "affinity": {"podAffinity": {}}}));
    }
}
