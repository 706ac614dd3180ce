//! A scheduler under test: its API server, its files, its process.

use std::collections::BTreeMap;
use std::fmt;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use schedlab_apiserver::{ApiServer, AuditCounts, ServeOptions};
use schedlab_cluster::EmbeddedCluster;
use schedlab_workloads::executor::{RunningScheduler, SchedulerUnderTest, UnderTestError, UnderTestSetup};
use schedlab_workloads::files::{self, Durability};
use schedlab_workloads::metrics::MetricValues;
use schedlab_workloads::results::{AgentCalls, UnderTestUsage};
use schedlab_workloads::scheduler_config::{ProcessConfig, config_for_process};

use crate::command::{self, CommandTemplate, CommandValues};
use crate::process::{Process, cpu_ms_of_threads};
use crate::scrape::Scrape;

/// How long a scheduler may take until it follows pods and nodes.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// It is ready when it has begun no other list or watch for this long.
const SETTLED: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(10);

/// Gets a text over HTTP.
pub type FetchText = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// How schedulers under test are started.
#[derive(Clone)]
pub struct UnderTest {
    /// The command, with places.
    pub command: CommandTemplate,
    /// Where it says its metrics, with places; it is not asked if absent.
    pub metrics_url: Option<String>,
    /// What asks it.
    pub fetch: FetchText,
    /// How long it may take until it is ready.
    pub ready_within: Duration,
}

impl UnderTest {
    /// Of a command that is asked for no metrics.
    #[must_use]
    pub fn new(command: CommandTemplate) -> UnderTest {
        let fetch: FetchText = Arc::new(|url| Err(format!("nothing here gets {url}")));
        UnderTest { command, metrics_url: None, fetch, ready_within: READY_WITHIN }
    }
}

impl fmt::Debug for UnderTest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnderTest { command, metrics_url, .. } = self;
        formatter
            .debug_struct("UnderTest")
            .field("command", command)
            .field("metrics_url", metrics_url)
            .finish_non_exhaustive()
    }
}

impl SchedulerUnderTest for UnderTest {
    fn start(
        &self,
        cluster: &EmbeddedCluster,
        setup: &UnderTestSetup<'_>,
        interrupt: &AtomicBool,
    ) -> Result<Box<dyn RunningScheduler>, UnderTestError> {
        let server = ApiServer::start(cluster.clone(), ServeOptions::default())
            .map_err(|error| UnderTestError(error.to_string()))?;
        let folder = Folder::new();
        let (kubeconfig, config) = (folder.0.join("kubeconfig"), folder.0.join("config.yaml"));
        let process_config = ProcessConfig {
            kubeconfig: &kubeconfig,
            parallelism: setup.parallelism,
            percentage_of_nodes_to_score: setup.percentage_of_nodes_to_score,
        };
        let text = config_for_process(setup.config, &process_config)
            .map_err(|error| UnderTestError(error.to_string()))?;
        write(&kubeconfig, &server.kubeconfig())?;
        write(&config, &text)?;
        let gates: Vec<String> =
            setup.feature_gates.iter().map(|(name, is_on)| format!("{name}={is_on}")).collect();
        let values = CommandValues {
            kubeconfig: &kubeconfig,
            config: &config,
            gates: &gates.join(","),
            port: free_port()?,
        };
        let mut running = Running {
            words: self.command.fill(values),
            metrics_url: self.metrics_url.as_deref().map(|url| command::fill(url, values)),
            fetch: Arc::clone(&self.fetch),
            command: self.command.text(),
            process: None,
            ended: (0.0, 0),
            scraped: Scrape::default(),
            server,
            ready_within: self.ready_within,
            _folder: folder,
        };
        running.begin(interrupt)?;
        Ok(Box::new(running))
    }
}

/// A folder of our own for the files of a run; removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Folder(std::env::temp_dir().join(format!("schedlab-under-test-{}-{number}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in the temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, text: &str) -> Result<(), UnderTestError> {
    files::write(path, text.as_bytes(), Durability::Rebuildable)
        .map_err(|error| UnderTestError(error.to_string()))
}

/// A port that nobody listens on; the scheduler takes it at once.
fn free_port() -> Result<u16, UnderTestError> {
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| UnderTestError(format!("no free port: {error}")))
}

struct Running {
    // Ends before the server does.
    process: Option<Process>,
    words: Vec<String>,
    command: String,
    metrics_url: Option<String>,
    fetch: FetchText,
    /// What processes took that were killed, in milliseconds and bytes.
    ended: (f64, u64),
    scraped: Scrape,
    server: ApiServer,
    ready_within: Duration,
    _folder: Folder,
}

