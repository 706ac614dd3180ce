//! Schedulers that end, that hang, and programs that are none.

use std::time::Duration;

use crate::child;
use crate::support::error;

const LONG: Duration = Duration::from_secs(60);
const PODS: &str = "opcode: createNodes, count: 1, nodeTemplatePath: ../t/node.yaml\n\
                    opcode: createPods, count: 9, podTemplatePath: ../t/pod.yaml, collectMetrics: true";

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn scheduler_that_dies_is_an_error_with_its_last_log_lines() {
    let error = error(child::ends_after("4"), LONG, PODS);
    assert!(error.contains("op 1 (createPods): --scheduler: the scheduler ended by itself"), "{error}");
    assert!(error.contains("its last log lines:\n") && error.contains("ends here on purpose"), "{error}");
}

#[test]
fn scheduler_that_never_watches_is_not_ready() {
    let script = "echo waiting for nobody; sleep 1000";
    let error = error(words(&["sh", "-c", script, "{config}"]), Duration::from_millis(300), PODS);
    assert!(error.contains("is not ready after 0 s: it has asked the API server nothing"), "{error}");
    assert!(error.ends_with("waiting for nobody"), "{error}");
}

#[test]
fn scheduler_that_hangs_is_an_error_after_a_while() {
    let error = error(child::hangs_after("2"), LONG, PODS);
    assert!(error.contains("the scheduler hangs: it has made no call for"), "{error}");
}

#[test]
fn program_that_cannot_be_started_is_named() {
    let error = error(words(&["/nowhere/kube-scheduler", "--config={config}"]), LONG, PODS);
    assert!(error.contains("\"/nowhere/kube-scheduler\" cannot be started"), "{error}");
    let refused =
        super::support::error(words(&["sh", "-c", "echo bad flag >&2; exit 1", "{config}"]), LONG, PODS);
    assert!(
        refused.contains("ended by itself (exit status: 1)") && refused.ends_with("bad flag"),
        "{refused}"
    );
}
