//! What may be typed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use schedlab_cluster::latency::Latency;
use schedlab_workloads::controllers::parse_list;
use schedlab_workloads::protocol::{BUDGET_DEFAULT, PRECISION_DEFAULT};
use schedlab_workloads::suites;

use crate::commands::ab::AbArgs;
use crate::commands::alerts::AlertsArgs;
use crate::commands::apiserver::ApiserverArgs;
use crate::commands::bench::BenchArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::conform::ConformArgs;
use crate::commands::experiment::ExperimentArgs;
use crate::commands::gate::GateArgs;
use crate::commands::merge::MergeArgs;
use crate::commands::profile::ProfileArgs;
use crate::commands::record::RecordArgs;
use crate::commands::run_history::label;
use crate::commands::scheduler::SchedulerArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::simulate::SimulateArgs;
use crate::commands::site::SiteArgs;
use crate::commands::suite_table::SuiteTableArgs;
use crate::commands::under_test::UnderTestArgs;
use crate::shards::ShardArgs;

/// A performance lab for Kubernetes scheduling.
///
/// Reads scheduler_perf workload files, drives a scheduler core that decides as kube-scheduler
/// decides, and shows how many pods per second it places, against the SLO of 100 to 150 pods/s.
/// Without a command it runs the built-in suite "quick" and writes an HTML report.
#[derive(Debug, Parser)]
#[command(name = "schedlab", version, max_term_width = 100)]
#[command(after_help = "First steps:
  schedlab                                   the built-in suite, with an HTML report
  schedlab list                              what there is to run
  schedlab run --config performance-config.yaml --filter SchedulingBasic
  schedlab profile '^PlainPods/5000'         where the time goes

Exit codes: 0 fine; 1 a check failed (replay difference, stuck workload, missed \
threshold with --enforce-thresholds); 2 could not run (bad input, bad usage), or what it says could not be written; 3 a comparison found a regression, or an alert is open; \
4 a comparison was inconclusive; 130, 143, 129 interrupted by Ctrl-C, SIGTERM, SIGHUP: what was \
measured is kept.")]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run workloads, print a table against the SLO, write results and an HTML report
    Run(RunArgs),
    /// Show what a suite or config file contains and what of it can run
    List(ListArgs),
    /// Show why a pod goes where it goes: every node's verdict and scores, and the choice
    Explain(ExplainArgs),
    /// Answer what proposals claim by experiments: supported, refuted, not enough data
    Experiment(ExperimentArgs),
    /// Compare the engine with decisions recorded from the real kube-scheduler
    Replay(ReplayArgs),
    /// Compare two result files or directories: better, worse, unchanged or inconclusive
    Compare(CompareArgs),
    /// Run variants of a workload interleaved and compare them
    Ab(AbArgs),
    /// Put the shards of a simulate, run or replay together, as if one machine had run all of them
    Merge(MergeArgs),
    /// Show where workloads of a history got slower or faster for good; ends with 3 when a regression
    /// is open
    Alerts(AlertsArgs),
    /// Append results, or upstream's perf-dash JSON, to a history
    Record(RecordArgs),
    /// What `cargo bench` runs: the working tree's kernels beside those of the last build or of a
    /// named baseline
    Bench(BenchArgs),
    /// Build a base revision and the working tree, run them interleaved, count instructions: slower?
    Gate(GateArgs),
    /// See where a workload's time goes and who allocates: flamegraphs, pprof, shares of plugins; or
    /// what changed between two profiles
    Profile(ProfileArgs),
    /// Show the site of a history on loopback, live: with the progress of runs beside it
    Serve(ServeArgs),
    /// Serve a cluster without machines as a Kubernetes API on loopback, for kubectl and any scheduler
    Apiserver(ApiserverArgs),
    /// Schedule the pods of a cluster behind a kubeconfig with our core, in kube-scheduler's place
    Scheduler(Box<SchedulerArgs>),
    /// Compare the decisions of any scheduler binary with ours, on random clusters over the API
    Conform(ConformArgs),
    /// Run the scheduler in virtual time under faults, and check what must always hold
    Simulate(SimulateArgs),
    /// Write the static site of a history
    Site(SiteArgs),
    /// Print a suite as a Markdown table: thresholds, what a run measured, and what is not like for like
    SuiteTable(SuiteTableArgs),
}

