//! Keeps one pod of each daemon set on every node that it is for.
//!
//! A daemon's pod is for one node: its node affinity names it, and the scheduler binds it there. It tolerates
//! what happens to nodes.
//!
//! Upstream: pkg/controller/daemon/daemon_controller.go `syncNodes`, `podsShouldBeOnNode`,
//! `NodeShouldRunDaemonPod`; util/daemonset_util.go `AddOrUpdateDaemonPodTolerations`,
//! `ReplaceDaemonSetPodNodeNameNodeAffinity`.
//! Not built: a changed template takes effect on new pods only (`updateStrategy: OnDelete`); failed pods are
//! replaced without backoff.

mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use serde_json::json;

use super::node_rules::Verdict;
use super::owned::OwnedPod;
use super::owner::{BURST_REPLICAS, Owners, Ownership, Plan, Pods};
use super::pod_template::{pod_of, uid};
use super::{
    Controller, ControllerConfigError, ControllerContext, ControllerDescriptor, ControllerMutant,
    ControllerMutants, ControllerSettings, PodsWatched, Sharding, SideTables, WatchScope,
};
use crate::api::{ApiError, EventKind, GenericObject, NodeEntry, SpecId};
use rules::{for_node, node_of, rules_of};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "daemonset-controller",
    about: "keeps a pod of each DaemonSet on every node that it is for",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: true, pods: PodsWatched::All, kinds: &[("apps/v1", "DaemonSet")] },
    sharding: Sharding::None,
    constructor: new,
};

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    let mutants = settings.mutants;
    Ok(Box::new(Owners::new(Daemons { mutants, ..Daemons::default() })))
}

#[derive(Debug, Default)]
struct Daemons {
    nodes: BTreeMap<Arc<str>, Arc<NodeEntry>>,
    /// The node that pods of a body are for.
    targets: FxHashMap<SpecId, Option<Arc<str>>>,
    mutants: ControllerMutants,
}

impl Daemons {
    fn target(&mut self, pod: &OwnedPod, tables: SideTables<'_>) -> Option<Arc<str>> {
        if let Some(variant) = &pod.variant {
            return Some(Arc::clone(variant));
        }
        let row = pod.row?;
        let find = || node_of(&tables.pod_spec(row.spec).object).map(Arc::from);
        let by_affinity = self.targets.entry(row.spec).or_insert_with(find).clone();
        by_affinity.or_else(|| row.node.map(|node| tables.node_name(node)))
    }
}

impl Ownership for Daemons {
    const KIND: &'static str = "DaemonSet";

    fn plan(&mut self, set: &GenericObject, pods: Pods<'_>, context: ControllerContext<'_>) -> Plan {
        let Ok(template) = pod_of(set) else { return Plan::default() };
        let mut rules = rules_of(&template);
        let mut on_node: BTreeMap<Arc<str>, Vec<(PodUid, &OwnedPod)>> = BTreeMap::new();
        let mut plan = Plan::default();
        for &(uid, pod) in pods.iter().filter(|(_, pod)| !pod.is_deleted) {
            match self.target(pod, context.tables) {
                Some(node) => on_node.entry(node).or_default().push((uid, pod)),
                None => plan.delete.push(uid),
            }
        }
        let (mut desired, mut current, mut misplaced, mut ready) = (0, 0, 0, 0);
        for (name, entry) in &self.nodes {
            let of_node = on_node.remove(name).unwrap_or_default();
            let verdict = rules.verdict(&entry.input);
            desired += i64::from(verdict == Verdict::Runs);
            let mut active: Vec<_> = of_node.iter().filter(|(_, pod)| pod.is_active()).collect();
            // Those that have ended make room for another.
            plan.delete.extend(of_node.iter().filter(|(_, pod)| has_ended(pod)).map(|(uid, _)| *uid));
            // The oldest stays. Upstream: `podsShouldBeOnNode` sorts by creation time.
            active.sort_by_key(|(uid, pod)| (pod.row.map_or(u64::MAX, |row| row.created_ns), *uid));
            match verdict {
                Verdict::Runs if active.is_empty() => plan.create.push((Arc::clone(name), 1)),
                Verdict::Runs => plan.delete.extend(active.drain(1..).map(|(uid, _)| *uid)),
                Verdict::Stays => {}
                Verdict::Goes => plan.delete.extend(active.drain(..).map(|(uid, _)| *uid)),
            }
            let runs_there = active.iter().any(|(_, pod)| pod.row.is_some_and(|row| row.node.is_some()));
            current += i64::from(verdict == Verdict::Runs && runs_there);
            misplaced += i64::from(verdict != Verdict::Runs && runs_there);
            ready += i64::from(verdict == Verdict::Runs && active.iter().any(|(_, pod)| pod.is_ready));
        }
        // Pods of nodes that are gone.
        plan.delete.extend(on_node.into_values().flatten().map(|(uid, _)| uid));
        plan.create.truncate(usize::try_from(BURST_REPLICAS).unwrap_or(usize::MAX));
        plan.status = vec![
            ("desiredNumberScheduled", json!(desired)),
            ("currentNumberScheduled", json!(current)),
            ("numberMisscheduled", json!(misplaced)),
            ("numberReady", json!(ready)),
            ("numberAvailable", json!(ready)),
        ];
        plan
    }

    fn pod(&self, set: &GenericObject, node: &str) -> Result<Pod, ApiError> {
        let mut pod = for_node(pod_of(set)?, node);
        if self.mutants.has(ControllerMutant::DaemonPodIsForAnyNode) {
            pod.spec.get_or_insert_default().affinity = None;
        }
        debug_assert!(!uid(set).is_empty(), "a stored object has a UID");
        Ok(pod)
    }

    fn on_node(&mut self, kind: EventKind, entry: &Arc<NodeEntry>) -> bool {
        let name: Arc<str> = Arc::from(entry.input.name.as_str());
        if kind == EventKind::Deleted {
            return self.nodes.remove(&name).is_some();
        }
        let is_same = |known: &Arc<NodeEntry>| {
            known.input.labels == entry.input.labels && known.input.taints == entry.input.taints
        };
        let before = self.nodes.insert(name, Arc::clone(entry));
        before.as_ref().is_none_or(|known| !is_same(known))
    }
}

fn has_ended(pod: &OwnedPod) -> bool {
    pod.row.is_some_and(|row| row.phase.is_finished())
}

#[cfg(test)]
mod tests;
