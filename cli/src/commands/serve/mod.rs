//! `schedlab serve`: the site of a history on loopback, made anew whenever the history grows, with
//! the progress of runs beside it streaming in.
//!
//! ```text
//! schedlab run --history DIR ──writes──▶ DIR/running/<process>.json, at the end DIR/history.slh
//!                                             │ looked at four times a second
//! schedlab serve --history DIR ──/events (server-sent events)──▶ every open page
//! ```

mod events;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use schedlab_perf_dash::history::{self, FILE_NAME};
use schedlab_perf_dash::site::{self, Audience};

use super::ab::split_words;
use super::site::SiteArgs;
use crate::http::{Body, Request, Server, Stopper};
use crate::progress::{self, complain, say};
use crate::{Exit, signals};

use events::Readers;

/// What to serve where.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Address to listen on; port 0 takes a free one. Only loopback: the site is for static hosts,
    /// this is for the desk
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Also answer requests for this host name; names of loopback always are. Others are refused: a
    /// site whose name was rebound to this machine must not read what is served here
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Also start `schedlab run FLAGS --history DIR`, whose progress the pages then show; "" runs
    /// the suite "quick"
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    run: Option<String>,
    /// End after so many requests, for scripts and tests
    #[arg(long, value_name = "N", hide = true)]
    requests: Option<usize>,
}

const EXAMPLES: &str = "Examples:
  schedlab serve --history history
  schedlab serve --history history --run '--suite quick --repeat 5'
  schedlab run --history history     (beside it: its progress is shown, its result recorded)";

pub(crate) fn serve(args: &ServeArgs) -> Result<Exit> {
    if !args.listen.ip().is_loopback() {
        bail!(
            "--listen {}: only loopback addresses, as 127.0.0.1:8080; publish the site's directory instead",
            args.listen
        );
    }
    let run_words = args.run.as_deref().map(split_words).transpose().context("--run")?;
    let server = Server::bind(args.listen, &args.allow_host)
        .with_context(|| format!("--listen {}: cannot listen there", args.listen))?;
    let shown = version(&args.site.history);
    make_site(&args.site)?;
    let _run = run_words.map(|words| Started::run(&words, &args.site.history)).transpose()?;
    say(&format!("Serving on http://{} (Ctrl-C ends it)", server.address()));
    if progress::lost().is_some() {
        bail!("nobody can be told where it serves");
    }
    let site = Site {
        args: args.site.clone(),
        shown: Mutex::new(shown),
        readers: Readers::new(&args.site.history),
        requests_left: Mutex::new(args.requests),
        stopper: server.stopper(),
    };
    let stopper = server.stopper();
    let interrupt = signals::listen();
    let watch = move || {
        signals::sleep(Duration::MAX, interrupt);
        stopper.stop();
    };
    std::thread::Builder::new().name("stopper".to_owned()).spawn(watch).context("no thread is to be had")?;
    server.run(move |request| site.take(request));
    Ok(if signals::is_interrupted() { Exit::Interrupted } else { Exit::Fine })
}

/// What answers requests, each on a thread of its own.
struct Site {
    args: SiteArgs,
    /// The version of the history that the pages show. Held while they are made anew.
    shown: Mutex<Option<u64>>,
    readers: Readers,
    requests_left: Mutex<Option<usize>>,
    stopper: Stopper,
}

impl Site {
    fn take(&self, request: Request) {
        if request.target == "/events" {
            self.count();
            return self.readers.add(request);
        }
        self.follow_history();
        answer(request, &self.args.out);
        self.count();
    }

    fn follow_history(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = version(&self.args.history);
        if now != *shown {
            // A page of the old site is better than none: say it and go on.
            match make_site(&self.args) {
                Ok(()) => *shown = now,
                Err(error) => complain(&format!("schedlab: {error:#}")),
            }
        }
    }

    /// Ends the server with the last request it was asked to answer.
    fn count(&self) {
        let mut left = self.requests_left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = left.as_mut() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.stopper.stop();
            }
        }
    }
}

