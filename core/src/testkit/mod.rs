//! Inputs of tests and benches in a few words: `pod().cpu("100m").tolerates("gpu")`,
//! `node("n1").cpu("4").label("zone", "a")`, and a scheduler on a table ([`lab`]).
//!
//! Here, and not in the crate `schedlab-testkit`, which hands them on: the tests inside this crate
//! would see that crate's copy of the types. Objects of the API are built there.
//!
//! A pod has no name here: what tells one pod from another is not part of [`PodInput`].
//!
//! Lists of labels and selectors are text: `app=web tier` is a list, `app=a|b` one of several
//! values, `app!=a` none of them, `tier` any value, `!tier` none at all. The selector `-` is absent,
//! the empty text is the empty selector.

#[cfg(test)]
pub(crate) mod devices;
pub mod lab;
mod nodes;
mod pods;
#[cfg(test)]
pub(crate) mod storage;

pub use lab::SchedulerLab;
pub use nodes::{NodeParts, bare_node, large_node, node, taint};
pub use pods::{PodParts, container, host_port, pod, sidecar, toleration};

use crate::input::{
    LabelSelectorInput, Labels, NodeSelectorTermInput, PodAffinityTermInput, RequirementInput, ResourceList,
    SpreadConstraintInput,
};
use crate::quantity::Quantity;

/// A node of the plain twin without pods.
#[cfg(test)]
pub(crate) fn empty(input: crate::input::NodeInput) -> crate::naive::NaiveNode {
    crate::naive::NaiveNode { input, ..Default::default() }
}

/// A list of resources.
///
/// # Panics
///
/// When a text is no quantity.
#[must_use]
pub fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect(text))).collect()
}

/// A list of texts.
#[must_use]
pub fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// Labels from text.
#[must_use]
pub fn labels(text: &str) -> Labels {
    let pair = |label: &str| {
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        (key.to_owned(), value.to_owned())
    };
    text.split_whitespace().map(pair).collect()
}

/// Labels from pairs.
#[must_use]
pub fn label_pairs(list: &[(&str, &str)]) -> Labels {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A selector from text.
#[must_use]
pub fn selector(text: &str) -> Option<LabelSelectorInput> {
    let read = |text: &str| {
        let (key, operator, values) = match (text.split_once("!="), text.split_once('=')) {
            (Some((key, values)), _) => (key, "NotIn", values.split('|').collect()),
            (None, Some((key, values))) => (key, "In", values.split('|').collect()),
            (None, None) => match text.strip_prefix('!') {
                Some(key) => (key, "DoesNotExist", Vec::new()),
                None => (text, "Exists", Vec::new()),
            },
        };
        requirement(key, operator, &values)
    };
    (text != "-").then(|| LabelSelectorInput {
        match_labels: Labels::new(),
        match_expressions: text.split_whitespace().map(read).collect(),
    })
}

/// A selector by `matchLabels`.
#[must_use]
pub fn match_labels(text: &str) -> Option<LabelSelectorInput> {
    Some(LabelSelectorInput { match_labels: labels(text), match_expressions: Vec::new() })
}

/// One requirement of a selector.
#[must_use]
pub fn requirement(key: &str, operator: &str, values: &[&str]) -> RequirementInput {
    RequirementInput { key: key.to_owned(), operator: operator.to_owned(), values: strings(values) }
}

/// A term of label requirements.
#[must_use]
pub fn node_term(expressions: &[RequirementInput]) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: expressions.to_vec(), match_fields: Vec::new() }
}

/// A term of field requirements.
#[must_use]
pub fn field_term(fields: &[RequirementInput]) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: Vec::new(), match_fields: fields.to_vec() }
}

/// A hard constraint of topology spread.
#[must_use]
pub fn hard(max_skew: i32, topology_key: &str, text: &str) -> SpreadConstraintInput {
    SpreadConstraintInput {
        max_skew,
        topology_key: topology_key.to_owned(),
        label_selector: selector(text),
        ..SpreadConstraintInput::default()
    }
}

/// A soft one.
#[must_use]
pub fn soft(max_skew: i32, topology_key: &str, text: &str) -> SpreadConstraintInput {
    SpreadConstraintInput { schedule_anyway: true, ..hard(max_skew, topology_key, text) }
}

/// A term of pod affinity.
#[must_use]
pub fn term(topology_key: &str, text: &str) -> PodAffinityTermInput {
    PodAffinityTermInput {
        label_selector: selector(text),
        topology_key: topology_key.to_owned(),
        ..PodAffinityTermInput::default()
    }
}
