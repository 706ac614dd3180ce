//! One scheduler of a simulation: what it has been told, what is on its way to it, and the calls
//! it has made.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_core::binding::{CallFailure, CallId};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::profile::Profile as PluginProfile;
use schedlab_core::framework::registry::default_profile_with;
use schedlab_core::ids::PodUid;
use schedlab_core::mutants::Mutants;
use schedlab_core::scheduler::{Scheduler, SchedulerSettings};
use schedlab_core::world::World;

use super::carried::Carried;
use super::faults::{CallFault, SimulatedCallKind};
use super::plugins::SharedBoard;
use super::scenario::{NODES_MAX, NodeNumber, SimulationSetup};
use super::shape::scheduler_name;
use super::truth::Objects;
use schedlab_cluster::api::{Api, WatchEvent};
use schedlab_cluster::latency::TokenBucket;
use schedlab_cluster::runtime::virtual_time::{Effect, ReadyCall, VirtualScheduler};

/// One watch of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// Events on their way, in order, with the time each arrives.
    pub(super) queue: VecDeque<(u64, WatchEvent)>,
    /// When the last event of the queue arrives: none overtakes another.
    pub(super) last_ns: u64,
    /// Nothing arrives before.
    pub(super) stalled_until_ns: u64,
    /// Moves when the watch breaks; what was scheduled before is void.
    pub(super) epoch: u32,
    pub(super) is_broken: bool,
    pub(super) doubles_next: bool,
}

/// A call between the scheduler and the API.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) call: ReadyCall,
    pub(super) fault: Option<CallFault>,
    /// As [`ReadyCall::perform`] says it.
    pub(super) result: Option<Result<u64, CallFailure>>,
}

/// What is known of a pod that a scheduler has decided about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// Attempts since anything happened.
    pub(super) idle_attempts: u32,
    /// What had happened when it was tried last.
    pub(super) causes: u64,
    pub(super) tried_ns: u64,
    /// The node that was chosen for it last.
    pub(super) chosen: Option<u8>,
    /// The nodes it may have been nominated to, a bit each: a call may be made long after it was
    /// wanted.
    pub(super) may_name: u32,
    /// A preemptor above it took over a node that it was nominated to: its nomination may be cleared.
    pub(super) may_clear: bool,
    /// A binding was sent and not answered yet, under this number.
    pub(super) binding: Option<CallId>,
    /// The API took a binding of ours.
    pub(super) was_bound: bool,
    /// A binding or a patch of ours ended without saying whether it was done.
    pub(super) is_unsure: bool,
    /// Its deletion is on its way, for this preemptor as far as that is known.
    pub(super) deletion: Option<(CallId, Option<PodUid>)>,
    /// A patch failed for good: its status may lack what the scheduler wrote.
    pub(super) patch_failed: bool,
    /// How often it was held at Permit by the plugin that makes up its mind.
    pub(super) permits: u32,
    /// How often it was held at Permit by either plugin.
    pub(super) waits: u32,
    /// What its condition was to say last, in a number.
    pub(super) said: Option<u64>,
    /// Attempts since that was to be written.
    pub(super) attempts_since: u32,
    /// Its status was seen to name another node than before, and it was not tried since.
    pub(super) is_newly_named: bool,
    /// Calls made for it.
    pub(super) calls: u32,
}

/// One scheduler.
#[derive(Debug)]
pub(super) struct Actor {
    pub(super) number: u8,
    /// Moves with every restart.
    pub(super) incarnation: u32,
    pub(super) virtual_scheduler: VirtualScheduler,
    pub(super) board: SharedBoard,
    pub(super) pipes: [Pipe; 3],
    pub(super) seen: Objects,
    pub(super) carried: Carried,
    pub(super) flights: FxHashMap<u32, Flight>,
    next_flight: u32,
    /// Calls of one pod are made one after the other: the first of the list is under way.
    pub(super) lanes: FxHashMap<PodUid, VecDeque<u32>>,
    pub(super) bucket: Option<TokenBucket>,
    pub(super) step_is_due: bool,
    pub(super) wake_ns: Option<u64>,
    /// Events, answers and requests it was told of.
    pub(super) causes: u64,
    pub(super) records: BTreeMap<PodUid, Record>,
    /// The last attempt evicted pods that were on their way to a node: they have left it already.
    pub(super) has_evicted_in_memory: bool,
    /// Who was nominated where before the last attempt.
    pub(super) nominated_before: Vec<(PodUid, u8)>,
    /// Calls that were made.
    pub(super) judged: FxHashSet<CallId>,
    /// Two pods had one port of one node; the scheduler, like kube-scheduler, notes a port as a fact
    /// and not as a count, and is wrong about it from then on.
    pub(super) has_shared_port: bool,
}

