//! Signals end a run and keep what was measured, whatever the run is waiting for.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use schedlab_perf_dash::history;
use schedlab_workloads::results::Status;

use crate::support::{Answer, Folder, NODES, PODS, command, config};

/// What is promised of Ctrl-C.
const END_MAX: Duration = Duration::from_secs(2);

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
        assert!(elapsed < END_MAX, "{signal:?}: {elapsed:?}\n{}", answer.stderr);
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
        assert_eq!((record.partial, record.points[0].status), (true, Status::Partial));
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
        assert!(elapsed < END_MAX, "{verb}: {elapsed:?}\n{}", answer.stderr);
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
    assert!(elapsed < END_MAX, "{elapsed:?}");
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
    assert!(elapsed < END_MAX, "{elapsed:?}");
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
    assert!(elapsed < END_MAX, "{elapsed:?}");
    assert_eq!(json(&folder.read("ab/comparison.json"))["verdict"], "inconclusive");
    assert!(folder.read("ab/comparison.md").contains("PARTIAL"));
}
