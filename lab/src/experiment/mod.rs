//! Experiments: studies whose runs answer claims of a proposal.

mod judge;

use std::path::Path;
use std::sync::Arc;

use schedlab_perf_dash::figure::{CellSamples, figure};
use schedlab_workloads::experiment::{EXPERIMENT_FILE_NAME, Experiment, parse_experiment};
use schedlab_workloads::results::{ClaimResult, Figure};
use schedlab_workloads::source::{DiskSource, Source};
use schedlab_workloads::study::Study;
use schedlab_workloads::suites;

use crate::LabError;
use crate::study::{Studies, Wanted};

pub use judge::{CONFIDENCE, judge, rounds_needed};

/// An experiment, ready to run.
#[derive(Debug)]
pub struct Definition {
    /// What its file says.
    pub experiment: Experiment,
    /// Its studies, and the suite that their workloads are in.
    pub studies: Studies,
}

/// What a study measured, a point after the other.
pub type MeasuredStudy = (Study, Vec<Vec<CellSamples>>);

impl Definition {
    /// The experiments inside the binary, in the order of their list.
    pub fn built_in() -> Result<Vec<Definition>, LabError> {
        let of = |name: &&str| Definition::read(Arc::new(suites::EMBEDDED), &suites::experiment_folder(name));
        suites::EXPERIMENTS.iter().map(of).collect()
    }

    /// The experiment in a folder.
    pub fn of_folder(folder: &Path) -> Result<Definition, LabError> {
        Definition::read(Arc::new(DiskSource), folder)
    }

    fn read(source: Arc<dyn Source>, folder: &Path) -> Result<Definition, LabError> {
        let file = folder.join(EXPERIMENT_FILE_NAME);
        let text = source.read(&file).map_err(LabError::Source)?;
        let experiment = parse_experiment(&file.display().to_string(), &text)?;
        let suite = experiment.suite(folder, source)?;
        let studies = Studies::of(suite, experiment.studies(false));
        Ok(Definition { experiment, studies })
    }

    /// What is run: whole or reduced; `rounds` wins over the file's.
    #[must_use]
    pub fn wanted(&self, is_quick: bool, rounds: Option<u32>) -> Vec<Wanted> {
        let studies = self.experiment.studies(is_quick).into_iter();
        studies
            .map(|mut study| {
                study.rounds = rounds.unwrap_or(study.rounds);
                let points = study.points();
                (study, points)
            })
            .collect()
    }

    /// The claims of a study that so many rounds are too few for, each with how many it needs.
    pub fn rounds_missing(
        &self,
        study: &str,
        rounds: u32,
        is_quick: bool,
    ) -> impl Iterator<Item = (&str, usize)> {
        let studies = self.experiment.studies(is_quick);
        let found = studies.into_iter().find(|it| it.name == study);
        let points: Vec<Vec<String>> = found
            .iter()
            .flat_map(Study::points)
            .map(|cells| cells.into_iter().next().map_or_else(Vec::new, |cell| cell.point))
            .collect();
        let axes: Vec<String> = found.iter().flat_map(|it| &it.axes).map(|axis| axis.name.clone()).collect();
        let asked = self.experiment.claims.iter().filter(move |claim| claim.question.study.as_str() == study);
        asked.filter_map(move |claim| {
            let needed = rounds_needed(judge::points_judged(&claim.question, &axes, &points));
            ((rounds as usize) < needed).then_some((claim.quote.as_str(), needed))
        })
    }

    /// Figures of what was measured, and the word about every claim.
    #[must_use]
    pub fn conclude(&self, measured: &[MeasuredStudy], seed: u64) -> (Vec<Figure>, Vec<ClaimResult>) {
        let figures = measured.iter().map(|(study, points)| figure(study, points, seed)).collect();
        let claims = self.experiment.claims.iter().map(|claim| {
            let found = measured.iter().find(|(study, _)| study.name == claim.question.study);
            let axes: Vec<String> =
                found.iter().flat_map(|(study, _)| &study.axes).map(|axis| axis.name.clone()).collect();
            judge(claim, &axes, found.map_or(&[], |(_, points)| points))
        });
        (figures, claims.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_experiments_have_enough_rounds_for_their_claims() {
        for definition in Definition::built_in().expect("valid") {
            for is_quick in [false, true] {
                for (study, _) in definition.wanted(is_quick, None) {
                    let short: Vec<_> =
                        definition.rounds_missing(&study.name, study.rounds, is_quick).collect();
                    assert!(short.is_empty(), "{}, quick {is_quick}: {short:?}", definition.experiment.name);
                }
            }
        }
    }
}
