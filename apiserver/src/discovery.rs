//! What there is: versions, groups, resources, in the documents that clients of all ages ask for.

use serde_json::{Value, json};

use crate::answer::{Answer, Refused};
use crate::form::{Accepted, Form};
use crate::handle::App;
use crate::resources::{RESOURCES, Resource, Scope, VIRTUAL, groups};
use crate::route::Discovery;

/// The release whose API this is, as `docs/upstream.md` has it.
const MAJOR: &str = "1";
const MINOR: &str = "38";
const GIT_VERSION: &str = "v1.38.0-schedlab";

/// `/version`.
pub(crate) fn version() -> Answer {
    Answer::json(&json!({
        "major": MAJOR, "minor": MINOR, "gitVersion": GIT_VERSION, "gitCommit": "", "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    }))
}

/// `/`.
pub(crate) fn root() -> Answer {
    let paths = [
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ];
    Answer::json(&json!({ "paths": paths }))
}

/// A discovery document.
pub(crate) fn answer(app: &App, what: &Discovery, accepted: &Accepted) -> Result<Answer, Refused> {
    let is_aggregated = accepted.best() == Form::AggregatedDiscovery;
    match what {
        Discovery::CoreVersions if is_aggregated => Ok(aggregated(vec![aggregated_group("", &["v1"])])),
        Discovery::Groups if is_aggregated => Ok(aggregated(
            groups().iter().map(|(group, versions)| aggregated_group(group, versions)).collect(),
        )),
        Discovery::CoreVersions => Ok(Answer::json(&json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": app.address}],
        }))),
        Discovery::Groups => {
            let all: Vec<Value> =
                groups().iter().map(|(group, versions)| group_document(group, versions)).collect();
            Ok(Answer::json(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": all})))
        }
        Discovery::Group(wanted) => {
            let groups = groups();
            let (group, versions) =
                groups.iter().find(|(group, _)| group == wanted).ok_or_else(Refused::no_such_path)?;
            let mut document = group_document(group, versions);
            document["kind"] = json!("APIGroup");
            document["apiVersion"] = json!("v1");
            Ok(Answer::json(&document))
        }
        Discovery::Resources { group, version } => {
            let resources = resources_of(group, version);
            if resources.is_empty() {
                return Err(Refused::no_such_path());
            }
            let group_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
            Ok(Answer::json(&json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources,
            })))
        }
    }
}

fn group_document(group: &str, versions: &[&str]) -> Value {
    let shown = |version: &str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({
        "name": group, "versions": versions.iter().map(|version| shown(version)).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(|version| shown(version)),
    })
}

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// What can be done to a part of an object, and the kind that goes over the wire.
fn part_of(resource: &Resource, part: &str) -> (Vec<&'static str>, &'static str, &'static str, &'static str) {
    match (part, resource.group) {
        ("binding", _) => (vec!["create"], "", "v1", "Binding"),
        ("eviction", _) => (vec!["create"], "policy", "v1", "Eviction"),
        ("scale", _) => (vec!["get", "patch", "update"], "autoscaling", "v1", "Scale"),
        _ => (vec!["get", "patch", "update"], "", "", resource.kind),
    }
}

fn resources_of(group: &str, version: &str) -> Vec<Value> {
    let mut shown = Vec::new();
    for resource in RESOURCES.iter().filter(|it| it.group == group && it.versions.contains(&version)) {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular(), "namespaced": resource.is_namespaced(),
            "kind": resource.kind, "verbs": VERBS,
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if resource.is_in_all {
            entry["categories"] = json!(["all"]);
        }
        shown.push(entry);
        for part in resource.subresources {
            let (verbs, of_group, of_version, kind) = part_of(resource, part);
            let mut entry = json!({
                "name": format!("{}/{part}", resource.plural), "singularName": "",
                "namespaced": resource.is_namespaced(), "kind": kind, "verbs": verbs,
            });
            if !of_group.is_empty() {
                entry["group"] = json!(of_group);
                entry["version"] = json!(of_version);
            }
            shown.push(entry);
        }
    }
    for resource in VIRTUAL.iter().filter(|it| it.group == group && it.version == version) {
        shown.push(json!({
            "name": resource.plural, "singularName": resource.kind.to_lowercase(),
            "namespaced": resource.scope == Scope::Namespaced, "kind": resource.kind, "verbs": ["create"],
        }));
    }
    shown
}

fn aggregated(items: Vec<Value>) -> Answer {
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    Answer {
        content_type: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        ..Answer::json(&document)
    }
}

fn aggregated_group(group: &str, versions: &[&str]) -> Value {
    let of_version = |version: &&str| json!({"version": version, "resources": aggregated_resources(group, version), "freshness": "Current"});
    let mut metadata = json!({"creationTimestamp": null});
    if !group.is_empty() {
        metadata["name"] = json!(group);
    }
    json!({"metadata": metadata, "versions": versions.iter().map(of_version).collect::<Vec<_>>()})
}

fn aggregated_resources(group: &str, version: &str) -> Vec<Value> {
    let scope = |scope: Scope| if scope == Scope::Namespaced { "Namespaced" } else { "Cluster" };
    let mut shown = Vec::new();
    for resource in RESOURCES.iter().filter(|it| it.group == group && it.versions.contains(&version)) {
        let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
        let parts = resource.subresources.iter().map(|part| {
            let (verbs, of_group, of_version, of_kind) = part_of(resource, part);
            let response = if of_version.is_empty() {
                kind(group, version, of_kind)
            } else {
                kind(of_group, of_version, of_kind)
            };
            json!({"subresource": part, "responseKind": response, "verbs": verbs})
        });
        let mut entry = json!({
            "resource": resource.plural, "responseKind": kind(group, version, resource.kind),
            "scope": scope(resource.scope), "singularResource": resource.singular(), "verbs": VERBS,
            "subresources": parts.collect::<Vec<_>>(),
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if resource.is_in_all {
            entry["categories"] = json!(["all"]);
        }
        shown.push(entry);
    }
    for resource in VIRTUAL.iter().filter(|it| it.group == group && it.version == version) {
        shown.push(json!({
            "resource": resource.plural, "scope": scope(resource.scope), "verbs": ["create"],
            "responseKind": {"group": group, "version": version, "kind": resource.kind},
            "singularResource": resource.kind.to_lowercase(),
        }));
    }
    shown
}
