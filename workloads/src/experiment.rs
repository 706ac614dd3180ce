//! Experiments: claims of a proposal, and the studies that measure them.
//!
//! A file `experiment.yaml` in a folder of its own, with the `performance-config.yaml` of its workloads beside it
//! or where `workloads` says:
//!
//! ```yaml
//! name: nnn-first-cost
//! title: What a wrong nomination costs
//! proposal: KEP-5278
//! hypothesis: A pod's nominated node is one node more to look at.
//! limits: What this cannot show.
//! workloads: ../../nominated         # a folder; without it the one of this file
//! claims:
//! - quote: it's just one iteration of Filter plugins
//!   section: Risks and Mitigations
//!   means: A wrong nomination takes at most 1/62 of the iterations more.
//!   refutedIf: The share is above 1/62.
//!   analysis: share-at-most          # results/claims.rs lists them
//!   metric: iterations
//!   of: kepIterations
//!   variant: wrong
//!   against: absent                  # without it the first variant
//!   at: {nodes: "1,000"}             # without it every point
//!   bound: 0.0162
//! studies:                           # as in variants.yaml, and `quick`
//! - name: cost
//!   rounds: 12
//!   quick: {rounds: 8, axes: {nodes: ["1,000"]}, params: {pods: 100}}
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::resolve::{Suite, WorkloadError};
use crate::results::{Analysis, FigureMetric, Question, axis_number, is_file_name};
use crate::schema::{SchemaError, SchemaProblem};
use crate::source::Source;
use crate::study::{Cell, Study, metric_of, one_of, study_of};
use crate::yaml::{self, Fields, Node, Value};

/// The name a file of an experiment has.
pub const EXPERIMENT_FILE_NAME: &str = "experiment.yaml";

/// An experiment as it is defined.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name.
    pub name: String,
    /// Heading.
    pub title: String,
    /// The proposal, as `KEP-5278`.
    pub proposal: String,
    /// What is expected, and why.
    pub hypothesis: String,
    /// What it cannot show.
    pub limits: String,
    /// Where its workloads are, seen from its folder.
    pub workloads: String,
    /// What is claimed.
    pub claims: Vec<QuotedClaim>,
    /// What is measured.
    pub studies: Vec<ExperimentStudy>,
}

/// What a proposal says, and what is asked about it.
#[derive(Clone, Debug)]
pub struct QuotedClaim {
    /// In the proposal's words.
    pub quote: String,
    /// Where they are.
    pub section: String,
    /// What is asked of the measurement.
    pub means: String,
    /// What would refute it.
    pub refuted_if: String,
    /// How it is judged.
    pub question: Question,
}

/// A study, and how it is reduced when there is little time.
#[derive(Clone, Debug)]
pub struct ExperimentStudy {
    /// The whole study.
    pub study: Study,
    /// Rounds when it is reduced.
    quick_rounds: Option<u32>,
    /// Values of axes that are left when it is reduced.
    quick_axes: BTreeMap<String, Vec<String>>,
    /// Params that are set otherwise when it is reduced.
    quick_params: BTreeMap<String, Json>,
}

impl ExperimentStudy {
    /// The study as it is reduced.
    #[must_use]
    pub fn quick(&self) -> Study {
        let mut study = self.study.clone();
        study.rounds = self.quick_rounds.unwrap_or(study.rounds);
        for axis in &mut study.axes {
            if let Some(left) = self.quick_axes.get(&axis.name) {
                axis.values.retain(|value| left.contains(&value.name));
            }
        }
        for variant in &mut study.variants {
            variant.params.extend(self.quick_params.clone());
        }
        study
    }
}

impl Experiment {
    /// The workloads, where the definition says.
    pub fn suite(&self, folder: &Path, source: Arc<dyn Source>) -> Result<Suite, WorkloadError> {
        Suite::load(source, &folder.join(&self.workloads))
    }

    /// The studies, whole or reduced.
    #[must_use]
    pub fn studies(&self, is_quick: bool) -> Vec<Study> {
        let of = |it: &ExperimentStudy| if is_quick { it.quick() } else { it.study.clone() };
        self.studies.iter().map(of).collect()
    }

    /// Every cell that is run.
    pub fn cells(&self, is_quick: bool) -> impl Iterator<Item = Cell> {
        self.studies(is_quick).into_iter().flat_map(|study| study.points()).flatten()
    }
}

