//! Protobuf bodies of the few kinds that typed clients send: kubectl's `create namespace` and `drain`, leader
//! election. They are read into the JSON that everything else here understands; answers are JSON.
//!
//! ```text
//! "k8s\0" ─▶ Unknown { typeMeta, raw } ─▶ message of the kind, by the numbers of its fields ─▶ JSON
//! ```
//!
//! Upstream: apimachinery pkg/runtime/serializer/protobuf `Serializer.Decode`; field numbers as in the API's
//! generated.proto files.

use schedlab_cluster::ApiError;
use serde_json::{Map, Value, json};

use crate::answer::Refused;

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

const MAGIC: &[u8] = b"k8s\0";

/// Messages in messages; the deepest one that is read here has four.
const DEPTH_MAX: usize = 8;

/// How a field is written.
#[derive(Clone, Copy)]
enum As {
    Text,
    Number,
    Switch,
    /// Seconds and nanoseconds.
    Time,
    Texts,
    Map,
    Message(Fields),
    Messages(Fields),
}

/// Number, name and form of the fields of a message; others are left out.
type Fields = &'static [(u64, &'static str, As)];

const OWNER: Fields = &[
    (1, "kind", As::Text),
    (3, "name", As::Text),
    (4, "uid", As::Text),
    (5, "apiVersion", As::Text),
    (6, "controller", As::Switch),
    (7, "blockOwnerDeletion", As::Switch),
];
const METADATA: Fields = &[
    (1, "name", As::Text),
    (2, "generateName", As::Text),
    (3, "namespace", As::Text),
    (5, "uid", As::Text),
    (6, "resourceVersion", As::Text),
    (8, "creationTimestamp", As::Time),
    (11, "labels", As::Map),
    (12, "annotations", As::Map),
    (13, "ownerReferences", As::Messages(OWNER)),
    (14, "finalizers", As::Texts),
];
const NAMESPACE: Fields =
    &[(1, "metadata", As::Message(METADATA)), (2, "spec", As::Message(&[(1, "finalizers", As::Texts)]))];
const PRECONDITIONS: Fields = &[(1, "uid", As::Text), (2, "resourceVersion", As::Text)];
const DELETE_OPTIONS: Fields = &[
    (1, "gracePeriodSeconds", As::Number),
    (2, "preconditions", As::Message(PRECONDITIONS)),
    (3, "orphanDependents", As::Switch),
    (4, "propagationPolicy", As::Text),
    (5, "dryRun", As::Texts),
];
const EVICTION: Fields =
    &[(1, "metadata", As::Message(METADATA)), (2, "deleteOptions", As::Message(DELETE_OPTIONS))];
const REFERENCE: Fields = &[
    (1, "kind", As::Text),
    (2, "namespace", As::Text),
    (3, "name", As::Text),
    (4, "uid", As::Text),
    (5, "apiVersion", As::Text),
];
const BINDING: Fields = &[(1, "metadata", As::Message(METADATA)), (2, "target", As::Message(REFERENCE))];
const LEASE_SPEC: Fields = &[
    (1, "holderIdentity", As::Text),
    (2, "leaseDurationSeconds", As::Number),
    (3, "acquireTime", As::Time),
    (4, "renewTime", As::Time),
    (5, "leaseTransitions", As::Number),
];
const LEASE: Fields = &[(1, "metadata", As::Message(METADATA)), (2, "spec", As::Message(LEASE_SPEC))];

fn fields_of(kind: &str) -> Option<Fields> {
    match kind {
        "Namespace" => Some(NAMESPACE),
        "DeleteOptions" => Some(DELETE_OPTIONS),
        "Eviction" => Some(EVICTION),
        "Binding" => Some(BINDING),
        "Lease" => Some(LEASE),
        _ => None,
    }
}

