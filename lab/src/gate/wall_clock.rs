//! The wall-clock half: two builds in two processes on one core, taking turns of a millisecond.
//!
//! Kernels that a look leaves open get further sessions, until they are decided, the looks are used
//! up or the time is; what each look may claim is the matter of [`Looks`].

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use schedlab_perf_dash::compare::Row;
use schedlab_perf_dash::gate::{
    Looks, Quartet, REFERENCE_STEPS, Session, kernel_row, reference_kernel, score,
};
use schedlab_perf_dash::stats::{Verdict, abba_order, median, middle_of_pairs, pairs_needed};

use super::kernels::{Filter, KernelSuite};
use super::noise::KernelFences;
use super::server::{Server, list};
use crate::LabError;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort<'a> {
    pub(super) suite: KernelSuite,
    pub(super) looks: Looks,
    pub(super) quartets: usize,
    /// No new session after so long, once there are enough for a verdict.
    pub(super) seconds_max: u64,
    pub(super) seed: u64,
    /// Set to end it early, with the sessions that are whole.
    pub(super) interrupt: &'a AtomicBool,
}

/// A block lasts about this long: several hundred times the cost of asking for it, and shorter than
/// the slice that the system gives a process that has just woken up.
const BLOCK_NS: f64 = 1e6;

/// One kernel, measured.
#[derive(Debug)]
pub struct Measured {
    /// The kernel's name.
    pub path: String,
    turns: usize,
    sessions: Vec<Session>,
    /// The same by the thread's own clock.
    cpu_sessions: Vec<Session>,
    decides_alike: bool,
}

/// All kernels of a run.
#[derive(Debug)]
pub struct WallClock {
    /// Those that both builds have.
    pub kernels: Vec<Measured>,
    pub(crate) unmatched: Vec<String>,
    pub(super) looks: Looks,
    /// The yardstick's rate beside each session.
    steps_per_s: Vec<f64>,
    /// It was interrupted: the last session is not whole, and kernels without any are among the unmatched.
    pub is_partial: bool,
}

/// Measures what both builds have.
pub(super) fn measure(
    [base, head]: [&Path; 2],
    effort: Effort<'_>,
    fences: &KernelFences,
    filter: &Filter,
) -> Result<WallClock, LabError> {
    let looks = effort.looks;
    let mut all = WallClock { looks, ..common_kernels([base, head], effort, filter)? };
    let started = Instant::now();
    let enough = pairs_needed(looks.confidence());
    for look in 0..looks.count {
        let is_open = |kernel: &Measured| look == 0 || kernel.is_open(fences, looks);
        let mut open: Vec<&mut Measured> = all.kernels.iter_mut().filter(|kernel| is_open(kernel)).collect();
        if open.is_empty() {
            break;
        }
        for number in all.steps_per_s.len()..looks.sessions_at(look) {
            if enough <= number && Duration::from_secs(effort.seconds_max) < started.elapsed() {
                return Ok(all);
            }
            let seed = effort.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
            let mut servers = start_both([base, head], effort, seed)?;
            match open.iter_mut().try_for_each(|kernel| kernel.session(&mut servers, effort.quartets, seed)) {
                Err(LabError::Interrupted) => return Ok(all.cut_short()),
                done => done?,
            }
            all.steps_per_s.push(reference_rate());
        }
    }
    Ok(all)
}

/// The kernels of both builds, not measured yet.
fn common_kernels(
    [base, head]: [&Path; 2],
    Effort { suite, interrupt, .. }: Effort<'_>,
    filter: &Filter,
) -> Result<WallClock, LabError> {
    let (of_base, of_head) = (list(base, suite, "timed", interrupt)?, list(head, suite, "timed", interrupt)?);
    let looks = Looks { first: 0, count: 1 };
    let mut all = WallClock {
        kernels: Vec::new(),
        unmatched: Vec::new(),
        looks,
        steps_per_s: Vec::new(),
        is_partial: false,
    };
    for path in of_base.iter().filter(|path| filter.takes(path)) {
        if of_head.contains(path) {
            all.kernels.push(Measured::new(path));
        } else {
            all.unmatched.push(format!("{path} (base only)"));
        }
    }
    let only_head = |path: &&String| filter.takes(path) && !of_base.contains(path);
    all.unmatched.extend(of_head.iter().filter(only_head).map(|path| format!("{path} (head only)")));
    if all.kernels.is_empty() {
        return Err(LabError::NoKernelLeft);
    }
    Ok(all)
}

/// Starts both, in a drawn order: the first to ask for memory gets other memory.
fn start_both<'a>(
    binaries: [&Path; 2],
    Effort { suite, interrupt, .. }: Effort<'a>,
    seed: u64,
) -> Result<[Server<'a>; 2], LabError> {
    let mut servers = [None, None];
    for at in abba_order(2, 1, !seed).concat().into_iter().take(2) {
        // Names of one length: see `Places`.
        servers[at] = Some(Server::start(binaries[at], ["base-copy", "head-copy"][at], suite, interrupt)?);
    }
    Ok(servers.map(|server| server.expect("an order of two names both")))
}

impl Measured {
    fn new(path: &str) -> Measured {
        Measured {
            path: path.to_owned(),
            turns: 0,
            sessions: Vec::new(),
            cpu_sessions: Vec::new(),
            decides_alike: true,
        }
    }

