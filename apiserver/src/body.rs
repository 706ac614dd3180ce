//! Bodies of answers: whole, or a stream of chunks.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of an answer.
pub(crate) enum ReplyBody {
    /// All of it; none once it is taken.
    Whole(Option<Bytes>),
    /// Until the sender is dropped.
    Stream(mpsc::Receiver<Bytes>),
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        ReplyBody::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    pub(crate) fn stream(receiver: mpsc::Receiver<Bytes>) -> Self {
        ReplyBody::Stream(receiver)
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            ReplyBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            ReplyBody::Stream(receiver) => {
                receiver.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ReplyBody::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            ReplyBody::Stream(_) => SizeHint::default(),
        }
    }
}
