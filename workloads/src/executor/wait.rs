//! Waiting: until pods are scheduled, until a time is over, or until it is clear that neither
//! will happen.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use schedlab_cluster::api::{Api, PodFilter};
use schedlab_core::input::LabelSelectorInput;

use super::Executor;
use super::error::OpError;
use super::outcome::Ending;
use crate::ops::Barrier;

/// Between two looks at the cluster. Waiting shares the cores with the scheduler, so it sleeps.
const POLL: Duration = Duration::from_micros(500);
/// The scheduler must be found at rest this many times in a row, with nothing changed between,
/// before a wait is given up.
const REST_READINGS: u32 = 20;

impl Executor<'_> {
    pub(super) fn is_interrupted(&self) -> bool {
        self.control.interrupt.load(Ordering::Relaxed)
    }

    pub(super) fn sleep(&self, duration: Duration) -> Ending {
        let end = Instant::now() + duration;
        while !self.is_interrupted() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ending::Completed;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        Ending::Interrupted
    }

    /// Upstream: a barrier waits for the namespaces it names, or for all that may have unfinished
    /// pods, and then forgets them.
    pub(super) fn barrier(&mut self, op: &Barrier) -> Result<Ending, OpError> {
        if let Some(name) = op.namespaces.iter().find(|name| !self.awaited.contains_key(*name)) {
            return Err(OpError::UnknownNamespace { name: name.clone() });
        }
        let names: Vec<String> = if op.namespaces.is_empty() {
            self.awaited.keys().cloned().collect()
        } else {
            op.namespaces.clone()
        };
        for name in &names {
            let wanted = self.awaited[name];
            let ending = if op.label_selector.is_empty() {
                self.wait_scheduled(name, wanted)?
            } else {
                self.wait_selected(name, &op.label_selector, wanted)?
            };
            if ending != Ending::Completed {
                return Ok(ending);
            }
        }
        for name in &names {
            self.awaited.remove(name);
        }
        Ok(Ending::Completed)
    }

    /// Waits until `wanted` pods of a namespace are scheduled, whoever created them.
    pub(super) fn wait_scheduled(&self, namespace: &str, wanted: u64) -> Result<Ending, OpError> {
        self.wait_for(namespace, wanted, || Ok(self.cluster.scheduled_count(namespace)?))
    }

    fn wait_selected(
        &self,
        namespace: &str,
        labels: &BTreeMap<String, String>,
        wanted: u64,
    ) -> Result<Ending, OpError> {
        let selector = LabelSelectorInput { match_labels: labels.clone(), match_expressions: Vec::new() };
        self.wait_for(namespace, wanted, || {
            let filter = PodFilter { namespace: Some(namespace), labels: Some(&selector) };
            let rows = self.cluster.pods_in(filter)?.rows;
            Ok(rows.iter().filter(|row| row.node.is_some()).count() as u64)
        })
    }

    fn wait_for(
        &self,
        namespace: &str,
        wanted: u64,
        scheduled: impl Fn() -> Result<u64, OpError>,
    ) -> Result<Ending, OpError> {
        let mut rested = Rested::default();
        loop {
            let done = scheduled()?;
            self.control.progress.pods(done, wanted);
            if done >= wanted {
                return Ok(Ending::Completed);
            }
            if self.is_interrupted() {
                return Ok(Ending::Interrupted);
            }
            if self.runtime.has_died() {
                return Err(OpError::Died);
            }
            let version = self.cluster.resource_version();
            if rested.reading(self.runtime.is_quiescent(version), version) {
                return Ok(Ending::Stuck(self.diagnosis(namespace, done, wanted)));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Gives the threads a moment to hand in what they recorded.
    pub(super) fn rest_shortly(&self) {
        for _ in 0..20 {
            if self.runtime.is_quiescent(self.cluster.resource_version()) {
                return;
            }
            std::thread::sleep(POLL);
        }
    }

    fn diagnosis(&self, namespace: &str, done: u64, wanted: u64) -> String {
        let mut text = format!(
            "{} of {wanted} pods of namespace {namespace:?} are not scheduled and never will be: nothing is left \
             to try and nothing changes the cluster",
            wanted - done
        );
        let Some(status) = self.runtime.status() else { return text };
        for (reason, count) in &status.waiting {
            text.push_str(&format!("\n  {count} pod(s) wait: {reason}"));
        }
        if 0 < status.counts.foreign {
            let count = status.counts.foreign;
            text.push_str(&format!("\n  {count} pod(s) name another scheduler in spec.schedulerName"));
        }
        text
    }
}

/// Counts readings in which nothing moved.
#[derive(Default)]
struct Rested {
    readings: u32,
    version: u64,
}

impl Rested {
    fn reading(&mut self, is_quiescent: bool, version: u64) -> bool {
        if !is_quiescent || version != self.version {
            *self = Rested { readings: 0, version };
            return false;
        }
        self.readings += 1;
        REST_READINGS <= self.readings
    }
}
