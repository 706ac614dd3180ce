//! GET of an object and of a list.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use schedlab_cluster::api::ObjectKey;
use schedlab_cluster::{Api as _, ApiError};
use serde_json::{Value, json};

use crate::answer::{Answer, Refused};
use crate::events::stored_field;
use crate::feed::{Item, View, has_field};
use crate::form::Form;
use crate::handle::{App, Asked, Named, Within};
use crate::lists::Page;
use crate::route::Served;
use crate::selector::{Selection, parse_fields, parse_labels};
use crate::table::{Columns, table_of};
use crate::write::shown;

/// Where the store has an object.
pub(crate) fn key_of(named: Named<'_>) -> ObjectKey {
    ObjectKey {
        api_version: named.kind.stored_api_version(),
        kind: named.kind.stored.info().kind.to_owned(),
        namespace: named.namespace.map(str::to_owned),
        name: named.name.to_owned(),
    }
}

/// GET of an object, or of its status.
pub(crate) fn get(app: &App, asked: &Asked, named: Named<'_>) -> Result<Answer, Refused> {
    let object = shown(app.cluster.get(&key_of(named))?, named.kind)?;
    match asked.accepted.best() {
        Form::Table => {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
            let metadata = json!({ "resourceVersion": version });
            Ok(Answer::json(&table_of(app, asked, named.kind, metadata, &[object])))
        }
        Form::Metadata => Ok(Answer::json(&partial_metadata(&object))),
        _ => Ok(Answer::json(&object)),
    }
}

/// An object's metadata alone.
pub(crate) fn partial_metadata(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
    })
}

/// Which objects a list, a watch or a deletion covers.
pub(crate) fn selection(asked: &Asked, within: Within<'_>, name: Option<&str>) -> Result<Selection, Refused> {
    let mut fields = parse_fields(asked.query.get("fieldSelector").unwrap_or_default())?;
    for requirement in &mut fields {
        if within.kind.view() == View::CoreEvent {
            requirement.field = stored_field(&requirement.field);
        }
        if !has_field(within.kind.stored, &requirement.field) {
            let known = format!("field label not supported: {}", requirement.field);
            return Err(ApiError::bad_request(known).into());
        }
    }
    if let Some(name) = name {
        fields.extend(parse_fields(&format!("metadata.name={name}"))?);
    }
    Ok(Selection {
        namespace: within.namespace.map(str::to_owned),
        labels: asked.query.get("labelSelector").map(parse_labels).transpose()?,
        fields,
    })
}

/// The version that a client wants to see at least.
pub(crate) fn wanted_version(asked: &Asked) -> Result<u64, Refused> {
    let text = asked.query.get("resourceVersion").unwrap_or("0");
    let refused = |_| ApiError::bad_request(format!("invalid resource version {text:?}"));
    Ok(text.parse().map_err(refused)?)
}

/// LIST.
pub(crate) async fn list(app: &App, asked: &Asked, within: Within<'_>) -> Result<Answer, Refused> {
    let selection = selection(asked, within, None)?;
    let limit = asked.query.number("limit")?.unwrap_or(0);
    let page = match asked.query.get("continue") {
        Some(token) => app.pages.next(token, limit)?,
        None => {
            app.feed.catch_up(wanted_version(asked)?).await?;
            let listed = app.feed.list(within.kind.stored, &selection);
            check_exact(asked, listed.version)?;
            app.pages.first(listed, limit)
        }
    };
    Ok(match asked.accepted.best() {
        Form::Table => {
            let objects: Vec<Value> =
                page.items.iter().map(|item| item.to_value(within.kind.view())).collect();
            Answer::json(&table_of(app, asked, within.kind, page.metadata(), &objects))
        }
        Form::Metadata => Answer::json(&json!({
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": page.metadata(),
            "items": page.items.iter().map(|item| partial_metadata(&item.to_value(within.kind.view()))).collect::<Vec<_>>(),
        })),
        _ => Answer::json_bytes(list_text(within.kind, &page)),
    })
}

/// An exact version can be had only if it is this one: older ones are not kept.
///
/// Upstream: etcd keeps old versions until they are compacted, five minutes by default.
fn check_exact(asked: &Asked, version: u64) -> Result<(), Refused> {
    if asked.query.get("resourceVersionMatch") != Some("Exact") {
        return Ok(());
    }
    let wanted = wanted_version(asked)?;
    if wanted == version {
        return Ok(());
    }
    Err(ApiError::gone(wanted, version).into())
}

fn list_text(kind: Served, page: &Page) -> Bytes {
    let texts: Vec<Bytes> = page.items.iter().map(|item: &Arc<Item>| item.text(kind.view())).collect();
    let length: usize = texts.iter().map(|text| text.len() + 1).sum();
    let head = format!(
        "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
        kind.asked.info().kind,
        kind.api_version(),
        page.metadata()
    );
    let mut body = BytesMut::with_capacity(head.len() + length + 2);
    body.put_slice(head.as_bytes());
    for (at, text) in texts.iter().enumerate() {
        if 0 < at {
            body.put_u8(b',');
        }
        body.put_slice(text);
    }
    body.put_slice(b"]}");
    body.freeze()
}

/// Columns of a table, for watches as well.
pub(crate) fn includes(asked: &Asked) -> Columns {
    Columns::of_query(asked.query.get("includeObject"))
}
