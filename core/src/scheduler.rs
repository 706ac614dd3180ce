//! The loop as a state machine: events and the time go in, API calls come out as values.
//!
//! A runtime feeds watch events ([`Scheduler::on_event`]: the one door for objects of all kinds), the
//! time ([`Scheduler::advance`]) and the answers to calls, lets the scheduler
//! [`step`](Scheduler::step) and performs what [`Scheduler::take_calls`] hands out. The scheduler
//! cannot tell wall clock from simulation.
//!
//! One file a concern: `objects` has the table of kinds, `event_handlers` takes in what the watch says, `schedule_one` is the scheduling cycle,
//! `binding_cycle` the way from a chosen node to a bound pod, `scheduling_failure` the way back to the queue,
//! `nominated_node_name` what becomes of `nominatedNodeName`.

mod binding_cycle;
mod checks;
mod conditions;
mod counters;
mod evaluation;
mod event_handlers;
mod feature_gates;
mod gauges;
#[cfg(feature = "mutants")]
mod mutant_state;
mod nominated_node_name;
mod nominated_node_name_versions;
mod objects;
mod pod_events;
mod pod_group_queueing;
mod pod_groups;
mod post_filter;
mod preemption_executor;
mod prepare_candidate;
mod queue_plugins;
mod reclaim;
mod schedule_one;
mod schedule_one_pod_group;
mod scheduling_failure;
mod status;
mod timing;

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api_call::{ApiCall, ConditionReason, StatusPatch};
use crate::binding::{ApiDispatcher, BindingCycles, DispatchMode, OutgoingCall};
use crate::class::PodClass;
use crate::cycle::engine::{Choice, Engine, EngineSettings};
use crate::framework::extend::{Extender, Extenders, in_order};
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin::Plugin;
use crate::framework::points::Request;
use crate::framework::profile::Profile;
use crate::framework::registry::{DEFAULT_SCHEDULER_NAME, default_profile};
use crate::ids::{ClassId, NodeId, PodGroupId, PodId, PodUid};
use crate::input::PodInput;
use crate::interner::Vocabulary;
use crate::known_gaps::KnownGaps;
use crate::mutants::{Mutant, Mutants};
use crate::nominator::TryNominated;
use crate::plugins::{dynamic_resources, gang_scheduling, volume_binding};
use crate::pod_group::PodGroupScratch;
use crate::queue::event::{NodeState, UNSCHEDULED_POD_ADD};
use crate::queue::events_of_interest::EventsOfInterest;
use crate::queue::hints::QueueingHintMap;
use crate::queue::order::QueueOrder;
use crate::queue::pod_group_queue::PodGroupQueue;
use crate::queue::{PluginNumber, ProfileNumber, QueueSettings, SchedulingQueue};
use crate::reclaim::Pressure;
use crate::world::World;

pub use counters::{AttemptCounts, Counters, Doubling};
pub use evaluation::Evaluation;
pub use feature_gates::{FeatureGateError, FeatureGates};
pub use gauges::PendingCalls;
pub use objects::{KINDS, KindRow, NamedObject, ObjectEvent, ObjectInput, ObjectKind, ObjectRef};
pub use pod_events::{EventLevel, PodEvent, PodEventNote, PodEventReason};
pub use queue_plugins::PreEnqueueStatusCounts;
pub use status::{PodCounts, Standing};
pub use timing::{Span, Timed, label};

use conditions::Conditions;
use nominated_node_name_versions::NominatedNodeNameVersions;
use preemption_executor::PreemptionExecutor;
use queue_plugins::PreEnqueueReport;
use timing::Timing;

