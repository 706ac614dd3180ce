//! Parameters of a workload: the values behind `$name` in its ops.
//!
//! A lookup marks the parameter as used; what is left unused at the end is an error, because it is
//! nearly always a typo.
//!
//! Upstream: scheduler_perf.go `params`, `getParam`, `unusedParams`; operations.go
//! `resolveTemplateParams`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;

use crate::{go_duration, yaml};

/// Values for a template, by name: an op's `templateParams` after resolution.
pub type TemplateParams = BTreeMap<String, Json>;

/// A `$name` in a config file, without its `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamRef(String);

impl ParamRef {
    /// Refers to the parameter with this name.
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for ParamRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "${}", self.0)
    }
}

/// A parameter that cannot be used as the op wants it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The workload does not set it.
    #[error("parameter ${name} is not set; add `{name}` to `params` of this workload")]
    Missing {
        /// The parameter, without its `$`.
        name: String,
    },
    /// It is set to something of another kind.
    #[error("parameter ${name} is {value}; set it to {expected}")]
    WrongType {
        /// The parameter, without its `$`.
        name: String,
        /// Its value, as JSON.
        value: String,
        /// What the op needs, in words.
        expected: &'static str,
    },
    /// The default after `|` is not YAML.
    #[error("the default `{default}` of parameter ${name} is not valid YAML: {message}")]
    BadDefault {
        /// The parameter, without its `$`.
        name: String,
        /// The text after `|`.
        default: String,
        /// What the YAML parser says.
        message: String,
    },
}

/// The parameters of one workload while its ops are resolved.
pub(crate) struct ParamUse<'a> {
    values: &'a BTreeMap<String, Json>,
    used: BTreeSet<&'a str>,
}

impl<'a> ParamUse<'a> {
    pub(crate) fn new(values: &'a BTreeMap<String, Json>) -> Self {
        Self { values, used: BTreeSet::new() }
    }

    /// Differs: upstream cuts the fraction off a number; a count of 2.5 is refused here
    /// (`numbers_must_be_there_and_be_whole`).
    pub(crate) fn integer(&mut self, param: &ParamRef) -> Result<i64, ParamError> {
        self.typed(param, "a whole number", Json::as_i64)
    }

    pub(crate) fn boolean(&mut self, param: &ParamRef) -> Result<bool, ParamError> {
        self.typed(param, "true or false", Json::as_bool)
    }

    pub(crate) fn duration(&mut self, param: &ParamRef) -> Result<Duration, ParamError> {
        self.typed(param, go_duration::EXPECTED, |value| value.as_str().and_then(go_duration::parse))
    }

    /// Replaces every `$name` and `$name|default` among an op's `templateParams`. The default is
    /// YAML, so that numbers, lists and nothing at all can be defaults.
    pub(crate) fn template_params(&mut self, written: &TemplateParams) -> Result<TemplateParams, ParamError> {
        written
            .iter()
            .map(|(key, value)| {
                let resolved = match value.as_str().and_then(|text| text.strip_prefix('$')) {
                    Some(reference) => self.template_param(reference)?,
                    None => value.clone(),
                };
                Ok((key.clone(), resolved))
            })
            .collect()
    }

    fn template_param(&mut self, reference: &str) -> Result<Json, ParamError> {
        // Upstream takes a `|` in first place as part of the name.
        let (name, default) = match reference.find('|') {
            Some(bar) if 0 < bar => (&reference[..bar], Some(&reference[bar + 1..])),
            _ => (reference, None),
        };
        match (self.find(name), default) {
            (Some(value), _) => Ok(value.clone()),
            (None, Some(default)) => yaml::parse(default).map(|node| node.to_json()).map_err(|error| {
                ParamError::BadDefault { name: name.into(), default: default.into(), message: error.message }
            }),
            (None, None) => Err(ParamError::Missing { name: name.into() }),
        }
    }

    /// Marks a parameter that is read by something else than an op.
    pub(crate) fn find(&mut self, name: &str) -> Option<&'a Json> {
        let (name, value) = self.values.get_key_value(name)?;
        self.used.insert(name);
        Some(value)
    }

    fn typed<T>(
        &mut self,
        param: &ParamRef,
        expected: &'static str,
        read: impl Fn(&Json) -> Option<T>,
    ) -> Result<T, ParamError> {
        let name = &param.0;
        let value = self.find(name).ok_or_else(|| ParamError::Missing { name: name.clone() })?;
        read(value).ok_or_else(|| ParamError::WrongType {
            name: name.clone(),
            value: value.to_string(),
            expected,
        })
    }

    /// The parameters that nothing looked at, in alphabetical order.
    pub(crate) fn unused(&self) -> Vec<String> {
        let unused = self.values.keys().filter(|name| !self.used.contains(name.as_str()));
        unused.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(json: Json) -> BTreeMap<String, Json> {
        json.as_object().unwrap().clone().into_iter().collect()
    }

    #[test]
    fn numbers_must_be_there_and_be_whole() {
        let cases = [
            ("set", json!({"n": 5}), Ok(5)),
            ("absent", json!({}), Err("parameter $n is not set; add `n` to `params` of this workload")),
            ("a string", json!({"n": "5"}), Err("parameter $n is \"5\"; set it to a whole number")),
            ("a fraction", json!({"n": 2.5}), Err("parameter $n is 2.5; set it to a whole number")),
        ];
        for (name, json, expected) in cases {
            let values = values(json);
            let read = ParamUse::new(&values).integer(&ParamRef::new("n"));
            assert_eq!(read.map_err(|e| e.to_string()), expected.map_err(String::from), "case: {name}");
        }
    }

    #[test]
    fn template_params_take_the_value_or_the_default() {
        let cases = [
            ("a literal stays", json!("zone"), Ok(json!("zone"))),
            ("a number stays", json!(10), Ok(json!(10))),
            ("a set parameter wins", json!("$set"), Ok(json!(["a"]))),
            ("a set parameter wins over its default", json!("$set|7"), Ok(json!(["a"]))),
            ("a null parameter is set", json!("$null|7"), Ok(Json::Null)),
            ("the default is YAML", json!("$absent|7"), Ok(json!(7))),
            ("a plain word is a string", json!("$absent|shared"), Ok(json!("shared"))),
            ("an empty default is null", json!("$absent|"), Ok(Json::Null)),
            (
                "no value and no default",
                json!("$absent"),
                Err("parameter $absent is not set; add `absent` to `params` of this workload"),
            ),
            (
                "a default that is not YAML",
                json!("$absent|[1"),
                Err("the default `[1` of parameter $absent is not valid YAML: unclosed bracket '['"),
            ),
        ];
        let values = values(json!({"set": ["a"], "null": null}));
        for (name, written, expected) in cases {
            let written = TemplateParams::from([("p".to_owned(), written)]);
            let read = ParamUse::new(&values).template_params(&written).map(|mut all| all.remove("p"));
            let read = read.map_err(|error| error.to_string());
            assert_eq!(read, expected.map(Some).map_err(String::from), "case: {name}");
        }
    }

    #[test]
    fn unused_parameters_are_listed_in_order() {
        let values = values(json!({"z": 1, "a": true, "used": "10s", "templated": 1}));
        let mut params = ParamUse::new(&values);
        params.duration(&ParamRef::new("used")).unwrap();
        let written = TemplateParams::from([("p".to_owned(), json!("$templated|3"))]);
        params.template_params(&written).unwrap();
        assert_eq!(params.unused(), ["a", "z"]);
    }
}
