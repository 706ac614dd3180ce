//! Extenders that are down, slow, or talk nonsense. Each case is tried twice: it ends the cycle
//! with an error, unless the extender is ignorable.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use schedlab_core::framework::extender::ExtenderConfig;
use serde_json::json;

use super::server::{Answer, Server};
use super::{Lab, filtering, scoring};

/// The node that wins when nobody objects.
const FIRST: &str = "a";

fn check(name: &str, server: impl Fn() -> Answer + Clone + Send + 'static, expected: &str) {
    let respond = server.clone();
    let strict = Server::start(move |_, _| respond());
    let mut lab = Lab::new(&[filtering(&strict.url())]);
    let outcome = lab.schedule();
    let expected = expected.replace("PREFIX", &strict.url());
    assert_eq!(outcome, format!("SchedulerError: {expected}"), "case: {name}");

    let ignorable = Server::start(move |_, _| server());
    let mut lab = Lab::new(&[ExtenderConfig { ignorable: true, ..filtering(&ignorable.url()) }]);
    assert_eq!(lab.schedule(), FIRST, "case: {name}, ignorable");
    let counts = lab.extenders[0].counts();
    assert_eq!((counts.calls, ignorable.requests().len()), (1, 1), "case: {name}");
    assert_eq!(counts.failures, 1, "case: {name}");
    let expected = expected.replace(&strict.url(), &ignorable.url());
    assert_eq!(counts.last_failure, Some(expected), "case: {name}");
}

#[test]
fn malformed_extender_answer_fails_the_cycle_with_a_message() {
    check(
        "not JSON",
        || Answer::Text("<html>oops"),
        "extender at URL PREFIX/filter: the answer cannot be read: not JSON: expected value at line 1 column 1: \
         \"<html>oops\"",
    );
    check(
        "empty",
        || Answer::Text(""),
        "extender at URL PREFIX/filter: the answer cannot be read: it is empty",
    );
    check(
        "another type",
        || Answer::Json(json!(["a"])),
        "extender at URL PREFIX/filter: the answer cannot be read: the answer is a list, not an object",
    );
    check(
        "an error status",
        || Answer::Status(503),
        "failed filter with extender at URL PREFIX/filter, code 503",
    );
    check("its own error", || Answer::Json(json!({"Error": "database is on fire"})), "database is on fire");
    check(
        "a node that does not exist",
        || Answer::Json(json!({"NodeNames": ["a", "nowhere"]})),
        "extender \"PREFIX\" claims a filtered node \"nowhere\" which is not found in the input node list",
    );
}

#[test]
fn unknown_node_object_of_extender_is_refused() {
    let server =
        Server::start(|_, _| Answer::Json(json!({"Nodes": {"items": [{"metadata": {"name": "nowhere"}}]}})));
    let mut lab = Lab::new(&[ExtenderConfig { node_cache_capable: false, ..filtering(&server.url()) }]);
    assert!(lab.schedule().contains("claims a filtered node \"nowhere\""));
}

#[test]
fn unreachable_extender_is_named() {
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let url = format!("http://{address}");
    let outcome = Lab::new(&[filtering(&url)]).schedule();
    assert!(outcome.starts_with(&format!("SchedulerError: extender at URL {url}/filter: ")), "{outcome}");
    assert!(outcome.ends_with("; is it running, and is httpTimeout long enough?"), "{outcome}");
    let mut lab = Lab::new(&[ExtenderConfig { ignorable: true, ..filtering(&url) }]);
    assert_eq!(lab.schedule(), FIRST);
    let counts = lab.extenders[0].counts();
    assert_eq!(counts.failures, 1, "what is ignored is still counted");
    assert!(counts.last_failure.expect("it failed").contains(&url));
}

#[test]
fn a_slow_extender_costs_its_timeout_and_no_more() {
    for ignorable in [false, true] {
        let server = Server::start(|_, _| Answer::Never);
        let timeout = Duration::from_millis(100);
        let config = ExtenderConfig { http_timeout: timeout, ignorable, ..filtering(&server.url()) };
        let mut lab = Lab::new(&[config]);
        let started = Instant::now();
        let outcome = lab.schedule();
        assert!(timeout <= started.elapsed(), "it waited");
        assert!(started.elapsed() < Duration::from_secs(4), "but not for the default timeout");
        if ignorable {
            assert_eq!(outcome, FIRST);
        } else {
            assert!(outcome.contains("timeout"), "{outcome}");
        }
    }
}

#[test]
fn failed_prioritize_counts_as_zero_scores() {
    for answer in [
        || Answer::Status(500),
        || Answer::Text("[{]"),
        || Answer::Json(json!([{"Host": "b", "Score": "9"}])),
    ] {
        let server = Server::start(move |_, _| answer());
        let mut lab = Lab::new(&[scoring(&server.url(), 5)]);
        assert_eq!(lab.schedule(), FIRST, "also when the extender is not ignorable");
        assert_eq!(lab.extenders[0].counts().failures, 1);
    }
}
