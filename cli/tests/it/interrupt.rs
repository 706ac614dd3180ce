//! Signals end a run and keep what was measured, whatever the run is waiting for.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use schedlab_perf_dash::history;
use schedlab_workloads::results::RunStatus;

use crate::gate::{kernels, repository};
use crate::support::{Answer, Folder, NODES, PODS, command, config, schedlab_in};

/// What is promised of Ctrl-C on a machine that has a core for it. A run that waits for its answers
/// instead takes the ten minutes of its sleep or of its extender's deadline.
const END_MAX: Duration = Duration::from_secs(2);

/// [`END_MAX`] times as many processes as want each core: tests run beside others, and beside compilers.
fn end_max() -> Duration {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut fields = text.split_whitespace();
    let recent = fields.next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0);
    let now = fields.nth(2).and_then(|running| running.split('/').next()?.parse::<f64>().ok()).unwrap_or(0.0);
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    END_MAX.mul_f64((recent.max(now) / cores).clamp(1.0, 30.0))
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not zero");
    kill_process(pid, signal).expect("our own child");
}

/// Sends a signal and says how the process ended and after which time.
fn ended_by(child: Child, signal: Signal) -> (Answer, Duration) {
    let sent = Instant::now();
    send(&child, signal);
    let answer = Answer::of(child.wait_with_output().expect("it ends"));
    (answer, sent.elapsed())
}

/// Starts a run of six pods that are followed by other ops.
fn start(folder: &Folder, ops: &str, more: &[&str]) -> Child {
    start_file(folder, config(ops), more)
}

fn start_file(folder: &Folder, text: String, more: &[&str]) -> Child {
    let file = folder.file("performance-config.yaml", text);
    let mut args = vec!["run", "--config", &file, "--out", "out", "--history", "history", "--repeat", "1"];
    args.extend(more);
    command(&args).current_dir(folder.path()).spawn().expect("the binary runs")
}

/// Starts a run that has measured six pods and sleeps for ten minutes.
fn start_sleeping(folder: &Folder, more: &[&str]) -> Child {
    let child = start(folder, &format!("{NODES}{PODS}  - opcode: sleep\n    duration: 10m\n"), more);
    // The folder is made before the run; the measured part of six pods is over in milliseconds.
    wait_until("the output folder", || folder.path().join("out").is_dir());
    std::thread::sleep(Duration::from_millis(500));
    child
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
#[allow(clippy::print_stderr, reason = "says what is skipped")]
fn every_signal_that_ends_a_run_keeps_what_was_measured_and_marks_it_partial() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        if signal == Signal::HUP && is_hangup_ignored() {
            eprintln!("skipped: SIGHUP, which is ignored here (nohup), and so by every run that is started");
            continue;
        }
        let folder = Folder::new();
        let (answer, elapsed) = ended_by(start_sleeping(&folder, &[]), signal);
        let answer = answer.ends_with(code).says("PARTIAL").complains("what was measured is kept");
        assert!(elapsed < end_max(), "{signal:?}: {elapsed:?}\n{}", answer.stderr);
        let result = json(&folder.read("out/result.json"));
        assert_eq!(
            (&result["partial"], &result["workloads"][0]["status"]),
            (&true.into(), &"partial".into())
        );
        assert_eq!(result["workloads"][0]["pods"]["scheduled"], 6);
        assert!(folder.read("out/report.html").contains("Partial run."));
        let bench = folder.read("out/bench.txt");
        assert!(bench.contains("\npartial: true\n") && bench.contains("\nstatus: partial\n"), "{bench}");
        let items = json(&perf_dash_json(&folder));
        assert_eq!(items["labels"]["partial"], "true");
        let name = items["dataItems"][0]["labels"]["Name"].as_str().expect("a name");
        assert!(name.ends_with(" (partial)"), "{name}");
        let record = history::read(&folder.path().join("history")).expect("a history").records.remove(0);
        assert_eq!((record.partial, record.points[0].status), (true, RunStatus::Partial));
    }
}

/// What is ignored is ignored in child processes as well.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

fn perf_dash_json(folder: &Folder) -> String {
    let entries = std::fs::read_dir(folder.path().join("out")).expect("it is there").filter_map(Result::ok);
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let name = names.find(|name| name.starts_with("BenchmarkPerfScheduling_")).expect("a file for perf-dash");
    folder.read(&format!("out/{name}"))
}

#[test]
fn json_of_an_interrupted_run_is_partial_and_standard_error_says_why() {
    let folder = Folder::new();
    let (answer, _) = ended_by(start_sleeping(&folder, &["--json"]), Signal::TERM);
    let answer = answer.ends_with(143).complains("Case/small is partial: interrupted");
    assert_eq!(json(&answer.stdout)["partial"], true);
}