/// What the API says about a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodUpdate {
    /// Its identity.
    pub uid: PodUid,
    /// Its compiled spec.
    pub class: ClassId,
    /// `spec.nodeName`.
    pub node: Option<NodeId>,
    /// When it was created.
    pub created_ns: u64,
    /// `status.startTime` in seconds since the epoch.
    pub started_s: Option<i64>,
    /// It is a victim of preemption that was told to leave.
    pub is_preempted: bool,
    /// The group of `spec.schedulingGroup`, which never changes; nothing without the gate GenericWorkload.
    pub group: Option<PodGroupId>,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleOneOutcome {
    /// No pod is ready to be tried.
    Idle,
    /// A pod was placed and its binding is on the way.
    Assumed {
        /// The pod.
        pod: PodId,
        /// How the search went.
        choice: Choice,
    },
    /// A pod fits nowhere, or a plugin refused it after a node was found.
    Unschedulable {
        /// The pod.
        pod: PodId,
    },
    /// A plugin failed.
    Failed {
        /// The pod.
        pod: PodId,
    },
    /// The pod's nominated node does not fit: [`NominatedNodeNameMiss::Requeue`]. The pod is ready to
    /// be tried again, without a nomination.
    NominatedMissed {
        /// The pod.
        pod: PodId,
    },
}

/// What happens to a pod whose nominated node does not fit it (KEP-1923).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NominatedNodeNameMiss {
    /// The other nodes are searched in the same cycle.
    #[default]
    FallThrough,
    /// The nomination is cleared and a fresh cycle begins: the KEP's first design.
    Requeue,
}

/// When a pod on its way to a node says so in `nominatedNodeName`, with the gate of KEP-5278.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteNominatedNodeName {
    /// When Permit or PreBind will hold it up: the KEP's rule.
    #[default]
    WhenNeeded,
    /// For every pod: what the KEP fears, to be measured.
    Always,
    /// For none.
    Never,
}

/// How bindings of pods that nothing holds up get to the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainBindings {
    /// At once, and only a failure is reported: right where a call takes no time.
    #[default]
    Untracked,
    /// Like all other calls, within `parallel_calls_max`.
    Queued,
}

/// How the scheduler works, beside its profiles and its engine.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerSettings {
    /// Feature gates.
    pub gates: FeatureGates,
    /// `podInitialBackoffSeconds`.
    pub initial_backoff_ns: u64,
    /// `podMaxBackoffSeconds`.
    pub max_backoff_ns: u64,
    /// After how long a waiting pod is tried again although nothing happened; `None` never.
    pub flush_after_ns: Option<u64>,
    /// Calls on their way at most, with `SchedulerAsyncAPICalls`.
    pub parallel_calls_max: usize,
    /// What happens when the nominated node does not fit.
    pub nominated_node_name_miss: NominatedNodeNameMiss,
    /// Who announces its node.
    pub nominated_node_name: WriteNominatedNodeName,
    /// How plain pods are bound, with `SchedulerAsyncAPICalls`.
    pub plain_bindings: PlainBindings,
    /// Which events about pods are made.
    pub events: EventLevel,
    /// Whether what kube-scheduler is known to miss is missed.
    pub known_gaps: KnownGaps,
    /// The defect it has; none, without the feature `mutants`.
    pub mutants: Mutants,
}

impl Default for SchedulerSettings {
    fn default() -> Self {
        let queue = QueueSettings::default();
        SchedulerSettings {
            gates: FeatureGates::default(),
            initial_backoff_ns: queue.backoff.initial_ns,
            max_backoff_ns: queue.backoff.max_ns,
            flush_after_ns: queue.flush_after_ns,
            parallel_calls_max: 1024,
            nominated_node_name_miss: NominatedNodeNameMiss::default(),
            nominated_node_name: WriteNominatedNodeName::default(),
            plain_bindings: PlainBindings::default(),
            events: EventLevel::default(),
            known_gaps: KnownGaps::default(),
            mutants: Mutants::default(),
        }
    }
}

impl SchedulerSettings {
    /// Whose hints are asked.
    fn gaps_of_hints(&self) -> KnownGaps {
        if self.mutants.has(Mutant::DomainLeftUnheard) { KnownGaps::Upstream } else { self.known_gaps }
    }

    /// What becomes of a pod's nominated node.
    fn try_nominated(&self) -> TryNominated {
        match (self.gates.try_nominated_node_first, self.nominated_node_name_miss) {
            (false, _) => TryNominated::Never,
            (true, NominatedNodeNameMiss::FallThrough) => TryNominated::First,
            (true, NominatedNodeNameMiss::Requeue) => TryNominated::FirstOrMiss,
        }
    }
}

