//! A `metav1.LabelSelector` compiled over interned labels.

use crate::class::selector::Requirement;
use crate::ids::{LabelSetId, Symbol};
use crate::input::LabelSelectorInput;
use crate::interner::Vocabulary;

/// A compiled selector.
/// Upstream: apimachinery/pkg/apis/meta/v1/helpers.go `LabelSelectorAsSelector`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeLabelSelector {
    labels: Box<[(Symbol, Symbol)]>,
    requirements: Box<[Requirement]>,
}

impl VolumeLabelSelector {
    /// Compiles a selector, or `None` when a requirement does not parse.
    pub fn compile(input: &LabelSelectorInput, vocabulary: &mut Vocabulary) -> Option<VolumeLabelSelector> {
        let requirements = input.match_expressions.iter().map(|requirement| {
            let is_known =
                matches!(requirement.operator.as_str(), "In" | "NotIn" | "Exists" | "DoesNotExist");
            is_known.then(|| Requirement::compile(requirement, vocabulary)).flatten()
        });
        Some(VolumeLabelSelector {
            requirements: requirements.collect::<Option<_>>()?,
            labels: input
                .match_labels
                .iter()
                .map(|(key, value)| (vocabulary.symbols.intern(key), vocabulary.symbols.intern(value)))
                .collect(),
        })
    }

    /// Whether labels are selected. An empty selector selects all.
    #[must_use]
    pub fn matches(&self, labels: LabelSetId, vocabulary: &Vocabulary) -> bool {
        self.labels.iter().all(|&(key, value)| vocabulary.label(labels, key) == Some(value))
            && self.requirements.iter().all(|requirement| requirement.matches(labels, vocabulary))
    }
}
