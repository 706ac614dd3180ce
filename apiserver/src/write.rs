//! The verbs that write: create, update, delete, bind, evict. Patches are beside.

use std::sync::Arc;

use schedlab_cluster::api::{NamedBinding, Object, parse_pod_uid};
use schedlab_cluster::validate::unknown_field_of;
use schedlab_cluster::{Api as _, ApiError, StatusReason};
use schedlab_objects::ApiJson as _;
use serde_json::{Value, json};

use crate::answer::{Answer, Refused};
use crate::events::stored_event;
use crate::feed::View;
use crate::handle::{App, Asked, Named, Within, json_body};
use crate::patch::follow;
use crate::read::{key_of, selection};
use crate::route::Served;

/// A stored object as a client of this path sees it.
pub(crate) fn shown(object: Object, kind: Served) -> Result<Value, Refused> {
    let written = match &object {
        Object::Pod(pod) => pod.to_json(),
        Object::Node(node) => node.to_json(),
        Object::Other(other) if kind.view() == View::CoreEvent => {
            crate::events::core_event_text(other).and_then(|text| serde_json::from_slice(&text))
        }
        Object::Other(other) => other.to_json().map(|mut value| {
            value["apiVersion"] = json!(kind.api_version());
            value
        }),
    };
    written.map_err(|error| Refused::from(internal(&error)))
}

fn internal(error: &dyn std::fmt::Display) -> ApiError {
    ApiError { reason: StatusReason::InternalError, message: error.to_string() }
}

/// What `fieldValidation` says is to be done about unknown fields. `Warn`, the default, and `Ignore` let
/// them pass.
fn is_strict(asked: &Asked) -> bool {
    asked.query.get("fieldValidation") == Some("Strict")
}

/// The object of a body, with what the path says of it filled in and checked.
pub(crate) fn object_of(
    asked: &Asked,
    kind: Served,
    namespace: Option<&str>,
    name: Option<&str>,
    mut value: Value,
) -> Result<Object, Refused> {
    let (api_version, kind_name) = (kind.api_version(), kind.asked.info().kind);
    if !value.is_object() {
        return Err(ApiError::bad_request("the body is not a JSON object").into());
    }
    let given = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    for (field, expected, what) in
        [("apiVersion", api_version.as_str(), "API version"), ("kind", kind_name, "kind")]
    {
        let found = given(field);
        if !found.is_empty() && found != expected {
            let why =
                format!("the {what} in the data ({found}) does not match the expected {what} ({expected})");
            return Err(ApiError::bad_request(why).into());
        }
    }
    value["apiVersion"] = json!(api_version);
    value["kind"] = json!(kind_name);
    check_place(&mut value, namespace, name)?;
    if kind.view() == View::CoreEvent {
        value = stored_event(value);
    }
    let unreadable = |error: &dyn std::fmt::Display| {
        let why =
            format!("{kind_name} in version {:?} cannot be handled as a {kind_name}: {error}", kind.version);
        Refused::from(ApiError::bad_request(why))
    };
    let written = is_strict(asked).then(|| value.clone());
    let object = Object::from_json(value).map_err(|error| unreadable(&error))?;
    if let Some(field) = written.and_then(|written| unknown_field_of(&written, &object, &[])) {
        return Err(unreadable(&format_args!("strict decoding error: unknown field \"{field}\"")));
    }
    Ok(object)
}

/// Namespace and name of the path are those of the body.
fn check_place(value: &mut Value, namespace: Option<&str>, name: Option<&str>) -> Result<(), Refused> {
    if value.get("metadata").is_none_or(Value::is_null) {
        value["metadata"] = json!({});
    }
    let metadata = &mut value["metadata"];
    if !metadata.is_object() {
        return Err(ApiError::bad_request("metadata is not a JSON object").into());
    }
    let named = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let (found_namespace, found_name) = (named("namespace"), named("name"));
    if let Some(namespace) = namespace {
        if !found_namespace.is_empty() && found_namespace != namespace {
            let why = format!(
                "the namespace of the provided object does not match the namespace sent on the request: \
                 {found_namespace} and {namespace}"
            );
            return Err(ApiError::bad_request(why).into());
        }
        metadata["namespace"] = json!(namespace);
    }
    if let Some(name) = name {
        if found_name.is_empty() {
            metadata["name"] = json!(name);
        } else if found_name != name {
            let why =
                format!("the name of the object ({found_name}) does not match the name on the URL ({name})");
            return Err(ApiError::bad_request(why).into());
        }
    }
    Ok(())
}

