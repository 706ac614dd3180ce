//! Follows a kind: a list, a watch from there, another watch when that one ends, and another list when the
//! server no longer knows what happened in between.
//!
//! Upstream: client-go tools/cache/reflector.go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use schedlab_cluster::api::EventKind;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::{ApiError, StatusReason};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::discovery::ServedKind;
use crate::lines::{self, Lines, Told};
use crate::object::ReadObject;
use crate::path;
use crate::requests::{Requests, lost};
use crate::store::Store;

/// Objects in one answer to a list.
const PAGE: usize = 1000;
/// How long a server is asked to keep a watch open. Upstream: between 5 and 10 minutes.
const WATCH_SECONDS: u64 = 420;
/// A watch that says nothing so much longer than it should last has lost its server.
const SILENCE_MAX: Duration = Duration::from_secs(WATCH_SECONDS + 30);
/// Waits after failures. Upstream: reflector.go, 800 ms doubled up to 30 s.
const BACKOFF_FIRST: Duration = Duration::from_millis(800);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// A watch that lasted so long was a good one.
const GOOD_WATCH: Duration = Duration::from_secs(5);

/// Waits after failures, longer each time.
struct Backoff(Duration);

impl Backoff {
    fn reset(&mut self) {
        self.0 = BACKOFF_FIRST;
    }

    async fn wait(&mut self) {
        let wait = self.0;
        self.0 = (wait * 2).min(BACKOFF_MAX);
        tokio::time::sleep(wait).await;
    }
}

/// How a watch ended.
enum Ended {
    /// As every watch does.
    Closed,
    /// What happened since is not known any more.
    Expired,
    /// The server is gone, or refuses.
    Failed(ApiError),
}

/// A kind that is followed.
pub(crate) struct Follower {
    pub(crate) requests: Requests,
    pub(crate) kind: ServedKind,
    pub(crate) store: Arc<Store>,
    /// Only objects with this label, `key=value`.
    pub(crate) label: Option<String>,
}

/// The kinds' objects that no scheduler wants. Upstream: scheduler.go `NewInformerFactory`.
const UNFINISHED: &str = "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";

impl Follower {
    /// Follows the kind for ever.
    pub(crate) async fn run(self) {
        let mut backoff = Backoff(BACKOFF_FIRST);
        loop {
            match self.list().await {
                Ok(version) => self.watch_from(version, &mut backoff).await,
                Err(error) => self.note_trouble(&error),
            }
            backoff.wait().await;
        }
    }

    fn note_trouble(&self, error: &ApiError) {
        self.store.lock().troubles.insert(self.kind.row.resource, error.message.clone());
    }

    fn path(&self, query: &str) -> String {
        let path = path::of_resource(&self.kind.api_version, self.kind.row.resource);
        let fields = if self.kind.row.name == "Pod" { UNFINISHED } else { "" };
        let labels = self.label.as_ref().map(|label| format!("&labelSelector={}", quoted(label)));
        format!("{path}?{query}{fields}{}", labels.unwrap_or_default())
    }

    /// Takes in all there is; the version to watch from.
    async fn list(&self) -> Result<String, ApiError> {
        let (mut objects, mut next) = (Vec::new(), String::new());
        loop {
            let page = if next.is_empty() { String::new() } else { format!("&continue={}", quoted(&next)) };
            let body = self.requests.get(&self.path(&format!("limit={PAGE}{page}"))).await?;
            let list: List<'_> = serde_json::from_slice(&body)
                .map_err(|error| ApiError::bad_request(format!("the list cannot be read: {error}")))?;
            objects.extend(list.items.iter().filter_map(|item| self.read(item.get().as_bytes())));
            next = list.metadata.next;
            if next.is_empty() {
                let mut state = self.store.lock();
                state.replace(self.kind.row.name, objects, monotonic_ns());
                state.note_synced(self.kind.row.resource);
                drop(state);
                self.store.changed.notify_all();
                return Ok(list.metadata.resource_version);
            }
        }
    }

