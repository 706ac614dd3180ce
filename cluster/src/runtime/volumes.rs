//! What PreBind of VolumeBinding writes to the API.
//!
//! Upstream: volumebinding/binder.go `bindAPIUpdate`, component-helpers/storage/volume
//! `GetBindVolumeToClaim`. Differs: upstream then waits until the PV controller has bound every
//! claim. The embedded cluster's controller binds a volume's claim in the same step, and nobody
//! provisions: a claim whose node is selected is taken as provisioned
//! (`persistent_volume_with_claim_ref_binds_the_pvc`).

use schedlab_core::api_call::{ClaimRefWrite, SelectedNodeWrite, VolumeWrites};
use serde_json::{Value, json};

use crate::api::{Api, ApiError, GenericObject, Object, ObjectKey};

/// Performs the writes, up to the first that fails.
pub fn write(api: &dyn Api, writes: &VolumeWrites) -> Result<(), ApiError> {
    writes.bindings.iter().try_for_each(|it| bind(api, it))?;
    writes.provisions.iter().try_for_each(|it| select_node(api, it))
}

fn bind(api: &dyn Api, write: &ClaimRefWrite) -> Result<(), ApiError> {
    change(api, &ObjectKey::cluster("v1", "PersistentVolume", &write.volume), |volume| {
        let spec = volume.body.entry("spec").or_insert_with(|| json!({}));
        spec["claimRef"] = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": write.claim.namespace,
            "name": write.claim.name,
            "uid": write.claim.uid,
        });
        annotate(volume, "pv.kubernetes.io/bound-by-controller", "yes");
    })
}

fn select_node(api: &dyn Api, write: &SelectedNodeWrite) -> Result<(), ApiError> {
    let key = ObjectKey::namespaced("v1", "PersistentVolumeClaim", &write.namespace, &write.name);
    change(api, &key, |claim| annotate(claim, "volume.kubernetes.io/selected-node", &write.node))
}

fn annotate(object: &mut GenericObject, key: &str, value: &str) {
    object.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

fn change(api: &dyn Api, key: &ObjectKey, change: impl FnOnce(&mut GenericObject)) -> Result<(), ApiError> {
    let Object::Other(mut object) = api.get(key)? else { return Ok(()) };
    if !object.body.get("spec").is_some_and(Value::is_object) {
        object.body.insert("spec".to_owned(), json!({}));
    }
    change(&mut object);
    api.update(Object::Other(object)).map(|_| ())
}
