//! Config files that are read, and config files that are refused with a message that helps.

use std::time::Duration;

use super::*;
use crate::ops::barrier::{Barrier, StageRequirement};
use crate::ops::churn::{ChurnMode, ChurnOp};
use crate::ops::create_nodes::{CreateNodesOp, NodeStrategy};
use crate::ops::create_pods::CreatePodsOp;
use crate::ops::{OPCODES, file_of};

/// A test case around some ops and one workload.
fn case(ops: &str) -> String {
    format!(
        "- name: Case\n  workloadTemplate:\n{ops}\n  - opcode: stopCollectingMetrics\n  workloads:\n  - name: W\n"
    )
}

fn message(text: &str) -> String {
    match parse_config("c.yaml", text) {
        Ok(_) => "no error".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_full_test_case_is_read() {
    let text = "
# Why this case exists.
- name: Full
  labels: [a]
  featureGates: {GateA: true, GateB: no}
  schedulerConfigPath: scheduler.yaml
  defaultPodTemplatePath: pod.yaml
  defaultThresholdMetricSelector:
    name: m
    labels: {l: x}
    dataBucket: Perc99
    expectLower: true
  metricsCollectorConfig:
    metrics:
      m:
      - label: l
        values: [x, z]
      n:
  workloadTemplate:
  - {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads:
  - name: Scalar
    threshold: 20.5
    params: {pods: 5, text: abc, flag: true, list: [1, 2]}
  - name: ByTopic
    labels: [b]
    featureGates: {GateA: false}
    threshold: {dra: 56}
    thresholdMetricSelector: {name: SchedulingThroughput, dataBucket: Average}

# Why the next one exists.
- name: Next
  workloadTemplate: [{opcode: createPods, count: 1, collectMetrics: true}]
  workloads: [{name: W}]
";
    let cases = parse_config("c.yaml", text).unwrap();
    assert_eq!(cases.len(), 2);
    let full = &cases[0];
    assert_eq!((full.name.as_str(), full.line), ("Full", 3));
    assert!(full.text.starts_with("# Why this case exists.\n- name: Full\n"));
    assert!(full.text.ends_with("dataBucket: Average}\n"), "the next comment is not ours");
    assert!(!full.feature_gates["GateB"]);
    let collected = full.metrics_collector_config.as_ref().unwrap();
    assert_eq!(collected.metrics["m"][0].values, ["x", "z"]);
    assert!(collected.metrics["n"].is_empty());
    let [scalar, by_topic] = full.workloads.as_slice() else { panic!("two workloads") };
    assert_eq!(scalar.threshold_metric_selector.name, "m");
    assert!(scalar.threshold_metric_selector.expect_lower);
    assert_eq!(scalar.threshold.get("any"), 20.5);
    assert_eq!(scalar.params["list"], serde_json::json!([1, 2]));
    assert_eq!(by_topic.threshold_metric_selector.name, "SchedulingThroughput");
    assert_eq!((by_topic.threshold.get("dra"), by_topic.threshold.get("other")), (56.0, 0.0));
    assert_eq!(cases[1].workloads[0].threshold_metric_selector.data_bucket, "Average");
}

#[test]
fn every_opcode_is_read_with_all_its_fields() {
    let ops = "
  - {opcode: allocResourceClaims, namespace: n}
  - {opcode: createAny, namespace: n, templatePath: t, count: 2, countParam: $c, templateParams: {a: $b|3}}
  - {opcode: createNodes, count: 2, countParam: $c, nodeTemplatePath: t, templateParams: {a: 1}, uniqueNodeLabelStrategy: {labelKey: k}}
  - opcode: createNodes
    count: 2
    nodeAllocatableStrategy: {nodeAllocatable: {cpu: 4}, csiNodeAllocatable: {d: {count: 39}}, migratedPlugins: [p]}
  - {opcode: createNodes, count: 2, labelNodePrepareStrategy: {labelKey: k, labelValues: [a, b]}}
  - {opcode: createNamespaces, prefix: p, count: 2, countParam: $c, namespaceTemplatePath: t}
  - {opcode: createPods, count: 2, countParam: $c, countMultiplierParam: $m, namespace: n, podTemplatePath: t, templateParams: {a: 1}, collectMetrics: true, steadyState: true, steadyStateParam: $s, duration: 1m30s, durationParam: $d, persistentVolumeTemplatePath: v, persistentVolumeClaimTemplatePath: c, signatureBatchSize: 4, signatureBatchSizeParam: $g}
  - {opcode: createPods, count: 2, skipWaitToCompletion: true}
  - {opcode: createPodSets, count: 2, countParam: $c, namespacePrefix: p, createPodsOp: {opcode: createPods, countParam: $p}}
  - {opcode: deletePods, namespace: n, labelSelector: {a: b}, skipWaitToCompletion: true, deletePodsPerSecond: 50}
  - {opcode: createResourceClaims, count: 2, countParam: $c, namespace: n, templatePath: t}
  - {opcode: churn, mode: recreate, number: 3, intervalMilliseconds: 20, namespace: n, templatePaths: [a, b]}
  - {opcode: churn, mode: create, templatePaths: [a]}
  - {opcode: updateAny, namespace: n, templatePath: t, count: 2, countParam: $c, updatePerSecond: 5, subresources: [status]}
  - {opcode: barrier, namespaces: [a], labelSelector: {a: b}, stageRequirement: Attempted}
  - {opcode: sleep, duration: 500ms, durationParam: $d}
  - {opcode: startCollectingMetrics, name: x, namespaces: [a], labelSelector: {a: b}}
  - {opcode: arrivals, pattern: bursts, burstSize: 2, count: 2, countParam: $c, namespace: n, podTemplatePath: t, templateParams: {a: 1}, podsPerSecond: 1.5, podsPerSecondParam: $p, skipWaitToCompletion: true}
  - {opcode: arrivals, pattern: recorded, recordedPath: r, collectMetrics: true}
  - {opcode: createPodGroups, namespace: n, templatePath: t, templateParams: {a: 1}, count: 2, countParam: $c}
  - {opcode: startCollectingProfile, type: cpu, filePath: f}
  - {opcode: stopCollectingProfile, type: CPU}";
    let cases = parse_config("c.yaml", &case(ops)).unwrap();
    let ops = &cases[0].ops;
    let mut unread: Vec<&str> = OPCODES.to_vec();
    unread.retain(|opcode| ops.iter().all(|op| op.opcode() != *opcode) && !has_own_sample(opcode));
    assert_eq!(unread, [""; 0], "every opcode is read, here or in the tests of its own file");
    let nodes = ops[3].as_written::<CreateNodesOp>().expect("createNodes");
    let NodeStrategy::Allocatable { node_allocatable, csi_node_allocatable, .. } = &nodes.strategy else {
        panic!("nodeAllocatableStrategy")
    };
    assert_eq!(node_allocatable["cpu"], "4", "a bare number is a quantity");
    assert_eq!(csi_node_allocatable["d"], Some(39));
    let pods = ops[6].as_written::<CreatePodsOp>().expect("createPods");
    assert_eq!(pods.duration, Some(Duration::from_secs(90)));
    assert_eq!(pods.volume_paths, Some(("v".into(), "c".into())));
    let churn = ops[12].as_written::<ChurnOp>().expect("churn");
    assert_eq!(
        (churn.mode, churn.interval),
        (ChurnMode::Create { number: None }, Duration::from_millis(500))
    );
    let barrier = ops[14].as_written::<Barrier>().expect("barrier");
    assert_eq!(barrier.stage, StageRequirement::Attempted);
}

/// Whether the tests at the end of the opcode's own file read it.
fn has_own_sample(opcode: &str) -> bool {
    let file = format!("{}/src/ops/{}.rs", env!("CARGO_MANIFEST_DIR"), file_of(opcode));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_once("#[cfg(test)]").is_some_and(|(_, tests)| tests.contains(&format!("opcode: {opcode}")))
}

#[test]
fn names_match_in_any_case_as_go_reads_them() {
    let text = case("  - {Opcode: createPods, COUNT: 3}");
    assert_eq!(message(&text), "no error");
    let twice = case("  - {opcode: createPods, count: 3, Count: 4}");
    assert_eq!(message(&twice), "c.yaml:3:36: `count` is set twice in op createPods; remove one");
}

#[test]
fn broken_files_are_refused() {
    let cases = [
        (
            "malformed YAML",
            "- name: A\n  labels: [x\n  workloads: []\n",
            "c.yaml:3:12: not valid YAML: illegal placement of ':' indicator",
        ),
        (
            "empty",
            "",
            "c.yaml:1:1: the file has no test cases; write a list of them, each starting with `- name:`",
        ),
        (
            "not a list",
            "name: A\n",
            "c.yaml:1:1: `value` of the file is a mapping; write a list of test cases",
        ),
        ("not a mapping", "- A\n", "c.yaml:1:3: `value` of a test case is a string; write a mapping"),
        ("no name", "- labels: []\n", "c.yaml:1:3: a test case has no `name`; give the test case a name"),
        (
            "unknown field",
            "- name: A\n  workloadTemplates: []\n",
            "c.yaml:2:3: unknown field `workloadTemplates` in a test case (did you mean `workloadTemplate`?); allowed: \
             name, labels, featureGates, controllers, schedulers, schedulerConfigPath, defaultPodTemplatePath, metricsCollectorConfig, \
             defaultThresholdMetricSelector, workloadTemplate, workloads",
        ),
        (
            "no ops",
            "- name: A\n  workloads: [{name: W}]\n",
            "c.yaml:1:3: test case A has no ops; list them under `workloadTemplate`",
        ),
        (
            "no metrics",
            "- name: A\n  workloadTemplate: [{opcode: createPods, count: 1}]\n  workloads: [{name: W}]\n",
            "c.yaml:1:3: no op of test case A collects metrics; set `collectMetrics: true` on a createPods op, or add \
             startCollectingMetrics and stopCollectingMetrics",
        ),
        (
            "no workloads",
            "- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n",
            "c.yaml:1:3: test case A has no workloads; list at least one under `workloads`",
        ),
        (
            "a workload's name twice",
            "- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  workloads:\n  - name: W\n  - name: W\n",
            "c.yaml:5:5: workload `W` already exists (line 4); give this one another name",
        ),
        (
            "a test case's name twice",
            "- &a\n  name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  workloads: [{name: W}]\n- *a\n",
            "c.yaml:5:3: test case `A` already exists (line 2); give this one another name",
        ),
        (
            "a negative threshold",
            "- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  workloads:\n  - {name: W, threshold: -1}\n",
            "c.yaml:4:26: `threshold: -1` of workload W is not allowed; write 0 or more; 0 is no threshold",
        ),
        (
            "a threshold that is a word",
            "- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  workloads:\n  - {name: W, threshold: high}\n",
            "c.yaml:4:26: `threshold` of workload W is \"high\"; write a number, or a mapping of topic to number",
        ),
        (
            "a metric nobody collects",
            "- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  metricsCollectorConfig: {metrics: {m: [{label: l, values: [x]}]}}\n  workloads:\n  - {name: W, thresholdMetricSelector: {name: q, dataBucket: Average}}\n",
            "c.yaml:5:5: workload W puts its threshold on the metric q, which is not collected; choose SchedulingThroughput or one of m",
        ),
        (
            "a label value nobody collects",
            "- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  metricsCollectorConfig: {metrics: {m: [{label: l, values: [x]}]}}\n  workloads:\n  - {name: W, thresholdMetricSelector: {name: m, labels: {l: z}, dataBucket: Average}}\n",
            "c.yaml:5:5: workload W puts its threshold on m with l=z, which is not collected; add the label and its value to `metricsCollectorConfig`",
        ),
        (
            "a selector without a bucket",
            "- name: A\n  defaultThresholdMetricSelector: {name: SchedulingThroughput}\n",
            "c.yaml:2:35: defaultThresholdMetricSelector of test case A has no `dataBucket`; name the bucket, for example Average or Perc99",
        ),
        (
            "a gate that is a number",
            "- name: A\n  featureGates: {G: 1}\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  workloads: [{name: W}]\n",
            "c.yaml:2:21: `G` of test case A is 1; write true or false",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(message(text), expected, "case: {name}");
    }
}

#[test]
fn broken_ops_are_refused() {
    let unknown = format!(
        "c.yaml:3:14: unknown opcode `createPod` (did you mean `createPods`?); known: {}",
        OPCODES.join(", ")
    );
    let cases = [
        ("an unknown opcode", "{opcode: createPod}", unknown.as_str()),
        (
            "no opcode",
            "{count: 1}",
            "c.yaml:3:5: an op has no `opcode`; say what it does, for example `opcode: createPods`",
        ),
        (
            "not a mapping",
            "createPods",
            "c.yaml:3:5: `value` of an op is a string; write a mapping with an `opcode`",
        ),
        (
            "an unknown field",
            "{opcode: sleep, durations: 1s}",
            "c.yaml:3:21: unknown field `durations` in op sleep (did you mean `duration`?); allowed: opcode, duration, durationParam",
        ),
        (
            "an unknown field in a strategy",
            "{opcode: createNodes, count: 1, uniqueNodeLabelStrategy: {key: a}}",
            "c.yaml:3:63: unknown field `key` in uniqueNodeLabelStrategy; allowed: labelKey",
        ),
        (
            "no count",
            "{opcode: createPods}",
            "c.yaml:3:5: op createPods has no `count`; write `count: 10`, or `countParam: $name`",
        ),
        (
            "a negative count",
            "{opcode: createPods, count: -1}",
            "c.yaml:3:33: `count: -1` of op createPods is not allowed; write 0 or more",
        ),
        (
            "a fraction",
            "{opcode: createPods, count: 1.5}",
            "c.yaml:3:33: `count` of op createPods is 1.5; write an integer",
        ),
        (
            "a param without a dollar",
            "{opcode: createPods, countParam: pods}",
            "c.yaml:3:38: `countParam: pods` of op createPods is not allowed; write `$` and the name of a parameter",
        ),
        (
            "metrics without waiting",
            "{opcode: createPods, count: 1, collectMetrics: true, skipWaitToCompletion: true}",
            "c.yaml:3:80: op createPods sets both `collectMetrics` and `skipWaitToCompletion`; metrics end when the pods are \
             scheduled, so wait for them, or use startCollectingMetrics",
        ),
        (
            "a steady state without waiting",
            "{opcode: createPods, count: 1, skipWaitToCompletion: true, steadyState: true}",
            "c.yaml:3:77: op createPods sets both `skipWaitToCompletion` and `steadyState`; keep one of them",
        ),
        (
            "a claim without a volume",
            "{opcode: createPods, count: 1, persistentVolumeClaimTemplatePath: p}",
            "c.yaml:3:5: op createPods has no `persistentVolumeTemplatePath`; volumes and claims come in pairs: set both paths or none",
        ),
        (
            "two strategies",
            "{opcode: createNodes, count: 1, uniqueNodeLabelStrategy: {labelKey: a}, labelNodePrepareStrategy: {labelKey: a, labelValues: [b]}}",
            "c.yaml:3:62: op createNodes sets both `labelNodePrepareStrategy` and `uniqueNodeLabelStrategy`; keep one strategy, or \
             write two createNodes ops",
        ),
        (
            "a strategy without values",
            "{opcode: createNodes, count: 1, labelNodePrepareStrategy: {labelKey: a}}",
            "c.yaml:3:63: labelNodePrepareStrategy has no `labelValues`; list at least one value",
        ),
        (
            "a duration without a unit",
            "{opcode: sleep, duration: 10}",
            "c.yaml:3:31: `duration` of op sleep is 10; write a Go duration such as \"500ms\", \"10s\" or \"1m30s\"",
        ),
        (
            "a sleep without a duration",
            "{opcode: sleep}",
            "c.yaml:3:5: op sleep has no `duration`; write `duration: 10s`, or `durationParam: $name`",
        ),
        (
            "an unknown stage",
            "{opcode: barrier, stageRequirement: Bound}",
            "c.yaml:3:41: `stageRequirement: Bound` of op barrier is not allowed; write Scheduled or Attempted",
        ),
        (
            "an unknown mode",
            "{opcode: churn, mode: shuffle, templatePaths: [a]}",
            "c.yaml:3:27: `mode: shuffle` of op churn is not allowed; write `create` or `recreate`",
        ),
        (
            "recreate without a number",
            "{opcode: churn, mode: recreate, templatePaths: [a]}",
            "c.yaml:3:5: op churn has no `number`; with `mode: recreate`, say after how many objects to delete",
        ),
        (
            "churn without templates",
            "{opcode: churn, mode: create}",
            "c.yaml:3:5: op churn has no `templatePaths`; list at least one file",
        ),
        (
            "createAny without a template",
            "{opcode: createAny}",
            "c.yaml:3:5: op createAny has no `templatePath`; name the file of the object",
        ),
        (
            "pod groups without a namespace",
            "{opcode: createPodGroups, templatePath: t, count: 1}",
            "c.yaml:3:5: op createPodGroups has no `namespace`; name the namespace of the groups",
        ),
        (
            "metrics without namespaces",
            "{opcode: startCollectingMetrics}",
            "c.yaml:3:5: op startCollectingMetrics has no `namespaces`; list the namespaces whose pods are counted",
        ),
        (
            "a profile outside the results",
            "{opcode: startCollectingProfile, type: CPU, filePath: ../f}",
            "c.yaml:3:59: `filePath: ../f` of op startCollectingProfile is not allowed; write a path below the \
             directory of the results, such as profiles/cpu.pb",
        ),
        (
            "a profile that is not of the CPU",
            "{opcode: startCollectingProfile, type: heap, filePath: f}",
            "c.yaml:3:44: `type: heap` of op startCollectingProfile is not allowed; only CPU can be profiled",
        ),
        (
            "pod sets of something else",
            "{opcode: createPodSets, count: 1, namespacePrefix: p, createPodsOp: {opcode: createNodes, count: 1}}",
            "c.yaml:3:82: `opcode: createNodes` of createPodsOp is not allowed; only createPods can stand here",
        ),
        (
            "a negative rate",
            "{opcode: deletePods, namespace: n, deletePodsPerSecond: -5}",
            "c.yaml:3:61: `deletePodsPerSecond: -5` of op deletePods is not allowed; write 0 or more",
        ),
    ];
    for (name, op, expected) in cases {
        assert_eq!(message(&case(&format!("  - {op}"))), expected, "case: {name}");
    }
}
