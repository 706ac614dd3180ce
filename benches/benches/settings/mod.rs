//! The one criterion configuration.

use std::time::Duration;

use criterion::Criterion;

/// Short, because what is measured takes microseconds and the machine is shared. The command line can still
/// ask for more.
pub(crate) fn criterion_settings() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .without_plots()
        .configure_from_args()
}
