//! Waiting until the claims that a pod waits for are bound: a controller of volumes does it, in its time.
//!
//! Upstream: volumebinding/binder.go `checkBindings`.

use std::time::{Duration, Instant};

use schedlab_cluster::ApiError;
use schedlab_cluster::api::GenericObject;
use schedlab_core::api_call::VolumeWrites;
use serde_json::Value;

use crate::store::Store;

/// Upstream: `bindTimeoutSeconds` of VolumeBinding's arguments.
const BIND_TIMEOUT: Duration = Duration::from_secs(600);
/// Upstream looks every second; this is a look at a table.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Waits until the claims are bound; an error when one never will be.
pub(crate) fn wait(store: &Store, writes: &VolumeWrites) -> Result<(), ApiError> {
    let end = Instant::now() + BIND_TIMEOUT;
    // The writes are known to the server, and not yet here: a missing annotation proves nothing at first.
    let mut seen = vec![false; writes.provisions.len()];
    while !are_bound(store, writes, &mut seen)? {
        if end <= Instant::now() {
            let seconds = BIND_TIMEOUT.as_secs();
            return Err(ApiError::bad_request(format!("binding volumes: no answer within {seconds} s")));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

fn are_bound(store: &Store, writes: &VolumeWrites, seen: &mut [bool]) -> Result<bool, ApiError> {
    let state = store.lock();
    let claim = |namespace: &str, name: &str| {
        let claim = state.other("PersistentVolumeClaim", namespace, name);
        claim.ok_or_else(|| ApiError::not_found("persistentvolumeclaims", name))
    };
    let mut all = true;
    for binding in &writes.bindings {
        all &= is_bound(claim(&binding.claim.namespace, &binding.claim.name)?);
    }
    for (provision, seen) in writes.provisions.iter().zip(seen) {
        let claim = claim(&provision.namespace, &provision.name)?;
        if is_bound(claim) {
            continue;
        }
        all = false;
        let selected = annotation(claim, SELECTED_NODE);
        *seen |= selected == Some(provision.node.as_str());
        // The provisioner gives up on a node by taking the annotation away.
        if *seen && selected != Some(provision.node.as_str()) {
            let why = format!("selectedNode annotation reset for PVC {:?}", provision.name);
            return Err(ApiError::conflict("persistentvolumeclaims", &provision.name, why));
        }
    }
    Ok(all)
}

fn is_bound(claim: &GenericObject) -> bool {
    let volume = claim.body.get("spec").and_then(|spec| spec.get("volumeName")).and_then(Value::as_str);
    volume.is_some_and(|name| !name.is_empty()) && annotation(claim, BIND_COMPLETED).is_some()
}

fn annotation<'a>(object: &'a GenericObject, key: &str) -> Option<&'a str> {
    object.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}
