//! The claims as Markdown, for the documents.

use std::fmt::Write;

use schedlab_workloads::results::ExperimentResult;

use super::{LIMITS, by_proposal, conditions, measured, rule, tally};
use crate::markdown::escape;

/// The page of all claims: a table a proposal, then under what each experiment was measured.
#[must_use]
pub fn claims_markdown(experiments: &[ExperimentResult]) -> String {
    let [supported, refuted, undecided] = tally(experiments);
    let mut text = format!(
        "# What proposals claim, measured\n\n{} claims: {supported} supported, {refuted} refuted, {undecided} not enough \
         data.\nEvery number and every word comes from the runs of its experiment; `schedlab experiment all` wrote this \
         page.\nA word comes from the interval alone: it lies wholly where the claim says, wholly elsewhere, or it is \
         not enough data.\nIntervals are those of a median from the order of the rounds; those of a claim hold together \
         with 95 % confidence.\n\n{LIMITS}\n",
        supported + refuted + undecided
    );
    for (proposal, of_it) in by_proposal(experiments) {
        let _ = write!(text, "\n## {}\n", escape(proposal));
        for experiment in of_it {
            section(&mut text, experiment);
        }
    }
    text
}

fn section(text: &mut String, experiment: &ExperimentResult) {
    let _ = write!(
        text,
        "\n### {}\n\n{}\n\n| The proposal says | What is asked | Measured | Verdict |\n|---|---|---|---|\n",
        escape(&experiment.title),
        escape(&experiment.hypothesis)
    );
    for claim in &experiment.claims {
        let _ = writeln!(
            text,
            "| “{}” ({}) | {} {} | {} | **{}** |",
            escape(&claim.quote),
            escape(&claim.section),
            escape(&claim.means),
            escape(&sentence(&rule(&claim.question))),
            escape(&measured(experiment, claim)),
            claim.verdict.word()
        );
    }
    let limits = if experiment.limits.is_empty() {
        String::new()
    } else {
        format!("\n\n{}", escape(&experiment.limits))
    };
    let cut = if experiment.partial { " Cut short." } else { "" };
    let _ = write!(
        text,
        "{limits}\n\n{}.{cut}\n\n```console\n$ {}\n```\n",
        escape(&sentence_case(&conditions(experiment))),
        experiment.command
    );
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", sentence_case(text))
}

fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
