//! Inline or parallel: at which size does handing chunks to other threads pay, and does the engine
//! choose well? A table of Filter and Score over 100 % of the nodes without cache, for 1 to 64 ways
//! and 100 to 100,000 nodes, on all cores.
//!
//! All engines take turns within one run, in short samples. `ratio` is the engine that chooses
//! against the better one of the two that do not: the median over rounds of the ratio of two
//! neighbours, with its bootstrap interval. The better one is the one with the lower median ratio to
//! the other, not the lower figure of each round: the lower of two noisy figures is too low.
//! A cell is measured until its interval lies on one side of 5 %, or for so many rounds that it
//! never will. `looks` is what the choosing engine spends on trying the other way now and then:
//! its mean over its median, against the same of the better way. The inline engine runs twice:
//! `A/A` is what the same ratio says of equal things.
//!
//! Exit code 1 when the choice is more than 5 % off somewhere, 4 when the machine is too noisy to
//! say so of some cell, as everywhere in schedlab.
//!
//! What is printed holds for this machine as busy as it is now: a second thread on a core that is
//! not free, or that shares its units with the first, never pays.
#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use schedlab_benches::check::reference_settings;
use schedlab_benches::cluster::WarmCluster;
use schedlab_benches::pods::PodKind;
use schedlab_benches::{RunMode, SEED, now_ns};
use schedlab_core::cycle::engine::{Engine, EngineSettings};
use schedlab_core::cycle::parallelize::Ways;
use schedlab_core::cycle::probe::NoProbe;
use schedlab_stats::{Interval, median, ratio_of_pairs};

/// The engine that chooses may cost this much more than the better way.
const GOAL: f64 = 1.05;

struct Size {
    parallelism: &'static [usize],
    node_counts: &'static [usize],
    /// Decisions before the first sample.
    warm_up: usize,
    /// Rounds between two looks at the verdict.
    rounds: usize,
    rounds_max: usize,
    /// A sample is as many decisions as take about this long inline.
    sample: Duration,
}

const MEASURE: Size = Size {
    parallelism: &[1, 2, 4, 8, 16, 32, 64],
    node_counts: &[100, 1000, 5000, 20_000, 100_000],
    warm_up: 160,
    rounds: 40,
    rounds_max: 400,
    sample: Duration::from_micros(400),
};
const TEST: Size = Size {
    parallelism: &[1, 16],
    node_counts: &[100, 1000],
    warm_up: 24,
    rounds: 3,
    rounds_max: 3,
    sample: Duration::from_micros(10),
};

fn main() {
    let mode = RunMode::from_args();
    let size = match mode {
        RunMode::Measure => MEASURE,
        RunMode::Test => TEST,
        RunMode::List => return,
    };
    let pool = rayon::ThreadPoolBuilder::new().build().expect("a pool of all cores");
    println!("Filter and Score, uncached, 100 % of the nodes, {} threads", pool.current_num_threads());
    println!(
        "ns per decision, medians of {} to {} interleaved samples (core only)",
        size.rounds, size.rounds_max
    );
    println!(" nodes  ways      inline    parallel    measured  ratio [95 %]            looks   A/A  rounds");
    let mut cells = Vec::new();
    for &node_count in size.node_counts {
        let mut cluster = WarmCluster::new(node_count, 100);
        for &parallelism in size.parallelism {
            // As the runtime does: the loop runs inside the pool it hands chunks to.
            let cell = pool.install(|| measure(&mut cluster, parallelism, &size));
            println!("{:>6} {:>5} {cell}", node_count, parallelism);
            cells.push((node_count, parallelism, cell));
        }
    }
    let worst = conclude(&cells);
    // Times of a test say nothing.
    if mode == RunMode::Measure {
        std::process::exit(worst.exit_code());
    }
}

/// Says how well ways were chosen, and how badly at worst.
fn conclude(cells: &[(usize, usize, Cell)]) -> Verdict {
    let in_state = |wanted: Verdict| {
        cells.iter().filter(move |(_, _, cell)| cell.verdict() == wanted).map(|(nodes, ways, cell)| {
            format!(
                "  {nodes} nodes, {ways} ways: {:.3} [{:.3}, {:.3}]",
                cell.ratio.ratio, cell.ratio.low, cell.ratio.high
            )
        })
    };
    let over: Vec<String> = in_state(Verdict::Over).collect();
    let unsure: Vec<String> = in_state(Verdict::Unsure).collect();
    let well = cells.len() - over.len() - unsure.len();
    println!("the choice is within 5 % of the better way in {well} of {} cells", cells.len());
    for (what, lines) in
        [("more than 5 % off", over), ("too noisy to say; run it on a quieter machine", unsure)]
    {
        if !lines.is_empty() {
            println!("{what}:");
            lines.iter().for_each(|line| println!("{line}"));
        }
    }
    cells.iter().map(|(_, _, cell)| cell.verdict()).max().unwrap_or(Verdict::Within)
}

/// How well a way was chosen, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Within,
    Unsure,
    Over,
}

