//! Reads the configuration of a controller: each field once, of its type, and none that it does not know.

use serde_json::{Map, Value};

use super::{ControllerConfigError, ControllerSettings};

/// The fields of a configuration that are still unread.
#[derive(Debug)]
pub(super) struct ConfigFields {
    fields: Map<String, Value>,
    known: Vec<&'static str>,
}

impl ConfigFields {
    /// The configuration of these settings; one without fields if there is none.
    pub(super) fn of(settings: &ControllerSettings) -> Result<ConfigFields, ControllerConfigError> {
        let fields = match &settings.config {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(fields)) => fields.clone(),
            Some(other) => {
                let what = format!("`config` is {other}; write a mapping of its fields");
                return Err(ControllerConfigError::new(what));
            }
        };
        Ok(ConfigFields { fields, known: Vec::new() })
    }

    /// A field as it is written, if it is there.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// A number that is at least `least`.
    pub(super) fn number(
        &mut self,
        name: &'static str,
        default: f64,
        least: f64,
    ) -> Result<f64, ControllerConfigError> {
        let Some(value) = self.take(name) else { return Ok(default) };
        let number = value.as_f64().filter(|number| number.is_finite() && least <= *number);
        number.ok_or_else(|| wrong(name, &value, &format!("a number of at least {least}")))
    }

    /// A whole number from `least` on.
    pub(super) fn whole(
        &mut self,
        name: &'static str,
        default: u64,
        least: u64,
    ) -> Result<u64, ControllerConfigError> {
        let Some(value) = self.take(name) else { return Ok(default) };
        let number = value.as_u64().filter(|number| least <= *number);
        number.ok_or_else(|| wrong(name, &value, &format!("a whole number of at least {least}")))
    }

    /// A text.
    pub(super) fn text(
        &mut self,
        name: &'static str,
        default: &str,
    ) -> Result<String, ControllerConfigError> {
        let Some(value) = self.take(name) else { return Ok(default.to_owned()) };
        let text = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        text.ok_or_else(|| wrong(name, &value, "a text"))
    }

    /// Yes or no.
    pub(super) fn switch(
        &mut self,
        name: &'static str,
        default: bool,
    ) -> Result<bool, ControllerConfigError> {
        let Some(value) = self.take(name) else { return Ok(default) };
        value.as_bool().ok_or_else(|| wrong(name, &value, "true or false"))
    }

    /// A time in seconds, fractions allowed, as nanoseconds.
    pub(super) fn seconds(
        &mut self,
        name: &'static str,
        default_ns: u64,
    ) -> Result<u64, ControllerConfigError> {
        if !self.fields.contains_key(name) {
            self.known.push(name);
            return Ok(default_ns);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked not negative")]
        self.number(name, 0.0, 0.0).map(|seconds| (seconds * 1e9) as u64)
    }

    /// Refuses what was not asked for.
    pub(super) fn finish(self) -> Result<(), ControllerConfigError> {
        let Some(unknown) = self.fields.keys().next() else { return Ok(()) };
        let known = self.known.join(", ");
        Err(ControllerConfigError::new(format!("unknown field `{unknown}` of `config`; known: {known}")))
    }
}

/// A field with a value that will not do.
pub(super) fn wrong(field: &str, value: &Value, wanted: &str) -> ControllerConfigError {
    ControllerConfigError::new(format!("`config.{field}` is {value}; write {wanted}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(config: Value) -> ConfigFields {
        let settings = ControllerSettings { config: Some(config), ..ControllerSettings::default() };
        ConfigFields::of(&settings).expect("a mapping")
    }

    #[test]
    fn fields_are_read_with_their_defaults() {
        let mut config = fields(json!({ "rate": 2.5, "name": "a", "period": 0.5 }));
        assert_eq!(config.number("rate", 1.0, 0.0), Ok(2.5));
        assert_eq!(config.text("name", "b").as_deref(), Ok("a"));
        assert_eq!(config.seconds("period", 7), Ok(500_000_000));
        assert_eq!(config.whole("count", 3, 1), Ok(3));
        assert_eq!(config.finish(), Ok(()));
    }

    #[test]
    fn unknown_fields_and_wrong_values_are_refused_by_name() {
        let mut config = fields(json!({ "rate": -1, "speed": 2 }));
        let error = config.number("rate", 1.0, 0.0).unwrap_err().to_string();
        assert_eq!(error, "`config.rate` is -1; write a number of at least 0");
        let error = config.finish().unwrap_err().to_string();
        assert_eq!(error, "unknown field `speed` of `config`; known: rate");
        let settings = ControllerSettings { config: Some(json!([1])), ..ControllerSettings::default() };
        let error = ConfigFields::of(&settings).unwrap_err().to_string();
        assert_eq!(error, "`config` is [1]; write a mapping of its fields");
    }
}
