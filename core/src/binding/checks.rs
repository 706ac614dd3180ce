//! What must hold of binding cycles and calls between two events. See `Scheduler::check`.

use super::api_dispatcher::{ApiDispatcher, CallId, DispatchMode};
use super::binding_cycle::{BindingCycles, BindingStage};

impl BindingCycles {
    /// Panics where cycles, waits and the owners of calls do not agree.
    pub(crate) fn check(&self) {
        let mut awaited = 0;
        for uid in self.pods() {
            let Some(cycle) = self.get(uid) else { continue };
            assert_eq!(cycle.uid, uid, "a cycle is found by its own pod");
            let calls: &[CallId] = match &cycle.stage {
                BindingStage::WritingNominatedNodeName(call) | BindingStage::Binding(call) => {
                    std::slice::from_ref(call)
                }
                BindingStage::PreBindCalls { left, .. } => {
                    assert!(!left.is_empty(), "a plugin whose calls are answered is asked again");
                    left
                }
                BindingStage::Permit => {
                    assert!(self.is_waiting_on_permit(uid), "some plugin holds back a pod at Permit");
                    &[]
                }
                BindingStage::PreBindWait { .. } => &[],
            };
            for &call in calls {
                assert!(self.awaits(call), "an answer finds the pod that waits for it");
            }
            awaited += calls.len();
        }
        assert_eq!(self.owned_calls(), awaited, "a call that is awaited has one owner");
        self.check_waits();
        for waiting in self.waiting_pods() {
            let cycle = self.get(waiting.uid);
            assert!(cycle.is_some(), "a pod that Permit holds back has a cycle");
            assert_eq!(cycle.map(|cycle| cycle.node), Some(waiting.node), "it waits for its own node");
            assert!(!waiting.pending.is_empty(), "a pod that nobody holds back goes on");
        }
    }
}

impl ApiDispatcher {
    /// Panics where lanes, calls and counts do not agree.
    pub(crate) fn check(&self) {
        self.check_lanes();
        let counts = self.counts();
        assert!(counts.sent >= counts.retried, "a call that is made again was sent");
        if let DispatchMode::Queued { parallel_max } = self.mode() {
            assert!(self.on_the_way() <= parallel_max, "only so many calls are on their way");
        } else {
            assert_eq!(self.on_the_way(), 0, "without the queue no call has a lane");
        }
    }
}
