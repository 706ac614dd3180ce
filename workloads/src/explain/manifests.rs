//! Objects from files: what `kubectl get -o yaml` or `-o json` prints, in one file or several.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::ApiError;
use schedlab_cluster::api::{Object, resource_or_guess};
use schedlab_cluster::convert::lift_execution_affinity;
use schedlab_cluster::validate::{unknown_field_of, validate_other_update};
use schedlab_objects::ApiJson as _;
use serde_json::Value;

use super::error::ExplainError;
use super::ignored::{IgnoredField, KNOWN_BEYOND, ignored_fields as ignored_fields_of};
use crate::executor::quote_quantities;
use crate::yaml::{SyntaxError, with_hint};

/// An object and where it was written.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file.
    pub path: PathBuf,
    /// The object.
    pub object: Object,
    /// Of a pod: fields that no plugin here honours.
    pub ignored_fields: Vec<IgnoredField>,
}

/// The pod in question.
#[derive(Clone, Debug)]
pub struct AskedPod {
    /// The file it is from.
    pub path: PathBuf,
    /// The pod.
    pub pod: Pod,
    /// Fields that no plugin here honours.
    pub ignored_fields: Vec<IgnoredField>,
}

/// Reads files, folders of files (`.yaml`, `.yml`, `.json`, also in folders below) and, for `-`,
/// standard input. An object that was exported twice counts once, as it was exported last; two objects
/// of one name are an error.
pub fn read_manifests(paths: &[PathBuf]) -> Result<Vec<Manifest>, ExplainError> {
    let mut files = Vec::new();
    for path in paths {
        collect_files(path, &mut files)?;
    }
    let mut all = Vec::new();
    for path in files {
        let objects = read_objects(&path)?;
        all.extend(objects.into_iter().map(|Read { object, ignored_fields }| Manifest {
            path: path.clone(),
            object,
            ignored_fields,
        }));
    }
    each_once(all)
}

/// Reads the text of one file.
pub fn parse_manifests(path: &Path, text: &str) -> Result<Vec<Manifest>, ExplainError> {
    let objects = objects_of(path, text)?.into_iter();
    let manifest =
        |Read { object, ignored_fields }| Manifest { path: path.to_owned(), object, ignored_fields };
    each_once(objects.map(manifest).collect())
}

fn each_once(all: Vec<Manifest>) -> Result<Vec<Manifest>, ExplainError> {
    let mut manifests: Vec<Manifest> = Vec::new();
    let mut known = BTreeMap::new();
    for manifest in all {
        let mut key = manifest.object.key();
        if key.kind == "Pod" {
            key.namespace.get_or_insert_with(|| "default".to_owned());
        }
        // Objects whose names are still to be generated are all different.
        match known.get(&key).filter(|_| !key.name.is_empty()) {
            Some(&at) => replace(&mut manifests[at], manifest)?,
            None => {
                known.insert(key, manifests.len());
                manifests.push(manifest);
            }
        }
    }
    Ok(manifests)
}

/// A later export of an object takes the place of an earlier one.
fn replace(earlier: &mut Manifest, later: Manifest) -> Result<(), ExplainError> {
    let uid = |manifest: &Manifest| manifest.object.metadata().uid.clone();
    if earlier.object == later.object {
        return Ok(());
    }
    let name = later.object.metadata().name.clone().unwrap_or_default();
    let refused = |source| ExplainError::Refused {
        path: later.path.clone(),
        object: format!("{} {name}, which {} has too", later.object.kind(), earlier.path.display()),
        source,
    };
    if uid(earlier).is_none() || uid(earlier) != uid(&later) {
        let resource = resource_or_guess(later.object.api_version(), later.object.kind(), None).qualified();
        return Err(refused(ApiError::already_exists(&resource, &name)));
    }
    if let (Object::Other(new), Object::Other(old)) = (&later.object, &earlier.object) {
        validate_other_update(new, old)
            .map_err(|error| refused(ApiError::invalid(&new.kind, &name, error)))?;
    }
    *earlier = later;
    Ok(())
}

