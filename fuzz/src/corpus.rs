//! Seeds: our own committed files, and a few that were written to hurt.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schedlab_perf_dash::history::Record;
use schedlab_replay::parse_trace;
use schedlab_workloads::results::RunResult;
use serde_json::{Value, json};

use crate::mutate::read_tree;
use crate::targets::{Kind, Target};

/// A file that is read.
pub(crate) struct Seed {
    pub(crate) bytes: Vec<u8>,
    /// The same as a tree, where it is one.
    pub(crate) tree: Option<Value>,
}

/// Seeds by what reads them.
pub struct Corpus {
    seeds: BTreeMap<Kind, Vec<Seed>>,
    /// Given as they are, and not mutated: some take long to be refused.
    bombs: Vec<Vec<u8>>,
}

impl Corpus {
    /// Reads the repository's own files.
    ///
    /// # Panics
    ///
    /// When the repository is not around this crate: seeds that are missing would make every run look
    /// fine.
    #[must_use]
    pub fn load() -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut seeds: BTreeMap<Kind, Vec<Vec<u8>>> = BTreeMap::new();
        for file in ["workloads", "lab", "replay/tests"].iter().flat_map(|folder| files(&root.join(folder))) {
            let Some(kind) = kind_of(&file) else { continue };
            let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            if kind == Kind::Trace {
                seeds.entry(kind).or_default().extend(small_trace(&file, &bytes));
            } else {
                seeds.entry(kind).or_default().push(bytes);
            }
        }
        let templates = seeds.get(&Kind::Template).cloned().unwrap_or_default();
        seeds.entry(Kind::Config).or_default().extend(CONFIGS.iter().map(|text| text.as_bytes().to_vec()));
        seeds.entry(Kind::Dump).or_default().push(dump().to_string().into_bytes());
        seeds
            .entry(Kind::Object)
            .or_default()
            .extend(objects().iter().map(|object| object.to_string().into_bytes()));
        seeds.entry(Kind::Object).or_default().extend(templates);
        seeds.entry(Kind::Result).or_default().push(result());
        seeds.entry(Kind::History).or_default().push(record());
        seeds
            .entry(Kind::Quantity)
            .or_default()
            .extend(QUANTITIES.iter().map(|text| text.as_bytes().to_vec()));
        seeds
            .entry(Kind::Selector)
            .or_default()
            .extend(SELECTORS.iter().map(|text| text.as_bytes().to_vec()));
        let seed = |bytes: Vec<u8>| Seed { tree: read_tree(&bytes), bytes };
        let seeds = seeds.into_iter().map(|(kind, all)| (kind, all.into_iter().map(seed).collect()));
        Corpus { seeds: seeds.collect(), bombs: bombs() }
    }

    /// What a target is given before anything is mutated.
    pub(crate) fn plain(&self, target: &Target) -> impl Iterator<Item = &Vec<u8>> {
        self.seeds(target).iter().map(|seed| &seed.bytes).chain(&self.bombs)
    }

    /// The seeds of a target; there is at least one.
    pub(crate) fn seeds(&self, target: &Target) -> &[Seed] {
        self.seeds.get(&target.kind).map_or(&[], Vec::as_slice)
    }
}

/// All files below a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    let is_built = |path: &Path| path.file_name().is_some_and(|name| name == "target");
    entries
        .into_iter()
        .filter(|path| !is_built(path))
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

fn kind_of(file: &Path) -> Option<Kind> {
    let name = file.file_name()?.to_str()?;
    let text = file.to_str()?;
    match name {
        "performance-config.yaml" => Some(Kind::Workload),
        "study.yaml" => Some(Kind::Workload),
        // Two traces of a family: the others are of the same shape.
        _ if text.contains("/conformance/")
            && ["-1.json.gz", "-7.json.gz"].iter().any(|end| name.ends_with(end)) =>
        {
            Some(Kind::Trace)
        }
        _ if text.contains("/templates/") && name.ends_with(".yaml") => Some(Kind::Template),
        _ => None,
    }
}

/// Nodes of a trace that stay as they are.
const NODES_WHOLE_MAX: usize = 16;
/// Nodes that are left of a longer list.
const NODES_CUT: usize = 4;

/// A trace with a few nodes, pods and steps: a whole one takes too long a million times.
fn small_trace(file: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    parse_trace(&file.display().to_string(), bytes).ok()?;
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text).ok()?;
    let mut trace: Value = serde_json::from_str(&text).ok()?;
    // Steps name nodes, so a short list stays whole: some traces must be good from end to end.
    for (list, count) in [("/cluster/pods", 6), ("/steps", 3)] {
        if let Some(Value::Array(items)) = trace.pointer_mut(list) {
            items.truncate(count);
        }
    }
    if let Some(Value::Array(nodes)) = trace.pointer_mut("/cluster/nodes")
        && nodes.len() > NODES_WHOLE_MAX
    {
        nodes.truncate(NODES_CUT);
    }
    Some(trace.to_string().into_bytes())
}

