//! Why a session could not go on.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use schedlab_perf_dash::folded::FoldedError;
use schedlab_perf_dash::gate::NoiseError;
use schedlab_workloads::executor::ExecuteError;
use schedlab_workloads::files::FileError;
use schedlab_workloads::resolve::{SelectionError, WorkloadError};
use schedlab_workloads::results::ResultError;
use schedlab_workloads::schema::SchemaError;

/// What failed, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the text of a variant says what its fields are")]
pub enum LabError {
    /// Somebody ended the session.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The system refused something that has no better name.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file or folder.
    #[error("{path}: {problem}")]
    File { path: String, problem: &'static str, source: io::Error },
    /// A file that was to be kept.
    #[error("{}: cannot be kept as {}", .from.display(), .to.display())]
    NotKept { from: PathBuf, to: PathBuf, source: FileError },
    /// A file of a result.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// A program that is not there.
    #[error("{program} cannot be started; is it installed?")]
    NotStarted { program: String, source: io::Error },
    /// A program that ended badly.
    #[error("{program} ended with {status}:\n{said}")]
    Ended { program: String, status: ExitStatus, said: String },

    /// Git does not know it.
    #[error("{revision:?} is not a revision of this repository")]
    NoRevision { revision: String, source: Box<LabError> },
    /// A build without kernels.
    #[error("{name} has no kernels to measure: a base older than the gate cannot be held against")]
    NoKernels { name: String, source: Box<LabError> },
    /// A build that fails.
    #[error("{name} does not build")]
    NotBuilt { name: String, source: Box<LabError> },
    /// A binary that was named.
    #[error("{}: there is no such binary", .0.display())]
    NoBinary(PathBuf),

    /// Instructions were asked for.
    #[error("valgrind is not in PATH, so instructions cannot be counted; `apt-get install valgrind` has it")]
    NoValgrind,
    /// Callgrind, at its end.
    #[error("callgrind cannot be waited for")]
    CallgrindLost(#[source] io::Error),
    /// Callgrind failed.
    #[error("callgrind ended with {status}: {said}")]
    CallgrindEnded { status: ExitStatus, said: String },
    /// A file of callgrind that is not there.
    #[error("{}: callgrind did not write it; does it know {function}?", .file.display())]
    NoCounts { file: PathBuf, function: &'static str, source: io::Error },
    /// A file of callgrind that says nothing.
    #[error("{}: {problem}", .file.display())]
    BadCounts { file: PathBuf, problem: String },
    /// A core that this process may not use.
    #[error("--cpu {core}: not a core of this process; it may use {allowed:?}")]
    Core { core: usize, allowed: Vec<usize>, source: io::Error },
    /// The process of a build's kernels.
    #[error("the kernels' process has gone")]
    KernelsGone(#[source] io::Error),
    /// What the process of a build's kernels answered.
    #[error("{kernel}: {answer}")]
    Answer { kernel: String, answer: String, source: Option<std::num::ParseFloatError> },
    /// Nothing to time.
    #[error("no kernel is left to time; the filter leaves none, or the builds have none in common")]
    NoKernelLeft,
    /// The history of noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),

    /// `run` of another build.
    #[error("{} run ended with {status}: {said}", .binary.display())]
    RunEnded { binary: PathBuf, status: ExitStatus, said: String },
    /// `run --json` of another build.
    #[error("{}: `run --json` did not print a result", .binary.display())]
    NoResult { binary: PathBuf, source: serde_json::Error },

    /// The name of a baseline.
    #[error("{0:?} cannot be the name of a baseline; letters, digits, '.', '_' and '-' can")]
    BaselineName(String),
    /// A baseline that was not kept and is no revision.
    #[error(
        "there is no baseline {name:?}; `cargo bench -- --save-baseline {name}` keeps one, and a git revision is built"
    )]
    NoBaseline { name: String, source: Box<LabError> },

    /// A run failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A run of a study stood still.
    #[error("{workload}: {variant}: {why}")]
    Stuck { workload: String, variant: String, why: String },
    /// A file of studies.
    #[error("cannot read {}", .path.display())]
    NoStudies { path: PathBuf, source: io::Error },
    /// A file of studies that is wrong.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The file of an experiment.
    #[error(transparent)]
    Source(schedlab_workloads::source::SourceError),
    /// A workload of a study.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The filter.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The filter leaves nothing.
    #[error(
        "no point of a study matches --filter; it is matched against STUDY/TestCase/Workload, and the studies are {}",
        .studies.join(", ")
    )]
    NoPoint { studies: Vec<String> },
    /// A variant of a study that cannot run.
    #[error("variant {variant:?} names workload {workload:?}, which the suite does not have")]
    NoWorkload { variant: String, workload: String },

    /// The profiler.
    #[error("the profiler cannot be started on this system (it needs SIGPROF)")]
    NoProfiler(#[source] pprof::Error),
    /// The profiler, later.
    #[error("the profiler failed: {0}")]
    Profiler(String),
    /// A profile without a sample.
    #[error("no sample was taken; give a larger workload or more --seconds")]
    NotSampled,
    /// A profile without a sample, after some time.
    #[error("no sample was taken in {seconds:.3} s; give a larger workload or more --seconds")]
    NoSample { seconds: f64 },
    /// A workload without a measured part.
    #[error("{workload}: it has no measured part (collectMetrics), so there is nothing to profile")]
    NotMeasured { workload: String },
    /// A picture.
    #[error("the flamegraph could not be drawn")]
    Flamegraph(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A picture that is no text.
    #[error("the flamegraph is not UTF-8")]
    FlamegraphText(#[from] std::string::FromUtf8Error),
    /// A profile as protobuf.
    #[error("the profile could not be written as protobuf")]
    Protobuf(#[source] pprof::Error),
    /// Something as JSON.
    #[error("the {what} could not be written as JSON")]
    Json { what: &'static str, source: serde_json::Error },
    /// A folded file that is not there.
    #[error(
        "--diff: cannot read {}; give directories that `schedlab profile --out` wrote, or folded files",
        .file.display()
    )]
    NoStacks { file: PathBuf, source: io::Error },
    /// A folded file that is none.
    #[error("--diff: {}", .file.display())]
    BadStacks { file: PathBuf, source: FoldedError },
    /// A folded file without a stack.
    #[error("--diff: {} has no stack", .0.display())]
    EmptyStacks(PathBuf),
}

/// Names the file in an error of the system.
pub(crate) fn file<'a>(
    path: &'a std::path::Path,
    problem: &'static str,
) -> impl FnOnce(io::Error) -> LabError + use<'a> {
    move |source| LabError::File { path: path.display().to_string(), problem, source }
}
