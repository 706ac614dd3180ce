//! Builders for the tables of the naive plugins.

use super::NaiveNode;
use crate::input::{
    ContainerInput, HostPortInput, Labels, NodeInput, NodeSelectorTermInput, PodInput, RequirementInput,
    ResourceList, TaintInput, TolerationInput,
};
use crate::quantity::Quantity;

pub(super) fn resources(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).expect(text))).collect()
}

pub(super) fn labels(list: &[(&str, &str)]) -> Labels {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

pub(super) fn container(requests: &[(&str, &str)]) -> ContainerInput {
    ContainerInput { requests: resources(requests), ..Default::default() }
}

pub(super) fn sidecar(requests: &[(&str, &str)]) -> ContainerInput {
    ContainerInput { is_sidecar: true, ..container(requests) }
}

/// A pod of one container.
pub(super) fn pod(requests: &[(&str, &str)]) -> PodInput {
    PodInput { containers: vec![container(requests)], ..Default::default() }
}

pub(super) fn node(name: &str, allocatable: &[(&str, &str)]) -> NodeInput {
    NodeInput { name: name.to_owned(), allocatable: resources(allocatable), ..Default::default() }
}

/// A node without pods.
pub(super) fn empty(input: NodeInput) -> NaiveNode {
    NaiveNode { input, ..Default::default() }
}

pub(super) fn host_port(ip: &str, protocol: &str, port: i32) -> HostPortInput {
    HostPortInput { host_ip: ip.to_owned(), protocol: protocol.to_owned(), host_port: port }
}

pub(super) fn taint(key: &str, value: &str, effect: &str) -> TaintInput {
    TaintInput { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() }
}

pub(super) fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> TolerationInput {
    TolerationInput {
        key: key.to_owned(),
        operator: operator.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        seconds: None,
    }
}

pub(super) fn requirement(key: &str, operator: &str, values: &[&str]) -> RequirementInput {
    RequirementInput { key: key.to_owned(), operator: operator.to_owned(), values: strings(values) }
}

/// A term of label requirements.
pub(super) fn term(expressions: &[RequirementInput]) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: expressions.to_vec(), match_fields: Vec::new() }
}

/// A term of field requirements.
pub(super) fn field_term(fields: &[RequirementInput]) -> NodeSelectorTermInput {
    NodeSelectorTermInput { match_expressions: Vec::new(), match_fields: fields.to_vec() }
}
