//! Every run remembers, and says what changed.

use crate::support::{Answer, Folder, schedlab_in};

const SMALL: &str = "^PlainPods/10Nodes";

fn run(folder: &Folder, more: &[&str]) -> Answer {
    let mut args = vec!["run", "--filter", SMALL, "--repeat", "6"];
    args.extend(more);
    schedlab_in(folder, &args)
}

fn change(folder: &Folder) -> serde_json::Value {
    let result: serde_json::Value =
        serde_json::from_str(&folder.read("schedlab-report/result.json")).expect("JSON");
    result["workloads"][0]["change"].clone()
}

#[test]
fn second_run_says_what_changed_since_the_first() {
    let folder = Folder::new();
    run(&folder, &[])
        .ends_with(0)
        .says("No verdict since the last run of PlainPods/10Nodes_50Pods: no earlier run of this workload")
        .complains("in schedlab-history");
    assert_eq!(change(&folder)["last"]["outcome"], "not_comparable");
    run(&folder, &[]).ends_with(0).says("change").says("95 % interval");
    let last = &change(&folder)["last"];
    assert_eq!((&last["outcome"], &last["base_samples"]), (&"compared".into(), &6.into()));
    let word = last["verdict"].as_str().expect("a word");
    assert!(["better", "worse", "unchanged", "inconclusive"].contains(&word), "{word}");
    assert!(last["ratio"]["low"].as_f64() <= last["ratio"]["value"].as_f64(), "{last}");
    assert!(folder.read("schedlab-report/report.html").contains("Since the last run with these settings"));
    run(&folder, &["--class-cache", "off"])
        .ends_with(0)
        .says("no earlier run with these settings; the last one")
        .says("differs in class cache (off now, on then)");
    run(&folder, &["--class-cache", "off", "--known-gaps", "upstream"])
        .ends_with(0)
        .says("no earlier run with these settings; the last one")
        .says("differs in known gaps");
    schedlab_in(&folder, &["site"]).ends_with(0).says("of 4 run(s) and 1 workload(s)");
}

#[test]
fn baselines_are_saved_and_found_by_name() {
    let folder = Folder::new();
    run(&folder, &["--baseline", "main"]).ends_with(2).complains(
        "--baseline, in schedlab-history: no run of the history is called \"main\"; none has a name: `schedlab run \
         --save-baseline NAME` gives one",
    );
    run(&folder, &["--save-baseline", "main"]).ends_with(0);
    schedlab_in(&folder, &["record", "--label", "first"]).ends_with(0);
    run(&folder, &["--baseline", "mian"]).ends_with(2).complains("known are first");
    run(&folder, &["--baseline", "first"]).ends_with(0).says("vs baseline");
    assert_eq!(change(&folder)["baseline"]["against"]["label"], "first");
    run(&folder, &["--save-baseline", "\u{1b}[31m"]).ends_with(2).complains("no control characters");
}

#[test]
fn no_history_flag_records_nothing() {
    let folder = Folder::new();
    run(&folder, &["--no-history"]).ends_with(0);
    run(&folder, &["--json"]).ends_with(0);
    assert!(!folder.path().join("schedlab-history").exists());
    assert!(change(&folder).is_null());
    let answer = run(&folder, &["--json", "--history", "h"]).ends_with(0);
    serde_json::from_str::<serde_json::Value>(&answer.stdout).expect("stdout is one JSON document");
    assert!(folder.path().join("h/history.slh").exists());
}

#[test]
fn history_that_cannot_be_used_is_a_warning() {
    let folder = Folder::new();
    folder.file("schedlab-history", "a file where the directory should be");
    run(&folder, &[]).ends_with(0).says("PlainPods/10Nodes_50Pods").complains("the run is not recorded");
    folder.file("h/history.slh", "not a history at all, but long enough");
    run(&folder, &["--history", "h"]).ends_with(0).complains("not a schedlab history");
    assert_eq!(folder.read("h/history.slh"), "not a history at all, but long enough");
}

/// A history of one workload with these rates, a run a day.
fn planted(folder: &Folder, rates: &[f64]) {
    let args = ["run", "--filter", SMALL, "--repeat", "1", "--no-history"];
    schedlab_in(folder, &args).ends_with(0);
    let text = folder.read("schedlab-report/result.json");
    let mut result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (day, rate) in rates.iter().enumerate() {
        result["started_at"] = format!("2026-10-{:02}T12:00:00Z", day + 1).into();
        let workload = &mut result["workloads"][0];
        workload["throughput"]["total"] = (*rate).into();
        workload["normalised"] = serde_json::Value::Null;
        folder.file("day/result.json", result.to_string());
        schedlab_in(folder, &["record", "day"]).ends_with(0);
    }
}

#[test]
fn planted_regression_ends_alerts_with_three() {
    let folder = Folder::new();
    schedlab_in(&folder, &["alerts"]).ends_with(2).complains("schedlab-history/history.slh");
    let jitter = |at: usize| 1000.0 + (at * 37 % 11) as f64;
    let rates: Vec<f64> = (0..20).map(|at| if at < 14 { jitter(at) } else { jitter(at) * 0.8 }).collect();
    planted(&folder, &rates);
    schedlab_in(&folder, &["alerts"])
        .ends_with(3)
        .says("worse, open")
        .says("2026-10-15 12:00 UTC")
        .says("20 run(s), 1 series looked at: 1 open regression");
    let markdown = schedlab_in(&folder, &["alerts", "--output", "markdown"]).ends_with(3);
    assert!(markdown.stdout.starts_with("### 1 regression open\n"), "{}", markdown.stdout);
    let answer = schedlab_in(&folder, &["alerts", "--output", "json"]).ends_with(3);
    let document: serde_json::Value = serde_json::from_str(&answer.stdout).expect("one document");
    assert_eq!((&document["schema"], &document["open"]), (&"schedlab-alerts/v1".into(), &1.into()));
    assert_eq!(document["alerts"][0]["first"]["started_at"], "2026-10-15T12:00:00Z");
    schedlab_in(&folder, &["alerts", "--since", "2026-10-16"]).ends_with(0).says("no open regression");
    schedlab_in(&folder, &["alerts", "--workload", "^Other/"]).ends_with(0);
    schedlab_in(&folder, &["alerts", "--since", "yesterday"]).ends_with(2).complains("2026-11-15");
    schedlab_in(&folder, &["alerts", "--filter", "("]).ends_with(2).complains("--filter");
    schedlab_in(&folder, &["site"]).ends_with(0);
    assert!(folder.read("schedlab-site/index.html").contains("Change points"));
}
