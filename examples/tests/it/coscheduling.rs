//! What the classic design of gangs costs: members wait at Permit and hold their nodes meanwhile. Measured in
//! virtual time, so the figures are the same everywhere: a cycle takes a millisecond.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schedlab_cluster::link::LinkSettings;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;
use schedlab_workloads::executor::{
    ConfigFile, Control, NoProfiler, NoProgress, RunSettings, TimeMode, run_workload,
};
use schedlab_workloads::placements::PlacementLog;
use schedlab_workloads::resolve::{Selection, Suite};
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
    time: TimeMode::Virtual { cycle_ns: 1_000_000 },
};

/// What became of two gangs of four.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    /// Gangs of which all members are bound.
    complete: usize,
    /// Until the first binding, which is that of a complete gang.
    first_complete_ms: Option<u64>,
    /// Attempts that ended without a binding.
    wasted_attempts: u64,
}

/// Two gangs of four, created together or one after the other, on so many nodes that take a pod each.
fn two_gangs_of_four(nodes: usize, gang_of_pod: &str, timeout_s: u32) -> Figures {
    let config = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n    \
         multiPoint:\n      enabled: [{{name: Gang}}]\n  pluginConfig:\n  - name: Gang\n    args: \
         {{timeoutSeconds: {timeout_s}}}\n"
    );
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: 'p-{{{{.Index}}}}'\n  labels: {{example.com/gang: \
         'gang-{{{{{gang_of_pod}}}}}', example.com/gang-size: '4'}}\nspec:\n  containers: [{{name: a, image: i}}]\n"
    );
    let workload = format!(
        "- name: Gangs\n  schedulerConfigPath: config.yaml\n  workloadTemplate:\n  - {{opcode: createNodes, count: \
         {nodes}, nodeTemplatePath: node.yaml}}\n  - {{opcode: startCollectingMetrics, namespaces: [gangs]}}\n  - \
         {{opcode: createPods, count: 8, namespace: gangs, podTemplatePath: pod.yaml, skipWaitToCompletion: true}}\n  \
         - {{opcode: sleep, duration: 50s}}\n  - {{opcode: stopCollectingMetrics}}\n  workloads:\n  - name: W\n"
    );
    let node = "apiVersion: v1\nkind: Node\nmetadata: {generateName: n-}\nstatus: {capacity: {cpu: '4', memory: \
                8Gi, pods: '1'}}\n";
    let files: Vec<(&str, &str)> = vec![
        ("s/performance-config.yaml", workload.leak()),
        ("s/config.yaml", config.leak()),
        ("s/pod.yaml", pod.leak()),
        ("s/node.yaml", node),
    ];
    let suite = Suite::load(Arc::new(EmbeddedSource { files: files.leak() }), Path::new("s"));
    let workloads = suite.and_then(|suite| suite.resolve(&Selection::all()));
    let [workload] = workloads.unwrap_or_else(|error| panic!("{error}")).try_into().expect("one");
    let log = PlacementLog::default();
    let control = Control {
        interrupt: &AtomicBool::new(false),
        progress: &NoProgress,
        registry: &crate::registry(),
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: Some(&log),
        under_test: None,
    };
    let outcome = run_workload(&workload, SETTINGS, control).unwrap_or_else(|error| panic!("{error}"));
    let part = &outcome.collected[0];
    let first = part.readings.bursts.first();
    Figures {
        complete: usize::try_from(part.scheduled).expect("few") / 4,
        first_complete_ms: first.map(|burst| (burst.at_ns - part.start_ns) / 1_000_000),
        wasted_attempts: part.attempts - part.scheduled,
    }
}

#[test]
fn gangs_with_room_enough_are_bound_without_a_wasted_attempt() {
    let figures = two_gangs_of_four(8, "Mod .Index 2", 20);
    assert_eq!(figures, Figures { complete: 2, first_complete_ms: Some(7), wasted_attempts: 0 });
}

/// Three members of each hold all six nodes. Their timeouts end within the same milliseconds, so what one gang
/// gives up the other cannot use before it gives up as well: both begin again, and neither is ever complete.
#[test]
fn two_gangs_that_hold_half_the_cluster_each_wait_for_the_timeout() {
    let figures = two_gangs_of_four(6, "Mod .Index 2", 20);
    assert_eq!((figures.complete, figures.first_complete_ms), (0, None), "{figures:?}");
    // Three rounds of eight in 50 s, at least.
    assert!(figures.wasted_attempts >= 24, "{figures:?}");
    let longer = two_gangs_of_four(6, "Mod .Index 2", 40);
    assert_eq!((longer.complete, longer.first_complete_ms), (0, None), "{longer:?}");
    assert!(longer.wasted_attempts < figures.wasted_attempts, "fewer rounds: {longer:?}");
}
