//! What the watch says, and which waiting pods it may help.
//!
//! Upstream: eventhandlers.go; framework/events.go for what a change is called.

use std::sync::Arc;

use super::objects::{NamedObject, ObjectInput, ObjectKind};
use super::{PodUpdate, Scheduler};
use crate::class::PodClass;
use crate::dra::DraNews;
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::input::NodeInput;
use crate::input::storage::StorageKey;
use crate::known_gaps::KnownGaps;
use crate::mutants::Mutant;
use crate::pods::PodState;
use crate::queue::event::{
    ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, ActionType, ClusterEvent, Event, EventObject, EventResource,
    NodeState, PodFacts, UNSCHEDULED_POD_ADD,
};
use crate::queue::{PreCheck, QueueCounts, QueuePlace, QueuedPod};
use crate::resources::{Amounts, ResourceKind};
use crate::storage::StorageNews;

impl Scheduler {
    /// An object other than a pod was added, or has changed.
    pub(super) fn add_or_update(&mut self, object: ObjectInput<'_>, is_update: bool) {
        let action = if is_update { ActionType::UPDATE } else { ActionType::ADD };
        match object {
            ObjectInput::Pod(update) => self.add_or_update_pod(&update),
            ObjectInput::NominatedNodeName { pod, node, resource_version } => {
                self.on_nominated_node_name(pod, node, resource_version);
            }
            ObjectInput::Node(node) => self.add_or_update_node(node),
            ObjectInput::Namespace { name, labels } => {
                if self.world.upsert_namespace(name, labels) {
                    self.on_namespace_change(name, ActionType::UPDATE);
                }
            }
            ObjectInput::Service(service) => self.world.owners_mut().upsert_service(service.clone()),
            ObjectInput::Workload(workload) => self.world.owners_mut().upsert_workload(workload.clone()),
            ObjectInput::PodDisruptionBudget { budget, disrupted } => {
                self.world.upsert_budget(budget, disrupted);
            }
            ObjectInput::Storage(object) => {
                let news = self.world.upsert_storage(object);
                let StorageKey { kind, namespace, name } = object.key();
                let kind = ObjectKind::Storage(kind);
                self.raise(NamedObject { kind, namespace: &namespace, name: &name }, action, news);
            }
            ObjectInput::PodGroup(group) => self.add_or_update_pod_group(group),
            ObjectInput::Dra(object) => {
                let news = self.world.upsert_dra(object);
                let (kind, namespace, name) = object.key();
                self.raise_dra(NamedObject { kind: ObjectKind::Dra(kind), namespace, name }, action, news);
            }
            ObjectInput::Named(object) => self.raise(object, action, StorageNews::Anything),
        }
    }

    /// An object that is neither a pod nor a node is gone.
    pub(super) fn delete_object(&mut self, object: NamedObject<'_>) {
        let NamedObject { kind, namespace, name } = object;
        let news = match kind {
            ObjectKind::Namespace => {
                if self.world.remove_namespace(name) {
                    self.on_namespace_change(name, ActionType::DELETE);
                }
                return;
            }
            ObjectKind::Service => {
                self.world.owners_mut().remove_service(namespace, name);
                StorageNews::Anything
            }
            ObjectKind::Workload(kind) => {
                self.world.owners_mut().remove_workload(kind, namespace, name);
                StorageNews::Anything
            }
            ObjectKind::PodDisruptionBudget => {
                self.world.remove_budget(namespace, name);
                StorageNews::Anything
            }
            ObjectKind::Storage(kind) => {
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                self.world.remove_storage(&StorageKey { kind, namespace, name })
            }
            ObjectKind::PodGroup => return self.delete_pod_group(namespace, name),
            ObjectKind::Dra(kind) => {
                let news = self.world.remove_dra(kind, namespace, name);
                return self.raise_dra(object, ActionType::DELETE, news);
            }
            ObjectKind::Pod | ObjectKind::Node => unreachable!("pods and nodes have keys of their own"),
        };
        self.raise(object, ActionType::DELETE, news);
    }

