//! Metadata rules that all kinds share: preconditions, finalizers, what a client cannot change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::ApiError;

/// The UID that a call names is the one the object has.
pub(super) fn check_uid(resource: &str, uid: Option<&str>, stored: &ObjectMeta) -> Result<(), ApiError> {
    let found = stored.uid.as_deref().unwrap_or_default();
    match uid {
        Some(wanted) if wanted != found => {
            let name = stored.name.as_deref().unwrap_or_default();
            let key = storage_key(resource, stored.namespace.as_deref(), name);
            Err(ApiError::uid_differs(resource, &key, name, wanted, found))
        }
        _ => Ok(()),
    }
}

/// `/registry/pods/default/web`.
pub(super) fn storage_key(resource: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("/registry/{resource}/{namespace}/{name}"),
        None => format!("/registry/{resource}/{name}"),
    }
}

/// UID and resource version of a new state, where it names them, are those of the stored one.
pub(super) fn check_preconditions(
    resource: &str,
    new: &ObjectMeta,
    stored: &ObjectMeta,
) -> Result<(), ApiError> {
    let named = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    check_uid(resource, named(&new.uid).as_deref(), stored)?;
    let version = named(&new.resource_version);
    if version.is_some() && version != stored.resource_version {
        return Err(ApiError::modified(resource, stored.name.as_deref().unwrap_or_default()));
    }
    Ok(())
}

/// Clients cannot change who an object is, nor when it was made or is to go.
pub(super) fn keep_system_metadata(new: &mut ObjectMeta, stored: &ObjectMeta) {
    new.namespace.clone_from(&stored.namespace);
    new.uid.clone_from(&stored.uid);
    new.resource_version.clone_from(&stored.resource_version);
    new.generate_name.clone_from(&stored.generate_name);
    new.creation_timestamp.clone_from(&stored.creation_timestamp);
    new.deletion_timestamp.clone_from(&stored.deletion_timestamp);
}

pub(super) fn has_finalizers(metadata: &ObjectMeta) -> bool {
    metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
}

/// The object was deleted and waits for nobody any more.
pub(super) fn is_to_be_removed(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some() && !has_finalizers(metadata)
}
