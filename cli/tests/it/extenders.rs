//! Extenders of a configuration file, called over loopback while workloads run.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::support::{Answer, Folder, NODES, PODS, config, schedlab_in};

/// An extender that answers one request a connection.
struct Extender {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    calls: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Extender {
    fn start(answer: fn(&Value) -> Value) -> Extender {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("it is bound");
        let (stop, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&calls));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                serve(stream.expect("a connection"), answer);
                count.fetch_add(1, Ordering::AcqRel);
            }
        });
        Extender { address, stop, calls, thread: Some(thread) }
    }
}

impl Drop for Extender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: TcpStream, answer: fn(&Value) -> Value) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a line of the head");
        let header = line.trim().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    let text = answer(&serde_json::from_slice(&body).expect("the scheduler sends JSON")).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
    reader.get_mut().write_all(format!("{head}{text}").as_bytes()).expect("the scheduler listens");
}

fn run_with(url: &str, more: &str) -> Answer {
    run_in(&Folder::new(), url, more)
}

fn run_in(folder: &Folder, url: &str, more: &str) -> Answer {
    let file = folder.file("performance-config.yaml", config(&format!("{NODES}{PODS}")));
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n- urlPrefix: {url}\n  filterVerb: filter\n  nodeCacheCapable: true\n{more}"
    );
    folder.file("scheduler.yaml", text);
    schedlab_in(folder, &["run", "--config", &file, "--scheduler-config", "scheduler.yaml", "--repeat", "1"])
}

#[test]
fn extender_is_called_for_every_pod() {
    let extender = Extender::start(|asked| json!({"NodeNames": asked["NodeNames"]}));
    run_with(&format!("http://{}/s", extender.address), "").ends_with(0).says("6/6");
    assert_eq!(extender.calls.load(Ordering::Acquire), 6, "once a pod");
}

#[test]
fn nodes_rejected_by_extender_are_infeasible() {
    let extender = Extender::start(|asked| {
        let names = asked["NodeNames"].as_array().expect("names of nodes");
        let failed: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| (name.as_str().expect("a name").to_owned(), json!("the extender says no")))
            .collect();
        json!({"NodeNames": [], "FailedNodes": failed})
    });
    run_with(&format!("http://{}/s", extender.address), "")
        .ends_with(1)
        .says("6 pod(s) wait: 0/3 nodes are available: 3 the extender says no");
}

#[test]
fn unreachable_ignorable_extender_is_skipped() {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let url = format!("http://{address}/s");
    let folder = Folder::new();
    run_in(&folder, &url, "  ignorable: true\n").ends_with(0).says("6/6").says(&format!(
        "extender {url}: 6 of 6 calls failed and were ignored; the last failure: extender at URL"
    ));
    let result: Value = serde_json::from_str(&folder.read("schedlab-report/result.json")).expect("JSON");
    let calls = &result["workloads"][0]["extenders"][0];
    assert_eq!((&calls["url"], &calls["ignorable"]), (&json!(url), &json!(true)));
    assert_eq!((&calls["calls"], &calls["failures"]), (&json!(6), &json!(6)));
    assert!(calls["last_failure"].as_str().is_some_and(|text| text.contains(&url)), "{calls}");
    assert!(folder.read("schedlab-report/report.html").contains("6 of 6 calls failed and were ignored"));
}

#[test]
fn invalid_extender_configuration_ends_with_exit_code_2() {
    run_with("https://127.0.0.1:1/s", "").ends_with(2).complains(
        "scheduler.yaml: extenders[0]: HTTPS is not supported (urlPrefix \"https://127.0.0.1:1/s\")",
    );
}
