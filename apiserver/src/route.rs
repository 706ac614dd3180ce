//! Where a path leads.
//!
//! ```text
//! /api/v1/nodes/a/status                          core group, cluster-wide
//! /apis/apps/v1/namespaces/b/deployments/c/scale  named group, namespaced
//! ```

use schedlab_cluster::ApiError;

use crate::answer::Refused;
use crate::feed::View;
use crate::query::{Plus, decode};
use crate::resources::{RESOURCES, ResourceId, Scope, VIRTUAL, VirtualResource, by_path};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Objects of a resource, in one namespace or in all.
    Collection { kind: Served, namespace: Option<String> },
    /// One object, or a part of it.
    Object { kind: Served, namespace: Option<String>, name: String, subresource: Option<String> },
    /// A resource that keeps nothing.
    Virtual(&'static str),
    /// Which groups and resources there are.
    Discovery(Discovery),
    /// All else: health, version, schemas.
    Plain(Plain),
}

/// A resource as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// Where its objects are kept.
    pub(crate) stored: ResourceId,
    /// The resource of the path: another one for events of the core group.
    pub(crate) asked: ResourceId,
    /// The version of the path.
    pub(crate) version: &'static str,
}

impl Served {
    pub(crate) fn view(self) -> View {
        match self.stored == self.asked {
            true => View::Version(self.stored, self.version),
            false => View::CoreEvent,
        }
    }

    /// `v1`, `apps/v1`: of the path.
    pub(crate) fn api_version(self) -> String {
        self.asked.info().api_version(self.version)
    }

    /// `apiVersion` that the store finds it by.
    pub(crate) fn stored_api_version(self) -> String {
        match self.stored == self.asked {
            true => self.api_version(),
            false => self.stored.info().api_version(self.stored.info().versions[0]),
        }
    }
}

/// Discovery documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`.
    Resources { group: String, version: String },
}

/// Paths beside the API's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Root,
    Version,
    Health,
    Metrics,
    OpenApiV2,
    OpenApiV3,
    /// `/openapi/v3/` and the group's own path.
    OpenApiV3Of(String),
}

/// Whether the path itself asks for a watch: `/api/v1/watch/pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathVerb {
    ByMethod,
    Watch,
}

/// Reads a path.
pub(crate) fn route(path: &str) -> Result<(Target, PathVerb), Refused> {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| decode(part, Plus::IsPlus))
        .collect::<Result<_, ApiError>>()?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let by_method = |target| Ok((target, PathVerb::ByMethod));
    match parts.as_slice() {
        [] => by_method(Target::Plain(Plain::Root)),
        ["version"] => by_method(Target::Plain(Plain::Version)),
        ["healthz" | "livez" | "readyz", ..] => by_method(Target::Plain(Plain::Health)),
        ["metrics"] => by_method(Target::Plain(Plain::Metrics)),
        ["openapi", "v2"] => by_method(Target::Plain(Plain::OpenApiV2)),
        ["openapi", "v3"] => by_method(Target::Plain(Plain::OpenApiV3)),
        ["openapi", "v3", rest @ ..] => by_method(Target::Plain(Plain::OpenApiV3Of(rest.join("/")))),
        ["api"] => by_method(Target::Discovery(Discovery::CoreVersions)),
        ["apis"] => by_method(Target::Discovery(Discovery::Groups)),
        ["apis", group] => by_method(Target::Discovery(Discovery::Group((*group).to_owned()))),
        ["api", version, rest @ ..] => in_version("", version, rest),
        ["apis", group, version, rest @ ..] => in_version(group, version, rest),
        _ => Err(Refused::no_such_path()),
    }
}

fn in_version(group: &str, version: &str, rest: &[&str]) -> Result<(Target, PathVerb), Refused> {
    let (rest, verb) = match rest {
        ["watch", rest @ ..] => (rest, PathVerb::Watch),
        _ => (rest, PathVerb::ByMethod),
    };
    let target = match rest {
        [] => {
            Target::Discovery(Discovery::Resources { group: group.to_owned(), version: version.to_owned() })
        }
        ["namespaces", name] => object(served("", version, "namespaces", group)?, None, name, None)?,
        ["namespaces", name, part @ ("status" | "finalize")] => {
            object(served("", version, "namespaces", group)?, None, name, Some(part))?
        }
        ["namespaces", namespace, plural, rest @ ..] => {
            within(group, version, Some((*namespace).to_owned()), plural, rest)?
        }
        [plural, rest @ ..] => within(group, version, None, plural, rest)?,
    };
    Ok((target, verb))
}

