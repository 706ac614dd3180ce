//! `schedlab run --metrics`: what is measured, for a Prometheus server to fetch meanwhile.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use schedlab_perf_dash::metrics::prometheus_text;
use schedlab_workloads::executor::Progress;
use schedlab_workloads::measure::Live;
use schedlab_workloads::metrics::MetricValues;

use crate::http::{Body, Request, Server, Stopper};
use crate::progress::complain;

/// Serves on loopback until it is dropped.
pub(crate) struct Metrics {
    stopper: Stopper,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State(Mutex<Known>);

/// What can be told now.
#[derive(Default)]
struct Known {
    /// Of schedulers that have ended.
    past: MetricValues,
    /// The one that runs.
    live: Option<Live>,
}

impl Metrics {
    /// Begins to listen.
    pub(crate) fn serve(address: SocketAddr, allowed_hosts: &[String]) -> Result<Metrics> {
        if !address.ip().is_loopback() {
            bail!("--metrics {address}: only loopback addresses, as 127.0.0.1:9090");
        }
        let server = Server::bind(address, allowed_hosts)
            .with_context(|| format!("--metrics {address}: cannot listen there"))?;
        complain(&format!("schedlab: metrics on http://{}/metrics", server.address()));
        let (stopper, state) = (server.stopper(), Arc::new(State::default()));
        let state_there = Arc::clone(&state);
        let answer = move |request: Request| match request.target.as_str() {
            "/metrics" => {
                let kind = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
                request.respond(200, &[kind], Body::Text(state_there.text()));
            }
            _ => request.respond(404, &[], Body::Text("the metrics are at /metrics\n".to_owned())),
        };
        let thread = std::thread::spawn(move || server.run(answer));
        Ok(Metrics { stopper, state, thread: Some(thread) })
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
        self.stopper.stop();
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
