//! Fields of an object's JSON, read one by one. What is absent or null is as good as not there; what has
//! another type than the API gives it is an error that says where.

use std::sync::Arc;

use serde_json::Value;

use super::ConvertError;
use super::dra::{ByName, quantity_of};
use schedlab_core::quantity::Quantity;

/// A value in an object, and where it stands.
#[derive(Clone, Debug)]
pub struct JsonPart<'a> {
    object: &'a str,
    path: String,
    value: Option<&'a Value>,
}

impl<'a> JsonPart<'a> {
    /// An object, by what messages call it: `deviceclass gpu`.
    #[must_use]
    pub fn new(object: &'a str, value: &'a Value) -> JsonPart<'a> {
        JsonPart { object, path: String::new(), value: Some(value) }
    }

    fn within(&self, path: String, value: Option<&'a Value>) -> JsonPart<'a> {
        JsonPart { object: self.object, path, value: value.filter(|value| !value.is_null()) }
    }

    /// A field.
    pub(super) fn at(&self, field: &str) -> JsonPart<'a> {
        let path = if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) };
        self.within(path, self.value.and_then(|value| value.get(field)))
    }

    pub(super) fn is_absent(&self) -> bool {
        self.value.is_none()
    }

    pub(super) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    fn wrong(&self, expected: &str) -> ConvertError {
        let shown = self.value.map(Value::to_string).unwrap_or_default();
        ConvertError::Shape {
            object: self.object.to_owned(),
            error: format!("{}: {shown} is not {expected}", self.path),
        }
    }

    fn read<T>(
        &self,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ConvertError> {
        self.value.map(|value| read(value).ok_or_else(|| self.wrong(expected))).transpose()
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<&'a str>, ConvertError> {
        self.at(field).read("a text", Value::as_str)
    }

    pub(super) fn string(&self, field: &str) -> Result<String, ConvertError> {
        Ok(self.text(field)?.unwrap_or_default().to_owned())
    }

    pub(super) fn word(&self, field: &str) -> Result<Arc<str>, ConvertError> {
        Ok(self.text(field)?.unwrap_or_default().into())
    }

    pub(super) fn int(&self, field: &str) -> Result<Option<i64>, ConvertError> {
        self.at(field).read("an integer", Value::as_i64)
    }

    pub(super) fn truth(&self, field: &str) -> Result<Option<bool>, ConvertError> {
        self.at(field).read("true or false", Value::as_bool)
    }

    pub(super) fn flag(&self, field: &str) -> Result<bool, ConvertError> {
        Ok(self.truth(field)?.unwrap_or(false))
    }

    pub(super) fn as_quantity(&self) -> Result<Quantity, ConvertError> {
        let value = self.value.unwrap_or(&Value::Null);
        let parsed = quantity_of(value).ok_or_else(|| self.wrong("a quantity"))?;
        parsed.map_err(|source| ConvertError::Quantity {
            object: self.object.to_owned(),
            field: self.path.clone(),
            value: value.as_str().unwrap_or_default().to_owned(),
            source,
        })
    }

    pub(super) fn quantity(&self, field: &str) -> Result<Option<Quantity>, ConvertError> {
        let part = self.at(field);
        if part.is_absent() { Ok(None) } else { part.as_quantity().map(Some) }
    }

    /// The elements of a list; none, of one that is not there.
    pub(super) fn each<T>(
        &self,
        field: &str,
        read: impl Fn(&JsonPart<'a>) -> Result<T, ConvertError>,
    ) -> Result<Vec<T>, ConvertError> {
        let list = self.at(field);
        let elements = list.read("a list", Value::as_array)?.into_iter().flatten();
        let part = |(at, value)| list.within(format!("{}[{at}]", list.path), Some(value));
        elements.enumerate().map(|it| read(&part(it))).collect()
    }

    pub(super) fn texts(&self, field: &str) -> Result<Option<Vec<String>>, ConvertError> {
        if self.at(field).is_absent() {
            return Ok(None);
        }
        self.each(field, |it| Ok(it.read("a text", Value::as_str)?.unwrap_or_default().to_owned())).map(Some)
    }

    /// The entries of a map; none, of one that is not there.
    pub(super) fn entries<T>(
        &self,
        read: impl Fn(&JsonPart<'a>) -> Result<T, ConvertError>,
    ) -> Result<ByName<T>, ConvertError> {
        let entries = self.read("a map", Value::as_object)?.into_iter().flatten();
        let part = |name: &String, value| self.within(format!("{}[{name:?}]", self.path), Some(value));
        entries.map(|(name, value)| Ok((name.as_str().into(), read(&part(name, value))?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_field_is_an_error_that_says_which() {
        let value = json!({"spec": {"devices": [{"name": 7}, {"capacity": {"memory": {"value": "much"}}}]}});
        let spec = JsonPart::new("resourceslice s", &value).at("spec");
        let name = spec.each("devices", |it| it.string("name")).unwrap_err();
        let expected = "resourceslice s: spec.devices[0].name: 7 is not a text; write it as the API has it";
        assert_eq!(name.to_string(), expected);
        let memory =
            spec.each("devices", |it| it.at("capacity").entries(|it| it.quantity("value"))).unwrap_err();
        let expected =
            "resourceslice s: spec.devices[1].capacity[\"memory\"].value: \"much\" is not a quantity";
        assert!(memory.to_string().starts_with(expected), "{memory}");
        assert!(spec.at("absent").entries(|it| it.as_quantity()).unwrap().is_empty());
    }
}
