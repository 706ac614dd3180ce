//! Label selectors as the API means them.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1 `LabelSelectorAsSelector`, apimachinery/pkg/labels.

use crate::input::{LabelSelectorInput, Labels, RequirementInput};
use crate::plugins::node_affinity::naive::{is_readable_expression, label_matches};

/// What a label selector asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Matches no labels at all: there was no selector.
    Nothing,
    /// Matches labels that meet all of these; without any, it is empty and matches everything.
    All(Vec<RequirementInput>),
}

/// A selector with an operator, key or value that the API refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableSelector;

impl Selector {
    /// Reads a selector; an absent one matches nothing.
    ///
    /// # Errors
    ///
    /// When a requirement cannot be read.
    pub fn read(input: Option<&LabelSelectorInput>) -> Result<Selector, UnreadableSelector> {
        let Some(input) = input else { return Ok(Selector::Nothing) };
        let mut requirements = equal_to(&input.match_labels);
        requirements.extend(input.match_expressions.iter().cloned());
        let is_set_operator =
            |it: &RequirementInput| ["In", "NotIn", "Exists", "DoesNotExist"].contains(&it.operator.as_str());
        if requirements.iter().all(|it| is_set_operator(it) && is_readable_expression(it)) {
            Ok(Selector::All(requirements))
        } else {
            Err(UnreadableSelector)
        }
    }

    /// Selects labels that contain all of these.
    #[must_use]
    pub fn from_labels(labels: &Labels) -> Selector {
        Selector::All(equal_to(labels))
    }

    /// Selects what both select. Nothing stays nothing; nothing added changes nothing.
    #[must_use]
    pub fn and(self, other: Selector) -> Selector {
        match (self, other) {
            (Selector::All(mut ours), Selector::All(theirs)) => {
                ours.extend(theirs);
                Selector::All(ours)
            }
            (ours, _) => ours,
        }
    }

    /// Whether it asks for nothing in particular. [`Selector::Nothing`] is not empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Selector::All(Vec::new())
    }

    /// Whether the labels are selected.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Selector::Nothing => false,
            Selector::All(requirements) => requirements.iter().all(|it| label_matches(it, labels)),
        }
    }
}

fn equal_to(labels: &Labels) -> Vec<RequirementInput> {
    labels
        .iter()
        .map(|(key, value)| RequirementInput {
            key: key.clone(),
            operator: "In".to_owned(),
            values: vec![value.clone()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{label_pairs, requirement};

    fn selector(match_labels: &[(&str, &str)], expressions: &[RequirementInput]) -> LabelSelectorInput {
        LabelSelectorInput {
            match_labels: label_pairs(match_labels),
            match_expressions: expressions.to_vec(),
        }
    }

    #[test]
    fn match_cases() {
        let app = [("app", "web")];
        #[rustfmt::skip]
        let cases = [
            ("absent selects nothing", None, false),
            ("empty selects everything", Some(selector(&[], &[])), true),
            ("an equal label", Some(selector(&app, &[])), true),
            ("another value", Some(selector(&[("app", "db")], &[])), false),
            ("a label that is not there", Some(selector(&[("tier", "web")], &[])), false),
            ("In", Some(selector(&[], &[requirement("app", "In", &["db", "web"])])), true),
            ("NotIn", Some(selector(&[], &[requirement("app", "NotIn", &["web"])])), false),
            ("NotIn without the label", Some(selector(&[], &[requirement("tier", "NotIn", &["web"])])), true),
            ("Exists", Some(selector(&[], &[requirement("app", "Exists", &[])])), true),
            ("DoesNotExist", Some(selector(&[], &[requirement("app", "DoesNotExist", &[])])), false),
            ("both must hold", Some(selector(&app, &[requirement("tier", "Exists", &[])])), false),
        ];
        for (name, input, expected) in cases {
            let selector = Selector::read(input.as_ref()).expect(name);
            assert_eq!(selector.matches(&label_pairs(&app)), expected, "case: {name}");
        }
    }

    #[test]
    fn unreadable_cases() {
        let cases = [
            selector(&[("bad key", "x")], &[]),
            selector(&[("key", "bad value")], &[]),
            selector(&[], &[requirement("key", "Gt", &["3"])]),
            selector(&[], &[requirement("key", "In", &[])]),
            selector(&[], &[requirement("key", "Exists", &["x"])]),
            selector(&[], &[requirement("key", "Sometimes", &[])]),
        ];
        for input in cases {
            assert_eq!(Selector::read(Some(&input)), Err(UnreadableSelector), "{input:?}");
        }
    }

    #[test]
    fn only_a_selector_without_requirements_is_empty() {
        let all = Selector::from_labels(&Labels::new());
        assert!(all.is_empty());
        assert!(!Selector::Nothing.is_empty());
        assert!(!Selector::from_labels(&label_pairs(&[("a", "b")])).is_empty());
        assert_eq!(Selector::Nothing.and(all.clone()), Selector::Nothing);
        assert_eq!(all.clone().and(Selector::Nothing), all);
    }
}
