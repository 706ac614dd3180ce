//! Studies of a suite: every variant of every point in turns, as [`crate::ab`] runs its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schedlab_perf_dash::figure::{CellSamples, figure};
use schedlab_perf_dash::stats::{abba_order, median};
use schedlab_workloads::assemble::{Assembly, Run, workload_results};
use schedlab_workloads::executor::{ConfigFile, Control, Ending, NoProfiler, Outcome, Progress};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::{ResolvedWorkload, Selection, Suite, runnable};
use schedlab_workloads::results::{Figure, FigureMetric, Stage, WorkloadResult};
use schedlab_workloads::source::DiskSource;
use schedlab_workloads::study::{Cell, STUDY_FILE_NAME, Study, parse_studies};
use schedlab_workloads::suites;

use crate::LabError;
use crate::run::RunPlan;

/// kube-scheduler's `parallelism` when nobody sets it.
const DEFAULT_PARALLELISM: usize = 16;

/// Studies and the suite whose workloads they run.
#[derive(Debug)]
pub struct Studies {
    suite: Suite,
    studies: Vec<Study>,
}

impl Studies {
    /// These studies of a suite.
    #[must_use]
    pub fn of(suite: Suite, studies: Vec<Study>) -> Studies {
        Studies { suite, studies }
    }

    /// The studies of a built-in suite. `None` when it has none.
    pub fn of_suite(name: &str) -> Result<Option<Studies>, LabError> {
        let studies = suites::studies(name)?;
        if studies.is_empty() {
            return Ok(None);
        }
        Ok(Some(Studies { suite: suites::load(name)?, studies }))
    }

    /// The studies in a folder. `None` when it has none.
    pub fn of_folder(folder: &Path) -> Result<Option<Studies>, LabError> {
        let path = folder.join(STUDY_FILE_NAME);
        if !path.is_file() {
            return Ok(None);
        }
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(LabError::NoStudies { path, source }),
        };
        let studies = parse_studies(&path.display().to_string(), &text)?;
        Ok(Some(Studies { suite: Suite::load(Arc::new(DiskSource), folder)?, studies }))
    }

    /// The points whose names match the filter, all without one; `rounds` wins over the file's.
    pub fn wanted(&self, filter: Option<&str>, rounds: Option<u32>) -> Result<Vec<Wanted>, LabError> {
        let names = filter.map(|filter| Selection::all().with_names(filter)).transpose()?;
        let mut wanted = Vec::new();
        for study in &self.studies {
            let is_wanted = |cell: &Cell| {
                let name = format!("{}/{}", study.name, cell.workload);
                names.as_ref().is_none_or(|names| names.takes_name(&name))
            };
            let points: Vec<Vec<Cell>> =
                study.points().into_iter().filter(|cells| cells.iter().all(is_wanted)).collect();
            if !points.is_empty() {
                wanted.push((Study { rounds: rounds.unwrap_or(study.rounds), ..study.clone() }, points));
            }
        }
        if wanted.is_empty() {
            let studies = self.studies.iter().map(|study| study.name.clone()).collect();
            return Err(LabError::NoPoint { studies });
        }
        Ok(wanted)
    }

    /// Runs points of a study, each cell as its plan says, and makes their figure. An interrupt keeps what
    /// was measured, and so does an error, which is given back beside the figure.
    pub fn run(
        &self,
        wanted: &Wanted,
        plans: Vec<Vec<RunPlan>>,
        control: SessionControl<'_>,
        seed: u64,
    ) -> Result<(Figure, Option<LabError>), LabError> {
        let (points, failure) = self.measure(wanted, plans, control)?;
        Ok((figure(&wanted.0, &points, seed), failure))
    }

    /// The same, and what each run measured instead of the figure.
    pub fn measure(
        &self,
        (study, points): &Wanted,
        plans: Vec<Vec<RunPlan>>,
        control: SessionControl<'_>,
    ) -> Result<(Vec<Vec<CellSamples>>, Option<LabError>), LabError> {
        let prepare_all = |(cells, plans): (&Vec<Cell>, Vec<RunPlan>)| {
            cells.iter().zip(plans).map(|(cell, plan)| self.prepare(plan, cell)).collect()
        };
        let mut runs: Vec<Vec<Runs>> =
            points.iter().zip(plans).map(prepare_all).collect::<Result<_, LabError>>()?;
        let failure = measure(study, &mut runs, control).err();
        let points =
            runs.into_iter().map(|cells| cells.into_iter().map(|cell| cell.samples).collect()).collect();
        Ok((points, failure))
    }

    fn prepare(&self, plan: RunPlan, cell: &Cell) -> Result<Runs, LabError> {
        let Some(workload) = self.suite.resolve_with(&cell.workload, &cell.params)? else {
            return Err(LabError::NoWorkload { variant: cell_name(cell), workload: cell.workload.clone() });
        };
        if let Err(reason) = runnable(&workload) {
            let (workload, why) = (cell.workload.clone(), reason.to_string());
            return Err(LabError::Stuck { workload, variant: cell_name(cell), why });
        }
        let Cell { point, variant, .. } = cell.clone();
        let samples = CellSamples { point, variant, samples: BTreeMap::new() };
        Ok(Runs { plan, workload, samples })
    }
}

