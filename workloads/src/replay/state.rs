//! The cluster of a trace: a scheduler that is told what happened, as a watch would tell it.
//!
//! Nodes stand in order of arrival, which is the order of the trace's node list.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::SignedDuration;
use schedlab_cluster::convert::{claim_input, node_input, persistent_volume_input, pod_input, storage_input};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::registry::default_profile;
use schedlab_core::ids::{ClassId, PodUid};
use schedlab_core::input::PodMeta;
use schedlab_core::input::storage::StorageInput;
use schedlab_core::scheduler::{PodUpdate, Scheduler};
use schedlab_core::snapshot::order::NodeOrdering;
use schedlab_core::world::World;

use super::document::{Applied, Cluster, StorageObject};
use super::error::StepProblem;

/// Time does not pass in a trace.
const NOW_NS: u64 = 0;

/// `namespace/name`, as traces refer to pods.
pub(super) fn pod_key(pod: &Pod) -> String {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    format!("{namespace}/{name}")
}

/// The cluster between two steps.
pub(super) struct State {
    scheduler: Scheduler,
    bound: BTreeMap<String, PodUid>,
    /// In order of nomination. No plugin reads them yet.
    nominated: Vec<(String, PodMeta)>,
    uids_given: u64,
}

impl State {
    /// The state before the first step.
    pub(super) fn new(cluster: &Cluster) -> Result<State, StepProblem> {
        let mut world = World::with_node_ordering(NodeOrdering::Arrival);
        let mut profile = default_profile(&mut world.vocabulary);
        profile.percentage_of_nodes_to_score = 100;
        let mut state = State {
            scheduler: Scheduler::with_profile(world, profile, EngineSettings::default()),
            bound: BTreeMap::new(),
            nominated: Vec::new(),
            uids_given: 0,
        };
        for object in cluster.storage() {
            if let Some(input) = storage_input(object)? {
                state.scheduler.on_storage(&input, NOW_NS);
            }
        }
        for node in &cluster.nodes {
            state.add_node(node)?;
        }
        for pod in &cluster.pods {
            state.add_bound(pod)?;
        }
        for pod in &cluster.nominated {
            state.nominate(pod)?;
        }
        Ok(state)
    }

    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The class of a pod that is to be evaluated. The node it names, if any, is part of it.
    pub(super) fn compile_pending(&mut self, pod: &Pod) -> Result<ClassId, StepProblem> {
        let (mut input, meta) = pod_input(pod)?;
        input.node_name = meta.node_name;
        Ok(self.scheduler.compile(&Arc::new(input)))
    }

    pub(super) fn add_node(&mut self, node: &Node) -> Result<(), StepProblem> {
        let input = node_input(node)?;
        if self.has_node(&input.name) {
            return Err(StepProblem::Exists { object: format!("node {}", input.name) });
        }
        self.scheduler.on_node(&input, NOW_NS);
        Ok(())
    }

    pub(super) fn update_node(&mut self, node: &Node) -> Result<(), StepProblem> {
        let input = node_input(node)?;
        if !self.has_node(&input.name) {
            return Err(StepProblem::UnknownNode { node: input.name });
        }
        self.scheduler.on_node(&input, NOW_NS);
        Ok(())
    }

    pub(super) fn remove_node(
        &mut self,
        node: &str,
        pods: &[String],
        nominations: &[String],
    ) -> Result<(), StepProblem> {
        if !self.has_node(node) {
            return Err(StepProblem::UnknownNode { node: node.to_owned() });
        }
        pods.iter().try_for_each(|pod| self.delete_pod(pod))?;
        nominations.iter().try_for_each(|pod| self.clear_nomination(pod))?;
        self.scheduler.on_node_removed(node);
        Ok(())
    }

    fn has_node(&mut self, name: &str) -> bool {
        let id = self.scheduler.node_id(name);
        self.scheduler.world().nodes().row_of(id).is_some()
    }

    fn add_bound(&mut self, pod: &Pod) -> Result<(), StepProblem> {
        let key = pod_key(pod);
        if self.bound.contains_key(&key) {
            return Err(StepProblem::Exists { object: format!("pod {key}") });
        }
        self.uids_given += 1;
        self.tell(pod, PodUid(self.uids_given))?;
        self.bound.insert(key, PodUid(self.uids_given));
        Ok(())
    }

