//! `--placements`: where the pods of a run went, in a file.

use std::path::PathBuf;

use anyhow::{Context, Result};
use schedlab_workloads::files::{self, Durability};
use schedlab_workloads::placements::{PlacementFormat, PlacementLog, PodPlacement, placements_text};
use schedlab_workloads::resolve::ResolvedWorkload;

use crate::args::RunArgs;

/// The placements of a run, workload by workload; nothing if nobody asked.
pub(super) struct Placed {
    path: Option<PathBuf>,
    workloads: Vec<(String, Vec<PodPlacement>)>,
}

impl Placed {
    /// Finds out before the run, not after it, that the file cannot be written.
    pub(super) fn open(args: &RunArgs) -> Result<Placed> {
        let placed = Placed { path: args.time.placements.clone(), workloads: Vec::new() };
        placed.write()?;
        Ok(placed)
    }

    /// What notes the next workload's.
    pub(super) fn begin(&self) -> Option<PlacementLog> {
        self.path.as_ref().map(|_| PlacementLog::default())
    }

    /// The workload is over.
    pub(super) fn end(&mut self, workload: &ResolvedWorkload, log: Option<&PlacementLog>) {
        if let Some(log) = log {
            self.workloads.push((workload.full_name.clone(), log.placements()));
        }
    }

    /// Writes the file.
    pub(super) fn write(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let text = placements_text(PlacementFormat::of(path), &self.workloads);
        files::write(path, text.as_bytes(), Durability::Rebuildable)
            .with_context(|| format!("--placements: cannot write {}; choose another file", path.display()))
    }
}
