//! Priorities by class name.
//!
//! Upstream: plugin/pkg/admission/priority/admission.go.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Map, Value, json};

/// A `PriorityClass`, as far as a pod takes over from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClass {
    /// `metadata.name`.
    pub name: String,
    /// `value`.
    pub value: i32,
    /// `preemptionPolicy`.
    pub preemption_policy: Option<String>,
    /// `globalDefault`: for pods that name no class.
    pub is_global_default: bool,
}

/// The classes every cluster has.
pub const SYSTEM_PRIORITY_CLASSES: [(&str, i32); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Fills in priority, class name and preemption policy. The error is the name of a class that
/// does not exist. A spec with a priority of its own keeps it, whatever the class says: upstream's
/// benchmark runs without this admission, and its pods name priorities directly.
pub fn resolve_priority(spec: &mut PodSpec, classes: &[PriorityClass]) -> Result<(), String> {
    let named = spec.priority_class_name.clone().filter(|name| !name.is_empty());
    let class = match &named {
        Some(name) => match find(name, classes) {
            None if spec.priority.is_none() => return Err(name.clone()),
            found => found,
        },
        // The lowest, should there be several.
        None if spec.priority.is_none() => {
            classes.iter().filter(|class| class.is_global_default).min_by_key(|class| class.value).cloned()
        }
        None => None,
    };
    if let Some(class) = &class {
        spec.priority_class_name = Some(class.name.clone());
    }
    spec.priority.get_or_insert(class.as_ref().map_or(0, |class| class.value));
    if spec.preemption_policy.is_none() {
        spec.preemption_policy = class
            .and_then(|class| class.preemption_policy)
            .or_else(|| Some("PreemptLowerPriority".to_owned()));
    }
    Ok(())
}

/// Fills in the priority and the class name of a pod group, as those of a pod. The error is the name of a
/// class that does not exist.
pub fn resolve_pod_group_priority(
    spec: &mut Map<String, Value>,
    classes: &[PriorityClass],
) -> Result<(), String> {
    let text = |key: &str| spec.get(key).and_then(Value::as_str).map(str::to_owned);
    let priority = spec.get("priority").and_then(Value::as_i64).and_then(|it| i32::try_from(it).ok());
    let mut pod = PodSpec {
        priority_class_name: text("priorityClassName"),
        priority,
        preemption_policy: Some(String::new()),
        ..PodSpec::default()
    };
    resolve_priority(&mut pod, classes)?;
    if let Some(name) = pod.priority_class_name {
        spec.insert("priorityClassName".to_owned(), json!(name));
    }
    if spec.get("priority").is_none_or(Value::is_null) {
        spec.insert("priority".to_owned(), json!(pod.priority));
    }
    Ok(())
}

fn find(name: &str, classes: &[PriorityClass]) -> Option<PriorityClass> {
    let stored = classes.iter().find(|class| class.name == name);
    let built_in = || {
        let &(_, value) = SYSTEM_PRIORITY_CLASSES.iter().find(|&&(system, _)| system == name)?;
        Some(PriorityClass {
            name: name.to_owned(),
            value,
            preemption_policy: None,
            is_global_default: false,
        })
    };
    stored.cloned().or_else(built_in)
}
