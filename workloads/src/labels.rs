//! The label filter: which workloads run, by their labels.
//!
//! `performance,-short` means: must have `performance`, must not have `short`. A `+` in front of
//! a name says the same as no sign. An empty filter lets everything pass.
//!
//! Upstream: label_selector.go `enabled` and the flag `-perf-scheduling-label-filter`.

use std::fmt;
use std::str::FromStr;

/// Labels a workload must have and labels it must not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelFilter {
    required: Vec<String>,
    forbidden: Vec<String>,
}

/// A filter term with a sign and no label.
#[derive(Debug, thiserror::Error)]
#[error("label filter `{filter}`: `{term}` names no label; write for example `performance,-short`")]
pub struct LabelFilterError {
    /// The whole filter.
    pub filter: String,
    /// The empty term.
    pub term: String,
}

impl LabelFilter {
    /// Whether a workload with these labels passes. Labels of a workload are those of its test
    /// case and its own.
    pub fn matches<'a>(&self, labels: impl Iterator<Item = &'a str> + Clone) -> bool {
        let has = |wanted: &String| labels.clone().any(|label| label == wanted);
        self.required.iter().all(has) && !self.forbidden.iter().any(has)
    }
}

impl FromStr for LabelFilter {
    type Err = LabelFilterError;

    /// Differs: upstream reads a lone `+` or `-` as a label with no name, which nothing has; we refuse it
    /// (`a_sign_without_a_label_is_refused`).
    fn from_str(filter: &str) -> Result<Self, LabelFilterError> {
        let mut read = Self::default();
        for term in filter.split(',').filter(|term| !term.is_empty()) {
            let (side, label) = match term.strip_prefix('-') {
                Some(label) => (&mut read.forbidden, label),
                None => (&mut read.required, term.strip_prefix('+').unwrap_or(term)),
            };
            if label.is_empty() {
                return Err(LabelFilterError { filter: filter.into(), term: term.into() });
            }
            side.push(label.to_owned());
        }
        Ok(read)
    }
}

impl fmt::Display for LabelFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let required = self.required.iter().cloned();
        let forbidden = self.forbidden.iter().map(|label| format!("-{label}"));
        formatter.write_str(&required.chain(forbidden).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_filter_cases() {
        const NONE: &[&str] = &[];
        const SLOW: &[&str] = &["nightly"];
        const BOTH: &[&str] = &["nightly", "tiny"];
        let cases = [
            ("an empty filter takes unlabelled workloads", "", NONE, true),
            ("an empty filter takes one label", "", SLOW, true),
            ("an empty filter takes two labels", "", BOTH, true),
            ("one label: unlabelled is out", "nightly", NONE, false),
            ("one label: exactly it is in", "nightly", SLOW, true),
            ("one label: more labels do not hurt", "nightly", BOTH, true),
            ("two labels: unlabelled is out", "nightly,tiny", NONE, false),
            ("two labels: one of them is not enough", "nightly,tiny", SLOW, false),
            ("two labels: both are in", "nightly,tiny", BOTH, true),
            ("minus: unlabelled is in", "-tiny", NONE, true),
            ("minus: another label is in", "-tiny", SLOW, true),
            ("minus: the label is out", "-tiny", BOTH, false),
            ("plus and minus: unlabelled is out", "+nightly,-tiny", NONE, false),
            ("plus and minus: the wanted one alone is in", "+nightly,-tiny", SLOW, true),
            ("plus and minus: the unwanted one decides", "+nightly,-tiny", BOTH, false),
            ("empty terms say nothing", ",nightly,,", SLOW, true),
            ("a label is compared whole", "night", SLOW, false),
        ];
        for (name, filter, labels, expected) in cases {
            let filter: LabelFilter = filter.parse().unwrap();
            assert_eq!(filter.matches(labels.iter().copied()), expected, "case: {name}");
        }
    }

    #[test]
    fn a_sign_without_a_label_is_refused() {
        let error = "performance,-".parse::<LabelFilter>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "label filter `performance,-`: `-` names no label; write for example `performance,-short`"
        );
    }

    #[test]
    fn a_filter_prints_as_it_is_read() {
        let filter: LabelFilter = "+a,-b,c".parse().unwrap();
        assert_eq!(filter.to_string(), "a,c,-b");
    }
}