impl Verdict {
    fn exit_code(self) -> i32 {
        match self {
            Verdict::Within => 0,
            Verdict::Over => 1,
            Verdict::Unsure => 4,
        }
    }
}

/// Medians in nanoseconds per decision, and ratios of samples of the same round.
struct Cell {
    inline: f64,
    parallel: f64,
    measured: f64,
    ratio: Interval,
    looks: f64,
    same: Interval,
    rounds: usize,
}

impl Cell {
    fn new([inline, parallel, measured, inline_again]: &[Vec<f64>; 4]) -> Cell {
        let paired = |of: &[f64], to: &[f64]| {
            ratio_of_pairs(&of.iter().zip(to).map(|(of, to)| of / to).collect::<Vec<f64>>(), SEED)
        };
        let better = if paired(parallel, inline).ratio < 1.0 { parallel } else { inline };
        Cell {
            inline: median(inline),
            parallel: median(parallel),
            measured: median(measured),
            ratio: paired(measured, better),
            looks: skew(measured) / skew(better),
            same: paired(inline_again, inline),
            rounds: inline.len(),
        }
    }

    /// Only an interval on one side of the goal says anything.
    fn verdict(&self) -> Verdict {
        match self.ratio {
            Interval { high, .. } if high <= GOAL => Verdict::Within,
            Interval { low, .. } if low <= GOAL => Verdict::Unsure,
            _ => Verdict::Over,
        }
    }
}

/// The mean over the median, without the tenth of the samples that was interrupted most.
#[allow(clippy::cast_precision_loss, reason = "few samples")]
fn skew(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.truncate((samples.len() * 9).div_ceil(10));
    sorted.iter().sum::<f64>() / sorted.len() as f64 / median(samples)
}

impl std::fmt::Display for Cell {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = match self.verdict() {
            Verdict::Within => "",
            Verdict::Unsure => "  unsure",
            Verdict::Over => "  over",
        };
        let Cell { inline, parallel, measured, ratio, looks, same, rounds } = self;
        write!(out, "{inline:>11.0} {parallel:>11.0} {measured:>11.0}")?;
        write!(out, "  {:.3} [{:.3}, {:.3}]", ratio.ratio, ratio.low, ratio.high)?;
        write!(out, "  {looks:.3}  {:.3}  {rounds:>4}{verdict}", same.ratio)
    }
}

fn measure(cluster: &mut WarmCluster, parallelism: usize, size: &Size) -> Cell {
    let ways = [Ways::Inline, Ways::Parallel, Ways::Measured(now_ns), Ways::Inline];
    let mut engines =
        ways.map(|ways| Engine::new(EngineSettings { ways, parallelism, ..reference_settings() }));
    let per_sample = warm_up(cluster, &mut engines, size);
    let mut samples = [const { Vec::new() }; 4];
    loop {
        for round in 0..size.rounds {
            take_turns(cluster, &mut engines, (round, per_sample), &mut samples);
        }
        let cell = Cell::new(&samples);
        if cell.verdict() != Verdict::Unsure || samples[0].len() >= size.rounds_max {
            return cell;
        }
    }
}

/// One sample of each engine.
fn take_turns(
    cluster: &mut WarmCluster,
    engines: &mut [Engine; 4],
    (round, per_sample): (usize, usize),
    samples: &mut [Vec<f64>; 4],
) {
    for turn in 0..4 {
        // Forwards and backwards in turn, so that drift hits all alike.
        let at = if round % 2 == 0 { turn } else { 3 - turn };
        let start = Instant::now();
        for _ in 0..per_sample {
            decide(cluster, &mut engines[at]);
        }
        #[allow(clippy::cast_precision_loss, reason = "a sample lasts milliseconds")]
        samples[at].push(start.elapsed().as_nanos() as f64 / per_sample as f64);
    }
}

/// Lets every engine decide often enough to have tried both ways several times, asserts that all
/// decide alike, and returns how many decisions make a sample.
fn warm_up(cluster: &mut WarmCluster, engines: &mut [Engine; 4], size: &Size) -> usize {
    const DECISIONS: usize = 24;
    for turn in 0..size.warm_up {
        let chosen = engines.each_mut().map(|engine| decide(cluster, engine));
        assert!(chosen.iter().all(|row| *row == chosen[0]), "decision {turn}: rows {chosen:?}");
    }
    let start = Instant::now();
    for _ in 0..DECISIONS {
        decide(cluster, &mut engines[0]);
    }
    let per_decision = start.elapsed() / u32::try_from(DECISIONS).expect("few");
    let wanted = size.sample.as_nanos() / per_decision.as_nanos().max(1);
    usize::try_from(wanted).unwrap_or(1).clamp(1, 1000)
}

fn decide(cluster: &mut WarmCluster, engine: &mut Engine) -> usize {
    let class = cluster.class(PodKind::Plain);
    let decision = engine.schedule_pod(black_box(&mut cluster.world), &cluster.profile, class, &mut NoProbe);
    schedlab_benches::check::chosen_row(&decision)
}
