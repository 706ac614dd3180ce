//! kube-scheduler's metrics of whole runs: durations with their stages, labels, and what is counted.

use std::path::Path;
use std::sync::Arc;

use schedlab_workloads::executor::Collected;
use schedlab_workloads::metrics::{HistogramSummary, Key, Kind, MetricValues, Value};
use schedlab_workloads::resolve::{Selection, Suite};
use schedlab_workloads::source::EmbeddedSource;

use crate::support::{SETTINGS, run};

const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: 'node-{{.Index}}'}\nstatus:\n  capacity: {cpu: '4', memory: 32Gi, pods: '110'}\n";
const SCHEDULER: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: attaching
  plugins: {multiPoint: {enabled: [{name: LabPreBindWork}]}}
  pluginConfig: [{name: LabPreBindWork, args: {waitMilliseconds: 10}}]
";

fn pod_template(scheduler: &str, cpu: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{generateName: p-, labels: {{schedlab.dev/pre-bind: 'yes'}}}}\nspec:\n  schedulerName: {scheduler}\n  containers: [{{name: a, image: i, resources: {{requests: {{cpu: '{cpu}'}}}}}}]\n"
    )
}

/// The measured part of a test case with these ops and nodes of four CPUs.
fn measured(ops: &str) -> Collected {
    let config = format!(
        "- name: Case\n  schedulerConfigPath: scheduler.yaml\n  workloadTemplate:\n  - {{opcode: createNodes, count: 10, nodeTemplatePath: node.yaml}}\n{ops}  workloads:\n  - name: W\n"
    );
    let files: Vec<(&'static str, &'static str)> = vec![
        ("s/performance-config.yaml", config.leak()),
        ("s/scheduler.yaml", SCHEDULER),
        ("s/node.yaml", NODE),
        ("s/plain.yaml", pod_template("default-scheduler", "10m").leak()),
        ("s/attaching.yaml", pod_template("attaching", "10m").leak()),
        ("s/large.yaml", pod_template("attaching", "100").leak()),
    ];
    let source = EmbeddedSource { files: files.leak() };
    let suite = Suite::load(Arc::new(source), Path::new("s")).unwrap_or_else(|error| panic!("{error}"));
    let [workload] =
        suite.resolve(&Selection::all()).unwrap_or_else(|error| panic!("{error}")).try_into().expect("one");
    let mut outcome = run(&workload, SETTINGS).unwrap_or_else(|error| panic!("{error}"));
    outcome.collected.remove(0)
}

fn value<'a>(series: &'a MetricValues, name: &'a str, labels: &[(&str, &str)]) -> Option<&'a Value> {
    let has = |key: &Key| labels.iter().all(|&(label, value)| key.value(label) == Some(value));
    series.of(name).find(|(key, _)| has(key)).map(|(_, value)| value)
}

fn count(series: &MetricValues, name: &str, labels: &[(&str, &str)]) -> u64 {
    match value(series, name, labels) {
        Some(Value::Count(count) | Value::Level(count)) => *count,
        other => panic!("{name} {labels:?}: {other:?}"),
    }
}

fn summary(series: &MetricValues, name: &str, labels: &[(&str, &str)]) -> HistogramSummary {
    let has = |key: &Key| labels.iter().all(|&(label, value)| key.value(label) == Some(value));
    let found = series.of(name).find(|(key, _)| has(key));
    let Some((key, Value::Spread(spread))) = found else { panic!("no {name} {labels:?} in {series:?}") };
    let Kind::Histogram(buckets) = key.metric.kind else { panic!("{name} is no histogram") };
    spread.summary(buckets).expect("values")
}

const ATTEMPT: &str = "scheduler_scheduling_attempt_duration_seconds";
const POINT: &str = "scheduler_framework_extension_point_duration_seconds";
const PLUGIN: &str = "scheduler_plugin_execution_duration_seconds";
const SLI: &str = "scheduler_pod_scheduling_sli_duration_seconds";
const ATTEMPTS: &str = "scheduler_schedule_attempts_total";

