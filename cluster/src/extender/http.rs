//! One extender behind a URL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use schedlab_core::framework::extend::{Extender, ExtenderError, FilterAnswer, Verb, Victims};
use schedlab_core::framework::extender::{DEFAULT_EXTENDER_TIMEOUT, ExtenderConfig};
use schedlab_core::ids::PodUid;
use schedlab_core::input::PodInput;
use serde_json::Value;

use super::objects::Objects;
use super::redirect::{self, Next, REQUESTS_MAX};
use super::wire::{self, AskedNodes};

/// How calls of an extender went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtenderCounts {
    /// Calls so far.
    pub calls: u64,
    /// Those that failed, also where the failure was ignored.
    pub failures: u64,
    /// What the last failure was.
    pub last_failure: Option<String>,
}

/// An extender that is asked by `POST`.
#[derive(Debug)]
pub struct HttpExtender {
    config: ExtenderConfig,
    objects: Arc<Objects>,
    agent: ureq::Agent,
    /// For a call, all its redirects included.
    timeout: Duration,
    calls: AtomicU64,
    failures: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

impl HttpExtender {
    pub(super) fn new(config: ExtenderConfig, objects: Arc<Objects>) -> HttpExtender {
        let timeout =
            if config.http_timeout.is_zero() { DEFAULT_EXTENDER_TIMEOUT } else { config.http_timeout };
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // Followed here: the client does not send a body again.
            .max_redirects(0)
            .proxy(None)
            .build()
            .into();
        HttpExtender {
            config,
            objects,
            agent,
            timeout,
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            last_failure: Mutex::new(None),
        }
    }

    /// How its calls went: a failure that was ignored leaves no other trace.
    #[must_use]
    pub fn counts(&self) -> ExtenderCounts {
        ExtenderCounts {
            calls: self.calls.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            last_failure: self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn verb(&self, verb: Verb) -> &str {
        match verb {
            Verb::Filter => &self.config.filter_verb,
            Verb::Prioritize => &self.config.prioritize_verb,
            Verb::Preempt => &self.config.preempt_verb,
            Verb::Bind => &self.config.bind_verb,
        }
    }

    /// Counts the call and keeps what went wrong.
    fn noted<T>(&self, result: Result<T, ExtenderError>) -> Result<T, ExtenderError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = &result {
            self.note_failure(error);
        }
        result
    }

    fn note_failure(&self, error: &ExtenderError) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }

    fn url(&self, verb: Verb) -> String {
        format!("{}/{}", self.config.url_prefix.trim_end_matches('/'), self.verb(verb))
    }

    fn send<T>(
        &self,
        verb: Verb,
        body: &Value,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<T, ExtenderError> {
        let (url, mut response) = self.call(self.url(verb), &body.to_string())?;
        let unreachable =
            |error: ureq::Error| ExtenderError::Unreachable { url: url.clone(), why: error.to_string() };
        let code = response.status().as_u16();
        if code != 200 {
            return Err(ExtenderError::Status { verb: self.verb(verb).to_owned(), url, code });
        }
        let text =
            response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec().map_err(unreachable)?;
        let garbage = |why: String| ExtenderError::Garbage { url: url.clone(), why };
        // Go's decoder reads one value and looks no further.
        let first = serde_json::Deserializer::from_slice(&text).into_iter::<Value>().next();
        let value = first
            .ok_or_else(|| garbage("it is empty".to_owned()))?
            .map_err(|error| garbage(format!("not JSON: {error}: {}", excerpt(&text))))?;
        read(&value).map_err(garbage)
    }

    /// The answer to a POST, and the URL it came from: redirects are followed.
    fn call(
        &self,
        first: String,
        body: &str,
    ) -> Result<(String, ureq::http::Response<ureq::Body>), ExtenderError> {
        let deadline = Instant::now() + self.timeout;
        let (mut url, mut has_body) = (first.clone(), true);
        for _ in 0..REQUESTS_MAX {
            let unreachable = |why: String| ExtenderError::Unreachable { url: url.clone(), why };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(unreachable("timeout: global".to_owned()));
            }
            let answer = if has_body {
                let request = self.agent.post(&url).header("Content-Type", "application/json");
                request.config().timeout_global(Some(left)).build().send(body)
            } else {
                self.agent.get(&url).config().timeout_global(Some(left)).build().call()
            };
            let answer = answer.map_err(|error| unreachable(error.to_string()))?;
            let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
            match redirect::next(&url, answer.status().as_u16(), location).map_err(unreachable)? {
                Next::Done => return Ok((url, answer)),
                Next::Get(there) => (url, has_body) = (there, false),
                Next::SameAgain(there) => url = there,
            }
        }
        let why = format!("stopped after {REQUESTS_MAX} redirects");
        Err(ExtenderError::Unreachable { url: first, why })
    }

