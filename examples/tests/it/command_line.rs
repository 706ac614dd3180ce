//! A user's own `main`: the whole command line, with the gang plugin in it.

use std::path::Path;
use std::process::{Command, Output};

const SCHEDULER: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: Gang
  pluginConfig:
  - name: Gang
    args: {timeoutSeconds: 1}
";

/// Two gangs of four, each of whose pods takes a node, and six nodes: one gang runs, the other does not.
const WORKLOAD: &str = "- name: Gangs
  schedulerConfigPath: scheduler.yaml
  workloadTemplate:
  - {opcode: createNodes, count: 6}
  - {opcode: createPods, count: 4, namespace: first, podTemplatePath: pod.yaml, collectMetrics: true}
  - {opcode: createPods, count: 4, namespace: second, podTemplatePath: pod.yaml, skipWaitToCompletion: true}
  - {opcode: sleep, duration: 500ms}
  workloads:
  - name: Two
    labels: [performance]
";

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  generateName: member-
  labels: {example.com/gang: g, example.com/gang-size: '4'}
spec:
  containers: [{name: c, image: i, resources: {requests: {cpu: '3'}}}]
";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_schedlab-with-plugins"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the program is built beside this test")
}

#[test]
fn gang_plugin_of_a_users_own_main_decides_in_a_workload() {
    let folder = std::env::temp_dir().join(format!("schedlab-with-plugins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    for (name, text) in
        [("scheduler.yaml", SCHEDULER), ("performance-config.yaml", WORKLOAD), ("pod.yaml", POD)]
    {
        std::fs::write(folder.join(name), text).expect("a file of our own");
    }
    let output = run(&folder, &["run", "--config", ".", "--time", "virtual", "--placements", "placed.jsonl"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let placed = std::fs::read_to_string(folder.join("placed.jsonl")).expect("it was written");
    let bound = |namespace: &str| {
        let of = format!("\"pod\":\"{namespace}/");
        placed.lines().filter(|line| line.contains(&of) && !line.contains("\"node\":null")).count()
    };
    assert_eq!((bound("first"), bound("second")), (4, 0), "half a gang holds no node:\n{placed}");
    let unknown = run(&folder, &["run", "--config", ".", "--scheduler-config", "pod.yaml"]);
    assert_eq!(unknown.status.code(), Some(2));
    std::fs::remove_dir_all(&folder).expect("our own folder");
}
