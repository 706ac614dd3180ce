//! A pod taken apart: the columns of its row, and the body it shares with others.

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;

use crate::api::{ConditionStatus, PodConditionEntry, PodFlags, PodPhase, StoredPodRow, format_pod_uid};
use crate::convert::has_execution_terms;

/// The condition that belongs to what scheduling reads (see `convert`), not to the row.
const RESIZE_PENDING: &str = "PodResizePending";

/// The parts of a status that a row has columns for.
#[derive(Debug, Default)]
pub(super) struct StatusColumns {
    pub(super) phase: PodPhase,
    pub(super) nominated: Option<String>,
    pub(super) conditions: Vec<PodConditionEntry>,
}

/// Takes the columns out of a status; what is left belongs to the body.
pub(super) fn take_status_columns(status: &mut PodStatus) -> StatusColumns {
    let (kept, taken) = status
        .conditions
        .take()
        .unwrap_or_default()
        .into_iter()
        .partition::<Vec<_>, _>(|condition| condition.type_ == RESIZE_PENDING);
    status.conditions = Some(kept).filter(|kept| !kept.is_empty());
    StatusColumns {
        phase: PodPhase::parse(status.phase.take().as_deref().unwrap_or_default()),
        nominated: status.nominated_node_name.take().filter(|name| !name.is_empty()),
        conditions: taken.iter().map(condition_entry).collect(),
    }
}

fn condition_entry(condition: &PodCondition) -> PodConditionEntry {
    PodConditionEntry {
        type_: condition.type_.as_str().into(),
        status: ConditionStatus::parse(&condition.status),
        reason: condition.reason.as_deref().unwrap_or_default().into(),
        message: condition.message.as_deref().unwrap_or_default().into(),
    }
}

/// Takes out of the metadata what tells one pod from another.
pub(super) fn strip_identity(metadata: &mut ObjectMeta) {
    metadata.name = None;
    metadata.uid = None;
    metadata.resource_version = None;
    metadata.creation_timestamp = None;
    metadata.deletion_timestamp = None;
    metadata.deletion_grace_period_seconds = None;
    metadata.generation = None;
    metadata.self_link = None;
}

/// The flags that follow from a body.
pub(super) fn flags_of(body: &Pod) -> PodFlags {
    let mut flags = PodFlags::LIVE;
    if body.metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty()) {
        flags = flags.with(PodFlags::FINALIZERS);
    }
    let gates = body.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
    if gates.is_some_and(|gates| !gates.is_empty()) {
        flags = flags.with(PodFlags::GATED);
    }
    if has_execution_terms(body) {
        flags = flags.with(PodFlags::EXECUTION_TERMS);
    }
    flags
}

/// What the columns of a row stand for.
pub(super) struct RowTexts<'a> {
    pub(super) name: String,
    pub(super) node: Option<&'a str>,
    pub(super) nominated: Option<&'a str>,
    pub(super) conditions: &'a [PodConditionEntry],
    pub(super) deletion_ns: Option<u64>,
}

/// Puts a pod together again.
pub(super) fn assemble(body: &Pod, row: &StoredPodRow, texts: RowTexts<'_>) -> Pod {
    let mut pod = body.clone();
    pod.metadata.name = Some(texts.name);
    pod.metadata.uid = Some(format_pod_uid(row.uid));
    pod.metadata.resource_version = Some(row.resource_version.to_string());
    pod.metadata.creation_timestamp = Some(time_of(row.created_ns));
    pod.metadata.deletion_timestamp = texts.deletion_ns.map(time_of);
    pod.spec.get_or_insert_default().node_name = texts.node.map(str::to_owned);
    let status = pod.status.get_or_insert_default();
    status.phase = Some(row.phase.as_str().to_owned());
    status.nominated_node_name = texts.nominated.map(str::to_owned);
    let conditions = texts.conditions.iter().map(|entry| condition(entry, row.transition_ns));
    let mut all: Vec<PodCondition> = conditions.collect();
    all.append(status.conditions.get_or_insert_default());
    status.conditions = Some(all).filter(|all| !all.is_empty());
    pod
}

/// Differs: all conditions of a pod show the time of the last transition among them; the row has
/// room for one. Scheduling reads none (`conditions_of_a_pod_share_one_transition_time`).
fn condition(entry: &PodConditionEntry, transition_ns: u64) -> PodCondition {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    PodCondition {
        type_: entry.type_.to_string(),
        status: entry.status.as_str().to_owned(),
        reason: text(&entry.reason),
        message: text(&entry.message),
        last_transition_time: Some(time_of(transition_ns)),
        ..PodCondition::default()
    }
}

/// API times have whole seconds.
pub(super) fn time_of(ns: u64) -> Time {
    let seconds = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    Time(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
}
