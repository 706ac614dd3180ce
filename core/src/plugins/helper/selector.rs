//! Label selectors on plain inputs. Hints are asked seldom: nothing is compiled.

use crate::input::{LabelSelectorInput, Labels, RequirementInput};

/// Whether labels match; no selector matches nothing.
pub(crate) fn matches(selector: Option<&LabelSelectorInput>, labels: &Labels) -> bool {
    let Some(selector) = selector else { return false };
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(|requirement| holds(requirement, labels))
}

fn holds(requirement: &RequirementInput, labels: &Labels) -> bool {
    let value = labels.get(&requirement.key);
    let is_named = value.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator.as_str() {
        "In" => is_named,
        "NotIn" => !is_named,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        // The API refuses others; whoever gets here anyway is tried again.
        _ => true,
    }
}
