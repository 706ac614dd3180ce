//! Suites that are run in variants: the figures, and what is wrong with a file of variants.

use serde_json::Value;

use crate::support::{Folder, schedlab_in};

const WORKLOADS: &str = "- name: Plain
  workloadTemplate:
  - {opcode: createNodes, count: 10}
  - {opcode: createPods, count: 40, collectMetrics: true}
  workloads:
  - name: Small
";

fn folder(variants: &str) -> Folder {
    let folder = Folder::new();
    folder.file("suite/performance-config.yaml", WORKLOADS);
    folder.file("suite/variants.yaml", variants);
    folder
}

#[test]
fn nominated_node_name_always_doubles_the_calls_and_when_needed_adds_none() {
    let folder = folder(
        "- name: patch
  title: Extra PATCH
  rounds: 2
  metrics: [bindingCalls, patchCalls, throughput]
  axes:
  - name: calls
    values:
    - {name: sync}
    - {name: async, flags: '--feature-gates SchedulerAsyncAPICalls=true'}
  variants:
  - {name: never, testCase: Plain, workload: Small, flags: --nominated-node-name never}
  - {name: needed, testCase: Plain, workload: Small, flags: --nominated-node-name when-needed}
  - {name: always, testCase: Plain, workload: Small, flags: --nominated-node-name always}
",
    );
    schedlab_in(&folder, &["run", "--config", "suite", "--out", "out"])
        .ends_with(0)
        .says("Extra PATCH: 2 round(s), every variant twice in each")
        .says("1 figure(s) in ");
    let result: Value = serde_json::from_str(&folder.read("out/result.json")).expect("JSON");
    let rows = result["figures"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let calls = |metric: &str| row["values"][metric]["median"]["value"].as_f64().expect("a number");
        let wanted = if row["variant"] == "always" { 1.0 } else { 0.0 };
        assert_eq!((calls("binding_calls"), calls("patch_calls")), (1.0, wanted), "{row}");
        assert_eq!(row["runs"], 4);
    }
    let last = &rows[5]["values"]["throughput"]["ratio"];
    assert!(last["low"].as_f64().expect("a number") <= last["high"].as_f64().expect("a number"));
    let report = folder.read("out/report.html");
    assert!(report.contains("Extra PATCH") && report.contains("when"), "the figure is in the report");
}

#[test]
fn built_in_study_shows_nodes_evaluated_with_nominated_node_name() {
    let folder = Folder::new();
    let filter = "^nominated-node-first/Nomination.*/100Nodes$";
    schedlab_in(
        &folder,
        &["run", "--suite", "nominated", "--rounds", "1", "--filter", filter, "--out", "out"],
    )
    .ends_with(0)
    .says("Nominated node first");
    let result: Value = serde_json::from_str(&folder.read("out/result.json")).expect("JSON");
    let rows = result["figures"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 9, "three variants, three ways");
    for row in rows {
        let evaluated = row["values"]["evaluated"]["median"]["value"].as_f64().expect("a number");
        let wanted = if row["variant"] == "right" { 1.0..=1.0 } else { 99.0..=101.0 };
        assert!(wanted.contains(&evaluated), "{row}");
    }
}

#[test]
fn a_bad_study_ends_with_2_and_says_how_to_fix_it() {
    let cases = [
        ("- {name: x, variants: [{name: a}]}", "list at least two"),
        (
            "- {name: x, variants: [{name: a, testCase: Plain, workload: Big}, {name: b}]}",
            "names workload \"Plain/Big\", which the suite does not have",
        ),
        (
            "- {name: x, flags: --sed 1, variants: [{name: a, testCase: Plain, workload: Small}, {name: b}]}",
            "unexpected argument '--sed'",
        ),
    ];
    for (variants, wanted) in cases {
        let folder = folder(variants);
        schedlab_in(&folder, &["run", "--config", "suite"]).ends_with(2).complains(wanted);
    }
}

#[test]
fn a_bad_latency_or_rate_is_refused() {
    let folder = Folder::new();
    let cases = [
        (["--api-latency", "soon"], "\"soon\" is not a time with a unit"),
        (["--api-latency", "uniform:9ms..1ms"], "9ms is more than 1ms"),
        (["--api-qps", "0"], "must be a number above 0"),
    ];
    for (flags, wanted) in cases {
        schedlab_in(&folder, &["run", flags[0], flags[1]]).ends_with(2).complains(wanted);
    }
}
