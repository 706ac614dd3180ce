//! Which workloads of a suite are wanted: by name and by label.

use regex::Regex;

use crate::labels::LabelFilter;

/// A filter on names and a filter on labels; a workload must pass both.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    names: Option<Regex>,
    labels: LabelFilter,
}

/// A name filter that is not a regular expression.
#[derive(Debug, thiserror::Error)]
#[error("filter `{filter}` is not a regular expression: {reason}")]
pub struct SelectionError {
    /// The filter as given.
    pub filter: String,
    /// Why not.
    pub reason: String,
}

impl Selection {
    /// Every workload.
    pub fn all() -> Self {
        Self::default()
    }

    /// Whether the filter on names lets this one through.
    #[must_use]
    pub fn takes_name(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.is_match(name))
    }

    /// Only workloads whose `TestCase/Workload` matches this regular expression somewhere.
    pub fn with_names(mut self, filter: &str) -> Result<Self, SelectionError> {
        let regex = Regex::new(filter).map_err(|error| SelectionError {
            filter: filter.to_owned(),
            // The last line says what is wrong; those before it draw the expression again.
            reason: error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").into(),
        })?;
        self.names = Some(regex);
        Ok(self)
    }

    /// Only workloads that pass this label filter.
    #[must_use]
    pub fn with_labels(mut self, labels: LabelFilter) -> Self {
        self.labels = labels;
        self
    }

    /// Whether a workload with this name and these labels is wanted.
    pub fn matches<'a>(&self, full_name: &str, labels: impl Iterator<Item = &'a str> + Clone) -> bool {
        let named = self.names.as_ref().is_none_or(|names| names.is_match(full_name));
        named && self.labels.matches(labels)
    }
}
