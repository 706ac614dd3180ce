//! What ops of ours count, beside what controllers count.

use std::sync::{Arc, Mutex, PoisonError};

use schedlab_cluster::api::Api;
use schedlab_cluster::controllers::ControllerReport;
use schedlab_core::ids::PodUid;

use super::context::OpContext;

/// Counters of one op; clones count together, also in the background.
#[derive(Clone, Debug)]
pub(crate) struct OpTally(Arc<Mutex<ControllerReport>>);

impl OpTally {
    fn new(names: &[&'static str]) -> OpTally {
        let counters: Vec<(&'static str, u64)> = names.iter().map(|name| (*name, 0)).collect();
        OpTally(Arc::new(Mutex::new(ControllerReport::of(&counters))))
    }

    fn change(&self, name: &'static str, change: impl FnOnce(u64) -> u64) {
        let mut report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = report.counters.iter_mut().find(|counter| counter.name == name);
        let counter = counter.expect("an op names its counters when it begins");
        counter.count = change(counter.count);
    }

    /// So many more.
    pub(crate) fn add(&self, name: &'static str, count: u64) {
        self.change(name, |before| before + count);
    }

    /// The largest so far.
    pub(crate) fn at_least(&self, name: &'static str, value: u64) {
        self.change(name, |before| before.max(value));
    }

    fn report(&self) -> ControllerReport {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where a scheduler that was restarted had placed a pod that was not bound.
#[derive(Debug)]
pub(super) struct HeldAtRestart {
    pub(super) pod: PodUid,
    pub(super) node: String,
}

impl OpContext<'_> {
    /// Counters of the op that runs, all 0; they stand in the results under its opcode.
    pub(crate) fn tally(&mut self, names: &[&'static str]) -> OpTally {
        let tally = OpTally::new(names);
        self.tallies.push((self.op.opcode, tally.clone()));
        tally
    }

    /// What ops counted, those of one opcode together.
    pub(super) fn op_reports(&self) -> Vec<ControllerReport> {
        let mut opcodes: Vec<&'static str> = self.tallies.iter().map(|(opcode, _)| *opcode).collect();
        opcodes.sort_unstable();
        opcodes.dedup();
        let of = |opcode: &&'static str| {
            let reports = self.tallies.iter().filter(|(of, _)| of == opcode).map(|(_, tally)| tally.report());
            ControllerReport::of_shards(opcode, reports)
        };
        let mut reports: Vec<ControllerReport> = opcodes.iter().map(of).collect();
        if let Some(restarts) = reports.iter_mut().find(|report| report.controller == RESTART) {
            restarts.counters.extend(self.fates_at_restart().counters);
        }
        reports
    }

    /// Where the pods are now that were on their way to a node when the scheduler ended.
    fn fates_at_restart(&self) -> ControllerReport {
        let (mut same, mut other, mut unbound) = (0, 0, 0);
        for HeldAtRestart { pod, node } in &self.held_at_restart {
            match self.cluster.pod_row(*pod).and_then(|row| row.node) {
                Some(now) if *self.cluster.node_name(now) == **node => same += 1,
                Some(_) => other += 1,
                None => unbound += 1,
            }
        }
        ControllerReport::of(&[("same_node", same), ("other_node", other), ("unbound", unbound)])
    }
}

/// The opcode whose report says what became of pods.
pub(super) const RESTART: &str = "restartScheduler";
