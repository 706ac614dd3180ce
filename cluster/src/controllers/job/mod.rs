//! Runs pods of a job until enough of them have succeeded, or too many have failed.
//!
//! Upstream: pkg/controller/job/job_controller.go `syncJob`, `manageJob`.
//! Not built: `completionMode: Indexed`, pod failure policies and success policies are not known; failed pods
//! are replaced at once, without backoff; a pod that ended counts although it is deleted later, in the memory
//! of the controller instead of by a finalizer.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::FxHashSet;
use schedlab_core::ids::PodUid;
use serde_json::{Value, json};

use super::owned::OwnedPod;
use super::owner::{Owners, Ownership, Plan, Pods, alike, burst, count};
use super::pod_template::{pod_of, pointer, uid, whole};
use super::{
    Controller, ControllerConfigError, ControllerContext, ControllerDescriptor, ControllerSettings,
    PodsWatched, Sharding, WatchScope,
};
use crate::api::{ApiError, GenericObject, PodPhase, StoredPodRow};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "job-controller",
    about: "runs the pods of Jobs until enough have succeeded",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: false, pods: PodsWatched::All, kinds: &[("batch/v1", "Job")] },
    sharding: Sharding::None,
    constructor: new,
};

/// Upstream: pkg/apis/batch/v1/defaults.go.
const BACKOFF_LIMIT: i64 = 6;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(Owners::new(Jobs::default())))
}

/// How pods of a job ended.
#[derive(Debug, Default)]
struct Ended {
    succeeded: FxHashSet<PodUid>,
    failed: FxHashSet<PodUid>,
}

#[derive(Debug, Default)]
struct Jobs {
    ended: BTreeMap<Arc<str>, Ended>,
}

impl Ownership for Jobs {
    const KIND: &'static str = "Job";

    fn plan(&mut self, job: &GenericObject, pods: Pods<'_>, context: ControllerContext<'_>) -> Plan {
        let ended = self.ended.get(uid(job));
        let number =
            |set: Option<&FxHashSet<PodUid>>| set.map_or(0, |set| i64::try_from(set.len()).unwrap_or(0));
        let (succeeded, failed) =
            (number(ended.map(|ended| &ended.succeeded)), number(ended.map(|ended| &ended.failed)));
        let active = count(pods, OwnedPod::is_active);
        let parallelism = whole(job, "/spec/parallelism").unwrap_or(1);
        let completions = whole(job, "/spec/completions");
        // Upstream: `IsJobFinished`. A job that has ended stays so, whatever its spec says afterwards.
        let (was_complete, was_failed) = (has_condition(job, "Complete"), has_condition(job, "Failed"));
        let too_many_failed = whole(job, "/spec/backoffLimit").unwrap_or(BACKOFF_LIMIT) < failed;
        let is_failed = was_failed || !was_complete && too_many_failed;
        let enough_succeeded = match completions {
            Some(completions) => completions <= succeeded,
            None => 0 < succeeded && active == 0,
        };
        let is_complete = was_complete || !was_failed && enough_succeeded;
        let is_suspended = pointer(job, "/spec/suspend") == Some(&json!(true));
        let wanted = match completions {
            _ if is_failed || is_complete || is_suspended => 0,
            Some(completions) => parallelism.min(completions - succeeded),
            // A queue of work: when one has ended well, the others find out that there is no more.
            None if 0 < succeeded => active.min(parallelism),
            None => parallelism,
        };
        let mut plan = Plan::default();
        if active < wanted {
            plan.create.push((alike(), burst(wanted - active)));
        } else if wanted < active {
            let going = pods.iter().filter(|(_, pod)| pod.is_active()).map(|(uid, _)| *uid);
            // The youngest go: they have the least to lose.
            let surplus = usize::try_from(active - wanted).unwrap_or(0);
            let mut going: Vec<PodUid> = going.collect();
            going.reverse();
            going.truncate(surplus);
            plan.delete = going;
        }
        plan.status = vec![
            ("active", json!(active.min(wanted))),
            ("succeeded", json!(succeeded)),
            ("failed", json!(failed)),
            ("ready", json!(count(pods, |pod| pod.is_active() && pod.is_ready))),
            ("conditions", conditions(job, is_failed, is_complete, context.now_ns)),
        ];
        plan
    }

    fn pod(&self, job: &GenericObject, _: &str) -> Result<Pod, ApiError> {
        let mut pod = pod_of(job)?;
        let labels = pod.metadata.labels.get_or_insert_default();
        let name = job.metadata.name.clone().unwrap_or_default();
        for key in ["batch.kubernetes.io/job-name", "job-name"] {
            labels.insert(key.to_owned(), name.clone());
        }
        for key in ["batch.kubernetes.io/controller-uid", "controller-uid"] {
            labels.insert(key.to_owned(), uid(job).to_owned());
        }
        Ok(pod)
    }

    fn on_pod(&mut self, owner: &Arc<str>, pod: PodUid, row: &StoredPodRow) {
        let ended = match row.phase {
            PodPhase::Succeeded | PodPhase::Failed => self.ended.entry(Arc::clone(owner)).or_default(),
            PodPhase::Pending | PodPhase::Running | PodPhase::Unknown => return,
        };
        if row.phase == PodPhase::Succeeded {
            ended.succeeded.insert(pod);
        } else {
            ended.failed.insert(pod);
        }
    }
}

fn has_condition(job: &GenericObject, type_: &str) -> bool {
    let conditions = pointer(job, "/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == type_ && it["status"] == "True"))
}

/// The condition that says how the job ended, once it has; nothing before.
fn conditions(job: &GenericObject, is_failed: bool, is_complete: bool, now_ns: u64) -> Value {
    let (type_, reason) = match (is_complete, is_failed) {
        (true, _) => ("Complete", "CompletionsReached"),
        (false, true) => ("Failed", "BackoffLimitExceeded"),
        (false, false) => return Value::Null,
    };
    if has_condition(job, type_) {
        return pointer(job, "/status/conditions").cloned().unwrap_or_default();
    }
    let seconds = i64::try_from(now_ns / 1_000_000_000).unwrap_or(i64::MAX);
    let time = k8s_openapi::jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string();
    json!([{ "type": type_, "status": "True", "reason": reason, "lastTransitionTime": time }])
}

#[cfg(test)]
mod tests;
