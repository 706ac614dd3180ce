//! The cluster of a trace: a scheduler that is told what happened, as a watch would tell it.
//!
//! Nodes stand in order of arrival, which is the order of the trace's node list.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::SignedDuration;
use schedlab_cluster::api::GenericObject;
use schedlab_cluster::convert::{
    claim_input, disruption_budget_input, dra_input, node_input, persistent_volume_input, pod_group_input,
    pod_input, replica_set_input, replication_controller_input, service_input, stateful_set_input,
    storage_input,
};
use schedlab_core::cycle::engine::{EngineSettings, Pending};
use schedlab_core::framework::profile::Profile;
use schedlab_core::framework::registry::default_profile_with;
use schedlab_core::ids::{PodGroupId, PodId, PodUid};
use schedlab_core::input::pod_group::PodGroupInput;
use schedlab_core::input::storage::StorageInput;
use schedlab_core::pod_group::PodGroupGates;
use schedlab_core::scheduler::{
    Evaluation, FeatureGates, NamedObject, ObjectEvent, ObjectInput, ObjectKind, ObjectRef, PodUpdate,
    Scheduler, SchedulerSettings,
};
use schedlab_core::snapshot::order::NodeOrdering;
use schedlab_core::world::World;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document::{Applied, AppliedObject, Cluster, ObjectName, Trace};
use super::error::StepProblem;
use super::pod_group_document::PodGroupRecord;

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
    gates: PodGroupGates,
    bound: BTreeMap<String, PodUid>,
    /// Pending pods that are nominated.
    nominated: BTreeMap<String, PodUid>,
    uids_given: u64,
}

impl State {
    /// The state before the first step.
    pub(super) fn new(trace: &Trace) -> Result<State, StepProblem> {
        let cluster = &trace.cluster;
        let gates = gates_of(trace)?;
        let mut world = World::with_node_ordering(NodeOrdering::Arrival);
        let mut profile = default_profile_with(&mut world.vocabulary, &gates.plugins());
        profile.percentage_of_nodes_to_score = 100;
        let settings = SchedulerSettings { gates, ..SchedulerSettings::default() };
        let scheduler = Scheduler::with_settings(world, vec![profile], EngineSettings::default(), settings)
            .map_err(|error| StepProblem::Gates { error: error.to_string() })?;
        let mut state = State {
            scheduler,
            gates: gates.pod_groups(),
            bound: BTreeMap::new(),
            nominated: BTreeMap::new(),
            uids_given: 0,
        };
        state.add_other_objects(cluster)?;
        for object in cluster.storage() {
            if let Some(input) = storage_input(object)? {
                state.scheduler.on_event(ObjectEvent::Added(ObjectInput::Storage(&input)), NOW_NS);
            }
        }
        for object in cluster.dra() {
            state.apply_dra(object)?;
        }
        for node in &cluster.nodes {
            state.add_node(node)?;
        }
        cluster.pod_groups.iter().for_each(|group| state.upsert_pod_group(group));
        for pod in &cluster.pods {
            state.add_bound(pod)?;
        }
        for pod in &cluster.nominated {
            state.nominate(pod)?;
        }
        state.add_budgets(cluster)?;
        Ok(state)
    }

    fn added(&mut self, object: ObjectInput<'_>) {
        self.scheduler.on_event(ObjectEvent::Added(object), NOW_NS);
    }

    /// Namespaces, services and workloads.
    fn add_other_objects(&mut self, cluster: &Cluster) -> Result<(), StepProblem> {
        for namespace in &cluster.namespaces {
            let namespace: Namespace = typed(namespace, "Namespace")?;
            let labels = &namespace.metadata.labels.unwrap_or_default();
            self.added(ObjectInput::Namespace { name: &namespace.metadata.name.unwrap_or_default(), labels });
        }
        for service in &cluster.services {
            self.added(ObjectInput::Service(&service_input(&typed(service, "Service")?)));
        }
        for controller in &cluster.replication_controllers {
            let controller = typed(controller, "ReplicationController")?;
            self.added(ObjectInput::Workload(&replication_controller_input(&controller)));
        }
        for set in &cluster.replica_sets {
            self.added(ObjectInput::Workload(&replica_set_input(&typed(set, "ReplicaSet")?)));
        }
        for set in &cluster.stateful_sets {
            self.added(ObjectInput::Workload(&stateful_set_input(&typed(set, "StatefulSet")?)));
        }
        Ok(())
    }

