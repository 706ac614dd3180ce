//! Reads a policy strictly: each field once, of its type, and none that is not known. What is wrong is named
//! by its path, such as `policy.profiles[0].pluginConfig[1].args`.

use std::collections::BTreeMap;

use schedlab_core::input::{LabelSelectorInput, RequirementInput};
use serde_json::{Map, Value};

use super::super::ControllerConfigError;

/// What reading comes to.
pub(super) type Read<T> = Result<T, ControllerConfigError>;

/// The fields of a mapping that are still unread.
#[derive(Debug)]
pub(super) struct PolicyFields {
    path: String,
    fields: Map<String, Value>,
    known: Vec<&'static str>,
}

/// Something is not as it should be at this path.
pub(super) fn wrong<T>(path: &str, value: &Value, wanted: &str) -> Read<T> {
    Err(ControllerConfigError::new(format!("`{path}` is {value}; write {wanted}")))
}

/// Something about this path will not do.
pub(super) fn refuse<T>(path: &str, why: &str) -> Read<T> {
    Err(ControllerConfigError::new(format!("`{path}` {why}")))
}

impl PolicyFields {
    pub(super) fn of(path: &str, value: &Value) -> Read<PolicyFields> {
        match value {
            Value::Null => Ok(PolicyFields { path: path.to_owned(), fields: Map::new(), known: Vec::new() }),
            Value::Object(fields) => {
                Ok(PolicyFields { path: path.to_owned(), fields: fields.clone(), known: Vec::new() })
            }
            other => wrong(path, other, "a mapping of its fields"),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &'static str) -> Read<Option<String>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_str().filter(|text| !text.is_empty()) {
            Some(text) => Ok(Some(text.to_owned())),
            None => wrong(&self.path_of(name), &value, "a text"),
        }
    }

    /// A whole number from `least` on.
    pub(super) fn whole(&mut self, name: &'static str, least: u64) -> Read<Option<u64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_u64().filter(|number| least <= *number) {
            Some(number) => Ok(Some(number)),
            None => wrong(&self.path_of(name), &value, &format!("a whole number of at least {least}")),
        }
    }

    pub(super) fn switch(&mut self, name: &'static str, default: bool) -> Read<bool> {
        let Some(value) = self.take(name) else { return Ok(default) };
        match value.as_bool() {
            Some(is_on) => Ok(is_on),
            None => wrong(&self.path_of(name), &value, "true or false"),
        }
    }

    /// A list, each with its path.
    pub(super) fn list(&mut self, name: &'static str) -> Read<Vec<(String, Value)>> {
        let path = self.path_of(name);
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => {
                Ok(list.into_iter().enumerate().map(|(at, value)| (format!("{path}[{at}]"), value)).collect())
            }
            Some(other) => wrong(&path, &other, "a list"),
        }
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Read<Vec<String>> {
        let text = |(path, value): (String, Value)| match value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => wrong(&path, &value, "a text"),
        };
        self.list(name)?.into_iter().map(text).collect()
    }

    /// A mapping; an empty one where it is absent.
    pub(super) fn mapping(&mut self, name: &'static str) -> Read<PolicyFields> {
        let value = self.take(name).unwrap_or(Value::Null);
        PolicyFields::of(&self.path_of(name), &value)
    }

    /// Percentages by resource.
    pub(super) fn percentages(&mut self, name: &'static str) -> Read<BTreeMap<String, f64>> {
        let path = self.path_of(name);
        let fields = self.mapping(name)?.fields;
        let percentage = |(resource, value): (String, Value)| {
            let number = value.as_f64().filter(|number| (0.0..=100.0).contains(number));
            match number {
                Some(number) => Ok((resource, number)),
                None => wrong(&format!("{path}.{resource}"), &value, "a percentage from 0 to 100"),
            }
        };
        fields.into_iter().map(percentage).collect()
    }

    /// A `metav1.LabelSelector`.
    pub(super) fn selector(&mut self, name: &'static str) -> Read<Option<LabelSelectorInput>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let mut fields = PolicyFields::of(&self.path_of(name), &value)?;
        let mut match_labels = BTreeMap::new();
        let labels = fields.mapping("matchLabels")?;
        for (key, value) in &labels.fields {
            match value.as_str() {
                Some(text) => match_labels.insert(key.clone(), text.to_owned()),
                None => return wrong(&labels.path_of(key), value, "a text"),
            };
        }
        let mut match_expressions = Vec::new();
        for (path, value) in fields.list("matchExpressions")? {
            let mut fields = PolicyFields::of(&path, &value)?;
            let key = fields.required_text("key")?;
            let operator = fields.required_text("operator")?;
            if !["In", "NotIn", "Exists", "DoesNotExist"].contains(&operator.as_str()) {
                let operator = Value::from(operator);
                return wrong(&fields.path_of("operator"), &operator, "In, NotIn, Exists or DoesNotExist");
            }
            let values = fields.texts("values")?;
            fields.finish()?;
            match_expressions.push(RequirementInput { key, operator, values });
        }
        fields.finish()?;
        Ok(Some(LabelSelectorInput { match_labels, match_expressions }))
    }

    pub(super) fn required_text(&mut self, name: &'static str) -> Read<String> {
        match self.text(name)? {
            Some(text) => Ok(text),
            None => refuse(&self.path, &format!("has no `{name}`; add it")),
        }
    }

    /// Refuses what was not asked for.
    pub(super) fn finish(self) -> Read<()> {
        let Some(unknown) = self.fields.keys().next() else { return Ok(()) };
        let known = self.known.join(", ");
        refuse(&self.path, &format!("has an unknown field `{unknown}`; known: {known}"))
    }
}
