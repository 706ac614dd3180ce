//! Measuring: from startCollectingMetrics to stopCollectingMetrics, or around one createPods.
//!
//! Upstream counts pods of the measured namespaces with the measured labels. So do we, but only
//! where other pods can be bound meanwhile: looking at each bound pod costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_cluster::api::{Api, ApiCallCounts, PodFilter, StoredPodRow};
use schedlab_core::input::LabelSelectorInput;

use super::background::Activity;
use super::context::OpContext;
use super::error::OpError;
use super::outcome::Collected;
use super::runtime::Runtime;
use crate::measure::{MachineReading, PodScope, ThreadId, own_waited_ns};
use crate::metrics::{MetricValues, Value, table};
use crate::results::UnderTestUsage;

/// A measured part under way.
pub(super) struct Collecting {
    name: String,
    namespaces: Vec<String>,
    labels: BTreeMap<String, String>,
    looks_at: LooksAt,
    start_ns: u64,
    machine: MachineReading,
    /// What this thread waited for a processor while it created pods.
    creator_waited_ns: u64,
    calls: ApiCallCounts,
    attempts: u64,
    /// What was counted before.
    counts: MetricValues,
    /// What a scheduler counted that has ended since.
    carried: MetricValues,
    /// Pods of the part that were on a node before.
    scheduled: u64,
    /// What the scheduler under test had taken before.
    usage: Option<UnderTestUsage>,
    /// Pods of the part that were there before.
    there: u64,
}

/// Which bindings are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LooksAt {
    /// All: there are no others than those of the part.
    All,
    /// Those of the part.
    ItsOwn,
}

/// Whether pods of others may be bound while a createPods is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherPods {
    /// If any are there that have no node, or something goes on in the background.
    IfAny,
    /// They may.
    MayBeBound,
}

