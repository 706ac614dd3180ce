//! Keeps pods `<set>-0`, `<set>-1` ... of each stateful set, one after the other or all at once.
//!
//! Upstream: pkg/controller/statefulset/stateful_set_control.go `updateStatefulSet`, stateful_set_utils.go
//! `newVersionedStatefulSetPod`, `initIdentity`.
//! Not built: a changed template takes effect on new pods only (`updateStrategy: OnDelete`); claims of
//! `volumeClaimTemplates` are named in the pods and not made.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Pod, Volume};
use serde_json::{Value, json};

use super::owned::OwnedPod;
use super::owner::{Owners, Ownership, Plan, Pods, count};
use super::pod_template::{name, pod_of, pointer, text, whole};
use super::{
    Controller, ControllerConfigError, ControllerContext, ControllerDescriptor, ControllerSettings,
    PodsWatched, Sharding, WatchScope,
};
use crate::api::{ApiError, GenericObject, PodPhase};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "statefulset-controller",
    about: "keeps the numbered pods of StatefulSets",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: false, pods: PodsWatched::All, kinds: &[("apps/v1", "StatefulSet")] },
    sharding: Sharding::None,
    constructor: new,
};

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(Owners::new(StatefulSets)))
}

#[derive(Debug)]
struct StatefulSets;

impl Ownership for StatefulSets {
    const KIND: &'static str = "StatefulSet";

    fn plan(&mut self, set: &GenericObject, pods: Pods<'_>, context: ControllerContext<'_>) -> Plan {
        let ordinal = |pod: &OwnedPod| {
            let name = pod.row.map(|row| context.tables.pod_name(row.name));
            let by_name = name.as_deref().and_then(|name| name.rsplit_once('-')?.1.parse::<i64>().ok());
            by_name.or_else(|| pod.variant.as_ref()?.parse().ok())
        };
        let mut of_number: BTreeMap<i64, (schedlab_core::ids::PodUid, &OwnedPod)> = BTreeMap::new();
        for &(uid, pod) in pods {
            if let Some(number) = ordinal(pod) {
                of_number.insert(number, (uid, pod));
            }
        }
        let replicas = whole(set, "/spec/replicas").unwrap_or(1);
        let first = whole(set, "/spec/ordinals/start").unwrap_or(0);
        let is_ordered = text(set, "/spec/podManagementPolicy") != "Parallel";
        let mut plan = Plan { status: status(pods), ..Plan::default() };
        for number in first..first + replicas {
            let known = of_number.remove(&number);
            match known {
                // Its name is free only when it is gone.
                Some((_, pod)) if pod.is_deleted => {}
                Some((uid, pod)) if !pod.is_active() => plan.delete.push(uid),
                Some(_) => {}
                None => plan.create.push((Arc::from(number.to_string()), 1)),
            }
            let is_up = known.is_some_and(|(_, pod)| {
                pod.is_active() && pod.is_ready && pod.row.is_some_and(|row| row.phase == PodPhase::Running)
            });
            if is_ordered && !is_up {
                return plan;
            }
        }
        // The surplus goes from the highest number down, one at a time if in order.
        let mut surplus =
            of_number.into_values().rev().filter(|(_, pod)| !pod.is_deleted).map(|(uid, _)| uid);
        if is_ordered {
            let waits = count(pods, |pod| pod.is_deleted) > 0;
            plan.delete.extend(surplus.next().filter(|_| !waits));
        } else {
            plan.delete.extend(surplus);
        }
        plan
    }

    fn pod(&self, set: &GenericObject, number: &str) -> Result<Pod, ApiError> {
        let mut pod = pod_of(set)?;
        let pod_name = format!("{}-{number}", name(set));
        pod.metadata.generate_name = None;
        pod.metadata.name = Some(pod_name.clone());
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.insert("statefulset.kubernetes.io/pod-name".to_owned(), pod_name.clone());
        labels.insert("apps.kubernetes.io/pod-index".to_owned(), number.to_owned());
        let spec = pod.spec.get_or_insert_default();
        spec.hostname = Some(pod_name.clone());
        spec.subdomain = Some(text(set, "/spec/serviceName").to_owned()).filter(|name| !name.is_empty());
        let claims = pointer(set, "/spec/volumeClaimTemplates").and_then(Value::as_array);
        for claim in claims.into_iter().flatten() {
            let claim = claim["metadata"]["name"].as_str().unwrap_or_default();
            let source = PersistentVolumeClaimVolumeSource {
                claim_name: format!("{claim}-{pod_name}"),
                ..PersistentVolumeClaimVolumeSource::default()
            };
            let volumes = spec.volumes.get_or_insert_default();
            volumes.retain(|volume| volume.name != claim);
            volumes.push(Volume {
                name: claim.to_owned(),
                persistent_volume_claim: Some(source),
                ..Volume::default()
            });
        }
        Ok(pod)
    }
}

fn status(pods: Pods<'_>) -> Vec<(&'static str, Value)> {
    let ready = count(pods, |pod| pod.is_active() && pod.is_ready);
    vec![
        ("replicas", json!(count(pods, |_| true))),
        ("readyReplicas", json!(ready)),
        ("availableReplicas", json!(ready)),
    ]
}

#[cfg(test)]
mod tests;
