//! Label selectors compiled to programs over interned labels.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1 `LabelSelectorAsSelector`. An absent selector matches
//! nothing, an empty one everything.

use crate::class::selector::Requirement;
use crate::ids::LabelSetId;
use crate::input::{LabelSelectorInput, Labels, RequirementInput};
use crate::interner::Vocabulary;

/// A compiled label selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// All must hold; `None` matches nothing.
    requirements: Option<Box<[Requirement]>>,
}

impl LabelSelector {
    /// The selector that matches nothing.
    #[must_use]
    pub fn nothing() -> LabelSelector {
        LabelSelector { requirements: None }
    }

    /// Compiles a selector. One that does not parse matches nothing; the API lets none through.
    pub fn compile(input: Option<&LabelSelectorInput>, vocabulary: &mut Vocabulary) -> LabelSelector {
        let requirements = input.and_then(|input| {
            equalities(&input.match_labels)
                .chain(input.match_expressions.iter().cloned())
                .map(|requirement| Requirement::compile(&requirement, vocabulary))
                .collect()
        });
        LabelSelector { requirements }
    }

    /// Compiles a selector unless it does not parse.
    pub fn read(input: Option<&LabelSelectorInput>, vocabulary: &mut Vocabulary) -> Option<LabelSelector> {
        let selector = LabelSelector::compile(input, vocabulary);
        (input.is_none() || selector.requirements.is_some()).then_some(selector)
    }

    /// The same selector that also asks for these labels. A selector that matches nothing stays.
    #[must_use]
    pub fn and_labels(self, labels: &Labels, vocabulary: &mut Vocabulary) -> LabelSelector {
        let mut added: Vec<Requirement> = equalities(labels)
            .filter_map(|requirement| Requirement::compile(&requirement, vocabulary))
            .collect();
        let requirements = self.requirements.map(|own| {
            added.extend(own);
            added.into()
        });
        LabelSelector { requirements }
    }

    /// Requirements of both.
    #[must_use]
    pub fn and(self, other: LabelSelector) -> LabelSelector {
        let requirements = self.requirements.zip(other.requirements).map(|(one, two)| {
            let mut all = one.into_vec();
            all.extend(two);
            all.into()
        });
        LabelSelector { requirements }
    }

    /// The selector asks for nothing: every label set matches.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(|requirements| requirements.is_empty())
    }

    /// Whether a label set matches.
    #[must_use]
    pub fn matches(&self, labels: LabelSetId, vocabulary: &Vocabulary) -> bool {
        self.requirements.as_ref().is_some_and(|requirements| {
            requirements.iter().all(|requirement| requirement.matches(labels, vocabulary))
        })
    }
}

fn equalities(labels: &Labels) -> impl Iterator<Item = RequirementInput> + '_ {
    labels.iter().map(|(key, value)| RequirementInput {
        key: key.clone(),
        operator: "In".to_owned(),
        values: vec![value.clone()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn absent_selector_matches_nothing_and_empty_everything() {
        let mut vocabulary = Vocabulary::default();
        let some = vocabulary.label_set(&labels(&[("app", "web")]));
        let none = vocabulary.label_set(&labels(&[]));
        let absent = LabelSelector::compile(None, &mut vocabulary);
        let empty = LabelSelector::compile(Some(&LabelSelectorInput::default()), &mut vocabulary);
        for set in [some, none] {
            assert!(!absent.matches(set, &vocabulary));
            assert!(empty.matches(set, &vocabulary));
        }
        assert!(empty.is_everything());
        assert!(!absent.is_everything());
    }

    #[test]
    fn added_match_labels_narrow_a_selector_and_leave_an_absent_one_matching_nothing() {
        let mut vocabulary = Vocabulary::default();
        let web = vocabulary.label_set(&labels(&[("app", "web"), ("hash", "1")]));
        let old = vocabulary.label_set(&labels(&[("app", "web"), ("hash", "0")]));
        let input = LabelSelectorInput { match_labels: labels(&[("app", "web")]), ..Default::default() };
        let narrowed = LabelSelector::compile(Some(&input), &mut vocabulary)
            .and_labels(&labels(&[("hash", "1")]), &mut vocabulary);
        assert!(narrowed.matches(web, &vocabulary));
        assert!(!narrowed.matches(old, &vocabulary));
        let absent = LabelSelector::nothing().and_labels(&labels(&[("hash", "1")]), &mut vocabulary);
        assert!(!absent.matches(web, &vocabulary));
    }
}