/// Reads the one pod of a file. The pod template of a controller (Deployment, Job, ...) will do.
pub fn read_pod(path: &Path) -> Result<AskedPod, ExplainError> {
    let mut objects = read_objects(path)?;
    let not_one = |found: String| ExplainError::NotOnePod { path: path.to_owned(), found };
    if objects.len() != 1 {
        return Err(not_one(format!("{} objects", objects.len())));
    }
    let Read { object, ignored_fields } = objects.remove(0);
    let kind = object.kind().to_owned();
    let asked = |pod, ignored_fields| AskedPod { path: path.to_owned(), pod, ignored_fields };
    match object {
        Object::Pod(pod) => Ok(asked(*pod, ignored_fields)),
        Object::Other(other) => {
            let spec = other.body.get("spec");
            let template = spec.and_then(|spec| spec.get("template"));
            // A CronJob's template is in its job's template.
            let template = template.or_else(|| spec?.get("jobTemplate")?.get("spec")?.get("template"));
            let Some(template) = template else { return Err(not_one(format!("a {kind}"))) };
            let mut template = template.clone();
            let ignored_fields = ignored_fields_of(&template);
            lift(&mut template, path, &format!("{kind}: spec.template"))?;
            let place = format!("{kind}: spec.template");
            let mut pod: Pod =
                Pod::from_json(template.clone()).map_err(|error| wrong(path, &place, &error))?;
            if other.metadata.uid.is_none() && other.metadata.resource_version.is_none() {
                let object = Object::Pod(Box::new(pod.clone()));
                if let Some(field) = unknown_field_of(&template, &object, &KNOWN_BEYOND) {
                    return Err(misspelt(path, &place, &field));
                }
            }
            let name = other.metadata.name.as_deref().unwrap_or_default();
            pod.metadata.namespace = other.metadata.namespace.clone();
            pod.metadata.generate_name = Some(format!("{name}-"));
            Ok(asked(pod, ignored_fields))
        }
        Object::Node(_) => Err(not_one(format!("a {kind}"))),
    }
}

fn collect_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), ExplainError> {
    let unreadable = |source| ExplainError::Read { path: path.to_owned(), source };
    if path == Path::new("-") || !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(unreadable)?;
    entries.sort_unstable();
    for entry in entries {
        let is_manifest = matches!(
            entry.extension().and_then(|extension| extension.to_str()),
            Some("yaml" | "yml" | "json")
        );
        if entry.is_dir() {
            match collect_files(&entry, files) {
                Ok(()) | Err(ExplainError::EmptyFolder { .. }) => {}
                Err(error) => return Err(error),
            }
        } else if is_manifest {
            files.push(entry);
        }
    }
    if files.len() == before {
        return Err(ExplainError::EmptyFolder { path: path.to_owned() });
    }
    Ok(())
}

/// An object of a file.
struct Read {
    object: Object,
    ignored_fields: Vec<IgnoredField>,
}

fn read_objects(path: &Path) -> Result<Vec<Read>, ExplainError> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(path).map(|content| text = content)
    };
    read.map_err(|source| ExplainError::Read { path: path.to_owned(), source })?;
    objects_of(path, &text)
}

fn objects_of(path: &Path, text: &str) -> Result<Vec<Read>, ExplainError> {
    let documents = parse(text).map_err(|error| ExplainError::Syntax {
        path: path.to_owned(),
        line: error.at.line,
        column: error.at.column,
        message: error.message,
    })?;
    let mut objects = Vec::new();
    for (at, document) in documents.into_iter().enumerate() {
        let place = format!("document {}", at + 1);
        flatten(document, &place, path, &mut objects)?;
    }
    Ok(objects)
}

