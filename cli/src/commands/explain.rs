//! `schedlab explain`: every node's verdict and scores for one pod, and the choice.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use schedlab_cluster::link::LinkSettings;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;
use schedlab_workloads::executor::{ConfigFile, Control, NoProfiler, NoProgress, RunSettings, TimeMode};
use schedlab_workloads::explain::{
    ExplainSetup, ExplainedWorkload, NodeReport, NodeSortOrder, Report, Subject, View, from_workload,
    read_manifests, read_pod,
};
use schedlab_workloads::gates::scheduler_gates;
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::{ResolvedWorkload, Selected, runnable};

use super::explain_text::{Shown, text};
use super::run::{check_gates, parse_gates, read_scheduler_config};
use super::select;
use crate::Exit;
use crate::args::{ExplainArgs, OutputFormat};
use crate::progress::{complain, say};

/// Rows of a table, unless somebody asks for more.
const DEFAULT_LIMIT: usize = 10;

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit> {
    let gates = parse_gates(&args.feature_gates)?;
    check_gates(&gates)?;
    let mut subject = if args.cluster.is_empty() { workload(args, gates)? } else { manifests(args, &gates)? };
    let report = subject.explain();
    let view = view(args)?.checked(&report)?;
    let nodes = view.select(&report);
    let limit = match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        // A document is for programs, and they want all of it.
        None if args.output == OutputFormat::Json => usize::MAX,
        None => DEFAULT_LIMIT,
    };
    if let Some(path) = &args.html {
        write_html(path, &report)?;
    }
    match args.output {
        OutputFormat::Table => {
            say(&text(&report, &Shown { nodes: &nodes, is_narrow: view.is_narrow(), limit }));
        }
        OutputFormat::Json => say(&json(&report, &nodes, limit)?),
    }
    if let Some(path) = &args.html {
        complain(&format!("wrote {}", path.display()));
    }
    Ok(Exit::Fine)
}

fn write_html(path: &Path, report: &Report) -> Result<()> {
    schedlab_perf_dash::write_explain_html(path, report).with_context(|| "--html")
}

/// The report with only the nodes that are shown, in their order.
fn json(report: &Report, nodes: &[&NodeReport], limit: usize) -> Result<String> {
    let nodes = nodes.iter().take(limit).map(|&node| node.clone()).collect();
    let shown = Report { nodes, ..report.clone() };
    serde_json::to_string_pretty(&shown).context("could not write the explanation as JSON")
}

fn view(args: &ExplainArgs) -> Result<View> {
    let nodes = args.nodes.as_deref().map(View::pattern).transpose()?;
    let order = match args.sort.as_str() {
        "total" => NodeSortOrder::Total,
        "name" => NodeSortOrder::Name,
        plugin => NodeSortOrder::Plugin(plugin.to_owned()),
    };
    Ok(View { nodes, rejected_by: args.rejected_by.clone(), feasible: args.feasible, order })
}

fn manifests(args: &ExplainArgs, gates: &BTreeMap<String, bool>) -> Result<Subject> {
    let gates = scheduler_gates(gates).context("--feature-gates")?;
    let config = args.scheduler_config.as_deref().map(read_scheduler_config).transpose()?;
    let manifests = read_manifests(&args.cluster)?;
    let source = args.cluster.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let source = if source == "-" { "standard input".to_owned() } else { source };
    let registry = lab_plugins::registry();
    let config = config.as_ref().map(|(_, config)| config);
    let setup = ExplainSetup { source: &source, gates, config, registry: &registry };
    match (&args.pod, &args.pod_file) {
        (Some(name), _) => Ok(Subject::from_manifests(manifests, name, &setup)?),
        (None, Some(file)) => Ok(Subject::new(manifests, read_pod(file)?, &setup)?),
        (None, None) => bail!("which pod? name one with --pod NAMESPACE/NAME, or give --pod-file FILE"),
    }
}

fn workload(args: &ExplainArgs, gates: BTreeMap<String, bool>) -> Result<Subject> {
    if let Some(name) = &args.pod {
        bail!(
            "--pod {name} needs --cluster; with a workload the pod is the first one of the op's template, or --pod-file"
        );
    }
    if args.select.config.is_empty() && args.select.suite.is_none() {
        bail!(
            "which cluster? give manifests with --cluster FILE, or a workload with --config FILE or --suite NAME"
        );
    }
    let selected = select::workloads(&args.select, None)?;
    let mut workload = the_one(&selected)?.clone();
    workload.feature_gates.extend(gates);
    if let Some(path) = &args.scheduler_config {
        workload.scheduler_config = Some(read_scheduler_config(path)?.0);
    }
    let workload = &workload;
    runnable(workload).map_err(|reason| anyhow::anyhow!("{}: cannot run: {reason}", workload.full_name))?;
    let pod = args.pod_file.as_deref().map(read_pod).transpose()?;
    let settings = RunSettings {
        threads: 1,
        parallelism: None,
        percentage_of_nodes_to_score: None,
        seed: args.seed,
        class_cache: ClassCache::On,
        pod_counting: PodCounting::Kept,
        link: LinkSettings::INSTANT,
        nominated_node_name: WriteNominatedNodeName::WhenNeeded,
        nominated_node_name_miss: NominatedNodeNameMiss::FallThrough,
        known_gaps: KnownGaps::Mended,
        events: EventLevel::Off,
        time: TimeMode::Wall,
    };
    let registry = lab_plugins::registry();
    let control = Control {
        interrupt: &AtomicBool::new(false),
        progress: &NoProgress,
        registry: &registry,
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: None,
        under_test: None,
    };
    Ok(from_workload(ExplainedWorkload { workload, op: args.op, pod }, settings, control)?)
}

fn the_one(selected: &[Selected]) -> Result<&ResolvedWorkload> {
    match selected {
        [only] => match &only.workload {
            Ok(workload) => Ok(workload),
            Err(error) => bail!("{}: {error}", only.full_name),
        },
        several => {
            let names: Vec<&str> =
                several.iter().take(5).map(|selected| selected.full_name.as_str()).collect();
            let more = if several.len() > names.len() { ", ..." } else { "" };
            bail!(
                "{} workloads match, explain takes one: narrow it with --filter, as in --filter '^{}$' (they are {}{more})",
                several.len(),
                names[0],
                names.join(", ")
            )
        }
    }
}
