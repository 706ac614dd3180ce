//! Which of the kinds that scheduling reads the server serves, and in which version.

use std::collections::BTreeMap;

use schedlab_cluster::api::group_of;
use schedlab_cluster::{ApiError, StatusReason};
use schedlab_core::scheduler::{KINDS, KindRow};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::path;
use crate::requests::Requests;

/// A kind that is served.
#[derive(Clone, Debug)]
pub(crate) struct ServedKind {
    pub(crate) row: &'static KindRow,
    /// The version in which it is read and written.
    pub(crate) api_version: String,
}

#[derive(Default, Deserialize)]
struct Group {
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "groupVersion")]
    group_version: String,
}

#[derive(Default, Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
}

/// Resources by version of a group, in the order in which the server prefers them.
type Versions = Vec<(String, Vec<String>)>;

/// The kinds of `KINDS` that are served, in its order.
pub(crate) async fn served_kinds(requests: &Requests) -> Result<Vec<ServedKind>, ApiError> {
    let mut groups: BTreeMap<&str, Versions> = BTreeMap::new();
    for row in KINDS {
        let group = group_of(row.api_version);
        if !groups.contains_key(group) {
            groups.insert(group, versions_of(requests, group).await?);
        }
    }
    Ok(KINDS.iter().filter_map(|row| choose(row, &groups[group_of(row.api_version)])).collect())
}

/// The version that we know best, or else the one that the server likes best.
fn choose(row: &'static KindRow, versions: &Versions) -> Option<ServedKind> {
    let serves = |(_, resources): &&(String, Vec<String>)| resources.iter().any(|name| name == row.resource);
    let known = versions.iter().filter(serves).find(|(version, _)| version == row.api_version);
    let (api_version, _) = known.or_else(|| versions.iter().find(serves))?;
    Some(ServedKind { row, api_version: api_version.clone() })
}

async fn versions_of(requests: &Requests, group: &str) -> Result<Versions, ApiError> {
    let names = if group.is_empty() {
        vec!["v1".to_owned()]
    } else {
        let found: Option<Group> = find(requests, &format!("/apis/{group}")).await?;
        found.unwrap_or_default().versions.into_iter().map(|version| version.group_version).collect()
    };
    let mut versions = Vec::with_capacity(names.len());
    for name in names {
        let found: Option<Resources> = find(requests, &path::of_version(&name)).await?;
        let resources = found.unwrap_or_default().resources;
        versions.push((name, resources.into_iter().map(|resource| resource.name).collect()));
    }
    Ok(versions)
}

/// What is there; `None` when it is not served.
async fn find<T: DeserializeOwned>(requests: &Requests, path: &str) -> Result<Option<T>, ApiError> {
    match requests.get(path).await {
        Ok(body) => serde_json::from_slice(&body)
            .map(Some)
            .map_err(|error| ApiError::bad_request(format!("{path}: the answer is no discovery: {error}"))),
        Err(error) if error.reason == StatusReason::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_version_of_a_group_is_taken_where_ours_is_not_served() {
        let row = KINDS.iter().find(|row| row.name == "DeviceTaintRule").expect("a row");
        let served = |versions: &[(&str, &[&str])]| {
            let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let versions: Versions =
                versions.iter().map(|&(version, names)| (version.to_owned(), owned(names))).collect();
            choose(row, &versions).map(|served| served.api_version)
        };
        let all: &[&str] = &["resourceclaims", "devicetaintrules"];
        assert_eq!(
            served(&[("resource.k8s.io/v1beta2", all), (row.api_version, all)]).as_deref(),
            Some(row.api_version)
        );
        assert_eq!(
            served(&[(row.api_version, &["resourceclaims"]), ("resource.k8s.io/v1beta2", all)]).as_deref(),
            Some("resource.k8s.io/v1beta2")
        );
        assert_eq!(served(&[]), None);
    }
}
