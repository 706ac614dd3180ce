//! Workloads from text to resolved ops, and what is refused on the way.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::labels::LabelFilter;
use crate::ops::barrier::{Barrier, StageRequirement};
use crate::ops::create_pods::{Completion, CreatePods};
use crate::source::EmbeddedSource;

const POD: &str = "kind: Pod\nmetadata: {name: 'p-{{.Index}}'}\n";

/// A suite of one config file `s/performance-config.yaml`, with `t/pod.yaml` and a template that
/// fails beside it.
fn suite(config: &'static str) -> Result<Suite, WorkloadError> {
    let files = vec![
        ("s/performance-config.yaml", config),
        ("t/pod.yaml", POD),
        ("t/broken.yaml", "kind: Pod\nspec: {{if}}\n"),
        ("t/unset.yaml", "kind: Pod\nname: {{.zone}}\n"),
        ("t/claim.yaml", "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n"),
        ("t/claiming.yaml", "kind: Pod\nspec:\n  resourceClaims: []\n"),
        ("t/group.yaml", "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"),
    ];
    Suite::load(Arc::new(EmbeddedSource { files: files.leak() }), Path::new("s"))
}

fn resolve(config: &'static str) -> Result<Vec<ResolvedWorkload>, WorkloadError> {
    suite(config)?.resolve(&Selection::all())
}

/// A test case around one op and the params of its workload.
fn with_op(op: &str, params: &str) -> &'static str {
    format!(
        "- name: Case\n  workloadTemplate:\n  - {op}\n  - opcode: stopCollectingMetrics\n  workloads:\n  - name: W\n    params: {params}\n"
    )
    .leak()
}

#[test]
fn a_workload_is_resolved_in_full() {
    let config = "
- name: Case
  labels: [performance]
  featureGates: {GateA: true, GateB: true}
  defaultPodTemplatePath: ../t/pod.yaml
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPodSets, countParam: $sets, namespacePrefix: set, createPodsOp: {opcode: createPods, countParam: $each, skipWaitToCompletion: true}}
  - {opcode: barrier}
  - {opcode: createPods, countParam: $each, countMultiplierParam: $groups, templateParams: {zone: $zone|a}, collectMetrics: true}
  - {opcode: createPods, count: 3, namespace: steady, steadyStateParam: $steady, durationParam: $time, signatureBatchSize: 4}
  - {opcode: sleep, durationParam: $time}
  workloads:
  - name: W
    labels: [short]
    featureGates: {GateB: false}
    threshold: {s: 7}
    params: {nodes: 4, sets: 2, each: 5, groups: 3, steady: true, time: 10s}
";
    let [workload] = resolve(config).unwrap().try_into().unwrap();
    assert_eq!(workload.full_name, "Case/W");
    assert_eq!(workload.topic, "s");
    assert_eq!(workload.labels, ["performance", "short"]);
    assert_eq!(workload.feature_gates, [("GateA".into(), true), ("GateB".into(), false)].into());
    assert_eq!(workload.threshold.value, 7.0);
    assert_eq!(workload.threshold.selector.name, "SchedulingThroughput");
    let opcodes: Vec<&str> = workload.ops.iter().map(|op| op.opcode()).collect();
    let expected =
        ["createNodes", "createPods", "createPods", "barrier", "createPods", "createPods", "sleep"];
    assert_eq!(opcodes, expected, "createPodSets is unrolled");
    let pods: Vec<_> = workload
        .ops
        .iter()
        .filter_map(|op| op.as_op::<CreatePods>())
        .map(|op| (op.namespace.as_str(), op.count, op.completion, op.signature_batch_size))
        .collect();
    let steady = Completion::SteadyState { duration: Duration::from_secs(10) };
    let expected = [
        ("set-0", 5, Completion::Created, 1),
        ("set-1", 5, Completion::Created, 1),
        ("namespace-4", 15, Completion::Scheduled, 1),
        ("steady", 3, steady, 4),
    ];
    assert_eq!(pods, expected, "a default namespace is numbered by the unrolled ops");
    let measured = workload.ops[4].as_op::<CreatePods>().expect("createPods");
    let template = measured.template.as_ref().unwrap();
    assert_eq!(template.params()["zone"], "a");
    assert_eq!(template.render_json(2, 15).unwrap()["metadata"]["name"], "p-2");
    assert_eq!(template.template().path(), Path::new("t/pod.yaml"));
}

