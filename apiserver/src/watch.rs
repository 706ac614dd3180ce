//! WATCH: what a client is told of a resource, as a stream of JSON lines.
//!
//! ```text
//!   objects of now ──▶ bookmark `k8s.io/initial-events-end` ──▶ changes ... bookmarks ... until the timeout
//!   └── if it asks for them ────────────────────────────────┘   └── 410 if it falls behind the ring
//! ```

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use schedlab_cluster::ApiError;
use schedlab_cluster::api::EventKind;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::answer::Refused;
use crate::audit::{AuditCount, AuditKey};
use crate::feed::View;
use crate::form::Form;
use crate::handle::{App, Asked, Within};
use crate::read::{includes, partial_metadata, selection, wanted_version};
use crate::route::Served;
use crate::selector::Selection;
use crate::table::{Columns, table};

/// A watch without a timeout of its own ends after this long; upstream: `--min-request-timeout`.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(1800);
const TIMEOUT_MAX_S: u64 = 24 * 3600;
/// Upstream: apiserver pkg/storage/cacher/cacher.go `defaultBookmarkFrequency`.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// A chunk of the stream is sent when it is this long.
const CHUNK_BYTES: usize = 64 << 10;
/// Changes that are looked at before the stream is written on.
const CHANGES_AT_ONCE: usize = 512;
/// Chunks that wait for the connection; then the stream waits.
pub(crate) const CHUNKS_WAITING: usize = 2;

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With all objects as they are, not older than this version.
    Objects { at_least: u64, ends_with_bookmark: bool },
    /// After this version.
    After(u64),
    /// Now.
    Now,
}

/// A watch that a client asks for.
pub(crate) struct WatchRequest {
    kind: Served,
    selection: Selection,
    start: Start,
    takes_bookmarks: bool,
    timeout: Duration,
    form: Form,
    columns: Columns,
}

impl WatchRequest {
    /// Reads the query.
    ///
    /// Upstream: apimachinery pkg/apis/meta/internalversion/validation `ValidateListOptions`.
    pub(crate) fn read(asked: &Asked, within: Within<'_>, name: Option<&str>) -> Result<Self, Refused> {
        let version = wanted_version(asked)?;
        let takes_bookmarks = asked.query.flag("allowWatchBookmarks") == Some(true);
        let initial = asked.query.flag("sendInitialEvents");
        let matching = asked.query.get("resourceVersionMatch");
        let forbidden = |why: &str| {
            Err(ApiError::invalid("ListOptions", "", format!("resourceVersionMatch: Forbidden: {why}"))
                .into())
        };
        match (initial, matching) {
            (None, Some(_)) => {
                return forbidden(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                );
            }
            (Some(_), None | Some("Exact")) => {
                return forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            }
            _ => {}
        }
        let start = match initial {
            Some(true) => Start::Objects { at_least: version, ends_with_bookmark: takes_bookmarks },
            None if version == 0 => Start::Objects { at_least: 0, ends_with_bookmark: false },
            Some(false) if version == 0 => Start::Now,
            _ => Start::After(version),
        };
        let seconds = asked.query.number("timeoutSeconds")?.filter(|seconds| 0 < *seconds);
        Ok(Self {
            kind: within.kind,
            selection: selection(asked, within, name)?,
            start,
            takes_bookmarks,
            timeout: seconds
                .map_or(TIMEOUT_DEFAULT, |seconds| Duration::from_secs(seconds.min(TIMEOUT_MAX_S))),
            form: asked.accepted.best(),
            columns: includes(asked),
        })
    }

    /// Writes the stream until the client goes, falls behind, or the time is over.
    pub(crate) async fn run(self, app: Arc<App>, key: AuditKey, sender: mpsc::Sender<Bytes>) {
        let over = self.timeout;
        let mut stream = Stream { request: self, app, key, sender, buffer: BytesMut::new(), told: 0 };
        // Why it ended does not matter here: the connection is closed in any case.
        let _ = timeout(over, stream.run()).await;
    }
}

/// The client is gone.
struct Closed;

struct Stream {
    request: WatchRequest,
    app: Arc<App>,
    key: AuditKey,
    sender: mpsc::Sender<Bytes>,
    buffer: BytesMut,
    /// Events so far.
    told: u64,
}

