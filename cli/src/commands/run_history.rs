//! What `schedlab run` remembers: every run is recorded, and says what changed since the last one that
//! may be compared. A history that cannot be read or written is a warning: the run was measured all
//! the same.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schedlab_perf_dash::change::{changes, check_baseline};
use schedlab_perf_dash::history::{self, FILE_NAME, Record};
use schedlab_workloads::results::RunResult;

use crate::args::RunArgs;
use crate::progress::complain;

/// Where runs are remembered unless `--history` says otherwise; `record`, `site` and `alerts` look
/// there too.
pub(crate) const DEFAULT_HISTORY: &str = "schedlab-history";

/// The history of a run.
pub(super) struct Memory<'a> {
    args: &'a RunArgs,
    dir: PathBuf,
}

impl<'a> Memory<'a> {
    /// The history that the flags ask for. With `--json` nothing is written that was not asked for.
    /// A baseline that does not exist is found out before the run, not after it.
    pub(super) fn open(args: &'a RunArgs) -> Result<Option<Memory<'a>>> {
        let is_asked_for = args.history.is_some() || args.baseline.is_some() || args.save_baseline.is_some();
        if args.no_history || (args.json && !is_asked_for) {
            return Ok(None);
        }
        let dir = args.history.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_HISTORY));
        if let Some(name) = &args.baseline {
            let records = if has_history(&dir) { history::read(&dir)?.records } else { Vec::new() };
            check_baseline(&records, name).with_context(|| format!("--baseline, in {}", dir.display()))?;
        }
        Ok(Some(Memory { args, dir }))
    }

    /// Says in the result what changed, and records it.
    pub(super) fn remember(&self, result: &mut RunResult) {
        if result.workloads.is_empty() {
            return;
        }
        let record = match as_recorded(result, self.args.save_baseline.clone()) {
            Ok(record) => record,
            Err(error) => return complain(&format!("schedlab: warning: nothing is recorded: {error:#}")),
        };
        match self.earlier() {
            Ok(records) => {
                let changes = changes(&records, &record, self.args.baseline.as_deref());
                result.workloads.iter_mut().zip(changes).for_each(|(it, change)| it.change = Some(change));
            }
            Err(error) => {
                complain(&format!(
                    "schedlab: warning: nothing to compare with, and nothing is recorded: {error:#}"
                ));
                return;
            }
        }
        match history::append(&self.dir, &record) {
            Ok(()) => complain(&format!("schedlab: recorded {} in {}", record.id, self.dir.display())),
            Err(error) => complain(&format!("schedlab: warning: the run is not recorded: {error}")),
        }
    }

    fn earlier(&self) -> Result<Vec<Record>> {
        if !has_history(&self.dir) {
            return Ok(Vec::new());
        }
        let history = history::read(&self.dir)?;
        for warning in &history.warnings {
            complain(&format!("schedlab: {warning}"));
        }
        Ok(history.records)
    }
}

fn has_history(dir: &Path) -> bool {
    dir.join(FILE_NAME).exists()
}

/// The record that `schedlab record` would make of the result's file, so that recording that again
/// adds nothing: a number read from text differs from the one in memory in its last bit.
fn as_recorded(result: &RunResult, label: Option<String>) -> Result<Record> {
    let text = serde_json::to_vec(result).context("could not write the result as JSON")?;
    let read: RunResult = serde_json::from_slice(&text).context("could not read the result again")?;
    Ok(Record::from_run(&read, label, Vec::new()))
}

/// A name as people give one: it is printed, and looked for.
pub(crate) fn label(text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_control) || 80 < text.chars().count() {
        bail!("a name has 1 to 80 letters, and no control characters");
    }
    Ok(text.to_owned())
}
