//! A suite: the config files at or below one place, and the workloads in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schedlab_cluster::controllers::EnabledController;
use serde_json::Value;

use super::error::{OpLocation, WorkloadError};
use super::op::{OpResolver, Totals};
use super::selection::Selection;
use super::templates::{TemplateStore, beside, read_beside};
use super::workload::{ResolvedWorkload, SchedulerConfigFile, WorkloadThreshold};
use crate::controllers::POLICY_PATH;
use crate::digest::{Digest, add_workload};
use crate::params::ParamUse;
use crate::schema::{TestCase, Workload, parse_config};
use crate::source::Source;

/// A param that upstream's Go code reads, not an op, and the gate under which it does.
///
/// Upstream: nodedeclaredfeatures/node_declared_features_test.go `preInitNodeDeclaredFeatures`.
const DECLARED_FEATURES: (&str, &str) = ("numNodeDeclaredFeatures", "NodeDeclaredFeatures");

/// Config files, read and checked.
#[derive(Debug)]
pub struct Suite {
    source: Arc<dyn Source>,
    configs: Vec<Config>,
}

/// A workload that was asked for.
#[derive(Debug)]
pub struct Selected {
    /// The topic of its config file.
    pub topic: String,
    /// `TestCase/Workload`.
    pub full_name: String,
    /// The workload, or why it cannot be resolved.
    pub workload: Result<ResolvedWorkload, WorkloadError>,
}

#[derive(Debug)]
struct Config {
    path: PathBuf,
    topic: String,
    cases: Vec<TestCase>,
}

impl Suite {
    /// Loads a file, or every `performance-config.yaml` at or below a directory, sorted by path.
    pub fn load(source: Arc<dyn Source>, root: &Path) -> Result<Self, WorkloadError> {
        let mut configs = Vec::new();
        for path in source.configs(root)? {
            let text = source.read(&path)?;
            let cases = parse_config(&path.display().to_string(), &text)?;
            configs.push(Config { topic: topic(root, &path), path, cases });
        }
        Ok(Self { source, configs })
    }

    /// The test cases of all files, in order.
    pub fn test_cases(&self) -> impl Iterator<Item = &TestCase> {
        self.configs.iter().flat_map(|config| &config.cases)
    }

    /// The wanted workloads, ready to run, in the order of the files; or what is wrong with the
    /// first that is broken. Workloads that are not wanted are not looked at.
    pub fn resolve(&self, selection: &Selection) -> Result<Vec<ResolvedWorkload>, WorkloadError> {
        self.resolve_each(selection).into_iter().map(|selected| selected.workload).collect()
    }

    /// The wanted workloads, in the order of the files, each ready to run or with what is wrong
    /// with it. One broken workload does not keep the others from running, as upstream.
    pub fn resolve_each(&self, selection: &Selection) -> Vec<Selected> {
        let mut templates = TemplateStore::new(Arc::clone(&self.source));
        let mut selected = Vec::new();
        for config in &self.configs {
            for case in &config.cases {
                for workload in &case.workloads {
                    let labels = case.labels.iter().chain(&workload.labels).map(String::as_str);
                    let full_name = format!("{}/{}", case.name, workload.name);
                    if selection.matches(&full_name, labels) {
                        let workload = self.resolve_workload(config, case, workload, &mut templates);
                        selected.push(Selected { topic: config.topic.clone(), full_name, workload });
                    }
                }
            }
        }
        selected
    }

    /// The workload of this name with params set otherwise than in its file; `None` when there is none. A
    /// param that no op reads is an error, as one in the file is.
    pub fn resolve_with(
        &self,
        full_name: &str,
        params: &BTreeMap<String, Value>,
    ) -> Result<Option<ResolvedWorkload>, WorkloadError> {
        let mut templates = TemplateStore::new(Arc::clone(&self.source));
        for config in &self.configs {
            for case in &config.cases {
                let is_it = |workload: &&Workload| format!("{}/{}", case.name, workload.name) == full_name;
                let Some(found) = case.workloads.iter().find(is_it) else { continue };
                let mut workload = found.clone();
                workload.params.extend(params.clone());
                return self.resolve_workload(config, case, &workload, &mut templates).map(Some);
            }
        }
        Ok(None)
    }

