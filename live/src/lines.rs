//! Lines of a watch: one event each.

use bytes::{Buf as _, Bytes, BytesMut};
use schedlab_cluster::ApiError;
use schedlab_cluster::api::EventKind;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::requests::StatusText;

/// A line that is longer is no event: an object has at most 1.5 MiB in etcd, and JSON is larger by some.
const LINE_BYTES_MAX: usize = 64 << 20;

/// Cuts a stream into lines.
#[derive(Default)]
pub(crate) struct Lines {
    rest: BytesMut,
    /// No line ends before this place.
    searched: usize,
}

impl Lines {
    /// Adds what came.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.rest.extend_from_slice(chunk);
    }

    /// The next whole line.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let found = self.rest[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(at) = found.map(|at| at + self.searched) else {
            self.searched = self.rest.len();
            return None;
        };
        self.searched = 0;
        let line = self.rest.split_to(at).freeze();
        self.rest.advance(1);
        Some(line)
    }

    /// The line that has begun is longer than any event.
    pub(crate) fn is_too_long(&self) -> bool {
        LINE_BYTES_MAX < self.rest.len()
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// What a line says.
pub(crate) enum Told<'a> {
    /// Something happened to an object, whose text this is.
    Event(EventKind, &'a [u8]),
    /// All up to this version was told.
    Bookmark(&'a [u8]),
    /// The watch is over.
    Error(ApiError),
    /// Nothing that we know.
    Unknown,
}

/// Reads a line.
pub(crate) fn read(line: &[u8]) -> Result<Told<'_>, serde_json::Error> {
    let Line { kind, object } = serde_json::from_slice(line)?;
    let text = object.get().as_bytes();
    Ok(match kind {
        "ADDED" => Told::Event(EventKind::Added, text),
        "MODIFIED" => Told::Event(EventKind::Modified, text),
        "DELETED" => Told::Event(EventKind::Deleted, text),
        "BOOKMARK" => Told::Bookmark(text),
        "ERROR" => Told::Error(serde_json::from_slice::<StatusText>(text)?.into_error()),
        _ => Told::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use schedlab_cluster::StatusReason;

    use super::*;

    #[test]
    fn lines_are_whole_however_the_stream_is_cut() {
        let text = b"{\"a\":1}\n{}\n\nlast";
        for cut in 0..text.len() {
            let mut lines = Lines::default();
            let mut read = Vec::new();
            for chunk in [&text[..cut], &text[cut..]] {
                lines.push(chunk);
                read.extend(std::iter::from_fn(|| lines.next()));
            }
            assert_eq!(read, [&b"{\"a\":1}"[..], b"{}", b""], "cut at {cut}");
        }
    }

    #[test]
    fn error_event_is_the_error_of_the_api() {
        let line = br#"{"type":"ERROR","object":{"kind":"Status","reason":"Expired","message":"too old","code":410}}"#;
        let Ok(Told::Error(error)) = read(line) else { panic!("an error") };
        assert_eq!((error.reason, error.message.as_str()), (StatusReason::Gone, "too old"));
        let line = br#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        assert!(matches!(read(line), Ok(Told::Event(EventKind::Added, br#"{"metadata":{"name":"a"}}"#))));
        assert!(read(b"{\"type\":").is_err());
    }
}
