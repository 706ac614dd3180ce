//! Studies of a suite: every variant of every point in turns, as `schedlab ab` runs its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use schedlab_perf_dash::figure::{CellSamples, figure};
use schedlab_perf_dash::stats::abba_order;
use schedlab_workloads::assemble::{Assembly, Run, workload_results};
use schedlab_workloads::executor::{ConfigFile, Control, Ending, Outcome};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::{ResolvedWorkload, Selection, Suite};
use schedlab_workloads::results::{Figure, FigureMetric, Stage, WorkloadResult};
use schedlab_workloads::source::DiskSource;
use schedlab_workloads::study::{Cell, STUDY_FILE_NAME, Study, parse_studies};
use schedlab_workloads::suites;

use super::{ab, run};
use crate::args::{RunArgs, SelectArgs};
use crate::progress::Bar;

/// kube-scheduler's `parallelism` when nobody sets it.
const DEFAULT_PARALLELISM: u32 = 16;

/// Studies and the suite whose workloads they run.
pub(super) struct Studies {
    suite: Suite,
    studies: Vec<Study>,
}

/// The studies that were asked for: of a built-in suite, or of the one folder given by --config.
/// `None` when workloads were asked for.
pub(super) fn of(args: &SelectArgs) -> Result<Option<Studies>> {
    if let Some(name) = args.suite.as_deref().filter(|_| args.config.is_empty()) {
        let studies = suites::studies(name)?;
        if studies.is_empty() {
            return Ok(None);
        }
        return Ok(Some(Studies { suite: suites::load(name)?, studies }));
    }
    let ([folder], None) = (args.config.as_slice(), &args.suite) else { return Ok(None) };
    let file = folder.join(STUDY_FILE_NAME);
    if !file.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let studies = parse_studies(&file.display().to_string(), &text)?;
    Ok(Some(Studies { suite: Suite::load(Arc::new(DiskSource), folder)?, studies }))
}

/// What is run for a cell, and what it measured.
struct Runs {
    args: RunArgs,
    workload: ResolvedWorkload,
    samples: CellSamples,
}

/// A study with the points of it that are wanted.
pub(super) type Wanted = (Study, Vec<Vec<Cell>>);

/// What the flags ask for of the studies.
pub(super) fn wanted(args: &RunArgs, found: &Studies) -> Result<Vec<Wanted>> {
    let names =
        args.select.filter.as_deref().map(|filter| Selection::all().with_names(filter)).transpose()?;
    let mut wanted = Vec::new();
    for study in &found.studies {
        let is_wanted = |cell: &Cell| {
            let name = format!("{}/{}", study.name, cell.workload);
            names.as_ref().is_none_or(|names| names.takes_name(&name))
        };
        let points: Vec<Vec<Cell>> =
            study.points().into_iter().filter(|cells| cells.iter().all(is_wanted)).collect();
        if !points.is_empty() {
            wanted.push((Study { rounds: args.rounds.unwrap_or(study.rounds), ..study.clone() }, points));
        }
    }
    if wanted.is_empty() {
        let names: Vec<&str> = found.studies.iter().map(|study| study.name.as_str()).collect();
        bail!(
            "no point of a study matches --filter; it is matched against STUDY/TestCase/Workload, and the \
               studies are {}",
            names.join(", ")
        );
    }
    Ok(wanted)
}

/// Runs the studies and makes their figures. An interrupt keeps what was measured.
pub(super) fn run(args: &RunArgs, found: &Studies, interrupt: &AtomicBool) -> Result<Vec<Figure>> {
    let wanted = wanted(args, found)?;
    let mut figures = Vec::new();
    for (at, study) in wanted.iter().enumerate() {
        if !interrupt.load(Ordering::Relaxed) {
            figures.push(run_study(args, found, study, (at, wanted.len()), interrupt)?);
        }
    }
    Ok(figures)
}

/// Runs points of a study.
pub(super) fn run_study(
    args: &RunArgs,
    found: &Studies,
    (study, points): &Wanted,
    place: (usize, usize),
    interrupt: &AtomicBool,
) -> Result<Figure> {
    let workloads = found.suite.resolve(&Selection::all())?;
    let prepare_all = |cells: &Vec<Cell>| {
        cells.iter().map(|cell| prepare(args, cell.clone(), &workloads)).collect::<Result<Vec<Runs>>>()
    };
    let mut runs: Vec<Vec<Runs>> = points.iter().map(prepare_all).collect::<Result<_>>()?;
    measure(study, &mut runs, place, interrupt)?;
    let points: Vec<Vec<CellSamples>> =
        runs.into_iter().map(|cells| cells.into_iter().map(|cell| cell.samples).collect()).collect();
    Ok(figure(study, &points, args.seed))
}

fn prepare(args: &RunArgs, cell: Cell, workloads: &[ResolvedWorkload]) -> Result<Runs> {
    let name = format!("{} at {}", cell.variant, cell.point.join(", "));
    let mut own = ab::parse_flags(&name, &cell.flags)?;
    own.seed = args.seed;
    own.threads = own.threads.or(args.threads);
    let Some(workload) = workloads.iter().find(|workload| workload.full_name == cell.workload) else {
        bail!("variant {name:?} names workload {:?}, which the suite does not have", cell.workload);
    };
    let samples = CellSamples { point: cell.point, variant: cell.variant, samples: BTreeMap::new() };
    Ok(Runs { args: own, workload: workload.clone(), samples })
}

/// Round after round over all points, each variant there and back.
fn measure(
    study: &Study,
    points: &mut [Vec<Runs>],
    (at, count): (usize, usize),
    interrupt: &AtomicBool,
) -> Result<()> {
    let bar = Bar::new(&study.title, at, count);
    let registry = lab_plugins::registry();
    let control = Control { interrupt, progress: &bar, registry: &registry, config_file: ConfigFile::Fixed };
    // What a process does for the first time is nobody's cost.
    for cell in points.first_mut().into_iter().flatten() {
        run::run_once(&cell.args, &cell.workload, control)?;
    }
    for order in abba_order(study.variants.len(), study.rounds as usize, 0) {
        for cells in points.iter_mut() {
            for &at in &order {
                let cell = &mut cells[at];
                let outcome = run::run_once(&cell.args, &cell.workload, control)?;
                if interrupt.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if let Ending::Stuck(why) = &outcome.ending {
                    bail!("{}: {}: {why}", cell.workload.full_name, cell.samples.variant);
                }
                cell.take(&study.metrics, outcome);
            }
        }
    }
    bar.clear();
    Ok(())
}

impl Runs {
    fn take(&mut self, metrics: &[FigureMetric], outcome: Outcome) {
        let settings = run::settings(&self.args);
        let run = Run { outcome, machine_speed: None };
        let assembly = Assembly::without_warnings(&self.workload, settings);
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
        let readings = &outcome.collected.last()?.readings;
        let ways = f64::from(self.args.parallelism.unwrap_or(DEFAULT_PARALLELISM));
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
            FigureMetric::Patches => calls("PATCH pods/status"),
            FigureMetric::Events => calls("POST events") + calls("PUT events"),
            FigureMetric::Repeated => outcome.gates.repeated as f64,
            FigureMetric::Throughput => result.throughput.total,
            FigureMetric::EndToEnd => result.latency_us.get(&Stage::EndToEnd)?.p50,
        })
    }
}
