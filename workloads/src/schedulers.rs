//! How many schedulers a workload runs: `schedulers` of a test case or a workload. The field is ours; upstream's
//! strict parser refuses it.
//!
//! A number is so many copies of one scheduler, which all try all pods: the API refuses the second binding of a
//! pod. A list of names is a scheduler each, for the pods that name it: what two of them put on one node for the
//! same room, its kubelet refuses.

use crate::schema::{SchemaError, SchemaProblem};
use crate::yaml::{Fields, Node, Value};

/// More are of no use on one machine.
const SCHEDULERS_MAX: i64 = 64;
const FIELD: &str = "schedulers";

/// The schedulers of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerSet {
    /// Of one name.
    Copies(usize),
    /// One of each of these names.
    Named(Vec<String>),
}

impl Default for SchedulerSet {
    fn default() -> SchedulerSet {
        SchedulerSet::Copies(1)
    }
}

impl SchedulerSet {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            SchedulerSet::Copies(count) => *count,
            SchedulerSet::Named(names) => names.len(),
        }
    }

    /// The name of the scheduler of this number; none if it has the name of its configuration.
    #[must_use]
    pub fn name(&self, number: usize) -> Option<&str> {
        match self {
            SchedulerSet::Copies(_) => None,
            SchedulerSet::Named(names) => names.get(number).map(String::as_str),
        }
    }

    /// For digests: nothing where there is one scheduler, as there always was.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self {
            SchedulerSet::Copies(1) => None,
            SchedulerSet::Copies(count) => Some(count.to_string()),
            SchedulerSet::Named(names) => Some(names.join(",")),
        }
    }
}

/// Reads the field.
pub(crate) fn read(fields: &Fields<'_>) -> Result<Option<SchedulerSet>, SchemaError> {
    let Some(node) = fields.get(FIELD) else { return Ok(None) };
    match &node.value {
        Value::Number(number) => {
            let count = number.as_i64().filter(|count| (1..=SCHEDULERS_MAX).contains(count));
            let count = count.and_then(|count| usize::try_from(count).ok());
            let rule = format!("write a whole number from 1 to {SCHEDULERS_MAX}, or a list of names");
            match count {
                Some(count) => Ok(Some(SchedulerSet::Copies(count))),
                None => Err(fields.bad_value(FIELD, number, rule)),
            }
        }
        Value::Sequence(list) => named(fields, node, list).map(Some),
        _ => Err(fields.wrong_type(FIELD, node, "a number, or a list of names")),
    }
}

fn named(fields: &Fields<'_>, node: &Node, list: &[Node]) -> Result<SchedulerSet, SchemaError> {
    let mut names: Vec<String> = Vec::new();
    for entry in list {
        match &entry.value {
            Value::String(name) if name.is_empty() || names.contains(name) => {
                return Err(fields.bad_value(FIELD, format!("[{name}]"), "write each name once"));
            }
            Value::String(name) => names.push(name.clone()),
            _ => return Err(fields.wrong_type(FIELD, entry, "names of schedulers")),
        }
    }
    if names.is_empty() {
        let problem = SchemaProblem::Empty {
            what: format!("`{FIELD}` of {} is empty", fields.holder()),
            help: "name at least one scheduler, such as default-scheduler",
        };
        return Err(fields.error(node.at, problem));
    }
    Ok(SchedulerSet::Named(names))
}
