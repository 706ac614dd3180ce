//! The status of a pod group.

use schedlab_core::input::pod_group::PodGroupCondition;
use schedlab_core::pod_group::POD_GROUP_INITIALLY_SCHEDULED;
use serde_json::{Value, json};

use super::GenericObject;

/// Adds the condition to a group, or lets it replace the one of its type. `now` is when that happens; the
/// time of a transition stays where the status does.
///
/// Upstream: apimachinery/pkg/api/meta/conditions.go `SetStatusCondition`.
pub fn set_pod_group_condition(group: &mut GenericObject, condition: &PodGroupCondition, now: Option<&str>) {
    let PodGroupCondition { is_true, reason, message, observed_generation } = condition;
    let status = if *is_true { "True" } else { "False" };
    let mut new = json!({
        "type": POD_GROUP_INITIALLY_SCHEDULED, "status": status, "reason": reason, "message": message,
        "observedGeneration": observed_generation,
    });
    if !group.body.get("status").is_some_and(Value::is_object) {
        group.body.insert("status".to_owned(), json!({}));
    }
    let conditions = &mut group.body["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let list = conditions.as_array_mut().expect("it was just made one");
    let own = list.iter_mut().find(|it| it["type"] == POD_GROUP_INITIALLY_SCHEDULED);
    let unchanged = own.as_ref().filter(|old| old["status"] == status);
    let time = unchanged.and_then(|old| old.get("lastTransitionTime").cloned()).or(now.map(Value::from));
    if let Some(time) = time {
        new["lastTransitionTime"] = time;
    }
    match own {
        Some(old) => *old = new,
        None => list.push(new),
    }
}

#[cfg(test)]
mod tests {
    use schedlab_objects::ApiJson as _;

    use super::*;

    #[test]
    fn condition_keeps_its_transition_time_while_its_status_stays() {
        let object = json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "status": {"conditions": [{"type": "Other"}]}});
        let mut group = GenericObject::from_json(object).unwrap();
        let condition = |is_true, message: &str| PodGroupCondition {
            is_true,
            reason: "R".to_owned(),
            message: message.to_owned(),
            observed_generation: 1,
        };
        let own = |group: &GenericObject| group.body["status"]["conditions"][1].clone();
        set_pod_group_condition(&mut group, &condition(false, "a"), Some("t1"));
        set_pod_group_condition(&mut group, &condition(false, "b"), Some("t2"));
        assert_eq!(
            (own(&group)["message"].clone(), own(&group)["lastTransitionTime"].clone()),
            (json!("b"), json!("t1"))
        );
        set_pod_group_condition(&mut group, &condition(true, ""), Some("t3"));
        assert_eq!(
            (own(&group)["status"].clone(), own(&group)["lastTransitionTime"].clone()),
            (json!("True"), json!("t3"))
        );
        assert_eq!(group.body["status"]["conditions"].as_array().map(Vec::len), Some(2));
    }
}
