//! Requests of any method, path, query, header and body: each is answered, none is fatal.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;

use crate::client::{read_head, serve, web_pod};

/// In a test; `SCHEDLAB_REQUESTS=100000` makes it more.
const REQUESTS: u64 = 3000;

fn request_count() -> u64 {
    std::env::var("SCHEDLAB_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(REQUESTS)
}

/// A small generator with fixed steps (splitmix64): the same requests for the same seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).expect("it is below a usize")
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const METHODS: &[&str] =
    &["GET", "GET", "GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO"];
const SEGMENTS: &[&str] = &[
    "api",
    "apis",
    "v1",
    "apps",
    "v1",
    "namespaces",
    "default",
    "pods",
    "a",
    "status",
    "binding",
    "nodes",
    "node-0",
    "deployments",
    "scale",
    "events",
    "events.k8s.io",
    "watch",
    "openapi",
    "v3",
    "%2e%2e",
    "%00",
    "%ff",
    "",
    "eviction",
    "leases",
    "coordination.k8s.io",
    "..",
    "版",
    "finalize",
    "version",
    "metrics",
    "selfsubjectaccessreviews",
    "authorization.k8s.io",
];
const PATHS: &[&str] = &[
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/a",
    "/api/v1/namespaces/default/pods/a/status",
    "/api/v1/namespaces/default/pods/a/binding",
    "/api/v1/namespaces/default/pods/a/eviction",
    "/api/v1/nodes/node-0",
    "/api/v1/nodes",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/a/scale",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/api/v1/namespaces/default",
    "/api/v1/persistentvolumes/a",
];
const QUERIES: &[&str] = &[
    "",
    "?limit=1",
    "?limit=-1",
    "?limit=1&continue=1-1",
    "?continue=x",
    "?labelSelector=a%3Db",
    "?labelSelector=(((",
    "?fieldSelector=metadata.name=a",
    "?fieldSelector=%5C",
    "?resourceVersion=99999999999999999999",
    "?watch=1&timeoutSeconds=0&resourceVersion=1",
    "?dryRun=All",
    "?fieldValidation=Strict",
    "?%zz",
    "?watch=true&sendInitialEvents=true",
    "?resourceVersion=0&resourceVersionMatch=Exact",
];
const TYPES: &[&str] = &[
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
    "application/vnd.kubernetes.protobuf",
    "",
];
const ACCEPTS: &[&str] = &[
    "application/json",
    "*/*",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    ";;;=,=,",
    "",
];
const BODIES: &[&str] = &[
    "",
    "{}",
    "[]",
    "null",
    "{",
    "\u{0}",
    "{\"kind\":\"Pod\"}",
    "{\"metadata\":null}",
    "{\"metadata\":{\"name\":\"a\"}}",
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
    "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}",
    "{\"target\":{\"kind\":\"Node\",\"name\":\"node-0\"}}",
    "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"}]}}",
    "{\"spec\":{\"replicas\":-5}}",
    "[{\"op\":\"remove\",\"path\":\"/metadata\"}]",
    "[{\"op\":\"add\",\"path\":\"/spec/x/-\",\"value\":1}]",
    "[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":{}}]",
    "{\"metadata\":{\"labels\":{\"$patch\":\"delete\"}}}",
    "{\"$patch\":\"replace\"}",
    "{\"metadata\":{\"resourceVersion\":\"x\"}}",
    "{\"status\":3}",
    "{\"spec\":[]}",
    "{\"data\":{\"a\":1}}",
];

fn request(draw: &mut Draw) -> Vec<u8> {
    let path = match draw.below(3) {
        0 => (0..draw.below(8)).map(|_| format!("/{}", draw.of(SEGMENTS))).collect(),
        _ => draw.of(PATHS).to_owned(),
    };
    let path = if path.is_empty() { "/".to_owned() } else { path };
    let mut body = draw.of(BODIES).as_bytes().to_vec();
    if draw.below(10) == 0 && !body.is_empty() {
        let at = draw.below(body.len());
        body[at] = u8::try_from(draw.below(256)).expect("a byte");
    }
    if draw.below(50) == 0 {
        // Nested deeper than anybody reads.
        body = [vec![b'['; 5000], vec![b']'; 5000]].concat();
    }
    let head = format!(
        "{} {path}{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\nAccept: {}\r\nContent-Length: {}\r\n\r\n",
        draw.of(METHODS),
        draw.of(QUERIES),
        draw.of(TYPES),
        draw.of(ACCEPTS),
        body.len()
    );
    [head.into_bytes(), body].concat()
}

#[test]
fn every_request_is_answered() {
    let served = serve(2);
    served.pod("a");
    let mut draw = Draw(1);
    for number in 0..request_count() {
        let bytes = request(&mut draw);
        let mut stream: TcpStream = served.connect();
        stream.write_all(&bytes).expect("sent");
        let (code, _) = read_head(&mut BufReader::new(stream));
        let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
        assert!((200..600).contains(&code), "request {number}: {code}: {}", shown());
        assert_ne!(code, 500, "request {number}: {}", shown());
    }
    assert_eq!(served.get("/readyz").code, 200);
    let name = "after-the-storm";
    let created = served.post("/api/v1/namespaces/kube-system/pods", &web_pod(name));
    assert_eq!(created.code, 201, "{}", created.json());
    assert_eq!(
        served.cluster.resource_version(),
        served.get("/api/v1/pods").json()["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    );
}

#[test]
fn bytes_of_any_kind_do_no_harm() {
    let served = serve(1);
    let mut draw = Draw(2);
    for _ in 0..300 {
        let mut bytes = request(&mut draw);
        for _ in 0..=draw.below(4) {
            let at = draw.below(bytes.len());
            bytes[at] = u8::try_from(draw.below(256)).expect("a byte");
        }
        let mut stream = served.connect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(20)));
        let mut some = [0; 512];
        let _ = stream.read(&mut some);
    }
    assert_eq!(served.get("/api/v1/nodes/node-0").code, 200);
}