    pub(super) fn update_pod(&mut self, pod: &Pod) -> Result<(), StepProblem> {
        let key = pod_key(pod);
        match self.bound.get(&key) {
            Some(&uid) => self.tell(pod, uid),
            None => Err(StepProblem::UnknownPod { pod: key }),
        }
    }

    /// Tells the scheduler about a bound pod.
    fn tell(&mut self, pod: &Pod, uid: PodUid) -> Result<(), StepProblem> {
        let (input, meta) = pod_input(pod)?;
        let node = meta.node_name.ok_or_else(|| StepProblem::NotBound { pod: pod_key(pod) })?;
        let update = PodUpdate {
            uid,
            class: self.scheduler.compile(&Arc::new(input)),
            node: Some(self.scheduler.node_id(&node)),
            created_ns: NOW_NS,
        };
        self.scheduler.on_pod(update, NOW_NS);
        Ok(())
    }

    pub(super) fn delete_pod(&mut self, pod: &str) -> Result<(), StepProblem> {
        let uid = self.bound.remove(pod).ok_or_else(|| StepProblem::UnknownPod { pod: pod.to_owned() })?;
        self.scheduler.on_pod_removed(uid, NOW_NS);
        Ok(())
    }

    /// The effect of a choice: the pod runs on the node.
    pub(super) fn place(&mut self, pod: &Pod, node: &str) -> Result<(), StepProblem> {
        if !self.has_node(node) {
            return Err(StepProblem::UnknownNode { node: node.to_owned() });
        }
        self.forget_nomination(&pod_key(pod));
        self.add_bound(&running_on(pod, node))
    }

    /// The effect of preemption for a pod that was not placed.
    pub(super) fn preempt(&mut self, pod: &Pod, applied: &Applied) -> Result<(), StepProblem> {
        applied.evicted.iter().try_for_each(|victim| self.delete_pod(victim))?;
        applied.nominations_cleared.iter().try_for_each(|other| self.clear_nomination(other))?;
        match &applied.nominated_node_name {
            Some(node) => self.nominate_to(pod, node.clone()),
            None => Ok(()),
        }
    }

    pub(super) fn nominate(&mut self, pod: &Pod) -> Result<(), StepProblem> {
        let node = pod.status.as_ref().and_then(|status| status.nominated_node_name.clone());
        self.nominate_to(pod, node.unwrap_or_default())
    }

    fn nominate_to(&mut self, pod: &Pod, node: String) -> Result<(), StepProblem> {
        let (_, meta) = pod_input(pod)?;
        let key = pod_key(pod);
        self.forget_nomination(&key);
        self.nominated.push((key, PodMeta { nominated_node_name: Some(node), ..meta }));
        Ok(())
    }

    pub(super) fn clear_nomination(&mut self, pod: &str) -> Result<(), StepProblem> {
        if self.forget_nomination(pod) {
            return Ok(());
        }
        Err(StepProblem::NotNominated { pod: pod.to_owned() })
    }

    fn forget_nomination(&mut self, pod: &str) -> bool {
        let before = self.nominated.len();
        self.nominated.retain(|(key, _)| key != pod);
        self.nominated.len() < before
    }

    pub(super) fn apply_objects(&mut self, objects: &[StorageObject]) -> Result<(), StepProblem> {
        for object in objects {
            let input = match object {
                StorageObject::Volume(it) => StorageInput::PersistentVolume(persistent_volume_input(it)?),
                StorageObject::Claim(it) => StorageInput::PersistentVolumeClaim(claim_input(it)?),
            };
            self.scheduler.on_storage(&input, NOW_NS);
        }
        Ok(())
    }
}

/// The pod after it was placed, as FORMAT.md's "Effect" has it.
fn running_on(pod: &Pod, node: &str) -> Pod {
    let mut pod = pod.clone();
    let status = pod.status.get_or_insert_default();
    status.nominated_node_name = None;
    status.phase = Some("Running".to_owned());
    let created = pod.metadata.creation_timestamp.as_ref();
    status.start_time = created.map(|created| Time(created.0 + SignedDuration::from_secs(1)));
    pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
    pod
}
