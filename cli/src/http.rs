//! A small HTTP server for loopback: `serve` and `run --metrics`.
//!
//! ```text
//! accept ──▶ a thread a connection, at most CONNECTIONS_MAX ──▶ head within HEAD_TIMEOUT ──▶ checks ──▶ handler
//!    │ no descriptor or no place left: the connection that has been idle longest is closed
//! ```
//!
//! One request a connection, GET and HEAD only, no bodies. An error of `accept` never ends it: with
//! every descriptor taken it goes on as soon as one is free. A request must name this machine in
//! `Host`: a page of another site whose name was rebound to 127.0.0.1 is refused.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Connections at once: a browser opens six, and one for events a tab.
const CONNECTIONS_MAX: usize = 64;
/// Descriptors that are left to the rest of the process.
const DESCRIPTORS_KEPT: usize = 24;

/// Connections that the process has descriptors for: each may need a second one, for its page.
fn connections_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let descriptors = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    (descriptors.saturating_sub(DESCRIPTORS_KEPT) / 2).clamp(4, CONNECTIONS_MAX)
}
/// Line and headers of a request.
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Within this time a request must have been sent.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// A reader that takes nothing for so long is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// What is still read of a client that sends more than it should, so that it sees the answer.
const DRAIN_BYTES_MAX: u64 = 64 << 10;
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// After `accept` failed: the thread of the connection that was closed then gives back its descriptor.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(5);
/// How soon the server notices that it shall end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// At the end, answers under way get so long.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Listens; [`Server::run`] answers.
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    hosts: Arc<Vec<String>>,
    shared: Arc<Shared>,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub(crate) struct Stopper(Arc<Shared>);

struct Shared {
    connections_max: usize,
    open: Mutex<Open>,
    freed: Condvar,
    is_stopped: AtomicBool,
}

#[derive(Default)]
struct Open {
    count: usize,
    /// Those whose request has not come yet, the oldest first.
    idle: VecDeque<Arc<TcpStream>>,
}

