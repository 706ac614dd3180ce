//! An extender on loopback: one thread, one request a connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

/// What the server answers.
pub(super) enum Answer {
    Json(Value),
    Text(&'static str),
    Status(u16),
    /// A status with a `Location`.
    Redirect(u16, String),
    /// Nothing, until the client gives up.
    Never,
}

type Handler = dyn FnMut(&str, &Value) -> Answer + Send;

pub(super) struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    pub(super) fn start(mut handler: impl FnMut(&str, &Value) -> Answer + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("it is bound");
        let (stop, requests) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (stopped, log) = (Arc::clone(&stop), Arc::clone(&requests));
        let thread = std::thread::spawn(move || {
            // Kept open, so that a client that gets no answer waits for its own timeout.
            let mut unanswered = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                let stream = stream.expect("a connection");
                if let Some(stream) = serve(stream, &mut handler, &log) {
                    unanswered.push(stream);
                }
            }
        });
        Server { address, stop, thread: Some(thread), requests }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/scheduler", self.address)
    }

    /// Verbs and bodies, in order.
    pub(super) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().expect("no handler panicked").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: TcpStream, handler: &mut Handler, log: &Mutex<Vec<(String, Value)>>) -> Option<TcpStream> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a request line");
    let method = line.split(' ').next().expect("POST PATH HTTP/1.1").to_owned();
    let path = line.split(' ').nth(1).expect("POST PATH HTTP/1.1").to_owned();
    let verb = path.rsplit('/').next().expect("a path").to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a header");
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    // A redirect by 301 to 303 is followed by a GET without a body.
    let body = if method == "GET" && body.is_empty() { b"null".to_vec() } else { body };
    let body: Value = serde_json::from_slice(&body).expect("the scheduler sends JSON");
    let answer = handler(&verb, &body);
    log.lock().expect("no handler panicked").push((verb, body));
    let mut location = String::new();
    let (code, text) = match answer {
        Answer::Json(value) => (200, value.to_string()),
        Answer::Text(text) => (200, text.to_owned()),
        Answer::Status(code) => (code, "{}".to_owned()),
        Answer::Redirect(code, there) => {
            location = format!("Location: {there}\r\n");
            (code, "{}".to_owned())
        }
        Answer::Never => return Some(reader.into_inner()),
    };
    let length = text.len();
    let head =
        format!("HTTP/1.1 {code} X\r\n{location}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    // The client may have given up.
    let _ = reader.get_mut().write_all(format!("{head}{text}").as_bytes());
    None
}
