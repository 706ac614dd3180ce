//! Patches of pods' statuses, as strategic merge patches.
//!
//! Upstream: util/utils.go `PatchPodStatus`, pkg/api/v1/pod/util.go `UpdatePodCondition`.

use schedlab_cluster::api::{ConditionEdit, ConditionPatch, PodPhase};
use serde_json::{Map, Value, json};

use crate::object::OwnCondition;

/// A patch with its names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedPatch<'a> {
    pub(crate) condition: Option<ConditionEdit<'a>>,
    /// `nominatedNodeName`; `Some(None)` empties it.
    pub(crate) nomination: Option<Option<&'a str>>,
    pub(crate) phase: Option<PodPhase>,
}

/// A pod's status before the patch, as far as the patch is about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    pub(crate) uid: &'a str,
    pub(crate) generation: i64,
    pub(crate) conditions: &'a [OwnCondition],
    pub(crate) nominated: Option<&'a str>,
}

/// The body; `None` when the status says all that already.
pub(crate) fn body(patch: &NamedPatch<'_>, before: &Before<'_>, now: &str) -> Option<Value> {
    let mut status = Map::new();
    if let Some(condition) = patch.condition.and_then(|edit| condition(&edit, before, now)) {
        status.insert("conditions".to_owned(), json!([condition]));
    }
    if let Some(nominated) = patch.nomination.filter(|nominated| *nominated != before.nominated) {
        status.insert("nominatedNodeName".to_owned(), json!(nominated));
    }
    if let Some(phase) = patch.phase {
        status.insert("phase".to_owned(), json!(phase.as_str()));
    }
    (!status.is_empty()).then(|| json!({"metadata": {"uid": before.uid}, "status": status}))
}

fn condition(edit: &ConditionEdit<'_>, before: &Before<'_>, now: &str) -> Option<Value> {
    let known = |wanted: &str| before.conditions.iter().find(|it| it.type_ == wanted);
    match edit {
        ConditionEdit::Set(ConditionPatch { type_, status, reason, message }) => {
            let known = known(type_);
            let is_said = |it: &OwnCondition| {
                (&*it.status, &*it.reason, &*it.message) == (status.as_str(), *reason, *message)
            };
            if known.is_some_and(is_said) {
                return None;
            }
            // The time is that of the last change of the status, not of its reason.
            let unchanged = known.filter(|it| it.status == status.as_str());
            let transition = unchanged.and_then(|it| it.transition.as_deref()).unwrap_or(now);
            let mut condition = json!({
                "type": type_, "status": status.as_str(), "reason": reason, "message": message,
                "lastTransitionTime": transition,
            });
            if 0 < before.generation {
                condition["observedGeneration"] = json!(before.generation);
            }
            Some(condition)
        }
        ConditionEdit::Remove { type_, reason } => known(type_)
            .is_some_and(|it| it.reason == *reason)
            .then(|| json!({"$patch": "delete", "type": type_})),
    }
}

#[cfg(test)]
mod tests {
    use schedlab_cluster::api::ConditionStatus;

    use super::*;

    fn unschedulable(message: &'static str) -> NamedPatch<'static> {
        let condition = ConditionPatch {
            type_: "PodScheduled",
            status: ConditionStatus::False,
            reason: "Unschedulable",
            message,
        };
        NamedPatch { condition: Some(condition.into()), nomination: None, phase: None }
    }

    fn known(message: &str) -> OwnCondition {
        OwnCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: "Unschedulable".to_owned(),
            message: message.to_owned(),
            transition: Some("2026-01-01T00:00:00Z".to_owned()),
        }
    }

    const NOW: &str = "2026-02-02T00:00:00Z";

    #[test]
    fn first_condition_carries_uid_generation_and_time() {
        let before = Before { uid: "u", generation: 3, conditions: &[], nominated: None };
        let expected = json!({"metadata": {"uid": "u"}, "status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room",
            "lastTransitionTime": NOW, "observedGeneration": 3,
        }]}});
        assert_eq!(body(&unschedulable("no room"), &before, NOW), Some(expected));
    }

    #[test]
    fn condition_that_says_the_same_is_not_written_and_another_message_keeps_the_time() {
        let conditions = [known("no room")];
        let before = Before { uid: "u", generation: 0, conditions: &conditions, nominated: Some("n1") };
        assert_eq!(body(&unschedulable("no room"), &before, NOW), None);
        let changed = body(&unschedulable("a taint"), &before, NOW).expect("a patch");
        assert_eq!(changed["status"]["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        let nominate =
            |node| body(&NamedPatch { nomination: Some(node), ..unschedulable("no room") }, &before, NOW);
        assert_eq!(nominate(Some("n1")), None);
        let status = |body: Option<Value>| body.expect("a patch")["status"].take();
        assert_eq!(status(nominate(Some("n2"))), json!({"nominatedNodeName": "n2"}));
        assert_eq!(status(nominate(None)), json!({"nominatedNodeName": null}));
    }

    #[test]
    fn condition_is_withdrawn_only_where_its_reason_is_ours() {
        let conditions = [known("held")];
        let before = Before { uid: "u", generation: 0, conditions: &conditions, nominated: None };
        let withdraw = |reason| NamedPatch {
            condition: Some(ConditionEdit::Remove { type_: "PodScheduled", reason }),
            nomination: None,
            phase: None,
        };
        let removed = body(&withdraw("Unschedulable"), &before, NOW).expect("a patch");
        assert_eq!(removed["status"]["conditions"], json!([{"$patch": "delete", "type": "PodScheduled"}]));
        assert_eq!(body(&withdraw("NotReadyForScheduling"), &before, NOW), None);
    }
}
