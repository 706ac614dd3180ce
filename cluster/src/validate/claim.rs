//! The status of resource claims, as far as the scheduler writes it.
//!
//! Upstream: pkg/apis/resource/validation/validation.go `validateResourceClaimStatusUpdate`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Errors, Path};
use crate::api::GenericObject;

/// So many consumers a claim may have. Upstream: `ResourceClaimReservedForMaxSize`.
const RESERVED_FOR_MAX: usize = 256;

fn status<'a>(object: &'a GenericObject, field: &str) -> Option<&'a Value> {
    object.body.get("status")?.get(field).filter(|value| !value.is_null())
}

impl Errors {
    /// Consumers are few, different, and those of a claim that has devices.
    pub(super) fn resource_claim(&mut self, object: &GenericObject) {
        let Some(Value::Array(consumers)) = status(object, "reservedFor") else { return };
        let path = Path::root("status");
        let path = path.field("reservedFor");
        if RESERVED_FOR_MAX < consumers.len() {
            let count = consumers.len();
            self.push(&path, format!("Too many: {count}: must have at most {RESERVED_FOR_MAX} items"));
            return;
        }
        let mut known = BTreeSet::new();
        for (at, consumer) in consumers.iter().enumerate() {
            let uid = consumer.get("uid").and_then(Value::as_str).unwrap_or_default();
            if !known.insert(uid) {
                self.duplicate(&path.index(at), uid);
            }
        }
        if !consumers.is_empty() && status(object, "allocation").is_none() {
            self.forbidden(&path, "may not be specified when `allocated` is not set");
        }
    }

    /// Devices are given back before others are given.
    pub(super) fn resource_claim_update(&mut self, new: &GenericObject, old: &GenericObject) {
        let allocation = |object| status(object, "allocation").cloned();
        let (Some(new), Some(old)) = (allocation(new), allocation(old)) else { return };
        if new != old {
            let path = Path::root("status");
            self.push(&path.field("allocation"), format!("Invalid value: {new}: field is immutable"));
        }
    }
}
