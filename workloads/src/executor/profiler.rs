//! CPU profiles of a span of ops: what startCollectingProfile begins and stopCollectingProfile writes.
//!
//! Sampling this process is not this crate's business, so whoever runs a workload hands in what does it.

use std::path::PathBuf;

use super::context::OpContext;
use super::error::OpError;

/// Samples where this process spends its time. One span at a time.
pub trait Profiler: Sync {
    /// Begins a span.
    fn begin(&self) -> Result<(), String>;

    /// Ends the span and writes its profile to this file, relative to where profiles go, and what is drawn
    /// from it beside that. The files; none if profiles go nowhere.
    fn end(&self, file_path: &str) -> Result<Vec<PathBuf>, String>;
}

/// Samples nothing and writes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProfiler;

impl Profiler for NoProfiler {
    fn begin(&self) -> Result<(), String> {
        Ok(())
    }

    fn end(&self, _: &str) -> Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }
}

impl OpContext<'_> {
    /// Begins a CPU profile. Upstream: executor.go `runStartCollectingProfileOp`.
    pub(crate) fn start_profile(&mut self, file_path: &str) -> Result<(), OpError> {
        if let Some(running) = &self.profiled {
            return Err(OpError::AlreadyProfiling { file_path: running.clone() });
        }
        self.control.profiler.begin().map_err(|why| OpError::Profiler { why })?;
        self.profiled = Some(file_path.to_owned());
        Ok(())
    }

    /// Ends it and writes its file. Upstream: executor.go `runStopCollectingProfileOp`.
    pub(crate) fn stop_profile(&mut self) -> Result<(), OpError> {
        let file_path = self.profiled.take().ok_or(OpError::NotProfiling)?;
        let files = self.control.profiler.end(&file_path).map_err(|why| OpError::Profiler { why })?;
        match files.first() {
            Some(file) => self.control.progress.notice(&format!("profile written to {}", file.display())),
            None => self.control.progress.notice(&format!("the profile {file_path} is not written here")),
        }
        Ok(())
    }

    /// A profile that no op ends is written at the workload's end.
    ///
    /// Upstream never ends it, and its file stays empty.
    pub(super) fn end_of_profile(&mut self) -> Result<(), OpError> {
        if self.profiled.is_some() { self.stop_profile() } else { Ok(()) }
    }
}
