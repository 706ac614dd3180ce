//! Whole workloads, end to end: a process a sample, the builds in ABBA order.
//!
//! Threads, sockets of the embedded API and the whole program's layout are in it, and so is all the
//! noise of the machine; the kernels are the sharper instrument.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use schedlab_perf_dash::compare::{ComparedMetric, Fences, Pairing, Row};
use schedlab_perf_dash::gate::{GATE_LEVEL, score};
use schedlab_perf_dash::stats::{ROUND, SAMPLES_MIN, abba_order};
use schedlab_workloads::results::{RunResult, RunStatus, Stage, WorkloadResult, write_atomic};
use schedlab_workloads::suites;

use super::kernels::KernelReport;
use super::wall_clock::reference_rate;
use crate::child::{self, Ended};
use crate::error::file;
use crate::{LabError, Notice};

/// What to run, and how often.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    /// scheduler_perf config of the workloads.
    pub config: PathBuf,
    /// Only workloads whose name matches.
    pub filter: Option<String>,
    /// Rounds (A B B A, a process each); fewer when the time is up.
    pub rounds: usize,
    /// Repeats within such a process, the best of which is one sample.
    pub repeat: u32,
    /// Start no new round after so many seconds, once there are enough for a verdict.
    pub seconds_max: u64,
    /// Seed of the order and of the bootstrap.
    pub seed: u64,
}

/// What the runs of one build measured of one workload, a value a process.
#[derive(Debug, Default)]
struct Samples {
    throughput: Vec<f64>,
    cycle_mean_us: Vec<f64>,
    scheduled: Vec<u64>,
    trouble: Option<String>,
}

/// All workloads of a run.
#[derive(Debug, Default)]
struct Ran {
    workloads: BTreeMap<String, [Samples; 2]>,
    /// The yardstick's rate beside each round.
    steps_per_s: Vec<f64>,
}

/// Runs the workloads by both builds and judges them. An interrupt keeps the rounds that are whole.
pub fn judge_workloads(
    [base, head]: &[PathBuf; 2],
    plan: &WorkloadPlan,
    fences: &Fences,
    report: &mut KernelReport,
    (notice, interrupt): (Notice<'_>, &AtomicBool),
) -> Result<(), LabError> {
    let ran = run(base, head, plan, interrupt)?;
    report.is_partial |= interrupt.load(Ordering::Relaxed);
    report.rows.extend(ran.rows(fences, plan.seed));
    report.notes.extend(ran.score_notes(plan.seed, notice));
    report.notes.push(format!(
        "workloads: {} round(s) of two processes a build, order from seed {}, a sample is the best of {} repeat(s)",
        ran.round_count(),
        plan.seed,
        plan.repeat
    ));
    Ok(())
}

fn run(base: &Path, head: &Path, plan: &WorkloadPlan, interrupt: &AtomicBool) -> Result<Ran, LabError> {
    let one = |binary: &Path, repeat: u32| run_plan(binary, plan, repeat, interrupt);
    let mut ran = Ran::default();
    // Once each, uncounted: pages of the binary come from disk the first time.
    if one(base, 1)?.is_none() || one(head, 1)?.is_none() {
        return Ok(ran);
    }
    let started = Instant::now();
    for round in abba_order(2, plan.rounds, plan.seed) {
        if SAMPLES_MIN <= ran.steps_per_s.len() && Duration::from_secs(plan.seconds_max) < started.elapsed() {
            break;
        }
        let steps_per_s = reference_rate();
        let run = |at: usize| Ok(one([base, head][at], plan.repeat)?.map(|result| (at, result)));
        // A round that was interrupted is not whole, and does not count.
        let results = round.into_iter().map(run).collect::<Result<Option<Vec<_>>, LabError>>()?;
        let Some(results) = results else { break };
        ran.steps_per_s.push(steps_per_s);
        for (at, result) in &results {
            for workload in &result.workloads {
                ran.workloads.entry(workload.name.clone()).or_default()[*at].take(workload);
            }
        }
    }
    Ok(ran)
}

/// The gate's own workloads, written out because the base binary may not know them.
pub fn write_suite(work: &Path) -> Result<PathBuf, LabError> {
    let dir = work.join("suites");
    let config = dir.join("gate/performance-config.yaml");
    write_atomic(&config, include_bytes!("../../suites/gate/performance-config.yaml"))?;
    for (name, content) in suites::EMBEDDED.files.iter().filter(|(name, _)| name.starts_with("templates/")) {
        write_atomic(&dir.join(name), content.as_bytes())?;
    }
    Ok(config)
}

fn run_plan(
    binary: &Path,
    plan: &WorkloadPlan,
    repeat: u32,
    interrupt: &AtomicBool,
) -> Result<Option<RunResult>, LabError> {
    let mut args = vec!["--threads", "1"];
    let repeat = repeat.to_string();
    args.extend(["--repeat", &repeat]);
    if let Some(filter) = &plan.filter {
        args.extend(["--filter", filter]);
    }
    let config = plan.config.display().to_string();
    args.extend(["--config", &config]);
    run_json_unless(interrupt, binary, &args)
}

/// `BINARY run --json ARGS`, and what it measured; `None` when the flag was set before the run ended, which
/// then is ended.
pub(crate) fn run_json_unless(
    interrupt: &AtomicBool,
    binary: &Path,
    args: &[&str],
) -> Result<Option<RunResult>, LabError> {
    let mut command = Command::new(binary);
    command
        .args(["run", "--json"])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = child::start(command).map_err(file(binary, "cannot be started"))?;
    let Ended::Alone(output) = child::wait(child, interrupt)? else { return Ok(None) };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(LabError::RunEnded { binary: binary.to_owned(), status: output.status, said });
    }
    serde_json::from_slice(&output.stdout)
        .map(Some)
        .map_err(|source| LabError::NoResult { binary: binary.to_owned(), source })
}

