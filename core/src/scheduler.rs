//! The loop as a state machine: events and the time go in, API calls come out as values.
//!
//! A runtime feeds watch events ([`Scheduler::on_pod`], [`Scheduler::on_node`], ...) and the
//! answers to calls, lets the scheduler [`step`](Scheduler::step) and performs what
//! [`Scheduler::take_calls`] hands out. The scheduler cannot tell wall clock from simulation.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::cycle::engine::{Choice, Decision, Engine, EngineSettings};
use crate::cycle::probe::Probe;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::plugin::PreEnqueuePlugin;
use crate::framework::profile::Profile;
use crate::framework::registry::{DEFAULT_SCHEDULER_NAME, default_profile};
use crate::ids::{ClaimId, ClassId, NodeId, PodId, PodUid, VolumeId};
use crate::input::storage::{ClaimRefInput, StorageInput, StorageKey};
use crate::input::{NodeInput, PodInput};
use crate::plugins::volume_binding::decide_volumes;
use crate::pods::{NO_TICKET, PodState};
use crate::queue::active::{ActiveQueue, Ticket};
use crate::storage::VolumeDecision;
use crate::world::World;

/// What the scheduler wants done at the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiCall {
    /// PreBind of VolumeBinding: comes right before the [`ApiCall::Bind`] of the same pod, which is
    /// to be sent only when this succeeded.
    BindVolumes(Box<VolumeWrites>),
    /// `POST pods/binding`.
    Bind {
        /// The pod.
        pod: PodUid,
        /// The node.
        node: NodeId,
    },
    /// `PATCH pods/status`: condition PodScheduled=False, reason Unschedulable.
    SetUnschedulable {
        /// The pod.
        pod: PodUid,
        /// The condition's message.
        message: Arc<str>,
    },
}

/// What is to be written before a pod with open claims is bound.
/// Upstream: volumebinding/binder.go `bindAPIUpdate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeWrites {
    /// The pod.
    pub pod: PodUid,
    /// Volumes that get a `spec.claimRef`.
    pub bindings: Vec<ClaimRefWrite>,
    /// Claims that get the annotation `volume.kubernetes.io/selected-node`.
    pub provisions: Vec<SelectedNodeWrite>,
}

/// `PUT persistentvolumes`: the volume is bound to the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRefWrite {
    /// The volume.
    pub volume: String,
    /// The claim.
    pub claim: ClaimRefInput,
}

/// `PUT persistentvolumeclaims`: the claim is to be provisioned on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedNodeWrite {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// The node.
    pub node: String,
}

/// What the API says about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodUpdate {
    /// Its identity.
    pub uid: PodUid,
    /// Its compiled spec.
    pub class: ClassId,
    /// `spec.nodeName`.
    pub node: Option<NodeId>,
    /// When it was created.
    pub created_ns: u64,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// No pod is ready to be tried.
    Idle,
    /// A pod was placed and its binding is on the way.
    Assumed {
        /// The pod.
        pod: PodId,
        /// How the search went.
        choice: Choice,
    },
    /// A pod fits nowhere.
    Unschedulable {
        /// The pod.
        pod: PodId,
    },
}

/// How many pods are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodCounts {
    /// In the active queue.
    pub queued: usize,
    /// Held back before the queue.
    pub gated: usize,
    /// Waiting for the cluster to change.
    pub unschedulable: usize,
    /// Placed, not confirmed.
    pub assumed: usize,
    /// On a node.
    pub bound: usize,
    /// Another scheduler's.
    pub foreign: usize,
}

impl PodCounts {
    fn of(&mut self, state: PodState) -> &mut usize {
        match state {
            PodState::Queued => &mut self.queued,
            PodState::Gated => &mut self.gated,
            PodState::Unschedulable => &mut self.unschedulable,
            PodState::Assumed => &mut self.assumed,
            PodState::Bound => &mut self.bound,
            PodState::Foreign => &mut self.foreign,
        }
    }
}

/// The scheduler.
#[derive(Debug)]
pub struct Scheduler {
    world: World,
    profile: Profile,
    engine: Engine,
    active: ActiveQueue,
    tickets: u32,
    unschedulable: Vec<(PodId, PodUid)>,
    calls: Vec<ApiCall>,
    conditions: Conditions,
    counts: PodCounts,
    /// Volumes taken for pods that are assumed.
    reserved: FxHashMap<PodUid, VolumeDecision>,
}