/// The history only grows, so its length tells versions apart.
fn version(history: &Path) -> Option<u64> {
    fs::metadata(history.join(FILE_NAME)).ok().map(|metadata| metadata.len())
}

/// Writes the site. A history that nobody has recorded in yet is an empty one.
fn make_site(args: &SiteArgs) -> Result<()> {
    let records = match version(&args.history) {
        None => Vec::new(),
        Some(_) => {
            let history = history::read(&args.history)?;
            history.warnings.iter().for_each(|warning| complain(&format!("schedlab: {warning}")));
            history.records
        }
    };
    let counts = site::write_site(&args.out, &records, &[], Audience::Live)?;
    say(&format!("{} page(s) of {} run(s)", counts.pages, counts.runs));
    Ok(())
}

/// A run that was started for the pages. It ends with the server, as a signal ends a run: what it has
/// measured is kept.
struct Started(Child);

/// Beyond the two seconds within which a run ends.
const RUN_ENDS_WITHIN: Duration = Duration::from_millis(2500);

impl Started {
    fn run(words: &[String], history: &Path) -> Result<Started> {
        let program = std::env::current_exe().context("--run: this program's own file is not known")?;
        let child = Command::new(program)
            .arg("run")
            .args(words)
            .arg("--history")
            .arg(history)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("--run: the run could not be started")?;
        Ok(Started(child))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(process) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
            && matches!(self.0.try_wait(), Ok(None))
        {
            let _ = kill_process(process, Signal::TERM);
        }
        let begun = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && begun.elapsed() < RUN_ENDS_WITHIN {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn answer(request: Request, out: &Path) {
    let headers = |path: &Path| [("Content-Type", content_type(path)), ("Cache-Control", "no-cache")];
    match file_of(&request.target, out).map(|path| (File::open(&path), path)) {
        Some((Ok(file), path)) => request.respond(200, &headers(&path), Body::File(file)),
        // No descriptor is left, say: the page is there.
        Some((Err(error), path)) => {
            complain(&format!("schedlab: {}: {error}", path.display()));
            request.respond(503, &[], Body::Text("the page cannot be read now\n".to_owned()));
        }
        None => request.respond(404, &[], Body::Text("no such page\n".to_owned())),
    }
}

/// The file that an address means, never one outside the site, also not through a link.
fn file_of(target: &str, out: &Path) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.trim_start_matches('/');
    let path = Path::new(if path.is_empty() { "index.html" } else { path });
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain {
        return None;
    }
    let (site, file) = (out.canonicalize().ok()?, out.join(path).canonicalize().ok()?);
    (file.starts_with(&site) && file.is_file()).then_some(file)
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_site_are_served() {
        let out = std::env::temp_dir().join(format!("schedlab-serve-{}", std::process::id()));
        fs::create_dir_all(out.join("w")).expect("made");
        for name in ["index.html", "w/a.html"] {
            fs::write(out.join(name), "x").expect("written");
        }
        let out = out.canonicalize().expect("made");
        let found =
            |url: &str| file_of(url, &out).map(|path| path.strip_prefix(&out).expect("below").to_owned());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/passwd", out.join("link.html")).expect("linked");
            std::os::unix::fs::symlink("/etc", out.join("folder")).expect("linked");
            std::os::unix::fs::symlink("index.html", out.join("inside.html")).expect("linked");
            assert_eq!((found("/link.html"), found("/folder/passwd")), (None, None));
            assert_eq!(found("/inside.html"), Some(PathBuf::from("index.html")));
        }
        assert_eq!(found("/"), Some(PathBuf::from("index.html")));
        assert_eq!(found("/w/a.html?x#y"), Some(PathBuf::from("w/a.html")));
        for url in
            ["/../secret", "/w/../../secret", "/w", "/missing.html", "//etc/passwd", "/./index.html/.."]
        {
            assert_eq!(found(url), None, "{url}");
        }
        fs::remove_dir_all(&out).expect("removed");
    }
}