fn within(
    group: &str,
    version: &str,
    namespace: Option<String>,
    plural: &str,
    rest: &[&str],
) -> Result<Target, Refused> {
    if let Some(found) = virtual_resource(group, version, plural) {
        return match rest {
            [] if namespace.is_some() == (found.scope == Scope::Namespaced) => {
                Ok(Target::Virtual(found.kind))
            }
            _ => Err(Refused::no_such_path()),
        };
    }
    let kind = served(group, version, plural, group)?;
    let is_namespaced = kind.asked.info().is_namespaced();
    if namespace.is_some() && !is_namespaced {
        return Err(Refused::no_such_path());
    }
    match rest {
        [] => Ok(Target::Collection { kind, namespace }),
        _ if is_namespaced && namespace.is_none() => Err(Refused::no_such_path()),
        [name] => object(kind, namespace, name, None),
        [name, subresource] => object(kind, namespace, name, Some(subresource)),
        _ => Err(Refused::no_such_path()),
    }
}

fn object(
    kind: Served,
    namespace: Option<String>,
    name: &str,
    subresource: Option<&str>,
) -> Result<Target, Refused> {
    if let Some(part) = subresource
        && !kind.asked.info().has_subresource(part)
        && !(part == "finalize" && kind.asked.info().kind == "Namespace")
    {
        return Err(Refused::no_such_path());
    }
    Ok(Target::Object { kind, namespace, name: name.to_owned(), subresource: subresource.map(str::to_owned) })
}

fn virtual_resource(group: &str, version: &str, plural: &str) -> Option<&'static VirtualResource> {
    VIRTUAL.iter().find(|it| it.group == group && it.version == version && it.plural == plural)
}

/// The resource of a path; `given_group` is the group of the path, which `namespaces` must be in too.
fn served(group: &str, version: &str, plural: &str, given_group: &str) -> Result<Served, Refused> {
    if group != given_group {
        return Err(Refused::no_such_path());
    }
    let asked = by_path(group, version, plural).ok_or_else(Refused::no_such_path)?;
    let stored = match (asked.info().group, asked.info().kind) {
        ("", "Event") => by_path("events.k8s.io", "v1", "events").unwrap_or(asked),
        _ => asked,
    };
    let known = RESOURCES[asked.0].versions.iter().find(|known| **known == version);
    Ok(Served { stored, asked, version: known.ok_or_else(Refused::no_such_path)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        match route(path) {
            Err(refused) => refused.code().to_string(),
            Ok((target, verb)) => {
                let text = match target {
                    Target::Collection { kind, namespace } => {
                        format!("{} in {}", kind.asked.info().kind, namespace.as_deref().unwrap_or("all"))
                    }
                    Target::Object { kind, namespace, name, subresource } => {
                        let whole = [namespace, Some(name), subresource];
                        let path: Vec<_> = whole.into_iter().flatten().collect();
                        format!("{} {}", kind.asked.info().kind, path.join("/"))
                    }
                    other => format!("{other:?}"),
                };
                if verb == PathVerb::Watch { format!("watch {text}") } else { text }
            }
        }
    }

    #[test]
    fn paths_lead_where_upstream_leads() {
        let cases = [
            ("/api/v1/pods", "Pod in all"),
            ("/api/v1/namespaces/a/pods", "Pod in a"),
            ("/api/v1/namespaces/a/pods/b", "Pod a/b"),
            ("/api/v1/namespaces/a/pods/b/binding", "Pod a/b/binding"),
            ("/api/v1/namespaces", "Namespace in all"),
            ("/api/v1/namespaces/a", "Namespace a"),
            ("/api/v1/namespaces/a/finalize", "Namespace a/finalize"),
            ("/api/v1/nodes/n/status", "Node n/status"),
            ("/api/v1/namespaces/a/nodes", "404"),
            ("/api/v1/pods/b", "404"),
            ("/api/v1/namespaces/a/pods/b/log", "404"),
            ("/apis/apps/v1/namespaces/a/deployments/d/scale", "Deployment a/d/scale"),
            ("/apis/apps/v1/namespaces/a", "404"),
            ("/apis/apps/v2/deployments", "404"),
            ("/api/v1/watch/pods", "watch Pod in all"),
            (
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                "Virtual(\"SelfSubjectAccessReview\")",
            ),
            ("/api/v1/nodes/a%2Fb", "Node a/b"),
            ("/nothing", "404"),
            ("/api/v1/nodes/%zz", "400"),
        ];
        for (path, expected) in cases {
            assert_eq!(shown(path), expected, "case: {path}");
        }
    }

    #[test]
    fn core_events_are_kept_as_events_of_their_own_group() {
        let Ok((Target::Collection { kind, .. }, _)) = route("/api/v1/events") else {
            panic!("a collection")
        };
        assert_eq!(kind.stored.info().group, "events.k8s.io");
        assert_eq!((kind.api_version(), kind.view()), ("v1".to_owned(), View::CoreEvent));
    }
}
