//! Claims of proposals and what was measured of them: in sentences, as a page, as Markdown.
//!
//! ```text
//! ExperimentResult ─ words ─▶ the terminal, Markdown, the page: one wording
//!                  ─ page ──▶ HTML of its own, and claims.html of the site
//! ```

mod markdown;
mod page;
mod words;

use schedlab_workloads::results::{ClaimVerdict, ExperimentResult};

pub use markdown::claims_markdown;
pub(crate) use page::body;
pub use page::render_claims_html;
pub use words::{conditions, decisive, measured, rule};

/// What holds of every experiment here.
pub const LIMITS: &str = "The embedded cluster has no machines, no network, no etcd, no kubelets and no other clients: \
its API answers at once, or after the latency that an experiment models, and nothing but the scheduler and the \
controllers that are named competes for it. Counts (nodes looked at, calls, placements) are those of kube-scheduler's \
algorithm; times, rates and memory are those of this engine, which is not kube-scheduler's Go code: ratios between \
variants say which way and how strongly a design pulls, not what a cluster will show.";

/// How many claims have each word: supported, refuted, not enough data.
#[must_use]
pub fn tally(experiments: &[ExperimentResult]) -> [usize; 3] {
    let words = [ClaimVerdict::Supported, ClaimVerdict::Refuted, ClaimVerdict::NotEnoughData];
    let claims = || experiments.iter().flat_map(|it| &it.claims);
    words.map(|word| claims().filter(|claim| claim.verdict == word).count())
}

/// Proposals in the order of first sight, each with its experiments.
fn by_proposal(experiments: &[ExperimentResult]) -> Vec<(&str, Vec<&ExperimentResult>)> {
    let mut found: Vec<(&str, Vec<&ExperimentResult>)> = Vec::new();
    for experiment in experiments {
        match found.iter_mut().find(|(proposal, _)| *proposal == experiment.proposal) {
            Some((_, of_it)) => of_it.push(experiment),
            None => found.push((&experiment.proposal, vec![experiment])),
        }
    }
    found
}

#[cfg(test)]
mod tests;
