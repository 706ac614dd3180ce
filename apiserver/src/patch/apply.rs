//! Server-side apply: who wants which fields is kept with the object, and a field that two want
//! differently is a conflict.
//!
//! Differs: upstream follows who writes what from an object's creation. Here it is followed from the first
//! apply on; who wrote before that is `before-first-apply`, as upstream has it for objects of older servers.
//! A field of that manager is taken over without a conflict
//! (`server_side_apply_takes_over_unmanaged_object`).
//!
//! Upstream: apimachinery pkg/util/managedfields.

use serde_json::{Value, json};

use super::fields::{FieldSet, Path, at, overlay, take_out};
use crate::answer::Refused;

const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq)]
struct Manager {
    name: String,
    operation: String,
    api_version: String,
    time: String,
    fields: FieldSet,
}

impl Manager {
    fn read(entry: &Value) -> Option<Manager> {
        // Status and scale are followed apart upstream; their entries are kept as they are.
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let fields = FieldSet::from_json(entry.get("fieldsV1")?);
        Some(Manager {
            name: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            time: text("time"),
            fields,
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "manager": self.name, "operation": self.operation, "apiVersion": self.api_version, "time": self.time,
            "fieldsType": "FieldsV1", "fieldsV1": self.fields.to_json(),
        })
    }

    fn is(&self, name: &str, operation: &str) -> bool {
        self.name == name && self.operation == operation
    }
}

fn managers_of(object: &Value) -> Vec<Manager> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter_map(Manager::read).collect()
}

fn put_managers(object: &mut Value, managers: &[Manager]) {
    let kept = managers.iter().filter(|manager| !manager.fields.0.is_empty());
    let entries: Vec<Value> = kept.map(Manager::to_json).collect();
    object["metadata"]["managedFields"] = json!(entries);
}

/// Who applies, and how.
#[derive(Clone, Debug)]
pub(super) struct Applier {
    pub(super) name: String,
    pub(super) api_version: String,
    /// RFC 3339.
    pub(super) time: String,
    pub(super) conflicts: OnConflict,
}

/// What happens to fields that others own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnConflict {
    Refuse,
    TakeOver,
}

/// What an applied configuration makes of an object.
pub(super) fn applied(live: Option<&Value>, config: &Value, applier: &Applier) -> Result<Value, Refused> {
    let fields = FieldSet::of(config);
    let mut managers = live.map(managers_of).unwrap_or_default();
    if let (Some(live), true) = (live, managers.is_empty()) {
        managers.push(Manager {
            name: BEFORE_FIRST_APPLY.to_owned(),
            operation: "Update".to_owned(),
            api_version: applier.api_version.clone(),
            time: applier.time.clone(),
            fields: FieldSet::of(live),
        });
    }
    let conflicts = conflicts(live, config, &fields, &managers, applier);
    if !conflicts.is_empty() && applier.conflicts == OnConflict::Refuse {
        return Err(refused(&conflicts));
    }
    let mut object = live.cloned().unwrap_or_else(|| json!({}));
    overlay("", &mut object, config);
    let own = managers.iter().position(|manager| manager.is(&applier.name, "Apply"));
    let own = own.map(|at| managers.remove(at));
    // Applying the same again changes nothing, the time included.
    let same = own.as_ref().filter(|own| own.fields == fields && own.api_version == applier.api_version);
    let time = same.map_or_else(|| applier.time.clone(), |own| own.time.clone());
    let old = own.map(|own| own.fields).unwrap_or_default();
    // Elements before their fields: what is taken out whole need not be taken out piece by piece.
    for path in old.0.iter().filter(|path| !fields.owns(path)) {
        if !managers.iter().any(|manager| owns_within(&manager.fields, path)) && !owns_within(&fields, path) {
            take_out(&mut object, path);
        }
    }
    let changed: Vec<&Path> =
        fields.0.iter().filter(|path| live.is_none_or(|live| at(live, path) != at(config, path))).collect();
    for manager in &mut managers {
        changed.iter().for_each(|path| manager.fields.remove(path));
    }
    managers.push(Manager {
        name: applier.name.clone(),
        operation: "Apply".to_owned(),
        api_version: applier.api_version.clone(),
        time,
        fields,
    });
    put_managers(&mut object, &managers);
    Ok(object)
}

/// Whether the field or something below it is owned.
fn owns_within(fields: &FieldSet, path: &Path) -> bool {
    fields.0.range(path.clone()..).next().is_some_and(|next| next.starts_with(path))
}

/// Fields with another value, and who owns them.
fn conflicts(
    live: Option<&Value>,
    config: &Value,
    fields: &FieldSet,
    managers: &[Manager],
    applier: &Applier,
) -> Vec<(String, String, Path)> {
    let Some(live) = live else { return Vec::new() };
    let others = managers
        .iter()
        .filter(|manager| !manager.is(&applier.name, "Apply") && manager.name != BEFORE_FIRST_APPLY);
    let mut found = Vec::new();
    for manager in others {
        for path in fields.0.iter().filter(|path| manager.fields.owns(path)) {
            let is_element = path.last().is_some_and(|step| step.starts_with("k:"));
            if !is_element && at(live, path).is_some() && at(live, path) != at(config, path) {
                found.push((manager.name.clone(), manager.api_version.clone(), path.clone()));
            }
        }
    }
    found
}