/// Reads the definition of an experiment.
pub fn parse_experiment(file: &str, text: &str) -> Result<Experiment, SchemaError> {
    const FIELDS: &[&str] =
        &["name", "title", "proposal", "hypothesis", "limits", "workloads", "claims", "studies"];
    let root = yaml::parse(text).map_err(|error| {
        SchemaError::new(file, error.at, SchemaProblem::Syntax { message: error.message })
    })?;
    let mut fields = Fields::read_exact(file, "an experiment", &root, FIELDS)?;
    let name = fields.required_string("name", "give the experiment a name")?;
    fields.rename(format!("experiment {name}"));
    if !is_file_name(&name) {
        return Err(fields.bad_value("name", &name, "it names a file: letters, digits, `-`, `_` and `.`"));
    }
    let mut studies = fields
        .list("studies")?
        .iter()
        .map(|node| experiment_study(file, node))
        .collect::<Result<Vec<_>, _>>()?;
    let claims = fields
        .list("claims")?
        .iter()
        .map(|node| claim(file, node, &studies))
        .collect::<Result<Vec<_>, _>>()?;
    if claims.is_empty() {
        return Err(fields.missing("claims", "list at least one claim of the proposal"));
    }
    for claim in &claims {
        measure_what_is_claimed(&mut studies, &claim.question);
    }
    Ok(Experiment {
        title: fields.required_string("title", "give it a heading")?,
        proposal: fields.required_string("proposal", "say whose claims they are, as KEP-5278")?,
        hypothesis: fields.required_string("hypothesis", "say what is expected, and why")?,
        limits: fields.string("limits")?.unwrap_or_default(),
        workloads: fields.string("workloads")?.unwrap_or_default(),
        name,
        claims,
        studies,
    })
}

/// A study measures at least what its claims ask for.
fn measure_what_is_claimed(studies: &mut [ExperimentStudy], question: &Question) {
    for it in studies.iter_mut().filter(|it| it.study.name == question.study) {
        for metric in [question.of, Some(question.metric)].into_iter().flatten() {
            if !it.study.metrics.contains(&metric) {
                it.study.metrics.push(metric);
            }
        }
    }
}

fn experiment_study(file: &str, node: &Node) -> Result<ExperimentStudy, SchemaError> {
    const FIELDS: &[&str] =
        &["name", "title", "about", "rounds", "quick", "flags", "metrics", "axes", "variants"];
    let quick = Fields::open(file, "a study", node, &["quick"])?;
    let study = study_of(Fields::read_exact(file, "a study", node, FIELDS)?)?;
    let Some(node) = quick.get("quick") else {
        return Ok(ExperimentStudy {
            study,
            quick_rounds: None,
            quick_axes: BTreeMap::new(),
            quick_params: BTreeMap::new(),
        });
    };
    let holder = format!("`quick` of study {}", study.name);
    let fields = Fields::read_exact(file, holder, node, &["rounds", "axes", "params"])?;
    let rounds = fields.integer("rounds")?.map(|rounds| u32::try_from(rounds.clamp(1, 10_000)).unwrap_or(1));
    Ok(ExperimentStudy {
        quick_rounds: rounds,
        quick_axes: values_by_axis(&fields, "axes", &study)?.into_iter().collect(),
        quick_params: fields.json_map("params")?,
        study,
    })
}

