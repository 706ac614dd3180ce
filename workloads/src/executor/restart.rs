//! A scheduler that ends and begins anew while a workload runs.

use std::sync::Arc;
use std::time::Duration;

use schedlab_cluster::Api;
use schedlab_cluster::extender::{HttpExtender, as_extenders};
use schedlab_core::framework::registry::Registry;
use schedlab_core::scheduler::{FeatureGates, Scheduler};

use super::context::OpContext;
use super::error::OpError;
use super::outcome::Ending;
use super::runtime::Runtime;
use super::scheduler::{self, Setup};
use super::tally::{HeldAtRestart, RESTART};
use super::{Control, RunSettings};
use crate::scheduler_config::SchedulerConfig;
use crate::schedulers::SchedulerSet;

/// Makes schedulers as the workload's first one was made.
pub(crate) struct SchedulerMaker<'a> {
    settings: RunSettings,
    config: Option<SchedulerConfig>,
    gates: FeatureGates,
    schedulers: SchedulerSet,
    registry: &'a Registry,
    extenders: Vec<Arc<HttpExtender>>,
    notes_preemptions: bool,
    /// Schedulers made so far, the first one not counted.
    restarts: u64,
}

impl<'a> SchedulerMaker<'a> {
    /// With what the first scheduler was made of.
    pub(super) fn new(
        settings: RunSettings,
        setup: &Setup<'_>,
        control: Control<'a>,
        extenders: &[Arc<HttpExtender>],
    ) -> SchedulerMaker<'a> {
        SchedulerMaker {
            settings,
            config: setup.config.cloned(),
            gates: setup.gates,
            schedulers: setup.schedulers.clone(),
            registry: control.registry,
            extenders: extenders.to_vec(),
            notes_preemptions: control.placements.is_some(),
            restarts: 0,
        }
    }

    fn make(&mut self, api: &Arc<dyn Api>) -> Result<Scheduler, OpError> {
        let setup = Setup {
            config: self.config.as_ref(),
            gates: self.gates,
            schedulers: self.schedulers.clone(),
            ..Setup::default()
        };
        self.restarts += 1;
        // Another process draws other numbers.
        let settings = RunSettings { seed: self.settings.seed.wrapping_add(self.restarts), ..self.settings };
        let (mut scheduler, _) = scheduler::make(settings, (&setup, 0), self.registry, api)
            .map_err(|source| OpError::Restart { source: Box::new(source) })?;
        // Extenders are processes of their own: they go on counting.
        scheduler.set_extenders(as_extenders(&self.extenders));
        scheduler.note_preemptions(self.notes_preemptions);
        Ok(scheduler)
    }
}

impl OpContext<'_> {
    /// The seed of the run.
    pub(crate) fn seed(&self) -> u64 {
        self.maker.settings.seed
    }

    /// Ends the scheduler, and starts another one after a while.
    pub(crate) fn restart_scheduler(&mut self, downtime: Duration) -> Result<Ending, OpError> {
        if let Runtime::UnderTest(side) = &self.runtime {
            side.scheduler().crash();
            let ending = self.sleep(downtime)?;
            side.scheduler().start_again().map_err(OpError::UnderTest)?;
            self.tally(&["restarts"]).add("restarts", 1);
            return Ok(ending);
        }
        let api: Arc<dyn Api> = Arc::clone(&self.cluster) as Arc<dyn Api>;
        let next = self.maker.make(&api)?;
        self.carry_counts();
        let crashed = match &self.runtime {
            Runtime::Wall(side) => side.runtime.changer().crash_while(&self.waits(), next),
            Runtime::Virtual(side) => Some(side.runtime().crash(next)),
            Runtime::UnderTest(_) => None,
        };
        let Some(crashed) = crashed else { return self.no_answer() };
        let tally = self.tally(&["restarts", "pods_held"]);
        tally.add("restarts", 1);
        tally.add("pods_held", crashed.held.len() as u64);
        let held = crashed.held.into_iter().map(|(pod, node)| HeldAtRestart { pod, node });
        self.held_at_restart.extend(held);
        debug_assert_eq!(self.op.opcode, RESTART);
        let ending = self.sleep(downtime)?;
        let started = match &self.runtime {
            Runtime::Wall(side) => side.runtime.changer().start_while(&self.waits()),
            Runtime::Virtual(side) => Some(side.runtime().start_again()),
            Runtime::UnderTest(_) => None,
        };
        match started {
            Some(started) => started.map(|()| ending).map_err(OpError::from),
            None => self.no_answer(),
        }
    }

    /// The scheduler is no longer waited for, or is gone.
    fn no_answer(&self) -> Result<Ending, OpError> {
        if self.is_interrupted() { Ok(Ending::Interrupted) } else { Err(OpError::Died) }
    }
}
