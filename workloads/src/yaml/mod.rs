//! YAML with positions: text in, a tree of nodes out, each with its line and column.
//!
//! ```text
//! text --serde-saphyr--> Node { value, at: Location } --+--> Fields (strict reading)
//!                                                       +--> to_json (objects from templates)
//! ```
//!
//! Upstream: sigs.k8s.io/yaml on go.yaml.in/yaml/v2, which reads YAML 1.1: `y`, `yes` and `on` are
//! booleans (resolve.go), `0755` is octal, `<<` merges, a repeated key is an error. Objects are made
//! from its JSON, so an unquoted `y` where the API wants text is an error there as here.
//! Differs: a second document in one file is an error here, upstream ignores it silently; a key
//! that looks like a boolean (`y:`) keeps its spelling, upstream makes it `true`
//! (`broken_text_says_where_and_why`, `scalars_are_read_as_yaml_1_1`).

mod fields;

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::Spanned;

pub(crate) use fields::Fields;

/// Where a node starts. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// A YAML value and where it is written. An alias points at its use, not at its anchor.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Location,
}

/// What a node holds. Mapping entries keep their order in the file.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    String(String),
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// The name of a mapping entry and where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) at: Location,
}

/// Text that is not YAML: what the parser says and where.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: Location,
    pub(crate) message: String,
}

impl SyntaxError {
    pub(crate) fn new((line, column): (u64, u64), message: &str) -> SyntaxError {
        SyntaxError { at: Location { line, column }, message: message.to_owned() }
    }
}

/// Reads one YAML document.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options)
        .map(Node::from)
        .map_err(|error| SyntaxError::from(&error))
}

impl Node {
    /// What kind of value this is, in words for an error message.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }

    /// The node as JSON, without positions.
    pub(crate) fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(value) => Json::Number(value.clone()),
            Value::String(value) => Json::String(value.clone()),
            Value::Sequence(items) => items.iter().map(Node::to_json).collect(),
            Value::Mapping(entries) => {
                entries.iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect()
            }
        }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self { at: Location::from(spanned.referenced), value: spanned.value }
    }
}

impl From<serde_saphyr::Location> for Location {
    fn from(location: serde_saphyr::Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

impl From<&serde_saphyr::Error> for SyntaxError {
    fn from(error: &serde_saphyr::Error) -> Self {
        let at = error.location().map_or(Location { line: 1, column: 1 }, Location::from);
        let message = match error.without_snippet() {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("`{key}` is set twice in this mapping; remove one")
            }
            serde_saphyr::Error::MultipleDocuments { .. } => {
                "a second document starts here; only one document is read, remove the `---`".into()
            }
            other => {
                let suffix = format!(" at line {}, column {}", at.line, at.column);
                let text = other.to_string();
                text.strip_suffix(&suffix).unwrap_or(&text).to_owned()
            }
        };
        Self { at, message }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        json_number(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom(format_args!("`{value}` is not a number JSON can hold")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Value>>()? {
            items.push(Node::from(item));
        }
        Ok(Value::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = access.next_entry::<Spanned<String>, Spanned<Value>>()? {
            let key = Key { at: Location::from(key.referenced), name: key.value };
            entries.push((key, Node::from(node)));
        }
        Ok(Value::Mapping(entries))
    }
}

/// What a decoder says, and what to do about it where a boolean was hardly meant.
pub(crate) fn with_hint(message: String) -> String {
    if message.contains("invalid type: boolean") && message.contains("expected a string") {
        return message + "; unquoted y, n, yes, no, on and off are booleans in YAML: put quotes around text";
    }
    message
}

/// A float as a JSON number; a whole one becomes an integer, as Go writes `1e3` into JSON as `1000`.
pub(crate) fn json_number(value: f64) -> Option<serde_json::Number> {
    /// Up to here a float holds every integer exactly (2^53).
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        return Some(serde_json::Number::from(value as i64));
    }
    serde_json::Number::from_f64(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_read_as_yaml_1_1() {
        let cases = [
            ("plain word", "v: pause", r#""pause""#),
            ("yes is a boolean", "v: yes", "true"),
            ("off is a boolean", "v: off", "false"),
            ("y is a boolean", "v: y", "true"),
            ("n is a boolean", "v: n", "false"),
            ("N is a boolean", "v: N", "false"),
            ("a quoted n is a string", "v: \"n\"", r#""n""#),
            ("a longer word is a string", "v: ny", r#""ny""#),
            ("a quoted yes is a string", "v: 'yes'", r#""yes""#),
            ("a leading zero is octal", "v: 0755", "493"),
            ("hexadecimal", "v: 0x1f", "31"),
            ("underscores separate digits", "v: 1_000", "1000"),
            ("a whole float is an integer in JSON", "v: 1e3", "1000"),
            ("a fraction stays a float", "v: 1.5", "1.5"),
            ("nothing is null", "v:", "null"),
            ("tilde is null", "v: ~", "null"),
            ("a date is a string", "v: 2001-01-01", r#""2001-01-01""#),
            ("an alias repeats its anchor", "a: &x [1]\nv: *x", "[1]"),
            ("a merge key merges", "a: &x {k: 1, l: 2}\nv: {<<: *x, k: 3}", r#"{"k":3,"l":2}"#),
            ("a key that looks like a number is a string", "v: {1: one}", r#"{"1":"one"}"#),
        ];
        for (name, text, expected) in cases {
            let json = parse(text).unwrap().to_json();
            assert_eq!(json["v"].to_string(), expected, "case: {name}");
        }
    }

    #[test]
    fn a_boolean_that_should_be_text_comes_with_a_hint() {
        let boolean: Result<String, serde_json::Error> =
            serde_json::from_value(parse("n").unwrap().to_json());
        let message = with_hint(boolean.unwrap_err().to_string());
        assert!(message.ends_with("are booleans in YAML: put quotes around text"), "{message}");
        assert_eq!(with_hint("something else".to_owned()), "something else");
    }

    #[test]
    fn nodes_know_where_they_are() {
        let node = parse("# comment\n- name: A\n  list: [x]\n").unwrap();
        let Value::Sequence(items) = &node.value else { panic!("a list") };
        let Value::Mapping(entries) = &items[0].value else { panic!("a mapping") };
        assert_eq!(entries[1].0.at, Location { line: 3, column: 3 });
        assert_eq!(entries[1].1.at, Location { line: 3, column: 9 });
    }

    #[test]
    fn broken_text_says_where_and_why() {
        let cases = [
            ("unclosed list", "a: [1,\nb: 2\n", (1, 4), "unclosed bracket '['"),
            ("nested colon", "a: b: c\n", (1, 5), "mapping values are not allowed in this context"),
            ("repeated key", "a: 1\na: 2\n", (2, 1), "`a` is set twice in this mapping; remove one"),
            (
                "two documents",
                "a: 1\n---\nb: 2\n",
                (3, 1),
                "a second document starts here; only one document is read, remove the `---`",
            ),
            ("unknown anchor", "a: *x\n", (1, 4), "alias references unknown anchor"),
        ];
        for (name, text, at, message) in cases {
            let error = parse(text).unwrap_err();
            assert_eq!((error.at.line, error.at.column), at, "case: {name}");
            assert_eq!(error.message, message, "case: {name}");
        }
    }
}
