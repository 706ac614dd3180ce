//! Studies of a suite: flags in, a bar meanwhile, figures out.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Error, Result};
use schedlab_lab::run::RunPlan;
use schedlab_lab::study::{SessionControl, Studies, Wanted, cell_name};
use schedlab_workloads::results::Figure;
use schedlab_workloads::study::Cell;

use super::{ab, run};
use crate::args::{RunArgs, SelectArgs};
use crate::progress::Bar;

/// The studies that were asked for: of a built-in suite, or of the one folder given by --config.
/// `None` when workloads were asked for.
pub(super) fn of(args: &SelectArgs) -> Result<Option<Studies>> {
    Ok(match (args.config.as_slice(), &args.suite) {
        ([], Some(name)) => Studies::of_suite(name)?,
        ([folder], None) => Studies::of_folder(folder)?,
        _ => None,
    })
}

/// What the flags ask for of the studies.
pub(super) fn wanted(args: &RunArgs, found: &Studies) -> Result<Vec<Wanted>> {
    Ok(found.wanted(args.select.filter.as_deref(), args.rounds)?)
}

/// Figures, and why they are not all there, or not whole.
pub(super) type Figures = (Vec<Figure>, Option<Error>);

/// Runs the studies and makes their figures. An interrupt keeps what was measured, and so does an error.
pub(super) fn run(args: &RunArgs, found: &Studies, interrupt: &AtomicBool) -> Result<Figures> {
    let wanted = wanted(args, found)?;
    let mut figures = Vec::new();
    for (at, study) in wanted.iter().enumerate() {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let (figure, failure) = run_study(args, found, study, (at, wanted.len()), interrupt)?;
        figures.push(figure);
        if failure.is_some() {
            return Ok((figures, failure));
        }
    }
    Ok((figures, None))
}

/// Runs points of a study. What was measured before an error is in the figure.
pub(super) fn run_study(
    args: &RunArgs,
    found: &Studies,
    wanted: &Wanted,
    (at, count): (usize, usize),
    interrupt: &AtomicBool,
) -> Result<(Figure, Option<Error>)> {
    let plans = plans(args, wanted)?;
    let bar = Bar::new(&wanted.0.title, at, count);
    let figure = found.run(wanted, plans, SessionControl { progress: &bar, interrupt }, args.seed);
    bar.clear();
    let (figure, failure) = figure?;
    Ok((figure, failure.map(Error::from)))
}

/// How every cell of a study runs.
pub(super) fn plans(args: &RunArgs, (_, points): &Wanted) -> Result<Vec<Vec<RunPlan>>> {
    let plans_of = |cells: &Vec<Cell>| cells.iter().map(|cell| plan(args, cell)).collect::<Result<_>>();
    points.iter().map(plans_of).collect()
}

/// How a cell runs: its own flags, with the seed of all and, unless it has its own, their threads.
fn plan(args: &RunArgs, cell: &Cell) -> Result<RunPlan> {
    let mut own = ab::parse_flags(&cell_name(cell), &cell.flags)?;
    own.seed = args.seed;
    own.threads = own.threads.or(args.threads);
    run::plan(&own)
}
