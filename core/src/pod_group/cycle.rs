//! One round: placements, and a pass over the members for each.
//!
//! Upstream: schedule_one_podgroup.go `podGroupSchedulingDefaultAlgorithm`,
//! `podGroupSchedulingPlacementAlgorithm`, `runRootSchedulingAlgorithm`.
//! Not built: Reserve plugins that do not ship with the engine are asked when a member is bound, not in a pass
//! that may be undone.

use std::sync::Arc;

use super::{
    Member, MemberResult, PassResult, PlacementProgress, PodGroupCode, PodGroupDecision, PodGroupGates,
    PodGroupInfo, PodGroupScratch, PodGroupStatus,
};
use crate::cycle::engine::{Choice, Decision, Engine, Pending};
use crate::cycle::probe::NoProbe;
use crate::framework::points::placement::Placement;
use crate::framework::profile::{PluginIndex, Profile};
use crate::ids::ClassId;
use crate::input::PodInput;
use crate::plugins::dynamic_resources::decide_devices;
use crate::plugins::gang_scheduling;
use crate::plugins::volume_binding::decide_volumes;
use crate::snapshot::mask::NodeMask;
use crate::world::World;

/// Who wants to see each step, with the world as it is then.
pub trait CycleObserver {
    /// A pass begins.
    fn pass(&mut self, _placement: &Placement) {}

    /// A member is about to be tried.
    fn member(
        &mut self,
        _world: &mut World,
        _profile: &Profile,
        _pending: Pending,
        _placement: Option<&NodeMask>,
    ) {
    }
}

/// Nobody does.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl CycleObserver for NoObserver {}

/// A cycle for one group. Rows must be settled.
#[derive(Debug)]
pub struct PodGroupCycle<'a> {
    /// What is known.
    pub world: &'a mut World,
    /// Who searches.
    pub engine: &'a mut Engine,
    /// The plugins.
    pub profile: &'a Profile,
    /// The group.
    pub info: &'a PodGroupInfo,
    /// What is switched on.
    pub gates: PodGroupGates,
    /// Memory.
    pub scratch: &'a mut PodGroupScratch,
}

/// What is kept of a pass beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Nothing.
    Nothing,
    /// Which filters were asked about each member.
    Filters,
}

