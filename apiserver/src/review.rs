//! Questions about rights and identity: everybody may do everything.

use serde_json::{Value, json};

use crate::answer::{Answer, Refused};
use crate::handle::{Asked, json_body};

/// Answers a review.
///
/// The answer does not depend on the question, so one that comes as protobuf, as kubectl's does, need not be
/// read.
pub(crate) fn answer(kind: &str, asked: &Asked, body: &[u8]) -> Result<Answer, Refused> {
    let is_protobuf = asked.content_type == "application/vnd.kubernetes.protobuf";
    let mut review = if is_protobuf { json!({}) } else { json_body(asked, body)? };
    if !review.is_object() {
        review = json!({});
    }
    let user = json!({"username": "schedlab", "groups": ["system:masters", "system:authenticated"]});
    review["kind"] = json!(kind);
    if review["apiVersion"].is_null() {
        let is_identity = matches!(kind, "SelfSubjectReview" | "TokenReview");
        let group = if is_identity { "authentication.k8s.io" } else { "authorization.k8s.io" };
        review["apiVersion"] = json!(format!("{group}/v1"));
    }
    review["status"] = match kind {
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        "SelfSubjectReview" => json!({ "userInfo": user }),
        "TokenReview" => json!({"authenticated": true, "user": user}),
        _ => json!({"allowed": true, "reason": "this server allows everything"}),
    };
    if review["spec"].is_null() && !matches!(kind, "SelfSubjectReview") {
        review["spec"] = json!({});
    }
    if review.get("metadata").is_none_or(Value::is_null) {
        review["metadata"] = json!({"creationTimestamp": null});
    }
    Ok(Answer::json(&review).created())
}