    fn session(&mut self, servers: &mut [Server<'_>; 2], quartets: usize, seed: u64) -> Result<(), LabError> {
        let is_asked_alike = self.turns != 0;
        if !is_asked_alike {
            self.turns = turns_of_a_block(&mut servers[0], &self.path)?;
        }
        // The second server has not been asked how long a block is: its first block warms it too.
        let mut answers = [Vec::new(), Vec::new()];
        for at in [0, 1] {
            servers[at].time(&self.path, self.turns)?;
        }
        let (mut wall, mut cpu) = (Session::default(), Session::default());
        for round in abba_order(2, quartets, seed) {
            let (mut wall_ns, mut cpu_ns) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
            for at in round {
                let timed = servers[at].time(&self.path, self.turns)?;
                wall_ns[at].push(timed.wall_ns);
                cpu_ns[at].push(timed.cpu_ns);
                answers[at].push(timed.answer);
            }
            wall.quartets.push(quartet(&wall_ns));
            cpu.quartets.push(quartet(&cpu_ns));
        }
        self.decides_alike &= !is_asked_alike || answers[0] == answers[1];
        self.sessions.push(wall);
        self.cpu_sessions.push(cpu);
        Ok(())
    }

    /// `head / base`, the middle of the sessions: what a build against itself adds to the history.
    pub(super) fn ratio(&self, looks: Looks) -> f64 {
        let ratios: Vec<f64> = self.sessions.iter().map(Session::ratio).collect();
        middle_of_pairs(&ratios, looks.confidence()).ratio
    }

    /// Whether more sessions could decide it.
    fn is_open(&self, fences: &KernelFences, looks: Looks) -> bool {
        self.row(&self.sessions, fences, looks).verdict == Verdict::Inconclusive
    }

    fn row(&self, sessions: &[Session], fences: &KernelFences, looks: Looks) -> Row {
        kernel_row(&self.path, sessions, self.turns, fences.of(&self.path), looks)
    }

    /// The row that is judged, and the same by processor time, which is shown.
    fn rows(&self, fences: &KernelFences, looks: Looks) -> [Row; 2] {
        let mut wall = self.row(&self.sessions, fences, looks);
        if !self.decides_alike {
            wall.note = Some("the builds decide differently, so they do different work".to_owned());
        }
        let mut cpu = self.row(&self.cpu_sessions, fences, looks).shown();
        cpu.metric.name = "processor time".to_owned();
        [wall, cpu]
    }
}

fn quartet([base, head]: &[Vec<f64>; 2]) -> Quartet {
    Quartet { base_ns: [base[0], base[1]], head_ns: [head[0], head[1]] }
}

/// Grows until a block is long enough; the second half of the growing warms the kernel.
fn turns_of_a_block(server: &mut Server<'_>, path: &str) -> Result<usize, LabError> {
    let mut turns = 1_usize;
    loop {
        let ns = server.time(path, turns)?.wall_ns.min(server.time(path, turns)?.wall_ns).max(1.0);
        if BLOCK_NS / 4.0 <= ns {
            return Ok(((turns as f64 * BLOCK_NS / ns).round() as usize).max(1));
        }
        turns *= 4;
    }
}

impl WallClock {
    /// What an interrupt has left of it.
    fn cut_short(mut self) -> WallClock {
        let (measured, missing): (Vec<_>, Vec<_>) =
            self.kernels.into_iter().partition(|kernel| !kernel.sessions.is_empty());
        self.unmatched.extend(missing.iter().map(|kernel| format!("{} (not measured)", kernel.path)));
        WallClock { kernels: measured, is_partial: true, ..self }
    }

    pub(super) fn session_count(&self) -> usize {
        self.steps_per_s.len()
    }

    /// The rows that are judged, each followed by one that is shown.
    #[must_use]
    pub fn rows(&self, fences: &KernelFences) -> Vec<Row> {
        self.kernels.iter().flat_map(|kernel| kernel.rows(fences, self.looks)).collect()
    }

    /// Head's rate in units of this machine's yardstick, a line a kernel; none without a whole session.
    pub(super) fn score_notes(&self, seed: u64) -> Vec<String> {
        if self.steps_per_s.is_empty() {
            return Vec::new();
        }
        let note = |kernel: &Measured| {
            let turns_per_s = |session: &Session| 1e9 * kernel.turns as f64 / session.head_ns();
            let rates: Vec<f64> = kernel.sessions.iter().map(turns_per_s).collect();
            let score = score(&rates, &self.steps_per_s, seed);
            format!(
                "score of {}: {:.1} turns per million reference steps ({:.1} … {:.1})",
                kernel.path, score.score, score.low, score.high
            )
        };
        let rate = median(&self.steps_per_s) / 1e6;
        let mut notes: Vec<String> = self.kernels.iter().map(note).collect();
        notes.push(format!("this machine: {rate:.0} million reference steps a second, beside the sessions"));
        notes
    }
}

/// The best of a few calls, for the reason that [`Session::head_ns`] is a low quantile.
pub(super) fn reference_rate() -> f64 {
    let once = |_| {
        let started = Instant::now();
        std::hint::black_box(reference_kernel(std::hint::black_box(1)));
        REFERENCE_STEPS as f64 / started.elapsed().as_secs_f64()
    };
    (0..3).map(once).fold(0.0, f64::max)
}