/// POST of a new object.
pub(crate) fn create(app: &App, asked: &Asked, within: Within<'_>, body: &[u8]) -> Result<Answer, Refused> {
    if within.kind.asked.info().is_namespaced() && within.namespace.is_none() {
        return Err(Refused::method_not_allowed());
    }
    let value = json_body(asked, body)?;
    let object = object_of(asked, within.kind, within.namespace, None, value)?;
    if object.metadata().resource_version.as_deref().is_some_and(|version| !version.is_empty()) {
        return Err(
            ApiError::bad_request("resourceVersion should not be set on objects to be created").into()
        );
    }
    let stored = app.cluster.create(object)?;
    Ok(Answer::json(&shown(stored, within.kind)?).created())
}

/// PUT of an object or of its status.
pub(crate) fn update(app: &App, asked: &Asked, named: Named<'_>, body: &[u8]) -> Result<Answer, Refused> {
    let value = json_body(asked, body)?;
    let object = object_of(asked, named.kind, named.namespace, Some(named.name), value)?;
    if named.subresource == Some("status") {
        return Ok(Answer::json(&shown(app.cluster.update_status(object)?, named.kind)?));
    }
    let object = followed(app, asked, named, object)?;
    // Upstream: pkg/registry/coordination/lease/strategy.go `AllowCreateOnUpdate`, and that of events.
    let may_be_new = matches!(named.kind.asked.info().kind, "Lease" | "Event");
    match app.cluster.update(object.clone()) {
        Err(error) if error.reason == StatusReason::NotFound && may_be_new => {
            Ok(Answer::json(&shown(app.cluster.create(object)?, named.kind)?).created())
        }
        updated => Ok(Answer::json(&shown(updated?, named.kind)?)),
    }
}

/// Whoever applies an object keeps knowing its fields when others update it.
fn followed(app: &App, asked: &Asked, named: Named<'_>, object: Object) -> Result<Object, Refused> {
    let Ok(before) = app.cluster.get(&key_of(named)) else { return Ok(object) };
    if before.metadata().managed_fields.as_ref().is_none_or(Vec::is_empty) {
        return Ok(object);
    }
    let before = shown(before, named.kind)?;
    let mut after = shown(object, named.kind)?;
    follow(app, asked, named.kind, &before, &mut after);
    object_of(asked, named.kind, named.namespace, Some(named.name), after)
}

/// What a client asks of a deletion. A grace period has nobody to wait for: there is no kubelet.
#[derive(Debug, Default)]
struct DeleteOptions {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    fn of(value: &Value) -> Self {
        let wanted = |name: &str| value["preconditions"][name].as_str().map(str::to_owned);
        Self { uid: wanted("uid"), resource_version: wanted("resourceVersion") }
    }
}

/// DELETE of one object.
pub(crate) fn delete(app: &App, asked: &Asked, named: Named<'_>, body: &[u8]) -> Result<Answer, Refused> {
    let options = match body.is_empty() {
        true => DeleteOptions::default(),
        false => DeleteOptions::of(&json_body(asked, body)?),
    };
    let key = key_of(named);
    let before = app.cluster.get(&key)?;
    let metadata = before.metadata();
    if options.resource_version.is_some() && options.resource_version != metadata.resource_version {
        return Err(ApiError::modified(&named.kind.asked.info().qualified(), named.name).into());
    }
    let uid = options.uid.or_else(|| metadata.uid.clone());
    app.cluster.delete(&key, uid.as_deref())?;
    match app.cluster.get(&key) {
        // It waits for its finalizers.
        Ok(left) if left.metadata().uid == uid => Ok(Answer::json(&shown(left, named.kind)?)),
        _ => {
            let info = named.kind.asked.info();
            let mut details = json!({"name": named.name, "kind": info.plural, "uid": uid});
            if !info.group.is_empty() {
                details["group"] = json!(info.group);
            }
            Ok(Answer::success(details))
        }
    }
}