impl Open {
    /// Closes the connection that has been idle longest; its thread then ends and gives back its
    /// descriptor.
    fn close_longest_idle(&mut self) {
        if let Some(stream) = self.idle.pop_front() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// A request that was checked.
pub(crate) struct Request {
    stream: Arc<TcpStream>,
    /// Begins with a slash; neither decoded nor split.
    pub(crate) target: String,
    is_head: bool,
}

/// What is answered.
pub(crate) enum Body {
    Text(String),
    File(File),
}

impl Server {
    /// Binds. `allowed_hosts` are names beside those of loopback and the address itself.
    pub(crate) fn bind(address: SocketAddr, allowed_hosts: &[String]) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
        let others = allowed_hosts.iter().map(|host| host.to_ascii_lowercase());
        let hosts = own.chain([address.ip().to_string()]).chain(others).collect();
        let shared = Arc::new(Shared {
            connections_max: connections_max(),
            open: Mutex::default(),
            freed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
        });
        Ok(Server { listener, address, hosts: Arc::new(hosts), shared })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Answers until it is stopped.
    pub(crate) fn run(&self, handler: impl Fn(Request) + Send + Sync + 'static) {
        let handler = Arc::new(handler);
        while !self.shared.is_stopped.load(Ordering::SeqCst) {
            if !self.has_pending_connection() {
                continue;
            }
            match self.listener.accept() {
                Ok((stream, _)) => self.take(stream, &handler),
                Err(error) if is_of_one_connection(&error) => {}
                // No descriptor or no memory is left. Neither is a reason to end.
                Err(_) => {
                    self.shared.lock().close_longest_idle();
                    thread::sleep(AFTER_FAILED_ACCEPT);
                }
            }
        }
        self.shared.wait_for_last_answers();
    }

    fn has_pending_connection(&self) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        let mut listener = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
        matches!(poll(&mut listener, Some(&timeout)), Ok(ready) if 0 < ready)
    }

    fn take(&self, stream: TcpStream, handler: &Arc<impl Fn(Request) + Send + Sync + 'static>) {
        let stream = Arc::new(stream);
        let Some(place) = Place::wait(&self.shared, &stream) else { return };
        let (hosts, handler) = (Arc::clone(&self.hosts), Arc::clone(handler));
        let serve = move || {
            if let Ok(Some(request)) = read_request(&stream, &hosts, &place) {
                handler(request);
            }
            drop(place);
        };
        // A thread that cannot be made closes the connection, by dropping what it was given.
        let _ = thread::Builder::new().name("http".to_owned()).spawn(serve);
    }
}

/// Errors after which the next connection may be taken at once.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

impl Stopper {
    /// Ends the server soon.
    pub(crate) fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        self.0.freed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_last_answers(&self) {
        let until = Instant::now() + LAST_ANSWERS;
        let mut open = self.lock();
        while 0 < open.count && Instant::now() < until {
            open = self.freed.wait_timeout(open, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One of the connections that may be open; given back when dropped.
struct Place {
    shared: Arc<Shared>,
    stream: Arc<TcpStream>,
}

impl Place {
    /// Waits for a place; `None` when the server ends meanwhile.
    fn wait(shared: &Arc<Shared>, stream: &Arc<TcpStream>) -> Option<Place> {
        let mut open = shared.lock();
        while shared.connections_max <= open.count {
            if shared.is_stopped.load(Ordering::SeqCst) {
                return None;
            }
            open.close_longest_idle();
            open = shared.freed.wait_timeout(open, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        open.count += 1;
        open.idle.push_back(Arc::clone(stream));
        Some(Place { shared: Arc::clone(shared), stream: Arc::clone(stream) })
    }

    /// Its request is here, or it ends: it is idle no more.
    fn leave_idle(&self) {
        self.shared.lock().idle.retain(|idle| !Arc::ptr_eq(idle, &self.stream));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave_idle();
        self.shared.lock().count -= 1;
        self.shared.freed.notify_all();
    }
}

/// Reads and checks a request; what is wrong with it is answered here.
fn read_request(stream: &Arc<TcpStream>, hosts: &[String], place: &Place) -> io::Result<Option<Request>> {
    // Whether this is inherited from the listener depends on the system.
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let head = read_head(stream)?;
    place.leave_idle();
    match head.and_then(|head| checked(&head, hosts)) {
        Ok((target, is_head)) => Ok(Some(Request { stream: Arc::clone(stream), target, is_head })),
        Err((status, why)) => {
            let answer = Request { stream: Arc::clone(stream), target: String::new(), is_head: false };
            answer.respond(status, &[], Body::Text(format!("{why}\n")));
            Ok(None)
        }
    }
}

/// A status and what is wrong.
type Refused = (u16, &'static str);

fn read_head(stream: &TcpStream) -> io::Result<Result<Vec<u8>, Refused>> {
    let until = Instant::now() + HEAD_TIMEOUT;
    let mut head = Vec::new();
    let mut chunk = [0; 2048];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err((408, "the request took too long")));
        }
        stream.set_read_timeout(Some(left))?;
        let count = match (&mut &*stream).read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // An end may lie across two chunks.
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&chunk[..count]);
        if head[from..].windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Ok(head));
        }
        if HEAD_BYTES_MAX < head.len() {
            return Ok(Err((431, "the request's headers are too long")));
        }
    }
}

/// Target and whether only the head is wanted.
fn checked(head: &[u8], hosts: &[String]) -> Result<(String, bool), Refused> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err((431, "the request has too many headers")),
        Ok(httparse::Status::Partial) | Err(_) => return Err((400, "not an HTTP request")),
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err((405, "only GET and HEAD")),
    };
    let target = request.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err((400, "the request's target is not a path"));
    }
    let named = |name: &'static str| {
        let values = request.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        values.map(|header| std::str::from_utf8(header.value).unwrap_or("").trim())
    };
    let has_body =
        named("content-length").any(|length| length != "0") || named("transfer-encoding").next().is_some();
    if has_body {
        return Err((413, "requests have no body here"));
    }
    let mut given = named("host");
    match (given.next(), given.next()) {
        (Some(host), None) if is_allowed(host, hosts) => Ok((target.to_owned(), is_head)),
        (Some(_), None) => {
            Err((403, "this host name is not served; name it with --allow-host (run: --metrics-allow-host)"))
        }
        _ => Err((400, "exactly one Host header is needed")),
    }
}

/// Whether `Host` names this server. Its port says nothing about who asks.
fn is_allowed(host: &str, hosts: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    hosts.contains(&name)
}

impl Request {
    /// Answers. A reader that went away is not our problem.
    pub(crate) fn respond(self, status: u16, headers: &[(&str, &str)], body: Body) {
        let _ = self.send(status, headers, body);
        let _ = self.stream.shutdown(Shutdown::Write);
        // A connection that is closed with something unread takes the answer back.
        let _ = self.stream.set_read_timeout(Some(DRAIN_TIMEOUT));
        let _ = io::copy(&mut (&*self.stream).take(DRAIN_BYTES_MAX), &mut io::sink());
    }