/// A profile and what was worked out about it.
#[derive(Debug)]
struct ProfileParts {
    profile: Profile,
    hints: QueueingHintMap,
    interest: EventsOfInterest,
    /// The plugin that preempts.
    preemption: Option<PluginNumber>,
    /// Nothing happens between assuming and binding, but for pods with volumes or claims, and nobody waits for
    /// the binding's success.
    is_plain: bool,
    /// Some plugin beside GangScheduling wants to hear of pods that come.
    hears_of_unscheduled_pods: bool,
}

impl ProfileParts {
    fn of(profile: Profile, extenders: &[Arc<dyn Extender>], gaps: KnownGaps) -> ProfileParts {
        // GangScheduling holds up nobody who is not in a group, and a group's cycle sees to its own members.
        let holds_up = |plugin: &dyn Plugin| plugin.name() != gang_scheduling::NAME;
        let permits = profile.plugins_at(ExtensionPoint::Permit).any(holds_up);
        let between = [ExtensionPoint::Reserve, ExtensionPoint::PostBind];
        let prepares_claims_only = profile
            .plugins_at(ExtensionPoint::PreBind)
            .all(|plugin| [volume_binding::NAME, dynamic_resources::NAME].contains(&plugin.name()));
        let is_plain =
            prepares_claims_only && !permits && between.iter().all(|&point| profile.at(point).is_empty());
        let mut hints = QueueingHintMap::of(&profile, gaps);
        if !extenders.is_empty() {
            hints = hints.with_extenders();
        }
        let preempts = |&&at: &&usize| profile.plugins()[at].preemption().is_some();
        let preemption = profile.at(ExtensionPoint::PostFilter).iter().find(preempts);
        let preemption = preemption.map(|&at| queue_plugins::plugin_number(at));
        let interest = hints.interest();
        let others = interest.of(UNSCHEDULED_POD_ADD).iter();
        let mut others = others.filter_map(|number| profile.plugins().get(usize::from(number.0)));
        let hears_of_unscheduled_pods = others.any(|plugin| plugin.name() != gang_scheduling::NAME);
        ProfileParts { interest, preemption, hints, is_plain, hears_of_unscheduled_pods, profile }
    }

    fn takes(&self, class: &PodClass) -> bool {
        let name = match class.input.scheduler_name.as_str() {
            "" => DEFAULT_SCHEDULER_NAME,
            name => name,
        };
        self.profile.scheduler_name == name
    }
}

/// The scheduler.
#[derive(Debug)]
pub struct Scheduler {
    settings: SchedulerSettings,
    world: World,
    parts: Vec<ProfileParts>,
    engine: Engine,
    queue: SchedulingQueue,
    binding_cycles: BindingCycles,
    dispatcher: ApiDispatcher,
    preemption_executor: PreemptionExecutor,
    pod_group_queue: PodGroupQueue,
    pod_group_scratch: PodGroupScratch,
    /// What became of the members of the group that was tried last, to be told one by one.
    pod_group_outcomes: VecDeque<ScheduleOneOutcome>,
    /// Moves with everything that the watch tells.
    news: u64,
    nominated_node_name_versions: NominatedNodeNameVersions,
    #[cfg(feature = "mutants")]
    mutant_state: mutant_state::MutantState,
    conditions: Conditions,
    /// By node id.
    nodes: Vec<Option<Arc<NodeState>>>,
    /// Pods that missed their nominated node and have a fresh cycle before them: the node.
    missed: FxHashMap<PodUid, NodeId>,
    /// By class: which profile takes its pods, once it was asked for.
    profile_of_class: Vec<Option<Option<ProfileNumber>>>,
    /// What plugins asked for during a call.
    requests: Vec<Request>,
    pre_enqueue_reports: Vec<PreEnqueueReport>,
    pre_enqueue_status_counts: PreEnqueueStatusCounts,
    pod_events: Vec<PodEvent>,
    /// Every pod has a binding cycle, also one that nothing holds up.
    tracks_plain_pods: bool,
    counts: status::StageCounts,
    counters: Counters,
    pressure: Pressure,
    /// Sweeps so far.
    epoch: u64,
    timing: Timing,
    /// When the scheduling cycle at hand began, if its pod has a binding cycle.
    cycle_begun_ns: u64,
    now_ns: u64,
    /// Events until everything is checked again.
    #[cfg(debug_assertions)]
    events_until_check: u64,
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
    pub fn with_profiles(world: World, profiles: Vec<Profile>, engine: EngineSettings) -> Scheduler {
        Scheduler::with_settings(world, profiles, engine, SchedulerSettings::default())
            .expect("the default gates go together")
    }

