//! Answers as the API writes them: objects, and `Status` for what was refused.

use bytes::Bytes;
use hyper::StatusCode;
use schedlab_cluster::{ApiError, StatusReason};
use serde_json::{Value, json};

/// An answer with its whole body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
}

pub(crate) const JSON: &str = "application/json";

/// A request that was refused: by the store, or before it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    code: u16,
    reason: &'static str,
    message: String,
    details: Option<Box<Value>>,
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        let details = details_of(&error);
        Self { code: error.code(), reason: error.reason.as_str(), message: error.message, details }
    }
}

impl Refused {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    /// No such path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    }

    pub(crate) fn not_acceptable() -> Self {
        Self::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json; set clientConnection.contentType \
             to application/json",
        )
    }

    pub(crate) fn unsupported_media_type(given: &str, accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}; given {given:?}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn protobuf_of(kind: &str) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "a {kind} is read as application/json here, not as application/vnd.kubernetes.protobuf; set the \
                 client's contentType"
            ),
        )
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn for_a_browser() -> Self {
        Self::new(
            403,
            "Forbidden",
            "requests of web pages are refused; ask by address or as localhost, without Origin",
        )
    }

    pub(crate) fn too_slow() -> Self {
        Self::new(408, "Timeout", "the body of the request did not come in time")
    }

    /// Fields that other managers own have other values there.
    pub(crate) fn apply_conflict(message: String, causes: Vec<Value>) -> Self {
        let details = json!({ "causes": causes });
        Self { details: Some(Box::new(details)), ..Self::new(409, "Conflict", message) }
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// The `Status` object.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(details) = &self.details {
            status["details"] = (**details).clone();
        }
        status
    }

    pub(crate) fn answer(&self) -> Answer {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Answer { code, ..Answer::json(&self.to_json()) }
    }
}

/// `details` of the refusals that clients look into: `kubectl` prints the resource of what it did not find.
fn details_of(error: &ApiError) -> Option<Box<Value>> {
    let is_about_one = matches!(
        error.reason,
        StatusReason::NotFound
            | StatusReason::AlreadyExists
            | StatusReason::Conflict
            | StatusReason::Forbidden
    );
    if !is_about_one {
        return None;
    }
    let (before, rest) = error.message.split_once('"')?;
    let (name, _) = rest.split_once('"')?;
    let resource = before.trim_end().rsplit(' ').next()?;
    let (kind, group) = resource.split_once('.').unwrap_or((resource, ""));
    let mut details = json!({"name": name, "kind": kind});
    if !group.is_empty() {
        details["group"] = group.into();
    }
    Some(Box::new(details))
}

impl Answer {
    /// 200 with an object.
    pub(crate) fn json(value: &Value) -> Self {
        Self::json_bytes(Bytes::from(value.to_string()))
    }

    /// 200 with the text of an object.
    pub(crate) fn json_bytes(body: Bytes) -> Self {
        Self { code: StatusCode::OK, content_type: JSON, body }
    }

    /// The same answer to a POST that made something.
    pub(crate) fn created(self) -> Self {
        Self { code: StatusCode::CREATED, ..self }
    }

    /// 200 with plain text.
    pub(crate) fn text(body: &'static str) -> Self {
        Self {
            code: StatusCode::OK,
            content_type: "text/plain; charset=utf-8",
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    /// `Status` of what went well.
    pub(crate) fn success(details: Value) -> Self {
        Self::json(&json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_tells_resource_and_name() {
        let missing = Refused::from(ApiError::not_found("replicasets.apps", "web")).to_json();
        assert_eq!(missing["details"], json!({"name": "web", "kind": "replicasets", "group": "apps"}));
        assert_eq!((missing["code"].as_u64(), missing["reason"].as_str()), (Some(404), Some("NotFound")));
        let stale = Refused::from(ApiError::modified("pods", "a")).to_json();
        assert_eq!(stale["details"], json!({"name": "a", "kind": "pods"}));
        assert_eq!(Refused::from(ApiError::bad_request("no")).to_json().get("details"), None);
    }
}