/// What the outside may do to a session, and what it is told.
#[derive(Clone, Copy)]
pub struct SessionControl<'a> {
    /// Told how far each run is.
    pub progress: &'a dyn Progress,
    /// Set to end the session early.
    pub interrupt: &'a AtomicBool,
}

/// What is run for a cell, and what it measured.
struct Runs {
    plan: RunPlan,
    workload: ResolvedWorkload,
    samples: CellSamples,
}

/// A study with the points of it that are wanted.
pub type Wanted = (Study, Vec<Vec<Cell>>);

/// What a cell is called in messages.
#[must_use]
pub fn cell_name(cell: &Cell) -> String {
    format!("{} at {}", cell.variant, cell.point.join(", "))
}

/// Round after round over all points, each variant there and back.
fn measure(
    study: &Study,
    points: &mut [Vec<Runs>],
    SessionControl { progress, interrupt }: SessionControl<'_>,
) -> Result<(), LabError> {
    let registry = lab_plugins::registry();
    let control = Control {
        interrupt,
        progress,
        registry: &registry,
        config_file: ConfigFile::Fixed,
        profiler: &NoProfiler,
        placements: None,
        under_test: None,
    };
    // What a process does for the first time is nobody's cost.
    for cell in points.first_mut().into_iter().flatten() {
        cell.plan.run(&cell.workload, control)?;
        if interrupt.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
    for order in abba_order(study.variants.len(), study.rounds as usize, 0) {
        for cells in points.iter_mut() {
            for &at in &order {
                let cell = &mut cells[at];
                let outcome = cell.plan.run(&cell.workload, control)?;
                if interrupt.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if let Ending::Stuck(why) = &outcome.ending {
                    return Err(LabError::Stuck {
                        workload: cell.workload.full_name.clone(),
                        variant: cell.samples.variant.clone(),
                        why: why.to_string(),
                    });
                }
                cell.take(&study.metrics, outcome);
            }
        }
    }
    Ok(())
}

impl Runs {
    fn take(&mut self, metrics: &[FigureMetric], outcome: Outcome) {
        let run = Run { outcome, machine_speed: None };
        let assembly = Assembly::without_warnings(&self.workload, self.plan.settings);
        let results = workload_results(&assembly, std::slice::from_ref(&run));
        let outcome = &run.outcome;
        let Some(result) = results.last() else { return };
        for &metric in metrics {
            if let Some(value) = self.value(metric, outcome, result) {
                self.samples.samples.entry(metric).or_default().push(value);
            }
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
    fn value(&self, metric: FigureMetric, outcome: &Outcome, result: &WorkloadResult) -> Option<f64> {
        let part = outcome.collected.last()?;
        let readings = &part.readings;
        let counter = |who: &str, what: &str| {
            let report = outcome.controllers.iter().find(|report| report.controller == who)?;
            Some(report.counter(what) as f64)
        };
        let ways = self.plan.settings.parallelism.unwrap_or(DEFAULT_PARALLELISM) as f64;
        let calls = |key: &str| result.api_calls.get(key).copied().unwrap_or(0) as f64;
        let per_pod = |count: f64| count / (result.pods.scheduled.max(1) as f64);
        let evaluated = readings.evaluated as f64 / (readings.assumed.max(1) as f64);
        Some(match metric {
            FigureMetric::Evaluated => evaluated,
            FigureMetric::Iterations => evaluated / ways,
            FigureMetric::KepIterations => outcome.node_count as f64 / ways,
            FigureMetric::CycleMedian => result.latency_us.get(&Stage::SchedulingCycle)?.p50,
            FigureMetric::BindingCalls => per_pod(calls("POST pods/binding")),
            FigureMetric::PatchCalls => per_pod(calls("PATCH pods/status")),
            FigureMetric::SchedulerCalls => per_pod(calls("POST pods/binding") + calls("PATCH pods/status")),
            FigureMetric::Patches => calls("PATCH pods/status"),
            FigureMetric::Events => calls("POST events") + calls("PUT events"),
            FigureMetric::Repeated => outcome.gates.repeated as f64,
            FigureMetric::Throughput => result.throughput.total,
            FigureMetric::EndToEnd => result.latency_us.get(&Stage::EndToEnd)?.p50,
            FigureMetric::RemovedWrongly => counter("cluster-autoscaler", "nodes_removed_wrongly")?,
            FigureMetric::NodesAdded => counter("cluster-autoscaler", "nodes_added").unwrap_or(0.0),
            FigureMetric::SameNode => {
                let held = counter("restartScheduler", "pods_held").filter(|held| 0.0 < *held)?;
                100.0 * counter("restartScheduler", "same_node")? / held
            }
            FigureMetric::AsDecided => counter("kueue", "pods_as_decided")?,
            FigureMetric::Evicted => {
                counter("taint-eviction-controller", "evicted_by_affinity").unwrap_or(0.0)
            }
            FigureMetric::Moved => {
                let by = |who, what| counter(who, what).unwrap_or(0.0);
                by("descheduler", "pods_evicted") + by("rescheduler", "pods_moved")
            }
            FigureMetric::Conflicts => {
                let by = |who, what| counter(who, what).unwrap_or(0.0);
                by("schedulers", "calls_refused") + by("kubelet", "pods_refused")
            }
            FigureMetric::Counted => counter("countPods", "pods")?,
            FigureMetric::MostOnANode => counter("countPods", "most_on_a_node")?,
            FigureMetric::Pending => counter("countPods", "pending")?,
            FigureMetric::EvictionMedian => eviction_median(outcome)?,
            FigureMetric::BytesAtEnd => {
                let (nodes, pods) = outcome.engine_bytes;
                outcome.store_bytes as f64 + (nodes + pods) as f64
            }
            FigureMetric::AllBound => part.end_ns.saturating_sub(part.start_ns) as f64 / 1000.0,
            FigureMetric::ApiCalls => per_pod(result.api_calls.values().sum::<u64>() as f64),
            FigureMetric::BytesPerPod => result.memory.bytes_per_pod?,
        })
    }
}

/// Of all evictions of a run, by labels and by taints; none without one.
#[allow(clippy::cast_precision_loss, reason = "a time in microseconds is far below 2^53")]
fn eviction_median(outcome: &Outcome) -> Option<f64> {
    let report = outcome.controllers.iter().find(|it| it.controller == "taint-eviction-controller")?;
    let samples = &report.latency("pod_deletion")?.samples_us;
    let times: Vec<f64> = samples.iter().map(|time| *time as f64).collect();
    (!times.is_empty()).then(|| median(&times))
}
