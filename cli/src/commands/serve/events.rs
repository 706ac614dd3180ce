//! `/events`: news of the runs beside a history, to every page that is open.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::version;
use crate::announce::{EVERY, running};
use crate::http::{Body, Request};

/// Pages that are told at once; a browser opens one connection a tab.
const READERS_MAX: usize = 32;
/// A sign of life, by which a page that was closed is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
                    Cache-Control: no-cache\r\nConnection: close\r\n\r\nretry: 1000\n\n";

/// Who reads along.
pub(super) struct Readers {
    history: PathBuf,
    count: AtomicUsize,
}

impl Readers {
    pub(super) fn new(history: &Path) -> Readers {
        Readers { history: history.to_owned(), count: AtomicUsize::new(0) }
    }

    /// Tells one more page, until it goes away.
    pub(super) fn add(&self, request: Request) {
        if READERS_MAX <= self.count.fetch_add(1, Ordering::Relaxed) {
            request.respond(503, &[], Body::Text("too many pages are open\n".to_owned()));
        } else {
            // It ends when the page is closed, which is no error.
            let _ = tell(&mut &*request.into_stream(), &self.history);
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

fn tell(page: &mut impl Write, history: &Path) -> std::io::Result<()> {
    page.write_all(HEAD.as_bytes())?;
    let (mut last, mut told) = (String::new(), Instant::now());
    loop {
        let now = json!({ "running": running(history), "history": version(history) }).to_string();
        if now != last {
            write!(page, "data: {now}\n\n")?;
            (last, told) = (now, Instant::now());
        } else if SIGN_OF_LIFE <= told.elapsed() {
            page.write_all(b": alive\n\n")?;
            told = Instant::now();
        }
        page.flush()?;
        std::thread::sleep(EVERY);
    }
}
