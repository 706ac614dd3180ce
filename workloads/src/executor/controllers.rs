//! The controllers beside a workload's scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use schedlab_cluster::Api;
use schedlab_cluster::controllers::{ControllerReport, ControllerSettings, EnabledController, enabled};
use schedlab_cluster::runtime::{RuntimeError, WallController};

use super::context::OpContext;
use super::error::OpError;
use super::runtime::Runtime;
use super::wait::{PATIENCE_MIN, POLL};
use crate::resolve::ResolvedWorkload;

/// What a workload says about controllers.
#[derive(Clone, Debug, Default)]
pub(super) struct ControllerSetup {
    /// Those that run.
    pub(super) enabled: Vec<EnabledController>,
    /// The workload's feature gates.
    pub(super) feature_gates: BTreeMap<String, bool>,
}

impl ControllerSetup {
    /// Those that the workload asks for, and those that its feature gates start.
    pub(super) fn of(workload: &ResolvedWorkload) -> ControllerSetup {
        let feature_gates = workload.feature_gates.clone();
        let is_on = |gate: &str| feature_gates.get(gate) == Some(&true);
        ControllerSetup { enabled: enabled(&workload.controllers, is_on), feature_gates }
    }
}

/// The controllers of a run.
#[derive(Debug, Default)]
pub(super) struct Controllers {
    running: Vec<WallController>,
}

impl Controllers {
    pub(super) fn start(
        api: &Arc<dyn Api>,
        enabled: &[EnabledController],
        feature_gates: &BTreeMap<String, bool>,
        seed: u64,
    ) -> Result<Controllers, RuntimeError> {
        let start = |EnabledController { descriptor, config }: &EnabledController| {
            let (config, feature_gates) = (config.clone(), feature_gates.clone());
            let settings =
                ControllerSettings { config, feature_gates, seed, ..ControllerSettings::default() };
            WallController::start(Arc::clone(api), descriptor, &settings)
        };
        Ok(Controllers { running: enabled.iter().map(start).collect::<Result<_, _>>()? })
    }

    /// Everything up to `resource_version` was dealt with; see [`WallController::is_quiescent`].
    pub(super) fn are_quiescent(&self, resource_version: u64) -> bool {
        self.running.iter().all(|controller| controller.is_quiescent(resource_version))
    }

    /// Timers run that will change the cluster.
    pub(super) fn have_timers(&self) -> bool {
        self.running.iter().any(WallController::has_timers)
    }

    /// An error if one of them ended by itself.
    pub(super) fn check_alive(&self) -> Result<(), OpError> {
        match self.running.iter().find(|controller| controller.has_died()) {
            Some(dead) => Err(OpError::ControllerDied { name: dead.name() }),
            None => Ok(()),
        }
    }

    /// Stops them and says what they did, in the order in which they were started.
    pub(super) fn stop(self) -> Result<Vec<ControllerReport>, RuntimeError> {
        self.running.into_iter().map(WallController::stop).collect()
    }
}

impl OpContext<'_> {
    /// Lets controllers finish what is due. Timers that run, as those of `tolerationSeconds`, are not waited
    /// for.
    pub(super) fn rest_of_controllers(&self) -> Result<(), OpError> {
        match &self.runtime {
            Runtime::Wall(side) => {
                self.rest_of(&side.controllers);
                Ok(())
            }
            Runtime::UnderTest(side) => {
                self.rest_of(&side.controllers);
                Ok(())
            }
            // The clock stands: what is due now is done, and no timer runs out.
            Runtime::Virtual(side) if !side.runtime().controllers().is_empty() => {
                let now_ns = side.now_ns();
                while side.now_ns() == now_ns && side.has_work_now(self.cluster.resource_version()) {
                    side.pump(Some(now_ns))?;
                }
                Ok(())
            }
            Runtime::Virtual(_) => Ok(()),
        }
    }

    fn rest_of(&self, controllers: &Controllers) {
        let end = Instant::now() + PATIENCE_MIN;
        while !controllers.are_quiescent(self.cluster.resource_version())
            && controllers.check_alive().is_ok()
            && !self.is_interrupted()
            && Instant::now() < end
        {
            std::thread::sleep(POLL);
        }
    }
}
