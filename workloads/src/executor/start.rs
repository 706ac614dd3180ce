//! How a workload's cluster, scheduler and controllers come to be, on the wall clock or in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use schedlab_cluster::api::Api;
use schedlab_cluster::clock::{monotonic_ns, unix_ns};
use schedlab_cluster::controllers::{ControllerSettings, EnabledController};
use schedlab_cluster::embedded::NowNs;
use schedlab_cluster::runtime::virtual_time::{VirtualClock, VirtualController};
use schedlab_cluster::runtime::{
    Changer, RuntimeError, VirtualRuntime, VirtualSettings, WallRuntime, WallSettings,
};
use schedlab_cluster::{ApiError, EmbeddedCluster};
use schedlab_core::scheduler::Scheduler;

use super::background::Background;
use super::context::{OpContext, OpPosition};
use super::controllers::{ControllerSetup, Controllers};
use super::error::ExecuteError;
use super::restart::SchedulerMaker;
use super::runtime::{Runtime, WallSide};
use super::scheduler::{self, Setup};
use super::under_test::{SchedulerUnderTest, UnderTestSetup, UnderTestSide};
use super::virtual_side::VirtualSide;
use super::{Control, Executor, RunSettings, TimeMode};
use crate::measure::{Live, Meters};
use crate::placements::{PlacementReader, SchedulerFacts};

/// When virtual time begins, since the epoch: times of objects are in seconds, and zero is no time.
const VIRTUAL_BEGIN_NS: u64 = 1_000_000_000_000_000_000;

/// kube-scheduler's `podMaxBackoffSeconds` when nobody sets it.
const BACKOFF_MAX_S: i64 = 10;

/// Between two looks of the thread that reads placements along.
const PLACEMENT_LOOK: Duration = Duration::from_millis(20);

impl<'a> Executor<'a> {
    pub(super) fn start(
        settings: RunSettings,
        control: Control<'a>,
        setup: &Setup<'_>,
    ) -> Result<Executor<'a>, ExecuteError> {
        let clock = VirtualClock::default();
        clock.set(VIRTUAL_BEGIN_NS);
        let now_ns: NowNs = match settings.time {
            // Clients compare the times of objects with their own.
            TimeMode::Wall if control.under_test.is_some() => Arc::new(unix_ns),
            TimeMode::Wall => Arc::new(monotonic_ns),
            TimeMode::Virtual { .. } => clock.reader(),
        };
        let cluster = Arc::new(EmbeddedCluster::new(now_ns));
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        if !setup.gates.clearing_nominated_node_name_after_binding {
            cluster.keep_nomination_of_bound_pods();
        }
        if setup.gates.node_affinity_required_during_execution {
            cluster.keep_execution_affinity();
        }
        let settings = match settings.time {
            TimeMode::Wall => settings,
            // The wall clock decides between inline and parallel; here it decides nothing.
            TimeMode::Virtual { .. } => RunSettings { threads: 1, ..settings },
        };
        let reader = control.placements.map(|log| PlacementReader::new(Arc::clone(&cluster), log.clone()));
        let reader = reader.transpose().map_err(RuntimeError::Watch)?;
        if let (TimeMode::Wall, Some(under_test)) = (settings.time, control.under_test) {
            if 1 < setup.schedulers.count() {
                return Err(ExecuteError::SeveralUnderTest);
            }
            let runtime = beside_under_test(under_test, &cluster, (settings, control), setup)?;
            let maker = SchedulerMaker::new(settings, setup, control, &[]);
            let backoff_max = setup.config.map_or(BACKOFF_MAX_S, |config| config.pod_max_backoff_s);
            let backoff_max = Duration::from_secs(u64::try_from(backoff_max).unwrap_or(0));
            let context = context((cluster, runtime), (control, setup), maker, backoff_max);
            return Ok(Executor {
                context,
                extenders: Vec::new(),
                reading: reader.map(PlacementThread::start),
            });
        }
        let (mut scheduler, extenders) = scheduler::make(settings, (setup, 0), control.registry, &api)?;
        scheduler.note_preemptions(control.placements.is_some());
        let others = others(settings, setup, control, &api)?;
        let maker = SchedulerMaker::new(settings, setup, control, &extenders);
        let backoff_max = Duration::from_nanos(scheduler.settings().max_backoff_ns);
        let mut reading = None;
        let runtime = match settings.time {
            TimeMode::Wall => {
                reading = reader.map(PlacementThread::start);
                let schedulers = (scheduler, others);
                Runtime::Wall(Box::new(wall(&cluster, schedulers, settings, control, &setup.controllers)?))
            }
            TimeMode::Virtual { .. } if !extenders.is_empty() => return Err(ExecuteError::VirtualExtender),
            TimeMode::Virtual { cycle_ns } => {
                let virtual_settings = VirtualSettings { link: settings.link, cycle_ns };
                let controllers = virtual_controllers(&setup.controllers, settings.seed)?;
                let version = cluster.resource_version();
                let mut runtime =
                    VirtualRuntime::start(api, clock, scheduler, controllers, virtual_settings, version)
                        .map_err(RuntimeError::Watch)?;
                others.into_iter().for_each(|other| runtime.add_scheduler(other));
                Runtime::Virtual(Box::new(VirtualSide::new(runtime, reader)))
            }
        };
        let context = context((cluster, runtime), (control, setup), maker, backoff_max);
        Ok(Executor { context, extenders, reading })
    }

    /// What changes the scheduler while it runs on threads.
    pub(super) fn changer(&self) -> Option<Changer> {
        self.context.runtime.as_wall().map(|side| side.runtime.changer())
    }
}

