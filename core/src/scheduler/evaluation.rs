//! Questions to the engine beside the loop: what would become of a pod, and why. `explain` and the
//! replay of recorded decisions ask them; nothing that is known changes.

use super::Scheduler;
use crate::cycle::engine::{Decision, Engine, Pending};
use crate::cycle::explain::{Explanation, explain, explain_in_placement};
use crate::cycle::probe::NoProbe;
use crate::framework::args::PreemptionArgs;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin::PreEnqueueResult;
use crate::framework::points::PodRef;
use crate::framework::profile::Profile;
use crate::ids::PodId;
use crate::pod_group::{PodGroupCycle, PodGroupGates, PodGroupInfo, PodGroupScratch, validate};
use crate::preemption::Preemption;
use crate::snapshot::mask::NodeMask;
use crate::world::World;

/// The world with its rows in list order, and a profile to judge by.
#[derive(Debug)]
pub struct Evaluation<'a> {
    world: &'a mut World,
    profile: &'a Profile,
}

impl Scheduler {
    /// Questions to the first profile, or the only one.
    pub fn evaluation(&mut self) -> Evaluation<'_> {
        self.world.settle();
        Evaluation { world: &mut self.world, profile: &self.parts[0].profile }
    }

    /// Questions to the profile that takes pods of this scheduler name, if there is one.
    pub fn evaluation_by(&mut self, scheduler_name: &str) -> Option<Evaluation<'_>> {
        let parts = self.parts.iter().find(|parts| parts.profile.scheduler_name == scheduler_name)?;
        self.world.settle();
        Some(Evaluation { world: &mut self.world, profile: &parts.profile })
    }
}

impl Evaluation<'_> {
    /// What is known.
    #[must_use]
    pub fn world(&self) -> &World {
        self.world
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        self.profile
    }

    /// Every verdict and every score.
    pub fn explain(&mut self, pending: Pending) -> Explanation {
        explain(self.world, self.profile, pending)
    }

    /// As [`Evaluation::explain`], with the nodes of a placement as candidates.
    pub fn explain_in_placement(&mut self, pending: Pending, placement: Option<&NodeMask>) -> Explanation {
        explain_in_placement(self.world, self.profile, pending, placement)
    }

    /// The first PreEnqueue plugin that keeps a pod out of the queue.
    #[must_use]
    pub fn pre_enqueue(&self, pod: PodId) -> Option<(&'static str, PreEnqueueResult)> {
        let pod = PodRef::of(self.world, pod);
        let mut plugins = self.profile.plugins_at(ExtensionPoint::PreEnqueue);
        plugins.find_map(|plugin| {
            Some((plugin.name(), plugin.as_pre_enqueue()?.pre_enqueue_pod(self.world, pod)?))
        })
    }

    /// Whether the members of a pod group go together.
    pub fn validate_pod_group(&self, info: &PodGroupInfo, gates: PodGroupGates) -> Result<(), String> {
        validate(self.world, info, gates)
    }

    /// A cycle for a pod group.
    pub fn pod_group_cycle<'b>(
        &'b mut self,
        engine: &'b mut Engine,
        info: &'b PodGroupInfo,
        gates: PodGroupGates,
        scratch: &'b mut PodGroupScratch,
    ) -> PodGroupCycle<'b> {
        PodGroupCycle { world: self.world, engine, profile: self.profile, info, gates, scratch }
    }

    /// Where the pod would go.
    pub fn schedule_pod(&mut self, engine: &mut Engine, pending: Pending) -> Decision {
        engine.schedule_pod(self.world, self.profile, pending, &mut NoProbe)
    }

    /// Which pods would have to go for it.
    pub fn preempt(&mut self, engine: &mut Engine, pending: Pending, args: PreemptionArgs) -> Preemption {
        engine.preempt(self.world, self.profile, pending, (args, &Diagnosis::default()))
    }
}
