//! What the volume plugins' hints share.

use crate::class::PodClass;
use crate::framework::event::{Event, EventObject};
use crate::input::VolumeSourceInput;
use crate::storage::StorageNews;
use crate::storage::csi::InTreeVolumePlugin;
use crate::world::World;

/// What the event says is new about its object.
pub(crate) fn news(event: &Event) -> StorageNews {
    match &event.object {
        EventObject::Named { news, .. } => *news,
        _ => StorageNews::Anything,
    }
}

/// Whether the claim of an event is one that the pod names, or may be one that is made for it.
pub(crate) fn is_claim_of(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { namespace, name, .. } = &event.object else { return true };
    let name = world.vocabulary.symbols.text(*name);
    let is_generated = |pod: &str, volume: &str| {
        name.strip_prefix(pod).and_then(|rest| rest.strip_prefix('-')) == Some(volume)
    };
    *namespace == class.namespace
        && class.input.volumes.iter().any(|volume| match &volume.source {
            VolumeSourceInput::Claim { claim_name, .. } => claim_name == name,
            VolumeSourceInput::Ephemeral { pod_name, .. } => is_generated(pod_name, &volume.name),
            _ => false,
        })
}

/// Whether the claim of an event is one that the pod names.
pub(crate) fn is_named_claim_of(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { namespace, name, .. } = &event.object else { return true };
    let name = world.vocabulary.symbols.text(*name);
    *namespace == class.namespace
        && class.input.volumes.iter().any(
            |volume| matches!(&volume.source, VolumeSourceInput::Claim { claim_name, .. } if claim_name == name),
        )
}

/// A volume that takes up an attachment: a claim, or an in-tree disk that a driver has taken over.
pub(crate) fn is_attached(source: &VolumeSourceInput) -> bool {
    matches!(source, VolumeSourceInput::Claim { .. } | VolumeSourceInput::Ephemeral { .. })
        || inline_driver(source).is_some()
}

/// The driver that has taken over a disk which the pod names itself.
/// Upstream: csi-translation-lib/translate.go `IsInlineMigratable`.
pub(crate) fn inline_driver(source: &VolumeSourceInput) -> Option<&'static str> {
    let plugin = match source {
        VolumeSourceInput::GcePersistentDisk { .. } => InTreeVolumePlugin::GcePersistentDisk,
        VolumeSourceInput::AwsElasticBlockStore { .. } => InTreeVolumePlugin::AwsElasticBlockStore,
        VolumeSourceInput::InTree { kind, .. } => match kind.as_str() {
            "cinder" => InTreeVolumePlugin::Cinder,
            "portworxVolume" => InTreeVolumePlugin::Portworx,
            kind if kind.starts_with("azureDisk") => InTreeVolumePlugin::AzureDisk,
            "azureFile" => return Some("file.csi.azure.com"),
            "vsphereVolume" => return Some("csi.vsphere.vmware.com"),
            _ => return None,
        },
        _ => return None,
    };
    Some(plugin.driver())
}
