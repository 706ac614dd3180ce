//! Runs workloads from text.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schedlab_cluster::link::LinkSettings;
use schedlab_core::cycle::engine::ClassCache;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::scheduler::{EventLevel, NominatedNodeNameMiss, WriteNominatedNodeName};
use schedlab_core::topology::PodCounting;
use schedlab_workloads::executor::{
    ConfigFile, Control, Ending, ExecuteError, NoProfiler, NoProgress, Outcome, RunSettings, TimeMode,
    run_workload,
};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::placements::{PlacementLog, PodPlacement};
use schedlab_workloads::resolve::{ResolvedWorkload, Selection, Suite, runnable};
use schedlab_workloads::source::EmbeddedSource;
use schedlab_workloads::suites;

pub(crate) const SETTINGS: RunSettings = RunSettings {
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

pub(crate) fn run(workload: &ResolvedWorkload, settings: RunSettings) -> Result<Outcome, ExecuteError> {
    assert_eq!(runnable(workload), Ok(()), "{}", workload.full_name);
    let control = Control {
        interrupt: &AtomicBool::new(false),
        progress: &NoProgress,
        registry: &lab_plugins::registry(),
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: None,
        under_test: None,
    };
    run_workload(workload, settings, control)
}

/// Templates that the ops of these tests use.
const TEMPLATES: &[(&str, &str)] = &[
    (
        "t/node.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'node-{{.Index}}'}\nstatus:\n  capacity: {cpu: '4', memory: 32Gi, pods: '2'}\n",
    ),
    (
        "t/tainted.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'node-{{.Index}}'}\nspec: {taints: [{key: closed, effect: NoSchedule}]}\nstatus:\n  capacity: {cpu: '4', memory: 32Gi, pods: '110'}\n",
    ),
    (
        "t/open.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'node-{{.Index}}'}\nstatus:\n  capacity: {cpu: '4', memory: 32Gi, pods: '110'}\n",
    ),
    (
        "t/class.yaml",
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: 'class-{{.Index}}-of-{{.Count}}'}\nvalue: 7\n",
    ),
    (
        "t/classed.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec:\n  priorityClassName: class-2-of-3\n  containers: [{name: a, image: i}]\n",
    ),
    (
        "t/blocker.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: 'blocker-{{.Index}}', labels: {type: blocker}}\nspec:\n  containers: [{name: a, image: i, resources: {requests: {cpu: '2'}}}]\n",
    ),
    (
        "t/smaller.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: 'blocker-{{.Index}}', labels: {type: blocker}}\nspec:\n  containers: [{name: a, image: i, resources: {requests: {cpu: '1'}}}]\n",
    ),
    (
        "t/urgent.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: urgent-}\nspec:\n  priority: 10\n  containers: [{name: a, image: i, resources: {requests: {cpu: '4'}}}]\n",
    ),
    (
        "t/waiter.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: waiter-, labels: {type: waiter}}\nspec:\n  containers: [{name: a, image: i, resources: {requests: {cpu: '1'}}}]\n",
    ),
    (
        "t/wide.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'wide-{{.Index}}'}\nstatus:\n  capacity: {cpu: '32', memory: 64Gi, pods: '110'}\n",
    ),
    (
        "t/waiter-of-batch.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: batch-}\nspec:\n  schedulerName: batch\n  containers: [{name: a, image: i, resources: {requests: {cpu: '1'}}}]\n",
    ),
    ("t/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {generateName: churn-}\n"),
    (
        "t/cache-node.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'c-{{.Index}}', labels: {app: cache}}\nspec: {}\nstatus: {allocatable: {cpu: '16', memory: 8Gi, pods: '110'}}\n",
    ),
    (
        "t/cache-node-relabelled.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'c-{{.Index}}'}\nspec: {}\nstatus: {allocatable: {cpu: '16', memory: 8Gi, pods: '110'}}\n",
    ),
    (
        "t/cache-node-tainted.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'c-{{.Index}}', labels: {app: cache}}\nspec: {taints: [{key: down, effect: NoExecute}]}\nstatus: {allocatable: {cpu: '16', memory: 8Gi, pods: '110'}}\n",
    ),
    (
        "t/cache-pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: c-}\nspec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingRequiredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: app, operator: In, values: [cache]}]}]}}}\n  containers: [{name: a, image: i}]\n",
    ),
    (
        "t/cache-pod-wrong.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: c-}\nspec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingRequiredDuringExecution: {nodeSelectorTerms: [{matchLabels: {app: cache}}]}}}\n  containers: [{name: a, image: i}]\n",
    ),
    (
        "t/not-ready-node.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'r-{{.Index}}'}\nstatus:\n  allocatable: {cpu: '16', memory: 8Gi, pods: '110'}\n  conditions: [{type: Ready, status: 'False'}]\n",
    ),
    (
        "t/ready-node.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: 'r-{{.Index}}'}\nstatus:\n  allocatable: {cpu: '16', memory: 8Gi, pods: '110'}\n  conditions: [{type: Ready, status: 'True'}]\n",
    ),
    (
        "t/patient-pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec:\n  tolerations: [{key: down, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]\n  containers: [{name: a, image: i}]\n",
    ),
    (
        "t/gang.yaml",
        "apiVersion: scheduling.k8s.io/v1alpha3\nkind: PodGroup\nmetadata: {name: 'gang-{{.Index}}'}\nspec:\n  {{if .priority}}priority: {{.priority}}{{end}}\n  schedulingPolicy: {gang: {minCount: {{.minCount}}}}\n",
    ),
    (
        "t/group-with-count.yaml",
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: 'gang-of-{{.Count}}'}\nspec: {schedulingPolicy: {basic: {}}}\n",
    ),
    (
        "t/group-misspelt.yaml",
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec: {schedulingPolicy: {gang: {mincount: 2}}}\n",
    ),
    (
        "t/member.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: 'member-{{.Index}}'}\nspec:\n  {{if .priority}}priority: {{.priority}}{{end}}\n  schedulerName: {{if .scheduler}}{{.scheduler}}{{else}}default-scheduler{{end}}\n  schedulingGroup: {podGroupName: 'gang-{{DivideInt .Index .size}}'}\n  containers: [{name: a, image: i, resources: {requests: {cpu: '{{if .cpu}}{{.cpu}}{{else}}1{{end}}'}}}]\n",
    ),
    ("t/arrivals.txt", "# seconds from the begin\n0\n0.5\n2\n"),
    (
        "t/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 5\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: c, image: i}]}\n",
    ),
    ("t/kindless.yaml", "metadata: {name: a}\n"),
    (
        "t/pv.yaml",
        "apiVersion: v1\nkind: PersistentVolume\nspec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, csi: {driver: d}}\n",
    ),
    (
        "t/pvc.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {annotations: {pv.kubernetes.io/bind-completed: 'true'}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
    ),
];

