//! The scheduler's life: connect, fill the tables, lead, schedule, stop.
//!
//! ```text
//! connect ─▶ lists are there ─▶ lead (with --leader-elect) ─▶ schedule ──signal──▶ answers are there ─▶ release
//!                                                                └──the lease is lost──▶ error
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use schedlab_cluster::api::Api;
use schedlab_cluster::runtime::WallRuntime;
use schedlab_core::framework::registry::Registry;
use schedlab_core::scheduler::FeatureGates;
use schedlab_live::{
    CallLimit, Connection, ElectionSettings, KubeconfigChoice, LeaderElection, Leadership, LiveCaller,
    LiveCluster, LiveSettings,
};
use schedlab_workloads::executor::make_for_network;
use schedlab_workloads::gates::{scheduler_gates, without_effect};
use schedlab_workloads::measure::{BindMeter, CycleMeter, Live, Meters};
use schedlab_workloads::scheduler_config::{LeaderElectionConfig, SchedulerConfig};

use super::SchedulerArgs;
use super::endpoints::Endpoints;
use crate::args::RunArgs;
use crate::commands::run::{event_level, parse_gates, settings};
use crate::progress::{complain, say};
use crate::{Exit, host, signals};

/// Threads that speak to the API server and read what it says.
const CLIENT_THREADS: usize = 2;
/// Between two looks whether anything has happened.
const LOOK: Duration = Duration::from_millis(50);
/// How long a scheduler that stops waits for answers that are under way.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Between two times that the meters are emptied into their sums.
const SUM_EVERY: Duration = Duration::from_secs(30);

/// What was read before anything begins.
struct Plan {
    config: Option<SchedulerConfig>,
    gates: FeatureGates,
    limit: CallLimit,
    election: Option<ElectionSettings>,
    identity: String,
}

pub(super) fn scheduler(args: &SchedulerArgs) -> Result<Exit> {
    let plan = Plan::read(args)?;
    let interrupt = signals::listen();
    let endpoints = Endpoints::serve(args.bind_address, &|text| say(text))?;
    let choice = KubeconfigChoice {
        file: args.kubeconfig.clone(),
        context: args.context.clone(),
        user_agent: format!("schedlab-scheduler/{}", env!("CARGO_PKG_VERSION")),
    };
    let connection = Connection::open(&choice, CLIENT_THREADS).context("--kubeconfig")?;
    let (server, version) = (connection.server(), connection.version());
    say(&format!("Connected to {server} ({version}), context {:?}", connection.context()));
    let settings = LiveSettings { limit: plan.limit, identity: plan.identity.clone() };
    let cluster = LiveCluster::start(Arc::clone(&connection), &settings).context("--kubeconfig")?;
    let mut life = Life { args, plan, cluster, endpoints, told: String::new(), interrupt };
    if !life.fill() {
        return Ok(Exit::Interrupted);
    }
    let election = life.plan.election.clone().map(|settings| LeaderElection::start(connection, settings));
    if !life.lead(election.as_ref()) {
        release(election);
        return Ok(Exit::Interrupted);
    }
    let ended = life.schedule(election.as_ref());
    release(election);
    ended.map(|()| Exit::Interrupted)
}

fn release(election: Option<LeaderElection>) {
    if let Some(election) = election {
        election.release();
    }
}

impl Plan {
    fn read(args: &SchedulerArgs) -> Result<Plan> {
        let config = args.config.as_deref().map(SchedulerConfig::load).transpose().context("--config")?;
        if let Some(config) = config.as_ref().filter(|config| !config.extenders.is_empty()) {
            bail!(
                "{}: extenders: `schedlab scheduler` asks none; run the workload with `schedlab run --scheduler-config`",
                config.file
            );
        }
        let written = parse_gates(&args.feature_gates)?;
        let gates = scheduler_gates(&written).context("--feature-gates")?;
        for gate in without_effect(&written) {
            complain(&format!("schedlab: --feature-gates: {gate} changes nothing here"));
        }
        let client = config.as_ref().map(|config| config.client_connection).unwrap_or_default();
        let qps = args.kube_api_qps.unwrap_or(client.qps);
        let limit = CallLimit::of(qps, args.kube_api_burst.unwrap_or(client.burst));
        let leads = config.as_ref().map(|config| config.leader_election.clone());
        let machine = host::name();
        let elects =
            args.leader_elect.unwrap_or_else(|| leads.as_ref().is_some_and(|leads| leads.leader_elect));
        let election = elects.then(|| election(leads.unwrap_or_default(), &machine));
        Ok(Plan { config, gates, limit, election, identity: machine })
    }
}

/// Upstream: the machine's name and a number that no other process has.
fn election(config: LeaderElectionConfig, machine: &str) -> ElectionSettings {
    let unique = schedlab_cluster::clock::unix_ns();
    let identity = format!("{machine}_{}_{unique:x}", std::process::id());
    ElectionSettings {
        namespace: config.namespace,
        name: config.name,
        lease_duration: config.lease_duration,
        renew_deadline: config.renew_deadline,
        retry_period: config.retry_period,
        identity,
    }
}

struct Life<'a> {
    args: &'a SchedulerArgs,
    plan: Plan,
    cluster: Arc<LiveCluster>,
    endpoints: Endpoints,
    /// The trouble that was told last.
    told: String,
    interrupt: &'a AtomicBool,
}

