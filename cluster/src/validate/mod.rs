//! What the API server would refuse, at one place for every way in: templates, manifests and dumps.
//!
//! Everything that scheduling reads is checked, with the API server's paths and messages. What it
//! does not read (images, probes, security contexts) is not: a benchmark's pods leave it out.
//!
//! ```text
//! create, update ─▶ defaults, admission ─▶ name (each call) ─▶ body (once per distinct body) ─▶ stored
//! ```
//!
//! Upstream: pkg/apis/{core,resource,scheduling}/validation/validation.go, apimachinery pkg/util/validation.
//! Differs: fields that an API server fills in or that nothing here reads are not required, such as
//! a container's image and `terminationGracePeriodSeconds` (`pods_at_the_edge_of_the_rules_are_accepted`).

mod claim;
mod formats;
mod node;
mod other;
mod pod;
mod pod_group;
mod resources;
mod selectors;
mod strict;

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use node::validate_node;
pub use other::{validate_other, validate_other_update};
pub use pod::{validate_pod_body, validate_pod_identity};
pub use strict::{unknown_field, unknown_field_of};

use crate::api::Object;
use formats::{label_key_errors, label_value_errors};

/// Checks an object as it would be checked on its creation, defaults filled in.
pub fn validate(object: &Object) -> Result<(), Invalid> {
    match object {
        Object::Pod(pod) => {
            let mut pod = (**pod).clone();
            crate::defaults::default_pod(&mut pod);
            validate_pod_identity(&pod).and_then(|()| validate_pod_body(&pod))
        }
        Object::Node(node) => validate_node(node),
        Object::Other(other) => validate_other(other),
    }
}

/// What is wrong with one field, as the API server words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    path: String,
    body: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.body)
    }
}

/// All that is wrong with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Invalid(Vec<FieldError>);

/// More are counted, not written out: a hostile list of a million entries makes one message.
const ERRORS_SHOWN_MAX: usize = 20;

impl fmt::Display for Invalid {
    /// Upstream: apimachinery pkg/util/errors `aggregate.Error`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            return write!(formatter, "{one}");
        }
        formatter.write_str("[")?;
        for (at, error) in self.0.iter().take(ERRORS_SHOWN_MAX).enumerate() {
            write!(formatter, "{}{error}", if at == 0 { "" } else { ", " })?;
        }
        if ERRORS_SHOWN_MAX < self.0.len() {
            write!(formatter, ", and {} more", self.0.len() - ERRORS_SHOWN_MAX)?;
        }
        formatter.write_str("]")
    }
}

/// Collects errors on the way through an object.
#[derive(Debug, Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn into_result(self) -> Result<(), Invalid> {
        if self.0.is_empty() { Ok(()) } else { Err(Invalid(self.0)) }
    }

    fn push(&mut self, path: &Path<'_>, body: String) {
        self.0.push(FieldError { path: path.to_string(), body });
    }

    fn invalid(&mut self, path: &Path<'_>, value: impl Shown, why: impl fmt::Display) {
        self.push(path, format!("Invalid value: {}: {why}", value.shown()));
    }

    fn required(&mut self, path: &Path<'_>, why: &str) {
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        self.push(path, format!("Required value{why}"));
    }

    fn forbidden(&mut self, path: &Path<'_>, why: impl fmt::Display) {
        self.push(path, format!("Forbidden: {why}"));
    }

    fn duplicate(&mut self, path: &Path<'_>, value: impl Shown) {
        self.push(path, format!("Duplicate value: {}", value.shown()));
    }

    fn not_supported(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(Shown::shown).collect();
        let supported = supported.join(", ");
        self.push(path, format!("Unsupported value: {}: supported values: {supported}", value.shown()));
    }

    /// One of a few words.
    fn one_of(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        if !supported.contains(&value) {
            self.not_supported(path, value, supported);
        }
    }

    /// A key of labels, taints and tolerations.
    fn label_key(&mut self, path: &Path<'_>, key: &str) {
        for why in label_key_errors(key) {
            self.invalid(path, key, why);
        }
    }

    fn label_value(&mut self, path: &Path<'_>, value: &str) {
        for why in label_value_errors(value) {
            self.invalid(path, value, why);
        }
    }

    fn labels<'a>(&mut self, path: &Path<'_>, labels: impl IntoIterator<Item = (&'a String, &'a String)>) {
        for (key, value) in labels {
            self.label_key(path, key);
            self.label_value(path, value);
        }
    }

    /// Labels, annotations and the name. `name_errors` says what a name of the kind may be.
    fn metadata(&mut self, metadata: &ObjectMeta, name_errors: fn(&str) -> Vec<String>) {
        self.names(metadata, name_errors);
        self.label_maps(metadata);
    }

    fn names(&mut self, metadata: &ObjectMeta, name_errors: fn(&str) -> Vec<String>) {
        let path = Path::root("metadata");
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(name) = filled(&metadata.name) {
            for why in name_errors(&name) {
                self.invalid(&path.field("name"), name.as_str(), why);
            }
        }
        if let Some(prefix) = filled(&metadata.generate_name) {
            // The API server appends to it: a trailing dash is no end of the name.
            let masked = prefix.strip_suffix('-').map_or_else(|| prefix.clone(), |start| format!("{start}a"));
            for why in name_errors(&masked) {
                self.invalid(&path.field("generateName"), prefix.as_str(), why);
            }
        }
        if let Some(namespace) = filled(&metadata.namespace) {
            for why in formats::dns_label_errors(&namespace) {
                self.invalid(&path.field("namespace"), namespace.as_str(), why);
            }
        }
    }

    fn label_maps(&mut self, metadata: &ObjectMeta) {
        let path = Path::root("metadata");
        self.labels(&path.field("labels"), metadata.labels.iter().flatten());
        for key in metadata.annotations.iter().flat_map(|annotations| annotations.keys()) {
            for why in label_key_errors(&key.to_lowercase()) {
                self.invalid(&path.field("annotations"), key.as_str(), why);
            }
        }
    }
}

/// A value as the API server shows it: numbers plain, texts as Go quotes them.
trait Shown {
    fn shown(&self) -> String;
}

impl Shown for str {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

impl Shown for &str {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

impl Shown for i32 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

/// Where a field is. Written out only when something is wrong there.
#[derive(Clone, Copy, Debug)]
enum Path<'a> {
    Root(&'a str),
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    fn root(name: &'a str) -> Path<'a> {
        Path::Root(name)
    }

    fn field(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    fn index(&'a self, at: usize) -> Path<'a> {
        Path::Index(self, at)
    }

    fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(name) => formatter.write_str(name),
            Path::Field(parent, name) => write!(formatter, "{parent}.{name}"),
            Path::Index(parent, at) => write!(formatter, "{parent}[{at}]"),
            Path::Key(parent, key) => write!(formatter, "{parent}[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests;
