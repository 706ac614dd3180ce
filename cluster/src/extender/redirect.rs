//! Where an answer sends the client instead, as Go's `net/http` has it.
//!
//! Upstream: `net/http` client.go `redirectBehavior`, `Client.do`, `defaultCheckRedirect`: 301, 302 and
//! 303 are followed by a GET without a body, 307 and 308 by the same request once more; a redirect
//! without a `Location` is an answer like any other; the tenth request may not be redirected.

/// Requests of one call, the first included.
pub(super) const REQUESTS_MAX: usize = 10;

/// What to do about an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is the answer.
    Done,
    /// Ask there, without a body.
    Get(String),
    /// Ask there the same.
    SameAgain(String),
}

/// What an answer of `url` with this status and `Location` asks for.
pub(super) fn next(url: &str, status: u16, location: Option<&str>) -> Result<Next, String> {
    let Some(location) = location.filter(|location| !location.is_empty()) else { return Ok(Next::Done) };
    match status {
        301..=303 => resolve(url, location).map(Next::Get),
        307 | 308 => resolve(url, location).map(Next::SameAgain),
        _ => Ok(Next::Done),
    }
}

/// A `Location`, which may be relative, as an absolute URL. RFC 3986, 5.2.
fn resolve(base: &str, location: &str) -> Result<String, String> {
    let location = location.split('#').next().unwrap_or_default();
    if let Some(scheme) = scheme_of(location) {
        return match scheme.to_ascii_lowercase().as_str() {
            "http" => Ok(location.to_owned()),
            "https" => Err(format!("it redirects to {location:?}, and HTTPS is not supported")),
            _ => Err(format!("it redirects to {location:?}, whose scheme is not http")),
        };
    }
    if let Some(authority) = location.strip_prefix("//") {
        return Ok(format!("http://{authority}"));
    }
    let (origin, path) = split_origin(base);
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    if location.is_empty() || location.starts_with('?') {
        return Ok(format!("{origin}{path}{location}"));
    }
    let (relative, query) = match location.find('?') {
        Some(at) => location.split_at(at),
        None => (location, ""),
    };
    let merged = if relative.starts_with('/') {
        relative.to_owned()
    } else {
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        format!("{folder}{relative}")
    };
    Ok(format!("{origin}{}{query}", without_dots(&merged)))
}

/// The scheme of an absolute URL.
fn scheme_of(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    is_scheme.then_some(scheme)
}

/// `http://host:port` and the rest.
fn split_origin(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find(['/', '?']).map_or(url.len(), |at| authority + at);
    url.split_at(end)
}

/// The path without `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    for (at, &part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            part => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_status_codes_are_followed_as_by_go() {
        let to = || Some("/there");
        let there = || "http://a:1/there".to_owned();
        let cases = [
            (200, to(), Next::Done),
            (301, to(), Next::Get(there())),
            (302, to(), Next::Get(there())),
            (303, to(), Next::Get(there())),
            (304, to(), Next::Done),
            (307, to(), Next::SameAgain(there())),
            (308, to(), Next::SameAgain(there())),
            (307, None, Next::Done),
            (302, Some(""), Next::Done),
        ];
        for (status, location, expected) in cases {
            assert_eq!(next("http://a:1/s/filter", status, location), Ok(expected), "status {status}");
        }
    }

    #[test]
    fn relative_locations_are_resolved() {
        let cases = [
            ("http://b/x", Ok("http://b/x")),
            ("HTTP://b/x#part", Ok("HTTP://b/x")),
            ("//b:2/x", Ok("http://b:2/x")),
            ("/x?y=1", Ok("http://a:1/x?y=1")),
            ("prioritize", Ok("http://a:1/s/prioritize")),
            ("../x/./y", Ok("http://a:1/x/y")),
            ("../../../x", Ok("http://a:1/x")),
            ("..", Ok("http://a:1/")),
            ("?again", Ok("http://a:1/s/filter?again")),
            ("https://b/x", Err("it redirects to \"https://b/x\", and HTTPS is not supported")),
            ("file:/etc/passwd", Err("it redirects to \"file:/etc/passwd\", whose scheme is not http")),
        ];
        for (location, expected) in cases {
            let got = resolve("http://a:1/s/filter?q", location);
            assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned), "case: {location}");
        }
        assert_eq!(resolve("http://a:1", "x"), Ok("http://a:1/x".to_owned()));
    }
}
