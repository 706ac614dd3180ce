//! Between hyper and tokio: a connection that ends when its client takes nothing, and timers.
//!
//! hyper-util has these as `TokioIo` and `TokioTimer`, without the limit on writing; with the limit the
//! rest of it would not be used.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;

/// A client that takes nothing for so long is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A TCP connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, stalled: None }
    }

    /// Ends a write that has waited for too long.
    fn watch_over<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_TIMEOUT)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Bytes read at once.
const READ_BYTES: usize = 16 << 10;

impl Read for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // Through a buffer of our own: writing into hyper's needs unsafe code.
        let mut bytes = [0; READ_BYTES];
        let length = into.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut bytes[..length]);
        match Pin::new(&mut self.get_mut().stream).poll_read(context, &mut buffer) {
            Poll::Ready(Ok(())) => {
                into.put_slice(buffer.filled());
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }
}

impl Write for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch_over(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        this.watch_over(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let ended = Pin::new(&mut this.stream).poll_shutdown(context);
        this.watch_over(context, ended)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.watch_over(context, written)
    }
}

/// tokio's timers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers;

struct Slept(Pin<Box<tokio::time::Sleep>>);

impl Future for Slept {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl Sleep for Slept {}

impl Timer for Timers {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Slept(Box::pin(tokio::time::sleep(duration))))
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Slept(Box::pin(tokio::time::sleep_until(deadline.into()))))
    }
}
