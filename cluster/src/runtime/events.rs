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
//! first is posted, the second makes it a series, later ones are only counted, until there was none for
//! six minutes: then the series says how many they were, and is over.
//! Differs: upstream patches the series, the embedded store replaces the object
//! (`equal_events_are_one_object_that_becomes_a_series`).

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{PodEvent, PodEventNote as Told, PodEventReason, Scheduler};

use super::wall::Shared;
use crate::api::{Api, PodEventMessage, PodEventPost};
use crate::clock::monotonic_ns;
use crate::link::{Link, LinkSettings};

/// Events that are posted under one lock of the store: some tens of microseconds.
const POSTS_MAX: usize = 256;

/// A series is over when its event has not come for so long. Upstream: `finishTime`.
const SERIES_END_NS: u64 = 6 * 60 * 1_000_000_000;

/// Between two looks for series that are over.
const SWEEP_EVERY_NS: u64 = 30 * 1_000_000_000;

/// Events that wait for an API over a network; more are dropped and counted. Upstream's queue holds 1,000.
const WAITING_MAX: u64 = 25_000;

/// Where the other threads leave their events.
#[derive(Clone)]
pub(super) struct Outbox {
    pub(super) sender: Sender<Vec<PodEventPost>>,
    pub(super) shared: Arc<Shared>,
    /// Events that wait at most; beyond, new ones are dropped.
    pub(super) waiting_max: u64,
}

impl Outbox {
    /// An API over a network may take events more slowly than they come.
    pub(super) fn with_limit(self, is_remote: bool) -> Outbox {
        if is_remote { Outbox { waiting_max: WAITING_MAX, ..self } } else { self }
    }

    pub(super) fn send(&self, posts: Vec<PodEventPost>) {
        if posts.is_empty() {
            return;
        }
        let count = posts.len() as u64;
        if self.waiting_max <= self.shared.events_waiting.load(Ordering::Relaxed) {
            self.shared.dropped_events.fetch_add(count, Ordering::Relaxed);
            return;
        }
        self.shared.events_waiting.fetch_add(count, Ordering::Relaxed);
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
                let (preemptor, node) = (api.pod_uid(preemptor), scheduler.world().node_name(node));
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
    last_ns: u64,
}

/// The thread.
pub(super) struct Recorder {
    api: Arc<dyn Api>,
    shared: Arc<Shared>,
    inbox: Receiver<Vec<PodEventPost>>,
    known: FxHashMap<Key, Known>,
    /// To be posted next.
    posts: Vec<PodEventPost>,
    swept_ns: u64,
}

impl Recorder {
    pub(super) fn new(
        api: Arc<dyn Api>,
        shared: Arc<Shared>,
        inbox: Receiver<Vec<PodEventPost>>,
    ) -> Recorder {
        Recorder { api, shared, inbox, known: FxHashMap::default(), posts: Vec::new(), swept_ns: 0 }
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
        let (mut count, now_ns) = (0, monotonic_ns());
        for post in posts {
            self.record(post, now_ns);
            count += 1;
        }
        self.post();
        self.end_series(now_ns);
        // Without a limit nobody asks how many wait.
        let waiting = |waiting: u64| Some(waiting.saturating_sub(count));
        let _ = self.shared.events_waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, waiting);
        self.shared.calls_in_flight.fetch_sub(count, Ordering::AcqRel);
    }

    /// Forgets events that have not come for long. What their series count is written a last time; an
    /// event that is gone has nobody to tell.
    fn end_series(&mut self, now_ns: u64) {
        if now_ns < self.swept_ns + SWEEP_EVERY_NS {
            return;
        }
        self.swept_ns = now_ns;
        let api = self.api.as_ref();
        self.known.retain(|(pod, ..), known| {
            let is_open = now_ns < known.last_ns + SERIES_END_NS;
            if let (false, 3.., Some(number)) = (is_open, known.count, known.number) {
                let _ = api.repeat_pod_event(*pod, number.get(), known.count);
            }
            is_open
        });
    }

    fn record(&mut self, post: PodEventPost, now_ns: u64) {
        let new = Known { number: None, count: 0, last_ns: now_ns };
        let known = self.known.entry(key_of(&post)).or_insert(new);
        known.count += 1;
        known.last_ns = now_ns;
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
                // Refused because somebody removed it meanwhile: then there is no series.
                let begin = |number: NonZeroU64| self.api.repeat_pod_event(post.pod, number.get(), 2);
                let _ = number.map(begin);
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

#[cfg(test)]
mod tests {
    use crossbeam::channel::unbounded;
    use k8s_openapi::api::core::v1::Pod;
    use schedlab_core::ids::PodUid;
    use serde_json::json;

    use super::*;
    use crate::EmbeddedCluster;
    use crate::api::{CreatedPods, ListQuery, Object};

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
    fn series_ends_after_six_minutes_with_its_count() {
        let (cluster, pods) = cluster_with_pods(1);
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        let (_, inbox) = unbounded();
        let mut recorder = Recorder::new(api, Arc::default(), inbox);
        let posts = || (0..4).map(|_| post(pods.first, "a"));
        recorder.record_all(posts());
        recorder.end_series(monotonic_ns() + SERIES_END_NS + SWEEP_EVERY_NS);
        assert!(recorder.known.is_empty());
        let list = cluster.list(&ListQuery::all("events.k8s.io/v1", "Event")).expect("listed");
        let event = list.items.into_iter().next().and_then(Object::into_other).expect("an event");
        assert_eq!(event.body["series"], json!({ "count": 4 }));
        recorder.record_all(posts().take(1));
        assert_eq!(listed(&cluster), ["web-0.1: a*", "web-0.2: a"], "another event");
    }

    #[test]
    fn events_beyond_the_limit_are_dropped_and_counted() {
        let (sender, inbox) = unbounded();
        let shared: Arc<Shared> = Arc::default();
        let outbox = Outbox { sender, shared: Arc::clone(&shared), waiting_max: 2 };
        for _ in 0..3 {
            outbox.send(vec![post(PodUid(1), "a"); 2]);
        }
        assert_eq!((inbox.len(), shared.dropped_events.load(Ordering::Relaxed)), (1, 4));
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
