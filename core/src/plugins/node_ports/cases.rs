//! Cases that NodePorts and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::PodInput;
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{PodParts, host_port, large_node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

fn filter_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    let using = |ip: &str, port| {
        let mut pod: PodInput = pod().cpu("1");
        pod.containers[0].host_ports = vec![host_port(ip, "TCP", port)];
        pod
    };
    let out = ("a", NaiveCode::Unschedulable, "node(s) didn't have free ports for the requested pod ports");
    let case =
        |name, pod: PodInput| PluginCase::new(name, &nodes, pod).with(&[("a", using("127.0.0.1", 80))]);
    vec![
        case("no port", pod()),
        case("a port that is taken", using("127.0.0.1", 80)).rejects(&[out]),
        case("on every address", using("", 80)).rejects(&[out]),
        case("on another address", using("127.0.0.2", 80)).all_fit(),
        case("another port", using("", 81)).all_fit(),
    ]
}