/// Which workloads.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SelectArgs {
    /// Built-in suite to use [default: quick, unless --config is given]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(suites::names()))]
    pub(crate) suite: Option<String>,
    /// scheduler_perf config file, or a directory with performance-config.yaml files below it;
    /// may be given several times
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) config: Vec<PathBuf>,
    /// Only workloads whose name, written TestCase/Workload, matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub(crate) filter: Option<String>,
    /// Only workloads with these labels, as scheduler_perf selects: "performance,-short" needs the
    /// first and forbids the second
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) labels: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Threads for Filter and Score [default: the cores of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: Option<u32>,
    /// KubeSchedulerConfiguration file (kubescheduler.config.k8s.io/v1) for all workloads; it wins
    /// over a test case's schedulerConfigPath. The file is watched: a change takes effect between
    /// two scheduling cycles, one that cannot be used is refused and the old configuration stays
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduler_config: Option<PathBuf>,
    /// How many ways Filter and Score are cut for, as kube-scheduler's `parallelism`; wins over the
    /// scheduler configuration [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) parallelism: Option<u32>,
    /// Share of nodes to look for feasible ones, as kube-scheduler's setting; 0 adapts to the
    /// cluster's size; wins over the scheduler configuration [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) percentage_of_nodes_to_score: Option<u32>,
    /// Seed of every random choice. On the wall clock the order in which threads get on decides as well:
    /// with mixed priorities two runs of a seed may bind otherwise; in virtual time (simulate) they do not
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Run each workload exactly this often [default: until the interval of its throughput is as
    /// narrow as --precision, within --budget]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
    /// Stop repeating a workload when its throughput is known to ± this share, as 3% or 0.03
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = share, conflicts_with = "repeat")]
    pub(crate) precision: f64,
    /// Time for all runs of a workload, set-up included; one that takes longer runs once
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time, conflicts_with = "repeat")]
    pub(crate) budget: Duration,
    /// Rounds of a suite that is run in variants; in each, every variant runs twice [default: as its
    /// variants.yaml says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: Option<u32>,
    /// Feature gates for all workloads, as A=true,B=false; they win over the file's. Gates that
    /// upstream knows and that change nothing here are listed in the result
    #[arg(long, value_name = "LIST", default_value = "")]
    pub(crate) feature_gates: String,
    /// Controllers to run beside the scheduler, by kube-controller-manager's names, as
    /// node-lifecycle-controller,taint-eviction-controller or all; beside those of the workloads and of
    /// their feature gates (docs/writing-a-controller.md lists them)
    #[arg(long, value_name = "LIST", default_value = "", value_parser = controllers)]
    pub(crate) controllers: String,
    /// Keep verdicts and scores per pod class between decisions
    #[arg(long, value_name = "MODE", value_enum, default_value_t = CacheMode::On)]
    pub(crate) class_cache: CacheMode,
    /// How pods are counted by topology domain, for spreading and pod affinity: kept as pods come
    /// and go, or scanned in every cycle as kube-scheduler does it. Decisions are the same
    #[arg(long, value_name = "MODE", value_enum, default_value_t = CountingMode::Kept)]
    pub(crate) pod_counting: CountingMode,
    #[command(flatten)]
    pub(crate) api: ApiArgs,
    /// What happens to a pod whose nominated node does not fit it (KEP-1923), with the feature gate
    /// TryNominatedNodeFirst
    #[arg(long, value_name = "MODE", value_enum, default_value_t = NominatedNodeNameMissMode::FallThrough)]
    pub(crate) nominated_node_name_miss: NominatedNodeNameMissMode,
    /// What kube-scheduler is known to miss, wake-ups and other schedulers' nominations: mended, or as it
    /// is there (docs/reliability.md lists it)
    #[arg(long, value_name = "MODE", value_enum, default_value_t = GapMode::Mended)]
    pub(crate) known_gaps: GapMode,
    /// Where to write result.json, perf-dash JSON, benchstat text and report.html
    /// [default: schedlab-report; with --json nothing is written unless this is given]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result document on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// End with exit code 1 when a workload misses the threshold its file sets
    #[arg(long)]
    pub(crate) enforce_thresholds: bool,
    /// Where the run is remembered, and compared with the last run that has the same settings; a
    /// `schedlab serve` of a history that is named here shows the run's progress meanwhile
    /// [default: schedlab-history; with --json nothing is remembered unless this is given]
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<PathBuf>,
    /// Neither record the run nor compare it with earlier ones
    #[arg(long, conflicts_with_all = ["history", "baseline", "save_baseline"])]
    pub(crate) no_history: bool,
    /// Compare also with the run of this name: see --save-baseline, and `schedlab record --label`
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Record the run under this name
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub(crate) save_baseline: Option<String>,
    /// Serve Prometheus metrics with kube-scheduler's names on this loopback address while running
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Also answer scrapes that ask for this host name; loopback names always are
    #[arg(long, value_name = "NAME", requires = "metrics")]
    pub(crate) metrics_allow_host: Vec<String>,
    /// Keep serving them so many seconds after the last workload
    #[arg(long, value_name = "SECONDS", default_value_t = 0, requires = "metrics")]
    pub(crate) metrics_linger: u64,
    #[command(flatten)]
    pub(crate) under_test: UnderTestArgs,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}