    /// A scheduler with all that can be set.
    ///
    /// # Panics
    /// When there is no profile.
    pub fn with_settings(
        world: World,
        profiles: Vec<Profile>,
        engine: EngineSettings,
        settings: SchedulerSettings,
    ) -> Result<Scheduler, FeatureGateError> {
        assert!(!profiles.is_empty(), "a scheduler needs a profile");
        settings.gates.check()?;
        let mutants = settings.mutants;
        let mut world = world;
        world.set_mutants(mutants);
        world.vocabulary.pin_all();
        let parts: Vec<ProfileParts> = profiles
            .into_iter()
            .map(|profile| ProfileParts::of(profile, &[], settings.gaps_of_hints()))
            .collect();
        let mode = if settings.gates.scheduler_async_api_calls {
            DispatchMode::Queued { parallel_max: settings.parallel_calls_max }
        } else {
            DispatchMode::Direct
        };
        Ok(Scheduler {
            queue: make_queue(&settings, &parts),
            settings,
            world,
            parts,
            engine: Engine::new(EngineSettings { try_nominated: settings.try_nominated(), ..engine })
                .with_opportunistic_batching(settings.gates.opportunistic_batching)
                .with_mutants(mutants),
            binding_cycles: BindingCycles::default(),
            dispatcher: ApiDispatcher::new(mode).with_mutants(mutants),
            #[cfg(feature = "mutants")]
            mutant_state: mutant_state::MutantState::default(),
            preemption_executor: PreemptionExecutor::default(),
            pod_group_queue: PodGroupQueue::default(),
            pod_group_scratch: PodGroupScratch::default(),
            pod_group_outcomes: VecDeque::new(),
            news: 0,
            nominated_node_name_versions: NominatedNodeNameVersions::default(),
            conditions: Conditions::default(),
            nodes: Vec::new(),
            missed: FxHashMap::default(),
            profile_of_class: Vec::new(),
            requests: Vec::new(),
            pre_enqueue_reports: Vec::new(),
            pre_enqueue_status_counts: PreEnqueueStatusCounts::default(),
            pod_events: Vec::new(),
            tracks_plain_pods: tracks_plain_pods(&settings),
            counts: status::StageCounts::default(),
            counters: Counters::default(),
            pressure: Pressure::default(),
            epoch: 0,
            timing: Timing::default(),
            cycle_begun_ns: 0,
            now_ns: 0,
            #[cfg(debug_assertions)]
            events_until_check: 1,
        })
    }

    /// What the scheduler knows.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What plugins are made with, before [`Scheduler::set_profiles`]: what is interned until then stays
    /// for good.
    pub fn vocabulary_mut(&mut self) -> &mut Vocabulary {
        self.world.vocabulary.start_pinning();
        &mut self.world.vocabulary
    }

    /// Asks these extenders after the plugins; ignorable ones last. To be called before the first
    /// pod comes.
    ///
    /// # Panics
    /// When a pod is known.
    pub fn set_extenders(&mut self, extenders: Extenders) {
        assert!(self.world.pods().ids().next().is_none(), "extenders are set before the first pod comes");
        self.engine.set_extenders(in_order(extenders));
        for parts in &mut self.parts {
            *parts = ProfileParts::of(
                parts.profile.clone(),
                self.engine.extenders(),
                self.settings.gaps_of_hints(),
            );
        }
        self.queue = make_queue(&self.settings, &self.parts);
    }

    /// The extenders, in the order they are asked.
    #[must_use]
    pub fn extenders(&self) -> &[Arc<dyn Extender>] {
        self.engine.extenders()
    }

