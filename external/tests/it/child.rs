//! A small scheduler: it watches pods and nodes over HTTP and binds every pod to the node whose turn it is.
//! Tests start it as a process: this program, with the name of the test that follows.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

/// Where the child finds the API server; absent, it is a test run and not a child.
const KUBECONFIG: &str = "SCHEDLAB_TEST_KUBECONFIG";
/// It ends after so many bindings.
const ENDS_AFTER: &str = "SCHEDLAB_TEST_ENDS_AFTER";
/// It binds so many pods and then does nothing any more.
const HANGS_AFTER: &str = "SCHEDLAB_TEST_HANGS_AFTER";

/// The words that start it, with these settings.
pub(crate) fn words(settings: &[(&str, &str)]) -> Vec<String> {
    let program = std::env::current_exe().expect("a test runs from a file").display().to_string();
    let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
    let arguments = ["--ignored", "--exact", "child::binds_pods_in_turn", "--nocapture"].map(str::to_owned);
    std::iter::once("env".to_owned())
        .chain([format!("{KUBECONFIG}={{kubeconfig}}"), "RUST_BACKTRACE=0".to_owned()])
        .chain(settings)
        .chain([program])
        .chain(arguments)
        .collect()
}

pub(crate) fn ends_after(bindings: &str) -> Vec<String> {
    words(&[(ENDS_AFTER, bindings)])
}

pub(crate) fn hangs_after(bindings: &str) -> Vec<String> {
    words(&[(HANGS_AFTER, bindings)])
}

#[test]
#[ignore = "it is the scheduler that other tests start"]
fn binds_pods_in_turn() {
    let Ok(kubeconfig) = std::env::var(KUBECONFIG) else { return };
    let text = std::fs::read_to_string(kubeconfig).expect("the kubeconfig is there");
    let address = text.split("http://").nth(1).and_then(|rest| rest.split('"').next()).expect("a server");
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (ends_after, hangs_after) = (number(ENDS_AFTER), number(HANGS_AFTER));
    let (nodes, pods) = (watch(address, "/api/v1/nodes"), watch(address, "/api/v1/pods"));
    let (mut names, mut bound): (Vec<String>, u64) = (Vec::new(), 0);
    for pod in pods {
        if pod["type"] != "ADDED" || pod["object"]["spec"]["nodeName"].is_string() {
            continue;
        }
        if names.is_empty() {
            names.push(name_of(&nodes.recv().expect("a node")));
        }
        names.extend(nodes.try_iter().map(|node| name_of(&node)));
        bind(address, &pod["object"], &names[usize::try_from(bound).expect("few") % names.len()]);
        bound += 1;
        assert!(ends_after.is_none_or(|most| bound < most), "this scheduler ends here on purpose");
        if hangs_after.is_some_and(|most| most <= bound) {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
    }
}

fn name_of(event: &Value) -> String {
    event["object"]["metadata"]["name"].as_str().expect("a name").to_owned()
}

/// Events of a watch, read by a thread.
fn watch(address: &str, path: &str) -> Receiver<Value> {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let head = format!("GET {path}?watch=true HTTP/1.0\r\nHost: localhost\r\nUser-Agent: in-turn/1\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let (sender, events) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some(event) = serde_json::from_str::<Value>(&line).ok().filter(Value::is_object)
                && sender.send(event).is_err()
            {
                return;
            }
        }
    });
    events
}

fn bind(address: &str, pod: &Value, node: &str) {
    let metadata = &pod["metadata"];
    let (namespace, name) = (metadata["namespace"].as_str().unwrap_or("default"), &metadata["name"]);
    let name = name.as_str().expect("a name");
    let body = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    })
    .to_string();
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let head = format!(
        "POST /api/v1/namespaces/{namespace}/pods/{name}/binding HTTP/1.0\r\nHost: localhost\r\nUser-Agent: \
         in-turn/1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains(" 201 "), "{answer}");
}
