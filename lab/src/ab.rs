//! Variants of a workload, interleaved in one session.
//!
//! A variant is a set of settings, run in this process, or a build, run in a process of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use schedlab_perf_dash::compare::{ComparedMetric, Comparison, Pairing, Row};
use schedlab_perf_dash::stats::{Fence, ROUND, abba_order};
use schedlab_workloads::assemble::{Assembly, Run, workload_results};
use schedlab_workloads::executor::{ConfigFile, Control, NoProfiler, NoProgress};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::ResolvedWorkload;
use schedlab_workloads::results::{RunStatus, Stage, WorkloadResult};

use crate::LabError;
use crate::gate::run_json_unless;
use crate::run::RunPlan;

/// One of the things compared.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name and settings, as comparisons show them.
    pub described: String,
    /// How it runs.
    pub program: Program,
}

/// How a variant runs.
#[derive(Clone, Debug)]
pub enum Program {
    /// In this process.
    Here(Box<RunPlan>),
    /// By a binary of its own.
    Built {
        /// The program.
        binary: PathBuf,
        /// Flags of its `run`.
        flags: Vec<String>,
    },
}

/// How variants are interleaved.
#[derive(Clone, Debug)]
pub struct AbPlan {
    /// Flags by which a build finds the suite that the workloads are of.
    pub suite_flags: Vec<String>,
    /// Rounds; in a round every variant runs twice, there and back (A B B A).
    pub rounds: usize,
    /// Runs of each variant before the first round that are not counted.
    pub warm_up: u32,
    /// Seed of the order and of the bootstrap.
    pub order_seed: u64,
}

/// Variants that are compared with the first of them, workload after workload.
#[derive(Debug)]
pub struct AbSession {
    plan: AbPlan,
    variants: Vec<Variant>,
    /// By variant; the base has none.
    rows: Vec<Vec<Row>>,
}

/// What the runs of one variant measured, in the order they ran.
#[derive(Clone, Debug, Default)]
struct Samples {
    throughput: Vec<f64>,
    cycle_mean_us: Vec<f64>,
    end_to_end_p99_us: Vec<f64>,
    /// Pods bound in each run: the same for all, or the times do not count.
    scheduled: Vec<u64>,
    trouble: Option<String>,
}

impl AbSession {
    /// A session of at least two variants.
    ///
    /// # Panics
    ///
    /// When there is no second variant: nothing would be compared.
    #[must_use]
    pub fn new(plan: AbPlan, variants: Vec<Variant>) -> AbSession {
        assert!(2 <= variants.len(), "one variant has nothing to be compared with");
        AbSession { rows: vec![Vec::new(); variants.len()], plan, variants }
    }

    /// Runs a workload by every variant and compares them. An interrupt keeps what was measured, and so does
    /// an error.
    pub fn compare(
        &mut self,
        workload: &ResolvedWorkload,
        fence: Fence,
        interrupt: &AtomicBool,
    ) -> Result<(), LabError> {
        let mut samples = vec![Samples::default(); self.variants.len()];
        let measured = measure(&self.plan, &self.variants, workload, interrupt, &mut samples);
        for (head, rows) in samples.iter().zip(&mut self.rows).skip(1) {
            rows.extend(rows_of(&workload.full_name, &samples[0], head, fence, self.plan.order_seed));
        }
        measured
    }

    /// No workload was compared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows[1].is_empty()
    }

    /// Something was measured.
    #[must_use]
    pub fn has_samples(&self) -> bool {
        self.rows[1].iter().any(|row| row.base.is_some() || row.head.is_some())
    }

    /// A comparison of every variant but the first with the first.
    #[must_use]
    pub fn comparisons(self) -> Vec<Comparison> {
        let AbSession { plan, variants, rows } = self;
        let how = match variants[0].program {
            Program::Here(_) => "in one process",
            Program::Built { .. } => "a process a run",
        };
        let comparison = |(head, rows): (&Variant, Vec<Row>)| {
            let mut comparison =
                Comparison::new("schedlab ab", &variants[0].described, &head.described, rows);
            comparison.notes.push(format!(
                "interleaved, {how}: up to {} rounds of {ROUND} runs a variant, order from seed {}, {} warm-up run(s)",
                plan.rounds, plan.order_seed, plan.warm_up
            ));
            comparison
        };
        variants.iter().zip(rows).skip(1).map(comparison).collect()
    }
}