/// Condition messages by id, so that a pod's row can say which one it carries.
#[derive(Debug, Default)]
struct Conditions {
    by_text: FxHashMap<Arc<str>, u32>,
    last: Option<(Arc<Diagnosis>, u32, Arc<str>)>,
}

impl Conditions {
    fn of(&mut self, diagnosis: &Arc<Diagnosis>, world: &World) -> (u32, Arc<str>) {
        if let Some((known, id, text)) = &self.last
            && Arc::ptr_eq(known, diagnosis)
        {
            return (*id, Arc::clone(text));
        }
        let text: Arc<str> = diagnosis.message(&world.vocabulary).into();
        // 0 stands for "no condition".
        let next = u32::try_from(self.by_text.len() + 1).expect("fewer than 2^32 messages");
        let id = *self.by_text.entry(Arc::clone(&text)).or_insert(next);
        self.last = Some((Arc::clone(diagnosis), id, Arc::clone(&text)));
        (id, text)
    }
}

impl Scheduler {
    /// A scheduler with the default profile that knows no pod and no node.
    #[must_use]
    pub fn new(settings: EngineSettings, percentage_of_nodes_to_score: i32) -> Scheduler {
        let mut world = World::default();
        let mut profile = default_profile(&mut world.vocabulary);
        profile.percentage_of_nodes_to_score = percentage_of_nodes_to_score;
        Scheduler::with_profile(world, profile, settings)
    }

    /// A scheduler with a profile whose plugins were made with this world's vocabulary.
    #[must_use]
    pub fn with_profile(world: World, profile: Profile, settings: EngineSettings) -> Scheduler {
        Scheduler {
            world,
            profile,
            engine: Engine::new(settings),
            active: ActiveQueue::default(),
            tickets: NO_TICKET,
            unschedulable: Vec::new(),
            calls: Vec::new(),
            conditions: Conditions::default(),
            counts: PodCounts::default(),
            reserved: FxHashMap::default(),
        }
    }

    /// What the scheduler knows.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The profile it runs.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// How many pods are where.
    #[must_use]
    pub fn counts(&self) -> PodCounts {
        self.counts
    }

    /// Compiles a spec, once per distinct spec.
    pub fn compile(&mut self, input: &Arc<PodInput>) -> ClassId {
        self.world.compile(input)
    }

    /// The id of a node name.
    pub fn node_id(&mut self, name: &str) -> NodeId {
        self.world.node_id(name)
    }

    /// A node was added or changed.
    pub fn on_node(&mut self, node: &NodeInput, now_ns: u64) {
        self.world.upsert_node(node);
        self.wake(now_ns);
    }

    /// A node was removed.
    pub fn on_node_removed(&mut self, name: &str) {
        let id = self.world.node_id(name);
        self.world.remove_node(id);
    }

    /// An object of storage was added or changed.
    pub fn on_storage(&mut self, object: &StorageInput, now_ns: u64) {
        self.world.upsert_storage(object);
        self.wake(now_ns);
    }

    /// An object of storage was removed.
    pub fn on_storage_removed(&mut self, key: &StorageKey, now_ns: u64) {
        self.world.remove_storage(key);
        self.wake(now_ns);
    }

    /// A pod was added or changed.
    pub fn on_pod(&mut self, update: PodUpdate, now_ns: u64) {
        match self.world.pods().find(update.uid) {
            None => self.add_pod(update, now_ns),
            Some(pod) => self.update_pod(pod, update, now_ns),
        }
    }

    fn add_pod(&mut self, update: PodUpdate, now_ns: u64) {
        let state = match update.node {
            Some(_) => PodState::Bound,
            None => self.entry_state(update.class),
        };
        let pod = self.world.pods_mut().insert(update.uid, update.class, state, update.created_ns);
        *self.counts.of(state) += 1;
        match (update.node, state) {
            (Some(node), _) => self.world.place(pod, node),
            (None, PodState::Queued) => self.push(pod, now_ns),
            _ => {}
        }
    }

    /// Where a pod that is on no node belongs: PreEnqueue decides for pods that are ours.
    fn entry_state(&self, class: ClassId) -> PodState {
        let class = self.world.class(class);
        let name = match class.input.scheduler_name.as_str() {
            "" => DEFAULT_SCHEDULER_NAME,
            name => name,
        };
        if name != self.profile.scheduler_name {
            return PodState::Foreign;
        }
        let holds_back = |plugin: &dyn PreEnqueuePlugin| plugin.pre_enqueue(&self.world, class).is_some();
        let gated =
            self.profile.plugins().iter().filter_map(|plugin| plugin.as_pre_enqueue()).any(holds_back);
        if gated { PodState::Gated } else { PodState::Queued }
    }