impl Running {
    fn begin(&mut self, interrupt: &AtomicBool) -> Result<(), UnderTestError> {
        let before = self.server.audit();
        let process = Process::start(&self.words).map_err(|error| {
            UnderTestError(format!(
                "{:?} cannot be started: {error}; give the path of a program",
                self.words[0]
            ))
        })?;
        self.process = Some(process);
        let begun = Instant::now();
        let (mut last, mut since) = (0, Instant::now());
        loop {
            self.check_alive()?;
            let now = Followed::since(&before, &self.server.audit());
            if now.begun != last {
                (last, since) = (now.begun, Instant::now());
            }
            if now.pods && now.nodes && SETTLED <= since.elapsed() {
                return Ok(());
            }
            if interrupt.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.ready_within < begun.elapsed() {
                return Err(self.not_ready(now));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn not_ready(&self, followed: Followed) -> UnderTestError {
        let what = match (followed.begun, followed.pods, followed.nodes) {
            (0, ..) => "it has asked the API server nothing",
            (_, false, _) => "it does not watch pods",
            (_, _, false) => "it does not watch nodes",
            _ => "it goes on beginning watches",
        };
        let seconds = self.ready_within.as_secs();
        UnderTestError(format!("the scheduler is not ready after {seconds} s: {what}; {}", self.last_lines()))
    }

    fn scrape(&self) -> Result<Option<Scrape>, UnderTestError> {
        let Some(url) = &self.metrics_url else { return Ok(None) };
        let text = (self.fetch)(url).map_err(|why| UnderTestError(format!("metrics of {url}: {why}")))?;
        Ok(Some(Scrape::parse(&text)))
    }
}

impl RunningScheduler for Running {
    fn check_alive(&mut self) -> Result<(), UnderTestError> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let Some(status) = process.ended() else { return Ok(()) };
        Err(UnderTestError(format!("the scheduler ended by itself ({status}); {}", process.all_last_lines())))
    }

    fn usage(&self) -> UnderTestUsage {
        let taken = self.process.as_ref().map(Process::taken).unwrap_or_default();
        let (ended_ms, ended_bytes) = self.ended;
        UnderTestUsage {
            command: self.command.clone(),
            cpu_ms: taken.cpu_ms.map(|ms| ms + ended_ms),
            peak_rss_bytes: taken.peak_rss_bytes.map(|bytes| bytes.max(ended_bytes)),
            server_cpu_ms: cpu_ms_of_threads("apiserver"),
            calls: calls_of(&self.server.audit()),
        }
    }

    fn begin_metrics(&mut self) -> Result<(), UnderTestError> {
        if let Some(scraped) = self.scrape()? {
            self.scraped = scraped;
        }
        Ok(())
    }

    fn metrics(&self) -> Result<MetricValues, UnderTestError> {
        let now = self.scrape()?;
        Ok(now.map(|now| now.since(&self.scraped)).unwrap_or_default())
    }

    fn last_lines(&self) -> String {
        self.process.as_ref().map_or_else(|| "it does not run".to_owned(), Process::last_lines)
    }

    fn crash(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let taken = process.taken();
        self.ended.0 += taken.cpu_ms.unwrap_or(0.0);
        self.ended.1 = self.ended.1.max(taken.peak_rss_bytes.unwrap_or(0));
        process.kill();
        // The next one counts from 0.
        self.scraped = Scrape::default();
    }

    fn start_again(&mut self) -> Result<(), UnderTestError> {
        self.begin(&AtomicBool::new(false))
    }
}

/// What clients have begun to follow.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    pods: bool,
    nodes: bool,
    /// Lists and watches.
    begun: u64,
}

impl Followed {
    fn since(earlier: &AuditCounts, later: &AuditCounts) -> Followed {
        let mut followed = Followed::default();
        for (key, count) in schedlab_apiserver::audit_since(later, earlier) {
            let is_watch = key.verb == "watch" && 0 < count.calls;
            followed.pods |= is_watch && key.resource == "pods";
            followed.nodes |= is_watch && key.resource == "nodes";
            followed.begun += if matches!(key.verb, "list" | "watch" | "get") { count.calls } else { 0 };
        }
        followed
    }
}

fn calls_of(counts: &AuditCounts) -> Vec<AgentCalls> {
    let of = counts.iter().map(|(key, count)| {
        let id = (key.agent.clone(), key.verb.to_owned(), key.resource.clone());
        (id, *count)
    });
    let sorted: BTreeMap<_, _> = of.collect();
    let calls = sorted.into_iter().map(|((agent, verb, resource), count)| AgentCalls {
        agent,
        verb,
        resource,
        calls: count.calls,
        failed: count.failed,
        sent_bytes: count.received_bytes,
        received_bytes: count.sent_bytes,
    });
    calls.collect()
}