impl Actor {
    pub(super) fn new(
        number: u8,
        incarnation: u32,
        seed: u64,
        setup: &SimulationSetup,
        api: &dyn Api,
    ) -> Actor {
        let board = SharedBoard::default();
        let mut scheduler = make_scheduler(number, seed, setup, &board, setup.mutants);
        // With most seeds what is no longer in use is given back nearly at every opportunity.
        if let Some(&floor) = [0, 0, 16].get((seed % 4) as usize) {
            scheduler.set_reclaim_floor(floor);
        }
        // The API's ids are the numbers of the script.
        for at in 0..NODES_MAX {
            let name = NodeNumber(at).to_string();
            assert_eq!(api.node_name_id(&name).index(), usize::from(at), "interned in order");
        }
        Actor {
            number,
            incarnation,
            virtual_scheduler: VirtualScheduler::new(scheduler),
            board,
            pipes: Default::default(),
            seen: Objects::default(),
            carried: Carried::default(),
            flights: FxHashMap::default(),
            next_flight: 0,
            lanes: FxHashMap::default(),
            bucket: setup.limit.map(TokenBucket::new),
            step_is_due: false,
            wake_ns: None,
            causes: 0,
            records: BTreeMap::new(),
            has_evicted_in_memory: false,
            nominated_before: Vec::new(),
            judged: FxHashSet::default(),
            has_shared_port: false,
        }
    }

    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.virtual_scheduler.scheduler
    }

    pub(super) fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.virtual_scheduler.scheduler
    }

    pub(super) fn record(&mut self, pod: PodUid) -> &mut Record {
        self.records.entry(pod).or_default()
    }

    /// Puts a call on the books. Its number, and whether it can go out now.
    pub(super) fn line_up(&mut self, call: ReadyCall) -> (u32, bool) {
        let number = self.next_flight;
        self.next_flight += 1;
        let lane = self.lanes.entry(call.pod).or_default();
        lane.push_back(number);
        let is_first = lane.len() == 1;
        self.flights.insert(number, Flight { call, fault: None, result: None });
        (number, is_first)
    }

    /// Takes a call off the books. The next of its pod, which can go out now.
    pub(super) fn land(&mut self, number: u32) -> (Flight, Option<u32>) {
        let flight = self.flights.remove(&number).expect("a call is answered once");
        let lane = self.lanes.get_mut(&flight.call.pod).expect("a call is in its pod's lane");
        lane.pop_front();
        let next = lane.front().copied();
        if next.is_none() {
            self.lanes.remove(&flight.call.pod);
        }
        (flight, next)
    }

    /// Every event has arrived and every call was answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.flights.is_empty() && self.pipes.iter().all(|pipe| pipe.queue.is_empty() && !pipe.is_broken)
    }
}

/// A scheduler as the setup wants it, with the plugins of a board.
pub(super) fn make_scheduler(
    number: u8,
    seed: u64,
    setup: &SimulationSetup,
    board: &SharedBoard,
    mutants: Mutants,
) -> Scheduler {
    let mut world = World::default();
    let mut profile = default_profile_with(&mut world.vocabulary, &setup.gates.plugins());
    if setup.has_plugins {
        let usual = profile.plugins().iter().map(|plugin| (Arc::clone(plugin), 1));
        let ours = board.plugins().into_iter().map(|plugin| (plugin, 0));
        let plugins: Vec<(Arc<dyn Plugin>, i64)> = usual.chain(ours).collect();
        profile = PluginProfile::new(scheduler_name(number), plugins);
    } else {
        profile.scheduler_name = scheduler_name(number).to_owned();
    }
    let engine = EngineSettings { class_cache: setup.class_cache, seed, ..EngineSettings::default() };
    let settings = SchedulerSettings {
        gates: setup.gates,
        // Off: whatever wakes a pod must be an event.
        flush_after_ns: None,
        parallel_calls_max: setup.parallel_calls_max,
        nominated_node_name_miss: setup.nominated_node_name_miss,
        plain_bindings: setup.plain_bindings,
        mutants,
        ..SchedulerSettings::default()
    };
    Scheduler::with_settings(world, vec![profile], engine, settings).expect("a setup's gates go together")
}

/// The kind of a call, as faults name it.
pub(super) fn kind_of(call: &ReadyCall) -> SimulatedCallKind {
    match call.effect {
        Effect::Bind(_) => SimulatedCallKind::Bind,
        Effect::Patch { .. } | Effect::AddDisruptionTarget { .. } | Effect::PodGroup(_) => {
            SimulatedCallKind::Patch
        }
        Effect::Delete => SimulatedCallKind::Delete,
        Effect::Volumes(_) | Effect::Claims(_) => SimulatedCallKind::Volumes,
    }
}
