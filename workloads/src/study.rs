//! Studies: variants of workloads that run in turns, what upstream's schema has no words for.
//!
//! A file `variants.yaml` beside a `performance-config.yaml` lists them:
//!
//! ```yaml
//! - name: extra-patch            # short name of the figure
//!   title: Extra PATCH
//!   about: What it shows.
//!   rounds: 5                    # in each, every variant runs twice
//!   flags: --threads 1           # of `schedlab run`, for all
//!   metrics: [throughput]
//!   axes:                        # every combination of values is a point of the figure
//!   - name: latency
//!     values: [{name: 5 ms, flags: --api-latency 5ms}]
//!   variants:                    # the first one is the base
//!   - {name: never, testCase: PreBindWork, workload: 100Nodes, flags: --nominated-node-name never}
//! ```
//!
//! A value of an axis and a variant may each name the test case, the workload in it, flags, and `params` that
//! are set instead of the workload's own; what comes later wins.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::results::FigureMetric;
use crate::schema::{SchemaError, SchemaProblem};
use crate::suggest::closest_of;
use crate::yaml::{self, Fields, Node, Value};

/// The name a file of studies has.
pub const STUDY_FILE_NAME: &str = "variants.yaml";

/// Variants to run in turns, and what to measure of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Study {
    /// Short name.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// Rounds.
    pub rounds: u32,
    /// Flags of all runs.
    pub flags: String,
    /// What to measure.
    pub metrics: Vec<FigureMetric>,
    /// What the points differ in.
    pub axes: Vec<Axis>,
    /// What is compared; the first is the base.
    pub variants: Vec<Part>,
}

/// What points differ in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<Part>,
}

/// A value of an axis, or a variant: what it sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// As it is shown.
    pub name: String,
    /// The test case.
    pub test_case: Option<String>,
    /// The workload in the test case.
    pub workload: Option<String>,
    /// Flags of `schedlab run`.
    pub flags: String,
    /// Params of the workload that are set otherwise.
    pub params: BTreeMap<String, Json>,
}

/// A variant at a point: what is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// A value for each axis.
    pub point: Vec<String>,
    /// The variant.
    pub variant: String,
    /// `TestCase/Workload`.
    pub workload: String,
    /// Flags of `schedlab run`, all of them.
    pub flags: String,
    /// Params of the workload that are set otherwise.
    pub params: BTreeMap<String, Json>,
}

impl Study {
    /// The points in the order to show them, each with its variants.
    #[must_use]
    pub fn points(&self) -> Vec<Vec<Cell>> {
        let mut points: Vec<Vec<&Part>> = vec![Vec::new()];
        for axis in &self.axes {
            points = points
                .iter()
                .flat_map(|point| axis.values.iter().map(|value| [point.as_slice(), &[value]].concat()))
                .collect();
        }
        points
            .iter()
            .map(|point| self.variants.iter().map(|variant| self.cell(point, variant)).collect())
            .collect()
    }

    fn cell(&self, point: &[&Part], variant: &Part) -> Cell {
        let parts = || point.iter().copied().chain([variant]);
        let last = |pick: fn(&Part) -> Option<&String>| parts().filter_map(pick).next_back().cloned();
        let test_case = last(|part| part.test_case.as_ref()).unwrap_or_default();
        let workload = last(|part| part.workload.as_ref()).unwrap_or_default();
        let flags: Vec<&str> = std::iter::once(self.flags.as_str())
            .chain(parts().map(|part| part.flags.as_str()))
            .filter(|flags| !flags.is_empty())
            .collect();
        Cell {
            point: point.iter().map(|part| part.name.clone()).collect(),
            variant: variant.name.clone(),
            workload: format!("{test_case}/{workload}"),
            flags: flags.join(" "),
            params: parts().flat_map(|part| part.params.clone()).collect(),
        }
    }
}

