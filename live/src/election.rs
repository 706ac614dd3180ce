//! Leader election by a lease: of several schedulers one schedules, and another one takes over when its
//! lease runs out.
//!
//! ```text
//! standing by ──the lease is free, released or has run out──▶ leading ──not renewed in time──▶ lost
//!      ▲  └────── looks every retry period                       └──release──▶ (the next one may lead at once)
//! ```
//!
//! A lease has run out when nobody has changed it for its own duration, on our clock: clocks of machines are
//! not compared.
//!
//! Upstream: client-go tools/leaderelection/leaderelection.go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use schedlab_cluster::{ApiError, StatusReason};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster::micros_now;
use crate::connect::Connection;
use crate::requests::{BodyKind, CallLimit, Requests};

/// The lease and its times, as `leaderElection` of a KubeSchedulerConfiguration says them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// `resourceNamespace`.
    pub namespace: String,
    /// `resourceName`.
    pub name: String,
    /// Who we are; no other scheduler has this name.
    pub identity: String,
    /// `leaseDuration`.
    pub lease_duration: Duration,
    /// `renewDeadline`.
    pub renew_deadline: Duration,
    /// `retryPeriod`.
    pub retry_period: Duration,
}

impl ElectionSettings {
    /// kube-scheduler's lease and times.
    #[must_use]
    pub fn new(identity: String) -> ElectionSettings {
        ElectionSettings {
            namespace: "kube-system".to_owned(),
            name: "kube-scheduler".to_owned(),
            identity,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Where we stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// Somebody else leads, or nobody knows.
    StandingBy {
        /// Who, if anybody does.
        leader: String,
    },
    /// We lead.
    Leading,
    /// We led, and could not renew the lease: another one may lead already.
    Lost,
}

/// Takes part in an election until it is released. Dropping it leaves the lease to run out.
#[derive(Debug)]
pub struct LeaderElection {
    connection: Arc<Connection>,
    standing: watch::Receiver<Leadership>,
    release: watch::Sender<bool>,
}

impl LeaderElection {
    /// Begins to stand for election.
    #[must_use]
    pub fn start(connection: Arc<Connection>, settings: ElectionSettings) -> LeaderElection {
        let (told, standing) = watch::channel(Leadership::StandingBy { leader: String::new() });
        let (release, released) = watch::channel(false);
        let requests = Requests::new(connection.client.clone(), CallLimit::None);
        let elector = Elector { requests, settings, seen: None };
        connection.handle().spawn(elector.run(told, released));
        LeaderElection { connection, standing, release }
    }

    /// Where we stand now.
    #[must_use]
    pub fn standing(&self) -> Leadership {
        self.standing.borrow().clone()
    }

    /// Gives the lease back, if we have it, so that another one leads at once.
    pub fn release(self) {
        // An elector that lost the lease has ended and listens no more.
        let _ = self.release.send(true);
        let LeaderElection { connection, mut standing, .. } = self;
        let ended = async { while standing.changed().await.is_ok() {} };
        // A server that does not answer keeps nobody: the lease runs out.
        let _ = connection.handle().block_on(async { tokio::time::timeout(RELEASE_WITHIN, ended).await });
    }
}

/// How long the release of a lease is waited for.
const RELEASE_WITHIN: Duration = Duration::from_secs(3);

/// A lease as it was seen.
struct Seen {
    object: Value,
    /// When it was seen to change.
    at: Instant,
}

impl Seen {
    fn spec(&self, field: &str) -> &Value {
        &self.object["spec"][field]
    }

    fn holder(&self) -> &str {
        self.spec("holderIdentity").as_str().unwrap_or_default()
    }

    fn has_run_out(&self) -> bool {
        let seconds = self.spec("leaseDurationSeconds").as_u64().unwrap_or(0);
        Duration::from_secs(seconds) <= self.at.elapsed()
    }
}

struct Elector {
    requests: Requests,
    settings: ElectionSettings,
    seen: Option<Seen>,
}

impl Elector {
    async fn run(mut self, told: watch::Sender<Leadership>, mut released: watch::Receiver<bool>) {
        loop {
            if self.try_acquire_or_renew().await.unwrap_or(false) {
                break;
            }
            let leader = self.seen.as_ref().map(|seen| seen.holder().to_owned()).unwrap_or_default();
            told.send_replace(Leadership::StandingBy { leader });
            if wait_or_release(self.settings.retry_period, &mut released).await {
                return;
            }
        }
        told.send_replace(Leadership::Leading);
        let mut renewed = Instant::now();
        loop {
            if wait_or_release(self.settings.retry_period, &mut released).await {
                // Refused or lost: the lease runs out by itself.
                let _ = self.put(&self.released_spec()).await;
                return;
            }
            let left = self.settings.renew_deadline.saturating_sub(renewed.elapsed());
            match tokio::time::timeout(left, self.try_acquire_or_renew()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                // Somebody else has it.
                Ok(Ok(false)) => break,
                Ok(Err(_)) if renewed.elapsed() < self.settings.renew_deadline => {}
                Ok(Err(_)) | Err(_) => break,
            }
        }
        told.send_replace(Leadership::Lost);
    }

    /// Whether we have the lease now.
    async fn try_acquire_or_renew(&mut self) -> Result<bool, ApiError> {
        self.look().await?;
        let Some(seen) = &self.seen else {
            let spec = self.spec(&micros_now(), 0);
            return self.create(&spec).await;
        };
        let is_ours = seen.holder() == self.settings.identity;
        if !is_ours && !seen.holder().is_empty() && !seen.has_run_out() {
            return Ok(false);
        }
        let transitions = seen.spec("leaseTransitions").as_u64().unwrap_or(0);
        let acquired = seen.spec("acquireTime").as_str().filter(|_| is_ours).map(str::to_owned);
        let spec = self.spec(&acquired.unwrap_or_else(micros_now), transitions + u64::from(!is_ours));
        match self.put(&spec).await {
            Ok(()) => Ok(true),
            // Somebody was faster; the next look says who.
            Err(error) if error.reason == StatusReason::Conflict => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn look(&mut self) -> Result<(), ApiError> {
        match self.requests.get(&self.path()).await {
            Ok(body) => {
                self.note(&body);
                Ok(())
            }
            Err(error) if error.reason == StatusReason::NotFound => {
                self.seen = None;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn note(&mut self, body: &[u8]) {
        let Ok(object) = serde_json::from_slice::<Value>(body) else { return };
        let is_same = self.seen.as_ref().is_some_and(|seen| seen.object["spec"] == object["spec"]);
        let at = match &self.seen {
            Some(seen) if is_same => seen.at,
            _ => Instant::now(),
        };
        self.seen = Some(Seen { object, at });
    }

    async fn create(&mut self, spec: &Value) -> Result<bool, ApiError> {
        let ElectionSettings { namespace, name, .. } = &self.settings;
        let body = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": namespace, "name": name}, "spec": spec,
        });
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        let created =
            self.requests.send(Method::POST, &path, BodyKind::Json, body.to_string().into_bytes()).await;
        match created {
            Ok(body) => {
                self.note(&body);
                Ok(true)
            }
            Err(error) if error.reason == StatusReason::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Replaces the lease that was seen, if nobody else has changed it.
    async fn put(&mut self, spec: &Value) -> Result<(), ApiError> {
        let Some(seen) = &self.seen else { return Ok(()) };
        let mut object = seen.object.clone();
        object["spec"] = spec.clone();
        let body = object.to_string().into_bytes();
        let answer = self.requests.send(Method::PUT, &self.path(), BodyKind::Json, body).await?;
        self.note(&answer);
        Ok(())
    }

    fn path(&self) -> String {
        let ElectionSettings { namespace, name, .. } = &self.settings;
        format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
    }

    fn spec(&self, acquired: &str, transitions: u64) -> Value {
        json!({
            "holderIdentity": self.settings.identity,
            "leaseDurationSeconds": self.settings.lease_duration.as_secs(),
            "acquireTime": acquired, "renewTime": micros_now(), "leaseTransitions": transitions,
        })
    }

    /// Upstream: `release`.
    fn released_spec(&self) -> Value {
        let transitions = self.seen.as_ref().and_then(|seen| seen.spec("leaseTransitions").as_u64());
        let now = micros_now();
        json!({
            "holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now,
            "leaseTransitions": transitions.unwrap_or(0),
        })
    }
}

/// Whether the lease is to be released.
async fn wait_or_release(period: Duration, released: &mut watch::Receiver<bool>) -> bool {
    // A sender that is gone was dropped without a release: nobody asks any more.
    tokio::time::timeout(period, released.changed()).await.is_ok()
}
