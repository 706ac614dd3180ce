//! Kinds that are stored as JSON, as far as scheduling reads them.

use k8s_openapi::api::core::v1::NodeSelector;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schedlab_core::quantity::Quantity;
use schedlab_objects::ApiJson;
use serde_json::Value;

use super::formats::{dns_label_errors, dns_subdomain_errors};
use super::{Errors, Invalid, Path};
use crate::api::{GenericObject, group_of};
use crate::defaults::SYSTEM_PRIORITY_CLASSES;

/// Upstream: `HighestUserDefinablePriority`.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";

/// Checks a new object, or one that takes the place of another. Kinds that scheduling does not read
/// are not looked into.
pub fn validate_other(object: &GenericObject) -> Result<(), Invalid> {
    let mut errors = Errors::default();
    match (group_of(&object.api_version), object.kind.as_str()) {
        ("", "Namespace") => errors.metadata(&object.metadata, dns_label_errors),
        ("", "Service") => {
            errors.metadata(&object.metadata, dns_label_errors);
            errors.service(object);
        }
        ("", "PersistentVolume") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.volume(object);
        }
        ("", "PersistentVolumeClaim") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.amounts(object, &["spec", "resources", "requests"]);
        }
        ("", "ResourceQuota") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.quota(object);
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.priority_class(object);
        }
        ("scheduling.k8s.io", "PodGroup") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.pod_group(object);
        }
        ("storage.k8s.io", "StorageClass") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.storage_class(object);
        }
        ("resource.k8s.io", "ResourceClaim") => errors.resource_claim(object),
        ("apps", "ReplicaSet" | "StatefulSet") | ("policy", "PodDisruptionBudget") => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
            errors.selector(object);
        }
        ("", "ReplicationController") | ("storage.k8s.io", _) => {
            errors.metadata(&object.metadata, dns_subdomain_errors);
        }
        _ => {}
    }
    errors.into_result()
}

/// Checks what may not change.
///
/// Upstream: `ValidatePriorityClassUpdate`.
pub fn validate_other_update(new: &GenericObject, old: &GenericObject) -> Result<(), Invalid> {
    let mut errors = Errors::default();
    if (group_of(&new.api_version), new.kind.as_str()) == ("scheduling.k8s.io", "PriorityClass") {
        let field = |object: &GenericObject, name: &str| object.body.get(name).cloned().unwrap_or_default();
        if field(new, "value") != field(old, "value") {
            errors.forbidden(&Path::root("value"), "may not be changed in an update.");
        }
        let policy = |object: &GenericObject| match field(object, "preemptionPolicy") {
            Value::String(policy) if !policy.is_empty() => policy,
            _ => "PreemptLowerPriority".to_owned(),
        };
        if policy(new) != policy(old) {
            errors.invalid(&Path::root("preemptionPolicy"), policy(new).as_str(), "field is immutable");
        }
    }
    match (group_of(&new.api_version), new.kind.as_str()) {
        ("scheduling.k8s.io", "PodGroup") => errors.pod_group_update(new, old),
        ("resource.k8s.io", "ResourceClaim") => errors.resource_claim_update(new, old),
        _ => {}
    }
    errors.into_result()
}

fn at<'a>(object: &'a GenericObject, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(object.body.get(*first)?, |value, key| value.get(key))
        .filter(|value| !value.is_null())
}

impl Errors {
    /// Upstream: `ValidatePriorityClass`.
    fn priority_class(&mut self, object: &GenericObject) {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let path = Path::root("value");
        let Some(value) = at(object, &["value"]) else { return };
        let Some(value) = value.as_i64().filter(|value| i32::try_from(*value).is_ok()) else {
            return self.push(&path, format!("Invalid value: {value}: must be a 32-bit integer"));
        };
        if name.starts_with(SYSTEM_PREFIX) {
            let is_known =
                SYSTEM_PRIORITY_CLASSES.iter().any(|&(known, of)| known == name && i64::from(of) == value);
            if !is_known {
                let why = "priority class names with 'system-' prefix are reserved for system use only";
                let metadata = Path::root("metadata");
                self.forbidden(&metadata.field("name"), why);
            }
        } else if USER_PRIORITY_MAX < value {
            let why = format_args!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
            self.forbidden(&path, why);
        }
        if let Some(policy) = at(object, &["preemptionPolicy"]).and_then(Value::as_str) {
            let path = Path::root("preemptionPolicy");
            self.one_of(&path, policy, &["Never", "PreemptLowerPriority"]);
        }
    }

    /// Upstream: `ValidateResourceQuotaSpec`, as far as amounts go.
    fn quota(&mut self, object: &GenericObject) {
        let Some(Value::Object(hard)) = at(object, &["spec", "hard"]) else { return };
        let path = Path::root("spec.hard");
        for (name, amount) in hard {
            let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
            match Quantity::parse(&text) {
                Ok(_) => self.amount(&path.key(name), name, &ApiQuantity(text)),
                Err(error) => self.invalid(&path.key(name), text.as_str(), error),
            }
        }
    }

    fn storage_class(&mut self, object: &GenericObject) {
        if let Some(mode) =
            at(object, &["volumeBindingMode"]).and_then(Value::as_str).filter(|mode| !mode.is_empty())
        {
            let path = Path::root("volumeBindingMode");
            self.one_of(&path, mode, &["Immediate", "WaitForFirstConsumer"]);
        }
    }

    fn service(&mut self, object: &GenericObject) {
        let Some(Value::Object(selector)) = at(object, &["spec", "selector"]) else { return };
        let path = Path::root("spec");
        let path = path.field("selector");
        for (key, value) in selector {
            self.label_key(&path, key);
            self.label_value(&path, value.as_str().unwrap_or_default());
        }
    }

    fn volume(&mut self, object: &GenericObject) {
        self.amounts(object, &["spec", "capacity"]);
        let required = at(object, &["spec", "nodeAffinity", "required"]);
        let Some(selector) = required.and_then(read::<NodeSelector>) else { return };
        let path = Path::root("spec.nodeAffinity");
        self.node_selector(&path.field("required"), &selector);
    }

    fn selector(&mut self, object: &GenericObject) {
        let selector = at(object, &["spec", "selector"]).and_then(read::<LabelSelector>);
        let path = Path::root("spec");
        self.label_selector(&path.field("selector"), selector.as_ref());
    }

    fn amounts(&mut self, object: &GenericObject, path: &[&str]) {
        let Some(Value::Object(amounts)) = at(object, path) else { return };
        let joined = path.join(".");
        let path = Path::root(&joined);
        for (name, amount) in amounts {
            if let Some(quantity) = read::<ApiQuantity>(amount) {
                self.amount(&path.key(name), name, &quantity);
            }
        }
    }
}

/// What has another shape is refused where it is converted.
fn read<T: ApiJson>(value: &Value) -> Option<T> {
    T::from_json(value.clone()).ok()
}
