//! Jobs against a cluster.

use serde_json::json;

use super::DESCRIPTOR;
use crate::api::PodPhase;
use crate::controllers::testing::{Bench, owner, plain};

fn active(bench: &Bench) -> Vec<crate::api::StoredPodRow> {
    bench.pods().into_iter().filter(|row| !row.phase.is_finished()).collect()
}

#[test]
fn job_runs_pods_until_enough_have_succeeded() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    bench.create(owner("batch/v1", "Job", "sum", json!({ "parallelism": 2, "completions": 5 })));
    bench.settle();
    for finished in 0..5_i64 {
        let running = active(&bench);
        assert_eq!(running.len(), usize::try_from(2.min(5 - finished)).expect("small"), "after {finished}");
        bench.finish(&running[0], PodPhase::Succeeded);
        bench.settle();
    }
    assert!(active(&bench).is_empty());
    let status = bench.status("batch/v1", "Job", "sum");
    assert_eq!((&status["succeeded"], &status["conditions"][0]["type"]), (&json!(5), &json!("Complete")));
    assert_eq!(bench.counter(0, "pods_created"), 5);
    let labels = bench.pod(&bench.pods()[0])["metadata"]["labels"].clone();
    assert_eq!(labels["batch.kubernetes.io/job-name"], json!("sum"));
}

#[test]
fn job_fails_with_more_failed_pods_than_its_backoff_limit() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    let spec = json!({ "parallelism": 3, "completions": 3, "backoffLimit": 1 });
    bench.create(owner("batch/v1", "Job", "sum", spec));
    bench.settle();
    for _ in 0..2 {
        let running = active(&bench);
        assert_eq!(running.len(), 3, "a failed pod is replaced");
        bench.finish(&running[0], PodPhase::Failed);
        bench.settle();
    }
    assert!(active(&bench).is_empty(), "the others are deleted");
    let status = bench.status("batch/v1", "Job", "sum");
    assert_eq!(status["conditions"][0]["reason"], json!("BackoffLimitExceeded"));
}

/// Upstream: job_controller.go `syncJob` leaves a job alone that has ended.
#[test]
fn job_that_has_ended_stays_so_with_another_spec() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    let job = |completions: i64| {
        owner("batch/v1", "Job", "sum", json!({ "parallelism": 1, "completions": completions }))
    };
    bench.create(job(1));
    bench.settle();
    bench.finish(&active(&bench)[0], PodPhase::Succeeded);
    bench.settle();
    bench.update(job(3));
    bench.settle();
    assert!(active(&bench).is_empty());
    let status = bench.status("batch/v1", "Job", "sum");
    assert_eq!(status["conditions"][0]["type"], json!("Complete"));
}

#[test]
fn suspended_job_has_no_pods() {
    let mut bench = Bench::new(&[plain(&DESCRIPTOR)]);
    let job =
        |suspend: bool| owner("batch/v1", "Job", "sum", json!({ "parallelism": 2, "suspend": suspend }));
    bench.create(job(true));
    bench.settle();
    assert!(active(&bench).is_empty());
    bench.update(job(false));
    bench.settle();
    assert_eq!(active(&bench).len(), 2);
    bench.update(job(true));
    bench.settle();
    assert!(active(&bench).is_empty());
}
