//! A node as devices see it: its name and its labels.
//!
//! Upstream: structured/internal/incubating/pools_incubating.go `NodeMatches`, component-helpers
//! scheduling/corev1/nodeaffinity.

use crate::input::dra::NodeReachInput;
use crate::input::{NodeSelectorTermInput, RequirementInput};

/// A node.
pub trait DraNode {
    /// `metadata.name`.
    fn name(&self) -> &str;

    /// A label.
    fn label(&self, key: &str) -> Option<&str>;
}

impl NodeReachInput {
    /// Whether a node can reach what this is said of.
    #[must_use]
    pub fn includes(&self, node: &dyn DraNode) -> bool {
        match (self.node_name.as_deref(), &self.node_selector) {
            (Some(name), _) if !name.is_empty() => node.name() == name,
            _ if self.all_nodes => true,
            (_, Some(terms)) => selects(terms, node),
            (_, None) => false,
        }
    }

    /// Nothing known is said.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.node_name.as_deref().is_none_or(str::is_empty) && !self.all_nodes && self.node_selector.is_none()
    }
}

/// Whether a node selector of these terms selects a node. An empty term selects nothing.
#[must_use]
pub fn selects(terms: &[NodeSelectorTermInput], node: &dyn DraNode) -> bool {
    terms.iter().any(|term| {
        let NodeSelectorTermInput { match_expressions, match_fields } = term;
        (!match_expressions.is_empty() || !match_fields.is_empty())
            && match_expressions.iter().all(|it| holds(it, node.label(&it.key)))
            && match_fields.iter().all(|it| {
                // The only field that may be named.
                it.key == "metadata.name" && holds(it, Some(node.name()))
            })
    })
}

/// Upstream: apimachinery/pkg/labels `Requirement.Matches`.
fn holds(requirement: &RequirementInput, value: Option<&str>) -> bool {
    let RequirementInput { operator, values, .. } = requirement;
    let is_listed = |value: &str| values.iter().any(|it| it == value);
    match operator.as_str() {
        "In" => value.is_some_and(is_listed),
        "NotIn" => !value.is_some_and(is_listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" | "Lt" => {
            let number = |text: &str| text.parse::<i64>().ok();
            let (Some(value), [bound]) = (value.and_then(number), values.as_slice()) else { return false };
            number(bound).is_some_and(|bound| if operator == "Gt" { value > bound } else { value < bound })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Labelled(&'static [(&'static str, &'static str)]);

    impl DraNode for Labelled {
        fn name(&self) -> &str {
            "n1"
        }

        fn label(&self, key: &str) -> Option<&str> {
            self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
        }
    }

    #[test]
    fn node_selector_cases() {
        let cases: [(&str, &str, &[&str], bool); 12] = [
            ("zone", "In", &["a", "b"], true),
            ("zone", "In", &["b"], false),
            ("rack", "NotIn", &["r"], true),
            ("zone", "NotIn", &["a"], false),
            ("zone", "Exists", &[], true),
            ("rack", "DoesNotExist", &[], true),
            ("cores", "Gt", &["7"], true),
            ("cores", "Gt", &["8"], false),
            ("cores", "Lt", &["9"], true),
            ("zone", "Lt", &["9"], false),
            ("zone", "Near", &["a"], false),
            ("cores", "Gt", &[], false),
        ];
        let node = Labelled(&[("zone", "a"), ("cores", "8")]);
        for (key, operator, values, expected) in cases {
            let requirement = RequirementInput {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: values.iter().map(|&it| it.to_owned()).collect(),
            };
            let term = NodeSelectorTermInput {
                match_expressions: vec![requirement],
                ..NodeSelectorTermInput::default()
            };
            assert_eq!(selects(&[term], &node), expected, "{key} {operator} {values:?}");
        }
        assert!(!selects(&[NodeSelectorTermInput::default()], &node), "an empty term");
    }
}
