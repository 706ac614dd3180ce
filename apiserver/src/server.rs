//! The server: listens, holds connections to their limits, and hands requests on.
//!
//! ```text
//! accept ─▶ at most `connections_max` ─▶ head within 10 s ─▶ body within 30 s and 3 MiB ─▶ handle ─▶ answer
//!                                                                                     └─▶ watch: a task
//! ```
//!
//! A connection whose client takes nothing for 30 s is closed, whatever it is in the middle of.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use schedlab_cluster::{ApiError, EmbeddedCluster};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};

use crate::answer::{Answer, Refused};
use crate::audit::{Audit, AuditCount, AuditCounts, AuditKey};
use crate::body::ReplyBody;
use crate::feed::Feed;
use crate::handle::{App, Asked, Reply, answer};
use crate::io::Connection;
use crate::lists::ListPages;
use crate::watch::CHUNKS_WAITING;

/// Upstream: apiserver pkg/server/config.go `MaxRequestBodyBytes`.
const BODY_BYTES_MAX: usize = 3 << 20;
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Threads of a server that ends stop at their next rest.
const END_WITHIN: Duration = Duration::from_secs(2);
/// After `accept` failed, as when no descriptor is free.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(20);

/// How a server is to run.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Clients must send this as a bearer token.
    pub token: Option<String>,
    /// Threads that answer.
    pub threads: usize,
    /// Connections at once; more wait.
    pub connections_max: usize,
}

impl Default for ServeOptions {
    /// A free port of loopback, two threads.
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 0)), token: None, threads: 2, connections_max: 2000 }
    }
}

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// No threads.
    #[error("cannot start the threads of the API server: {0}")]
    Threads(std::io::Error),
    /// The store cannot be read.
    #[error("cannot read the cluster: {0}")]
    Cluster(ApiError),
}

/// A server that runs. Dropping it ends it: connections are closed, its threads end.
pub struct ApiServer {
    address: SocketAddr,
    app: Arc<App>,
    runtime: Option<Runtime>,
    feed_thread: Option<JoinHandle<()>>,
}

impl ApiServer {
    /// Serves a cluster.
    pub fn start(cluster: EmbeddedCluster, options: ServeOptions) -> Result<ApiServer, ServeError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(options.threads.max(1)).thread_name("apiserver").enable_io().enable_time();
        let runtime = builder.build().map_err(ServeError::Threads)?;
        let refused = |error| ServeError::Listen { address: options.listen, error };
        let listener = runtime.block_on(TcpListener::bind(options.listen)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (feed, feed_thread) = Feed::start(cluster.clone()).map_err(ServeError::Cluster)?;
        let app = Arc::new(App {
            cluster,
            feed,
            audit: Audit::default(),
            pages: ListPages::default(),
            token: options.token,
            address: address.to_string(),
        });
        let places = Arc::new(Semaphore::new(options.connections_max.max(1)));
        runtime.spawn(accept(listener, Arc::clone(&app), places));
        Ok(ApiServer { address, app, runtime: Some(runtime), feed_thread: Some(feed_thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The calls so far. Subtract an earlier reading with [`audit_since`](crate::audit_since).
    #[must_use]
    pub fn audit(&self) -> AuditCounts {
        self.app.audit.read()
    }

    /// A kubeconfig that leads here.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        crate::kubeconfig::text(&self.url(), self.app.token.as_deref())
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waits for the listener to be closed, and not for clients.
            runtime.shutdown_timeout(END_WITHIN);
        }
        self.app.feed.stop();
        if let Some(thread) = self.feed_thread.take() {
            // A panic there has been reported already.
            drop(thread.join());
        }
    }
}

async fn accept(listener: TcpListener, app: Arc<App>, places: Arc<Semaphore>) {
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let app = Arc::clone(&app);
                tokio::spawn(async move {
                    serve_connection(stream, app).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(AFTER_FAILED_ACCEPT).await,
        }
    }
}

async fn serve_connection(stream: TcpStream, app: Arc<App>) {
    // Answers are small and waited for. Without the option they come later, so failure does no harm.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, std::convert::Infallible>(respond(app, request).await) }
    });
    let mut server = http1::Builder::new();
    server
        .timer(crate::io::Timers)
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    // A client that breaks off or sends nonsense has got its answer, or wants none.
    let _ = server.serve_connection(Connection::new(stream), service).await;
}