/// An extender that accepts connections and never answers.
struct SilentExtender(TcpListener);

impl SilentExtender {
    fn new() -> SilentExtender {
        // Nobody accepts: the system completes connections and keeps what is sent.
        SilentExtender(TcpListener::bind("127.0.0.1:0").expect("a free port on loopback"))
    }

    fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("it is bound")
    }

    fn configure(&self, folder: &Folder, verb: &str) {
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n- urlPrefix: \
             http://{}/s\n  {verb}: ask\n  weight: 1\n  nodeCacheCapable: true\n  httpTimeout: 10m\n",
            self.address()
        );
        folder.file("scheduler.yaml", text);
    }
}

#[test]
fn silent_extender_does_not_delay_ctrl_c() {
    for verb in ["filterVerb", "prioritizeVerb", "bindVerb"] {
        let (folder, extender) = (Folder::new(), SilentExtender::new());
        extender.configure(&folder, verb);
        let child = start(&folder, &format!("{NODES}{PODS}"), &["--scheduler-config", "scheduler.yaml"]);
        wait_until("the output folder", || folder.path().join("out").is_dir());
        std::thread::sleep(Duration::from_millis(500));
        let (answer, elapsed) = ended_by(child, Signal::INT);
        let answer = answer.ends_with(130).says("PARTIAL");
        assert!(elapsed < end_max(), "{verb}: {elapsed:?}\n{}", answer.stderr);
        assert_eq!(json(&folder.read("out/result.json"))["partial"], true, "{verb}");
    }
}

#[test]
fn second_signal_ends_the_process_at_once() {
    let (folder, extender) = (Folder::new(), SilentExtender::new());
    extender.configure(&folder, "filterVerb");
    let mut child = start(&folder, &format!("{NODES}{PODS}"), &["--scheduler-config", "scheduler.yaml"]);
    wait_until("the output folder", || folder.path().join("out").is_dir());
    std::thread::sleep(Duration::from_millis(500));
    send(&child, Signal::INT);
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("Ctrl-C again ends at once") {
        line.clear();
        assert!(0 < stderr.read_line(&mut line).expect("text"), "it ended without a word");
    }
    let (answer, elapsed) = ended_by(child, Signal::TERM);
    let answer = answer.ends_with(143);
    assert!(answer.stdout.is_empty(), "{}", answer.stdout);
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    assert!(!folder.path().join("out/result.json").exists(), "{rest}");
}

#[test]
fn ctrl_c_ends_a_run_with_a_long_queue() {
    let folder = Folder::new();
    let text = config(&format!("{NODES}{PODS}")).replace("nodes: 3, pods: 6", "nodes: 2000, pods: 200000");
    let child = start_file(&folder, text, &["--class-cache", "off", "--percentage-of-nodes-to-score", "100"]);
    wait_until("the output folder", || folder.path().join("out").is_dir());
    std::thread::sleep(Duration::from_millis(1500));
    let (answer, elapsed) = ended_by(child, Signal::INT);
    answer.ends_with(130).says("PARTIAL");
    assert!(elapsed < end_max(), "{elapsed:?}");
}

#[test]
fn ctrl_c_ends_a_run_that_lingers_for_its_metrics() {
    let folder = Folder::new();
    let more = ["--metrics", "127.0.0.1:0", "--metrics-linger", "600"];
    let child = start(&folder, &format!("{NODES}{PODS}"), &more);
    wait_until("the report", || folder.path().join("out/report.html").is_file());
    std::thread::sleep(Duration::from_millis(200));
    let (answer, elapsed) = ended_by(child, Signal::INT);
    // Everything was measured before the signal.
    answer.ends_with(0).says("6/6");
    assert!(elapsed < end_max(), "{elapsed:?}");
}