/// Adds to the samples; what they are when it fails counts.
fn measure(
    plan: &AbPlan,
    variants: &[Variant],
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
    samples: &mut [Samples],
) -> Result<(), LabError> {
    let registry = lab_plugins::registry();
    let control = Control {
        interrupt,
        progress: &NoProgress,
        registry: &registry,
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: None,
        under_test: None,
    };
    let run_once = |variant: &Variant| -> Result<Option<WorkloadResult>, LabError> {
        match &variant.program {
            Program::Here(run) => {
                let outcome = run.run(workload, control)?;
                let assembly = Assembly::without_warnings(workload, run.settings);
                // The last measured part: earlier ones, where a workload has several, set the stage.
                Ok(workload_results(&assembly, &[Run { outcome, machine_speed: None }]).pop())
            }
            Program::Built { binary, flags } => {
                run_built((binary, flags), &plan.suite_flags, workload, interrupt)
            }
        }
    };
    for _ in 0..plan.warm_up {
        for variant in variants {
            run_once(variant)?;
            if interrupt.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
    for round in abba_order(variants.len(), plan.rounds, plan.order_seed) {
        for at in round {
            let result = run_once(&variants[at])?;
            if interrupt.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Some(result) = result {
                samples[at].take(&result);
            }
        }
    }
    Ok(())
}

/// The workload, by another build.
fn run_built(
    (binary, flags): (&Path, &[String]),
    suite_flags: &[String],
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
) -> Result<Option<WorkloadResult>, LabError> {
    let only = format!("^{}$", regex::escape(&workload.full_name));
    let mut args = vec!["--filter", only.as_str()];
    args.extend(suite_flags.iter().chain(flags).map(String::as_str));
    Ok(run_json_unless(interrupt, binary, &args)?.and_then(|mut result| result.workloads.pop()))
}

impl Samples {
    fn take(&mut self, result: &WorkloadResult) {
        self.throughput.push(result.throughput.total);
        self.scheduled.push(result.pods.scheduled);
        if let Some(latency) = result.latency_us.get(&Stage::SchedulingCycle) {
            self.cycle_mean_us.push(latency.mean);
        }
        if let Some(latency) = result.latency_us.get(&Stage::EndToEnd) {
            self.end_to_end_p99_us.push(latency.p99);
        }
        if result.status != RunStatus::Completed {
            self.trouble = result.message.clone();
        }
    }
}

fn rows_of(workload: &str, base: &Samples, head: &Samples, fence: Fence, seed: u64) -> Vec<Row> {
    let row = |metric, base: &[f64], head: &[f64]| {
        Row::from_samples(workload, metric, (base, head), Pairing::Rounds, fence, seed)
    };
    let mut throughput = row(ComparedMetric::throughput(), &base.throughput, &head.throughput);
    let (mut counts, trouble) =
        (base.scheduled.iter().chain(&head.scheduled), base.trouble.as_ref().or(head.trouble.as_ref()));
    let first = counts.next().copied();
    if let Some(trouble) = trouble {
        throughput = throughput.not_comparable(format!("not comparable: {trouble}"));
    } else if let Some(other) = counts.find(|count| Some(**count) != first) {
        let first = first.unwrap_or(0);
        throughput = throughput.not_comparable(format!(
            "not comparable: {first} pods were bound in one run and {other} in another"
        ));
    }
    let mut rows = vec![throughput];
    let latencies = [
        ("cycle mean", &base.cycle_mean_us, &head.cycle_mean_us),
        ("end to end p99", &base.end_to_end_p99_us, &head.end_to_end_p99_us),
    ];
    for (name, base, head) in latencies {
        if !base.is_empty() && !head.is_empty() {
            rows.push(row(ComparedMetric::cost(name, "µs"), base, head).shown());
        }
    }
    rows
}
