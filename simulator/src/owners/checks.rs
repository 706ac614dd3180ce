//! What must hold among owners of pods, in counts over the store.

use std::collections::BTreeMap;

use schedlab_cluster::api::{Api, Object, ObjectKey, PodFilter, PodPhase, StoredPodRow};
use schedlab_cluster::controllers::Remaining;
use schedlab_core::ids::PodUid;

use super::super::violation::Invariant;
use super::{FIRST_MOVER, NODE_CPU, Owners, PARTIES, POD_CPU, target_of};

impl Owners<'_> {
    /// Pods never become more than the quota allows.
    pub(super) fn check_quota(&mut self) {
        let pods = self.unfinished();
        let before = std::mem::replace(&mut self.pods_before, pods);
        let key = ObjectKey::namespaced("v1", "ResourceQuota", "default", "q");
        let Ok(Object::Other(quota)) = self.api.get(&key) else { return };
        self.checks.note(Invariant::QuotaHolds);
        let hard = quota.body["spec"]["hard"]["pods"].as_i64().unwrap_or(0);
        if hard < pods && before < pods {
            self.fail(Invariant::QuotaHolds, format!("{pods} pods, and the quota allows {hard}"));
        }
        let used = quota.body["status"]["used"]["pods"].as_str().and_then(|text| text.parse::<i64>().ok());
        if used != Some(pods) {
            self.fail(Invariant::QuotaHolds, format!("{pods} pods, and the quota says {used:?} are used"));
        }
    }

    /// No node runs more than it has.
    pub(super) fn check_room(&mut self) {
        self.checks.note(Invariant::KubeletsHaveRoom);
        let mut used: BTreeMap<String, i64> = BTreeMap::new();
        for row in self.api.pods_now(PodFilter::default()) {
            if let Some(node) = row.node.filter(|_| row.phase == PodPhase::Running) {
                *used.entry(self.api.node_name(node).to_string()).or_default() += POD_CPU;
            }
        }
        if let Some((node, cpu)) = used.into_iter().find(|(_, cpu)| NODE_CPU < *cpu) {
            let message = format!("pods that run on {node} ask for {cpu} CPUs of {NODE_CPU}");
            self.fail(Invariant::KubeletsHaveRoom, message);
        }
    }

    /// Nobody takes away a pod that nobody makes again, unless its kubelet has refused it.
    pub(super) fn check_lone(&mut self) {
        self.checks.note(Invariant::NothingLost);
        let pods = self.api.pods_now(PodFilter::default());
        let is_lone = |row: &&StoredPodRow| self.label(row, "app").as_deref() == Some("lone");
        let now: BTreeMap<PodUid, PodPhase> =
            pods.iter().filter(is_lone).map(|row| (row.uid, row.phase)).collect();
        let lost = self.lone.iter().find(|uid| !now.contains_key(uid)).map(|uid| uid.0);
        let unfinished = now.into_iter().filter(|(_, phase)| !phase.is_finished());
        self.lone = unfinished.map(|(uid, _)| uid).collect();
        if let Some(pod) = lost {
            let message = format!("pod {pod}, which nobody makes again, was taken away");
            self.fail(Invariant::NothingLost, message);
        }
    }

    /// When nothing moves any more, everybody has the pods that were asked for.
    pub(super) fn check_at_rest(&mut self) {
        self.checks.note(Invariant::OwnersHaveTheirPods);
        let lasting = &self.parties[..FIRST_MOVER];
        let busy = lasting.iter().position(|of| of.controller.remaining() == Remaining::Work);
        if let Some(party) = busy {
            let name = PARTIES[party].name;
            return self.fail(Invariant::OwnersHaveTheirPods, format!("{name} has work and does nothing"));
        }
        let wrong = self.wrong_set().or_else(|| self.wrong_daemon());
        if let Some(message) = wrong {
            self.fail(Invariant::OwnersHaveTheirPods, message);
        }
    }

    fn wrong_set(&self) -> Option<String> {
        ["web", "kept"].into_iter().find_map(|name| {
            let key = ObjectKey::namespaced("apps/v1", "ReplicaSet", "default", name);
            let wanted = match self.api.get(&key) {
                Ok(Object::Other(set)) => set.body["spec"]["replicas"].as_i64().unwrap_or(0),
                _ => 0,
            };
            let pods = self.api.pods_now(PodFilter::default());
            let is_active = |row: &&StoredPodRow| {
                self.label(row, "app").as_deref() == Some(name) && !row.phase.is_finished()
            };
            let is = i64::try_from(pods.iter().filter(is_active).count()).expect("few");
            (is != wanted).then(|| format!("replica set {name} has {is} pods and asks for {wanted}"))
        })
    }

    fn wrong_daemon(&self) -> Option<String> {
        let key = ObjectKey::namespaced("apps/v1", "DaemonSet", "default", "log");
        self.api.get(&key).ok()?;
        (0..5).map(|number| format!("n{number}")).find_map(|node| {
            let is_there = self.api.get(&ObjectKey::node(&node)).is_ok();
            let pods = self.api.pods_now(PodFilter::default());
            // A pod that waits for room is there for the node that it names.
            let is_for_it = |row: &&StoredPodRow| {
                let on = row.node.map(|id| self.api.node_name(id).to_string());
                let on = on.or_else(|| target_of(&self.api.pod_spec(row.spec).object));
                let is_of_set = self.label(row, "app").as_deref() == Some("log");
                is_of_set && on.as_ref() == Some(&node) && !row.phase.is_finished()
            };
            let count = pods.iter().filter(is_for_it).count();
            let is_right = count == usize::from(is_there);
            (!is_right).then(|| format!("node {node} has {count} pods of the daemon set"))
        })
    }
}