/// JSON when it looks like JSON: large exports are read several times faster so. What is not may be YAML
/// in braces, as kubectl takes it; if it is neither, it is told of as JSON.
fn parse(text: &str) -> Result<Vec<Value>, SyntaxError> {
    if !text.trim_start().starts_with('{') {
        return parse_yaml(text);
    }
    let documents: Result<Vec<Value>, serde_json::Error> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    let error = match documents {
        Ok(documents) => return Ok(documents),
        Err(error) => error,
    };
    parse_yaml(text).map_err(|_| {
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        SyntaxError::new(
            (error.line() as u64, error.column() as u64),
            message.strip_suffix(&suffix).unwrap_or(&message),
        )
    })
}

fn parse_yaml(text: &str) -> Result<Vec<Value>, SyntaxError> {
    // Exports of large clusters exceed any limit meant for the length of configuration files. How deep
    // they nest and what aliases unfold to stays bounded: an export has neither.
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_documents: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
        },
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| SyntaxError::from(&error))
}

/// An object, or the items of a list.
fn flatten(mut value: Value, place: &str, path: &Path, objects: &mut Vec<Read>) -> Result<(), ExplainError> {
    if value.is_null() {
        return Ok(());
    }
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, version) = (text(&value, "kind"), text(&value, "apiVersion"));
    if kind.is_empty() || version.is_empty() {
        let missing = if kind.is_empty() { "kind" } else { "apiVersion" };
        return Err(ExplainError::Object {
            path: path.to_owned(),
            place: place.to_owned(),
            message: format!("no `{missing}`; this is not a Kubernetes object"),
        });
    }
    if let (Some(item_kind), Some(Value::Array(items))) =
        (kind.strip_suffix("List"), value.get_mut("items").map(Value::take))
    {
        for (at, mut item) in items.into_iter().enumerate() {
            // The items of a typed list need not repeat their kind.
            if let Value::Object(fields) = &mut item
                && !item_kind.is_empty()
            {
                fields.entry("kind").or_insert_with(|| item_kind.into());
                fields.entry("apiVersion").or_insert_with(|| version.clone().into());
            }
            flatten(item, &format!("{place}, item {}", at + 1), path, objects)?;
        }
        return Ok(());
    }
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("without a name");
    let place = format!("{place} ({kind} {name})");
    quote_quantities(&mut value);
    let mut ignored_fields = Vec::new();
    if kind == "Pod" {
        ignored_fields = ignored_fields_of(&value);
        lift(&mut value, path, &place)?;
    }
    let written = (!is_from_a_server(&value)).then(|| value.clone());
    let object = Object::from_json(value).map_err(|error| wrong(path, &place, &error))?;
    let unknown = written.and_then(|written| unknown_field_of(&written, &object, &KNOWN_BEYOND));
    if let Some(field) = unknown {
        return Err(misspelt(path, &place, &field));
    }
    objects.push(Read { object, ignored_fields });
    Ok(())
}

/// An API server has decoded it: what this build does not know of it is newer, not misspelt.
fn is_from_a_server(object: &Value) -> bool {
    let is_set = |field: &str| object.pointer(field).is_some_and(Value::is_string);
    is_set("/metadata/uid") || is_set("/metadata/resourceVersion")
}

fn misspelt(path: &Path, place: &str, field: &str) -> ExplainError {
    ExplainError::Object {
        path: path.to_owned(),
        place: place.to_owned(),
        message: format!("strict decoding error: unknown field {field:?}"),
    }
}

/// The field that the typed API does not know gets through as an annotation.
fn lift(pod: &mut Value, path: &Path, place: &str) -> Result<(), ExplainError> {
    lift_execution_affinity(pod).map_err(|error| ExplainError::Object {
        path: path.to_owned(),
        place: place.to_owned(),
        message: error.to_string(),
    })
}

fn wrong(path: &Path, place: &str, error: &serde_json::Error) -> ExplainError {
    let message = with_hint(error.to_string());
    ExplainError::Object { path: path.to_owned(), place: place.to_owned(), message }
}
