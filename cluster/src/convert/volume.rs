//! Volumes: only the sources that a scheduler plugin reads.

use k8s_openapi::api::core::v1::{Pod, Volume};
use schedlab_core::input::{VolumeInput, VolumeSourceInput};

use super::text_or_empty;

/// The volume, if scheduling has an opinion about its source.
pub(super) fn volume(pod: &Pod, volume: &Volume) -> Option<VolumeInput> {
    let source = claimed(pod, volume).or_else(|| shared_disk(volume)).or_else(|| in_tree(volume))?;
    Some(VolumeInput { name: volume.name.clone(), source })
}

fn claimed(pod: &Pod, volume: &Volume) -> Option<VolumeSourceInput> {
    if let Some(claim) = &volume.persistent_volume_claim {
        return Some(VolumeSourceInput::Claim {
            claim_name: claim.claim_name.clone(),
            read_only: claim.read_only.unwrap_or(false),
        });
    }
    if volume.ephemeral.is_some() {
        return Some(VolumeSourceInput::Ephemeral {
            pod_name: text_or_empty(pod.metadata.name.as_ref()),
            pod_uid: text_or_empty(pod.metadata.uid.as_ref()),
        });
    }
    if let Some(image) = &volume.image {
        return Some(VolumeSourceInput::Image { reference: text_or_empty(image.reference.as_ref()) });
    }
    let csi = volume.csi.as_ref()?;
    Some(VolumeSourceInput::Csi { driver: csi.driver.clone() })
}

/// Disks that at most one node may write to: the VolumeRestrictions plugin compares them.
fn shared_disk(volume: &Volume) -> Option<VolumeSourceInput> {
    if let Some(disk) = &volume.gce_persistent_disk {
        return Some(VolumeSourceInput::GcePersistentDisk {
            pd_name: disk.pd_name.clone(),
            read_only: disk.read_only.unwrap_or(false),
        });
    }
    if let Some(disk) = &volume.aws_elastic_block_store {
        return Some(VolumeSourceInput::AwsElasticBlockStore {
            volume_id: disk.volume_id.clone(),
            read_only: disk.read_only.unwrap_or(false),
        });
    }
    if let Some(disk) = &volume.iscsi {
        return Some(VolumeSourceInput::Iscsi {
            target_portal: disk.target_portal.clone(),
            iqn: disk.iqn.clone(),
            lun: disk.lun,
            read_only: disk.read_only.unwrap_or(false),
        });
    }
    let disk = volume.rbd.as_ref()?;
    Some(VolumeSourceInput::Rbd {
        monitors: disk.monitors.clone(),
        pool: text_or_empty(disk.pool.as_ref()),
        image: disk.image.clone(),
        read_only: disk.read_only.unwrap_or(false),
    })
}

/// Sources that upstream translates to CSI; the identifier becomes the volume handle.
///
/// Upstream: csi-translation-lib/plugins, `TranslateInTreeInlineVolumeToCSI` of each.
fn in_tree(volume: &Volume) -> Option<VolumeSourceInput> {
    let of_kind = |kind: &str, id: String| Some(VolumeSourceInput::InTree { kind: kind.to_owned(), id });
    if let Some(disk) = &volume.azure_disk {
        let is_managed = |kind: &&String| kind.eq_ignore_ascii_case("Managed");
        return match disk.kind.as_ref().filter(|kind| !is_managed(kind)) {
            Some(kind) => of_kind(&format!("azureDisk/{kind}"), disk.disk_uri.clone()),
            None => of_kind("azureDisk", disk.disk_uri.clone()),
        };
    }
    if let Some(file) = &volume.azure_file {
        return of_kind("azureFile", format!("{}#{}", file.secret_name, file.share_name));
    }
    if let Some(disk) = &volume.cinder {
        return of_kind("cinder", disk.volume_id.clone());
    }
    if let Some(disk) = &volume.vsphere_volume {
        return of_kind("vsphereVolume", disk.volume_path.clone());
    }
    let disk = volume.portworx_volume.as_ref()?;
    of_kind("portworxVolume", disk.volume_id.clone())
}