/// Reads a body.
pub(crate) fn to_json(body: &[u8]) -> Result<Value, Refused> {
    let unreadable = || Refused::from(ApiError::bad_request("the body is not a protobuf message of the API"));
    let envelope = body.strip_prefix(MAGIC).ok_or_else(unreadable)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Reader(envelope) {
        match field.ok_or_else(unreadable)? {
            (1, Part::Bytes(bytes)) => {
                let type_meta = message(bytes, &[(1, "apiVersion", As::Text), (2, "kind", As::Text)], 0);
                let type_meta = type_meta.ok_or_else(unreadable)?;
                let text = |name: &str| type_meta[name].as_str().unwrap_or_default().to_owned();
                (api_version, kind) = (text("apiVersion"), text("kind"));
            }
            (2, Part::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let fields = fields_of(&kind).ok_or_else(|| Refused::protobuf_of(&kind))?;
    let mut object = message(raw, fields, 0).ok_or_else(unreadable)?;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    Ok(object)
}

/// A field's value as it is on the wire.
enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Fields of a message; `None` where it ends too early or says something else.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for at in 0..10 {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(first & 0x7f).checked_shl(7 * at)?;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Part<'a>)> {
        let tag = self.number()?;
        let part = match tag & 7 {
            0 => Part::Number(self.number()?),
            1 => Part::Bytes(self.take(8)?),
            2 => {
                let length = self.number()?;
                Part::Bytes(self.take(length)?)
            }
            5 => Part::Bytes(self.take(4)?),
            _ => return None,
        };
        Some((tag >> 3, part))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Option<(u64, Part<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

fn message(bytes: &[u8], fields: Fields, depth: usize) -> Option<Value> {
    if depth == DEPTH_MAX {
        return None;
    }
    let mut object = Map::new();
    for field in Reader(bytes) {
        let (number, part) = field?;
        let Some((_, name, form)) = fields.iter().find(|(known, ..)| *known == number) else { continue };
        let value = match (form, part) {
            (As::Number, Part::Number(value)) => json!(value.cast_signed()),
            (As::Switch, Part::Number(value)) => json!(value != 0),
            (As::Text, Part::Bytes(bytes)) => json!(std::str::from_utf8(bytes).ok()?),
            (As::Time, Part::Bytes(bytes)) => time(bytes)?,
            (As::Message(inner), Part::Bytes(bytes)) => message(bytes, inner, depth + 1)?,
            (As::Texts, Part::Bytes(bytes)) => {
                push(&mut object, name, json!(std::str::from_utf8(bytes).ok()?));
                continue;
            }
            (As::Messages(inner), Part::Bytes(bytes)) => {
                push(&mut object, name, message(bytes, inner, depth + 1)?);
                continue;
            }
            (As::Map, Part::Bytes(bytes)) => {
                let pair = message(bytes, &[(1, "key", As::Text), (2, "value", As::Text)], depth + 1)?;
                let key = pair["key"].as_str().unwrap_or_default().to_owned();
                let entry = object.entry(*name).or_insert_with(|| json!({}));
                entry[key] = json!(pair["value"].as_str().unwrap_or_default());
                continue;
            }
            _ => return None,
        };
        object.insert((*name).to_owned(), value);
    }
    // An empty text is an absent one, and so is the time before all times.
    object.retain(|_, value| *value != json!("") && !value.is_null());
    Some(Value::Object(object))
}

fn push(object: &mut Map<String, Value>, name: &str, value: Value) {
    if let Some(list) = object.entry(name).or_insert_with(|| json!([])).as_array_mut() {
        list.push(value);
    }
}

fn time(bytes: &[u8]) -> Option<Value> {
    let parts = message(bytes, &[(1, "seconds", As::Number), (2, "nanos", As::Number)], 0)?;
    let seconds = parts["seconds"].as_i64().unwrap_or(0);
    let nanos = i32::try_from(parts["nanos"].as_i64().unwrap_or(0)).ok()?;
    if (seconds, nanos) == (0, 0) {
        return Some(Value::Null);
    }
    let time = k8s_openapi::jiff::Timestamp::new(seconds, nanos).ok()?;
    Some(json!(time.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_field(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        [&[number << 3 | 2, length], content].concat()
    }

    fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let type_meta = [bytes_field(1, api_version.as_bytes()), bytes_field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes_field(1, &type_meta), bytes_field(2, raw)].concat()
    }

    #[test]
    fn namespace_and_eviction_are_read() {
        let label = [bytes_field(1, b"a"), bytes_field(2, b"b")].concat();
        let metadata =
            [bytes_field(1, b"shop"), bytes_field(2, b""), bytes_field(8, &[]), bytes_field(11, &label)];
        let namespace = to_json(&body("v1", "Namespace", &bytes_field(1, &metadata.concat()))).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}},
        });
        assert_eq!(namespace, expected);
        let options = [vec![1 << 3, 30], bytes_field(5, b"All")].concat();
        let raw = [bytes_field(1, &bytes_field(1, b"web")), bytes_field(2, &options)].concat();
        let eviction = to_json(&body("policy/v1", "Eviction", &raw)).unwrap();
        assert_eq!(eviction["deleteOptions"], json!({"gracePeriodSeconds": 30, "dryRun": ["All"]}));
    }

    #[test]
    fn time_is_read_and_the_time_before_all_times_is_none() {
        let renewed = [vec![1 << 3, 5], vec![2 << 3, 1]].concat();
        let spec = [bytes_field(1, b"me"), bytes_field(4, &renewed)].concat();
        let lease = to_json(&body("coordination.k8s.io/v1", "Lease", &bytes_field(2, &spec))).unwrap();
        assert_eq!(lease["spec"]["renewTime"], json!("1970-01-01T00:00:05.000000001Z"));
    }

    #[test]
    fn other_kinds_and_broken_messages_are_refused() {
        assert!(to_json(b"k8s").is_err());
        assert!(to_json(&body("v1", "Pod", &[])).is_err());
        for raw in [&[0x0a, 200][..], &[0x80; 12], &[0x0b], &bytes_field(1, &bytes_field(1, &[0xff]))] {
            assert!(to_json(&body("v1", "Namespace", raw)).is_err(), "{raw:?}");
        }
    }
}