    fn update_pod(&mut self, pod: PodId, update: PodUpdate, now_ns: u64) {
        let row = *self.world.pods().get(pod);
        if row.class != update.class {
            // The pod counts by its class: take it off its node while the class changes.
            let node = row.node();
            if node.is_some() {
                self.world.displace(pod);
            }
            self.world.pods_mut().get_mut(pod).class = update.class;
            if let Some(node) = node {
                self.world.place(pod, node);
                self.wake(now_ns);
            } else if matches!(row.state, PodState::Gated | PodState::Unschedulable) {
                let state = self.entry_state(update.class);
                self.move_to(pod, state);
                if state == PodState::Queued {
                    self.push(pod, now_ns);
                }
            }
        }
        let Some(node) = update.node else { return };
        if row.node() != Some(node) {
            // Somebody else bound it, or bound it elsewhere than we assumed.
            if row.node().is_some() {
                self.world.displace(pod);
            }
            self.world.place(pod, node);
        }
        self.reserved.remove(&update.uid);
        self.move_to(pod, PodState::Bound);
    }

    /// A pod is gone, or has finished: it no longer counts on its node.
    pub fn on_pod_removed(&mut self, uid: PodUid, now_ns: u64) {
        let Some(pod) = self.world.pods().find(uid) else { return };
        let row = *self.world.pods().get(pod);
        let was_placed = row.node().is_some();
        if was_placed {
            self.world.displace(pod);
        }
        self.unreserve(uid);
        *self.counts.of(row.state) -= 1;
        self.world.pods_mut().remove(pod);
        if was_placed {
            self.wake(now_ns);
        }
    }

    /// A binding failed: the pod leaves the node and is tried again.
    pub fn on_bind_failed(&mut self, uid: PodUid, now_ns: u64) {
        let Some(pod) = self.world.pods().find(uid) else { return };
        if self.world.pods().get(pod).state != PodState::Assumed {
            return;
        }
        self.unreserve(uid);
        self.world.displace(pod);
        self.move_to(pod, PodState::Queued);
        self.push(pod, now_ns);
        self.wake(now_ns);
    }

    /// Takes the volumes that the pod gets on the node, and asks for them to be written.
    fn reserve(&mut self, pod: PodUid, class: ClassId, row: usize) {
        let class = self.world.class(class);
        if class.volumes.claims.is_empty() {
            return;
        }
        let decision = decide_volumes(&self.world, class, row);
        if decision.is_empty() {
            return;
        }
        let node = self.world.nodes().columns().id[row];
        self.calls.push(ApiCall::BindVolumes(Box::new(volume_writes(&self.world, pod, &decision, node))));
        self.world.assume_volumes(&decision, node);
        self.reserved.insert(pod, decision);
    }

    fn unreserve(&mut self, pod: PodUid) {
        if let Some(decision) = self.reserved.remove(&pod) {
            self.world.revert_volumes(&decision);
        }
    }

    /// Tries the next pod.
    pub fn step<P: Probe>(&mut self, probe: &mut P) -> Step {
        let Some(pod) = self.pop() else { return Step::Idle };
        self.world.settle();
        let row = self.world.pods_mut().get_mut(pod);
        row.attempts += 1;
        let (uid, class, condition) = (row.uid, row.class, row.condition);
        match self.engine.decide(&self.world, &self.profile, class, probe) {
            Decision::Chosen(choice) => {
                let node = self.world.nodes().columns().id[choice.row];
                self.reserve(uid, class, choice.row);
                self.world.place(pod, node);
                self.move_to(pod, PodState::Assumed);
                self.calls.push(ApiCall::Bind { pod: uid, node });
                Step::Assumed { pod, choice }
            }
            Decision::Unschedulable(diagnosis) => {
                let (id, message) = self.conditions.of(&diagnosis, &self.world);
                self.move_to(pod, PodState::Unschedulable);
                self.unschedulable.push((pod, uid));
                if condition != id {
                    self.world.pods_mut().get_mut(pod).condition = id;
                    self.calls.push(ApiCall::SetUnschedulable { pod: uid, message });
                }
                Step::Unschedulable { pod }
            }
        }
    }

    /// Takes the calls that came up since the last time, oldest first.
    pub fn take_calls(&mut self, into: &mut Vec<ApiCall>) {
        into.append(&mut self.calls);
    }

