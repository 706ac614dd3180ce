//! Figures: variants of workloads that ran in turns, each against the first, with intervals.

use std::collections::BTreeMap;

use schedlab_stats::Estimate;
use serde::{Deserialize, Serialize};

/// What was compared, and what came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Short name, as `extra-patch`.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What it shows, in a few sentences.
    pub about: String,
    /// The variant that the others are compared with.
    pub base: String,
    /// What the points differ in.
    pub axes: Vec<String>,
    /// What was measured, in the order to show it.
    pub metrics: Vec<FigureMetric>,
    /// Rounds; in each, every variant ran twice.
    pub rounds: u32,
    /// One for each variant at each point, in the order they are shown.
    pub rows: Vec<FigureRow>,
}

/// A variant at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureRow {
    /// A value for each axis.
    pub point: Vec<String>,
    /// The variant.
    pub variant: String,
    /// How often it ran.
    pub runs: u32,
    /// What was measured.
    pub values: BTreeMap<FigureMetric, FigureValue>,
}

/// A metric of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureValue {
    /// The median over the runs.
    pub median: Estimate,
    /// What it is more than the base at the same point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Estimate>,
    /// Divided by the base at the same point, where neither is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
}

/// What a figure measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureMetric {
    /// Nodes looked at for a pod.
    Evaluated,
    /// The same, divided by the ways they are looked at in parallel.
    Iterations,
    /// All nodes divided by the ways: what KEP-5278 reckons with.
    KepIterations,
    /// Median time of a scheduling cycle.
    CycleMedian,
    /// `POST pods/binding` per scheduled pod.
    BindingCalls,
    /// `PATCH pods/status` per scheduled pod.
    PatchCalls,
    /// Bindings and patches of a status, the calls of the scheduler, per scheduled pod.
    SchedulerCalls,
    /// `PATCH pods/status` in all.
    Patches,
    /// Events written.
    Events,
    /// Statuses not written because they said so already.
    Repeated,
    /// Pods bound a second.
    Throughput,
    /// Median time from a pod's creation to its binding.
    EndToEnd,
    /// Nodes that the autoscaler removed although pods were on their way to them.
    RemovedWrongly,
    /// Nodes that the autoscaler added.
    NodesAdded,
    /// Of the pods that were being bound when the scheduler was restarted, the percentage that is on the node that
    /// had been chosen.
    SameNode,
    /// Pods where Kueue decided that they should be.
    AsDecided,
    /// Pods evicted because their node no longer suits them.
    Evicted,
    /// Pods that a descheduler or a rescheduler has evicted.
    Moved,
    /// Decisions of schedulers that others made void: refused by the API, or by a kubelet for want of room.
    Conflicts,
    /// Pods that the last `countPods` found on the nodes it asked for.
    Counted,
    /// The most that it found on one node.
    MostOnANode,
    /// Pods that it found on no node.
    Pending,
    /// Median time from the cause of an eviction, a node's labels or taints, to the deletion of the pod.
    EvictionMedian,
    /// From the begin to the last binding.
    AllBound,
    /// All calls of everybody to the API, per scheduled pod.
    ApiCalls,
    /// Memory of the engine and the store, per pod.
    BytesPerPod,
    /// Memory of the engine and the store when the workload has ended.
    BytesAtEnd,
}

impl FigureMetric {
    /// Every metric.
    pub const ALL: [FigureMetric; 27] = [
        FigureMetric::Evaluated,
        FigureMetric::Iterations,
        FigureMetric::KepIterations,
        FigureMetric::CycleMedian,
        FigureMetric::BindingCalls,
        FigureMetric::PatchCalls,
        FigureMetric::SchedulerCalls,
        FigureMetric::Patches,
        FigureMetric::Events,
        FigureMetric::Repeated,
        FigureMetric::Throughput,
        FigureMetric::EndToEnd,
        FigureMetric::RemovedWrongly,
        FigureMetric::NodesAdded,
        FigureMetric::SameNode,
        FigureMetric::AsDecided,
        FigureMetric::Evicted,
        FigureMetric::Moved,
        FigureMetric::Conflicts,
        FigureMetric::Counted,
        FigureMetric::MostOnANode,
        FigureMetric::Pending,
        FigureMetric::EvictionMedian,
        FigureMetric::AllBound,
        FigureMetric::ApiCalls,
        FigureMetric::BytesPerPod,
        FigureMetric::BytesAtEnd,
    ];