    /// Raises the event of an object of dynamic resource allocation. A rule is an update of the slices whose
    /// devices have other taints, and none if there are no such. Upstream: tracker.go `syncSlice`.
    fn raise_dra(&mut self, object: NamedObject<'_>, action: ActionType, news: DraNews) {
        let action = match news {
            DraNews::DeviceTaintRule { has_other_taints: false } => return,
            DraNews::DeviceTaintRule { .. } => ActionType::UPDATE,
            _ => action,
        };
        self.raise(object, action, StorageNews::Dra(news));
    }

    /// Raises the event of an object of a kind that some plugin may wait for.
    pub(super) fn raise(&mut self, object: NamedObject<'_>, action: ActionType, news: StorageNews) {
        let Some(resource) = object.kind.row().event else { return };
        let symbols = &mut self.world.vocabulary.symbols;
        let (namespace, name) = (symbols.intern(object.namespace), symbols.intern(object.name));
        let what = ClusterEvent { resource, action };
        self.move_all_to_active_or_backoff_queue(
            &Event { what, object: EventObject::Named { namespace, name, news } },
            PreCheck::Everyone,
        );
        self.serve_requests();
        self.reclaim_if_due();
    }

    /// A namespace has other labels, or is gone.
    ///
    /// Differs: upstream lets no plugin hear of namespaces, and a pod that waits for one to be selected by a
    /// term's `namespaceSelector` waits for the flush (kubernetes#141953)
    /// (`namespace_label_change_requeues_pods_with_namespace_selector`).
    fn on_namespace_change(&mut self, name: &str, action: ActionType) {
        let is_heard = self.settings.known_gaps == KnownGaps::Mended
            && !self.settings.mutants.has(Mutant::NamespaceUnheard);
        if is_heard {
            let object = NamedObject { kind: ObjectKind::Namespace, namespace: "", name };
            self.raise(object, action, StorageNews::Anything);
        }
    }

    /// Some plugin wants to see nodes in full.
    fn shows_nodes(&self) -> bool {
        self.parts.iter().any(|parts| parts.hints.shows_nodes())
    }

    fn add_or_update_node(&mut self, node: &Arc<NodeInput>) {
        let shown = self.shows_nodes().then(|| Arc::clone(node));
        #[cfg(feature = "mutants")]
        let node = &self.taken_for(node);
        let id = self.world.upsert_node(node);
        let new = Arc::new(NodeState { input: shown, ..NodeState::of(node, &mut self.world) });
        if self.nodes.len() <= id.index() {
            self.nodes.resize(id.index() + 1, None);
        }
        let old = self.nodes[id.index()].replace(Arc::clone(&new));
        let actions = match &old {
            None => vec![ActionType::ADD],
            Some(old) => node_scheduling_properties_change(old, &new),
        };
        for action in actions {
            self.move_all_to_active_or_backoff_queue(
                &Event::node(action, old.clone(), Some(Arc::clone(&new))),
                PreCheck::Everyone,
            );
        }
        self.serve_requests();
        if old.is_some() {
            self.reclaim_if_due();
        }
    }

    /// A node is gone. Upstream: eventhandlers.go `deleteNodeFromCache`.
    pub(super) fn delete_node_from_cache(&mut self, name: &str) {
        let id = self.world.node_id(name);
        let old = self.nodes.get_mut(id.index()).and_then(Option::take);
        self.world.remove_node(id);
        if old.is_some() {
            self.move_all_to_active_or_backoff_queue(
                &Event::node(ActionType::DELETE, old, None),
                PreCheck::Everyone,
            );
        }
        self.serve_requests();
        self.reclaim_if_due();
    }