#[test]
fn hangup_that_nohup_ignores_does_not_end_a_run() {
    let folder = Folder::new();
    let ops = format!("{NODES}{PODS}  - opcode: sleep\n    duration: 10m\n");
    let file = folder.file("performance-config.yaml", config(&ops));
    let own = command(&["run", "--config", &file, "--out", "out"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(own.get_program()).args(own.get_args());
    shell.current_dir(folder.path());
    shell.stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = shell.spawn().expect("a shell");
    wait_until("the output folder", || folder.path().join("out").is_dir());
    std::thread::sleep(Duration::from_millis(300));
    send(&child, Signal::HUP);
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().expect("our own child").is_none(), "it goes on without a terminal");
    ended_by(child, Signal::TERM).0.ends_with(143).says("PARTIAL");
}

#[test]
fn interrupted_ab_compares_nothing_as_unchanged() {
    let folder = Folder::new();
    let ops = format!("{NODES}{PODS}  - opcode: sleep\n    duration: 50ms\n");
    let file = folder.file("performance-config.yaml", config(&ops));
    let args =
        ["ab", "--variant", "a:", "--variant", "b:", "--config", &file, "--rounds", "1000", "--out", "ab"];
    let child = command(&args).current_dir(folder.path()).spawn().expect("the binary runs");
    std::thread::sleep(Duration::from_secs(4));
    let (answer, elapsed) = ended_by(child, Signal::TERM);
    answer.ends_with(143).says("PARTIAL");
    assert!(elapsed < end_max(), "{elapsed:?}");
    assert_eq!(json(&folder.read("ab/comparison.json"))["verdict"], "inconclusive");
    assert!(folder.read("ab/comparison.md").contains("PARTIAL"));
}

/// Starts the binary, waits until something holds and some time more, and ends it with SIGTERM, which must
/// take effect in time.
fn terminated(folder: &Folder, args: &[&str], what: &str, holds: impl FnMut() -> bool) -> Answer {
    let child = command(args).current_dir(folder.path()).spawn().expect("the binary runs");
    wait_until(what, holds);
    std::thread::sleep(Duration::from_millis(1000));
    let (answer, elapsed) = ended_by(child, Signal::TERM);
    let answer = answer.ends_with(143);
    assert!(elapsed < end_max(), "{args:?}: {elapsed:?}\n{}", answer.stderr);
    answer
}

#[test]
fn interrupted_simulation_reports_seeds_without_violation() {
    let folder = Folder::new();
    let started = Instant::now();
    let begun = || Duration::from_millis(500) < started.elapsed();
    let seeds = ["simulate", "--seeds", "0..100000000", "--faults", "none"];
    terminated(&folder, &seeds, "the first seeds", begun)
        .says("no violation")
        .says("PARTIAL: interrupted after");
    let answer = terminated(&folder, &[&seeds[..], &["--json"]].concat(), "the first seeds", begun);
    let document = json(&answer.stdout);
    assert_eq!(document["partial"], true);
    assert!(0 < document["seeds"].as_u64().expect("a count"), "{document}");
    terminated(&folder, &["simulate", "--soak", "100000000000"], "the first waves", begun).says("PARTIAL");
}

#[test]
fn interrupted_shard_keeps_its_batches_and_resumes_after_them() {
    let folder = Folder::new();
    let args = ["simulate", "--seeds", "0..100000000", "--shard", "1/2", "--out", "seeds"];
    let log = folder.path().join("seeds/shard-1-of-2/units.jsonl");
    let has_batch = || std::fs::read_to_string(&log).is_ok_and(|text| 2 <= text.lines().count());
    terminated(&folder, &args, "the first batch", has_batch)
        .says("PARTIAL: interrupted after")
        .complains("the same command goes on behind them");
    let kept = std::fs::read_to_string(&log).expect("a log").lines().count();
    let more = || std::fs::read_to_string(&log).is_ok_and(|text| kept < text.lines().count());
    terminated(&folder, &args, "another batch", more).complains("batches were done before");
    schedlab_in(&folder, &["merge", "seeds", "--out", "all"]).ends_with(2).complains("shard");
}

/// Copies of kernels that a gate left behind.
fn copies(folder: &Folder) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder.path().join("target/gate")).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-")))
        .collect()
}

#[test]
fn interrupted_gate_keeps_its_sessions_and_is_inconclusive() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let gate = ["gate", "--base-kernels", &base, "--head-kernels", &base, "--measure", "wall-clock"];
    let long = ["--sessions", "1000", "--quartets", "10", "--seconds", "3600", "--out", "report"];
    terminated(&folder, &[&gate[..], &long].concat(), "copies of the kernels", || {
        !copies(&folder).is_empty()
    })
    .says("PARTIAL")
    .says("verdict: inconclusive");
    let document = json(&folder.read("report/gate.json"));
    assert_eq!(document["verdict"], "inconclusive");
    assert!(0 < document["rows"][0]["base_samples"].as_u64().expect("sessions"), "{document}");
    assert!(folder.read("report/gate.md").contains("PARTIAL"));
    assert_eq!(copies(&folder), Vec::<std::path::PathBuf>::new(), "copies are removed");
    // One that never answers.
    let mute = kernels(&folder, "mute", 1000, 7, "k");
    let script = folder.read("mute").replace("at=0\n", "exec sleep 600\n");
    folder.file("mute", script);
    let gate = ["gate", "--base-kernels", &mute, "--head-kernels", &mute, "--measure", "wall-clock"];
    let answer = terminated(&folder, &gate, "copies of the kernels", || !copies(&folder).is_empty());
    answer.complains("interrupted before anything was measured");
    assert_eq!(copies(&folder), Vec::<std::path::PathBuf>::new(), "copies are removed");
}

