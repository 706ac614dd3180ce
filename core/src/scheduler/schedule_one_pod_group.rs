//! The scheduling cycle of a pod group: from the queue to nodes or back, all members at once.
//!
//! Upstream: schedule_one_podgroup.go `scheduleOnePodGroup`, `submitPodGroupAlgorithmResult`.

use std::sync::Arc;

use super::pod_group_queueing::uid_of_group;
use super::scheduling_failure::SchedulingFailure;
use super::{ApiCall, ConditionReason, PodEventNote, PodEventReason, ScheduleOneOutcome, Scheduler};
use crate::api_call::PodGroupStatusPatch;
use crate::cycle::engine::Decision;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::points::{NominatingInfo, Request};
use crate::ids::{NodeId, PodGroupId, PodId};
use crate::input::pod_group::PodGroupInput;
use crate::known_gaps::KnownGaps;
use crate::mutants::Mutant;
use crate::plugins::gang_scheduling;
use crate::pod_group::{
    MemberResult, NoObserver, PodGroupCode, PodGroupCycle, PodGroupDecision, PodGroupInfo,
    PodGroupPostFilter, PodGroupPreemption, PodGroupStatus, changed_condition, validate,
};
use crate::queue::pod_group_queue::QueuedMember;
use crate::queue::scheduling_queue::{Entity, GroupAttempt};
use crate::queue::{PluginNumberSet, ProfileNumber};

/// A group that was tried.
struct Attempted {
    group: PodGroupId,
    entity: Entity,
    profile: ProfileNumber,
    decision: PodGroupDecision,
    preemption: Option<PodGroupPreemption>,
    /// What is said of the group at the end.
    status: PodGroupStatus,
}

impl Attempted {
    fn is_waiting_on_preemption(&self) -> bool {
        self.preemption.as_ref().is_some_and(|preemption| preemption.status.is_success())
    }

    /// What preemption says of a member's nomination.
    fn nominated(&self, pod: PodId) -> Option<NominatingInfo> {
        let preemption = self.preemption.as_ref().filter(|_| self.is_waiting_on_preemption())?;
        let of_pod = |&&(member, _): &&(PodId, Option<NodeId>)| member == pod;
        let &(_, node) = preemption.nominated.iter().find(of_pod)?;
        Some(node.map_or(NominatingInfo::Clear, NominatingInfo::Node))
    }
}

impl Scheduler {
    /// Tries a group whose entry was popped. What became of its members is told one by one.
    pub(super) fn schedule_one_pod_group(&mut self, group: PodGroupId, leader: PodId) {
        self.world.settle();
        let members = self.begin_pod_group(group, leader);
        let entity = self.queue.take_entity(leader);
        let object = self.world.pod_groups().get(group).object().map(Arc::clone);
        let object = object.expect("a group without an object is not in the queue");
        let class = self.world.pods().get(leader).class;
        let profile = self.profile_of(class).expect("a queued pod is one that a profile takes");
        let pods: Vec<PodId> = members.iter().map(|member| member.pod).collect();
        let mut info = PodGroupInfo { id: group, object, members: pods };
        let gates = self.settings.gates.pod_groups();
        if let Err(error) = validate(&self.world, &info, gates) {
            let decision =
                PodGroupDecision { status: PodGroupStatus::failed(error), ..PodGroupDecision::default() };
            let status = decision.status.clone();
            let attempted = Attempted { group, entity, profile, decision, preemption: None, status };
            return self.submit_pod_group(&attempted, &info, &members);
        }
        info.members.retain(|&pod| {
            let row = self.world.pods().get(pod);
            row.node().is_none() && !self.world.class(row.class).input.is_terminating
        });
        if info.members.is_empty() {
            return self.end_pod_group(group, entity, GroupAttempt::Success { has_failed_members: false });
        }
        self.cycle_begun_ns = self.timing.now_ns().unwrap_or(self.now_ns);
        let (decision, preemption) = self.run_pod_group_cycle(&info, profile);
        let status = match &preemption {
            Some(preemption) => decision.status.clone().after_preemption(preemption),
            None => decision.status.clone(),
        };
        let attempted = Attempted { group, entity, profile, decision, preemption, status };
        self.submit_pod_group(&attempted, &info, &members);
    }

