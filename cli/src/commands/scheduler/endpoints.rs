//! What tells an operator, or a kubelet, how the scheduler is.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, bail};
use schedlab_perf_dash::metrics::prometheus_text;
use schedlab_workloads::measure::Live;

use crate::http::{Body, Request, Server, Stopper};

/// How the scheduler is.
#[derive(Default)]
pub(super) struct Health {
    /// What keeps it from working; nothing of a scheduler that is well.
    pub(super) ill: Option<String>,
    /// What it still waits for.
    pub(super) not_ready: Option<String>,
    /// What can be read of it, once it schedules.
    pub(super) live: Option<Live>,
}

/// Serves on loopback until it is dropped.
pub(super) struct Endpoints {
    pub(super) health: Arc<Mutex<Health>>,
    server: Option<(Stopper, JoinHandle<()>)>,
}

impl Endpoints {
    /// Begins to listen, if there is an address. Where it does is told to `tell`.
    pub(super) fn serve(address: Option<SocketAddr>, tell: &dyn Fn(&str)) -> Result<Endpoints> {
        let not_ready = Some("informers are not synced".to_owned());
        let health = Arc::new(Mutex::new(Health { not_ready, ..Health::default() }));
        let Some(address) = address else { return Ok(Endpoints { health, server: None }) };
        if !address.ip().is_loopback() {
            bail!("--bind-address {address}: only loopback addresses, as 127.0.0.1:10259");
        }
        let server = Server::bind(address, &[])
            .with_context(|| format!("--bind-address {address}: cannot listen there"))?;
        tell(&format!("Health and metrics on http://{}", server.address()));
        let (stopper, there) = (server.stopper(), Arc::clone(&health));
        let thread = std::thread::spawn(move || server.run(move |request| answer(request, &there)));
        Ok(Endpoints { health, server: Some((stopper, thread)) })
    }

    /// Changes what is told.
    pub(super) fn set(&self, change: impl FnOnce(&mut Health)) {
        change(&mut self.health.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Endpoints {
    fn drop(&mut self) {
        if let Some((stopper, thread)) = self.server.take() {
            stopper.stop();
            // A panic there has been reported already.
            drop(thread.join());
        }
    }
}

fn answer(request: Request, health: &Mutex<Health>) {
    let known = health.lock().unwrap_or_else(PoisonError::into_inner);
    let told = match request.target.as_str() {
        "/healthz" | "/livez" => of(known.ill.as_ref()),
        "/readyz" => of(known.ill.as_ref().or(known.not_ready.as_ref())),
        "/metrics" => {
            let live = known.live.clone();
            // The scheduler is asked for its counts: others must not wait meanwhile.
            drop(known);
            let text = live.and_then(|live| live.read()).map(|series| prometheus_text(&series));
            let kind = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            return request.respond(200, &[kind], Body::Text(text.unwrap_or_default()));
        }
        _ => (404, "here are /healthz, /livez, /readyz and /metrics\n".to_owned()),
    };
    drop(known);
    request.respond(told.0, &[], Body::Text(told.1));
}

fn of(trouble: Option<&String>) -> (u16, String) {
    trouble.map_or_else(|| (200, "ok".to_owned()), |trouble| (503, format!("{trouble}\n")))
}