    /// As a variants file writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FigureMetric::Evaluated => "evaluated",
            FigureMetric::Iterations => "iterations",
            FigureMetric::KepIterations => "kepIterations",
            FigureMetric::CycleMedian => "cycleMedian",
            FigureMetric::BindingCalls => "bindingCalls",
            FigureMetric::PatchCalls => "patchCalls",
            FigureMetric::SchedulerCalls => "schedulerCalls",
            FigureMetric::Patches => "patches",
            FigureMetric::Events => "events",
            FigureMetric::Repeated => "repeated",
            FigureMetric::Throughput => "throughput",
            FigureMetric::EndToEnd => "endToEnd",
            FigureMetric::RemovedWrongly => "removedWrongly",
            FigureMetric::NodesAdded => "nodesAdded",
            FigureMetric::SameNode => "sameNode",
            FigureMetric::AsDecided => "asDecided",
            FigureMetric::Evicted => "evicted",
            FigureMetric::Moved => "moved",
            FigureMetric::Conflicts => "conflicts",
            FigureMetric::Counted => "counted",
            FigureMetric::MostOnANode => "mostOnANode",
            FigureMetric::Pending => "pending",
            FigureMetric::EvictionMedian => "evictionMedian",
            FigureMetric::AllBound => "allBound",
            FigureMetric::ApiCalls => "apiCalls",
            FigureMetric::BytesPerPod => "bytesPerPod",
            FigureMetric::BytesAtEnd => "bytesAtEnd",
        }
    }

    /// A column's heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            FigureMetric::Evaluated => "nodes/pod",
            FigureMetric::Iterations => "iterations",
            FigureMetric::KepIterations => "KEP's",
            FigureMetric::CycleMedian => "cycle p50",
            FigureMetric::BindingCalls => "POST/pod",
            FigureMetric::PatchCalls => "PATCH/pod",
            FigureMetric::SchedulerCalls => "scheduler's calls/pod",
            FigureMetric::Patches => "PATCH",
            FigureMetric::Events => "events",
            FigureMetric::Repeated => "not repeated",
            FigureMetric::Throughput => "pods/s",
            FigureMetric::EndToEnd => "e2e p50",
            FigureMetric::RemovedWrongly => "nodes removed wrongly",
            FigureMetric::NodesAdded => "nodes added",
            FigureMetric::SameNode => "same node after restart",
            FigureMetric::AsDecided => "where Kueue decided",
            FigureMetric::Evicted => "evicted",
            FigureMetric::Moved => "pods moved",
            FigureMetric::Conflicts => "conflicts",
            FigureMetric::Counted => "pods counted",
            FigureMetric::MostOnANode => "most on a node",
            FigureMetric::Pending => "pending",
            FigureMetric::EvictionMedian => "eviction p50",
            FigureMetric::AllBound => "all bound after",
            FigureMetric::ApiCalls => "calls/pod",
            FigureMetric::BytesPerPod => "memory/pod",
            FigureMetric::BytesAtEnd => "memory at the end",
        }
    }

    /// How a variant is compared with the base.
    #[must_use]
    pub fn comparison(self) -> FigureComparison {
        match self {
            FigureMetric::Iterations
            | FigureMetric::KepIterations
            | FigureMetric::BindingCalls
            | FigureMetric::Events
            | FigureMetric::Repeated
            | FigureMetric::RemovedWrongly
            | FigureMetric::NodesAdded
            | FigureMetric::SameNode
            | FigureMetric::AsDecided
            | FigureMetric::Evicted
            | FigureMetric::Moved
            | FigureMetric::Conflicts
            | FigureMetric::Counted
            | FigureMetric::MostOnANode
            | FigureMetric::Pending
            | FigureMetric::EvictionMedian => FigureComparison::None,
            FigureMetric::Throughput
            | FigureMetric::EndToEnd
            | FigureMetric::AllBound
            | FigureMetric::ApiCalls
            | FigureMetric::SchedulerCalls
            | FigureMetric::BytesPerPod
            | FigureMetric::BytesAtEnd => FigureComparison::Ratio,
            FigureMetric::Evaluated
            | FigureMetric::CycleMedian
            | FigureMetric::PatchCalls
            | FigureMetric::Patches => FigureComparison::Extra,
        }
    }

    /// It is a time, in microseconds.
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(
            self,
            FigureMetric::CycleMedian
                | FigureMetric::EndToEnd
                | FigureMetric::EvictionMedian
                | FigureMetric::AllBound
        )
    }
}

/// What is said of a variant beside the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureComparison {
    /// Nothing.
    None,
    /// How much more.
    Extra,
    /// How many times.
    Ratio,
}