    /// A pod was added or changed.
    pub(super) fn add_or_update_pod(&mut self, update: &PodUpdate) {
        let forgets_victims = self.settings.mutants.has(Mutant::VictimsForgotten);
        let mut has_other_class = false;
        let pod = match self.world.pods().find(update.uid) {
            None => self.add_pod(update),
            Some(pod) => {
                has_other_class = self.world.pods().get(pod).class != update.class;
                self.update_pod(pod, update);
                pod
            }
        };
        let row = self.world.pods_mut().get_mut(pod);
        row.started_s = update.started_s.unwrap_or(i64::MAX);
        row.is_preempted = update.is_preempted && !forgets_victims;
        let class = row.class;
        if self.world.class(class).is_terminating {
            self.on_victim_deletion(update.uid);
        }
        self.serve_requests();
        if has_other_class {
            self.reclaim_if_due();
        }
    }

    fn add_pod(&mut self, update: &PodUpdate) -> PodId {
        self.world.touch_class(update.class);
        let profile = self.profile_of(update.class);
        let state = match (update.node, profile) {
            (Some(_), _) => PodState::Bound,
            (None, Some(_)) => PodState::Pending,
            (None, None) => PodState::Foreign,
        };
        let pod = self.world.pods_mut().insert(update.uid, update.class, state, update.created_ns);
        if let Some(group) = update.group {
            self.add_pod_group_member(pod, group, state);
        }
        self.counts.enter(state);
        if let Some(node) = update.node {
            self.world.place(pod, node);
            self.add_assigned_pod_event(pod);
        } else if state == PodState::Pending {
            self.add_pod_to_scheduling_queue(pod);
        }
        pod
    }

    /// Puts a pod that is ours into the queue.
    pub(super) fn add_pod_to_scheduling_queue(&mut self, pod: PodId) {
        match self.group_of(pod) {
            None => {
                let queued = self.queued(pod);
                let now_ns = self.now_ns;
                self.with_queue(|queue, queue_plugins| queue.add(queued, now_ns, queue_plugins));
            }
            Some(group) => {
                self.add_pod_group_member_to_queue(pod, group, 0);
                self.wake_gated_group(group);
            }
        }
        if self.settings.gates.generic_workload && self.parts.iter().any(|it| it.hears_of_unscheduled_pods) {
            let event = Event::pod(UNSCHEDULED_POD_ADD, None, Some(self.facts(pod)));
            self.move_all_to_active_or_backoff_queue(&event, PreCheck::Everyone);
        }
    }

    /// Looks afresh at every pod that is on no node; the queue is empty.
    pub(super) fn admit_all_unplaced(&mut self) {
        debug_assert_eq!(self.queue.counts(), QueueCounts::default(), "the queue is new");
        let unplaced = |row: &crate::pods::PodRow| matches!(row.state, PodState::Pending | PodState::Foreign);
        let pods: Vec<PodId> =
            self.world.pods().ids().filter(|&pod| unplaced(self.world.pods().get(pod))).collect();
        for pod in pods {
            let class = self.world.pods().get(pod).class;
            if self.profile_of(class).is_some() {
                self.move_to(pod, PodState::Pending);
                self.update_nominated_pod(pod, self.world.pods().get(pod).nominated());
                self.add_pod_to_scheduling_queue(pod);
            } else {
                self.move_to(pod, PodState::Foreign);
            }
        }
    }

    fn update_pod(&mut self, pod: PodId, update: &PodUpdate) {
        let row = *self.world.pods().get(pod);
        let Some(node) = update.node else {
            let is_out = row.state == PodState::Assumed && self.queue.place(pod) == QueuePlace::Out;
            if is_out && self.settings.mutants.has(Mutant::QueuedWhileBinding) {
                self.add_pod_to_scheduling_queue(pod);
            }
            if row.class != update.class {
                let is_terminating = |class| self.world.class(class).is_terminating;
                let stays = self.settings.mutants.has(Mutant::BindingVictimStays);
                let begins_to_leave = !is_terminating(row.class) && is_terminating(update.class);
                match row.state {
                    PodState::Assumed if begins_to_leave && !stays => {
                        self.handle_assumed_pod_deletion(pod, update.class)
                    }
                    _ => self.update_pod_class(pod, update.class),
                }
            }
            return;
        };
        match row.state {
            PodState::Bound if row.node() == Some(node) => {
                if row.class != update.class {
                    self.update_pod_class(pod, update.class);
                }
            }
            PodState::Assumed if row.node() == Some(node) => {
                if row.class != update.class {
                    self.update_assigned_pod_in_cache(pod, update.class, node);
                }
                self.confirm_assumed_pod(pod);
            }
            _ => self.add_assigned_pod_to_cache(pod, update.class, node),
        }
    }