/// Values of axes, all of which the study has.
fn values_by_axis(
    fields: &Fields<'_>,
    field: &'static str,
    study: &Study,
) -> Result<Vec<(String, Vec<String>)>, SchemaError> {
    let mut found = Vec::new();
    for (key, node) in fields.entries(field)? {
        let axes: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
        let Some(axis) = study.axes.iter().find(|axis| axis.name == key.name) else {
            return Err(wrong(fields, field, key.at, &key.name, &axes));
        };
        let nodes = match &node.value {
            Value::Sequence(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let known: Vec<&str> = axis.values.iter().map(|value| value.name.as_str()).collect();
        let value_of = |node: &Node| {
            let text = match &node.value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return Err(fields.wrong_type(field, node, "the name of a value, or a list of names")),
            };
            let is_known = known.contains(&text.as_str());
            if is_known { Ok(text) } else { Err(wrong(fields, field, node.at, &text, &known)) }
        };
        found.push((axis.name.clone(), nodes.iter().map(value_of).collect::<Result<_, _>>()?));
    }
    Ok(found)
}

/// A name that is none of those that may stand there.
fn wrong(
    fields: &Fields<'_>,
    field: &'static str,
    at: yaml::Location,
    written: &str,
    names: &[&str],
) -> SchemaError {
    let holder = fields.holder().to_owned();
    let (value, rule) = (written.to_owned(), one_of(written, names));
    SchemaError::new(fields.file(), at, SchemaProblem::BadValue { field, holder, value, rule })
}

fn claim(file: &str, node: &Node, studies: &[ExperimentStudy]) -> Result<QuotedClaim, SchemaError> {
    const FIELDS: &[&str] = &[
        "quote",
        "section",
        "means",
        "refutedIf",
        "analysis",
        "study",
        "metric",
        "of",
        "variant",
        "against",
        "axis",
        "at",
        "bound",
    ];
    let mut fields = Fields::read_exact(file, "a claim", node, FIELDS)?;
    let quote = fields.required_string("quote", "quote the proposal")?;
    fields.rename(format!("claim {quote:?}"));
    Ok(QuotedClaim {
        section: fields.required_string("section", "say where the proposal says it")?,
        means: fields.required_string("means", "say what is asked of the measurement")?,
        refuted_if: fields.required_string("refutedIf", "say what would refute it")?,
        question: question(&fields, studies)?,
        quote,
    })
}

fn question(fields: &Fields<'_>, studies: &[ExperimentStudy]) -> Result<Question, SchemaError> {
    let found = study_asked(fields, studies)?;
    let study = &found.study;
    let variants: Vec<&str> = study.variants.iter().map(|it| it.name.as_str()).collect();
    let written = fields.required_string("analysis", "say how it is judged")?;
    let names = Analysis::ALL.map(Analysis::name);
    let analysis = Analysis::ALL.into_iter().find(|it| it.name() == written);
    let analysis =
        analysis.ok_or_else(|| fields.bad_value("analysis", &written, one_of(&written, &names)))?;
    let metric = |field| -> Result<Option<FigureMetric>, SchemaError> {
        fields.string(field)?.map(|written| metric_of(fields, field, &written)).transpose()
    };
    let variant = |field, written: String| match variants.contains(&written.as_str()) {
        true => Ok(written),
        false => Err(fields.bad_value(field, &written, one_of(&written, &variants))),
    };
    let against = fields.string("against")?.unwrap_or_else(|| variants[0].to_owned());
    let question = Question {
        analysis,
        study: study.name.clone(),
        metric: metric("metric")?.ok_or_else(|| fields.missing("metric", "say what is measured"))?,
        of: metric("of")?,
        variant: variant("variant", fields.required_string("variant", "say which variant is meant")?)?,
        against: variant("against", against)?,
        axis: fields.string("axis")?,
        at: values_by_axis(fields, "at", study)?,
        bound: bound(fields, analysis)?,
    };
    check_parts(fields, &question, found)?;
    Ok(question)
}

fn study_asked<'a>(
    fields: &Fields<'_>,
    studies: &'a [ExperimentStudy],
) -> Result<&'a ExperimentStudy, SchemaError> {
    let names: Vec<&str> = studies.iter().map(|it| it.study.name.as_str()).collect();
    match (fields.string("study")?, studies) {
        (_, []) => Err(fields.missing("study", "list at least one under `studies` of the experiment")),
        (None, [only]) => Ok(only),
        (None, _) => Err(fields.missing("study", "the experiment has several: say which")),
        (Some(written), _) => studies
            .iter()
            .find(|it| it.study.name == written)
            .ok_or_else(|| fields.bad_value("study", &written, one_of(&written, &names))),
    }
}

fn bound(fields: &Fields<'_>, analysis: Analysis) -> Result<f64, SchemaError> {
    match fields.get("bound") {
        Some(node) => fields.float("bound", node),
        None if analysis == Analysis::EqualCounts => Ok(0.0),
        None => Err(fields.missing("bound", "say what the measured quantity is held against")),
    }
}

/// What an analysis needs beside the metric, and what it has no use for.
fn check_parts(fields: &Fields<'_>, question: &Question, found: &ExperimentStudy) -> Result<(), SchemaError> {
    let analysis = question.analysis;
    match question.of {
        None if analysis == Analysis::ShareAtMost => {
            return Err(fields.missing("of", "say what the share is of"));
        }
        Some(of) if analysis != Analysis::ShareAtMost => {
            return Err(fields.bad_value("of", of.name(), "only share-at-most has it"));
        }
        _ => {}
    }
    if !analysis.is_of_one_variant() && question.variant == question.against {
        let rule = "it is compared with itself; name another variant, or `against`";
        return Err(fields.bad_value("variant", &question.variant, rule));
    }
    if analysis.is_growth() {
        check_growth(fields, question, &found.study)?;
    } else if let Some(axis) = &question.axis {
        return Err(fields.bad_value("axis", axis, "only a growth is along an axis"));
    }
    for study in [found.study.clone(), found.quick()] {
        let axes: Vec<String> = study.axes.iter().map(|axis| axis.name.clone()).collect();
        let points = study.points();
        let left = points.iter().filter(|cells| question.is_about(&axes, &cells[0].point)).count();
        if left < if analysis.is_growth() { 2 } else { 1 } {
            let rule = "it leaves too few points, of the whole study or of the reduced one (`quick`)";
            return Err(fields.bad_value("at", format!("{:?}", question.at), rule));
        }
    }
    Ok(())
}

fn check_growth(fields: &Fields<'_>, question: &Question, study: &Study) -> Result<(), SchemaError> {
    let names: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    let Some(written) = &question.axis else {
        return Err(fields.missing("axis", "say along which axis it grows"));
    };
    let Some(axis) = study.axes.iter().find(|axis| axis.name == *written) else {
        return Err(fields.bad_value("axis", written, one_of(written, &names)));
    };
    match axis.values.iter().find(|value| axis_number(&value.name).is_none()) {
        Some(value) => {
            let rule = format!("a growth needs numbers, and its value {:?} begins with none", value.name);
            Err(fields.bad_value("axis", written, rule))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
