//! What can be wrong with a workload once its params are known.

use std::fmt;

use super::limits::Limit;
use super::selection::SelectionError;
use crate::labels::LabelFilterError;
use crate::params::ParamError;
use crate::schema::SchemaError;
use crate::source::SourceError;
use crate::template::TemplateError;

/// Anything that keeps a suite from being loaded or a workload from being resolved.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A config file is not valid.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// An op of a workload is not valid.
    #[error(transparent)]
    Op(#[from] ResolveError),
    /// A workload sets params that nothing reads.
    #[error(
        "{file}:{line}: {workload}: {}, but no op uses {}; remove {} or correct the name",
        Listed(names),
        pronoun(names),
        pronoun(names)
    )]
    UnusedParams {
        /// The config file.
        file: String,
        /// Where the workload starts.
        line: u64,
        /// Test case and workload.
        workload: String,
        /// The params, in alphabetical order.
        names: Vec<String>,
    },
    /// The scheduler configuration of a test case cannot be read.
    #[error(
        "{file}:{line}: test case {case}: schedulerConfigPath `{written}` cannot be read ({source}); \
         paths are relative to the directory of the config file"
    )]
    SchedulerConfig {
        /// The config file.
        file: String,
        /// Where the test case starts.
        line: u64,
        /// The test case.
        case: String,
        /// The path as written.
        written: String,
        /// Why not.
        source: SourceError,
    },
    /// The policy file of a controller cannot be used.
    #[error("{file}:{line}: test case {case}: controller {name}: policyPath `{written}`: {message}")]
    ControllerPolicy {
        /// The config file.
        file: String,
        /// Where the test case starts.
        line: u64,
        /// The test case.
        case: String,
        /// The controller.
        name: &'static str,
        /// The path as written.
        written: String,
        /// What is wrong with it.
        message: String,
    },
    /// The name filter is not a regular expression.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The label filter is not valid.
    #[error(transparent)]
    Labels(#[from] LabelFilterError),
}

/// Which op of which workload: `misc/performance-config.yaml:21: SchedulingBasic/5Nodes: op 1 (createPods)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpLocation {
    /// The config file.
    pub file: String,
    /// Where the op starts.
    pub line: u64,
    /// Test case and workload.
    pub workload: String,
    /// Number of the op in its `workloadTemplate`, from 0, as upstream counts.
    pub op_index: usize,
    /// Which op.
    pub opcode: &'static str,
}

impl fmt::Display for OpLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, workload, op_index, opcode } = self;
        write!(formatter, "{file}:{line}: {workload}: op {op_index} ({opcode})")
    }
}

/// An op that cannot run with the params of this workload.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct ResolveError {
    /// Which op.
    pub at: OpLocation,
    /// What is wrong with it.
    pub problem: Box<ResolveProblem>,
}

/// The kinds of [`ResolveError`].
#[derive(Debug, thiserror::Error)]
pub enum ResolveProblem {
    /// A param is missing or of the wrong kind.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Fewer than none.
    #[error("{count} {} cannot be created; use 0 or more", limit.noun())]
    NegativeCount {
        /// The count.
        count: i64,
        /// What is counted.
        limit: Limit,
    },
    /// More than one op may create.
    #[error("{count} {} are too many; the most is {}", limit.noun(), limit.max())]
    TooMany {
        /// The count.
        count: i64,
        /// What is counted.
        limit: Limit,
    },
    /// More than a workload may create, over all its ops.
    #[error("the ops so far create {total} {}; the most for a workload is {}", limit.noun(), limit.max())]
    TooManyInTotal {
        /// The sum so far, with this op.
        total: u64,
        /// What is counted.
        limit: Limit,
    },
    /// A rate below 0.
    #[error("parameter {param} is {rate}, and a rate cannot be negative; set it to 0 or more")]
    NegativeRate {
        /// The parameter, with its `$`.
        param: String,
        /// Its value.
        rate: i64,
    },
    /// Nothing would ever happen.
    #[error("the rate is 0, so nothing would ever happen; set it to more than 0")]
    NoRate,
    /// A file of arrivals that cannot be read.
    #[error("{path}:{line}: {message}")]
    Arrivals {
        /// The file as written.
        path: String,
        /// Its line.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// More pods than were recorded.
    #[error(
        "{count} pods are to arrive, but {recorded} arrivals are recorded; lower `count` or leave it out"
    )]
    TooFewArrivals {
        /// In the file.
        recorded: usize,
        /// Asked for.
        count: i64,
    },
    /// collectMetrics over no pods.
    #[error("`collectMetrics` with a count of 0 measures nothing; use a count of 1 or more")]
    NothingToMeasure,
    /// Upstream refuses this one count of zero.
    #[error("0 pod groups cannot be created; use a count of 1 or more")]
    NoPodGroups,
    /// A steady state must end.
    #[error("`steadyState` needs a `duration` above 0, for example `duration: 10s`")]
    SteadyStateNeedsDuration,
    /// A steady state is waited for.
    #[error("`steadyState` and `skipWaitToCompletion` are both set; keep one of them")]
    SteadyStateNeedsWaiting,
}

struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(|name| format!("`{name}`")).collect();
        match names.as_slice() {
            [name] => write!(formatter, "the parameter {name} is set"),
            names => write!(formatter, "the parameters {} are set", names.join(", ")),
        }
    }
}

fn pronoun(names: &[String]) -> &'static str {
    if names.len() == 1 { "it" } else { "them" }
}
