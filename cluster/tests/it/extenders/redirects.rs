//! Redirects are followed as by Go's client, which is what kube-scheduler asks extenders with.

use std::time::{Duration, Instant};

use schedlab_core::framework::extender::ExtenderConfig;
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::{Lab, filtering};

#[test]
fn redirect_307_and_308_send_the_filter_arguments_again() {
    for code in [307, 308] {
        let server = Server::start(move |verb, _| match verb {
            "filter" => Answer::Redirect(code, "../elsewhere/moved".to_owned()),
            _ => Answer::Json(json!({"NodeNames": ["b"]})),
        });
        let mut lab = Lab::new(&[filtering(&server.url())]);
        assert_eq!(lab.schedule(), "b", "status {code}");
        let requests = server.requests();
        assert_eq!((requests[0].0.as_str(), requests[1].0.as_str()), ("filter", "moved"), "status {code}");
        assert_eq!(requests[0].1["NodeNames"], json!(["a", "b", "c"]), "status {code}");
        assert_eq!(requests[0].1, requests[1].1, "status {code}: the body is sent again");
        assert_eq!(lab.extenders[0].counts().failures, 0);
    }
}

#[test]
fn redirect_301_to_303_is_followed_by_get_without_a_body() {
    for code in [301, 302, 303] {
        let server = Server::start(move |verb, _| match verb {
            "filter" => Answer::Redirect(code, "/moved".to_owned()),
            _ => Answer::Json(json!({"NodeNames": ["c"]})),
        });
        assert_eq!(Lab::new(&[filtering(&server.url())]).schedule(), "c", "status {code}");
        assert_eq!(server.requests()[1], ("moved".to_owned(), Value::Null), "status {code}");
    }
}

#[test]
fn tenth_request_may_not_be_redirected() {
    let server = Server::start(|_, _| Answer::Redirect(307, "again".to_owned()));
    let outcome = Lab::new(&[filtering(&server.url())]).schedule();
    assert_eq!(
        outcome,
        format!(
            "SchedulerError: extender at URL {}/filter: stopped after 10 redirects; is it running, and is \
             httpTimeout long enough?",
            server.url()
        )
    );
    assert_eq!(server.requests().len(), 10);
}

#[test]
fn redirect_without_a_location_is_an_answer() {
    let server = Server::start(|_, _| Answer::Status(307));
    let outcome = Lab::new(&[filtering(&server.url())]).schedule();
    assert!(outcome.ends_with("/filter, code 307"), "{outcome}");
}

#[test]
fn http_timeout_bounds_a_call_with_all_its_redirects() {
    let server = Server::start(|_, _| {
        std::thread::sleep(Duration::from_millis(150));
        Answer::Redirect(307, "again".to_owned())
    });
    let config = ExtenderConfig { http_timeout: Duration::from_millis(400), ..filtering(&server.url()) };
    let began = Instant::now();
    let outcome = Lab::new(&[config]).schedule();
    assert!(outcome.contains("timeout"), "{outcome}");
    assert!(server.requests().len() < 6, "{} requests", server.requests().len());
    assert!(began.elapsed() < Duration::from_millis(1200), "{:?}", began.elapsed());
}

#[test]
fn redirect_to_https_is_refused_with_a_message() {
    let server = Server::start(|_, _| Answer::Redirect(308, "https://elsewhere/".to_owned()));
    let outcome = Lab::new(&[filtering(&server.url())]).schedule();
    assert!(
        outcome.contains("it redirects to \"https://elsewhere/\", and HTTPS is not supported"),
        "{outcome}"
    );
}
