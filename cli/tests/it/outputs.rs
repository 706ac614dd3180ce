//! What is printed and written arrives, or the exit code says that it did not.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::gate::kernels;
use crate::support::{Answer, Folder, NODES, PODS, command, config, schedlab_in};

/// Runs the binary with its standard output on a full disk.
fn on_a_full_disk(folder: &Folder, args: &[&str]) -> Answer {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    Answer::of(command(args).current_dir(folder.path()).stdout(full).output().expect("the binary runs"))
}

/// The commands there are, as clap lists them: one that is added later is among them.
fn commands(folder: &Folder) -> Vec<String> {
    let help = schedlab_in(folder, &["--help"]).ends_with(0).stdout;
    let listed = help.split("Commands:\n").nth(1).expect("a list of commands");
    let is_first = |line: &&str| line.strip_prefix("  ").is_some_and(|rest| !rest.starts_with(' '));
    let names = listed.lines().take_while(|line| !line.is_empty()).filter(is_first);
    names.map(|line| line.split_whitespace().next().expect("a name").to_owned()).collect()
}

/// How a command that writes to standard output is called, and what it ends with where there is room.
struct Call<'a> {
    args: Vec<&'a str>,
    /// `None`: it goes on until it is stopped.
    ends_with: Option<i32>,
}

fn call<'a>(args: &[&'a str], ends_with: i32) -> Call<'a> {
    Call { args: args.to_vec(), ends_with: Some(ends_with) }
}

#[test]
fn every_command_fails_when_standard_output_is_full() {
    let folder = Folder::new();
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    schedlab_in(&folder, &["run", "--config", &file, "--repeat", "2", "--out", "base"]).ends_with(0);
    for shard in ["0/2", "1/2"] {
        let args = ["simulate", "--seeds", "0..256", "--shard", shard, "--out", "seeds"];
        schedlab_in(&folder, &args).ends_with(0);
    }
    let kernels = kernels(&folder, "kernels", 1000, 7, "k");
    let trace = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay/tests/conformance"))
        .expect("traces are part of the project")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .expect("a trace");
    let trace = trace.display().to_string();
    folder.file("before.folded", "main;step 90\nmain;bind 10\n");
    folder.file("after.folded", "main;step 80\nmain;bind 20\n");
    let quick = ["--measure", "wall-clock", "--quartets", "3", "--sessions", "8", "--seconds", "3600"];
    let gate = [&["gate", "--base-kernels", &kernels, "--head-kernels", &kernels][..], &quick].concat();
    let bench = [&["bench", "--kernels", &kernels][..], &quick].concat();
    let serve = ["serve", "--history", "schedlab-history", "--listen", "127.0.0.1:0"];
    let ab =
        ["ab", "--config", &file, "--variant", "a:", "--variant", "b:", "--rounds", "1", "--warm-up", "0"];
    let calls = [
        call(&["--help"], 0),
        call(&["--version"], 0),
        call(&["help"], 0),
        call(&["run", "--help"], 0),
        call(&["run", "--config", &file, "--repeat", "1", "--out", "out"], 0),
        call(&["run", "--config", &file, "--repeat", "1", "--json", "--out", "out"], 0),
        call(&["list", "--config", &file], 0),
        call(&["experiment", "list"], 0),
        call(&["suite-table", "--config", &file], 0),
        call(&["explain", "--config", &file, "--output", "json"], 0),
        call(&["simulate", "--seeds", "0..2"], 0),
        call(&["simulate", "--seeds", "0..2", "--json"], 0),
        // So few events only fill the store: it grows, and that is said.
        call(&["simulate", "--soak", "10000"], 1),
        call(&["replay", &trace], 0),
        call(&["compare", "base", "base", "--json"], 0),
        // One round decides nothing.
        call(&ab, 4),
        call(&["merge", "seeds", "--out", "merged"], 0),
        call(&["alerts", "--output", "json"], 0),
        call(&["record", "base"], 0),
        call(&bench, 0),
        call(&gate, 0),
        call(&["profile", "--diff", "before.folded", "after.folded", "--out", "change"], 0),
        Call { args: serve.to_vec(), ends_with: None },
        Call { args: vec!["apiserver", "--listen", "127.0.0.1:0"], ends_with: None },
        call(&["site"], 0),
    ];
    for command in commands(&folder) {
        // Without a cluster, or a scheduler, they end before they say anything there.
        if matches!(command.as_str(), "scheduler" | "conform") {
            continue;
        }
        let is_called = calls.iter().any(|call| call.args[0] == command);
        assert!(is_called, "`schedlab {command}` is not called here with a standard output that is full");
    }
    for Call { args, ends_with } in calls {
        on_a_full_disk(&folder, &args)
            .ends_with(2)
            .complains("schedlab: standard output: No space left on device (os error 28)");
        // The same command with a disk that has room.
        if let Some(code) = ends_with {
            let _ = std::fs::remove_dir_all(folder.path().join("merged"));
            schedlab_in(&folder, &args).ends_with(code);
        }
    }
}

#[test]
fn closed_standard_output_reader_is_no_error() {
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
fn output_folder_deleted_during_the_run_loses_no_result() {
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