    fn begin_pod_group(&mut self, group: PodGroupId, leader: PodId) -> Vec<QueuedMember> {
        let active_ns = self.queue.active_ns(leader);
        let queued = self.pod_group_queue.entry(group);
        queued.begin();
        let members = queued.members().to_vec();
        for member in &members {
            self.queue.count_attempt(member.pod, member.attempts, active_ns);
            self.world.pods_mut().get_mut(member.pod).queued_ns = active_ns;
        }
        members
    }

    fn run_pod_group_cycle(
        &mut self,
        info: &PodGroupInfo,
        profile: ProfileNumber,
    ) -> (PodGroupDecision, Option<PodGroupPreemption>) {
        let gates = self.settings.gates.pod_groups();
        let Scheduler { world, engine, parts, pod_group_scratch: scratch, counters, .. } = self;
        let parts = &parts[usize::from(profile.0)];
        let mut cycle = PodGroupCycle { world, engine, profile: &parts.profile, info, gates, scratch };
        let decision = cycle.run(&mut NoObserver);
        if decision.status.code != PodGroupCode::Unschedulable {
            return (decision, None);
        }
        let preempts = parts.preemption.is_some();
        counters.preemption_attempts += u64::from(preempts);
        let PodGroupPostFilter { preemption, claims } = cycle.post_filter(&decision, preempts);
        for writes in claims {
            self.add_api_call(ApiCall::WriteClaims(Box::new(writes)));
        }
        (decision, Some(preemption))
    }

    /// Binds the members of a group that has a place, sends the others back, and says what came of it.
    fn submit_pod_group(&mut self, attempted: &Attempted, info: &PodGroupInfo, tried: &[QueuedMember]) {
        let members = attempted.decision.members();
        let is_placed = attempted.status.is_success() || self.settings.mutants.has(Mutant::GangBoundInPart);
        debug_assert!(members.len() <= info.members.len(), "only members are tried");
        debug_assert!(
            members.iter().zip(&info.members).all(|(result, &pod)| result.pod == pod),
            "members are tried in their order"
        );
        debug_assert!(
            !attempted.status.is_success() || members.iter().any(|it| it.row().is_some()),
            "a placed group has placed members"
        );
        let mut has_failed_members = false;
        // In the same order, though not all of them.
        let mut tried = tried.iter();
        for (at, &pod) in info.members.iter().enumerate() {
            let attempts = tried.find(|member| member.pod == pod).map_or(1, |member| member.attempts);
            let outcome = match (members.get(at), is_placed) {
                (Some(MemberResult { decision: Decision::Chosen(choice), .. }), true) => {
                    self.assume(pod, attempted.profile, *choice)
                }
                (result, _) => {
                    has_failed_members = true;
                    self.fail_pod_group_member(attempted, (pod, attempts), result)
                }
            };
            self.pod_group_outcomes.push_back(outcome);
        }
        self.allow_waiting_members(attempted.group);
        if let Some(preemption) =
            attempted.preemption.as_ref().filter(|_| attempted.is_waiting_on_preemption())
        {
            self.actuate_pod_group_preemption(attempted.group, &info.object, preemption);
        }
        self.update_pod_group_condition(attempted.group, &info.object, &attempted.status);
        let attempt = match attempted.decision.status.code {
            PodGroupCode::Success => GroupAttempt::Success { has_failed_members },
            PodGroupCode::Unschedulable | PodGroupCode::UnschedulableAndUnresolvable => {
                GroupAttempt::Rejected
            }
            PodGroupCode::Wait | PodGroupCode::Error => GroupAttempt::Error,
        };
        self.end_pod_group(attempted.group, attempted.entity, attempt);
        self.serve_requests();
    }