async fn respond(app: Arc<App>, request: Request<Incoming>) -> Response<ReplyBody> {
    let is_head = request.method() == Method::HEAD;
    let mut response = respond_with_body(app, request).await;
    if is_head {
        *response.body_mut() = ReplyBody::whole(Bytes::new());
    }
    response
}

async fn respond_with_body(app: Arc<App>, request: Request<Incoming>) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    let asked = Asked::read(head.method, head.uri.path(), head.uri.query(), &head.headers);
    let asked = match asked {
        Ok(asked) => asked,
        Err(refused) => return whole(refused.answer()),
    };
    let key = asked.audit_key();
    let mut count = AuditCount { calls: 1, ..AuditCount::default() };
    let allowed = check_browser(&head.headers).and_then(|()| check_token(&app, &head.headers));
    let reply = match allowed {
        Ok(()) => match read_body(body).await {
            Ok(body) => {
                count.received_bytes = body.len() as u64;
                answer(&app, &asked, body).await
            }
            Err(refused) => Err(refused),
        },
        Err(refused) => Err(refused),
    };
    match reply {
        Ok(Reply::Watch(watch)) => {
            app.audit.add(&key, count);
            let (sender, receiver) = mpsc::channel(CHUNKS_WAITING);
            tokio::spawn(watch.run(app, key, sender));
            response(StatusCode::OK, crate::answer::JSON, ReplyBody::stream(receiver))
        }
        Ok(Reply::Whole(answer)) => finish(&app, &key, count, answer),
        Err(refused) => {
            count.failed = 1;
            finish(&app, &key, count, refused.answer())
        }
    }
}

fn finish(app: &App, key: &AuditKey, mut count: AuditCount, answer: Answer) -> Response<ReplyBody> {
    count.sent_bytes = answer.body.len() as u64;
    app.audit.add(key, count);
    whole(answer)
}

fn whole(answer: Answer) -> Response<ReplyBody> {
    response(answer.code, answer.content_type, ReplyBody::whole(answer.body))
}

fn response(code: StatusCode, content_type: &'static str, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert("cache-control", HeaderValue::from_static("no-cache, private"));
    if code == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Pages of other sites must not reach the API through a browser: neither by a request of theirs, nor under
/// a name of theirs that was rebound to this machine. Clients of the API send no `Origin` and name an
/// address, `localhost`, or a name that no browser takes for a site.
fn check_browser(headers: &HeaderMap) -> Result<(), Refused> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name =
        host.rsplit_once(':').map_or(host, |(name, port)| if port.contains(']') { host } else { name });
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_local = name.is_empty() || name == "localhost" || address.parse::<IpAddr>().is_ok();
    if headers.contains_key(ORIGIN) || !is_local {
        return Err(Refused::for_a_browser());
    }
    Ok(())
}

fn check_token(app: &App, headers: &HeaderMap) -> Result<(), Refused> {
    let Some(token) = &app.token else { return Ok(()) };
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    let is_right = given.is_some_and(|given| is_equal(given.trim().as_bytes(), token.as_bytes()));
    if is_right { Ok(()) } else { Err(Refused::unauthorized()) }
}

/// Looks at every byte, so that the time does not tell how many were right.
fn is_equal(given: &[u8], wanted: &[u8]) -> bool {
    let differences = given.iter().zip(wanted).fold(0, |sum, (given, wanted)| sum | (given ^ wanted));
    given.len() == wanted.len() && differences == 0
}

async fn read_body(body: Incoming) -> Result<Bytes, Refused> {
    let read = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Refused::too_large(BODY_BYTES_MAX))
        }
        Ok(Err(error)) => Err(ApiError::bad_request(format!("the body cannot be read: {error}")).into()),
        Err(_) => Err(Refused::too_slow()),
    }
}
