//! The thread that writes events about pods, beside the others: no pod waits for one.
//!
//! ```text
//! scheduler thread ──problems──▶ ┌──────────┐
//! binder thread ──bound pods───▶ │ Recorder │ ──▶ POST events in batches, PUT for the second of a kind
//!                                └──────────┘
//! ```
//!
//! The other threads hand over ids and shared texts; names are looked up by whoever stores the event.
//!
//! Upstream: client-go tools/events/event_broadcaster.go. Equal events of a pod are one object: the
//! first is posted, the second makes it a series, later ones are only counted.
//! Differs: upstream patches the series, this API replaces the object; a series never ends, because
//! no run lasts the six minutes after which upstream's does
//! (`equal_events_are_one_object_that_becomes_a_series`).

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{PodEvent, PodEventNote as Told, PodEventReason, Scheduler};
use serde_json::json;

use super::wall::Shared;
use crate::api::{Api, Object, ObjectKey, PodEventMessage, PodEventPost, PodEventRef, format_pod_uid};
use crate::clock::monotonic_ns;
use crate::link::{Link, LinkSettings};

/// Events that are posted under one lock of the store: some tens of microseconds.
const POSTS_MAX: usize = 256;

/// Where the other threads leave their events.
#[derive(Clone)]
pub(super) struct Outbox {
    pub(super) sender: Sender<Vec<PodEventPost>>,
    pub(super) shared: Arc<Shared>,
}

impl Outbox {
    pub(super) fn send(&self, posts: Vec<PodEventPost>) {
        if posts.is_empty() {
            return;
        }
        let count = posts.len() as u64;
        self.shared.calls_in_flight.fetch_add(count, Ordering::AcqRel);
        if self.sender.send(posts).is_err() {
            // The thread is gone (a bug that `stop` reports): nothing is in flight.
            self.shared.calls_in_flight.fetch_sub(count, Ordering::AcqRel);
        }
    }

    /// Sends what the scheduler has to say.
    pub(super) fn send_problems(&self, events: &mut Vec<PodEvent>, api: &dyn Api, scheduler: &Scheduler) {
        if events.is_empty() {
            return;
        }
        let post = |PodEvent { pod, reason, note }| match note {
            Told::Text(text) => PodEventPost { pod, named: None, reason, note: PodEventMessage::Text(text) },
            Told::PreemptedBy { preemptor, node } => {
                let (preemptor, node) = (format_pod_uid(preemptor), scheduler.world().node_name(node));
                let text = format!("Preempted by pod {preemptor} on node {node}").into();
                // Its name is looked up now: a victim may be gone soon.
                let named = api.pod_row(pod).map(|row| (row.namespace, row.name));
                PodEventPost { pod, named, reason, note: PodEventMessage::Text(text) }
            }
        };
        self.send(events.drain(..).map(post).collect());
    }
}

/// Events with the same key are one object.
type Key = (PodUid, PodEventReason, PodEventMessage);

/// What became of the events of a key.
struct Known {
    /// The number of the object; absent until it is posted.
    number: Option<NonZeroU64>,
    count: u64,
}

/// The thread.
pub(super) struct Recorder {
    api: Arc<dyn Api>,
    shared: Arc<Shared>,
    inbox: Receiver<Vec<PodEventPost>>,
    known: FxHashMap<Key, Known>,
    /// To be posted next.
    posts: Vec<PodEventPost>,
}

impl Recorder {
    pub(super) fn new(
        api: Arc<dyn Api>,
        shared: Arc<Shared>,
        inbox: Receiver<Vec<PodEventPost>>,
    ) -> Recorder {
        Recorder { api, shared, inbox, known: FxHashMap::default(), posts: Vec::new() }
    }

    /// Writes every event as it comes.
    pub(super) fn run(mut self) {
        while let Ok(posts) = self.inbox.recv() {
            self.record_all(posts.into_iter());
        }
    }

