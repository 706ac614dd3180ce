//! From bytes to a [`Trace`]. Compression is recognised by its magic bytes, not by the file's name.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document::{Document, FORMAT_VERSION, NameOr, RawStep, SCHEDULE_POD_GROUP, Trace, TraceStep};
use super::error::{ReplayError, StepProblem};

/// The first bytes of every gzip stream.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The largest document read, uncompressed. The largest recorded trace has 1 MB; the limit keeps a
/// hostile gzip stream from filling memory.
const TRACE_BYTES_MAX: u64 = 256 << 20;

const OPS: [&str; 11] = [
    "schedule",
    "deletePod",
    "updatePod",
    "addNode",
    "updateNode",
    "removeNode",
    "nominate",
    "clearNomination",
    "applyObjects",
    SCHEDULE_POD_GROUP,
    "deleteObjects",
];

/// Reads a trace from a file.
pub fn read_trace(path: &Path) -> Result<Trace, ReplayError> {
    let name = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => parse_trace(&name, &bytes),
        Err(source) => Err(ReplayError::Read { path: name, source }),
    }
}

/// Reads a trace from bytes; `path` is for messages.
pub fn parse_trace(path: &str, bytes: &[u8]) -> Result<Trace, ReplayError> {
    if bytes.starts_with(&GZIP_MAGIC) {
        parse_json(path, &unpack(path, bytes)?)
    } else {
        parse_json(path, bytes)
    }
}

fn unpack(path: &str, bytes: &[u8]) -> Result<Vec<u8>, ReplayError> {
    let mut json = Vec::with_capacity(bytes.len() * 16);
    let unpacked = MultiGzDecoder::new(bytes).take(TRACE_BYTES_MAX + 1).read_to_end(&mut json);
    unpacked.map_err(|source| ReplayError::Gzip { path: path.to_owned(), source })?;
    if json.len() as u64 > TRACE_BYTES_MAX {
        return Err(ReplayError::TooLarge { path: path.to_owned(), limit_bytes: TRACE_BYTES_MAX });
    }
    Ok(json)
}

fn parse_json(path: &str, json: &[u8]) -> Result<Trace, ReplayError> {
    if json.iter().all(u8::is_ascii_whitespace) {
        return Err(ReplayError::Empty { path: path.to_owned() });
    }
    let document: Document = match serde_json::from_slice(json) {
        Ok(document) => document,
        Err(error) => return Err(why_not_a_document(path, json, error)),
    };
    if document.format_version != FORMAT_VERSION {
        return Err(wrong_version(path, document.format_version));
    }
    let steps = document.steps.into_iter().enumerate().map(|(step, raw)| {
        checked(raw).map_err(|problem| ReplayError::Step { path: path.to_owned(), step, problem })
    });
    Ok(Trace {
        steps: steps.collect::<Result<_, _>>()?,
        path: path.to_owned(),
        family: document.family,
        seed: document.seed,
        kubernetes_version: document.kubernetes_version,
        traits: document.traits,
        feature_gates: document.feature_gates,
        cluster: document.cluster,
    })
}

/// Another version fails on its new fields; its version says more than they do.
fn why_not_a_document(path: &str, json: &[u8], error: serde_json::Error) -> ReplayError {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        format_version: u64,
    }

    let path = path.to_owned();
    if serde_json::from_slice::<serde::de::IgnoredAny>(json).is_err() {
        return ReplayError::Syntax { path, source: error };
    }
    match serde_json::from_slice::<Head>(json) {
        Ok(head) if head.format_version == FORMAT_VERSION => ReplayError::Format { path, source: error },
        Ok(head) => wrong_version(&path, head.format_version),
        Err(_) => ReplayError::NotATrace { path, supported: FORMAT_VERSION },
    }
}

fn wrong_version(path: &str, found: u64) -> ReplayError {
    ReplayError::Version { path: path.to_owned(), found, supported: FORMAT_VERSION }
}

/// A step with all that its operation needs.
fn checked(raw: RawStep) -> Result<TraceStep, StepProblem> {
    let RawStep {
        op,
        pod,
        node,
        result,
        pod_group,
        pods,
        pod_group_result,
        pods_removed,
        nominations_cleared,
        objects,
    } = raw;
    let need = |field, expected| StepProblem::Field { op: op.clone(), field, expected };
    Ok(match op.as_str() {
        "schedule" => TraceStep::Schedule {
            pod: object(pod).ok_or_else(|| need("pod", "a pod"))?,
            record: result.ok_or_else(|| need("result", "what was decided"))?,
        },
        "deletePod" => {
            TraceStep::DeletePod { pod: name(pod).ok_or_else(|| need("pod", "\"namespace/name\""))? }
        }
        "updatePod" => TraceStep::UpdatePod { pod: object(pod).ok_or_else(|| need("pod", "a pod"))? },
        "addNode" => TraceStep::AddNode { node: object(node).ok_or_else(|| need("node", "a node"))? },
        "updateNode" => TraceStep::UpdateNode { node: object(node).ok_or_else(|| need("node", "a node"))? },
        "removeNode" => TraceStep::RemoveNode {
            node: name(node).ok_or_else(|| need("node", "a node's name"))?,
            pods_removed,
            nominations_cleared,
        },
        "nominate" => TraceStep::Nominate { pod: object(pod).ok_or_else(|| need("pod", "a pod"))? },
        "clearNomination" => {
            TraceStep::ClearNomination { pod: name(pod).ok_or_else(|| need("pod", "\"namespace/name\""))? }
        }
        "applyObjects" => {
            let objects = objects.ok_or_else(|| need("objects", "a list of objects"))?;
            TraceStep::ApplyObjects { objects: listed(objects, "volume, claim or device")? }
        }
        "deleteObjects" => {
            let objects = objects.ok_or_else(|| need("objects", "a list of kinds and names"))?;
            TraceStep::DeleteObjects { objects: listed(objects, "object's name")? }
        }
        SCHEDULE_POD_GROUP => TraceStep::SchedulePodGroup {
            pod_group: pod_group.ok_or_else(|| need("podGroup", "\"namespace/name\""))?,
            pods: pods
                .filter(|pods| !pods.is_empty())
                .ok_or_else(|| need("pods", "a list of at least one pod"))?,
            record: pod_group_result.ok_or_else(|| need("result", "what was decided"))?,
        },
        _ => return Err(StepProblem::UnknownOp { known: OPS.join(", "), op }),
    })
}

/// A list whose elements depend on the operation.
fn listed<T: DeserializeOwned>(objects: Value, kind: &'static str) -> Result<Vec<T>, StepProblem> {
    serde_json::from_value(objects).map_err(|error| StepProblem::Malformed { kind, error: error.to_string() })
}

fn object<T>(field: Option<NameOr<T>>) -> Option<Box<T>> {
    match field {
        Some(NameOr::Object(object)) => Some(object),
        _ => None,
    }
}

fn name<T>(field: Option<NameOr<T>>) -> Option<String> {
    match field {
        Some(NameOr::Name(name)) => Some(name),
        _ => None,
    }
}
