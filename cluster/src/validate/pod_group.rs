//! Pod groups: what the API server refuses of them.
//!
//! Upstream: api/scheduling/v1beta1/types.go, whose `+k8s:` tags are the rules.

use serde_json::Value;

use super::formats::{dns_subdomain_errors, label_key_errors};
use super::{Errors, Path};
use crate::api::GenericObject;

/// Upstream: `HighestUserDefinablePriority`.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;

/// Fields that stay as they were created. `minCount` is not among them.
const IMMUTABLE: [&str; 9] = [
    "parentCompositePodGroupName",
    "workloadRef",
    "schedulingPolicy.basic",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
];

fn spec(object: &GenericObject) -> &Value {
    object.body.get("spec").unwrap_or(&Value::Null)
}

fn at<'a>(spec: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(spec, |at, name| at.get(name)).filter(|value| !value.is_null())
}

impl Errors {
    /// Upstream: `Validate_PodGroup`.
    pub(super) fn pod_group(&mut self, object: &GenericObject) {
        let spec = spec(object);
        let path = Path::root("spec");
        self.union(&path.field("schedulingPolicy"), at(spec, "schedulingPolicy"), &["basic", "gang"], true);
        self.min_count(at(spec, "schedulingPolicy.gang"));
        self.union(&path.field("disruptionMode"), at(spec, "disruptionMode"), &["single", "all"], false);
        self.topology(at(spec, "schedulingConstraints.topology"));
        if let Some(priority) = at(spec, "priority").and_then(Value::as_i64)
            && USER_PRIORITY_MAX < priority
        {
            let why = format!("Invalid value: {priority}: must be less than or equal to {USER_PRIORITY_MAX}");
            self.push(&path.field("priority"), why);
        }
        if let Some(policy) = at(spec, "preemptionPolicy").and_then(Value::as_str) {
            self.one_of(&path.field("preemptionPolicy"), policy, &["Never", "PreemptLowerPriority"]);
        }
        if let Some(name) = at(spec, "priorityClassName").and_then(Value::as_str).filter(|it| !it.is_empty())
        {
            for why in dns_subdomain_errors(name) {
                self.invalid(&path.field("priorityClassName"), name, why);
            }
        }
    }

    /// Exactly one of some fields, or, where nothing is required, at most one.
    fn union(&mut self, path: &Path<'_>, value: Option<&Value>, members: &[&str], is_required: bool) {
        let set: Vec<&str> =
            members.iter().copied().filter(|name| value.is_some_and(|it| at(it, name).is_some())).collect();
        let all: Vec<String> = members.iter().map(|name| format!("`{name}`")).collect();
        let all = all.join(", ");
        match set.len() {
            0 if is_required || value.is_some() => {
                self.invalid(path, "", format_args!("must specify one of: {all}"));
            }
            0 | 1 => {}
            _ => {
                let set: Vec<String> = set.iter().map(|name| format!("`{name}`")).collect();
                let set = format!("{{{}}}", set.join(", "));
                self.invalid(path, set.as_str(), format_args!("must specify exactly one of: {all}"));
            }
        }
    }

    fn min_count(&mut self, gang: Option<&Value>) {
        let Some(gang) = gang else { return };
        let path = Path::root("spec.schedulingPolicy.gang");
        let path = path.field("minCount");
        match gang.get("minCount") {
            None | Some(Value::Null) => self.required(&path, ""),
            Some(count) => match count.as_i64().and_then(|count| i32::try_from(count).ok()) {
                None => self.push(&path, format!("Invalid value: {count}: must be a 32-bit integer")),
                // To the API server a number that is 0 is one that was left out.
                Some(0) => self.required(&path, ""),
                Some(count) if count < 0 => {
                    self.invalid(&path, count, "must be greater than or equal to 1");
                }
                Some(_) => {}
            },
        }
    }

    fn topology(&mut self, topology: Option<&Value>) {
        let Some(Value::Array(constraints)) = topology else { return };
        let path = Path::root("spec.schedulingConstraints");
        let path = path.field("topology");
        if constraints.len() > 1 {
            self.push(&path, format!("Too many: {}: must have at most 1 item", constraints.len()));
        }
        for (number, constraint) in constraints.iter().enumerate() {
            let path = path.index(number);
            let path = path.field("key");
            match constraint.get("key").and_then(Value::as_str).filter(|key| !key.is_empty()) {
                None => self.required(&path, ""),
                Some(key) => {
                    for why in label_key_errors(key) {
                        self.invalid(&path, key, why);
                    }
                }
            }
        }
    }

    /// Upstream: `Validate_PodGroup` with the tags `+k8s:immutable` and `+k8s:update`.
    pub(super) fn pod_group_update(&mut self, new: &GenericObject, old: &GenericObject) {
        let root = Path::root("spec");
        for name in IMMUTABLE {
            if at(spec(new), name) != at(spec(old), name) {
                self.push(&root.field(name), "Invalid value: null: field is immutable".to_owned());
            }
        }
        let gang = |object| at(spec(object), "schedulingPolicy.gang").is_some();
        let path = root.field("schedulingPolicy.gang");
        match (gang(old), gang(new)) {
            (false, true) => {
                self.push(&path, "Invalid value: null: field cannot be set once created".to_owned());
            }
            (true, false) => {
                self.push(&path, "Invalid value: null: field cannot be cleared once set".to_owned());
            }
            _ => {}
        }
    }
}
