//! Instructions of the suite's kernels, counted by callgrind through gungraun. The same binary and
//! seed give the same count, to the instruction. `schedlab gate` counts the same kernels of two
//! builds and needs valgrind only; this bench is for looking at one build, with gungraun's cache
//! misses and estimated cycles.
//!
//! Needs valgrind (`apt install valgrind`) and the runner of gungraun's version:
//! `cargo install gungraun-runner --version 0.20.0`. It is looked for in `PATH`; built elsewhere,
//! name it when the bench is compiled: `GUNGRAUN_RUNNER=/path/to/gungraun-runner cargo bench ...`.
//! Without them the kernels are run once, uncounted, and the bench says what is missing. It uses
//! the system's allocator, as every bench does, because callgrind cannot count others evenly.
#![allow(clippy::print_stdout, reason = "it says what is missing")]

use std::path::{Path, PathBuf};

use schedlab_benches::RunMode;
use schedlab_benches::suite::{Kernel, Prepared, counted_kernels};
use schedlab_core::reference::Reference;

fn main() {
    let is_counted_child = std::env::args().nth(1).is_some_and(|arg| arg == "--gungraun-run");
    match (is_counted_child, RunMode::from_args()) {
        (true, _) => counted::run(),
        (false, RunMode::List) => {}
        (false, RunMode::Test) => run_uncounted(),
        (false, RunMode::Measure) => match missing_tool() {
            None => counted::run(),
            Some(advice) => {
                println!("instructions: not counted, {advice}");
                run_uncounted();
            }
        },
    }
}

/// What is missing, and what to do about it.
fn missing_tool() -> Option<&'static str> {
    if !is_in_path("valgrind") {
        return Some("valgrind is missing: install it, for example with `apt install valgrind`");
    }
    let runner =
        option_env!("GUNGRAUN_RUNNER").map_or_else(|| PathBuf::from("gungraun-runner"), PathBuf::from);
    if runner.is_absolute() && runner.is_file() || is_in_path(runner.to_str().unwrap_or_default()) {
        return None;
    }
    Some(
        "gungraun-runner is missing: `cargo install gungraun-runner --version 0.20.0`, the version \
         of gungraun in Cargo.lock",
    )
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}

/// Runs every kernel once on the checked inputs.
fn run_uncounted() {
    for kernel in counted_kernels() {
        kernel.assert_right();
        let turns = kernel.counted_turns();
        let answers = [kernel.prepare(), kernel.prepare()].map(|mut prepared| prepared.batch(turns));
        assert_eq!(answers[0], answers[1], "{}", kernel.path());
    }
    let answers = [Reference::default(), Reference::default()].map(reference_turns);
    assert_eq!(answers[0], answers[1], "the reference kernel");
}

fn reference_turns(mut reference: Reference) -> u64 {
    (0..REFERENCE_TURNS).fold(0, |sum, _| sum ^ reference.turn())
}

/// Turns of the reference kernel that are counted.
const REFERENCE_TURNS: u32 = 20;

fn prepared(kernel: Kernel) -> (Prepared, usize) {
    (kernel.prepare(), kernel.counted_turns())
}

/// What gungraun's macros make.
#[allow(missing_docs, clippy::unwrap_used, clippy::print_stderr, reason = "made by gungraun's macros")]
mod counted {
    use gungraun::{library_benchmark, library_benchmark_group};
    use schedlab_benches::suite::{Prepared, counted_kernels, measured_batch};

    use super::{Reference, prepared, reference_turns};

    // The n-th is the n-th of `counted_kernels`.
    #[library_benchmark]
    #[benches::kernel(iter = counted_kernels(), setup = prepared)]
    fn suite((mut prepared, turns): (Prepared, usize)) -> u64 {
        let answer = measured_batch(&mut prepared, turns);
        // Freeing the cluster is not the kernel's work.
        std::mem::forget(prepared);
        answer
    }

    // What normalised figures are divided by.
    #[library_benchmark]
    #[bench::turns(setup = Reference::default)]
    fn reference(reference: Reference) -> u64 {
        reference_turns(reference)
    }

    library_benchmark_group!(name = kernels, benchmarks = [suite, reference]);
    gungraun::main!(library_benchmark_groups = kernels);

    pub(super) fn run() {
        for (at, kernel) in counted_kernels().iter().enumerate() {
            println!("kernel_{at}: {}", kernel.path());
        }
        main();
    }
}
