//! Alerts as Markdown for a pull request.

use std::fmt::Write as _;

use schedlab_workloads::results::{ComparedFigure, EarlierRun};

use super::{Alert, Alerts, State};
use crate::format;
use crate::markdown::escape;

/// Markdown: what is open, then the rest folded.
#[must_use]
pub fn markdown(alerts: &Alerts) -> String {
    let mut text = String::new();
    let _ = match alerts.open {
        0 => writeln!(text, "### No open regression\n"),
        open => writeln!(text, "### {} open\n", format::counted(open as u64, "regression")),
    };
    let _ = writeln!(
        text,
        "{} in {} series looked at; {} too short for a change point.\n",
        format::counted(alerts.runs as u64, "run"),
        alerts.series,
        alerts.too_short
    );
    let is_open = |alert: &&Alert| alert.state == State::Open;
    table(&mut text, alerts.alerts.iter().filter(is_open));
    let rest: Vec<&Alert> = alerts.alerts.iter().filter(|alert| !is_open(alert)).collect();
    if !rest.is_empty() {
        let count = format::counted(rest.len() as u64, "other change point");
        let _ = writeln!(text, "<details><summary>{count}</summary>\n");
        table(&mut text, rest.into_iter());
        text.push_str("</details>\n");
    }
    text
}

fn table<'a>(text: &mut String, alerts: impl Iterator<Item = &'a Alert>) {
    let mut alerts = alerts.peekable();
    if alerts.peek().is_none() {
        return;
    }
    text.push_str("| workload | state | change | 95 % interval | from | to | since | last before |\n");
    text.push_str("|---|---|---:|---:|---:|---:|---|---|\n");
    for alert in alerts {
        let settings =
            if alert.settings.is_empty() { String::new() } else { format!(" ({})", alert.settings) };
        let _ = writeln!(
            text,
            "| {}{} | {} | {} | {} | {} | {} | {} | {} |",
            escape(&alert.workload),
            escape(&settings),
            alert.state.word(),
            alert.change(),
            alert.interval(),
            alert.rate(alert.base, alert.base_runs),
            alert.rate(alert.head, alert.head_runs),
            escape(&run_words(&alert.first)),
            escape(&run_words(&alert.before)),
        );
    }
    text.push('\n');
}

/// `abcdef0123, 2026-11-15 12:30 UTC`.
#[must_use]
fn run_words(run: &EarlierRun) -> String {
    let revision = run.revision.as_deref().map(|revision| revision.get(..10).unwrap_or(revision));
    let name = revision.or(run.label.as_deref()).unwrap_or("unknown");
    format!("{name}, {}", format::minute(&run.started_at))
}

impl Alert {
    /// `-12.3 %`.
    #[must_use]
    pub fn change(&self) -> String {
        format::signed_percent(self.ratio.value)
    }

    /// `-14.0 % … -10.1 %`.
    #[must_use]
    pub fn interval(&self) -> String {
        format!("{} … {}", format::signed_percent(self.ratio.low), format::signed_percent(self.ratio.high))
    }

    /// `1,000 pods/s, n=12`.
    #[must_use]
    pub fn rate(&self, rate: f64, runs: usize) -> String {
        let unit = match self.figure {
            ComparedFigure::PodsPerS => "pods/s",
            ComparedFigure::Normalised => "normalised pods/s",
        };
        format!("{} {unit}, n={runs}", format::rate(rate))
    }

    /// The first run at the new level, in words.
    #[must_use]
    pub fn since(&self) -> String {
        run_words(&self.first)
    }
}
