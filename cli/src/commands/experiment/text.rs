//! Experiments on a terminal.

use schedlab_lab::experiment::Definition;
use schedlab_perf_dash::claims::{conditions, measured, rule};
use schedlab_workloads::results::{ClaimVerdict, ExperimentResult};

use crate::table::{Align, render};

/// A line an experiment.
pub(super) fn list(definitions: &[Definition]) -> String {
    let columns = [
        ("experiment", Align::Left),
        ("proposal", Align::Left),
        ("claims", Align::Right),
        ("runs", Align::Right),
        ("reduced", Align::Right),
        ("what", Align::Left),
    ];
    let runs = |it: &Definition, is_quick: bool| -> String {
        let of_study = |(study, points): (_, Vec<Vec<_>>)| {
            let study: schedlab_workloads::study::Study = study;
            points.iter().map(Vec::len).sum::<usize>() * study.rounds as usize * 2
        };
        it.wanted(is_quick, None).into_iter().map(of_study).sum::<usize>().to_string()
    };
    let rows: Vec<Vec<String>> = definitions
        .iter()
        .map(|it| {
            let experiment = &it.experiment;
            vec![
                experiment.name.clone(),
                experiment.proposal.clone(),
                experiment.claims.len().to_string(),
                runs(it, false),
                runs(it, true),
                experiment.title.clone(),
            ]
        })
        .collect();
    render(&columns, &rows)
}

/// Every claim with its word.
pub(super) fn result(result: &ExperimentResult) -> String {
    let mut lines = vec![format!("\n{}: {} ({})", result.name, result.title, result.proposal)];
    for claim in &result.claims {
        let sign = match claim.verdict {
            ClaimVerdict::Supported => "+",
            ClaimVerdict::Refuted => "-",
            ClaimVerdict::NotEnoughData => "?",
        };
        lines.push(format!("{sign} {}: “{}”", claim.verdict.word(), claim.quote));
        lines.push(format!("    {}", claim.means));
        lines.push(format!("    measured {}", measured(result, claim)));
        lines.push(format!("    {}", rule(&claim.question)));
    }
    lines.push(format!("  {}", conditions(result)));
    lines.join("\n")
}