    /// The API says that a pod is where we put it.
    fn confirm_assumed_pod(&mut self, pod: PodId) {
        debug_assert_eq!(
            self.world.pods().get(pod).state,
            PodState::Assumed,
            "only what is assumed is confirmed"
        );
        self.move_to(pod, PodState::Bound);
        self.count_scheduled(pod);
        let row = self.world.pods_mut().get_mut(pod);
        let (uid, was_nominated) = (row.uid, row.nominated().is_some());
        self.world.forget_volumes(uid);
        self.world.unreserve_devices(uid);
        self.nominated_node_name_versions.delete(uid);
        if was_nominated && !self.settings.mutants.has(Mutant::BoundStillNominated) {
            self.update_nominated_pod(pod, None);
        }
        if !self.binding_cycles.is_empty() {
            self.on_bound_while_binding(uid);
        }
        self.add_assigned_pod_event(pod);
    }

    /// Somebody else bound it, or bound it elsewhere than we assumed.
    fn add_assigned_pod_to_cache(&mut self, pod: PodId, class: ClassId, node: NodeId) {
        let row = *self.world.pods().get(pod);
        self.delete_from_queue(pod);
        self.preemption_executor.end(row.uid);
        self.abandon_binding(row.uid);
        self.world.unreserve_volumes(row.uid);
        self.world.unreserve_devices(row.uid);
        if row.node().is_some() {
            let before = self.facts(pod);
            self.world.displace(pod);
            self.move_all_to_active_or_backoff_queue(
                &Event::pod(ASSIGNED_POD_DELETE, Some(before), None),
                PreCheck::Except(row.uid),
            );
        }
        self.dispatcher.remove_pending(row.uid);
        self.nominated_node_name_versions.delete(row.uid);
        self.update_nominated_pod(pod, None);
        if row.node().is_none() {
            let held = row.nominated().or_else(|| self.missed.remove(&row.uid));
            self.requeue_pods_after_nomination_left(pod, held.filter(|&nominated| nominated != node));
        }
        self.world.pods_mut().get_mut(pod).class = class;
        self.world.place(pod, node);
        self.move_to(pod, PodState::Bound);
        debug_assert_eq!(self.queue.place(pod), QueuePlace::Out, "a bound pod is not queued");
        debug_assert!(
            self.world.nominator().node_of(row.uid).is_none(),
            "a bound pod holds its room by being there"
        );
        self.add_assigned_pod_event(pod);
    }

    /// A pod on its way to a node is to go. The API will refuse to bind it, so its room is free now.
    /// Upstream: eventhandlers.go `handleAssumedPodDeletion`.
    fn handle_assumed_pod_deletion(&mut self, pod: PodId, class: ClassId) {
        let before = self.facts(pod);
        self.delete_from_queue(pod);
        self.abandon_binding(before.uid);
        self.dispatcher.remove_pending(before.uid);
        self.world.unreserve_volumes(before.uid);
        self.world.unreserve_devices(before.uid);
        self.world.displace(pod);
        self.world.pods_mut().get_mut(pod).class = class;
        self.move_to(pod, PodState::Pending);
        self.move_all_to_active_or_backoff_queue(
            &Event::pod(ASSIGNED_POD_DELETE, Some(before), None),
            PreCheck::Everyone,
        );
    }

    /// The pod counts by its class: takes it off its node while the class changes.
    fn update_assigned_pod_in_cache(&mut self, pod: PodId, class: ClassId, node: NodeId) {
        debug_assert_eq!(self.world.pods().get(pod).node(), Some(node), "the pod stays where it is");
        self.world.displace(pod);
        self.world.pods_mut().get_mut(pod).class = class;
        self.world.place(pod, node);
    }