    /// A member goes back to the queue, with its own reason if it has one, else with the group's.
    fn fail_pod_group_member(
        &mut self,
        attempted: &Attempted,
        (pod, attempts): (PodId, u32),
        result: Option<&MemberResult>,
    ) -> ScheduleOneOutcome {
        let Attempted { status, decision, profile, .. } = attempted;
        let diagnosis = result.and_then(|result| match &result.decision {
            Decision::Unschedulable(diagnosis) => Some(diagnosis),
            _ => None,
        });
        let nobody = PluginNumberSet::NONE;
        let failure = |condition, nomination| SchedulingFailure {
            unschedulable: nobody,
            pending: nobody,
            condition,
            nomination,
        };
        if status.code == PodGroupCode::Error {
            let own = diagnosis.and_then(|diagnosis| diagnosis.error.clone());
            let text = own.unwrap_or_else(|| status.error_text().into());
            let condition = self.conditions.id(ConditionReason::SchedulerError, &text);
            self.readd_pod_group_member(pod, attempts, (failure(condition, NominatingInfo::Clear), true));
            return ScheduleOneOutcome::Failed { pod };
        }
        let nominated = attempted.nominated(pod);
        let failure = match (diagnosis, result) {
            (Some(diagnosis), _) => {
                let unschedulable = self.blamed(diagnosis, *profile);
                let condition = self.pod_group_member_condition(diagnosis);
                let nomination = nominated.unwrap_or_else(|| self.nomination_of_a_failed_member());
                SchedulingFailure { unschedulable, pending: nobody, condition, nomination }
            }
            // It found a node, the group has no place.
            (None, Some(_)) if attempted.is_waiting_on_preemption() => {
                let condition = self.conditions.id(ConditionReason::Unschedulable, &status.message().into());
                failure(condition, nominated.unwrap_or(NominatingInfo::Keep))
            }
            (None, Some(result)) => {
                let said = PodGroupStatus::unschedulable(vec![status.message().into()]).message();
                let condition = self.conditions.id(ConditionReason::Unschedulable, &said.into());
                let nomination = match result.row() {
                    _ if self.settings.mutants.has(Mutant::GangKeepsNomination) => NominatingInfo::Keep,
                    Some(row) if self.settings.mutants.has(Mutant::GangKeepsRoom) => {
                        NominatingInfo::Node(self.world.nodes().columns().id[row])
                    }
                    _ => NominatingInfo::Clear,
                };
                failure(condition, nomination)
            }
            // It was not tried.
            (None, None) => {
                let text = decision.status.message().into();
                let condition = self.conditions.id(ConditionReason::Unschedulable, &text);
                let nomination = nominated.unwrap_or_else(|| self.nomination_of_a_failed_member());
                failure(condition, nomination)
            }
        };
        self.readd_pod_group_member(pod, attempts, (failure, false));
        ScheduleOneOutcome::Unschedulable { pod }
    }

    /// What becomes of the nomination of a member that found no node, when preemption does not help its group.
    ///
    /// Differs: upstream leaves it (`schedulingAlgorithm` in a group's cycle), so that a gang that has given up
    /// goes on holding room against others; we do as well when its known gaps are asked for
    /// (`failed_member_gives_its_nomination_back_unless_known_gaps_are_upstreams`).
    fn nomination_of_a_failed_member(&self) -> NominatingInfo {
        let keeps = self.settings.mutants.has(Mutant::GangKeepsNomination);
        match self.settings.known_gaps {
            KnownGaps::Upstream => NominatingInfo::Keep,
            KnownGaps::Mended if keeps => NominatingInfo::Keep,
            KnownGaps::Mended => NominatingInfo::Clear,
        }
    }

    fn pod_group_member_condition(&mut self, diagnosis: &Arc<Diagnosis>) -> u32 {
        let Scheduler { conditions, world, .. } = self;
        conditions.of(diagnosis, &super::post_filter::PostFilterWords::None, world)
    }