/// DELETE of all objects that a selection covers.
pub(crate) async fn delete_collection(
    app: &Arc<App>,
    asked: &Asked,
    within: Within<'_>,
) -> Result<Answer, Refused> {
    if within.kind.asked.info().is_namespaced() && within.namespace.is_none() {
        return Err(Refused::method_not_allowed());
    }
    let selection = selection(asked, within, None)?;
    app.feed.catch_up(0).await?;
    let listed = app.feed.list(within.kind.stored, &selection);
    let mut gone = Vec::new();
    for item in &listed.items {
        let (namespace, name) = item.key();
        let namespace = within.namespace.map(|_| &*namespace);
        let key = key_of(Named { kind: within.kind, namespace, name: &name, subresource: None });
        match app.cluster.delete(&key, None) {
            Ok(()) => gone.push(item.to_value(within.kind.view())),
            Err(error) if error.reason == StatusReason::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Answer::json(&json!({
        "kind": format!("{}List", within.kind.asked.info().kind), "apiVersion": within.kind.api_version(),
        "metadata": {"resourceVersion": app.cluster.resource_version().to_string()}, "items": gone,
    })))
}

/// POST on pods/binding.
///
/// Upstream: pkg/registry/core/pod/storage/storage.go `BindingREST`, pkg/apis/core/validation
/// `ValidatePodBinding`.
pub(crate) fn bind(app: &App, asked: &Asked, named: Named<'_>, body: &[u8]) -> Result<Answer, Refused> {
    let value = json_body(asked, body)?;
    let metadata = &value["metadata"];
    if metadata["name"].as_str().is_some_and(|name| !name.is_empty() && name != named.name) {
        return Err(ApiError::bad_request("name in URL does not match name in Binding object").into());
    }
    let target = &value["target"];
    let invalid = |why: &str| Refused::from(ApiError::invalid("Binding", named.name, why));
    if !matches!(target["kind"].as_str(), None | Some("" | "Node")) {
        let given = target["kind"].as_str().unwrap_or_default();
        return Err(invalid(&format!(
            "target.kind: Unsupported value: {given:?}: supported values: \"Node\", \"<empty>\""
        )));
    }
    let node = target["name"].as_str().filter(|node| !node.is_empty());
    let node = node.ok_or_else(|| invalid("target.name: Required value"))?;
    app.cluster.bind(&NamedBinding {
        namespace: named.namespace.unwrap_or("default"),
        name: named.name,
        uid: metadata["uid"].as_str().filter(|uid| !uid.is_empty()),
        node,
    })?;
    Ok(Answer::json(&json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    }))
    .created())
}

/// POST on pods/eviction.
///
/// Upstream: pkg/registry/core/pod/storage/eviction.go `EvictionREST.Create`.
pub(crate) fn evict(app: &App, asked: &Asked, named: Named<'_>, body: &[u8]) -> Result<Answer, Refused> {
    let value = json_body(asked, body)?;
    let name = value["metadata"]["name"].as_str().filter(|name| !name.is_empty());
    if name.is_some_and(|name| name != named.name) {
        return Err(ApiError::bad_request("name in URL does not match name in Eviction object").into());
    }
    let options = DeleteOptions::of(&value["deleteOptions"]);
    let pod = app.cluster.get(&key_of(named))?;
    let metadata = pod.metadata();
    let is_other = |wanted: &Option<String>, own: &Option<String>| wanted.is_some() && wanted != own;
    if is_other(&options.uid, &metadata.uid)
        || is_other(&options.resource_version, &metadata.resource_version)
    {
        return Err(ApiError::modified(&named.kind.asked.info().qualified(), named.name).into());
    }
    let uid = metadata.uid.as_deref().and_then(parse_pod_uid);
    let uid = uid.ok_or_else(|| Refused::from(ApiError::not_found("pods", named.name)))?;
    let mut results = Vec::with_capacity(1);
    app.cluster.evict_pods_batch(&[uid], &mut results);
    results.into_iter().collect::<Result<(), ApiError>>()?;
    Ok(Answer::json(&json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    }))
    .created())
}