    fn update_pod_class(&mut self, pod: PodId, class: ClassId) {
        let before = self.facts(pod);
        let row = *self.world.pods().get(pod);
        match row.node() {
            Some(node) => self.update_assigned_pod_in_cache(pod, class, node),
            None => {
                self.world.pods_mut().get_mut(pod).class = class;
                if row.nominated().is_some() {
                    // Room is held for the pod as it is now. Upstream: nominator.go `UpdateNominatedPod`.
                    self.update_nominated_pod(pod, row.nominated());
                }
            }
        }
        let after = self.facts(pod);
        let changes = pod_scheduling_properties_change(self.world.class(row.class), self.world.class(class));
        let resource = if row.state == PodState::Pending {
            EventResource::TargetPod
        } else {
            EventResource::AssignedPod
        };
        let events: Vec<Event> = changes
            .into_iter()
            .map(|action| Event::pod(ClusterEvent { resource, action }, Some(before), Some(after)))
            .collect();
        match row.state {
            PodState::Foreign => {}
            PodState::Pending if self.group_of(pod).is_some() => {
                let group = self.group_of(pod).expect("it was just asked");
                self.update_pod_group_member(pod, group);
            }
            PodState::Pending => {
                let queued = self.queued(pod);
                let now_ns = self.now_ns;
                self.with_queue(|queue, queue_plugins| queue.update(queued, &events, now_ns, queue_plugins));
            }
            PodState::Assumed | PodState::Bound => {
                events
                    .iter()
                    .for_each(|event| self.move_all_to_active_or_backoff_queue(event, PreCheck::Everyone));
            }
        }
    }

    /// A pod is gone, or has finished: it no longer counts on its node.
    pub(super) fn delete_pod(&mut self, uid: PodUid) {
        self.delete_pod_from_cache_or_queue(uid);
        self.reclaim_if_due();
    }

    pub(super) fn delete_pod_from_cache_or_queue(&mut self, uid: PodUid) {
        #[cfg(feature = "mutants")]
        if self.misses_removal(uid) {
            return;
        }
        let Some(pod) = self.world.pods().find(uid) else { return };
        let row = *self.world.pods().get(pod);
        let before = self.facts(pod);
        self.delete_from_queue(pod);
        self.preemption_executor.end(uid);
        self.abandon_binding(uid);
        self.dispatcher.remove_pending(uid);
        self.nominated_node_name_versions.delete(uid);
        self.world.unreserve_volumes(uid);
        self.world.unreserve_devices(uid);
        let mutants = self.settings.mutants;
        let held = self.missed.remove(&uid).or(row.nominated());
        let before = PodFacts { nominated: held, ..before };
        let scope = match (row.node(), held) {
            (Some(_), _) => {
                self.world.displace(pod);
                Some(PreCheck::Everyone)
            }
            // Pods of a lower or the same priority had to leave room for it.
            (None, Some(_)) if mutants.has(Mutant::NominationMovesSilently) => None,
            (None, Some(_)) => Some(PreCheck::UpToPriority(self.world.class(row.class).priority)),
            (None, None) => None,
        };
        if !mutants.has(Mutant::GhostNomination) {
            self.update_nominated_pod(pod, None);
        }
        self.counts.leave(row.state);
        self.world.pod_groups_mut().unname(pod);
        debug_assert!(self.binding_cycles.get(uid).is_none(), "a pod that is gone has no binding cycle");
        self.world.pods_mut().remove(pod);
        if let Some(scope) = scope {
            self.move_all_to_active_or_backoff_queue(
                &Event::pod(ASSIGNED_POD_DELETE, Some(before), None),
                scope,
            );
        }
        self.on_victim_deletion(uid);
        self.serve_requests();
    }

