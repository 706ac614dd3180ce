//! What all benches share: warm clusters, pods, the suite of kernels, checks of answers, statistics.
//!
//! ```text
//! benches/cycle.rs         time of the suite's kernels                        criterion
//! benches/inputs.rs        quantities, specs, nodes: what events bring        criterion
//! benches/instructions.rs  instructions of the suite's kernels                gungraun
//! src/bin/gate-kernels.rs  both, driven by `schedlab gate` and `cargo bench`  ABBA, callgrind
//! benches/plugins/         every plugin alone, per node, beside its plain twin  own loop, a table
//! benches/crossover.rs     inline against parallel, and which one is chosen   own loop, a table
//! benches/measuring.rs     what recording costs a run                         own loop, ABBA
//! benches/loop_cost.rs     queue, dispatcher, nominator, gates on and off      own loop, a table
//! benches/memory.rs        bytes per node and per pending pod                 counting allocator
//! ```
//!
//! A bench asserts its answer before it is timed ([`check`]); all inputs come from
//! [`cluster::WarmCluster`], which has seen churn, holes and skew. With `--test`, or under
//! `cargo test`, every bench runs once on a small input.

pub mod check;
pub mod cluster;
pub mod pods;
pub mod serve;
pub mod suite;
pub mod timing;

use std::sync::OnceLock;
use std::time::Instant;

/// The seed of every cluster and every draw.
pub const SEED: u64 = 17;

/// The clock that the engine is lent to measure its ways by.
#[must_use]
pub fn now_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// How a bench with a loop of its own is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// To measure.
    Measure,
    /// Once, on a small input, to see that it works.
    Test,
    /// Not at all: somebody asks which tests there are.
    List,
}

impl RunMode {
    /// As criterion reads the command line: cargo passes `--bench` only when it benches.
    #[must_use]
    pub fn from_args() -> RunMode {
        let has = |wanted: &str| std::env::args().any(|arg| arg == wanted);
        if has("--list") {
            RunMode::List
        } else if has("--bench") && !has("--test") {
            RunMode::Measure
        } else {
            RunMode::Test
        }
    }
}
