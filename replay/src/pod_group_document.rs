//! The part of the format that is about pod groups. See `docs/trace-format.md`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::document::ScheduleRecord;

/// What a `schedulePodGroup` step recorded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PodGroupRecord {
    /// The members stay out of the queue.
    pub pre_enqueue: Option<StatusRecord>,
    /// The group is invalid and not tried.
    pub error: Option<String>,
    /// A pass over the members for each placement.
    pub runs: Vec<RunRecord>,
    /// The scores of the placements that are feasible, if there are several.
    pub placement_scores: Vec<PlacementScoreRecord>,
    /// The placement used, when it has a name.
    pub chosen_placement: Option<String>,
    /// The group's status before PostFilter.
    pub status: Option<StatusRecord>,
    /// Member to node.
    pub placed: BTreeMap<String, String>,
    /// Member to message, all others.
    pub rejected: BTreeMap<String, String>,
    /// What PodGroupPostFilter says.
    pub preemption: Option<PodGroupPreemptionRecord>,
    /// The group's condition afterwards.
    pub condition: Option<ConditionRecord>,
}

/// A code, who says so and why.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StatusRecord {
    /// The plugin.
    pub plugin: Option<String>,
    /// The code.
    pub code: String,
    /// Why.
    pub reasons: Vec<String>,
}

/// A pass over the members.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunRecord {
    /// The placement, if it has a name.
    pub placement: Option<String>,
    /// Its nodes, when not all.
    pub nodes: Option<Vec<String>>,
    /// The check before the first member.
    pub start: StatusRecord,
    /// The members that were tried.
    pub pods: Vec<RunPodRecord>,
    /// The last check was a success.
    pub feasible: bool,
}

/// A member in a pass.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunPodRecord {
    /// The pod.
    pub pod: String,
    /// What was decided.
    pub result: ScheduleRecord,
    /// The check after it.
    pub group: StatusRecord,
}

/// The scores of a placement.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlacementScoreRecord {
    /// Its name.
    pub placement: String,
    /// Weighted, by plugin.
    pub scores: BTreeMap<String, i64>,
    /// Their sum.
    pub total: i64,
}

/// What preemption for the group comes to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PodGroupPreemptionRecord {
    /// The code.
    pub code: String,
    /// Why.
    pub reasons: Vec<String>,
    /// Who has to go, sorted.
    pub victims: Vec<String>,
    /// Member to node.
    pub nominated: BTreeMap<String, String>,
}

/// The condition PodGroupInitiallyScheduled, without its time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConditionRecord {
    /// Always PodGroupInitiallyScheduled.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True` or `False`.
    pub status: String,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `observedGeneration`.
    pub observed_generation: i64,
}