#[test]
fn workloads_that_cannot_run_are_refused() {
    let at = "s/performance-config.yaml:3: Case/W: op 0";
    let cases = [
        (
            "a missing template",
            "{opcode: createPods, count: 1, podTemplatePath: ../t/no-pod.yaml}",
            "{}",
            "(createPods): template `../t/no-pod.yaml` cannot be read (t/no-pod.yaml: no such file or directory); paths \
             are relative to the directory of the config file",
        ),
        (
            "a template that does not parse",
            "{opcode: createPods, count: 1, podTemplatePath: ../t/broken.yaml}",
            "{}",
            "(createPods): t/broken.yaml:2: not a valid Go template: `{{if}}` has no `{{end}}`",
        ),
        (
            "a missing param",
            "{opcode: createNodes, countParam: $nodes}",
            "{}",
            "(createNodes): parameter $nodes is not set; add `nodes` to `params` of this workload",
        ),
        (
            "a param of the wrong kind",
            "{opcode: createNodes, countParam: $nodes}",
            "{nodes: many}",
            "(createNodes): parameter $nodes is \"many\"; set it to a whole number",
        ),
        (
            "a missing template param",
            "{opcode: createPods, count: 1, podTemplatePath: ../t/pod.yaml, templateParams: {a: $b}}",
            "{}",
            "(createPods): parameter $b is not set; add `b` to `params` of this workload",
        ),
        (
            "a billion pods",
            "{opcode: createPods, count: 1_000_000_000}",
            "{}",
            "(createPods): 1000000000 pods are too many; the most is 10000000",
        ),
        (
            "a billion nodes through a param",
            "{opcode: createNodes, countParam: $nodes}",
            "{nodes: 1_000_000_000}",
            "(createNodes): 1000000000 nodes are too many; the most is 1000000",
        ),
        (
            "a billion pods through a multiplier",
            "{opcode: createPods, count: 10_000_000, countMultiplierParam: $groups}",
            "{groups: 100}",
            "(createPods): 1000000000 pods are too many; the most is 10000000",
        ),
        (
            "too many pods over all sets",
            "{opcode: createPodSets, count: 3, namespacePrefix: p, createPodsOp: {count: 4_000_000}}",
            "{}",
            "(createPodSets): the ops so far create 12000000 pods; the most for a workload is 10000000",
        ),
        (
            "fewer than none",
            "{opcode: createNodes, countParam: $nodes}",
            "{nodes: -1}",
            "(createNodes): -1 nodes cannot be created; use 0 or more",
        ),
        (
            "no pods to measure",
            "{opcode: createPods, countParam: $pods, collectMetrics: true}",
            "{pods: 0}",
            "(createPods): `collectMetrics` with a count of 0 measures nothing; use a count of 1 or more",
        ),
        (
            "no pod groups",
            "{opcode: createPodGroups, countParam: $groups, namespace: n, templatePath: ../t/pod.yaml}",
            "{groups: 0}",
            "(createPodGroups): 0 pod groups cannot be created; use a count of 1 or more",
        ),
        (
            "a steady state for ever",
            "{opcode: createPods, count: 1, steadyState: true}",
            "{}",
            "(createPods): `steadyState` needs a `duration` above 0, for example `duration: 10s`",
        ),
        (
            "a steady state nobody waits for",
            "{opcode: createPods, count: 1, steadyStateParam: $s, skipWaitToCompletion: true}",
            "{s: true}",
            "(createPods): `steadyState` and `skipWaitToCompletion` are both set; keep one of them",
        ),
        (
            "a duration that is none",
            "{opcode: sleep, durationParam: $t}",
            "{t: soon}",
            "(sleep): parameter $t is \"soon\"; set it to a Go duration such as \"500ms\", \"10s\" or \"1m30s\"",
        ),
    ];
    for (name, op, params, expected) in cases {
        let error = resolve(with_op(op, params)).unwrap_err();
        assert_eq!(error.to_string(), format!("{at} {expected}"), "case: {name}");
    }
}

#[test]
fn zero_is_a_count_as_upstream_has_it() {
    let [workload] =
        resolve(with_op("{opcode: createPods, countParam: $pods}", "{pods: 0}")).unwrap().try_into().unwrap();
    let pods = workload.ops[0].as_op::<CreatePods>().expect("createPods");
    assert_eq!(pods.count, 0);
}

#[test]
fn unused_params_are_refused() {
    let one =
        resolve(with_op("{opcode: createNodes, countParam: $nodes}", "{nodes: 1, node: 2}")).unwrap_err();
    assert_eq!(
        one.to_string(),
        "s/performance-config.yaml:6: Case/W: the parameter `node` is set, but no op uses it; remove it or correct the name"
    );
    let two = resolve(with_op("{opcode: createNodes, count: 1}", "{b: 1, a: 2}")).unwrap_err();
    assert_eq!(
        two.to_string(),
        "s/performance-config.yaml:6: Case/W: the parameters `a`, `b` are set, but no op uses them; remove them or correct the name"
    );
}

