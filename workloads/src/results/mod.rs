//! What a run found, and the files that say it.
//!
//! ```text
//! collectors -> RunResult -> write_result_json   schedlab-result/v1, everything we know
//!                         -> write_data_items    upstream's perf-dash JSON, one file a suite
//!                         -> write_bench_text    Go benchmark text, for benchstat
//!                         -> schedlab-perf-dash  the HTML report
//! ```
//!
//! Invariants: every number is finite (JSON has no NaN), every map is ordered, nothing here
//! reads a clock. The same `RunResult` gives the same bytes.

mod bench_text;
mod change;
mod claims;
mod conditions;
mod controllers;
mod data_items;
mod figure;
mod file_name;
mod latency;
mod model;
mod normalised;
mod repeats;
pub mod slo;
mod stage;
mod threshold;
mod throughput;
mod under_test;
mod write;

pub use bench_text::bench_text;
pub use change::{Change, Changes, Compared, ComparedFigure, EarlierRun};
pub use claims::{
    Analysis, ClaimPoint, ClaimResult, ClaimVerdict, EXPERIMENT_SCHEMA, ExperimentResult, Question,
    axis_number,
};
pub use conditions::Conditions;
pub use controllers::{ControllerLatency, ControllerResult};
pub use data_items::{
    DATASET_COVERAGE, DATASET_PARTIAL, DATASET_REVISION, DataItem, DataItems, data_items,
    data_items_file_name, split_status, workload_items,
};
pub use figure::{Figure, FigureComparison, FigureMetric, FigureRow, FigureValue};
pub use file_name::{FILE_NAME_BYTES_MAX, FileNames, file_name, is_file_name};
pub use latency::{Bucket, LatencySummary, by_stage as latencies_by_stage};
pub use model::{
    Attempts, Content, ExtenderCalls, Machine, Memory, Pods, RunResult, RunStatus, SCHEMA, Skipped,
    WorkloadResult,
};
pub use normalised::{Normalised, REFERENCE_RATE};
pub use repeats::{Repeats, RunLatency, RunTotal};
pub use schedlab_stats::Estimate;
pub use slo::SloLine;
pub use stage::Stage;
pub use threshold::{MetricSelector, Threshold};
pub use throughput::{Sample, Throughput, Windows, half_width_of_runs, pods_per_s};
pub use under_test::{AgentCalls, UnderTestUsage};
pub use write::{
    ResultError, parse_result_json, read_experiments, read_result_json, write_atomic, write_bench_text,
    write_data_items, write_experiment, write_result_json,
};

#[cfg(test)]
mod tests;
