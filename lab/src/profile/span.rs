//! The profiler behind startCollectingProfile: a span of a workload's ops, written as `schedlab profile`
//! writes a measured part.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pprof::ProfilerGuard;
use pprof::protos::Message as _;
use schedlab_perf_dash::folded;
use schedlab_workloads::executor::Profiler;
use schedlab_workloads::results::write_atomic;

use super::draw::{self, Drawing};
use super::stacks_of;
use crate::LabError;

/// Samples a second of CPU time, as `schedlab profile` takes them.
pub const SPAN_FREQUENCY: i32 = 997;

/// Profiles spans of a run, into files below a directory.
pub struct SpanProfiler {
    dir: PathBuf,
    frequency: i32,
    running: Mutex<Option<ProfilerGuard<'static>>>,
}

impl SpanProfiler {
    /// Samples so many times a second of CPU time, into files below `dir`.
    #[must_use]
    pub fn new(dir: PathBuf, frequency: i32) -> SpanProfiler {
        SpanProfiler { dir, frequency, running: Mutex::new(None) }
    }

    /// The profile itself at `file_path`, as upstream; folded stacks and a flamegraph beside it.
    fn write(&self, guard: &ProfilerGuard<'static>, file_path: &str) -> Result<Vec<PathBuf>, LabError> {
        let report = guard.report().build().map_err(|error| LabError::Profiler(error.to_string()))?;
        let path = self.dir.join(file_path);
        let beside = |extension: &str| self.dir.join(format!("{file_path}.{extension}"));
        write_atomic(&path, &report.pprof().map_err(LabError::Protobuf)?.encode_to_vec())?;
        let stacks = stacks_of(&report);
        let lines = folded::lines(&stacks);
        let mut files = vec![path, beside("folded")];
        write_atomic(&files[1], (lines.join("\n") + "\n").as_bytes())?;
        // A span of a few microseconds has no sample, and nothing to draw.
        if 0 < stacks.values().sum::<u64>() {
            let drawing = Drawing { title: file_path, subtitle: None, unit: "samples" };
            files.push(beside("svg"));
            write_atomic(&files[2], draw::flamegraph(&drawing, &lines)?.as_bytes())?;
        }
        Ok(files)
    }
}

impl Profiler for SpanProfiler {
    fn begin(&self) -> Result<(), String> {
        let guard = ProfilerGuard::new(self.frequency).map_err(|error| error.to_string())?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
        Ok(())
    }

    fn end(&self, file_path: &str) -> Result<Vec<PathBuf>, String> {
        let guard = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let guard = guard.ok_or("nothing is sampled")?;
        self.write(&guard, file_path).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_without_a_beginning_has_no_profile() {
        let profiler = SpanProfiler::new(PathBuf::new(), 997);
        assert_eq!(profiler.end("cpu.pb"), Err("nothing is sampled".to_owned()));
    }
}
