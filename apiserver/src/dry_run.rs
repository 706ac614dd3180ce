//! `dryRun=All`: everything is done, to a copy of the store that is forgotten with the answer.

use schedlab_cluster::ApiError;
use serde_json::Value;

use crate::answer::Refused;
use crate::handle::{Asked, Verb, json_body};
use crate::route::Target;

/// Whether a request asks for a dry run: in its query, in the DeleteOptions of a deletion, or in those of an
/// eviction.
///
/// Upstream: apimachinery pkg/apis/meta/v1/validation `ValidateDryRun`.
pub(crate) fn is_dry_run(asked: &Asked, verb: Verb, body: &[u8]) -> Result<bool, Refused> {
    if matches!(verb, Verb::Get | Verb::List | Verb::Watch) {
        return Ok(false);
    }
    let is_eviction =
        matches!(&asked.target, Target::Object { subresource: Some(part), .. } if part == "eviction");
    let is_deletion = matches!(verb, Verb::Delete | Verb::DeleteCollection);
    let body = match (is_deletion || is_eviction) && !body.is_empty() {
        true => json_body(asked, body)?,
        false => Value::Null,
    };
    let in_body = if is_eviction { &body["deleteOptions"]["dryRun"] } else { &body["dryRun"] };
    let in_body = in_body.as_array().into_iter().flatten().map(|value| value.as_str().unwrap_or_default());
    let mut given = asked.query.get("dryRun").into_iter().chain(in_body).peekable();
    let is_any = given.peek().is_some();
    match given.find(|value| *value != "All") {
        Some(other) => {
            let why = format!("dryRun: Unsupported value: {other:?}: supported values: \"All\"");
            Err(ApiError::invalid("Options", "", why).into())
        }
        None => Ok(is_any),
    }
}