#[test]
fn interrupted_bench_is_partial_and_moves_no_baseline() {
    let folder = Folder::new();
    let base = kernels(&folder, "base", 1000, 7, "k");
    let long = ["--sessions", "1000", "--quartets", "10", "--seconds", "3600", "--out", "report"];
    let args = [&["bench", "--kernels", &base, "--measure", "wall-clock"][..], &long].concat();
    terminated(&folder, &args, "copies of the kernels", || !copies(&folder).is_empty()).says("PARTIAL");
    assert_eq!(json(&folder.read("report/bench.json"))["verdict"], "inconclusive");
    assert!(!folder.path().join("target/bench-baselines").exists(), "nothing is kept to compare with");
}

#[test]
fn signal_ends_the_build_of_a_gate_and_all_it_has_started() {
    let folder = Folder::new();
    repository(&folder);
    let pid = folder.path().join("pid");
    let slow = format!("#!/bin/bash\nsleep 600 &\necho $! > {0}.new; mv {0}.new {0}\nwait\n", pid.display());
    folder.file("bin/cargo", slow);
    let path = format!("{}/bin:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut gate = command(&["gate", "HEAD~1"]);
    gate.current_dir(folder.path().join("repo")).env("PATH", path);
    let child = gate.spawn().expect("the binary runs");
    wait_until("the build", || pid.is_file());
    let (answer, elapsed) = ended_by(child, Signal::TERM);
    answer.ends_with(143).complains("interrupted before anything was measured");
    assert!(elapsed < end_max(), "{elapsed:?}");
    let started = std::fs::read_to_string(&pid).expect("a number").trim().to_owned();
    let is_running = || {
        let status = std::fs::read_to_string(format!("/proc/{started}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
    };
    wait_until("the end of what the build had started", || !is_running());
}

/// Whether a thread of the process has this name.
fn has_thread(child: &Child, name: &str) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten();
    let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.any(|known| known.trim_end() == name)
}

#[test]
fn interrupted_profile_keeps_its_samples_and_marks_them_partial() {
    let folder = Folder::new();
    let text = config(&format!("{NODES}{PODS}")).replace("nodes: 3, pods: 6", "nodes: 500, pods: 200000");
    let file = folder.file("performance-config.yaml", text);
    let args =
        ["profile", "Case/small", "--config", &file, "--out", "out", "--seconds", "600", "--threads", "1"];
    let child = command(&args).current_dir(folder.path()).spawn().expect("the binary runs");
    wait_until("the scheduler", || has_thread(&child, "scheduler"));
    std::thread::sleep(Duration::from_secs(2));
    // How long it takes is not judged: looking names up is slow in a build without optimisation.
    ended_by(child, Signal::TERM).0.ends_with(143).says("PARTIAL");
    assert_eq!(json(&folder.read("out/profile.json"))["partial"], true);
    assert!(folder.read("out/flamegraph.svg").contains("interrupted"));
}

#[test]
fn interrupted_study_keeps_its_rounds_and_marks_them_partial() {
    let folder = Folder::new();
    let started = Instant::now();
    let args = ["run", "--suite", "nominated", "--rounds", "10000", "--out", "out", "--no-history"];
    let answer = terminated(&folder, &args, "some rounds", || Duration::from_secs(10) < started.elapsed());
    answer.says("PARTIAL");
    let result = json(&folder.read("out/result.json"));
    assert_eq!(result["partial"], true);
    assert!(folder.read("out/report.html").contains("Partial run."));
}

#[test]
fn run_of_a_terminated_serve_records_what_it_measured() {
    let folder = Folder::new();
    let ops = format!("{NODES}{PODS}  - opcode: sleep\n    duration: 10m\n");
    let file = folder.file("performance-config.yaml", config(&ops));
    let run = format!("--config {file} --repeat 1 --out out");
    let args = ["serve", "--history", "history", "--listen", "127.0.0.1:0", "--run", &run];
    let child = command(&args).current_dir(folder.path()).spawn().expect("the binary runs");
    wait_until("the run's output folder", || folder.path().join("out").is_dir());
    std::thread::sleep(Duration::from_millis(500));
    ended_by(child, Signal::TERM).0.ends_with(143);
    let record = history::read(&folder.path().join("history")).expect("a history").records.remove(0);
    assert_eq!((record.partial, record.points[0].status), (true, RunStatus::Partial));
}
