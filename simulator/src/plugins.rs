//! Plugins that make trouble on the way to a node: one holds pods back before the queue, two at
//! Permit, one has work before the binding. What they decide, and what they were asked, is on a
//! board that the simulation reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schedlab_core::api_call::{ApiCall, VolumeWrites};
use schedlab_core::class::PodClass;
use schedlab_core::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use schedlab_core::framework::points::{
    ActionType, EnqueueExtensions, EventResource, Handle, Permit, PermitPlugin, PodRef, PostBindPlugin,
    PreBindPlugin, PreBindProgress, PreBindStep, PreFlight, RegisteredEvent, ReservePlugin, Status,
};
use schedlab_core::framework::status::Reason;
use schedlab_core::ids::{NodeId, PodUid};
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::world::World;

use super::shape::{CLAIM_LABEL, PASS_LABEL, PERMIT_LABEL, PRE_BIND_LABEL};

/// After how long a pod that nobody lets through is rejected at Permit.
pub(super) const PERMIT_TIMEOUT_NS: u64 = 8_000_000_000;
/// How long PreBind waits.
const PRE_BIND_WAIT_NS: u64 = 700_000_000;
/// The name of the Permit plugin, which allows and rejects by it.
pub(super) const PERMIT: &str = "SimulatedPermit";
/// The name of the Permit plugin that wants the claim.
pub(super) const PASS: &str = "SimulatedPass";

/// What the Permit plugin that wants the claim does as long as there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Patience {
    /// The pod waits, and is rejected later.
    #[default]
    Waits,
    /// The pod is rejected.
    Rejects,
}

/// What the plugins of one scheduler know and were asked.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// The scheduler has seen the claim that pods wait for.
    pub(super) has_claim: bool,
    /// What becomes of pods that want it when they are at Permit.
    pub(super) patience: Patience,
    /// Pods that began to wait at Permit since the simulation last looked, and the plugins they wait for.
    pub(super) waiting: Vec<(PodUid, &'static str)>,
    /// Pods that PreBind refused since the simulation last looked.
    pub(super) refused: Vec<PodUid>,
    /// Pods that are reserved, and how often.
    pub(super) reserved: BTreeMap<PodUid, u32>,
    /// When the wait of a pod at PreBind ends.
    deadlines_ns: BTreeMap<PodUid, u64>,
    was_refused: BTreeMap<PodUid, ()>,
}

/// A board that plugins and the simulation share.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedBoard(Arc<Mutex<Board>>);

impl SharedBoard {
    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        // A panic of the scheduler is a finding; the board is still good to read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plugins that write on this board.
    pub(super) fn plugins(&self) -> [Arc<dyn Plugin>; 4] {
        [
            Arc::new(SimulatedClaim(self.clone())),
            Arc::new(SimulatedPermit(self.clone())),
            Arc::new(SimulatedPass(self.clone())),
            Arc::new(SimulatedPreBind(self.clone())),
        ]
    }
}

#[derive(Debug)]
struct SimulatedClaim(SharedBoard);

impl Plugin for SimulatedClaim {
    fn name(&self) -> &'static str {
        "SimulatedClaim"
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for SimulatedClaim {
    fn pre_enqueue(&self, _: &World, class: &PodClass) -> Option<PreEnqueueResult> {
        let waits = class.input.labels.contains_key(CLAIM_LABEL) && !self.0.lock().has_claim;
        waits.then(|| PreEnqueueResult::rejected_with_message("waiting for the claim"))
    }
}

impl EnqueueExtensions for SimulatedClaim {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::always(EventResource::StorageClass, ActionType::ADD)]
    }
}

#[derive(Debug)]
struct SimulatedPermit(SharedBoard);

impl Plugin for SimulatedPermit {
    fn name(&self) -> &'static str {
        PERMIT
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}

impl ReservePlugin for SimulatedPermit {
    fn reserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Result<(), Status> {
        *self.0.lock().reserved.entry(pod.uid).or_default() += 1;
        Ok(())
    }

