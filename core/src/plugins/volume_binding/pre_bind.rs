//! PreBind: the API learns which volume each open claim gets, or where it is to be provisioned.

use super::VolumeBinding;
use super::writes::volume_writes;
use crate::api_call::ApiCall;
use crate::framework::points::{
    Handle, PodRef, PreBindPlugin, PreBindProgress, PreBindStep, PreFlight, Status,
};
use crate::ids::NodeId;

impl PreBindPlugin for VolumeBinding {
    fn pre_bind_pre_flight(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> PreFlight {
        match handle.world.volumes_of(pod.uid) {
            Some(_) => PreFlight::Run { allow_parallel: true },
            None => PreFlight::Skip { allow_parallel: true },
        }
    }

    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        pod: PodRef<'_>,
        node: NodeId,
        progress: &PreBindProgress,
    ) -> PreBindStep {
        let world = handle.world;
        match (world.volumes_of(pod.uid), progress) {
            (Some(decision), PreBindProgress::Begin) => {
                let writes = volume_writes(world, pod.uid, decision, node);
                PreBindStep::Perform(vec![ApiCall::BindVolumes(Box::new(writes))])
            }
            (_, PreBindProgress::CallFailed(why)) => {
                PreBindStep::Reject(Status::error(&format!("binding volumes: {why}")))
            }
            _ => PreBindStep::Done,
        }
    }
}
