//! `schedlab list`: what a suite contains, and what of it can run.

use anyhow::Result;
use schedlab_workloads::resolve::{ResolvedWorkload, runnable};

use super::select;
use crate::Exit;
use crate::args::ListArgs;
use crate::progress::say;
use crate::table::{Align, render};

pub(crate) fn list(args: &ListArgs) -> Result<Exit> {
    let selected = select::workloads(&args.select, None)?;
    let (mut runnable_count, mut broken_count) = (0, 0);
    let rows: Vec<Vec<String>> = selected
        .iter()
        .map(|selected| match &selected.workload {
            Err(error) => {
                broken_count += 1;
                let mut row = vec![selected.topic.clone(), selected.full_name.clone()];
                row.extend(["-", "-", ""].map(str::to_owned));
                row.push(format!("cannot run: {error}"));
                row
            }
            Ok(workload) => {
                let state = runnable(workload);
                runnable_count += usize::from(state.is_ok());
                let state = state.map_or_else(|reason| format!("skipped: {reason}"), |()| "runs".to_owned());
                let (nodes, pods) = sizes(workload);
                vec![
                    workload.topic.clone(),
                    workload.full_name.clone(),
                    nodes.to_string(),
                    pods.to_string(),
                    workload.labels.join(","),
                    state,
                ]
            }
        })
        .collect();
    let columns = [
        ("suite", Align::Left),
        ("workload", Align::Left),
        ("nodes", Align::Right),
        ("pods", Align::Right),
        ("labels", Align::Left),
        ("state", Align::Left),
    ];
    say(&render(&columns, &rows));
    let case = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let mut cases: Vec<(&str, String)> =
        selected.iter().map(|s| (s.topic.as_str(), case(&s.full_name))).collect();
    cases.dedup();
    say(&format!(
        "\n{} test cases, {} workloads: {runnable_count} run, {} skipped, {broken_count} cannot run",
        cases.len(),
        selected.len(),
        selected.len() - runnable_count - broken_count
    ));
    Ok(Exit::Fine)
}

fn sizes(workload: &ResolvedWorkload) -> (u64, u64) {
    workload
        .ops
        .iter()
        .map(|op| op.facts())
        .fold((0, 0), |(nodes, pods), facts| (nodes + u64::from(facts.nodes), pods + u64::from(facts.pods)))
}