    /// Writes every event when its time on the link is over.
    pub(super) fn run_over(mut self, settings: LinkSettings) {
        let mut link = Link::new(settings);
        loop {
            let now_ns = monotonic_ns();
            self.record_all(std::iter::from_fn(|| link.take_due(now_ns)));
            let received = match link.next_due_ns() {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due_ns) => {
                    self.inbox.recv_timeout(Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())))
                }
            };
            match received {
                Ok(posts) => {
                    let now_ns = monotonic_ns();
                    posts.into_iter().for_each(|post| link.send(post, 1, now_ns));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Those who wrote have stopped: nobody reads the rest.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn record_all(&mut self, posts: impl Iterator<Item = PodEventPost>) {
        let mut count = 0;
        for post in posts {
            self.record(post);
            count += 1;
        }
        self.post();
        self.shared.calls_in_flight.fetch_sub(count, Ordering::AcqRel);
    }

    fn record(&mut self, post: PodEventPost) {
        let known = self.known.entry(key_of(&post)).or_insert(Known { number: None, count: 0 });
        known.count += 1;
        match known.count {
            1 => {
                self.posts.push(post);
                if self.posts.len() == POSTS_MAX {
                    self.post();
                }
            }
            2 => {
                // The first may be among those that wait to be posted.
                self.post();
                let number = self.known.get(&key_of(&post)).and_then(|known| known.number);
                number.into_iter().for_each(|number| begin_series(self.api.as_ref(), post.pod, number));
            }
            _ => {}
        }
    }

    /// Posts what has come together. An event that is refused is lost, as upstream's are, and the API
    /// counts it; the next one of its kind is posted again.
    fn post(&mut self) {
        if self.posts.is_empty() {
            return;
        }
        let mut results = Vec::with_capacity(self.posts.len());
        self.api.post_pod_events(&self.posts, &mut results);
        for (post, result) in self.posts.drain(..).zip(results) {
            let key = key_of(&post);
            match result {
                Ok(event) => {
                    if let Some(known) = self.known.get_mut(&key) {
                        known.number = NonZeroU64::new(event.number);
                    }
                }
                Err(_) => drop(self.known.remove(&key)),
            }
        }
    }
}

fn key_of(post: &PodEventPost) -> Key {
    (post.pod, post.reason, post.note.clone())
}

/// A pod that is gone has no second event.
fn begin_series(api: &dyn Api, pod: PodUid, number: NonZeroU64) {
    let Some(row) = api.pod_row(pod) else { return };
    let (namespace, pod_name) = (api.namespace_name(row.namespace), api.pod_name(row.name));
    let name = PodEventRef::name(&pod_name, number.get());
    let key = ObjectKey::namespaced("events.k8s.io/v1", "Event", &namespace, &name);
    if let Ok(Object::Other(mut event)) = api.get(&key) {
        event.body.insert("series".to_owned(), json!({ "count": 2 }));
        // Refused because somebody removed it meanwhile: then there is no series.
        let _ = api.update(Object::Other(event));
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::unbounded;
    use k8s_openapi::api::core::v1::Pod;
    use schedlab_core::ids::PodUid;

    use super::*;
    use crate::EmbeddedCluster;
    use crate::api::{CreatedPods, ListQuery};

    fn cluster_with_pods(count: u32) -> (Arc<EmbeddedCluster>, CreatedPods) {
        let cluster = Arc::new(EmbeddedCluster::new(Arc::new(|| 0)));
        let pod =
            json!({ "metadata": { "generateName": "web-" }, "spec": { "containers": [{ "name": "c" }] } });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let template = cluster.pod_template(pod, "default").expect("it is well formed");
        let pods = cluster.create_pods(&template, count).expect("the namespace is there");
        (cluster, pods)
    }

    fn post(pod: PodUid, text: &str) -> PodEventPost {
        let reason = PodEventReason::FailedScheduling;
        PodEventPost { pod, named: None, reason, note: PodEventMessage::Text(text.into()) }
    }

    /// `name: note`, with `*` behind a series.
    fn listed(cluster: &EmbeddedCluster) -> Vec<String> {
        let list = cluster.list(&ListQuery::all("events.k8s.io/v1", "Event")).expect("listed");
        let text = |object: Object| {
            let event = object.into_other().expect("an event");
            let series = if event.body.contains_key("series") { "*" } else { "" };
            let name = event.metadata.name.unwrap_or_default();
            format!("{name}: {}{series}", event.body["note"].as_str().unwrap_or_default())
        };
        list.items.into_iter().map(text).collect()
    }

    #[test]
    fn equal_events_are_one_object_that_becomes_a_series() {
        let (cluster, pods) = cluster_with_pods(2);
        let [one, other] = [pods.first, PodUid(pods.first.0 + 1)];
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        let (_, inbox) = unbounded();
        let mut recorder = Recorder::new(api, Arc::default(), inbox);
        recorder.record_all([post(one, "a"), post(one, "b"), post(one, "a"), post(other, "a")].into_iter());
        assert_eq!(listed(&cluster), ["web-0.1: a*", "web-0.2: b", "web-1.3: a"], "within a batch");
        recorder.record_all([post(other, "a"), post(other, "a"), post(one, "a")].into_iter());
        assert_eq!(listed(&cluster), ["web-0.1: a*", "web-0.2: b", "web-1.3: a*"], "and across batches");
        let calls = cluster.call_counts().calls;
        assert_eq!((calls["POST events"], calls["PUT events"]), (3, 2));
    }

    #[test]
    fn refused_event_is_counted_and_an_equal_one_posted_again() {
        let (cluster, pods) = cluster_with_pods(1);
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        let (_, inbox) = unbounded();
        let mut recorder = Recorder::new(api, Arc::default(), inbox);
        for _ in 0..2 {
            recorder.record_all([post(PodUid(99), "nobody"), post(pods.first, "somebody")].into_iter());
        }
        assert_eq!(listed(&cluster), ["web-0.1: somebody*"]);
        let counts = cluster.call_counts();
        assert_eq!((counts.calls["POST events"], counts.failed["POST events"]), (3, 2));
    }
}
