//! What is tried when a group finds no place: claims that are in the way give back their devices, and pods of
//! lower priority go.
//!
//! Upstream: framework/runtime/framework.go `RunPodGroupPostFilterPlugins`; plugins/dynamicresources
//! `PodGroupPostFilter`.

use std::sync::Arc;

use super::cycle::PodGroupCycle;
use super::{MemberResult, PodGroupCode, PodGroupDecision, PodGroupPreemption, PodGroupStatus};
use crate::api_call::{ClaimWrite, ClaimWrites};
use crate::cycle::engine::Decision;
use crate::plugins::dynamic_resources::{self, void_claim};

/// What DynamicResources says, whatever it did.
const CLAIMS_DONE: &str = "deallocation and deletion of ResourceClaims completed";
/// What it says of a group whose members it was not asked about. Upstream: `ErrNotFound`.
const NOT_ASKED: &str = "error in \"DynamicResources\" PodGroupPostFilter plugins: not found";

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodGroupPostFilter {
    /// What all plugins say, and what preemption found.
    pub preemption: PodGroupPreemption,
    /// Claims of members that give back their devices.
    pub claims: Vec<ClaimWrites>,
}

impl PodGroupCycle<'_> {
    /// Asks the plugins one after another. Nothing is done yet; the world is as before when this returns.
    pub fn post_filter(&mut self, decision: &PodGroupDecision, preempts: bool) -> PodGroupPostFilter {
        let mut claims = Vec::new();
        let mut reasons: Vec<Arc<str>> = Vec::new();
        let has_constraints = self.gates.topology && self.info.object.has_scheduling_constraints;
        if self.profile_has(dynamic_resources::NAME) && !has_constraints {
            if !self.has_asked_dynamic_resources(decision) {
                let status = PodGroupStatus::failed(NOT_ASKED);
                let preemption = PodGroupPreemption { status, ..PodGroupPreemption::default() };
                return PodGroupPostFilter { preemption, claims };
            }
            claims = self.void_claims(decision);
            reasons.push(CLAIMS_DONE.into());
        }
        let mut preemption = match preempts {
            true => self.preempt(),
            false => PodGroupPreemption {
                status: PodGroupStatus { code: PodGroupCode::Unschedulable, ..PodGroupStatus::default() },
                ..PodGroupPreemption::default()
            },
        };
        // What others said before counts only where the last one says the same.
        if preemption.status.code == PodGroupCode::Unschedulable {
            reasons.append(&mut preemption.status.reasons);
            preemption.status.reasons = reasons;
        }
        PodGroupPostFilter { preemption, claims }
    }

    pub(super) fn profile_has(&self, plugin: &str) -> bool {
        self.profile.plugins().iter().any(|it| it.name() == plugin)
    }

    /// PreFilter of DynamicResources was asked about some member, in some pass.
    fn has_asked_dynamic_resources(&self, decision: &PodGroupDecision) -> bool {
        decision.passes.iter().flat_map(|pass| &pass.members).any(|member| self.reached(member))
    }

    /// No plugin before DynamicResources rejected a member in PreFilter.
    fn reached(&self, member: &MemberResult) -> bool {
        let Decision::Unschedulable(diagnosis) = &member.decision else { return true };
        if diagnosis.node_count == 0 {
            return false;
        }
        if diagnosis.pre_filter.is_none() {
            return true;
        }
        let order = self.profile.filters();
        let own = order.iter().position(|&it| self.profile.name(it) == dynamic_resources::NAME);
        let place = |plugin: &&str| order.iter().position(|&it| self.profile.name(it) == *plugin);
        diagnosis.plugins.iter().filter_map(place).any(|at| Some(at) >= own)
    }

    /// The claims of members that were tried and that nobody else uses, as far as they are in the way.
    fn void_claims(&self, decision: &PodGroupDecision) -> Vec<ClaimWrites> {
        let world = &*self.world;
        let mut writes: Vec<ClaimWrites> = Vec::new();
        let tried = |pod| {
            let mut members = decision.passes.iter().flat_map(|pass| &pass.members);
            members.any(|member| member.pod == pod && self.reached(member))
        };
        for &pod in &self.info.members {
            let row = world.pods().get(pod);
            let class = world.class(row.class);
            if !dynamic_resources::may_have_claims(world, class) || !tried(pod) {
                continue;
            }
            if let Some(write) = void_claim(world, self.profile, class)
                && !writes.iter().any(|known| known.write == write)
            {
                writes.push(ClaimWrites { pod: row.uid, write });
            }
        }
        debug_assert!(writes.iter().all(|it| !matches!(it.write, ClaimWrite::Reserve(_))));
        writes
    }
}
