//! What some mutants need to remember. See [`crate::mutants`].

use rustc_hash::FxHashMap;

use super::Scheduler;
use crate::ids::PodUid;
use crate::input::NodeInput;
use crate::mutants::Mutant;
use crate::pods::PodState;

/// What defects remember.
#[derive(Debug, Default)]
pub(super) struct MutantState {
    /// Pods that are gone, but whose binding is not over.
    departed: Vec<PodUid>,
    /// Preemptors that are held back until everything else was done.
    late: Vec<PodUid>,
    /// What nodes were when they were seen last.
    nodes: FxHashMap<String, NodeInput>,
}

impl MutantState {
    pub(super) fn ends_late(&mut self, preemptor: PodUid) {
        self.late.push(preemptor);
    }
}

impl Scheduler {
    /// `CancelledVictim`: the preemption ends after the event that was to wake the preemptor.
    pub(super) fn end_late(&mut self) {
        for preemptor in std::mem::take(&mut self.mutant_state.late) {
            self.preemption_executor.end(preemptor);
        }
    }

    /// `NodeReborn`: a node that comes back is taken for the node it was.
    pub(super) fn taken_for(&mut self, node: &NodeInput) -> NodeInput {
        if !self.settings.mutants.has(Mutant::NodeReborn) {
            return node.clone();
        }
        let id = self.world.node_id(&node.name);
        let is_there = self.nodes.get(id.index()).is_some_and(Option::is_some);
        if !is_there && let Some(known) = self.mutant_state.nodes.get(&node.name) {
            return known.clone();
        }
        self.mutant_state.nodes.insert(node.name.clone(), node.clone());
        node.clone()
    }

    /// `BindingVictimStays`, `MissedDelete`: whether the end of a pod goes unnoticed.
    pub(super) fn misses_removal(&mut self, uid: PodUid) -> bool {
        let Some(pod) = self.world.pods().find(uid) else { return false };
        let is_assumed = self.world.pods().get(pod).state == PodState::Assumed;
        let is_binding = self.binding_cycles.get(uid).is_some();
        let mutants = self.settings.mutants;
        if mutants.has(Mutant::BindingVictimStays) && is_assumed && is_binding {
            self.mutant_state.departed.push(uid);
            return true;
        }
        mutants.has(Mutant::MissedDelete) && is_assumed && !is_binding
    }

    /// `BindingVictimStays`: the binding is over, and the pod is gone at last.
    pub(super) fn bury(&mut self, uid: PodUid) {
        if let Some(at) = self.mutant_state.departed.iter().position(|&departed| departed == uid) {
            self.mutant_state.departed.swap_remove(at);
            self.delete_pod_from_cache_or_queue(uid);
        }
    }
}