/// Reads a file of studies.
pub fn parse_studies(file: &str, text: &str) -> Result<Vec<Study>, SchemaError> {
    let root = yaml::parse(text).map_err(|error| {
        SchemaError::new(file, error.at, SchemaProblem::Syntax { message: error.message })
    })?;
    let Value::Sequence(nodes) = &root.value else {
        let problem = SchemaProblem::WrongType {
            field: "value".into(),
            holder: "the file".into(),
            found: root.kind().into(),
            expected: "a list of studies",
        };
        return Err(SchemaError::new(file, root.at, problem));
    };
    nodes.iter().map(|node| study(file, node)).collect()
}

/// What a study may say.
const FIELDS: &[&str] = &["name", "title", "about", "rounds", "flags", "metrics", "axes", "variants"];

fn study(file: &str, node: &Node) -> Result<Study, SchemaError> {
    study_of(Fields::read_exact(file, "a study", node, FIELDS)?)
}

/// Reads a study from fields that may hold more than a study's own.
pub(crate) fn study_of(mut fields: Fields<'_>) -> Result<Study, SchemaError> {
    let file = fields.file();
    let name = fields.required_string("name", "give the study a name")?;
    fields.rename(format!("study {name}"));
    let rounds = fields.integer("rounds")?.unwrap_or(5);
    let metric = |written: &String| metric_of(&fields, "metrics", written);
    let metrics = fields.strings("metrics")?.iter().map(metric).collect::<Result<Vec<_>, _>>()?;
    let variants =
        fields.list("variants")?.iter().map(|node| part(file, node)).collect::<Result<Vec<_>, _>>()?;
    if variants.len() < 2 {
        return Err(fields.missing("variants", "list at least two; the first is the base of the others"));
    }
    Ok(Study {
        title: fields.string("title")?.unwrap_or_else(|| name.clone()),
        about: fields.string("about")?.unwrap_or_default(),
        rounds: u32::try_from(rounds.clamp(1, 10_000)).unwrap_or(1),
        flags: fields.string("flags")?.unwrap_or_default(),
        axes: fields.list("axes")?.iter().map(|node| axis(file, node)).collect::<Result<_, _>>()?,
        name,
        metrics,
        variants,
    })
}

/// The metric of this name, or what names there are.
pub(crate) fn metric_of(
    fields: &Fields<'_>,
    field: &'static str,
    written: &str,
) -> Result<FigureMetric, SchemaError> {
    let names = FigureMetric::ALL.map(FigureMetric::name);
    let found = FigureMetric::ALL.into_iter().find(|metric| metric.name() == written);
    found.ok_or_else(|| fields.bad_value(field, written, one_of(written, &names)))
}

/// What may stand there instead, with the name that was probably meant.
#[must_use]
pub fn one_of(written: &str, names: &[&str]) -> String {
    let nearest = closest_of(written, names.iter().copied(), 1).into_iter().next();
    let nearest = nearest.map_or_else(String::new, |name| format!("did you mean {name:?}? "));
    format!("{nearest}it must be one of {}", names.join(", "))
}

fn axis(file: &str, node: &Node) -> Result<Axis, SchemaError> {
    let fields = Fields::read_exact(file, "an axis", node, &["name", "values"])?;
    let values = fields.list("values")?.iter().map(|node| part(file, node)).collect::<Result<Vec<_>, _>>()?;
    Ok(Axis { name: fields.required_string("name", "say what the points differ in")?, values })
}

fn part(file: &str, node: &Node) -> Result<Part, SchemaError> {
    const PART: &[&str] = &["name", "testCase", "workload", "flags", "params"];
    let fields = Fields::read_exact(file, "a variant or a value of an axis", node, PART)?;
    Ok(Part {
        name: fields.required_string("name", "say how it is shown")?,
        test_case: fields.string("testCase")?,
        workload: fields.string("workload")?,
        flags: fields.string("flags")?.unwrap_or_default(),
        params: fields.json_map("params")?,
    })
}

#[cfg(test)]
mod tests;
