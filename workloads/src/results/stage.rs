//! The stages of a pod's way whose latency is measured.

use serde::{Deserialize, Serialize};

/// One stage. The order is the order of the pod's way, whole spans first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// First enqueued until bound, over all attempts.
    EndToEnd,
    /// In the queue, until popped.
    Queueing,
    /// Popped until a node is chosen: upstream's scheduling algorithm.
    SchedulingCycle,
    /// Popped until bound, of attempts that ended scheduled.
    AttemptScheduled,
    /// Popped until put back, of attempts that found no node.
    AttemptUnschedulable,
    /// Popped until put back, of attempts that ended in an error.
    AttemptError,
    /// Extension point `PreEnqueue`.
    PreEnqueue,
    /// Extension point `PreFilter`.
    PreFilter,
    /// Extension point `Filter`, all nodes of a cycle.
    Filter,
    /// Extension point `PostFilter`: preemption.
    PostFilter,
    /// Extension point `PreScore`.
    PreScore,
    /// Extension point `Score`, all nodes of a cycle; normalising is part of it here.
    Score,
    /// Extension point `Reserve`.
    Reserve,
    /// Extension point `Permit`.
    Permit,
    /// Extension point `PreBind`.
    PreBind,
    /// Extension point `Bind`: the API call and its answer.
    Bind,
    /// Extension point `PostBind`.
    PostBind,
}

impl Stage {
    /// The stage that a metric's series measures, by the value of its labels; `None` of other metrics.
    pub fn of_metric<'a>(name: &str, label: impl Fn(&str) -> Option<&'a str>) -> Option<Stage> {
        match name {
            "scheduler_pod_scheduling_sli_duration_seconds" => Some(Stage::EndToEnd),
            "scheduler_scheduling_algorithm_duration_seconds" => Some(Stage::SchedulingCycle),
            "schedlab_queue_wait_duration_seconds" => Some(Stage::Queueing),
            "scheduler_scheduling_attempt_duration_seconds" => match label("result")? {
                "scheduled" => Some(Stage::AttemptScheduled),
                "unschedulable" => Some(Stage::AttemptUnschedulable),
                "error" => Some(Stage::AttemptError),
                _ => None,
            },
            "scheduler_framework_extension_point_duration_seconds" => {
                let point = label("extension_point")?;
                Stage::ALL.into_iter().find(|stage| stage.extension_point() == Some(point))
            }
            _ => None,
        }
    }

    /// Every stage, in order.
    pub const ALL: [Stage; 17] = [
        Stage::EndToEnd,
        Stage::Queueing,
        Stage::SchedulingCycle,
        Stage::AttemptScheduled,
        Stage::AttemptUnschedulable,
        Stage::AttemptError,
        Stage::PreEnqueue,
        Stage::PreFilter,
        Stage::Filter,
        Stage::PostFilter,
        Stage::PreScore,
        Stage::Score,
        Stage::Reserve,
        Stage::Permit,
        Stage::PreBind,
        Stage::Bind,
        Stage::PostBind,
    ];

    /// Name for people.
    pub fn title(self) -> &'static str {
        match self {
            Stage::EndToEnd => "End to end",
            Stage::Queueing => "Queueing",
            Stage::SchedulingCycle => "Scheduling cycle",
            Stage::AttemptScheduled => "Attempt, scheduled",
            Stage::AttemptUnschedulable => "Attempt, unschedulable",
            Stage::AttemptError => "Attempt, error",
            other => other.extension_point().expect("the other stages are extension points"),
        }
    }

    /// Upstream's value of the label `extension_point`, for the stages that are one.
    ///
    /// Upstream: pkg/scheduler/metrics/metrics.go `ExtensionPoints`. `PreEnqueue` is not in
    /// that list, but backend/queue/scheduling_queue.go records its duration.
    pub fn extension_point(self) -> Option<&'static str> {
        match self {
            Stage::PreEnqueue => Some("PreEnqueue"),
            Stage::PreFilter => Some("PreFilter"),
            Stage::Filter => Some("Filter"),
            Stage::PostFilter => Some("PostFilter"),
            Stage::PreScore => Some("PreScore"),
            Stage::Score => Some("Score"),
            Stage::Reserve => Some("Reserve"),
            Stage::Permit => Some("Permit"),
            Stage::PreBind => Some("PreBind"),
            Stage::Bind => Some("Bind"),
            Stage::PostBind => Some("PostBind"),
            Stage::EndToEnd
            | Stage::Queueing
            | Stage::SchedulingCycle
            | Stage::AttemptScheduled
            | Stage::AttemptUnschedulable
            | Stage::AttemptError => None,
        }
    }
}