impl OpContext<'_> {
    /// Starts measuring the pods that a createPods makes in a namespace.
    pub(crate) fn start_collecting_pods(
        &mut self,
        namespace: &str,
        others: OtherPods,
    ) -> Result<(), OpError> {
        let is_alone = self.runtime.activity() == Activity::None
            && self.cluster.pods_now(PodFilter::default()).iter().all(|row| row.node.is_some())
            && others == OtherPods::IfAny;
        let looks_at = if is_alone { LooksAt::All } else { LooksAt::ItsOwn };
        self.start_collecting_looking_at(namespace, &[namespace.to_owned()], &BTreeMap::new(), looks_at)
    }

    /// Starts measuring the pods of some namespaces with some labels, whoever makes them.
    pub(crate) fn start_collecting(
        &mut self,
        name: &str,
        namespaces: &[String],
        labels: &BTreeMap<String, String>,
    ) -> Result<(), OpError> {
        self.start_collecting_looking_at(name, namespaces, labels, LooksAt::ItsOwn)
    }

    fn start_collecting_looking_at(
        &mut self,
        name: &str,
        namespaces: &[String],
        labels: &BTreeMap<String, String>,
        looks_at: LooksAt,
    ) -> Result<(), OpError> {
        if let Some(running) = &self.collecting {
            return Err(OpError::AlreadyCollecting { name: running.name.clone() });
        }
        let api: Arc<dyn Api> = Arc::clone(&self.cluster) as Arc<dyn Api>;
        let scope = PodScope::new(api, namespaces, labels);
        let scope = (looks_at == LooksAt::ItsOwn).then_some(scope);
        match &self.runtime {
            Runtime::Wall(side) => side.meters.set_scope(scope),
            Runtime::Virtual(side) => side.start_measuring(scope),
            Runtime::UnderTest(side) => side.start_measuring(scope),
        }
        // A pod is seen on its node before its binding is counted as a call.
        self.rest_shortly();
        let before = self.pods_of(namespaces, labels);
        if let Runtime::UnderTest(side) = &self.runtime {
            side.scheduler().begin_metrics().map_err(OpError::UnderTest)?;
        }
        // Whatever is recorded from here on belongs to this part.
        let _ = self.runtime.as_wall().map(|side| side.meters.take());
        let calls = self.cluster.call_counts();
        let attempts = self.runtime.attempts();
        let counts = self.counts().unwrap_or_default();
        self.collecting = Some(Collecting {
            name: name.to_owned(),
            namespaces: namespaces.to_vec(),
            labels: labels.clone(),
            looks_at,
            calls,
            attempts,
            counts,
            carried: MetricValues::default(),
            usage: self.usage(),
            scheduled: count_bound(&before),
            there: before.len() as u64,
            machine: self.machine_reading(),
            creator_waited_ns: 0,
            start_ns: self.now_ns(),
        });
        if let Some(side) = self.runtime.as_wall() {
            side.meters.switch.turn_on();
        }
        Ok(())
    }

    /// Does some work that creates pods. What this thread waits for a processor meanwhile, the scheduler
    /// may stand idle for; what it waits afterwards, when it only looks on, nobody does.
    pub(crate) fn creating<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let before_ns = own_waited_ns();
        let result = work(self);
        if let Some(part) = &mut self.collecting {
            part.creator_waited_ns += own_waited_ns().saturating_sub(before_ns);
        }
        result
    }

    /// Ends measuring. `created` is how many pods were created in it, if that is known.
    pub(crate) fn stop_collecting(&mut self, created: Option<u64>) -> Result<(), OpError> {
        let part = self.collecting.take().ok_or(OpError::NotCollecting)?;
        let answers = self.halt_if_interrupted();
        let machine = self.machine_reading();
        if answers {
            self.rest_shortly();
        }
        let calls = self.cluster.call_counts().since(&part.calls).calls;
        let attempts = self.runtime.attempts() - part.attempts;
        let usage = self.usage().zip(part.usage.as_ref()).map(|(now, then)| now.since(then));
        let mut readings = match &self.runtime {
            Runtime::Wall(side) => {
                side.meters.switch.turn_off();
                side.meters.take()
            }
            Runtime::Virtual(side) => side.stop_measuring(),
            Runtime::UnderTest(side) => side.stop_measuring()?,
        };
        let told_attempts = told_attempts(&readings.series);
        let counts = answers.then(|| self.counts()).flatten();
        readings.series.merge(&part.carried);
        readings.series.merge(&counts.unwrap_or_default().since(&part.counts));
        let rows = self.pods_of(&part.namespaces, &part.labels);
        let scheduled = match part.looks_at {
            LooksAt::All => count_bound(&rows).saturating_sub(part.scheduled),
            // Some may be gone again.
            LooksAt::ItsOwn => readings.bursts.iter().map(|burst| burst.pods).sum(),
        };
        let there = (rows.len() as u64).saturating_sub(part.there);
        let last_ns = readings.bursts.last().map(|burst| burst.at_ns);
        let end_ns = last_ns.unwrap_or_else(|| self.now_ns());
        self.collected.push(Collected {
            collector: part.name,
            start_ns: part.start_ns,
            end_ns,
            conditions: machine.since(
                &part.machine,
                end_ns.saturating_sub(part.start_ns),
                // Of a scheduler that has its own process nobody knows when it stood idle.
                if usage.is_some() { 0 } else { part.creator_waited_ns },
            ),
            created: created.unwrap_or(there).max(scheduled),
            scheduled,
            pending: rows.len() as u64 - count_bound(&rows),
            readings,
            calls,
            attempts: attempts.max(told_attempts),
            under_test: usage,
        });
        Ok(())
    }

    /// The scheduler is about to end, and the next one counts from 0.
    pub(super) fn carry_counts(&mut self) {
        let Some(counts) = self.counts() else { return };
        if let Some(part) = &mut self.collecting {
            part.carried.merge(&counts.since(&part.counts));
            part.counts = MetricValues::default();
        }
    }

    /// In virtual time the scheduler has no thread of its own.
    fn machine_reading(&self) -> MachineReading {
        let thread = self.runtime.as_wall().map_or(0, |side| side.runtime.scheduler_thread());
        MachineReading::of(ThreadId(thread))
    }

    /// What is counted since the scheduler began; nothing in virtual time.
    fn counts(&self) -> Option<MetricValues> {
        self.runtime.as_wall().and_then(|side| side.live.counts_while(&self.waits()))
    }

    /// What the scheduler under test has taken so far.
    fn usage(&self) -> Option<UnderTestUsage> {
        match &self.runtime {
            Runtime::UnderTest(side) => Some(side.scheduler().usage()),
            Runtime::Wall(_) | Runtime::Virtual(_) => None,
        }
    }

    fn pods_of(&self, namespaces: &[String], labels: &BTreeMap<String, String>) -> Vec<StoredPodRow> {
        let selector = LabelSelectorInput { match_labels: labels.clone(), match_expressions: Vec::new() };
        let rows_of = |namespace: &String| {
            self.cluster.pods_now(PodFilter { namespace: Some(namespace), labels: Some(&selector) })
        };
        namespaces.iter().flat_map(rows_of).collect()
    }
}

/// Attempts that a scheduler under test counts itself.
fn told_attempts(series: &MetricValues) -> u64 {
    let of = |(_, value): (_, &Value)| if let Value::Count(count) = value { *count } else { 0 };
    series.of(table::SCHEDULE_ATTEMPTS.name).map(of).sum()
}

fn count_bound(rows: &[StoredPodRow]) -> u64 {
    rows.iter().filter(|row| row.node.is_some()).count() as u64
}