    /// Calls waiting to be taken.
    #[must_use]
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// Some pod may be ready to be tried.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.active.is_empty()
    }

    /// Why each waiting pod waits, up to `limit` distinct reasons with counts, most frequent first.
    #[must_use]
    pub fn waiting_reasons(&self, limit: usize) -> Vec<(String, usize)> {
        let mut reasons: FxHashMap<String, usize> = FxHashMap::default();
        let by_id: FxHashMap<u32, &Arc<str>> =
            self.conditions.by_text.iter().map(|(text, &id)| (id, text)).collect();
        for pod in self.world.pods().in_state(PodState::Unschedulable) {
            let id = self.world.pods().get(pod).condition;
            let text = by_id.get(&id).map_or("not tried yet", |text| text.as_ref());
            *reasons.entry(text.to_owned()).or_default() += 1;
        }
        for pod in self.world.pods().in_state(PodState::Gated) {
            let class = self.world.class(self.world.pods().get(pod).class);
            let plugins = self.profile.plugins().iter().filter_map(|plugin| plugin.as_pre_enqueue());
            let text = plugins.filter_map(|plugin| plugin.pre_enqueue(&self.world, class)).next();
            *reasons.entry(text.unwrap_or_default()).or_default() += 1;
        }
        let mut sorted: Vec<(String, usize)> = reasons.into_iter().collect();
        sorted.sort_by(|(text, count), (other_text, other)| {
            other.cmp(count).then_with(|| text.cmp(other_text))
        });
        sorted.truncate(limit);
        sorted
    }

    /// Bytes held for nodes, and for pods and the queue.
    #[must_use]
    pub fn memory_bytes(&self) -> (usize, usize) {
        let pods = self.world.pods().memory_bytes()
            + self.active.memory_bytes()
            + self.unschedulable.capacity() * size_of::<(PodId, PodUid)>();
        (self.world.nodes().memory_bytes(), pods)
    }

    fn push(&mut self, pod: PodId, now_ns: u64) {
        // Around once in 2^32 tickets; a leftover does not live that long.
        self.tickets = self.tickets.checked_add(1).unwrap_or(NO_TICKET + 1);
        let row = self.world.pods_mut().get_mut(pod);
        row.queued_ns = now_ns;
        row.ticket = self.tickets;
        let class = row.class;
        let priority = self.world.class(class).priority;
        self.active.push(priority, Ticket { pod, number: self.tickets });
    }

    fn pop(&mut self) -> Option<PodId> {
        loop {
            let ticket = self.active.pop()?;
            let row = self.world.pods().get(ticket.pod);
            // Tickets of pods that left the queue some other way are skipped.
            if row.state == PodState::Queued && row.ticket == ticket.number {
                return Some(ticket.pod);
            }
        }
    }

    /// Something changed that may make room: all waiting pods are tried again.
    fn wake(&mut self, now_ns: u64) {
        for (pod, uid) in std::mem::take(&mut self.unschedulable) {
            let is_waiting = self.world.pods().find(uid) == Some(pod)
                && self.world.pods().get(pod).state == PodState::Unschedulable;
            if is_waiting {
                self.move_to(pod, PodState::Queued);
                self.push(pod, now_ns);
            }
        }
    }

    fn move_to(&mut self, pod: PodId, state: PodState) {
        let row = self.world.pods_mut().get_mut(pod);
        let old = std::mem::replace(&mut row.state, state);
        *self.counts.of(old) -= 1;
        *self.counts.of(state) += 1;
    }
}

fn volume_writes(world: &World, pod: PodUid, decision: &VolumeDecision, node: NodeId) -> VolumeWrites {
    let storage = world.storage();
    let text = |symbol| world.vocabulary.symbols.text(symbol).to_owned();
    let binding = |&(claim, volume): &(ClaimId, VolumeId)| {
        let claim = storage.claim_ref(claim);
        ClaimRefWrite {
            volume: text(storage.volume_name(volume)),
            claim: ClaimRefInput {
                namespace: text(claim.namespace),
                name: text(claim.name),
                uid: text(claim.uid),
            },
        }
    };
    let provision = |&claim: &ClaimId| {
        let (namespace, name) = storage.claim_name(claim);
        SelectedNodeWrite {
            namespace: text(namespace),
            name: text(name),
            node: world.node_name(node).to_owned(),
        }
    };
    VolumeWrites {
        pod,
        bindings: decision.bindings.iter().map(binding).collect(),
        provisions: decision.provisions.iter().map(provision).collect(),
    }
}

#[cfg(test)]
mod tests;
