//! A cluster over the network, as the scheduler's runtime sees it.
//!
//! What the scheduler asks many times is in the store's tables; what it writes goes over the network.
//! Calls of this API wait for their answer, and so belong on threads that may wait; who wants many at once
//! takes a [`LiveCaller`](crate::LiveCaller).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use schedlab_cluster::ApiError;
use schedlab_cluster::api::{
    Binding, NominatedNodeNamePatch, PodEventMessage, PodEventPost, PodEventRef, PodStatusPatch,
};
use schedlab_cluster::clock::unix_ns;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::KINDS;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use crate::connect::Connection;
use crate::discovery::{ServedKind, served_kinds};
use crate::error::LiveError;
use crate::follow::Follower;
use crate::patch::{Before, NamedPatch};
use crate::requests::{BodyKind, CallLimit, Requests};
use crate::store::{KnownPod, Store};
use crate::{event, patch, path};

/// Bindings on their way at once: each has a connection of its own.
const BINDINGS_AT_ONCE: usize = 64;
/// Events on their way at once. Nobody waits for them.
const EVENTS_AT_ONCE: usize = 8;
/// Between two looks whether the lists are there.
const SYNC_LOOK: Duration = Duration::from_millis(20);

/// How to talk to the cluster.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    /// Calls a second. Events have an allowance of their own, as kube-scheduler's have.
    pub limit: CallLimit,
    /// What events and leases say who we are: the machine.
    pub identity: String,
}

/// A cluster over the network. Dropping it ends its watches.
pub struct LiveCluster {
    pub(crate) connection: Arc<Connection>,
    pub(crate) requests: Requests,
    events: Requests,
    pub(crate) store: Arc<Store>,
    pub(crate) kinds: Vec<ServedKind>,
    identity: String,
    bindings_at_once: Semaphore,
    events_at_once: Semaphore,
    followers: Vec<AbortHandle>,
    last_event: AtomicU64,
}

