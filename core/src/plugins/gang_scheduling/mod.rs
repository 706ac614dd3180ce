//! GangScheduling: no member of a gang is scheduled before minCount of them can be.
//!
//! ```text
//! PreEnqueue: minCount members known? ─▶ group cycle: minCount reachable? (see `crate::pod_group`)
//!   ─▶ Permit: minCount members on nodes? else the pod waits for the others
//! ```
//!
//! Upstream: plugins/gangscheduling/gangscheduling.go, without composite pod groups.

#[cfg(test)]
mod cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use crate::framework::points::{EnqueueExtensions, Handle, Permit, PermitPlugin, PodRef, Status};
use crate::ids::NodeId;
use crate::input::pod_group::PodGroupPolicy;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "GangScheduling";

/// How long a member waits for the others. Upstream: `permitTimeoutDuration`.
const PERMIT_TIMEOUT_NS: u64 = 5 * 60 * 1_000_000_000;

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: None,
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(GangScheduling)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

/// Holds gangs together.
#[derive(Clone, Copy, Debug)]
pub struct GangScheduling;

impl Plugin for GangScheduling {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for GangScheduling {
    /// A class says nothing of the group.
    fn pre_enqueue(&self, _: &World, _: &PodClass) -> Option<PreEnqueueResult> {
        None
    }

    /// Upstream: `preEnqueueHierarchiesDisabled`.
    fn pre_enqueue_pod(&self, world: &World, pod: PodRef<'_>) -> Option<PreEnqueueResult> {
        let groups = world.pod_groups();
        let group = groups.get(groups.of_pod(pod.id)?);
        let Some(object) = group.object() else {
            let name = group.name();
            return Some(PreEnqueueResult::rejected_with_message(&format!(
                "waiting for pods's pod group {name:?} to appear in scheduling queue"
            )));
        };
        let PodGroupPolicy::Gang { .. } = object.policy else { return None };
        (group.members().len() < object.policy.min_count()).then(|| {
            PreEnqueueResult::rejected_with_message(
                "waiting for minCount pods from a gang to appear in scheduling queue",
            )
        })
    }
}

impl PermitPlugin for GangScheduling {
    /// Upstream: `permitPodGroup`.
    fn permit(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        let groups = handle.world.pod_groups();
        let Some(id) = groups.of_pod(pod.id) else { return Permit::Approve };
        let group = groups.get(id);
        let Some(object) = group.object() else {
            let (namespace, name) = (group.namespace(), group.name());
            let why =
                format!("failed to get podGroup {namespace}/{name}: pod group {namespace}/{name} not found");
            return Permit::Deny(Status::error(&why));
        };
        let PodGroupPolicy::Gang { .. } = object.policy else { return Permit::Approve };
        let pods = handle.world.pods();
        if group.scheduled_pods_count() < object.policy.min_count() {
            // They may have waited for this one.
            let waiting = group.members().iter().map(|&member| pods.get(member));
            waiting.filter(|row| row.node().is_none()).for_each(|row| handle.activate(row.uid));
            return Permit::Wait { timeout_ns: PERMIT_TIMEOUT_NS };
        }
        for waiting in handle.waiting {
            if groups.of_pod(waiting.id) == Some(id) {
                handle.allow(waiting.uid, NAME);
            }
        }
        Permit::Approve
    }
}