    fn resolve_workload(
        &self,
        config: &Config,
        case: &TestCase,
        workload: &Workload,
        templates: &mut TemplateStore,
    ) -> Result<ResolvedWorkload, WorkloadError> {
        let file = config.path.display().to_string();
        let full_name = format!("{}/{}", case.name, workload.name);
        let mut resolver = OpResolver {
            at: OpLocation {
                file: file.clone(),
                line: case.line,
                workload: full_name.clone(),
                op_index: 0,
                opcode: case.ops[0].opcode(),
            },
            params: ParamUse::new(&workload.params),
            templates,
            default_pod_template: case.default_pod_template_path.as_deref(),
            totals: Totals::default(),
            digest: Digest::default(),
        };
        let mut ops = Vec::with_capacity(case.ops.len());
        for (op_index, op) in case.ops.iter().enumerate() {
            let at = OpLocation { line: op.line, op_index, opcode: op.opcode(), ..resolver.at };
            resolver.at = at;
            op.resolve_into(&mut resolver, &mut ops)?;
        }
        let node_declared_features = declared_features(workload, &mut resolver.params);
        let unused = resolver.params.unused();
        if !unused.is_empty() {
            let (line, workload) = (workload.line, full_name);
            return Err(WorkloadError::UnusedParams { file, line, workload, names: unused });
        }
        let mut digest = resolver.digest;
        add_workload(&mut digest, &case.text, &workload.params);
        let schedulers = workload.schedulers.clone().or_else(|| case.schedulers.clone()).unwrap_or_default();
        schedulers.text().iter().for_each(|text| digest.add(text));
        let controllers = self.controllers(&file, case, workload, &mut digest)?;
        Ok(ResolvedWorkload {
            topic: config.topic.clone(),
            file: config.path.clone(),
            test_case: case.name.clone(),
            workload: workload.name.clone(),
            full_name,
            labels: case.labels.iter().chain(&workload.labels).cloned().collect(),
            feature_gates: case
                .feature_gates
                .iter()
                .chain(&workload.feature_gates)
                .map(|(gate, on)| (gate.clone(), *on))
                .collect(),
            controllers,
            schedulers,
            threshold: WorkloadThreshold {
                value: workload.threshold.get(&config.topic),
                selector: workload.threshold_metric_selector.clone(),
            },
            metrics_collector_config: case.metrics_collector_config.clone(),
            scheduler_config: self.scheduler_config(&file, case)?,
            node_declared_features,
            ops,
            source_text: case.text.clone(),
            digest: digest.hex(),
        })
    }

    /// The controllers of the test case, then of the workload.
    fn controllers(
        &self,
        file: &str,
        case: &TestCase,
        workload: &Workload,
        digest: &mut Digest,
    ) -> Result<Vec<EnabledController>, WorkloadError> {
        let written: Vec<&EnabledController> = case.controllers.iter().chain(&workload.controllers).collect();
        let mut read = Vec::with_capacity(written.len());
        for (at, written) in written.into_iter().enumerate() {
            let controller = self.with_policy(file, case, written)?;
            // Those of the test case are in its text, but for files that it names.
            let is_in_text = at < case.controllers.len() && written.config == controller.config;
            if !is_in_text {
                digest.add(controller.descriptor.name);
                digest.add(&controller.config.as_ref().map(ToString::to_string).unwrap_or_default());
            }
            read.push(controller);
        }
        Ok(read)
    }

    /// A controller whose policy is a file of its own gets what the file says.
    fn with_policy(
        &self,
        file: &str,
        case: &TestCase,
        controller: &EnabledController,
    ) -> Result<EnabledController, WorkloadError> {
        let mut controller = controller.clone();
        let Some(Value::Object(config)) = &mut controller.config else { return Ok(controller) };
        let Some(Value::String(written)) = config.remove(POLICY_PATH) else { return Ok(controller) };
        let name = controller.descriptor.name;
        let refused = |message: String| {
            let (file, line, case) = (file.to_owned(), case.line, case.name.clone());
            WorkloadError::ControllerPolicy { file, line, case, name, written: written.clone(), message }
        };
        let text = read_beside(self.source.as_ref(), file, &written).map_err(|error| {
            refused(format!("{error}; paths are relative to the directory of the config file"))
        })?;
        let policy = crate::yaml::parse(&text)
            .map_err(|error| refused(format!("line {}: not valid YAML: {}", error.at.line, error.message)))?;
        config.insert("policy".to_owned(), policy.to_json());
        controller.check().map_err(|error| refused(error.to_string()))?;
        Ok(controller)
    }

    fn scheduler_config(
        &self,
        file: &str,
        case: &TestCase,
    ) -> Result<Option<SchedulerConfigFile>, WorkloadError> {
        let Some(written) = &case.scheduler_config_path else { return Ok(None) };
        let text = read_beside(self.source.as_ref(), file, written).map_err(|source| {
            WorkloadError::SchedulerConfig {
                file: file.to_owned(),
                line: case.line,
                case: case.name.clone(),
                written: written.clone(),
                source,
            }
        })?;
        Ok(Some(SchedulerConfigFile { path: beside(file, written), text }))
    }
}

/// Reads the one param that no op reads, under the gate that upstream looks at: the workload's own.
fn declared_features(workload: &Workload, params: &mut ParamUse<'_>) -> Option<i64> {
    let (param, gate) = DECLARED_FEATURES;
    if workload.feature_gates.get(gate) != Some(&true) {
        return None;
    }
    params.find(param)?.as_i64()
}

/// The directory of a config file below the root, `_` for each `/`; the directory's own name if it
/// is the root.
///
/// Differs: upstream writes each topic by hand in Go. Ours is the same for most of its suites, and
/// for all whose thresholds depend on it (`thresholds_by_topic_are_found`).
fn topic(root: &Path, config: &Path) -> String {
    let directory = config.parent().unwrap_or(Path::new(""));
    let below = directory.strip_prefix(root).unwrap_or(Path::new(""));
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    if parts.is_empty() {
        return directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    }
    parts.join("_")
}
