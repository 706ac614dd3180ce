//! What is printed and written arrives, or the exit code says that it did not.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Answer, Folder, NODES, PODS, command, config, schedlab_in};

/// Runs the binary with its standard output on a full disk.
fn on_a_full_disk(folder: &Folder, args: &[&str]) -> Answer {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    Answer::of(command(args).current_dir(folder.path()).stdout(full).output().expect("the binary runs"))
}

#[test]
fn every_command_fails_when_standard_output_is_full() {
    let folder = Folder::new();
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    schedlab_in(&folder, &["run", "--config", &file, "--repeat", "2", "--out", "base"]).ends_with(0);
    let trace = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay/tests/conformance"))
        .expect("traces are part of the project")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .expect("a trace");
    let trace = trace.display().to_string();
    let cases: [&[&str]; 13] = [
        &["--help"],
        &["--version"],
        &["run", "--help"],
        &["run", "--config", &file, "--repeat", "1", "--out", "out"],
        &["run", "--config", &file, "--repeat", "1", "--json", "--out", "out"],
        &["list", "--config", &file],
        &["explain", "--config", &file, "--output", "json"],
        &["simulate", "--seeds", "0..2"],
        &["simulate", "--seeds", "0..2", "--json"],
        &["replay", &trace],
        &["compare", "base", "base", "--json"],
        &["alerts", "--output", "json"],
        &["record", "base"],
    ];
    for args in cases {
        on_a_full_disk(&folder, args)
            .ends_with(2)
            .complains("schedlab: standard output: No space left on device (os error 28)");
        // The same command with a disk that has room.
        schedlab_in(&folder, args).ends_with(0);
    }
}

#[test]
fn reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    let mut child = command(&["list"]).current_dir(folder.path()).spawn().expect("the binary runs");
    drop(child.stdout.take());
    Answer::of(child.wait_with_output().expect("it ends")).ends_with(0);
}

/// The folder that standard error says the result is kept in.
fn kept_in(answer: &Answer) -> Kept {
    let marker = "what was measured is kept in ";
    let rest = answer.stderr.split(marker).nth(1).unwrap_or_else(|| panic!("{}", answer.stderr));
    Kept(rest.split(": ").next().expect("a folder").to_owned())
}

struct Kept(String);

impl Kept {
    fn result(&self) -> serde_json::Value {
        let text = std::fs::read_to_string(format!("{}/result.json", self.0)).expect("a result");
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn json_result_that_standard_output_did_not_take_is_kept() {
    let folder = Folder::new();
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    let args = ["run", "--config", &file, "--repeat", "1", "--json"];
    let answer = on_a_full_disk(&folder, &args).ends_with(2);
    assert_eq!(kept_in(&answer).result()["workloads"][0]["pods"]["scheduled"], 6);
}

#[test]
fn output_folder_that_is_gone_at_the_end_costs_nothing_measured() {
    let folder = Folder::new();
    let ops = format!("{NODES}{PODS}  - opcode: sleep\n    duration: 1500ms\n");
    let file = folder.file("performance-config.yaml", config(&ops));
    let out = folder.path().join("out");
    let mut command = command(&["run", "--config", &file, "--out", "out", "--repeat", "1"]);
    let child = command.current_dir(folder.path()).spawn().expect("the binary runs");
    let end = Instant::now() + Duration::from_secs(60);
    while !out.is_dir() {
        assert!(Instant::now() < end, "the folder was not made within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    // A file in the folder's place stops the superuser too.
    std::fs::remove_dir_all(&out).expect("it is ours");
    std::fs::write(&out, "in the way").expect("it is ours");
    let answer = Answer::of(child.wait_with_output().expect("it ends"))
        .ends_with(2)
        .says("Case/small")
        .says("6/6")
        .complains(": out: cannot create the directory: File exists");
    let kept = kept_in(&answer);
    assert_eq!(kept.result()["workloads"][0]["pods"]["scheduled"], 6);
    assert!(answer.stdout.contains(&format!("Report: {}/report.html", kept.0)), "{}", answer.stdout);
}

#[test]
fn stuck_workload_with_json_says_why_on_standard_error() {
    let folder = Folder::new();
    let huge = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: huge-}\nspec:\n  containers:\n  - {name: c, \
                image: i, resources: {requests: {cpu: \"1000\"}}}\n";
    folder.file("huge.yaml", huge);
    let ops = format!(
        "{NODES}  - opcode: createPods\n    countParam: $pods\n    podTemplatePath: huge.yaml\n    collectMetrics: true\n"
    );
    let file = folder.file("performance-config.yaml", config(&ops));
    let answer = schedlab_in(&folder, &["run", "--config", &file, "--repeat", "1", "--json"])
        .ends_with(1)
        .complains("schedlab: Case/small is stuck: 6 of 6 pods")
        .complains("Insufficient cpu");
    let result: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    assert_eq!(result["workloads"][0]["status"], "stuck");
}

#[test]
fn comparison_with_a_missing_workload_or_a_partial_head_is_not_unchanged() {
    let folder = Folder::new();
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    let run = ["run", "--config", &file, "--repeat", "3", "--json", "--no-history"];
    let whole: serde_json::Value =
        serde_json::from_str(&schedlab_in(&folder, &run).ends_with(0).stdout).expect("JSON");
    folder.file("whole/result.json", whole.to_string());
    let mut more = whole.clone();
    let mut second = whole["workloads"][0].clone();
    second["name"] = "Case/second".into();
    more["workloads"].as_array_mut().expect("a list").push(second);
    folder.file("more/result.json", more.to_string());
    let mut partial = whole.clone();
    partial["partial"] = true.into();
    folder.file("partial/result.json", partial.to_string());
    let mut nodes = whole.clone();
    nodes["workloads"][0]["nodes"] = 4.into();
    folder.file("nodes/result.json", nodes.to_string());
    let cases = [
        ("more", "whole", "1 workload(s) are on one side only"),
        ("whole", "partial", "1 run(s) of head were interrupted"),
        ("partial", "partial", "1 run(s) of head were interrupted"),
        ("whole", "nodes", "3 nodes in one run and 4 in another"),
    ];
    for (base, head, why) in cases {
        let args = ["compare", base, head, "--json"];
        let answer = schedlab_in(&folder, &args).ends_with(4).says("\"verdict\": \"inconclusive\"").says(why);
        let document: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
        assert_eq!(document["verdict"], "inconclusive", "{base} against {head}");
    }
    schedlab_in(&folder, &["compare", "whole", "whole"]).ends_with(0).says("verdict: unchanged");
}