    /// Puts node rows into list order, for whoever reads them between two steps.
    pub fn settle(&mut self) {
        self.world.settle();
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &SchedulingQueue {
        &self.queue
    }

    /// Binding cycles under way.
    #[must_use]
    pub fn binding_cycles(&self) -> &BindingCycles {
        &self.binding_cycles
    }

    /// The calls and their counts.
    #[must_use]
    pub fn dispatcher(&self) -> &ApiDispatcher {
        &self.dispatcher
    }

    /// What became of rejections before the queue, with `SchedulerPreEnqueuePodStatus`.
    #[must_use]
    pub fn pre_enqueue_status_counts(&self) -> PreEnqueueStatusCounts {
        self.pre_enqueue_status_counts
    }

    /// How it works.
    #[must_use]
    pub fn settings(&self) -> &SchedulerSettings {
        &self.settings
    }

    /// The first profile, or the only one.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.parts[0].profile
    }

    /// The profiles it runs.
    pub fn profiles(&self) -> impl ExactSizeIterator<Item = &Profile> + '_ {
        self.parts.iter().map(|parts| &parts.profile)
    }

    /// Runs with other profiles from now on, made with this world's vocabulary. What was kept per
    /// class is forgotten, every pod that is on no node is looked at afresh, and pods that waited
    /// are tried again: what rejected them may be gone. Binding cycles go on with the plugins they
    /// have.
    ///
    /// # Panics
    /// When there is no profile, or a binding cycle is under way.
    pub fn set_profiles(&mut self, profiles: Vec<Profile>, now_ns: u64) {
        assert!(!profiles.is_empty(), "a scheduler needs a profile");
        assert!(self.binding_cycles.is_empty(), "profiles change between binding cycles");
        self.see(now_ns);
        self.world.vocabulary.stop_pinning();
        self.name_attempts();
        let extenders = self.engine.extenders();
        let gaps = self.settings.gaps_of_hints();
        let parts = profiles.into_iter().map(|profile| ProfileParts::of(profile, extenders, gaps));
        self.parts = parts.collect();
        self.profile_of_class.clear();
        self.engine.forget_classes();
        let incoming = self.queue.incoming().clone();
        self.queue = make_queue(&self.settings, &self.parts);
        self.pod_group_queue.clear();
        self.queue.set_incoming(incoming);
        self.admit_all_unplaced();
    }

    /// Compiles a spec, once per distinct spec. The id is good while pods have it, and as long as it is
    /// used between any two sweeps ([`Scheduler::epoch`]).
    pub fn compile(&mut self, input: &Arc<PodInput>) -> ClassId {
        self.world.compile(input)
    }

    /// The id of a node name. It is good while the node is there or something names it, and until the
    /// next sweep ([`Scheduler::epoch`]).
    pub fn node_id(&mut self, name: &str) -> NodeId {
        self.world.node_id(name)
    }

    /// Time has passed: backoffs and waits end, and calls that failed are made again.
    pub fn advance(&mut self, now_ns: u64) {
        self.see(now_ns);
        let now_ns = self.now_ns;
        self.with_queue(|queue, host| queue.tick(now_ns, host));
        if !self.binding_cycles.is_empty() {
            self.end_expired_waits();
        }
        self.dispatcher.tick(now_ns);
        self.serve_requests();
        self.check_now_and_then();
    }

    /// When [`Scheduler::advance`] may next have something to do.
    #[must_use]
    pub fn next_wake_ns(&self) -> Option<u64> {
        let waits = [
            self.queue.next_tick_ns(),
            self.binding_cycles.next_deadline_ns(),
            self.dispatcher.next_retry_ns(),
        ];
        waits.into_iter().flatten().min()
    }

    /// Takes the calls that came up since the last time, oldest first. The runtime performs them
    /// and tells how each ended: [`Scheduler::on_answer`], or, for a binding that is
    /// [`CallId::UNTRACKED`](crate::binding::CallId::UNTRACKED), [`Scheduler::on_bind_failed`] if
    /// it failed.
    pub fn take_calls(&mut self, into: &mut Vec<OutgoingCall>) {
        self.dispatcher.take(into);
    }

    /// Calls waiting to be taken.
    #[must_use]
    pub fn call_count(&self) -> usize {
        self.dispatcher.outgoing_count()
    }

    /// Some pod is ready to be tried, and the loop does not wait for an eviction.
    #[inline]
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.pod_group_outcomes.is_empty() || self.queue.has_ready() && !self.preemption_executor.blocks()
    }

    /// The victims of a pod are being evicted beside the loop.
    #[must_use]
    pub fn is_pod_running_preemption(&self, pod: PodUid) -> bool {
        self.preemption_executor.is_pod_running_preemption(pod, &self.world)
    }

    /// Pods whose victims are being evicted beside the loop.
    #[must_use]
    pub fn preempting_count(&self) -> usize {
        self.preemption_executor.len()
    }

    /// Nothing more happens until the cluster changes: no pod is ready or will be after a wait, no
    /// binding cycle is under way, no call waits for its answer.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let counts = self.queue.counts();
        // Without a node pods are tried again and again, as upstream does, but only a node can help.
        let in_backoff = counts.backoff + counts.error_backoff - self.hopeless_group_count();
        let waits_for_time = in_backoff > 0 && self.world.nodes().node_count() > 0;
        self.pod_group_outcomes.is_empty()
            && !self.queue.has_ready()
            && !waits_for_time
            && self.binding_cycles.is_empty()
            && self.dispatcher.is_empty()
            && self.dispatcher.outgoing_count() == 0
    }

    fn see(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// The profile whose a pod in the queue, or on its way from there, is.
    #[inline]
    #[must_use]
    pub fn profile_number(&self, pod: PodId) -> ProfileNumber {
        if self.parts.len() == 1 {
            return ProfileNumber(0);
        }
        let class = self.world.pods().get(pod).class;
        self.profile_of_class.get(class.index()).copied().flatten().flatten().unwrap_or_default()
    }

    /// The profile that takes pods of a class; `None` when they are another scheduler's.
    fn profile_of(&mut self, class: ClassId) -> Option<ProfileNumber> {
        if self.profile_of_class.len() <= class.index() {
            self.profile_of_class.resize(class.index() + 1, None);
        }
        let Scheduler { profile_of_class, parts, world, .. } = self;
        *profile_of_class[class.index()].get_or_insert_with(|| {
            let at = parts.iter().position(|parts| parts.takes(world.class(class)))?;
            Some(ProfileNumber(u8::try_from(at).expect("fewer than 256 profiles")))
        })
    }
}

