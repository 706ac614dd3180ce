//! Comparisons as JUnit XML, for a CI job.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::text::sentence;
use super::{Comparison, Row};
use crate::stats::Verdict;

/// A suite a comparison, a test case a row that is judged; a regression fails, an open question is
/// skipped.
pub fn junit(comparisons: &[Comparison]) -> Result<String, JunitError> {
    let mut report = Report::new("schedlab");
    report.add_test_suites(comparisons.iter().map(suite));
    Ok(report.to_string()?)
}

/// Why there is no JUnit file.
#[derive(Debug, thiserror::Error)]
#[error("the comparison could not be written as JUnit XML: {0}")]
pub struct JunitError(#[from] quick_junit::SerializeError);

fn suite(comparison: &Comparison) -> TestSuite {
    let mut suite = TestSuite::new(comparison.title.as_str());
    suite.add_test_cases(comparison.rows.iter().filter(|row| row.is_judged()).map(case));
    suite.add_test_cases(comparison.unmatched.iter().map(|name| skipped(name, "one side only")));
    // What keeps the whole open although every row passes: missing workloads, an interrupted run.
    let passes = |row: &&Row| matches!(row.verdict, Verdict::Better | Verdict::Unchanged);
    let judged = comparison.rows.iter().filter(|row| row.is_judged());
    if comparison.verdict == Verdict::Inconclusive && judged.clone().all(|row| passes(&row)) {
        suite.add_test_case(skipped("the whole comparison", &comparison.notes.join("; ")));
    }
    suite
}

fn skipped(name: &str, why: &str) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    TestCase::new(name, status)
}

fn case(row: &Row) -> TestCase {
    let mut status = match row.verdict {
        Verdict::Worse => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Inconclusive => TestCaseStatus::skipped(),
        Verdict::Better | Verdict::Unchanged => TestCaseStatus::success(),
    };
    let is_success = matches!(row.verdict, Verdict::Better | Verdict::Unchanged);
    if !is_success {
        status.set_message(sentence(row));
    }
    if row.verdict == Verdict::Worse {
        status.set_type("regression");
    }
    let mut case = TestCase::new(row.workload.as_str(), status);
    case.set_classname(row.metric.name.as_str());
    if is_success {
        case.set_system_out(sentence(row));
    }
    case
}