    fn pod(&self, uid: PodUid) -> Result<Pod, ExtenderError> {
        let gone = || ExtenderError::PodGone { extender: self.config.url_prefix.clone() };
        self.objects.pod(uid).ok_or_else(gone)
    }

    /// Asks about nodes, by name or whole.
    fn ask<T>(
        &self,
        verb: Verb,
        uid: PodUid,
        nodes: &[&str],
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Result<T, ExtenderError> {
        let pod = self.pod(uid)?;
        if self.config.node_cache_capable {
            return self.send(verb, &wire::args(&pod, &AskedNodes::Names(nodes)), read);
        }
        let unread = |error: crate::ApiError| ExtenderError::Unreachable {
            url: self.url(verb),
            why: error.to_string(),
        };
        let objects = self.objects.nodes(nodes).map_err(unread)?;
        self.send(verb, &wire::args(&pod, &AskedNodes::Objects(&objects)), read)
    }
}

/// The longest answer that is read: whole nodes of a cluster of 15,000, with room.
const ANSWER_BYTES_MAX: u64 = 1 << 30;

impl Extender for HttpExtender {
    fn name(&self) -> &str {
        &self.config.url_prefix
    }

    fn is_ignorable(&self) -> bool {
        self.config.ignorable
    }

    /// Defaulting has made a request of every limit, so requests are all there is to look at.
    fn is_interested(&self, pod: &PodInput) -> bool {
        let managed = &self.config.managed_resources;
        let is_managed = |name: &String| managed.iter().any(|resource| resource.name == *name);
        let mut containers = pod.containers.iter().chain(&pod.init_containers);
        managed.is_empty() || containers.any(|container| container.requests.keys().any(is_managed))
    }

    fn does(&self, verb: Verb) -> bool {
        !self.verb(verb).is_empty()
    }

    fn weight(&self) -> i64 {
        self.config.weight
    }

    fn filter(&self, pod: PodUid, nodes: &[&str]) -> Result<FilterAnswer, ExtenderError> {
        let read = |answer: &Value| match wire::said_error(answer)? {
            Some(message) => Ok(Err(ExtenderError::Said { message })),
            None => wire::filter_answer(answer, self.config.node_cache_capable).map(Ok),
        };
        self.noted(self.ask(Verb::Filter, pod, nodes, read).and_then(|answer| answer))
    }

    fn prioritize(&self, pod: PodUid, nodes: &[&str]) -> Result<Vec<(String, i64)>, ExtenderError> {
        self.noted(self.ask(Verb::Prioritize, pod, nodes, wire::priorities))
    }

    fn preempt(&self, pod: PodUid, candidates: &[Victims]) -> Result<Vec<Victims>, ExtenderError> {
        let ask = || {
            let pod = self.pod(pod)?;
            let body = if self.config.node_cache_capable {
                wire::meta_victims(&pod, candidates)
            } else {
                let whole = |victims: &Victims| {
                    let pods = victims.pods.iter().filter_map(|&uid| self.objects.pod(uid)).collect();
                    (victims.node.clone(), pods, victims.pdb_violations)
                };
                wire::whole_victims(&pod, &candidates.iter().map(whole).collect::<Vec<_>>())
            };
            self.send(Verb::Preempt, &body, wire::victims)
        };
        self.noted(ask())
    }

    fn bind(&self, pod: PodUid, node: &str) -> Result<(), ExtenderError> {
        let ask = || {
            let pod = self.pod(pod)?;
            match self.send(Verb::Bind, &wire::binding(&pod, node), wire::said_error)? {
                Some(message) => Err(ExtenderError::Said { message }),
                None => Ok(()),
            }
        };
        self.noted(ask())
    }

    fn answer_refused(&self, why: &ExtenderError) {
        self.note_failure(why);
    }
}

/// Whether requests can be made of a prefix.
pub(super) fn can_be_called(prefix: &str) -> bool {
    let uri: Result<ureq::http::Uri, _> = prefix.parse();
    uri.is_ok_and(|uri| uri.scheme_str() == Some("http") && uri.host().is_some_and(|host| !host.is_empty()))
}

/// The beginning of an answer, for a message.
fn excerpt(text: &[u8]) -> String {
    const LENGTH: usize = 80;
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(LENGTH).collect();
    if short.len() < text.len() { format!("{short:?}...") } else { format!("{short:?}") }
}
