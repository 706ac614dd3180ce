//! Requests and their answers: the client's own limit, the time that an answer may take, errors as the API
//! says them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::latency::{RateLimit, TokenBucket};
use schedlab_cluster::{ApiError, StatusReason};
use serde::Deserialize;

/// An answer that takes longer is not waited for. It may still come to pass, as with any lost answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// How many calls a client makes, as `clientConnection` says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallLimit {
    /// As many as there are.
    None,
    /// So many.
    Rate(RateLimit),
}

impl CallLimit {
    /// kube-scheduler's `clientConnection.qps` and `burst`; a negative `qps` is no limit.
    #[must_use]
    pub fn of(qps: f64, burst: u32) -> CallLimit {
        if qps < 0.0 {
            CallLimit::None
        } else {
            CallLimit::Rate(RateLimit { qps: qps.max(0.001), burst: burst.max(1) })
        }
    }
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    MergePatch,
    StrategicMergePatch,
}

impl BodyKind {
    fn content_type(self) -> &'static str {
        match self {
            BodyKind::Json => "application/json",
            BodyKind::MergePatch => "application/merge-patch+json",
            BodyKind::StrategicMergePatch => "application/strategic-merge-patch+json",
        }
    }
}

/// Asks the API server.
#[derive(Clone)]
pub(crate) struct Requests {
    client: Client,
    allowance: Option<Arc<Mutex<TokenBucket>>>,
}

impl Requests {
    pub(crate) fn new(client: Client, limit: CallLimit) -> Requests {
        let allowance = match limit {
            CallLimit::None => None,
            CallLimit::Rate(limit) => Some(Arc::new(Mutex::new(TokenBucket::new(limit)))),
        };
        Requests { client, allowance }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Bytes, ApiError> {
        self.send(Method::GET, path, BodyKind::Json, Vec::new()).await
    }

    /// Sends a request and waits for the whole answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        kind: BodyKind,
        body: Vec<u8>,
    ) -> Result<Bytes, ApiError> {
        self.wait_for_turn().await;
        let request = request(method, path, kind, body)?;
        let answer = async {
            let response = self.client.send(request).await.map_err(|error| lost(&error))?;
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| lost(&error))?.to_bytes();
            if status.is_success() { Ok(body) } else { Err(refused(status, &body)) }
        };
        let timed_out = || ApiError {
            reason: StatusReason::ServiceUnavailable,
            message: format!("{path}: no answer within {} s", ANSWER_TIMEOUT.as_secs()),
        };
        tokio::time::timeout(ANSWER_TIMEOUT, answer).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Opens a stream.
    pub(crate) async fn open(&self, path: &str) -> Result<Response<Body>, ApiError> {
        let request = request(Method::GET, path, BodyKind::Json, Vec::new())?;
        let response = self.client.send(request).await.map_err(|error| lost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.into_body().collect().await.map_err(|error| lost(&error))?.to_bytes();
        Err(refused(status, &body))
    }

    async fn wait_for_turn(&self) {
        let Some(allowance) = &self.allowance else { return };
        let now_ns = monotonic_ns();
        // A poisoned lock means a panic elsewhere; a bucket is whole after every line.
        let turn_ns = allowance.lock().unwrap_or_else(PoisonError::into_inner).take_ns(now_ns);
        if now_ns < turn_ns {
            tokio::time::sleep(Duration::from_nanos(turn_ns - now_ns)).await;
        }
    }
}

fn request(method: Method, path: &str, kind: BodyKind, body: Vec<u8>) -> Result<Request<Body>, ApiError> {
    let mut request = Request::builder().method(method).uri(path).header(ACCEPT, "application/json");
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, kind.content_type());
    }
    // The names in it come from the API; one that is no part of a URL is the caller's error.
    request.body(Body::from(body)).map_err(|error| ApiError::bad_request(format!("{path}: {error}")))
}

/// There is no answer.
pub(crate) fn lost(error: &dyn std::error::Error) -> ApiError {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    ApiError { reason: StatusReason::ServiceUnavailable, message }
}

/// The parts of a `Status` that say what went wrong.
#[derive(Default, Deserialize)]
pub(crate) struct StatusText {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    code: u16,
}

impl StatusText {
    pub(crate) fn into_error(self) -> ApiError {
        let reason = reason_of(&self.reason, self.code);
        ApiError { reason, message: self.message }
    }
}

fn refused(status: StatusCode, body: &[u8]) -> ApiError {
    let code = status.as_u16();
    match serde_json::from_slice::<StatusText>(body) {
        Ok(text) if !text.message.is_empty() => StatusText { code, ..text }.into_error(),
        _ => {
            let shown = String::from_utf8_lossy(&body[..body.len().min(200)]);
            ApiError { reason: reason_of("", code), message: format!("HTTP {status}: {}", shown.trim()) }
        }
    }
}

fn reason_of(reason: &str, code: u16) -> StatusReason {
    use StatusReason::{
        AlreadyExists, BadRequest, Conflict, Forbidden, Gone, InternalError, Invalid, NotFound,
        ServiceUnavailable, Timeout, TooManyRequests,
    };
    let all = [
        NotFound,
        AlreadyExists,
        Conflict,
        Invalid,
        Forbidden,
        BadRequest,
        Gone,
        TooManyRequests,
        Timeout,
        ServiceUnavailable,
        InternalError,
    ];
    let by_name = all.into_iter().find(|known| known.as_str() == reason);
    let by_code = || match code {
        401 | 403 => Forbidden,
        503 | 502 => ServiceUnavailable,
        code if 500 <= code && code != Timeout.code() => InternalError,
        code => all.into_iter().find(|known| known.code() == code).unwrap_or(BadRequest),
    };
    by_name.unwrap_or_else(by_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_keep_reason_and_message_of_the_api() {
        let cases: [(u16, &str, StatusReason, &str); 5] = [
            (
                409,
                r#"{"kind":"Status","reason":"AlreadyExists","message":"pods \"a\" already exists","code":409}"#,
                StatusReason::AlreadyExists,
                "pods \"a\" already exists",
            ),
            (
                410,
                r#"{"reason":"Expired","message":"too old resource version"}"#,
                StatusReason::Gone,
                "too old resource version",
            ),
            (
                401,
                r#"{"reason":"Unauthorized","message":"Unauthorized"}"#,
                StatusReason::Forbidden,
                "Unauthorized",
            ),
            (
                502,
                "<html>bad gateway</html>",
                StatusReason::ServiceUnavailable,
                "HTTP 502 Bad Gateway: <html>bad gateway</html>",
            ),
            (500, "", StatusReason::InternalError, "HTTP 500 Internal Server Error: "),
        ];
        for (code, body, reason, message) in cases {
            let error = refused(StatusCode::from_u16(code).unwrap(), body.as_bytes());
            assert_eq!((error.reason, error.message.as_str()), (reason, message), "{code}");
        }
    }

    #[test]
    fn negative_qps_is_no_limit() {
        assert_eq!(CallLimit::of(-1.0, 100), CallLimit::None);
        assert_eq!(CallLimit::of(50.0, 100), CallLimit::Rate(RateLimit { qps: 50.0, burst: 100 }));
    }
}
