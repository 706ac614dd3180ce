//! An extender to try things with: keeps the nodes whose names contain a word, and likes those
//! best whose names are short. One thread, std only.
//!
//! ```text
//! cargo run -p schedlab-cluster --example extender_server -- 127.0.0.1:8888 node
//!
//! extenders:
//! - urlPrefix: http://127.0.0.1:8888
//!   filterVerb: filter
//!   prioritizeVerb: prioritize
//!   weight: 1
//!   nodeCacheCapable: true
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

use serde_json::{Value, json};

/// The longest request that is read: whole nodes of a large cluster.
const REQUEST_BYTES_MAX: usize = 256 << 20;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8888".to_owned());
    let word = args.next().unwrap_or_default();
    let listener = match TcpListener::bind(&address) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("{address}: cannot listen: {error}; name another ADDRESS:PORT");
            return ExitCode::from(2);
        }
    };
    println!("listening on http://{address}, keeping nodes with {word:?} in their names");
    for stream in listener.incoming() {
        if let Err(error) = stream.and_then(|stream| serve(stream, &word)) {
            eprintln!("a request failed: {error}");
        }
    }
    ExitCode::SUCCESS
}

/// One request a connection: simple, and fast enough to see the cost of extenders.
fn serve(stream: TcpStream, word: &str) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (path, body) = read_request(&mut reader)?;
    let (code, answer) = match (path.rsplit('/').next(), serde_json::from_slice::<Value>(&body)) {
        (_, Err(error)) => (400, json!({"Error": error.to_string()})),
        (Some("filter"), Ok(args)) => (200, filter(&args, word)),
        (Some("prioritize"), Ok(args)) => (200, prioritize(&args)),
        (verb, Ok(_)) => (404, json!({"Error": format!("there is no verb {verb:?} here")})),
    };
    let text = answer.to_string();
    let stream = reader.get_mut();
    write!(
        stream,
        "HTTP/1.1 {code} answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    if length > REQUEST_BYTES_MAX {
        return Err(io::Error::other(format!("a request of {length} bytes")));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, body))
}

/// The names asked about, and the nodes if they came whole.
fn names(args: &Value) -> Vec<(String, Option<&Value>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(names) = args["NodeNames"].as_array() {
        return names.iter().map(|name| (text(name), None)).collect();
    }
    let nodes = args["Nodes"]["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    nodes.iter().map(|node| (text(&node["metadata"]["name"]), Some(node))).collect()
}

/// Answers in the way it was asked: names for names, nodes for nodes.
fn filter(args: &Value, word: &str) -> Value {
    let (kept, out): (Vec<_>, Vec<_>) = names(args).into_iter().partition(|(name, _)| name.contains(word));
    let failed: serde_json::Map<String, Value> = out
        .into_iter()
        .map(|(name, _)| (name, json!(format!("node(s) had no {word:?} in their names"))))
        .collect();
    if args["NodeNames"].is_array() {
        let kept: Vec<String> = kept.into_iter().map(|(name, _)| name).collect();
        return json!({"NodeNames": kept, "FailedNodes": failed});
    }
    let kept: Vec<&Value> = kept.into_iter().filter_map(|(_, node)| node).collect();
    json!({"Nodes": {"items": kept}, "FailedNodes": failed})
}

/// 10 points for the shortest name, one less for each letter more.
fn prioritize(args: &Value) -> Value {
    let names = names(args);
    let shortest = names.iter().map(|(name, _)| name.len()).min().unwrap_or(0);
    let score = |name: &str| 10usize.saturating_sub(name.len() - shortest);
    names.iter().map(|(name, _)| json!({"Host": name, "Score": score(name)})).collect()
}
