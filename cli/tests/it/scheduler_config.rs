//! KubeSchedulerConfiguration files from the command line to what the scheduler does.

use std::time::{Duration, Instant};

use crate::support::{Answer, Folder, NODES, PODS, command, config, schedlab_in};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// No node of a workload has this label, so no pod fits.
const NOWHERE: &str = "profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: no-such-label, operator: Exists}]
";

fn enabled(point: &str, plugins: &str) -> String {
    format!("{HEAD}profiles:\n- plugins:\n    {point}:\n      enabled: [{plugins}]\n")
}

#[test]
fn a_bad_configuration_ends_with_two_before_anything_runs() {
    let cases = [
        (
            "unknown plugin",
            enabled("filter", "{name: NoSuchPlugin}"),
            "scheduler.yaml:6:17: profile `default-scheduler`: there is no plugin `NoSuchPlugin`; known: DefaultBinder",
        ),
        (
            "wrong weight",
            enabled("score", "{name: NodeAffinity, weight: -2}"),
            "scheduler.yaml:6:46: `weight: -2` of profiles[0].plugins.score.enabled[0] is not allowed; write 1 or more",
        ),
        (
            "weight that is no number",
            enabled("score", "{name: NodeAffinity, weight: heavy}"),
            "scheduler.yaml:6:46: `weight` of profiles[0].plugins.score.enabled[0] is \"heavy\"; write an integer",
        ),
        (
            "the same plugin twice",
            enabled("multiPoint", "{name: NodeName}, {name: NodeName}"),
            "scheduler.yaml:6:35: profile `default-scheduler`: plugin `NodeName` is enabled twice at multiPoint; remove one",
        ),
        (
            "two queue sorts",
            enabled("queueSort", "{name: PrioritySort}, {name: OldestFirst}"),
            "scheduler.yaml:6:39: profile `default-scheduler`: exactly one queueSort plugin is needed, 2 are enabled \
             (PrioritySort, OldestFirst); disable all but one of them at queueSort",
        ),
        (
            "no queue sort",
            format!("{HEAD}profiles:\n- plugins:\n    queueSort:\n      disabled: [{{name: '*'}}]\n"),
            "scheduler.yaml:4:3: profile `default-scheduler`: exactly one queueSort plugin is needed, 0 are enabled; \
             enable PrioritySort",
        ),
        (
            "unsupported apiVersion",
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n".to_owned(),
            "scheduler.yaml:1:13: `apiVersion: kubescheduler.config.k8s.io/v1beta3` of KubeSchedulerConfiguration is \
             not allowed; kube-scheduler no longer reads it; write kubescheduler.config.k8s.io/v1",
        ),
        (
            "unknown field",
            format!("{HEAD}percentageOfNodeToScore: 5\n"),
            "scheduler.yaml:3:1: unknown field `percentageOfNodeToScore` in KubeSchedulerConfiguration (did you mean \
             `percentageOfNodesToScore`?)",
        ),
        (
            "two profiles of one name",
            format!("{HEAD}profiles:\n- schedulerName: a\n- schedulerName: a\n"),
            "scheduler.yaml:5:18: profile `a`: another profile has the same scheduler name; give this one another",
        ),
        ("malformed YAML", "apiVersion: [\n".to_owned(), "scheduler.yaml:1:13: not valid YAML"),
    ];
    for (name, text, message) in cases {
        let folder = Folder::new();
        let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
        folder.file("scheduler.yaml", text);
        let args = ["run", "--config", &file, "--scheduler-config", "scheduler.yaml"];
        let answer = schedlab_in(&folder, &args);
        assert_eq!(answer.code, 2, "case: {name}\n{}\n{}", answer.stdout, answer.stderr);
        assert!(answer.stderr.contains(message), "case: {name}: no {message:?} in\n{}", answer.stderr);
        assert!(!folder.path().join("schedlab-report").exists(), "case: {name}: nothing is written");
    }
}

