use crate::support::{Folder, NODES, PODS, config, schedlab_in};

/// A descheduler whose policy has a slip.
const POLICY: &str = "{name: descheduler, config: {policy: {apiVersion: descheduler/v1alpha2, kind: \
                      DeschedulerPolicy, profiles: [{name: p, plugin: {}}]}}}";

/// Every case: what is wrong, the config file, what the message must say. Always exit code 2.
#[test]
fn bad_workload_files_are_refused_with_place_and_fix() {
    let good = config(&format!("{NODES}{PODS}"));
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("malformed YAML", "- name: [oops\n".to_owned(), vec!["performance-config.yaml:"]),
        (
            "unknown field",
            good.replace("countParam: $nodes", "countParams: $nodes"),
            vec!["countParams", "countParam"],
        ),
        (
            "unknown controller",
            good.replace(
                "  workloadTemplate:",
                "  controllers: [node-lifecycle-contoller]\n  workloadTemplate:",
            ),
            vec!["performance-config.yaml:", "did you mean `node-lifecycle-controller`?"],
        ),
        (
            "no schedulers",
            good.replace("  workloadTemplate:", "  schedulers: 0\n  workloadTemplate:"),
            vec!["performance-config.yaml:2:", "`schedulers: 0`", "from 1 to 64"],
        ),
        (
            "negative rate of an op",
            good.replace(
                "  workloads:",
                "  - {opcode: evict, namespace: a, podsPerSecond: -1}\n  workloads:",
            ),
            vec!["performance-config.yaml:", "podsPerSecond", "-1"],
        ),
        (
            "unknown field in a policy",
            good.replace("  workloadTemplate:", &format!("  controllers: [{POLICY}]\n  workloadTemplate:")),
            vec!["performance-config.yaml:2:", "`policy.profiles[0]` has an unknown field `plugin`"],
        ),
        ("unknown opcode", good.replace("createNodes", "makeNodes"), vec!["makeNodes", "createNodes"]),
        (
            "missing template",
            good.replace("collectMetrics: true", "collectMetrics: true\n    podTemplatePath: no.yaml"),
            vec!["no.yaml"],
        ),
        ("missing param", good.replace("nodes: 3, ", ""), vec!["nodes"]),
        ("unused param", good.replace("nodes: 3", "nodes: 3, other: 1"), vec!["other"]),
        ("negative count", good.replace("pods: 6", "pods: -1"), vec!["-1"]),
        ("a billion pods", good.replace("pods: 6", "pods: 1000000000"), vec!["1000000000"]),
    ];
    for (name, text, expected) in cases {
        let folder = Folder::new();
        let file = folder.file("performance-config.yaml", text);
        let answer = schedlab_in(&folder, &["run", "--config", &file]);
        assert_eq!(answer.code, 2, "case: {name}\n{}\n{}", answer.stdout, answer.stderr);
        for part in expected {
            assert!(answer.stderr.contains(part), "case: {name}: no {part:?} in {}", answer.stderr);
        }
    }
}

#[test]
fn a_template_that_does_not_evaluate_names_its_file() {
    let folder = Folder::new();
    folder.file("pod.yaml", "kind: Pod\nmetadata: {name: \"{{ .Index | nope }}\"}\n");
    let file = folder
        .file("performance-config.yaml", config(&format!("{NODES}{PODS}    podTemplatePath: pod.yaml\n")));
    schedlab_in(&folder, &["run", "--config", &file]).ends_with(2).complains("pod.yaml").complains("nope");
}

#[test]
fn a_bad_quantity_names_the_field_and_the_value() {
    let folder = Folder::new();
    folder.file(
        "pod.yaml",
        "kind: Pod\nmetadata: {generateName: p-}\nspec:\n  containers:\n  - {name: c, image: i, resources: {requests: {cpu: 1x0m}}}\n",
    );
    let file = folder
        .file("performance-config.yaml", config(&format!("{NODES}{PODS}    podTemplatePath: pod.yaml\n")));
    schedlab_in(&folder, &["run", "--config", &file])
        .ends_with(2)
        .complains("Case/small: op 1 (createPods)")
        .complains("cpu")
        .complains("1x0m");
}

