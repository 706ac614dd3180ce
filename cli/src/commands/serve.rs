//! `schedlab serve`: the site of a history on loopback, made anew whenever the history grows.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use schedlab_perf_dash::history::FILE_NAME;
use tiny_http::{Header, Method, Request, Response, Server};

use super::site::{SiteArgs, site};
use crate::Exit;
use crate::progress::{complain, say};

/// What to serve where.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Address to listen on; port 0 takes a free one. Only loopback: the site is for static hosts,
    /// this is for the desk
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// End after so many requests, for scripts and tests
    #[arg(long, value_name = "N", hide = true)]
    requests: Option<usize>,
}

pub(crate) fn serve(args: &ServeArgs) -> Result<Exit> {
    if !args.listen.ip().is_loopback() {
        bail!(
            "--listen {}: only loopback addresses, as 127.0.0.1:8080; publish the site's directory instead",
            args.listen
        );
    }
    let server = Server::http(args.listen)
        .map_err(|error| anyhow::anyhow!("{error}"))
        .with_context(|| format!("--listen {}: cannot listen there", args.listen))?;
    site(&args.site)?;
    let mut shown = version(&args.site.history);
    say(&format!("Serving on http://{} (Ctrl-C ends it)", server.server_addr()));
    for request in server.incoming_requests().take(args.requests.unwrap_or(usize::MAX)) {
        let now = version(&args.site.history);
        if now != shown {
            // A page of the old site is better than none: say it and go on.
            match site(&args.site) {
                Ok(_) => shown = now,
                Err(error) => complain(&format!("schedlab: {error:#}")),
            }
        }
        if let Err(error) = answer(request, &args.site.out) {
            complain(&format!("schedlab: a reader went away: {error}"));
        }
    }
    Ok(Exit::Fine)
}

/// The history only grows, so its length tells versions apart.
fn version(history: &Path) -> Option<u64> {
    fs::metadata(history.join(FILE_NAME)).ok().map(|metadata| metadata.len())
}

fn answer(request: Request, out: &Path) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::from_string("only GET and HEAD\n").with_status_code(405));
    }
    match file_of(request.url(), out).and_then(|path| Some((File::open(&path).ok()?, path))) {
        Some((file, path)) => {
            let kind = format!("Content-Type: {}", content_type(&path));
            let headers = [kind.as_str(), "Cache-Control: no-cache", "X-Content-Type-Options: nosniff"];
            let headers = headers.iter().filter_map(|header| header.parse::<Header>().ok());
            request.respond(headers.fold(Response::from_file(file), Response::with_header))
        }
        None => request.respond(Response::from_string("no such page\n").with_status_code(404)),
    }
}

/// The file that an address means, never one outside the site.
fn file_of(url: &str, out: &Path) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?.trim_start_matches('/');
    let path = Path::new(if path.is_empty() { "index.html" } else { path });
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let file = out.join(path);
    (is_plain && file.is_file()).then_some(file)
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
        let found =
            |url: &str| file_of(url, &out).map(|path| path.strip_prefix(&out).expect("below").to_owned());
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