impl PodGroupCycle<'_> {
    /// Where the members would go. The world is as before when this returns.
    pub fn run(&mut self, observer: &mut impl CycleObserver) -> PodGroupDecision {
        let members = self.take_nominations();
        let decision = self.run_keeping(&members, Keep::Nothing, observer);
        self.give_back_nominations(&members);
        decision
    }

    /// The members; what they are nominated to is as upstream sees it during their own cycle.
    ///
    /// Upstream: scheduling_queue.go `nominatedPodToInfo`. A nominated pod that is in no queue is a pod that
    /// has its name and group and nothing else: its priority is 0, and it asks for nothing. The members are in
    /// no queue while they are tried. So nominations of a group whose priority is above 0 count for
    /// nothing among its members, and those of another group as pods without requests.
    pub(super) fn take_nominations(&mut self) -> Vec<Member> {
        let world = &mut *self.world;
        let mut stub = None;
        let mut members = Vec::with_capacity(self.info.members.len());
        for &pod in &self.info.members {
            let row = world.pods().get(pod);
            let (uid, class, nominated) = (row.uid, row.class, row.nominated());
            let mut member = Member { pod, uid, class, nominated, stub: None };
            if nominated.is_some() {
                world.delete_nominated_pod_if_exists(uid);
                if self.info.object.priority <= 0 {
                    let namespace = || self.info.object.namespace.clone();
                    let class = *stub.get_or_insert_with(|| {
                        world.compile(&Arc::new(PodInput { namespace: namespace(), ..PodInput::default() }))
                    });
                    member.stub = Some(class);
                    nominate_stub(world, &member);
                }
            }
            members.push(member);
        }
        members
    }

    /// Members are nominated as before again.
    pub(super) fn give_back_nominations(&mut self, members: &[Member]) {
        for member in members {
            if let Some(node) = member.nominated {
                self.world.add_nominated_pod(member.uid, member.class, node);
            }
        }
    }

    pub(super) fn run_keeping(
        &mut self,
        members: &[Member],
        keep: Keep,
        observer: &mut impl CycleObserver,
    ) -> PodGroupDecision {
        let mut decision = if self.gates.topology {
            self.run_placements(members, keep, observer)
        } else {
            let pass = self.pass(members, Placement::everywhere(), keep, observer);
            let status = pass.status.clone();
            PodGroupDecision { status, passes: vec![pass], taken: Some(0), scores: Vec::new() }
        };
        let is_any_scheduled = decision.taken_pass().is_some_and(|pass| pass.any_scheduled);
        if decision.status.is_success() && !is_any_scheduled {
            decision.status = PodGroupStatus::unschedulable(Vec::new());
        }
        decision
    }

    fn run_placements(
        &mut self,
        members: &[Member],
        keep: Keep,
        observer: &mut impl CycleObserver,
    ) -> PodGroupDecision {
        let placements = match self.generate_placements() {
            Ok(placements) => placements,
            Err(status) => return PodGroupDecision { status, ..PodGroupDecision::default() },
        };
        let mut decision = PodGroupDecision::default();
        for placement in placements.iter() {
            let pass = self.pass(members, placement.clone(), keep, observer);
            decision.passes.push(pass);
            let last = decision.passes.len() - 1;
            if decision.passes[last].status.code == PodGroupCode::Error {
                decision.status = decision.passes[last].status.clone();
                decision.taken = Some(last);
                return decision;
            }
        }
        debug_assert_eq!(decision.passes.len(), placements.len(), "each placement was tried");
        let feasible: Vec<usize> =
            (0..decision.passes.len()).filter(|&at| decision.passes[at].status.is_success()).collect();
        match feasible.as_slice() {
            [] => {
                let first = decision.passes[0].status.error_text();
                let count = placements.len();
                let reason = format!("0/{count} placements are available, first placement status: {first}");
                decision.status = PodGroupStatus::unschedulable(vec![reason.into()]);
                decision.taken = Some(0);
            }
            [only] => decision.taken = Some(*only),
            several => match self.find_best_placement(&decision.passes, several) {
                Ok((best, scores)) => {
                    decision.taken = Some(best);
                    decision.scores = scores;
                }
                Err(status) => decision.status = status,
            },
        }
        decision
    }

    /// Tries the members one after another in a placement.
    fn pass(
        &mut self,
        members: &[Member],
        placement: Placement,
        keep: Keep,
        observer: &mut impl CycleObserver,
    ) -> PassResult {
        observer.pass(&placement);
        let mut progress = PlacementProgress {
            min_count: self.min_count(),
            scheduled: self.world.pod_groups().get(self.info.id).scheduled_pods_count(),
            remaining: members.len(),
        };
        let start = progress;
        let mut results: Vec<MemberResult> = Vec::new();
        let mut status = progress.status();
        let mut any_scheduled = false;
        if start.code() == PodGroupCode::Unschedulable {
            status = PodGroupStatus::unschedulable(status.reasons);
            return PassResult { placement, start, members: results, status, any_scheduled };
        }
        results.reserve(members.len());
        let nodes = placement.nodes.as_deref();
        for member in members {
            let pending = Pending { class: member.class, pod: Some(member.uid), nominated: member.nominated };
            observer.member(self.world, self.profile, pending, nodes);
            let decision = self.schedule_member(pending, nodes);
            let filters = self.filters_kept(keep, member.class);
            let mut is_placed = false;
            if let Decision::Chosen(choice) = &decision {
                self.assume(*member, *choice);
                is_placed = true;
            }
            progress.remaining -= 1;
            progress.scheduled += usize::from(is_placed);
            let failed = match &decision {
                Decision::Unschedulable(diagnosis) => diagnosis.error.clone(),
                _ => None,
            };
            results.push(MemberResult { pod: member.pod, class: member.class, decision, progress, filters });
            if let Some(error) = failed {
                status =
                    PodGroupStatus::failed(format!("failed to schedule other pod from a pod group: {error}"));
                break;
            }
            if progress.code() == PodGroupCode::Unschedulable {
                break;
            }
            any_scheduled |= is_placed;
        }
        debug_assert_eq!(
            progress.remaining + results.len(),
            members.len(),
            "members that were tried are counted"
        );
        if status.code != PodGroupCode::Error {
            status = progress.status();
        }
        if status.code == PodGroupCode::Wait {
            status = PodGroupStatus::unschedulable(status.reasons);
        }
        self.revert(members, &results);
        debug_assert_eq!(
            self.world.pod_groups().get(self.info.id).scheduled_pods_count(),
            start.scheduled,
            "the members are off their nodes again"
        );
        any_scheduled &= status.is_success();
        PassResult { placement, start, members: results, status, any_scheduled }
    }

    /// Which filters were asked about the member that was just tried, if that is kept.
    fn filters_kept(&mut self, keep: Keep, class: ClassId) -> Vec<PluginIndex> {
        match keep {
            Keep::Nothing => Vec::new(),
            Keep::Filters => self.engine.filters_asked(class),
        }
    }

    /// How many members the group needs; nobody asks in a profile without GangScheduling.
    fn min_count(&self) -> usize {
        if self.profile_has(gang_scheduling::NAME) { self.info.object.policy.min_count() } else { 0 }
    }

    fn schedule_member(&mut self, pending: Pending, placement: Option<&NodeMask>) -> Decision {
        let decision = self.search(pending, placement);
        match decision {
            // A group's cycle cannot begin afresh for one member.
            Decision::NominatedMissed => self.search(Pending { nominated: None, ..pending }, placement),
            decision => decision,
        }
    }

    fn search(&mut self, pending: Pending, placement: Option<&NodeMask>) -> Decision {
        let PodGroupCycle { world, engine, profile, .. } = self;
        match placement {
            None => engine.schedule_pod(world, profile, pending, &mut NoProbe),
            Some(nodes) => engine.schedule_pod_in_placement(world, profile, pending, nodes, &mut NoProbe),
        }
    }

    /// A member counts as bound from now on. Upstream: `assumeAndReserveWithRevert`.
    pub(super) fn assume(&mut self, member: Member, choice: Choice) {
        let world = &mut *self.world;
        world.delete_nominated_pod_if_exists(member.uid);
        let class = world.class(member.class);
        if !class.volumes.claims.is_empty() {
            let decision = decide_volumes(world, class, choice.row);
            if !decision.is_empty() {
                world.reserve_volumes(member.uid, choice.row, decision);
            }
        }
        if let Some(reservation) = decide_devices(world, world.class(member.class), choice.row) {
            world.reserve_devices(member.uid, reservation);
        }
        let node = world.nodes().columns().id[choice.row];
        world.place(member.pod, node);
    }

    /// Takes the placed members off their nodes again, the last one first, and gives them back the
    /// nominations they had.
    fn revert(&mut self, members: &[Member], results: &[MemberResult]) {
        let world = &mut *self.world;
        let tried = members.iter().zip(results);
        for (member, result) in tried.rev() {
            if result.row().is_none() {
                continue;
            }
            world.displace(member.pod);
            world.unreserve_volumes(member.uid);
            world.unreserve_devices(member.uid);
            nominate_stub(world, member);
        }
    }

    fn generate_placements(&mut self) -> Result<Arc<[Placement]>, PodGroupStatus> {
        super::placements::generate(self.world, self.profile, self.info, &mut self.scratch.domains)
    }

    fn find_best_placement(
        &mut self,
        passes: &[PassResult],
        feasible: &[usize],
    ) -> Result<(usize, Vec<super::PlacementScore>), PodGroupStatus> {
        let scores = super::placements::score(self.world, self.profile, self.info, passes, feasible)?;
        let best = scores.iter().map(|score| score.total).max().expect("there are feasible placements");
        let tied: Vec<usize> = (0..scores.len()).filter(|&at| scores[at].total == best).collect();
        let nth = self.engine.draw(tied.len());
        Ok((feasible[tied[nth]], scores))
    }
}

/// What is left of a member's nomination during its own cycle.
fn nominate_stub(world: &mut World, member: &Member) {
    if let (Some(class), Some(node)) = (member.stub, member.nominated) {
        world.add_nominated_pod(member.uid, class, node);
    }
}