impl Stream {
    async fn run(&mut self) -> Result<(), Closed> {
        let resource = self.request.kind.stored;
        let mut changed = self.app.feed.subscribe(resource);
        let mut seen = match self.begin().await? {
            Ok(seen) => seen,
            Err(refused) => return self.end(&refused).await,
        };
        loop {
            changed.borrow_and_update();
            let changes = match self.app.feed.changes_since(resource, seen, CHANGES_AT_ONCE) {
                Ok(changes) => changes,
                Err(gone) => return self.end(&gone.into()).await,
            };
            seen = changes.version;
            let is_all = changes.changes.len() < CHANGES_AT_ONCE;
            for change in &changes.changes {
                if let Some(told) = change.told(&self.request.selection, self.request.kind.view()) {
                    self.put(told.kind, &told.text);
                    self.send_if_long().await?;
                }
            }
            self.send().await?;
            if is_all && self.wait(&mut changed).await? == Woken::ByTime && self.request.takes_bookmarks {
                // Nothing came: the client may know up to where.
                self.put_bookmark(seen, false);
                self.send().await?;
            }
        }
    }

    /// Sends the objects of now, if they are asked for; the version that the client then knows.
    async fn begin(&mut self) -> Result<Result<u64, Refused>, Closed> {
        match self.request.start {
            Start::After(version) if version <= self.app.feed.version() => Ok(Ok(version)),
            Start::After(version) => {
                let reached = self.app.feed.catch_up(version).await;
                Ok(reached.map(|()| version).map_err(Refused::from))
            }
            Start::Now => {
                let reached = self.app.feed.catch_up(0).await;
                Ok(reached.map(|()| self.app.feed.version()).map_err(Refused::from))
            }
            Start::Objects { at_least, ends_with_bookmark } => {
                if let Err(late) = self.app.feed.catch_up(at_least).await {
                    return Ok(Err(late.into()));
                }
                let listed = self.app.feed.list(self.request.kind.stored, &self.request.selection);
                for item in &listed.items {
                    self.put(EventKind::Added, &item.text(self.request.kind.view()));
                    self.send_if_long().await?;
                }
                if ends_with_bookmark {
                    self.put_bookmark(listed.version, true);
                }
                self.send().await?;
                Ok(Ok(listed.version))
            }
        }
    }

    fn put(&mut self, kind: EventKind, text: &[u8]) {
        let name = match kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        match self.request.form {
            Form::Table | Form::Metadata => {
                let object: Value = serde_json::from_slice(text).unwrap_or_default();
                let shown = match self.request.form {
                    Form::Metadata => partial_metadata(&object),
                    _ => self.row(&object),
                };
                self.put_text(name, shown.to_string().as_bytes());
            }
            _ => self.put_text(name, text),
        }
        self.told += 1;
    }

    fn row(&self, object: &Value) -> Value {
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        let now_ns = self.app.cluster.now_ns();
        let mut shown =
            table(self.request.kind, self.request.columns, metadata, std::slice::from_ref(object), now_ns);
        if 0 < self.told {
            // The columns are known from the first event.
            shown["columnDefinitions"] = Value::Null;
        }
        shown
    }

    fn put_text(&mut self, name: &str, object: &[u8]) {
        self.buffer.reserve(object.len() + 40);
        self.buffer.put_slice(b"{\"type\":\"");
        self.buffer.put_slice(name.as_bytes());
        self.buffer.put_slice(b"\",\"object\":");
        self.buffer.put_slice(object);
        self.buffer.put_slice(b"}\n");
    }

    fn put_bookmark(&mut self, version: u64, ends_initial_events: bool) {
        let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        if ends_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version) = match (self.request.form, self.request.kind.view()) {
            (Form::Metadata, _) => ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()),
            (Form::Table, _) => ("Table", "meta.k8s.io/v1".to_owned()),
            (_, View::CoreEvent | View::Version(..)) => {
                (self.request.kind.asked.info().kind, self.request.kind.api_version())
            }
        };
        let bookmark = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        self.put_text("BOOKMARK", bookmark.to_string().as_bytes());
    }

    async fn end(&mut self, why: &Refused) -> Result<(), Closed> {
        self.put_text("ERROR", why.to_json().to_string().as_bytes());
        self.send().await
    }

    async fn send_if_long(&mut self) -> Result<(), Closed> {
        if self.buffer.len() < CHUNK_BYTES { Ok(()) } else { self.send().await }
    }

    async fn send(&mut self) -> Result<(), Closed> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = self.buffer.split().freeze();
        self.app.audit.add(&self.key, AuditCount { sent_bytes: chunk.len() as u64, ..AuditCount::default() });
        self.sender.send(chunk).await.map_err(|_| Closed)
    }

    /// Until something changes or it is time for a bookmark.
    async fn wait(&self, changed: &mut watch::Receiver<()>) -> Result<Woken, Closed> {
        let mut change = pin!(changed.changed());
        let mut closed = pin!(self.sender.closed());
        let first = poll_fn(|context| {
            if closed.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(Closed));
            }
            // An error says that the server ends.
            change.as_mut().poll(context).map(|told| told.map(|()| Woken::ByChange).map_err(|_| Closed))
        });
        timeout(BOOKMARK_EVERY, first).await.unwrap_or(Ok(Woken::ByTime))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    ByChange,
    ByTime,
}
