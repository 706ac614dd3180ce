//! Label selectors against labels, for lists and deletions.

use schedlab_core::input::{LabelSelectorInput, Labels, RequirementInput};

/// All requirements of the selector hold for the labels; an empty selector matches everything.
/// A requirement with an unknown operator holds for nothing.
#[must_use]
pub fn matches(selector: &LabelSelectorInput, labels: &Labels) -> bool {
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(|requirement| holds(requirement, labels))
}

fn holds(requirement: &RequirementInput, labels: &Labels) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = value.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_as_upstream() {
        let labels: Labels = [("app".to_owned(), "web".to_owned())].into();
        let expression = |key: &str, operator: &str, values: &[&str]| LabelSelectorInput {
            match_expressions: vec![RequirementInput {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: values.iter().map(|&value| value.to_owned()).collect(),
            }],
            ..LabelSelectorInput::default()
        };
        let exact = |key: &str, value: &str| LabelSelectorInput {
            match_labels: [(key.to_owned(), value.to_owned())].into(),
            ..LabelSelectorInput::default()
        };
        let cases = [
            ("empty selector matches", LabelSelectorInput::default(), true),
            ("label with its value matches", exact("app", "web"), true),
            ("label with another value does not", exact("app", "db"), false),
            ("absent label does not", exact("tier", "web"), false),
            ("In lists the value", expression("app", "In", &["db", "web"]), true),
            ("In does not list the value", expression("app", "In", &["db"]), false),
            ("NotIn lists the value", expression("app", "NotIn", &["web"]), false),
            ("NotIn holds for an absent key", expression("tier", "NotIn", &["web"]), true),
            ("Exists", expression("app", "Exists", &[]), true),
            ("DoesNotExist", expression("app", "DoesNotExist", &[]), false),
            ("unknown operator holds for nothing", expression("app", "Like", &["web"]), false),
        ];
        for (name, selector, expected) in cases {
            assert_eq!(matches(&selector, &labels), expected, "case: {name}");
        }
    }
}