fn tracks_plain_pods(settings: &SchedulerSettings) -> bool {
    let SchedulerSettings { gates, nominated_node_name, plain_bindings, .. } = settings;
    let announces_all =
        gates.nominated_node_name_for_expectation && *nominated_node_name == WriteNominatedNodeName::Always;
    announces_all || (gates.scheduler_async_api_calls && *plain_bindings == PlainBindings::Queued)
}

fn make_queue(settings: &SchedulerSettings, parts: &[ProfileParts]) -> SchedulingQueue {
    let profile = &parts[0].profile;
    let sort = profile.at(ExtensionPoint::QueueSort).first();
    let order = sort.map_or(QueueOrder::PrioritySort, |&at| QueueOrder::of(&profile.plugins()[at]));
    let queue = QueueSettings {
        order,
        backoff: crate::queue::backoff_queue::BackoffSettings {
            initial_ns: settings.initial_backoff_ns,
            max_ns: settings.max_backoff_ns,
            pops_early: settings.gates.scheduler_pop_from_backoff_q,
        },
        flush_after_ns: settings.flush_after_ns,
    };
    let interest = parts.iter().map(|parts| parts.interest.clone()).collect();
    SchedulingQueue::new(queue, interest).with_mutants(settings.mutants)
}

#[cfg(test)]
mod async_preemption_tests;
#[cfg(test)]
mod binding_tests;
#[cfg(test)]
mod disruption_target_tests;
#[cfg(test)]
mod nominated_node_name_tests;
#[cfg(test)]
mod nominated_node_tests;
#[cfg(test)]
mod pod_group_tests;
#[cfg(test)]
mod post_filter_tests;
#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod reclaim_tests;
#[cfg(test)]
mod superseded_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod topology_domain_tests;
