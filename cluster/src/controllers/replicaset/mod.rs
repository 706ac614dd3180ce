//! Keeps as many pods of each replica set as it says, and tells in its status how many there are.
//!
//! Upstream: pkg/controller/replicaset/replica_set.go `syncReplicaSet`, `manageReplicas`;
//! replica_set_utils.go `calculateStatus`.
//! Differs: pods are made in one batch instead of a slow start of 1, 2, 4 ...
//! (`replica_set_makes_its_pods_once_and_owns_them`). Not built: `minReadySeconds` counts as 0.

mod ranking;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::owned::OwnedPod;
use super::owner::{Owners, Ownership, Plan, Pods, alike, burst, count};
use super::pod_template::{pod_of, pointer, whole};
use super::{
    Controller, ControllerConfigError, ControllerContext, ControllerDescriptor, ControllerMutant,
    ControllerMutants, ControllerSettings, PodsWatched, Sharding, WatchScope,
};
use crate::api::{ApiError, GenericObject};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "replicaset-controller",
    about: "makes and deletes the pods of ReplicaSets",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: false, pods: PodsWatched::All, kinds: &[("apps/v1", "ReplicaSet")] },
    sharding: Sharding::None,
    constructor: new,
};

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(Owners::new(ReplicaSets { mutants: settings.mutants })))
}

#[derive(Debug)]
struct ReplicaSets {
    mutants: ControllerMutants,
}

impl Ownership for ReplicaSets {
    const KIND: &'static str = "ReplicaSet";

    fn plan(&mut self, set: &GenericObject, pods: Pods<'_>, context: ControllerContext<'_>) -> Plan {
        let active = count(pods, OwnedPod::is_active);
        let extra = i64::from(self.mutants.has(ControllerMutant::OneReplicaTooMany));
        let missing = whole(set, "/spec/replicas").unwrap_or(1) + extra - active;
        let mut plan = Plan { status: status(set, pods, context), ..Plan::default() };
        if 0 < missing {
            plan.create.push((alike(), burst(missing)));
        } else if missing < 0 {
            let surplus = usize::try_from(burst(-missing)).unwrap_or(0);
            plan.delete = ranking::least_useful(pods, surplus, context);
        }
        plan
    }

    fn pod(&self, set: &GenericObject, _: &str) -> Result<Pod, ApiError> {
        pod_of(set)
    }
}

/// Upstream: replica_set_utils.go `calculateStatus`.
fn status(set: &GenericObject, pods: Pods<'_>, context: ControllerContext<'_>) -> Vec<(&'static str, Value)> {
    let labels = pointer(set, "/spec/template/metadata/labels").and_then(Value::as_object);
    let is_labeled = |pod: &OwnedPod| {
        let Some(row) = pod.row else { return true };
        let spec = context.tables.pod_spec(row.spec);
        let has =
            |key: &String, value: &Value| spec.input.labels.get(key).map(String::as_str) == value.as_str();
        labels.is_none_or(|labels| labels.iter().all(|(key, value)| has(key, value)))
    };
    let ready = count(pods, |pod| pod.is_active() && pod.is_ready);
    vec![
        ("replicas", json!(count(pods, OwnedPod::is_active))),
        ("fullyLabeledReplicas", json!(count(pods, |pod| pod.is_active() && is_labeled(pod)))),
        ("readyReplicas", json!(ready)),
        ("availableReplicas", json!(ready)),
    ]
}

#[cfg(test)]
mod tests;