impl Life<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Waits for the lists of all kinds; `false` when that was interrupted.
    fn fill(&mut self) -> bool {
        let absent = self.cluster.kinds_not_served();
        if !absent.is_empty() {
            say(&format!("Not served here, and taken as empty: {}", absent.join(", ")));
        }
        while !self.cluster.is_synced() {
            if self.is_interrupted() {
                return false;
            }
            self.tell_troubles();
            std::thread::sleep(LOOK);
        }
        self.endpoints.set(|health| health.not_ready = None);
        let pods = self.cluster.pods();
        let waiting = pods.iter().filter(|pod| pod.node.is_none()).count();
        let kinds = self.cluster.kinds_served();
        say(&format!("Synced {kinds} kinds: {} pods, {waiting} of them without a node", pods.len()));
        true
    }

    /// What is wrong now, once.
    fn tell_troubles(&mut self) {
        let troubles = self.cluster.troubles().join("; ");
        if troubles != self.told {
            if !troubles.is_empty() {
                complain(&format!("schedlab: {troubles}"));
            }
            self.told = troubles;
        }
    }

    /// Waits until we lead; `false` when that was interrupted.
    fn lead(&mut self, election: Option<&LeaderElection>) -> bool {
        let Some(election) = election else { return true };
        let mut told = None;
        loop {
            match election.standing() {
                Leadership::Leading => {
                    say("Leading");
                    return true;
                }
                Leadership::StandingBy { leader } if told.as_ref() != Some(&leader) && !leader.is_empty() => {
                    say(&format!("Standing by: {leader} leads"));
                    told = Some(leader);
                }
                Leadership::StandingBy { .. } | Leadership::Lost => {}
            }
            if self.is_interrupted() {
                return false;
            }
            self.tell_troubles();
            std::thread::sleep(LOOK);
        }
    }

    fn schedule(&mut self, election: Option<&LeaderElection>) -> Result<()> {
        let meters = Meters::default();
        let runtime = self.start(&meters)?;
        let live = Live::new(runtime.changer(), runtime.calls(), meters.view());
        self.endpoints.set(|health| health.live = Some(live));
        say("Scheduling (Ctrl-C ends it)");
        let mut summed = Instant::now();
        let ended = loop {
            if self.is_interrupted() {
                break Ok(());
            }
            if runtime.has_died() {
                break Err(None);
            }
            if election.is_some_and(|election| election.standing() == Leadership::Lost) {
                break Err(Some("the lease could not be renewed in time: another scheduler may lead now"));
            }
            if SUM_EVERY <= summed.elapsed() {
                // What is not taken grows with every batch of bindings.
                drop(meters.take());
                summed = Instant::now();
            }
            self.tell_troubles();
            std::thread::sleep(LOOK);
        };
        self.endpoints.set(|health| health.not_ready = Some("shutting down".to_owned()));
        if ended == Ok(()) {
            let _ = runtime.halt(LOOK);
            let begun = Instant::now();
            while runtime.has_calls_under_way() && begun.elapsed() < ANSWERS_WITHIN {
                std::thread::sleep(LOOK);
            }
        }
        self.tell_end(&runtime);
        self.endpoints.set(|health| health.live = None);
        let begun = Instant::now();
        runtime.stop_while(&|| begun.elapsed() < ANSWERS_WITHIN)?;
        match ended {
            Ok(()) => Ok(()),
            Err(None) => bail!("a thread of the scheduler ended by itself; this is a bug in schedlab"),
            Err(Some(why)) => bail!("{why}"),
        }
    }

    fn start(&self, meters: &Meters) -> Result<WallRuntime<CycleMeter, BindMeter>> {
        let threads = self.args.threads.unwrap_or_else(|| host::machine().cores) as usize;
        let mut of_runs = settings(&RunArgs::default());
        of_runs.threads = threads;
        of_runs.seed = self.args.seed;
        of_runs.events = event_level(self.args.events);
        let api: Arc<dyn Api> = Arc::clone(&self.cluster) as Arc<dyn Api>;
        let Plan { config, gates, .. } = &self.plan;
        let registry = Registry::new_in_tree();
        let scheduler = make_for_network(of_runs, config.as_ref(), *gates, &registry, &api)?;
        meters.switch.turn_on();
        let caller = LiveCaller::new(Arc::clone(&self.cluster), gates.scheduler_async_api_calls);
        Ok(WallRuntime::start_beside(api, scheduler, threads, meters.recorders(), Arc::new(caller))?)
    }

    fn tell_end(&self, runtime: &WallRuntime<CycleMeter, BindMeter>) {
        let calls: Vec<String> = runtime
            .calls()
            .totals()
            .iter()
            .filter(|(_, _, count)| 0 < *count)
            .map(|(kind, end, count)| format!("{count} {} ({})", kind.label(), end.label()))
            .collect();
        let dropped = runtime.dropped_events();
        let dropped = if dropped == 0 { String::new() } else { format!("; {dropped} events dropped") };
        say(&format!(
            "Ended after {} attempts; calls: {}{dropped}",
            runtime.attempts(),
            if calls.is_empty() { "none".to_owned() } else { calls.join(", ") }
        ));
    }
}
