//! The claims of a pod: which there are, and whether they can be allocated at all.
//!
//! Upstream: dynamicresources.go `foreachPodResourceClaim`, `PreFilter`, claims.go; resourceclaim.go `Name`,
//! `IsForPod`.

use std::sync::Arc;

use super::{EXTENDED_CLAIM_NAME, extended};
use crate::class::PodClass;
use crate::dra::DraStore;
use crate::input::dra::{GeneratedClaim, PodClaimSource, PodResourceClaimInput, ResourceClaimInput};
use crate::world::World;

/// The claims of a pod: its own in the order of its spec, then the one for its extended resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodClaims {
    pub(super) all: Vec<Arc<ResourceClaimInput>>,
    /// The last of them is for extended resources.
    pub(super) has_extended: bool,
}

impl PodClaims {
    /// The pod has claims of its own.
    pub(super) fn has_user_claims(&self) -> bool {
        self.all.len() > usize::from(self.has_extended)
    }

    pub(super) fn extended(&self) -> Option<&Arc<ResourceClaimInput>> {
        self.all.last().filter(|_| self.has_extended)
    }

    /// Some claim has no devices yet.
    pub(super) fn has_unallocated(&self) -> bool {
        self.all.iter().any(|claim| claim.allocation.is_none())
    }
}

/// The name of a pod in messages. Pods that have claims say who they are.
fn pod_name(class: &PodClass) -> String {
    let name = class.input.identity.as_ref().map_or("", |identity| identity.name.as_str());
    format!("{}/{name}", class.input.namespace)
}

/// The claim that an entry of a pod stands for; `None` when none is needed.
pub(super) fn claim_of<'a>(
    store: &'a DraStore,
    class: &PodClass,
    entry: &PodResourceClaimInput,
) -> Result<Option<&'a Arc<ResourceClaimInput>>, String> {
    let namespace = &class.input.namespace;
    let (name, is_owned) = match &entry.source {
        PodClaimSource::Named(name) => (name, false),
        PodClaimSource::Template(GeneratedClaim::Named(name)) => (name, true),
        PodClaimSource::Template(GeneratedClaim::NotNeeded) => return Ok(None),
        PodClaimSource::Template(GeneratedClaim::Pending) => {
            return Err(format!("pod \"{}\": ResourceClaim not created yet", pod_name(class)));
        }
        PodClaimSource::Unknown => {
            let (pod, name) = (pod_name(class), &entry.name);
            return Err(format!(
                "pod \"{pod}\", spec.resourceClaim {name:?}: none of the supported fields are set"
            ));
        }
    };
    let claim = store.claim(namespace, name);
    let claim = claim.ok_or_else(|| format!("could not find ResourceClaim \"{namespace}/{name}\""))?;
    if claim.is_deleting {
        return Err(format!("resourceclaim {name:?} is being deleted"));
    }
    let owner = claim.controller.as_ref().map(|(_, uid)| uid);
    if is_owned && owner != class.input.identity.as_ref().map(|identity| &identity.uid) {
        let pod = pod_name(class);
        return Err(format!(
            "ResourceClaim {namespace}/{name} was not created for Pod {pod} (Pod is not owner)"
        ));
    }
    Ok(Some(claim))
}

/// Why the pod's claims are not all there, if so.
pub(super) fn missing(store: &DraStore, class: &PodClass) -> Option<String> {
    class.input.resource_claims.iter().find_map(|entry| claim_of(store, class, entry).err())
}

/// The claims of a pod. An error is why no node can have it.
pub(super) fn claims_of(world: &World, class: &PodClass) -> Result<PodClaims, String> {
    let store = world.dra();
    let mut claims = PodClaims::default();
    for entry in &class.input.resource_claims {
        claims.all.extend(claim_of(store, class, entry)?.cloned());
    }
    if let Some(extended) = extended::claim_of(world, class) {
        claims.all.push(extended);
        claims.has_extended = true;
    }
    // However many consumers an allocated claim has, one more is not refused here: `CanBeReserved` always
    // says yes upstream, and the API server has the limit.
    for claim in claims.all.iter().filter(|claim| claim.allocation.is_none()) {
        check(store, claim)?;
    }
    Ok(claims)
}

/// Whether a claim can be allocated anywhere.
fn check(store: &DraStore, claim: &ResourceClaimInput) -> Result<(), String> {
    let name = || format!("resource claim {}/{}", claim.namespace, claim.name);
    if store.is_pending(&claim.uid) {
        return Err(format!("{} is in the process of being allocated", name()));
    }
    if claim.is_for_extended_resources || claim.name == EXTENDED_CLAIM_NAME {
        return Ok(());
    }
    for request in &claim.requests {
        let exists = |name: String, class: &str| match store.class(class) {
            Some(_) => Ok(()),
            None => Err(format!("request {name}: device class {class} does not exist")),
        };
        if let Some(exactly) = &request.exactly {
            exists(request.name.to_string(), &exactly.device_class_name)?;
        } else if request.first_available.is_empty() {
            return Err(format!("{}, request {}: unknown request type", name(), request.name));
        }
        if request.exactly.is_none() {
            for (alternative, it) in &request.first_available {
                exists(format!("{}/{alternative}", request.name), &it.device_class_name)?;
            }
        }
    }
    Ok(())
}
