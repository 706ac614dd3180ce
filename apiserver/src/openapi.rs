//! The schemas that kubectl asks for before it writes.
//!
//! Not built: the server knows no schema of each field. It says that it checks fields itself
//! (`fieldValidation`), which kubectl then leaves to it, and it does not offer schemas for strategic merge
//! patches, for which kubectl then takes its own built-in types.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, Refused};
use crate::resources::{RESOURCES, Resource, groups};

/// `/openapi/v3`: where the documents are.
pub(crate) fn index() -> Answer {
    let core = [("", vec!["v1"])];
    let all = core.into_iter().chain(groups());
    let mut paths = Map::new();
    for (group, versions) in all {
        for version in versions {
            let path =
                if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            let url = format!("/openapi/v3/{path}");
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    Answer::json(&json!({ "paths": paths }))
}

/// `/openapi/v3/PATH`: one version of a group.
pub(crate) fn of_group(path: &str) -> Result<Answer, Refused> {
    let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => (String::new(), (*version).to_owned()),
        ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
        _ => return Err(Refused::no_such_path()),
    };
    let is_known =
        |(known, versions): &(&str, Vec<&str>)| *known == group && versions.contains(&version.as_str());
    let is_core = group.is_empty() && version == "v1";
    if !(is_core || groups().iter().any(is_known)) {
        return Err(Refused::no_such_path());
    }
    let resources =
        RESOURCES.iter().filter(|it| it.group == group && it.versions.contains(&version.as_str()));
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for resource in resources {
        let name = schema_name(resource, &version);
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        paths.insert(object_path(resource, &version), operations(resource, &version, &schema));
        schemas.insert(name, schema_of(resource, &version));
    }
    Ok(Answer::json(&json!({
        "openapi": "3.0.0", "info": {"title": "schedlab", "version": "v1.38.0"}, "paths": paths,
        "components": {"schemas": schemas},
    })))
}

/// `/openapi/v2`: all in one, for older clients.
pub(crate) fn v2() -> Answer {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for resource in RESOURCES {
        for version in resource.versions {
            let name = schema_name(resource, version);
            let schema = json!({"$ref": format!("#/definitions/{name}")});
            paths.insert(object_path(resource, version), operations(resource, version, &schema));
            definitions.insert(name, schema_of(resource, version));
        }
    }
    Answer::json(&json!({
        "swagger": "2.0", "info": {"title": "schedlab", "version": "v1.38.0"}, "paths": paths,
        "definitions": definitions,
    }))
}

/// `io.k8s.api.apps.v1.Deployment`.
fn schema_name(resource: &Resource, version: &str) -> String {
    let group = match resource.group {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("io.k8s.api.{group}.{version}.{}", resource.kind)
}

fn gvk(resource: &Resource, version: &str) -> Value {
    json!({"group": resource.group, "version": version, "kind": resource.kind})
}

fn object_path(resource: &Resource, version: &str) -> String {
    let root = match resource.group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let namespace = if resource.is_namespaced() { "/namespaces/{namespace}" } else { "" };
    format!("{root}{namespace}/{}/{{name}}", resource.plural)
}

fn operations(resource: &Resource, version: &str, schema: &Value) -> Value {
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}, "type": "string", "uniqueItems": true});
    let content = json!({"application/json": { "schema": schema }});
    let answer = json!({"200": {"description": "OK", "content": content, "schema": schema}});
    let operation = |action: &str| {
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(resource, version),
            "parameters": [parameter("fieldManager"), parameter("fieldValidation")], "responses": answer,
        })
    };
    let mut patch = operation("patch");
    // Without strategic merge patches, see the head of this file.
    let body = json!({ "schema": { "type": "object" } });
    patch["requestBody"] = json!({"content": {
        "application/json-patch+json": body, "application/merge-patch+json": body, "application/apply-patch+yaml": body,
    }});
    json!({"get": operation("get"), "put": operation("put"), "patch": patch, "delete": operation("delete")})
}

fn schema_of(resource: &Resource, version: &str) -> Value {
    json!({
        "type": "object", "description": format!("{} of {}", resource.kind, resource.api_version(version)),
        "x-kubernetes-group-version-kind": [gvk(resource, version)], "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
        },
    })
}