impl Default for RunArgs {
    fn default() -> Self {
        RunArgs {
            select: SelectArgs::default(),
            threads: None,
            scheduler_config: None,
            parallelism: None,
            percentage_of_nodes_to_score: None,
            seed: 0,
            repeat: None,
            precision: PRECISION_DEFAULT,
            budget: BUDGET_DEFAULT,
            rounds: None,
            feature_gates: String::new(),
            controllers: String::new(),
            class_cache: CacheMode::On,
            pod_counting: CountingMode::Kept,
            api: ApiArgs::default(),
            nominated_node_name_miss: NominatedNodeNameMissMode::FallThrough,
            known_gaps: GapMode::Mended,
            out: None,
            json: false,
            enforce_thresholds: false,
            history: None,
            no_history: false,
            baseline: None,
            save_baseline: None,
            metrics: None,
            metrics_allow_host: Vec::new(),
            metrics_linger: 0,
            under_test: UnderTestArgs::default(),
            time: TimeArgs::default(),
            shards: ShardArgs::default(),
        }
    }
}

/// Whose time passes, and where pods went.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Time and placements")]
pub(crate) struct TimeArgs {
    /// Real time, in which throughput is measured; or virtual time: each workload runs once, sleeps, churn
    /// and backoff cost nothing, the latencies of --api-latency count, and the same file and seed give the
    /// same bindings. Throughput is then modelled, not measured, and nothing is remembered
    #[arg(long, value_name = "MODE", value_enum, default_value_t = TimeChoice::Wall)]
    pub(crate) time: TimeChoice,
    /// How long a scheduling cycle takes in virtual time, whatever it does
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time)]
    pub(crate) virtual_cycle: Duration,
    /// Write where every pod went: workload, pod, node, attempts, nominated node, who evicted it and why;
    /// CSV if the name ends in .csv, else JSON lines. Of a workload that runs several times, the first run
    #[arg(long, value_name = "FILE")]
    pub(crate) placements: Option<PathBuf>,
}

impl Default for TimeArgs {
    fn default() -> Self {
        TimeArgs { time: TimeChoice::Wall, virtual_cycle: Duration::from_millis(1), placements: None }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeChoice {
    /// The clock's
    #[default]
    Wall,
    /// A model's
    Virtual,
}

/// What the scheduler's way to the API is like, and what it writes there.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "API calls")]
pub(crate) struct ApiArgs {
    /// Modelled time from a call of the scheduler to its answer: 5ms, uniform:1ms..9ms,
    /// lognormal:5ms,0.5 (median, and sigma of the logarithm), or percentiles:50=4ms,90=9ms,99=30ms
    /// (linear between them, nothing outside). With SchedulerAsyncAPICalls as many calls are under way
    /// as --parallelism allows; without, the scheduling or binding cycle that makes a call waits for it
    #[arg(long, value_name = "LATENCY", default_value = "0", allow_hyphen_values = true)]
    pub(crate) api_latency: Latency,
    /// Calls a second that the scheduler may make, as clientConnection.qps [default: no limit]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) api_qps: Option<f64>,
    /// Calls at once after a rest, as clientConnection.burst [default: twice --api-qps]
    #[arg(long, value_name = "N", requires = "api_qps", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) api_burst: Option<u32>,
    /// Which pods say in nominatedNodeName where they are going to be bound (KEP-5278)
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NominatedNodeNameMode::WhenNeeded)]
    pub(crate) nominated_node_name: NominatedNodeNameMode,
    /// Which events about pods are written, by a thread of their own. The event of KEP-5501 is written
    /// with its gate, whatever this says
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = EventMode::Off)]
    pub(crate) events: EventMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventMode {
    /// None
    #[default]
    Off,
    /// FailedScheduling and Preempted
    Problems,
    /// Also Scheduled, for every pod
    All,
}

/// `3%` or `0.03`.
fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
    let read = number.trim().parse::<f64>().ok().map(|number| number / whole);
    let is_share = |share: &f64| (0.001..=1.0).contains(share);
    read.filter(is_share).ok_or_else(|| "must be a share from 0.1% to 100%, as 3% or 0.03".to_owned())
}