/// Runs a test case of these ops, one a line, each the inside of a YAML mapping.
pub(crate) fn run_ops(gates: &str, ops: &str) -> Result<Outcome, ExecuteError> {
    run_ops_with("", gates, ops)
}

/// The same with controllers.
pub(crate) fn run_ops_with(controllers: &str, gates: &str, ops: &str) -> Result<Outcome, ExecuteError> {
    run(&workload_of(controllers, gates, ops), SETTINGS)
}

/// The same in virtual time, and where the pods went. A cycle takes a millisecond.
pub(crate) fn run_ops_virtually(
    controllers: &str,
    ops: &str,
    settings: RunSettings,
) -> (Outcome, Vec<PodPlacement>) {
    let log = PlacementLog::default();
    let control = Control {
        interrupt: &AtomicBool::new(false),
        progress: &NoProgress,
        registry: &lab_plugins::registry(),
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: Some(&log),
        under_test: None,
    };
    let settings = RunSettings { time: TimeMode::Virtual { cycle_ns: 1_000_000 }, ..settings };
    let outcome = run_workload(&workload_of(controllers, "", ops), settings, control);
    (outcome.unwrap_or_else(|error| panic!("{error}")), log.placements())
}

/// A test case of a built-in suite in virtual time, with these feature gates; all of it runs.
pub(crate) fn run_case(suite: &str, case: &str, gates: &[(&str, bool)], settings: RunSettings) -> Outcome {
    let suite = suites::load(suite).unwrap_or_else(|error| panic!("{error}"));
    let mut workloads = suite.resolve(&Selection::all()).unwrap_or_else(|error| panic!("{error}"));
    let mut workload = workloads.remove(workloads.iter().position(|it| it.test_case == case).expect(case));
    workload.feature_gates.extend(gates.iter().map(|(gate, is_on)| ((*gate).to_owned(), *is_on)));
    let settings = RunSettings { time: TimeMode::Virtual { cycle_ns: 100_000 }, ..settings };
    let outcome = run(&workload, settings).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(outcome.ending, Ending::Completed, "{case}");
    outcome
}

/// What a controller or an op counted; nothing if it did not run.
pub(crate) fn count_of(outcome: &Outcome, who: &str, what: &str) -> u64 {
    let report = outcome.controllers.iter().find(|report| report.controller == who);
    report.map_or(0, |report| report.counter(what))
}

/// A workload of these ops with these schedulers, as the field says it.
pub(crate) fn run_with_schedulers(
    (controllers, schedulers): (&str, &str),
    ops: &str,
    time: TimeMode,
) -> Result<Outcome, ExecuteError> {
    let workload = workload_with(&format!("controllers: [{controllers}]\n  schedulers: {schedulers}"), ops);
    run(&workload, RunSettings { time, ..SETTINGS })
}

fn workload_of(controllers: &str, gates: &str, ops: &str) -> ResolvedWorkload {
    workload_with(&format!("featureGates: {{{gates}}}\n  controllers: [{controllers}]"), ops)
}

fn workload_with(fields: &str, ops: &str) -> ResolvedWorkload {
    let ops: String =
        ops.lines().map(str::trim).filter(|op| !op.is_empty()).map(|op| format!("  - {{{op}}}\n")).collect();
    // Every test case must measure something; this measures nothing.
    let measured = if ops.contains("collectMetrics") || ops.contains("CollectingMetrics") {
        ""
    } else {
        "  - {opcode: startCollectingMetrics, namespaces: [default]}\n  - {opcode: stopCollectingMetrics}\n"
    };
    let config =
        format!("- name: Case\n  {fields}\n  workloadTemplate:\n{ops}{measured}  workloads:\n  - name: W\n");
    let mut files = TEMPLATES.to_vec();
    files.push(("s/performance-config.yaml", config.leak()));
    let suite = Suite::load(Arc::new(EmbeddedSource { files: files.leak() }), Path::new("s"))
        .unwrap_or_else(|error| panic!("{error}"));
    let [workload] =
        suite.resolve(&Selection::all()).unwrap_or_else(|error| panic!("{error}")).try_into().expect("one");
    workload
}