    fn add_budgets(&mut self, cluster: &Cluster) -> Result<(), StepProblem> {
        for budget in &cluster.pod_disruption_budgets {
            let budget = &disruption_budget_input(&typed(budget, "PodDisruptionBudget")?);
            let uid_of = |pod: &String| self.bound.get(&format!("{}/{pod}", budget.namespace)).copied();
            let disrupted: Vec<PodUid> = budget.disrupted_pods.iter().filter_map(uid_of).collect();
            self.added(ObjectInput::PodDisruptionBudget { budget, disrupted: &disrupted });
        }
        Ok(())
    }

    /// The name of a bound pod, as traces write it.
    pub(super) fn bound_name(&self, uid: PodUid) -> Option<&str> {
        self.bound.iter().find(|(_, known)| **known == uid).map(|(name, _)| name.as_str())
    }

    /// The name of a nominated pod, as traces write it.
    pub(super) fn nominated_name(&self, uid: PodUid) -> Option<&str> {
        self.nominated.iter().find(|(_, known)| **known == uid).map(|(name, _)| name.as_str())
    }

    /// Questions about the cluster as it is.
    pub(super) fn evaluation(&mut self) -> Evaluation<'_> {
        self.scheduler.evaluation()
    }

    /// The profile that decides.
    pub(super) fn profile(&self) -> &Profile {
        self.scheduler.profile()
    }

    /// What is known of the cluster.
    pub(super) fn world(&self) -> &World {
        self.scheduler.world()
    }

    /// A pod that is to be evaluated. The node it names, if any, is part of its class.
    pub(super) fn pending(&mut self, pod: &Pod) -> Result<Pending, StepProblem> {
        let (mut input, meta) = pod_input(pod)?;
        input.node_name = meta.node_name;
        let class = self.scheduler.compile(&Arc::new(input));
        let nominated = meta.nominated_node_name.map(|node| self.scheduler.node_id(&node));
        Ok(Pending { class, pod: self.nominated.get(&pod_key(pod)).copied(), nominated })
    }

    pub(super) fn add_node(&mut self, node: &Node) -> Result<(), StepProblem> {
        let input = node_input(node)?;
        if self.has_node(&input.name) {
            return Err(StepProblem::Exists { object: format!("node {}", input.name) });
        }
        self.scheduler.on_event(ObjectEvent::node(&Arc::new(input)), NOW_NS);
        Ok(())
    }

    pub(super) fn update_node(&mut self, node: &Node) -> Result<(), StepProblem> {
        let input = node_input(node)?;
        if !self.has_node(&input.name) {
            return Err(StepProblem::UnknownNode { node: input.name });
        }
        self.scheduler.on_event(ObjectEvent::node(&Arc::new(input)), NOW_NS);
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
        self.scheduler.on_event(ObjectEvent::node_deleted(node), NOW_NS);
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
        self.upsert_pod(pod, PodUid(self.uids_given))?;
        self.bound.insert(key, PodUid(self.uids_given));
        Ok(())
    }

    pub(super) fn update_pod(&mut self, pod: &Pod) -> Result<(), StepProblem> {
        let key = pod_key(pod);
        match self.bound.get(&key) {
            Some(&uid) => self.upsert_pod(pod, uid),
            None => Err(StepProblem::UnknownPod { pod: key }),
        }
    }

    fn group_of(&mut self, pod: &Pod) -> Option<PodGroupId> {
        let group = pod.spec.as_ref()?.scheduling_group.as_ref()?;
        let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
        self.scheduler.pod_group_id(namespace, group.pod_group_name.as_deref()?)
    }

    fn upsert_pod_group(&mut self, group: &GenericObject) {
        self.added(ObjectInput::PodGroup(&Arc::new(pod_group_input(group))));
    }

    /// What the trace's gates say of pod groups.
    pub(super) fn gates(&self) -> PodGroupGates {
        self.gates
    }

    /// A group by its name.
    pub(super) fn pod_group(&self, name: &str) -> Result<(PodGroupId, Arc<PodGroupInput>), StepProblem> {
        let groups = self.scheduler.world().pod_groups();
        let found = name.split_once('/').and_then(|(namespace, name)| {
            let id = groups.find(namespace, name)?;
            Some((id, Arc::clone(groups.get(id).object()?)))
        });
        found.ok_or_else(|| StepProblem::UnknownPodGroup { group: name.to_owned() })
    }

    /// Adds pending members of a group, with their nominations, for the time of a step.
    pub(super) fn add_members(&mut self, pods: &[Pod]) -> Result<Vec<PodId>, StepProblem> {
        let mut members = Vec::new();
        for pod in pods {
            let (input, meta) = pod_input(pod)?;
            let class = self.scheduler.compile(&Arc::new(input));
            let key = pod_key(pod);
            self.uids_given += 1;
            let uid = PodUid(self.uids_given);
            let update = PodUpdate { uid, class, group: self.group_of(pod), ..PodUpdate::default() };
            self.scheduler.on_event(ObjectEvent::pod(update), NOW_NS);
            if let Some(node) = meta.nominated_node_name {
                let node = self.scheduler.node_id(&node);
                self.scheduler.on_event(ObjectEvent::nominated_node_name(uid, Some(node), 0), NOW_NS);
            }
            if self.nominated.insert(key.clone(), uid).is_some() {
                return Err(StepProblem::Exists { object: format!("pod {key}") });
            }
            members.push(self.scheduler.world().pods().find(uid).expect("the pod was just added"));
        }
        Ok(members)
    }

    /// Takes them out again.
    pub(super) fn remove_members(&mut self, pods: &[Pod]) -> Result<(), StepProblem> {
        pods.iter().try_for_each(|pod| self.clear_nomination(&pod_key(pod)))
    }

    /// The effect of a group's cycle: placed members run, victims are gone.
    pub(super) fn apply_pod_group(
        &mut self,
        pods: &[Pod],
        record: &PodGroupRecord,
    ) -> Result<(), StepProblem> {
        for pod in pods {
            if let Some(node) = record.placed.get(&pod_key(pod)) {
                self.place(pod, node)?;
            }
        }
        let victims = record.preemption.iter().flat_map(|preemption| &preemption.victims);
        victims.into_iter().try_for_each(|victim| self.delete_pod(victim))
    }

    /// Tells the scheduler about a bound pod.
    fn upsert_pod(&mut self, pod: &Pod, uid: PodUid) -> Result<(), StepProblem> {
        let (input, meta) = pod_input(pod)?;
        let node = meta.node_name.ok_or_else(|| StepProblem::NotBound { pod: pod_key(pod) })?;
        let update = PodUpdate {
            uid,
            class: self.scheduler.compile(&Arc::new(input)),
            node: Some(self.scheduler.node_id(&node)),
            created_ns: NOW_NS,
            started_s: meta.start_time_s,
            is_preempted: meta.is_preempted,
            group: self.group_of(pod),
        };
        self.scheduler.on_event(ObjectEvent::pod(update), NOW_NS);
        Ok(())
    }

    pub(super) fn delete_pod(&mut self, pod: &str) -> Result<(), StepProblem> {
        let uid = self.bound.remove(pod).ok_or_else(|| StepProblem::UnknownPod { pod: pod.to_owned() })?;
        self.scheduler.on_event(ObjectEvent::pod_deleted(uid), NOW_NS);
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
        let (input, _) = pod_input(pod)?;
        let class = self.scheduler.compile(&Arc::new(input));
        let node = self.scheduler.node_id(&node);
        let key = pod_key(pod);
        self.forget_nomination(&key);
        self.uids_given += 1;
        let uid = PodUid(self.uids_given);
        self.scheduler.on_event(ObjectEvent::pod(PodUpdate { uid, class, ..PodUpdate::default() }), NOW_NS);
        self.scheduler.on_event(ObjectEvent::nominated_node_name(uid, Some(node), 0), NOW_NS);
        self.nominated.insert(key, uid);
        Ok(())
    }

    pub(super) fn clear_nomination(&mut self, pod: &str) -> Result<(), StepProblem> {
        if self.forget_nomination(pod) {
            return Ok(());
        }
        Err(StepProblem::NotNominated { pod: pod.to_owned() })
    }

    fn forget_nomination(&mut self, pod: &str) -> bool {
        let Some(uid) = self.nominated.remove(pod) else { return false };
        self.scheduler.on_event(ObjectEvent::pod_deleted(uid), NOW_NS);
        true
    }

    pub(super) fn apply_objects(&mut self, objects: &[AppliedObject]) -> Result<(), StepProblem> {
        for object in objects {
            let input = match object {
                AppliedObject::PodGroup(it) => {
                    self.upsert_pod_group(&it.0);
                    continue;
                }
                AppliedObject::Volume(it) => StorageInput::PersistentVolume(persistent_volume_input(it)?),
                AppliedObject::Claim(it) => StorageInput::PersistentVolumeClaim(claim_input(it)?),
                AppliedObject::Other(it) => {
                    self.apply_dra(it)?;
                    continue;
                }
            };
            self.scheduler.on_event(ObjectEvent::Added(ObjectInput::Storage(&input)), NOW_NS);
        }
        Ok(())
    }
}

