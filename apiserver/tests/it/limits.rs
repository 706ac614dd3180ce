//! Requests that are too large, broken, foreign, or never end.

use std::io::{Read as _, Write as _};

use schedlab_apiserver::ServeOptions;

use crate::client::{serve, serve_with};

#[test]
fn body_that_is_too_large_is_refused() {
    let served = serve(0);
    let body = vec![b' '; (3 << 20) + 1];
    let answer =
        served.ask("POST", "/api/v1/nodes").header("content-type", "application/json").body(body).send();
    assert_eq!(answer.code, 413);
}

#[test]
fn nonsense_is_answered_or_cut_off_and_the_server_goes_on() {
    let served = serve(1);
    for nonsense in [
        "\0\0\0\0",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\r\n\r\n\r\n",
    ] {
        let mut stream = served.connect();
        stream.write_all(nonsense.as_bytes()).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("shut");
        // Whatever it says, it ends.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000));
    let mut stream = served.connect();
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(served.get("/api/v1/nodes/node-0").code, 200);
}

#[test]
fn pages_of_other_sites_are_refused() {
    let served = serve(0);
    let origin = served.ask("GET", "/api/v1/nodes").header("origin", "http://example.com").send();
    assert_eq!(origin.code, 403);
    let mut stream = served.connect();
    write!(stream, "GET /api/v1/nodes HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn connection_over_the_limit_waits_for_a_place() {
    let served = serve_with(1, ServeOptions { connections_max: 2, ..ServeOptions::default() });
    let watches = [served.watch("/api/v1/nodes?watch=1"), served.watch("/api/v1/nodes?watch=1")];
    std::thread::scope(|scope| {
        let third = scope.spawn(|| served.get("/api/v1/nodes/node-0").code);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!third.is_finished(), "both places are taken");
        drop(watches);
        assert_eq!(third.join().expect("it ends"), 200);
    });
}

#[test]
fn server_that_is_dropped_frees_its_port() {
    let served = serve(0);
    let address = served.server.address();
    let mut watch = served.watch("/api/v1/nodes?watch=1&resourceVersion=0");
    drop(served);
    let again = serve_with(0, ServeOptions { listen: address, ..ServeOptions::default() });
    assert_eq!(again.get("/readyz").code, 200);
    // The old stream is over, one way or the other.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| watch.next()));
    assert!(ended.is_err() || ended.is_ok_and(|event| event.is_none()));
}
