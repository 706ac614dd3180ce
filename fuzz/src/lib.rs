//! Mutated inputs for every reader.
//!
//! ```text
//! our own files ─corpus─▶ mutate (tree or text, from a number) ─▶ target ─▶ panic? slower than 20 s?
//! ```
//!
//! An input is a target and a number: the same number gives the same bytes, so a finding is replayed
//! by `cargo run -p schedlab-fuzz -- TARGET NUMBER`. `cargo test` runs the first numbers of each
//! target; `scripts/fuzz N` runs as many as one likes, in processes of their own, because a stack that
//! overflows ends a process.
//!
//! Why not cargo-fuzz? It needs a nightly compiler. Bolero runs on stable, but without coverage its
//! inputs are random bytes, which no reader here lets past its first line; these begin from files
//! that are read, and most of them still are.

mod corpus;
mod mutate;
mod rng;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

pub use corpus::Corpus;
pub use targets::{TARGETS, Target};

use mutate::mutated;
use rng::Rng;

/// An input that takes longer is a hang.
pub const HANG: Duration = Duration::from_secs(20);

/// Files are read on the main thread, which has so much; those of tests have a quarter of it, too
/// little for 64 levels of YAML in a build that is not optimised.
const STACK_BYTES: usize = 8 << 20;

/// What a run of inputs found.
#[derive(Debug, Default)]
pub struct Found {
    /// Inputs that were given.
    pub inputs: u64,
    /// Of them, those that were read without an error.
    pub accepted: u64,
    /// Numbers of inputs on which the target panicked.
    pub panics: Vec<u64>,
    /// Numbers of inputs that took longer than [`HANG`].
    pub hangs: Vec<u64>,
    /// The longest, and its number.
    pub slowest: (Duration, u64),
}

/// The input of a number.
#[must_use]
pub fn input(target: &Target, corpus: &Corpus, number: u64) -> Vec<u8> {
    // The first are the seeds as they are.
    match usize::try_from(number).ok().and_then(|at| corpus.plain(target).nth(at)) {
        Some(seed) => seed.clone(),
        None => mutated(corpus.seeds(target), &mut Rng::new(number ^ target.salt())),
    }
}

/// Gives a target the inputs of a range of numbers. Says on the way which one is being tried when it
/// takes too long.
pub fn run(target: &Target, corpus: &Corpus, numbers: std::ops::Range<u64>, on_hang: fn(&str, u64)) -> Found {
    quiet_panics();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let running = thread.spawn_scoped(scope, || run_here(target, corpus, numbers, on_hang));
        let running = running.expect("a thread can be made");
        running.join().expect("panics of targets are caught")
    })
}

fn run_here(
    target: &Target,
    corpus: &Corpus,
    numbers: std::ops::Range<u64>,
    on_hang: fn(&str, u64),
) -> Found {
    let current = Arc::new(AtomicU64::new(u64::MAX));
    let _watch = Watch::start(target.name, &current, on_hang);
    let mut found = Found::default();
    for number in numbers {
        let bytes = input(target, corpus, number);
        let started = Instant::now();
        current.store(number, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(&bytes)));
        current.store(u64::MAX, Ordering::Relaxed);
        let took = started.elapsed();
        found.inputs += 1;
        match outcome {
            Ok(is_accepted) => found.accepted += u64::from(is_accepted),
            Err(_) => found.panics.push(number),
        }
        if HANG < took {
            found.hangs.push(number);
        }
        found.slowest = found.slowest.max((took, number));
    }
    found
}

/// Findings are counted; a thousand backtraces help nobody. `SCHEDLAB_FUZZ_PANICS=1` prints them.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("SCHEDLAB_FUZZ_PANICS").is_none() {
            let default = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // Only the threads that are given inputs keep quiet: a test that fails says why.
                let is_ours = info.location().is_some_and(|at| !at.file().contains("fuzz/"));
                if !is_ours {
                    default(info);
                }
            }));
        }
    });
}

/// Tells of an input that does not end.
struct Watch(Arc<std::sync::atomic::AtomicBool>);

impl Watch {
    fn start(name: &'static str, current: &Arc<AtomicU64>, on_hang: fn(&str, u64)) -> Watch {
        let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (over, current) = (Arc::clone(&is_over), Arc::clone(current));
        std::thread::spawn(move || {
            let (mut seen, mut since) = (u64::MAX, Instant::now());
            while !over.load(Ordering::Relaxed) {
                let now = current.load(Ordering::Relaxed);
                if now != seen {
                    (seen, since) = (now, Instant::now());
                } else if now != u64::MAX && HANG < since.elapsed() {
                    on_hang(name, now);
                    since = Instant::now();
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Watch(is_over)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
