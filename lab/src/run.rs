//! How a workload runs in this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_workloads::controllers::EnabledController;
use schedlab_workloads::executor::{
    Control, ExecuteError, Outcome, RunSettings, SchedulerUnderTest, run_workload,
};
use schedlab_workloads::resolve::ResolvedWorkload;

/// All that decides a run beside the workload.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// How workloads are run.
    pub settings: RunSettings,
    /// Feature gates; they win over the workload's own.
    pub feature_gates: BTreeMap<String, bool>,
    /// Controllers that run beside the workload's own.
    pub controllers: Vec<EnabledController>,
    /// The scheduler that is run instead of ours.
    pub under_test: Option<Arc<dyn SchedulerUnderTest>>,
}

impl RunPlan {
    /// Runs a workload once.
    pub fn run(&self, workload: &ResolvedWorkload, control: Control<'_>) -> Result<Outcome, ExecuteError> {
        let control = Control { under_test: self.under_test.as_deref(), ..control };
        if self.feature_gates.is_empty() && self.controllers.is_empty() {
            return run_workload(workload, self.settings, control);
        }
        let mut workload = workload.clone();
        workload.feature_gates.extend(self.feature_gates.clone());
        workload.controllers.extend(self.controllers.clone());
        run_workload(&workload, self.settings, control)
    }
}
