//! The volume and the claim that a pod of createPods gets, bound to each other from the start.
//!
//! Upstream: runners.go `CreatePodWithPersistentVolume`; executor.go `getCustomVolumeFactory`.

use std::path::Path;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, GenericObject, Object};
use serde_json::{Value, json};

use super::PodVolumeTemplates;
use crate::executor::{OpError, objects};

/// A claim and its volume, ready to be created.
pub(super) struct BoundVolume {
    claim: GenericObject,
    volume: GenericObject,
}

impl BoundVolume {
    /// The claim `pvc-<index>` and its volume.
    pub(super) fn new(
        volumes: &PodVolumeTemplates,
        namespace: &str,
        index: u32,
    ) -> Result<BoundVolume, OpError> {
        let claim_name = claim_name(index);
        // Volumes have no namespace, so their names repeat it.
        let volume_name = format!("{namespace}-vol-{index}");
        let render = |template: &crate::template::ObjectTemplate| {
            Ok::<_, OpError>((template.render_json(&Default::default())?, template.path().to_owned()))
        };
        let (mut claim, claim_path) = render(&volumes.claim)?;
        set(&mut claim, &["metadata", "name"], json!(claim_name), &claim_path)?;
        set(&mut claim, &["metadata", "namespace"], json!(namespace), &claim_path)?;
        set(&mut claim, &["spec", "volumeName"], json!(volume_name), &claim_path)?;
        set(&mut claim, &["status", "phase"], json!("Bound"), &claim_path)?;
        let (mut volume, volume_path) = render(&volumes.volume)?;
        set(&mut volume, &["metadata", "name"], json!(volume_name), &volume_path)?;
        let reference = json!({
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": claim_name,
        });
        set(&mut volume, &["spec", "claimRef"], reference, &volume_path)?;
        set(&mut volume, &["status", "phase"], json!("Bound"), &volume_path)?;
        if volume.pointer("/spec/csi").is_some() {
            set(&mut volume, &["spec", "csi", "volumeHandle"], json!(volume_name), &volume_path)?;
        } else if volume.pointer("/spec/awsElasticBlockStore").is_some() {
            let disk = json!(format!("vol-{index}"));
            set(&mut volume, &["spec", "awsElasticBlockStore", "volumeID"], disk, &volume_path)?;
        }
        Ok(BoundVolume {
            claim: objects::other(claim, &claim_path)?,
            volume: objects::other(volume, &volume_path)?,
        })
    }

    /// Creates both; a status is written on its own, since creation drops it.
    pub(super) fn create(&self, cluster: &EmbeddedCluster) -> Result<(), OpError> {
        for object in [&self.claim, &self.volume] {
            let object = Object::Other(Box::new(object.clone()));
            cluster.create(object.clone())?;
            cluster.update_status(object)?;
        }
        Ok(())
    }
}

/// What the claim of a pod is called.
pub(super) fn claim_name(index: u32) -> String {
    format!("pvc-{index}")
}

/// The pod's volumes: its claim, and nothing else.
pub(super) fn volumes_of(index: u32) -> Value {
    json!([{"name": "vol", "persistentVolumeClaim": {"claimName": claim_name(index)}}])
}

/// Sets a field and makes the objects on the way to it.
pub(super) fn set(object: &mut Value, fields: &[&str], value: Value, path: &Path) -> Result<(), OpError> {
    let mut at = object;
    for field in fields {
        if at.is_null() {
            *at = json!({});
        }
        let Value::Object(map) = at else {
            let message = format!("{} is not an object", fields.join("."));
            return Err(OpError::Object { path: path.to_owned(), message });
        };
        at = map.entry(*field).or_insert(Value::Null);
    }
    *at = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schedlab_cluster::api::{ListQuery, ObjectKey};
    use schedlab_cluster::clock::monotonic_ns;

    use super::*;
    use crate::template::ObjectTemplate;

    fn template(text: &str) -> Arc<ObjectTemplate> {
        Arc::new(ObjectTemplate::plain(Path::new("v.yaml"), text.to_owned()))
    }

    #[test]
    fn pvc_and_persistent_volume_are_created_bound_to_each_other() {
        let volumes = PodVolumeTemplates {
            volume: template("apiVersion: v1\nkind: PersistentVolume\nspec: {csi: {driver: d}}\n"),
            claim: template("apiVersion: v1\nkind: PersistentVolumeClaim\n"),
        };
        let cluster = EmbeddedCluster::new(Arc::new(monotonic_ns));
        BoundVolume::new(&volumes, "default", 7).unwrap().create(&cluster).unwrap();
        let claim = cluster
            .get(&ObjectKey::namespaced("v1", "PersistentVolumeClaim", "default", "pvc-7"))
            .unwrap()
            .into_other()
            .unwrap();
        assert_eq!(claim.body["spec"]["volumeName"], "default-vol-7");
        assert_eq!(claim.body["status"]["phase"], "Bound");
        let volumes = cluster.list(&ListQuery::all("v1", "PersistentVolume")).unwrap().items;
        let volume = volumes.into_iter().next().unwrap().into_other().unwrap();
        assert_eq!(volume.body["spec"]["claimRef"]["name"], "pvc-7");
        assert_eq!(volume.body["spec"]["csi"]["volumeHandle"], "default-vol-7");
    }

    #[test]
    fn a_field_of_the_wrong_shape_is_named() {
        let mut object = json!({"spec": "text"});
        let error = set(&mut object, &["spec", "volumeName"], json!("a"), Path::new("c.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "c.yaml: spec.volumeName is not an object; correct the template");
    }
}
