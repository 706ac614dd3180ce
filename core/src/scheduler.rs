//! The loop as a state machine: events and the time go in, API calls come out as values.
//!
//! A runtime feeds watch events ([`Scheduler::on_pod`], [`Scheduler::on_node`], ...) and the
//! answers to calls, lets the scheduler [`step`](Scheduler::step) and performs what
//! [`Scheduler::take_calls`] hands out. The scheduler cannot tell wall clock from simulation.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::class::PodClass;
use crate::cycle::engine::{Choice, Decision, Engine, EngineSettings};
use crate::cycle::probe::Probe;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::plugin::{PreEnqueuePlugin, QueueKey};
use crate::framework::profile::Profile;
use crate::framework::registry::{DEFAULT_SCHEDULER_NAME, default_profile};
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::input::{NodeInput, PodInput};
use crate::pods::{NO_TICKET, PodState};
use crate::queue::active::ActiveQueue;
use crate::queue::order::{SortKey, Ticket};
use crate::world::World;

/// What the scheduler wants done at the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiCall {
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
    profiles: Vec<Profile>,
    engine: Engine,
    active: ActiveQueue,
    tickets: u32,
    unschedulable: Vec<(PodId, PodUid)>,
    calls: Vec<ApiCall>,
    conditions: Conditions,
    counts: PodCounts,
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

/// Whether a profile takes pods of a class.
fn takes(profile: &Profile, class: &PodClass) -> bool {
    let name = match class.input.scheduler_name.as_str() {
        "" => DEFAULT_SCHEDULER_NAME,
        name => name,
    };
    profile.scheduler_name == name
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
        Scheduler::with_profiles(world, vec![profile], settings)
    }

    /// A scheduler with several profiles, each taking the pods that carry its scheduler name.
    ///
    /// # Panics
    /// When there is no profile.
    #[must_use]
    pub fn with_profiles(world: World, profiles: Vec<Profile>, settings: EngineSettings) -> Scheduler {
        assert!(!profiles.is_empty(), "a scheduler needs a profile");
        Scheduler {
            world,
            profiles,
            engine: Engine::new(settings),
            active: ActiveQueue::default(),
            tickets: NO_TICKET,
            unschedulable: Vec::new(),
            calls: Vec::new(),
            conditions: Conditions::default(),
            counts: PodCounts::default(),
        }
    }

    /// What the scheduler knows.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The first profile, or the only one.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profiles[0]
    }

    /// The profiles it runs.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Runs with other profiles from now on, made with this world's vocabulary. What was kept per
    /// class is forgotten, every pod that is on no node is looked at afresh, and pods that waited
    /// are tried again: what rejected them may be gone.
    ///
    /// # Panics
    /// When there is no profile.
    pub fn set_profiles(&mut self, profiles: Vec<Profile>, now_ns: u64) {
        assert!(!profiles.is_empty(), "a scheduler needs a profile");
        self.profiles = profiles;
        self.engine.forget_classes();
        self.wake(now_ns);
        for was in [PodState::Queued, PodState::Gated, PodState::Foreign] {
            let pods: Vec<PodId> = self.world.pods().in_state(was).collect();
            for pod in pods {
                let state = self.entry_state(self.world.pods().get(pod).class);
                if state != was {
                    self.move_to(pod, state);
                    if state == PodState::Queued {
                        self.push(pod, now_ns);
                    }
                }
            }
        }
    }

    /// The profile that takes pods of a class; `None` when they are another scheduler's.
    fn profile_of(&self, class: &PodClass) -> Option<&Profile> {
        self.profiles.iter().find(|profile| takes(profile, class))
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
        let Some(profile) = self.profile_of(class) else { return PodState::Foreign };
        let holds_back = |plugin: &dyn PreEnqueuePlugin| plugin.pre_enqueue(&self.world, class).is_some();
        let gated = profile.pre_enqueue_plugins().any(holds_back);
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
        self.world.displace(pod);
        self.move_to(pod, PodState::Queued);
        self.push(pod, now_ns);
        self.wake(now_ns);
    }

    /// Tries the next pod.
    pub fn step<P: Probe>(&mut self, probe: &mut P) -> Step {
        let Some(pod) = self.pop() else { return Step::Idle };
        self.world.settle();
        let row = self.world.pods_mut().get_mut(pod);
        row.attempts += 1;
        let (uid, class, condition) = (row.uid, row.class, row.condition);
        let compiled = self.world.class(class);
        let profile = match self.profiles.as_slice() {
            [only] => only,
            several => several
                .iter()
                .find(|profile| takes(profile, compiled))
                .expect("a queued pod is one that a profile takes"),
        };
        match self.engine.decide(&self.world, profile, class, probe) {
            Decision::Chosen(choice) => {
                let node = self.world.nodes().columns().id[choice.row];
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
            let plugins = self.profile_of(class).into_iter().flat_map(Profile::pre_enqueue_plugins);
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
        let plugin = QueueKey { priority, queued_ns: now_ns };
        let key = SortKey { plugin, order: u64::from(self.tickets) };
        self.active.push(key, Ticket { pod, number: self.tickets });
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

#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod tests;