impl std::fmt::Debug for LiveCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCluster").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl LiveCluster {
    /// Asks which kinds there are and begins to follow them.
    pub fn start(
        connection: Arc<Connection>,
        settings: &LiveSettings,
    ) -> Result<Arc<LiveCluster>, LiveError> {
        let unlimited = Requests::new(connection.client.clone(), CallLimit::None);
        let kinds = connection.handle().block_on(served_kinds(&unlimited));
        let kinds =
            kinds.map_err(|error| LiveError::Unreachable { server: connection.server.clone(), error })?;
        for resource in ["pods", "nodes"] {
            if !kinds.iter().any(|kind| kind.row.resource == resource) {
                return Err(LiveError::NotServed { server: connection.server.clone(), resource });
            }
        }
        let store = Arc::new(Store::default());
        let follow = |kind: &ServedKind| {
            let (requests, store) = (unlimited.clone(), Arc::clone(&store));
            let follower = Follower { requests, kind: kind.clone(), store, label: None };
            connection.handle().spawn(follower.run()).abort_handle()
        };
        let followers = kinds.iter().map(follow).collect();
        Ok(Arc::new(LiveCluster {
            requests: Requests::new(connection.client.clone(), settings.limit),
            events: Requests::new(connection.client.clone(), settings.limit),
            connection,
            store,
            kinds,
            identity: settings.identity.clone(),
            bindings_at_once: Semaphore::new(BINDINGS_AT_ONCE),
            events_at_once: Semaphore::new(EVENTS_AT_ONCE),
            followers,
            last_event: AtomicU64::new(0),
        }))
    }

    /// Kinds that scheduling reads and this server does not serve, by resource: they are taken as empty.
    #[must_use]
    pub fn kinds_not_served(&self) -> Vec<&'static str> {
        let served: BTreeSet<&str> = self.kinds.iter().map(|kind| kind.row.resource).collect();
        KINDS.iter().map(|row| row.resource).filter(|resource| !served.contains(resource)).collect()
    }

    /// The kinds that are followed.
    #[must_use]
    pub fn kinds_served(&self) -> usize {
        self.kinds.len()
    }

    /// Waits until every kind was listed once; `false` when it is not waited for any longer.
    pub fn wait_synced(&self, waits: &dyn Fn() -> bool) -> bool {
        while !self.is_synced() {
            if !waits() {
                return false;
            }
            std::thread::sleep(SYNC_LOOK);
        }
        true
    }

    /// Whether every kind was listed once.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        let state = self.store.lock();
        self.kinds.iter().all(|kind| state.is_synced(kind.row.resource))
    }

    /// What keeps kinds from being followed now, and objects that could not be read so far.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        let state = self.store.lock();
        let kinds = state.troubles.iter().map(|(resource, error)| format!("{resource}: {error}"));
        let (count, last) = &state.unreadable;
        let unreadable = format!("{count} object(s) could not be read, the last of {last}");
        kinds.chain((0 < *count).then_some(unreadable)).collect()
    }

    /// Waits until a condition of the pods holds, or `at_most` is over.
    pub fn wait_until(&self, at_most: Duration, holds: &dyn Fn(&[PodOnNode]) -> bool) -> bool {
        let end = Instant::now() + at_most;
        loop {
            if holds(&self.pods()) {
                return true;
            }
            if end <= Instant::now() {
                return false;
            }
            std::thread::sleep(SYNC_LOOK);
        }
    }

    /// The pods that have not ended, with their nodes, in the order in which they were seen.
    #[must_use]
    pub fn pods(&self) -> Vec<PodOnNode> {
        let state = self.store.lock();
        let mut pods: Vec<&KnownPod> = state.pods.values().collect();
        pods.sort_by_key(|pod| pod.row.uid);
        let node = |pod: &KnownPod| pod.row.node.map(|node| state.node_names.text(node.index()).to_string());
        pods.into_iter()
            .map(|pod| PodOnNode {
                namespace: pod.namespace.to_string(),
                name: pod.name.to_string(),
                node: node(pod),
            })
            .collect()
    }

    /// Runs to its end what asks the API.
    pub(crate) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.connection.handle().block_on(answer)
    }

    pub(crate) async fn bind_on_server(&self, Binding { pod, node }: Binding) -> Result<(), ApiError> {
        let (known, node) = {
            let state = self.store.lock();
            (known_pod(state.pod(pod), pod)?.clone(), state.node_names.text(node.index()))
        };
        let body = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"namespace": &*known.namespace, "name": &*known.name, "uid": &*known.uid},
            "target": {"kind": "Node", "name": &*node},
        });
        let path = format!("{}/binding", path::of_pod(&known.namespace, &known.name));
        let _place = self.bindings_at_once.acquire().await;
        self.requests.send(Method::POST, &path, BodyKind::Json, body.to_string().into_bytes()).await.map(drop)
    }

    /// The version that the pod has then.
    pub(crate) async fn patch_on_server(&self, wanted: &PodStatusPatch<'_>) -> Result<u64, ApiError> {
        let (known, nominated, nomination) = {
            let state = self.store.lock();
            let known = known_pod(state.pod(wanted.pod), wanted.pod)?.clone();
            let text = |node: schedlab_cluster::api::NodeNameId| state.node_names.text(node.index());
            let nomination = match wanted.nomination {
                NominatedNodeNamePatch::Keep => None,
                NominatedNodeNamePatch::Clear => Some(None),
                NominatedNodeNamePatch::Set(node) => Some(Some(text(node))),
            };
            let nominated = known.row.nominated.map(text);
            (known, nominated, nomination)
        };
        let before = Before {
            uid: &known.uid,
            generation: known.generation,
            conditions: &known.conditions,
            nominated: nominated.as_deref(),
        };
        let nomination = nomination.as_ref().map(|node| node.as_deref());
        let named = NamedPatch { condition: wanted.condition, nomination, phase: wanted.phase };
        let Some(body) = patch::body(&named, &before, &seconds_now()) else {
            return Ok(known.row.resource_version);
        };
        let path = format!("{}/status", path::of_pod(&known.namespace, &known.name));
        let body = body.to_string().into_bytes();
        let answer = self.requests.send(Method::PATCH, &path, BodyKind::StrategicMergePatch, body).await?;
        Ok(crate::follow::version_of(&answer).unwrap_or(known.row.resource_version))
    }

    pub(crate) async fn delete_pod_on_server(&self, pod: PodUid) -> Result<(), ApiError> {
        let known = known_pod(self.store.lock().pod(pod), pod)?.clone();
        let body = json!({"preconditions": {"uid": &*known.uid}}).to_string().into_bytes();
        let path = path::of_pod(&known.namespace, &known.name);
        self.requests.send(Method::DELETE, &path, BodyKind::Json, body).await.map(drop)
    }

    pub(crate) async fn evict_on_server(&self, pod: PodUid) -> Result<(), ApiError> {
        let known = known_pod(self.store.lock().pod(pod), pod)?.clone();
        let body = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"namespace": &*known.namespace, "name": &*known.name},
            "deleteOptions": {"preconditions": {"uid": &*known.uid}},
        });
        let path = format!("{}/eviction", path::of_pod(&known.namespace, &known.name));
        self.requests.send(Method::POST, &path, BodyKind::Json, body.to_string().into_bytes()).await.map(drop)
    }

    pub(crate) async fn post_event_on_server(&self, post: &PodEventPost) -> Result<PodEventRef, ApiError> {
        let (known, note) = {
            let state = self.store.lock();
            let named = post.named.and_then(|(_, name)| state.pod_named(name));
            let known = known_pod(state.pod(post.pod).or(named), post.pod)?.clone();
            let note = match &post.note {
                PodEventMessage::Text(text) => text.to_string(),
                PodEventMessage::AssignedTo(node) => {
                    let node = state.node_names.text(node.index());
                    format!("Successfully assigned {}/{} to {node}", known.namespace, known.name)
                }
            };
            (known, note)
        };
        let number = self.next_event_number();
        let of_event = (number, &*micros_now(), &*self.identity);
        let body = event::body(&known, (post.reason, &note), of_event).to_string().into_bytes();
        let _place = self.events_at_once.acquire().await;
        let path = event::path(&known.namespace);
        let answer = self.events.send(Method::POST, &path, BodyKind::Json, body).await?;
        let resource_version = crate::follow::version_of(&answer).unwrap_or(0);
        Ok(PodEventRef { resource_version, number, namespace: known.row.namespace, pod_name: known.row.name })
    }

    pub(crate) async fn repeat_event_on_server(
        &self,
        pod: PodUid,
        number: u64,
        count: u64,
    ) -> Result<(), ApiError> {
        let known = known_pod(self.store.lock().pod(pod), pod)?.clone();
        let name = PodEventRef::name(&known.name, number);
        let path = format!("{}/{name}", event::path(&known.namespace));
        let body = event::series(count, &micros_now()).to_string().into_bytes();
        self.events.send(Method::PATCH, &path, BodyKind::MergePatch, body).await.map(drop)
    }

    /// Upstream names events by the time in nanoseconds; two of one pod must not have one name.
    fn next_event_number(&self) -> u64 {
        let now_ns = unix_ns();
        let next = |last: u64| Some(now_ns.max(last + 1));
        let last = self.last_event.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.map_or(now_ns, |last| now_ns.max(last + 1))
    }
}

impl Drop for LiveCluster {
    fn drop(&mut self) {
        self.followers.iter().for_each(AbortHandle::abort);
    }
}

/// A pod and the node it is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodOnNode {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.nodeName`.
    pub node: Option<String>,
}

fn known_pod(known: Option<&KnownPod>, pod: PodUid) -> Result<&KnownPod, ApiError> {
    known.ok_or_else(|| ApiError::not_found("pods", &format!("number {}", pod.0)))
}

/// RFC 3339 in whole seconds, as `metav1.Time` is written.
pub(crate) fn seconds_now() -> String {
    let ns = i128::from(unix_ns() / 1_000_000_000 * 1_000_000_000);
    timestamp(ns).to_string()
}

/// RFC 3339 in microseconds, as `metav1.MicroTime` is written.
pub(crate) fn micros_now() -> String {
    format!("{:.6}", timestamp(i128::from(unix_ns())))
}

fn timestamp(ns: i128) -> k8s_openapi::jiff::Timestamp {
    k8s_openapi::jiff::Timestamp::from_nanosecond(ns).unwrap_or(k8s_openapi::jiff::Timestamp::MAX)
}
