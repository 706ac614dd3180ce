//! Pod groups of `scheduling.k8s.io`. What is read of them is the same in all versions.

use schedlab_core::input::PreemptionPolicy;
use schedlab_core::input::pod_group::{DisruptionMode, PodGroupCondition, PodGroupInput, PodGroupPolicy};
use serde_json::Value;

use super::text_or_empty;
use crate::api::GenericObject;

/// The condition that the scheduler writes.
const INITIALLY_SCHEDULED: &str = "PodGroupInitiallyScheduled";

/// What scheduling reads from a PodGroup. A field of another shape counts as absent: the API server does
/// not let one through.
#[must_use]
pub fn pod_group_input(object: &GenericObject) -> PodGroupInput {
    let metadata = &object.metadata;
    let spec = object.body.get("spec").unwrap_or(&Value::Null);
    let topology = spec.pointer("/schedulingConstraints/topology/0/key").and_then(Value::as_str);
    let created = metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_nanosecond());
    PodGroupInput {
        namespace: text_or_empty(metadata.namespace.as_ref()),
        name: text_or_empty(metadata.name.as_ref()),
        uid: text_or_empty(metadata.uid.as_ref()),
        generation: metadata.generation.unwrap_or(0),
        created_ns: u64::try_from(created).unwrap_or(0),
        priority: small(spec.get("priority")).unwrap_or(0),
        policy: policy(spec),
        topology_key: topology.map(str::to_owned),
        has_scheduling_constraints: is_set(spec.get("schedulingConstraints")),
        disruption_mode: match is_set(spec.pointer("/disruptionMode/all")) {
            true => DisruptionMode::All,
            false => DisruptionMode::Single,
        },
        preemption: spec.get("preemptionPolicy").and_then(Value::as_str).map(|policy| match policy {
            "Never" => PreemptionPolicy::Never,
            _ => PreemptionPolicy::PreemptLowerPriority,
        }),
        initially_scheduled: initially_scheduled(object),
    }
}

fn is_set(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}

fn small(value: Option<&Value>) -> Option<i32> {
    i32::try_from(value?.as_i64()?).ok()
}

fn policy(spec: &Value) -> PodGroupPolicy {
    let gang = spec.pointer("/schedulingPolicy/gang");
    match is_set(gang) {
        false => PodGroupPolicy::Basic,
        true => {
            PodGroupPolicy::Gang { min_count: small(gang.and_then(|gang| gang.get("minCount"))).unwrap_or(0) }
        }
    }
}

fn initially_scheduled(object: &GenericObject) -> Option<PodGroupCondition> {
    let conditions = object.body.get("status")?.get("conditions")?.as_array()?;
    let text = |condition: &Value, key: &str| {
        condition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let condition = conditions.iter().find(|condition| text(condition, "type") == INITIALLY_SCHEDULED)?;
    Some(PodGroupCondition {
        is_true: text(condition, "status") == "True",
        reason: text(condition, "reason"),
        message: text(condition, "message"),
        observed_generation: condition.get("observedGeneration").and_then(Value::as_i64).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use schedlab_objects::ApiJson as _;
    use serde_json::json;

    use super::*;

    fn input(spec: Value, status: Value) -> PodGroupInput {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
            "metadata": { "namespace": "shop", "name": "gang", "uid": "u", "generation": 2,
                          "creationTimestamp": "1970-01-01T00:00:03Z" },
            "spec": spec, "status": status,
        });
        pod_group_input(&GenericObject::from_json(object).unwrap())
    }

    #[test]
    fn pod_group_keeps_policy_topology_key_and_condition() {
        let spec = json!({
            "priority": 7, "schedulingPolicy": { "gang": { "minCount": 3 } },
            "schedulingConstraints": { "topology": [{ "key": "zone" }] },
            "disruptionMode": { "all": {} }, "preemptionPolicy": "Never",
        });
        let status = json!({ "conditions": [
            { "type": "Other", "status": "True" },
            { "type": INITIALLY_SCHEDULED, "status": "False", "reason": "Unschedulable", "message": "m",
              "observedGeneration": 2 },
        ] });
        let expected = PodGroupInput {
            namespace: "shop".to_owned(),
            name: "gang".to_owned(),
            uid: "u".to_owned(),
            generation: 2,
            created_ns: 3_000_000_000,
            priority: 7,
            policy: PodGroupPolicy::Gang { min_count: 3 },
            topology_key: Some("zone".to_owned()),
            has_scheduling_constraints: true,
            disruption_mode: DisruptionMode::All,
            preemption: Some(PreemptionPolicy::Never),
            initially_scheduled: Some(PodGroupCondition {
                is_true: false,
                reason: "Unschedulable".to_owned(),
                message: "m".to_owned(),
                observed_generation: 2,
            }),
        };
        assert_eq!(input(spec, status), expected);
    }

    #[test]
    fn pod_group_of_basic_policy_has_min_count_one() {
        let basic = input(json!({ "schedulingPolicy": { "basic": {} } }), Value::Null);
        assert_eq!((basic.policy, basic.policy.min_count()), (PodGroupPolicy::Basic, 1));
        assert_eq!((basic.priority, basic.disruption_mode), (0, DisruptionMode::Single));
        assert_eq!(basic.initially_scheduled, None);
    }
}
