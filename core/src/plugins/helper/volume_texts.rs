//! Reasons of the volume plugins that name an object, in the API's words.

use crate::framework::status::Reason;

fn owned(text: String) -> Reason {
    Reason::Owned(text.into())
}

pub(crate) fn claim_not_found(name: &str) -> Reason {
    owned(format!("persistentvolumeclaim {name:?} not found"))
}

pub(crate) fn volume_not_found(name: &str) -> Reason {
    owned(format!("persistentvolume {name:?} not found"))
}

pub(crate) fn class_not_found(name: &str) -> Reason {
    owned(format!("storageclass.storage.k8s.io {name:?} not found"))
}

pub(crate) fn no_binding_mode(class: &str) -> Reason {
    owned(format!("VolumeBindingMode not set for StorageClass {class:?}"))
}

pub(crate) fn waiting_for_claim(name: &str) -> Reason {
    owned(format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"))
}

pub(crate) fn claim_lost(name: &str, volume: &str) -> Reason {
    owned(format!("persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"))
}

pub(crate) fn claim_deleted(name: &str) -> Reason {
    owned(format!("persistentvolumeclaim {name:?} is being deleted"))
}

pub(crate) fn not_owned(namespace: &str, claim: &str, pod: &str) -> Reason {
    owned(format!("PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"))
}

pub(crate) fn lookup_failed(namespace: &str, claim: &str) -> Reason {
    owned(format!("looking up PVC {namespace}/{claim}: persistentvolumeclaim {claim:?} not found"))
}

pub(crate) fn driver_missing(driver: &str) -> Reason {
    owned(format!("{driver} CSI driver is not installed on the node"))
}
