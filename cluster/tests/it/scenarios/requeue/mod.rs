//! What brings a rejected pod back, and what does not: one test a row of upstream's table.
//!
//! Upstream: test/integration/scheduler/queueing/queue.go `CoreResourceEnqueueTestCases`. As there,
//! every waiting pod is tried once and rejected, something happens, and the pods that are ready to be
//! tried again are told from those that still wait. There is no backoff and no flush.

mod inter_pod_affinity;
mod node_declared_features;
mod node_resources_fit;
mod node_rules;
mod node_volume_limits;
mod pod_topology_spread;
mod volume_binding;
mod volume_zone;

use schedlab_core::scheduler::Standing;

use super::lab::Lab;
use super::manifest::Manifest;
use super::setup::Setup;

/// A row of the table in the making.
pub(super) struct Row {
    lab: Lab,
    waiting: Vec<String>,
}

/// A scheduler with these plugins; the default ones when none is named.
pub(super) fn rejected_by(plugins: &[&'static str]) -> Row {
    let setup = Setup::default().without_backoff();
    let setup = if plugins.is_empty() { setup } else { setup.only(plugins) };
    Row { lab: setup.start(), waiting: Vec::new() }
}

impl Row {
    /// What is there before.
    pub(super) fn given(mut self, objects: impl IntoIterator<Item = Manifest>) -> Row {
        self.lab.create_all(objects);
        self
    }

    /// Pods that are tried once and rejected.
    pub(super) fn waiting(mut self, pods: impl IntoIterator<Item = Manifest>) -> Row {
        for pod in pods {
            self.waiting.push(pod.name().to_owned());
            self.lab.create(pod);
        }
        self.lab.observe();
        for _ in &self.waiting {
            assert!(self.lab.attempt(), "every pod is tried");
        }
        self.lab.observe();
        for pod in &self.waiting {
            assert_eq!(self.lab.standing(pod), Standing::Unschedulable, "{pod} is rejected at first");
        }
        self
    }

    /// Something happens; exactly these pods are ready to be tried again.
    #[track_caller]
    pub(super) fn requeues(mut self, event: impl FnOnce(&mut Lab), expected: &[&str]) {
        event(&mut self.lab);
        self.lab.observe();
        let is_ready = |pod: &&String| self.lab.standing(pod) == Standing::Queued;
        let ready: Vec<&str> = self.waiting.iter().filter(is_ready).map(String::as_str).collect();
        assert_eq!(ready, expected);
    }
}
