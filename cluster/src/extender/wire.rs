//! What goes over the wire. Field names are Go's (`NodeNames`); answers are read as Go reads them:
//! names in any case, `null` for nothing, unknown fields skipped.
//!
//! Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use schedlab_core::framework::extend::{FilterAnswer, Victims};
use schedlab_objects::ApiJson;
use serde_json::{Map, Value, json};

use crate::api::{format_pod_uid, parse_pod_uid};

/// The nodes that an extender is asked about.
pub(super) enum AskedNodes<'a> {
    Names(&'a [&'a str]),
    Objects(&'a [Arc<Node>]),
}

/// `ExtenderArgs`.
pub(super) fn args(pod: &Pod, nodes: &AskedNodes<'_>) -> Value {
    match nodes {
        AskedNodes::Names(names) => json!({"Pod": written(pod), "Nodes": null, "NodeNames": names}),
        AskedNodes::Objects(objects) => {
            let items: Vec<Value> = objects.iter().map(|node| written(node.as_ref())).collect();
            json!({"Pod": written(pod), "Nodes": {"metadata": {}, "items": items}, "NodeNames": null})
        }
    }
}

/// `ExtenderPreemptionArgs` for an extender that knows pods by their UIDs.
pub(super) fn meta_victims(pod: &Pod, candidates: &[Victims]) -> Value {
    let victims: Map<String, Value> = candidates
        .iter()
        .map(|victims| {
            let pods: Vec<Value> =
                victims.pods.iter().map(|&uid| json!({"UID": format_pod_uid(uid)})).collect();
            (victims.node.clone(), json!({"Pods": pods, "NumPDBViolations": victims.pdb_violations}))
        })
        .collect();
    json!({"Pod": written(pod), "NodeNameToVictims": null, "NodeNameToMetaVictims": victims})
}

/// `ExtenderPreemptionArgs` with whole pods.
pub(super) fn whole_victims(pod: &Pod, candidates: &[(String, Vec<Pod>, i64)]) -> Value {
    let victims: Map<String, Value> = candidates
        .iter()
        .map(|(node, pods, violations)| {
            let pods: Vec<Value> = pods.iter().map(written).collect();
            (node.clone(), json!({"Pods": pods, "NumPDBViolations": violations}))
        })
        .collect();
    json!({"Pod": written(pod), "NodeNameToVictims": victims, "NodeNameToMetaVictims": null})
}

fn written(object: &impl ApiJson) -> Value {
    object.to_json().expect("a typed object has a JSON form")
}

/// `ExtenderBindingArgs`.
pub(super) fn binding(pod: &Pod, node: &str) -> Value {
    json!({
        "PodName": pod.metadata.name,
        "PodNamespace": pod.metadata.namespace,
        "PodUID": pod.metadata.uid,
        "Node": node,
    })
}

