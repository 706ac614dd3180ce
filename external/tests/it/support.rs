//! Workloads from text, run with a scheduler under test.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use schedlab_cluster::link::LinkSettings;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;
use schedlab_external::{CommandTemplate, UnderTest};
use schedlab_workloads::executor::{
    ConfigFile, Control, ExecuteError, NoProfiler, NoProgress, Outcome, RunSettings, TimeMode, run_workload,
};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::placements::{PlacementLog, PodPlacement};
use schedlab_workloads::resolve::{ResolvedWorkload, Selection, Suite};
use schedlab_workloads::source::EmbeddedSource;

const SETTINGS: RunSettings = RunSettings {
    threads: 1,
    parallelism: None,
    percentage_of_nodes_to_score: None,
    seed: 7,
    class_cache: ClassCache::On,
    pod_counting: PodCounting::Kept,
    link: LinkSettings::INSTANT,
    nominated_node_name: WriteNominatedNodeName::WhenNeeded,
    nominated_node_name_miss: NominatedNodeNameMiss::FallThrough,
    known_gaps: KnownGaps::Mended,
    events: EventLevel::Off,
    time: TimeMode::Wall,
};

const FILES: &[(&str, &str)] = &[
    (
        "t/node.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'node-{{.Index}}'}\nstatus:\n  capacity: {cpu: '4', memory: 32Gi, pods: '110'}\n",
    ),
    (
        "t/pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec:\n  containers: [{name: a, image: i, resources: {requests: {cpu: 10m}}}]\n",
    ),
];

/// A workload of these ops, one a line, each the inside of a YAML mapping.
pub(crate) fn workload(ops: &str) -> ResolvedWorkload {
    let ops: String =
        ops.lines().map(str::trim).filter(|op| !op.is_empty()).map(|op| format!("  - {{{op}}}\n")).collect();
    let config = format!("- name: Case\n  workloadTemplate:\n{ops}  workloads:\n  - name: W\n");
    let mut files = FILES.to_vec();
    files.push(("s/performance-config.yaml", config.leak()));
    let suite = Suite::load(Arc::new(EmbeddedSource { files: files.leak() }), Path::new("s"));
    let suite = suite.unwrap_or_else(|error| panic!("{error}"));
    let selected = suite.resolve(&Selection::all()).unwrap_or_else(|error| panic!("{error}"));
    selected.into_iter().next().expect("one")
}

pub(crate) fn under_test(words: Vec<String>) -> UnderTest {
    UnderTest::new(CommandTemplate::new(words).expect("it has a place for the kubeconfig"))
}

pub(crate) fn run(
    workload: &ResolvedWorkload,
    under_test: &UnderTest,
) -> (Result<Outcome, ExecuteError>, Vec<PodPlacement>) {
    let log = PlacementLog::default();
    let control = Control {
        interrupt: &AtomicBool::new(false),
        progress: &NoProgress,
        registry: &lab_plugins::registry(),
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: Some(&log),
        under_test: Some(under_test),
    };
    let outcome = run_workload(workload, SETTINGS, control);
    (outcome, log.placements())
}

/// The error of a run that must fail.
pub(crate) fn error(words: Vec<String>, ready_within: Duration, ops: &str) -> String {
    let under_test = UnderTest { ready_within, ..under_test(words) };
    let (outcome, _) = run(&workload(ops), &under_test);
    match outcome {
        Ok(outcome) => panic!("it must fail: {:?}", outcome.ending),
        Err(error) => error.to_string(),
    }
}
