//! What an answer leaves out: kinds of objects that are not read, and fields of the pod that no
//! plugin here honours. An answer that leaves something out says so.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;
use schedlab_cluster::api::GenericObject;
use schedlab_cluster::convert::{dra_input, storage_input, storage_kind};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

/// Objects of one kind that had no say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IgnoredKind {
    /// `kind`.
    pub kind: String,
    /// `apiVersion`.
    pub api_version: String,
    /// How many.
    pub count: usize,
    /// Why.
    pub why: &'static str,
    /// kube-scheduler reads objects of this kind, so that its answer may differ.
    pub matters: bool,
}

/// A field of the pod that kube-scheduler reads and schedlab does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IgnoredField {
    /// Its path, `spec.workloadRef`.
    pub field: String,
    /// Why it has no say.
    pub why: &'static str,
}

const NO_POD_GROUPS: &str = "pod groups are not built: the pod is looked at alone";
const UNKNOWN_FIELD: &str = "this build does not know the field";
const FINISHED: &str = "they have finished";
const UNREADABLE: &str = "they cannot be read";

/// Why objects of a kind have no say, and whether kube-scheduler would hear them; `None` for those
/// that are read.
fn why_ignored(object: &GenericObject) -> Option<(&'static str, bool)> {
    let (group, _) = object.api_version.split_once('/').unwrap_or(("", ""));
    match (group, object.kind.as_str()) {
        ("", "Namespace" | "Service" | "ReplicationController")
        | ("apps", "ReplicaSet" | "StatefulSet")
        | ("scheduling.k8s.io", "PriorityClass") => None,
        ("policy", "PodDisruptionBudget") => Some(("preemption is not tried", false)),
        ("resource.k8s.io", "ResourceClaimTemplate") => {
            Some(("nobody makes claims of them here; their claims count", false))
        }
        ("resource.k8s.io", _) => match dra_input(object) {
            Ok(Some(_)) => None,
            Ok(None) => Some(("scheduling does not read them", false)),
            Err(_) => Some((UNREADABLE, true)),
        },
        ("scheduling.k8s.io", _) => Some(("pod groups are not built", true)),
        _ if storage_kind(&object.api_version, &object.kind).is_some() => match storage_input(object) {
            Ok(_) => None,
            Err(_) => Some((UNREADABLE, true)),
        },
        _ => Some(("scheduling does not read them", false)),
    }
}

/// Counts what is left out, by kind and reason.
#[derive(Debug, Default)]
pub(super) struct IgnoredKinds(BTreeMap<(String, String, &'static str), (usize, bool)>);

impl IgnoredKinds {
    /// Notes the object if it has no say. `true` when it has one.
    pub(super) fn is_read(&mut self, object: &GenericObject) -> bool {
        let Some((why, matters)) = why_ignored(object) else { return true };
        self.note(&object.kind, &object.api_version, why, matters);
        false
    }

    /// A pod that has finished takes no room.
    pub(super) fn finished_pod(&mut self) {
        self.note("Pod", "v1", FINISHED, false);
    }

    fn note(&mut self, kind: &str, api_version: &str, why: &'static str, matters: bool) {
        let key = (kind.to_owned(), api_version.to_owned(), why);
        self.0.entry(key).or_insert((0, matters)).0 += 1;
    }

    /// Those that matter first, then by number.
    pub(super) fn into_list(self) -> Vec<IgnoredKind> {
        let kind = |((kind, api_version, why), (count, matters))| IgnoredKind {
            kind,
            api_version,
            count,
            why,
            matters,
        };
        let mut list: Vec<IgnoredKind> = self.0.into_iter().map(kind).collect();
        list.sort_by_key(|ignored| (!ignored.matters, std::cmp::Reverse(ignored.count)));
        list
    }
}

/// Fields of `spec` that kube-scheduler reads and no plugin here does.
const NOT_HONOURED: [(&str, &str); 2] = [("schedulingGroup", NO_POD_GROUPS), ("workloadRef", NO_POD_GROUPS)];

/// Fields of newer APIs than the typed one, which are left out with a notice and are no mistake.
pub(super) const KNOWN_BEYOND: [&str; 2] = ["spec.schedulingGroup", "spec.workloadRef"];

/// The fields of a `PodSpec` that the typed API knows, as its own deserializer lists them. But for
/// those above, plugins honour them or scheduling does not read them.
fn known_fields() -> &'static [&'static str] {
    match PodSpec::deserialize(FieldsOf) {
        Err(Fields(fields)) => fields,
        Ok(_) => &[],
    }
}

/// A deserializer that holds nothing: it only hears which fields are asked for.
struct FieldsOf;

/// Its answer, in the place of an error.
#[derive(Debug, thiserror::Error)]
#[error("the fields of a struct")]
struct Fields(&'static [&'static str]);

impl serde::de::Error for Fields {
    fn custom<T: std::fmt::Display>(_: T) -> Fields {
        Fields(&[])
    }
}

impl<'de> Deserializer<'de> for FieldsOf {
    type Error = Fields;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fields> {
        Err(Fields(fields))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fields> {
        Err(Fields(&[]))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The fields of a pod, or of a pod template, that have no say. Read from the text, because what
/// the typed API does not know is gone after it.
pub(super) fn ignored_fields(pod: &Value) -> Vec<IgnoredField> {
    let Some(Value::Object(spec)) = pod.get("spec") else { return Vec::new() };
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let known = known_fields();
    let why = |name: &str| match NOT_HONOURED.iter().find(|(field, _)| *field == name) {
        Some((_, why)) => Some(*why),
        None if known.contains(&name) => None,
        None => Some(UNKNOWN_FIELD),
    };
    spec.iter()
        .filter(|(_, value)| is_set(value))
        .filter_map(|(name, _)| Some(IgnoredField { field: format!("spec.{name}"), why: why(name)? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_typed_api_lists_its_own_fields() {
        let known = known_fields();
        for name in ["tolerations", "resourceClaims", "hostPID"] {
            assert!(known.contains(&name), "{name} in {known:?}");
        }
        assert!(!known.contains(&"fromTheFuture"));
    }

    #[test]
    fn only_fields_that_are_set_and_unread_are_named() {
        let pod = json!({"spec": {
            "containers": [], "resourceClaims": [{"name": "gpu"}], "schedulingGroup": {"podGroupName": "g"},
            "workloadRef": {"name": "w"}, "fromTheFuture": 1, "tolerations": [],
        }});
        let fields: Vec<String> = ignored_fields(&pod).into_iter().map(|ignored| ignored.field).collect();
        assert_eq!(fields, ["spec.fromTheFuture", "spec.schedulingGroup", "spec.workloadRef"]);
    }
}