    #[inline]
    fn add_assigned_pod_event(&mut self, pod: PodId) {
        if let Some(group) = self.group_of(pod) {
            self.wake_gated_group(group);
        }
        let facts = self.facts(pod);
        self.move_all_to_active_or_backoff_queue(
            &Event::pod(ASSIGNED_POD_ADD, None, Some(facts)),
            PreCheck::Everyone,
        );
    }

    /// An event: pods whose rejecting plugins say that it may help are requeued, and PreBind plugins that
    /// wait for it are called.
    pub(super) fn move_all_to_active_or_backoff_queue(&mut self, event: &Event, scope: PreCheck) {
        let queue = self.queue.counts();
        if queue.unschedulable + queue.gated + queue.in_flight > 0 {
            let now_ns = self.now_ns;
            self.with_queue(|queue, queue_plugins| {
                queue.move_all_to_active_or_backoff_queue(event, scope, now_ns, queue_plugins)
            });
        }
        if self.binding_cycles.has_pre_bind_waits() {
            self.notify_pre_bind_waits(event);
        }
    }

    /// A pod as hints see it.
    pub(super) fn facts(&self, pod: PodId) -> PodFacts {
        let row = self.world.pods().get(pod);
        PodFacts { uid: row.uid, class: row.class, node: row.node(), nominated: row.nominated() }
    }

    /// A pod as the queue sees it.
    pub(super) fn queued(&mut self, pod: PodId) -> QueuedPod {
        let row = *self.world.pods().get(pod);
        let profile = self.profile_of(row.class).expect("the pod is ours");
        let priority = self.world.class(row.class).priority;
        QueuedPod { pod, uid: row.uid, class: row.class, priority, profile }
    }
}

/// What changed of a node, by the names that plugins register for.
fn node_scheduling_properties_change(old: &NodeState, new: &NodeState) -> Vec<ActionType> {
    let is_uncordoned = old.is_unschedulable && !new.is_unschedulable;
    let has_other_amounts =
        old.allocatable != new.allocatable || old.allocatable_pods != new.allocatable_pods;
    let changes = [
        (is_uncordoned, ActionType::UPDATE_NODE_TAINT),
        (has_other_amounts, ActionType::UPDATE_NODE_ALLOCATABLE),
        (old.labels != new.labels, ActionType::UPDATE_NODE_LABEL),
        (old.taints != new.taints, ActionType::UPDATE_NODE_TAINT),
        (old.features != new.features, ActionType::UPDATE_NODE_DECLARED_FEATURE),
    ];
    changes.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, action)| action).collect()
}

/// What changed of a pod, by the names that plugins register for; the general update if it has none.
fn pod_scheduling_properties_change(old: &PodClass, new: &PodClass) -> Vec<ActionType> {
    let had_gates = !old.scheduling_gates.is_empty();
    let changes = [
        (old.labels != new.labels, ActionType::UPDATE_POD_LABEL),
        (has_more(&old.placed, &new.placed), ActionType::UPDATE_POD_SCALE_DOWN),
        (has_more(&new.placed, &old.placed), ActionType::UPDATE_POD_SCALE_UP),
        (had_gates && new.scheduling_gates.is_empty(), ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
        (old.tolerations.len() != new.tolerations.len(), ActionType::UPDATE_POD_TOLERATION),
        (
            old.input.resource_claims != new.input.resource_claims,
            ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        ),
    ];
    let named: Vec<ActionType> =
        changes.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, action)| action).collect();
    if named.is_empty() { vec![ActionType::UPDATE] } else { named }
}

/// Whether `one` asks for more of anything than `other`, or for something that `other` does not name.
fn has_more(one: &Amounts, other: &Amounts) -> bool {
    let fixed = [ResourceKind::Cpu, ResourceKind::Memory, ResourceKind::EphemeralStorage];
    let names = |amounts: &Amounts, id| amounts.scalars.iter().any(|&(known, _)| known == id);
    fixed.iter().any(|&kind| one.get(kind) > other.get(kind))
        || one
            .scalars
            .iter()
            .any(|&(id, amount)| !names(other, id) || amount > other.get(ResourceKind::Scalar(id)))
}
