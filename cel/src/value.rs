//! Values of expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_core::quantity::Quantity;

use crate::semver::Semver;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    Quantity(Quantity),
    Semver(Arc<Semver>),
    List(Arc<Vec<Value>>),
    Map(Arc<Vec<(Value, Value)>>),
    /// A domain's attributes or capacities.
    Names(Arc<BTreeMap<String, Value>>),
    /// `device.attributes` or `device.capacity`: a domain that is not there is an empty map.
    Domains(Arc<BTreeMap<String, Arc<BTreeMap<String, Value>>>>),
    Optional(Option<Arc<Value>>),
    Type(&'static str),
    Device,
}

impl Value {
    /// The name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Quantity(_) => "kubernetes.Quantity",
            Value::Semver(_) => "kubernetes.Semver",
            Value::List(_) => "list",
            Value::Map(_) | Value::Names(_) | Value::Domains(_) | Value::Device => "map",
            Value::Optional(_) => "optional_type",
            Value::Type(_) => "type",
        }
    }

    /// The keys of a map, or the elements of a list; what a comprehension goes over.
    pub(crate) fn elements(&self) -> Option<Vec<Value>> {
        let text = |key: &String| Value::String(key.as_str().into());
        Some(match self {
            Value::List(elements) => elements.to_vec(),
            Value::Map(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            Value::Names(names) => names.keys().map(text).collect(),
            Value::Domains(domains) => domains.keys().map(text).collect(),
            _ => return None,
        })
    }

    /// What a map has for a key.
    pub(crate) fn get(&self, key: &Value) -> Option<Value> {
        match (self, key) {
            (Value::Map(entries), key) => {
                entries.iter().find(|(known, _)| is_equal(known, key)).map(|(_, value)| value.clone())
            }
            (Value::Names(names), Value::String(key)) => names.get(&**key).cloned(),
            (Value::Domains(domains), Value::String(key)) => {
                Some(Value::Names(domains.get(&**key).cloned().unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// Whether it is what a value of its type is before anything is said. Upstream: `IsZeroValue`.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(it) => !it,
            Value::Int(it) => *it == 0,
            Value::Uint(it) => *it == 0,
            Value::Double(it) => *it == 0.0,
            Value::String(it) => it.is_empty(),
            Value::Bytes(it) => it.is_empty(),
            Value::List(it) => it.is_empty(),
            Value::Map(it) => it.is_empty(),
            Value::Names(it) => it.is_empty(),
            Value::Domains(it) => it.is_empty(),
            Value::Optional(it) => it.is_none(),
            Value::Quantity(_) | Value::Semver(_) | Value::Type(_) | Value::Device => false,
        }
    }

    fn entries(&self) -> Option<Vec<(Value, Value)>> {
        let text = |key: &String| Value::String(key.as_str().into());
        Some(match self {
            Value::Map(entries) => entries.to_vec(),
            Value::Names(names) => names.iter().map(|(key, value)| (text(key), value.clone())).collect(),
            Value::Domains(domains) => {
                domains.iter().map(|(key, names)| (text(key), Value::Names(Arc::clone(names)))).collect()
            }
            _ => return None,
        })
    }
}

/// `==`. Numbers are compared as numbers, whatever their types; values of other different types differ.
pub(crate) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::String(one), Value::String(other)) => one == other,
        (Value::Bytes(one), Value::Bytes(other)) => one == other,
        (Value::Quantity(one), Value::Quantity(other)) => one == other,
        (Value::Semver(one), Value::Semver(other)) => one == other,
        (Value::Type(one), Value::Type(other)) => one == other,
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(one, other)| is_equal(one, other))
        }
        (Value::Optional(one), Value::Optional(other)) => match (one, other) {
            (Some(one), Some(other)) => is_equal(one, other),
            (one, other) => one.is_none() && other.is_none(),
        },
        _ => match (one.entries(), other.entries()) {
            (Some(ours), Some(theirs)) => {
                let has = |(key, value): &(Value, Value)| {
                    theirs.iter().any(|(other, known)| is_equal(key, other) && is_equal(value, known))
                };
                ours.len() == theirs.len() && ours.iter().all(has)
            }
            _ => compare_numbers(one, other) == Some(Ordering::Equal),
        },
    }
}

/// How two numbers compare; `None` when one of them is none.
pub(crate) fn compare_numbers(one: &Value, other: &Value) -> Option<Ordering> {
    let whole = |value: &Value| match value {
        Value::Int(it) => Some(i128::from(*it)),
        Value::Uint(it) => Some(i128::from(*it)),
        _ => None,
    };
    match (whole(one), whole(other), one, other) {
        (Some(one), Some(other), ..) => Some(one.cmp(&other)),
        (_, _, Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Some(one), _, _, Value::Double(other)) => compare_with_double(one, *other),
        (_, Some(other), Value::Double(one), _) => compare_with_double(other, *one).map(Ordering::reverse),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the bounds are checked before")]
fn compare_with_double(whole: i128, double: f64) -> Option<Ordering> {
    const BEYOND_U64: f64 = 18_446_744_073_709_551_616.0;
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND_U64 {
        return Some(Ordering::Less);
    }
    if double < -BEYOND_U64 {
        return Some(Ordering::Greater);
    }
    let floor = double.floor();
    Some(whole.cmp(&(floor as i128)).then(if double > floor { Ordering::Less } else { Ordering::Equal }))
}
