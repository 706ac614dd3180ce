use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Answer, Folder, NODES, PODS, command, config};

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not zero");
    kill_process(pid, Signal::INT).expect("our own child");
}

#[test]
fn ctrl_c_writes_what_was_measured_and_says_that_it_is_partial() {
    let folder = Folder::new();
    let ops = format!("{NODES}{PODS}  - opcode: sleep\n    duration: 10m\n");
    let file = folder.file("performance-config.yaml", config(&ops));
    let mut command = command(&["run", "--config", &file, "--out", "out"]);
    let child = command.current_dir(folder.path()).spawn().expect("the binary runs");
    // The folder is made before the run; the measured part of nine pods is over in milliseconds.
    wait_until("the output folder", || folder.path().join("out").is_dir());
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    let answer = Answer::of(child.wait_with_output().expect("it ends")).ends_with(130).says("PARTIAL");
    assert!(answer.stderr.contains("what was measured is kept"), "{}", answer.stderr);
    let result: serde_json::Value = serde_json::from_str(&folder.read("out/result.json")).expect("JSON");
    assert_eq!(result["partial"], true);
    assert_eq!(result["workloads"][0]["status"], "partial");
    assert_eq!(result["workloads"][0]["pods"]["scheduled"], 6);
    assert!(folder.read("out/report.html").to_lowercase().contains("partial"));
}