const CONFIGS: &[&str] = &[
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 8\n\
     percentageOfNodesToScore: 30\nprofiles:\n- schedulerName: default-scheduler\n  plugins:\n    filter:\n      \
     disabled: [{name: TaintToleration}]\n    multiPoint:\n      enabled: [{name: NodeResourcesFit, weight: 3}]\n  \
     pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n        type: MostAllocated\n        \
     resources: [{name: cpu, weight: 1}]\n",
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npodInitialBackoffSeconds: 1\n\
     podMaxBackoffSeconds: 10\nextenders:\n- urlPrefix: http://127.0.0.1:1/x\n  filterVerb: filter\n  \
     prioritizeVerb: prioritize\n  weight: 2\n  httpTimeout: 5s\n  ignorable: true\n  managedResources:\n  \
     - name: example.com/foo\n    ignoredByScheduler: true\n",
];

const QUANTITIES: &[&str] = &[
    "0",
    "100m",
    "1Gi",
    "-1.5e3",
    "1E",
    "12e-3",
    "0.000000001",
    "1n",
    "9223372036854775807Ei",
    "+1",
    ".5",
    "5.",
    "1Ki",
    "170141183460469231731687303715884105727",
    "1e400",
    "-0",
    "1_0",
    "００",
    "1e+",
    "1e-",
    "1..2",
    "--1",
    "m",
    "Mi",
];

const SELECTORS: &[&str] = &[
    "performance,-short",
    "a",
    "-a,b,-c",
    ",",
    "-",
    "--",
    "a,,b",
    " a , -b ",
    "+a",
    "{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"In\",\"values\":[\"a\"]}]}",
    "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"9223372036854775808\"]}],\
      \"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]}]}",
];

/// Files that are small and become large, deep or slow.
fn bombs() -> Vec<Vec<u8>> {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let item = format!("*a{},", level - 1).repeat(9);
        laughs.push_str(&format!("a{level}: &a{level} [{item}]\n"));
    }
    vec![
        laughs.into_bytes(),
        "[".repeat(100_000).into_bytes(),
        "{a: ".repeat(50_000).into_bytes(),
        "- ".repeat(50_000).into_bytes(),
        format!("{}1{}", "[".repeat(3000), "]".repeat(3000)).into_bytes(),
        "a: &a\n  b: *a\n".as_bytes().to_vec(),
        "<<: [{a: 1}, {b: 2}]\n".as_bytes().to_vec(),
        format!("a: {}\n", "9".repeat(5000)).into_bytes(),
        format!("a: 1e{}\n", "9".repeat(50)).into_bytes(),
        format!("? {}\n: 1\n", "k".repeat(70_000)).into_bytes(),
        format!("{{{{{}1{}}}}}", "(".repeat(5000), ")".repeat(5000)).into_bytes(),
        format!("{}{}", "{{if true}}".repeat(2000), "{{end}}".repeat(2000)).into_bytes(),
    ]
}

fn objects() -> Vec<Value> {
    let meta = |name: &str| json!({"name": name, "labels": {"app": "web", "zone": "a"}});
    let terms = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]);
    let pod_term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, "namespaces": ["default"]});
    vec![
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("web"), "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1"}},
                "ports": [{"containerPort": 80, "hostPort": 80}]}],
            "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
            "overhead": {"cpu": "10m"}, "priority": 5, "nodeSelector": {"zone": "a"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": terms[0]}],
                },
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": pod_term}]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [pod_term]},
            },
            "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 1}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}],
        }}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": meta("n"), "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "capacity": {"cpu": "4"},
                "images": [{"names": ["a"], "sizeBytes": 5}], "conditions": [{"type": "Ready", "status": "True"}]}}),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 5, "globalDefault": true}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {"capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"], "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, "storageClassName": "s",
            "claimRef": {"namespace": "default", "name": "claim"}}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "claim", "namespace": "default"},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s"}}),
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}),
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": 5}}]}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "a"}}}),
    ]
}

fn dump() -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": objects()})
}

/// A result as `run --json` writes it, and a record of it.
fn result() -> Vec<u8> {
    include_bytes!("../../workloads/tests/golden/result.json").to_vec()
}

fn record() -> Vec<u8> {
    let run: RunResult = serde_json::from_slice(&result()).expect("the committed seed is a result");
    serde_json::to_vec(&Record::from_run(&run, Some("nightly".to_owned()), Vec::new()))
        .expect("a record has a JSON form")
}
