//! A mapping read strictly: every field is known, has the right kind, and appears once.
//!
//! A field that is absent and a field that is `null` are the same, as in Go's JSON decoding.
//! Names match whatever their case, as in Go's own JSON decoder, or exactly, as in the decoder of
//! Kubernetes' API machinery; the messages use upstream's spelling.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::{Key, Location, Node, Value};
use crate::go_duration;
use crate::params::ParamRef;
use crate::schema::{SchemaError, SchemaProblem};
use crate::suggest::closest;

/// The fields of one mapping, checked against the names that may stand in it.
pub(crate) struct Fields<'a> {
    file: &'a str,
    holder: String,
    at: Location,
    entries: Vec<(&'static str, &'a Node)>,
}

impl<'a> Fields<'a> {
    /// Takes a mapping and refuses any name that is not in `allowed`, whatever its case.
    pub(crate) fn read(
        file: &'a str,
        holder: impl Into<String>,
        node: &'a Node,
        allowed: &'static [&'static str],
    ) -> Result<Self, SchemaError> {
        Self::read_by(file, holder, node, allowed, str::eq_ignore_ascii_case)
    }

    /// Takes a mapping and refuses any name that is not in `allowed`, case included.
    pub(crate) fn read_exact(
        file: &'a str,
        holder: impl Into<String>,
        node: &'a Node,
        allowed: &'static [&'static str],
    ) -> Result<Self, SchemaError> {
        Self::read_by(file, holder, node, allowed, |one, other| one == other)
    }

    /// Takes the named fields of a mapping and leaves the others to somebody else.
    pub(crate) fn open(
        file: &'a str,
        holder: impl Into<String>,
        node: &'a Node,
        wanted: &'static [&'static str],
    ) -> Result<Self, SchemaError> {
        let mut fields = Self { file, holder: holder.into(), at: node.at, entries: Vec::new() };
        for (key, value) in fields.mapping(node)? {
            if let Some(name) = wanted.iter().copied().find(|name| *name == key.name) {
                fields.entries.push((name, value));
            }
        }
        Ok(fields)
    }

    fn mapping(&self, node: &'a Node) -> Result<&'a [(Key, Node)], SchemaError> {
        match &node.value {
            Value::Mapping(entries) => Ok(entries),
            _ => Err(self.error(
                node.at,
                SchemaProblem::WrongType {
                    field: "value".into(),
                    holder: self.holder.clone(),
                    found: node.kind().into(),
                    expected: "a mapping",
                },
            )),
        }
    }

    fn read_by(
        file: &'a str,
        holder: impl Into<String>,
        node: &'a Node,
        allowed: &'static [&'static str],
        is_same: fn(&str, &str) -> bool,
    ) -> Result<Self, SchemaError> {
        let mut fields =
            Self { file, holder: holder.into(), at: node.at, entries: Vec::with_capacity(allowed.len()) };
        for (key, value) in fields.mapping(node)? {
            let name = fields.known_name(key, allowed, is_same)?;
            if fields.entries.iter().any(|(taken, _)| *taken == name) {
                let holder = fields.holder.clone();
                return Err(fields.error(key.at, SchemaProblem::RepeatedField { field: name, holder }));
            }
            fields.entries.push((name, value));
        }
        Ok(fields)
    }

    fn known_name(
        &self,
        key: &Key,
        allowed: &'static [&'static str],
        is_same: fn(&str, &str) -> bool,
    ) -> Result<&'static str, SchemaError> {
        allowed.iter().copied().find(|name| is_same(name, &key.name)).ok_or_else(|| {
            self.error(
                key.at,
                SchemaProblem::UnknownField {
                    field: key.name.clone(),
                    holder: self.holder.clone(),
                    suggestion: closest(&key.name, allowed),
                    allowed,
                },
            )
        })
    }

    /// Calls the mapping by another name from here on, for example once its `name` is read.
    pub(crate) fn rename(&mut self, holder: String) {
        self.holder = holder;
    }

    /// What this mapping is, in words.
    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }

    /// The file this mapping is in.
    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// Where the mapping starts.
    pub(crate) fn at(&self) -> Location {
        self.at
    }

    /// The node of a field; `None` if it is absent or `null`.
    pub(crate) fn get(&self, field: &str) -> Option<&'a Node> {
        self.entries
            .iter()
            .find(|(name, node)| *name == field && !matches!(node.value, Value::Null))
            .map(|(_, node)| *node)
    }

    pub(crate) fn string(&self, field: &'static str) -> Result<Option<String>, SchemaError> {
        self.get(field).map(|node| self.text(field, node)).transpose()
    }

    /// A string that must be there and must not be empty; `help` says what to write.
    pub(crate) fn required_string(
        &self,
        field: &'static str,
        help: &'static str,
    ) -> Result<String, SchemaError> {
        match self.string(field)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.missing(field, help)),
        }
    }

    /// A switch that is off unless it is set.
    pub(crate) fn switch(&self, field: &'static str) -> Result<bool, SchemaError> {
        match self.get(field) {
            None => Ok(false),
            Some(node) => self.boolean(field, node),
        }
    }

    pub(crate) fn integer(&self, field: &'static str) -> Result<Option<i64>, SchemaError> {
        let Some(node) = self.get(field) else { return Ok(None) };
        match &node.value {
            Value::Number(number) if number.is_i64() => Ok(number.as_i64()),
            _ => Err(self.wrong_type(field, node, "an integer")),
        }
    }

    pub(crate) fn float(&self, field: &str, node: &Node) -> Result<f64, SchemaError> {
        match &node.value {
            Value::Number(number) => number.as_f64(),
            _ => None,
        }
        .ok_or_else(|| self.wrong_type(field, node, "a number"))
    }

    pub(crate) fn duration(&self, field: &'static str) -> Result<Option<Duration>, SchemaError> {
        let Some(node) = self.get(field) else { return Ok(None) };
        match &node.value {
            Value::String(text) => go_duration::parse(text),
            _ => None,
        }
        .map(Some)
        .ok_or_else(|| self.wrong_type(field, node, go_duration::EXPECTED))
    }

    /// A reference to a parameter: `$name`. An empty string is the same as no reference.
    pub(crate) fn param(&self, field: &'static str) -> Result<Option<ParamRef>, SchemaError> {
        let Some(text) = self.string(field)?.filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.strip_prefix('$') {
            Some(name) if !name.is_empty() => Ok(Some(ParamRef::new(name))),
            _ => Err(self.bad_value(field, &text, "write `$` and the name of a parameter")),
        }
    }

    pub(crate) fn list(&self, field: &'static str) -> Result<&'a [Node], SchemaError> {
        match self.get(field) {
            None => Ok(&[]),
            Some(node) => match &node.value {
                Value::Sequence(items) => Ok(items),
                _ => Err(self.wrong_type(field, node, "a list")),
            },
        }
    }

    pub(crate) fn strings(&self, field: &'static str) -> Result<Vec<String>, SchemaError> {
        self.list(field)?.iter().map(|node| self.text(field, node)).collect()
    }

    pub(crate) fn entries(&self, field: &'static str) -> Result<&'a [(Key, Node)], SchemaError> {
        match self.get(field) {
            None => Ok(&[]),
            Some(node) => match &node.value {
                Value::Mapping(entries) => Ok(entries),
                _ => Err(self.wrong_type(field, node, "a mapping")),
            },
        }
    }

    pub(crate) fn string_map(&self, field: &'static str) -> Result<BTreeMap<String, String>, SchemaError> {
        self.entries(field)?
            .iter()
            .map(|(key, node)| Ok((key.name.clone(), self.text(&key.name, node)?)))
            .collect()
    }

    pub(crate) fn switch_map(&self, field: &'static str) -> Result<BTreeMap<String, bool>, SchemaError> {
        self.entries(field)?
            .iter()
            .map(|(key, node)| Ok((key.name.clone(), self.boolean(&key.name, node)?)))
            .collect()
    }

    pub(crate) fn json_map(&self, field: &'static str) -> Result<BTreeMap<String, Json>, SchemaError> {
        let entries = self.entries(field)?.iter();
        Ok(entries.map(|(key, node)| (key.name.clone(), node.to_json())).collect())
    }

    /// Text, also from a bare number or boolean: sigs.k8s.io/yaml makes strings of them too.
    fn text(&self, field: &str, node: &Node) -> Result<String, SchemaError> {
        match &node.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(value) => Ok(value.to_string()),
            _ => Err(self.wrong_type(field, node, "a string")),
        }
    }

    fn boolean(&self, field: &str, node: &Node) -> Result<bool, SchemaError> {
        match node.value {
            Value::Bool(value) => Ok(value),
            _ => Err(self.wrong_type(field, node, "true or false")),
        }
    }

    pub(crate) fn error(&self, at: Location, problem: SchemaProblem) -> SchemaError {
        SchemaError::new(self.file, at, problem)
    }

    pub(crate) fn missing(&self, field: &'static str, help: &'static str) -> SchemaError {
        self.error(self.at, SchemaProblem::MissingField { field, holder: self.holder.clone(), help })
    }

    pub(crate) fn wrong_type(&self, field: &str, node: &Node, expected: &'static str) -> SchemaError {
        let found = match &node.value {
            Value::String(text) => format!("\"{text}\""),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            _ => node.kind().to_owned(),
        };
        let (field, holder) = (field.to_owned(), self.holder.clone());
        self.error(node.at, SchemaProblem::WrongType { field, holder, found, expected })
    }

    pub(crate) fn bad_value(
        &self,
        field: &'static str,
        value: impl ToString,
        rule: impl Into<String>,
    ) -> SchemaError {
        let at = self.get(field).map_or(self.at, |node| node.at);
        let (holder, value, rule) = (self.holder.clone(), value.to_string(), rule.into());
        self.error(at, SchemaProblem::BadValue { field, holder, value, rule })
    }

    pub(crate) fn conflict(
        &self,
        first: &'static str,
        second: &'static str,
        help: &'static str,
    ) -> SchemaError {
        let at = self.get(second).map_or(self.at, |node| node.at);
        self.error(at, SchemaProblem::Conflict { holder: self.holder.clone(), first, second, help })
    }
}
