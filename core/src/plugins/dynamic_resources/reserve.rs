//! What is taken for a pod when its node is chosen, and written before it is bound.
//!
//! Upstream: dynamicresources.go `Reserve`, `PreBind`, `bindClaim`.

use std::sync::Arc;

use super::DynamicResources;
use super::claims::claims_of;
use super::outcome::{Outcome, look_at};
use crate::api_call::{ApiCall, ClaimWrite, ClaimWrites};
use crate::class::PodClass;
use crate::dra::{DeviceReservation, PendingAllocation};
use crate::framework::points::{
    Handle, PodRef, PreBindPlugin, PreBindProgress, PreBindStep, PreFlight, Status,
};
use crate::ids::NodeId;
use crate::world::World;

/// What the claims of a pod get on a row that passed the filter; `None` for a pod without claims.
#[must_use]
pub fn decide_devices(world: &World, class: &PodClass, row: usize) -> Option<DeviceReservation> {
    if !super::may_have_claims(world, class) {
        return None;
    }
    let claims = claims_of(world, class).ok().filter(|claims| !claims.all.is_empty())?;
    let Outcome::Fits(found, extended) = look_at(world, class, &claims, row) else { return None };
    let uid = class.input.identity.as_ref().map(|identity| &identity.uid);
    let is_new = |reserved: &[String]| uid.is_none_or(|uid| !reserved.contains(uid));
    let shared = claims.all.iter().filter(|claim| claim.allocation.is_some() && is_new(&claim.reserved_for));
    Some(DeviceReservation {
        shared: shared.map(|claim| (claim.namespace.clone(), claim.name.clone())).collect(),
        allocations: found
            .into_iter()
            .map(|(claim, allocation)| PendingAllocation { claim, allocation: Arc::new(allocation) })
            .collect(),
        extended,
    })
}

impl PreBindPlugin for DynamicResources {
    fn pre_bind_pre_flight(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> PreFlight {
        match handle.world.dra().reservation(pod.uid) {
            Some(_) => PreFlight::Run { allow_parallel: true },
            None => PreFlight::Skip { allow_parallel: true },
        }
    }

    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        pod: PodRef<'_>,
        _: NodeId,
        progress: &PreBindProgress,
    ) -> PreBindStep {
        match (handle.world.dra().reservation(pod.uid), progress) {
            (Some(reservation), PreBindProgress::Begin) => {
                let write = ClaimWrite::Reserve(Arc::clone(reservation));
                PreBindStep::Perform(vec![ApiCall::WriteClaims(Box::new(ClaimWrites {
                    pod: pod.uid,
                    write,
                }))])
            }
            (_, PreBindProgress::CallFailed(why)) => PreBindStep::Reject(Status::error(why)),
            _ => PreBindStep::Done,
        }
    }
}