#[test]
fn attempt_duration_covers_pre_bind_and_is_labelled_with_the_pods_profile() {
    let part = measured(
        "  - {opcode: createPods, count: 40, podTemplatePath: attaching.yaml, collectMetrics: true}\n",
    );
    let series = &part.readings.series;
    let attaching = ("profile", "attaching");
    let attempt = summary(series, ATTEMPT, &[("result", "scheduled"), attaching]);
    assert_eq!(attempt.count, 40);
    assert!(0.0099 <= attempt.p50, "10 ms of PreBind are part of the attempt: {attempt:?}");
    let end_to_end = summary(series, SLI, &[("attempts", "1")]);
    assert!(attempt.mean <= end_to_end.mean * 1.02, "{attempt:?} {end_to_end:?}");
    let pre_bind =
        summary(series, POINT, &[("extension_point", "PreBind"), ("status", "Success"), attaching]);
    assert!(0.0099 <= pre_bind.p50 && pre_bind.p50 <= attempt.p50 * 1.02, "{pre_bind:?} {attempt:?}");
    let plugin = summary(series, PLUGIN, &[("plugin", "LabPreBindWork"), ("extension_point", "PreBind")]);
    assert_eq!((pre_bind.count, plugin.count), (40, 40));
    let bind = summary(series, POINT, &[("extension_point", "Bind"), attaching]);
    assert!(bind.p99 < 0.0099, "the call itself takes no time: {bind:?}");
    assert!(value(series, ATTEMPT, &[("profile", "default-scheduler")]).is_none(), "it had no pods");
    assert_eq!(count(series, ATTEMPTS, &[("result", "scheduled"), attaching]), 40);
    for point in ["Reserve", "Permit", "PostBind"] {
        let labels = [("extension_point", point)];
        assert!(value(series, POINT, &labels).is_none(), "{point} has no plugins and is left out");
    }
}

#[test]
fn plain_pods_of_the_other_profile_have_its_label() {
    let part =
        measured("  - {opcode: createPods, count: 300, podTemplatePath: plain.yaml, collectMetrics: true}\n");
    let series = &part.readings.series;
    let plain = ("profile", "default-scheduler");
    let attempt = summary(series, ATTEMPT, &[("result", "scheduled"), plain]);
    assert_eq!((attempt.count, count(series, ATTEMPTS, &[("result", "scheduled"), plain])), (300, 300));
    assert_eq!(summary(series, SLI, &[("attempts", "1")]).count, 300, "every pod");
    let filter = summary(series, POINT, &[("extension_point", "Filter"), plain]);
    assert!(0 < filter.count, "{filter:?}");
    let evaluated = |plugin, point| {
        count(
            series,
            "scheduler_plugin_evaluation_total",
            &[("plugin", plugin), ("extension_point", point), plain],
        )
    };
    assert_eq!(evaluated("NodeResourcesFit", "Filter"), 300);
    assert_eq!(count(series, "scheduler_cache_size", &[("type", "nodes")]), 10);
    let incoming = [("queue", "active"), ("event", "UnscheduledPodAdd")];
    assert_eq!(count(series, "scheduler_queue_incoming_pods_total", &incoming), 300);
    assert_eq!(count(series, "scheduler_queue_incoming_entities_total", &incoming), 300);
    let calls = [("call_type", "pod_binding"), ("result", "success")];
    assert_eq!(count(series, "scheduler_async_api_call_execution_total", &calls), 300);
    assert_eq!(summary(series, "scheduler_async_api_call_execution_duration_seconds", &calls).count, 300);
}

#[test]
fn unschedulable_pods_are_counted_by_plugin_and_profile() {
    let part = measured(
        "  - {opcode: startCollectingMetrics, namespaces: [waiting]}
  - {opcode: createPods, count: 5, podTemplatePath: large.yaml, namespace: waiting, skipWaitToCompletion: true}
  - {opcode: barrier, stageRequirement: Attempted}
  - {opcode: stopCollectingMetrics}\n",
    );
    let series = &part.readings.series;
    let attaching = ("profile", "attaching");
    let rejected = [("plugin", "NodeResourcesFit"), attaching];
    assert_eq!(count(series, "scheduler_unschedulable_pods", &rejected), 5);
    assert!(5 <= count(series, ATTEMPTS, &[("result", "unschedulable"), attaching]));
    let attempt = summary(series, ATTEMPT, &[("result", "unschedulable"), attaching]);
    let asked = summary(series, POINT, &[("extension_point", "PostFilter"), ("status", "Unschedulable")]);
    let plugin =
        summary(series, PLUGIN, &[("plugin", "DefaultPreemption"), ("extension_point", "PostFilter")]);
    assert!(5 <= attempt.count && 5 <= asked.count && asked.count == plugin.count, "{attempt:?} {asked:?}");
    assert!(asked.mean <= attempt.mean, "PostFilter is part of the attempt: {asked:?} {attempt:?}");
    assert!(5 <= count(series, "scheduler_preemption_attempts_total", &[]));
    let patches = [("call_type", "pod_status_patch"), ("result", "success")];
    assert_eq!(
        summary(series, "scheduler_async_api_call_execution_duration_seconds", &patches).count,
        count(series, "scheduler_async_api_call_execution_total", &patches)
    );
}
