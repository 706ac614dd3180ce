//! `schedlab alerts`: where workloads of a history got slower or faster for good.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use regex::Regex;
use schedlab_perf_dash::alerts::{Alert, Alerts, State, markdown};
use schedlab_perf_dash::compare::FENCE_DEFAULT;
use schedlab_perf_dash::history;
use schedlab_perf_dash::stats::{Fence, Verdict};

use super::run_history::DEFAULT_HISTORY;
use crate::Exit;
use crate::progress::{complain, say};
use crate::table::{Align, Tone, Toned, render_toned, terminal_width};

/// Which history, and what of it.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AlertsArgs {
    /// The history's directory
    #[arg(long, value_name = "DIR", default_value = DEFAULT_HISTORY)]
    history: PathBuf,
    /// How to print them: a table, Markdown for a pull request, or JSON (schedlab-alerts/v1) for a
    /// webhook
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = AlertFormat::Table)]
    output: AlertFormat,
    /// Only change points whose first run was started then or later: 2026-11-15, or
    /// 2026-11-15T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Timestamp>,
    /// Only workloads whose name, written TestCase/Workload, matches this regular expression
    #[arg(long, visible_alias = "workload", value_name = "REGEX")]
    filter: Option<String>,
    /// Percent up to which a change of level is none
    #[arg(long, value_name = "PERCENT", default_value_t = FENCE_DEFAULT * 100.0)]
    fence: f64,
}

const EXAMPLES: &str = "Examples:
  schedlab alerts                                   what is open in schedlab-history
  schedlab alerts --since 2026-11-01 --filter '^PlainPods/'
  schedlab alerts --output markdown > comment.md    for a pull request
  schedlab alerts --output json | curl --json @- https://example.com/hook

Ends with 3 when a regression is open, with 0 when none is. A level is at least three runs with the same \
settings on the same machine; runs with other settings or of other machines are never compared.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlertFormat {
    /// Text for people
    Table,
    /// For a pull request
    Markdown,
    /// One document, schedlab-alerts/v1
    Json,
}

fn since(text: &str) -> Result<Timestamp, String> {
    let day = || format!("{text}T00:00:00Z").parse::<Timestamp>();
    text.parse().or_else(|_| day()).map_err(|_| "write it as 2026-11-15 or 2026-11-15T12:00:00Z".to_owned())
}

pub(crate) fn alerts(args: &AlertsArgs) -> Result<Exit> {
    if !(0.0..=100.0).contains(&args.fence) {
        bail!("--fence {}: a percentage between 0 and 100 is needed", args.fence);
    }
    let filter = args.filter.as_deref().map(Regex::new).transpose().context("--filter")?;
    let history = history::read(&args.history)?;
    for warning in &history.warnings {
        complain(&format!("schedlab: {warning}"));
    }
    let is_wanted = |alert: &Alert| {
        let is_named = filter.as_ref().is_none_or(|filter| filter.is_match(&alert.workload));
        // A run without a readable date is never too old.
        let at = alert.first.started_at.parse::<Timestamp>().ok();
        is_named && args.since.is_none_or(|since| at.is_none_or(|at| since <= at))
    };
    let found = Alerts::of(&history.records, Fence::given(args.fence / 100.0)).only(is_wanted);
    match args.output {
        AlertFormat::Table => print(&found),
        AlertFormat::Markdown => say(markdown(&found).trim_end()),
        AlertFormat::Json => {
            say(&serde_json::to_string_pretty(&found).context("could not write the alerts as JSON")?);
        }
    }
    Ok(if found.open == 0 { Exit::Fine } else { Exit::Regression })
}

fn print(found: &Alerts) {
    if !found.alerts.is_empty() {
        let columns = [
            ("workload", Align::Left),
            ("state", Align::Left),
            ("change", Align::Right),
            ("95 % interval", Align::Right),
            ("from", Align::Right),
            ("to", Align::Right),
            ("since", Align::Left),
        ];
        let rows: Vec<Vec<Toned>> = found.alerts.iter().map(cells).collect();
        say(&format!("{}\n", render_toned(&columns, &rows, terminal_width())));
    }
    let open = match found.open {
        0 => "no open regression".to_owned(),
        1 => "1 open regression".to_owned(),
        count => format!("{count} open regressions"),
    };
    let short = match found.too_short {
        0 => String::new(),
        count => format!("; {count} too short for a change point (6 runs at least)"),
    };
    say(&format!("{} run(s), {} series looked at{short}: {open}", found.runs, found.series));
}

fn cells(alert: &Alert) -> Vec<Toned> {
    let plain = |text: String| (text, Tone::Plain);
    let settings = if alert.settings.is_empty() { String::new() } else { format!(" ({})", alert.settings) };
    let tone = match alert.state {
        State::Open => Tone::Bad,
        State::Improvement => Tone::Good,
        State::Recovered | State::Superseded => Tone::Plain,
    };
    let state = match alert.verdict {
        Verdict::Better => alert.state.word().to_owned(),
        _ => format!("{}, {}", alert.verdict.word(), alert.state.word()),
    };
    vec![
        plain(format!("{}{settings}", alert.workload)),
        (state, tone),
        (alert.change(), tone),
        plain(alert.interval()),
        plain(alert.rate(alert.base, alert.base_runs)),
        plain(alert.rate(alert.head, alert.head_runs)),
        plain(alert.since()),
    ]
}
