//! The scale of a workload: how many replicas it shall have, without the rest of it.
//!
//! Upstream: pkg/registry/apps/deployment/storage/storage.go `ScaleREST`.

use schedlab_cluster::api::{GenericObject, Object};
use schedlab_cluster::{Api as _, ApiError};
use serde_json::{Value, json};

use crate::answer::{Answer, Refused};
use crate::handle::{App, Asked, Named, Verb, json_body};
use crate::patch::{PatchKind, merged};
use crate::read::key_of;

/// GET, PUT or PATCH of a scale.
pub(crate) fn answer(
    app: &App,
    asked: &Asked,
    verb: Verb,
    named: Named<'_>,
    body: &[u8],
) -> Result<Answer, Refused> {
    let owner = owner_of(app, named)?;
    let scale = scale_of(&owner);
    let wanted = match verb {
        Verb::Get => return Ok(Answer::json(&scale)),
        Verb::Update => json_body(asked, body)?,
        _ => merged(PatchKind::of_content_type(&asked.content_type)?, &scale, body)?,
    };
    let stored = app.cluster.update(Object::Other(Box::new(with_replicas(owner, &wanted, named)?)))?;
    let stored = stored.into_other().ok_or_else(Refused::no_such_path)?;
    Ok(Answer::json(&scale_of(&stored)))
}

fn owner_of(app: &App, named: Named<'_>) -> Result<GenericObject, Refused> {
    let found = app.cluster.get(&key_of(named))?.into_other();
    found.map(|object| *object).ok_or_else(Refused::no_such_path)
}

fn with_replicas(
    mut owner: GenericObject,
    scale: &Value,
    named: Named<'_>,
) -> Result<GenericObject, Refused> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if i32::try_from(replicas).is_err() || replicas < 0 {
        let why = format!("spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0");
        return Err(ApiError::invalid("Scale", named.name, why).into());
    }
    let version = scale["metadata"]["resourceVersion"].as_str().filter(|version| !version.is_empty());
    owner.metadata.resource_version = version.map(str::to_owned);
    let spec = owner.body.entry("spec").or_insert_with(|| json!({}));
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("replicas".to_owned(), json!(replicas));
    }
    Ok(owner)
}

fn scale_of(owner: &GenericObject) -> Value {
    let field = |part: &str, name: &str| owner.body.get(part).and_then(|part| part.get(name));
    let selector = match field("spec", "selector") {
        Some(selector) if owner.kind == "ReplicationController" => selector_text(Some(selector)),
        Some(selector) => selector_text(selector.get("matchLabels")),
        None => String::new(),
    };
    let metadata = &owner.metadata;
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "creationTimestamp": metadata.creation_timestamp,
        },
        "spec": {"replicas": field("spec", "replicas").and_then(Value::as_i64).unwrap_or(1)},
        "status": {
            "replicas": field("status", "replicas").and_then(Value::as_i64).unwrap_or(0), "selector": selector,
        },
    })
}

fn selector_text(labels: Option<&Value>) -> String {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let terms: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    terms.join(",")
}