/// The answer's `Error`, if it has one.
pub(super) fn said_error(answer: &Value) -> Result<Option<String>, String> {
    let text = field(object(answer, "the answer")?, "Error").map(|value| text(value, "Error")).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// `ExtenderFilterResult`. Without any node list no node fits.
pub(super) fn filter_answer(answer: &Value, node_cache_capable: bool) -> Result<FilterAnswer, String> {
    let answer = object(answer, "the answer")?;
    let kept = match (field(answer, "NodeNames").filter(|_| node_cache_capable), field(answer, "Nodes")) {
        (Some(names), _) => {
            list(names, "NodeNames")?.iter().map(|name| text(name, "NodeNames")).collect::<Result<_, _>>()?
        }
        (None, Some(nodes)) => node_names(nodes)?,
        (None, None) => Vec::new(),
    };
    Ok(FilterAnswer {
        kept,
        failed: messages(answer, "FailedNodes")?,
        unresolvable: messages(answer, "FailedAndUnresolvableNodes")?,
    })
}

/// `HostPriorityList`.
pub(super) fn priorities(answer: &Value) -> Result<Vec<(String, i64)>, String> {
    if answer.is_null() {
        return Ok(Vec::new());
    }
    list(answer, "the answer")?
        .iter()
        .map(|entry| {
            let entry = object(entry, "a priority")?;
            let host = field(entry, "Host").map(|host| text(host, "Host")).transpose()?;
            let score = field(entry, "Score").map(|score| integer(score, "Score")).transpose()?;
            Ok((host.unwrap_or_default(), score.unwrap_or(0)))
        })
        .collect()
}

/// `ExtenderPreemptionResult`.
pub(super) fn victims(answer: &Value) -> Result<Vec<Victims>, String> {
    let Some(by_node) = field(object(answer, "the answer")?, "NodeNameToMetaVictims") else {
        return Ok(Vec::new());
    };
    let by_node = object(by_node, "NodeNameToMetaVictims")?;
    by_node
        .iter()
        .map(|(node, victims)| {
            let victims = object(victims, "a node's victims")?;
            let pods = field(victims, "Pods").map(|pods| list(pods, "Pods")).transpose()?.unwrap_or_default();
            let uid = |pod: &Value| {
                let uid = field(object(pod, "a victim")?, "UID").map(|uid| text(uid, "UID")).transpose()?;
                let uid = uid.unwrap_or_default();
                parse_pod_uid(&uid).ok_or(format!("{uid:?} is the UID of no pod here"))
            };
            let violations = field(victims, "NumPDBViolations");
            Ok(Victims {
                node: node.clone(),
                pods: pods.iter().map(uid).collect::<Result<_, String>>()?,
                pdb_violations: violations
                    .map(|count| integer(count, "NumPDBViolations"))
                    .transpose()?
                    .unwrap_or(0),
            })
        })
        .collect()
}

fn node_names(nodes: &Value) -> Result<Vec<String>, String> {
    let Some(items) = field(object(nodes, "Nodes")?, "items") else { return Ok(Vec::new()) };
    let name = |node: &Value| {
        let metadata = field(object(node, "a node")?, "metadata");
        let name = metadata.and_then(|metadata| field(metadata.as_object()?, "name"));
        name.and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or_else(|| "a node of Nodes has no name".to_owned())
    };
    list(items, "Nodes.items")?.iter().map(name).collect()
}

fn messages(answer: &Map<String, Value>, name: &str) -> Result<Vec<(String, String)>, String> {
    let Some(by_node) = field(answer, name) else { return Ok(Vec::new()) };
    let entries = object(by_node, name)?.iter();
    entries.map(|(node, why)| Ok((node.clone(), text(why, name)?))).collect()
}

/// A field that is not null, its name exact or in another case.
fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let any_case = || object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    object.get(name).or_else(any_case).filter(|value| !value.is_null())
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(&EMPTY),
        other => Err(format!("{what} is {}, not an object", kind(other))),
    }
}

fn list<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], String> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(format!("{what} is {}, not a list", kind(other))),
    }
}

fn text(value: &Value, what: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(format!("{what} holds {}, not a text", kind(other))),
    }
}

fn integer(value: &Value, what: &str) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("{what} is {value}, not a whole number"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_go_reads_them() {
        let names = |kept: &[&str]| FilterAnswer {
            kept: kept.iter().map(|&name| name.to_owned()).collect(),
            ..FilterAnswer::default()
        };
        let cases = [
            ("Go's own names", r#"{"NodeNames": ["a"]}"#, true, Ok(names(&["a"]))),
            ("another case", r#"{"nodenames": ["a", "b"], "extra": 1}"#, true, Ok(names(&["a", "b"]))),
            (
                "whole nodes",
                r#"{"Nodes": {"items": [{"metadata": {"name": "a"}}]}}"#,
                false,
                Ok(names(&["a"])),
            ),
            (
                "whole nodes from one that may name them",
                r#"{"NodeNames": null, "Nodes": {"items": [{"metadata": {"name": "a"}}]}}"#,
                true,
                Ok(names(&["a"])),
            ),
            (
                "names from one that must send nodes count for nothing",
                r#"{"NodeNames": ["a"]}"#,
                false,
                Ok(names(&[])),
            ),
            ("nothing", "{}", true, Ok(names(&[]))),
            ("null", "null", true, Ok(names(&[]))),
            ("a number", "3", true, Err("the answer is a number, not an object")),
            (
                "names that are numbers",
                r#"{"NodeNames": [3]}"#,
                true,
                Err("NodeNames holds a number, not a text"),
            ),
            (
                "a node without a name",
                r#"{"Nodes": {"items": [{}]}}"#,
                false,
                Err("a node of Nodes has no name"),
            ),
        ];
        for (name, json, capable, expected) in cases {
            let value: Value = serde_json::from_str(json).expect("JSON");
            assert_eq!(filter_answer(&value, capable), expected.map_err(str::to_owned), "case: {name}");
        }
    }

    #[test]
    fn priorities_are_whole_numbers() {
        let read = |json: &str| priorities(&serde_json::from_str(json).expect("JSON"));
        assert_eq!(
            read(r#"[{"host": "a", "score": 7}, {"Host": "b"}]"#),
            Ok(vec![("a".into(), 7), ("b".into(), 0)])
        );
        assert_eq!(read(r#"[{"Host": "a", "Score": 1.5}]"#), Err("Score is 1.5, not a whole number".into()));
        assert_eq!(read(r#"{}"#), Err("the answer is an object, not a list".into()));
        assert_eq!(read("null"), Ok(Vec::new()));
    }
}