    /// A member that was tried, or whose binding failed, waits again.
    pub(super) fn readd_pod_group_member(
        &mut self,
        pod: PodId,
        attempts: u32,
        (failure, is_error): (SchedulingFailure, bool),
    ) {
        let counts = self.attempt_counts(pod);
        if is_error {
            counts.errors += 1;
        } else {
            counts.unschedulable += 1;
        }
        let group = self.group_of(pod).expect("the pod is a member");
        self.add_pod_group_member_to_queue(pod, group, attempts);
        self.note_scheduling_failure(pod, failure);
    }

    /// Members that wait at Permit for the last of them: minCount is reached. Those that nothing else holds
    /// up were bound without asking.
    fn allow_waiting_members(&mut self, group: PodGroupId) {
        let groups = self.world.pod_groups();
        let state = groups.get(group);
        let is_reached =
            state.object().is_some_and(|object| state.scheduled_pods_count() >= object.policy.min_count());
        if !is_reached || self.binding_cycles.is_empty() {
            return;
        }
        let waiting = self.binding_cycles.waiting_pods().iter();
        let own = waiting.filter(|waiting| groups.of_pod(waiting.id) == Some(group));
        let allowed: Vec<Request> =
            own.map(|waiting| Request::Allow { pod: waiting.uid, plugin: gang_scheduling::NAME }).collect();
        self.requests.extend(allowed);
    }

    /// Upstream: executor.go `actuatePodGroupPreemption`.
    fn actuate_pod_group_preemption(
        &mut self,
        group: PodGroupId,
        object: &PodGroupInput,
        preemption: &PodGroupPreemption,
    ) {
        if preemption.victims.is_empty() {
            return;
        }
        debug_assert!(
            preemption.victims.iter().all(|&pod| self.world.pods().get(pod).node().is_some()),
            "a victim is on a node"
        );
        debug_assert!(
            preemption.victims.iter().all(|&pod| self.group_of(pod) != Some(group)),
            "no member of the group is its victim"
        );
        self.counters.preemption_victims.observe(preemption.victims.len() as u64);
        let note: Arc<str> = format!("Preempted by podgroup {} on node cluster", object.uid).into();
        for &victim in &preemption.victims {
            let uid = self.world.pods().get(victim).uid;
            self.note_problem(uid, PodEventReason::Preempted, PodEventNote::Text(Arc::clone(&note)));
        }
        self.prepare_candidate(uid_of_group(group), &preemption.victims);
    }

    /// Upstream: `updatePodGroupCondition`.
    fn update_pod_group_condition(
        &mut self,
        group: PodGroupId,
        object: &PodGroupInput,
        status: &PodGroupStatus,
    ) {
        if let Some(condition) = changed_condition(object, status) {
            self.add_api_call(ApiCall::PatchPodGroupStatus(Box::new(PodGroupStatusPatch {
                group: uid_of_group(group),
                namespace: object.namespace.clone(),
                name: object.name.clone(),
                condition,
            })));
        }
    }

    /// The group goes back to the queue, if members of it wait. Upstream: `AddAttemptedPodGroupIfNeeded`.
    fn end_pod_group(&mut self, group: PodGroupId, entity: Entity, attempt: GroupAttempt) {
        let queued = self.pod_group_queue.entry(group);
        let has_failed_members = queued.end();
        let size = queued.members().len();
        queued.leader = queued.members().first().map(|member| member.pod);
        let Some(leader) = queued.leader else { return self.pod_group_queue.forget_if_empty(group) };
        let attempt = match attempt {
            GroupAttempt::Success { .. } => GroupAttempt::Success { has_failed_members },
            other => other,
        };
        queued.rejected_at = (attempt == GroupAttempt::Rejected).then_some(self.news);
        let leader = self.entity(group, leader);
        let now_ns = self.now_ns;
        self.with_queue(|queue, plugins| {
            queue.put_attempted(entity, leader, (attempt, size), now_ns, plugins);
        });
    }
}
