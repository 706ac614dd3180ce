//! Refused calls, with the reason, code and text that the API server gives.
//!
//! Upstream: apimachinery `pkg/api/errors/errors.go`, apiserver `pkg/storage/errors/storage.go`.

/// Why a call was refused: the API's `status.reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusReason {
    /// The object does not exist.
    NotFound,
    /// An object of this name exists.
    AlreadyExists,
    /// The object has changed, or its state does not allow the call.
    Conflict,
    /// The object breaks a rule of its kind.
    Invalid,
    /// Admission refused the object.
    Forbidden,
    /// The request makes no sense.
    BadRequest,
    /// The resource version is too old to be served (HTTP 410).
    Gone,
    /// The client must slow down.
    TooManyRequests,
    /// The server could not answer in time.
    Timeout,
    /// The server cannot be reached or is shutting down.
    ServiceUnavailable,
    /// The server is at fault.
    InternalError,
}

impl StatusReason {
    /// The HTTP status code.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            StatusReason::NotFound => 404,
            StatusReason::AlreadyExists | StatusReason::Conflict => 409,
            StatusReason::Invalid => 422,
            StatusReason::Forbidden => 403,
            StatusReason::BadRequest => 400,
            StatusReason::Gone => 410,
            StatusReason::TooManyRequests => 429,
            StatusReason::Timeout => 504,
            StatusReason::ServiceUnavailable => 503,
            StatusReason::InternalError => 500,
        }
    }

    /// `status.reason` as the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StatusReason::NotFound => "NotFound",
            StatusReason::AlreadyExists => "AlreadyExists",
            StatusReason::Conflict => "Conflict",
            StatusReason::Invalid => "Invalid",
            StatusReason::Forbidden => "Forbidden",
            StatusReason::BadRequest => "BadRequest",
            StatusReason::Gone => "Expired",
            StatusReason::TooManyRequests => "TooManyRequests",
            StatusReason::Timeout => "Timeout",
            StatusReason::ServiceUnavailable => "ServiceUnavailable",
            StatusReason::InternalError => "InternalError",
        }
    }
}

/// A refused call. `message` is the text of the API's `Status` object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The reason, for code to act on.
    pub reason: StatusReason,
    /// The text, for people.
    pub message: String,
}

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl ApiError {
    /// The HTTP status code.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.reason.code()
    }

    /// `resource` is qualified by its group, as in `replicasets.apps`.
    #[must_use]
    pub fn not_found(resource: &str, name: &str) -> Self {
        Self { reason: StatusReason::NotFound, message: format!("{resource} \"{name}\" not found") }
    }

    /// An object of this name exists.
    #[must_use]
    pub fn already_exists(resource: &str, name: &str) -> Self {
        Self { reason: StatusReason::AlreadyExists, message: format!("{resource} \"{name}\" already exists") }
    }

    /// The object's state does not allow the call.
    #[must_use]
    pub fn conflict(resource: &str, name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self { reason: StatusReason::Conflict, message }
    }

    /// The caller's resource version is not the latest.
    #[must_use]
    pub fn modified(resource: &str, name: &str) -> Self {
        Self::conflict(resource, name, MODIFIED)
    }

    /// The caller meant another object of the same name. `key` is the storage key.
    #[must_use]
    pub fn uid_differs(resource: &str, key: &str, name: &str, wanted: &str, found: &str) -> Self {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
        );
        Self::conflict(resource, name, why)
    }

    /// The object breaks a rule of its kind. `why` names field, value and rule.
    #[must_use]
    pub fn invalid(kind: &str, name: &str, why: impl std::fmt::Display) -> Self {
        Self { reason: StatusReason::Invalid, message: format!("{kind} \"{name}\" is invalid: {why}") }
    }

    /// Admission refused the object.
    #[must_use]
    pub fn forbidden(resource: &str, name: &str, why: impl std::fmt::Display) -> Self {
        Self {
            reason: StatusReason::Forbidden,
            message: format!("{resource} \"{name}\" is forbidden: {why}"),
        }
    }

    /// Admission refused an object whose name is not known yet.
    #[must_use]
    pub fn forbidden_resource(resource: &str, why: impl std::fmt::Display) -> Self {
        Self { reason: StatusReason::Forbidden, message: format!("{resource} is forbidden: {why}") }
    }

    /// The caller may try again later.
    #[must_use]
    pub fn too_many_requests(message: impl Into<String>) -> Self {
        Self { reason: StatusReason::TooManyRequests, message: message.into() }
    }

    /// The request makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self { reason: StatusReason::BadRequest, message: message.into() }
    }

    /// The wanted events are no longer kept.
    #[must_use]
    pub fn gone(wanted: u64, oldest: u64) -> Self {
        Self { reason: StatusReason::Gone, message: format!("too old resource version: {wanted} ({oldest})") }
    }

    /// The wanted resource version does not exist yet.
    #[must_use]
    pub fn too_large_version(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        Self { reason: StatusReason::Timeout, message }
    }
}
