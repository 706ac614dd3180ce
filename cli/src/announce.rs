//! `schedlab run --history`: tells a `schedlab serve` beside it how far the run is.
//!
//! A file a run, `HISTORY/running/<process id>.json`, written anew a few times a second and removed
//! at the end. A file is enough: both sides know the history's directory, no port has to be agreed
//! on, and a server that starts later or ends earlier disturbs nobody. One that was left behind by
//! a run that was killed is told by its age.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use schedlab_workloads::executor::Progress;
use schedlab_workloads::files::{self, Durability, FileError};
use schedlab_workloads::measure::Live;
use serde_json::{Value, json};

/// The directory below the history's.
const FOLDER: &str = "running";
/// Between two looks whether there is news.
pub(crate) const EVERY: Duration = Duration::from_millis(250);
/// A file is written at least so often, and taken for left behind after ten times as long.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// Announces a run until it is dropped.
pub(crate) struct Announcer {
    news: Arc<Mutex<News>>,
    thread: Option<JoinHandle<()>>,
}

struct News {
    started_at: String,
    workload: String,
    /// Of how many workloads the how-manieth.
    at: (usize, usize),
    op: String,
    op_at: (usize, usize),
    scheduled: u64,
    wanted: u64,
    op_began: Instant,
    is_over: bool,
}

impl Announcer {
    /// Begins to announce below a history's directory.
    pub(crate) fn start(history: &Path, started_at: &str) -> Result<Announcer> {
        let folder = history.join(FOLDER);
        fs::create_dir_all(&folder)
            .with_context(|| format!("--history: cannot create the directory {}", folder.display()))?;
        let file = folder.join(format!("{}.json", std::process::id()));
        let news = Arc::new(Mutex::new(News {
            started_at: started_at.to_owned(),
            workload: String::new(),
            at: (0, 0),
            op: String::new(),
            op_at: (0, 0),
            scheduled: 0,
            wanted: 0,
            op_began: Instant::now(),
            is_over: false,
        }));
        let read = Arc::clone(&news);
        let thread = std::thread::spawn(move || tell(&read, &file));
        Ok(Announcer { news, thread: Some(thread) })
    }

    /// A workload begins.
    pub(crate) fn workload(&self, name: &str, at: usize, count: usize) {
        let mut news = lock(&self.news);
        name.clone_into(&mut news.workload);
        news.at = (at + 1, count);
        (news.scheduled, news.wanted) = (0, 0);
    }

    /// A progress that is announced too.
    pub(crate) fn watch<'a>(&'a self, inner: &'a dyn Progress) -> Announced<'a> {
        Announced { news: &self.news, inner }
    }
}

fn lock(news: &Mutex<News>) -> MutexGuard<'_, News> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(news: &Mutex<News>, file: &Path) {
    let (mut last, mut written) = (Value::Null, None::<Instant>);
    loop {
        let (now, is_over) = {
            let news = lock(news);
            (news.document(), news.is_over)
        };
        if is_over {
            let _ = fs::remove_file(file);
            return;
        }
        if now != last || written.is_none_or(|at| AT_LEAST_EVERY <= at.elapsed()) {
            // News that cannot be told must not end the run it is about.
            let _ = put(file, &now);
            (last, written) = (now, Some(Instant::now()));
        }
        std::thread::park_timeout(EVERY);
    }
}

/// Whole or not at all, so that no reader sees half of it.
fn put(file: &Path, document: &Value) -> Result<(), FileError> {
    files::write(file, document.to_string().as_bytes(), Durability::Rebuildable)
}

impl News {
    fn document(&self) -> Value {
        let seconds = self.op_began.elapsed().as_secs_f64();
        json!({
            "schema": "schedlab-running/v1",
            "process": std::process::id(),
            "started_at": self.started_at,
            "workload": self.workload,
            "at": self.at.0,
            "of": self.at.1,
            "op": self.op,
            "op_at": self.op_at.0,
            "op_of": self.op_at.1,
            "scheduled": self.scheduled,
            "wanted": self.wanted,
            "pods_per_s": if self.scheduled == 0 { 0.0 } else { (self.scheduled as f64 / seconds).round() },
        })
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        lock(&self.news).is_over = true;
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Passes progress on and announces it.
pub(crate) struct Announced<'a> {
    news: &'a Mutex<News>,
    inner: &'a dyn Progress,
}

impl Progress for Announced<'_> {
    fn op_begins(&self, index: usize, count: usize, what: &str) {
        {
            let mut news = lock(self.news);
            what.clone_into(&mut news.op);
            news.op_at = (index + 1, count);
            (news.scheduled, news.wanted) = (0, 0);
            news.op_began = Instant::now();
        }
        self.inner.op_begins(index, count, what);
    }

    fn pods(&self, scheduled: u64, wanted: u64) {
        {
            let mut news = lock(self.news);
            (news.scheduled, news.wanted) = (scheduled.min(wanted), wanted);
        }
        self.inner.pods(scheduled, wanted);
    }

    fn notice(&self, text: &str) {
        self.inner.notice(text);
    }

    fn begins(&self, live: &Live) {
        self.inner.begins(live);
    }

    fn ends(&self, live: &Live) {
        self.inner.ends(live);
    }
}

/// What the runs beside a history say now, oldest first.
pub(crate) fn running(history: &Path) -> Vec<Value> {
    let entries = fs::read_dir(history.join(FOLDER)).into_iter().flatten().filter_map(Result::ok);
    let files = entries.map(|entry| entry.path()).filter(|path| is_fresh(path));
    let mut running: Vec<Value> =
        files.filter_map(|path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect();
    running.sort_by_key(|one| (one["started_at"].to_string(), one["process"].as_u64()));
    running
}

fn is_fresh(path: &Path) -> bool {
    let age = || SystemTime::now().duration_since(fs::metadata(path).ok()?.modified().ok()?).ok();
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    is_json && age().is_some_and(|age| age < AT_LEAST_EVERY * 10)
}

#[cfg(test)]
mod tests {
    use schedlab_workloads::executor::NoProgress;

    use super::*;

    #[test]
    fn a_run_is_announced_while_it_lasts() {
        let history = std::env::temp_dir().join(format!("schedlab-announce-{}", std::process::id()));
        let announcer = Announcer::start(&history, "2026-11-16T08:00:00Z").expect("a directory");
        announcer.workload("Case/Small", 2, 5);
        let progress = announcer.watch(&NoProgress);
        progress.op_begins(1, 3, "createPods");
        progress.pods(50, 200);
        let wanted = |one: &Value| one["wanted"] == 200 && one["scheduled"] == 50;
        let end = Instant::now() + Duration::from_secs(20);
        let found = loop {
            match running(&history).into_iter().find(wanted) {
                Some(found) => break found,
                None => assert!(Instant::now() < end, "never announced: {:?}", running(&history)),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(
            (&found["workload"], &found["at"], &found["of"]),
            (&json!("Case/Small"), &json!(3), &json!(5))
        );
        assert_eq!((&found["op"], &found["op_at"]), (&json!("createPods"), &json!(2)));
        drop(announcer);
        assert!(running(&history).is_empty(), "nothing is left behind");
        fs::remove_dir_all(&history).expect("removed");
    }
}
