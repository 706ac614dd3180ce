//! What a template sees: `.Index`, `.Count` and the op's `templateParams`.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::Value;
use serde_json::Value as Json;

use crate::params::TemplateParams;

/// The names a template can use.
///
/// Upstream: `.Index` and `.Count` are Go integers; every number among the params is a float64,
/// because it came through JSON. That is why templates write `{{Int .x}}` before they range over it.
#[derive(Clone, Debug, Default)]
pub struct Env {
    names: BTreeMap<Arc<str>, Value>,
}

impl Env {
    /// The op's parameters, without `.Index` and `.Count`.
    pub fn new(params: &TemplateParams) -> Self {
        Self { names: params.iter().map(|(name, json)| (Arc::from(name.as_str()), value(json))).collect() }
    }

    /// Sets `.Index`, the number of the object, from 0.
    #[must_use]
    pub fn with_index(mut self, index: u32) -> Self {
        self.names.insert("Index".into(), Value::Int(index.into()));
        self
    }

    /// Sets `.Count`, how many objects the op creates.
    #[must_use]
    pub fn with_count(mut self, count: u32) -> Self {
        self.names.insert("Count".into(), Value::Int(count.into()));
        self
    }

    pub(super) fn to_value(&self) -> Value {
        Value::Map(Arc::new(self.names.clone()))
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::String(Arc::from(text.as_str())),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(entries) => Value::Map(Arc::new(
            entries.iter().map(|(name, json)| (Arc::from(name.as_str()), value(json))).collect(),
        )),
    }
}
