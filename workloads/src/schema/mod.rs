//! The config file: test cases, their workloads and their ops, exactly as upstream reads them.
//!
//! ```text
//! performance-config.yaml
//!   - TestCase            gates, labels, default templates
//!       workloadTemplate: [Op]     what happens, with $params
//!       workloads: [Workload]      how large, by params
//! ```
//!
//! Everything that can be wrong without knowing a workload's params is found here, with its line.
//!
//! Upstream: scheduler_perf.go `testCase`, `Workload`, `getTestCases`, `validateTestCases`.

mod case;
mod error;
mod metrics;
mod workload;

pub use case::TestCase;
pub use error::{SchemaError, SchemaProblem};
pub use metrics::{DEFAULT_METRICS, LabelValues, MetricsCollectorConfig};
pub use workload::{ThresholdByTopic, Workload};

use crate::yaml::{self, Location, Node, Value};

/// Reads a config file. `file` is only for messages.
pub fn parse_config(file: &str, text: &str) -> Result<Vec<TestCase>, SchemaError> {
    let root = yaml::parse(text).map_err(|error| {
        SchemaError::new(file, error.at, SchemaProblem::Syntax { message: error.message })
    })?;
    let items = case_nodes(file, &root)?;
    let mut cases: Vec<TestCase> = Vec::with_capacity(items.len());
    for (index, node) in items.iter().enumerate() {
        let next_line = items.get(index + 1).map_or(u64::MAX, |next| next.at.line);
        let case = case::parse(file, node, case_text(text, node.at.line, next_line))?;
        if let Some(first) = cases.iter().find(|earlier| earlier.name == case.name) {
            return Err(SchemaError::new(
                file,
                node.at,
                SchemaProblem::RepeatedName { what: "test case", name: case.name, first_line: first.line },
            ));
        }
        cases.push(case);
    }
    Ok(cases)
}

fn case_nodes<'a>(file: &str, root: &'a Node) -> Result<&'a [Node], SchemaError> {
    match &root.value {
        Value::Sequence(items) if !items.is_empty() => Ok(items),
        Value::Sequence(_) | Value::Null => Err(SchemaError::new(
            file,
            root.at,
            SchemaProblem::Empty {
                what: "the file has no test cases".into(),
                help: "write a list of them, each starting with `- name:`",
            },
        )),
        _ => Err(SchemaError::new(
            file,
            root.at,
            SchemaProblem::WrongType {
                field: "value".into(),
                holder: "the file".into(),
                found: root.kind().into(),
                expected: "a list of test cases",
            },
        )),
    }
}

/// The lines of one test case, with the comment above it and without the comment above the next.
fn case_text(text: &str, line: u64, next_line: u64) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let index = |line: u64| usize::try_from(line - 1).unwrap_or(usize::MAX).min(lines.len());
    let start = index(line);
    let comment = lines[..start].iter().rev().take_while(|line| line.starts_with('#')).count();
    let mut end = index(next_line);
    while start < end && (lines[end - 1].is_empty() || lines[end - 1].starts_with('#')) {
        end -= 1;
    }
    let mut kept = lines[start - comment..end].join("\n");
    kept.push('\n');
    kept
}

/// A repeated name among siblings, if there is one: the later place and the earlier line.
pub(crate) fn repeated<'a>(names: &[(&'a str, Location)]) -> Option<(&'a str, Location, u64)> {
    names.iter().enumerate().find_map(|(index, (name, at))| {
        let first = names[..index].iter().find(|(earlier, _)| earlier == name)?;
        Some((*name, *at, first.1.line))
    })
}

#[cfg(test)]
mod tests;
