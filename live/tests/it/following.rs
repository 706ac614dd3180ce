//! Watches that end, expire and break, against a server that says exactly what the test wants.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use schedlab_cluster::api::Api as _;
use serde_json::{Value, json};

use crate::support::{KubeconfigFile, live, serve, wait_for};

/// What the server says of pods: a list, or the lines of a watch.
enum Said {
    List(Vec<&'static str>, u64),
    Watch(Vec<Value>),
    Refusal(u16, &'static str),
}

/// Says one thing after the other, and what was asked for.
#[derive(Clone)]
struct Script {
    says: Arc<Vec<Said>>,
    at: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Script {
    /// Serves on loopback; the kubeconfig that leads there.
    fn serve(says: Vec<Said>) -> (Script, KubeconfigFile) {
        let script = Script { says: Arc::new(says), at: Arc::default(), asked: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let there = script.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let there = there.clone();
                std::thread::spawn(move || there.answer(stream));
            }
        });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url}}], "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        (script, KubeconfigFile::new(&kubeconfig.to_string()))
    }

    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let target = line.split(' ').nth(1)?.to_owned();
        while 2 < line.len() {
            line.clear();
            reader.read_line(&mut line).ok()?;
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (code, body) = match path {
            "/version" => (200, json!({"gitVersion": "v0"}).to_string()),
            "/api/v1" => (200, json!({"resources": [{"name": "pods"}, {"name": "nodes"}]}).to_string()),
            "/api/v1/nodes" if query.contains("watch=true") => {
                // Nodes do not change; the watch stays open until the client goes.
                write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").ok()?;
                reader.read_line(&mut line).ok()?;
                return Some(());
            }
            "/api/v1/nodes" => (200, json!({"metadata": {"resourceVersion": "1"}, "items": []}).to_string()),
            "/api/v1/pods" => self.next(query),
            _ => (404, json!({"reason": "NotFound", "message": "no such path"}).to_string()),
        };
        let length = body.len();
        write!(stream, "HTTP/1.1 {code} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .ok()
    }

    fn next(&self, query: &str) -> (u16, String) {
        let kind = if query.contains("watch=true") { "watch" } else { "list" };
        let version = query.split('&').find_map(|part| part.strip_prefix("resourceVersion="));
        self.asked.lock().expect("not poisoned").push(format!("{kind} {}", version.unwrap_or_default()));
        let at = self.at.fetch_add(1, Ordering::SeqCst);
        match self.says.get(at) {
            Some(Said::List(names, version)) => {
                let items: Vec<Value> = names.iter().map(|name| told_pod(name, 1)).collect();
                let list = json!({"metadata": {"resourceVersion": version.to_string()}, "items": items});
                (200, list.to_string())
            }
            Some(Said::Watch(events)) => (200, events.iter().map(|event| format!("{event}\n")).collect()),
            Some(Said::Refusal(code, reason)) => {
                (*code, json!({"reason": reason, "message": "refused by the script"}).to_string())
            }
            None => {
                (503, json!({"reason": "ServiceUnavailable", "message": "the script is over"}).to_string())
            }
        }
    }
}

fn told_pod(name: &str, version: u64) -> Value {
    let uid = format!("uid-{name}");
    json!({
        "metadata": {"name": name, "namespace": "default", "uid": uid, "resourceVersion": version.to_string()},
        "spec": {"containers": [{"name": "c"}]},
    })
}

fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

#[test]
fn expired_watch_is_followed_by_a_list_that_tells_what_was_missed() {
    let gone = json!({"kind": "Status", "reason": "Expired", "message": "too old", "code": 410});
    let bookmark = json!({"metadata": {"resourceVersion": "40"}});
    let (script, kubeconfig) = Script::serve(vec![
        Said::List(vec!["a", "b"], 10),
        Said::Watch(vec![event("ADDED", told_pod("c", 20)), event("BOOKMARK", bookmark)]),
        Said::Watch(vec![event("ERROR", gone)]),
        Said::List(vec!["b", "d"], 50),
        Said::Refusal(410, "Expired"),
        Said::List(vec!["d"], 60),
    ]);
    let live = live(kubeconfig.open());
    let names = || live.pods().into_iter().map(|pod| pod.name).collect::<Vec<_>>().join(" ");
    wait_for("the last list is in", || names() == "d");
    let asked = script.asked.lock().expect("not poisoned").clone();
    assert_eq!(asked[..6], ["list ", "watch 10", "watch 40", "list ", "watch 50", "list "]);
}

#[test]
fn object_that_cannot_be_read_is_counted_and_the_others_are_there() {
    let broken = json!({"metadata": {"name": "x", "resourceVersion": "30"}, "spec": {"containers": "none"}});
    let (_, kubeconfig) = Script::serve(vec![
        Said::List(vec!["a"], 10),
        Said::Watch(vec![event("ADDED", broken), event("ADDED", told_pod("b", 31))]),
    ]);
    let live = live(kubeconfig.open());
    wait_for("the other one is there", || live.pods().len() == 2);
    let told = live.troubles();
    assert!(
        told.iter().any(|text| text.starts_with("1 object(s) could not be read, the last of pods: ")),
        "{told:?}"
    );
}

#[test]
fn every_kind_that_scheduling_reads_is_followed_at_our_own_api_server() {
    let served = serve(2);
    let live = served.live();
    assert!(live.kinds_not_served().is_empty(), "{:?}", live.kinds_not_served());
    served.create(crate::support::web_pod("a", "1"));
    wait_for("it is told", || live.pods().len() == 1);
    let rows = live.pods_in(schedlab_cluster::api::PodFilter::default()).expect("a table").rows;
    assert_eq!(live.pod_uid(rows[0].uid), served.pod("a")["metadata"]["uid"]);
}
