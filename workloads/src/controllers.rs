//! Which controllers run beside the scheduler: `controllers` of a test case or a workload, and the flag of
//! that name. The field is ours; upstream's strict parser refuses it.

pub use schedlab_cluster::controllers::EnabledController;
use schedlab_cluster::controllers::{find, names};

use crate::schema::{SchemaError, SchemaProblem};
use crate::suggest::closest;
use crate::yaml::{Fields, Node, Value};

/// The field of a configuration that names a file with the controller's policy, relative to the config file.
pub(crate) const POLICY_PATH: &str = "policyPath";
/// Stands for all controllers.
const ALL: &str = "all";

/// A name that is no controller's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown controller `{name}`{}; known: {}, or `all`",
    suggestion.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")),
    names().collect::<Vec<_>>().join(", ")
)]
pub struct UnknownController {
    /// As written.
    name: String,
    /// The name that was probably meant.
    suggestion: Option<&'static str>,
}

/// The controllers of a list such as `a,b`; `all` stands for all of them.
pub fn parse_list(text: &str) -> Result<Vec<EnabledController>, UnknownController> {
    let mut parsed = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        parsed.extend(named(name)?);
    }
    Ok(parsed)
}

fn named(name: &str) -> Result<Vec<EnabledController>, UnknownController> {
    if name == ALL {
        return Ok(names().filter_map(find).map(EnabledController::new).collect());
    }
    let known: Vec<&'static str> = names().collect();
    let unknown = || UnknownController { name: name.to_owned(), suggestion: closest(name, &known) };
    find(name).map(|descriptor| vec![EnabledController::new(descriptor)]).ok_or_else(unknown)
}

/// Reads the field: names, or mappings of `name` and `config`.
pub(crate) fn read(fields: &Fields<'_>) -> Result<Vec<EnabledController>, SchemaError> {
    let mut read = Vec::new();
    for node in fields.list("controllers")? {
        read.extend(read_entry(fields, node)?);
    }
    Ok(read)
}

fn read_entry(fields: &Fields<'_>, node: &Node) -> Result<Vec<EnabledController>, SchemaError> {
    let holder = || fields.holder().to_owned();
    let (name, config) = match &node.value {
        Value::String(name) => (name.clone(), None),
        Value::Mapping(_) => {
            let holder = format!("a controller of {}", fields.holder());
            let entry = Fields::read(fields.file(), holder, node, &["name", "config"])?;
            let name = entry.required_string("name", "name the controller")?;
            (name, entry.get("config").map(Node::to_json))
        }
        _ => return Err(fields.wrong_type("controllers", node, "names, or mappings of `name` and `config`")),
    };
    let mut found = named(&name).map_err(|error| {
        let (holder, message) = (holder(), error.to_string());
        fields.error(node.at, SchemaProblem::Controller { holder, message })
    })?;
    for controller in &mut found {
        controller.config.clone_from(&config);
        // What the file says is looked at when it is read.
        if config
            .as_ref()
            .is_some_and(|config| config.get(POLICY_PATH).is_some_and(serde_json::Value::is_string))
        {
            continue;
        }
        controller.check().map_err(|error| {
            let message = format!("`{name}`: {error}");
            fields.error(node.at, SchemaProblem::Controller { holder: holder(), message })
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<&'static str> {
        parse_list(text).unwrap().iter().map(|controller| controller.descriptor.name).collect()
    }

    #[test]
    fn list_of_controllers_is_read_and_all_stands_for_all() {
        assert_eq!(parsed(""), [""; 0]);
        assert_eq!(
            parsed("taint-eviction-controller, node-lifecycle-controller"),
            ["taint-eviction-controller", "node-lifecycle-controller"]
        );
        assert_eq!(parsed("all"), names().collect::<Vec<_>>());
    }

    #[test]
    fn unknown_controller_is_refused_with_the_nearest_name() {
        let error = parse_list("node-lifecycle").unwrap_err().to_string();
        assert!(error.starts_with("unknown controller `node-lifecycle`"), "{error}");
        let error = parse_list("taint-evicton-controller").unwrap_err().to_string();
        assert!(error.contains("(did you mean `taint-eviction-controller`?)"), "{error}");
        assert!(error.contains("known: node-lifecycle-controller, "), "{error}");
    }
}