#[test]
fn a_template_that_does_not_evaluate_says_where() {
    let op = "{opcode: createPods, count: 1, podTemplatePath: ../t/unset.yaml}";
    let [workload] = resolve(with_op(op, "{}")).unwrap().try_into().unwrap();
    let pods = workload.ops[0].as_op::<CreatePods>().expect("createPods");
    let error = pods.template.as_ref().unwrap().render_json(0, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t/unset.yaml:2: the template does not evaluate: `.zone` has no value; set it in `templateParams` of the op"
    );
}

#[test]
fn a_missing_scheduler_configuration_is_named() {
    let config = "
- name: Case
  schedulerConfigPath: scheduler.yaml
  workloadTemplate: [{opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: W}]
";
    assert_eq!(
        resolve(config).unwrap_err().to_string(),
        "s/performance-config.yaml:2: test case Case: schedulerConfigPath `scheduler.yaml` cannot be read \
         (s/scheduler.yaml: no such file or directory); paths are relative to the directory of the config file"
    );
}

#[test]
fn names_and_labels_select() {
    const CONFIG: &str = "
- name: Basic
  workloadTemplate: [{opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: 5Nodes, labels: [short]}, {name: 5000Nodes, labels: [performance]}]
- name: Affinity
  labels: [performance]
  workloadTemplate: [{opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: 5Nodes, labels: [short]}, {name: 50Nodes}]
";
    let cases: [(&str, &str, &str, &[&str]); 6] = [
        ("everything", "", "", &["Basic/5Nodes", "Basic/5000Nodes", "Affinity/5Nodes", "Affinity/50Nodes"]),
        ("a test case", "^Basic/", "", &["Basic/5Nodes", "Basic/5000Nodes"]),
        ("a workload", "/5Nodes$", "", &["Basic/5Nodes", "Affinity/5Nodes"]),
        (
            "labels of test case and workload",
            "",
            "performance",
            &["Basic/5000Nodes", "Affinity/5Nodes", "Affinity/50Nodes"],
        ),
        ("both", "Affinity", "performance,-short", &["Affinity/50Nodes"]),
        ("nothing", "NoSuchCase", "", &[]),
    ];
    let suite = suite(CONFIG).unwrap();
    for (name, filter, labels, expected) in cases {
        let labels: LabelFilter = labels.parse().unwrap();
        let selection = Selection::all().with_names(filter).unwrap().with_labels(labels);
        let resolved = suite.resolve(&selection).unwrap();
        let names: Vec<&str> = resolved.iter().map(|workload| workload.full_name.as_str()).collect();
        assert_eq!(names, expected, "case: {name}");
    }
    let error = Selection::all().with_names("a(b").unwrap_err();
    assert_eq!(error.to_string(), "filter `a(b` is not a regular expression: unclosed group");
}

#[test]
fn unsupported_op_is_named_with_the_reason() {
    let cases = [
        ("plain pods", "{opcode: createPods, count: 1}", Ok(())),
        ("a barrier", "{opcode: barrier}", Ok(())),
        ("a barrier on attempts", "{opcode: barrier, stageRequirement: Attempted}", Ok(())),
        ("a steady state", "{opcode: createPods, count: 1, steadyState: true, duration: 1s}", Ok(())),
        ("signatures", "{opcode: createPods, count: 1, signatureBatchSize: 10}", Ok(())),
        ("deletion", "{opcode: deletePods, namespace: n}", Ok(())),
        (
            "claims",
            "{opcode: createAny, templatePath: ../t/claim.yaml, namespace: n}",
            Err("op 0 (createAny): dynamic resource allocation is not simulated here"),
        ),
        (
            "pods with claims",
            "{opcode: createPods, count: 1, podTemplatePath: ../t/claiming.yaml}",
            Err("op 0 (createPods): dynamic resource allocation is not simulated here"),
        ),
        (
            "pod groups",
            "{opcode: createPodGroups, count: 1, namespace: n, templatePath: ../t/group.yaml}",
            Ok(()),
        ),
        ("a profile", "{opcode: startCollectingProfile, type: CPU, filePath: cpu.prof}", Ok(())),
    ];
    for (name, op, expected) in cases {
        let [workload] = resolve(with_op(op, "{}")).unwrap().try_into().unwrap();
        let found = runnable(&workload).map_err(|unsupported| unsupported.to_string());
        assert_eq!(found, expected.map_err(String::from), "case: {name}");
    }
}

#[test]
fn barrier_waits_for_scheduled_pods_by_default() {
    let [workload] = resolve(with_op("{opcode: barrier}", "{}")).unwrap().try_into().unwrap();
    let barrier = workload.ops[0].as_op::<Barrier>().expect("barrier");
    assert_eq!((barrier.stage, barrier.namespaces.len()), (StageRequirement::Scheduled, 0));
}