/// What the first op finds.
fn context<'a>(
    (cluster, runtime): (Arc<EmbeddedCluster>, Runtime),
    (control, setup): (Control<'a>, &Setup<'_>),
    maker: SchedulerMaker<'a>,
    backoff_max: Duration,
) -> OpContext<'a> {
    OpContext {
        cluster,
        runtime,
        control,
        op: OpPosition::FIRST,
        awaited: BTreeMap::new(),
        node_count: 0,
        node_names: 0,
        declared_features: Vec::new(),
        serves_pod_groups: setup.gates.generic_workload,
        backoff_max,
        collecting: None,
        collected: Vec::new(),
        profiled: None,
        tallies: Vec::new(),
        maker,
        held_at_restart: Vec::new(),
    }
}

/// The scheduler under test, and the controllers beside it.
fn beside_under_test(
    under_test: &dyn SchedulerUnderTest,
    cluster: &Arc<EmbeddedCluster>,
    (settings, control): (RunSettings, Control<'_>),
    setup: &Setup<'_>,
) -> Result<Runtime, ExecuteError> {
    let none = BTreeMap::new();
    let plain = UnderTestSetup {
        config: None,
        feature_gates: &none,
        parallelism: settings.parallelism,
        percentage_of_nodes_to_score: settings.percentage_of_nodes_to_score,
    };
    let scheduler = under_test.start(cluster, &setup.under_test.unwrap_or(plain), control.interrupt)?;
    let api: Arc<dyn Api> = Arc::clone(cluster) as Arc<dyn Api>;
    let ControllerSetup { enabled, feature_gates } = &setup.controllers;
    let controllers = Controllers::start(&api, enabled, feature_gates, settings.seed)?;
    let side = UnderTestSide::start(scheduler, controllers, cluster).map_err(RuntimeError::Watch)?;
    Ok(Runtime::UnderTest(Box::new(side)))
}

/// The schedulers beside the first one. Another process draws other numbers.
fn others(
    settings: RunSettings,
    setup: &Setup<'_>,
    control: Control<'_>,
    api: &Arc<dyn Api>,
) -> Result<Vec<Scheduler>, ExecuteError> {
    let make = |number: usize| {
        let settings = RunSettings { seed: settings.seed.wrapping_add(number as u64), ..settings };
        let (mut scheduler, _) = scheduler::make(settings, (setup, number), control.registry, api)?;
        scheduler.note_preemptions(control.placements.is_some());
        Ok(scheduler)
    };
    (1..setup.schedulers.count()).map(make).collect()
}

fn wall(
    cluster: &Arc<EmbeddedCluster>,
    (scheduler, others): (Scheduler, Vec<Scheduler>),
    settings: RunSettings,
    control: Control<'_>,
    setup: &ControllerSetup,
) -> Result<WallSide, ExecuteError> {
    let ControllerSetup { enabled, feature_gates } = setup;
    let api: Arc<dyn Api> = Arc::clone(cluster) as Arc<dyn Api>;
    let controllers = Controllers::start(&api, enabled, feature_gates, settings.seed)?;
    let meters = Meters::default();
    let mut recorders = meters.recorders();
    recorders.1.tell_attempts(control.placements);
    let version = cluster.resource_version();
    let wall = WallSettings { threads: settings.threads, link: settings.link };
    let runtime = WallRuntime::start(Arc::clone(&api), scheduler, version, wall, recorders)?;
    let start = |scheduler| {
        let mut recorders = meters.recorders();
        recorders.1.tell_attempts(control.placements);
        WallRuntime::start(Arc::clone(&api), scheduler, version, wall, recorders)
    };
    let others = others.into_iter().map(start).collect::<Result<_, _>>()?;
    let live = Live::new(runtime.changer(), runtime.calls(), meters.view());
    control.progress.begins(&live);
    Ok(WallSide { runtime, others, controllers, background: Background::default(), live, meters })
}

fn virtual_controllers(setup: &ControllerSetup, seed: u64) -> Result<Vec<VirtualController>, RuntimeError> {
    let make = |EnabledController { descriptor, config }: &EnabledController| {
        let (config, feature_gates) = (config.clone(), setup.feature_gates.clone());
        let settings = ControllerSettings { config, feature_gates, seed, ..ControllerSettings::default() };
        VirtualController::new(descriptor, &settings, 1)
            .map_err(|source| RuntimeError::ControllerConfig { name: descriptor.name, source })
    };
    setup.enabled.iter().map(make).collect()
}

/// Reads placements along while a workload runs on threads.
pub(super) struct PlacementThread {
    thread: JoinHandle<Result<(), ApiError>>,
    stop: Arc<AtomicBool>,
}

impl PlacementThread {
    fn start(mut reader: PlacementReader) -> PlacementThread {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            loop {
                let is_last = told.load(Ordering::Acquire);
                reader.read()?;
                if is_last {
                    return Ok(());
                }
                std::thread::sleep(PLACEMENT_LOOK);
            }
        });
        PlacementThread { thread, stop }
    }

    /// Reads the rest and ends.
    pub(super) fn end(self) -> Result<(), ExecuteError> {
        self.stop.store(true, Ordering::Release);
        let result = self.thread.join().map_err(|_| RuntimeError::Panicked("placements"))?;
        Ok(result.map_err(RuntimeError::Watch)?)
    }
}

/// What only a scheduler knows of its pods.
fn facts_of(scheduler: &mut Scheduler) -> SchedulerFacts {
    let pods = scheduler.world().pods();
    let waiting = pods.ids().filter(|&pod| pods.get(pod).node().is_none());
    let attempts = waiting.map(|pod| (pods.get(pod).uid, scheduler.queue().attempts(pod))).collect();
    SchedulerFacts { attempts, preemptions: scheduler.take_preemptions() }
}

impl OpContext<'_> {
    /// What only the scheduler knows of placements, once no op runs any more.
    pub(super) fn finish_placements(&self) -> Result<(), ExecuteError> {
        let Some(log) = self.control.placements else { return Ok(()) };
        let facts = match &self.runtime {
            Runtime::Wall(side) => {
                let facts =
                    side.runtime.changer().change_while(&self.waits(), |scheduler, _| facts_of(scheduler));
                facts.unwrap_or_default()
            }
            Runtime::Virtual(side) => {
                side.read_placements().map_err(RuntimeError::Watch)?;
                facts_of(side.runtime().scheduler_mut())
            }
            Runtime::UnderTest(_) => SchedulerFacts::default(),
        };
        log.note_facts(facts);
        Ok(())
    }
}