/// `.spec.containers[name="c"].image`.
fn shown(path: &Path) -> String {
    let mut text = String::new();
    for step in path {
        match (step.strip_prefix("f:"), step.strip_prefix("k:"), step.strip_prefix("v:")) {
            (Some(name), ..) => text.push_str(&format!(".{name}")),
            (_, Some(key), _) => {
                let key: Value = serde_json::from_str(key).unwrap_or_default();
                let pairs = key.as_object().into_iter().flatten();
                let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
                text.push_str(&format!("[{}]", pairs.join(",")));
            }
            (_, _, Some(value)) => text.push_str(&format!("[={value}]")),
            _ => {}
        }
    }
    text
}

fn refused(conflicts: &[(String, String, Path)]) -> Refused {
    let cause = |(manager, api_version, path): &(String, String, Path)| {
        json!({
            "reason": "FieldManagerConflict", "field": shown(path),
            "message": format!("conflict with \"{manager}\" using {api_version}"),
        })
    };
    let lines: Vec<String> = conflicts
        .iter()
        .map(|(manager, api_version, path)| {
            format!("conflict with \"{manager}\" using {api_version}: {}", shown(path))
        })
        .collect();
    let plural = if lines.len() == 1 { "conflict" } else { "conflicts" };
    let message = format!("Apply failed with {} {plural}: {}", lines.len(), lines.join("; "));
    Refused::apply_conflict(message, conflicts.iter().map(cause).collect())
}

/// Notes who changed what by another way than apply, on objects that somebody applies.
pub(crate) fn follow_update(before: &Value, after: &mut Value, manager: &str, api_version: &str, time: &str) {
    let mut managers = managers_of(before);
    if managers.is_empty() {
        return;
    }
    let (old, new) = (FieldSet::of(before), FieldSet::of(after));
    let gone = old.0.iter().filter(|path| !new.owns(path));
    let changed: Vec<Path> =
        new.0.iter().filter(|path| at(before, path) != at(after, path)).cloned().collect();
    for path in gone.chain(&changed) {
        managers.iter_mut().for_each(|owner| owner.fields.remove(path));
    }
    if !changed.is_empty() {
        let own = managers.iter().position(|owner| owner.is(manager, "Update"));
        let own = own.unwrap_or_else(|| {
            managers.push(Manager {
                name: manager.to_owned(),
                operation: "Update".to_owned(),
                api_version: api_version.to_owned(),
                time: String::new(),
                fields: FieldSet::default(),
            });
            managers.len() - 1
        });
        time.clone_into(&mut managers[own].time);
        managers[own].fields.0.extend(changed);
    }
    put_managers(after, &managers);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applier(name: &str, conflicts: OnConflict) -> Applier {
        let (name, api_version) = (name.to_owned(), "v1".to_owned());
        Applier { name, api_version, time: "2026-01-01T00:00:00Z".to_owned(), conflicts }
    }

    fn config(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
    }

    #[test]
    fn field_that_is_no_longer_applied_goes_unless_another_owns_it() {
        let (a, b) = (applier("a", OnConflict::Refuse), applier("b", OnConflict::Refuse));
        let first = applied(None, &config(json!({"x": "1", "y": "2"})), &a).unwrap();
        let second = applied(Some(&first), &config(json!({"y": "2"})), &b).unwrap();
        let third = applied(Some(&second), &config(json!({})), &a).unwrap();
        assert_eq!(third["data"], json!({"y": "2"}), "b owns y");
        let owners: Vec<&str> = third["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|it| it["manager"].as_str())
            .collect();
        assert!(owners.contains(&"b"), "{owners:?}");
    }

    #[test]
    fn conflict_is_refused_or_taken_over() {
        let first = applied(None, &config(json!({"x": "1"})), &applier("a", OnConflict::Refuse)).unwrap();
        let wanted = config(json!({"x": "2"}));
        let error = applied(Some(&first), &wanted, &applier("b", OnConflict::Refuse)).unwrap_err().to_json();
        assert_eq!(error["message"], "Apply failed with 1 conflict: conflict with \"a\" using v1: .data.x");
        assert_eq!(
            (error["code"].as_u64(), error["details"]["causes"][0]["field"].as_str()),
            (Some(409), Some(".data.x"))
        );
        let taken = applied(Some(&first), &wanted, &applier("b", OnConflict::TakeOver)).unwrap();
        assert_eq!(taken["data"]["x"], "2");
        let back = applied(Some(&taken), &config(json!({"x": "1"})), &applier("a", OnConflict::Refuse));
        assert!(back.is_err(), "it is b's now");
    }

    #[test]
    fn update_by_another_way_becomes_its_managers() {
        let first =
            applied(None, &config(json!({"x": "1", "y": "1"})), &applier("a", OnConflict::Refuse)).unwrap();
        let mut updated = first.clone();
        updated["data"]["x"] = json!("2");
        follow_update(&first, &mut updated, "kubectl", "v1", "2026-01-01T00:00:00Z");
        let again = config(json!({"x": "1", "y": "1"}));
        let error = applied(Some(&updated), &again, &applier("a", OnConflict::Refuse)).unwrap_err().to_json();
        assert!(error["message"].as_str().unwrap().contains("\"kubectl\""), "{error}");
    }

    #[test]
    fn server_side_apply_takes_over_unmanaged_object() {
        let live = config(json!({"x": "1"}));
        let after =
            applied(Some(&live), &config(json!({"x": "2"})), &applier("a", OnConflict::Refuse)).unwrap();
        assert_eq!(after["data"]["x"], "2");
    }
}
