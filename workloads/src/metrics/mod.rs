//! kube-scheduler's metrics: the table of what there is, and the figures of a run by metric and labels.
//!
//! ```text
//! meters (durations) ──┐
//! scheduler (counts) ──┼─▶ Series ─┬─▶ Prometheus text (schedlab-perf-dash)
//! binder (calls) ──────┘           ├─▶ result.json `metrics`, and `latency_us` by stage
//!                                  └─▶ perf-dash JSON, as `metricsCollectorConfig` asks
//! ```

mod collect;
mod series;
mod spread;
pub mod table;
mod upstream;

pub use collect::collected;
pub use series::{Key, MetricSeries, MetricValue, MetricValues, Value};
pub use spread::{HistogramSummary, MetricSpread, new_histogram};
pub use table::{Buckets, Covers, Kind, Metric, Stability, TABLE};
pub use upstream::{LEFT_OUT, UnmeasuredMetric};
