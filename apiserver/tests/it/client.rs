//! A small HTTP client: what a test sends is what goes over the wire.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schedlab_apiserver::{ApiServer, ServeOptions, load_fake_nodes};
use schedlab_cluster::EmbeddedCluster;
use serde_json::{Value, json};

/// Tests that wait longer than this hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with a cluster, and ways to ask it.
pub(crate) struct Served {
    pub(crate) cluster: EmbeddedCluster,
    pub(crate) server: ApiServer,
}

/// A server with so many nodes; its clock goes on by a millisecond a look.
pub(crate) fn serve(nodes: u32) -> Served {
    serve_with(nodes, ServeOptions::default())
}

pub(crate) fn serve_with(nodes: u32, options: ServeOptions) -> Served {
    let looks = AtomicU64::new(1_700_000_000_000);
    let now_ns = move || looks.fetch_add(1, Ordering::Relaxed) * 1_000_000;
    let cluster = EmbeddedCluster::new(Arc::new(now_ns));
    load_fake_nodes(&cluster, nodes).expect("nodes");
    let server = ApiServer::start(cluster.clone(), options).expect("loopback can be listened on");
    Served { cluster, server }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }
}

/// A request to be sent.
pub(crate) struct Ask<'a> {
    served: &'a Served,
    method: &'a str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Served {
    pub(crate) fn ask<'a>(&'a self, method: &'a str, path: &str) -> Ask<'a> {
        Ask { served: self, method, path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path).json(body).send()
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask("PUT", path).json(body).send()
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path).send()
    }

    pub(crate) fn patch(&self, path: &str, kind: &str, body: &Value) -> Answer {
        let content_type = format!("application/{kind}");
        self.ask("PATCH", path)
            .header("content-type", &content_type)
            .body(body.to_string().into_bytes())
            .send()
    }

    /// Creates a pod of the namespace `default`.
    pub(crate) fn pod(&self, name: &str) -> Value {
        let answer = self.post("/api/v1/namespaces/default/pods", &web_pod(name));
        assert_eq!(answer.code, 201, "{}", answer.json());
        answer.json()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.server.address()).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Opens a watch.
    pub(crate) fn watch(&self, path: &str) -> WatchReader {
        let mut stream = self.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut reader = BufReader::new(stream);
        let (code, _) = read_head(&mut reader);
        assert_eq!(code, 200, "{path}");
        WatchReader { reader, rest: Vec::new() }
    }
}

impl Ask<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string().into_bytes())
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    pub(crate) fn send(self) -> Answer {
        let mut stream = self.served.connect();
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        stream.write_all(head.as_bytes()).expect("sent");
        // A server that has refused already need not take the rest.
        let _ = stream.write_all(&self.body);
        let mut reader = BufReader::new(stream);
        let (code, length) = read_head(&mut reader);
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                reader.read_exact(&mut body).expect("the whole body");
            }
            None => {
                reader.read_to_end(&mut body).expect("the whole body");
            }
        }
        Answer { code, body }
    }
}

/// Status and length.
pub(crate) fn read_head(reader: &mut BufReader<TcpStream>) -> (u16, Option<usize>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("a status line");
    let code = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let code = code.unwrap_or_else(|| panic!("no status line: {line:?}"));
    let mut length = None;
    loop {
        line.clear();
        reader.read_line(&mut line).expect("headers");
        if line.trim().is_empty() {
            return (code, length);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
    }
}

/// Reads the events of a watch.
pub(crate) struct WatchReader {
    reader: BufReader<TcpStream>,
    rest: Vec<u8>,
}

impl WatchReader {
    /// The next event; none when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("an event is JSON"));
            }
            let mut size = String::new();
            self.reader.read_line(&mut size).expect("a chunk");
            let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).expect("a whole chunk");
            if size == 0 {
                return None;
            }
            self.rest.extend_from_slice(&chunk[..size]);
        }
    }

    /// Type and name of the next event.
    pub(crate) fn next_named(&mut self) -> (String, String) {
        let event = self.next().expect("the stream goes on");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }

    /// Events until the bookmark that ends the first ones, which is left out.
    pub(crate) fn initial(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            let event = self.next().expect("the stream goes on");
            if event["type"] == "BOOKMARK" {
                let annotations = &event["object"]["metadata"]["annotations"];
                assert_eq!(annotations["k8s.io/initial-events-end"], "true", "{event}");
                return names;
            }
            assert_eq!(event["type"], "ADDED");
            names.push(event["object"]["metadata"]["name"].as_str().expect("a name").to_owned());
        }
    }
}

pub(crate) fn web_pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]},
    })
}
