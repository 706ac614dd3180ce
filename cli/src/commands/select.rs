//! Which workloads were asked for.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use schedlab_workloads::labels::LabelFilter;
use schedlab_workloads::resolve::{Selected, Selection, Suite};
use schedlab_workloads::source::DiskSource;
use schedlab_workloads::suites;

use crate::args::SelectArgs;

/// Loads what was asked for and resolves what the filters leave of it, each on its own: one bad
/// workload does not keep the others from running.
pub(crate) fn workloads(args: &SelectArgs, default_labels: Option<&str>) -> Result<Vec<Selected>> {
    let mut selection = Selection::all();
    if let Some(filter) = &args.filter {
        selection = selection.with_names(filter)?;
    }
    let is_plain = args.config.is_empty() && args.filter.is_none();
    let labels = args.labels.as_deref().or(default_labels.filter(|_| is_plain));
    if let Some(labels) = labels {
        let parsed: LabelFilter = labels.parse().context("--labels")?;
        selection = selection.with_labels(parsed);
    }
    let mut workloads = Vec::new();
    for suite in suites(args)? {
        workloads.extend(suite.resolve_each(&selection));
    }
    if workloads.is_empty() {
        bail!(
            "no workload matches; `schedlab list` with the same --suite or --config shows the names and labels"
        );
    }
    Ok(workloads)
}

fn suites(args: &SelectArgs) -> Result<Vec<Suite>> {
    let mut loaded = Vec::new();
    if let Some(name) = &args.suite {
        loaded.push(suites::load(name)?);
    }
    for path in &args.config {
        loaded.push(Suite::load(Arc::new(DiskSource), path)?);
    }
    if loaded.is_empty() {
        loaded.push(suites::load(suites::DEFAULT_SUITE)?);
    }
    Ok(loaded)
}
