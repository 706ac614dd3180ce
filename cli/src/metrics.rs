//! `schedlab run --metrics`: what is measured, for a Prometheus server to fetch meanwhile.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use schedlab_perf_dash::metrics::prometheus_text;
use schedlab_workloads::executor::Progress;
use schedlab_workloads::measure::Live;
use schedlab_workloads::metrics::Series;
use tiny_http::{Header, Response, Server};

use crate::progress::complain;

/// Serves on loopback until it is dropped.
pub(crate) struct Metrics {
    server: Arc<Server>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State(Mutex<Known>);

/// What can be told now.
#[derive(Default)]
struct Known {
    /// Of schedulers that have ended.
    past: Series,
    /// The one that runs.
    live: Option<Live>,
}

impl Metrics {
    /// Begins to listen.
    pub(crate) fn serve(address: SocketAddr) -> Result<Metrics> {
        if !address.ip().is_loopback() {
            bail!("--metrics {address}: only loopback addresses, as 127.0.0.1:9090");
        }
        let server = Server::http(address)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("--metrics {address}: cannot listen there"))?;
        complain(&format!("schedlab: metrics on http://{}/metrics", server.server_addr()));
        let (server, state) = (Arc::new(server), Arc::new(State::default()));
        let (for_thread, state_there) = (Arc::clone(&server), Arc::clone(&state));
        let thread = std::thread::spawn(move || {
            for request in for_thread.incoming_requests() {
                let response = match request.url() {
                    "/metrics" => Response::from_string(state_there.text()),
                    _ => Response::from_string("the metrics are at /metrics\n").with_status_code(404),
                };
                let kind = "Content-Type: text/plain; version=0.0.4; charset=utf-8".parse::<Header>();
                // A scraper that went away is not our problem.
                let _ = request.respond(kind.into_iter().fold(response, Response::with_header));
            }
        });
        Ok(Metrics { server, state, thread: Some(thread) })
    }

    /// A progress that also knows which scheduler runs.
    pub(crate) fn watch<'a>(&'a self, inner: &'a dyn Progress) -> Watched<'a> {
        Watched { state: &self.state, inner }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        let known = self.lock();
        match known.live.as_ref().and_then(Live::read) {
            None => prometheus_text(&known.past),
            Some(now) => {
                // The later one says how things stand.
                let mut all = known.past.clone();
                all.merge(&now);
                prometheus_text(&all)
            }
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Passes progress on and keeps hold of the scheduler that runs.
pub(crate) struct Watched<'a> {
    state: &'a State,
    inner: &'a dyn Progress,
}

impl Progress for Watched<'_> {
    fn op_begins(&self, index: usize, count: usize, what: &str) {
        self.inner.op_begins(index, count, what);
    }

    fn pods(&self, scheduled: u64, wanted: u64) {
        self.inner.pods(scheduled, wanted);
    }

    fn notice(&self, text: &str) {
        self.inner.notice(text);
    }

    fn begins(&self, live: &Live) {
        self.state.lock().live = Some(live.clone());
        self.inner.begins(live);
    }

    fn ends(&self, live: &Live) {
        // Read before the lock is taken: a scrape that waits for it must not hold up the scheduler.
        let last = live.read();
        let mut known = self.state.lock();
        known.live = None;
        if let Some(last) = last {
            known.past.merge(&last.ended());
        }
        drop(known);
        self.inner.ends(live);
    }
}
