//! PATCH: four ways to say what is to change.

mod apply;
mod fields;
mod json_patch;
mod merge;
mod strategic;

use schedlab_cluster::api::Object;
use schedlab_cluster::{Api as _, ApiError, StatusReason};
use serde_json::Value;

use crate::answer::{Answer, Refused};
use crate::handle::{App, Asked, Named, parse_json};
use crate::read::key_of;
use crate::route::Served;
use crate::write::{object_of, shown};
use apply::{Applier, OnConflict, applied, follow_update};

/// How often a patch is tried again when somebody else writes in between.
///
/// Upstream: apiserver pkg/endpoints/handlers/patch.go `maxRetryWhenPatchConflicts`.
const TRIES: usize = 5;

/// The kinds of patches, by their media types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own: lists are merged by the keys of their elements.
    Strategic,
}

const APPLY: &str = "application/apply-patch+yaml";

const MEDIA_TYPES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    APPLY,
];

impl PatchKind {
    pub(crate) fn of_content_type(content_type: &str) -> Result<Self, Refused> {
        match content_type {
            "application/json-patch+json" => Ok(PatchKind::Json),
            "application/merge-patch+json" => Ok(PatchKind::Merge),
            "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
            other => Err(Refused::unsupported_media_type(other, &MEDIA_TYPES)),
        }
    }
}

/// What a patch makes of an object.
pub(crate) fn merged(kind: PatchKind, before: &Value, body: &[u8]) -> Result<Value, Refused> {
    let patch = parse_json(body)?;
    if kind != PatchKind::Json && !patch.is_object() {
        return Err(ApiError::bad_request("the patch is not a JSON object").into());
    }
    let mut object = before.clone();
    match kind {
        PatchKind::Json => json_patch::apply(&mut object, &patch)?,
        PatchKind::Merge => merge::apply(&mut object, &patch),
        PatchKind::Strategic => strategic::apply(&mut object, &patch)?,
    }
    if !object.is_object() {
        return Err(ApiError::bad_request("the patch makes something else of the object").into());
    }
    Ok(object)
}

/// PATCH of an object or of its status.
pub(crate) fn patch(app: &App, asked: &Asked, named: Named<'_>, body: &[u8]) -> Result<Answer, Refused> {
    if asked.content_type == APPLY {
        return apply_patch(app, asked, named, body);
    }
    let kind = PatchKind::of_content_type(&asked.content_type)?;
    let key = key_of(named);
    for attempt in 1.. {
        let before = shown(app.cluster.get(&key)?, named.kind)?;
        let mut after = merged(kind, &before, body)?;
        if after == before {
            return Ok(Answer::json(&before));
        }
        follow(app, asked, named.kind, &before, &mut after);
        // The patch itself may demand a version; otherwise it is for whatever is there.
        let is_own_version = after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"];
        let object = object_of(asked, named.kind, named.namespace, Some(named.name), after)?;
        let written = write(app, named, object);
        match written {
            Err(error) if error.reason == StatusReason::Conflict && !is_own_version && attempt < TRIES => {}
            written => return Ok(Answer::json(&shown(written?, named.kind)?)),
        }
    }
    unreachable!("the last attempt returns")
}

/// Notes who changed what, on objects that somebody applies.
pub(crate) fn follow(app: &App, asked: &Asked, kind: Served, before: &Value, after: &mut Value) {
    let manager = asked.query.get("fieldManager").unwrap_or(&asked.agent);
    follow_update(before, after, manager, &kind.api_version(), &rfc3339(app.cluster.now_ns()));
}

fn rfc3339(ns: u64) -> String {
    let seconds = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    k8s_openapi::jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// Server-side apply: makes the object if it is not there.
fn apply_patch(app: &App, asked: &Asked, named: Named<'_>, body: &[u8]) -> Result<Answer, Refused> {
    let refused = |why: &str| Refused::from(ApiError::bad_request(why));
    let manager = asked.query.get("fieldManager");
    let manager = manager.ok_or_else(|| refused("fieldManager is required for apply patch"))?;
    let config = apply_body(body)?;
    if !config["metadata"]["managedFields"].is_null() {
        return Err(refused("metadata.managedFields must be nil"));
    }
    let is_forced = asked.query.flag("force") == Some(true);
    let applier = Applier {
        name: manager.to_owned(),
        api_version: named.kind.api_version(),
        time: rfc3339(app.cluster.now_ns()),
        conflicts: if is_forced { OnConflict::TakeOver } else { OnConflict::Refuse },
    };
    for attempt in 1.. {
        let live = match app.cluster.get(&key_of(named)) {
            Ok(live) => Some(shown(live, named.kind)?),
            Err(error) if error.reason == StatusReason::NotFound && named.subresource.is_none() => None,
            Err(error) => return Err(error.into()),
        };
        let after = applied(live.as_ref(), &config, &applier)?;
        if live.as_ref() == Some(&after) {
            return Ok(Answer::json(&after));
        }
        let object = object_of(asked, named.kind, named.namespace, Some(named.name), after)?;
        let is_new = live.is_none();
        let written = if is_new { app.cluster.create(object) } else { write(app, named, object) };
        match written {
            Err(error) if error.reason == StatusReason::Conflict && attempt < TRIES => {}
            written => {
                let answer = Answer::json(&shown(written?, named.kind)?);
                return Ok(if is_new { answer.created() } else { answer });
            }
        }
    }
    unreachable!("the last attempt returns")
}

/// The body of an apply is YAML, of which JSON is a part.
fn apply_body(body: &[u8]) -> Result<Value, Refused> {
    let config: Value = match serde_json::from_slice(body) {
        Ok(config) => config,
        Err(_) => serde_saphyr::from_slice(body)
            .map_err(|error| ApiError::bad_request(format!("the body is neither JSON nor YAML: {error}")))?,
    };
    if !config.is_object() {
        return Err(ApiError::bad_request("the body is not an object").into());
    }
    Ok(config)
}

fn write(app: &App, named: Named<'_>, object: Object) -> Result<Object, ApiError> {
    match named.subresource {
        Some("status") => app.cluster.update_status(object),
        _ => app.cluster.update(object),
    }
}
