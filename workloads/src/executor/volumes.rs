//! The PersistentVolume and the claim that createPods gives every pod.
//!
//! Upstream: scheduler_perf/runners.go `CreatePodWithPersistentVolume` (always bound from the
//! start), executor.go `getCustomVolumeFactory`.

use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Pod, Volume};
use schedlab_cluster::api::{Api, GenericObject, Object};
use serde_json::{Value, json};

use super::error::OpError;
use super::objects;
use crate::ops::PodVolumes;

/// Makes volumes and claims from their templates.
pub(super) struct VolumeMaker {
    namespace: String,
    volume: GenericObject,
    claim: GenericObject,
}

fn claim_name(index: usize) -> String {
    format!("pvc-{index}")
}

/// Gives a pod the claim of its number as its only volume.
pub(super) fn use_claim(pod: &mut Pod, index: usize) {
    let source = PersistentVolumeClaimVolumeSource { claim_name: claim_name(index), read_only: None };
    let volume =
        Volume { name: "vol".to_owned(), persistent_volume_claim: Some(source), ..Volume::default() };
    pod.spec.get_or_insert_default().volumes = Some(vec![volume]);
}

impl VolumeMaker {
    pub(super) fn new(volumes: &PodVolumes, namespace: &str) -> Result<VolumeMaker, OpError> {
        let object = |template: &crate::template::ObjectTemplate| {
            objects::other(template.render_json(&Default::default())?, template.path())
        };
        Ok(VolumeMaker {
            namespace: namespace.to_owned(),
            volume: object(&volumes.volume)?,
            claim: object(&volumes.claim)?,
        })
    }

    /// Creates claim and volume of a pod, bound to each other. Statuses are written separately, as
    /// creation resets them.
    pub(super) fn create(&mut self, api: &dyn Api, index: usize) -> Result<(), OpError> {
        let (claim_name, volume_id) = (claim_name(index), format!("vol-{index}"));
        let volume_name = format!("{}-{volume_id}", self.namespace);
        let mut claim = self.claim.clone();
        claim.metadata.name = Some(claim_name.clone());
        claim.metadata.namespace = Some(self.namespace.clone());
        section(&mut claim)["volumeName"] = json!(volume_name);
        let mut volume = self.volume.clone();
        volume.metadata.name = Some(volume_name.clone());
        let spec = section(&mut volume);
        if let Some(csi) = spec.get_mut("csi") {
            csi["volumeHandle"] = json!(volume_name);
        } else if let Some(disk) = spec.get_mut("awsElasticBlockStore") {
            disk["volumeID"] = json!(volume_id);
        }
        spec["claimRef"] = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": self.namespace,
            "name": claim_name,
        });
        for object in [claim, volume] {
            let made = api.create(Object::Other(Box::new(object)))?;
            let Object::Other(mut made) = made else { continue };
            made.body.insert("status".to_owned(), json!({"phase": "Bound"}));
            api.update_status(Object::Other(made))?;
        }
        Ok(())
    }
}

/// `spec`, made if it is not there.
fn section(object: &mut GenericObject) -> &mut Value {
    let spec = object.body.entry("spec").or_insert_with(|| json!({}));
    if !spec.is_object() {
        *spec = json!({});
    }
    spec
}