/// A list of controllers that exist.
fn controllers(text: &str) -> Result<String, String> {
    parse_list(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// `500ms`, `5s` or `2m`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a time above 0 and at most 24h, as 500ms, 5s or 2m".to_owned();
    let split = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let read = number.parse::<f64>().ok().map(|number| number * seconds);
    let is_sane = |seconds: &f64| 0.0 < *seconds && *seconds <= 86_400.0;
    read.filter(is_sane).map(Duration::from_secs_f64).ok_or_else(wrong)
}

fn positive(text: &str) -> Result<f64, String> {
    let read = text.parse::<f64>().ok().filter(|number| 0.0 < *number && *number <= 1e9);
    read.ok_or_else(|| "must be a number above 0 and at most 1000000000".to_owned())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NominatedNodeNameMode {
    /// None
    Never,
    /// Those that Permit or PreBind will hold up: the KEP's rule
    #[default]
    WhenNeeded,
    /// All: what the KEP warns of, to be measured
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheMode {
    /// Kept until something they depend on changes
    On,
    /// Computed afresh for every pod
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountingMode {
    /// Kept as pods come and go
    Kept,
    /// Over all pods, in every cycle
    Scanned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NominatedNodeNameMissMode {
    /// The other nodes are searched in the same cycle
    FallThrough,
    /// The nomination is cleared and a fresh cycle begins
    Requeue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GapMode {
    /// No pod that fits waits for the unschedulable flush
    Mended,
    /// As kube-scheduler
    Upstream,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Conformance traces, gzip or plain JSON
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How many differences of each file to print in full
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) show: usize,
    /// Where to write result.json, units.jsonl (a line for every trace) and manifest.json; a replay that was
    /// killed goes on where it stopped
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Manifests of the cluster, as `kubectl get nodes,pods,... -A -o yaml` (or json) prints them: a
    /// file, a folder, or - for standard input; may be given several times
    #[arg(long, value_name = "FILE|DIR", num_args = 1.., conflicts_with_all = ["config", "suite", "op"])]
    pub(crate) cluster: Vec<PathBuf>,
    /// The pod, pending or on a node, among the manifests of --cluster
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "pod_file")]
    pub(crate) pod: Option<String>,
    /// A file with the pod, or with a controller that has a pod template
    #[arg(long, value_name = "FILE")]
    pub(crate) pod_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Feature gates, as A=true,B=false; they win over a workload's
    #[arg(long, value_name = "LIST", default_value = "")]
    pub(crate) feature_gates: String,
    /// KubeSchedulerConfiguration file: its profiles answer; it wins over a test case's
    /// schedulerConfigPath
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduler_config: Option<PathBuf>,
    /// The op of the workload, from 0, before which to ask [default: the measured createPods]
    #[arg(long, value_name = "N")]
    pub(crate) op: Option<usize>,
    /// Seed of the workload's random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How to print it
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Table)]
    pub(crate) output: OutputFormat,
    /// Also write one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Only nodes whose names match this regular expression
    #[arg(long, value_name = "REGEX")]
    pub(crate) nodes: Option<String>,
    /// Only nodes that this plugin rejected first
    #[arg(long, value_name = "PLUGIN", conflicts_with = "feasible")]
    pub(crate) rejected_by: Option<String>,
    /// Only nodes that pass all filters
    #[arg(long)]
    pub(crate) feasible: bool,
    /// total, name, or the name of a plugin that scores
    #[arg(long, value_name = "KEY", default_value = "total")]
    pub(crate) sort: String,
    /// How many nodes to show, 0 for all [default: 10 in a table, all in JSON]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

const EXPLAIN_EXAMPLES: &str = "Examples:
  kubectl get nodes,pods,pv,pvc,sc,csinodes -A -o yaml > cluster.yaml
  schedlab explain --cluster cluster.yaml --pod shop/web-7d4
  schedlab explain --cluster cluster.yaml --pod-file web.yaml --html why.html
  schedlab explain --cluster cluster.yaml --pod shop/web-7d4 --rejected-by TaintToleration --limit 0
  schedlab explain --suite quick --filter '^PlainPods/5000Nodes_50000Pods$' --sort ImageLocality
  kubectl get nodes,pods -A -o json | schedlab explain --cluster - --pod shop/web-7d4 --output json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people
    Table,
    /// One document, schedlab-explain/v1
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn shares_and_times_are_read_or_refused() {
        assert_eq!((share("3%"), share("0.03"), share("100%")), (Ok(0.03), Ok(0.03), Ok(1.0)));
        for wrong in ["", "%", "0", "-3%", "101%", "nan", "3 percent"] {
            assert!(share(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!((time("5s"), time("2m")), (Ok(Duration::from_secs(5)), Ok(Duration::from_secs(120))));
        for wrong in ["", "5", "s", "-1s", "0s", "5 days", "99h", "nans"] {
            assert!(time(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn no_arguments_equal_run_without_arguments() {
        let Some(Command::Run(typed)) = Cli::parse_from(["schedlab", "run"]).command else {
            panic!("run was typed")
        };
        assert_eq!(format!("{typed:?}"), format!("{:?}", RunArgs::default()));
    }
}
