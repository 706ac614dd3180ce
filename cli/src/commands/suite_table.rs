//! `schedlab suite-table`: a Markdown table of every workload of a suite: its threshold, what a run measured,
//! the ratio, and what is not like for like.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use schedlab_workloads::gates::without_effect;
use schedlab_workloads::resolve::{ResolvedWorkload, Selected, runnable};
use schedlab_workloads::results::{RunResult, RunStatus, WorkloadResult, read_result_json};

use super::select;
use crate::Exit;
use crate::args::SelectArgs;
use crate::progress::say;

/// Which suite, and what was measured of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct SuiteTableArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// A result.json of `schedlab run` over the same files; may be given several times, a later one wins
    #[arg(long, value_name = "FILE")]
    result: Vec<PathBuf>,
    /// Leave out workloads of these suites
    #[arg(long, value_name = "PREFIX")]
    leave_out: Vec<String>,
}

pub(crate) fn suite_table(args: &SuiteTableArgs) -> Result<Exit> {
    let mut selected = select::workloads(&args.select, None)?;
    selected.retain(|one| !args.leave_out.iter().any(|prefix| one.topic.starts_with(prefix.as_str())));
    let mut results: Vec<RunResult> = Vec::new();
    for path in &args.result {
        results.push(read_result_json(path).with_context(|| format!("--result {}", path.display()))?);
    }
    let measured: BTreeMap<(&str, &str), &WorkloadResult> = results
        .iter()
        .flat_map(|result| &result.workloads)
        .map(|one| ((one.suite.as_str(), one.name.as_str()), one))
        .collect();
    say(&head(&results));
    say("| Suite | Workload | Threshold | Here | Ratio | Ends | Not like for like |");
    say("|---|---|---:|---:|---:|---|---|");
    for one in &selected {
        say(&row(one, measured.get(&(one.topic.as_str(), one.full_name.as_str())).copied()));
    }
    Ok(Exit::Fine)
}

/// What holds for every row.
fn head(results: &[RunResult]) -> String {
    let of = |text: fn(&RunResult) -> String| {
        let mut texts: Vec<String> = results.iter().map(text).collect();
        texts.dedup();
        if texts.is_empty() { "no run".to_owned() } else { texts.join("; ") }
    };
    format!(
        "<!-- Written by `schedlab suite-table`; do not edit. -->\n\
         # Upstream's suite, workload by workload\n\n\
         Thresholds are the pods per second that upstream's CI expects of kube-scheduler on its machines, with an \
         API server and etcd behind HTTP.\n\
         Figures here are of schedlab's core, queue and embedded API in one process: the ratio says how far above \
         the line a workload is, not how much faster one scheduler is than the other.\n\
         Pods of a workload are there as soon as they are created; upstream creates them over HTTP while it \
         schedules.\n\n\
         Runs: {}.\n\
         Machine: {}.\n\
         Settings: {}.\n",
        of(|result| format!("{}, version {}, seed {}", result.started_at, result.version, result.seed)),
        of(|result| format!("{}, {} cores", result.machine.cpu_model, result.machine.cores)),
        of(|result| result
            .options
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect::<Vec<_>>()
            .join(", ")),
    )
}

fn row(selected: &Selected, measured: Option<&WorkloadResult>) -> String {
    let name = selected.full_name.replace('|', "\\|");
    let workload = match &selected.workload {
        Ok(workload) => workload,
        Err(error) => {
            let reason = error.to_string().replace('|', "\\|");
            // The path of the file is this machine's; what is wrong comes after it.
            let reason = reason.split_once(&selected.full_name).map_or(reason.as_str(), |(_, rest)| rest);
            return format!(
                "| {} | {name} | | | | cannot run | {} |",
                selected.topic,
                reason.trim_start_matches(": ")
            );
        }
    };
    let threshold = workload.threshold.value;
    let bound = if threshold == 0.0 { "-".to_owned() } else { format!("{threshold:.0}") };
    let (here, ratio, ends) = match (runnable(workload), measured) {
        (Err(reason), _) => ("-".to_owned(), "-".to_owned(), format!("skipped: {reason}")),
        (Ok(()), None) => ("-".to_owned(), "-".to_owned(), "not run".to_owned()),
        (Ok(()), Some(result)) => figures(result, threshold),
    };
    let notes = notes(workload, measured);
    format!("| {} | {name} | {bound} | {here} | {ratio} | {ends} | {notes} |", selected.topic)
}

fn figures(result: &WorkloadResult, threshold: f64) -> (String, String, String) {
    let measured = result.threshold.as_ref().and_then(|threshold| threshold.actual);
    let rate = measured.unwrap_or(result.throughput.total);
    let is_whole = result.status == RunStatus::Completed;
    let here = if is_whole { format!("{rate:.0}") } else { "-".to_owned() };
    let ratio = match is_whole && 0.0 < threshold {
        true => format!("{:.0}", rate / threshold),
        false => "-".to_owned(),
    };
    (here, ratio, result.status.label().to_owned())
}

/// What of a workload is otherwise here than upstream, beside what the page says of all.
fn notes(workload: &ResolvedWorkload, measured: Option<&WorkloadResult>) -> String {
    let mut notes = Vec::new();
    let gates = without_effect(&workload.feature_gates);
    if !gates.is_empty() {
        notes.push(format!("{} change nothing", gates.join(", ")));
    }
    let opcodes: Vec<&str> = workload.ops.iter().map(|op| op.opcode()).collect();
    if workload.node_declared_features.is_some() {
        notes.push("nodes declare features, no pod needs them".to_owned());
    }
    if opcodes.contains(&"churn") {
        notes.push("a churned object that is gone already is no error".to_owned());
    }
    if opcodes.contains(&"deletePods") {
        notes.push("pods are gone at once: no grace period".to_owned());
    }
    if workload.feature_gates.get("OpportunisticBatching") == Some(&true) {
        notes.push("run with the class cache, which reuses more than batching does".to_owned());
    }
    let selector = &workload.threshold.selector;
    if workload.threshold.value != 0.0 && selector.name != "SchedulingThroughput" {
        notes.push(format!("the threshold is on {}", selector.name));
    }
    notes.extend(measured.and_then(|result| result.message.clone()));
    notes.join("; ").replace(['|', '\n'], " ")
}