    fn send(&self, status: u16, headers: &[(&str, &str)], body: Body) -> io::Result<()> {
        let (length, content): (u64, Box<dyn Read>) = match body {
            Body::Text(text) => (text.len() as u64, Box::new(io::Cursor::new(text))),
            Body::File(file) => (file.metadata()?.len(), Box::new(file)),
        };
        let mut head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n",
            reason(status)
        );
        if !headers.iter().any(|(name, _)| *name == "Content-Type") {
            head.push_str("Content-Type: text/plain; charset=utf-8\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = &*self.stream;
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        if !self.is_head {
            // A file that grows meanwhile is sent as long as was said.
            io::copy(&mut content.take(length), &mut stream)?;
        }
        stream.flush()
    }

    /// The connection, for an answer that does not end.
    pub(crate) fn into_stream(self) -> Arc<TcpStream> {
        self.stream
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Running(SocketAddr, Stopper, Option<thread::JoinHandle<()>>);

    impl Running {
        fn start(allowed_hosts: &[&str]) -> Running {
            let hosts: Vec<String> = allowed_hosts.iter().map(|&host| host.to_owned()).collect();
            let server = Server::bind("127.0.0.1:0".parse().expect("an address"), &hosts).expect("bound");
            let (address, stopper) = (server.address(), server.stopper());
            let hello = |request: Request| {
                let text = format!("you asked for {}", request.target);
                request.respond(200, &[], Body::Text(text));
            };
            Running(address, stopper, Some(thread::spawn(move || server.run(hello))))
        }

        fn ask(&self, request: &[u8]) -> String {
            let mut stream = TcpStream::connect(self.0).expect("connects");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
            // A server that has read enough may close before all is sent.
            let _ = stream.write_all(request);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            String::from_utf8_lossy(&answer).into_owned()
        }

        fn host(&self, host: &str) -> String {
            self.ask(format!("GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            self.1.stop();
            if let Some(thread) = self.2.take() {
                thread.join().expect("the server ends without a panic");
            }
        }
    }

    #[test]
    fn rebound_host_names_are_refused() {
        let server = Running::start(&["lab.example"]);
        let own = server.0.to_string();
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:80", "localhost.", "lab.example:1", &own]
        {
            let answer = server.host(host);
            assert!(
                answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("you asked for /x"),
                "{host}: {answer}"
            );
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", ""] {
            assert!(server.host(host).starts_with("HTTP/1.1 403 "), "{host}");
        }
        let none = server.ask(b"GET / HTTP/1.1\r\n\r\n");
        let two = server.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n");
        let absolute = server.ask(b"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!([none, two, absolute].iter().all(|answer| answer.starts_with("HTTP/1.1 400 ")));
    }

    #[test]
    fn oversized_and_malformed_requests_are_refused_with_a_status() {
        let server = Running::start(&[]);
        let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
        let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(100));
        let body = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n";
        let chunked = "GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
        let cases = [
            (long.as_str(), 431),
            (&many, 431),
            (body, 413),
            (chunked, 413),
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
            ("nonsense\r\n\r\n", 400),
            ("\u{0}\u{1}\r\n\r\n", 400),
        ];
        for (request, status) in cases {
            let answer = server.ask(request.as_bytes());
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{}: {answer}",
                &request[..20.min(request.len())]
            );
        }
        let head = server.ask(b"HEAD /y HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(head.contains("Content-Length: 16\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn idle_connections_time_out_and_do_not_block_requests() {
        let server = Running::start(&[]);
        let idle: Vec<TcpStream> =
            (0..3 * CONNECTIONS_MAX).map(|_| TcpStream::connect(server.0).expect("connects")).collect();
        let asked = Instant::now();
        assert!(server.host("localhost").starts_with("HTTP/1.1 200 "));
        assert!(asked.elapsed() < HEAD_TIMEOUT * 2, "{:?}", asked.elapsed());
        for mut stream in idle {
            stream.set_read_timeout(Some(HEAD_TIMEOUT * 3)).expect("set");
            let mut answer = String::new();
            // Closed, or told that it took too long; never left open.
            let _ = stream.read_to_string(&mut answer);
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
        }
        assert!(asked.elapsed() < HEAD_TIMEOUT * 3, "{:?}", asked.elapsed());
    }
}