    fn read(&self, text: &[u8]) -> Option<ReadObject> {
        match ReadObject::read(text, &self.kind) {
            Ok(object) => Some(object),
            Err(error) => {
                // As good as absent: upstream's informers drop it, too.
                let mut state = self.store.lock();
                state.unreadable = (state.unreadable.0 + 1, format!("{}: {error}", self.kind.row.resource));
                None
            }
        }
    }

    /// Watches until another list is needed.
    async fn watch_from(&self, mut version: String, backoff: &mut Backoff) {
        loop {
            let begun = Instant::now();
            let ended = self.watch(&mut version).await;
            if GOOD_WATCH <= begun.elapsed() {
                backoff.reset();
            }
            match ended {
                Ended::Closed if GOOD_WATCH <= begun.elapsed() => {}
                Ended::Closed => backoff.wait().await,
                Ended::Expired => return,
                Ended::Failed(error) => {
                    self.note_trouble(&error);
                    backoff.wait().await;
                }
            }
        }
    }

    async fn watch(&self, version: &mut String) -> Ended {
        let query = format!(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={version}"
        );
        let mut response = match self.requests.open(&self.path(&query)).await {
            Ok(response) => response,
            Err(error) if error.reason == StatusReason::Gone => return Ended::Expired,
            Err(error) => return Ended::Failed(error),
        };
        self.store.lock().troubles.remove(self.kind.row.resource);
        let mut lines = Lines::default();
        loop {
            let frame = match tokio::time::timeout(SILENCE_MAX, response.body_mut().frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Ended::Failed(lost(&error)),
                Ok(None) | Err(_) => return Ended::Closed,
            };
            let Ok(chunk) = frame.into_data() else { continue };
            lines.push(&chunk);
            if let Some(ended) = self.take(&mut lines, version) {
                return ended;
            }
        }
    }

    /// Takes in the events that are there. How the watch ended, if it did.
    fn take(&self, lines: &mut Lines, version: &mut String) -> Option<Ended> {
        let (mut events, mut ended) = (Vec::new(), None);
        while let Some(line) = lines.next() {
            match self.event(&line, version) {
                Ok(event) => events.extend(event),
                Err(error) => {
                    ended = Some(error);
                    break;
                }
            }
        }
        if lines.is_too_long() {
            ended = Some(Ended::Failed(ApiError::bad_request("an event of the watch has no end")));
        }
        if !events.is_empty() {
            let now_ns = monotonic_ns();
            let mut state = self.store.lock();
            events.into_iter().for_each(|(kind, object)| state.apply(kind, object, now_ns));
            drop(state);
            self.store.changed.notify_all();
        }
        ended
    }

    fn event(&self, line: &Bytes, version: &mut String) -> Result<Option<(EventKind, ReadObject)>, Ended> {
        let cut_off =
            |error| Ended::Failed(ApiError::bad_request(format!("the watch cannot be read: {error}")));
        match lines::read(line).map_err(cut_off)? {
            Told::Event(kind, text) => match self.read(text) {
                Some(object) => {
                    *version = object.resource_version().to_string();
                    Ok(Some((kind, object)))
                }
                // It is not told again.
                None => {
                    note_version(text, version);
                    Ok(None)
                }
            },
            Told::Bookmark(text) => {
                note_version(text, version);
                Ok(None)
            }
            Told::Error(error) if error.reason == StatusReason::Gone => Err(Ended::Expired),
            Told::Error(error) => Err(Ended::Failed(error)),
            Told::Unknown => Ok(None),
        }
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(rename = "resourceVersion", default)]
    resource_version: String,
    #[serde(rename = "continue", default)]
    next: String,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: ListMetadata,
}

/// The version up to which all was told.
fn note_version(text: &[u8], version: &mut String) {
    if let Ok(object) = serde_json::from_slice::<Versioned>(text)
        && !object.metadata.resource_version.is_empty()
    {
        *version = object.metadata.resource_version;
    }
}

/// A token as a part of a query.
pub(crate) fn quoted(token: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let quote = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    token.bytes().map(quote).collect()
}

/// `metadata.resourceVersion` of an answer.
pub(crate) fn version_of(answer: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Versioned>(answer).ok()?.metadata.resource_version.parse().ok()
}