impl Samples {
    fn take(&mut self, workload: &WorkloadResult) {
        // The best repeat, not the middle one: other programs only ever make a run slower.
        let repeats = workload.repeats.iter().flat_map(|repeats| &repeats.runs);
        let best = repeats.map(|run| run.pods_per_s).fold(workload.throughput.total, f64::max);
        self.throughput.push(best);
        self.scheduled.push(workload.pods.scheduled);
        if let Some(latency) = workload.latency_us.get(&Stage::SchedulingCycle) {
            self.cycle_mean_us.push(latency.mean);
        }
        if workload.status != RunStatus::Completed {
            self.trouble = workload.message.clone();
        }
    }
}

impl Ran {
    fn round_count(&self) -> usize {
        self.steps_per_s.len()
    }

    fn rows(&self, fences: &Fences, seed: u64) -> Vec<Row> {
        let rows = |(workload, [base, head]): (&String, &[Samples; 2])| {
            throughput_rows(workload, base, head, fences, seed)
        };
        self.workloads.iter().flat_map(rows).collect()
    }

    /// Head's throughput in units of this machine's yardstick.
    fn score_notes(&self, seed: u64, notice: Notice<'_>) -> Vec<String> {
        let note = |(workload, [_, head]): (&String, &[Samples; 2])| {
            if head.throughput.iter().any(|&rate| rate <= 0.0) {
                notice(&format!("{workload} has no throughput, so no score"));
                return None;
            }
            // A round's samples beside the yardstick of that round.
            let rounds = head.throughput.chunks_exact(ROUND);
            let rates: Vec<f64> = rounds.map(|round| round.iter().copied().fold(0.0, f64::max)).collect();
            let score = score(&rates, &self.steps_per_s, seed);
            Some(format!(
                "score of {workload}: {:.1} pods per million reference steps ({:.1} … {:.1})",
                score.score, score.low, score.high
            ))
        };
        self.workloads.iter().filter_map(note).collect()
    }
}

fn throughput_rows(workload: &str, base: &Samples, head: &Samples, fences: &Fences, seed: u64) -> Vec<Row> {
    let row = |metric, base: &[f64], head: &[f64]| {
        Row::from_samples(workload, metric, (base, head), Pairing::Rounds, fences.of(workload), seed)
    };
    let mut throughput =
        row(ComparedMetric::throughput(), &base.throughput, &head.throughput).needing_p_below(GATE_LEVEL);
    if let Some(trouble) = base.trouble.as_ref().or(head.trouble.as_ref()) {
        throughput = throughput.not_comparable(format!("not comparable: {trouble}"));
    } else if base.scheduled != head.scheduled {
        throughput = throughput
            .not_comparable("not comparable: the builds bound different numbers of pods".to_owned());
    }
    let cycle =
        row(ComparedMetric::cost("cycle mean", "µs"), &base.cycle_mean_us, &head.cycle_mean_us).shown();
    vec![throughput, cycle]
}
