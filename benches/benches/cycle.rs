//! What the kernels of the suite cost in time, by cluster size; see `schedlab_benches::suite`.
//!
//! All single-threaded; `crossover` is about threads.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

mod settings;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use schedlab_benches::suite::{Kernel, Prepared, kernels};
use schedlab_benches::timing::sample;
use settings::criterion_settings;

fn suite(criterion: &mut Criterion) {
    for kernel in kernels() {
        // Made when criterion first asks: the command line may have filtered this one out.
        let mut prepared = None;
        criterion.bench_function(&kernel.path(), |bencher| {
            let prepared = prepared.get_or_insert_with(|| checked(&kernel));
            bencher.iter_custom(|count| {
                let turns = usize::try_from(count).unwrap_or(usize::MAX);
                Duration::from_nanos(sample(prepared, turns).wall_ns)
            });
        });
    }
}

/// Nobody makes it fast by making it wrong.
fn checked(kernel: &Kernel) -> Prepared {
    kernel.assert_right();
    kernel.prepare()
}

criterion_group! {
    name = cycle;
    config = criterion_settings();
    targets = suite
}
criterion_main!(cycle);