#[test]
fn a_bad_quantity_in_a_quota_names_the_field_and_the_value() {
    let folder = Folder::new();
    folder.file(
        "quota.yaml",
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: 1x0}}\n",
    );
    let quota = "  - {opcode: createAny, namespace: a, templatePath: quota.yaml}\n";
    let file = folder.file("performance-config.yaml", config(&format!("{quota}{NODES}{PODS}")));
    schedlab_in(&folder, &["run", "--config", &file])
        .ends_with(2)
        .complains("Case/small: op 0 (createAny)")
        .complains("spec.hard[pods]")
        .complains("1x0");
}

#[test]
fn a_policy_file_with_an_unknown_field_is_named_with_its_place() {
    let folder = Folder::new();
    folder.file(
        "policy.yaml",
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n  pluginConfig:\n  - \
         name: PodLifeTime\n    args: {maxPodLifeTimeSeconds: 9, tresholds: 1}\n  plugins: {deschedule: {enabled: \
         [PodLifeTime]}}\n",
    );
    let controllers =
        "  controllers: [{name: descheduler, config: {policyPath: policy.yaml}}]\n  workloadTemplate:";
    let text = config(&format!("{NODES}{PODS}")).replace("  workloadTemplate:", controllers);
    let file = folder.file("performance-config.yaml", text);
    schedlab_in(&folder, &["run", "--config", &file])
        .ends_with(2)
        .complains(
            "performance-config.yaml:1: test case Case: controller descheduler: policyPath `policy.yaml`",
        )
        .complains("`policy.profiles[0].pluginConfig[0].args` has an unknown field `tresholds`");
}

#[test]
fn unwritable_output_folder_is_reported_before_the_run() {
    let folder = Folder::new();
    let file = folder.file("in-the-way", "");
    schedlab_in(&folder, &["run", "--labels", "short", "--out", &format!("{file}/out")])
        .ends_with(2)
        .complains("cannot write to")
        .complains("--out");
}

#[test]
fn wrong_arguments_end_with_two() {
    let folder = Folder::new();
    schedlab_in(&folder, &["run", "--filter", "["]).ends_with(2).complains("[");
    schedlab_in(&folder, &["run", "--filter", "^Nothing$"]).ends_with(2).complains("no workload matches");
    schedlab_in(&folder, &["run", "--suite", "none"]).ends_with(2).complains("quick");
    schedlab_in(&folder, &["run", "--config", "absent"]).ends_with(2).complains("absent");
    schedlab_in(&folder, &["run", "--threads", "0"]).ends_with(2);
    schedlab_in(&folder, &["run", "--feature-gates", "A"]).ends_with(2).complains("A=true");
    schedlab_in(&folder, &["run", "--controllers", "taint-evicton-controller"])
        .ends_with(2)
        .complains("taint-evicton-controller")
        .complains("did you mean `taint-eviction-controller`?");
    schedlab_in(&folder, &["replay"]).ends_with(2);
    schedlab_in(&folder, &["walk"]).ends_with(2).complains("walk");
}

#[test]
fn simulate_refuses_unknown_seeds_and_events() {
    let cases: [(&[&str], &str); 5] = [
        (&["--seed", "3", "--faults", "api", "--events", "99999"], "--events 99999: there is no event 99999"),
        (&["--seed", "3", "--events", "0,9..3"], "the range 9..3 ends before it begins; write 3..9"),
        (&["--seed", "3", "--events", "x"], "`x` is no event"),
        (&["--seed", "18446744073709551615"], "--seed 18446744073709551615 is beyond the last seed"),
        (&["--seeds", "9..3"], "--seeds 9..3 has no seed"),
    ];
    for (args, message) in cases {
        let args: Vec<&str> = ["simulate"].iter().chain(args).copied().collect();
        schedlab_in(&Folder::new(), &args).ends_with(2).complains(message);
    }
}