#[test]
fn missing_scheduler_configuration_is_named() {
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--scheduler-config", "absent.yaml"])
        .ends_with(2)
        .complains("--scheduler-config: cannot read absent.yaml");
}

#[test]
fn scheduler_configuration_of_a_test_case_applies_to_its_pods() {
    let folder = Folder::new();
    let case = config(&format!("{NODES}{PODS}"))
        .replace("  workloadTemplate", "  schedulerConfigPath: scheduler.yaml\n  workloadTemplate");
    let file = folder.file("performance-config.yaml", case);
    folder.file("scheduler.yaml", format!("{HEAD}{NOWHERE}"));
    schedlab_in(&folder, &["run", "--config", &file]).ends_with(1).says(
        "6 pod(s) wait: 0/3 nodes are available: 3 node(s) didn't match scheduler-enforced node affinity.",
    );
    // The command line wins over the file.
    folder.file("other.yaml", HEAD);
    schedlab_in(&folder, &["run", "--config", &file, "--scheduler-config", "other.yaml"]).ends_with(0);
    // A bad one is found out as well.
    folder.file("scheduler.yaml", "apiVersion: v2\n");
    schedlab_in(&folder, &["run", "--config", &file])
        .ends_with(2)
        .complains("scheduler.yaml:1:13: `apiVersion: v2`");
}

#[test]
fn settings_of_the_file_reach_the_result_and_flags_win_over_them() {
    let folder = Folder::new();
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    folder.file("scheduler.yaml", format!("{HEAD}parallelism: 5\npercentageOfNodesToScore: 40\n"));
    let run = |more: &[&str]| {
        let mut args = vec!["run", "--config", &file, "--scheduler-config", "scheduler.yaml", "--json"];
        args.extend(more);
        schedlab_in(&folder, &args).ends_with(0)
    };
    run(&[]).says("\"parallelism\": 5").says("\"percentage_of_nodes_to_score\": 40");
    run(&["--parallelism", "3", "--percentage-of-nodes-to-score", "70"])
        .says("\"parallelism\": 3")
        .says("\"percentage_of_nodes_to_score\": 70");
}

/// Runs a workload that sleeps before it creates its pods, and changes the configuration meanwhile.
fn run_with_change(before: &str, after: &str) -> Answer {
    let folder = Folder::new();
    let sleep = "  - opcode: sleep\n    duration: 4s\n";
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{sleep}{PODS}")));
    folder.file("scheduler.yaml", format!("{HEAD}{before}"));
    let args = ["run", "--config", &file, "--scheduler-config", "scheduler.yaml"];
    let mut child = command(&args).current_dir(folder.path()).spawn().expect("the binary runs");
    // The report's folder is made before the workload starts.
    let start = Instant::now();
    while !folder.path().join("schedlab-report").exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "the run does not start");
        assert!(child.try_wait().expect("a child").is_none(), "the run ended early");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    folder.file("scheduler.yaml", format!("{HEAD}{after}"));
    Answer::of(child.wait_with_output().expect("the binary ends"))
}

#[test]
fn running_scheduler_reloads_changed_configuration() {
    run_with_change(NOWHERE, "profiles: [{schedulerName: default-scheduler}]\n")
        .ends_with(0)
        .complains("scheduler.yaml changed; the scheduler runs with it now");
    run_with_change("", NOWHERE)
        .ends_with(1)
        .complains("scheduler.yaml changed; the scheduler runs with it now")
        .says("didn't match scheduler-enforced node affinity");
}

#[test]
fn invalid_changed_configuration_is_refused_and_the_old_one_stays() {
    run_with_change("", "parallelism: none\n").ends_with(0).complains(
        "scheduler.yaml changed and was refused, the scheduler keeps what it has: scheduler.yaml:3:14: `parallelism`",
    );
    run_with_change("", "profiles:\n- plugins:\n    filter:\n      enabled: [{name: NoSuchPlugin}]\n")
        .ends_with(0)
        .complains("was refused, the scheduler keeps what it has: scheduler.yaml:6:17: profile `default-scheduler`: there is no plugin `NoSuchPlugin`");
}