/// The gates of a trace, over the defaults. Those that are not the scheduler's say nothing of decisions.
fn gates_of(trace: &Trace) -> Result<FeatureGates, StepProblem> {
    let mut gates = FeatureGates::default();
    for (name, &is_on) in &trace.feature_gates {
        let is_known = gates.set(name, is_on).is_ok();
        if !is_known && is_on && trace.family == "podgroup" {
            let error = format!("feature gate {name} is on, and there is nothing here that it switches");
            return Err(StepProblem::Gates { error });
        }
    }
    Ok(gates)
}

impl State {
    /// A device, class, claim or rule comes or changes. Claims are made of templates in steps of their own.
    fn apply_dra(&mut self, object: &GenericObject) -> Result<(), StepProblem> {
        match dra_input(object)? {
            Some(input) => self.scheduler.on_event(ObjectEvent::Added(ObjectInput::Dra(&input)), NOW_NS),
            None if object.kind == "ResourceClaimTemplate" => {}
            None => {
                let error = format!("{} is no kind that changes in a trace", object.api_version);
                return Err(StepProblem::Malformed {
                    kind: "ResourceSlice or another of resource.k8s.io",
                    error,
                });
            }
        }
        Ok(())
    }

    pub(super) fn delete_objects(&mut self, objects: &[ObjectName]) -> Result<(), StepProblem> {
        for ObjectName { kind: name_of_kind, namespace, name } in objects {
            let kind = ObjectKind::of("resource.k8s.io/v1", name_of_kind).ok_or_else(|| {
                let error = format!("{name_of_kind} is not of resource.k8s.io");
                StepProblem::Malformed { kind: "object's name", error }
            })?;
            let object = NamedObject { kind, namespace, name };
            self.scheduler.on_event(ObjectEvent::Deleted(ObjectRef::Named(object)), NOW_NS);
        }
        Ok(())
    }
}

/// A JSON object as its API type.
fn typed<T: DeserializeOwned>(object: &Value, kind: &'static str) -> Result<T, StepProblem> {
    T::deserialize(object).map_err(|error| StepProblem::Malformed { kind, error: error.to_string() })
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