    fn unreserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.0.lock().reserved.remove(&pod.uid);
    }
}

impl PermitPlugin for SimulatedPermit {
    fn permit(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        if !pod.class.input.labels.contains_key(PERMIT_LABEL) {
            return Permit::Approve;
        }
        self.0.lock().waiting.push((pod.uid, PERMIT));
        Permit::Wait { timeout_ns: PERMIT_TIMEOUT_NS }
    }
}

impl PostBindPlugin for SimulatedPermit {
    fn post_bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        self.0.lock().reserved.remove(&pod.uid);
    }
}

/// Decides by what it knows when it is asked, and says so later: what happens in between must bring
/// the pod back.
#[derive(Debug)]
struct SimulatedPass(SharedBoard);

impl Plugin for SimulatedPass {
    fn name(&self) -> &'static str {
        PASS
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PermitPlugin for SimulatedPass {
    fn permit(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        let mut board = self.0.lock();
        if board.has_claim || !pod.class.input.labels.contains_key(PASS_LABEL) {
            return Permit::Approve;
        }
        match board.patience {
            Patience::Rejects => Permit::Deny(Status::unschedulable(Reason::Text("no claim"))),
            Patience::Waits => {
                board.waiting.push((pod.uid, PASS));
                Permit::Wait { timeout_ns: PERMIT_TIMEOUT_NS }
            }
        }
    }
}

impl EnqueueExtensions for SimulatedPass {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::always(EventResource::StorageClass, ActionType::ADD)]
    }
}

#[derive(Debug)]
struct SimulatedPreBind(SharedBoard);

impl Plugin for SimulatedPreBind {
    fn name(&self) -> &'static str {
        "SimulatedPreBind"
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl EnqueueExtensions for SimulatedPreBind {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::always(EventResource::Node, ActionType::ADD)]
    }
}

impl SimulatedPreBind {
    fn wait(&self, pod: PodUid, now_ns: u64) -> PreBindStep {
        let mut board = self.0.lock();
        let deadline_ns = *board.deadlines_ns.entry(pod).or_insert(now_ns + PRE_BIND_WAIT_NS);
        PreBindStep::Wait { deadline_ns }
    }

    fn end_of_wait(&self, pod: PodUid, work: &str) -> PreBindStep {
        let mut board = self.0.lock();
        board.deadlines_ns.remove(&pod);
        if work == "refuse" && board.was_refused.insert(pod, ()).is_none() {
            board.refused.push(pod);
            return PreBindStep::Reject(Status::unschedulable(Reason::Text("not yet")));
        }
        PreBindStep::Done
    }
}

impl PreBindPlugin for SimulatedPreBind {
    fn pre_bind_pre_flight(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> PreFlight {
        self.0.lock().deadlines_ns.remove(&pod.uid);
        if pod.class.input.labels.contains_key(PRE_BIND_LABEL) {
            PreFlight::Run { allow_parallel: false }
        } else {
            PreFlight::Skip { allow_parallel: true }
        }
    }

    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        pod: PodRef<'_>,
        _: NodeId,
        progress: &PreBindProgress,
    ) -> PreBindStep {
        let work = pod.class.input.labels.get(PRE_BIND_LABEL).map_or("", String::as_str);
        match (work, progress) {
            ("", _) => PreBindStep::Done,
            ("call", PreBindProgress::Begin) => {
                let writes = VolumeWrites { pod: pod.uid, bindings: Vec::new(), provisions: Vec::new() };
                PreBindStep::Perform(vec![ApiCall::BindVolumes(Box::new(writes))])
            }
            (_, PreBindProgress::CallFailed(why)) => PreBindStep::Reject(Status::error(why)),
            ("call", _) => PreBindStep::Done,
            (_, PreBindProgress::TimedOut) => self.end_of_wait(pod.uid, work),
            _ => self.wait(pod.uid, handle.now_ns),
        }
    }
}
