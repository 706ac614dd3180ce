//! Files and clients that mean harm.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use schedlab_perf_dash::history;

use crate::support::{Folder, NODES, PODS, config, schedlab_in};

const SMALL: &str = "^PlainPods/10Nodes";

/// A history with a run whose every name is hostile. The first record is as it was measured.
fn hostile_history(folder: &Folder) {
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    schedlab_in(folder, &["run", "--config", &file, "--repeat", "1", "--out", "run", "--history", "h"])
        .ends_with(0);
    let dir = folder.path().join("h");
    let honest = history::read(&dir).expect("it was just written").records.remove(0);
    let long = "W".repeat(300);
    let names = ["../../../evil", "/tmp/evil", "evil\0", &long, "NUL", "a/b", "a:b"];
    for (at, name) in names.iter().enumerate() {
        let mut record = honest.clone();
        record.id = format!("2026-{at}");
        record.started_at = format!("../../{name}");
        record.points[0].name = (*name).to_owned();
        record.points[0].suite = (*name).to_owned();
        history::append(&dir, &record).expect("appended");
        record.id = (*name).to_owned();
        history::append(&dir, &record).expect("appended");
    }
}

/// Everything below a folder, by path.
fn below(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(below(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn crafted_history_makes_site_and_serve_write_inside_out_only() {
    let folder = Folder::new();
    hostile_history(&folder);
    let before = below(folder.path());
    schedlab_in(&folder, &["site", "--history", "h", "--out", "deep/site"])
        .ends_with(0)
        .complains("is not made of letters, digits, dots and dashes");
    let args =
        ["serve", "--history", "h", "--out", "deep/served", "--listen", "127.0.0.1:0", "--requests", "1"];
    let (mut server, address) =
        listening(crate::support::command(&args).current_dir(folder.path()), "Serving on http://");
    assert!(get(&address, "/").contains("8 runs"), "those with a proper id");
    assert!(server.wait().expect("it ends").success());
    let outs = ["site", "served"].map(|out| folder.path().join("deep").join(out).display().to_string());
    let stray: Vec<String> = below(folder.path())
        .into_iter()
        .filter(|file| !before.contains(file) && !outs.iter().any(|out| file.starts_with(out.as_str())))
        .collect();
    assert_eq!(stray, Vec::<String>::new());
    let pages = below(&folder.path().join("deep/site/w"));
    assert_eq!(pages.len(), 8, "a page a workload, also for names that collide: {pages:?}");
}

/// Starts a server and reads where it listens.
fn listening(command: &mut Command, prefix: &'static str) -> (Child, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let (send, receive) = std::sync::mpsc::channel();
    // Both are read on, or it would wait for a reader.
    for stream in [Box::new(stdout) as Box<dyn Read + Send>, Box::new(stderr)] {
        let send = send.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let address = line.find(prefix).map(|at| line[at + prefix.len()..].to_owned());
                address.into_iter().for_each(|address| drop(send.send(address)));
            }
        });
    }
    let line = receive.recv_timeout(Duration::from_secs(60)).expect("it says where it listens");
    (child, line.split([' ', '/']).next().expect("an address").to_owned())
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut text = String::new();
    // A connection that is closed before it is answered has an empty answer.
    let _ = stream.read_to_string(&mut text);
    text
}

/// The binary with few descriptors, as `sh` sets them.
fn with_descriptors(limit: u32, folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_schedlab")]).args(args).current_dir(folder.path());
    command
}

/// Takes every descriptor of a server with connections that say nothing, and asks something then.
fn survives_idle_connections(address: &str, path: &str, wanted: &str) {
    for _ in 0..2 {
        let idle: Vec<TcpStream> = (0..200).map_while(|_| TcpStream::connect(address).ok()).collect();
        assert!(100 < idle.len(), "{}", idle.len());
        answers_soon(address, path, wanted);
        drop(idle);
        answers_soon(address, path, wanted);
    }
}

/// A page may be refused while no descriptor is left for it, but not for long.
fn answers_soon(address: &str, path: &str, wanted: &str) {
    let since = Instant::now();
    loop {
        let answer = get(address, path);
        if answer.contains(wanted) {
            return;
        }
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(since.elapsed() < Duration::from_secs(20), "no answer: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn serve_survives_idle_connections_taking_every_descriptor() {
    for limit in [12, 24, 128] {
        let folder = Folder::new();
        let args = ["serve", "--history", "h", "--out", "site", "--listen", "127.0.0.1:0"];
        let (mut server, address) =
            listening(&mut with_descriptors(limit, &folder, &args), "Serving on http://");
        survives_idle_connections(&address, "/", "No run has been recorded yet");
        assert!(server.try_wait().expect("asked").is_none(), "it still serves");
        server.kill().expect("it still serves");
        server.wait().expect("it ends");
    }
}

#[test]
fn metrics_endpoint_survives_idle_connections_taking_every_descriptor() {
    let folder = Folder::new();
    let args = [
        "run",
        "--filter",
        SMALL,
        "--repeat",
        "1",
        "--no-history",
        "--metrics",
        "127.0.0.1:0",
        "--metrics-linger",
        "600",
    ];
    let (mut run, address) = listening(&mut with_descriptors(40, &folder, &args), "metrics on http://");
    survives_idle_connections(&address, "/metrics", "scheduler_");
    assert!(run.try_wait().expect("asked").is_none(), "it still lingers");
    run.kill().expect("it still lingers");
    run.wait().expect("it ends");
}

#[test]
fn terminal_commands_in_workload_names_and_errors_are_written_out() {
    let folder = Folder::new();
    let text = config(&format!("{NODES}{PODS}")).replace("- name: Case", "- name: \"Ca\\e[2Jse\\x9b31m\"");
    let file = folder.file("performance-config.yaml", &text);
    let broken =
        folder.file("broken/performance-config.yaml", text.replace("createPods", "\"create\\e]0;x\\aPods\""));
    let calls: [&[&str]; 4] = [
        &["list", "--config", &file],
        &["run", "--config", &file, "--repeat", "1", "--no-history", "--out", "run"],
        &["list", "--config", &file, "--json"],
        &["run", "--config", &broken, "--no-history"],
    ];
    let mut seen = 0;
    for args in calls {
        let answer = schedlab_in(&folder, args);
        let printed = answer.stdout + &answer.stderr;
        let raw = printed.chars().find(|letter| letter.is_control() && *letter != '\n' && *letter != '\t');
        assert_eq!(raw, None, "{args:?}: {printed:?}");
        seen += usize::from(printed.contains("\\u001b"));
    }
    assert!(2 < seen, "the names were printed, written out: {seen}");
}
