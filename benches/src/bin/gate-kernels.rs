//! The kernels of a build for `schedlab gate`, in a binary of their own: it needs the engine and
//! nothing else, so a revision is built in a fraction of the time, and it has the system's
//! allocator, which callgrind counts evenly.
//!
//! ```text
//! gate-kernels list SUITE    what is timed, and what is counted
//! gate-kernels serve SUITE   times what standard input asks for
//! gate-kernels count SUITE   runs each counted kernel once, for callgrind
//! gate-kernels load SECONDS  keeps a core and the shared cache busy, for scripts/gate-proof
//! ```

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use schedlab_benches::serve::serve;
use schedlab_benches::suite::{GateSuite, measured_batch};

fn main() -> ExitCode {
    plant();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [verb, suite] if GateSuite::named(suite).is_some() => {
            let suite = GateSuite::named(suite).unwrap_or(GateSuite::Short);
            match *verb {
                "list" => list(suite),
                "serve" => serve(suite, io::stdin().lock(), io::stdout().lock()),
                "count" => count(suite),
                _ => usage(),
            }
        }
        ["load", seconds] => seconds.parse().map_or_else(|_| usage(), load),
        _ => usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "gate-kernels: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> io::Result<()> {
    Err(io::Error::other("usage: gate-kernels list|serve|count short|full, or gate-kernels load SECONDS"))
}

fn list(suite: GateSuite) -> io::Result<()> {
    let mut out = io::stdout().lock();
    suite.timed().iter().try_for_each(|kernel| writeln!(out, "timed {}", kernel.path()))?;
    suite.counted().iter().try_for_each(|kernel| writeln!(out, "counted {}", kernel.path()))
}

/// Callgrind dumps its counts whenever `measured_batch` returns, so the n-th dump is the n-th line.
fn count(suite: GateSuite) -> io::Result<()> {
    for kernel in suite.counted() {
        let mut prepared = kernel.prepare();
        let turns = kernel.counted_turns();
        // Twice off the record: nothing that grows grows in the counted batch.
        for _ in 0..2 {
            prepared.batch(turns);
            prepared.restore();
        }
        let answer = measured_batch(&mut prepared, turns);
        writeln!(io::stdout(), "{} {turns} {answer}", kernel.path())?;
    }
    Ok(())
}

/// Streams through more memory than the last cache holds, as a build or another test does.
fn load(seconds: u64) -> io::Result<()> {
    const WORDS: usize = 8 << 20;
    let mut memory: Vec<u64> = (0..WORDS as u64).collect();
    let started = Instant::now();
    let mut sum = 0_u64;
    while started.elapsed() < Duration::from_secs(seconds) {
        for chunk in memory.chunks_mut(4096) {
            for word in chunk {
                *word = word.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7);
                sum ^= *word;
            }
        }
    }
    writeln!(io::stdout(), "{sum}")
}

/// The size of the planted slowdown, in a build that has one.
fn plant() {
    #[cfg(feature = "planted")]
    {
        let steps = std::env::var("SCHEDLAB_PLANTED_STEPS").ok().and_then(|text| text.trim().parse().ok());
        schedlab_core::planted::set_steps_per_kilorow(steps.unwrap_or(0));
    }
}
